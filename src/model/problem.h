/* Problem: what is reduced, and the table of dtypes that every layer goes by. */
#ifndef RDT_MODEL_PROBLEM_H
#define RDT_MODEL_PROBLEM_H

#include "base/text.h"
#include "model/op.h"

/* enumerator, name, bytes, kind, accumulator, largest n such that the accumulator has every integer
 * from 0 to 2^n */
#define RDT_DTYPE_LIST(X)                                                                          \
    X(REDTUNE_I8, "i8", 1, RDT_KIND_SIGNED, REDTUNE_I64, 63)                                       \
    X(REDTUNE_U8, "u8", 1, RDT_KIND_UNSIGNED, REDTUNE_U64, 63)                                     \
    X(REDTUNE_I16, "i16", 2, RDT_KIND_SIGNED, REDTUNE_I64, 63)                                     \
    X(REDTUNE_U16, "u16", 2, RDT_KIND_UNSIGNED, REDTUNE_U64, 63)                                   \
    X(REDTUNE_I32, "i32", 4, RDT_KIND_SIGNED, REDTUNE_I64, 63)                                     \
    X(REDTUNE_U32, "u32", 4, RDT_KIND_UNSIGNED, REDTUNE_U64, 63)                                   \
    X(REDTUNE_I64, "i64", 8, RDT_KIND_SIGNED, REDTUNE_I64, 63)                                     \
    X(REDTUNE_U64, "u64", 8, RDT_KIND_UNSIGNED, REDTUNE_U64, 63)                                   \
    X(REDTUNE_F16, "f16", 2, RDT_KIND_FLOAT, REDTUNE_F32, 24)                                      \
    X(REDTUNE_BF16, "bf16", 2, RDT_KIND_FLOAT, REDTUNE_F32, 24)                                    \
    X(REDTUNE_F32, "f32", 4, RDT_KIND_FLOAT, REDTUNE_F32, 24)                                      \
    X(REDTUNE_F64, "f64", 8, RDT_KIND_FLOAT, REDTUNE_F64, 53)

/* Where the elements and results of a problem lie, and in which order elements may be combined:
 * enumerator, name. The first of each is the usual one. */
#define RDT_LAYOUT_LIST(X)   X(WHOLE, "whole")
#define RDT_ORDERING_LIST(X) X(FREE, "free")

typedef enum rdt_layout {
#define ENTRY(id, name) RDT_LAYOUT_##id,
    RDT_LAYOUT_LIST(ENTRY)
} rdt_layout;

typedef enum rdt_ordering {
#undef ENTRY
#define ENTRY(id, name) RDT_ORDERING_##id,
    RDT_ORDERING_LIST(ENTRY)
#undef ENTRY
} rdt_ordering;

/* The name, or NULL; and back, or -1. */
const char *rdt_problem_layout_name(int layout);
int rdt_problem_find_layout(const char *name);
const char *rdt_problem_ordering_name(int ordering);
int rdt_problem_find_ordering(const char *name);

typedef enum rdt_kind {
    RDT_KIND_NONE = 0,
    RDT_KIND_SIGNED,
    RDT_KIND_UNSIGNED,
    RDT_KIND_FLOAT
} rdt_kind;

typedef struct rdt_dtype_traits {
    redtune_dtype dtype;
    const char *name;
    size_t bytes;
    rdt_kind kind;
    redtune_dtype accumulator; /* of sums */
    int exact_bits;
} rdt_dtype_traits;

/* The table ends with an entry whose name is NULL. */
extern const rdt_dtype_traits rdt_dtype_table[];

/* NULL for a value that is no dtype. */
const rdt_dtype_traits *rdt_dtype_find(redtune_dtype dtype);

/* Copies the problem with its result dtype filled in. REDTUNE_INVALID if it makes no sense. */
redtune_status rdt_problem_resolve(const redtune_problem *problem, redtune_problem *out,
                                   redtune_error *err);
/* The dtype that sums, products and means of the problem, which is resolved, accumulate in. */
redtune_dtype rdt_problem_accumulator(const redtune_problem *problem);
/* Whether both differ in their count at most; both are resolved. */
/* REDTUNE_INVALID for an unknown enumerator; NULL is any. */
redtune_status rdt_problem_check_filter(const redtune_op *op, const redtune_dtype *dtype,
                                        redtune_error *err);
bool rdt_problem_same_class(const redtune_problem *a, const redtune_problem *b);
/* "sum of 1048576 f32", or "sum of 1048576 f32 as f64" where the result's dtype is not the usual
 * one; the problem is resolved. */
enum { RDT_PROBLEM_TEXT_BYTES = 64 };
void rdt_problem_describe(const redtune_problem *problem, char out[RDT_PROBLEM_TEXT_BYTES]);
/* The element count such a problem may have at most, so that byte offsets stay below 2^63. */
uint64_t rdt_problem_count_max(redtune_dtype dtype);

/* Writes a number into the element at index of an array of dtype; it must be exact there. */
void rdt_value_store(redtune_dtype dtype, void *array, uint64_t index, int64_t number);
/* Decimal, with as many digits as tell the value apart from its neighbours. */
void rdt_value_print(redtune_dtype dtype, const redtune_value *value, rdt_text *out);

#endif
