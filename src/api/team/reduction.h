/* Reduction: where NCCL itself reduces what the ranks of a team have. */
#pragma once

#include "gpu/nccl.h"
#include "redtune/problem.h"

/* Whether the results of the parts make those of the whole by a reduction that NCCL has, with no
 * more error than a rounding for each rank, and what that is. The problem is resolved. */
bool rdt_reduction_find(const redtune_problem *problem, rdt_nccl_reduction *out);
