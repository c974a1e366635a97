// Torch keyed: PyTorch's index_add, scatter_add and scatter_reduce of elements or rows by key.
//
// They go on from what the result holds. Floats are added in another order each time, as PyTorch's
// atomic additions are, so that deterministic mode leaves them to PyTorch, which has kernels for
// it. In fixed order they are added in the order of their places, whatever that takes.
#include "torch_calls.h"

#include "redtune/keys.h"

static redtune_problem *problem_of(redtune_torch_keyed *call) {
    return reinterpret_cast<redtune_problem *>(call->problem);
}

static int64_t bytes_of(const redtune_torch_keyed &call) {
    return call.rows * call.width *
           static_cast<int64_t>(redtune_dtype_bytes(torch_dtype_of(call.dtype)));
}

static bool is_small(const redtune_torch_keyed &call) {
    return !torch_kinds_are_quiet() && bytes_of(call) < torch_calls_least_bytes(call.op);
}

// Whether PyTorch's result has the dtype; sets it where it is not redtune's usual one.
static bool have_result(redtune_problem *problem) {
    redtune_dtype result = REDTUNE_DTYPE_NONE;
    if (redtune_problem_result(problem, &result, nullptr)) return false;
    if (result == problem->dtype) return true;
    problem->result = problem->dtype;
    return !redtune_problem_result(problem, &result, nullptr) && result == problem->dtype;
}

// false: the dtypes are not redtune's.
static bool make_problem(redtune_torch_keyed *call) {
    const redtune_op op = call->reduce == '>'   ? REDTUNE_MAX
                          : call->reduce == '<' ? REDTUNE_MIN
                                                : REDTUNE_SUM; // that of a mean, too
    const redtune_dtype dtype = torch_dtype_of(call->dtype), keys = torch_dtype_of(call->key_dtype);
    if (redtune_dtype_bytes(dtype) < 2 || dtype == REDTUNE_I16) return false;
    if (keys != REDTUNE_I64 && keys != REDTUNE_I32) return false;
    redtune_problem *problem = problem_of(call);
    const auto count = static_cast<uint64_t>(call->rows), its = static_cast<uint64_t>(call->keys);
    const auto width = static_cast<uint64_t>(call->width);
    *problem = width > 1 ? redtune_problem_rows_by_key(op, dtype, keys, its, count, width)
                         : redtune_problem_by_key(op, dtype, keys, its, count);
    problem->uses = REDTUNE_USE_ACCUMULATE;
    return have_result(problem);
}

static torch_reason reason_to_leave(redtune_torch_keyed *call) {
    if (!call->reduce) return TORCH_PARAMETER;
    if (!call->is_plain || call->rows < 2 || call->keys < 1 || call->width < 1) return TORCH_FORM;
    if (!make_problem(call)) return TORCH_DTYPE;
    const bool fixed = torch_calls_are_fixed();
    if (!fixed && is_small(*call)) return TORCH_SMALL;
    if (!fixed && torch_is_slower_by_key(*call)) return TORCH_SLOWER;
    if (call->is_deterministic && !fixed) return TORCH_UNSUPPORTED;
    redtune *rt = torch_calls_handle(call->device, false);
    if (!rt) return TORCH_UNREADY;
    if (torch_worker_refuses(*problem_of(call))) return TORCH_FAILED;
    if (fixed || redtune_is_prepared(rt, problem_of(call))) return TORCH_REASON_COUNT;
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

static redtune_status run_on(redtune *rt, redtune_torch_keyed *call, redtune_error *err) {
    if (call->device == HOST_DEVICE)
        return torch_host_reduce_keyed(rt, *call, *problem_of(call), err);
    redtune_keyed keyed = {};
    keyed.d_in = call->data;
    keyed.d_keys = call->key_data;
    keyed.d_out[0] = call->out;
    keyed.accumulate = 1;
    return redtune_run_keyed(rt, problem_of(call), &keyed, static_cast<CUstream_st *>(call->stream),
                             err);
}

static void count_served(const redtune_torch_keyed &call) {
    int layout = TORCH_KEYED; // and the power of two below the width
    while (layout < TORCH_LAYOUTS - 1 && call.width >> (layout - TORCH_KEYED + 1)) layout++;
    torch_calls_count_served(call.op);
    torch_kinds_count(call.op, call.dtype, layout, bytes_of(call), call.keys);
}

// A call whose arguments are wrong, such as those that overlap, is left, and PyTorch says so.
int torch_keyed_run(redtune_torch_keyed *call) {
    const torch_running now;
    redtune *rt = torch_calls_handle(call->device, false);
    redtune_error err;
    if (!rt) return torch_calls_leave(call->op, TORCH_UNREADY);
    const redtune_status status = run_on(rt, call, &err);
    if (status == REDTUNE_INVALID) return torch_calls_leave(call->op, TORCH_FAILED);
    if (status) return torch_calls_after_failure(call->op, *problem_of(call), err, call->message);
    count_served(*call);
    return REDTUNE_TORCH_SERVED;
}
