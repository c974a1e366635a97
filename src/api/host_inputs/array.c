/* Array: reducing an array that is not on the GPU along some of its axes.
 *
 * The elements come in the order of memory, so that the array is cut along its outer extent: a
 * piece is as many whole outer indices as the GPU has room for, reduced like any other memory of
 * the GPU's, and its results are the next ones of all. An array of any axes goes the way of
 * array_axes.c. A whole array, or a row too long for the GPU's memory, is an input of its own,
 * which redtune_reduce_input takes in pieces and combines. Columns of which a single outer index
 * does not fit are cut along the reduced axis, too: a piece is some rows of one outer index, and
 * its results go on from those of the rows before. Columns of an op whose results do not say what
 * they were made of, as means, are refused then, and so are those in fixed order: a column's pieces
 * would meet one after the other, not by its tree. */
#include "api/host_inputs/array_reading.h"
#include "api/host_inputs/input.h"

#include <inttypes.h>

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Elements from the first to the last one of `outer` outer indices. */
static uint64_t span(const rdt_array_reading *self, uint64_t outer) {
    return self->index_elements ? (outer - 1) * self->extents.outer_step + self->index_elements : 0;
}

/* Elements from the first to the last one of `rows` rows of an outer index. */
static uint64_t span_of_rows(const rdt_array_reading *self, uint64_t rows) {
    return (rows - 1) * self->extents.step + self->extents.inner;
}

static redtune_status too_large(const rdt_array_reading *self, uint64_t bytes, uint64_t room,
                                redtune_error *err) {
    char what[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(&self->problem, what);
    rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
             "cannot reduce an array to the %s: one outer index of it and its results take "
             "%" PRIu64 " bytes of the GPU's memory, of which %" PRIu64
             " are free; cut the array along its last axis",
             what, bytes, 2 * room);
    return rdt_runtime_name_order(self->rt, &self->problem, REDTUNE_UNSUPPORTED, err);
}

/* As many rows as fit, if results can go on from those of others: of a compensated sum a result
 * does not say what was lost. */
static redtune_status size_rows(rdt_array_reading *self, uint64_t alone, uint64_t room,
                                redtune_error *err) {
    const rdt_extents *extents = &self->extents;
    const uint64_t row_bytes = extents->step * self->all_bytes;
    const uint64_t one =
        extents->inner * (self->all_bytes + self->result_bytes[0] + self->result_bytes[1]);
    const uint64_t wanted = room < RDT_ARRAY_PIECE_BYTES_MAX ? room : RDT_ARRAY_PIECE_BYTES_MAX;
    if (!rdt_op_find(self->problem.op)->resumes ||
        self->problem.accuracy != REDTUNE_ACCURACY_PLAIN ||
        self->problem.order == REDTUNE_ORDER_FIXED || extents->step < extents->inner)
        return too_large(self, alone, room, err);
    if (one > room) return too_large(self, one, room, err);
    self->rows_per_piece = 1 + (wanted > one ? (wanted - one) / row_bytes : 0);
    self->per_piece = 1;
    return REDTUNE_OK;
}

/* per_piece is 0 for what goes the way of redtune_reduce_input. */
static redtune_status size_pieces(rdt_array_reading *self, redtune_error *err) {
    const rdt_extents *extents = &self->extents;
    uint64_t room = 0;
    redtune_status status = rdt_array_reading_room(self, &room, err);
    if (status) return status;
    const uint64_t inputs_bytes = self->all_bytes;
    const uint64_t results = extents->inner * (self->result_bytes[0] + self->result_bytes[1]);
    const uint64_t alone = self->index_elements * inputs_bytes + results;
    const uint64_t wanted = room < RDT_ARRAY_PIECE_BYTES_MAX ? room : RDT_ARRAY_PIECE_BYTES_MAX;
    uint64_t each = extents->outer_step * inputs_bytes + results;
    if (!self->index_elements) each = results;
    if (alone > room && (extents->inner > 1 || extents->step > 1))
        return size_rows(self, alone, room, err);
    const bool whole = rdt_problem_layout_of(extents) == RDT_LAYOUT_WHOLE;
    self->per_piece = whole || alone > room ? 0 : alone >= wanted ? 1 : 1 + (wanted - alone) / each;
    if (self->per_piece > extents->outer) self->per_piece = extents->outer;
    return REDTUNE_OK;
}

static redtune_status open_piece(rdt_array_reading *self, redtune_error *err) {
    const uint64_t per_piece = self->per_piece, rows = self->rows_per_piece;
    redtune_problem piece = self->problem;
    rdt_extents extents = rdt_problem_axes_written(&self->problem);
    extents.outer = per_piece;
    if (rows) {
        extents.count = rows;
        piece.uses |= REDTUNE_USE_ACCUMULATE;
    }
    if (self->initial) piece.uses |= REDTUNE_USE_INITIAL;
    rdt_problem_axes_set(&piece, extents);
    const uint64_t elements = rows ? span_of_rows(self, rows) : span(self, per_piece);
    const uint64_t of_each[RDT_READERS_MAX] = {elements, elements};
    return rdt_array_reading_open(self, &piece, of_each, per_piece * self->extents.inner, err);
}

static void *begin_of(const rdt_buffer *buffer) { return (void *)(uintptr_t)buffer->address; }

/* Reduces the piece that lies on the GPU: `count` elements for each result of `outer` outer
 * indices. goes_on: from the results that are there. */
static redtune_status reduce_piece(rdt_array_reading *self, uint64_t count, uint64_t outer,
                                   bool goes_on, redtune_error *err) {
    const rdt_extents *extents = &self->extents;
    const redtune_operands operands = {
        .d_in = {begin_of(&self->elements[0]),
                 self->readers.masked ? NULL : begin_of(&self->elements[1])},
        .d_mask = self->readers.masked ? begin_of(&self->elements[1]) : NULL,
        .d_out = {begin_of(&self->results[0]), begin_of(&self->results[1])},
        .count = count,
        .outer = outer,
        .inner = extents->inner,
        .outer_step = extents->outer_step,
        .step = extents->step,
    };
    return rdt_array_reading_run(self, NULL, operands, goes_on, err);
}

/* The results of one outer index, from piece to piece of its rows. */
static redtune_status reduce_by_rows(rdt_array_reading *self, redtune_error *err) {
    const rdt_extents *extents = &self->extents;
    redtune_status status = REDTUNE_OK;
    for (uint64_t left = extents->count, rows; !status && left; left -= rows) {
        rows = left < self->rows_per_piece ? left : self->rows_per_piece;
        status = rdt_array_reading_carry_all(self, span_of_rows(self, rows), err);
        if (!status && rows < left)
            status = rdt_array_reading_skip_all(self, extents->step - extents->inner, err);
        if (!status) status = reduce_piece(self, rows, 1, left < extents->count, err);
    }
    return status;
}

static redtune_status reduce_in_pieces(rdt_array_reading *self, redtune_error *err) {
    redtune_status status = open_piece(self, err);
    for (uint64_t left = self->extents.outer, outer; !status && left; left -= outer) {
        outer = left < self->per_piece ? left : self->per_piece;
        if (self->rows_per_piece) {
            status = reduce_by_rows(self, err);
        } else {
            status = rdt_array_reading_carry_all(self, span(self, outer), err);
            if (!status) status = reduce_piece(self, self->extents.count, outer, false, err);
        }
        if (!status) status = rdt_array_reading_take(self, outer * self->extents.inner, err);
        /* What lies behind a piece may be more than the GPU has room for. */
        if (!status && outer < left && self->index_elements)
            status = rdt_array_reading_skip_all(
                self, self->extents.outer_step - self->index_elements, err);
    }
    if (!status) redtune_plan_info(self->plan, &self->so_far.info);
    rdt_array_reading_close(self);
    return status;
}

/* ---- rows as inputs of their own ------------------------------------------------------------ */

static redtune_status reduce_rows(rdt_array_reading *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (uint64_t left = self->extents.outer; !status && left; left--) {
        status = rdt_array_reading_reduce_next(self, self->problem, self->extents.count, err);
        if (!status && left > 1)
            status = rdt_array_reading_skip_all(
                self, self->extents.outer_step - self->extents.count, err);
    }
    return status;
}

/* ---- the array ------------------------------------------------------------------------------- */

static redtune_status check_extents(const rdt_array_reading *self, size_t bytes,
                                    redtune_error *err) {
    const rdt_extents *extents = &self->extents;
    const uint64_t results = extents->outer * extents->inner;
    const uint64_t wanted = rdt_array_reading_results_bytes(self, results);
    const char *second = redtune_dtype_name(self->so_far.second_dtype);
    if (bytes != wanted)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce an array: its %" PRIu64 " results of %s%s%s take %" PRIu64
                        " bytes, not %zu",
                        results, redtune_dtype_name(self->problem.result), second ? " and " : "",
                        second ? second : "", wanted, bytes);
    if (extents->outer > 1 && extents->outer_step < self->index_elements)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce an array that is not on the GPU: its outer indices overlap "
                        "(outer_step %" PRIu64 ", of %" PRIu64
                        " elements each); copy it to a packed array",
                        extents->outer_step, self->index_elements);
    return REDTUNE_OK;
}

redtune_status redtune_reduce_array(redtune *rt, const redtune_problem *problem,
                                    const redtune_input *input, void *results, size_t bytes,
                                    redtune_reading *out, redtune_error *err) {
    if (!rt || !input || !input->read || !results || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce an array: rt, input, input->read, results or out is NULL");
    const double begun = rdt_clock_ns();
    rdt_array_reading self = {.rt = rt,
                              .driver = rt->context->driver,
                              .what = "an array",
                              .parameters = input->parameters,
                              .initial = input->initial};
    redtune_problem room;
    problem = rdt_runtime_order(rt, problem, &room);
    redtune_status status = rdt_runtime_resolve(rt, problem, &self.problem, err);
    if (!status && rdt_problem_is_keyed(&self.problem)) {
        status = rdt_keyed_input_reduce(rt, &self.problem, input, results, bytes, out, err);
        if (!status) rdt_input_log(rt, __func__, &self.problem, out, begun);
        return status;
    }
    if (!status) status = rdt_readers_open(&self.problem, input, &self.readers, err);
    if (status) return status;
    self.extents = rdt_problem_extents(&self.problem);
    self.all_bytes = rdt_problem_input_bytes(&self.problem);
    rdt_array_reading_describe(&self);
    rdt_array_reading_begin(&self, results, self.extents.outer * self.extents.inner);
    if (self.extents.count)
        self.index_elements = (self.extents.count - 1) * self.extents.step + self.extents.inner;
    self.span[0] = self.span[1] = span(&self, self.extents.outer);
    status = check_extents(&self, bytes, err);
    if (status) return status;
    bool entered = false;
    status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    if (rdt_problem_is_strided(&self.problem)) {
        status = rdt_array_axes_reduce(&self, err);
    } else {
        status = size_pieces(&self, err);
        if (!status)
            status = self.per_piece ? reduce_in_pieces(&self, err) : reduce_rows(&self, err);
    }
    self.so_far.count = self.read_count[0];
    if (!status) *out = self.so_far;
    rdt_context_leave(rt->context, entered);
    if (!status) rdt_input_log(rt, __func__, &self.problem, out, begun);
    return status;
}
