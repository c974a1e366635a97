/* Reduction: where NCCL itself reduces what the ranks of a team have.
 *
 * That needs results that combine as they are, with nothing to finish: sums and products, and
 * extremes of integers (NCCL's of floats leave out NaN). They are as wide as the accumulators:
 * those of f16 and bf16 would be rounded between ranks. An order that is fixed, or a sum that is
 * more than rounded once, is not NCCL's. */
#include "api/team/reduction.h"

#include "model/dtype.h"

static bool find_op(redtune_op op, bool is_integer, rdt_nccl_op *out) {
    switch ((int)op) { /* any op may be asked for */
    case REDTUNE_SUM:
    case REDTUNE_SUMSQ:
    case REDTUNE_SUMABS:
    case REDTUNE_NONZEROS:
    case REDTUNE_NANS:
    case REDTUNE_DOT:
    case REDTUNE_SQEUCLIDEAN:
    case REDTUNE_CITYBLOCK:
    case REDTUNE_MISMATCHES: *out = RDT_NCCL_SUM; return true;
    case REDTUNE_PROD: *out = RDT_NCCL_PROD; return true;
    case REDTUNE_ALL: *out = RDT_NCCL_MIN; return true;
    case REDTUNE_ANY:
    case REDTUNE_NONFINITE: *out = RDT_NCCL_MAX; return true;
    case REDTUNE_MIN: *out = RDT_NCCL_MIN; return is_integer;
    case REDTUNE_MAX: *out = RDT_NCCL_MAX; return is_integer;
    default: return false;
    }
}

bool rdt_reduction_find(const redtune_problem *problem, rdt_nccl_reduction *out) {
    const rdt_dtype_traits *result = rdt_dtype_find(problem->result);
    if (problem->order == REDTUNE_ORDER_FIXED || problem->accuracy || !result->nccl) return false;
    out->type = result->nccl - 1;
    return find_op(problem->op, result->kind != RDT_KIND_FLOAT, &out->op);
}
