/* Point: one kernel that a search may choose: a template family, and a value for each of its
 * parameters (the config). People write it "block:block=256,vec=4,tail=shuffle"; databases keep the
 * family and the config apart.
 *
 * The points of all families are in one order, in which the simpler comes first: that of the
 * registry, and within a family that of its space. */
#pragma once

#include "base/text.h"
#include "model/space.h"

enum {
    RDT_CONFIG_TEXT_BYTES = 256,
    RDT_POINT_TEXT_BYTES = RDT_NAME_BYTES + RDT_CONFIG_TEXT_BYTES,
};

/* value[i] belongs to param[i] of the family's space; the values behind its last are zero. */
typedef struct rdt_point {
    int family; /* its index among the spaces */
    int64_t value[RDT_PARAM_MAX];
} rdt_point;

const rdt_space *rdt_point_space(const rdt_spaces *spaces, const rdt_point *point);

bool rdt_point_same(const rdt_point *a, const rdt_point *b);
/* Whether both make the same kernel: equal except for launch parameters. */
bool rdt_point_same_kernel(const rdt_spaces *spaces, const rdt_point *a, const rdt_point *b);
/* The point's place in the order. Within a space the parameters whose values have names count most,
 * then the numbers, of each the first. INT_MAX where it is beyond that. Every value is one of the
 * space's. */
int rdt_point_rank(const rdt_spaces *spaces, const rdt_point *point);

/* Writes "family:name=value,...", with every parameter, in the space's order. */
void rdt_point_format(const rdt_spaces *spaces, const rdt_point *point,
                      char out[RDT_POINT_TEXT_BYTES]);
/* The two parts of that apart. */
void rdt_point_write(const rdt_spaces *spaces, const rdt_point *point, char family[RDT_NAME_BYTES],
                     char config[RDT_CONFIG_TEXT_BYTES]);

/* Reads name=value pairs over the values that *point holds: parameters not named keep theirs.
 * REDTUNE_INVALID for a name or value that the family does not have, or a name given twice. */
redtune_status rdt_point_parse(const rdt_spaces *spaces, const char *config, rdt_point *point,
                               redtune_error *err);
/* Takes parameters that went out of the config of a point of that family, where their values are
 * those that all kernels of the family now have. */
void rdt_point_renew(const rdt_spaces *spaces, const rdt_point *point, char *config);
/* Reads the two parts that rdt_point_write wrote; *out is only written. REDTUNE_INVALID for an
 * unknown family, and for a config that does not name every parameter. */
redtune_status rdt_point_read(const rdt_spaces *spaces, const char *family, const char *config,
                              rdt_point *out, redtune_error *err);
