/* Problem mask: which elements count, as bytes or bits. */
#include "model/problem.h"

bool rdt_problem_mask_pairs(const redtune_problem *problem) {
    if (!problem->mask) return false;
    const rdt_op_traits *op = rdt_op_find(problem->op);
    return op && op->inputs > 1;
}

bool rdt_problem_mask_bits(redtune_mask mask) {
    return mask == REDTUNE_MASK_BITS || mask == REDTUNE_MASK_LISTED_BITS;
}

bool rdt_problem_mask_listed(redtune_mask mask) {
    return mask == REDTUNE_MASK_LISTED_BYTES || mask == REDTUNE_MASK_LISTED_BITS;
}

redtune_status rdt_problem_mask_check(const redtune_problem *problem, redtune_error *err) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const char *name = rdt_problem_mask_name((int)problem->mask);
    if (problem->mask == REDTUNE_MASK_NONE) return REDTUNE_OK;
    if (!name)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce: problem.mask is %d, which this redtune does not know",
                        (int)problem->mask);
    if (rdt_problem_mask_listed(problem->mask) && !problem->segmented)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot compute the %s with a mask for each array: the problem is not "
                        "segmented; set problem.mask to REDTUNE_MASK_BYTES or _BITS",
                        op->name);
    return REDTUNE_OK;
}
