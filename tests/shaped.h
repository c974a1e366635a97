/* Shaped: problems as the tests' tables write them, by elements, results and the steps between
 * them: element e of result (o, i) is x[o * outer_step + e * step + i]. Zero fields mean the usual.
 */
#pragma once

#include <stdbool.h>
#include "redtune/problem.h"

typedef struct shaped {
    redtune_op op;
    redtune_dtype dtype, result;
    redtune_order order;
    redtune_accuracy accuracy;
    redtune_segmented segmented;
    uint64_t count, outer, inner, outer_step, step, greatest, median, uses;
    const char *config;
} shaped;

/* Gives the problem these extents, however odd; the rest is its own. */
static inline void shape_problem(redtune_problem *problem, const shaped *of) {
    const uint64_t inner = of->inner ? of->inner : 1, step = of->step ? of->step : inner;
    const uint64_t outer_step = of->outer_step ? of->outer_step : of->count * inner;
    const bool several = problem->segmented ? of->outer > 0 : of->outer > 1;
    const bool packed =
        inner == 1 && step == 1 && (!several || problem->segmented || outer_step == of->count);
    problem->kept_axes = 0;
    problem->reduced_axes = 1;
    problem->steps =
        packed ? 0 : 1u << REDTUNE_ARRAY_X | 1u << REDTUNE_ARRAY_Y | 1u << REDTUNE_ARRAY_MASK;
    problem->reduced[0] = (redtune_axis){of->count, {(int64_t)step, (int64_t)step, (int64_t)step}};
    if (several)
        problem->kept[problem->kept_axes++] = (redtune_axis){
            of->outer, {(int64_t)outer_step, (int64_t)outer_step, (int64_t)outer_step}};
    if (inner > 1) problem->kept[problem->kept_axes++] = (redtune_axis){inner, {1, 1, 1}};
    problem->greatest = of->greatest;
    problem->median = of->median;
}

static inline redtune_problem shaped_problem(const shaped of) {
    redtune_problem problem = {.op = of.op,
                               .dtype = of.dtype,
                               .result = of.result,
                               .config = of.config,
                               .order = of.order,
                               .uses = of.uses,
                               .segmented = of.segmented,
                               .accuracy = of.accuracy};
    shape_problem(&problem, &of);
    return problem;
}

/* The extents of a problem; those that are the usual ones are 0. */
static inline shaped shaped_of(const redtune_problem *problem) {
    uint32_t kept = problem->kept_axes;
    shaped of = {.count = problem->reduced_axes ? problem->reduced[0].size : 0,
                 .segmented = (redtune_segmented)problem->segmented,
                 .greatest = problem->greatest,
                 .median = problem->median};
    if (!problem->steps) {
        of.outer = kept ? problem->kept[0].size : 0;
        return of;
    }
    if (kept && problem->kept[kept - 1].step[REDTUNE_ARRAY_X] == 1)
        of.inner = problem->kept[--kept].size;
    const uint64_t inner = of.inner ? of.inner : 1;
    const uint64_t step = (uint64_t)problem->reduced[0].step[REDTUNE_ARRAY_X];
    const uint64_t outer_step = kept ? (uint64_t)problem->kept[0].step[REDTUNE_ARRAY_X] : 0;
    if (kept) of.outer = problem->kept[0].size;
    if (step != inner) of.step = step;
    if (outer_step != of.count * inner) of.outer_step = outer_step;
    return of;
}

#define PROBLEM(...) shaped_problem((shaped){__VA_ARGS__})

/* Changes one extent of a problem. */
#define RESHAPE(problem, extent, ...)                                                              \
    do {                                                                                           \
        shaped shaped_ = shaped_of(problem);                                                       \
        shaped_.extent = (__VA_ARGS__);                                                            \
        shape_problem(problem, &shaped_);                                                          \
    } while (0)
