/* Input: reducing elements that are not on the GPU, piece by piece. */
#include "api/runtime/state.h"

#include <string.h>
#include "base/reserved.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "gpu/timer.h"
#include "model/fold.h"

enum { TUNERS = 2, PIECE_BYTES_MAX = 64 << 20, PIECE_BYTES_MIN = 1 << 12, RESULT_BYTES = 16 };

/* One of the two sets of buffers: while the GPU reduces the one, the host fills the other. */
typedef struct tuner {
    rdt_pinned staging;
    rdt_buffer input, output;
    rdt_timer timer;
    CUstream stream;
    uint64_t count; /* elements of the piece that is being reduced */
    bool busy;
} tuner;

typedef struct reading {
    redtune *rt;
    const rdt_driver *driver;
    redtune_plan *plan;
    const redtune_input *input;
    size_t piece_bytes, element_bytes;
    tuner tuners[TUNERS];
    rdt_fold fold;
    redtune_reading so_far;
} reading;

/* Pieces no larger than what is expected to come, nor than what the GPU has room for. They hold
 * whole elements, which any multiple of 16 bytes does; rounding down would leave the last few
 * elements of an input that fits for a second piece. */
static redtune_status choose_piece(reading *self, uint64_t expected, redtune_error *err) {
    size_t free_bytes = 0, total_bytes = 0;
    CUresult rc = self->driver->mem_get_info(&free_bytes, &total_bytes);
    if (rc) return rdt_driver_check(self->driver, rc, err, "ask for free device memory");
    size_t bytes = PIECE_BYTES_MAX;
    if (expected && expected < bytes / self->element_bytes) bytes = expected * self->element_bytes;
    while (bytes > free_bytes / (2 * TUNERS) && bytes > PIECE_BYTES_MIN) bytes /= 2;
    if (bytes < PIECE_BYTES_MIN) bytes = PIECE_BYTES_MIN;
    self->piece_bytes = (bytes + 15) / 16 * 16;
    return REDTUNE_OK;
}

static redtune_status open_tuner(reading *self, tuner *each, redtune_error *err) {
    const rdt_driver *driver = self->driver;
    redtune_status status =
        rdt_buffer_create_pinned(driver, self->piece_bytes, &each->staging, err);
    if (!status) status = rdt_buffer_create(driver, self->piece_bytes, &each->input, err);
    if (!status) status = rdt_buffer_create(driver, RESULT_BYTES, &each->output, err);
    if (!status) status = rdt_timer_create(driver, &each->timer, err);
    if (!status) status = rdt_stream_create(driver, &each->stream, err);
    return status;
}

static void close_tuner(const reading *self, tuner *each) {
    if (each->stream) self->driver->stream_synchronize(each->stream);
    rdt_stream_destroy(self->driver, each->stream);
    rdt_timer_destroy(&each->timer);
    rdt_buffer_destroy(&each->output);
    rdt_buffer_destroy(&each->input);
    rdt_buffer_destroy_pinned(&each->staging);
}

/* Waits for the device tuner's piece and takes its result. The piece is still in the staging
 * memory. */
static redtune_status collect(reading *self, tuner *each, redtune_error *err) {
    if (!each->busy) return REDTUNE_OK;
    each->busy = false;
    redtune_value value = {.i64 = 0};
    double elapsed_ns = 0;
    redtune_status status =
        rdt_buffer_read(self->driver, &value, each->output.address,
                        redtune_dtype_bytes(self->fold.piece.result), each->stream, err);
    if (!status) status = rdt_timer_read(&each->timer, &elapsed_ns, err);
    if (status) return status;
    rdt_fold_add(&self->fold, &value, each->staging.data, each->count);
    self->so_far.kernel_ns += elapsed_ns;
    return REDTUNE_OK;
}

static redtune_status start(reading *self, tuner *each, size_t bytes, redtune_error *err) {
    CUresult rc = self->driver->memcpy_htod_async(each->input.address, each->staging.data, bytes,
                                                  each->stream);
    redtune_status status = rdt_driver_check(self->driver, rc, err, "copy a piece to the GPU");
    if (!status) status = rdt_timer_start(&each->timer, each->stream, err);
    if (!status)
        status = redtune_plan_reduce(self->plan, (const void *)(uintptr_t)each->input.address,
                                     bytes / self->element_bytes,
                                     (void *)(uintptr_t)each->output.address, each->stream, err);
    if (!status) status = rdt_timer_stop(&each->timer, each->stream, err);
    if (status) return status;
    each->busy = true;
    each->count = bytes / self->element_bytes;
    self->so_far.count += each->count;
    self->so_far.pieces++;
    return REDTUNE_OK;
}

static redtune_status reduce_pieces(reading *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int turn = 0; !status; turn = (turn + 1) % TUNERS) {
        tuner *each = &self->tuners[turn];
        status = collect(self, each, err);
        if (status) break;
        size_t bytes = 0;
        status = self->input->read(self->input->user, each->staging.data, self->piece_bytes, &bytes,
                                   err);
        if (status || !bytes) break;
        if (bytes > self->piece_bytes || bytes % self->element_bytes)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot reduce an input: its reader gave %zu bytes, which is no whole "
                            "number of elements up to %zu bytes",
                            bytes, self->piece_bytes);
        status = start(self, each, bytes, err);
    }
    for (int i = 0; !status && i < TUNERS; i++) status = collect(self, &self->tuners[i], err);
    return status;
}

/* An empty input has one piece of no elements, so that the op's own rule gives its value. */
static redtune_status reduce_nothing(reading *self, redtune_error *err) {
    redtune_status status = start(self, &self->tuners[0], 0, err);
    return status ? status : collect(self, &self->tuners[0], err);
}

redtune_status redtune_reduce_input(redtune *rt, const redtune_problem *problem,
                                    const redtune_input *input, redtune_reading *out,
                                    redtune_error *err) {
    if (!rt || !input || !input->read || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce an input: rt, input, input->read or out is NULL");
    redtune_problem resolved;
    redtune_status status = rdt_reserved_check(RDT_RESERVED(input), "redtune_input", err);
    if (!status) status = rdt_problem_resolve(problem, &resolved, err);
    if (status) return status;
    reading self = {
        .rt = rt,
        .driver = rt->context->driver,
        .input = input,
        .element_bytes = redtune_dtype_bytes(resolved.dtype),
        .fold = rdt_fold_begin(&resolved),
        .so_far = {.dtype = resolved.result},
    };
    bool entered = false;
    status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    status = choose_piece(&self, resolved.count, err);
    redtune_problem piece = self.fold.piece;
    piece.count = self.piece_bytes / self.element_bytes;
    if (resolved.count && resolved.count < piece.count) piece.count = resolved.count;
    if (resolved.count && resolved.count < piece.count) piece.count = resolved.count;
    if (!status) status = redtune_plan_create(rt, &piece, &self.plan, err);
    for (int i = 0; !status && i < TUNERS; i++) status = open_tuner(&self, &self.tuners[i], err);
    if (!status) status = reduce_pieces(&self, err);
    if (!status && !self.so_far.pieces) status = reduce_nothing(&self, err);
    for (int i = 0; i < TUNERS; i++) close_tuner(&self, &self.tuners[i]);
    if (!status) {
        self.so_far.value = rdt_fold_value(&self.fold);
        redtune_plan_info(self.plan, &self.so_far.info);
        *out = self.so_far;
    }
    redtune_plan_destroy(self.plan);
    rdt_context_leave(rt->context, entered);
    return status;
}
