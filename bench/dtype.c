/* Dtype: the element types that can be raced, by the names that redtune knows them by. */
#include "bench/dtype.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "model/scalar.h"

#define ROUNDOFF(bits) (1.0 / (double)(UINT64_C(1) << (bits)))

const bench_dtype bench_dtype_table[] = {
    {"i8", 1, UINT8_MAX, 0, 0},
    {"u8", 1, UINT8_MAX, 0, 0},
    {"i16", 2, UINT16_MAX, 0, 0},
    {"u16", 2, UINT16_MAX, 0, 0},
    {"i32", 4, UINT32_MAX, 0, 0},
    {"u32", 4, UINT32_MAX, 0, 0},
    {"i64", 8, UINT64_MAX, 0, 0},
    {"u64", 8, UINT64_MAX, 0, 0},
    {"f16", 2, 0x3ff, 0x3c00, ROUNDOFF(11)},
    {"bf16", 2, 0x7f, 0x3f80, ROUNDOFF(8)},
    {"f32", 4, 0x7fffff, 0x3f800000, ROUNDOFF(24)},
    {"f64", 8, 0xfffffffffffff, 0x3ff0000000000000, ROUNDOFF(53)},
    {0},
};

const bench_dtype *bench_dtype_find(const char *name) {
    for (const bench_dtype *dtype = bench_dtype_table; dtype->name; dtype++)
        if (!strcmp(dtype->name, name)) return dtype;
    return NULL;
}

static redtune_dtype id_of(const bench_dtype *dtype) {
    redtune_dtype id = REDTUNE_DTYPE_NONE;
    redtune_dtype_find(dtype->name, &id, NULL);
    return id;
}

double bench_dtype_number(const bench_dtype *dtype, const void *value) {
    return rdt_scalar_real(id_of(dtype), value, 0);
}

void bench_dtype_print(const bench_dtype *dtype, const void *value, char text[32]) {
    uint64_t bits = rdt_scalar_bits(id_of(dtype), value, 0);
    if (dtype->name[0] == 'i')
        snprintf(text, 32, "%" PRId64, (int64_t)bits);
    else if (dtype->name[0] == 'u')
        snprintf(text, 32, "%" PRIu64, bits);
    else
        snprintf(text, 32, "%.17g", bench_dtype_number(dtype, value));
}

void bench_dtype_sum(const bench_dtype *dtype, const unsigned char *values, size_t n, size_t stride,
                     void *sum) {
    uint64_t bits = 0;
    double number = 0;
    for (size_t i = 0; i < n; i++) {
        bits += rdt_scalar_bits(id_of(dtype), values + i * stride, 0);
        number += bench_dtype_number(dtype, values + i * stride);
    }
    const redtune_value rounded = dtype->roundoff > 0 ? rdt_scalar_from_real(id_of(dtype), number)
                                                      : rdt_scalar_from_bits(id_of(dtype), bits);
    memcpy(sum, &rounded, dtype->bytes);
}

bool bench_dtype_agree(const bench_dtype *result, bool rounds, uint64_t count, const void *a,
                       const void *b) {
    if (!memcmp(a, b, result->bytes)) return true;
    if (!rounds || result->roundoff == 0) return false;
    double x = bench_dtype_number(result, a), y = bench_dtype_number(result, b);
    if (!isfinite(x) || !isfinite(y)) return false;
    double links = 64 + (double)count / 16384;
    return fabs(x - y) <= 2 * links * result->roundoff * fmax(fabs(x), fabs(y));
}
