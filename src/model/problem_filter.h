/* Problem filter: which problems a query is about. */
#pragma once

#include "model/problem.h"

/* Zero fields: any. */
typedef struct rdt_problem_filter {
    const redtune_op *op;
    const redtune_dtype *dtype;
    unsigned layouts; /* redtune_layouts: 1 << rdt_layout, or'ed */
    uint64_t count, outer, inner;
} rdt_problem_filter;

/* Of a resolved problem, whatever its steps. */
bool rdt_problem_filter_takes(const rdt_problem_filter *filter, const redtune_problem *problem);
