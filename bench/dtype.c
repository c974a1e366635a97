/* Dtype: the element types that can be raced, by the names that redtune knows them by. */
#include "bench/dtype.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static uint64_t load_bits(const bench_dtype *dtype, const void *value) {
    uint64_t bits = 0;
    memcpy(&bits, value, dtype->bytes); /* the GPU's hosts are little-endian */
    return bits;
}

static double f16_number(uint64_t bits) {
    int exponent = (int)(bits >> 10 & 0x1f);
    double fraction = (double)(bits & 0x3ff) / 1024;
    double size = exponent == 0x1f ? (fraction > 0 ? NAN : INFINITY)
                  : exponent       ? ldexp(1 + fraction, exponent - 15)
                                   : ldexp(fraction, -14);
    return bits >> 15 ? -size : size;
}

static double f32_number(uint32_t bits) {
    float number;
    memcpy(&number, &bits, sizeof number);
    return (double)number;
}

static int64_t signed_number(const bench_dtype *dtype, uint64_t bits) {
    uint64_t sign = UINT64_C(1) << (8 * dtype->bytes - 1);
    uint64_t extended = (bits ^ sign) - sign;
    int64_t number;
    memcpy(&number, &extended, sizeof number);
    return number;
}

double bench_dtype_number(const bench_dtype *dtype, const void *value) {
    uint64_t bits = load_bits(dtype, value);
    double number;
    switch (dtype->name[0]) {
    case 'i':
        return (double)signed_number(dtype, bits);
    case 'u':
        return (double)bits;
    case 'b':
        return f32_number((uint32_t)bits << 16);
    default:
        break;
    }
    if (dtype->bytes == 2) return f16_number(bits);
    if (dtype->bytes == 4) return f32_number((uint32_t)bits);
    memcpy(&number, &bits, sizeof number);
    return number;
}

void bench_dtype_print(const bench_dtype *dtype, const void *value, char text[32]) {
    uint64_t bits = load_bits(dtype, value);
    if (dtype->name[0] == 'i')
        snprintf(text, 32, "%" PRId64, signed_number(dtype, bits));
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
        bits += load_bits(dtype, values + i * stride);
        number += bench_dtype_number(dtype, values + i * stride);
    }
    float rounded = (float)number;
    if (dtype->roundoff > 0 && dtype->bytes == 8)
        memcpy(sum, &number, sizeof number);
    else if (dtype->roundoff > 0)
        memcpy(sum, &rounded, sizeof rounded);
    else
        memcpy(sum, &bits, dtype->bytes);
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
