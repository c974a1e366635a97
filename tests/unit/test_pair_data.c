/* Facts about test data of ops of two inputs or two results: results are exact, and show every
 * element of either input. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include "check.h"
#include "op_folder.h"
#include "model/scalar.h"
#include "shaped.h"
#include "tuner/measure/test_data.h"

enum { COUNT = 3000 };

static redtune_error err;

static void need(redtune_status status) {
    if (!status) return;
    fprintf(stderr, "%s\n", err.message);
    abort();
}

static redtune_problem problem_of(const char *op, redtune_dtype dtype) {
    redtune_problem problem = {.op = op_folder_find(op), .dtype = dtype};
    need(rdt_problem_resolve(&problem, &problem, &err));
    return problem;
}

static double real(const redtune_problem *problem, const void *elements, uint64_t i) {
    return rdt_scalar_real(problem->dtype, elements, i);
}

static double real_value(const redtune_problem *problem, redtune_value value) {
    return rdt_scalar_real(problem->dtype, &value, 0);
}

static rdt_test_data *make(const redtune_problem *problem, uint64_t count) {
    rdt_test_data *data = NULL;
    need(rdt_test_data_create(problem, count, &data, &err));
    return data;
}

FACT(one_input_has_no_second) {
    const redtune_problem problem = {REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32};
    rdt_test_data *data = make(&problem, COUNT);
    CHECK(!data->second);
    rdt_test_data_destroy(data);
}

/* Left out, or read from its neighbour's place, an element of either input changes a product, a
 * difference and a square of it, in most places. */
FACT(summands_differ_and_are_not_zero) {
    for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
        const redtune_problem problem = problem_of("test_dot", dtype->dtype);
        rdt_test_data *data = make(&problem, COUNT);
        int same_as_next = 0;
        for (uint64_t i = 0; i < COUNT; i++) {
            const double x = real(&problem, data->elements, i), y = real(&problem, data->second, i);
            CHECK(x != 0 && y != 0);
            CHECK(dtype->bytes == 8 || x != y);
            same_as_next += i + 1 < COUNT && y == real(&problem, data->second, i + 1);
        }
        CHECK(same_as_next < COUNT / 2);
        rdt_test_data_destroy(data);
    }
}

/* Products, differences and their squares: whatever part of them is added, in whatever order. */
FACT(every_partial_sum_of_two_is_exact) {
    const redtune_problem problem = problem_of("test_dot", REDTUNE_F32);
    for (uint64_t count = 1 << 16; count <= UINT64_C(1) << 34; count *= 16) {
        rdt_test_data *data = make(&problem, count);
        double products = 0, squares = 0;
        for (uint64_t i = 0; i < data->period; i++) {
            const double x = real(&problem, data->elements, i), y = real(&problem, data->second, i);
            products += fabs(x * y);
            squares += (x - y) * (x - y);
        }
        const double periods = (double)count / (double)data->period;
        CHECK(products > 0 && products * periods <= 0x1p24);
        CHECK(squares * periods <= 0x1p24);
        rdt_test_data_destroy(data);
    }
}

/* About every other pair, so that one taken for another shows. */
FACT(what_is_compared_is_often_the_same) {
    for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
        const redtune_problem problem = problem_of("test_unlike", dtype->dtype);
        rdt_test_data *data = make(&problem, COUNT);
        int same = 0;
        for (uint64_t i = 0; i < COUNT; i++)
            same += real(&problem, data->elements, i) == real(&problem, data->second, i);
        CHECK(same > COUNT / 3 && same < 2 * COUNT / 3);
        rdt_test_data_destroy(data);
    }
}

FACT(what_should_be_alike_is_all_the_same) {
    const redtune_problem problem = problem_of("test_alike", REDTUNE_F32);
    rdt_test_data *data = make(&problem, COUNT);
    CHECK(!memcmp(data->elements, data->second, COUNT * sizeof(float)));
    rdt_test_data_destroy(data);
}

/* In either input, and in integers of a byte without overflow. */
FACT(a_decider_is_further_from_all_than_any_two_are) {
    for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
        const redtune_problem problem = problem_of("test_distance", dtype->dtype);
        rdt_test_data *data = make(&problem, COUNT);
        const double decider = real_value(&problem, rdt_test_data_decider(&problem));
        const double opposite = real_value(&problem, rdt_test_data_opposite(&problem));
        const double neutral = real_value(&problem, rdt_test_data_neutral(&problem));
        double most = 0, least = INFINITY;
        for (uint64_t i = 0; i < COUNT; i++) {
            const double x = real(&problem, data->elements, i), y = real(&problem, data->second, i);
            most = fmax(most, fabs(x - y));
            least = fmin(least, fmin(fabs(decider - x), fabs(decider - y)));
        }
        CHECK(most > 0 && least > most);
        CHECK(fabs(decider - opposite) > fabs(neutral - opposite));
        CHECK(dtype->bytes > 1 || least < 128);
        rdt_test_data_destroy(data);
    }
}

/* A product of the two with the other input's elements, and their difference. */
FACT(a_decider_of_a_sum_shows_beside_what_is_opposite) {
    const redtune_problem problem = problem_of("test_dot", REDTUNE_F16);
    const double decider = real_value(&problem, rdt_test_data_decider(&problem));
    const double opposite = real_value(&problem, rdt_test_data_opposite(&problem));
    const double neutral = real_value(&problem, rdt_test_data_neutral(&problem));
    CHECK(decider * opposite != neutral * opposite);
    CHECK(fabs(decider - opposite) != fabs(neutral - opposite));
}

FACT(both_extremes_have_a_decider) {
    const redtune_problem problem = problem_of("test_minmax", REDTUNE_I8);
    rdt_test_data *data = make(&problem, COUNT);
    const double low = real_value(&problem, rdt_test_data_decider(&problem));
    const double high = real_value(&problem, rdt_test_data_other_decider(&problem));
    CHECK(rdt_test_data_hides(&problem));
    for (uint64_t i = 0; i < COUNT; i++) {
        const double x = real(&problem, data->elements, i);
        CHECK(low < x && x < high);
    }
    rdt_test_data_destroy(data);
}

/* exp(0) is 1, and exp(-inf) is 0: the log's lost bits, and counts, bound how many are added. */
FACT(exponentials_are_exact) {
    const redtune_problem problem = problem_of("test_logsumexp", REDTUNE_F32);
    CHECK_INT(rdt_test_data_dense_max(&problem), 1 << 18);
    CHECK(!rdt_test_data_hides(&problem));
    for (uint64_t count = 1 << 16; count <= UINT64_C(1) << 32; count *= 16) {
        rdt_test_data *data = make(&problem, count);
        double ones = 0;
        for (uint64_t i = 0; i < data->period; i++) {
            const double x = real(&problem, data->elements, i);
            CHECK(x == 0 || x == -INFINITY);
            ones += x == 0;
        }
        CHECK(ones > 0 && ones * (double)count / (double)data->period <= 0x1p18);
        rdt_test_data_destroy(data);
    }
}

FACT(some_elements_are_not_finite) {
    const redtune_problem problem = problem_of("test_strange", REDTUNE_BF16);
    const redtune_problem any = problem_of("test_any_strange", REDTUNE_BF16);
    rdt_test_data *data = make(&problem, COUNT), *of_any = make(&any, COUNT);
    int nans = 0, infinities = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const double x = real(&problem, data->elements, i);
        nans += isnan(x) != 0;
        infinities += isinf(x) != 0;
        CHECK(isfinite(real(&any, of_any->elements, i)));
    }
    CHECK(nans > COUNT / 8 && infinities > COUNT / 8 && nans + infinities < 3 * COUNT / 4);
    CHECK(isinf(real_value(&any, rdt_test_data_decider(&any))));
    CHECK(real_value(&any, rdt_test_data_other_decider(&any)) == -INFINITY);
    CHECK(rdt_test_data_hides(&any) && !rdt_test_data_hides(&problem));
    rdt_test_data_destroy(data);
    rdt_test_data_destroy(of_any);
}

/* A sum near 0 would be small against its rounding errors. */
FACT(what_is_rounded_has_no_sign) {
    const redtune_problem problem = problem_of("test_spread", REDTUNE_F32);
    rdt_test_data *data = make(&problem, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) CHECK(real(&problem, data->elements, i) > 0);
    rdt_test_data_destroy(data);
}

/* Figures in bytes per time, and the memory that test data take. */
FACT(bytes_are_those_of_both_inputs_and_all_results) {
    const redtune_problem sum = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F64, .count = 1000);
    redtune_problem dot = problem_of("test_dot", REDTUNE_F16);
    redtune_problem minmax = problem_of("test_minmax", REDTUNE_F64);
    RESHAPE(&dot, count, 1000);
    RESHAPE(&minmax, count, 10);
    RESHAPE(&minmax, outer, 7);
    CHECK(rdt_problem_bytes(&sum) == 4008);
    CHECK(rdt_problem_bytes(&dot) == 2 * 2000 + 4);
    CHECK(rdt_problem_bytes(&minmax) == 7 * (10 * 8 + 2 * 8));
}

int main(int argc, char **argv) {
    if (!op_folder_make()) return 1;
    const int code = check_run(argc, argv);
    op_folder_remove();
    return code;
}
