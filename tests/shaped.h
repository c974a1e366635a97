/* Shaped: problems as the tests' tables write them, by elements, results and the steps between
 * them: element e of result (o, i) is x[o * outer_step + e * step + i]. Zero fields mean the usual.
 */
#pragma once

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

/* Gives the problem these extents; the rest is its own. */
static inline void shape_problem(redtune_problem *problem, const shaped *of) {
    problem->count = of->count;
    problem->outer = of->outer;
    problem->inner = of->inner;
    problem->outer_step = of->segmented ? of->greatest : of->outer_step;
    problem->step = of->segmented ? of->median : of->step;
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
    shaped of = {.count = problem->count,
                 .outer = problem->outer,
                 .inner = problem->inner,
                 .segmented = (redtune_segmented)problem->segmented};
    if (problem->segmented) {
        of.greatest = problem->greatest;
        of.median = problem->median;
    } else {
        of.outer_step = problem->outer_step;
        of.step = problem->step;
    }
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
