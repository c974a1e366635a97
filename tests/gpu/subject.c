/* Subject: a kernel under test with what it takes to run it, and the sets of them that tests go
 * over. */
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/compiler.h"
#include "model/scalar.h"

enum { RESULT_BYTES = 16, OUTPUT_BYTES = SUBJECT_RESULTS * RESULT_BYTES, POISON = 0xa5 };

redtune_status workshop_open(device *gpu, workshop *out, redtune_error *err) {
    *out = (workshop){.gpu = gpu};
    redtune_status status = rdt_builder_create(NULL, &out->builder, err);
    return status ? status : rdt_builder_borrow(out->builder, &out->codegen, err);
}

void workshop_close(workshop *shop) {
    if (shop->codegen) rdt_builder_give_back(shop->builder);
    rdt_builder_destroy(shop->builder);
}

/* ---- a kernel -------------------------------------------------------------------------------- */

static int parameter(const rdt_space *space, const rdt_point *point, const char *name) {
    int i = rdt_space_find(space, name, (int)strlen(name));
    return i < 0 ? 1 : (int)point->value[i];
}

static redtune_status describe(workshop *shop, const rdt_point *point, subject *out,
                               redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(shop->codegen);
    const redtune_problem *problem = &out->problem;
    rdt_case at = {problem, &shop->gpu->context->facts};
    char text[RDT_POINT_TEXT_BYTES];
    redtune_status status = REDTUNE_OK;
    if (point)
        out->point = *point;
    else
        status = rdt_rules_default(shop->codegen, at, &out->point, err);
    if (!status) status = rdt_rules_launch(shop->codegen, at, &out->point, &out->launch, err);
    if (status) return status;
    const rdt_space *space = rdt_point_space(spaces, &out->point);
    rdt_point_format(spaces, &out->point, text);
    snprintf(out->name, sizeof out->name, "%s of %s into %s by %s", redtune_op_name(problem->op),
             redtune_dtype_name(problem->dtype), redtune_dtype_name(problem->result), text);
    out->vec = parameter(space, &out->point, "vec");
    out->unroll = parameter(space, &out->point, "unroll");
    return REDTUNE_OK;
}

bool subject_is_light(const rdt_space *space, const rdt_point *point) {
    enum { LIGHT_MAX = 16 };
    return parameter(space, point, "rows") * parameter(space, point, "strips") *
               parameter(space, point, "vec") * parameter(space, point, "unroll") <=
           LIGHT_MAX;
}

bool subject_is_wanted(const workshop *shop, const rdt_point *point) {
    const char *config = getenv("RDT_TEST_CONFIG");
    char text[RDT_POINT_TEXT_BYTES];
    if (!config) return true;
    const bool without = *config == '!';
    rdt_point_format(rdt_codegen_spaces(shop->codegen), point, text);
    return (strstr(text, config + without) != NULL) != without;
}

redtune_status subject_open(workshop *shop, const redtune_problem *problem, const rdt_point *point,
                            subject *out, redtune_error *err) {
    const device *gpu = shop->gpu;
    *out = (subject){
        .gpu = gpu, .problem = *problem, .element_bytes = redtune_dtype_bytes(problem->dtype)};
    redtune_status status = describe(shop, point, out, err);
    if (!status)
        status = rdt_builder_make(shop->builder, gpu->context, problem, &out->point, &out->launch,
                                  &out->kernel, err);
    if (!status)
        status =
            rdt_buffer_create(gpu->driver, RDT_OP_OUTPUTS_MAX * OUTPUT_BYTES, &out->output, err);
    if (!status)
        status = rdt_buffer_create(gpu->driver, (size_t)RDT_SCRATCH_BYTES, &out->scratch, err);
    if (!status)
        status = rdt_driver_check(
            gpu->driver,
            gpu->driver->memset_d8_async(out->scratch.address, 0, out->scratch.bytes, gpu->stream),
            err, "clear the scratch");
    return status;
}

void subject_close(subject *self) {
    rdt_buffer_destroy(&self->output);
    rdt_buffer_destroy(&self->scratch);
    rdt_kernel_unload(self->kernel);
}

/* ---- running --------------------------------------------------------------------------------- */

redtune_dtype subject_result(const subject *self, int output) {
    return output ? rdt_problem_second(&self->problem) : self->problem.result;
}

CUdeviceptr subject_output(const subject *self, int output) {
    return self->output.address + (output ? OUTPUT_BYTES : 0);
}

redtune_status subject_poison(const subject *self, redtune_error *err) {
    const device *gpu = self->gpu;
    CUresult rc =
        gpu->driver->memset_d8_async(self->output.address, POISON, self->output.bytes, gpu->stream);
    return rdt_driver_check(gpu->driver, rc, err, "poison the results");
}

static redtune_status queue(subject *self, const CUdeviceptr input[RDT_OP_INPUTS_MAX],
                            uint64_t count, redtune_error *err) {
    const device *gpu = self->gpu;
    const rdt_op_traits *op = rdt_op_find(self->problem.op);
    redtune_status status = REDTUNE_OK;
    if (self->calls == SUBJECT_RESULTS)
        return rdt_fail(err, REDTUNE_INVALID, 0, "more than %d results", SUBJECT_RESULTS);
    if (!self->poisoned) {
        status = subject_poison(self, err);
        self->poisoned = true;
    }
    const CUdeviceptr output = subject_output(self, 0) + self->calls * RESULT_BYTES;
    rdt_operands operands = {
        .input = input[0],
        .extents.count = count,
        .output = output,
        .scratch = self->scratch.address,
        .given = {.input = input[1], .output = output + OUTPUT_BYTES},
    };
    for (int i = 0; i < op->parameters; i++) operands.given.scalar[i] = op->parameter[i].usual;
    self->calls++;
    return status ? status
                  : rdt_kernel_start(self->kernel, &self->launch, &operands, gpu->stream, err);
}

redtune_status subject_queue(subject *self, CUdeviceptr input, uint64_t count, redtune_error *err) {
    return queue(self, (const CUdeviceptr[]){input, 0}, count, err);
}

redtune_status subject_check_scratch(const subject *self, redtune_error *err) {
    static unsigned char scratch[RDT_SCRATCH_SLOTS_OFFSET];
    redtune_status status = rdt_buffer_read(self->gpu->driver, scratch, self->scratch.address,
                                            sizeof scratch, self->gpu->stream, err);
    const bool clear = !scratch[0] && !memcmp(scratch, scratch + 1, sizeof scratch - 1);
    for (size_t i = 0; !status && !clear && i < sizeof scratch; i++)
        if (scratch[i])
            status = rdt_fail(err, REDTUNE_WRONG, 0, "%s leaves scratch byte %zu at %d", self->name,
                              i, scratch[i]);
    return status;
}

static redtune_status read_output(const subject *self, int output, size_t calls,
                                  redtune_value *results, redtune_error *err) {
    const size_t bytes = redtune_dtype_bytes(subject_result(self, output));
    redtune_status status =
        rdt_buffer_read(self->gpu->driver, results, subject_output(self, output),
                        calls * RESULT_BYTES, self->gpu->stream, err);
    for (size_t i = 0; !status && i < calls; i++)
        for (size_t j = bytes; !status && j < RESULT_BYTES; j++)
            if (results[i].bytes[j] != POISON)
                status = rdt_fail(err, REDTUNE_WRONG, 0, "%s writes behind its result", self->name);
    return status;
}

redtune_status subject_read_output(const subject *self, int output, size_t results, void *to,
                                   redtune_error *err) {
    const size_t bytes = results * redtune_dtype_bytes(subject_result(self, output));
    const CUdeviceptr from = subject_output(self, output);
    unsigned char behind[RESULT_BYTES];
    redtune_status status =
        rdt_buffer_read(self->gpu->driver, to, from, bytes, self->gpu->stream, err);
    if (!status)
        status = rdt_buffer_read(self->gpu->driver, behind, from + bytes, sizeof behind,
                                 self->gpu->stream, err);
    for (size_t i = 0; !status && i < sizeof behind; i++)
        if (behind[i] != POISON)
            status = rdt_fail(err, REDTUNE_WRONG, 0, "%s writes behind its results", self->name);
    return status;
}

redtune_status subject_read(subject *self, redtune_value *results, redtune_error *err) {
    redtune_status status = read_output(self, 0, self->calls, results, err);
    self->calls = 0;
    self->poisoned = false;
    return status ? status : subject_check_scratch(self, err);
}

redtune_status subject_reduce_all(subject *self, const CUdeviceptr input[RDT_OP_INPUTS_MAX],
                                  uint64_t count, redtune_value result[RDT_OP_OUTPUTS_MAX],
                                  redtune_error *err) {
    redtune_status status = queue(self, input, count, err);
    if (!status) status = subject_read(self, &result[0], err);
    if (!status && rdt_op_find(self->problem.op)->outputs > 1)
        status = read_output(self, 1, 1, &result[1], err);
    return status;
}

redtune_status subject_reduce(subject *self, CUdeviceptr input, uint64_t count,
                              redtune_value *result, redtune_error *err) {
    redtune_status status = subject_queue(self, input, count, err);
    return status ? status : subject_read(self, result, err);
}

double subject_depth(const subject *self, uint64_t count) {
    double block = self->launch.threads, vec = self->vec;
    double blocks = rdt_launch_blocks(&self->launch, count);
    return ceil((double)count / (blocks * block * vec)) + log2(self->unroll) + log2(vec) +
           2 * log2(block) + ceil(blocks / block) + 2;
}

static void add_difference(redtune_dtype dtype, const redtune_value *got,
                           const redtune_value *wanted, rdt_text *out) {
    rdt_text_add(out, "it is ");
    rdt_scalar_print(dtype, got, out);
    rdt_text_add(out, " and should be ");
    rdt_scalar_print(dtype, wanted, out);
}

void subject_compare(const subject *self, const redtune_value *got, const redtune_value *wanted,
                     rdt_text *out) {
    const redtune_dtype dtype = self->problem.result;
    if (!rdt_scalar_same(dtype, got, wanted)) add_difference(dtype, got, wanted, out);
}

void subject_compare_close(const subject *self, int output, const redtune_value *got,
                           const results *right, uint64_t count, double depth, rdt_text *out) {
    const redtune_dtype dtype = subject_result(self, output);
    if (!results_agree(&self->problem, output, got, right, count, depth))
        add_difference(dtype, got, &right->value[output], out);
}

void subject_compare_exact(const subject *self, int output, const redtune_value *got,
                           const results *right, uint64_t count, rdt_text *out) {
    if (!results_same(&self->problem, output, got, right, count))
        add_difference(subject_result(self, output), got, &right->value[output], out);
}

redtune_status subject_make_from(const device *gpu, const char *source, rdt_kernel **out,
                                 redtune_error *err) {
    const rdt_launch launch = {.threads = 1};
    return subject_make_launched(gpu, source, &launch, out, err);
}

redtune_status subject_make_launched(const device *gpu, const char *source,
                                     const rdt_launch *launch, rdt_kernel **out,
                                     redtune_error *err) {
    const rdt_facts *facts = &gpu->context->facts;
    rdt_compiler *compiler = NULL;
    rdt_image image = {.data = NULL};
    redtune_status status = rdt_compiler_open(&compiler, err);
    if (!status)
        status = rdt_compiler_compile(compiler, source, "source.cu", facts->major, facts->minor,
                                      device_is_simulated(gpu), &image, err);
    if (!status) status = rdt_kernel_load(gpu->driver, image.data, launch, out, err);
    free(image.data);
    rdt_compiler_close(compiler);
    return status;
}
