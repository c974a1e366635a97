// Torch slower: the calls that PyTorch's kernels were measured to be as fast at (docs/torch.md),
// which are left to them unless the order is fixed.
#include "torch_calls.h"

enum {
    HALVES_MAX = 1 << 23, // sums of rows of halves that the L2 cache holds are served below it
    // Means and norms of about as many f32, on an H100; on an H200.
    WHOLE_LOST = 1 << 16,
    WHOLE_LOST_LONG = 1 << 24,
    // Fewer rows for each key meet seldom enough for PyTorch's atomics: additions of elements and
    // narrow rows, of wide ones, means of narrow rows, and extremes of rows.
    WIDE = 64,
    ADDITIONS_MIN = 256,
    NARROW_MEANS_MIN = 512,
    WIDE_ADDITIONS_MIN = 64,
    EXTREMES_MIN = 192,
};

static bool is_whole(const redtune_operands &of) { return of.outer <= 1 && of.inner <= 1; }

static bool is_about(int64_t elements, int64_t as_many) {
    return elements > as_many / 2 && elements < as_many * 2;
}

bool torch_is_strided(const redtune_problem &problem) {
    return problem.steps >> REDTUNE_ARRAY_RESULTS & 1;
}

// Whether no elements lie side by side, as in x[:, ::2] of halves, or one stands for all.
static bool has_slow_gaps(const redtune_problem &problem) {
    if (!(problem.steps >> REDTUNE_ARRAY_X & 1)) return false;
    bool are_repeated = false;
    for (const redtune_axis *axes : {problem.kept, problem.reduced})
        for (int i = 0; i < REDTUNE_AXES_MAX; i++) {
            if (axes[i].size < 2) continue;
            if (axes[i].step[REDTUNE_ARRAY_X] == 1) return false;
            are_repeated |= axes[i].step[REDTUNE_ARRAY_X] == 0;
        }
    return are_repeated || redtune_dtype_bytes(problem.dtype) < 4;
}

bool torch_is_slower(const redtune_torch_call &call, const redtune_problem &problem) {
    if (torch_kinds_are_quiet()) return false;
    if (has_slow_gaps(problem)) return true;
    if (torch_is_strided(problem)) return false;
    const redtune_operands of = redtune_problem_operands(&problem);
    const bool is_sum = call.op == REDTUNE_TORCH_SUM || call.op == REDTUNE_TORCH_MEAN;
    const bool is_wide = call.op == REDTUNE_TORCH_MEAN || call.op == REDTUNE_TORCH_NORM;
    if (is_sum && redtune_dtype_bytes(problem.dtype) == 2 && call.elements >= HALVES_MAX)
        return of.outer > 1 && of.inner <= 1;
    return is_wide && problem.dtype == REDTUNE_F32 && is_whole(of) &&
           (is_about(call.elements, WHOLE_LOST) || is_about(call.elements, WHOLE_LOST_LONG));
}

bool torch_is_slower_by_key(const redtune_torch_keyed &call) {
    if (torch_kinds_are_quiet()) return false;
    int64_t least = call.width < WIDE ? ADDITIONS_MIN : WIDE_ADDITIONS_MIN;
    if (call.reduce == '/' && call.width > 1 && call.width < WIDE) least = NARROW_MEANS_MIN;
    if (call.reduce == '<' || call.reduce == '>') least = call.width > 1 ? EXTREMES_MIN : 0;
    return call.rows < least * call.keys;
}
