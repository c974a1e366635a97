/* Problem: what is reduced.
 *
 * A problem is a class and extents. What is known of one problem serves others of its class: op,
 * dtype, result dtype, layout, order, accuracy and mask. The extents are count, outer, inner and
 * the steps. In a resolved problem the axes have one form (problem_axes.c), so that equal problems
 * have equal fields.
 */
#pragma once

#include "base/text.h"
#include "model/dtype.h"
#include "model/launch.h"
#include "model/op.h"

/* Where the elements and results of a problem lie, and in which order elements may be combined:
 * enumerator, name. */
#define RDT_LAYOUT_LIST(X)                                                                         \
    X(RDT_LAYOUT_WHOLE, "whole")     /* one result, of elements side by side */                    \
    X(RDT_LAYOUT_ROWS, "rows")       /* several, each of elements side by side */                  \
    X(RDT_LAYOUT_COLUMNS, "columns") /* one or more, of elements that lie a step apart */          \
    X(RDT_LAYOUT_RAGGED, "ragged")   /* one of each segment, by tables (redtune/list.h) */         \
    X(RDT_LAYOUT_LIST, "list")       /* one of all segments */                                     \
    X(RDT_LAYOUT_STRIDED, "strided") /* any axes and steps that are none of the first three */     \
    X(RDT_LAYOUT_KEYED, "keyed")     /* one of each key (redtune/keys.h) */
#define RDT_ORDER_LIST(X)                                                                          \
    X(REDTUNE_ORDER_FREE, "free")   /* that of the fastest config */                               \
    X(REDTUNE_ORDER_FIXED, "fixed") /* that of docs/order.md */
#define RDT_MASK_LIST(X)                                                                           \
    X(REDTUNE_MASK_NONE, "none")                                                                   \
    X(REDTUNE_MASK_BYTES, "bytes")                                                                 \
    X(REDTUNE_MASK_BITS, "bits")                                                                   \
    X(REDTUNE_MASK_LISTED_BYTES, "listed_bytes") X(REDTUNE_MASK_LISTED_BITS, "listed_bits")
#define RDT_SPREAD_LIST(X)                                                                         \
    X(REDTUNE_SPREAD_UNKNOWN, "unknown")                                                           \
    X(REDTUNE_SPREAD_UNIFORM, "uniform")                                                           \
    X(REDTUNE_SPREAD_SKEWED, "skewed")                                                             \
    X(REDTUNE_SPREAD_ONE, "one")
#define RDT_ACCURACY_LIST(X)                                                                       \
    X(REDTUNE_ACCURACY_PLAIN, "plain")                                                             \
    X(REDTUNE_ACCURACY_COMPENSATED, "compensated") /* docs/accuracy.md, as the next */             \
    X(REDTUNE_ACCURACY_EXACT, "exact")
/* Order and accuracy by one name, which a measurement is stored with. */
#define RDT_ORDERING_LIST(X)                                                                       \
    X(REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_PLAIN, "free")                                          \
    X(REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_PLAIN, "fixed")                                        \
    X(REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_COMPENSATED, "compensated")                             \
    X(REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_EXACT, "exact")                                         \
    X(REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_COMPENSATED, "fixed_compensated")

/* The fields of redtune_problem that say what is reduced. Every key of a problem has them all; a
 * new field is in one of the lists, or does not compile (problem.c). config says how to reduce. */
#define RDT_PROBLEM_KIND_LIST(X)                                                                   \
    X(op) X(dtype) X(result) X(order) X(accuracy) X(segmented) X(uses) X(mask)
#define RDT_PROBLEM_EXTENT_LIST(X)                                                                 \
    X(kept_axes) X(reduced_axes) X(kept) X(reduced) X(steps) X(greatest) X(median)
/* What a problem by key has beside; keys of others do without. */
#define RDT_PROBLEM_KEYS_LIST(X) X(key_dtype) X(spread) X(keys)

typedef enum rdt_layout {
#define ENTRY(id, name) id,
    RDT_LAYOUT_LIST(ENTRY)
#undef ENTRY
} rdt_layout;

/* The name, or NULL; and back, or -1. */
const char *rdt_problem_layout_name(int layout);
int rdt_problem_find_layout(const char *name);
const char *rdt_problem_order_name(int order);
int rdt_problem_find_order(const char *name);
const char *rdt_problem_mask_name(int mask);
int rdt_problem_find_mask(const char *name);
const char *rdt_problem_spread_name(int spread);
int rdt_problem_find_spread(const char *name);
const char *rdt_problem_ordering_accuracy(int accuracy);
int rdt_problem_ordering_find_accuracy(const char *name);
/* The name of the problem's order and accuracy together, NULL where no problem has both; and back,
 * false for another name. */
const char *rdt_problem_ordering_name(const redtune_problem *problem);
bool rdt_problem_ordering_find(const char *name, redtune_problem *out);

/* Copies the problem with its result dtype filled in, its usual extents 0, and a free order and
 * plain accuracy where all give the same bits. REDTUNE_INVALID if it makes no sense,
 * REDTUNE_UNSUPPORTED for another layout, order or accuracy than those above, and for what has no
 * kernels of it. */
redtune_status rdt_problem_resolve(const redtune_problem *problem, redtune_problem *out,
                                   redtune_error *err);
/* The same for a problem that was measured: its op may be absent. */
redtune_status rdt_problem_resolve_stored(const redtune_problem *problem, redtune_problem *out,
                                          redtune_error *err);
/* The dtype that sums, products and means of the problem, which is resolved, accumulate in. */
redtune_dtype rdt_problem_accumulator(const redtune_problem *problem);
/* Whether the order in which elements are combined shows in the result's bits. */
bool rdt_problem_shows_order(const redtune_problem *problem);
/* Whether the elements of a result have places that count, row-major along the reduced axes as they
 * are given: those of an index, of a fixed order, and of a count on the GPU. */
bool rdt_problem_ordering_has_places(const redtune_problem *problem);
/* Makes order and accuracy the usual ones where they do not show, as the order of an exact sum;
 * else REDTUNE_UNSUPPORTED for an accuracy that there are no kernels of. */
redtune_status rdt_problem_ordering_resolve(redtune_problem *problem, redtune_error *err);
/* The dtype that the op's first (0) or second (1) result has where none is asked for;
 * REDTUNE_DTYPE_NONE if the op does not exist for the input. */
redtune_dtype rdt_problem_result_usual(const rdt_op_traits *op, int output,
                                       const rdt_dtype_traits *input);
/* The dtype that the problem's first result has; REDTUNE_INVALID where there is none. */
redtune_status rdt_problem_result_resolve(const redtune_problem *problem, const rdt_op_traits *op,
                                          const rdt_dtype_traits *input, redtune_dtype *out,
                                          redtune_error *err);
/* The dtype of the second result, likewise; REDTUNE_DTYPE_NONE where the op has one. */
redtune_dtype rdt_problem_second(const redtune_problem *problem);
/* As rdt_problem_resolve, for the extents and the order alone. */
redtune_status rdt_problem_check_extents(const redtune_problem *problem, redtune_error *err);
/* REDTUNE_INVALID for an unknown enumerator; NULL is any. */
redtune_status rdt_problem_check_filter(const redtune_op *op, const redtune_dtype *dtype,
                                        redtune_error *err);
/* Whether a mask is of bits, and whether each array of a list has one of its own. */
bool rdt_problem_mask_bits(redtune_mask mask);
bool rdt_problem_mask_listed(redtune_mask mask);
/* Whether there are kernels of the problem's mask (problem_mask.c). */
redtune_status rdt_problem_mask_check(const redtune_problem *problem, redtune_error *err);
/* Whether an element is a pair, of two inputs, that a mask may leave out. Such problems are of any
 * axes, even if these are rows or columns. */
bool rdt_problem_mask_pairs(const redtune_problem *problem);
/* Bytes of an element of x (0), or of what lies beside it (1): a second input or a mask; 0: there
 * is none. 2: the mask of pairs. */
enum { RDT_ARRAYS_READ_MAX = 3 };
uint64_t rdt_problem_array_bytes(const redtune_problem *problem, int array);
/* Whether a problem of segments makes sense; of others nothing is looked at. */
redtune_status rdt_problem_segments_check(const redtune_problem *problem, redtune_error *err);
/* What stands before their count and behind their dtype in the problem's text. */
enum { RDT_SEGMENTS_TEXT_BYTES = 64 };
void rdt_problem_segments_describe(const redtune_problem *problem,
                                   char before[RDT_SEGMENTS_TEXT_BYTES],
                                   char behind[RDT_SEGMENTS_TEXT_BYTES]);
/* REDTUNE_UNSUPPORTED for segments: cannot <verb> them. */
redtune_status rdt_problem_segments_refuse(const redtune_problem *problem, const char *verb,
                                           redtune_error *err);
/* Copies a problem without the room for axes that it has not. */
void rdt_problem_copy(redtune_problem *to, const redtune_problem *from);

enum { RDT_PROBLEM_TEXT_BYTES = 256 };
/* Whether it is of the layout "strided", of a resolved problem: then all arrays have steps. */
static inline bool rdt_problem_is_strided(const redtune_problem *problem) {
    return problem->steps & 1u << REDTUNE_ARRAY_RESULTS;
}
/* Elements and results of such a problem, as of packed rows. */
rdt_extents rdt_problem_strided_extents(const redtune_problem *problem);
/* Of a step that leads either way. */
static inline uint64_t rdt_problem_step_length(int64_t step) {
    return step < 0 ? -(uint64_t)step : (uint64_t)step;
}
/* Elements of an input or of the mask from the first to the last, of what lies farthest apart. */
uint64_t rdt_problem_strided_reach(const redtune_problem *problem);
/* Whether the results lie row-major along the kept axes, without gaps. */
bool rdt_problem_strided_packs_results(const redtune_problem *problem);
/* Results from the first one in memory to the last, with their gaps; and how many are before the
 * one with indices 0. */
uint64_t rdt_problem_strided_results_reach(const redtune_problem *problem);
uint64_t rdt_problem_strided_results_lead(const redtune_problem *problem);
/* Makes it one of these axes, size 1 left out and neighbours joined; the lists are used up.
 * REDTUNE_UNSUPPORTED where more than REDTUNE_AXES_MAX of either are left; REDTUNE_INVALID where
 * they span more elements than there may be. */
redtune_status rdt_problem_strided_set(redtune_problem *problem, redtune_axis *kept,
                                       size_t kept_count, redtune_axis *reduced,
                                       size_t reduced_count, redtune_error *err);
/* The sizes and the steps of x, of the reduced axes and of the kept ones. */
void rdt_problem_strided_describe(const redtune_problem *problem, char out[RDT_PROBLEM_TEXT_BYTES]);
/* Whether no two indices lead to one element of the array, as far as steps alone tell: windows,
 * broadcast axes and some axes that interlock are not. */
bool rdt_problem_strided_is_disjoint(const redtune_problem *problem, redtune_array array);
/* Of what is not tuned: masks that lie as the elements do, masks in fixed order; and of problems by
 * key. */
redtune_status rdt_problem_strided_refuse_tuning(const redtune_problem *problem,
                                                 redtune_error *err);
/* REDTUNE_UNSUPPORTED for such a problem whose results are not packed, whose parts none can join,
 * or one by key: cannot <verb> it. */
redtune_status rdt_problem_strided_refuse_parts(const redtune_problem *problem, const char *verb,
                                                redtune_error *err);
/* REDTUNE_UNSUPPORTED for such a problem, or one by key: cannot <verb> it. */
redtune_status rdt_problem_strided_refuse(const redtune_problem *problem, const char *verb,
                                          redtune_error *err);

/* Whether it is a reduction by key, as the caller wrote it or resolved. */
static inline bool rdt_problem_is_keyed(const redtune_problem *problem) {
    return problem->key_dtype != REDTUNE_DTYPE_NONE;
}
/* Whether a problem by key makes sense, and has kernels; of others, that they have no keys. */
redtune_status rdt_problem_keyed_check(const redtune_problem *problem, redtune_error *err);
/* Of what has one kernel, in fixed order or with an accuracy, and of too many elements. */
redtune_status rdt_problem_keyed_refuse_tuning(const redtune_problem *problem, redtune_error *err);
/* REDTUNE_UNSUPPORTED for a problem by key: cannot <verb> keys. */
redtune_status rdt_problem_keyed_refuse(const redtune_problem *problem, const char *verb,
                                        redtune_error *err);
/* How many keys a plan that serves so many is made for: at most an eighth more. */
uint64_t rdt_problem_keyed_round(uint64_t keys);
/* Columns of the rows of a problem by key; 1: its elements have keys each. */
uint64_t rdt_problem_keyed_width(const redtune_problem *problem);

/* Of a problem that is resolved, or whose axes have that form, as launches take them. Inline: every
 * call of redtune_reduce comes by here. */
static inline rdt_extents rdt_problem_extents(const redtune_problem *problem) {
    enum { X = REDTUNE_ARRAY_X };
    if (__builtin_expect(rdt_problem_is_strided(problem), 0))
        return rdt_problem_strided_extents(problem);
    const redtune_axis *kept = problem->kept;
    uint32_t several = problem->kept_axes;
    rdt_extents out = {problem->reduced_axes ? problem->reduced[0].size : 0, 1, 1, 0, 1};
    out.outer_step = out.count;
    if (!(problem->steps & 1u << X)) {
        if (several && kept[0].size) out.outer = kept[0].size;
        return out;
    }
    if (problem->reduced_axes) out.step = (uint64_t)problem->reduced[0].step[X];
    if (several && kept[several - 1].step[X] == 1) out.inner = kept[--several].size;
    out.outer_step = out.count * out.inner;
    if (several) {
        out.outer = kept[0].size;
        out.outer_step = (uint64_t)kept[0].step[X];
    }
    return out;
}

/* Brings the axes into the form that equal problems have; REDTUNE_UNSUPPORTED for what no kernel
 * takes. */
redtune_status rdt_problem_axes_resolve(redtune_problem *problem, redtune_error *err);
/* The kept or the reduced axes as text (problem_axes_text.c), false where there is no room, as for
 * many axes with long steps in all arrays; and both back, in place of those that the problem has,
 * false for what is none. */
enum { RDT_AXES_TEXT_BYTES = 512 };
bool rdt_problem_axes_text_write(const redtune_problem *problem, bool kept,
                                 char out[RDT_AXES_TEXT_BYTES]);
bool rdt_problem_axes_text_read(const char *kept, const char *reduced, redtune_problem *problem);
/* What has the steps of x in that form. */
enum { RDT_STEPS_INPUTS = 1 << REDTUNE_ARRAY_X | 1 << REDTUNE_ARRAY_Y | 1 << REDTUNE_ARRAY_MASK };
/* A size, and one step forward in all inputs. */
static inline bool rdt_problem_axis_is_plain(const redtune_axis *axis) {
    const int64_t step = axis->step[REDTUNE_ARRAY_X];
    return axis->size && step > 0 && axis->step[REDTUNE_ARRAY_Y] == step &&
           axis->step[REDTUNE_ARRAY_MASK] == step;
}
/* Whether the problem, as a caller wrote it, has axes of that form already. Inline: every call of
 * redtune_reduce asks. axes_are_plain: of one with steps. */
bool rdt_problem_axes_are_plain(const redtune_problem *problem);
static inline bool rdt_problem_is_settled(const redtune_problem *problem) {
    const redtune_axis *kept = problem->kept;
    if (problem->key_dtype || problem->spread || problem->keys || problem->reduced_axes > 1)
        return false;
    if (problem->mask && rdt_problem_mask_pairs(problem)) return false;
    if (!problem->steps) return !problem->kept_axes || (problem->kept_axes == 1 && kept[0].size);
    /* Exact sums of columns are of any axes once they are resolved. */
    if (problem->accuracy == REDTUNE_ACCURACY_EXACT) return false;
    if (problem->steps == RDT_STEPS_INPUTS && problem->kept_axes == 1 && problem->reduced_axes)
        return rdt_problem_axis_is_plain(kept) && rdt_problem_axis_is_plain(problem->reduced);
    return rdt_problem_axes_are_plain(problem);
}

/* The same as a resolved problem has them: 0 stands for the usual one. */
rdt_extents rdt_problem_axes_written(const redtune_problem *problem);
/* Gives the problem these extents, as it has them where it is resolved; zeros stand for the usual
 * ones. Of segments, count and outer. */
void rdt_problem_axes_set(redtune_problem *problem, rdt_extents extents);
/* Elements of a result; of segments, on average. Changing it leaves what was packed packed. */
uint64_t rdt_problem_count(const redtune_problem *problem);
void rdt_problem_axes_set_count(redtune_problem *problem, uint64_t count);
/* How many elements the input spans, from the first to the last one; false: more than `most`, or
 * there are more results. The extents are complete. */
bool rdt_problem_span(const rdt_extents *extents, uint64_t most, uint64_t *elements);

/* Of complete extents. Inline, as the next: every run asks. */
static inline rdt_layout rdt_problem_layout_of(const rdt_extents *extents) {
    if (extents->inner > 1 || extents->step > 1) return RDT_LAYOUT_COLUMNS;
    return extents->outer > 1 ? RDT_LAYOUT_ROWS : RDT_LAYOUT_WHOLE;
}
/* Whether kernels of one layout are right for problems of another: those of columns for rows and
 * whole arrays, too, and those of rows for whole arrays. */
static inline bool rdt_problem_layout_serves(rdt_layout kernels, rdt_layout problem) {
    return problem == kernels || (problem < kernels && kernels <= RDT_LAYOUT_COLUMNS);
}

/* Of a resolved problem, here and below. */
rdt_layout rdt_problem_layout(const redtune_problem *problem);
/* Segments' lengths with what their zeros stand for in their place; of others all are count. */
typedef struct rdt_lengths {
    uint64_t median, greatest;
} rdt_lengths;
rdt_lengths rdt_problem_segments_lengths(const redtune_problem *problem);
/* The extents for comparing and storing: as rdt_problem_extents, but of segments with the greatest
 * and the median in place of the steps, 0 where those are not given. */
rdt_extents rdt_problem_segments_shape(const redtune_problem *problem);
/* Gives a problem the extents that these stand for. */
void rdt_problem_segments_set_shape(redtune_problem *problem, rdt_extents shape);
/* How many segments there are, as written, resolved or not; 0: any number. */
uint64_t rdt_problem_segments_count(const redtune_problem *problem);
/* Elements of the result that has most of them. */
uint64_t rdt_problem_segments_longest(const redtune_problem *problem);
/* problem.segmented of the layout. */
uint64_t rdt_problem_segments_of(rdt_layout layout);
/* Elements that are reduced, count of each result, at most UINT64_MAX; results; and elements from
 * the first to the last, with what lies between them. */
uint64_t rdt_problem_elements(const redtune_problem *problem);
uint64_t rdt_problem_results(const redtune_problem *problem);
uint64_t rdt_problem_reach(const redtune_problem *problem);
/* Bytes of the elements that are reduced, of all inputs, and of the results, of all outputs: what
 * every figure in bytes per time counts. Elements of several results count for each. */
double rdt_problem_bytes(const redtune_problem *problem);
/* Bytes of one element of each input. */
uint64_t rdt_problem_input_bytes(const redtune_problem *problem);
/* The problems of a class up to some sizes, each the most that any of them has. */
typedef struct rdt_domain {
    redtune_problem problem;        /* any of the class, resolved */
    uint64_t count, results, reach; /* count: of the longest result; results: with their gaps */
} rdt_domain;

/* The least one that has all of these, at least one, of one class. */
rdt_domain rdt_problem_domain(const redtune_problem *problems, size_t count);
void rdt_problem_widen(rdt_domain *domain, const redtune_problem *problem);
bool rdt_problem_is_within(const redtune_problem *problem, const rdt_domain *domain);
/* Whether both move the same bytes in the same places where their extents are the same, so that
 * what is fast for one is for the other, too: layout, order, whether the op looks for an index, and
 * the bytes of elements and of accumulators, those for the range (templates/lib/range.lua) aside.
 * Each problem is alike itself; by key, only those of its class are. */
bool rdt_problem_same_traffic(const redtune_problem *a, const redtune_problem *b);
/* Bytes of the accumulator that templates/ops.lua gives the op: what threads pass to each other. */
int rdt_problem_accumulator_bytes(const redtune_problem *problem);
/* Bytes, a power of two up to RDT_ALIGNMENT_MAX, that all steps between rows, or of columns between
 * elements and outer results, are multiples of: how much one load may take there. */
enum { RDT_ALIGNMENT_MAX = 16 };
int rdt_problem_alignment(const redtune_problem *problem);
/* Whether columns are likely crops of planes, which begin anywhere: those of several outer indices
 * with gaps, whose inner extent is no multiple of a load. No step aligns them then. */
static inline bool rdt_problem_is_part(const rdt_extents *columns, redtune_dtype dtype) {
    enum { NARROW_BYTES = 64 };
    const uint64_t bytes = columns->inner * rdt_dtype_bytes(dtype);
    return columns->outer > 1 && columns->step > columns->inner && bytes > NARROW_BYTES &&
           bytes % RDT_ALIGNMENT_MAX;
}
/* By class; by extents, within one. Below, at or above 0 as a comes before, with or after b. */
int rdt_problem_compare_class(const redtune_problem *a, const redtune_problem *b);
int rdt_problem_compare_extents(const redtune_problem *a, const redtune_problem *b);
bool rdt_problem_same_extents(const redtune_problem *a, const redtune_problem *b);
bool rdt_problem_same_class(const redtune_problem *a, const redtune_problem *b);
bool rdt_problem_same(const redtune_problem *a, const redtune_problem *b);
/* "sum of 1048576 f32", or "sum of 1048576 f32 as f64" where the result's dtype is not the usual
 * one, "sum of 64 rows of 1000 f32", "sum of 64 x 100 f32 along axis 0", "sum of 1000 f32, 3
 * apart", "sum of 64 segments of about 100 f32, median 3, greatest 5000" and "sum of all of 64
 * segments of about 100 f32"; " with a mask" behind it. The problem is resolved. */
void rdt_problem_describe(const redtune_problem *problem, char out[RDT_PROBLEM_TEXT_BYTES]);
/* The element count such a problem may have at most, so that byte offsets stay below 2^63. */
uint64_t rdt_problem_count_max(redtune_dtype dtype);
