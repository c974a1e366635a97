/* Facts about the ops of two inputs, two results and parameters on a GPU, through the built-in
 * defaults, held against tests/results.h: any elements, and those that IEEE 754 has rules for, as
 * whole arrays, rows and columns. */
#include <math.h>
#include "check.h"
#include "draw.h"
#include "model/scalar.h"
#include "shaped.h"
#include "subject.h"

enum { ELEMENTS_MAX = 4200, GAP = 3 /* elements before the second input */ };

static redtune_error err;
static device gpu;
static workshop shop;

/* ---- elements -------------------------------------------------------------------------------- */

typedef enum elements_kind { ANY, EQUAL_OFTEN, STRANGE } elements_kind;

static redtune_value draw_float(redtune_dtype dtype, elements_kind kind) {
    static const double strange[] = {(double)INFINITY, (double)-INFINITY, (double)NAN, 0, -0.0};
    if (kind == STRANGE && !draw(40)) return rdt_scalar_from_real(dtype, strange[draw(5)]);
    const double real = kind == EQUAL_OFTEN
                            ? (double)draw(3)
                            : ldexp(1 + (double)draw(1 << 20) / (1 << 20), (int)draw(5) - 3);
    return rdt_scalar_from_real(dtype, draw(2) ? real : -real);
}

static redtune_value draw_element(redtune_dtype dtype, elements_kind kind) {
    if (rdt_scalar_is_float(dtype)) return draw_float(dtype, kind);
    return rdt_scalar_from_bits(
        dtype, kind == EQUAL_OFTEN ? draw(3) : draw(UINT32_MAX) << 33 ^ draw(1 << 30));
}

typedef struct arrays {
    rdt_buffer buffer[2], output[2];
    char element[2][ELEMENTS_MAX * 8];
} arrays;

static arrays here;

static void fill(const redtune_problem *problem, elements_kind kind) {
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < ELEMENTS_MAX; k++) {
            redtune_value each = draw_element(problem->dtype, kind);
            /* Some of what is strange meets its like. */
            if (i && k >= GAP && kind == STRANGE && draw(2))
                memcpy(each.bytes, here.element[0] + (k - GAP) * bytes, bytes);
            memcpy(here.element[i] + k * bytes, each.bytes, bytes);
        }
        CHECK_OK(rdt_buffer_write(gpu.driver, here.buffer[i].address, here.element[i],
                                  ELEMENTS_MAX * bytes, gpu.stream, &err),
                 err);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

/* The second input begins GAP elements later than the first, so that it is aligned otherwise. */
static void launch(subject *self, const rdt_extents *extents, uint64_t offset,
                   const double *parameters) {
    const size_t bytes = self->element_bytes;
    const rdt_op_traits *op = rdt_op_find(self->problem.op);
    rdt_operands operands = {.input = here.buffer[0].address + offset * bytes,
                             .extents = *extents,
                             .output = here.output[0].address,
                             .scratch = self->scratch.address};
    operands.given.input = here.buffer[1].address + (offset + GAP) * bytes;
    operands.given.output = here.output[1].address;
    for (int i = 0; i < op->parameters; i++)
        operands.given.scalar[i] = parameters ? parameters[i] : op->parameter[i].usual;
    CHECK_OK(rdt_kernel_start(self->kernel, &self->launch, &operands, gpu.stream, &err), err);
}

/* Element e of result r of either input, side by side. */
static void gather(const subject *self, const rdt_extents *extents, uint64_t offset, uint64_t r,
                   char column[2][ELEMENTS_MAX * 8]) {
    const size_t bytes = self->element_bytes;
    const uint64_t first = r / extents->inner * extents->outer_step + r % extents->inner;
    for (uint64_t e = 0; e < extents->count; e++)
        for (int i = 0; i < 2; i++)
            memcpy(column[i] + e * bytes,
                   here.element[i] + (offset + (i ? GAP : 0) + first + e * extents->step) * bytes,
                   bytes);
}

static void check_one(const subject *self, const results *right, int output, uint64_t count,
                      double depth, uint64_t r, const char *read) {
    const redtune_problem *problem = &self->problem;
    const redtune_dtype dtype = output ? rdt_problem_second(problem) : problem->result;
    const size_t bytes = redtune_dtype_bytes(dtype);
    redtune_value got = {.u64 = 0};
    rdt_text wrong = {0};
    memcpy(got.bytes, read + r * bytes, bytes);
    subject_compare_close(self, output, &got, right, count, depth, &wrong);
    check_that(!wrong.data, __FILE__, __LINE__, "%s: of result %d of %llu elements %s", self->name,
               output, (unsigned long long)count, wrong.data ? wrong.data : "");
    rdt_text_free(&wrong);
}

static void check_extents(subject *self, const rdt_extents *extents, uint64_t offset,
                          const double *parameters) {
    static char column[2][ELEMENTS_MAX * 8], read[2][ELEMENTS_MAX * 8];
    const uint64_t count = extents->outer * extents->inner;
    const double depth =
        count == 1 ? subject_depth(self, extents->count) : (double)extents->count + 12;
    const int outputs = rdt_op_find(self->problem.op)->outputs;
    launch(self, extents, offset, parameters);
    for (int i = 0; i < outputs && !check_state.failed; i++)
        CHECK_OK(rdt_buffer_read(gpu.driver, read[i], here.output[i].address, count * 8, gpu.stream,
                                 &err),
                 err);
    for (uint64_t r = 0; r < count && !check_state.failed; r++) {
        results right;
        gather(self, extents, offset, r, column);
        const results_input input = {column[0], column[1], extents->count, parameters};
        results_reduce(&self->problem, &input, &right);
        for (int i = 0; i < outputs; i++)
            check_one(self, &right, i, extents->count, depth, r, read[i]);
    }
}

/* ---- every op of every dtype ----------------------------------------------------------------- */

static void check_layout(const redtune_problem *problem, const rdt_extents *extents, size_t count,
                         const double *parameters) {
    redtune_problem wanted = *problem;
    subject self;
    RESHAPE(&wanted, count, extents->count);
    RESHAPE(&wanted, outer, extents->outer);
    RESHAPE(&wanted, inner, extents->inner);
    CHECK_OK(rdt_problem_resolve(&wanted, &wanted, &err), err);
    CHECK_OK(subject_open(&shop, &wanted, NULL, &self, &err), err);
    for (size_t i = 0; i < count && !check_state.failed; i++) {
        const rdt_extents complete = rdt_launch_complete(extents[i]);
        fill(problem, (elements_kind)(i % 3));
        check_extents(&self, &complete, i % 2, parameters);
    }
    CHECK_OK(subject_check_scratch(&self, &err), err);
    subject_close(&self);
}

static void check_whole(const redtune_problem *problem) {
    static const rdt_extents extents[] = {{4097, 1, 1, 0, 0}, {33, 1, 1, 0, 0}, {1000, 1, 1, 0, 0},
                                          {0, 1, 1, 0, 0},    {1, 1, 1, 0, 0},  {7, 1, 1, 0, 0},
                                          {2, 1, 1, 0, 0}};
    check_layout(problem, extents, sizeof extents / sizeof *extents, NULL);
}

static void check_rows(const redtune_problem *problem) {
    static const rdt_extents extents[] = {{129, 31, 1, 0, 0}, {5, 40, 1, 7, 0}, {64, 9, 1, 0, 0}};
    check_layout(problem, extents, sizeof extents / sizeof *extents, NULL);
}

static void check_columns(const redtune_problem *problem) {
    static const rdt_extents extents[] = {{50, 2, 40, 0, 0}, {3, 1, 100, 0, 0}, {64, 3, 9, 0, 0}};
    check_layout(problem, extents, sizeof extents / sizeof *extents, NULL);
}

/* Each op of each dtype with its usual result, and with f64; on a simulated device one of so many.
 */
static void for_each_problem(void (*fact)(const redtune_problem *problem), size_t simulated) {
    const size_t one_of = gpu.context && device_is_simulated(&gpu) ? simulated : 1;
    size_t tried = 0, kept = 0;
    for (int op = RDT_REFERENCE_OPS; op < rdt_op_compiled_in.count; op++)
        for (int dtype = REDTUNE_I8; dtype < REDTUNE_DTYPE_END; dtype++)
            for (int f64 = 0; f64 < 2; f64++) {
                redtune_problem problem = {.op = (redtune_op)op,
                                           .dtype = (redtune_dtype)dtype,
                                           .result = f64 ? REDTUNE_F64 : REDTUNE_DTYPE_NONE};
                redtune_dtype usual = REDTUNE_DTYPE_NONE;
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                const redtune_problem plain = {.op = problem.op, .dtype = problem.dtype};
                CHECK_OK(redtune_problem_result(&plain, &usual, &err), err);
                if (f64 && usual == REDTUNE_F64) continue;
                if (tried++ % one_of || !subject_is_of_part(tried)) continue;
                draw_from(tried);
                fact(&problem);
                kept++;
                if (check_state.failed) return;
            }
    printf("%s: %zu kernels\n", check_state.fact, kept);
}

FACT(whole_arrays_have_their_results) { for_each_problem(check_whole, 5); }

FACT(rows_have_their_results) { for_each_problem(check_rows, 13); }

FACT(columns_have_their_results) { for_each_problem(check_columns, 13); }

/* ---- parameters ------------------------------------------------------------------------------ */

static void check_parameter(redtune_op op, redtune_dtype dtype, double parameter) {
    static const rdt_extents extents[] = {{1000, 1, 1, 0, 0}, {1, 1, 1, 0, 0}};
    redtune_problem problem = {.op = op, .dtype = dtype};
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    check_layout(&problem, extents, sizeof extents / sizeof *extents, &parameter);
}

FACT(parameters_count) {
    check_parameter(REDTUNE_NORMP, REDTUNE_F32, 1);
    check_parameter(REDTUNE_NORMP, REDTUNE_F64, 3);
    check_parameter(REDTUNE_NORMP, REDTUNE_I16, 1.5);
    check_parameter(REDTUNE_VAR, REDTUNE_F32, 1);
    check_parameter(REDTUNE_STD, REDTUNE_U8, 1);
    check_parameter(REDTUNE_MEAN_VAR, REDTUNE_F16, 1);
    check_parameter(REDTUNE_MISMATCHES, REDTUNE_F32, 0.75);
    check_parameter(REDTUNE_MISMATCHES, REDTUNE_I8, 100);
    check_parameter(REDTUNE_MISMATCHES, REDTUNE_U64, 0x1p62);
}

/* ---- numbers at the edges -------------------------------------------------------------------- */

/* All elements of the first input are x, those of the second are 0. */
static void check_constant(redtune_op op, redtune_dtype dtype, double x, const double *parameters) {
    redtune_problem problem = redtune_problem_whole(op, dtype, 100);
    const rdt_extents extents = rdt_launch_complete((rdt_extents){.count = 100});
    const size_t bytes = redtune_dtype_bytes(dtype);
    const redtune_value of[] = {rdt_scalar_from_real(dtype, x), rdt_scalar_from_real(dtype, 0)};
    subject self;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < 100 + GAP; k++)
            memcpy(here.element[i] + k * bytes, of[i].bytes, bytes);
        CHECK_OK(rdt_buffer_write(gpu.driver, here.buffer[i].address, here.element[i],
                                  (100 + GAP) * bytes, gpu.stream, &err),
                 err);
    }
    CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
    check_extents(&self, &extents, 0, parameters);
    subject_close(&self);
}

/* 0.1 lies below the number of f32 next to it. */
FACT(a_tolerance_is_not_rounded_up) {
    const double below = 0.1, same = (double)0.1f;
    check_constant(REDTUNE_MISMATCHES, REDTUNE_F32, same, &below);
    check_constant(REDTUNE_MISMATCHES, REDTUNE_F32, same, &same);
}

/* Squares and sums that over- or underflow on the way to a representable result. */
FACT(results_have_the_whole_range) {
    static const double ends[][2] = {{0x1p-126, 0x1p122}, {0x1p-1022, 0x1p1018}};
    static const redtune_dtype dtypes[] = {REDTUNE_BF16, REDTUNE_F32, REDTUNE_F64};
    for (int i = 0; i < 6 && !check_state.failed; i++) {
        const double x = ends[dtypes[i / 2] == REDTUNE_F64][i % 2];
        check_constant(REDTUNE_EUCLIDEAN, dtypes[i / 2], x, NULL);
        check_constant(REDTUNE_NORMP, dtypes[i / 2], x, NULL);
        if (dtypes[i / 2] != REDTUNE_F64)
            check_constant(REDTUNE_NANMEAN, dtypes[i / 2], 31 * x, NULL);
    }
}

FACT(subnormal_numbers_have_logarithms) {
    check_constant(REDTUNE_SLOGPROD, REDTUNE_F32, -0x1.8p-140, NULL);
    check_constant(REDTUNE_SLOGPROD, REDTUNE_F64, -0x1.8p-1060, NULL);
    check_constant(REDTUNE_SLOGPROD, REDTUNE_F16, -0x1.8p-20, NULL);
}

/* ---- floats of 8 bits -------------------------------------------------------------------------
 */

/* The value by the format's definition. */
static double value_of_byte(redtune_dtype dtype, unsigned bits) {
    const int digits = dtype == REDTUNE_E4M3 ? 3 : 2, bias = dtype == REDTUNE_E4M3 ? 7 : 15;
    const unsigned exponent = (bits & 0x7f) >> digits, fraction = bits & ((1u << digits) - 1);
    const double size = exponent ? ldexp(1 + ldexp(fraction, -digits), (int)exponent - bias)
                                 : ldexp(fraction, 1 - bias - digits);
    if (dtype == REDTUNE_E4M3 ? (bits & 0x7f) == 0x7f : (bits & 0x7f) > 0x7c) return (double)NAN;
    const double real = dtype == REDTUNE_E5M2 && exponent == 31 ? (double)INFINITY : size;
    return bits & 0x80 ? -real : real;
}

/* The sums of all rows of `count` elements that are in here.element, as that result. */
static void check_bytes(redtune_dtype dtype, redtune_dtype result, uint64_t count) {
    const uint64_t rows = (count == 1 ? 256 : 4096) / count;
    static char read[ELEMENTS_MAX * 8];
    redtune_problem problem = redtune_problem_rows(REDTUNE_SUM, dtype, rows, count);
    const rdt_extents extents = rdt_launch_complete((rdt_extents){.count = count, .outer = rows});
    const unsigned char *bytes = (const unsigned char *)here.element[0];
    subject self;
    problem.result = result;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
    launch(&self, &extents, 0, NULL);
    CHECK_OK(rdt_buffer_read(gpu.driver, read, here.output[0].address,
                             rows * redtune_dtype_bytes(result), gpu.stream, &err),
             err);
    for (uint64_t r = 0; r < rows && !check_state.failed; r++) {
        double sum = 0;
        for (uint64_t i = 0; i < count; i++) sum += value_of_byte(dtype, bytes[r * count + i]);
        const redtune_value wanted = rdt_scalar_from_real(result, sum);
        redtune_value got = {.u64 = 0};
        memcpy(&got, read + r * redtune_dtype_bytes(result), redtune_dtype_bytes(result));
        check_that(rdt_scalar_same(result, &got, &wanted), __FILE__, __LINE__,
                   "%s: row %llu from 0x%02x is %g, not %g", self.name, (unsigned long long)r,
                   bytes[r * count], rdt_scalar_real(result, &got, 0), sum);
    }
    subject_close(&self);
}

/* Every byte as an f32, and sums of two, which round and overflow, as the dtype itself. */
FACT(bytes_are_the_floats_that_they_encode) {
    for (int dtype = REDTUNE_E4M3; dtype <= REDTUNE_E5M2; dtype++)
        for (uint64_t count = 1; count < 3 && !check_state.failed; count++) {
            for (size_t i = 0; i < ELEMENTS_MAX; i++)
                here.element[0][i] = (char)(count > 1 && i % 2 ? draw(256) : i / count);
            CHECK_OK(rdt_buffer_write(gpu.driver, here.buffer[0].address, here.element[0],
                                      ELEMENTS_MAX, gpu.stream, &err),
                     err);
            check_bytes((redtune_dtype)dtype, count > 1 ? (redtune_dtype)dtype : REDTUNE_F32,
                        count);
        }
}

/* ---- the variance ---------------------------------------------------------------------------- */

/* Where the squares' sum has no digit of it: every third element is 3 more than the others, which
 * makes the variance 2. */
static void check_large_mean(redtune_dtype dtype, double mean, double bound) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_VAR, dtype, 4095);
    const size_t bytes = redtune_dtype_bytes(dtype);
    subject self;
    redtune_value got = {.u64 = 0};
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    for (size_t k = 0; k < 4095; k++) {
        const redtune_value each = rdt_scalar_from_real(dtype, mean + (double)(k % 3 / 2 * 3));
        memcpy(here.element[0] + k * bytes, each.bytes, bytes);
    }
    CHECK_OK(rdt_buffer_write(gpu.driver, here.buffer[0].address, here.element[0], 4095 * bytes,
                              gpu.stream, &err),
             err);
    CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
    const rdt_extents extents = rdt_launch_complete((rdt_extents){.count = 4095});
    launch(&self, &extents, 0, NULL);
    CHECK_OK(rdt_buffer_read(gpu.driver, &got, here.output[0].address,
                             redtune_dtype_bytes(problem.result), gpu.stream, &err),
             err);
    const double real = rdt_scalar_real(problem.result, &got, 0);
    check_that(fabs(real - 2) <= bound, __FILE__, __LINE__, "%s: %.17g", self.name, real);
    subject_close(&self);
}

FACT(a_large_mean_leaves_the_variance_its_digits) {
    check_large_mean(REDTUNE_F64, 1e6, 1e-12);
    check_large_mean(REDTUNE_F64, 1e9, 1e-9);
    check_large_mean(REDTUNE_I64, 1e6, 1e-12);
    check_large_mean(REDTUNE_F32, 1e6, 0x1p-22);
    check_large_mean(REDTUNE_F16, 2000, 0x1p-22);
    check_large_mean(REDTUNE_BF16, 128, 0x1p-22);
}

/* An infinity that a thread begins with. */
FACT(an_infinity_is_the_mean_beside_a_variance) {
    static const rdt_extents extents = {.count = 64, .outer = 1, .inner = 1, .step = 1};
    redtune_problem problem = redtune_problem_whole(REDTUNE_MEAN_VAR, REDTUNE_F32, 64);
    float elements[64];
    subject self;
    redtune_value got = {.u64 = 0};
    for (int i = 0; i < 64; i++) elements[i] = i % 16 ? (float)i : INFINITY;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, here.buffer[0].address, elements, sizeof elements,
                              gpu.stream, &err),
             err);
    CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
    launch(&self, &extents, 0, NULL);
    CHECK_OK(
        rdt_buffer_read(gpu.driver, &got, here.output[0].address, sizeof got.f32, gpu.stream, &err),
        err);
    CHECK(isinf(got.f32) && got.f32 > 0);
    subject_close(&self);
}

int main(int argc, char **argv) {
    redtune_status status = device_open(&gpu, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    for (int i = 0; !status && i < 2; i++) {
        status = rdt_buffer_create(gpu.driver, sizeof here.element[i], &here.buffer[i], &err);
        if (!status)
            status = rdt_buffer_create(gpu.driver, ELEMENTS_MAX * 8, &here.output[i], &err);
    }
    if (!status) status = workshop_open(&gpu, &shop, &err);
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    if (gpu.context) workshop_close(&shop);
    for (int i = 0; i < 2; i++) {
        rdt_buffer_destroy(&here.buffer[i]);
        rdt_buffer_destroy(&here.output[i]);
    }
    device_close(&gpu);
    return rc;
}
