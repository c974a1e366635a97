/* Scalar: one number of any dtype on the host: read, ordered, converted. */
#include "model/scalar.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "model/half.h"

/* By a switch and not by the table: this is asked for every element. */
static rdt_kind kind_of(redtune_dtype dtype) {
    switch (dtype) {
#define ENTRY(dtype, name, bytes, kind, accumulator, exact_bits)                                   \
    case dtype: return kind;
        RDT_DTYPE_LIST(ENTRY)
#undef ENTRY
    case REDTUNE_DTYPE_NONE: break;
    }
    return RDT_KIND_NONE;
}

bool rdt_scalar_is_float(redtune_dtype dtype) { return kind_of(dtype) == RDT_KIND_FLOAT; }

bool rdt_scalar_is_signed(redtune_dtype dtype) { return kind_of(dtype) == RDT_KIND_SIGNED; }

bool rdt_scalar_is_nan(redtune_dtype dtype, const void *array, uint64_t index) {
    return rdt_scalar_is_float(dtype) && isnan(rdt_scalar_real(dtype, array, index));
}

uint64_t rdt_scalar_bits(redtune_dtype dtype, const void *array, uint64_t index) {
    switch (dtype) {
    case REDTUNE_I8: return (uint64_t)((const int8_t *)array)[index];
    case REDTUNE_U8: return ((const uint8_t *)array)[index];
    case REDTUNE_I16: return (uint64_t)((const int16_t *)array)[index];
    case REDTUNE_I32: return (uint64_t)((const int32_t *)array)[index];
    case REDTUNE_U16:
    case REDTUNE_F16:
    case REDTUNE_BF16: return ((const uint16_t *)array)[index];
    case REDTUNE_U32:
    case REDTUNE_F32: return ((const uint32_t *)array)[index];
    case REDTUNE_I64:
    case REDTUNE_U64:
    case REDTUNE_F64: return ((const uint64_t *)array)[index];
    case REDTUNE_DTYPE_NONE: break;
    }
    return 0;
}

double rdt_scalar_real(redtune_dtype dtype, const void *array, uint64_t index) {
    rdt_kind kind = kind_of(dtype);
    if (kind == RDT_KIND_SIGNED) return (double)(int64_t)rdt_scalar_bits(dtype, array, index);
    if (kind == RDT_KIND_UNSIGNED) return (double)rdt_scalar_bits(dtype, array, index);
    switch (dtype) {
    case REDTUNE_F16: return (double)rdt_half_to_float(((const uint16_t *)array)[index]);
    case REDTUNE_BF16: return (double)rdt_half_bfloat_to_float(((const uint16_t *)array)[index]);
    case REDTUNE_F32: return (double)((const float *)array)[index];
    case REDTUNE_F64: return ((const double *)array)[index];
    default: return 0;
    }
}

uint64_t rdt_scalar_key(redtune_dtype dtype, const void *array, uint64_t index) {
    const uint64_t top = UINT64_C(1) << 63;
    rdt_kind kind = kind_of(dtype);
    if (kind != RDT_KIND_FLOAT) {
        uint64_t bits = rdt_scalar_bits(dtype, array, index);
        return kind == RDT_KIND_SIGNED ? bits ^ top : bits;
    }
    double real = rdt_scalar_real(dtype, array, index);
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits & top ? ~bits : bits | top;
}

redtune_value rdt_scalar_from_bits(redtune_dtype dtype, uint64_t bits) {
    redtune_value value = {.u64 = 0};
    memcpy(&value, &bits,
           redtune_dtype_bytes(dtype)); /* the low bytes: CUDA's hosts have them first */
    return value;
}

redtune_value rdt_scalar_from_real(redtune_dtype dtype, double real) {
    redtune_value value = {.u64 = 0};
    switch (dtype) {
    case REDTUNE_F16: value.f16 = rdt_half_from_float((float)real); return value;
    case REDTUNE_BF16: value.bf16 = rdt_half_bfloat_from_float((float)real); return value;
    case REDTUNE_F32: value.f32 = (float)real; return value;
    case REDTUNE_F64: value.f64 = real; return value;
    case REDTUNE_U64: return rdt_scalar_from_bits(dtype, (uint64_t)real);
    default: return rdt_scalar_from_bits(dtype, (uint64_t)(int64_t)real);
    }
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
    switch (dtype) {
    case REDTUNE_I8: ((int8_t *)array)[index] = (int8_t)number; break;
    case REDTUNE_U8: ((uint8_t *)array)[index] = (uint8_t)number; break;
    case REDTUNE_I16: ((int16_t *)array)[index] = (int16_t)number; break;
    case REDTUNE_U16: ((uint16_t *)array)[index] = (uint16_t)number; break;
    case REDTUNE_I32: ((int32_t *)array)[index] = (int32_t)number; break;
    case REDTUNE_U32: ((uint32_t *)array)[index] = (uint32_t)number; break;
    case REDTUNE_I64: ((int64_t *)array)[index] = number; break;
    case REDTUNE_U64: ((uint64_t *)array)[index] = (uint64_t)number; break;
    case REDTUNE_F16: ((uint16_t *)array)[index] = rdt_half_from_float((float)number); break;
    case REDTUNE_BF16:
        ((uint16_t *)array)[index] = rdt_half_bfloat_from_float((float)number);
        break;
    case REDTUNE_F32: ((float *)array)[index] = (float)number; break;
    case REDTUNE_F64: ((double *)array)[index] = (double)number; break;
    case REDTUNE_DTYPE_NONE: break;
    }
}

void rdt_scalar_print(redtune_dtype dtype, const redtune_value *value, rdt_text *out) {
    switch (dtype) {
    case REDTUNE_I8: rdt_text_addf(out, "%d", value->i8); break;
    case REDTUNE_U8: rdt_text_addf(out, "%u", value->u8); break;
    case REDTUNE_I16: rdt_text_addf(out, "%d", value->i16); break;
    case REDTUNE_U16: rdt_text_addf(out, "%u", value->u16); break;
    case REDTUNE_I32: rdt_text_addf(out, "%" PRId32, value->i32); break;
    case REDTUNE_U32: rdt_text_addf(out, "%" PRIu32, value->u32); break;
    case REDTUNE_I64: rdt_text_addf(out, "%" PRId64, value->i64); break;
    case REDTUNE_U64: rdt_text_addf(out, "%" PRIu64, value->u64); break;
    case REDTUNE_F16: rdt_text_addf(out, "%.5g", (double)rdt_half_to_float(value->f16)); break;
    case REDTUNE_BF16:
        rdt_text_addf(out, "%.4g", (double)rdt_half_bfloat_to_float(value->bf16));
        break;
    case REDTUNE_F32: rdt_text_addf(out, "%.9g", (double)value->f32); break;
    case REDTUNE_F64: rdt_text_addf(out, "%.17g", value->f64); break;
    case REDTUNE_DTYPE_NONE: break;
    }
}
