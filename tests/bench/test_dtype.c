/* Facts about bench/dtype.h. */
#include "tests/check.h"

#include <math.h>

#include "bench/dtype.h"

static double number(const char *name, uint64_t bits) {
    return bench_dtype_number(bench_dtype_find(name), &bits);
}

static bool agree(const char *name, uint64_t count, double x, double y) {
    return bench_dtype_agree(bench_dtype_find(name), true, count, &x, &y);
}

FACT(find_knows_names_only) {
    CHECK_INT(bench_dtype_find("bf16")->bytes, 2);
    CHECK(!bench_dtype_find("float") && !bench_dtype_find(""));
}

FACT(number_reads_every_kind) {
    CHECK(number("i8", 0xff) == -1 && number("u8", 0xff) == 255);
    CHECK(number("i16", 0x8000) == -32768 && number("u16", 0x8000) == 32768);
    CHECK(number("i32", 0x80000000) == -2147483648.0);
    CHECK(number("i64", UINT64_MAX) == -1 && number("u64", 5) == 5);
    CHECK(number("bf16", 0x3f80) == 1 && number("bf16", 0xc000) == -2);
    CHECK(number("f32", 0x3fc00000) == 1.5 && number("f64", 0x3ff8000000000000) == 1.5);
}

FACT(number_reads_half_floats) {
    CHECK(number("f16", 0x3c00) == 1 && number("f16", 0xbe00) == -1.5);
    CHECK(number("f16", 0x7bff) == 65504 && number("f16", 0x0001) == ldexp(1, -24));
    CHECK(isinf(number("f16", 0xfc00)) && isnan(number("f16", 0x7e01)));
}

FACT(test_data_of_floats_lies_from_1_to_2) {
    static const char *const names[] = {"f16", "bf16", "f32", "f64"};
    for (int i = 0; i < 4; i++) {
        const bench_dtype *dtype = bench_dtype_find(names[i]);
        CHECK(number(names[i], dtype->fixed_bits) == 1);
        double most = number(names[i], dtype->fixed_bits | dtype->random_bits);
        CHECK(most < 2 && most > 2 - 4 * dtype->roundoff);
    }
}

FACT(print_gives_all_digits) {
    char text[32];
    uint64_t bits = UINT64_MAX;
    bench_dtype_print(bench_dtype_find("u64"), &bits, text);
    CHECK_TEXT(text, "18446744073709551615");
    bench_dtype_print(bench_dtype_find("i64"), &bits, text);
    CHECK_TEXT(text, "-1");
    double third = 1.0 / 3;
    bench_dtype_print(bench_dtype_find("f64"), &third, text);
    CHECK(strtod(text, NULL) == third);
}

FACT(sum_wraps_integers_and_rounds_floats_once) {
    uint64_t integers[] = {UINT64_MAX, 3}, whole = 0;
    bench_dtype_sum(bench_dtype_find("i64"), (unsigned char *)integers, 2, 8, &whole);
    CHECK_INT(whole, 2);
    float floats[] = {16777216, 0, 1, 0, 1, 0}, single = 0; /* one by one the ones would be lost */
    bench_dtype_sum(bench_dtype_find("f32"), (unsigned char *)floats, 3, 8, &single);
    CHECK(single == 16777218);
    double doubles[] = {0.5, 0.25}, real = 0;
    bench_dtype_sum(bench_dtype_find("f64"), (unsigned char *)doubles, 2, 8, &real);
    CHECK(real == 0.75);
}

FACT(integers_agree_bit_for_bit) {
    const bench_dtype *i64 = bench_dtype_find("i64");
    int64_t a = 1000000, b = 1000001;
    CHECK(bench_dtype_agree(i64, true, 1000, &a, &a));
    CHECK(!bench_dtype_agree(i64, true, 1000, &a, &b));
}

FACT(sums_of_floats_agree_within_their_bound) {
    double bound = 2 * (64 + 1) * ldexp(1, -53);
    CHECK(agree("f64", 16384, 1, 1 - 0.9 * bound));
    CHECK(!agree("f64", 16384, 1, 1 - 1.1 * bound));
    CHECK(agree("f64", 16384 << 8, 1, 1 - 1.1 * bound));
    CHECK(!agree("f64", 16384, 1, NAN) && !agree("f64", 16384, 1, INFINITY));
}

FACT(floats_that_are_chosen_agree_bit_for_bit) {
    double a = 1, b = nextafter(1, 2);
    CHECK(!bench_dtype_agree(bench_dtype_find("f64"), false, 1000, &a, &b));
    CHECK(bench_dtype_agree(bench_dtype_find("f64"), true, 1000, &a, &b));
}

int main(int argc, char **argv) { return check_run(argc, argv); }
