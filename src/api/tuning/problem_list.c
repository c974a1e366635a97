/* Problem list: the list of what a tune goes through.
 *
 * Classes follow each other, whole arrays of all ops and dtypes first, then rows, then columns; of
 * each class the extents ascend, and none is there twice. */
#include "api/tuning/problem_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "api/tuning/shape_grid.h"
#include "base/array.h"
#include "base/text.h"
#include "model/problem.h"
#include "redtune/keys.h"
#include "tuner/measure/test_buffers.h"

/* The counts, dtypes and ops that are tuned when the caller names none. The simulated GPU takes
 * minutes for what a GPU does in milliseconds, so fewer of them make its tune. */
static const redtune_op usual_ops[] = {REDTUNE_SUM};
static const redtune_dtype usual_dtypes[] = {REDTUNE_F16, REDTUNE_BF16, REDTUNE_F32, REDTUNE_F64,
                                             REDTUNE_I8,  REDTUNE_I32,  REDTUNE_I64};
static const redtune_dtype usual_plane_dtypes[] = {REDTUNE_F16, REDTUNE_BF16, REDTUNE_F32};
static const redtune_dtype simulated_dtypes[] = {REDTUNE_F32, REDTUNE_F64, REDTUNE_I32};
static const redtune_dtype simulated_plane_dtypes[] = {REDTUNE_F32};
enum { USUAL_COUNT_LOW = 10, USUAL_COUNT_HIGH = 30 };
enum { SIMULATED_COUNT_LOW = 8, SIMULATED_COUNT_HIGH = 10 };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

typedef struct draft {
    const redtune_tuning *wanted;
    bool simulated;
    const rdt_log *log; /* of the first layout; then NULL, so that nothing is told twice */
    rdt_problems list;
    size_t capacity;
} draft;

/* ---- which ----------------------------------------------------------------------------------- */

typedef struct dtype_list {
    const redtune_dtype *dtype;
    size_t count;
} dtype_list;

/* The dtypes that the caller names, or the usual ones of the layout. */
static dtype_list choose_dtypes(const draft *self, rdt_layout layout) {
    const redtune_tuning *wanted = self->wanted;
    const bool whole = layout == RDT_LAYOUT_WHOLE;
    if (wanted->dtype_count) return (dtype_list){wanted->dtypes, wanted->dtype_count};
    if (self->simulated)
        return whole ? (dtype_list){simulated_dtypes, COUNT_OF(simulated_dtypes)}
                     : (dtype_list){simulated_plane_dtypes, COUNT_OF(simulated_plane_dtypes)};
    return whole ? (dtype_list){usual_dtypes, COUNT_OF(usual_dtypes)}
                 : (dtype_list){usual_plane_dtypes, COUNT_OF(usual_plane_dtypes)};
}

static redtune_status add(draft *self, const redtune_problem *problem, redtune_error *err) {
    rdt_problems *list = &self->list;
    redtune_problem asked = *problem, resolved;
    asked.config = NULL;
    redtune_status status = rdt_problem_resolve(&asked, &resolved, err);
    if (!status) status = rdt_problem_strided_refuse_tuning(&resolved, err);
    if (!status) status = RDT_ARRAY_RESERVE(list->problem, self->capacity, list->count + 1, err);
    if (!status) list->problem[list->count++] = resolved;
    return status;
}

/* The caller's counts, or the usual ones. */
static redtune_status add_counts(draft *self, redtune_problem problem, redtune_error *err) {
    const redtune_tuning *wanted = self->wanted;
    const int low = self->simulated ? SIMULATED_COUNT_LOW : USUAL_COUNT_LOW;
    const int high = self->simulated ? SIMULATED_COUNT_HIGH : USUAL_COUNT_HIGH;
    const size_t count = wanted->count_count ? wanted->count_count : (size_t)(high - low + 1);
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < count; i++) {
        rdt_problem_axes_set_count(
            &problem, wanted->count_count ? wanted->counts[i] : UINT64_C(1) << ((size_t)low + i));
        status = add(self, &problem, err);
    }
    return status;
}

static redtune_status add_shapes(draft *self, redtune_problem problem, bool rows,
                                 redtune_error *err) {
    rdt_shape shapes[RDT_SHAPE_GRID_MAX];
    const size_t count =
        rdt_shape_grid_make(redtune_dtype_bytes(problem.dtype), rows, self->simulated, shapes);
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < count; i++) {
        rdt_extents extents = {.count = shapes[i].count};
        *(rows ? &extents.outer : &extents.inner) = shapes[i].results;
        rdt_problem_axes_set(&problem, extents);
        status = add(self, &problem, err);
    }
    return status;
}

static redtune_problem begin_problem(const draft *self, redtune_op op, redtune_dtype dtype) {
    return (redtune_problem){.op = op,
                             .dtype = dtype,
                             .order = self->wanted->order,
                             .accuracy = (redtune_accuracy)self->wanted->accuracy};
}

/* The dtypes that the op takes, as bits, and a note of the others; all of them where it takes none,
 * so that the first is refused. */
static uint32_t find_served(const draft *self, redtune_op op, const dtype_list *dtypes) {
    rdt_text lacking = {0};
    uint32_t served = 0;
    for (size_t i = 0; i < dtypes->count; i++) {
        redtune_problem asked = begin_problem(self, op, dtypes->dtype[i]), resolved;
        redtune_error ignored;
        rdt_problem_axes_set_count(&asked, 1);
        if (!rdt_problem_resolve(&asked, &resolved, &ignored))
            served |= 1u << dtypes->dtype[i];
        else if (redtune_dtype_name(asked.dtype))
            rdt_text_addf(&lacking, "%s%s", lacking.length ? ", " : "",
                          redtune_dtype_name(asked.dtype));
    }
    if (served && lacking.length)
        rdt_log_write(self->log, REDTUNE_LOG_WARNING, "%s of %s is left out: it does not take that",
                      redtune_op_name(op), lacking.data);
    rdt_text_free(&lacking);
    return served ? served : UINT32_MAX;
}

static redtune_status add_layout(draft *self, rdt_layout layout, redtune_error *err) {
    const redtune_tuning *wanted = self->wanted;
    const dtype_list dtypes = choose_dtypes(self, layout);
    const redtune_op *ops = wanted->op_count ? wanted->ops : usual_ops;
    const size_t op_count = wanted->op_count ? wanted->op_count : COUNT_OF(usual_ops);
    redtune_status status = REDTUNE_OK;
    uint32_t served = 0;
    for (size_t i = 0; !status && i < op_count * dtypes.count; i++) {
        const redtune_dtype dtype = dtypes.dtype[i % dtypes.count];
        const redtune_problem problem = begin_problem(self, ops[i / dtypes.count], dtype);
        if (i % dtypes.count == 0) served = find_served(self, problem.op, &dtypes);
        if ((unsigned)dtype < REDTUNE_DTYPE_END && !(served & 1u << dtype)) continue;
        status = layout == RDT_LAYOUT_WHOLE
                     ? add_counts(self, problem, err)
                     : add_shapes(self, problem, layout == RDT_LAYOUT_ROWS, err);
    }
    self->log = NULL;
    return status;
}

/* Batches of planes along all axes but the channels', as norms of them are, of dtypes of two
 * widths: those of the others are alike. */
static redtune_status add_planes(draft *self, redtune_error *err) {
    static const int64_t shapes[][4] = {
        {32, 64, 112, 112}, {64, 256, 56, 56}, {256, 512, 14, 14}, {256, 2048, 7, 7}};
    static const redtune_dtype dtypes[] = {REDTUNE_BF16, REDTUNE_F32};
    static const int axes[] = {0, 2, 3};
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < COUNT_OF(dtypes) * COUNT_OF(shapes); i++) {
        redtune_problem problem = begin_problem(self, REDTUNE_SUM, dtypes[i / COUNT_OF(shapes)]);
        status = redtune_problem_fold(&problem, shapes[i % COUNT_OF(shapes)], NULL, 4, axes,
                                      COUNT_OF(axes), err);
        if (!status) status = add(self, &problem, err);
    }
    return status;
}

/* By few keys and by as many as a block has room for, of the two dtypes that keys have. Of more
 * elements the default was nearly as fast. */
static redtune_status add_keyed(draft *self, redtune_error *err) {
    static const uint64_t keys[] = {16, 256, 4 << 10, 16 << 10}, count = 2 << 20;
    static const redtune_dtype dtypes[] = {REDTUNE_I32, REDTUNE_I64};
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < COUNT_OF(dtypes) * COUNT_OF(keys); i++) {
        redtune_problem problem = redtune_problem_by_key(
            REDTUNE_SUM, REDTUNE_F32, dtypes[i / COUNT_OF(keys)], keys[i % COUNT_OF(keys)], count);
        problem.order = self->wanted->order;
        status = add(self, &problem, err);
    }
    return status;
}

/* Segments of few, some and many elements, of lengths that are not known beforehand. */
static redtune_status add_segments(draft *self, redtune_error *err) {
    static const uint64_t lengths[] = {64, 1000, 4096}, elements = 64 << 20;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < COUNT_OF(lengths); i++) {
        redtune_problem problem =
            redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, elements / lengths[i], lengths[i]);
        problem.order = self->wanted->order;
        problem.accuracy = self->wanted->accuracy;
        status = add(self, &problem, err);
    }
    return status;
}

static redtune_status add_all(draft *self, redtune_error *err) {
    const redtune_tuning *wanted = self->wanted;
    const unsigned layouts =
        wanted->count_count || !wanted->layouts ? REDTUNE_LAYOUT_WHOLE : wanted->layouts;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < wanted->problem_count; i++)
        status = add(self, &wanted->problems[i], err);
    if (status || wanted->problem_count) return status;
    if (layouts & REDTUNE_LAYOUT_WHOLE) status = add_layout(self, RDT_LAYOUT_WHOLE, err);
    if (!status && layouts & REDTUNE_LAYOUT_ROWS) status = add_layout(self, RDT_LAYOUT_ROWS, err);
    if (!status && layouts & REDTUNE_LAYOUT_COLUMNS)
        status = add_layout(self, RDT_LAYOUT_COLUMNS, err);
    const bool everything = layouts & REDTUNE_LAYOUT_ROWS && layouts & REDTUNE_LAYOUT_COLUMNS &&
                            !wanted->op_count && !wanted->dtype_count && !self->simulated;
    /* Of segments there are no exact sums. */
    if (!status && everything && wanted->accuracy != REDTUNE_ACCURACY_EXACT)
        status = add_segments(self, err);
    if (!status && everything) status = add_planes(self, err);
    /* In fixed order and with other accuracies they are reordered, which is not tuned. */
    const bool plain =
        wanted->order != REDTUNE_ORDER_FIXED && wanted->accuracy == REDTUNE_ACCURACY_PLAIN;
    if (!status && everything && plain) status = add_keyed(self, err);
    return status;
}

/* ---- in which order -------------------------------------------------------------------------- */

static int compare_extents(const void *a, const void *b) {
    return rdt_problem_compare_extents(a, b);
}

static int compare_problems(const void *a, const void *b) {
    const int class = rdt_problem_compare_class(a, b);
    return class ? class : rdt_problem_compare_extents(a, b);
}

/* The caller's problems come in any order, ours by class. */
static void sort(rdt_problems *list, bool by_class) {
    size_t kept = 0;
    redtune_problem *problem = list->problem;
    if (by_class) qsort(problem, list->count, sizeof *problem, compare_problems);
    for (size_t first = 0, count; first < list->count; first += count) {
        count = rdt_problem_list_class(list, first);
        qsort(problem + first, count, sizeof *problem, compare_extents);
    }
    for (size_t i = 0; i < list->count; i++)
        if (!kept || !rdt_problem_same(&problem[kept - 1], &problem[i]))
            problem[kept++] = problem[i];
    list->count = kept;
}

/* ---- which part of them ---------------------------------------------------------------------- */

/* The end of a plane that index i lies within, or its first, whichever is nearer; i itself where it
 * lies within no plane. */
static size_t leave_plane(const rdt_problems *list, size_t i) {
    size_t first = i, end = i;
    if (i == 0 || i >= list->count || rdt_problem_layout(&list->problem[i]) == RDT_LAYOUT_WHOLE)
        return i;
    while (first && rdt_problem_same_class(&list->problem[first - 1], &list->problem[i])) first--;
    end = first + rdt_problem_list_class(list, first);
    return i - first < end - i ? first : end;
}

/* Neighbours stay together: a search starts from what was best beside it. Where two shards meet
 * within a class of whole arrays, the first of the later one is the last of the earlier one, too,
 * so that the crossover between the two sizes lies in one shard, and in one only. A plane has
 * neighbours in two directions: it is one shard's, all of it. */
static redtune_status take_shard(const redtune_tuning *wanted, rdt_problems *list,
                                 redtune_error *err) {
    const uint64_t shards = wanted->shard_count ? wanted->shard_count : 1;
    if (wanted->shard_index >= shards) {
        rdt_problem_list_free(list);
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune shard %u of %u: they count from 0",
                        wanted->shard_index, wanted->shard_count);
    }
    const uint64_t index = wanted->shard_index;
    const size_t first = leave_plane(list, (size_t)(list->count * index / shards));
    size_t end = leave_plane(list, (size_t)(list->count * (index + 1) / shards));
    if (first < end && end < list->count &&
        rdt_problem_same_class(&list->problem[end - 1], &list->problem[end]))
        end++;
    list->count = end - first;
    memmove(list->problem, list->problem + first, list->count * sizeof *list->problem);
    return REDTUNE_OK;
}

redtune_status rdt_problem_list_make(const redtune_tuning *wanted, bool simulated,
                                     const rdt_log *log, rdt_problems *out, redtune_error *err) {
    draft self = {.wanted = wanted, .simulated = simulated, .log = log};
    redtune_status status = add_all(&self, err);
    if (status) {
        rdt_problem_list_free(&self.list);
        return status;
    }
    sort(&self.list, wanted->problem_count > 0);
    *out = self.list;
    return take_shard(wanted, out, err);
}

/* ---- what fits ------------------------------------------------------------------------------- */

static void note_left_out(const redtune_problem *first, size_t count, const rdt_facts *facts,
                          const rdt_log *log) {
    char text[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(first, text);
    if (rdt_problem_layout(first) == RDT_LAYOUT_WHOLE)
        rdt_log_write(log, REDTUNE_LOG_WARNING,
                      "%s of %s is left out from %" PRIu64
                      " elements on: it does not fit the memory of %s",
                      redtune_op_name(first->op), redtune_dtype_name(first->dtype),
                      rdt_problem_count(first), facts->name);
    else
        rdt_log_write(log, REDTUNE_LOG_WARNING,
                      "%zu %s, the first a %s: %s not fit the memory of %s", count,
                      count > 1 ? "shapes are left out" : "shape is left out", text,
                      count > 1 ? "they do" : "it does", facts->name);
}

static bool fits(const redtune_problem *problem, const rdt_facts *facts, uint64_t free_bytes) {
    return rdt_test_buffers_fit(facts, free_bytes, problem);
}

bool rdt_problem_list_fits(const rdt_problems *problems, const rdt_facts *facts,
                           uint64_t free_bytes) {
    for (size_t i = 0; i < problems->count; i++)
        if (!fits(&problems->problem[i], facts, free_bytes)) return false;
    return true;
}

redtune_status rdt_problem_list_fit(const rdt_problems *problems, const rdt_facts *facts,
                                    uint64_t free_bytes, const rdt_log *log, rdt_problems *out,
                                    redtune_error *err) {
    rdt_problems kept = {.problem = calloc(problems->count, sizeof *kept.problem)};
    if (!kept.problem) return rdt_fail_memory(err, problems->count * sizeof *kept.problem);
    for (size_t first = 0, end; first < problems->count; first = end) {
        const redtune_problem *left_out = NULL;
        size_t count = 0;
        end = first + rdt_problem_list_class(problems, first);
        for (size_t i = first; i < end; i++) {
            const redtune_problem *each = &problems->problem[i];
            if (fits(each, facts, free_bytes)) {
                kept.problem[kept.count++] = *each;
            } else {
                if (!left_out) left_out = each;
                count++;
            }
        }
        if (left_out) note_left_out(left_out, count, facts, log);
    }
    if (kept.count) {
        *out = kept;
        return REDTUNE_OK;
    }
    rdt_problem_list_free(&kept);
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot tune: no problem of the sizes asked for fits the GPU's memory; ask "
                    "for smaller sizes");
}

void rdt_problem_list_free(rdt_problems *problems) {
    free(problems->problem);
    *problems = (rdt_problems){0};
}

size_t rdt_problem_list_class(const rdt_problems *problems, size_t first) {
    size_t end = first;
    while (end < problems->count &&
           rdt_problem_same_class(&problems->problem[first], &problems->problem[end]))
        end++;
    return end - first;
}

size_t rdt_problem_list_classes(const rdt_problems *problems) {
    size_t classes = 0;
    for (size_t first = 0; first < problems->count;
         first += rdt_problem_list_class(problems, first))
        classes++;
    return classes;
}
