/* Packing: the arrays of a list that have gaps, as each of its runs copies them side by side.
 *
 * Kernels of lists take elements that lie side by side. So each array with gaps has a place in a
 * room of the list's, in row-major order, and ahead of a run's own launch there is one for each
 * such array. It is a reduction of one element for each result, along the axes of the array: the
 * bits of an element, as an unsigned integer, or'ed with nothing else. Runs of one list may copy at
 * once: nobody may write an array while a run reads it, so that all of them copy the same bits. */
#include "api/running/packing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

/* As many as redtune_problem_fold takes. */
enum { DIMENSIONS_MAX = 64 };

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

/* The problem whose results are the elements. */
static redtune_status fold_view(const redtune_view *view, redtune_dtype dtype, redtune_problem *out,
                                redtune_error *err) {
    static const redtune_dtype of_bytes[] = {
        [1] = REDTUNE_U8, [2] = REDTUNE_U16, [4] = REDTUNE_U32, [8] = REDTUNE_U64};
    int64_t shape[DIMENSIONS_MAX + 1], strides[DIMENSIONS_MAX + 1];
    size_t axes = 0;
    for (size_t i = 0; i < view->dimensions; i++) {
        if (view->shape[i] == 1) continue;
        shape[axes] = view->shape[i];
        strides[axes++] = view->strides[i];
    }
    shape[axes] = strides[axes] = 1; /* the elements of a result */
    const int reduced = (int)axes;
    *out = redtune_problem_whole(REDTUNE_OR, of_bytes[redtune_dtype_bytes(dtype)], 0);
    out->order = REDTUNE_ORDER_FREE_ALWAYS;
    return redtune_problem_fold(out, shape, strides, axes + 1, &reduced, 1, err);
}

static rdt_span span_of_view(const redtune_view *view, size_t bytes) {
    const CUdeviceptr place = (CUdeviceptr)(uintptr_t)view->d_in;
    int64_t first = 0, last = 0;
    for (size_t i = 0; i < view->dimensions; i++) {
        const int64_t far = (view->shape[i] - 1) * view->strides[i];
        *(far < 0 ? &first : &last) += far;
    }
    return (rdt_span){place + (CUdeviceptr)(first * (int64_t)bytes),
                      place + (CUdeviceptr)((last + 1) * (int64_t)bytes)};
}

redtune_status rdt_packing_add(rdt_packing *self, redtune *rt, redtune_dtype dtype,
                               const redtune_view *view, size_t array, redtune_error *err) {
    const size_t bytes = redtune_dtype_bytes(dtype);
    rdt_copy made = {.array = array, .from = (CUdeviceptr)(uintptr_t)view->d_in};
    redtune_problem asked, room;
    redtune_status status = rdt_packing_check(view, &made.count, err);
    if (!status) status = fold_view(view, dtype, &asked, err);
    if (!status)
        status = rdt_runtime_resolve(rt, rdt_runtime_order(rt, &asked, &room), &made.problem, err);
    if (!status) status = rdt_reduce_take_plan(rt, &asked, NULL, &made.plan, err);
    if (!status) status = RDT_ARRAY_RESERVE(self->copies, self->capacity, self->count + 1, err);
    if (status) return status;
    made.span = span_of_view(view, bytes);
    made.offset = self->bytes;
    const uint64_t aligned = RDT_ALIGNMENT_MAX;
    self->bytes += (made.count * bytes + aligned - 1) / aligned * aligned;
    self->copies[self->count++] = made;
    return REDTUNE_OK;
}

redtune_status rdt_packing_add_all(rdt_packing *self, const rdt_packing *of, redtune_error *err) {
    redtune_status status = RDT_ARRAY_RESERVE(self->copies, self->capacity, of->count, err);
    if (status) return status;
    if (of->count) memcpy(self->copies, of->copies, of->count * sizeof *of->copies);
    self->count = of->count;
    self->bytes = of->bytes;
    return REDTUNE_OK;
}

redtune_status rdt_packing_make_room(rdt_packing *self, const rdt_driver *driver,
                                     redtune_error *err) {
    if (!self->count) return REDTUNE_OK;
    return rdt_buffer_create(driver, self->bytes, &self->room, err);
}

redtune_status rdt_packing_run(const rdt_packing *self, CUstream stream, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < self->count; i++) {
        const rdt_copy *copy = &self->copies[i];
        rdt_operands operands;
        rdt_operands_set(&operands, (const void *)(uintptr_t)copy->from,
                         (void *)(uintptr_t)(self->room.address + copy->offset), 0);
        operands.extents = rdt_problem_extents(&copy->problem);
        status = rdt_plan_run(copy->plan, &copy->problem, &operands, NULL, stream, err);
    }
    return status;
}

void rdt_packing_clear(rdt_packing *self) {
    rdt_buffer_destroy(&self->room);
    free(self->copies);
    *self = (rdt_packing){.count = 0};
}
