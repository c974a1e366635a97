/* List: arrays with tables on the GPU that are made once: where each is, how many elements come
 * before it, which are offsets that do not decrease, and where its mask is. An array without a mask
 * in a list with some has one of ones, which all of these share. An array with gaps is where each
 * run packs it (packing.h). */
#include "api/running/list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "api/running/packing.h"
#include "api/runtime/runtime.h"
#include "base/reserved.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "model/segment_lengths.h"

struct redtune_list {
    redtune *rt;
    redtune_dtype dtype;
    uint64_t count;
    rdt_extents shape; /* of a problem of all arrays (rdt_problem_segments_shape) */
    redtune_mask mask; /* of problems that its masks are for */
    rdt_buffer tables; /* count addresses, count + 1 offsets, and where masks are */
    rdt_buffer ones;
    rdt_packing packing;
    rdt_span *arrays; /* count of them, on the host, and behind these as many masks */
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

/* Puts the arrays with gaps where runs pack them. The room is there. */
static void move_packed(redtune_list *list, uint64_t *places) {
    for (size_t i = 0; i < list->packing.count; i++) {
        const rdt_copy *copy = &list->packing.copies[i];
        places[copy->array] = list->packing.room.address + copy->packed.to;
        list->arrays[copy->array] = copy->span;
    }
}

/* Addresses, offsets and, where there are some, masks. */
static size_t list_table_bytes(const redtune_list *list) {
    return ((list->mask ? 3 : 2) * list->count + 1) * sizeof(uint64_t);
}

/* So many bytes in which all bits are 1, and all bytes not 0. */
static redtune_status make_ones(redtune_list *list, uint64_t bytes, CUstream stream,
                                redtune_error *err) {
    const rdt_driver *driver = list->rt->context->driver;
    unsigned char ones[256];
    if (!bytes) return REDTUNE_OK;
    memset(ones, 0xff, sizeof ones);
    const size_t first = bytes < sizeof ones ? bytes : sizeof ones;
    redtune_status status = rdt_buffer_create(driver, bytes, &list->ones, err);
    if (!status) status = rdt_buffer_write(driver, list->ones.address, ones, first, stream, err);
    if (status) return status;
    return rdt_buffer_repeat(driver, list->ones.address, first, bytes, stream, err);
}

/* Sets the places of masks, in tables, that are left to the ones, and copies all. The last copy
 * ends behind everything before it. */
static redtune_status upload(redtune_list *list, uint64_t *tables, uint64_t ones_bytes,
                             redtune_error *err) {
    const rdt_driver *driver = list->rt->context->driver;
    const size_t bytes = list_table_bytes(list);
    const uint64_t bits = rdt_problem_mask_bits(list->mask) ? 8 : 1;
    uint64_t *masks = tables + 2 * list->count + 1;
    CUstream stream = NULL;
    redtune_status status = rdt_buffer_create(driver, bytes, &list->tables, err);
    if (!status) status = rdt_stream_create(driver, &stream, err);
    if (!status) status = rdt_packing_upload(&list->packing, stream, err);
    if (!status) status = make_ones(list, ones_bytes, stream, err);
    for (uint64_t i = 0; list->mask && i < list->count; i++)
        if (!masks[i]) masks[i] = list->ones.address * bits;
    if (!status)
        status = rdt_buffer_write(driver, list->tables.address, tables, bytes, stream, err);
    if (stream) rdt_stream_destroy(driver, stream);
    return status;
}

/* The context is current. */
static void free_memory(redtune_list *list) {
    rdt_buffer_destroy(&list->tables);
    rdt_buffer_destroy(&list->ones);
    rdt_buffer_destroy(&list->packing.room);
}

/* The masks that the caller gives; NULL: none. */
typedef struct masks {
    const void *const *place;
    const uint64_t *firsts;
} masks;

/* Sets where masks are, and their spans; returns the bytes of ones that arrays without one want. */
static uint64_t add_masks(redtune_list *list, const masks *from, const uint64_t *counts,
                          uint64_t *places) {
    const bool bits = rdt_problem_mask_bits(list->mask);
    uint64_t longest = 0;
    for (uint64_t i = 0; i < list->count; i++) {
        const uint64_t place = (uintptr_t)from->place[i], first = bits ? from->firsts[i] : 0;
        const uint64_t bytes = bits ? (first % 8 + counts[i] + 7) / 8 : counts[i];
        if (place && counts[i]) {
            places[i] = bits ? place * 8 + first : place;
            list->arrays[list->count + i] =
                (rdt_span){place + first / 8, place + first / 8 + bytes};
        } else if (counts[i] > longest) {
            longest = counts[i];
        }
    }
    return bits ? (longest + 7) / 8 : longest;
}

static redtune_status make_list(redtune_list *list, const arrays *from, const masks *beside,
                                redtune_error *err) {
    const size_t spans = (beside ? 2 : 1) * from->count + 1;
    uint64_t *tables = calloc(1, list_table_bytes(list)), ones_bytes = 0;
    bool entered = false;
    if (!tables) return rdt_fail_memory(err, list_table_bytes(list));
    list->arrays = calloc(spans, sizeof *list->arrays);
    redtune_status status =
        list->arrays ? REDTUNE_OK : rdt_fail_memory(err, spans * sizeof *list->arrays);
    for (size_t i = 0; !status && i < from->count; i++)
        status = add_array(from, i, list->arrays, tables, tables + from->count, err);
    if (!status && beside)
        ones_bytes = add_masks(list, beside, from->counts, tables + 2 * from->count + 1);
    if (!status) status = rdt_context_enter(list->rt->context, &entered, err);
    if (!status) {
        CUstreamCaptureMode mode = rdt_context_relax(list->rt->context);
        status = rdt_packing_make_room(&list->packing, list->rt, err);
        move_packed(list, tables);
        if (!status) status = upload(list, tables, ones_bytes, err);
        uint64_t *offsets = tables + list->count; /* of which nothing needs to be left */
        if (!status) list->shape = rdt_segment_lengths_describe(offsets, list->count, offsets);
        if (status) free_memory(list);
        rdt_context_restore(list->rt->context, mode);
        rdt_context_leave(list->rt->context, entered);
    }
    free(tables);
    return status;
}

static void free_list(redtune_list *list) {
    if (list) rdt_packing_clear(&list->packing);
    if (list) free(list->arrays);
    free(list);
}

static redtune_status check_list(redtune *rt, redtune_dtype dtype, size_t count,
                                 const char *missing, redtune_error *err) {
    if (!rt) missing = "rt";
    if (missing)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot make a list: %s is NULL", missing);
    if (!rdt_dtype_find(dtype))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot make a list: dtype is %d; give a redtune_dtype", (int)dtype);
    if (count > rdt_list_count_max())
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot make a list of %zu arrays: at most %" PRIu64, count,
                        rdt_list_count_max());
    return REDTUNE_OK;
}

redtune_status redtune_list_create(redtune *rt, redtune_dtype dtype, const void *const *d_arrays,
                                   const uint64_t *counts, size_t count, redtune_list **out,
                                   redtune_error *err) {
    const char *missing = !out                 ? "out"
                          : count && !d_arrays ? "d_arrays"
                          : count && !counts   ? "counts"
                                               : NULL;
    redtune_status status = check_list(rt, dtype, count, missing, err);
    if (status) return status;
    redtune_list *list = calloc(1, sizeof *list);
    if (!list) return rdt_fail_memory(err, sizeof *list);
    *list = (redtune_list){.rt = rt, .dtype = dtype, .count = count};
    status = make_list(list, &(arrays){dtype, d_arrays, counts, count}, NULL, err);
    if (status)
        free_list(list);
    else
        *out = list;
    return status;
}

/* Array i, from its view. */
static redtune_status take_view(redtune_list *list, const redtune_view *view, size_t i,
                                const void **place, uint64_t *count, redtune_error *err) {
    redtune_status status = rdt_reserved_check(RDT_RESERVED(view), "redtune_view", err);
    if (!status) status = rdt_packing_check(view, count, err);
    *place = view->d_in;
    if (!status && *count && *count <= rdt_problem_count_max(list->dtype) &&
        !rdt_packing_is_packed(view))
        status =
            rdt_packing_add(&list->packing, redtune_dtype_bytes(list->dtype), view, *count, i, err);
    return status ? rdt_fail_within(err, status, "cannot list array %zu", i) : REDTUNE_OK;
}

redtune_status redtune_list_create_views(redtune *rt, redtune_dtype dtype,
                                         const redtune_view *views, size_t count,
                                         redtune_list **out, redtune_error *err) {
    const char *missing = !out ? "out" : count && !views ? "views" : NULL;
    redtune_status status = check_list(rt, dtype, count, missing, err);
    if (status) return status;
    redtune_list *list = calloc(1, sizeof *list);
    const void **places = calloc(count + 1, sizeof *places);
    uint64_t *counts = calloc(count + 1, sizeof *counts);
    if (!list || !places || !counts) status = rdt_fail_memory(err, (count + 1) * sizeof *counts);
    if (!status) *list = (redtune_list){.rt = rt, .dtype = dtype, .count = count};
    for (size_t i = 0; !status && i < count; i++)
        status = take_view(list, &views[i], i, &places[i], &counts[i], err);
    if (!status) status = make_list(list, &(arrays){dtype, places, counts, count}, NULL, err);
    free(places);
    free(counts);
    if (status)
        free_list(list);
    else
        *out = list;
    return status;
}

redtune_status redtune_list_create_masked(const redtune_list *of, const void *const *d_masks,
                                          const uint64_t *first_bits, redtune_list **out,
                                          redtune_error *err) {
    const char *missing = !of                     ? "the list"
                          : !out                  ? "out"
                          : of->count && !d_masks ? "d_masks"
                                                  : NULL;
    if (missing)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot make a list with masks: %s is NULL",
                        missing);
    const size_t count = (size_t)of->count, bytes = redtune_dtype_bytes(of->dtype);
    redtune_list *list = calloc(1, sizeof *list);
    const void **places = calloc(count + 1, sizeof *places);
    uint64_t *counts = calloc(count + 1, sizeof *counts);
    redtune_status status = REDTUNE_OK;
    if (!list || !places || !counts) status = rdt_fail_memory(err, (count + 1) * sizeof *counts);
    if (!status) {
        *list = (redtune_list){
            .rt = of->rt,
            .dtype = of->dtype,
            .count = of->count,
            .mask = first_bits ? REDTUNE_MASK_LISTED_BITS : REDTUNE_MASK_LISTED_BYTES,
        };
        for (size_t i = 0; i < count; i++) {
            places[i] = (const void *)(uintptr_t)of->arrays[i].begin;
            counts[i] = (of->arrays[i].end - of->arrays[i].begin) / bytes;
        }
        status = rdt_packing_add_all(&list->packing, &of->packing, err);
        for (size_t i = 0; !status && i < of->packing.count; i++)
            counts[of->packing.copies[i].array] = of->packing.copies[i].count;
        if (!status)
            status = make_list(list, &(arrays){of->dtype, places, counts, count},
                               &(masks){d_masks, first_bits}, err);
    }
    free(places);
    free(counts);
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
        free_memory(list);
        rdt_context_restore(context, mode);
        rdt_context_leave(context, entered);
    }
    free_list(list);
}

redtune_status rdt_list_check_apart(const redtune_list *list, const rdt_traffic *traffic,
                                    CUdeviceptr scratch, redtune_error *err) {
    static const char *const places[] = {"an array of the list", NULL};
    static const char *const of_masks[] = {"a mask of the list", NULL};
    redtune_status status =
        rdt_operands_check_apart(traffic, scratch, list->arrays, list->count, places, err);
    if (status || !list->mask) return status;
    return rdt_operands_check_apart(traffic, scratch, list->arrays + list->count, list->count,
                                    of_masks, err);
}

const void *rdt_list_masks(const redtune_list *list) {
    if (!list->mask || !list->count) return NULL;
    const uint64_t *tables = (const uint64_t *)(uintptr_t)list->tables.address;
    return tables + 2 * list->count + 1;
}

redtune_status rdt_list_pack(const redtune_list *list, CUstream stream, redtune_error *err) {
    return rdt_packing_run(&list->packing, stream, err);
}

static redtune_status refuse_masks(const redtune_list *list, const redtune_problem *problem,
                                   redtune_error *err) {
    static const char *const remedies[] = {
        "set problem.mask to 0, or list masks by redtune_list_create_masked",
        "set problem.mask to REDTUNE_MASK_LISTED_BYTES",
        "set problem.mask to REDTUNE_MASK_LISTED_BITS",
    };
    const bool bits = list->mask == REDTUNE_MASK_LISTED_BITS;
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce a list %s by a plan %s: %s",
                    !list->mask ? "without masks"
                    : bits      ? "with masks of bits"
                                : "with masks of bytes",
                    problem->mask ? "for other ones" : "without",
                    remedies[!list->mask ? 0 : 1 + bits]);
}

redtune_status rdt_list_take(const redtune_list *list, const redtune *rt,
                             const redtune_problem *problem, rdt_segments *out,
                             redtune_error *err) {
    const redtune_dtype dtype = problem->dtype;
    if (list->rt != rt)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce the list: it is of another redtune than the plan");
    if (list->dtype != dtype)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce a list of %s by a plan of %s",
                        redtune_dtype_name(list->dtype), redtune_dtype_name(dtype));
    if (list->mask != problem->mask) return refuse_masks(list, problem, err);
    const uint64_t places = list->tables.address;
    *out = (rdt_segments){.begin = places + list->count * sizeof(uint64_t),
                          .count = list->count,
                          .wide = 1,
                          .arrays = places};
    return REDTUNE_OK;
}
