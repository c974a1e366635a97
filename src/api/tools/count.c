/* Count: what one configuration does on the simulated GPU. */
#include <string.h>
#include "api/build/builder.h"
#include "api/build/emit.h"
#include "base/reserved.h"
#include "gpu/buffer.h"
#include "gpu/counters.h"
#include "gpu/stream.h"
#include "tuner/measure/test_data.h"
#include "redtune/tools.h"

/* A kernel with what it works on. */
typedef struct bench {
    const rdt_driver *driver;
    rdt_kernel *kernel;
    rdt_launch launch;
    rdt_buffer input, output, scratch;
    rdt_buffer flush; /* written after the input, it leaves L2 without it */
    CUstream stream;
    char config[RDT_CONFIG_TEXT_BYTES];
} bench;

/* Numbers as in tuning: a kernel that branches on them shall meet more than zeros. */
static redtune_status fill_input(bench *self, const redtune_problem *problem, redtune_error *err) {
    rdt_test_data *data = NULL;
    size_t element = redtune_dtype_bytes(problem->dtype);
    size_t reach = rdt_problem_reach(problem), bytes = reach * element;
    redtune_status status = rdt_test_data_create(problem, reach, &data, err);
    if (status) return status;
    size_t period = data->period * element, first = period < bytes ? period : bytes;
    status = rdt_buffer_write(self->driver, self->input.address, data->elements, first,
                              self->stream, err);
    if (!status)
        status =
            rdt_buffer_repeat(self->driver, self->input.address, period, bytes, self->stream, err);
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
    size_t bytes = rdt_problem_reach(problem) * redtune_dtype_bytes(problem->dtype);
    size_t result_bytes = rdt_problem_results(problem) * redtune_dtype_bytes(problem->result);
    redtune_status status = rdt_stream_create(driver, &self->stream, err);
    if (!status) status = rdt_buffer_create(driver, bytes, &self->input, err);
    if (!status) status = rdt_buffer_create(driver, result_bytes, &self->output, err);
    if (!status) status = rdt_buffer_create(driver, (size_t)RDT_SCRATCH_BYTES, &self->scratch, err);
    if (!status) status = rdt_buffer_create(driver, 2 * l2_bytes, &self->flush, err);
    if (!status) status = clear(self, &self->scratch, err);
    if (!status) status = fill_input(self, problem, err);
    return status ? status : clear(self, &self->flush, err);
}

static redtune_status count_launches(const bench *self, const redtune_problem *problem,
                                     redtune_counters *out, redtune_error *err) {
    rdt_operands operands = {.input = self->input.address,
                             .extents = rdt_problem_extents(problem),
                             .output = self->output.address,
                             .scratch = self->scratch.address};
    redtune_counters before, after;
    redtune_status status = rdt_counters_read(self->driver, &before, err);
    if (!status)
        status = rdt_kernel_launch(self->kernel, &self->launch, operands, self->stream, err);
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
    if (!status) status = rdt_codegen_launch(codegen, at, &point, &self->launch, err);
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
    rdt_buffer_destroy(&self.input);
    rdt_buffer_destroy(&self.output);
    rdt_buffer_destroy(&self.scratch);
    rdt_buffer_destroy(&self.flush);
    rdt_stream_destroy(self.driver, self.stream);
    rdt_kernel_unload(self.kernel);
    rdt_builder_destroy(builder);
    return status;
}

redtune_status redtune_count(const redtune_emission *emission, redtune_counters *out,
                             redtune_error *err) {
    if (!emission || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot count: %s is NULL",
                        emission ? "out" : "emission");
    redtune_problem problem;
    redtune_status status = rdt_reserved_check(RDT_RESERVED(emission), "redtune_emission", err);
    if (!status) status = rdt_problem_resolve(&emission->problem, &problem, err);
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
