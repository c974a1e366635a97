/* Array reading: an array that is not on the GPU, read in the order of memory, and pieces of it on
 * the GPU. */
#include "api/host_inputs/array_reading.h"

#include <inttypes.h>
#include <string.h>
#include "api/host_inputs/input.h"

enum { SETS = 2, STAGING_BYTES_MAX = 64 << 20 };

void rdt_array_reading_describe(rdt_array_reading *self) {
    self->so_far.dtype = self->problem.result;
    self->so_far.second_dtype = rdt_problem_second(&self->problem);
    self->result_bytes[0] = redtune_dtype_bytes(self->so_far.dtype);
    self->result_bytes[1] = redtune_dtype_bytes(self->so_far.second_dtype);
}

/* Where second results begin: behind the first ones, aligned to 16 bytes. */
static uint64_t second_offset(const rdt_array_reading *self, uint64_t results) {
    return (results * self->result_bytes[0] + 15) / 16 * 16;
}

uint64_t rdt_array_reading_results_bytes(const rdt_array_reading *self, uint64_t results) {
    if (!self->result_bytes[1]) return results * self->result_bytes[0];
    return second_offset(self, results) + results * self->result_bytes[1];
}

void rdt_array_reading_begin(rdt_array_reading *self, void *memory, uint64_t results) {
    self->out[0] = memory;
    self->out[1] = self->out[0] + second_offset(self, results);
}

redtune_status rdt_array_reading_room(const rdt_array_reading *self, uint64_t *bytes,
                                      redtune_error *err) {
    redtune_status status = rdt_context_free_bytes(self->rt->context, bytes, err);
    if (!status) *bytes /= 2;
    return status;
}

redtune_status rdt_array_reading_open(rdt_array_reading *self, const redtune_problem *piece,
                                      const uint64_t elements[RDT_READERS_MAX], uint64_t results,
                                      redtune_error *err) {
    const rdt_driver *driver = self->driver;
    uint64_t most = 0;
    redtune_status status = rdt_plan_make(self->rt, piece, RDT_YIELD_RESULT, &self->plan, err);
    if (!status) status = rdt_timer_create(driver, &self->timer, err);
    for (int i = 0; !status && i < self->readers.count; i++) {
        const uint64_t bytes = elements[i] * self->readers.element_bytes[i];
        if (most < bytes) most = bytes;
        status = rdt_buffer_create(driver, bytes, &self->elements[i], err);
    }
    /* A whole number of elements of every array. */
    const size_t staging =
        most < STAGING_BYTES_MAX ? ((size_t)most + 15) / 16 * 16 : STAGING_BYTES_MAX;
    for (int i = 0; !status && i < RDT_OP_OUTPUTS_MAX && self->result_bytes[i]; i++)
        status = rdt_buffer_create(driver, results * self->result_bytes[i], &self->results[i], err);
    for (int i = 0; !status && i < SETS; i++) {
        status = rdt_stream_create(driver, &self->carriers[i].stream, err);
        if (!status && staging)
            status = rdt_buffer_create_pinned(driver, staging, &self->carriers[i].staging, err);
    }
    if (status) return status;
    return redtune_workspace_create(self->rt, NULL, 0, self->carriers[0].stream, &self->workspace,
                                    err);
}

void rdt_array_reading_close(rdt_array_reading *self) {
    for (int i = 0; i < SETS; i++) {
        rdt_carrier *each = &self->carriers[i];
        if (each->stream) self->driver->stream_synchronize(each->stream);
        rdt_stream_destroy(self->driver, each->stream);
        rdt_buffer_destroy_pinned(&each->staging);
    }
    rdt_timer_destroy(&self->timer);
    for (int i = 0; i < RDT_READERS_MAX; i++) rdt_buffer_destroy(&self->elements[i]);
    for (int i = 0; i < RDT_OP_OUTPUTS_MAX; i++) rdt_buffer_destroy(&self->results[i]);
    redtune_workspace_destroy(self->workspace);
    redtune_plan_destroy(self->plan);
}

/* Fills buffer from that input, however little that gives at a time. */
static redtune_status read_bytes(rdt_array_reading *self, int input, void *buffer, size_t bytes,
                                 redtune_error *err) {
    size_t filled = 0;
    redtune_status status = rdt_readers_fill(&self->readers, input, buffer, bytes, &filled, err);
    if (status) return status;
    self->read_count[input] += filled / self->readers.element_bytes[input];
    if (filled == bytes) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce %s: %s ends after %" PRIu64 " elements, of %" PRIu64, self->what,
                    rdt_readers_name(&self->readers, input), self->read_count[input],
                    self->span[input]);
}

redtune_status rdt_array_reading_carry(rdt_array_reading *self, int input, uint64_t elements,
                                       redtune_error *err) {
    const uint64_t bytes = elements * self->readers.element_bytes[input];
    redtune_status status = REDTUNE_OK;
    for (uint64_t done = 0, more; !status && done < bytes; done += more) {
        rdt_carrier *with = &self->carriers[self->turn];
        self->turn = (self->turn + 1) % SETS;
        /* A whole number of elements, as the staging's size is a multiple of every element's. */
        more = bytes - done < with->staging.bytes ? bytes - done : with->staging.bytes;
        status = rdt_stream_wait(self->driver, with->stream, err);
        if (!status) status = read_bytes(self, input, with->staging.data, (size_t)more, err);
        if (status) return status;
        CUresult rc = self->driver->memcpy_htod_async(
            self->elements[input].address + done, with->staging.data, (size_t)more, with->stream);
        status = rdt_driver_check(self->driver, rc, err, "copy a piece to the GPU");
    }
    return status;
}

/* A part of that input, from its readers' next element on. */
typedef struct input_part {
    rdt_array_reading *array;
    int input;
    uint64_t left_bytes;
} input_part;

static redtune_status read_part(void *user, void *buffer, size_t capacity, size_t *bytes,
                                redtune_error *err) {
    input_part *self = user;
    size_t more = capacity - capacity % self->array->readers.element_bytes[self->input];
    if (more > self->left_bytes) more = (size_t)self->left_bytes;
    redtune_status status = read_bytes(self->array, self->input, buffer, more, err);
    if (status) return status;
    self->left_bytes -= more;
    *bytes = more;
    return REDTUNE_OK;
}

redtune_status rdt_array_reading_skip(rdt_array_reading *self, int input, uint64_t elements,
                                      redtune_error *err) {
    _Alignas(16) unsigned char passed[RDT_ARRAY_PASSED_BYTES];
    input_part from = {self, input, elements * self->readers.element_bytes[input]};
    for (size_t more = 1; more;) {
        redtune_status status = read_part(&from, passed, sizeof passed, &more, err);
        if (status) return status;
    }
    return REDTUNE_OK;
}

redtune_status rdt_array_reading_carry_all(rdt_array_reading *self, uint64_t elements,
                                           redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < self->readers.count; i++)
        status = rdt_array_reading_carry(self, i, elements, err);
    return status;
}

redtune_status rdt_array_reading_skip_all(rdt_array_reading *self, uint64_t elements,
                                          redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < self->readers.count; i++)
        status = rdt_array_reading_skip(self, i, elements, err);
    return status;
}

redtune_status rdt_array_reading_start(rdt_array_reading *self, redtune_error *err) {
    redtune_status status = rdt_stream_wait(self->driver, self->carriers[1].stream, err);
    return status ? status : rdt_timer_start(&self->timer, self->carriers[0].stream, err);
}

redtune_status rdt_array_reading_stop(rdt_array_reading *self, redtune_error *err) {
    double elapsed_ns = 0;
    redtune_status status = rdt_timer_stop(&self->timer, self->carriers[0].stream, err);
    if (!status) status = rdt_timer_read(&self->timer, &elapsed_ns, err);
    self->so_far.kernel_ns += elapsed_ns;
    self->so_far.pieces++;
    return status;
}

redtune_status rdt_array_reading_run(rdt_array_reading *self, const redtune_problem *problem,
                                     redtune_operands operands, bool goes_on, redtune_error *err) {
    rdt_operands own;
    const redtune_operands *more = NULL;
    operands.workspace = self->workspace;
    operands.parameters = self->parameters;
    operands.accumulate = goes_on;
    operands.initial = goes_on ? NULL : self->initial;
    redtune_status status = rdt_plan_set_operands(self->rt, &operands, &own, &more, err);
    own.extents = (rdt_extents){operands.count, operands.outer, operands.inner, operands.outer_step,
                                operands.step};
    if (!status) status = rdt_array_reading_start(self, err);
    if (!status)
        status = rdt_plan_run(self->plan, problem, &own, more, self->carriers[0].stream, err);
    return status ? status : rdt_array_reading_stop(self, err);
}

redtune_status rdt_array_reading_take(rdt_array_reading *self, uint64_t results,
                                      redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < RDT_OP_OUTPUTS_MAX && self->result_bytes[i]; i++) {
        const size_t bytes = results * self->result_bytes[i];
        status = rdt_buffer_read(self->driver, self->out[i], self->results[i].address, bytes,
                                 self->carriers[0].stream, err);
        self->out[i] += bytes;
    }
    return status;
}

redtune_status rdt_array_reading_reduce_next(rdt_array_reading *self, redtune_problem problem,
                                             uint64_t count, redtune_error *err) {
    input_part from[RDT_READERS_MAX];
    redtune_input inputs[RDT_READERS_MAX], *input = NULL;
    redtune_reading next = {.count = 0};
    rdt_problem_axes_set(&problem, (rdt_extents){.count = count});
    for (int i = self->readers.count; i-- > 0; input = &inputs[i]) {
        from[i] = (input_part){self, i, count * self->readers.element_bytes[i]};
        inputs[i] = (redtune_input){.read = read_part, .user = &from[i], .second = input};
    }
    input->initial = self->initial;
    input->parameters = self->parameters;
    redtune_status status = rdt_input_reduce(self->rt, &problem, input, &next, err);
    if (status) return status;
    const void *const values[] = {&next.value, &next.second};
    for (int i = 0; i < RDT_OP_OUTPUTS_MAX; self->out[i] += self->result_bytes[i], i++)
        memcpy(self->out[i], values[i], self->result_bytes[i]);
    self->so_far.pieces += next.pieces;
    self->so_far.kernel_ns += next.kernel_ns;
    self->so_far.info = next.info;
    return REDTUNE_OK;
}
