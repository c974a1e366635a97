/* Adder: a GPU with an array of ones in its memory. */
#include "adder.h"

enum { RESULT_BYTES = 256 };

redtune_status adder_open(adder *self, size_t count, redtune_error *err) {
    *self = (adder){.input = {NULL}};
    redtune_status status = device_open(&self->gpu, err);
    if (!status) status = device_ones(&self->gpu, count, &self->input, err);
    if (!status) status = rdt_buffer_create(self->gpu.driver, RESULT_BYTES, &self->result, err);
    return status;
}

void adder_close(adder *self) {
    rdt_buffer_destroy(&self->input);
    rdt_buffer_destroy(&self->result);
    device_close(&self->gpu);
}

redtune_status adder_run(const adder *self, redtune_plan *plan, uint64_t count,
                         redtune_error *err) {
    return redtune_plan_reduce(plan, (void *)(uintptr_t)self->input.address, count,
                               (void *)(uintptr_t)self->result.address, self->gpu.stream, err);
}

float adder_sum(const adder *self, redtune_plan *plan, uint64_t count, redtune_error *err) {
    float value = -1;
    redtune_status status = adder_run(self, plan, count, err);
    if (!status)
        status = rdt_buffer_read(self->gpu.driver, &value, self->result.address, sizeof value,
                                 self->gpu.stream, err);
    return status ? -1 : value;
}
