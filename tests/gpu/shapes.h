/* Shapes: what the tests of the evaluator of rows, columns and segments share: kernels with places
 * for faults, an evaluator with one candidate, and shapes. A file that includes it has it to
 * itself. */
#pragma once

#include "check.h"
#include "shaped.h"
#include "subject.h"
#include "tuner/measure/local.h"

static redtune_error err;
static device gpu;
static workshop shop;

/* A kernel of any layout, one thread per result, with places for faults: how many results, how many
 * elements, where element k of result (o, i) is, how sum and x combine, and what else is done. */
#define KERNEL(results, count, o, i, place, combined, more)                                        \
    "typedef unsigned long long u64;\n"                                                            \
    "struct extents { u64 count, outer, inner, outer_step, step; };\n"                             \
    "extern \"C\" __global__ void redtune_reduce(const ELEMENT *input, extents e,\n"               \
    "                              float *output, u64 *scratch, unsigned overlaps) {\n"            \
    "    const u64 all = e.outer * e.inner, first = blockIdx.x * blockDim.x + threadIdx.x;\n"      \
    "    for (u64 r = first; r < " results "; r += gridDim.x * blockDim.x) {\n"                    \
    "        const u64 o = " o ", i = " i ";\n"                                                    \
    "        float sum = START;\n"                                                                 \
    "        for (u64 k = 0; k < " count "; k++) {\n"                                              \
    "            const float x = VALUE(input[" place "]);\n"                                       \
    "            sum = " combined ";\n"                                                            \
    "        }\n"                                                                                  \
    "        output[r] = sum;\n"                                                                   \
    "        " more "\n"                                                                           \
    "    }\n"                                                                                      \
    "}\n"

#define OF_F32 "#define ELEMENT float\n#define VALUE(e) e\n"
#define OF_F16                                                                                     \
    "#define ELEMENT unsigned short\n"                                                             \
    "#define VALUE(e) value_of(e)\n"                                                               \
    "__device__ float value_of(unsigned short e) {\n"                                              \
    "    float x;\n"                                                                               \
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(e));\n"                                   \
    "    return x;\n"                                                                              \
    "}\n"

#define ADDS       OF_F32 "#define START 0\n"
#define FINDS_MOST OF_F32 "#define START -__int_as_float(0x7f800000)\n"
#define ALL        "all"
#define COUNT      "e.count"
#define OUTER      "r / e.inner"
#define INNER      "r % e.inner"
#define PLACE      "o * e.outer_step + k * e.step + i"
#define PLUS       "sum + x"
#define MOST       "!(sum >= x) && sum == sum ? x : sum"

/* An evaluator with one candidate, the built-in default, in place of which a source may stand. */
typedef struct bench {
    redtune_problem problem;
    const char *source; /* NULL: the candidate's own */
    uint64_t memory_bytes;
    rdt_candidate candidate;
    rdt_batch batch;
    rdt_local *local;
    rdt_evaluator evaluator;
    rdt_verdict verdict;
    rdt_conditions conditions;
} bench;

static redtune_status make(void *user, const redtune_problem *problem, const rdt_point *point,
                           const rdt_launch *launch, rdt_kernel **out, redtune_error *failure) {
    const bench *self = user;
    if (self->source && point->family == self->candidate.point.family) {
        const rdt_launch how = {.threads = 1, .segments = launch->segments};
        return subject_make_launched(&gpu, self->source, &how, out, failure);
    }
    return rdt_builder_make(shop.builder, gpu.context, problem, point, launch, out, failure);
}

/* Sets the problem that is asked about, of the evaluator's domain, with its default. */
static redtune_status bench_set(bench *self, const redtune_problem *problem) {
    redtune_status status = rdt_problem_resolve(problem, &self->problem, &err);
    const rdt_case at = {&self->problem, &gpu.context->facts};
    if (!status) status = rdt_rules_default(shop.codegen, at, &self->candidate.point, &err);
    if (!status)
        status = rdt_rules_launch(shop.codegen, at, &self->candidate.point, &self->candidate.launch,
                                  &err);
    self->batch = (rdt_batch){&self->problem, &self->candidate, 1};
    return status;
}

/* For these problems, of one class; the first is set. */
static redtune_status bench_open(bench *self, const redtune_problem *problems, size_t count) {
    rdt_domain domain = {.count = 0};
    redtune_status status = REDTUNE_OK;
    for (size_t i = count; !status && i-- > 0;) {
        status = bench_set(self, &problems[i]);
        domain.problem = self->problem;
        rdt_problem_widen(&domain, &self->problem);
    }
    const rdt_local_parts parts = {.context = gpu.context,
                                   .maker = {shop.codegen, make, self},
                                   .memory_bytes = self->memory_bytes};
    return status ? status
                  : rdt_local_replace(&self->local, &parts, &domain, &self->evaluator, &err);
}

static void bench_close(bench *self) { rdt_local_destroy(self->local); }

static redtune_status bench_verify(bench *self) {
    return self->evaluator.verify(self->evaluator.self, &self->batch, &self->verdict, &err);
}

static redtune_problem shape(redtune_op op, redtune_dtype dtype, rdt_extents extents) {
    return PROBLEM(.op = op, .dtype = dtype, .count = extents.count, .outer = extents.outer,
                   .inner = extents.inner, .outer_step = extents.outer_step, .step = extents.step);
}

/* Packed, pitched, with short and long results, many and few; a middle axis, and every third. */
static const rdt_extents rows[] = {
    {100, 64, 0, 0, 0}, {1000, 3, 0, 1003, 0}, {3, 5000, 0, 0, 0},
    {5003, 2, 0, 0, 0}, {1, 300, 0, 0, 0},     {0, 5, 0, 7, 0},
};
static const rdt_extents columns[] = {
    {100, 0, 64, 0, 0}, {33, 0, 513, 0, 515}, {7, 5, 1001, 7100, 1003},
    {3001, 2, 3, 0, 0}, {500, 1, 1, 0, 3},    {2, 3000, 2, 0, 0},
    {1, 2, 5, 0, 0},    {0, 2, 5, 0, 0},      {64, 0, 70, 0, 131071},
};
enum { ROWS = sizeof rows / sizeof *rows, COLUMNS = sizeof columns / sizeof *columns };

/* Opens the GPU, runs the facts and closes it. */
static int run_shape_test(int argc, char **argv) {
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        gpu.context = NULL;
    } else if (workshop_open(&gpu, &shop, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    workshop_close(&shop);
    device_close(&gpu);
    return rc;
}
