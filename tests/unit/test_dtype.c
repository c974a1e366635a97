/* Facts about model/dtype.h: all values of the floats of 16 bits, and rounding to them. */
#include <math.h>
#include "check.h"
#include "model/dtype.h"

/* A float of at most 16 bits. */
static bool is_narrow(const rdt_dtype_traits *f) {
    return f->kind == RDT_KIND_FLOAT && f->bytes <= sizeof(uint16_t);
}

#define FOR_EACH_FORMAT(f)                                                                         \
    for (const rdt_dtype_traits *f = rdt_dtype_table; f->name; f++)                                \
        if (is_narrow(f))

static double real_of(const rdt_dtype_traits *f, uint64_t bits) { return f->real(f, bits); }
static uint64_t bits_of(const rdt_dtype_traits *f, double real) { return f->bits(f, real); }

static uint64_t top_of(const rdt_dtype_traits *f) { return UINT64_C(1) << (8 * f->bytes - 1); }

/* By the definition: (-1)^s 2^(e - bias) (1 + fraction); NaN for NaN. */
static double defined_value(const rdt_dtype_traits *f, uint64_t bits) {
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    int exponent = (int)(bits >> f->fraction_bits) & ((1 << f->exponent_bits) - 1);
    double fraction = ldexp((double)(bits & ((1u << f->fraction_bits) - 1)), -f->fraction_bits);
    bool last = exponent == (1 << f->exponent_bits) - 1;
    if (f->dtype == REDTUNE_E4M3) last = (bits & 0x7f) == 0x7f; /* NaN, and there is no infinity */
    double magnitude = last       ? (double)(fraction != 0 ? NAN : INFINITY)
                       : exponent ? ldexp(1 + fraction, exponent - bias)
                                  : ldexp(fraction, 1 - bias);
    return bits & top_of(f) ? -magnitude : magnitude;
}

FACT(every_value_is_as_defined) {
    FOR_EACH_FORMAT(f)
    for (uint64_t bits = 0; bits < 2 * top_of(f); bits++) {
        double wanted = defined_value(f, bits), got = real_of(f, bits);
        CHECK(isnan(wanted) ? isnan(got) : got == wanted);
        CHECK(isnan(wanted) || !signbit(got) == !signbit(wanted));
    }
}

FACT(every_value_comes_back) {
    FOR_EACH_FORMAT(f)
    for (uint64_t bits = 0; bits < 2 * top_of(f); bits++) {
        double value = real_of(f, bits);
        uint64_t back = bits_of(f, value);
        CHECK(isnan(value) ? isnan(real_of(f, back)) : back == bits);
    }
}

/* Between each pair of neighbours: just below the middle, the middle, and just above it. */
FACT(the_nearest_is_taken_and_of_two_the_even) {
    FOR_EACH_FORMAT(f)
    for (uint64_t bits = 0; isfinite(defined_value(f, bits + 1)); bits++) {
        double low = defined_value(f, bits), high = defined_value(f, bits + 1);
        float middle = (float)((low + high) / 2);
        uint64_t even = bits & 1 ? bits + 1 : bits;
        CHECK((double)middle == (low + high) / 2);
        CHECK_INT(bits_of(f, (double)middle), even);
        CHECK_INT(bits_of(f, (double)nextafterf(middle, 0)), bits);
        CHECK_INT(bits_of(f, (double)nextafterf(middle, INFINITY)), bits + 1);
        CHECK_INT(bits_of(f, (double)-middle), even | top_of(f));
    }
}

/* By the formats' own pages, not by the table. */
FACT(the_ends_of_the_range_are_known) {
    static const struct {
        redtune_dtype dtype;
        double real;
        uint64_t bits;
    } rows[] = {
        {REDTUNE_F16, 65519.996, 0x7bff},
        {REDTUNE_F16, 65520, 0x7c00},
        {REDTUNE_F16, -1e30, 0xfc00},
        {REDTUNE_F16, (double)INFINITY, 0x7c00},
        {REDTUNE_F16, 0x1p-25, 0},
        {REDTUNE_F16, 0x1.000002p-25, 1},
        {REDTUNE_F16, -0x1p-149, 0x8000},
        {REDTUNE_F16, (double)NAN, 0x7e00},
        {REDTUNE_BF16, 0x1.fefffep127, 0x7f7f},
        {REDTUNE_BF16, 0x1.ffp127, 0x7f80},
        {REDTUNE_BF16, -(double)INFINITY, 0xff80},
        {REDTUNE_BF16, 0x1p-134, 0},
        {REDTUNE_BF16, 0x1.8p-134, 1},
        {REDTUNE_BF16, (double)NAN, 0x7fc0},
        {REDTUNE_E4M3, 448, 0x7e},
        {REDTUNE_E4M3, 464, 0x7e},
        {REDTUNE_E4M3, 0x1.d00002p8, 0x7f},
        {REDTUNE_E4M3, -1e30, 0xff},
        {REDTUNE_E4M3, (double)INFINITY, 0x7f},
        {REDTUNE_E4M3, 0x1p-10, 0},
        {REDTUNE_E4M3, 0x1.8p-10, 1},
        {REDTUNE_E4M3, (double)NAN, 0x7f},
        {REDTUNE_E5M2, 57344, 0x7b},
        {REDTUNE_E5M2, 61439.996, 0x7b},
        {REDTUNE_E5M2, 61440, 0x7c},
        {REDTUNE_E5M2, -(double)INFINITY, 0xfc},
        {REDTUNE_E5M2, 0x1p-17, 0},
        {REDTUNE_E5M2, -0x1.8p-17, 0x81},
        {REDTUNE_E5M2, (double)NAN, 0x7e},
        {REDTUNE_F32, 1e300, 0x7f800000},
        {REDTUNE_F32, -1.5, 0xbfc00000},
        {REDTUNE_F64, -1.5, 0xbff8000000000000},
        {REDTUNE_F64, 0x1p-1074, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(bits_of(rdt_dtype_find(rows[i].dtype), rows[i].real), rows[i].bits);
}

/* What a row says of a dtype that its bits do not follow from. */
FACT(rows_agree_with_each_other) {
    for (const rdt_dtype_traits *each = rdt_dtype_table; each->name; each++) {
        const rdt_dtype_traits *magnitude = rdt_dtype_find(each->magnitude);
        CHECK(rdt_dtype_find(each->dtype) == each);
        CHECK(rdt_dtype_find(each->accumulator)->accumulator == each->accumulator);
        CHECK_INT(magnitude->bytes, each->bytes);
        CHECK(magnitude->kind != RDT_KIND_SIGNED && magnitude->dlpack != 0);
        CHECK_INT(rdt_dtype_find(each->npy)->npy, each->npy);
        if (each->kind == RDT_KIND_FLOAT)
            CHECK_INT(1 + each->exponent_bits + each->fraction_bits, 8 * each->bytes);
        for (int number = -8; number <= 8; number++) {
            const bool has = number >= 0 || each->kind != RDT_KIND_UNSIGNED;
            CHECK(!has || real_of(each, bits_of(each, number)) == number);
        }
    }
}

FACT(the_public_view_is_that_of_the_row) {
    redtune_dtype_info info;
    redtune_error err;
    CHECK_OK(redtune_dtype_get(REDTUNE_BF16, &info, &err), err);
    CHECK_TEXT(info.name, "bf16");
    CHECK_TEXT(info.long_name, "bfloat16");
    CHECK(info.kind == 'f' && info.bytes == 2 && info.exponent_bits == 8);
    CHECK(info.fraction_bits == 7 && info.npy == REDTUNE_F32 && info.dlpack == 4);
    const redtune_value value = {.bf16 = 0xc040};
    CHECK(redtune_value_real(REDTUNE_BF16, &value) == -3);
    CHECK(redtune_value_real(REDTUNE_DTYPE_NONE, &value) == 0);
    CHECK_INT(info.finite, 0);
    CHECK_OK(redtune_dtype_get(REDTUNE_E4M3, &info, &err), err);
    CHECK(info.bytes == 1 && info.exponent_bits == 4 && info.finite == 1 && info.dlpack == 10);
    CHECK_FAILS(redtune_dtype_get((redtune_dtype)77, &info, &err), REDTUNE_INVALID, err, "77");
    CHECK_FAILS(redtune_dtype_get(REDTUNE_F32, NULL, &err), REDTUNE_INVALID, err, "out is NULL");
}

int main(int argc, char **argv) { return check_run(argc, argv); }
