/* Dtype: the table of the dtypes of elements and results. A dtype is one row: all that the host
 * knows of it stands there, and templates/dtypes.lua has what the device's code is made of. */
#pragma once

#include <stdbool.h>
#include "redtune/redtune.h"

/* Sums and means of any dtype may be asked for in this one. */
#define RDT_DTYPE_WIDE REDTUNE_F64

typedef enum rdt_kind {
    RDT_KIND_NONE = 0,
    RDT_KIND_SIGNED,
    RDT_KIND_UNSIGNED,
    RDT_KIND_FLOAT
} rdt_kind;

typedef struct rdt_dtype_traits {
    redtune_dtype dtype;
    const char *name, *long_name; /* the latter as NumPy, PyTorch and JAX have it */
    size_t bytes;
    rdt_kind kind;
    int exponent_bits, fraction_bits; /* of a float */
    bool finite; /* a float without infinities: all bits behind the sign are its NaN */
    redtune_dtype accumulator; /* of sums */
    redtune_dtype magnitude;   /* of absolute values */
    redtune_dtype npy;         /* as which an .npy file holds it */
    int dlpack;                /* its DLDataTypeCode */
    int nccl; /* 1 + its ncclDataType_t; 0: NCCL has none, or rounds between ranks */
    /* Its bits, integers with their sign extended, as a value and back. */
    double (*real)(const struct rdt_dtype_traits *self, uint64_t bits);
    uint64_t (*bits)(const struct rdt_dtype_traits *self, double real);
} rdt_dtype_traits;

/* By dtype from 1 on; ends with an entry whose name is NULL. */
extern const rdt_dtype_traits rdt_dtype_table[];

/* NULL, and 0 bytes, for a value that is no dtype. Inline: every call of redtune_reduce comes by
 * here. */
static inline const rdt_dtype_traits *rdt_dtype_find(redtune_dtype dtype) {
    const bool known = dtype > REDTUNE_DTYPE_NONE && (unsigned)dtype < REDTUNE_DTYPE_END;
    return known ? &rdt_dtype_table[dtype - 1] : NULL;
}
static inline size_t rdt_dtype_bytes(redtune_dtype dtype) {
    const rdt_dtype_traits *traits = rdt_dtype_find(dtype);
    return traits ? traits->bytes : 0;
}
/* Of a float: infinity, or the largest number if it has none. */
double rdt_dtype_greatest(const rdt_dtype_traits *traits);
/* The largest n such that it has every integer from 0 to 2^n. */
int rdt_dtype_exact_bits(const rdt_dtype_traits *traits);
