/* Dtype: the table of the dtypes of elements and results. */
#include "model/dtype.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/text.h"

/* ---- bits and values ------------------------------------------------------------------------- */

static double signed_real(const rdt_dtype_traits *self, uint64_t bits) {
    (void)self;
    return (double)(int64_t)bits;
}

static uint64_t signed_bits(const rdt_dtype_traits *self, double real) {
    (void)self;
    return (uint64_t)(int64_t)real;
}

static double unsigned_real(const rdt_dtype_traits *self, uint64_t bits) {
    (void)self;
    return (double)bits;
}

static uint64_t unsigned_bits(const rdt_dtype_traits *self, double real) {
    (void)self;
    return (uint64_t)real;
}

/* C's own float and double. */
static double native_real(const rdt_dtype_traits *self, uint64_t bits) {
    const uint32_t half = (uint32_t)bits;
    float narrow;
    double wide;
    memcpy(&narrow, &half, sizeof narrow);
    memcpy(&wide, &bits, sizeof wide);
    return self->bytes == sizeof narrow ? (double)narrow : wide;
}

static uint64_t native_bits(const rdt_dtype_traits *self, double real) {
    const float narrow = (float)real;
    uint64_t bits = 0;
    memcpy(&bits, self->bytes == sizeof narrow ? (const void *)&narrow : &real, self->bytes);
    return bits;
}

/* Floats of fewer bits, as IEEE 754 lays them out: sign, exponent, fraction. One that is finite has
 * numbers in place of infinities and of all NaNs but the last. */
static double narrow_real(const rdt_dtype_traits *self, uint64_t bits) {
    const int fraction_bits = self->fraction_bits, top = (1 << self->exponent_bits) - 1;
    const int exponent = (int)(bits >> fraction_bits) & top, least = 1 - top / 2 - fraction_bits;
    const int one = 1 << fraction_bits, fraction = (int)bits & (one - 1);
    const bool strange = exponent == top && (!self->finite || fraction == one - 1);
    const double magnitude = strange    ? (double)(fraction ? NAN : INFINITY)
                             : exponent ? ldexp(one + fraction, exponent - 1 + least)
                                        : ldexp(fraction, least);
    return bits >> (fraction_bits + self->exponent_bits) & 1 ? -magnitude : magnitude;
}

/* What is larger than all numbers: an infinity, or the NaN of a float that has none. */
static uint64_t overflow_bits(const rdt_dtype_traits *self) {
    const uint64_t one = UINT64_C(1) << self->fraction_bits;
    const uint64_t infinity = (UINT64_C(1) << (self->exponent_bits + self->fraction_bits)) - one;
    return self->finite ? infinity + one - 1 : infinity;
}

/* To the nearest, ties to even, by way of f32, as the GPU does; every NaN becomes a quiet one. */
static uint64_t narrow_bits(const rdt_dtype_traits *self, double real) {
    const double magnitude = fabs((double)(float)real);
    const int fraction_bits = self->fraction_bits, bias = (1 << (self->exponent_bits - 1)) - 1;
    const uint64_t overflow = overflow_bits(self);
    const uint64_t sign = (uint64_t) !!signbit(real) << (fraction_bits + self->exponent_bits);
    if (isnan(real)) return sign | overflow | UINT64_C(1) << (fraction_bits - 1);
    if (isinf(magnitude)) return sign | overflow;
    const int exponent = magnitude < ldexp(1, 1 - bias) ? 1 - bias : ilogb(magnitude);
    /* The leading 1 is one more in the exponent, as is a carry out of the fraction. */
    const double units = nearbyint(ldexp(magnitude, fraction_bits - exponent));
    const uint64_t bits = ((uint64_t)(exponent + bias - 1) << fraction_bits) + (uint64_t)units;
    return sign | (bits < overflow ? bits : overflow);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define SIGNED                                                                                     \
    .kind = RDT_KIND_SIGNED, .accumulator = REDTUNE_I64, .real = signed_real, .bits = signed_bits
#define UNSIGNED                                                                                   \
    .kind = RDT_KIND_UNSIGNED, .accumulator = REDTUNE_U64, .dlpack = DLPACK_UINT,                  \
    .real = unsigned_real, .bits = unsigned_bits
#define FLOAT(exponent, fraction, code)                                                            \
    .kind = RDT_KIND_FLOAT, .exponent_bits = exponent, .fraction_bits = fraction, .dlpack = code
#define NARROW .accumulator = REDTUNE_F32, .real = narrow_real, .bits = narrow_bits
#define NATIVE .real = native_real, .bits = native_bits

enum {
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    DLPACK_FLOAT8_E4M3FN = 10,
    DLPACK_FLOAT8_E5M2 = 12,
};

const rdt_dtype_traits rdt_dtype_table[] = {
    {REDTUNE_I8, "i8", "int8", 1, SIGNED, .magnitude = REDTUNE_U8, .npy = REDTUNE_I8, .nccl = 1},
    {REDTUNE_U8, "u8", "uint8", 1, UNSIGNED, .magnitude = REDTUNE_U8, .npy = REDTUNE_U8, .nccl = 2},
    {REDTUNE_I16, "i16", "int16", 2, SIGNED, .magnitude = REDTUNE_U16, .npy = REDTUNE_I16},
    {REDTUNE_U16, "u16", "uint16", 2, UNSIGNED, .magnitude = REDTUNE_U16, .npy = REDTUNE_U16},
    {REDTUNE_I32, "i32", "int32", 4, SIGNED, .magnitude = REDTUNE_U32, .npy = REDTUNE_I32,
     .nccl = 3},
    {REDTUNE_U32, "u32", "uint32", 4, UNSIGNED, .magnitude = REDTUNE_U32, .npy = REDTUNE_U32,
     .nccl = 4},
    {REDTUNE_I64, "i64", "int64", 8, SIGNED, .magnitude = REDTUNE_U64, .npy = REDTUNE_I64,
     .nccl = 5},
    {REDTUNE_U64, "u64", "uint64", 8, UNSIGNED, .magnitude = REDTUNE_U64, .npy = REDTUNE_U64,
     .nccl = 6},
    {REDTUNE_F16, "f16", "float16", 2, FLOAT(5, 10, DLPACK_FLOAT), NARROW, .magnitude = REDTUNE_F16,
     .npy = REDTUNE_F16},
    {REDTUNE_BF16, "bf16", "bfloat16", 2, FLOAT(8, 7, DLPACK_BFLOAT), NARROW,
     .magnitude = REDTUNE_BF16, .npy = REDTUNE_F32},
    {REDTUNE_F32, "f32", "float32", 4, FLOAT(8, 23, DLPACK_FLOAT), NATIVE,
     .accumulator = REDTUNE_F32, .magnitude = REDTUNE_F32, .npy = REDTUNE_F32, .nccl = 8},
    {REDTUNE_F64, "f64", "float64", 8, FLOAT(11, 52, DLPACK_FLOAT), NATIVE,
     .accumulator = REDTUNE_F64, .magnitude = REDTUNE_F64, .npy = REDTUNE_F64, .nccl = 9},
    {REDTUNE_E4M3, "e4m3", "float8_e4m3fn", 1, FLOAT(4, 3, DLPACK_FLOAT8_E4M3FN), NARROW,
     .finite = true, .magnitude = REDTUNE_E4M3, .npy = REDTUNE_F32},
    {REDTUNE_E5M2, "e5m2", "float8_e5m2", 1, FLOAT(5, 2, DLPACK_FLOAT8_E5M2), NARROW,
     .magnitude = REDTUNE_E5M2, .npy = REDTUNE_F32},
    {REDTUNE_DTYPE_NONE, .real = unsigned_real, .bits = unsigned_bits},
};
static_assert(sizeof rdt_dtype_table / sizeof *rdt_dtype_table == REDTUNE_DTYPE_END,
              "each dtype of problem.h has a row, in that order");

double rdt_dtype_greatest(const rdt_dtype_traits *traits) {
    if (!traits->finite) return (double)INFINITY;
    return traits->real(traits, overflow_bits(traits) - 1);
}

int rdt_dtype_exact_bits(const rdt_dtype_traits *traits) {
    return traits->kind == RDT_KIND_FLOAT ? traits->fraction_bits + 1 : 8 * (int)traits->bytes - 1;
}

const char *redtune_dtype_name(redtune_dtype dtype) {
    const rdt_dtype_traits *traits = rdt_dtype_find(dtype);
    return traits ? traits->name : NULL;
}

size_t redtune_dtype_bytes(redtune_dtype dtype) { return rdt_dtype_bytes(dtype); }

redtune_status redtune_dtype_get(redtune_dtype dtype, redtune_dtype_info *out, redtune_error *err) {
    static const char kinds[] = {
        [RDT_KIND_SIGNED] = 'i', [RDT_KIND_UNSIGNED] = 'u', [RDT_KIND_FLOAT] = 'f'};
    const rdt_dtype_traits *traits = rdt_dtype_find(dtype);
    if (!out || !traits)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot describe dtype %d: %s", (int)dtype,
                        out ? "it is unknown" : "out is NULL");
    *out = (redtune_dtype_info){.name = traits->name,
                                .long_name = traits->long_name,
                                .kind = kinds[traits->kind],
                                .bytes = traits->bytes,
                                .exponent_bits = traits->exponent_bits,
                                .fraction_bits = traits->fraction_bits,
                                .npy = traits->npy,
                                .dlpack = traits->dlpack,
                                .finite = traits->finite};
    return REDTUNE_OK;
}

redtune_status redtune_dtype_find(const char *name, redtune_dtype *dtype, redtune_error *err) {
    if (!dtype) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot find a dtype: dtype is NULL");
    for (const rdt_dtype_traits *traits = rdt_dtype_table; name && traits->name; traits++)
        if (!strcmp(traits->name, name)) {
            *dtype = traits->dtype;
            return REDTUNE_OK;
        }
    rdt_text known = {0};
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++)
        rdt_text_addf(&known, "%s %s", known.length ? "," : "", traits->name);
    redtune_status status =
        rdt_fail(err, REDTUNE_INVALID, 0, "cannot use dtype '%.40s': no such dtype; use%s",
                 name ? name : "", known.data ? known.data : "");
    rdt_text_free(&known);
    return status;
}
