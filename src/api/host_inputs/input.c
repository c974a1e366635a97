/* Input: reducing elements that are not on the GPU, piece by piece.
 *
 * The host fills one set of buffers while the GPU reduces the other's. An input of one piece is
 * reduced like any other memory of the GPU's. Of more pieces each leaves an accumulator in a slot
 * of its own, moved to the index of the piece's first element; at the end, and whenever the slots
 * are full, they are combined into the first. Only the end divides, takes a root or rounds, so that
 * integers come out as from one piece.
 *
 * In fixed order a piece is a power of two of chunks, except the last, and SLOTS of them a group,
 * whose accumulator is kept apart: pieces and groups are nodes of the tree of docs/order.md, so
 * that the result has the bits of one piece.
 *
 * A reader gives what it has, so that the pieces are as long as the first input's reader makes
 * them; the others, of a second input and a mask, are read until a piece has as many of theirs. A
 * piece of two inputs with a mask is one of any axes, of which it has one, without gaps. */
#include "api/host_inputs/input.h"

#include <inttypes.h>
#include "api/host_inputs/readers.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "gpu/timer.h"

enum { SETS = 2, PIECE_BYTES_MAX = 64 << 20, PIECE_BYTES_MIN = 1 << 12, SLOTS = 1024 };

/* What one piece takes. */
typedef struct buffers {
    rdt_pinned staging[RDT_READERS_MAX];
    rdt_buffer input[RDT_READERS_MAX];
    rdt_timer timer;
    CUstream stream;
    size_t filled_bytes; /* of the first staging */
    uint64_t filled;     /* elements of each */
    bool busy;           /* the GPU reduces it */
} buffers;

typedef struct reading {
    redtune *rt;
    const rdt_driver *driver;
    rdt_readers readers;
    const double *parameters; /* the caller's; NULL: the usual ones */
    const redtune_value *initial;
    bool part;               /* what is wanted is an accumulator, to be joined with others */
    redtune_problem problem; /* resolved */
    redtune_plan *plan;
    size_t piece_bytes, element_bytes; /* a piece of one input */
    buffers sets[SETS];
    rdt_buffer slots; /* SLOTS, one for the result, and SLOTS of groups */
    uint32_t slot_count;
    uint32_t group_count; /* in fixed order */
    uint64_t read_count;  /* elements of the first input; some are still to be reduced */
    redtune_reading so_far;
} reading;

static bool is_fixed(const reading *self) { return self->problem.order == REDTUNE_ORDER_FIXED; }

/* Pieces no larger than what is expected to come, nor than what the GPU has room for. They hold
 * whole elements, which any multiple of 16 bytes does; rounding down would leave the last few
 * elements of an input that fits for a second piece. */
static redtune_status choose_piece(reading *self, redtune_error *err) {
    const uint64_t expected = rdt_problem_count(&self->problem);
    uint64_t free_bytes = 0;
    redtune_status status = rdt_context_free_bytes(self->rt->context, &free_bytes, err);
    if (status) return status;
    size_t bytes = PIECE_BYTES_MAX;
    if (expected && expected < bytes / self->element_bytes) bytes = expected * self->element_bytes;
    const size_t shares = (size_t)(2 * SETS * self->readers.count);
    while (bytes > free_bytes / shares && bytes > PIECE_BYTES_MIN) bytes /= 2;
    if (bytes < PIECE_BYTES_MIN) bytes = PIECE_BYTES_MIN;
    self->piece_bytes = (bytes + 15) / 16 * 16;
    if (is_fixed(self))
        for (self->piece_bytes = PIECE_BYTES_MIN; self->piece_bytes < bytes;)
            self->piece_bytes *= 2;
    return REDTUNE_OK;
}

/* Kernels read whole slots, of which an accumulator may be the first part. */
static redtune_status zero_slots(reading *self, redtune_error *err) {
    const CUstream stream = self->sets[0].stream;
    CUresult rc = self->driver->memset_d8_async(self->slots.address, 0, self->slots.bytes, stream);
    if (!rc) rc = self->driver->stream_synchronize(stream);
    return rdt_driver_check(self->driver, rc, err, "clear %zu bytes", self->slots.bytes);
}

static redtune_status open_buffers(reading *self, redtune_error *err) {
    const rdt_driver *driver = self->driver;
    redtune_status status = rdt_buffer_create(
        driver, (size_t)(2 * SLOTS + 1) * RDT_ACCUMULATOR_BYTES_MAX, &self->slots, err);
    for (int i = 0; !status && i < SETS; i++) {
        buffers *set = &self->sets[i];
        for (int k = 0; !status && k < self->readers.count; k++) {
            status = rdt_buffer_create_pinned(driver, self->piece_bytes, &set->staging[k], err);
            if (!status) status = rdt_buffer_create(driver, self->piece_bytes, &set->input[k], err);
        }
        if (!status) status = rdt_timer_create(driver, &set->timer, err);
        if (!status) status = rdt_stream_create(driver, &set->stream, err);
    }
    return status ? status : zero_slots(self, err);
}

static void close_buffers(reading *self) {
    for (int i = 0; i < SETS; i++) {
        buffers *set = &self->sets[i];
        if (set->stream) self->driver->stream_synchronize(set->stream);
        rdt_stream_destroy(self->driver, set->stream);
        rdt_timer_destroy(&set->timer);
        for (int k = 0; k < self->readers.count; k++) {
            rdt_buffer_destroy(&set->input[k]);
            rdt_buffer_destroy_pinned(&set->staging[k]);
        }
    }
    rdt_buffer_destroy(&self->slots);
}

static CUdeviceptr slot_address(const reading *self, uint32_t index) {
    const size_t bytes = rdt_plan_executable(self->plan)->launch.slot_bytes;
    return self->slots.address + (CUdeviceptr)index * bytes;
}

/* ---- one piece ------------------------------------------------------------------------------- */

/* A second input and a mask have an element for each of the first: `elements` more, or all end. */
static redtune_status read_beside(const reading *self, buffers *set, int input, uint64_t elements,
                                  redtune_error *err) {
    const size_t each = self->readers.element_bytes[input], bytes = elements * each;
    const bool mask = input == rdt_readers_mask(&self->readers);
    const char *both = mask ? "with a mask" : "two inputs";
    const char *second = mask ? "the mask" : "the second";
    size_t filled = 0;
    const size_t wanted = bytes ? bytes : each;
    redtune_status status =
        rdt_readers_fill(&self->readers, input, set->staging[input].data, wanted, &filled, err);
    if (status || filled == bytes) return status;
    if (bytes)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %s: %s ends after %" PRIu64
                        " elements, where the first goes on",
                        both, second, self->read_count + filled / each);
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce %s: the first ends after %" PRIu64 " elements, where %s goes on",
                    both, self->read_count, second);
}

/* Reads the next piece; filled_bytes is 0 at the end. */
static redtune_status read_piece(reading *self, buffers *set, redtune_error *err) {
    size_t bytes = 0;
    redtune_status status = (is_fixed(self) ? rdt_readers_fill : rdt_readers_read)(
        &self->readers, 0, set->staging[0].data, self->piece_bytes, &bytes, err);
    set->filled = bytes / self->element_bytes;
    for (int k = 1; !status && k < self->readers.count; k++)
        status = read_beside(self, set, k, set->filled, err);
    if (status) return status;
    self->read_count += set->filled;
    set->filled_bytes = bytes;
    return REDTUNE_OK;
}

/* Moves the accumulator of the piece to where the piece begins. */
static redtune_status move_accumulator(const reading *self, CUdeviceptr accumulator,
                                       CUstream stream, redtune_error *err) {
    if (!rdt_op_find(self->problem.op)->indexed) return REDTUNE_OK;
    const rdt_combination alone = {
        .slots = accumulator, .slot_count = 1, .first = self->so_far.count};
    return rdt_kernel_combine(rdt_plan_executable(self->plan)->kernel, alone, stream, err);
}

/* Where the second result goes, whose first goes there: both are of at most 8 bytes. */
static CUdeviceptr second_of(CUdeviceptr result) { return result + RDT_ACCUMULATOR_BYTES / 2; }

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

static void set_elements(redtune_problem *problem, uint64_t count) {
    if (!rdt_problem_is_strided(problem)) {
        rdt_problem_axes_set_count(problem, count);
        return;
    }
    /* An axis of one element or none has no steps. */
    problem->reduced[0] = (redtune_axis){
        .size = count,
        .step = {[REDTUNE_ARRAY_X] = 1, [REDTUNE_ARRAY_Y] = 1, [REDTUNE_ARRAY_MASK] = 1}};
}

/* That many elements, by the plan. */
static redtune_status run_elements(const reading *self, const redtune_operands *operands,
                                   CUstream stream, redtune_error *err) {
    redtune_problem problem = self->plan->problem;
    rdt_operands own;
    const redtune_operands *more = NULL;
    if (!rdt_problem_is_strided(&problem))
        return redtune_plan_run(self->plan, operands, stream, err);
    set_elements(&problem, operands->count);
    redtune_status status = rdt_plan_set_operands(self->rt, operands, &own, &more, err);
    own.extents = (rdt_extents){.count = operands->count};
    return status ? status : rdt_plan_run(self->plan, &problem, &own, more, stream, err);
}

/* Reduces the piece to what the plan leaves, in the next slot. */
static redtune_status start_piece(reading *self, buffers *set, redtune_error *err) {
    const uint64_t count = set->filled;
    const int mask = rdt_readers_mask(&self->readers);
    const void *const second_input = mask == 1 ? NULL : pointer_to(set->input[1].address);
    const CUdeviceptr output = slot_address(self, self->slot_count);
    const bool second = self->so_far.second_dtype && !self->plan->yield;
    const redtune_operands operands = {
        .d_in = {pointer_to(set->input[0].address), second_input},
        .d_mask = mask > 0 ? pointer_to(set->input[mask].address) : NULL,
        .d_out = {pointer_to(output), second ? pointer_to(second_of(output)) : NULL},
        .count = count,
        .parameters = self->parameters,
        .initial = self->plan->yield ? NULL : self->initial,
    };
    redtune_status status = REDTUNE_OK;
    for (int k = 0; !status && k < self->readers.count; k++) {
        CUresult rc =
            self->driver->memcpy_htod_async(set->input[k].address, set->staging[k].data,
                                            count * self->readers.element_bytes[k], set->stream);
        status = rdt_driver_check(self->driver, rc, err, "copy a piece to the GPU");
    }
    if (!status) status = rdt_timer_start(&set->timer, set->stream, err);
    if (!status) status = run_elements(self, &operands, set->stream, err);
    if (!status && self->plan->yield) status = move_accumulator(self, output, set->stream, err);
    if (!status) status = rdt_timer_stop(&set->timer, set->stream, err);
    if (status) return status;
    set->busy = true;
    self->slot_count++;
    self->so_far.count += count;
    self->so_far.pieces++;
    return REDTUNE_OK;
}

/* Waits until the piece is reduced and its buffers can be filled anew. */
static redtune_status finish_piece(reading *self, buffers *set, redtune_error *err) {
    if (!set->busy) return REDTUNE_OK;
    set->busy = false;
    double elapsed_ns = 0;
    redtune_status status = rdt_stream_wait(self->driver, set->stream, err);
    if (!status) status = rdt_timer_read(&set->timer, &elapsed_ns, err);
    self->so_far.kernel_ns += elapsed_ns;
    return status;
}

/* ---- all pieces ------------------------------------------------------------------------------ */

/* The accumulators of `count` slots from `first` on become one, in the first of them; output: where
 * the result goes, if it is to be finished. */
static redtune_status combine_slots(reading *self, uint32_t first, uint32_t count,
                                    CUdeviceptr output, redtune_error *err) {
    buffers *set = &self->sets[0];
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < SETS; i++) status = finish_piece(self, &self->sets[i], err);
    rdt_combination all = {.slots = slot_address(self, first),
                           .slot_count = count,
                           .count = self->so_far.count,
                           .output = output};
    rdt_operands_set_scalars(rdt_op_find(self->problem.op), self->parameters, &all.given);
    if (output) all.given.output = second_of(output);
    if (output) rdt_operands_set_initial(self->initial, &all.given);
    if (!status) status = rdt_timer_start(&set->timer, set->stream, err);
    if (!status)
        status = rdt_kernel_combine(rdt_plan_executable(self->plan)->kernel, all, set->stream, err);
    if (!status) status = rdt_timer_stop(&set->timer, set->stream, err);
    if (status) return status;
    set->busy = true;
    return finish_piece(self, set, err);
}

enum { GROUPS = SLOTS + 1 /* the first slot of theirs */ };

/* The pieces in the slots become a group. */
static redtune_status end_group(reading *self, redtune_error *err) {
    if (self->group_count == SLOTS)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce more than %d pieces of %zu bytes in fixed order",
                        SLOTS * SLOTS, self->piece_bytes);
    const CUdeviceptr group = slot_address(self, GROUPS + self->group_count);
    redtune_status status = combine_slots(self, 0, self->slot_count, 0, err);
    if (status) return status;
    CUresult rc = self->driver->memcpy_dtod_async(
        group, slot_address(self, 0), rdt_plan_executable(self->plan)->launch.slot_bytes,
        self->sets[0].stream);
    self->group_count++;
    self->slot_count = 0;
    status = rdt_driver_check(self->driver, rc, err, "keep what pieces give");
    return status ? status : rdt_stream_wait(self->driver, self->sets[0].stream, err);
}

/* Makes room for the next piece. */
static redtune_status empty_slots(reading *self, redtune_error *err) {
    if (is_fixed(self)) return end_group(self, err);
    redtune_status status = combine_slots(self, 0, self->slot_count, 0, err);
    self->slot_count = 1;
    return status;
}

/* The slot that has the accumulator of all pieces at the end. */
static uint32_t last_slot(const reading *self) { return self->group_count ? GROUPS : 0; }

static redtune_status finish_pieces(reading *self, redtune_error *err) {
    const CUdeviceptr output = self->part ? 0 : slot_address(self, SLOTS);
    if (!self->group_count) return combine_slots(self, 0, self->slot_count, output, err);
    redtune_status status = self->slot_count ? end_group(self, err) : REDTUNE_OK;
    return status ? status : combine_slots(self, GROUPS, self->group_count, output, err);
}

/* An empty input has one piece of no elements, so that the op's own rule gives its value. */
static redtune_status reduce_pieces(reading *self, redtune_error *err) {
    buffers *sets = self->sets;
    redtune_status status = read_piece(self, &sets[0], err);
    if (!status && sets[0].filled_bytes) status = read_piece(self, &sets[1], err);
    const bool whole = !sets[1].filled_bytes;
    const rdt_yield yield = whole && !self->part ? RDT_YIELD_RESULT : RDT_YIELD_ACCUMULATOR;
    redtune_problem piece = self->problem;
    if (self->initial) piece.uses |= REDTUNE_USE_INITIAL;
    set_elements(&piece, (whole ? sets[0].filled_bytes : self->piece_bytes) / self->element_bytes);
    if (!status) status = rdt_plan_make(self->rt, &piece, yield, &self->plan, err);
    if (!status) status = start_piece(self, &sets[0], err);
    if (status || !yield) return status ? status : finish_piece(self, &sets[0], err);
    if (!whole) status = start_piece(self, &sets[1], err);
    for (int turn = 0; !status && !whole; turn = (turn + 1) % SETS) {
        if (self->slot_count == SLOTS) status = empty_slots(self, err);
        if (!status) status = finish_piece(self, &sets[turn], err);
        if (!status) status = read_piece(self, &sets[turn], err);
        if (status || !sets[turn].filled_bytes) break;
        status = start_piece(self, &sets[turn], err);
    }
    return status ? status : finish_pieces(self, err);
}

static redtune_status read_result(reading *self, redtune_error *err) {
    const CUdeviceptr result = slot_address(self, self->plan->yield ? SLOTS : 0);
    const CUstream stream = self->sets[0].stream;
    redtune_reading *out = &self->so_far;
    redtune_status status = rdt_buffer_read(self->driver, &out->value, result,
                                            redtune_dtype_bytes(out->dtype), stream, err);
    if (status || !out->second_dtype) return status;
    return rdt_buffer_read(self->driver, &out->second, second_of(result),
                           redtune_dtype_bytes(out->second_dtype), stream, err);
}

/* ---- an input -------------------------------------------------------------------------------- */

/* Whether it has one result, of elements side by side in all arrays. */
static bool is_one_run(const redtune_problem *problem) {
    const redtune_axis *axis = &problem->reduced[0];
    bool is = rdt_problem_is_strided(problem) && !problem->kept_axes && problem->reduced_axes == 1;
    for (int k = REDTUNE_ARRAY_X; is && k <= REDTUNE_ARRAY_MASK; k++)
        is = axis->size == 1 || axis->step[k] == 1;
    return is;
}

static redtune_status open_reading(redtune *rt, const redtune_problem *problem,
                                   const redtune_input *input, reading *out, redtune_error *err) {
    *out = (reading){.rt = rt,
                     .driver = rt->context->driver,
                     .parameters = input->parameters,
                     .initial = input->initial};
    redtune_status status = rdt_runtime_resolve(rt, problem, &out->problem, err);
    if (!status && !(rdt_problem_mask_pairs(&out->problem) && is_one_run(&out->problem)))
        status = rdt_problem_strided_refuse(&out->problem, "reduce an input along", err);
    if (!status) status = rdt_readers_open(&out->problem, input, &out->readers, err);
    if (status) return status;
    out->element_bytes = out->readers.element_bytes[0];
    out->so_far.dtype = out->problem.result;
    out->so_far.second_dtype = rdt_problem_second(&out->problem);
    return REDTUNE_OK;
}

/* Reads and reduces all of it; take is what to do at the end, in the context. */
static redtune_status
run_reading(reading *self, redtune_status (*take)(reading *self, void *user, redtune_error *err),
            void *user, redtune_error *err) {
    const rdt_context *context = self->rt->context;
    bool entered = false;
    redtune_status status = rdt_context_enter(context, &entered, err);
    if (status) return status;
    status = choose_piece(self, err);
    if (!status) status = open_buffers(self, err);
    if (!status) status = reduce_pieces(self, err);
    if (!status) status = take(self, user, err);
    close_buffers(self);
    redtune_plan_destroy(self->plan);
    rdt_context_leave(context, entered);
    return status;
}

static redtune_status take_result(reading *self, void *user, redtune_error *err) {
    redtune_status status = read_result(self, err);
    if (status) return status;
    redtune_plan_info(self->plan, &self->so_far.info);
    *(redtune_reading *)user = self->so_far;
    return REDTUNE_OK;
}

redtune_status rdt_input_reduce(redtune *rt, const redtune_problem *problem,
                                const redtune_input *input, redtune_reading *out,
                                redtune_error *err) {
    reading self;
    redtune_status status = open_reading(rt, problem, input, &self, err);
    return status ? status : run_reading(&self, take_result, out, err);
}

redtune_status redtune_reduce_input(redtune *rt, const redtune_problem *problem,
                                    const redtune_input *input, redtune_reading *out,
                                    redtune_error *err) {
    redtune_problem room;
    const double begun = rdt_clock_ns();
    if (!rt || !input || !input->read || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce an input: rt, input, input->read or out is NULL");
    problem = rdt_runtime_order(rt, problem, &room);
    redtune_status status = rdt_input_reduce(rt, problem, input, out, err);
    if (!status) rdt_input_log(rt, __func__, problem, out, begun);
    return status;
}

void rdt_input_log(const redtune *rt, const char *call, const redtune_problem *problem,
                   const redtune_reading *reading, double begun_ns) {
    redtune_problem resolved;
    if (rt->calls && !rdt_problem_resolve(problem, &resolved, NULL))
        rdt_call_log_write(rt->calls, call, &resolved, &reading->info, rdt_clock_ns() - begun_ns);
}

/* ---- parts of an input ----------------------------------------------------------------------- */

static redtune_status take_accumulator(reading *self, void *user, redtune_error *err) {
    rdt_input_part *out = user;
    const size_t bytes = rdt_plan_executable(self->plan)->launch.slot_bytes;
    redtune_status status =
        rdt_buffer_read(self->driver, out->accumulator, slot_address(self, last_slot(self)), bytes,
                        self->sets[0].stream, err);
    if (status) return status;
    out->reading = self->so_far;
    redtune_plan_info(self->plan, &out->reading.info);
    return REDTUNE_OK;
}

redtune_status rdt_input_reduce_part(redtune *rt, const redtune_problem *problem,
                                     const redtune_input *input, rdt_input_part *out,
                                     redtune_error *err) {
    reading self;
    redtune_status status = open_reading(rt, problem, input, &self, err);
    if (status) return status;
    self.part = true;
    return run_reading(&self, take_accumulator, out, err);
}

/* The accumulators go to the slots, each moved to where its part begins. */
static redtune_status put_parts(reading *self, const rdt_input_part *parts, uint32_t count,
                                redtune_error *err) {
    const size_t bytes = rdt_plan_executable(self->plan)->launch.slot_bytes;
    redtune_status status = REDTUNE_OK;
    for (uint32_t i = 0; !status && i < count; i++) {
        const CUdeviceptr slot = slot_address(self, i);
        const CUstream stream = self->sets[0].stream;
        status = rdt_buffer_write(self->driver, slot, parts[i].accumulator, bytes, stream, err);
        if (!status) status = move_accumulator(self, slot, stream, err);
        self->so_far.count += parts[i].reading.count;
        self->so_far.pieces += parts[i].reading.pieces;
    }
    return status;
}

redtune_status rdt_input_join_parts(redtune *rt, const redtune_problem *problem,
                                    const redtune_input *input, const rdt_input_part *parts,
                                    uint32_t count, redtune_reading *out, redtune_error *err) {
    reading self;
    bool entered = false;
    redtune_status status = open_reading(rt, problem, input, &self, err);
    if (!status) status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    self.piece_bytes = PIECE_BYTES_MIN;
    status = open_buffers(&self, err);
    if (!status) status = rdt_plan_make(rt, &self.problem, RDT_YIELD_ACCUMULATOR, &self.plan, err);
    if (!status) status = put_parts(&self, parts, count, err);
    if (!status) status = combine_slots(&self, 0, count, slot_address(&self, SLOTS), err);
    if (!status) status = take_result(&self, out, err);
    close_buffers(&self);
    redtune_plan_destroy(self.plan);
    rdt_context_leave(rt->context, entered);
    return status;
}
