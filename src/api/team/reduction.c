/* Reduction: where NCCL itself reduces what the ranks of a team have.
 *
 * That needs results that combine as they are, with nothing to finish: sums and products, and
 * extremes of integers (NCCL's of floats leave out NaN). They are as wide as the accumulators:
 * those of f16 and bf16 would be rounded between ranks. An order that is fixed, or a sum that is
 * more than rounded once, is not NCCL's. */
#include "api/team/reduction.h"

static bool find_op(redtune_op op, bool is_integer, rdt_nccl_op *out) {
    switch (op) {
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

static bool find_type(redtune_dtype dtype, rdt_nccl_type *out) {
    switch (dtype) {
    case REDTUNE_I8: *out = RDT_NCCL_I8; return true;
    case REDTUNE_U8: *out = RDT_NCCL_U8; return true;
    case REDTUNE_I32: *out = RDT_NCCL_I32; return true;
    case REDTUNE_U32: *out = RDT_NCCL_U32; return true;
    case REDTUNE_I64: *out = RDT_NCCL_I64; return true;
    case REDTUNE_U64: *out = RDT_NCCL_U64; return true;
    case REDTUNE_F32: *out = RDT_NCCL_F32; return true;
    case REDTUNE_F64: *out = RDT_NCCL_F64; return true;
    default: return false;
    }
}

bool rdt_reduction_find(const redtune_problem *problem, rdt_nccl_reduction *out) {
    const bool is_integer = problem->result != REDTUNE_F32 && problem->result != REDTUNE_F64;
    return problem->order != REDTUNE_ORDER_FIXED && !problem->accuracy &&
           find_type(problem->result, &out->type) && find_op(problem->op, is_integer, &out->op);
}
