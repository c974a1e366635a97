/* Plane: the shapes of a class of rows, columns or segments: how far apart they are, and which is
 * beside which.
 *
 * All distances are on a log scale, as those of the runtime are, which takes the nearest measured
 * shape. A shape of another alignment says less, so it counts as further away. */
#include "tuner/search/plane.h"

#include <math.h>
#include <stdlib.h>

enum {
    NEIGHBOURS = 16, /* times: shapes further apart have more than one crossover between them */
    NUDGES = 16,     /* elements: a middle is moved by at most that to be aligned as its ends are */
};

static const double here_within =
    0.25; /* doublings: less apart, shapes differ in alignment alone */
/* Doublings: from further away nothing is lent. Grids are 2 apart, and 4 where loads are not
 * aligned. */
static const double beside_within = 6;
/* Times the middle of two counts: a config that fits a power of two takes a step more for one
 * element more, and there are as many shapes beyond as before. */
static const double beyond_middle = 1.125;
static const double other_alignment = 3; /* doublings that another alignment counts for */

bool rdt_plane_has(const redtune_problem *problem) {
    return rdt_problem_layout(problem) != RDT_LAYOUT_WHOLE;
}

/* Doublings from one extent to the other. */
static double doublings(uint64_t from, uint64_t to) {
    return log2((double)(to ? to : 1) / (double)(from ? from : 1));
}

/* Segments, of lists, too, which have one result. */
static uint64_t parts_of(const redtune_problem *problem) {
    const rdt_extents extents = rdt_problem_extents(problem);
    return extents.outer * extents.inner;
}

rdt_side rdt_plane_side(const redtune_problem *here, const redtune_problem *there) {
    const double count = doublings(rdt_problem_count(here), rdt_problem_count(there));
    const double results = doublings(parts_of(here), parts_of(there));
    if (fabs(count) < here_within && fabs(results) < here_within) return RDT_SIDE_HERE;
    if (fabs(count) >= fabs(results)) return count > 0 ? RDT_SIDE_MORE_COUNT : RDT_SIDE_LESS_COUNT;
    return results > 0 ? RDT_SIDE_MORE_RESULTS : RDT_SIDE_LESS_RESULTS;
}

double rdt_plane_distance(const redtune_problem *a, const redtune_problem *b) {
    const rdt_extents from = rdt_problem_extents(a), to = rdt_problem_extents(b);
    const double count = fabs(doublings(from.count, to.count));
    const double outer = fabs(doublings(from.outer, to.outer));
    const double inner = fabs(doublings(from.inner, to.inner));
    return fmax(count, fmax(outer, inner));
}

/* ---- beside ---------------------------------------------------------------------------------- */

/* Straight on is nearer than across; HUGE_VAL: too far. */
static double remoteness(const redtune_problem *a, const redtune_problem *b) {
    const rdt_extents from = rdt_problem_extents(a), to = rdt_problem_extents(b);
    const double count = doublings(from.count, to.count), outer = doublings(from.outer, to.outer);
    const double inner = doublings(from.inner, to.inner);
    const rdt_lengths of_a = rdt_problem_segments_lengths(a);
    const rdt_lengths of_b = rdt_problem_segments_lengths(b);
    const double skew = a->segmented ? doublings(of_a.greatest, of_b.greatest) - count : 0;
    const double apart = sqrt(count * count + outer * outer + inner * inner + skew * skew);
    const bool alike = rdt_problem_alignment(a) == rdt_problem_alignment(b);
    return apart > beside_within ? HUGE_VAL : apart + (alike ? 0 : other_alignment);
}

void rdt_plane_add(rdt_beside *beside, const redtune_problem *here, const redtune_problem *there) {
    const redtune_problem **nearest = &beside->side[rdt_plane_side(here, there)];
    const double from = remoteness(here, there);
    if (rdt_problem_same_extents(here, there) || from == HUGE_VAL) return;
    if (!*nearest || from < remoteness(here, *nearest)) *nearest = there;
}

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct place {
    const redtune_problem *problem;
    uint64_t elements;
} place;

static int compare_places(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->elements != y->elements) return x->elements < y->elements ? -1 : 1;
    return rdt_problem_compare_extents(x->problem, y->problem);
}

redtune_status rdt_plane_order(const redtune_problem *problems, size_t count, size_t **out,
                               redtune_error *err) {
    place *places = calloc(count + 1, sizeof *places);
    size_t *order = calloc(count + 1, sizeof *order);
    if (!places || !order) {
        free(places);
        free(order);
        return rdt_fail_memory(err, (count + 1) * (sizeof *places + sizeof *order));
    }
    for (size_t i = 0; i < count; i++)
        places[i] = (place){&problems[i], rdt_problem_elements(&problems[i])};
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count; i++) order[i] = (size_t)(places[i].problem - problems);
    free(places);
    *out = order;
    return REDTUNE_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static uint64_t *extent_of(rdt_extents *extents, rdt_axis axis) {
    return axis == RDT_AXIS_COUNT   ? &extents->count
           : axis == RDT_AXIS_OUTER ? &extents->outer
                                    : &extents->inner;
}

/* 0 where there is one. */
static uint64_t along(const redtune_problem *problem, rdt_axis axis) {
    rdt_extents extents = rdt_problem_axes_written(problem);
    return *extent_of(&extents, axis);
}

/* Packed, and equal but for their extents along the axis. */
static bool are_on_line(const redtune_problem *a, const redtune_problem *b, rdt_axis axis) {
    redtune_problem moved = *a;
    rdt_extents extents = rdt_problem_axes_written(a);
    *extent_of(&extents, axis) = along(b, axis);
    rdt_problem_axes_set(&moved, extents);
    return !extents.outer_step && !extents.step && !a->greatest && !a->median &&
           rdt_problem_same_extents(&moved, b) &&
           rdt_problem_alignment(a) == rdt_problem_alignment(b);
}

long rdt_plane_next(const redtune_problem *problems, size_t count, size_t i, rdt_axis axis) {
    const uint64_t from = along(&problems[i], axis);
    long next = -1;
    for (size_t k = 0; from && k < count; k++) {
        const uint64_t to = along(&problems[k], axis);
        if (to <= from || to / from > NEIGHBOURS || !are_on_line(&problems[i], &problems[k], axis))
            continue;
        if (next < 0 || to < along(&problems[next], axis)) next = (long)k;
    }
    return next;
}

bool rdt_plane_middle(const redtune_problem *low, const redtune_problem *high, rdt_axis axis,
                      redtune_problem *out) {
    const uint64_t from = along(low, axis), to = along(high, axis);
    const double by_log = sqrt((double)from) * sqrt((double)to);
    const uint64_t middle =
        (uint64_t)llround(axis == RDT_AXIS_COUNT ? beyond_middle * by_log : by_log);
    const int alignment = rdt_problem_alignment(low);
    for (int nudge = 0; nudge <= 2 * NUDGES; nudge++) {
        const int64_t by = nudge % 2 ? -(nudge + 1) / 2 : nudge / 2;
        const uint64_t at = middle + (uint64_t)by;
        redtune_problem moved = *low;
        rdt_extents extents = rdt_problem_axes_written(low);
        *extent_of(&extents, axis) = at;
        rdt_problem_axes_set(&moved, extents);
        if (at <= from || at >= to || rdt_problem_alignment(&moved) != alignment) continue;
        *out = moved;
        return true;
    }
    return false;
}
