/* Keyed input: reductions by key of elements that are not on the GPU. The elements and their keys,
 * and what lies beside them, are brought there whole: any element may belong to any result. */
#include "api/host_inputs/input.h"

#include <inttypes.h>
#include "api/host_inputs/readers.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "gpu/timer.h"
#include "redtune/keys.h"

/* The readers: keys, and behind them those of a second input and of a mask. */
enum { STAGING_BYTES = 16 << 20, KEYS = 1, SECOND = 2, ARRAYS = RDT_READERS_MAX };

typedef struct keyed_reading {
    redtune *rt;
    const rdt_driver *driver;
    rdt_readers readers;
    redtune_problem problem; /* resolved */
    const redtune_input *input;
    size_t result_bytes[RDT_OP_OUTPUTS_MAX]; /* of all; the second is 0 where there is one */
    rdt_pinned staging;
    rdt_buffer arrays[ARRAYS], results[RDT_OP_OUTPUTS_MAX];
    CUstream stream;
    rdt_timer timer;
    redtune_reading so_far;
} keyed_reading;

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

static redtune_status open_readers(keyed_reading *self, redtune_error *err) {
    const redtune_input *keys = self->input->second;
    redtune_input elements = *self->input;
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
    readers->input[0] = self->input;
    readers->input[KEYS] = keys;
    readers->element_bytes[KEYS] = redtune_dtype_bytes(self->problem.key_dtype);
    return REDTUNE_OK;
}

static redtune_status open_keyed_buffers(keyed_reading *self, redtune_error *err) {
    const rdt_driver *driver = self->driver;
    const uint64_t elements = rdt_problem_elements(&self->problem);
    const uint64_t keys = rdt_problem_count(&self->problem);
    redtune_status status = rdt_stream_create(driver, &self->stream, err);
    if (!status) status = rdt_timer_create(driver, &self->timer, err);
    if (!status) status = rdt_buffer_create_pinned(driver, STAGING_BYTES, &self->staging, err);
    for (int i = 0; !status && i < self->readers.count; i++)
        status = rdt_buffer_create(driver,
                                   (i == KEYS ? keys : elements) * self->readers.element_bytes[i],
                                   &self->arrays[i], err);
    for (int i = 0; !status && i < RDT_OP_OUTPUTS_MAX && self->result_bytes[i]; i++)
        status = rdt_buffer_create(driver, self->result_bytes[i], &self->results[i], err);
    return status;
}

static void close_buffers(keyed_reading *self) {
    if (self->stream) self->driver->stream_synchronize(self->stream);
    rdt_stream_destroy(self->driver, self->stream);
    rdt_timer_destroy(&self->timer);
    rdt_buffer_destroy_pinned(&self->staging);
    for (int i = 0; i < ARRAYS; i++) rdt_buffer_destroy(&self->arrays[i]);
    for (int i = 0; i < RDT_OP_OUTPUTS_MAX; i++) rdt_buffer_destroy(&self->results[i]);
}

/* As many bytes as the array has, and none behind. */
static redtune_status carry(keyed_reading *self, int array, uint64_t bytes, redtune_error *err) {
    const char *const name = array == 0      ? "elements"
                             : array == KEYS ? "keys"
                             : array == rdt_readers_mask(&self->readers)
                                 ? "elements of the mask"
                                 : "elements of the second input";
    uint64_t done = 0;
    size_t more = 1;
    while (more) {
        redtune_status status =
            rdt_readers_fill(&self->readers, array, self->staging.data, STAGING_BYTES, &more, err);
        if (status) return status;
        if (done + more > bytes || (!more && done < bytes))
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot reduce an input by key: it has %s %s than the problem, which "
                            "has %" PRIu64,
                            more ? "more" : "fewer", name,
                            bytes / self->readers.element_bytes[array]);
        if (more)
            status = rdt_buffer_write(self->driver, self->arrays[array].address + done,
                                      self->staging.data, more, self->stream, err);
        if (status) return status;
        done += more;
    }
    return REDTUNE_OK;
}

static void *place(const rdt_buffer *buffer) { return (void *)(uintptr_t)buffer->address; }

static redtune_status run_keys(keyed_reading *self, redtune_plan *plan, redtune_error *err) {
    const bool two = rdt_op_find(self->problem.op)->inputs > 1;
    const int mask = rdt_readers_mask(&self->readers);
    const redtune_keyed keyed = {
        .d_in = place(&self->arrays[0]),
        .d_keys = place(&self->arrays[KEYS]),
        .count = rdt_problem_count(&self->problem),
        .d_out = {place(&self->results[0]), place(&self->results[1])},
        .parameters = self->input->parameters,
        .initial = self->input->initial,
        .d_second = two ? place(&self->arrays[SECOND]) : NULL,
        .d_mask = mask > 0 ? place(&self->arrays[mask]) : NULL,
    };
    redtune_status status = rdt_timer_start(&self->timer, self->stream, err);
    if (!status) status = redtune_plan_run_keyed(plan, &keyed, self->stream, err);
    if (!status) status = rdt_timer_stop(&self->timer, self->stream, err);
    if (!status) status = rdt_timer_read(&self->timer, &self->so_far.kernel_ns, err);
    return status;
}

static redtune_status reduce_keys(keyed_reading *self, unsigned char *to, redtune_error *err) {
    redtune_plan *plan = NULL;
    redtune_status status = open_keyed_buffers(self, err);
    for (int i = 0; !status && i < self->readers.count; i++)
        status = carry(self, i, self->arrays[i].bytes, err);
    if (!status) status = rdt_plan_make(self->rt, &self->problem, RDT_YIELD_RESULT, &plan, err);
    if (!status) status = run_keys(self, plan, err);
    for (int i = 0; !status && i < RDT_OP_OUTPUTS_MAX && self->result_bytes[i]; i++)
        status =
            rdt_buffer_read(self->driver, to + i * rdt_input_second_offset(self->result_bytes[0]),
                            self->results[i].address, self->result_bytes[i], self->stream, err);
    if (!status) redtune_plan_info(plan, &self->so_far.info);
    redtune_plan_destroy(plan);
    return status;
}

redtune_status rdt_keyed_input_reduce(redtune *rt, const redtune_problem *problem,
                                      const redtune_input *input, void *results, size_t bytes,
                                      redtune_reading *out, redtune_error *err) {
    keyed_reading self = {
        .rt = rt, .driver = rt->context->driver, .problem = *problem, .input = input};
    const uint64_t count = rdt_problem_results(problem);
    redtune_status status = open_readers(&self, err);
    if (status) return status;
    if (input->initial) self.problem.uses |= REDTUNE_USE_INITIAL;
    self.so_far = (redtune_reading){.dtype = problem->result,
                                    .second_dtype = rdt_problem_second(problem),
                                    .count = rdt_problem_elements(problem),
                                    .pieces = 1};
    self.result_bytes[0] = count * redtune_dtype_bytes(self.so_far.dtype);
    self.result_bytes[1] = count * redtune_dtype_bytes(self.so_far.second_dtype);
    const size_t second = rdt_input_second_offset(self.result_bytes[0]),
                 needed =
                     self.result_bytes[1] ? second + self.result_bytes[1] : self.result_bytes[0];
    if (bytes < needed)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce by key into %zu bytes: %" PRIu64 " results take %zu", bytes,
                        count, needed);
    bool entered = false;
    status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    status = reduce_keys(&self, results, err);
    close_buffers(&self);
    rdt_context_leave(rt->context, entered);
    if (!status) *out = self.so_far;
    return status;
}
