/* Facts about model/half.h: all 65536 values of both formats, and rounding between them. */
#include <math.h>
#include "check.h"
#include "model/half.h"

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A format by its fields, as IEEE 754 defines it. */
typedef struct format {
    int exponent_bits, fraction_bits;
    float (*to_float)(uint16_t);
    uint16_t (*from_float)(float);
} format;

static const format formats[] = {
    {5, 10, rdt_half_to_float, rdt_half_from_float},
    {8, 7, rdt_half_bfloat_to_float, rdt_half_bfloat_from_float},
};
#define FOR_EACH_FORMAT(f) for (const format *f = formats; f < formats + 2; f++)

/* By the definition: (-1)^s 2^(e - bias) (1 + fraction); NaN for NaN. */
static double defined_value(const format *f, unsigned bits) {
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    int exponent = (int)(bits >> f->fraction_bits) & ((1 << f->exponent_bits) - 1);
    double fraction = ldexp((double)(bits & ((1u << f->fraction_bits) - 1)), -f->fraction_bits);
    double magnitude = exponent == (1 << f->exponent_bits) - 1
                           ? (double)(fraction != 0 ? NAN : INFINITY)
                       : exponent ? ldexp(1 + fraction, exponent - bias)
                                  : ldexp(fraction, 1 - bias);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static void every_value_is_as_defined(void) {
    FOR_EACH_FORMAT(f)
    for (unsigned bits = 0; bits < 65536; bits++) {
        double wanted = defined_value(f, bits);
        float got = f->to_float((uint16_t)bits);
        CHECK(isnan(wanted) ? isnan(got) : (double)got == wanted);
        CHECK(isnan(wanted) || !signbit(got) == !signbit(wanted));
    }
}

static void every_value_comes_back(void) {
    FOR_EACH_FORMAT(f)
    for (unsigned bits = 0; bits < 65536; bits++) {
        float value = f->to_float((uint16_t)bits);
        unsigned back = f->from_float(value);
        CHECK(isnan(value) ? isnan(f->to_float((uint16_t)back)) : back == bits);
    }
}

/* Between each pair of neighbours: just below the middle, the middle, and just above it. */
static void the_nearest_is_taken_and_of_two_the_even(void) {
    FOR_EACH_FORMAT(f) {
        unsigned infinity = ((1u << f->exponent_bits) - 1) << f->fraction_bits;
        for (unsigned bits = 0; bits + 1 < infinity; bits++) {
            double low = defined_value(f, bits), high = defined_value(f, bits + 1);
            float middle = (float)((low + high) / 2);
            unsigned even = bits & 1 ? bits + 1 : bits;
            CHECK((double)middle == (low + high) / 2);
            CHECK_INT(f->from_float(middle), even);
            CHECK_INT(f->from_float(nextafterf(middle, 0)), bits);
            CHECK_INT(f->from_float(nextafterf(middle, INFINITY)), bits + 1);
            CHECK_INT(f->from_float(-middle), even | 0x8000);
        }
    }
}

static void what_is_too_large_becomes_infinity(void) {
    CHECK_INT(rdt_half_from_float(65519.996f), 0x7bff);
    CHECK_INT(rdt_half_from_float(65520.0f), 0x7c00);
    CHECK_INT(rdt_half_from_float(-1e30f), 0xfc00);
    CHECK_INT(rdt_half_from_float(INFINITY), 0x7c00);
    CHECK_INT(rdt_half_bfloat_from_float(0x1.fefffep127f), 0x7f7f);
    CHECK_INT(rdt_half_bfloat_from_float(0x1.ffp127f), 0x7f80);
    CHECK_INT(rdt_half_bfloat_from_float(-INFINITY), 0xff80);
}

static void what_is_too_small_becomes_zero(void) {
    CHECK_INT(rdt_half_from_float(0x1p-25f), 0);
    CHECK_INT(rdt_half_from_float(0x1.000002p-25f), 1);
    CHECK_INT(rdt_half_from_float(-0x1p-149f), 0x8000);
    CHECK_INT(rdt_half_bfloat_from_float(0x1p-134f), 0);
    CHECK_INT(rdt_half_bfloat_from_float(0x1.8p-134f), 1);
}

/* A NaN whose payload lies in the lower bits only would become an infinity if it were cut. */
static void every_nan_stays_a_quiet_nan(void) {
    static const uint32_t nans[] = {0x7f800001, 0x7fc00000, 0xff800001, 0xffffffff, 0x7fbfffff};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        float nan;
        memcpy(&nan, &nans[i], sizeof nan);
        CHECK_INT(rdt_half_from_float(nan) & 0x7e00, 0x7e00);
        CHECK_INT(rdt_half_bfloat_from_float(nan) & 0x7fc0, 0x7fc0);
        CHECK(bits_of(rdt_half_bfloat_to_float(rdt_half_bfloat_from_float(nan))) & 0x400000);
    }
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(every_value_is_as_defined),
        FACT(every_value_comes_back),
        FACT(the_nearest_is_taken_and_of_two_the_even),
        FACT(what_is_too_large_becomes_infinity),
        FACT(what_is_too_small_becomes_zero),
        FACT(every_nan_stays_a_quiet_nan),
    };
    return check_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
