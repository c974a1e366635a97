/* List: arrays with tables on the GPU that are made once: where each is, and how many elements come
 * before it, which are offsets that do not decrease. */
#include "api/running/list.h"

#include <inttypes.h>
#include <stdlib.h>
#include "api/runtime/runtime.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "model/segment_lengths.h"

struct redtune_list {
    redtune *rt;
    redtune_dtype dtype;
    uint64_t count;
    rdt_extents shape; /* of a problem of all arrays (rdt_problem_segments_shape) */
    rdt_buffer tables; /* count addresses, and count + 1 offsets */
    rdt_span *arrays;  /* count of them, on the host */
};

uint64_t rdt_list_count_max(void) { return rdt_problem_count_max(REDTUNE_I64); }

uint64_t rdt_list_count(const redtune_list *list) { return list->count; }

rdt_extents rdt_list_shape(const redtune_list *list) { return list->shape; }

/* What the caller gives. */
typedef struct arrays {
    redtune_dtype dtype;
    const void *const *place;
    const uint64_t *counts;
    size_t count;
} arrays;

/* Adds array i behind those before it. */
static redtune_status add_array(const arrays *from, size_t i, rdt_span *spans, uint64_t *places,
                                uint64_t *offsets, redtune_error *err) {
    const uint64_t bytes = redtune_dtype_bytes(from->dtype), count = from->counts[i];
    const uint64_t most = rdt_problem_count_max(from->dtype), place = (uintptr_t)from->place[i];
    if (place % bytes || (!place && count))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot list array %zu at %p: it must be aligned to %" PRIu64
                        " bytes and not NULL",
                        i, from->place[i], bytes);
    if (count > most || offsets[i] > most - count)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot list array %zu of %" PRIu64
                        " elements: all arrays have at most %" PRIu64,
                        i, count, most);
    places[i] = place;
    spans[i] = (rdt_span){place, place + count * bytes};
    offsets[i + 1] = offsets[i] + count;
    return REDTUNE_OK;
}

static redtune_status upload(redtune_list *list, const uint64_t *tables, redtune_error *err) {
    const rdt_driver *driver = list->rt->context->driver;
    const size_t bytes = (2 * list->count + 1) * sizeof *tables;
    CUstream stream = NULL;
    redtune_status status = rdt_buffer_create(driver, bytes, &list->tables, err);
    if (!status) status = rdt_stream_create(driver, &stream, err);
    if (!status)
        status = rdt_buffer_write(driver, list->tables.address, tables, bytes, stream, err);
    if (stream) rdt_stream_destroy(driver, stream);
    if (status) rdt_buffer_destroy(&list->tables);
    return status;
}

static redtune_status make(redtune_list *list, const arrays *from, redtune_error *err) {
    uint64_t *tables = calloc(2 * from->count + 1, sizeof *tables);
    bool entered = false;
    if (!tables) return rdt_fail_memory(err, (2 * from->count + 1) * sizeof *tables);
    list->arrays = calloc(from->count + 1, sizeof *list->arrays);
    redtune_status status =
        list->arrays ? REDTUNE_OK : rdt_fail_memory(err, (from->count + 1) * sizeof *list->arrays);
    for (size_t i = 0; !status && i < from->count; i++)
        status = add_array(from, i, list->arrays, tables, tables + from->count, err);
    if (!status) status = rdt_context_enter(list->rt->context, &entered, err);
    if (!status) {
        CUstreamCaptureMode mode = rdt_context_relax(list->rt->context);
        status = upload(list, tables, err);
        uint64_t *offsets = tables + list->count; /* of which nothing needs to be left */
        if (!status) list->shape = rdt_segment_lengths_describe(offsets, list->count, offsets);
        rdt_context_restore(list->rt->context, mode);
        rdt_context_leave(list->rt->context, entered);
    }
    free(tables);
    return status;
}

static void free_list(redtune_list *list) {
    free(list->arrays);
    free(list);
}

redtune_status redtune_list_create(redtune *rt, redtune_dtype dtype, const void *const *d_arrays,
                                   const uint64_t *counts, size_t count, redtune_list **out,
                                   redtune_error *err) {
    const char *missing = !rt                  ? "rt"
                          : !out               ? "out"
                          : count && !d_arrays ? "d_arrays"
                          : count && !counts   ? "counts"
                                               : NULL;
    if (missing)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot make a list: %s is NULL", missing);
    if (!rdt_dtype_find(dtype))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot make a list: dtype is %d; give a redtune_dtype", (int)dtype);
    if (count > rdt_list_count_max())
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot make a list of %zu arrays: at most %" PRIu64, count,
                        rdt_list_count_max());
    redtune_list *list = calloc(1, sizeof *list);
    if (!list) return rdt_fail_memory(err, sizeof *list);
    *list = (redtune_list){.rt = rt, .dtype = dtype, .count = count};
    redtune_status status = make(list, &(arrays){dtype, d_arrays, counts, count}, err);
    if (status)
        free_list(list);
    else
        *out = list;
    return status;
}

void redtune_list_destroy(redtune_list *list) {
    if (!list) return;
    const rdt_context *context = list->rt->context;
    bool entered = false;
    if (!rdt_context_enter(context, &entered, NULL)) {
        CUstreamCaptureMode mode = rdt_context_relax(context);
        rdt_buffer_destroy(&list->tables);
        rdt_context_restore(context, mode);
        rdt_context_leave(context, entered);
    }
    free_list(list);
}

redtune_status rdt_list_check_apart(const redtune_list *list, const rdt_traffic *traffic,
                                    CUdeviceptr scratch, redtune_error *err) {
    static const char *const places[] = {"an array of the list", NULL};
    return rdt_operands_check_apart(traffic, scratch, list->arrays, list->count, places, err);
}

redtune_status rdt_list_take(const redtune_list *list, const redtune *rt, redtune_dtype dtype,
                             rdt_segments *out, redtune_error *err) {
    if (list->rt != rt)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce the list: it is of another redtune than the plan");
    if (list->dtype != dtype)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce a list of %s by a plan of %s",
                        redtune_dtype_name(list->dtype), redtune_dtype_name(dtype));
    const uint64_t places = list->tables.address;
    *out = (rdt_segments){.begin = places + list->count * sizeof(uint64_t),
                          .count = list->count,
                          .wide = 1,
                          .arrays = places};
    return REDTUNE_OK;
}
