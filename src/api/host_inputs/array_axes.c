/* Array axes: reducing an array of any axes that is not on the GPU.
 *
 * It is read in the order of memory, with what lies between its elements. What the GPU has no room
 * for is cut along the axis whose step is the largest, and the parts again: a part lies behind the
 * ones before it. Parts of a kept axis have results of their own, and those of a reduced one go on
 * from the results that are there, which are all on the GPU. */
#include "api/host_inputs/array_reading.h"

#include <inttypes.h>
#include "model/strides.h"

enum { X = REDTUNE_ARRAY_X, RESULTS = REDTUNE_ARRAY_RESULTS };

/* Where its element, or its result, with indices 0 is: of an input from the first that is read. */
typedef struct part {
    redtune_problem problem;
    int64_t place[RDT_READERS_MAX], result;
    bool goes_on;
} part;

typedef struct cutting {
    rdt_array_reading *reading;
    redtune_array array[RDT_READERS_MAX];
    uint64_t room_bytes; /* of a piece's elements */
    bool resumes;        /* whether results can go on */
    bool alike;          /* whether all inputs lie as the first one does */
} cutting;

static redtune_axis *axis_at(redtune_problem *problem, uint32_t i) {
    return i < problem->kept_axes ? &problem->kept[i] : &problem->reduced[i - problem->kept_axes];
}

static uint64_t bytes_of_inputs(const cutting *self, const redtune_problem *problem) {
    uint64_t bytes = 0;
    for (int i = 0; i < self->reading->readers.count; i++)
        bytes += rdt_strides_reach(problem, self->array[i]).elements *
                 self->reading->readers.element_bytes[i];
    return bytes;
}

/* The number of the axis to cut along, or the number of all axes where none can be cut. */
static uint32_t find_outermost(redtune_problem *problem) {
    const uint32_t count = problem->kept_axes + problem->reduced_axes;
    uint32_t found = count;
    for (uint32_t i = 0; i < count; i++) {
        const redtune_axis *axis = axis_at(problem, i);
        if (axis->size > 1 && axis->step[X] &&
            (found == count || rdt_problem_step_length(axis_at(problem, found)->step[X]) <
                                   rdt_problem_step_length(axis->step[X])))
            found = i;
    }
    return found;
}

static redtune_status refuse_size(const cutting *self, uint64_t bytes, redtune_error *err) {
    char what[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(&self->reading->problem, what);
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot reduce an array to the %s: a part that is not to be cut takes %" PRIu64
                    " bytes of the GPU's memory, of which there is room for %" PRIu64
                    "; cut the array along its kept axes",
                    what, bytes, self->room_bytes);
}

/* Brings what lies between the part's first element and its last to the GPU, and reduces it. */
static redtune_status reduce_cut(const cutting *self, const part *at, redtune_error *err) {
    rdt_array_reading *reading = self->reading;
    redtune_operands operands = {.count = 0};
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < reading->readers.count; i++) {
        const rdt_reach reach = rdt_strides_reach(&at->problem, self->array[i]);
        const uint64_t first = (uint64_t)(at->place[i] + reach.first);
        const size_t bytes = reading->readers.element_bytes[i];
        if (reach.elements && first < reading->read_count[i])
            return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                            "cannot reduce an array that is not on the GPU in parts: they overlap; "
                            "copy it to a packed array");
        if (reach.elements)
            status = rdt_array_reading_skip(reading, i, first - reading->read_count[i], err);
        if (!status) status = rdt_array_reading_carry(reading, i, reach.elements, err);
        char *begin = (char *)(uintptr_t)reading->elements[i].address;
        const void *in = reach.elements ? begin - reach.first * (int64_t)bytes : NULL;
        if (i == rdt_readers_mask(&reading->readers))
            operands.d_mask = in;
        else
            operands.d_in[i] = in;
    }
    for (int i = 0; i < RDT_OP_OUTPUTS_MAX && reading->result_bytes[i]; i++)
        operands.d_out[i] = (char *)(uintptr_t)reading->results[i].address +
                            at->result * (int64_t)reading->result_bytes[i];
    return status ? status
                  : rdt_array_reading_run(reading, &at->problem, operands, at->goes_on, err);
}

static redtune_status cut_axes(const cutting *self, part *all, redtune_error *err) {
    const uint64_t bytes = bytes_of_inputs(self, &all->problem);
    if (bytes <= self->room_bytes) return reduce_cut(self, all, err);
    const uint32_t number = find_outermost(&all->problem);
    redtune_axis *axis = axis_at(&all->problem, number);
    const bool reduced = number >= all->problem.kept_axes;
    if (number == all->problem.kept_axes + all->problem.reduced_axes || !self->alike ||
        (reduced && !self->resumes))
        return refuse_size(self, bytes, err);
    const redtune_axis whole = *axis;
    axis->size = 1;
    const uint64_t one = bytes_of_inputs(self, &all->problem);
    const uint64_t each = rdt_problem_step_length(whole.step[X]) * self->reading->all_bytes;
    const uint64_t most = one < self->room_bytes ? 1 + (self->room_bytes - one) / each : 1;
    redtune_status status = REDTUNE_OK;
    for (uint64_t done = 0, more; !status && done < whole.size; done += more) {
        part next = *all;
        more = whole.size - done < most ? whole.size - done : most;
        /* In the order of memory, which a step below 0 goes through from the end. */
        const uint64_t from = whole.step[X] > 0 ? done : whole.size - done - more;
        axis_at(&next.problem, number)->size = more;
        for (int i = 0; i < self->reading->readers.count; i++)
            next.place[i] += (int64_t)from * whole.step[self->array[i]];
        if (!reduced) next.result += (int64_t)from * whole.step[RESULTS];
        next.goes_on |= reduced && done;
        status = cut_axes(self, &next, err);
    }
    return status;
}

static bool are_alike(const rdt_readers *readers, redtune_problem *problem,
                      const redtune_array *array) {
    bool alike = true;
    for (uint32_t i = 0; i < problem->kept_axes + problem->reduced_axes; i++)
        for (int k = 1; k < readers->count; k++)
            alike &= axis_at(problem, i)->step[array[k]] == axis_at(problem, i)->step[X];
    return alike;
}

static redtune_status measure_room(cutting *self, redtune_error *err) {
    rdt_array_reading *reading = self->reading;
    uint64_t room = 0;
    const uint64_t results =
        reading->extents.outer * (reading->result_bytes[0] + reading->result_bytes[1]);
    redtune_status status = rdt_array_reading_room(reading, &room, err);
    if (status) return status;
    self->room_bytes = room > results ? room - results : 0;
    if (self->resumes && self->room_bytes > RDT_ARRAY_PIECE_BYTES_MAX)
        self->room_bytes = RDT_ARRAY_PIECE_BYTES_MAX;
    return REDTUNE_OK;
}

redtune_status rdt_array_axes_reduce(rdt_array_reading *self, redtune_error *err) {
    redtune_problem *problem = &self->problem;
    const bool resumes = rdt_op_find(problem->op)->resumes &&
                         problem->accuracy == REDTUNE_ACCURACY_PLAIN &&
                         problem->order == REDTUNE_ORDER_FREE;
    const int mask = rdt_readers_mask(&self->readers);
    cutting cut = {.reading = self, .resumes = resumes};
    for (int i = 0; i < self->readers.count; i++)
        cut.array[i] = i == mask ? REDTUNE_ARRAY_MASK : i ? REDTUNE_ARRAY_Y : REDTUNE_ARRAY_X;
    cut.alike = are_alike(&self->readers, problem, cut.array);
    const rdt_reach of_results = rdt_strides_reach(problem, REDTUNE_ARRAY_RESULTS);
    part all = {.problem = *problem};
    uint64_t elements[RDT_READERS_MAX] = {0};
    if (of_results.first || of_results.elements != self->extents.outer)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce an array that is not on the GPU to results that are not "
                        "packed; reduce to an array that is, and copy it");
    redtune_status status = measure_room(&cut, err);
    if (status) return status;
    for (int i = 0; i < self->readers.count; i++) {
        const rdt_reach reach = rdt_strides_reach(problem, cut.array[i]);
        /* Only inputs that lie alike are cut. */
        const uint64_t room =
            cut.room_bytes / (cut.alike ? self->all_bytes : self->readers.element_bytes[i]);
        all.place[i] = -reach.first;
        self->span[i] = reach.elements;
        elements[i] = reach.elements < room ? reach.elements : room;
    }
    redtune_problem piece = *problem;
    if (resumes && bytes_of_inputs(&cut, problem) > cut.room_bytes)
        piece.uses |= REDTUNE_USE_ACCUMULATE;
    if (self->initial) piece.uses |= REDTUNE_USE_INITIAL;
    status = rdt_array_reading_open(self, &piece, elements, self->extents.outer, err);
    if (!status) status = cut_axes(&cut, &all, err);
    if (!status) status = rdt_array_reading_take(self, self->extents.outer, err);
    if (!status) redtune_plan_info(self->plan, &self->so_far.info);
    rdt_array_reading_close(self);
    return status;
}
