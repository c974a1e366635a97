/* Count: what one configuration does on the simulated GPU. */
#include <string.h>
#include "api/build/builder.h"
#include "api/build/emit.h"
#include "base/reserved.h"
#include "gpu/buffer.h"
#include "gpu/counters.h"
#include "gpu/stream.h"
#include "model/strides.h"
#include "tuner/measure/test_data.h"
#include "redtune/tools.h"

/* A kernel with what it works on. */
typedef struct bench {
    const rdt_driver *driver;
    rdt_kernel *kernel;
    rdt_launch launch;
    rdt_buffer input[RDT_OP_INPUTS_MAX], output[RDT_OP_OUTPUTS_MAX]; /* empty where it has one */
    rdt_buffer scratch;
    rdt_buffer flush; /* written after the input, it leaves L2 without it */
    CUstream stream;
    char config[RDT_CONFIG_TEXT_BYTES];
} bench;

/* Numbers as in tuning: a kernel that branches on them shall meet more than zeros. */
static redtune_status fill_input(bench *self, const redtune_problem *problem, redtune_error *err) {
    rdt_test_data *data = NULL;
    const size_t element = redtune_dtype_bytes(problem->dtype);
    const uint64_t reach = rdt_problem_reach(problem);
    redtune_status status = rdt_test_data_create(problem, reach, &data, err);
    if (status) return status;
    const size_t period = data->period * element;
    const void *elements[RDT_OP_INPUTS_MAX] = {data->elements, data->second};
    for (int k = 0; !status && k < RDT_OP_INPUTS_MAX && elements[k]; k++) {
        const rdt_buffer *input = &self->input[k];
        const size_t first = period < input->bytes ? period : input->bytes;
        status =
            rdt_buffer_write(self->driver, input->address, elements[k], first, self->stream, err);
        if (!status)
            status = rdt_buffer_repeat(self->driver, input->address, period, input->bytes,
                                       self->stream, err);
    }
    rdt_test_data_destroy(data);
    return status;
}

static redtune_status clear(const bench *self, const rdt_buffer *buffer, redtune_error *err) {
    if (!buffer->bytes) return REDTUNE_OK;
    CUresult rc = self->driver->memset_d8_async(buffer->address, 0, buffer->bytes, self->stream);
    return rdt_driver_check(self->driver, rc, err, "clear %zu bytes", buffer->bytes);
}

static redtune_status allocate_buffers(bench *self, const redtune_problem *problem, size_t l2_bytes,
                                       redtune_error *err) {
    const rdt_driver *driver = self->driver;
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const redtune_dtype results[] = {problem->result, rdt_problem_second(problem)};
    const size_t bytes = rdt_problem_reach(problem) * redtune_dtype_bytes(problem->dtype);
    redtune_status status = rdt_stream_create(driver, &self->stream, err);
    for (int k = 0; !status && k < op->inputs; k++)
        status = rdt_buffer_create(driver, bytes, &self->input[k], err);
    for (int k = 0; !status && k < op->outputs; k++)
        status = rdt_buffer_create(driver,
                                   rdt_problem_results(problem) * redtune_dtype_bytes(results[k]),
                                   &self->output[k], err);
    if (!status) status = rdt_buffer_create(driver, (size_t)RDT_SCRATCH_BYTES, &self->scratch, err);
    if (!status) status = rdt_buffer_create(driver, 2 * l2_bytes, &self->flush, err);
    if (!status) status = clear(self, &self->scratch, err);
    if (!status) status = fill_input(self, problem, err);
    return status ? status : clear(self, &self->flush, err);
}

static redtune_status count_launches(const bench *self, const redtune_problem *problem,
                                     redtune_counters *out, redtune_error *err) {
    rdt_operands operands = {
        .input = self->input[0].address,
        .extents = rdt_problem_extents(problem),
        .output = self->output[0].address,
        .scratch = self->scratch.address,
        .given = {.input = self->input[1].address, .output = self->output[1].address}};
    const rdt_op_traits *op = rdt_op_find(problem->op);
    rdt_strides strides;
    if (rdt_problem_is_strided(problem)) {
        rdt_strides_set(&strides, problem);
        operands.strides = &strides;
    }
    for (int i = 0; i < op->parameters; i++) operands.given.scalar[i] = op->parameter[i].usual;
    redtune_counters before, after;
    redtune_status status = rdt_counters_read(self->driver, &before, err);
    if (!status)
        status = rdt_kernel_start(self->kernel, &self->launch, &operands, self->stream, err);
    if (!status) status = rdt_stream_wait(self->driver, self->stream, err);
    if (!status) status = rdt_counters_read(self->driver, &after, err);
    if (!status) *out = rdt_counters_between(&before, &after);
    return status;
}

static redtune_status load_config(bench *self, rdt_builder *builder, const rdt_context *context,
                                  const redtune_emission *emission, const redtune_problem *problem,
                                  redtune_error *err) {
    rdt_case at = {problem, &context->facts};
    rdt_codegen *codegen = NULL;
    rdt_point point;
    char family[RDT_NAME_BYTES];
    redtune_status status = rdt_builder_borrow(builder, &codegen, err);
    if (status) return status;
    status = rdt_emit_choose(codegen, emission, at, &point, err);
    if (!status) status = rdt_rules_launch(codegen, at, &point, &self->launch, err);
    if (!status)
        status =
            rdt_builder_make(builder, context, problem, &point, &self->launch, &self->kernel, err);
    if (!status) rdt_point_write(rdt_codegen_spaces(codegen), &point, family, self->config);
    rdt_builder_give_back(builder);
    return status;
}

static redtune_status count_in(const rdt_context *context, const redtune_emission *emission,
                               const redtune_problem *problem, redtune_counters *out,
                               redtune_error *err) {
    bench self = {.driver = context->driver};
    redtune_counters counters = {0};
    rdt_builder *builder = NULL;
    redtune_status status = rdt_builder_create(NULL, &builder, err);
    if (!status) status = load_config(&self, builder, context, emission, problem, err);
    if (!status) status = allocate_buffers(&self, problem, context->facts.l2_bytes, err);
    if (!status) status = count_launches(&self, problem, &counters, err);
    if (!status) {
        rdt_text_copy(counters.config, sizeof counters.config, self.config);
        rdt_text_copy(counters.gpu, sizeof counters.gpu, context->facts.name);
        *out = counters;
    }
    for (int k = 0; k < RDT_OP_INPUTS_MAX; k++) rdt_buffer_destroy(&self.input[k]);
    for (int k = 0; k < RDT_OP_OUTPUTS_MAX; k++) rdt_buffer_destroy(&self.output[k]);
    rdt_buffer_destroy(&self.scratch);
    rdt_buffer_destroy(&self.flush);
    rdt_stream_destroy(self.driver, self.stream);
    rdt_kernel_unload(self.kernel);
    rdt_builder_destroy(builder);
    return status;
}

/* The buffers are those of packed arrays, whose axes may have any order. */
static redtune_status check_packed(const redtune_problem *problem, redtune_error *err) {
    const redtune_array arrays[] = {REDTUNE_ARRAY_X, REDTUNE_ARRAY_Y, REDTUNE_ARRAY_RESULTS};
    bool fits = true;
    for (int i = 0; rdt_problem_is_strided(problem) && i < 3; i++) {
        const rdt_reach reach = rdt_strides_reach(problem, arrays[i]);
        fits &= !reach.first && reach.elements <= (i < 2 ? rdt_problem_elements(problem)
                                                         : rdt_problem_results(problem));
    }
    return fits ? REDTUNE_OK
                : rdt_problem_strided_refuse(problem, "count what a kernel does on gaps between",
                                             err);
}

redtune_status redtune_count(const redtune_emission *emission, redtune_counters *out,
                             redtune_error *err) {
    if (!emission || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot count: %s is NULL",
                        emission ? "out" : "emission");
    redtune_problem problem;
    redtune_status status = rdt_reserved_check(RDT_RESERVED(emission), "redtune_emission", err);
    if (!status) status = rdt_problem_resolve(&emission->problem, &problem, err);
    if (!status) status = rdt_problem_segments_refuse(&problem, "count what a kernel does on", err);
    if (!status) status = rdt_problem_keyed_refuse(&problem, "count what a kernel does on", err);
    if (!status) status = check_packed(&problem, err);
    if (status) return status;
    rdt_context *context = NULL;
    bool entered = false;
    status = rdt_context_open("sim", &context, err);
    if (!status) status = rdt_context_enter(context, &entered, err);
    if (!status) {
        status = count_in(context, emission, &problem, out, err);
        rdt_context_leave(context, entered);
    }
    rdt_context_close(context);
    return status;
}
