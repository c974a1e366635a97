/* Npy: the header of a NumPy .npy file, versions 1.0, 2.0 and 3.0; written is version 1.0.
 *
 * The layout is that of numpy.lib.format: "\x93NUMPY", two bytes of version, the header's length
 * (2 bytes little-endian in version 1, else 4), and the header, a Python dictionary with exactly
 * the keys 'descr', 'fortran_order' and 'shape'.
 */
#pragma once

#include <stdbool.h>
#include "redtune/redtune.h"

enum {
    RDT_NPY_MAGIC_BYTES = 6,
    RDT_NPY_PREFIX_BYTES = 12,          /* magic, version and length, at most */
    RDT_NPY_HEADER_BYTES_MAX = 1 << 20, /* more than any array of numbers needs */
    RDT_NPY_RANK_MAX = 64,
    RDT_NPY_WRITTEN_BYTES = 2048 /* of a header with RDT_NPY_RANK_MAX dimensions, at most */
};

typedef struct rdt_npy {
    char kind;         /* NumPy's letter: 'f', 'i', 'u', 'c', 'b' for bool, 'V' for bytes */
    size_t item_bytes; /* 1 to 16 */
    uint64_t count;    /* elements: the product of the shape; count * item_bytes fits 63 bits */
    uint64_t shape[RDT_NPY_RANK_MAX];
    size_t rank;
    bool fortran_order;
    bool big_endian;
} rdt_npy;

/* Whether a file that begins with these bytes is an .npy file. */
bool rdt_npy_match(const unsigned char *bytes, size_t length);

/* Bytes of the prefix that begins with these 8 bytes, and so where the header begins. Fails for a
 * version other than these three. */
redtune_status rdt_npy_prefix(const unsigned char bytes[8], size_t *prefix_bytes,
                              redtune_error *err);

/* Bytes of the header that follows this prefix. Fails if there are too many. */
redtune_status rdt_npy_length(const unsigned char *prefix, size_t prefix_bytes,
                              size_t *header_bytes, redtune_error *err);

/* Reads a header. Fails for one that is damaged, and for arrays whose elements are not plain
 * numbers or truth values: structured, objects, strings, dates. */
redtune_status rdt_npy_parse(const char *header, size_t length, rdt_npy *out, redtune_error *err);

/* Writes what stands before the elements of an array, which follow in little-endian order: returns
 * its bytes, a multiple of 64. The dtype is one that NumPy has: not bf16. is_bool: elements of u8
 * are 0 and 1, of NumPy's bool. */
size_t rdt_npy_write(redtune_dtype dtype, bool is_bool, const uint64_t *shape, size_t rank,
                     bool fortran_order, char out[RDT_NPY_WRITTEN_BYTES]);
