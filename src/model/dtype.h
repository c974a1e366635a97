/* Dtype: the table of the dtypes of elements and results. */
#pragma once

#include "redtune/redtune.h"

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

/* Ends with an entry whose name is NULL. */
extern const rdt_dtype_traits rdt_dtype_table[];

/* NULL for a value that is no dtype. */
const rdt_dtype_traits *rdt_dtype_find(redtune_dtype dtype);
