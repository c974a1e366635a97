// Torch calls: what the shim's hooks do: decide whether redtune serves a call, and run it.
//
// Both run without the GIL, on any thread, and outside of fixed order and deterministic mode
// neither waits: a call whose plan is not there yet is PyTorch's, and a thread makes the plan.
// Fixed order makes it at once, or fails within a capture, since PyTorch's kernel would give other
// bits. So does deterministic mode, but within a capture the problem is PyTorch's for good.
#include "torch_calls.h"

#include <chrono>
#include <cstring>
#include <thread>

#include <nanobind/stl/vector.h>

namespace {

enum { DEVICES = 65 }; // HOST_DEVICE, and CUDA's from 0 on

std::atomic<redtune *> handles[DEVICES]; // by number, from HOST_DEVICE on; NULL: not opened
std::atomic<bool> fixed{false};          // configure or $REDTUNE_ORDER makes the order fixed
std::atomic<bool> ended{false};          // the program ends: every call is PyTorch's
std::atomic<int> running{0};
int64_t least_bytes[REDTUNE_TORCH_ALL_OPS]; // settled before the shim has the hooks
std::atomic<uint64_t> served[REDTUNE_TORCH_ALL_OPS];
std::atomic<uint64_t> left[REDTUNE_TORCH_ALL_OPS][TORCH_REASON_COUNT];

void count(std::atomic<uint64_t> &counter) {
    if (!torch_kinds_are_quiet()) counter.fetch_add(1, std::memory_order_relaxed);
}

redtune *handle_of(int device) {
    const int place = device - HOST_DEVICE;
    return place >= 0 && place < DEVICES ? handles[place].load() : nullptr;
}

redtune_problem *problem_of(redtune_torch_call *call) {
    static_assert(sizeof(redtune_problem) <= sizeof call->problem, "a call has room for a problem");
    return reinterpret_cast<redtune_problem *>(call->problem);
}

const torch_choice *choice_of(const redtune_torch_call *call) {
    return static_cast<const torch_choice *>(call->chosen);
}

// ---- choosing ----------------------------------------------------------------------------------

struct axes_of {
    int axis[REDTUNE_TORCH_AXES];
    size_t count = 0;
    uint64_t reduced = 0; // a bit each
};

// No axes are all of them to these; to others it depends on PyTorch's version.
bool takes_none_for_all(int op) {
    return op == REDTUNE_TORCH_SUM || op == REDTUNE_TORCH_MEAN || op == REDTUNE_TORCH_AMAX ||
           op == REDTUNE_TORCH_AMIN || op == REDTUNE_TORCH_COUNT_NONZERO;
}

bool read_axes(const redtune_torch_call &call, axes_of *out) {
    if (call.dim_count < 0 || (!call.dim_count && takes_none_for_all(call.op))) {
        out->reduced = ~UINT64_C(0);
        return true;
    }
    for (int i = 0; i < call.dim_count && i < call.dimensions; i++) {
        const int64_t axis = call.dims[i] + (call.dims[i] < 0 ? call.dimensions : 0);
        if (axis < 0 || axis >= call.dimensions || out->reduced >> axis & 1) return false;
        out->reduced |= UINT64_C(1) << axis;
        out->axis[out->count++] = static_cast<int>(axis);
    }
    return out->count && out->count == static_cast<size_t>(call.dim_count);
}

// The results' shape, and how many elements a result is made of.
int64_t shape_results(redtune_torch_call *call, uint64_t reduced) {
    int64_t length = 1;
    call->result_dimensions = 0;
    for (int i = 0; i < call->dimensions; i++) {
        const bool goes = reduced >> i & 1;
        if (goes) length *= call->sizes[i];
        if (!goes || call->keeps)
            call->result_sizes[call->result_dimensions++] = goes ? 1 : call->sizes[i];
    }
    return length;
}

bool fold(redtune *rt, redtune_torch_call *call, const axes_of &axes) {
    redtune_problem *problem = problem_of(call);
    const bool told = fixed && redtune_order_get(rt, problem) == REDTUNE_ORDER_FIXED;
    if (told) problem->order = REDTUNE_ORDER_FIXED; // which decides how elements are numbered
    const redtune_status status =
        redtune_problem_fold(problem, call->sizes, call->strides,
                             static_cast<size_t>(call->dimensions), axes.axis, axes.count, nullptr);
    problem->order = REDTUNE_ORDER_FREE;
    return !status;
}

// In fixed order a batch must not decide by its size who serves it; what is measured runs at any.
bool is_small(const redtune_torch_call &call, size_t element_bytes) {
    return !torch_kinds_are_quiet() &&
           call.elements * static_cast<int64_t>(element_bytes) < least_bytes[call.op] &&
           !fixed.load(std::memory_order_relaxed);
}

bool fits_out(const redtune_torch_call &call) {
    return call.out_dtype == call.result_dtype[0] &&
           call.out_dimensions == call.result_dimensions &&
           !memcmp(call.out_sizes, call.result_sizes,
                   static_cast<size_t>(call.out_dimensions) * sizeof *call.out_sizes);
}

// TORCH_REASON_COUNT: redtune serves the call.
torch_reason reason_to_leave(redtune_torch_call *call) {
    axes_of axes;
    const torch_choice *choice = torch_choice_find(*call);
    if (!choice) return call->op == REDTUNE_TORCH_NORM ? TORCH_PARAMETER : TORCH_DTYPE;
    if (is_small(*call, redtune_dtype_bytes(choice->problem.dtype))) return TORCH_SMALL;
    redtune *rt = torch_calls_handle(call->device, call->is_deterministic);
    if (!rt) return TORCH_UNREADY;
    if (!call->is_plain || call->elements < 2 || !call->dimensions || !read_axes(*call, &axes))
        return TORCH_FORM;
    const int64_t length = shape_results(call, axes.reduced);
    if (choice->has_parameter && !(call->parameter < static_cast<double>(length)))
        return TORCH_PARAMETER;
    redtune_problem *problem = problem_of(call);
    *problem = choice->problem;
    if (!fold(rt, call, axes)) return TORCH_UNSUPPORTED;
    if (!fixed && torch_is_slower(*call, *problem)) return TORCH_SLOWER;
    if (torch_worker_refuses(*problem)) return TORCH_FAILED;
    call->chosen = choice;
    call->results = choice->results;
    memcpy(call->result_dtype, choice->result_dtype, sizeof call->result_dtype);
    if (call->out_dtype >= 0 && !fits_out(*call)) return TORCH_FORM;
    if (fixed || call->is_deterministic || redtune_is_prepared(rt, problem))
        return TORCH_REASON_COUNT;
    torch_worker_prepare(rt, *problem);
    return TORCH_UNREADY;
}

int choose(redtune_torch_call *call) {
    const torch_running now;
    const torch_reason reason = reason_to_leave(call);
    if (reason == TORCH_REASON_COUNT) return 1;
    count(left[call->op][reason]);
    return 0;
}

// ---- running -----------------------------------------------------------------------------------

redtune_status run_on(redtune *rt, redtune_torch_call *call, redtune_error *err) {
    const torch_choice *choice = choice_of(call);
    const redtune_problem *problem = problem_of(call);
    const bool swaps = choice->swaps;
    redtune_operands operands = {};
    operands.d_in[0] = call->data;
    for (int i = 0; i < choice->results; i++) operands.d_out[i] = call->result[swaps ? 1 - i : i];
    if (choice->has_parameter) operands.parameters = &call->parameter;
    if (call->device == HOST_DEVICE) return torch_host_reduce(rt, *call, *problem, operands, err);
    return redtune_run(rt, problem, &operands, static_cast<CUstream_st *>(call->stream), err);
}

void count_kind(redtune_torch_call &call) {
    const redtune_problem *problem = problem_of(&call);
    int64_t results = 1;
    for (int i = 0; i < call.result_dimensions; i++) results *= call.result_sizes[i];
    const bool is_columns = redtune_problem_operands(problem).inner > 1;
    torch_kinds_count(call.op, call.dtype,
                      torch_is_strided(*problem) ? TORCH_STRIDED
                      : results == 1             ? TORCH_WHOLE
                      : is_columns               ? TORCH_COLUMNS
                                                 : TORCH_ROWS,
                      call.elements * static_cast<int64_t>(redtune_dtype_bytes(problem->dtype)),
                      results);
}

int run(redtune_torch_call *call) {
    redtune_error err;
    const torch_running now;
    redtune *rt = handle_of(call->device);
    const redtune_status status = rt ? run_on(rt, call, &err) : REDTUNE_OK;
    if (!rt) return torch_calls_leave(call->op, TORCH_UNREADY);
    if (status) return torch_calls_after_failure(call->op, *problem_of(call), err, call->message);
    torch_calls_count_served(call->op);
    count_kind(*call);
    return REDTUNE_TORCH_SERVED;
}

const redtune_torch_hooks hooks = {choose, run, torch_keyed_choose, torch_keyed_run};

// ---- opening -----------------------------------------------------------------------------------

// The hooks' address for the shim. least: bytes of each op.
uintptr_t install(int device, const std::vector<int64_t> &least) {
    torch_choices_fill();
    for (size_t i = 0; i < REDTUNE_TORCH_ALL_OPS && i < least.size(); i++)
        least_bytes[i] = least[i];
    if (!handle_of(device)) torch_calls_open(device);
    return reinterpret_cast<uintptr_t>(&hooks);
}

// ---- reporting ---------------------------------------------------------------------------------

nb::list counts() {
    static const char *const reasons[] = {
#define TEXT(name, text) text,
        TORCH_REASONS(TEXT)
#undef TEXT
    };
    nb::list all;
    for (int op = 0; op < REDTUNE_TORCH_ALL_OPS; op++) {
        nb::dict why;
        for (int i = 0; i < TORCH_REASON_COUNT; i++)
            if (left[op][i]) why[reasons[i]] = left[op][i].load();
        all.append(nb::make_tuple(served[op].load(), why));
    }
    return all;
}

void forget_counts() {
    torch_kinds_forget();
    for (auto &each : served) each = 0;
    for (auto &op : left)
        for (auto &each : op) each = 0;
}

} // namespace

int torch_calls_leave(int op, torch_reason reason) {
    count(left[op][reason]);
    return REDTUNE_TORCH_LEFT;
}

int torch_calls_after_failure(int op, const redtune_problem &problem, const redtune_error &err,
                              char *message) {
    if (fixed && err.status != REDTUNE_UNSUPPORTED && err.status != REDTUNE_INVALID) {
        snprintf(message, REDTUNE_TORCH_MESSAGE,
                 "redtune, whose order is fixed, does not leave the call to PyTorch: %s",
                 err.message);
        return REDTUNE_TORCH_FAILED;
    }
    torch_worker_refuse(problem, err.message);
    return torch_calls_leave(op, err.status == REDTUNE_UNPREPARED ? TORCH_UNREADY : TORCH_FAILED);
}

void torch_calls_count_served(int op) { count(served[op]); }

bool torch_calls_are_fixed() { return fixed.load(std::memory_order_relaxed); }

int64_t torch_calls_least_bytes(int op) { return least_bytes[op]; }

torch_running::torch_running() { running.fetch_add(1); }
torch_running::~torch_running() { running.fetch_sub(1); }

// The thread opens it if it is not there, or this one where it must be served at once.
redtune *torch_calls_handle(int device, bool at_once) {
    redtune *rt = handle_of(device);
    if (rt || ended) return rt;
    if (!fixed && !at_once) {
        torch_worker_open(device);
        return nullptr;
    }
    std::string ignored;
    torch_calls_try_open(device, &ignored);
    return handle_of(device);
}

void torch_calls_open(int device) {
    if (device < HOST_DEVICE || device - HOST_DEVICE >= DEVICES || ended) return;
    redtune *rt = runtime_open_own(device);
    const redtune_problem sum = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 1000);
    fixed = redtune_order_get(rt, &sum) == REDTUNE_ORDER_FIXED;
    handles[device - HOST_DEVICE] = rt;
}

bool torch_calls_try_open(int device, std::string *failure) {
    const nb::gil_scoped_acquire gil;
    try {
        if (!handle_of(device)) torch_calls_open(device);
        return true;
    } catch (const std::exception &error) {
        *failure = error.what();
        return false;
    }
}

void torch_calls_reopen() {
    for (int device = HOST_DEVICE; device - HOST_DEVICE < DEVICES; device++)
        if (handle_of(device)) torch_calls_open(device);
}

bool torch_calls_end() {
    using namespace std::chrono_literals;
    ended = true;
    for (auto &each : handles) each = nullptr;
    {
        const without_gil released; // which the thread may wait for
        torch_worker_end();
    }
    for (int i = 0; i < 1000 && running; i++) std::this_thread::sleep_for(1ms);
    return !running;
}

void torch_calls_add(nb::module_ &module) {
    nb::list names;
#define NAME(name, torch, redtune) names.append(torch);
    REDTUNE_TORCH_LIST(NAME)
    REDTUNE_TORCH_KEYED_LIST(NAME)
#undef NAME
    module.attr("torch_ops") = nb::tuple(names);
    torch_kinds_add(module);
    module.def("torch_install", &install);
    module.def("torch_counts", &counts);
    module.def("torch_forget_counts", &forget_counts);
    module.def("torch_failure", &torch_worker_failure);
    module.def("torch_pending", &torch_worker_left);
}
