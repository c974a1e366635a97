/* Scalar: one number of any dtype on the host: read, ordered, converted. */
#include "model/scalar.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is no dtype has the table's last row. */
static const rdt_dtype_traits *row_of(redtune_dtype dtype) {
    const rdt_dtype_traits *row = rdt_dtype_find(dtype);
    return row ? row : &rdt_dtype_table[REDTUNE_DTYPE_END - 1];
}

bool rdt_scalar_is_float(redtune_dtype dtype) { return row_of(dtype)->kind == RDT_KIND_FLOAT; }

bool rdt_scalar_is_signed(redtune_dtype dtype) { return row_of(dtype)->kind == RDT_KIND_SIGNED; }

bool rdt_scalar_is_nan(redtune_dtype dtype, const void *array, uint64_t index) {
    return rdt_scalar_is_float(dtype) && isnan(rdt_scalar_real(dtype, array, index));
}

uint64_t rdt_scalar_bits(redtune_dtype dtype, const void *array, uint64_t index) {
    const rdt_dtype_traits *row = row_of(dtype);
    const uint64_t sign = row->kind == RDT_KIND_SIGNED ? UINT64_C(1) << (8 * row->bytes - 1) : 0;
    uint64_t bits = 0;
    memcpy(&bits, (const char *)array + index * row->bytes, row->bytes);
    return (bits ^ sign) - sign;
}

double rdt_scalar_real(redtune_dtype dtype, const void *array, uint64_t index) {
    const rdt_dtype_traits *row = row_of(dtype);
    return row->real(row, rdt_scalar_bits(dtype, array, index));
}

double redtune_value_real(redtune_dtype dtype, const redtune_value *value) {
    return rdt_scalar_real(dtype, value, 0);
}

uint64_t rdt_scalar_key(redtune_dtype dtype, const void *array, uint64_t index) {
    const uint64_t top = UINT64_C(1) << 63;
    if (!rdt_scalar_is_float(dtype))
        return rdt_scalar_bits(dtype, array, index) ^ (rdt_scalar_is_signed(dtype) ? top : 0);
    double real = rdt_scalar_real(dtype, array, index);
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits & top ? ~bits : bits | top;
}

redtune_value rdt_scalar_from_bits(redtune_dtype dtype, uint64_t bits) {
    redtune_value value = {.u64 = 0};
    memcpy(&value, &bits, row_of(dtype)->bytes); /* the low ones: CUDA's hosts have them first */
    return value;
}

redtune_value rdt_scalar_from_real(redtune_dtype dtype, double real) {
    const rdt_dtype_traits *row = row_of(dtype);
    return rdt_scalar_from_bits(dtype, row->bits(row, real));
}

redtune_value rdt_scalar_nearest(redtune_dtype dtype, double real) {
    const int bits = 8 * (int)redtune_dtype_bytes(dtype);
    if (rdt_scalar_is_float(dtype)) return rdt_scalar_from_real(dtype, real);
    const bool is_signed = rdt_scalar_is_signed(dtype);
    const double end = ldexp(1, bits - is_signed), least = is_signed ? -end : 0;
    double whole = floor(real + 0.5);
    if (whole >= end) whole = end - (bits < 64 ? 1 : ldexp(1, bits - is_signed - 53));
    return rdt_scalar_from_real(dtype, whole < least ? least : whole);
}

bool rdt_scalar_same(redtune_dtype dtype, const redtune_value *a, const redtune_value *b) {
    if (rdt_scalar_is_nan(dtype, a, 0) && rdt_scalar_is_nan(dtype, b, 0)) return true;
    return !memcmp(a, b, redtune_dtype_bytes(dtype));
}

void rdt_scalar_store(redtune_dtype dtype, void *array, uint64_t index, int64_t number) {
    const redtune_value value = rdt_scalar_is_float(dtype)
                                    ? rdt_scalar_from_real(dtype, (double)number)
                                    : rdt_scalar_from_bits(dtype, (uint64_t)number);
    const size_t bytes = row_of(dtype)->bytes;
    memcpy((char *)array + index * bytes, &value, bytes);
}

void rdt_scalar_print(redtune_dtype dtype, const redtune_value *value, rdt_text *out) {
    const uint64_t bits = rdt_scalar_bits(dtype, value, 0);
    const int digits = 2 + rdt_dtype_exact_bits(row_of(dtype)) * 30103 / 100000; /* log10(2) */
    if (rdt_scalar_is_float(dtype))
        rdt_text_addf(out, "%.*g", digits, rdt_scalar_real(dtype, value, 0));
    else if (rdt_scalar_is_signed(dtype))
        rdt_text_addf(out, "%" PRId64, (int64_t)bits);
    else
        rdt_text_addf(out, "%" PRIu64, bits);
}
