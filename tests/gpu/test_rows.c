/* Facts about the family "rows": one result per row, whatever the extents and the grid, from every
 * element-aligned start, with nothing read that lies between rows. */
#include <math.h>
#include "check.h"
#include "model/scalar.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

enum { COUNT_MAX = 1027, OUTER_MAX = 1000, OFFSET_MAX = 16, GAP_MAX = 37, RESULT_BYTES_MAX = 8 };
/* On a simulated device most kernels leave out the shapes of more elements. */
enum { ELEMENTS_FEW = 8000, SHAPES_PER_KERNEL = 7, GUARD_BYTES = 64, POISON = 0xa5 };

static const uint64_t outers[] = {1, 2, 3, 7, 33, OUTER_MAX};
static const uint64_t counts[] = {0, 1, 2, 5, 31, 32, 33, 100, COUNT_MAX};
enum { OUTERS = sizeof outers / sizeof *outers, COUNTS = sizeof counts / sizeof *counts };

static redtune_error err;
static device gpu;
static workshop shop;
static int family;

/* ---- kernels --------------------------------------------------------------------------------- */

/* The same numbers in every run. */
static uint64_t draw(uint64_t below) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

static int64_t *value_of(const rdt_space *space, rdt_point *point, const char *name) {
    return &point->value[rdt_space_find(space, name, (int)strlen(name))];
}

/* Any config that the family allows. */
static rdt_point draw_point(redtune_dtype dtype) {
    rdt_point point = {.family = family};
    const rdt_space *space = rdt_point_space(rdt_codegen_spaces(shop.codegen), &point);
    do {
        for (int i = 0; i < space->param_count; i++) {
            const rdt_param *param = &space->param[i];
            point.value[i] = param->value[draw((uint64_t)param->value_count)];
        }
    } while (*value_of(space, &point, "lanes") > *value_of(space, &point, "block") ||
             (size_t)*value_of(space, &point, "vec") * redtune_dtype_bytes(dtype) > 16);
    return point;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

typedef struct shape {
    rdt_extents extents;
    uint64_t offset; /* elements before the first row */
    uint32_t turns;  /* of the grid's blocks, at least */
} shape;

static char elements[(OFFSET_MAX + OUTER_MAX * (COUNT_MAX + GAP_MAX)) * RESULT_BYTES_MAX];

static void fill(char *to, size_t bytes, const redtune_value *value, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) memcpy(to + i * bytes, value->bytes, bytes);
}

/* A row of the pattern, or one with NaN, with one or two elements that decide, or of elements none
 * of which does. */
static void fill_row(const rdt_test_data *data, char *row, uint64_t count) {
    const redtune_problem *problem = &data->problem;
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    const redtune_value neutral = rdt_test_data_neutral(problem);
    const redtune_value decider = rdt_test_data_decider(problem);
    const uint64_t kind = draw(8);
    for (uint64_t i = 0, at = draw(data->period); i < count; i++, at = (at + 1) % data->period)
        memcpy(row + i * bytes, (const char *)data->elements + at * bytes, bytes);
    if (!count || kind > 4) return;
    if (kind == 0) fill(row, bytes, &neutral, count);
    if (kind == 1 && rdt_scalar_is_float(problem->dtype)) {
        const redtune_value nan = rdt_scalar_from_real(problem->dtype, (double)NAN);
        for (int i = 0; i < 2; i++) memcpy(row + draw(count) * bytes, nan.bytes, bytes);
    }
    if (kind > 1 && rdt_test_data_hides(problem))
        for (uint64_t i = kind; i < 4; i++) memcpy(row + draw(count) * bytes, decider.bytes, bytes);
}

/* What lies around rows decides, if it is taken. The last row ends where the input does. */
static uint64_t fill_input(const rdt_test_data *data, const shape *at) {
    const size_t bytes = redtune_dtype_bytes(data->problem.dtype);
    const redtune_value decider = rdt_test_data_decider(&data->problem);
    const uint64_t last = at->offset + (at->extents.outer - 1) * at->extents.outer_step;
    const uint64_t all = last + at->extents.count;
    fill(elements, bytes, &decider, all);
    for (uint64_t row = 0; row < at->extents.outer; row++)
        fill_row(data, elements + (at->offset + row * at->extents.outer_step) * bytes,
                 at->extents.count);
    return all;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Fails the fact, and is false, unless row r's result is the one wanted. */
static bool check_row(const subject *self, const shape *at, uint64_t row, const char *from,
                      const redtune_value *got) {
    rdt_reference wanted;
    rdt_reference_reduce(&self->problem, from, at->extents.count, &wanted);
    return subject_same(self, at->extents.count, got, &wanted.value,
                        "at offset %llu, row %llu of %llu, a row every %lld,",
                        (unsigned long long)at->offset, (unsigned long long)row,
                        (unsigned long long)at->extents.outer, (long long)at->extents.outer_step);
}

static redtune_status launch(subject *self, const shape *at, CUdeviceptr first_row) {
    CUresult rc =
        gpu.driver->memset_d8_async(self->output.address, POISON, self->output.bytes, gpu.stream);
    redtune_status status = rdt_driver_check(gpu.driver, rc, &err, "poison the results");
    rdt_launch how = self->launch;
    how.results *= at->turns;
    const rdt_operands operands = {.input = first_row,
                                   .extents = at->extents,
                                   .output = self->output.address,
                                   .scratch = self->scratch.address};
    return status ? status : rdt_kernel_launch(self->kernel, &how, operands, gpu.stream, &err);
}

static void check_results(subject *self, const shape *at, const char *first_row) {
    static unsigned char results[OUTER_MAX * RESULT_BYTES_MAX + GUARD_BYTES];
    const size_t bytes = redtune_dtype_bytes(self->problem.result);
    const size_t end = at->extents.outer * bytes;
    CHECK_OK(rdt_buffer_read(gpu.driver, results, self->output.address, end + GUARD_BYTES,
                             gpu.stream, &err),
             err);
    for (size_t i = end; i < end + GUARD_BYTES; i++) CHECK_INT(results[i], POISON);
    for (uint64_t row = 0; row < at->extents.outer; row++) {
        const uint64_t step = row * at->extents.outer_step * self->element_bytes;
        redtune_value got = {.u64 = 0};
        memcpy(got.bytes, results + row * bytes, bytes);
        if (!check_row(self, at, row, first_row + (int64_t)step, &got)) return;
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

/* ---- facts ----------------------------------------------------------------------------------- */

static shape draw_shape(bool large) {
    shape out = {.offset = draw(OFFSET_MAX + 1), .turns = 1 + (uint32_t)draw(3)};
    do {
        out.extents.outer = outers[draw(OUTERS)];
        out.extents.count = counts[draw(COUNTS)];
    } while (!large && out.extents.outer * out.extents.count > ELEMENTS_FEW);
    out.extents.outer_step = out.extents.count + (draw(2) ? draw(GAP_MAX + 1) : 0);
    return out;
}

static void check_problem(const redtune_problem *problem, bool large) {
    rdt_test_data *data = NULL;
    const rdt_point point = draw_point(problem->dtype);
    subject self;
    CHECK_OK(rdt_test_data_create(problem, COUNT_MAX, &data, &err), err);
    CHECK_OK(subject_open(&shop, problem, &point, &self, &err), err);
    for (int i = 0; i < SHAPES_PER_KERNEL && !check_state.failed; i++) {
        const shape at = draw_shape(large && !i);
        check_shape(&self, data, &at);
    }
    subject_close(&self);
    rdt_test_data_destroy(data);
}

/* Two kernels of the usual result, and one of each other that there is. */
static void every_op_of_every_dtype_is_right(void) {
    if (!gpu.context) SKIP("there is no GPU");
    size_t kernels = 0;
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op <= &rdt_op_compiled_in.entry[REDTUNE_XOR]; op++) /* the reference has */
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
            for (int result = REDTUNE_DTYPE_NONE; result <= REDTUNE_F64; result++) {
                redtune_problem problem = {op->op, dtype->dtype, (redtune_dtype)result, COUNT_MAX};
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                check_problem(&problem, !device_is_simulated(&gpu) || kernels % 16 == 0);
                if (check_state.failed) return;
                kernels++;
            }
    printf("%s: %zu kernels\n", check_state.fact, kernels);
}

/* A step of so many elements less than 2^64 leads backwards; if it, or its product with the row's
 * number, was cut to 32 bits, it would lead 4 GiB away. */
static void steps_have_64_bits(void) {
    if (!gpu.context) SKIP("there is no GPU");
    enum { ROWS = 5, COUNT = 40, PITCH = 50 };
    redtune_problem problem = {REDTUNE_SUM, REDTUNE_I32, REDTUNE_DTYPE_NONE, COUNT};
    int32_t input[ROWS * PITCH];
    rdt_buffer buffer = {0};
    subject self;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    for (int i = 0; i < ROWS * PITCH; i++) input[i] = i * i;
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof input, &buffer, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, buffer.address, input, sizeof input, gpu.stream, &err),
             err);
    for (int i = 0; i < 8 && !check_state.failed; i++) {
        const rdt_point point = draw_point(REDTUNE_I32);
        const shape at = {{COUNT, ROWS, 1, (uint64_t)0 - PITCH, 1}, 0, 1};
        const size_t last = (ROWS - 1) * PITCH;
        CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
        CHECK_OK(launch(&self, &at, buffer.address + last * sizeof *input), err);
        check_results(&self, &at, (const char *)(input + last));
        subject_close(&self);
    }
    rdt_buffer_destroy(&buffer);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(every_op_of_every_dtype_is_right),
        FACT(steps_have_64_bits),
    };
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = workshop_open(&gpu, &shop, &err);
    if (!status)
        status = rdt_space_find_family(rdt_codegen_spaces(shop.codegen), "rows", &family, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    int rc = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    if (shop.builder) workshop_close(&shop);
    device_close(&gpu);
    return rc;
}
