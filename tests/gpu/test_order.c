/* Facts about the fixed order on a GPU: kernels give the bits that docs/order.md defines, whatever
 * their parameters, their grid, the count and the addresses. */
#include <math.h>
#include "base/random.h"
#include "check.h"
#include "model/scalar.h"
#include "order_reference.h"
#include "shaped.h"
#include "subject.h"

static redtune_error err;
static device gpu;
static workshop shop;

enum { COUNT_MAX = 3 << 18, OFFSET_MAX = 16 };

/* Of several magnitudes and both signs; factors near 1 or -1, whose product stays in range. */
static redtune_value draw(const redtune_problem *problem, rdt_random *random) {
    const double real = ldexp((double)(int64_t)rdt_random_next(random), -63);
    if (!rdt_scalar_is_float(problem->dtype))
        return rdt_scalar_from_bits(problem->dtype, rdt_random_next(random));
    if (problem->op == REDTUNE_PROD)
        return rdt_scalar_from_real(problem->dtype, copysign(1 + real / 256, real));
    return rdt_scalar_from_real(problem->dtype, ldexp(real, (int)(rdt_random_next(random) % 12)));
}

/* One period of a pool, longer than what the largest count takes. */
static uint64_t elements[2][COUNT_MAX + OFFSET_MAX];

static void fill(const redtune_problem *problem) {
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    rdt_random random = {20261122 + (uint64_t)problem->op * 100 + (uint64_t)problem->dtype};
    for (int k = 0; k < 2; k++)
        for (uint64_t i = 0; i < COUNT_MAX + OFFSET_MAX; i++) {
            const redtune_value each = draw(problem, &random);
            memcpy((char *)elements[k] + i * bytes, &each, bytes);
        }
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* A window of the pool of each input: as long as its allocation, so that what is read behind it
 * shows. */
static redtune_status put(const subject *self, int input, uint64_t offset, uint64_t count,
                          rdt_buffer *out) {
    const size_t bytes = (offset + count + 1) * self->element_bytes;
    const char *from = (const char *)elements[input];
    redtune_status status = rdt_buffer_create(gpu.driver, bytes, out, &err);
    return status ? status
                  : rdt_buffer_write(gpu.driver, out->address, from, bytes - self->element_bytes,
                                     gpu.stream, &err);
}

static redtune_status run(subject *self, const rdt_buffer input[2], uint64_t offset, uint64_t count,
                          redtune_value got[2]) {
    const uint64_t skipped = offset * self->element_bytes;
    const CUdeviceptr from[RDT_OP_INPUTS_MAX] = {input[0].address + skipped,
                                                 input[1].address + skipped};
    return subject_reduce_all(self, from, count, got, &err);
}

static void check_results(const subject *self, const redtune_value got[2],
                          const redtune_value wanted[2], uint64_t count, uint64_t offset) {
    const redtune_dtype dtype[2] = {self->problem.result, rdt_problem_second(&self->problem)};
    for (int k = 0; k < 2 && dtype[k]; k++)
        check_that(rdt_scalar_same(dtype[k], &got[k], &wanted[k]), __FILE__, __LINE__,
                   "%s: result %d of %llu elements at offset %llu is %.17g and should be %.17g",
                   self->name, k, (unsigned long long)count, (unsigned long long)offset,
                   rdt_scalar_real(dtype[k], &got[k], 0), rdt_scalar_real(dtype[k], &wanted[k], 0));
}

static void check_count(subject *self, uint64_t count, uint64_t offset) {
    rdt_buffer input[2] = {{0}, {0}};
    redtune_value got[2], wanted[2];
    const bool two = rdt_op_find(self->problem.op)->inputs > 1;
    CHECK_OK(put(self, 0, offset, count, &input[0]), err);
    if (two) CHECK_OK(put(self, 1, offset, count, &input[1]), err);
    CHECK_OK(run(self, input, offset, count, got), err);
    rdt_order_reference_reduce(
        &self->problem, (const char *)elements[0] + offset * self->element_bytes,
        (const char *)elements[1] + offset * self->element_bytes, count, wanted);
    check_results(self, got, wanted, count, offset);
    for (int k = 0; k < 2; k++) rdt_buffer_destroy(&input[k]);
}

enum { ZEROS = 1 << 14 };

/* The first elements become -0 until they are kept no longer. */
static void keep_elements(const subject *self, uint64_t kept[2][ZEROS]) {
    const redtune_value zero = rdt_scalar_from_real(self->problem.dtype, -0.0);
    for (int k = 0; k < 2; k++) {
        memcpy(kept[k], elements[k], sizeof kept[k]);
        for (size_t i = 0; i < ZEROS; i++)
            memcpy((char *)elements[k] + i * self->element_bytes, &zero, self->element_bytes);
    }
}

static void give_elements_back(uint64_t kept[2][ZEROS]) {
    for (int k = 0; k < 2; k++) memcpy(elements[k], kept[k], sizeof kept[k]);
}

/* The sum of a chunk of -0, of which nothing is missing, is +0. */
static void check_zeros(subject *self) {
    static uint64_t kept[2][ZEROS];
    const uint64_t chunk = 4096 / self->element_bytes;
    keep_elements(self, kept);
    check_count(self, chunk, 0);
    give_elements_back(kept);
}

static void check_kernel(subject *self, rdt_random *random) {
    const uint64_t vector = 16 / self->element_bytes, chunk = 256 * vector;
    const uint64_t tile = self->launch.tile, most = self->launch.blocks_max;
    const uint64_t counts[] = {0,     1,         vector - 1,    vector + 1,      chunk - 1,
                               chunk, chunk + 1, 3 * chunk + 5, 7 * chunk,       tile - 1,
                               tile,  tile + 1,  3 * tile + 7,  5 * tile + chunk};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] <= COUNT_MAX)
            check_count(self, counts[i], i % 3 ? 0 : rdt_random_next(random) % vector);
    for (uint64_t offset = 0; offset < vector; offset++)
        check_count(self, 2 * chunk + rdt_random_next(random) % chunk, offset);
    check_zeros(self);
    /* Any grid, and any count. */
    for (uint32_t blocks = 1; blocks <= 7 && blocks <= most; blocks += 2) {
        self->launch.blocks_max = blocks;
        check_count(
            self, rdt_random_next(random) % (device_is_simulated(&gpu) ? COUNT_MAX / 8 : COUNT_MAX),
            rdt_random_next(random) % vector);
    }
    self->launch.blocks_max = (uint32_t)most;
}

/* A point that the family allows, drawn from all of its values; on a simulated device seven of
 * eight are light. */
static rdt_point draw_point(rdt_case at, int family, rdt_random *random) {
    const rdt_space *space = &rdt_codegen_spaces(shop.codegen)->space[family];
    const bool light = device_is_simulated(&gpu) && rdt_random_next(random) % 8 > 0;
    rdt_point point = {.family = family};
    do {
        for (int i = 0; i < space->param_count; i++)
            point.value[i] =
                space->param[i]
                    .value[rdt_random_next(random) % (uint64_t)space->param[i].value_count];
    } while ((light && !subject_is_light(space, &point)) ||
             rdt_rules_check(shop.codegen, at, &point, NULL));
    return point;
}

/* How many kernels of the fact were drawn: parts share them out by their number in all of it, so
 * that each has as many. */
static size_t drawn;

static void check_problem(redtune_problem problem, void (*check)(subject *self, rdt_random *random),
                          int kernels, rdt_random *random) {
    int done = 0;
    rdt_point baseline;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_INT(problem.order, REDTUNE_ORDER_FIXED);
    const rdt_case at = {&problem, &gpu.context->facts};
    CHECK_OK(rdt_rules_default(shop.codegen, at, &baseline, &err), err);
    fill(&problem);
    for (int i = 0; i < kernels && !check_state.failed; i++) {
        const rdt_point point = draw_point(at, baseline.family, random);
        rdt_random own = {rdt_random_next(random)};
        if (!subject_is_of_part(drawn++) || !subject_is_wanted(&shop, &point) || subject_is_late())
            continue;
        subject self;
        CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
        check(&self, &own);
        subject_close(&self);
        done++;
    }
    /* What is stopped has said how far it came. */
    printf("%s: %d kernels\n", check_state.fact, done);
    fflush(stdout);
}

static const redtune_problem problems[] = {
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F16},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_BF16},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F64},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .result = REDTUNE_F64},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F16, .result = REDTUNE_F16},
    {.op = REDTUNE_PROD, .dtype = REDTUNE_F32},
    {.op = REDTUNE_SUMSQ, .dtype = REDTUNE_F32},
    {.op = REDTUNE_MEAN, .dtype = REDTUNE_I64},
    {.op = REDTUNE_MEAN, .dtype = REDTUNE_BF16},
    {.op = REDTUNE_NORM2, .dtype = REDTUNE_F64},
    {.op = REDTUNE_NORM2, .dtype = REDTUNE_F16},
    {.op = REDTUNE_SUM_SUMSQ, .dtype = REDTUNE_F32},
    {.op = REDTUNE_DOT, .dtype = REDTUNE_F16},
    {.op = REDTUNE_DOT, .dtype = REDTUNE_F32},
    {.op = REDTUNE_VAR, .dtype = REDTUNE_F32},
    {.op = REDTUNE_VAR, .dtype = REDTUNE_F64},
    {.op = REDTUNE_VAR, .dtype = REDTUNE_I8},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .accuracy = REDTUNE_ACCURACY_COMPENSATED},
    {.op = REDTUNE_NORM2, .dtype = REDTUNE_F16, .accuracy = REDTUNE_ACCURACY_COMPENSATED},
    {.op = REDTUNE_DOT, .dtype = REDTUNE_F64, .accuracy = REDTUNE_ACCURACY_COMPENSATED},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

FACT(kernels_have_the_bits_of_the_order) {
    rdt_random random = {1};
    drawn = 0;
    CHECK_OK(workshop_open(&gpu, &shop, &err), err);
    for (size_t i = 0; i < PROBLEMS && !check_state.failed; i++) {
        redtune_problem problem = problems[i];
        problem.order = REDTUNE_ORDER_FIXED;
        RESHAPE(&problem, count, 1 << 20);
        check_problem(problem, check_kernel, device_is_simulated(&gpu) ? 2 : 24, &random);
    }
    workshop_close(&shop);
}

/* ---- rows and columns ------------------------------------------------------------------------ */

enum { RESULTS_MAX = 192 };

/* What the reference gives for result number r of those extents. */
static void reference(const subject *self, const rdt_extents *e, uint64_t offset, uint64_t r,
                      redtune_value wanted[2]) {
    static uint64_t line[2][COUNT_MAX];
    const size_t bytes = self->element_bytes;
    const uint64_t first = offset + r / e->inner * e->outer_step + r % e->inner;
    for (int k = 0; k < 2; k++)
        for (uint64_t i = 0; i < e->count; i++)
            memcpy((char *)line[k] + i * bytes, (char *)elements[k] + (first + i * e->step) * bytes,
                   bytes);
    rdt_order_reference_reduce(&self->problem, line[0], line[1], e->count, wanted);
}

/* All results of complete extents, from that element of the pool on, where the GPU is told that
 * many elements of a result, if its problem has a count on the GPU. Behind these no memory is the
 * kernel's. */
static void check_first(subject *self, rdt_extents e, uint64_t told, uint64_t offset) {
    const size_t bytes = self->element_bytes;
    rdt_buffer input[2] = {{0}, {0}}, count = {0};
    unsigned char raw[2][RESULTS_MAX * sizeof(redtune_value)];
    const rdt_op_traits *op = rdt_op_find(self->problem.op);
    const redtune_dtype dtype[2] = {self->problem.result, rdt_problem_second(&self->problem)};
    rdt_extents least = e;
    if (told < e.count) least.count = told;
    const uint64_t rows = least.count ? least.count - 1 : 0;
    const uint64_t reach = (e.outer - 1) * e.outer_step + rows * e.step + (e.inner - 1) + 1;
    CHECK(e.outer * e.inner <= RESULTS_MAX && reach <= COUNT_MAX);
    for (int k = 0; k < op->inputs; k++) CHECK_OK(put(self, k, offset, reach, &input[k]), err);
    if (self->problem.uses & REDTUNE_USE_DEVICE_COUNT) {
        CHECK_OK(rdt_buffer_create(gpu.driver, sizeof told, &count, &err), err);
        CHECK_OK(rdt_buffer_write(gpu.driver, count.address, &told, sizeof told, gpu.stream, &err),
                 err);
    }
    const rdt_operands operands = {
        .input = input[0].address + offset * bytes,
        .extents = e,
        .output = subject_output(self, 0),
        .scratch = self->scratch.address,
        .given = {.input = op->inputs > 1 ? input[1].address + offset * bytes : 0,
                  .output = subject_output(self, 1),
                  .count = count.address},
    };
    CHECK_OK(subject_poison(self, &err), err);
    CHECK_OK(rdt_kernel_start(self->kernel, &self->launch, &operands, gpu.stream, &err), err);
    for (int k = 0; k < op->outputs; k++)
        CHECK_OK(subject_read_output(self, k, e.outer * e.inner, raw[k], &err), err);
    CHECK_OK(subject_check_scratch(self, &err), err);
    for (uint64_t r = 0; r < e.outer * e.inner && !check_state.failed; r++) {
        redtune_value got[2], wanted[2];
        for (int k = 0; k < 2 && dtype[k]; k++)
            memcpy(&got[k], raw[k] + r * redtune_dtype_bytes(dtype[k]),
                   redtune_dtype_bytes(dtype[k]));
        reference(self, &least, offset, r, wanted);
        check_results(self, got, wanted, least.count, offset + r);
    }
    for (int k = 0; k < 2; k++) rdt_buffer_destroy(&input[k]);
    rdt_buffer_destroy(&count);
}

static void check_shape(subject *self, rdt_extents e, uint64_t offset) {
    check_first(self, e, e.count, offset);
}

/* The same of two rows, or columns, of n elements each, as many as the threads' loads bring. */
static void check_zeros_of_two(subject *self, uint64_t n, bool columns) {
    static uint64_t kept[2][ZEROS];
    const rdt_extents e = columns ? (rdt_extents){n, 1, 2, 2 * n, 2} : (rdt_extents){n, 2, 1, n, 1};
    CHECK(2 * n <= ZEROS);
    keep_elements(self, kept);
    check_shape(self, e, 0);
    give_elements_back(kept);
}

/* Any number of blocks that share results. A launch has a multiple of the sets of results, a
 * `ragged` one any number, up to the count. */
static void draw_grid(subject *self, const rdt_launch *whole, bool ragged, rdt_random *random) {
    const uint32_t most = whole->blocks_max;
    self->launch = *whole;
    self->launch.blocks_max = most > 1 ? 2 + (uint32_t)(rdt_random_next(random) % (most - 1)) : 1;
    if (ragged) self->launch.results = 0, self->launch.tile = 1;
}

static void check_row_kernel(subject *self, rdt_random *random) {
    const uint64_t vector = 16 / self->element_bytes, chunk = 256 * vector;
    const uint64_t counts[] = {1,         vector, 3 * vector + 1, 31 * vector, chunk / 2 + 3,
                               chunk - 1, chunk,  chunk + 1,      7 * chunk,   17 * chunk};
    const uint64_t pitches[] = {0, 1, vector}; /* beyond the count */
    const rdt_launch whole = self->launch;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint64_t rows = counts[i] > chunk ? 3 : 1 + rdt_random_next(random) % 40;
        for (size_t k = 0; k < 3; k++) {
            const uint64_t pitch = counts[i] + pitches[k];
            draw_grid(self, &whole, k == 2, random);
            check_shape(self, rdt_launch_complete((rdt_extents){counts[i], rows, 1, pitch, 1}),
                        k ? 0 : rdt_random_next(random) % vector);
        }
    }
    self->launch = whole;
    check_zeros_of_two(self, chunk, false);
    if (whole.tile <= ZEROS / 2) check_zeros_of_two(self, whole.tile, false);
}

/* Columns of every kind of count, a few of them or many, packed or not, from any element on, in one
 * batch or several, by any number of blocks. */
static void check_column_kernel(subject *self, rdt_random *random) {
    const uint64_t vector = 16 / self->element_bytes, chunk = 256 * vector;
    const uint64_t counts[] = {1,         vector - 1,    vector + 1, 3 * vector + 1,
                               chunk / 8, chunk / 2 + 3, chunk - 1,  chunk,
                               chunk + 1, 3 * chunk + 5, 7 * chunk,  9 * chunk + 1};
    const uint64_t widths[] = {1, 3, 8, 16, 33, 64, 96};
    const uint64_t gaps[] = {0, 0, 1, 8};
    const rdt_launch whole = self->launch;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int turn = 0; turn < (device_is_simulated(&gpu) && counts[i] > chunk ? 1 : 3);
             turn++) {
            uint64_t inner = widths[rdt_random_next(random) % 7];
            while (inner > 1 && counts[i] * (inner + 8) > COUNT_MAX / 2) inner /= 2;
            const uint64_t step = inner + gaps[rdt_random_next(random) % 4],
                           outer = 1 + rdt_random_next(random) % 2;
            const uint64_t offset = turn ? rdt_random_next(random) % OFFSET_MAX : 0;
            draw_grid(self, &whole, (i + (size_t)turn) % 3 == 2, random);
            /* Fewer blocks than there are sets of results: a block makes several. */
            self->launch.results *= 1 + (uint32_t)(rdt_random_next(random) % 3);
            if (counts[i])
                check_shape(self, (rdt_extents){counts[i], outer, inner, counts[i] * step, step},
                            offset);
        }
    }
    self->launch = whole;
    if (whole.tile <= ZEROS / 2) check_zeros_of_two(self, whole.tile, true);
}

static void check_layout(uint64_t count, uint64_t outer, uint64_t inner,
                         void (*check)(subject *self, rdt_random *random), uint64_t seed) {
    rdt_random random = {seed};
    drawn = 0;
    CHECK_OK(workshop_open(&gpu, &shop, &err), err);
    for (size_t i = 0; i < PROBLEMS && !check_state.failed; i++) {
        redtune_problem problem = problems[i];
        problem.order = REDTUNE_ORDER_FIXED;
        RESHAPE(&problem, count, count);
        RESHAPE(&problem, outer, outer);
        RESHAPE(&problem, inner, inner);
        check_problem(problem, check, device_is_simulated(&gpu) ? 2 : 24, &random);
    }
    workshop_close(&shop);
}

/* Rows of less than half a chunk are another family's. */
FACT(rows_have_the_bits_of_the_order) { check_layout(9000, 64, 1, check_row_kernel, 2); }

FACT(short_rows_have_the_bits_of_the_order) { check_layout(50, 64, 1, check_row_kernel, 4); }

FACT(columns_have_the_bits_of_the_order) { check_layout(1000, 1, 64, check_column_kernel, 3); }

/* ---- counts on the GPU ----------------------------------------------------------------------- */

/* Results of a part of the elements that the launch is for, of all, and where the GPU says more. */
static void check_told_kernel(subject *self, rdt_random *random) {
    const uint64_t vector = 16 / self->element_bytes, chunk = 256 * vector;
    const rdt_extents shape = rdt_launch_complete(rdt_problem_extents(&self->problem));
    const uint64_t counts[] = {shape.inner > 1 ? chunk / 2 + 3 : 3 * vector + 1, 9 * chunk + 5};
    const rdt_launch whole = self->launch;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint64_t n = counts[i];
        const uint64_t told[] = {0, 1, 3 * vector + 1, n / 3, n - 1, n, n + 1, UINT64_MAX};
        for (size_t k = 0; k < sizeof told / sizeof *told; k++) {
            const uint64_t inner = shape.inner > 1 ? 1 + rdt_random_next(random) % 20 : 1,
                           outer = shape.outer > 1 ? 1 + rdt_random_next(random) % 5 : 1;
            if (shape.outer > 1 || shape.inner > 1) draw_grid(self, &whole, k % 3 == 2, random);
            check_first(self, (rdt_extents){n, outer, inner, n * inner, inner}, told[k],
                        rdt_random_next(random) % OFFSET_MAX * (k % 2));
        }
    }
    self->launch = whole;
}

FACT(counts_on_the_gpu_are_of_the_first_elements) {
    const shaped shapes[] = {{.count = 1 << 20},
                             {.count = 9000, .outer = 64},
                             {.count = 50, .outer = 64},
                             {.count = 1000, .inner = 64}};
    rdt_random random = {5};
    drawn = 0;
    CHECK_OK(workshop_open(&gpu, &shop, &err), err);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (size_t i = 0; i < PROBLEMS && !check_state.failed; i += 5) {
            redtune_problem problem = problems[i];
            shape_problem(&problem, &shapes[k]);
            problem.order = REDTUNE_ORDER_FIXED;
            problem.uses = REDTUNE_USE_DEVICE_COUNT;
            check_problem(problem, check_told_kernel, device_is_simulated(&gpu) ? 1 : 8, &random);
        }
    workshop_close(&shop);
}

int main(int argc, char **argv) { return subject_run(&gpu, NULL, argc, argv); }
