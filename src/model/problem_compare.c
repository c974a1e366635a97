/* Problem compare: an order of problems, by class and by extents. */
#include <string.h>
#include "model/problem.h"

static int compare_numbers(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

int rdt_problem_compare_class(const redtune_problem *a, const redtune_problem *b) {
    int diff = rdt_op_compare(a->op, b->op);
    if (!diff) diff = (int)a->dtype - (int)b->dtype;
    if (!diff) diff = (int)a->result - (int)b->result;
    if (!diff) diff = (int)rdt_problem_layout(a) - (int)rdt_problem_layout(b);
    if (!diff) diff = (int)a->order - (int)b->order;
    if (!diff) diff = (int)a->accuracy - (int)b->accuracy;
    if (!diff) diff = (int)a->mask - (int)b->mask;
    if (!diff) diff = (int)a->key_dtype - (int)b->key_dtype;
    return diff ? diff : (int)a->spread - (int)b->spread;
}

static int compare_axes(const redtune_axis *a, uint32_t a_count, const redtune_axis *b,
                        uint32_t b_count) {
    return a_count == b_count ? memcmp(a, b, a_count * sizeof *a)
                              : compare_numbers(a_count, b_count);
}

static int compare_strides(const redtune_problem *a, const redtune_problem *b) {
    if (!rdt_problem_is_strided(a) || !rdt_problem_is_strided(b))
        return rdt_problem_is_strided(a) - rdt_problem_is_strided(b);
    const int diff = compare_axes(a->kept, a->kept_axes, b->kept, b->kept_axes);
    return diff ? diff : compare_axes(a->reduced, a->reduced_axes, b->reduced, b->reduced_axes);
}

int rdt_problem_compare_extents(const redtune_problem *a, const redtune_problem *b) {
    const rdt_extents x = rdt_problem_axes_written(a), y = rdt_problem_axes_written(b);
    int diff = compare_numbers(x.count, y.count);
    if (!diff) diff = compare_numbers(x.outer, y.outer);
    if (!diff) diff = compare_numbers(x.inner, y.inner);
    if (!diff) diff = compare_numbers(x.outer_step, y.outer_step);
    if (!diff) diff = compare_numbers(x.step, y.step);
    if (!diff) diff = compare_numbers(a->greatest, b->greatest);
    if (!diff) diff = compare_numbers(a->median, b->median);
    if (!diff) diff = compare_numbers(a->keys, b->keys);
    return diff ? diff : compare_strides(a, b);
}
