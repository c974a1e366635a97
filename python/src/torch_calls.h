// Torch calls: PyTorch's own calls, as the shim of redtune.torch.install() hands them on.
#pragma once

#include <atomic>

#include "../redtune/_torch_shim.h"
#include "runtime.h"

// Why a call is left to PyTorch's kernel.
#define TORCH_REASONS(X)                                                                           \
    X(SMALL, "smaller than at_least")                                                              \
    X(UNREADY, "its kernel was being made")                                                        \
    X(DTYPE, "dtypes")                                                                             \
    X(FORM, "no axes, no elements, or no plain tensor")                                            \
    X(SLOWER, "PyTorch's was measured to be as fast")                                              \
    X(PARAMETER, "order of a norm, correction, alpha or reduce")                                   \
    X(UNSUPPORTED, "redtune has no kernel for it")                                                 \
    X(FAILED, "redtune failed")

#define TORCH_REASON(name, text) TORCH_##name,
enum torch_reason { TORCH_REASONS(TORCH_REASON) TORCH_REASON_COUNT };
#undef TORCH_REASON

// What is known of an op of PyTorch's for elements of one dtype and a result that was asked for.
struct torch_choice {
    bool is_served;
    redtune_problem problem; // without its axes
    int32_t results, result_dtype[2];
    bool swaps, has_parameter;
};

// The choice, or NULL: it is PyTorch's. Filled in by torch_choices_fill, with the GIL.
const torch_choice *torch_choice_find(const redtune_torch_call &call);
void torch_choices_fill();

// ---- the thread that makes kernels: torch_worker.cpp -------------------------------------------

// Has the thread make the problem's plan, unless it does already. Any thread may call.
void torch_worker_prepare(redtune *rt, const redtune_problem &problem);
// Has it open the device.
void torch_worker_open(int device);
// Ends it, once it has made what it is at.
void torch_worker_end();
// The last thing that it could not make; "": none.
std::string torch_worker_failure();
// Problems that no kernel is made for, as it failed or must not begin to serve.
void torch_worker_refuse(const redtune_problem &problem, const char *message);
bool torch_worker_refuses(const redtune_problem &problem);
// How many problems are being made, or wait.
size_t torch_worker_left();

// ---- calls by key: torch_keyed.cpp -------------------------------------------------------------

int torch_keyed_choose(redtune_torch_keyed *call);
int torch_keyed_run(redtune_torch_keyed *call);

// ---- what PyTorch was as fast at: torch_slower.cpp ---------------------------------------------

bool torch_is_strided(const redtune_problem &problem); // neither rows nor columns
bool torch_is_slower(const redtune_torch_call &call, const redtune_problem &problem);
bool torch_is_slower_by_key(const redtune_torch_keyed &call);

// ---- what was served, by kinds: torch_kinds.cpp ------------------------------------------------

// By key there is a layout for each power of two of a row's elements.
enum torch_layout {
    TORCH_WHOLE,
    TORCH_ROWS,
    TORCH_COLUMNS,
    TORCH_STRIDED, // neither rows nor columns
    TORCH_KEYED,
    TORCH_LAYOUTS = 16
};
void torch_kinds_count(int op, int dtype, int layout, int64_t bytes, int64_t results);
// This thread measures, and its calls are not counted.
bool torch_kinds_are_quiet();
void torch_kinds_forget();
void torch_kinds_add(nb::module_ &module);

// ---- what both kinds of calls share ------------------------------------------------------------

// Counts a call that is left; returns REDTUNE_TORCH_LEFT.
int torch_calls_leave(int op, torch_reason reason);
void torch_calls_count_served(int op);
// Returns what becomes of a call whose run failed: it is left, or in fixed order fails with
// message.
int torch_calls_after_failure(int op, const redtune_problem &problem, const redtune_error &err,
                              char *message);
// What the device's calls run with, opened or not yet (NULL).
redtune *torch_calls_handle(int device, bool at_once);
bool torch_calls_are_fixed();
int64_t torch_calls_least_bytes(int op);
// The dtype of a c10::ScalarType; REDTUNE_DTYPE_NONE: redtune has none.
redtune_dtype torch_dtype_of(int type);
// While one lives, nothing is closed.
struct torch_running {
    torch_running();
    ~torch_running();
    torch_running(const torch_running &) = delete;
};

// ---- tensors of the host: torch_host.cpp -------------------------------------------------------

redtune_status torch_host_reduce(redtune *rt, const redtune_torch_call &call,
                                 const redtune_problem &problem, const redtune_operands &operands,
                                 redtune_error *err);
redtune_status torch_host_reduce_keyed(redtune *rt, const redtune_torch_keyed &call,
                                       const redtune_problem &problem, redtune_error *err);

// ---- for runtime.cpp ---------------------------------------------------------------------------

// Opens what calls of the device run with; nothing where the program ends.
void torch_calls_open(int device);
// The same on any thread, without the GIL.
bool torch_calls_try_open(int device, std::string *failure);
// Opens what calls run with anew, as settings have changed.
void torch_calls_reopen();
// Before the libraries are closed: calls are PyTorch's from now on. False: one is still running.
bool torch_calls_end();
void torch_calls_add(nb::module_ &module);
