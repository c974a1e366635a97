/* Layouts: what the tests of the families of rows and columns share: configs, inputs with what
 * decides around their elements, launches, and results held against the reference. A file that
 * includes it has it to itself. */
#pragma once

#include <math.h>
#include "check.h"
#include "draw.h"
#include "model/scalar.h"
#include "shaped.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

enum {
    COUNTS_MAX = 1027, /* elements of a result */
    RESULTS_MAX = 1100,
    SPAN_MAX = 1100000, /* elements from the first to the last one */
    RESULT_BYTES_MAX = 8,
    GUARD_BYTES = 64,
    APART_MAX = 16,
    POISON = 0xa5
};

static redtune_error err;
static device gpu;
static workshop shop;
static int family; /* its number */

typedef struct shape {
    rdt_extents extents;
    uint64_t offset;                   /* elements before the first one */
    uint32_t turns;                    /* of the grid's blocks, at least */
    uint64_t apart[RDT_OP_INPUTS_MAX]; /* and so many more of each input */
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

/* Whether kernel i of a fact is of the part that is tried. What is drawn for it depends on nothing
 * else, so that it fails alone as it does among others. */
static bool begin_kernel(size_t i) {
    draw_from(i);
    return subject_is_of_part(i);
}

/* Any config that the family allows; light: one of few elements per thread. */
static rdt_point draw_point(const redtune_problem *problem, bool light) {
    rdt_point point = {.family = family};
    const rdt_space *space = rdt_point_space(rdt_codegen_spaces(shop.codegen), &point);
    const rdt_case at = {problem, &gpu.context->facts};
    redtune_status status = REDTUNE_UNSUPPORTED;
    while (status == REDTUNE_UNSUPPORTED) {
        do {
            for (int i = 0; i < space->param_count; i++) {
                const rdt_param *param = &space->param[i];
                point.value[i] = param->value[draw((uint64_t)param->value_count)];
            }
        } while (light && !subject_is_light(space, &point));
        status = rdt_rules_check(shop.codegen, at, &point, &err);
    }
    check_that(!status, __FILE__, __LINE__, "%s", status ? err.message : "");
    return point;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static char elements[RDT_OP_INPUTS_MAX][SPAN_MAX * RESULT_BYTES_MAX];
static char column[RDT_OP_INPUTS_MAX][COUNTS_MAX * RESULT_BYTES_MAX];

static int inputs_of(const redtune_problem *problem) { return rdt_op_find(problem->op)->inputs; }

static void fill(char *to, size_t bytes, const redtune_value *value, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) memcpy(to + i * bytes, value->bytes, bytes);
}

/* Elements of the pattern from a place on; either input's. */
static void fill_pattern(const rdt_test_data *data, uint64_t count) {
    const size_t bytes = redtune_dtype_bytes(data->problem.dtype);
    for (uint64_t i = 0, at = draw(data->period); i < count; i++, at = (at + 1) % data->period) {
        memcpy(column[0] + i * bytes, (const char *)data->elements + at * bytes, bytes);
        if (data->second)
            memcpy(column[1] + i * bytes, (const char *)data->second + at * bytes, bytes);
    }
}

/* A place in a column, of either input. */
static char *draw_place(const redtune_problem *problem, uint64_t count) {
    char *of = column[inputs_of(problem) > 1 ? draw(2) : 0];
    return of + draw(count) * redtune_dtype_bytes(problem->dtype);
}

/* A column of the pattern, or one with NaN, with one or two elements that decide, or of elements
 * none of which does. */
static void fill_column(const rdt_test_data *data, uint64_t count) {
    const redtune_problem *problem = &data->problem;
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    const redtune_value neutral = rdt_test_data_neutral(problem);
    const redtune_value opposite = rdt_test_data_opposite(problem);
    const redtune_value decider = rdt_test_data_decider(problem);
    const uint64_t kind = draw(8);
    fill_pattern(data, count);
    if (!count || kind > 4) return;
    if (kind == 0) {
        fill(column[0], bytes, &neutral, count);
        fill(column[1], bytes, &opposite, count);
    }
    if (kind == 1 && rdt_scalar_is_float(problem->dtype)) {
        const redtune_value nan = rdt_scalar_from_real(problem->dtype, (double)NAN);
        for (int i = 0; i < 2; i++) memcpy(draw_place(problem, count), nan.bytes, bytes);
    }
    if (kind > 1 && rdt_test_data_hides(problem))
        for (uint64_t i = kind; i < 4; i++)
            memcpy(draw_place(problem, count), decider.bytes, bytes);
}

/* Where the first element of result r is, in elements from the first of all. */
static uint64_t place_of(const rdt_extents *at, uint64_t r) {
    return r / at->inner * at->outer_step + r % at->inner;
}

/* How many elements lie from the first to the last one. */
static uint64_t span_of(const rdt_extents *at) {
    return at->count ? place_of(at, at->outer * at->inner - 1) + (at->count - 1) * at->step + 1 : 0;
}

static uint64_t offset_of(const shape *at, int input) { return at->offset + at->apart[input]; }

/* Fills both inputs. What lies around the elements decides, if it is taken. */
static void fill_inputs(const rdt_test_data *data, const shape *at) {
    const redtune_problem *problem = &data->problem;
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    const redtune_value around[] = {rdt_test_data_decider(problem),
                                    rdt_test_data_opposite(problem)};
    const int inputs = inputs_of(problem);
    for (int i = 0; i < inputs; i++)
        fill(elements[i], bytes, &around[i], offset_of(at, i) + span_of(&at->extents));
    for (uint64_t r = 0; r < at->extents.outer * at->extents.inner; r++) {
        fill_column(data, at->extents.count);
        for (int i = 0; i < inputs; i++) {
            char *to = elements[i] + (offset_of(at, i) + place_of(&at->extents, r)) * bytes;
            for (uint64_t e = 0; e < at->extents.count; e++)
                memcpy(to + e * at->extents.step * bytes, column[i] + e * bytes, bytes);
        }
    }
}

/* ---- running --------------------------------------------------------------------------------- */

/* The first elements on the host and on the GPU. */
typedef struct inputs {
    const char *host[RDT_OP_INPUTS_MAX];
    CUdeviceptr gpu[RDT_OP_INPUTS_MAX];
} inputs;

/* Fails the fact, and is false, unless result r is the one wanted. */
static bool check_result(const subject *self, const shape *at, uint64_t r, const inputs *from,
                         const redtune_value got[RDT_OP_OUTPUTS_MAX]) {
    const rdt_extents *extents = &at->extents;
    const size_t bytes = self->element_bytes;
    const rdt_op_traits *op = rdt_op_find(self->problem.op);
    results right;
    for (uint64_t e = 0; e < extents->count; e++) {
        const int64_t place = (int64_t)(place_of(extents, r) + e * extents->step);
        for (int i = 0; i < op->inputs; i++)
            memcpy(column[i] + e * bytes, from->host[i] + place * (int64_t)bytes, bytes);
    }
    results_reduce(&self->problem, &(results_input){column[0], column[1], extents->count, NULL},
                   &right);
    for (int k = 0; k < op->outputs; k++) {
        rdt_text wrong = {0};
        subject_compare_exact(self, k, &got[k], &right, extents->count, &wrong);
        const bool good = check_that(
            !wrong.data, __FILE__, __LINE__,
            "%s: of %llu elements at offsets %llu and %llu, result %llu (%d) of %llu x %llu, steps "
            "%lld and %lld, %s",
            self->name, (unsigned long long)extents->count, (unsigned long long)offset_of(at, 0),
            (unsigned long long)offset_of(at, 1), (unsigned long long)r, k,
            (unsigned long long)extents->outer, (unsigned long long)extents->inner,
            (long long)extents->outer_step, (long long)extents->step, wrong.data ? wrong.data : "");
        rdt_text_free(&wrong);
        if (!good) return false;
    }
    return true;
}

/* Results may be at any element, too; the second ones lie in the buffer's other half. */
static CUdeviceptr first_result(const subject *self, const shape *at, int output) {
    return self->output.address + (output ? self->output.bytes / 2 : 0) +
           (at->offset + (uint64_t)output) % 3 * redtune_dtype_bytes(subject_result(self, output));
}

static redtune_status launch(subject *self, const shape *at, const inputs *from) {
    CUresult rc =
        gpu.driver->memset_d8_async(self->output.address, POISON, self->output.bytes, gpu.stream);
    redtune_status status = rdt_driver_check(gpu.driver, rc, &err, "poison the results");
    const rdt_op_traits *op = rdt_op_find(self->problem.op);
    rdt_launch how = self->launch;
    rdt_operands operands = {.input = from->gpu[0],
                             .extents = at->extents,
                             .output = first_result(self, at, 0),
                             .scratch = self->scratch.address,
                             .given = {.input = from->gpu[1], .output = first_result(self, at, 1)}};
    how.results *= at->turns;
    for (int i = 0; i < op->parameters; i++) operands.given.scalar[i] = op->parameter[i].usual;
    return status ? status : rdt_kernel_start(self->kernel, &how, &operands, gpu.stream, &err);
}

static void check_results(subject *self, const shape *at, const inputs *from) {
    static unsigned char read[RDT_OP_OUTPUTS_MAX][RESULTS_MAX * RESULT_BYTES_MAX + GUARD_BYTES];
    const size_t count = at->extents.outer * at->extents.inner;
    const int outputs = rdt_op_find(self->problem.op)->outputs;
    for (int k = 0; k < outputs; k++) {
        const size_t end = count * redtune_dtype_bytes(subject_result(self, k));
        CHECK_OK(rdt_buffer_read(gpu.driver, read[k], first_result(self, at, k), end + GUARD_BYTES,
                                 gpu.stream, &err),
                 err);
        for (size_t i = end; i < end + GUARD_BYTES; i++) CHECK_INT(read[k][i], POISON);
    }
    for (size_t r = 0; r < count; r++) {
        redtune_value got[RDT_OP_OUTPUTS_MAX] = {{.u64 = 0}};
        for (int k = 0; k < outputs; k++) {
            const size_t bytes = redtune_dtype_bytes(subject_result(self, k));
            memcpy(got[k].bytes, read[k] + r * bytes, bytes);
        }
        if (!check_result(self, at, r, from, got)) return;
    }
}

/* Each input ends where its allocation does. The second one is aligned otherwise, or likewise. */
static void check_shape(subject *self, const rdt_test_data *data, const shape *of) {
    shape at = *of;
    inputs from = {{NULL}};
    rdt_buffer buffer[RDT_OP_INPUTS_MAX] = {{0}};
    const size_t bytes = self->element_bytes;
    const int count = inputs_of(&self->problem);
    if (count > 1) at.apart[1] = draw(2) * draw(APART_MAX);
    fill_inputs(data, &at);
    for (int i = 0; i < count; i++) {
        const size_t all = (size_t)(offset_of(&at, i) + span_of(&at.extents)) * bytes;
        CHECK_OK(rdt_buffer_create(gpu.driver, all ? all : 1, &buffer[i], &err), err);
        CHECK_OK(
            rdt_buffer_write(gpu.driver, buffer[i].address, elements[i], all, gpu.stream, &err),
            err);
        from.host[i] = elements[i] + offset_of(&at, i) * bytes;
        from.gpu[i] = buffer[i].address + offset_of(&at, i) * bytes;
    }
    CHECK_OK(launch(self, &at, &from), err);
    check_results(self, &at, &from);
    for (int i = 0; i < count; i++) rdt_buffer_destroy(&buffer[i]);
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

/* On a simulated device, one problem in so many of the ops behind those of tests/reference.h, and
 * one result in so many: of the usual ones, the input's own dtype and f64, in which kernels
 * compute, more than of others. Each family has others, and every two of op, dtype and result meet
 * all the same: of three families that follow each other in the registry, as those of rows and
 * those of columns do, one has an op of a dtype. */
static bool is_sampled(const redtune_problem *problem, size_t turn) {
    enum { OPS_ONE_OF = 9, USUAL_ONE_OF = 3, RESULTS_ONE_OF = 9 };
    redtune_problem usual = {problem->op, problem->dtype};
    if (!device_is_simulated(&gpu)) return true;
    if ((int)problem->op >= RDT_REFERENCE_OPS)
        return turn % OPS_ONE_OF == (size_t)family % OPS_ONE_OF;
    const bool is_usual = rdt_problem_resolve(&usual, &usual, NULL) ||
                          problem->result == usual.result || problem->result == problem->dtype ||
                          problem->result == REDTUNE_F64;
    const size_t one_of = is_usual ? USUAL_ONE_OF : RESULTS_ONE_OF;
    return turn % one_of == (size_t)family % one_of;
}

/* One kernel of each. On a simulated device one in so many may be heavy, and gets large shapes. */
static void check_every_op_and_dtype(const layout_test *test) {
    enum { HEAVY_ONE_OF = 16 };
    size_t kernels = 0, turn = 0;
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op < &rdt_op_compiled_in.entry[rdt_op_compiled_in.count]; op++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
            for (int result = REDTUNE_I8; result < REDTUNE_DTYPE_END; result++) {
                redtune_problem problem =
                    PROBLEM(op->op, dtype->dtype, (redtune_dtype)result, .count = test->count,
                            .outer = test->outer, .inner = test->inner);
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                turn++;
                if (!is_sampled(&problem, turn) || !begin_kernel(turn)) continue;
                const bool heavy = !device_is_simulated(&gpu) || turn % HEAVY_ONE_OF == 0;
                const rdt_point point = draw_point(&problem, !heavy);
                check_point(test, &problem, &point, test->shapes, heavy);
                if (check_state.failed) return;
                kernels++;
            }
    printf("%s: %zu kernels\n", check_state.fact, kernels);
}

/* Every pair of the parameters' values, and each op with each dtype, by a few shapes: little enough
 * for a tool that checks every access. On a simulated device, one kernel of 16. */
static void check_covering_set(const layout_test *test) {
    enum { FEW = 2, SIMULATED = 16 };
    const bool simulated = device_is_simulated(&gpu);
    const cover_set set = {
        .like = PROBLEM(.count = test->count, .outer = test->outer, .inner = test->inner),
        .family = family,
        .scope = simulated ? COVER_KERNELS : COVER_PROBLEMS};
    cover_point *points = NULL;
    size_t count = 0, done = 0;
    CHECK_OK(cover_pairs(shop.codegen, &gpu.context->facts, &set, &points, &count, &err), err);
    const size_t wanted = simulated ? count / SIMULATED + 1 : count;
    for (size_t i = 0; i < wanted && !check_state.failed && !subject_is_late(); i++) {
        const cover_point *at = &points[subject_turn(i, count)];
        if (!begin_kernel(i)) continue;
        check_point(test, &at->problem, &at->point, FEW, !simulated);
        done++;
    }
    printf("%s: %zu of %zu kernels\n", check_state.fact, done, count);
    free(points);
}

/* Holds the sums of these extents, whose first element is input[first], by a few kernels. */
static void check_sums(const layout_test *test, const int32_t *input, size_t bytes, size_t first,
                       const shape *at) {
    redtune_problem problem =
        PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_I32, .count = at->extents.count,
                .outer = test->outer, .inner = test->inner);
    rdt_buffer buffer = {0};
    subject self;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &buffer, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, buffer.address, input, bytes, gpu.stream, &err), err);
    for (int i = 0; i < 8 && !check_state.failed; i++) {
        const rdt_point point = draw_point(&problem, device_is_simulated(&gpu));
        CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
        const inputs from = {{(const char *)(input + first)},
                             {buffer.address + first * sizeof *input}};
        CHECK_OK(launch(&self, at, &from), err);
        check_results(&self, at, &from);
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

/* Holds sums of i32 of these shapes by one config. */
__attribute__((unused)) static void check_shapes(const layout_test *test, const char *config,
                                                 const shape *shapes, size_t shape_count) {
    redtune_problem problem = PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_I32, .count = test->count,
                                      .outer = test->outer, .inner = test->inner);
    rdt_test_data *data = NULL;
    rdt_point point;
    subject self;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    const rdt_case at = {&problem, &gpu.context->facts};
    CHECK_OK(rdt_rules_find(shop.codegen, at, test->family, config, &point, &err), err);
    CHECK_OK(rdt_test_data_create(&problem, test->count_max, &data, &err), err);
    CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
    for (size_t i = 0; i < shape_count && !check_state.failed; i++)
        check_shape(&self, data, &shapes[i]);
    subject_close(&self);
    rdt_test_data_destroy(data);
}

/* Opens the GPU, runs the facts and closes it. */
static int run_layout_test(const layout_test *test, int argc, char **argv) {
    subject_is_late();
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = workshop_open(&gpu, &shop, &err);
    if (!status)
        status =
            rdt_space_find_family(rdt_codegen_spaces(shop.codegen), test->family, &family, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    if (shop.builder) workshop_close(&shop);
    device_close(&gpu);
    return rc;
}
