/* Keyed input: reductions by key of elements that are not on the GPU. The elements and their keys,
 * and what lies beside them, are brought there whole: any element may belong to any result. */
#include "api/host_inputs/array_reading.h"
#include "api/host_inputs/input.h"

#include <inttypes.h>
#include "redtune/keys.h"

/* The readers: keys, and behind them those of a second input and of a mask. */
enum { KEYS = 1, SECOND = 2 };

/* By the names that these have beside keys. */
static redtune_status check_beside_keys(const redtune_problem *problem, const redtune_input *keys,
                                        redtune_error *err) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const bool two = op->inputs > 1, any = two || problem->mask;
    const redtune_input *beside = keys->second;
    const char *wrong =
        any && !beside ? two ? "input->second->second is NULL; give the reader of the second input"
                             : "input->second->second is NULL; give the reader of the mask"
        : !any && beside
            ? "input->second->second is not NULL, and there is neither a second input nor a mask; "
              "leave it NULL"
        : two && problem->mask && !beside->second
            ? "input->second->second->second is NULL; give the reader of the mask"
            : NULL;
    if (!wrong) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot compute the %s by key: %s", op->name, wrong);
}

static redtune_status open_readers(rdt_array_reading *self, const redtune_input *input,
                                   redtune_error *err) {
    const redtune_input *keys = input->second;
    redtune_input elements = *input;
    if (!keys || !keys->read)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce an input by key: input->second%s is NULL; give the reader "
                        "of the keys",
                        keys ? "->read" : "");
    elements.second = keys->second;
    redtune_status status = rdt_readers_check_second(keys, true, "by key", err);
    if (!status) status = check_beside_keys(&self->problem, keys, err);
    if (!status) status = rdt_readers_open(&self->problem, &elements, &self->readers, err);
    if (status) return status;
    rdt_readers *readers = &self->readers;
    for (int i = readers->count++; i > KEYS; i--) {
        readers->input[i] = readers->input[i - 1];
        readers->element_bytes[i] = readers->element_bytes[i - 1];
    }
    readers->input[0] = input;
    readers->input[KEYS] = keys;
    readers->element_bytes[KEYS] = redtune_dtype_bytes(self->problem.key_dtype);
    return REDTUNE_OK;
}

static redtune_status open_arrays(rdt_array_reading *self, redtune_error *err) {
    const uint64_t each = rdt_problem_elements(&self->problem);
    const uint64_t elements[RDT_READERS_MAX] = {
        each, [KEYS] = rdt_problem_count(&self->problem), [SECOND] = each, each};
    return rdt_array_reading_open(self, &self->problem, elements,
                                  rdt_problem_results(&self->problem), err);
}

/* As many bytes as the array has, and none behind. */
static redtune_status carry(rdt_array_reading *self, int array, redtune_error *err) {
    const char *const name = array == 0      ? "elements"
                             : array == KEYS ? "keys"
                             : array == rdt_readers_mask(&self->readers)
                                 ? "elements of the mask"
                                 : "elements of the second input";
    const rdt_buffer *to = &self->elements[array];
    const rdt_pinned *staging = &self->carriers[0].staging;
    _Alignas(16) char none[RDT_ARRAY_PASSED_BYTES]; /* that no array has elements for */
    uint64_t done = 0;
    size_t more = 1;
    while (more) {
        redtune_status status =
            rdt_readers_fill(&self->readers, array, staging->bytes ? staging->data : none,
                             staging->bytes ? staging->bytes : sizeof none, &more, err);
        if (status) return status;
        if (done + more > to->bytes || (!more && done < to->bytes))
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot reduce an input by key: it has %s %s than the problem, which "
                            "has %" PRIu64,
                            more ? "more" : "fewer", name,
                            to->bytes / self->readers.element_bytes[array]);
        status = rdt_buffer_write(self->driver, to->address + done, staging->data, more,
                                  self->carriers[0].stream, err);
        if (status) return status;
        done += more;
    }
    return REDTUNE_OK;
}

static void *place(const rdt_buffer *buffer) { return (void *)(uintptr_t)buffer->address; }

static redtune_status run_keys(rdt_array_reading *self, redtune_error *err) {
    const bool two = rdt_op_find(self->problem.op)->inputs > 1;
    const int mask = rdt_readers_mask(&self->readers);
    const redtune_keyed keyed = {
        .d_in = place(&self->elements[0]),
        .d_keys = place(&self->elements[KEYS]),
        .count = rdt_problem_count(&self->problem),
        .d_out = {place(&self->results[0]), place(&self->results[1])},
        .parameters = self->parameters,
        .initial = self->initial,
        .d_second = two ? place(&self->elements[SECOND]) : NULL,
        .d_mask = mask > 0 ? place(&self->elements[mask]) : NULL,
    };
    redtune_status status = rdt_array_reading_start(self, err);
    if (!status) status = redtune_plan_run_keyed(self->plan, &keyed, self->carriers[0].stream, err);
    return status ? status : rdt_array_reading_stop(self, err);
}

static redtune_status reduce_keys(rdt_array_reading *self, redtune_error *err) {
    redtune_status status = open_arrays(self, err);
    for (int i = 0; !status && i < self->readers.count; i++) status = carry(self, i, err);
    if (!status) status = run_keys(self, err);
    if (!status) status = rdt_array_reading_take(self, rdt_problem_results(&self->problem), err);
    if (!status) redtune_plan_info(self->plan, &self->so_far.info);
    return status;
}

redtune_status rdt_keyed_input_reduce(redtune *rt, const redtune_problem *problem,
                                      const redtune_input *input, void *results, size_t bytes,
                                      redtune_reading *out, redtune_error *err) {
    rdt_array_reading self = {.rt = rt,
                              .driver = rt->context->driver,
                              .problem = *problem,
                              .parameters = input->parameters,
                              .initial = input->initial};
    const uint64_t count = rdt_problem_results(problem);
    redtune_status status = open_readers(&self, input, err);
    if (status) return status;
    if (input->initial) self.problem.uses |= REDTUNE_USE_INITIAL;
    rdt_array_reading_describe(&self);
    rdt_array_reading_begin(&self, results, count);
    self.so_far.count = rdt_problem_elements(problem);
    const uint64_t needed = rdt_array_reading_results_bytes(&self, count);
    if (bytes < needed)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce by key into %zu bytes: %" PRIu64 " results take %" PRIu64,
                        bytes, count, needed);
    bool entered = false;
    status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    status = reduce_keys(&self, err);
    rdt_array_reading_close(&self);
    rdt_context_leave(rt->context, entered);
    if (!status) *out = self.so_far;
    return status;
}
