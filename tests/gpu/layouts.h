/* Layouts: what the tests of the families of rows and columns share: configs, inputs with what
 * decides around their elements, launches, and results held against the reference. A file that
 * includes it has it to itself. */
#pragma once

#include <math.h>
#include "check.h"
#include "model/scalar.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

enum {
    COUNTS_MAX = 1027, /* elements of a result */
    RESULTS_MAX = 1100,
    SPAN_MAX = 1100000, /* elements from the first to the last one */
    RESULT_BYTES_MAX = 8,
    GUARD_BYTES = 64,
    POISON = 0xa5
};

static redtune_error err;
static device gpu;
static workshop shop;
static int family; /* its number */

typedef struct shape {
    rdt_extents extents;
    uint64_t offset; /* elements before the first one */
    uint32_t turns;  /* of the grid's blocks, at least */
} shape;

/* What a family is tested by. */
typedef struct layout_test {
    const char *family;
    uint64_t count, outer, inner; /* of a problem that the family serves */
    uint64_t count_max;
    int shapes; /* per kernel */
    /* large: on a simulated device, too; most kernels leave out the shapes of more elements. */
    shape (*draw_shape)(bool large);
} layout_test;

/* ---- kernels --------------------------------------------------------------------------------- */

/* The same numbers in every run. */
static uint64_t draw(uint64_t below) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

/* Any config that the family allows. */
static rdt_point draw_point(const redtune_problem *problem) {
    rdt_point point = {.family = family};
    const rdt_space *space = rdt_point_space(rdt_codegen_spaces(shop.codegen), &point);
    const rdt_case at = {problem, &gpu.context->facts};
    redtune_status status = REDTUNE_UNSUPPORTED;
    while (status == REDTUNE_UNSUPPORTED) {
        for (int i = 0; i < space->param_count; i++) {
            const rdt_param *param = &space->param[i];
            point.value[i] = param->value[draw((uint64_t)param->value_count)];
        }
        status = rdt_codegen_check(shop.codegen, at, &point, &err);
    }
    check_that(!status, __FILE__, __LINE__, "%s", status ? err.message : "");
    return point;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static char elements[SPAN_MAX * RESULT_BYTES_MAX];
static char column[COUNTS_MAX * RESULT_BYTES_MAX];

static void fill(char *to, size_t bytes, const redtune_value *value, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) memcpy(to + i * bytes, value->bytes, bytes);
}

/* A column of the pattern, or one with NaN, with one or two elements that decide, or of elements
 * none of which does. */
static void fill_column(const rdt_test_data *data, uint64_t count) {
    const redtune_problem *problem = &data->problem;
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    const redtune_value neutral = rdt_test_data_neutral(problem);
    const redtune_value decider = rdt_test_data_decider(problem);
    const uint64_t kind = draw(8);
    for (uint64_t i = 0, at = draw(data->period); i < count; i++, at = (at + 1) % data->period)
        memcpy(column + i * bytes, (const char *)data->elements + at * bytes, bytes);
    if (!count || kind > 4) return;
    if (kind == 0) fill(column, bytes, &neutral, count);
    if (kind == 1 && rdt_scalar_is_float(problem->dtype)) {
        const redtune_value nan = rdt_scalar_from_real(problem->dtype, (double)NAN);
        for (int i = 0; i < 2; i++) memcpy(column + draw(count) * bytes, nan.bytes, bytes);
    }
    if (kind > 1 && rdt_test_data_hides(problem))
        for (uint64_t i = kind; i < 4; i++)
            memcpy(column + draw(count) * bytes, decider.bytes, bytes);
}

/* Where the first element of result r is, in elements from the first of all. */
static uint64_t place_of(const rdt_extents *at, uint64_t r) {
    return r / at->inner * at->outer_step + r % at->inner;
}

/* How many elements lie from the first to the last one. */
static uint64_t span_of(const rdt_extents *at) {
    return at->count ? place_of(at, at->outer * at->inner - 1) + (at->count - 1) * at->step + 1 : 0;
}

/* What lies around the elements decides, if it is taken. The last one ends where the input does. */
static uint64_t fill_input(const rdt_test_data *data, const shape *at) {
    const size_t bytes = redtune_dtype_bytes(data->problem.dtype);
    const redtune_value decider = rdt_test_data_decider(&data->problem);
    const uint64_t all = at->offset + span_of(&at->extents);
    fill(elements, bytes, &decider, all);
    for (uint64_t r = 0; r < at->extents.outer * at->extents.inner; r++) {
        char *to = elements + (at->offset + place_of(&at->extents, r)) * bytes;
        fill_column(data, at->extents.count);
        for (uint64_t e = 0; e < at->extents.count; e++)
            memcpy(to + e * at->extents.step * bytes, column + e * bytes, bytes);
    }
    return all;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Fails the fact, and is false, unless result r is the one wanted. */
static bool check_result(const subject *self, const shape *at, uint64_t r, const char *first,
                         const redtune_value *got) {
    const rdt_extents *extents = &at->extents;
    const size_t bytes = self->element_bytes;
    rdt_reference wanted;
    for (uint64_t e = 0; e < extents->count; e++) {
        const int64_t place = (int64_t)(place_of(extents, r) + e * extents->step);
        memcpy(column + e * bytes, first + place * (int64_t)bytes, bytes);
    }
    rdt_reference_reduce(&self->problem, column, extents->count, &wanted);
    return subject_same(self, extents->count, got, &wanted.value,
                        "at offset %llu, result %llu of %llu x %llu, steps %lld and %lld,",
                        (unsigned long long)at->offset, (unsigned long long)r,
                        (unsigned long long)extents->outer, (unsigned long long)extents->inner,
                        (long long)extents->outer_step, (long long)extents->step);
}

/* Results may be at any element, too. */
static CUdeviceptr first_result(const subject *self, const shape *at) {
    return self->output.address + at->offset % 3 * redtune_dtype_bytes(self->problem.result);
}

static redtune_status launch(subject *self, const shape *at, CUdeviceptr first) {
    CUresult rc =
        gpu.driver->memset_d8_async(self->output.address, POISON, self->output.bytes, gpu.stream);
    redtune_status status = rdt_driver_check(gpu.driver, rc, &err, "poison the results");
    rdt_launch how = self->launch;
    how.results *= at->turns;
    const rdt_operands operands = {.input = first,
                                   .extents = at->extents,
                                   .output = first_result(self, at),
                                   .scratch = self->scratch.address};
    return status ? status : rdt_kernel_launch(self->kernel, &how, operands, gpu.stream, &err);
}

static void check_results(subject *self, const shape *at, const char *first) {
    static unsigned char results[RESULTS_MAX * RESULT_BYTES_MAX + GUARD_BYTES];
    const size_t bytes = redtune_dtype_bytes(self->problem.result);
    const size_t count = at->extents.outer * at->extents.inner, end = count * bytes;
    CHECK_OK(rdt_buffer_read(gpu.driver, results, first_result(self, at), end + GUARD_BYTES,
                             gpu.stream, &err),
             err);
    for (size_t i = end; i < end + GUARD_BYTES; i++) CHECK_INT(results[i], POISON);
    for (size_t r = 0; r < count; r++) {
        redtune_value got = {.u64 = 0};
        memcpy(got.bytes, results + r * bytes, bytes);
        if (!check_result(self, at, r, first, &got)) return;
    }
}

static void check_shape(subject *self, const rdt_test_data *data, const shape *at) {
    const size_t bytes = (size_t)fill_input(data, at) * self->element_bytes;
    const uint64_t skipped = at->offset * self->element_bytes;
    rdt_buffer input = {0};
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes ? bytes : 1, &input, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, input.address, elements, bytes, gpu.stream, &err), err);
    CHECK_OK(launch(self, at, input.address + skipped), err);
    check_results(self, at, elements + skipped);
    rdt_buffer_destroy(&input);
}

/* ---- what holds of each family -------------------------------------------------------------- */

static void check_point(const layout_test *test, const redtune_problem *problem,
                        const rdt_point *point, int shapes, bool large) {
    rdt_test_data *data = NULL;
    subject self;
    CHECK_OK(rdt_test_data_create(problem, test->count_max, &data, &err), err);
    CHECK_OK(subject_open(&shop, problem, point, &self, &err), err);
    for (int i = 0; i < shapes && !check_state.failed; i++) {
        const shape at = test->draw_shape(large && !i);
        check_shape(&self, data, &at);
    }
    CHECK_OK(subject_check_scratch(&self, &err), err);
    subject_close(&self);
    rdt_test_data_destroy(data);
}

/* Two kernels of the usual result, and one of each other that there is. */
static void check_every_op_and_dtype(const layout_test *test) {
    size_t kernels = 0;
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op <= &rdt_op_compiled_in.entry[REDTUNE_XOR]; op++) /* the reference has */
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
            for (int result = REDTUNE_DTYPE_NONE; result <= REDTUNE_F64; result++) {
                redtune_problem problem = {op->op,      dtype->dtype, (redtune_dtype)result,
                                           test->count, NULL,         test->outer,
                                           test->inner};
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                const rdt_point point = draw_point(&problem);
                check_point(test, &problem, &point, test->shapes,
                            !device_is_simulated(&gpu) || kernels % 16 == 0);
                if (check_state.failed) return;
                kernels++;
            }
    printf("%s: %zu kernels\n", check_state.fact, kernels);
}

/* Every pair of the parameters' values, and each op with each dtype, by a few shapes: little enough
 * for a tool that checks every access. On a simulated device, one kernel of 16. */
__attribute__((unused)) static void check_covering_set(const layout_test *test) {
    enum { FEW = 2, SIMULATED = 16 };
    const redtune_problem like = {.count = test->count, .outer = test->outer, .inner = test->inner};
    const bool simulated = device_is_simulated(&gpu);
    cover_point *points = NULL;
    size_t count = 0, done = 0;
    CHECK_OK(cover_pairs_like(shop.codegen, &like, family, &gpu.context->facts,
                              simulated ? COVER_KERNELS : COVER_PROBLEMS, &points, &count, &err),
             err);
    const size_t wanted = simulated ? count / SIMULATED + 1 : count;
    for (; done < wanted && !check_state.failed && !subject_is_late(); done++) {
        const cover_point *at = &points[subject_turn(done, count)];
        check_point(test, &at->problem, &at->point, FEW, !simulated);
    }
    printf("%s: %zu of %zu kernels\n", check_state.fact, done, count);
    free(points);
}

/* Holds the sums of these extents, whose first element is input[first], by a few kernels. */
static void check_sums(const layout_test *test, const int32_t *input, size_t bytes, size_t first,
                       const shape *at) {
    redtune_problem problem = {.op = REDTUNE_SUM,
                               .dtype = REDTUNE_I32,
                               .count = at->extents.count,
                               .outer = test->outer,
                               .inner = test->inner};
    rdt_buffer buffer = {0};
    subject self;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &buffer, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, buffer.address, input, bytes, gpu.stream, &err), err);
    for (int i = 0; i < 8 && !check_state.failed; i++) {
        const rdt_point point = draw_point(&problem);
        CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
        CHECK_OK(launch(&self, at, buffer.address + first * sizeof *input), err);
        check_results(&self, at, (const char *)(input + first));
        subject_close(&self);
    }
    rdt_buffer_destroy(&buffer);
}

/* Sums of rows `pitch` elements apart, from the last row backwards: the step is 2^64 - pitch. If
 * it, or its product with the row's number, was cut to 32 bits, it would lead 4 GiB away. */
__attribute__((unused)) static void check_rows_backwards(const layout_test *test, uint64_t count,
                                                         uint64_t pitch) {
    enum { ROWS = 5, PITCH_MAX = 50 };
    static int32_t input[ROWS * PITCH_MAX];
    const shape at = {{count, ROWS, 1, (uint64_t)0 - pitch, 1}, 0, 1};
    for (uint64_t i = 0; i < ROWS * pitch; i++) input[i] = (int32_t)(i * i);
    check_sums(test, input, ROWS * pitch * sizeof *input, (ROWS - 1) * pitch, &at);
}

/* Opens the GPU, runs the facts and closes it. */
static int run_layout_test(const layout_test *test, const check_fact *facts, size_t count, int argc,
                           char **argv) {
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = workshop_open(&gpu, &shop, &err);
    if (!status)
        status =
            rdt_space_find_family(rdt_codegen_spaces(shop.codegen), test->family, &family, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    int rc = check_run(facts, count, argc, argv);
    if (shop.builder) workshop_close(&shop);
    device_close(&gpu);
    return rc;
}
