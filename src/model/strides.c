/* Strides: any axes of a resolved problem of the layout "strided", as a kernel takes them. */
#include "model/strides.h"

/* Y is the array beside x, a second input or else the mask; MASK that of two inputs. */
enum { X, Y, RESULTS, MASK, ARRAYS };

typedef struct listed_axis {
    uint64_t size;
    int64_t step[ARRAYS];
} listed_axis;

/* Outermost first, as the problem's. */
typedef struct listed {
    listed_axis axis[RDT_STRIDES_AXES];
    uint32_t count;
} listed;

/* An array that the problem has not stays where it is. */
static void copy_axes_of(const redtune_problem *problem, bool reduced, listed *out) {
    const bool two = rdt_op_find(problem->op)->inputs > 1;
    const redtune_axis *axes = reduced ? problem->reduced : problem->kept;
    out->count = reduced ? problem->reduced_axes : problem->kept_axes;
    for (uint32_t i = 0; i < out->count; i++) {
        const int64_t *step = axes[i].step;
        const int64_t mask = problem->mask ? step[REDTUNE_ARRAY_MASK] : 0;
        out->axis[i] = (listed_axis){axes[i].size,
                                     {[X] = step[REDTUNE_ARRAY_X],
                                      [Y] = two ? step[REDTUNE_ARRAY_Y] : mask,
                                      [RESULTS] = step[REDTUNE_ARRAY_RESULTS],
                                      [MASK] = two ? mask : 0}};
    }
}

/* Read forwards, an axis begins at its other end. */
static void flip_forwards(listed *list, int64_t origin[ARRAYS]) {
    for (uint32_t i = 0; i < list->count; i++) {
        listed_axis *axis = &list->axis[i];
        if (axis->step[X] > 0 || (!axis->step[X] && axis->step[Y] >= 0) || !axis->size) continue;
        for (int k = 0; k < ARRAYS; k++) {
            origin[k] += (int64_t)(axis->size - 1) * axis->step[k];
            axis->step[k] = -axis->step[k];
        }
    }
}

/* Whether a comes outside b: by x's steps, and by y's where x stays; what reads the same elements
 * again is outermost. */
static bool is_outside(const listed_axis *a, const listed_axis *b) {
    for (int k = X; k <= Y; k++) {
        if (a->step[k] == b->step[k]) continue;
        return !a->step[k] || (b->step[k] && a->step[k] > b->step[k]);
    }
    return false;
}

static void sort_by_steps(listed *list) {
    for (uint32_t i = 1; i < list->count; i++)
        for (uint32_t k = i; k && is_outside(&list->axis[k], &list->axis[k - 1]); k--) {
            const listed_axis axis = list->axis[k];
            list->axis[k] = list->axis[k - 1];
            list->axis[k - 1] = axis;
        }
}

static bool goes_on_behind(const listed_axis *outside, const listed_axis *inside) {
    bool yes = true;
    for (int k = 0; k < ARRAYS; k++)
        yes &= outside->step[k] == (int64_t)inside->size * inside->step[k];
    return yes;
}

static void join_in_place(listed *list) {
    uint32_t last = 0;
    for (uint32_t i = 1; i < list->count; i++) {
        listed_axis *outside = &list->axis[last], *axis = &list->axis[i];
        if (goes_on_behind(outside, axis)) {
            axis->size *= outside->size;
            *outside = *axis;
        } else {
            list->axis[++last] = *axis;
        }
    }
    if (list->count) list->count = last + 1;
}

/* That of 32-bit numbers: exact for all of them (Lemire, Kaser and Kurz, Faster remainder by direct
 * computation, 2019). */
static uint64_t reciprocal_of(uint64_t size) {
    return size < 2 || size > UINT32_MAX ? 0 : UINT64_MAX / size + 1;
}

/* Innermost first. */
static void put_innermost_first(const listed *list, rdt_strided_axis *out, int64_t *mask,
                                uint32_t *count) {
    for (uint32_t i = 0; i < RDT_STRIDES_AXES; i++) {
        static const listed_axis one = {.size = 1};
        const listed_axis *from = i < list->count ? &list->axis[list->count - 1 - i] : &one;
        out[i] = (rdt_strided_axis){
            .size = from->size,
            .reciprocal = reciprocal_of(from->size),
            .step = {from->step[X], from->step[Y], from->step[RESULTS]},
        };
        mask[i] = from->step[MASK];
    }
    *count = list->count ? list->count : 1;
}

enum { VEC_MAX = 16 };

static uint64_t spans_apart_of(const rdt_strided_axis *reduced, uint32_t axes) {
    uint64_t all = VEC_MAX;
    for (uint32_t i = 1; i < axes; i++) all |= (uint64_t)reduced[i].step[X];
    return all & -all;
}

/* Of loads along the lane, the innermost axis of its list: its size, and the steps of all other
 * axes, are multiples of it, in each array that is read. */
static uint32_t vec_of(const listed *lanes, const listed *others, const bool reads[ARRAYS]) {
    uint64_t all = VEC_MAX;
    if (!lanes->count) return 1;
    const listed_axis *lane = &lanes->axis[lanes->count - 1];
    all |= lane->size;
    for (int k = 0; k < ARRAYS; k++) {
        if (!reads[k]) continue;
        if (lane->step[k] != 1) return 1;
        for (uint32_t i = 0; i + 1 < lanes->count; i++) all |= (uint64_t)lanes->axis[i].step[k];
        for (uint32_t i = 0; i < others->count; i++) all |= (uint64_t)others->axis[i].step[k];
    }
    return (uint32_t)(all & -all);
}

void rdt_strides_set(rdt_strides *out, const redtune_problem *problem) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const bool pairs = rdt_problem_mask_pairs(problem);
    const bool reads[ARRAYS] = {[X] = true, [Y] = op->inputs > 1 || problem->mask, [MASK] = pairs};
    const rdt_extents extents = rdt_problem_strided_extents(problem);
    listed kept, reduced;
    int64_t origin[ARRAYS] = {0};
    copy_axes_of(problem, false, &kept);
    copy_axes_of(problem, true, &reduced);
    out->count = extents.count;
    out->results = extents.outer;
    flip_forwards(&kept, origin);
    sort_by_steps(&kept);
    join_in_place(&kept);
    if (!rdt_problem_ordering_has_places(problem)) {
        flip_forwards(&reduced, origin);
        sort_by_steps(&reduced);
    }
    join_in_place(&reduced);
    for (int k = 0; k < RDT_STRIDES_ARRAYS; k++) out->origin[k] = origin[k];
    out->mask_origin = origin[MASK];
    put_innermost_first(&kept, out->kept, out->kept_mask, &out->kept_axes);
    put_innermost_first(&reduced, out->reduced, out->reduced_mask, &out->reduced_axes);
    out->reduced_vec = vec_of(&reduced, &kept, reads);
    out->kept_vec = vec_of(&kept, &reduced, reads);
    out->spans_apart = spans_apart_of(out->reduced, out->reduced_axes);
    const rdt_reach reach = rdt_strides_reach(problem, REDTUNE_ARRAY_X);
    out->reach_first = reach.first;
    out->reach = reach.elements;
}

static rdt_lanes lanes_of(const rdt_strided_axis *axes, uint32_t count, uint32_t vec) {
    return (rdt_lanes){vec, axes->size, rdt_problem_step_length(axes->step[X]),
                       rdt_problem_step_length(axes->step[Y]), count};
}

rdt_strides_lanes rdt_strides_lanes_of(const redtune_problem *problem) {
    rdt_strides all;
    rdt_strides_set(&all, problem);
    return (rdt_strides_lanes){lanes_of(all.reduced, all.reduced_axes, all.reduced_vec),
                               lanes_of(all.kept, all.kept_axes, all.kept_vec)};
}

/* Steps beyond a sector are as good as each other. */
static bool are_lanes_alike(const rdt_lanes *a, const rdt_lanes *b) {
    enum { STEP_MAX = 32 };
    const bool far = a->step >= STEP_MAX && b->step >= STEP_MAX;
    return a->vec == b->vec && (far || a->step == b->step) && (a->axes > 2) == (b->axes > 2) &&
           !a->beside == !b->beside && (a->beside == 1) == (b->beside == 1) &&
           a->run <= 2 * b->run && b->run <= 2 * a->run;
}

bool rdt_strides_alike(const redtune_problem *a, const redtune_problem *b) {
    const rdt_strides_lanes of_a = rdt_strides_lanes_of(a), of_b = rdt_strides_lanes_of(b);
    return are_lanes_alike(&of_a.reduced, &of_b.reduced) && are_lanes_alike(&of_a.kept, &of_b.kept);
}

static void add_way(const redtune_axis *axes, uint32_t count, redtune_array array, int64_t *first,
                    int64_t *last) {
    for (uint32_t i = 0; i < count; i++) {
        const int64_t way = (int64_t)(axes[i].size - 1) * axes[i].step[array];
        *(way < 0 ? first : last) += way;
    }
}

rdt_reach rdt_strides_reach(const redtune_problem *problem, redtune_array array) {
    const rdt_extents extents = rdt_problem_strided_extents(problem);
    const bool results = array == REDTUNE_ARRAY_RESULTS;
    int64_t first = 0, last = 0;
    if (!extents.outer || (!extents.count && !results)) return (rdt_reach){0, 0};
    add_way(problem->kept, problem->kept_axes, array, &first, &last);
    if (!results) add_way(problem->reduced, problem->reduced_axes, array, &first, &last);
    return (rdt_reach){first, (uint64_t)(last - first) + 1};
}

static int64_t place_along(const redtune_axis *axes, uint32_t count, redtune_array array,
                           uint64_t n) {
    int64_t place = 0;
    for (uint32_t i = count; i-- > 0;) {
        const uint64_t size = axes[i].size ? axes[i].size : 1; /* 0: there is but number 0 */
        place += (int64_t)(n % size) * axes[i].step[array];
        n /= size;
    }
    return place;
}

int64_t rdt_strides_place(const redtune_problem *problem, redtune_array array, uint64_t r,
                          uint64_t e) {
    return place_along(problem->kept, problem->kept_axes, array, r) +
           place_along(problem->reduced, problem->reduced_axes, array, e);
}
