/* Two launches: a plan each call of which is two, the second of which reads what the first left in
 * scratch: the sum of f32 of one segment, whose end stands in a table of its own. */
#pragma once

#include <stdlib.h>
#include "device.h"
#include "redtune/list.h"

typedef struct two_launches {
    redtune_plan *plan;
    rdt_buffer numbers; /* uint32 0, 1, 2, ...: the begin, and ends of all lengths */
} two_launches;

/* For segments of at most `count` elements. */
static redtune_status two_launches_open(const device *gpu, redtune *rt, uint64_t count,
                                        two_launches *out, redtune_error *err) {
    redtune_problem problem = redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, 1, count);
    problem.config = "ragged:block=64,unroll=1,unit=anywhere,per_sm=1";
    const size_t bytes = (count + 1) * sizeof(uint32_t);
    uint32_t *numbers = malloc(bytes);
    if (!numbers) return rdt_fail_memory(err, bytes);
    for (uint32_t i = 0; i <= count; i++) numbers[i] = i;
    redtune_status status = redtune_plan_create(rt, &problem, &out->plan, err);
    if (!status) status = rdt_buffer_create(gpu->driver, bytes, &out->numbers, err);
    if (!status)
        status =
            rdt_buffer_write(gpu->driver, out->numbers.address, numbers, bytes, gpu->stream, err);
    free(numbers);
    return status;
}

static redtune_status two_launches_reduce(const two_launches *self, const void *d_in,
                                          uint64_t count, void *d_out, CUstream stream,
                                          redtune_error *err) {
    const uint32_t *numbers = (const uint32_t *)(uintptr_t)self->numbers.address;
    const redtune_segments segments = {.d_in = d_in,
                                       .count = 1,
                                       .d_begin = numbers,
                                       .d_end = numbers + count,
                                       .offset_bytes = sizeof *numbers,
                                       .d_out = {d_out}};
    return redtune_plan_run_segments(self->plan, &segments, stream, err);
}

static void two_launches_close(two_launches *self) {
    redtune_plan_destroy(self->plan);
    rdt_buffer_destroy(&self->numbers);
}
