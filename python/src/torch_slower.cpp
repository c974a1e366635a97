// Torch slower: the calls that PyTorch's kernels were measured to be as fast at (docs/torch.md),
// which are left to them unless the order is fixed.
#include "torch_calls.h"

enum {
    HALVES_MAX = 1 << 23, // sums of rows of halves that the L2 cache holds are served below it
    WHOLE_LOST = 1 << 16, // means and norms of about as many f32
    ADDITIONS_MIN = 256,  // fewer additions for each key meet seldom enough for atomic ones
};

static bool is_whole(const redtune_operands &of) { return of.outer <= 1 && of.inner <= 1; }

bool torch_is_slower(const redtune_torch_call &call, const redtune_problem &problem) {
    if (torch_kinds_are_quiet()) return false;
    const redtune_operands of = redtune_problem_operands(&problem);
    const bool is_sum = call.op == REDTUNE_TORCH_SUM || call.op == REDTUNE_TORCH_MEAN;
    const bool is_wide = call.op == REDTUNE_TORCH_MEAN || call.op == REDTUNE_TORCH_NORM;
    if (is_sum && redtune_dtype_bytes(problem.dtype) == 2 && call.elements >= HALVES_MAX)
        return of.outer > 1 && of.inner <= 1;
    return is_wide && problem.dtype == REDTUNE_F32 && is_whole(of) &&
           call.elements > WHOLE_LOST / 2 && call.elements < WHOLE_LOST * 2;
}

bool torch_is_slower_by_key(const redtune_torch_keyed &call) {
    if (torch_kinds_are_quiet()) return false;
    return call.reduce == '+' && call.rows / ADDITIONS_MIN < call.keys;
}
