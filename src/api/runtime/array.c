/* Array: reducing an array that is not on the GPU along some of its axes.
 *
 * The elements come in the order of memory, so that the array is cut along its outer extent: a
 * piece is as many whole outer indices as the GPU has room for, reduced like any other memory of
 * the GPU's, and its results are the next ones of all. The host fills one staging buffer while the
 * other is copied. A whole array, or a row too long for the GPU's memory, is an input of its own,
 * which redtune_reduce_input takes in pieces and combines. Columns have no such way: where a single
 * outer index does not fit, the array is refused. */
#include "api/runtime/plan.h"

#include <inttypes.h>
#include <string.h>
#include "base/reserved.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "gpu/timer.h"

enum { SETS = 2, STAGING_BYTES_MAX = 64 << 20, PIECE_BYTES_MAX = 256 << 20 };

/* A staging buffer and the stream that copies it to the GPU. */
typedef struct carrier {
    rdt_pinned staging;
    CUstream stream;
} carrier;

typedef struct array_reading {
    redtune *rt;
    const rdt_driver *driver;
    const redtune_input *input;
    redtune_problem problem; /* resolved */
    rdt_extents extents;     /* complete */
    size_t element_bytes, result_bytes;
    uint64_t index_elements; /* of one outer index, without what follows it */
    uint64_t per_piece;      /* outer indices */
    redtune_plan *plan;
    redtune_workspace *workspace; /* so that no scratch stays behind for the streams */
    carrier carriers[SETS];
    int turn;
    rdt_buffer elements, results; /* of a piece */
    rdt_timer timer;
    unsigned char *out; /* of the next result */
    redtune_reading so_far;
} array_reading;

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Elements from the first to the last one of `outer` outer indices. */
static uint64_t span(const array_reading *self, uint64_t outer) {
    return self->index_elements ? (outer - 1) * self->extents.outer_step + self->index_elements : 0;
}

static redtune_status too_large(const array_reading *self, uint64_t bytes, size_t free_bytes,
                                redtune_error *err) {
    char what[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(&self->problem, what);
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot reduce an array to the %s: one outer index of it and its results take "
                    "%" PRIu64 " bytes of the GPU's memory, of which %zu are free; cut the array "
                    "along its last axis",
                    what, bytes, free_bytes);
}

/* Half of the free memory is left for the plan and for others. per_piece is 0 for what goes the way
 * of redtune_reduce_input. */
static redtune_status size_pieces(array_reading *self, redtune_error *err) {
    const rdt_extents *extents = &self->extents;
    size_t free_bytes = 0, total_bytes = 0;
    CUresult rc = self->driver->mem_get_info(&free_bytes, &total_bytes);
    if (rc) return rdt_driver_check(self->driver, rc, err, "ask for free device memory");
    const uint64_t results = extents->inner * self->result_bytes;
    const uint64_t alone = self->index_elements * self->element_bytes + results;
    const uint64_t room = free_bytes / 2;
    const uint64_t wanted = room < PIECE_BYTES_MAX ? room : PIECE_BYTES_MAX;
    uint64_t each = extents->outer_step * self->element_bytes + results;
    if (!self->index_elements) each = results;
    if (alone > room && (extents->inner > 1 || extents->step > 1))
        return too_large(self, alone, free_bytes, err);
    const bool whole = rdt_problem_layout_of(extents) == RDT_LAYOUT_WHOLE;
    self->per_piece = whole || alone > room ? 0 : alone >= wanted ? 1 : 1 + (wanted - alone) / each;
    if (self->per_piece > extents->outer) self->per_piece = extents->outer;
    return REDTUNE_OK;
}

static redtune_status open_piece(array_reading *self, redtune_error *err) {
    const rdt_driver *driver = self->driver;
    const uint64_t per_piece = self->per_piece;
    redtune_problem piece = self->problem;
    piece.outer = per_piece;
    const uint64_t bytes = span(self, per_piece) * self->element_bytes;
    const size_t staging = bytes < STAGING_BYTES_MAX ? (size_t)bytes : STAGING_BYTES_MAX;
    redtune_status status = rdt_plan_make(self->rt, &piece, false, &self->plan, err);
    if (!status) status = rdt_timer_create(driver, &self->timer, err);
    if (!status) status = rdt_buffer_create(driver, bytes, &self->elements, err);
    if (!status)
        status = rdt_buffer_create(driver, per_piece * self->extents.inner * self->result_bytes,
                                   &self->results, err);
    for (int i = 0; !status && i < SETS; i++) {
        status = rdt_stream_create(driver, &self->carriers[i].stream, err);
        if (!status && staging)
            status = rdt_buffer_create_pinned(driver, staging, &self->carriers[i].staging, err);
    }
    if (status) return status;
    return redtune_workspace_create(self->rt, NULL, 0, self->carriers[0].stream, &self->workspace,
                                    err);
}

static void close_piece(array_reading *self) {
    for (int i = 0; i < SETS; i++) {
        carrier *each = &self->carriers[i];
        if (each->stream) self->driver->stream_synchronize(each->stream);
        rdt_stream_destroy(self->driver, each->stream);
        rdt_buffer_destroy_pinned(&each->staging);
    }
    rdt_timer_destroy(&self->timer);
    rdt_buffer_destroy(&self->elements);
    rdt_buffer_destroy(&self->results);
    redtune_workspace_destroy(self->workspace);
    redtune_plan_destroy(self->plan);
}

/* Fills buffer, however little the input gives at a time. */
static redtune_status read_bytes(array_reading *self, unsigned char *buffer, size_t bytes,
                                 redtune_error *err) {
    for (size_t filled = 0, more = 0; filled < bytes; filled += more) {
        redtune_status status =
            self->input->read(self->input->user, buffer + filled, bytes - filled, &more, err);
        if (status) return status;
        if (!more)
            return rdt_fail(
                err, REDTUNE_INVALID, 0,
                "cannot reduce an array: its input ends after %" PRIu64 " elements, of %" PRIu64,
                self->so_far.count + filled / self->element_bytes, span(self, self->extents.outer));
        if (more > bytes - filled || more % self->element_bytes)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot reduce an array: its reader gave %zu bytes, which is no whole "
                            "number of elements up to %zu bytes",
                            more, bytes - filled);
    }
    self->so_far.count += bytes / self->element_bytes;
    return REDTUNE_OK;
}

/* Reads the next `bytes` bytes and copies them to the GPU; the last copies may go on. */
static redtune_status carry(array_reading *self, uint64_t bytes, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (uint64_t done = 0, more; !status && done < bytes; done += more) {
        carrier *with = &self->carriers[self->turn];
        self->turn = (self->turn + 1) % SETS;
        /* A whole number of elements, as the staging's size is a multiple of every element's. */
        more = bytes - done < with->staging.bytes ? bytes - done : with->staging.bytes;
        status = rdt_stream_wait(self->driver, with->stream, err);
        if (!status) status = read_bytes(self, with->staging.data, (size_t)more, err);
        if (status) return status;
        CUresult rc = self->driver->memcpy_htod_async(
            self->elements.address + done, with->staging.data, (size_t)more, with->stream);
        status = rdt_driver_check(self->driver, rc, err, "copy a piece to the GPU");
    }
    return status;
}

/* Reduces the piece that lies on the GPU, and copies its results to where they belong. */
static redtune_status reduce_piece(array_reading *self, uint64_t outer, redtune_error *err) {
    CUstream stream = self->carriers[0].stream;
    const rdt_extents *extents = &self->extents;
    const redtune_operands operands = {
        .d_in = {(const void *)(uintptr_t)self->elements.address},
        .d_out = {(void *)(uintptr_t)self->results.address},
        .count = extents->count,
        .outer = outer,
        .inner = extents->inner,
        .outer_step = extents->outer_step,
        .step = extents->step,
        .workspace = self->workspace,
    };
    const size_t bytes = outer * extents->inner * self->result_bytes;
    double elapsed_ns = 0;
    redtune_status status = rdt_stream_wait(self->driver, self->carriers[1].stream, err);
    if (!status) status = rdt_timer_start(&self->timer, stream, err);
    if (!status) status = redtune_plan_run(self->plan, &operands, stream, err);
    if (!status) status = rdt_timer_stop(&self->timer, stream, err);
    if (!status)
        status =
            rdt_buffer_read(self->driver, self->out, self->results.address, bytes, stream, err);
    if (!status) status = rdt_timer_read(&self->timer, &elapsed_ns, err);
    self->so_far.kernel_ns += elapsed_ns;
    self->so_far.pieces++;
    self->out += bytes;
    return status;
}

/* The elements of one row, and then of what lies behind it. */
typedef struct bounded {
    array_reading *array;
    uint64_t left_bytes;
} bounded;

static redtune_status read_bounded(void *user, void *buffer, size_t capacity, size_t *bytes,
                                   redtune_error *err) {
    bounded *self = user;
    size_t more = capacity - capacity % self->array->element_bytes;
    if (more > self->left_bytes) more = (size_t)self->left_bytes;
    redtune_status status = read_bytes(self->array, buffer, more, err);
    if (status) return status;
    self->left_bytes -= more;
    *bytes = more;
    return REDTUNE_OK;
}

static redtune_status skip(bounded *from, uint64_t elements, redtune_error *err) {
    unsigned char passed[4096];
    from->left_bytes = elements * from->array->element_bytes;
    for (size_t more = 1; more;) {
        redtune_status status = read_bounded(from, passed, sizeof passed, &more, err);
        if (status) return status;
    }
    return REDTUNE_OK;
}

static redtune_status reduce_in_pieces(array_reading *self, redtune_error *err) {
    redtune_status status = open_piece(self, err);
    for (uint64_t left = self->extents.outer, outer; !status && left; left -= outer) {
        outer = left < self->per_piece ? left : self->per_piece;
        status = carry(self, span(self, outer) * self->element_bytes, err);
        /* What lies behind a piece may be more than the GPU has room for. */
        if (!status && outer < left && self->index_elements)
            status = skip(&(bounded){.array = self},
                          self->extents.outer_step - self->index_elements, err);
        if (!status) status = reduce_piece(self, outer, err);
    }
    if (!status) redtune_plan_info(self->plan, &self->so_far.info);
    close_piece(self);
    return status;
}

/* ---- rows as inputs of their own ------------------------------------------------------------ */

static redtune_status reduce_rows(array_reading *self, redtune_error *err) {
    bounded row = {.array = self};
    const redtune_input input = {read_bounded, &row};
    redtune_problem problem = self->problem;
    problem.outer = problem.outer_step = 0;
    for (uint64_t left = self->extents.outer; left; left--) {
        redtune_reading of_row = {.count = 0};
        row.left_bytes = self->extents.count * self->element_bytes;
        redtune_status status = redtune_reduce_input(self->rt, &problem, &input, &of_row, err);
        if (!status && left > 1)
            status = skip(&row, self->extents.outer_step - self->extents.count, err);
        if (status) return status;
        memcpy(self->out, of_row.value.bytes, self->result_bytes);
        self->out += self->result_bytes;
        self->so_far.pieces += of_row.pieces;
        self->so_far.kernel_ns += of_row.kernel_ns;
        self->so_far.info = of_row.info;
    }
    return REDTUNE_OK;
}

/* ---- the array ------------------------------------------------------------------------------- */

static redtune_status check_extents(const array_reading *self, size_t bytes, redtune_error *err) {
    const rdt_extents *extents = &self->extents;
    const uint64_t wanted = extents->outer * extents->inner * self->result_bytes;
    if (bytes != wanted)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce an array: its %" PRIu64 " results of %s take %" PRIu64
                        " bytes, not %zu",
                        extents->outer * extents->inner, redtune_dtype_name(self->problem.result),
                        wanted, bytes);
    if (extents->outer > 1 && extents->outer_step < self->index_elements)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce an array that is not on the GPU: its outer indices overlap "
                        "(outer_step %" PRIu64 ", of %" PRIu64 " elements each)",
                        extents->outer_step, self->index_elements);
    return REDTUNE_OK;
}

redtune_status redtune_reduce_array(redtune *rt, const redtune_problem *problem,
                                    const redtune_input *input, void *results, size_t bytes,
                                    redtune_reading *out, redtune_error *err) {
    if (!rt || !input || !input->read || !results || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce an array: rt, input, input->read, results or out is NULL");
    array_reading self = {.rt = rt, .driver = rt->context->driver, .input = input, .out = results};
    redtune_status status = rdt_reserved_check(RDT_RESERVED(input), "redtune_input", err);
    if (!status) status = rdt_problem_resolve(problem, &self.problem, err);
    if (status) return status;
    self.extents = rdt_problem_extents(&self.problem);
    self.element_bytes = redtune_dtype_bytes(self.problem.dtype);
    self.result_bytes = redtune_dtype_bytes(self.problem.result);
    self.so_far.dtype = self.problem.result;
    if (self.extents.count)
        self.index_elements = (self.extents.count - 1) * self.extents.step + self.extents.inner;
    status = check_extents(&self, bytes, err);
    if (status) return status;
    bool entered = false;
    status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    status = size_pieces(&self, err);
    if (!status) status = self.per_piece ? reduce_in_pieces(&self, err) : reduce_rows(&self, err);
    if (!status) *out = self.so_far;
    rdt_context_leave(rt->context, entered);
    return status;
}
