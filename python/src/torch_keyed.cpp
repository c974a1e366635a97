// Torch keyed: PyTorch's index_add, scatter_add and scatter_reduce of tensors of one axis.
//
// They go on from what the result holds. Floats are added in another order each time, as PyTorch's
// atomic additions are, so that deterministic mode and fixed order leave them to PyTorch.
#include "torch_calls.h"

#include "redtune/keys.h"

// Fewer additions for each key meet seldom enough for atomic ones to be as fast (docs/torch.md).
enum { ADDITIONS_MIN = 256 };

static redtune_problem *problem_of(redtune_torch_keyed *call) {
    return reinterpret_cast<redtune_problem *>(call->problem);
}

static int64_t bytes_of(const redtune_torch_keyed &call) {
    return call.elements * static_cast<int64_t>(redtune_dtype_bytes(torch_dtype_of(call.dtype)));
}

// false: the dtypes are not redtune's, or a result has another one than PyTorch's.
static bool make_problem(redtune_torch_keyed *call) {
    const redtune_op op = call->reduce == '+'   ? REDTUNE_SUM
                          : call->reduce == '>' ? REDTUNE_MAX
                                                : REDTUNE_MIN;
    const redtune_dtype dtype = torch_dtype_of(call->dtype), keys = torch_dtype_of(call->key_dtype);
    redtune_problem *problem = problem_of(call);
    redtune_dtype result = REDTUNE_DTYPE_NONE;
    if (dtype != REDTUNE_F32 && dtype != REDTUNE_F64 && dtype != REDTUNE_I64) return false;
    if (keys != REDTUNE_I64 && keys != REDTUNE_I32) return false;
    *problem = redtune_problem_by_key(op, dtype, keys, static_cast<uint64_t>(call->keys),
                                      static_cast<uint64_t>(call->elements));
    problem->uses = REDTUNE_USE_ACCUMULATE;
    return !redtune_problem_result(problem, &result, nullptr) && result == dtype;
}

static torch_reason reason_to_leave(redtune_torch_keyed *call) {
    if (call->elements < 2 || call->keys < 1) return TORCH_FORM;
    if (!torch_kinds_are_quiet() && bytes_of(*call) < torch_calls_least_bytes(call->op))
        return TORCH_SMALL;
    if (call->reduce == '+' && call->elements / ADDITIONS_MIN < call->keys) return TORCH_SLOWER;
    if (call->is_deterministic || torch_calls_are_fixed()) return TORCH_UNSUPPORTED;
    if (!make_problem(call)) return TORCH_DTYPE;
    redtune *rt = torch_calls_handle(call->device, false);
    if (!rt) return TORCH_UNREADY;
    if (torch_worker_refuses(*problem_of(call))) return TORCH_FAILED;
    if (redtune_is_prepared(rt, problem_of(call))) return TORCH_REASON_COUNT;
    torch_worker_prepare(rt, *problem_of(call));
    return TORCH_UNREADY;
}

int torch_keyed_choose(redtune_torch_keyed *call) {
    const torch_running now;
    const torch_reason reason = reason_to_leave(call);
    if (reason == TORCH_REASON_COUNT) return 1;
    torch_calls_leave(call->op, reason);
    return 0;
}

// A call whose arguments are wrong, such as those that overlap, is left, and PyTorch says so.
int torch_keyed_run(redtune_torch_keyed *call) {
    const torch_running now;
    redtune *rt = torch_calls_handle(call->device, false);
    redtune_keyed keyed = {};
    redtune_error err;
    if (!rt) return torch_calls_leave(call->op, TORCH_UNREADY);
    keyed.d_in = call->data;
    keyed.d_keys = call->key_data;
    keyed.d_out[0] = call->out;
    keyed.accumulate = 1;
    const redtune_status status = redtune_run_keyed(rt, problem_of(call), &keyed,
                                                    static_cast<CUstream_st *>(call->stream), &err);
    if (!status) {
        torch_calls_count_served(call->op);
        torch_kinds_count(call->op, call->dtype, TORCH_KEYED, bytes_of(*call), call->keys);
        return REDTUNE_TORCH_SERVED;
    }
    if (status != REDTUNE_INVALID) torch_worker_refuse(*problem_of(call), err.message);
    return torch_calls_leave(call->op, TORCH_FAILED);
}
