/* Sweep: every kernel of the covering set on the simulated GPU, with all its checks on: at counts
 * around the boundaries, from starts of every alignment, under several schedules, on numbers whose
 * result is exact, on special values, and on inputs where one element decides.
 *
 * Usage: sweep [--whole] [--schedules N] [--part I/N] [--changed]
 *
 * --whole        with every op of every dtype
 * --schedules N  the schedules 1 to N (default: 1)
 * --part I/N     part I, from 1 on, of N parts of the set
 * --changed      only kernels whose source REDTUNE_TEMPLATES changes
 *
 * Exit 0: all is well; 1: it is not, and the first failure is printed; 77: there is no simulated
 * GPU. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/build/builder.h"
#include "base/fail.h"
#include "cover.h"
#include "inputs.h"
#include "results.h"
#include "model/scalar.h"
#include "simulated.h"
#include "gpu/stream.h"

static const uint64_t counts[] = {0, 1, 31, 32, 33, 255, 256, 257, 4095, 4097, 65537};
enum {
    COUNTS = sizeof counts / sizeof *counts,
    OUTPUT_BYTES = 16, /* of each result */
    POISON = 0xa5,
    PARTS_MAX = 1000000, /* so many that each is one kernel */
    VECTOR_BYTES = 16,   /* of the widest load */
};

typedef struct sweep {
    simulated gpu;
    rdt_builder *builder;
    rdt_codegen *unchanged; /* the templates compiled in; NULL unless --changed */
    cover_scope scope;
    int schedules;
    size_t part, parts;
    size_t kernels, launches;
} sweep;

/* A kernel of the set with what it takes to run it. */
typedef struct subject {
    sweep *all;
    const cover_point *point;
    size_t index; /* in the set */
    rdt_kernel *kernel;
    rdt_launch launch;
    rdt_buffer output, scratch;
    double parameter[RDT_OP_PARAMETERS_MAX];
    unsigned char (*results)[OUTPUT_BYTES]; /* those of the last launch */
} subject;

/* ---- running ------------------------------------------------------------------------------- */

/* Failures of a check come first: what else goes wrong follows from them. */
static redtune_status look_for_findings(const sweep *self, redtune_status status,
                                        redtune_error *err) {
    struct redtune_sim_finding finding;
    if (!self->gpu.findings() || !self->gpu.finding(0, &finding)) return status;
    return rdt_fail(err, REDTUNE_WRONG, finding.cuda_error, "%s", finding.text);
}

/* Runs the kernel, and reads its results with what lies behind them. */
static redtune_status launch(const subject *self, const CUdeviceptr first[RDT_OP_INPUTS_MAX],
                             uint64_t count, redtune_error *err) {
    const simulated *gpu = &self->all->gpu;
    rdt_operands operands = {
        .input = first[0],
        .extents.count = count,
        .output = self->output.address,
        .scratch = self->scratch.address,
        .given = {.input = first[1], .output = self->output.address + OUTPUT_BYTES}};
    memcpy(operands.given.scalar, self->parameter, sizeof self->parameter);
    CUresult rc =
        gpu->driver->memset_d8_async(self->output.address, POISON, self->output.bytes, gpu->stream);
    redtune_status status = rdt_driver_check(gpu->driver, rc, err, "poison the results");
    if (!status)
        status = rdt_kernel_start(self->kernel, &self->launch, &operands, gpu->stream, err);
    if (!status)
        status = rdt_buffer_read(gpu->driver, self->results, self->output.address,
                                 self->output.bytes, gpu->stream, err);
    self->all->launches++;
    return look_for_findings(self->all, status, err);
}

static redtune_status wrong_result(const subject *self, const input *data, int output,
                                   const redtune_value *got, const redtune_value *wanted,
                                   redtune_error *err) {
    const redtune_problem *problem = &self->point->problem;
    redtune_dtype dtype = output ? rdt_problem_second(problem) : problem->result;
    rdt_text text = {0};
    rdt_text_addf(&text, "of %llu elements at offset %llu (%s) it gives ",
                  (unsigned long long)data->count, (unsigned long long)data->offset[0], data->name);
    rdt_scalar_print(dtype, got, &text);
    rdt_text_add(&text, " and not ");
    rdt_scalar_print(dtype, wanted, &text);
    if (output) rdt_text_add(&text, " for its second result");
    redtune_status status = rdt_fail(err, REDTUNE_WRONG, 0, "%s", text.data ? text.data : "");
    rdt_text_free(&text);
    return status;
}

static redtune_status check_result(const subject *self, const input *data, int output,
                                   const results *right, redtune_error *err) {
    const redtune_problem *problem = &self->point->problem;
    const redtune_dtype dtype = output ? rdt_problem_second(problem) : problem->result;
    const unsigned char *bytes = self->results[output];
    redtune_value got;
    memcpy(&got, bytes, sizeof got);
    if (!results_same(problem, output, &got, right, data->count))
        return wrong_result(self, data, output, &got, &right->value[output], err);
    for (size_t i = redtune_dtype_bytes(dtype); i < OUTPUT_BYTES; i++)
        if (bytes[i] != POISON)
            return rdt_fail(err, REDTUNE_WRONG, 0, "it writes behind its result");
    return REDTUNE_OK;
}

/* Runs the kernel on the input under the schedules from first to last. */
static redtune_status run(const subject *self, const input *data, const CUdeviceptr start[],
                          int first, int last, redtune_error *err) {
    const redtune_problem *problem = &self->point->problem;
    const results_input of = {data->elements[0], data->elements[1], data->count, self->parameter};
    redtune_status status = REDTUNE_OK;
    results right;
    results_reduce(problem, &of, &right);
    for (int schedule = first; !status && schedule <= last; schedule++) {
        char seed[16];
        snprintf(seed, sizeof seed, "%d", schedule);
        self->all->gpu.set("REDTUNE_SIM_SEED", seed);
        status = launch(self, start, data->count, err);
        for (int k = 0; !status && k < rdt_op_find(problem->op)->outputs; k++)
            status = check_result(self, data, k, &right, err);
    }
    return status;
}

/* The elements end where their allocation ends, so that a read behind them is found; those before
 * them are never written. */
static redtune_status reduce(const subject *self, const input *data, int first, int last,
                             redtune_error *err) {
    const simulated *gpu = &self->all->gpu;
    const size_t element = redtune_dtype_bytes(self->point->problem.dtype);
    rdt_buffer buffer[RDT_OP_INPUTS_MAX] = {{0}};
    CUdeviceptr start[RDT_OP_INPUTS_MAX] = {0};
    redtune_status status = REDTUNE_OK;
    for (int k = 0; !status && k < RDT_OP_INPUTS_MAX && data->elements[k]; k++) {
        const size_t bytes = (size_t)data->count * element;
        status = rdt_buffer_create(gpu->driver, data->offset[k] * element + bytes, &buffer[k], err);
        start[k] = buffer[k].address + data->offset[k] * element;
        if (!status)
            status =
                rdt_buffer_write(gpu->driver, start[k], data->elements[k], bytes, gpu->stream, err);
    }
    if (!status) status = run(self, data, start, first, last, err);
    for (int k = 0; k < RDT_OP_INPUTS_MAX; k++) rdt_buffer_destroy(&buffer[k]);
    return status;
}

/* ---- a kernel ------------------------------------------------------------------------------ */

/* All inputs of a count. Each schedule meets the first of them; the others take turns. */
static redtune_status try_count(const subject *self, size_t at, redtune_error *err) {
    const redtune_problem *problem = &self->point->problem;
    size_t aligned = VECTOR_BYTES / redtune_dtype_bytes(problem->dtype);
    int schedules = self->all->schedules;
    redtune_status status = REDTUNE_OK;
    for (int kind = 0; !status && kind < INPUT_KINDS; kind++) {
        input data = {
            .count = counts[at],
            .offset = {(self->index + at + (size_t)kind) % aligned, (self->index + at) % aligned},
            .tile = self->launch.tile,
        };
        int turn = 1 + (int)(self->index + at + (size_t)kind) % schedules;
        if (!input_make(problem, (input_kind)kind, &data)) continue;
        status = reduce(self, &data, kind ? turn : 1, kind ? turn : schedules, err);
        input_free(&data);
    }
    return status;
}

static redtune_status check_scratch(const subject *self, redtune_error *err) {
    const simulated *gpu = &self->all->gpu;
    size_t bytes = RDT_SCRATCH_WORDS_OFFSET + self->launch.blocks_max * RDT_SCRATCH_WORDS_BYTES;
    unsigned char *host = malloc(bytes);
    if (!host) return rdt_fail_memory(err, bytes);
    redtune_status status =
        rdt_buffer_read(gpu->driver, host, self->scratch.address, bytes, gpu->stream, err);
    for (size_t i = 0; !status && i < bytes; i++)
        if (host[i])
            status =
                rdt_fail(err, REDTUNE_WRONG, 0, "it leaves byte %zu of scratch at %d", i, host[i]);
    free(host);
    return status;
}

static redtune_status try_kernel(subject *self, redtune_error *err) {
    const simulated *gpu = &self->all->gpu;
    unsigned char results[RDT_OP_OUTPUTS_MAX][OUTPUT_BYTES];
    redtune_status status = rdt_buffer_create(gpu->driver, sizeof results, &self->output, err);
    self->results = results;
    if (!status)
        status = rdt_buffer_create(gpu->driver, (size_t)RDT_SCRATCH_BYTES, &self->scratch, err);
    if (!status) {
        /* The slots behind the words may be in any state: they stay unwritten. */
        CUresult rc = gpu->driver->memset_d8_async(self->scratch.address, 0,
                                                   RDT_SCRATCH_SLOTS_OFFSET, gpu->stream);
        status = rdt_driver_check(gpu->driver, rc, err, "clear scratch");
    }
    for (size_t i = 0; !status && i < COUNTS; i++) status = try_count(self, i, err);
    if (!status) status = check_scratch(self, err);
    rdt_buffer_destroy(&self->output);
    rdt_buffer_destroy(&self->scratch);
    self->all->kernels++;
    return status;
}

/* ---- the set ------------------------------------------------------------------------------- */

/* The results that one may ask for take turns; that of 16-bit floats is where rounding shows. */
static void choose_result(cover_point *point, size_t index) {
    const redtune_dtype results[] = {REDTUNE_DTYPE_NONE, REDTUNE_F64, point->problem.dtype};
    bool half = point->problem.dtype == REDTUNE_F16 || point->problem.dtype == REDTUNE_BF16;
    redtune_problem wanted = point->problem;
    wanted.result = results[half ? 2 : index % 3];
    rdt_problem_resolve(&wanted, &point->problem, NULL);
}

/* Whether the templates at hand give another source, or another launch, than those compiled in; a
 * failure to render is a change, too. */
static bool is_changed(const sweep *self, rdt_codegen *codegen, const cover_point *point) {
    rdt_case at = {&point->problem, &self->gpu.context->facts};
    char *before = NULL, *after = NULL;
    rdt_launch was = {0}, is = {0};
    redtune_error ignored;
    rdt_rules_launch(self->unchanged, at, &point->point, &was, &ignored);
    rdt_rules_launch(codegen, at, &point->point, &is, &ignored);
    rdt_render_source(self->unchanged, at, &point->point, false, &before, &ignored);
    rdt_render_source(codegen, at, &point->point, false, &after, &ignored);
    bool same = before && after && !strcmp(before, after) && !memcmp(&was, &is, sizeof was);
    free(before);
    free(after);
    return !same;
}

/* Those of every other kernel are not the usual ones. */
static void choose_parameters(subject *self) {
    const rdt_op_traits *op = rdt_op_find(self->point->problem.op);
    for (int i = 0; i < op->parameters; i++)
        self->parameter[i] = op->parameter[i].usual + (double)(self->index % 2);
}

static redtune_status try_point(sweep *self, rdt_codegen *codegen, const cover_point *point,
                                size_t index, redtune_error *err) {
    const rdt_facts *facts = &self->gpu.context->facts;
    rdt_case at = {&point->problem, facts};
    subject subject = {.all = self, .point = point, .index = index};
    if (self->unchanged && !is_changed(self, codegen, point)) return REDTUNE_OK;
    redtune_status status = rdt_rules_launch(codegen, at, &point->point, &subject.launch, err);
    choose_parameters(&subject);
    if (!status)
        status = rdt_builder_make(self->builder, self->gpu.context, &point->problem, &point->point,
                                  &subject.launch, &subject.kernel, err);
    if (!status) status = try_kernel(&subject, err);
    rdt_kernel_unload(subject.kernel);
    return look_for_findings(self, status, err);
}

/* Says which point failed, and how to try it alone. */
static void name_point(rdt_codegen *codegen, const cover_point *point, size_t index) {
    char config[RDT_POINT_TEXT_BYTES];
    fprintf(stderr, "alone: --part %zu/%d\n", index + 1, PARTS_MAX);
    rdt_point_format(rdt_codegen_spaces(codegen), &point->point, config);
    fprintf(stderr, "FAILED %s of %s into %s, %s: ", redtune_op_name(point->problem.op),
            redtune_dtype_name(point->problem.dtype), redtune_dtype_name(point->problem.result),
            config);
}

static redtune_status try_all(sweep *self, redtune_error *err) {
    rdt_codegen *codegen = NULL;
    cover_point *points = NULL;
    size_t count = 0;
    redtune_status status = rdt_builder_create(NULL, &self->builder, err);
    if (!status) status = rdt_builder_borrow(self->builder, &codegen, err);
    if (status) return status;
    const cover_set set = {.scope = self->scope};
    status = cover_pairs(codegen, &self->gpu.context->facts, &set, &points, &count, err);
    for (size_t i = self->part - 1; !status && i < count; i += self->parts) {
        choose_result(&points[i], i);
        status = try_point(self, codegen, &points[i], i, err);
        if (status) name_point(codegen, &points[i], i);
    }
    free(points);
    rdt_builder_give_back(self->builder);
    return status;
}

static bool read_options(sweep *self, int argc, char **argv, bool *changed) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--changed")) {
            *changed = true;
        } else if (!strcmp(argv[i], "--whole")) {
            self->scope = COVER_PROBLEMS;
        } else if (!strcmp(argv[i], "--schedules") && sscanf(value, "%d", &self->schedules) == 1) {
            i++;
        } else if (!strcmp(argv[i], "--part") &&
                   sscanf(value, "%zu/%zu", &self->part, &self->parts) == 2) {
            i++;
        } else {
            return false;
        }
    }
    return self->schedules > 0 && self->part > 0 && self->part <= self->parts;
}

/* Opens the templates compiled in, and puts the variable back. */
static redtune_status open_unchanged(sweep *self, redtune_error *err) {
    const char *variable = getenv("REDTUNE_TEMPLATES");
    char *folder = variable ? strdup(variable) : NULL;
    unsetenv("REDTUNE_TEMPLATES");
    redtune_status status = rdt_codegen_open(&self->unchanged, err);
    if (folder) setenv("REDTUNE_TEMPLATES", folder, 1);
    free(folder);
    return status;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    sweep self = {.scope = COVER_KERNELS, .schedules = 1, .part = 1, .parts = 1};
    redtune_error err = {0};
    bool changed = false;
    double start_s = now_s();
    if (!read_options(&self, argc, argv, &changed)) {
        fprintf(stderr, "usage: sweep [--whole] [--schedules N] [--part I/N] [--changed]\n");
        return 2;
    }
    redtune_status status = simulated_open(&self.gpu, &err);
    if (status) {
        fprintf(stderr, "skipped: %s\n", err.message);
        simulated_close(&self.gpu);
        return status == REDTUNE_LIBRARY ? 77 : 1;
    }
    if (changed) status = open_unchanged(&self, &err);
    if (!status) status = try_all(&self, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    rdt_codegen_close(self.unchanged);
    rdt_builder_destroy(self.builder);
    rdt_stream_destroy(self.gpu.driver, self.gpu.stream);
    self.gpu.stream = NULL;
    if (!status && self.gpu.check_leaks()) {
        status = look_for_findings(&self, REDTUNE_WRONG, &err);
        fprintf(stderr, "FAILED: %s\n", err.message);
    }
    printf("%zu kernels, %zu launches, %.1f s\n", self.kernels, self.launches, now_s() - start_s);
    simulated_close(&self.gpu);
    return status ? 1 : 0;
}
