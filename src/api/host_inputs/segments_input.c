/* Segments input: reducing segments of elements that are not on the GPU.
 *
 * Elements come in their order, so that a piece is as many whole segments as the GPU has room for,
 * reduced like any other segments, and its results are the next ones of all. A segment too long for
 * a piece is an input of its own, which redtune_reduce_input takes in pieces and combines. */
#include "api/host_inputs/array_reading.h"
#include "api/host_inputs/input.h"
#include "api/running/list.h"

#include <inttypes.h>
#include <stdlib.h>
#include "model/segment_lengths.h"

enum { PIECE_SEGMENTS_MAX = 1 << 24 };

typedef struct segments_reading {
    rdt_array_reading array;
    const uint64_t *offsets;
    uint64_t count;                        /* of segments */
    uint64_t most_elements, most_segments; /* of a piece */
    rdt_buffer table;
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

static redtune_status size_pieces_of(segments_reading *self, redtune_error *err) {
    const rdt_array_reading *array = &self->array;
    uint64_t free_bytes = 0;
    redtune_status status = rdt_context_free_bytes(array->rt->context, &free_bytes, err);
    if (status) return status;
    const uint64_t all = self->offsets[self->count] - self->offsets[0];
    const uint64_t each = sizeof *self->offsets + array->result_bytes[0] + array->result_bytes[1];
    const uint64_t share = free_bytes / 4;
    const uint64_t bytes = share < RDT_ARRAY_PIECE_BYTES_MAX ? share : RDT_ARRAY_PIECE_BYTES_MAX;
    self->most_elements = bytes / rdt_problem_input_bytes(&array->problem);
    self->most_segments = share / each;
    if (self->most_elements > all) self->most_elements = all;
    if (self->most_segments > PIECE_SEGMENTS_MAX) self->most_segments = PIECE_SEGMENTS_MAX;
    if (self->most_segments > self->count) self->most_segments = self->count;
    return REDTUNE_OK;
}

static redtune_status open_buffers_of(segments_reading *self, redtune_error *err) {
    const uint64_t most = self->most_elements, elements[RDT_READERS_MAX] = {most, most, most, most};
    redtune_status status = rdt_buffer_create(
        self->array.driver, (self->most_segments + 1) * sizeof *self->offsets, &self->table, err);
    return status ? status
                  : rdt_array_reading_open(&self->array, &self->array.problem, elements,
                                           self->most_segments, err);
}

/* Where element 0 of an input would be if the first one on the GPU is that of segment `first`:
 * offsets count from there. */
static const void *origin_of(const segments_reading *self, int input, uint64_t first) {
    const uint64_t before = self->offsets[first] * self->array.readers.element_bytes[input];
    return (const void *)(uintptr_t)(self->array.elements[input].address - before);
}

static redtune_status run_piece(segments_reading *self, uint64_t first, uint64_t end,
                                redtune_error *err) {
    rdt_array_reading *array = &self->array;
    const bool two = rdt_op_find(array->problem.op)->inputs > 1;
    const int mask = rdt_readers_mask(&array->readers);
    const CUstream stream = array->carriers[0].stream;
    const redtune_segments segments = {
        .d_in = origin_of(self, 0, first),
        .d_second = two ? origin_of(self, 1, first) : NULL,
        .d_mask = mask > 0 ? origin_of(self, mask, first) : NULL,
        .count = end - first,
        .d_begin = (const void *)(uintptr_t)self->table.address,
        .d_out = {(void *)(uintptr_t)array->results[0].address,
                  (void *)(uintptr_t)array->results[1].address},
        .workspace = array->workspace,
        .parameters = array->parameters,
    };
    redtune_status status =
        rdt_buffer_write(array->driver, self->table.address, self->offsets + first,
                         (end - first + 1) * sizeof *self->offsets, stream, err);
    if (!status) status = rdt_array_reading_start(array, err);
    if (!status) status = redtune_plan_run_segments(array->plan, &segments, stream, err);
    if (!status) status = rdt_array_reading_stop(array, err);
    return status ? status : rdt_array_reading_take(array, end - first, err);
}

/* A segment that is longer than a piece. */
static redtune_status reduce_long(segments_reading *self, uint64_t i, redtune_error *err) {
    redtune_problem problem = self->array.problem;
    problem.segmented = REDTUNE_SEGMENTED_NOT;
    problem.median = problem.greatest = 0;
    return rdt_array_reading_reduce_next(&self->array, problem,
                                         self->offsets[i + 1] - self->offsets[i], err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static redtune_status reduce_segments(segments_reading *self, redtune_error *err) {
    const uint64_t *offsets = self->offsets;
    redtune_status status = rdt_array_reading_skip_all(&self->array, offsets[0], err);
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
        status = rdt_array_reading_carry_all(&self->array, offsets[end] - offsets[first], err);
        if (!status) status = run_piece(self, first, end, err);
    }
    return status;
}

/* What follows the last segment belongs to none. */
static redtune_status read_to_end(rdt_array_reading *self, redtune_error *err) {
    _Alignas(16) char behind[RDT_ARRAY_PASSED_BYTES];
    for (int i = 0; i < self->readers.count; i++) {
        for (size_t bytes = 1; bytes;) {
            redtune_status status =
                rdt_readers_read(&self->readers, i, behind, sizeof behind, &bytes, err);
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
    const size_t needed = rdt_array_reading_results_bytes(&self->array, self->count);
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
    rdt_array_reading *array = &self->array;
    redtune_problem room, asked = *rdt_runtime_order(array->rt, problem, &room);
    if (problem->segmented != REDTUNE_SEGMENTED_EACH)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce segments of an input: set problem->segmented to "
                        "REDTUNE_SEGMENTED_EACH; for one result of all reduce the whole input");
    redtune_status status = check_offsets(self->offsets, self->count, err);
    if (!status && !rdt_problem_count(&asked)) status = set_lengths(&asked, self->offsets, err);
    if (!status) status = rdt_runtime_resolve(array->rt, &asked, &array->problem, err);
    if (!status) status = rdt_readers_open(&array->problem, input, &array->readers, err);
    if (!status) rdt_array_reading_describe(array);
    return status;
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
        .array = {.rt = rt,
                  .driver = rt->context->driver,
                  .what = "segments",
                  .parameters = input->parameters},
        .offsets = offsets ? offsets : no_offsets,
        .count = rdt_problem_segments_count(problem),
    };
    rdt_array_reading *array = &self.array;
    const double begun = rdt_clock_ns();
    redtune_status status = resolve_segments(&self, problem, input, err);
    if (!status) status = check_room(&self, results, bytes, err);
    if (status) return status;
    rdt_array_reading_begin(array, results, self.count);
    for (int i = 0; i < RDT_READERS_MAX; i++) array->span[i] = self.offsets[self.count];
    bool entered = false;
    status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    status = size_pieces_of(&self, err);
    if (!status) status = open_buffers_of(&self, err);
    if (!status) status = reduce_segments(&self, err);
    if (!status) status = read_to_end(array, err);
    if (!status) {
        array->so_far.count = array->read_count[0];
        redtune_plan_info(array->plan, &array->so_far.info);
        *out = array->so_far;
    }
    rdt_buffer_destroy(&self.table);
    rdt_array_reading_close(array);
    rdt_context_leave(rt->context, entered);
    if (!status) rdt_input_log(rt, __func__, &array->problem, out, begun);
    return status;
}
