/* Problem filter: which problems a query is about. */
#include "model/problem_filter.h"

bool rdt_problem_filter_takes(const rdt_problem_filter *filter, const redtune_problem *problem) {
    const rdt_extents extents = rdt_problem_extents(problem);
    return (!filter->op || *filter->op == problem->op) &&
           (!filter->dtype || *filter->dtype == problem->dtype) &&
           (!filter->layouts || filter->layouts >> rdt_problem_layout(problem) & 1) &&
           (!filter->count || filter->count == extents.count) &&
           (!filter->outer || filter->outer == extents.outer) &&
           (!filter->inner || filter->inner == extents.inner);
}
