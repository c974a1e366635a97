/* Ones: GPU 0 with an array of ones in its memory. */
#include "ones.h"

#include <stdlib.h>

static redtune_status fill(ones *self, size_t count, redtune_error *err) {
    const rdt_driver *driver = self->context->driver;
    float *host = malloc(count * sizeof *host);
    if (!host) return rdt_fail_memory(err, count * sizeof *host);
    for (size_t i = 0; i < count; i++) host[i] = 1;
    redtune_status status = rdt_buffer_create(driver, count * sizeof *host, &self->input, err);
    if (!status)
        status = rdt_buffer_write(driver, self->input.address, host, count * sizeof *host,
                                  self->stream, err);
    free(host);
    return status;
}

redtune_status ones_open(ones *self, size_t count, redtune_error *err) {
    bool entered;
    *self = (ones){.context = NULL};
    redtune_status status = rdt_context_open("0", &self->context, err);
    if (!status) status = rdt_context_enter(self->context, &entered, err);
    if (status) {
        rdt_context_close(self->context);
        self->context = NULL;
        return status;
    }
    status = rdt_stream_create(self->context->driver, &self->stream, err);
    if (!status) status = rdt_buffer_create(self->context->driver, 256, &self->result, err);
    return status ? status : fill(self, count, err);
}

void ones_close(ones *self) {
    if (!self->context) return;
    rdt_buffer_destroy(&self->input);
    rdt_buffer_destroy(&self->result);
    rdt_stream_destroy(self->context->driver, self->stream);
    rdt_context_leave(self->context, true);
    rdt_context_close(self->context);
    *self = (ones){.context = NULL};
}

redtune_status ones_run(const ones *self, redtune_plan *plan, uint64_t count, redtune_error *err) {
    return redtune_plan_run(plan, (void *)(uintptr_t)self->input.address, count,
                            (void *)(uintptr_t)self->result.address, self->stream, err);
}

float ones_sum(const ones *self, redtune_plan *plan, uint64_t count, redtune_error *err) {
    float value = -1;
    redtune_status status = ones_run(self, plan, count, err);
    if (!status)
        status = rdt_buffer_read(self->context->driver, &value, self->result.address, sizeof value,
                                 self->stream, err);
    return status ? -1 : value;
}
