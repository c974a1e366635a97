/* Facts about model/reference.h: values worked out by hand from docs/ops.md. */
#include <float.h>
#include <math.h>
#include "check.h"
#include "reference.h"
#include "model/scalar.h"

static redtune_problem problem_of(redtune_op op, redtune_dtype dtype, redtune_dtype result) {
    redtune_problem problem = {op, dtype, result};
    rdt_problem_resolve(&problem, &problem, NULL);
    return problem;
}

static redtune_value reduce_to(redtune_op op, redtune_dtype dtype, redtune_dtype result,
                               const void *elements, uint64_t count) {
    redtune_problem problem = problem_of(op, dtype, result);
    rdt_reference out;
    rdt_reference_reduce(&problem, elements, count, &out);
    return out.value;
}

static redtune_value reduce(redtune_op op, redtune_dtype dtype, const void *elements,
                            uint64_t count) {
    return reduce_to(op, dtype, REDTUNE_DTYPE_NONE, elements, count);
}

/* The reduction of a list written out. */
#define OF(op, dtype, type, member, ...)                                                           \
    reduce(op, dtype, (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}) / sizeof(type)).member
#define F32(op, member, ...) OF(op, REDTUNE_F32, float, member, __VA_ARGS__)
#define F64(op, member, ...) OF(op, REDTUNE_F64, double, member, __VA_ARGS__)
#define I8(op, member, ...)  OF(op, REDTUNE_I8, int8_t, member, __VA_ARGS__)
#define I64(op, member, ...) OF(op, REDTUNE_I64, int64_t, member, __VA_ARGS__)
#define U64(op, member, ...) OF(op, REDTUNE_U64, uint64_t, member, __VA_ARGS__)

static bool is_plus_zero(double x) { return x == 0 && !signbit(x); }

static bool is_minus_zero(double x) { return x == 0 && signbit(x); }

/* ---- no elements ----------------------------------------------------------------------------- */

FACT(of_nothing_is_the_identity) {
#define NOTHING(op, dtype, member) reduce(op, dtype, NULL, 0).member
    CHECK(is_plus_zero(NOTHING(REDTUNE_SUM, REDTUNE_F64, f64)));
    CHECK(NOTHING(REDTUNE_PROD, REDTUNE_F32, f32) == 1);
    CHECK_INT(NOTHING(REDTUNE_PROD, REDTUNE_U8, u64), 1);
    CHECK(NOTHING(REDTUNE_SUMSQ, REDTUNE_F32, f32) == 0);
    CHECK(NOTHING(REDTUNE_NORM2, REDTUNE_I32, f64) == 0);
    CHECK_INT(NOTHING(REDTUNE_SUMABS, REDTUNE_I8, i64), 0);
    CHECK(isnan(NOTHING(REDTUNE_MEAN, REDTUNE_F32, f32)));
    CHECK(isnan(NOTHING(REDTUNE_MEAN, REDTUNE_U8, f64)));
    CHECK(NOTHING(REDTUNE_MIN, REDTUNE_F32, f32) == INFINITY);
    CHECK(NOTHING(REDTUNE_MAX, REDTUNE_F64, f64) == (double)-INFINITY);
    CHECK_INT(NOTHING(REDTUNE_MIN, REDTUNE_F16, f16), 0x7c00);
    CHECK_INT(NOTHING(REDTUNE_MAX, REDTUNE_BF16, bf16), 0xff80);
    CHECK_INT(NOTHING(REDTUNE_MIN, REDTUNE_I8, i8), 127);
    CHECK_INT(NOTHING(REDTUNE_MAX, REDTUNE_I16, i16), -32768);
    CHECK_INT(NOTHING(REDTUNE_FMIN, REDTUNE_U16, u16), 65535);
    CHECK_INT(NOTHING(REDTUNE_FMAX, REDTUNE_U32, u32), 0);
    CHECK(NOTHING(REDTUNE_MIN, REDTUNE_I64, i64) == INT64_MAX);
    CHECK(NOTHING(REDTUNE_FMAX, REDTUNE_I64, i64) == INT64_MIN);
    CHECK(NOTHING(REDTUNE_MIN, REDTUNE_U64, u64) == UINT64_MAX);
    CHECK(isnan(NOTHING(REDTUNE_FMIN, REDTUNE_F32, f32)));
    CHECK(isnan(NOTHING(REDTUNE_FMAX, REDTUNE_F64, f64)));
    CHECK(NOTHING(REDTUNE_MAXABS, REDTUNE_F32, f32) == 0);
    CHECK_INT(NOTHING(REDTUNE_MAXABS, REDTUNE_I8, u8), 0);
    CHECK_INT(NOTHING(REDTUNE_ARGMIN, REDTUNE_F32, i64), -1);
    CHECK_INT(NOTHING(REDTUNE_ARGMAX, REDTUNE_I8, i64), -1);
    CHECK_INT(NOTHING(REDTUNE_ANY, REDTUNE_F32, u8), 0);
    CHECK_INT(NOTHING(REDTUNE_ALL, REDTUNE_F32, u8), 1);
    CHECK_INT(NOTHING(REDTUNE_NONZEROS, REDTUNE_I8, u64), 0);
    CHECK_INT(NOTHING(REDTUNE_AND, REDTUNE_I32, i32), -1);
    CHECK_INT(NOTHING(REDTUNE_AND, REDTUNE_U8, u8), 255);
    CHECK_INT(NOTHING(REDTUNE_OR, REDTUNE_U64, u64), 0);
    CHECK_INT(NOTHING(REDTUNE_XOR, REDTUNE_I16, i16), 0);
}

/* ---- values ---------------------------------------------------------------------------------- */

FACT(sums_of_integers_wrap_in_64_bits) {
    CHECK_INT(I8(REDTUNE_SUM, i64, 127, 127, -128, 5), 131);
    CHECK_INT(OF(REDTUNE_SUM, REDTUNE_U8, uint8_t, u64, 255, 255), 510);
    CHECK(I64(REDTUNE_SUM, i64, INT64_MAX, 1) == INT64_MIN);
    CHECK_INT(U64(REDTUNE_SUM, u64, UINT64_MAX, 3), 2);
    CHECK_INT(U64(REDTUNE_PROD, u64, UINT64_C(1) << 32, UINT64_C(1) << 33), 0);
    CHECK_INT(I8(REDTUNE_PROD, i64, -128, -128, -128), -2097152);
    CHECK_INT(I8(REDTUNE_SUMSQ, i64, -128, 127), 32513);
    CHECK_INT(OF(REDTUNE_SUMSQ, REDTUNE_U32, uint32_t, u64, 65536, 3), 4294967305);
    CHECK_INT(I8(REDTUNE_SUMABS, i64, -128, 127), 255);
    CHECK(I64(REDTUNE_SUMABS, i64, INT64_MIN) == INT64_MIN);
    CHECK(U64(REDTUNE_SUMABS, u64, UINT64_MAX) == UINT64_MAX);
    CHECK(I64(REDTUNE_SUMABS, i64, INT64_MIN, -1) == INT64_MIN + 1);
}

FACT(sums_of_floats_are_exact_before_they_are_rounded) {
    CHECK(F64(REDTUNE_SUM, f64, 1, 1e100, 1, -1e100) == 2);
    CHECK(F32(REDTUNE_SUM, f32, 16777216, 1, 1, 1, 1) == 16777220);
    CHECK(F32(REDTUNE_SUMABS, f32, -1.5f, 2.5f) == 4);
    CHECK(F32(REDTUNE_SUMSQ, f32, -1.5f, 2) == 6.25f);
    CHECK(F32(REDTUNE_PROD, f32, 3, -0.5f, 4) == -6);
    CHECK(F64(REDTUNE_PROD, f64, 0x1p900, 0x1p900, 0x1p-900, 0x1p-900) == 1);
    CHECK(F32(REDTUNE_SUM, f32, FLT_MAX, FLT_MAX) == INFINITY);
}

FACT(mean_and_norm_are_rounded_once_more) {
    CHECK(F32(REDTUNE_MEAN, f32, 1, 2, 4) == 7.0f / 3.0f);
    CHECK(I8(REDTUNE_MEAN, f64, -1, 2, 1, -3) == -0.25);
    CHECK(U64(REDTUNE_MEAN, f64, UINT64_C(1) << 63, UINT64_C(1) << 63) == 0x1p63);
    CHECK(F32(REDTUNE_NORM2, f32, 3, -4) == 5);
    CHECK(F32(REDTUNE_NORM2, f32, 1, 1) == sqrtf(2));
    CHECK(I64(REDTUNE_NORM2, f64, INT64_MIN) == 0x1p63);
    CHECK(OF(REDTUNE_NORM2, REDTUNE_I32, int32_t, f64, INT32_MIN) == 0x1p31);
    /* The root is of what the accumulator holds. */
    CHECK(F32(REDTUNE_NORM2, f32, 1e30f) == INFINITY);
}

FACT(halves_accumulate_in_floats) {
    uint16_t half[3], bfloat[2];
    for (int i = 0; i < 3; i++) half[i] = rdt_scalar_from_real(REDTUNE_F16, 60000).f16;
    for (int i = 0; i < 2; i++) bfloat[i] = rdt_scalar_from_real(REDTUNE_BF16, 0x1p127).bf16;
    CHECK(reduce(REDTUNE_SUM, REDTUNE_F16, half, 3).f32 == 180000);
    CHECK_INT(reduce_to(REDTUNE_SUM, REDTUNE_F16, REDTUNE_F16, half, 3).f16, 0x7c00);
    CHECK_INT(reduce_to(REDTUNE_MEAN, REDTUNE_F16, REDTUNE_F16, half, 3).f16, half[0]);
    CHECK(reduce(REDTUNE_SUM, REDTUNE_BF16, bfloat, 2).f32 == INFINITY);
    CHECK(reduce_to(REDTUNE_SUM, REDTUNE_BF16, REDTUNE_F64, bfloat, 2).f64 == 0x1p128);
    CHECK_INT(reduce(REDTUNE_MAX, REDTUNE_F16, half, 3).f16, half[0]);
}

FACT(results_are_converted) {
    static const int8_t narrow[] = {100, 100, 100};
    static const float tenths[] = {0.1f, 0.1f, 0.1f};
    static const int64_t wide[] = {INT64_MIN, INT64_MIN};
    CHECK_INT(reduce_to(REDTUNE_SUM, REDTUNE_I8, REDTUNE_I8, narrow, 3).i8, 44);
    CHECK(reduce_to(REDTUNE_SUM, REDTUNE_I8, REDTUNE_F64, narrow, 3).f64 == 300);
    CHECK(reduce_to(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F64, tenths, 3).f64 == 3 * (double)tenths[0]);
    CHECK(reduce_to(REDTUNE_SUMABS, REDTUNE_I64, REDTUNE_F64, wide, 2).f64 == 0x1p64);
    CHECK(reduce_to(REDTUNE_PROD, REDTUNE_I64, REDTUNE_F64, wide, 2).f64 == 0x1p126);
}

/* ---- order ----------------------------------------------------------------------------------- */

FACT(extremes_are_the_elements_own) {
    CHECK_INT(I8(REDTUNE_MIN, i8, 3, -128, 127), -128);
    CHECK_INT(I8(REDTUNE_MAX, i8, 3, -128, 127), 127);
    CHECK_INT(OF(REDTUNE_MAX, REDTUNE_U8, uint8_t, u8, 3, 200), 200);
    CHECK(I64(REDTUNE_MIN, i64, INT64_MIN + 1, INT64_MIN) == INT64_MIN);
    CHECK(U64(REDTUNE_MAX, u64, UINT64_MAX - 1, UINT64_MAX) == UINT64_MAX);
    CHECK(F32(REDTUNE_MIN, f32, 1, -INFINITY, 2) == -INFINITY);
    CHECK(F32(REDTUNE_FMAX, f32, 1, 0x1p-149f) == 1);
    CHECK_INT(I8(REDTUNE_MAXABS, u8, -128, 127), 128);
    CHECK(I64(REDTUNE_MAXABS, u64, INT64_MIN) == UINT64_C(1) << 63);
    CHECK(F32(REDTUNE_MAXABS, f32, -3, 2) == 3);
    CHECK(is_plus_zero((double)F32(REDTUNE_MAXABS, f32, -0.0f)));
}

FACT(minus_zero_is_less_than_zero) {
    CHECK(is_minus_zero((double)F32(REDTUNE_MIN, f32, 0, -0.0f)));
    CHECK(is_minus_zero((double)F32(REDTUNE_MIN, f32, -0.0f, 0)));
    CHECK(is_plus_zero(F64(REDTUNE_MAX, f64, -0.0, 0)));
    CHECK(is_minus_zero(F64(REDTUNE_FMIN, f64, 0, -0.0)));
    CHECK(is_plus_zero(F64(REDTUNE_FMAX, f64, 0, -0.0)));
    CHECK_INT(F32(REDTUNE_ARGMIN, i64, 0, -0.0f), 0);
    CHECK_INT(F32(REDTUNE_ARGMAX, i64, -0.0f, 0), 0);
}

FACT(zero_sums_are_plus_zero_and_zero_products_have_their_sign) {
    CHECK(is_plus_zero((double)F32(REDTUNE_SUM, f32, -0.0f, -0.0f)));
    CHECK(is_plus_zero(F64(REDTUNE_SUM, f64, 1, -1)));
    CHECK(is_plus_zero(F64(REDTUNE_MEAN, f64, -0.0)));
    CHECK(is_minus_zero(F64(REDTUNE_PROD, f64, 0, -1)));
    CHECK(is_minus_zero(F64(REDTUNE_PROD, f64, -2, -3, -0.0)));
    CHECK(is_plus_zero(F64(REDTUNE_PROD, f64, -2, -0.0)));
}

FACT(ties_go_to_the_first_index) {
    CHECK_INT(F32(REDTUNE_ARGMIN, i64, 2, 1, 3, 1), 1);
    CHECK_INT(I8(REDTUNE_ARGMAX, i64, 7, 7, 7), 0);
    CHECK_INT(U64(REDTUNE_ARGMIN, i64, UINT64_MAX, UINT64_MAX - 1), 1);
    CHECK_INT(I64(REDTUNE_ARGMAX, i64, (INT64_C(1) << 53), (INT64_C(1) << 53) + 1), 1);
    CHECK_INT(I8(REDTUNE_ARGMIN, i64, 0, -1, -1), 1);
}

/* ---- NaN and infinity ------------------------------------------------------------------------ */

FACT(nan_spreads_where_it_should) {
    static const redtune_op spreading[] = {REDTUNE_SUM,   REDTUNE_PROD,   REDTUNE_SUMSQ,
                                           REDTUNE_NORM2, REDTUNE_SUMABS, REDTUNE_MEAN,
                                           REDTUNE_MIN,   REDTUNE_MAX,    REDTUNE_MAXABS};
    for (size_t i = 0; i < sizeof spreading / sizeof *spreading; i++)
        for (int place = 0; place < 3; place++) {
            float elements[] = {0, INFINITY, -1};
            elements[place] = -NAN;
            redtune_value value = reduce(spreading[i], REDTUNE_F32, elements, 3);
            CHECK(isnan(value.f32));
            CHECK(value.u32 & 0x400000);
        }
    CHECK_INT(F32(REDTUNE_ARGMIN, i64, -INFINITY, NAN, NAN), 1);
    CHECK_INT(F32(REDTUNE_ARGMAX, i64, 1, 2, NAN), 2);
}

FACT(nan_is_ignored_where_it_should_be) {
    CHECK(F32(REDTUNE_FMIN, f32, NAN, 3, NAN, 2) == 2);
    CHECK(F32(REDTUNE_FMAX, f32, NAN, -INFINITY) == -INFINITY);
    CHECK(isnan(F32(REDTUNE_FMIN, f32, NAN, NAN)));
    CHECK_INT(F32(REDTUNE_ANY, u8, NAN), 1);
    CHECK_INT(F32(REDTUNE_ALL, u8, NAN, 1), 1);
    CHECK_INT(F32(REDTUNE_NONZEROS, u64, NAN, 0, -0.0f, 0x1p-149f), 2);
}

FACT(infinities_follow_the_standard) {
    CHECK(F32(REDTUNE_SUM, f32, 1, INFINITY, 2) == INFINITY);
    CHECK(isnan(F32(REDTUNE_SUM, f32, INFINITY, -INFINITY)));
    CHECK(F32(REDTUNE_SUMABS, f32, INFINITY, -INFINITY) == INFINITY);
    CHECK(F32(REDTUNE_NORM2, f32, -INFINITY, 1) == INFINITY);
    CHECK(F64(REDTUNE_MEAN, f64, (double)-INFINITY, 1) == (double)-INFINITY);
    CHECK(F32(REDTUNE_PROD, f32, -2, INFINITY) == -INFINITY);
    CHECK(isnan(F32(REDTUNE_PROD, f32, 0, INFINITY)));
    CHECK_INT(F32(REDTUNE_ARGMAX, i64, 1, INFINITY, INFINITY), 1);
}

/* ---- truth and bits -------------------------------------------------------------------------- */

FACT(truth_is_about_zero) {
    CHECK_INT(F32(REDTUNE_ANY, u8, 0, -0.0f), 0);
    CHECK_INT(F64(REDTUNE_ANY, u8, 0, 0x1p-1074), 1);
    CHECK_INT(I8(REDTUNE_ALL, u8, 1, -1, 0), 0);
    CHECK_INT(I8(REDTUNE_ALL, u8, 1, -1), 1);
    CHECK_INT(U64(REDTUNE_NONZEROS, u64, UINT64_C(1) << 63, 0), 1);
}

FACT(bits_are_combined) {
    CHECK_INT(I8(REDTUNE_AND, i8, -1, 0x5a, 0x4f), 0x4a);
    CHECK_INT(OF(REDTUNE_OR, REDTUNE_U16, uint16_t, u16, 0x8000, 1), 0x8001);
    CHECK_INT(OF(REDTUNE_XOR, REDTUNE_I32, int32_t, i32, -1, 1, -1), 1);
    CHECK(U64(REDTUNE_XOR, u64, UINT64_C(1) << 63, 7) == (UINT64_C(1) << 63 | 7));
}

/* ---- comparing and bounds -------------------------------------------------------------------- */

FACT(same_is_bitwise_but_for_nan) {
    redtune_value one = {.u64 = 0}, other = {.u64 = 0};
    one.f32 = NAN;
    other.f32 = -NAN;
    CHECK(rdt_scalar_same(REDTUNE_F32, &one, &other));
    CHECK(!rdt_scalar_same(REDTUNE_U32, &one, &other));
    one.f32 = 0;
    other.f32 = -0.0f;
    CHECK(!rdt_scalar_same(REDTUNE_F32, &one, &other));
    one.u32 = 0x7c01, other.u32 = 0xffff;
    CHECK(rdt_scalar_same(REDTUNE_F16, &one, &other));
    CHECK(!rdt_scalar_same(REDTUNE_BF16, &one, &other));
    one.u64 = 0x1ff, other.u64 = 0x2ff;
    CHECK(rdt_scalar_same(REDTUNE_U8, &one, &other)); /* no byte behind the value counts */
}

FACT(bound_is_that_of_the_documentation) {
    static const float elements[] = {1, -2, 3};
    redtune_problem sum = problem_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_DTYPE_NONE);
    redtune_problem least = problem_of(REDTUNE_MIN, REDTUNE_F32, REDTUNE_DTYPE_NONE);
    rdt_reference out;
    rdt_reference_reduce(&sum, elements, 3, &out);
    double u = 0x1p-24;
    CHECK(out.exact == 2 && out.magnitude == 6);
    CHECK(rdt_reference_bound(&sum, &out, 3, 10) == 10 * u / (1 - 10 * u) * 6);
    CHECK(rdt_reference_bound(&least, &out, 3, 10) == 0);
    sum.op = REDTUNE_SUMSQ;
    rdt_reference_reduce(&sum, elements, 3, &out);
    CHECK(out.exact == 14 && out.magnitude == 14);
    CHECK(rdt_reference_bound(&sum, &out, 3, 10) == 11 * u / (1 - 11 * u) * 14);
    sum.op = REDTUNE_PROD; /* as many roundings as factors, however deep the tree */
    rdt_reference_reduce(&sum, elements, 3, &out);
    CHECK(rdt_reference_bound(&sum, &out, 3, 10) == 3 * u / (1 - 3 * u) * 6);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
