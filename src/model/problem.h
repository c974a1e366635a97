/* Problem: what is reduced. The table of ops and dtypes that every layer goes by. */
#ifndef RDT_MODEL_PROBLEM_H
#define RDT_MODEL_PROBLEM_H

#include <stdbool.h>
#include "base/text.h"

/* enumerator, name */
#define RDT_OP_LIST(X) X(REDTUNE_SUM, "sum")

/* enumerator, name, bytes, kind, largest n such that every integer up to 2^n is a value */
#define RDT_DTYPE_LIST(X)                                                                          \
    X(REDTUNE_I32, "i32", 4, RDT_KIND_INTEGER, 31)                                                 \
    X(REDTUNE_I64, "i64", 8, RDT_KIND_INTEGER, 63)                                                 \
    X(REDTUNE_F32, "f32", 4, RDT_KIND_FLOAT, 24)                                                   \
    X(REDTUNE_F64, "f64", 8, RDT_KIND_FLOAT, 53)

typedef enum rdt_kind { RDT_KIND_NONE = 0, RDT_KIND_INTEGER, RDT_KIND_FLOAT } rdt_kind;

typedef struct rdt_dtype_traits {
    redtune_dtype dtype;
    const char *name;
    size_t bytes;
    rdt_kind kind;
    int exact_bits;
} rdt_dtype_traits;

/* The tables end with an entry whose name is NULL. */
extern const rdt_dtype_traits rdt_dtype_table[];

/* NULL for a value that is no dtype. */
const rdt_dtype_traits *rdt_dtype_find(redtune_dtype dtype);

/* Copies the problem with its result dtype filled in. REDTUNE_INVALID if it makes no sense. */
redtune_status rdt_problem_resolve(const redtune_problem *problem, redtune_problem *out,
                                   redtune_error *err);
/* "sum of 1048576 f32"; the result dtype only where it is not the usual one. */
void rdt_problem_describe(const redtune_problem *problem, rdt_text *out);
/* The element count such a problem may have at most, so that byte offsets stay below 2^63. */
uint64_t rdt_problem_count_max(redtune_dtype dtype);

/* Writes a number into the element at index of an array of dtype; it must be exact there. */
void rdt_value_store(redtune_dtype dtype, void *array, uint64_t index, int64_t number);
/* Decimal, with as many digits as tell the value apart from its neighbours. */
void rdt_value_print(redtune_dtype dtype, const redtune_value *value, rdt_text *out);

#endif
