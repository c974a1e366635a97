/* Segments input: reducing segments of elements that are not on the GPU.
 *
 * Elements come in their order, so that a piece is as many whole segments as the GPU has room for,
 * reduced like any other segments, and its results are the next ones of all. A segment too long for
 * a piece is an input of its own, which redtune_reduce_input takes in pieces and combines. Pairs
 * with a mask have no such pieces: theirs are as long as the longest segment. */
#include "api/host_inputs/input.h"
#include "api/running/list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "api/host_inputs/readers.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "gpu/timer.h"
#include "model/segment_lengths.h"

enum { PIECE_BYTES_MAX = 256 << 20, STAGING_BYTES = 16 << 20, PIECE_SEGMENTS_MAX = 1 << 24 };

typedef struct segments_reading {
    redtune *rt;
    const rdt_driver *driver;
    rdt_readers readers;
    const double *parameters; /* the caller's; NULL: the usual ones */
    redtune_problem problem;  /* resolved */
    const uint64_t *offsets;
    uint64_t count;                          /* of segments */
    uint64_t most_elements, most_segments;   /* of a piece */
    size_t result_bytes[RDT_OP_OUTPUTS_MAX]; /* the second is 0 where there is one result */
    unsigned char *out[RDT_OP_OUTPUTS_MAX];  /* of the first result */
    redtune_plan *plan;                      /* NULL until a piece needs it */
    redtune_workspace *workspace;
    rdt_pinned staging;
    rdt_buffer input[RDT_READERS_MAX], table, results[RDT_OP_OUTPUTS_MAX];
    CUstream stream;
    rdt_timer timer;
    uint64_t read_count[RDT_READERS_MAX]; /* elements of each input */
    redtune_reading so_far;
} segments_reading;

/* ---- offsets --------------------------------------------------------------------------------- */

static redtune_status check_offsets(const uint64_t *offsets, uint64_t count, redtune_error *err) {
    if (count > rdt_list_count_max())
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " segments: there may be at most %" PRIu64, count,
                        rdt_list_count_max());
    for (uint64_t i = 0; i < count; i++)
        if (offsets[i] > offsets[i + 1])
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot reduce segments: segment %" PRIu64 " begins at %" PRIu64
                            " and ends at %" PRIu64 "; give offsets that do not decrease",
                            i, offsets[i], offsets[i + 1]);
    return REDTUNE_OK;
}

/* What the lengths are like, where the problem does not say it. */
static redtune_status set_lengths(redtune_problem *problem, const uint64_t *offsets,
                                  redtune_error *err) {
    const uint64_t count = rdt_problem_segments_count(problem);
    uint64_t *lengths = malloc((count + 1) * sizeof *lengths);
    if (!lengths) return rdt_fail_memory(err, (count + 1) * sizeof *lengths);
    rdt_extents shape = rdt_segment_lengths_describe(offsets, count, lengths);
    if (!shape.count) shape.step = 0;
    if (count) rdt_problem_segments_set_shape(problem, shape);
    free(lengths);
    return REDTUNE_OK;
}

/* ---- a piece --------------------------------------------------------------------------------- */

/* Pieces of pairs with a mask take each segment whole, or there is no result at all. */
static redtune_status make_room_for_longest(segments_reading *self, uint64_t free_bytes,
                                            redtune_error *err) {
    const uint64_t most = free_bytes / 2 / rdt_problem_input_bytes(&self->problem);
    uint64_t longest = 0, at = 0;
    for (uint64_t i = 0; i < self->count; i++) {
        const uint64_t length = self->offsets[i + 1] - self->offsets[i];
        if (length > longest) longest = length, at = i;
    }
    if (longest > most)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s with a mask of segment %" PRIu64 " of %" PRIu64
                        " elements: pairs with a mask are brought to the GPU whole, which has room "
                        "for %" PRIu64 "; divide the segment, and combine the results",
                        redtune_op_name(self->problem.op), at, longest, most);
    if (self->most_elements < longest) self->most_elements = longest;
    return REDTUNE_OK;
}

static redtune_status size_pieces_of(segments_reading *self, redtune_error *err) {
    uint64_t free_bytes = 0;
    redtune_status status = rdt_context_free_bytes(self->rt->context, &free_bytes, err);
    if (status) return status;
    const uint64_t all = self->offsets[self->count] - self->offsets[0];
    const uint64_t each = sizeof *self->offsets + self->result_bytes[0] + self->result_bytes[1];
    uint64_t bytes = free_bytes / 4 < PIECE_BYTES_MAX ? free_bytes / 4 : PIECE_BYTES_MAX;
    self->most_elements = bytes / rdt_problem_input_bytes(&self->problem);
    self->most_segments = free_bytes / 4 / each;
    if (self->most_elements > all) self->most_elements = all;
    if (self->most_segments > PIECE_SEGMENTS_MAX) self->most_segments = PIECE_SEGMENTS_MAX;
    if (self->most_segments > self->count) self->most_segments = self->count;
    if (!rdt_problem_mask_pairs(&self->problem)) return REDTUNE_OK;
    return make_room_for_longest(self, free_bytes, err);
}

static redtune_status open_buffers_of(segments_reading *self, redtune_error *err) {
    const rdt_driver *driver = self->driver;
    const uint64_t segments = self->most_segments;
    redtune_status status = rdt_stream_create(driver, &self->stream, err);
    if (!status) status = rdt_timer_create(driver, &self->timer, err);
    if (!status) status = rdt_buffer_create_pinned(driver, STAGING_BYTES, &self->staging, err);
    for (int i = 0; !status && i < self->readers.count; i++)
        status = rdt_buffer_create(driver, self->most_elements * self->readers.element_bytes[i],
                                   &self->input[i], err);
    if (!status)
        status =
            rdt_buffer_create(driver, (segments + 1) * sizeof *self->offsets, &self->table, err);
    for (int i = 0; !status && i < RDT_OP_OUTPUTS_MAX && self->result_bytes[i]; i++)
        status =
            rdt_buffer_create(driver, segments * self->result_bytes[i], &self->results[i], err);
    if (!status)
        status = rdt_plan_make(self->rt, &self->problem, RDT_YIELD_RESULT, &self->plan, err);
    return status
               ? status
               : redtune_workspace_create(self->rt, NULL, 0, self->stream, &self->workspace, err);
}

static void close_buffers_of(segments_reading *self) {
    if (self->stream) self->driver->stream_synchronize(self->stream);
    rdt_stream_destroy(self->driver, self->stream);
    rdt_timer_destroy(&self->timer);
    rdt_buffer_destroy_pinned(&self->staging);
    for (int i = 0; i < RDT_READERS_MAX; i++) rdt_buffer_destroy(&self->input[i]);
    rdt_buffer_destroy(&self->table);
    for (int i = 0; i < RDT_OP_OUTPUTS_MAX; i++) rdt_buffer_destroy(&self->results[i]);
    redtune_workspace_destroy(self->workspace);
    redtune_plan_destroy(self->plan);
}

static redtune_status read_elements(segments_reading *self, int input, void *buffer, size_t bytes,
                                    redtune_error *err) {
    size_t filled = 0;
    redtune_status status = rdt_readers_fill(&self->readers, input, buffer, bytes, &filled, err);
    if (status) return status;
    self->read_count[input] += filled / self->readers.element_bytes[input];
    if (filled == bytes) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce segments: %s ends after %" PRIu64
                    " elements, and the last segment at %" PRIu64,
                    self->readers.count < 2 ? "the input" : rdt_readers_name(&self->readers, input),
                    self->read_count[input], self->offsets[self->count]);
}

/* Passes over the elements in front of number `end`. */
static redtune_status pass_over(segments_reading *self, uint64_t end, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; i < self->readers.count; i++) {
        while (!status && self->read_count[i] < end) {
            const uint64_t bytes = (end - self->read_count[i]) * self->readers.element_bytes[i];
            status = read_elements(self, i, self->staging.data,
                                   bytes < STAGING_BYTES ? (size_t)bytes : STAGING_BYTES, err);
        }
    }
    return status;
}

static redtune_status carry_elements(segments_reading *self, uint64_t count, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; i < self->readers.count; i++) {
        const uint64_t bytes = count * self->readers.element_bytes[i];
        for (uint64_t done = 0, more; !status && done < bytes; done += more) {
            more = bytes - done < STAGING_BYTES ? bytes - done : STAGING_BYTES;
            status = read_elements(self, i, self->staging.data, (size_t)more, err);
            if (!status)
                status = rdt_buffer_write(self->driver, self->input[i].address + done,
                                          self->staging.data, (size_t)more, self->stream, err);
        }
    }
    return status;
}

/* Where element 0 of an input would be if the first one on the GPU is that of segment `first`:
 * offsets count from there. */
static const void *origin_of(const segments_reading *self, int input, uint64_t first) {
    const uint64_t before = self->offsets[first] * self->readers.element_bytes[input];
    return (const void *)(uintptr_t)(self->input[input].address - before);
}

static redtune_status run_piece(segments_reading *self, uint64_t first, uint64_t end,
                                redtune_error *err) {
    const bool two = rdt_op_find(self->problem.op)->inputs > 1;
    const int mask = rdt_readers_mask(&self->readers);
    const redtune_segments segments = {
        .d_in = origin_of(self, 0, first),
        .d_second = two ? origin_of(self, 1, first) : NULL,
        .d_mask = mask > 0 ? origin_of(self, mask, first) : NULL,
        .count = end - first,
        .d_begin = (const void *)(uintptr_t)self->table.address,
        .d_out = {(void *)(uintptr_t)self->results[0].address,
                  (void *)(uintptr_t)self->results[1].address},
        .workspace = self->workspace,
        .parameters = self->parameters,
    };
    double elapsed_ns = 0;
    redtune_status status =
        rdt_buffer_write(self->driver, self->table.address, self->offsets + first,
                         (end - first + 1) * sizeof *self->offsets, self->stream, err);
    if (!status) status = rdt_timer_start(&self->timer, self->stream, err);
    if (!status) status = redtune_plan_run_segments(self->plan, &segments, self->stream, err);
    if (!status) status = rdt_timer_stop(&self->timer, self->stream, err);
    if (!status) status = rdt_timer_read(&self->timer, &elapsed_ns, err);
    self->so_far.kernel_ns += elapsed_ns;
    self->so_far.pieces++;
    for (int i = 0; !status && i < RDT_OP_OUTPUTS_MAX && self->result_bytes[i]; i++)
        status = rdt_buffer_read(self->driver, self->out[i] + first * self->result_bytes[i],
                                 self->results[i].address, (end - first) * self->result_bytes[i],
                                 self->stream, err);
    return status;
}

/* ---- a segment that is longer than a piece --------------------------------------------------- */

typedef struct rest {
    segments_reading *reading;
    int input;
    uint64_t left_bytes;
} rest;

static redtune_status read_rest(void *user, void *buffer, size_t capacity, size_t *bytes,
                                redtune_error *err) {
    rest *self = user;
    size_t more = capacity - capacity % self->reading->readers.element_bytes[self->input];
    if (more > self->left_bytes) more = (size_t)self->left_bytes;
    redtune_status status = read_elements(self->reading, self->input, buffer, more, err);
    if (status) return status;
    self->left_bytes -= more;
    *bytes = more;
    return REDTUNE_OK;
}

static redtune_status reduce_long(segments_reading *self, uint64_t i, redtune_error *err) {
    redtune_problem problem = self->problem;
    problem.segmented = REDTUNE_SEGMENTED_NOT;
    const uint64_t count = self->offsets[i + 1] - self->offsets[i];
    problem.median = problem.greatest = 0;
    rdt_problem_axes_set(&problem, (rdt_extents){.count = count});
    rest from[RDT_READERS_MAX];
    redtune_input inputs[RDT_READERS_MAX], *input = NULL;
    for (int k = self->readers.count; k-- > 0; input = &inputs[k]) {
        from[k] = (rest){self, k, count * self->readers.element_bytes[k]};
        inputs[k] = (redtune_input){.read = read_rest, .user = &from[k], .second = input};
    }
    input->parameters = self->parameters;
    redtune_reading reading;
    redtune_status status = rdt_input_reduce(self->rt, &problem, input, &reading, err);
    if (status) return status;
    memcpy(self->out[0] + i * self->result_bytes[0], &reading.value, self->result_bytes[0]);
    if (self->result_bytes[1])
        memcpy(self->out[1] + i * self->result_bytes[1], &reading.second, self->result_bytes[1]);
    self->so_far.kernel_ns += reading.kernel_ns;
    self->so_far.pieces += reading.pieces;
    return REDTUNE_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static redtune_status reduce_segments(segments_reading *self, redtune_error *err) {
    const uint64_t *offsets = self->offsets;
    redtune_status status = pass_over(self, offsets[0], err);
    for (uint64_t first = 0, end; !status && first < self->count; first = end) {
        end = first;
        while (end < self->count && end - first < self->most_segments &&
               offsets[end + 1] - offsets[first] <= self->most_elements)
            end++;
        if (end == first) {
            end = first + 1;
            status = reduce_long(self, first, err);
            continue;
        }
        status = carry_elements(self, offsets[end] - offsets[first], err);
        if (!status) status = run_piece(self, first, end, err);
    }
    return status;
}

/* What follows the last segment belongs to none. */
static redtune_status read_to_end(segments_reading *self, redtune_error *err) {
    for (int i = 0; i < self->readers.count; i++) {
        for (size_t bytes = 1; bytes;) {
            redtune_status status =
                rdt_readers_read(&self->readers, i, self->staging.data, STAGING_BYTES, &bytes, err);
            if (status) return status;
            self->read_count[i] += bytes / self->readers.element_bytes[i];
        }
    }
    int other = 1;
    while (other < self->readers.count && self->read_count[other] == self->read_count[0]) other++;
    if (other == self->readers.count) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce segments: %s has %" PRIu64 " elements, and %s %" PRIu64,
                    rdt_readers_name(&self->readers, 0), self->read_count[0],
                    rdt_readers_name(&self->readers, other), self->read_count[other]);
}

static redtune_status check_room(const segments_reading *self, const void *results, size_t bytes,
                                 redtune_error *err) {
    const size_t second = (self->count * self->result_bytes[0] + 15) / 16 * 16;
    const size_t needed = self->result_bytes[1] ? second + self->count * self->result_bytes[1]
                                                : self->count * self->result_bytes[0];
    const CUdeviceptr place = (uintptr_t)results, offsets = (uintptr_t)self->offsets;
    const rdt_span written = {place, place + needed},
                   read = {offsets, offsets + (self->count + 1) * sizeof *self->offsets};
    if (bytes >= needed && results && rdt_scratch_pool_overlap(&written, &read))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce segments into %p: the results overlap offsets, which are at "
                        "%p; give them memory of their own",
                        results, (const void *)self->offsets);
    if (bytes >= needed && (results || !needed)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce %" PRIu64
                    " segments into %zu bytes: their results take %zu, in memory that is not NULL",
                    self->count, bytes, needed);
}

static redtune_status resolve_segments(segments_reading *self, const redtune_problem *problem,
                                       const redtune_input *input, redtune_error *err) {
    redtune_problem room, asked = *rdt_runtime_order(self->rt, problem, &room);
    if (problem->segmented != REDTUNE_SEGMENTED_EACH)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce segments of an input: set problem->segmented to "
                        "REDTUNE_SEGMENTED_EACH; for one result of all reduce the whole input");
    redtune_status status = check_offsets(self->offsets, self->count, err);
    if (!status && !rdt_problem_count(&asked)) status = set_lengths(&asked, self->offsets, err);
    if (!status) status = rdt_runtime_resolve(self->rt, &asked, &self->problem, err);
    if (!status) status = rdt_readers_open(&self->problem, input, &self->readers, err);
    if (status) return status;
    self->so_far.dtype = self->problem.result;
    self->so_far.second_dtype = rdt_problem_second(&self->problem);
    self->result_bytes[0] = redtune_dtype_bytes(self->so_far.dtype);
    self->result_bytes[1] = redtune_dtype_bytes(self->so_far.second_dtype);
    return REDTUNE_OK;
}

redtune_status redtune_reduce_segments_input(redtune *rt, const redtune_problem *problem,
                                             const redtune_input *input, const uint64_t *offsets,
                                             void *results, size_t bytes, redtune_reading *out,
                                             redtune_error *err) {
    static const uint64_t no_offsets[] = {0};
    if (!rt || !problem || !input || !input->read || !out ||
        (!offsets && rdt_problem_segments_count(problem)))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce segments of an input: rt, problem, input, input->read, "
                        "offsets or out is NULL");
    segments_reading self = {
        .rt = rt, .driver = rt->context->driver, .offsets = offsets ? offsets : no_offsets};
    const double begun = rdt_clock_ns();
    self.count = rdt_problem_segments_count(problem);
    self.parameters = input->parameters;
    redtune_status status = resolve_segments(&self, problem, input, err);
    if (!status) status = check_room(&self, results, bytes, err);
    if (status) return status;
    self.out[0] = results;
    self.out[1] = self.out[0] + (self.count * self.result_bytes[0] + 15) / 16 * 16;
    bool entered = false;
    status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    status = size_pieces_of(&self, err);
    if (!status) status = open_buffers_of(&self, err);
    if (!status) status = reduce_segments(&self, err);
    if (!status) status = read_to_end(&self, err);
    if (!status) {
        self.so_far.count = self.read_count[0];
        redtune_plan_info(self.plan, &self.so_far.info);
        *out = self.so_far;
    }
    close_buffers_of(&self);
    rdt_context_leave(rt->context, entered);
    if (!status) rdt_input_log(rt, __func__, &self.problem, out, begun);
    return status;
}
