/* Packing: arrays that have gaps, copied side by side, for kernels that take elements so.
 *
 * A view becomes an array as the kernel takes it: its axes are joined where one goes on behind
 * another, and counted in units, the widest loads that its sizes, steps and addresses allow. Each
 * array with gaps of a list has a place in a room of the list's, in row-major order, and ahead of a
 * run's own launch there is one that copies all of them. Runs of one list may copy at once: nobody
 * may write an array while a run reads it, so that all of them copy the same bits. */
#include "api/running/packing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "api/runtime/packer.h"
#include "base/array.h"
#include "base/reserved.h"
#include "gpu/pointer.h"

/* DIMENSIONS_MAX: as many as redtune_problem_fold takes. */
enum { DIMENSIONS_MAX = 64, LINE_BYTES = 128 };

bool rdt_packing_is_packed(const redtune_view *view) {
    int64_t expected = 1;
    bool packed = true;
    for (size_t i = view->dimensions; i-- > 0;) {
        if (!view->shape[i]) return true;
        if (view->strides && view->shape[i] > 1 && view->strides[i] != expected) packed = false;
        if (packed) expected *= view->shape[i];
    }
    return packed;
}

redtune_status rdt_packing_check(const redtune_view *view, uint64_t *count, redtune_error *err) {
    bool overflows = false, is_empty = false;
    uint64_t all = 1;
    if (view->dimensions > DIMENSIONS_MAX)
        return rdt_fail(err, REDTUNE_INVALID, 0, "it has %zu dimensions; give at most %d",
                        view->dimensions, DIMENSIONS_MAX);
    if (view->dimensions && !view->shape)
        return rdt_fail(err, REDTUNE_INVALID, 0, "shape is NULL; give %zu sizes", view->dimensions);
    for (size_t i = 0; i < view->dimensions; i++) {
        if (view->shape[i] < 0)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "its size along axis %zu is %" PRId64 "; give none below 0", i,
                            view->shape[i]);
        overflows |= __builtin_mul_overflow(all, (uint64_t)view->shape[i], &all);
        is_empty |= !view->shape[i];
    }
    *count = is_empty ? 0 : overflows ? UINT64_MAX : all; /* too many for any list */
    return REDTUNE_OK;
}

/* Joins the axes, those of one place left out. */
static redtune_status join_view_axes(const redtune_view *view, rdt_packed *out,
                                     redtune_error *err) {
    rdt_packed_axis *last = NULL;
    uint32_t count = 0;
    int64_t packed = 1, behind;
    for (size_t i = view->dimensions; i-- > 0;) {
        const int64_t step = view->strides ? view->strides[i] : packed;
        packed *= view->shape[i];
        if (view->shape[i] == 1) continue;
        if (last && !__builtin_mul_overflow(last->step, (int64_t)last->size, &behind) &&
            step == behind) {
            last->size *= (uint64_t)view->shape[i];
            continue;
        }
        if (count < RDT_STRIDES_AXES) {
            last = &out->along[count];
            *last = (rdt_packed_axis){.size = (uint64_t)view->shape[i], .step = step};
        }
        count++;
    }
    if (count > RDT_STRIDES_AXES)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot copy %" PRIu32
                        " axes that do not join: at most %d; copy it in parts",
                        count, RDT_STRIDES_AXES);
    if (!count) out->along[count++] = (rdt_packed_axis){.size = 1};
    out->axes = count;
    return REDTUNE_OK;
}

/* Where its elements are. */
static redtune_status find_view_span(const rdt_packed *packed, size_t bytes, rdt_span *out,
                                     redtune_error *err) {
    int64_t reach[2] = {0, 0}; /* down and up, in bytes */
    bool beyond = false;
    for (uint32_t i = 0; i < packed->axes; i++) {
        const rdt_packed_axis *axis = &packed->along[i];
        int64_t *side = &reach[axis->step > 0], far;
        beyond |= __builtin_mul_overflow((int64_t)(axis->size - 1), axis->step, &far);
        beyond |= __builtin_mul_overflow(far, (int64_t)bytes, &far);
        beyond |= __builtin_add_overflow(*side, far, side);
    }
    if (beyond || -(uint64_t)reach[0] > packed->from ||
        (uint64_t)reach[1] + bytes > UINT64_MAX - packed->from)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "its strides lead beyond the memory that addresses reach");
    *out = (rdt_span){packed->from + (uint64_t)reach[0], packed->from + (uint64_t)reach[1] + bytes};
    return REDTUNE_OK;
}

/* Counts in the widest units that lie side by side and aligned wherever they are. */
static void choose_units(rdt_packed *packed, uint64_t count, size_t bytes) {
    uint64_t all = packed->from | packed->to | packed->along[0].size * bytes | RDT_PACKED_UNIT_MAX;
    for (uint32_t i = 1; i < packed->axes; i++) all |= (uint64_t)packed->along[i].step * bytes;
    const uint64_t widest = all & -all;
    const uint64_t lanes = packed->along[0].step == 1 && widest > bytes ? widest / bytes : 1;
    packed->bytes = (uint32_t)(lanes * bytes);
    packed->units = count / lanes;
    packed->along[0].size /= lanes;
    for (uint32_t i = 1; i < packed->axes; i++) packed->along[i].step /= (int64_t)lanes;
    if (packed->along[0].size == 1 && packed->axes > 1) /* one unit is nothing to divide by */
        memmove(packed->along, packed->along + 1, --packed->axes * sizeof *packed->along);
    for (uint32_t i = 0; i < packed->axes; i++)
        packed->along[i].reciprocal = UINT64_MAX / packed->along[i].size;
}

/* Bits of the least power of two that is not less, up to a number. */
static uint32_t bits_up_to(uint64_t size, uint32_t most) {
    uint32_t bits = 0;
    while (bits < most && size > UINT64_C(1) << bits) bits++;
    return bits;
}

/* Has a warp take tiles where units share sectors along another axis than the innermost one. */
static void choose_tiles(rdt_packed *packed) {
    enum { SIDE_BITS = RDT_PACKED_TILE_BITS / 2, SECTOR_BYTES = 32, BYTES_MAX = 8 };
    uint64_t nearest =
        packed->bytes > BYTES_MAX ? 0 : rdt_problem_step_length(packed->along[0].step);
    for (uint32_t i = 1; i < packed->axes; i++) {
        const uint64_t step = rdt_problem_step_length(packed->along[i].step);
        if (!step || step >= nearest || step >= SECTOR_BYTES / packed->bytes) continue;
        nearest = step;
        packed->across = i;
    }
    /* A run of few indices has the same sectors. */
    const uint64_t size = packed->along[0].size, beside = packed->along[packed->across].size;
    if (size < RDT_PACKED_PIECE && beside < RDT_PACKED_PIECE && size * beside < RDT_PACKED_PIECE)
        packed->across = 0;
    if (!packed->across) return;
    const uint32_t height = bits_up_to(size, SIDE_BITS);
    packed->width = bits_up_to(beside, RDT_PACKED_TILE_BITS - height);
}

static uint64_t pack_pieces(const rdt_packed *packed) {
    uint64_t pieces = 1;
    if (!packed->across) return (packed->units + RDT_PACKED_PIECE - 1) / RDT_PACKED_PIECE;
    for (uint32_t i = 0; i < packed->axes; i++) {
        const uint64_t height = RDT_PACKED_TILE >> packed->width;
        const uint64_t taken = !i ? height : i == packed->across ? UINT64_C(1) << packed->width : 1;
        pieces *= (packed->along[i].size + taken - 1) / taken;
    }
    return pieces;
}

/* A view that was checked and has elements, to be copied to an address. */
static redtune_status describe_view(const redtune_view *view, size_t bytes, uint64_t count,
                                    uint64_t to, rdt_packed *out, rdt_span *span,
                                    redtune_error *err) {
    *out = (rdt_packed){.from = (uint64_t)(uintptr_t)view->d_in, .to = to};
    redtune_status status = join_view_axes(view, out, err);
    if (!status) status = find_view_span(out, bytes, span, err);
    if (!status) choose_units(out, count, bytes);
    if (!status) choose_tiles(out);
    return status;
}

/* ---- those of a list ------------------------------------------------------------------------- */

redtune_status rdt_packing_add(rdt_packing *self, size_t bytes, const redtune_view *view,
                               uint64_t count, size_t array, redtune_error *err) {
    rdt_copy made = {.array = array, .count = count};
    redtune_status status =
        describe_view(view, bytes, count, self->bytes, &made.packed, &made.span, err);
    if (!status) status = RDT_ARRAY_RESERVE(self->copies, self->capacity, self->count + 1, err);
    if (status) return status;
    self->bytes += (count * bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    self->pieces += pack_pieces(&made.packed);
    self->copies[self->count++] = made;
    return REDTUNE_OK;
}

redtune_status rdt_packing_add_all(rdt_packing *self, const rdt_packing *of, redtune_error *err) {
    redtune_status status = RDT_ARRAY_RESERVE(self->copies, self->capacity, of->count, err);
    if (status) return status;
    if (of->count) memcpy(self->copies, of->copies, of->count * sizeof *of->copies);
    self->count = of->count;
    self->bytes = of->bytes;
    self->pieces = of->pieces;
    return REDTUNE_OK;
}

static size_t table_bytes(const rdt_packing *self) {
    return (self->count + 1) * sizeof(uint64_t) + self->count * sizeof(rdt_packed);
}

redtune_status rdt_packing_make_room(rdt_packing *self, redtune *rt, redtune_error *err) {
    self->rt = rt;
    if (!self->count) return REDTUNE_OK;
    redtune_status status = rdt_packer_find(rt, &self->kernel, err);
    if (status) return status;
    return rdt_buffer_create(rt->context->driver, self->bytes + table_bytes(self), &self->room,
                             err);
}

redtune_status rdt_packing_upload(const rdt_packing *self, CUstream stream, redtune_error *err) {
    if (!self->count) return REDTUNE_OK;
    uint64_t *firsts = malloc(table_bytes(self));
    if (!firsts) return rdt_fail_memory(err, table_bytes(self));
    rdt_packed *arrays = (rdt_packed *)(firsts + self->count + 1);
    firsts[0] = 0;
    for (size_t i = 0; i < self->count; i++) {
        arrays[i] = self->copies[i].packed;
        arrays[i].to += self->room.address;
        firsts[i + 1] = firsts[i] + pack_pieces(&arrays[i]);
    }
    redtune_status status =
        rdt_buffer_write(self->rt->context->driver, self->room.address + self->bytes, firsts,
                         table_bytes(self), stream, err);
    free(firsts);
    return status;
}

redtune_status rdt_packing_run(const rdt_packing *self, CUstream stream, redtune_error *err) {
    if (!self->count) return REDTUNE_OK;
    const rdt_context *context = self->rt->context;
    const rdt_packing_table table = {self->room.address + self->bytes, self->count, self->pieces};
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && self->rt->check && i < self->count; i++) {
        const rdt_span *span = &self->copies[i].span;
        status = rdt_pointer_check(context, "an array of the list", span->begin,
                                   span->end - span->begin, err);
    }
    if (status) return status;
    return rdt_kernel_pack(self->kernel, &table, stream, err);
}

void rdt_packing_clear(rdt_packing *self) {
    rdt_buffer_destroy(&self->room);
    free(self->copies);
    *self = (rdt_packing){.count = 0};
}

/* ---- one array ------------------------------------------------------------------------------- */

static redtune_status check_pack(const redtune *rt, redtune_dtype dtype, const redtune_view *view,
                                 const void *d_out, uint64_t *count, redtune_error *err) {
    const size_t bytes = redtune_dtype_bytes(dtype);
    const char *wrong = !rt      ? "rt is NULL"
                        : !view  ? "view is NULL"
                        : !bytes ? "dtype is none; give a redtune_dtype"
                                 : NULL;
    redtune_status status = REDTUNE_OK;
    if (!wrong) status = rdt_reserved_check(RDT_RESERVED(view), "redtune_view", err);
    if (!wrong && !status) status = rdt_packing_check(view, count, err);
    if (status) return rdt_fail_within(err, status, "cannot copy the view");
    if (!wrong && *count > rdt_problem_count_max(dtype))
        wrong = "it has too many elements";
    else if (!wrong && *count && (!view->d_in || (uintptr_t)view->d_in % bytes))
        wrong = "d_in must be aligned to its elements and not NULL";
    else if (!wrong && *count && (!d_out || (uintptr_t)d_out % bytes))
        wrong = "d_out must be aligned to its elements and not NULL";
    return wrong ? rdt_fail(err, REDTUNE_INVALID, 0, "cannot copy the view: %s", wrong)
                 : REDTUNE_OK;
}

/* The packer cannot be made within a capture. The context is current. */
static redtune_status take_packer(redtune *rt, CUstream stream, const rdt_kernel **out,
                                  redtune_error *err) {
    bool capturing = false;
    *out = atomic_load(&rt->packer);
    if (*out) return REDTUNE_OK;
    redtune_status status = rdt_workspace_is_capturing(rt->workspace, stream, &capturing, err);
    if (status) return status;
    if (capturing)
        return rdt_fail(err, REDTUNE_UNPREPARED, 0,
                        "cannot copy a view for the first time within a capture: copy one "
                        "before it");
    const CUstreamCaptureMode mode = rdt_context_relax(rt->context);
    status = rdt_packer_find(rt, out, err);
    rdt_context_restore(rt->context, mode);
    return status;
}

/* The context is current. */
static redtune_status start_pack(redtune *rt, const rdt_packed *packed, const rdt_span spans[2],
                                 CUstream stream, redtune_error *err) {
    static const char *const names[] = {"view->d_in", "d_out"};
    const rdt_packing_table table = {.count = 1, .pieces = pack_pieces(packed), .one = *packed};
    const rdt_kernel *kernel = NULL;
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && rt->check && i < 2; i++)
        status = rdt_pointer_check(rt->context, names[i], spans[i].begin,
                                   spans[i].end - spans[i].begin, err);
    if (!status) status = take_packer(rt, stream, &kernel, err);
    if (status) return status;
    return rdt_kernel_pack(kernel, &table, stream, err);
}

redtune_status redtune_pack(redtune *rt, redtune_dtype dtype, const redtune_view *view, void *d_out,
                            struct CUstream_st *stream, redtune_error *err) {
    uint64_t count = 0;
    rdt_packed packed;
    redtune_status status = check_pack(rt, dtype, view, d_out, &count, err);
    if (status || !count) return status;
    const size_t bytes = redtune_dtype_bytes(dtype);
    const uint64_t to = (uint64_t)(uintptr_t)d_out;
    rdt_span spans[2] = {{0, 0}, {to, to + count * bytes}};
    status = describe_view(view, bytes, count, to, &packed, &spans[0], err);
    if (status) return rdt_fail_within(err, status, "cannot copy the view");
    if (rdt_scratch_pool_overlap(&spans[0], &spans[1]))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot copy the view: d_out lies among its elements or their gaps; give "
                        "memory of its own");
    bool entered = false;
    status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    status = start_pack(rt, &packed, spans, stream, err);
    rdt_context_leave(rt->context, entered);
    return status;
}
