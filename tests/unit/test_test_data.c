/* Facts about tuner/measure/test_data.h: test data whose results are known and show every element.
 */
#include <math.h>
#include "check.h"
#include "exact.h"
#include "faults.h"
#include "reference.h"
#include "model/scalar.h"
#include "tuner/measure/test_data.h"

static redtune_error err;

/* Runs the fact for every op of every dtype, with the usual result. */
static void for_each_problem(void (*fact)(const redtune_problem *problem)) {
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op < &rdt_op_compiled_in.entry[RDT_REFERENCE_OPS]; op++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
            redtune_problem problem = {op->op, dtype->dtype};
            if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
            fact(&problem);
            if (!check_state.failed) continue;
            fprintf(stderr, "  (%s of %s)\n", op->name, dtype->name);
            return;
        }
}

/* The pattern from first on, repeated as it is on the GPU. */
static void lay_out(const rdt_test_data *data, uint64_t first, uint64_t count, char *out) {
    size_t bytes = redtune_dtype_bytes(data->problem.dtype);
    for (uint64_t i = 0; i < count; i++)
        memcpy(out + i * bytes, (const char *)data->elements + (first + i) % data->period * bytes,
               bytes);
}

static bool equals(const rdt_test_data *data, const redtune_value *value, const void *elements,
                   uint64_t count) {
    rdt_reference plain;
    rdt_reference_reduce(&data->problem, elements, count, &plain);
    return rdt_scalar_same(data->problem.result, value, &plain.value);
}

enum { COUNT_MAX = 9000, PERIOD = 4099 };
static uint64_t room[COUNT_MAX], copy[COUNT_MAX];

static const uint64_t windows[][2] = {{0, 0},    {0, 1},     {5, 1},       {1, 255},
                                      {0, 256},  {3, 257},   {511, 3},     {0, 4099},
                                      {4098, 2}, {17, 4099}, {4000, 5000}, {1, 8999}};
enum { WINDOWS = sizeof windows / sizeof *windows };

static redtune_status create(const redtune_problem *problem, rdt_test_data **out) {
    redtune_status status = rdt_test_data_create(problem, PERIOD, out, &err);
    return status;
}

static void check_values(const redtune_problem *problem) {
    rdt_test_data *data = NULL;
    exact *results = NULL;
    CHECK_OK(create(problem, &data), err);
    CHECK_OK(exact_open(data, &results, &err), err);
    for (size_t i = 0; i < WINDOWS; i++) {
        uint64_t first = windows[i][0], count = windows[i][1];
        redtune_value value = exact_value(results, first, count);
        lay_out(data, first, count, (char *)room);
        CHECK(equals(data, &value, room, count));
    }
    exact_close(results);
    rdt_test_data_destroy(data);
}

FACT(values_are_those_of_the_elements) { for_each_problem(check_values); }

static void check_planted(const redtune_problem *problem) {
    rdt_test_data *data = NULL;
    exact *results = NULL;
    size_t bytes = redtune_dtype_bytes(problem->dtype);
    redtune_value decider = rdt_test_data_decider(problem);
    if (!rdt_test_data_hides(problem)) return;
    CHECK_OK(create(problem, &data), err);
    CHECK_OK(exact_open(data, &results, &err), err);
    for (size_t i = 0; i < WINDOWS; i++) {
        uint64_t first = windows[i][0], count = windows[i][1];
        for (uint64_t at = 0; at < count; at += 1 + count / 7) {
            redtune_value value = exact_planted(results, first, count, at);
            redtune_value without = exact_value(results, first, count);
            lay_out(data, first, count, (char *)room);
            memcpy((char *)room + at * bytes, &decider, bytes);
            CHECK(equals(data, &value, room, count));
            bool is_there =
                rdt_op_find(problem->op)->result == RDT_RESULT_INDEX && without.i64 == (int64_t)at;
            CHECK(is_there || !rdt_scalar_same(problem->result, &value, &without));
        }
    }
    exact_close(results);
    rdt_test_data_destroy(data);
}

FACT(a_planted_decider_shows_everywhere) { for_each_problem(check_planted); }

static void check_one_hot(const redtune_problem *problem) {
    enum { COUNT = 70 };
    size_t bytes = redtune_dtype_bytes(problem->dtype);
    redtune_value decider = rdt_test_data_decider(problem),
                  neutral = rdt_test_data_neutral(problem);
    redtune_value without = exact_one_hot(problem, COUNT, UINT64_MAX);
    for (uint64_t at = 0; at <= COUNT; at++) {
        rdt_reference plain;
        for (uint64_t i = 0; i < COUNT; i++)
            memcpy((char *)room + i * bytes, i == at ? &decider : &neutral, bytes);
        rdt_reference_reduce(problem, room, COUNT, &plain);
        redtune_value value = exact_one_hot(problem, COUNT, at);
        CHECK(rdt_scalar_same(problem->result, &value, &plain.value));
        /* The first index is also that of only neutral ones. */
        bool shows = at < COUNT && (at > 0 || rdt_op_find(problem->op)->result != RDT_RESULT_INDEX);
        CHECK(shows != rdt_scalar_same(problem->result, &value, &without));
    }
}

FACT(the_one_hot_shows_everywhere) { for_each_problem(check_one_hot); }

/* Where one element can show, each does: left out, or taken twice. Modulo 2^64 some numbers have a
 * square that is 1, so that a product cannot tell none from two of them: those are not drawn often.
 */
static void check_every_element_shows(const redtune_problem *problem) {
    enum { COUNT = 2000 };
    rdt_test_data *data = NULL;
    size_t bytes = redtune_dtype_bytes(problem->dtype);
    if (rdt_test_data_hides(problem) || problem->op == REDTUNE_NONZEROS) return;
    CHECK_OK(create(problem, &data), err);
    lay_out(data, 0, COUNT, (char *)room);
    rdt_reference plain;
    rdt_reference_reduce(problem, room, COUNT, &plain);
    const redtune_value whole = plain.value;
    for (uint64_t at = 0; at < COUNT; at += 13) {
        memcpy(copy, room, at * bytes);
        memcpy((char *)copy + at * bytes, (char *)room + (at + 1) * bytes,
               (COUNT - at - 1) * bytes);
        if (problem->op != REDTUNE_MEAN) CHECK(!equals(data, &whole, copy, COUNT - 1));
        /* As a kernel errs: the sum lacks the element, the count does not. */
        memset((char *)copy + (COUNT - 1) * bytes, 0, bytes);
        if (problem->op == REDTUNE_MEAN) CHECK(!equals(data, &whole, copy, COUNT));
        memcpy((char *)room + COUNT * bytes, (char *)room + at * bytes, bytes);
        CHECK(!equals(data, &whole, room, COUNT + 1));
    }
    rdt_test_data_destroy(data);
}

FACT(every_element_shows) { for_each_problem(check_every_element_shows); }

/* ---- variety --------------------------------------------------------------------------------- */

/* Test data that are all the same verify nothing, and of zeros a kernel that reads nothing is
 * right. */
static void check_variety(const redtune_problem *problem, uint64_t seen[2]) {
    rdt_test_data *data = NULL;
    const redtune_value decider = rdt_test_data_decider(problem);
    const uint64_t planted = rdt_scalar_bits(problem->dtype, &decider, 0);
    bool differ = false;
    CHECK_OK(create(problem, &data), err);
    const uint64_t first = rdt_scalar_bits(problem->dtype, data->elements, 0);
    for (uint64_t i = 0; i < data->period; i++) {
        const uint64_t bits = rdt_scalar_bits(problem->dtype, data->elements, i);
        differ = differ || bits != first;
        seen[0] |= ~bits;
        seen[1] |= bits;
    }
    CHECK(differ || (rdt_test_data_hides(problem) && planted != first));
    rdt_test_data_destroy(data);
}

/* Of each op and dtype, and in either order; all ops together show each bit of a dtype in both
 * states. */
FACT(elements_of_each_dtype_vary) {
    for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
        uint64_t seen[2] = {0};
        for (int op = 0; op < rdt_op_compiled_in.count; op++)
            for (int order = REDTUNE_ORDER_FREE; order <= REDTUNE_ORDER_FIXED; order++) {
                redtune_problem problem = {.op = (redtune_op)op, .dtype = dtype->dtype};
                problem.order = (redtune_order)order;
                if (!rdt_problem_resolve(&problem, &problem, NULL)) check_variety(&problem, seen);
                if (!check_state.failed) continue;
                fprintf(stderr, "  (%s of %s)\n", redtune_op_name((redtune_op)op), dtype->name);
                return;
            }
        const uint64_t all = UINT64_MAX >> (64 - 8 * dtype->bytes);
        CHECK((seen[0] & all) == all && (seen[1] & all) == all);
    }
}

static void check_not_zeros(const redtune_problem *problem) {
    enum { COUNT = 2000, AT = 701 };
    rdt_test_data *data = NULL;
    rdt_reference zeros;
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    const redtune_value decider = rdt_test_data_decider(problem);
    CHECK_OK(create(problem, &data), err);
    memset(room, 0, COUNT * bytes);
    rdt_reference_reduce(problem, room, COUNT, &zeros);
    lay_out(data, 0, COUNT, (char *)room);
    bool differs = !equals(data, &zeros.value, room, COUNT);
    memcpy((char *)room + AT * bytes, &decider, bytes);
    if (rdt_test_data_hides(problem)) differs = differs || !equals(data, &zeros.value, room, COUNT);
    CHECK(differs);
    rdt_test_data_destroy(data);
}

FACT(results_are_not_those_of_zeros) { for_each_problem(check_not_zeros); }

/* ---- exactness ------------------------------------------------------------------------------- */

static redtune_problem resolved(redtune_op op, redtune_dtype dtype) {
    redtune_problem problem = {op, dtype};
    rdt_problem_resolve(&problem, &problem, NULL);
    return problem;
}

/* Every partial sum of every subset is exact where the sum of all magnitudes is. */
static void check_exact_sums(const redtune_problem *problem) {
    rdt_result_class class = rdt_op_find(problem->op)->result;
    if ((class != RDT_RESULT_SUM && class != RDT_RESULT_MEAN) || problem->op == REDTUNE_PROD ||
        problem->dtype != REDTUNE_F32)
        return;
    for (uint64_t count = 1 << 20; count <= UINT64_C(1) << 32; count *= 16) {
        rdt_test_data *data = NULL;
        CHECK_OK(rdt_test_data_create(problem, count, &data, &err), err);
        redtune_problem magnitudes = *problem;
        if (problem->op == REDTUNE_MEAN) magnitudes.op = REDTUNE_SUMABS;
        if (problem->op == REDTUNE_NORM2) magnitudes.op = REDTUNE_SUMSQ;
        rdt_reference found, rest;
        rdt_reference_reduce(&magnitudes, data->elements, data->period, &found);
        rdt_reference_reduce(&magnitudes, data->elements, count % data->period, &rest);
        double total = found.magnitude * (double)(count / data->period) + rest.magnitude;
        double most = problem->op == REDTUNE_NORM2  ? 0x1p22
                      : problem->op == REDTUNE_MEAN ? 0x1p23
                                                    : 0x1p24;
        CHECK(total > 0 && total <= most);
        rdt_test_data_destroy(data);
    }
}

FACT(every_partial_sum_is_exact) { for_each_problem(check_exact_sums); }

/* Half of an f32's exponents, whatever part of the factors is taken. */
FACT(every_partial_product_is_exact) {
    redtune_problem problem = resolved(REDTUNE_PROD, REDTUNE_F32);
    for (uint64_t count = 1000; count <= UINT64_C(1) << 32; count *= 64) {
        rdt_test_data *data = NULL;
        CHECK_OK(rdt_test_data_create(&problem, count, &data, &err), err);
        double powers = 0;
        for (uint64_t i = 0; i < data->period; i++)
            powers += fabs(log2(fabs((double)((float *)data->elements)[i])));
        CHECK(powers * ceil((double)count / (double)data->period) <= 120);
        rdt_test_data_destroy(data);
    }
}

FACT(dense_pattern_has_no_zero_element) {
    rdt_test_data *data = NULL;
    redtune_problem problem = resolved(REDTUNE_SUM, REDTUNE_F32);
    CHECK_OK(rdt_test_data_create(&problem, rdt_test_data_dense_max(&problem), &data, &err), err);
    for (uint64_t i = 0; i < data->period; i++) CHECK(((float *)data->elements)[i] != 0);
    rdt_test_data_destroy(data);
}

FACT(period_is_no_multiple_of_a_tile) {
    rdt_test_data *data = NULL;
    redtune_problem problem = resolved(REDTUNE_SUM, REDTUNE_F64);
    CHECK_OK(rdt_test_data_create(&problem, UINT64_C(1) << 30, &data, &err), err);
    CHECK(data->period > 1000000 && data->period % 2 && data->period % 3);
    rdt_test_data_destroy(data);
}

FACT(create_survives_every_failed_allocation) {
    redtune_problem problem = resolved(REDTUNE_SUM, REDTUNE_I32);
    for (long n = 1; faults_begin(n); n++) {
        rdt_test_data *data = NULL;
        redtune_status status = rdt_test_data_create(&problem, 1000, &data, &err);
        if (faults_end()) CHECK_INT(status, REDTUNE_MEMORY);
        CHECK(status ? !data : data != NULL);
        rdt_test_data_destroy(data);
    }
}

int main(int argc, char **argv) { return check_run(argc, argv); }
