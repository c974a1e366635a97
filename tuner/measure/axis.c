/* Axis: what results should be whose elements lie a step apart in a pool. */
#include "tuner/measure/axis.h"

#include <stdlib.h>
#include <string.h>

size_t rdt_axis_bytes(const redtune_problem *problem) {
    const size_t nodes = rdt_judge_bytes(problem) / 2; /* of one period */
    return RDT_JUDGE_PERIOD_MAX * rdt_problem_input_bytes(problem) + nodes;
}

/* By Fermat: of a stride that is no multiple of the prime. */
static uint64_t find_inverse(uint64_t stride, uint64_t prime) {
    uint64_t inverse = 1, power = stride;
    for (uint64_t left = prime - 2; left; left /= 2) {
        if (left % 2) inverse = inverse * power % prime;
        power = power * power % prime;
    }
    return inverse;
}

static redtune_status put_in_order(const rdt_test_buffers *buffers, const rdt_axis *self,
                                   const char *from, rdt_buffer *out, redtune_error *err) {
    const uint64_t period = self->pool->judged.period;
    const size_t element = self->element_bytes;
    char *ordered = malloc(period * element);
    if (!ordered) return rdt_fail_memory(err, period * element);
    for (uint64_t i = 0, at = 0; i < period; i++) {
        memcpy(ordered + i * element, from + at * element, element);
        at += self->stride;
        if (at >= period) at -= period;
    }
    redtune_status status = rdt_buffer_create_with(buffers->driver, ordered, period * element,
                                                   buffers->stream, out, err);
    free(ordered);
    return status;
}

static redtune_status put_all_in_order(const rdt_test_buffers *buffers, rdt_axis *self,
                                       redtune_error *err) {
    const rdt_test_data *data = self->pool->data;
    redtune_status status = put_in_order(buffers, self, data->elements, &self->ordered[0], err);
    if (!status && data->second)
        status = put_in_order(buffers, self, data->second, &self->ordered[1], err);
    return status ? status
                  : rdt_judge_prepare(buffers->judge, self->ordered[0].address,
                                      self->ordered[1].address, self->pool->judged.period,
                                      &self->judged, err);
}

redtune_status rdt_axis_open(const rdt_test_buffers *buffers, const rdt_pool *pool, uint64_t step,
                             rdt_axis *out, redtune_error *err) {
    const uint64_t period = pool->judged.period;
    rdt_axis axis = {
        .pool = pool,
        .element_bytes = redtune_dtype_bytes(buffers->dtype),
        .stride = step % period,
    };
    redtune_status status = REDTUNE_OK;
    if (axis.stride > 1) {
        axis.inverse = find_inverse(axis.stride, period);
        status = put_all_in_order(buffers, &axis, err);
    }
    if (status)
        rdt_axis_close(&axis);
    else
        *out = axis;
    return status;
}

void rdt_axis_close(rdt_axis *axis) {
    rdt_judge_forget(&axis->judged);
    for (int i = 0; i < RDT_OP_INPUTS_MAX; i++) rdt_buffer_destroy(&axis->ordered[i]);
    *axis = (rdt_axis){.pool = NULL};
}

rdt_question rdt_axis_question(const rdt_axis *axis, uint64_t first, uint64_t count) {
    const uint64_t period = axis->pool->judged.period, at = first % period;
    if (axis->stride > 1)
        return rdt_judge_question(&axis->judged, at * axis->inverse % period, count);
    if (axis->stride) return rdt_judge_question(&axis->pool->judged, at, count);
    /* The same element again and again. */
    const rdt_judged *pool = &axis->pool->judged;
    rdt_judged one = {.period = 1};
    for (int i = 0; i < RDT_OP_INPUTS_MAX; i++)
        if (pool->elements[i]) one.elements[i] = pool->elements[i] + at * axis->element_bytes;
    return rdt_judge_question(&one, 0, count);
}
