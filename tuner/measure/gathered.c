/* Gathered: the elements of a sample's results along any axes, one result's behind the other's, as
 * the judge takes them. */
#include "tuner/measure/gathered.h"

#include <stdlib.h>
#include <string.h>
#include "model/strides.h"

uint64_t rdt_gathered_lead(const redtune_problem *problem, redtune_array array) {
    return -(uint64_t)rdt_strides_reach(problem, array).first;
}

static void copy_elements(const rdt_pool *pool, const rdt_sample *sample, uint64_t first, int input,
                          size_t element, char *to) {
    const redtune_problem *problem = &sample->problem;
    const redtune_array array = input ? REDTUNE_ARRAY_Y : REDTUNE_ARRAY_X;
    const char *from = input ? pool->data->second : pool->data->elements;
    const uint64_t count = rdt_problem_count(problem);
    const uint64_t origin = first + rdt_gathered_lead(problem, array);
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t at =
            origin + (uint64_t)rdt_strides_place(problem, array, rdt_sample_result(sample, i), 0);
        for (uint64_t e = 0; e < count; e++, to += element) {
            const uint64_t place = at + (uint64_t)rdt_strides_place(problem, array, 0, e);
            memcpy(to, from + place % pool->judged.period * element, element);
        }
    }
}

static redtune_status gather_input(const rdt_test_buffers *buffers, const rdt_pool *pool, int input,
                                   rdt_gathered *self, redtune_error *err) {
    const size_t element = redtune_dtype_bytes(buffers->dtype);
    const size_t bytes = self->sample->count * rdt_problem_count(&self->sample->problem) * element;
    char *packed = malloc(bytes + 1);
    if (!packed) return rdt_fail_memory(err, bytes);
    copy_elements(pool, self->sample, self->first, input, element, packed);
    redtune_status status =
        rdt_buffer_create(buffers->driver, bytes + element, &self->elements[input], err);
    if (!status && bytes)
        status = rdt_buffer_write(buffers->driver, self->elements[input].address, packed, bytes,
                                  buffers->stream, err);
    free(packed);
    return status;
}

redtune_status rdt_gathered_open(const rdt_test_buffers *buffers, const rdt_pool *pool,
                                 const rdt_sample *sample, uint64_t first, rdt_gathered *out,
                                 redtune_error *err) {
    rdt_gathered self = {.sample = sample, .first = first};
    const uint64_t all = sample->count * rdt_problem_count(&sample->problem);
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < buffers->inputs; i++)
        status = gather_input(buffers, pool, i, &self, err);
    if (!status)
        status = rdt_judge_prepare(buffers->judge, self.elements[0].address,
                                   self.elements[1].address, all ? all : 1, &self.judged, err);
    if (status)
        rdt_gathered_close(&self);
    else
        *out = self;
    return status;
}

void rdt_gathered_close(rdt_gathered *gathered) {
    rdt_judge_forget(&gathered->judged);
    for (int i = 0; i < RDT_OP_INPUTS_MAX; i++) rdt_buffer_destroy(&gathered->elements[i]);
    *gathered = (rdt_gathered){.sample = NULL};
}

rdt_question rdt_gathered_question(const rdt_gathered *gathered, size_t i) {
    const uint64_t count = rdt_problem_count(&gathered->sample->problem);
    return rdt_judge_question(&gathered->judged, i * count, count);
}
