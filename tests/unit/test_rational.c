/* Facts about the sums that accurate ones are held against. */
#include "rational.h"

#include <float.h>
#include <math.h>
#include "check.h"

static double rounded(const rational *self) { return rational_round(self, REDTUNE_F64).f64; }

FACT(sums_lose_nothing) {
    rational sum = {.pending = 0};
    rational_add(&sum, DBL_MAX, 1);
    rational_add(&sum, 0x1p-1074, 1);
    rational_add(&sum, DBL_MAX, 1);
    rational_add(&sum, DBL_MAX, -2);
    CHECK(rounded(&sum) == 0x1p-1074);
    rational_add(&sum, 0x1p-1074, 0x1p-1074);
    CHECK(rounded(&sum) == 0x1p-1074);
    rational_add(&sum, -0x1p-1074, 1);
    CHECK(rounded(&sum) == 0 && rational_real(&sum) == 0x1p-2148L);
    rational_add(&sum, -1, 1);
    CHECK(rounded(&sum) == -1);
}

/* Products of two integers of 53 bits, beside those of 128 bits. */
FACT(products_are_exact) {
    rational sum = {.pending = 0};
    const double x = 0x1.fffffffffffffp52, y = 0x1.0000000000001p52;
    const __int128 product = (__int128)(int64_t)x * (int64_t)y;
    rational_add(&sum, x, y);
    rational_add(&sum, (double)(uint64_t)(product >> 53), -0x1p53);
    CHECK(rounded(&sum) == (double)(int64_t)(product & 0x1fffffffffffff));
}

FACT(roundings_are_to_the_nearest_even) {
    static const struct {
        double add[3], f64;
        float f32;
    } cases[] = {
        {{1, 0x1p-53, 0}, 1, 1},
        {{1, 0x1p-53, 0x1p-1000}, 1 + 0x1p-52, 1},
        {{1 + 0x1p-52, 0x1p-53, 0}, 1 + 0x1p-51, 1},
        {{1, 0x1p-24, 0}, 1 + 0x1p-24, 1},
        {{1, 0x1p-24, 0x1p-60}, 1 + 0x1p-24, 1 + 0x1p-23f},
        {{-1, -0x1p-24, -0x1p-60}, -1 - 0x1p-24, -1 - 0x1p-23f},
        {{0x1p-149, 0x1p-150, 0}, 0x1.8p-149, 0x1p-148f},
        {{0x1p-150, 0, 0}, 0x1p-150, 0},
        {{DBL_MAX, 0x1p970, 0}, (double)INFINITY, INFINITY},
        {{DBL_MAX, 0x1p969, 0}, DBL_MAX, INFINITY},
        {{(double)FLT_MAX, 0x1p102, 0}, (double)FLT_MAX + 0x1p102, FLT_MAX},
        {{(double)FLT_MAX, 0x1p103, 0}, (double)FLT_MAX + 0x1p103, INFINITY},
        {{(double)INFINITY, -1, 0}, (double)INFINITY, INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rational sum = {.pending = 0};
        for (int k = 0; k < 3; k++) rational_add(&sum, cases[i].add[k], 1);
        const float narrow = rational_round(&sum, REDTUNE_F32).f32;
        check_that(rounded(&sum) == cases[i].f64 && narrow == cases[i].f32, __FILE__, __LINE__,
                   "case %zu: %a and %a", i, rounded(&sum), (double)narrow);
    }
}

FACT(narrow_results_are_rounded_once) {
    rational sum = {.pending = 0};
    rational_add(&sum, 1 + 0x1p-11, 1);
    rational_add(&sum, 0x1p-40, 1); /* rounded to f32 first, this would be lost */
    CHECK_INT(rational_round(&sum, REDTUNE_F16).f16, 0x3c01);
    CHECK_INT(rational_round(&sum, REDTUNE_BF16).bf16, 0x3f80);
    rational_add(&sum, -1 - 0x1p-11, 1);
    rational_add(&sum, -0x1p-39, 1);
    CHECK_INT(rational_round(&sum, REDTUNE_F16).f16, 0x8000);
    rational_add(&sum, 0x1p-40, 1);
    CHECK_INT(rational_round(&sum, REDTUNE_F16).f16, 0);
    rational_add(&sum, 65520, 1);
    CHECK_INT(rational_round(&sum, REDTUNE_F16).f16, 0x7c00);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
