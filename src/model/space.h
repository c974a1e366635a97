/* Space: the parameters of a template family and the values each may take. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/fail.h"

enum { RDT_PARAM_MAX = 12, RDT_PARAM_VALUE_MAX = 16, RDT_NAME_BYTES = 32 };

typedef struct rdt_param {
    char name[RDT_NAME_BYTES];
    bool launch; /* enters the launch only: configs that differ in nothing else share a kernel */
    int value_count;
    int64_t value[RDT_PARAM_VALUE_MAX];
    char label[RDT_PARAM_VALUE_MAX][RDT_NAME_BYTES]; /* how people write it; "": as the number */
} rdt_param;

/* In the order in which configs are written; valid when zeroed (no parameters). */
typedef struct rdt_space {
    char family[RDT_NAME_BYTES];
    int param_count;
    rdt_param param[RDT_PARAM_MAX];
} rdt_space;

/* The spaces of the families, in the order of the registry. */
typedef struct rdt_spaces {
    const rdt_space *space;
    int count;
} rdt_spaces;

/* The index of the family of that name. REDTUNE_INVALID where there is none. */
redtune_status rdt_space_find_family(const rdt_spaces *spaces, const char *family, int *out,
                                     redtune_error *err);

/* How many ways there are to give every parameter one of its values. */
int64_t rdt_space_size(const rdt_space *space);
/* The parameter's index, or -1. name need not end at length. */
int rdt_space_find(const rdt_space *space, const char *name, int length);
/* Whether the parameter's values have names. */
bool rdt_space_param_is_named(const rdt_param *param);
/* The value's index in the parameter's list, or -1. */
int rdt_space_param_find(const rdt_param *param, int64_t value);
