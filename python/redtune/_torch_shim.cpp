// Torch shim: kernels of PyTorch's ops that hand each call to redtune or to the kernel before them.
//
// redtune.torch.install() compiles this file against the headers of the PyTorch that is there, and
// once for each version. It is kept to what needs them; redtune._core does the rest. PyTorch's
// stable C interface would need no headers, but it boxes each call, and passes no Scalar, so that
// var and vector_norm could not be served.
#include "_torch_keyed.h"
#include "_torch_shim.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <tuple>

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/all_ops.h>
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/amin_ops.h>
#include <ATen/ops/any_ops.h>
#include <ATen/ops/argmax_ops.h>
#include <ATen/ops/argmin_ops.h>
#include <ATen/ops/count_nonzero_ops.h>
#include <ATen/ops/index_add_ops.h>
#include <ATen/ops/linalg_vector_norm_ops.h>
#include <ATen/ops/logsumexp_ops.h>
#include <ATen/ops/max_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/min_ops.h>
#include <ATen/ops/nansum_ops.h>
#include <ATen/ops/scatter_add_ops.h>
#include <ATen/ops/scatter_reduce_ops.h>
#include <ATen/ops/std_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/var_mean_ops.h>
#include <ATen/ops/var_ops.h>
#include <torch/library.h>

// What a PyTorch without CUDA has not.
extern "C" int32_t aoti_torch_get_current_cuda_stream(int32_t device, void **stream)
    __attribute__((weak));
namespace at::detail {
TensorBase empty_cuda(IntArrayRef size, ScalarType dtype, std::optional<Device> device,
                      std::optional<c10::MemoryFormat> format) __attribute__((weak));
}

// The kernel in a SafeKernelFunction, which can be called without boxing its arguments.
template <auto member> struct opened {
    friend const c10::KernelFunction &kernel_in(const c10::SafeKernelFunction &safe) {
        return safe.*member;
    }
};
template struct opened<&c10::SafeKernelFunction::kernel_>;
const c10::KernelFunction &kernel_in(const c10::SafeKernelFunction &safe);

namespace {

using at::Scalar;
using at::Tensor;
using dims = at::IntArrayRef;
using call = redtune_torch_call;
using dtype = std::optional<at::ScalarType>;

redtune_torch_hooks hooks;
std::unique_ptr<torch::Library> library;

// ---- the arguments -----------------------------------------------------------------------------

void take_axes(call &c, dims axes) {
    c.dims = axes.data();
    c.dim_count = static_cast<int32_t>(axes.size());
}

void take_axes(call &c, at::OptionalIntArrayRef axes) {
    if (axes.has_value()) take_axes(c, *axes);
}

void take(call &c, dims axes, bool keeps) {
    take_axes(c, axes);
    c.keeps = keeps;
}

void take(call &c, at::OptionalIntArrayRef axes, bool keeps) {
    take_axes(c, axes);
    c.keeps = keeps;
}

void take(call &c, const int64_t &axis, bool keeps) { take(c, dims(axis), keeps); }

void take(call &c, const std::optional<int64_t> &axis, bool keeps) {
    if (axis) take_axes(c, dims(*axis));
    c.keeps = keeps;
}

void take(call &c, dims axes) { take_axes(c, axes); }

void take(call &) {}

void take(call &c, at::OptionalIntArrayRef axes, bool keeps, dtype wanted) {
    take(c, axes, keeps);
    if (wanted) c.wanted = static_cast<int32_t>(*wanted);
}

// A correction or an order that is no real number is PyTorch's.
void take_parameter(call &c, const Scalar &value) {
    if (value.isFloatingPoint() || value.isIntegral(false))
        c.parameter = value.toDouble();
    else
        c.is_plain = false;
}

void take(call &c, at::OptionalIntArrayRef axes, const std::optional<Scalar> &correction,
          bool keeps) {
    take(c, axes, keeps);
    c.parameter = 1;
    if (correction) take_parameter(c, *correction);
}

void take(call &c, const Scalar &order, at::OptionalIntArrayRef axes, bool keeps, dtype wanted) {
    take(c, axes, keeps, wanted);
    take_parameter(c, order);
}

void take_tensor(call &c, const Tensor &x) {
    const bool on_host = x.is_cpu();
    const c10::DispatchKeySet unusual(
        {c10::DispatchKey::Negative, c10::DispatchKey::Conjugate, c10::DispatchKey::ZeroTensor});
    c.wanted = -1;
    c.dim_count = -1;
    c.out_dtype = -1;
    c.keeps = false;
    c.parameter = 0;
    c.stream = nullptr;
    c.dtype = static_cast<int32_t>(x.scalar_type());
    c.device = on_host ? -1 : x.get_device();
    c.dimensions = static_cast<int32_t>(x.dim());
    c.sizes = x.sizes().data();
    c.strides = x.strides().data();
    c.elements = x.numel();
    c.is_deterministic = at::globalContext().deterministicAlgorithms();
    c.is_plain = (on_host || (x.is_cuda() && at::detail::empty_cuda)) &&
                 c.dimensions <= REDTUNE_TORCH_AXES && !x.key_set().has_any(unusual);
}

// A result's tensor; PyTorch resizes others, or refuses them.
void take_out(call &c, const Tensor &x, const Tensor &out) {
    const c10::DispatchKeySet unusual({c10::DispatchKey::Negative, c10::DispatchKey::Conjugate});
    c.out_dtype = static_cast<int32_t>(out.scalar_type());
    c.out_dimensions = static_cast<int32_t>(out.dim());
    c.out_sizes = out.sizes().data();
    c.is_plain = c.is_plain && out.device() == x.device() && out.is_contiguous() &&
                 !out.is_alias_of(x) && !out.key_set().has_any(unusual);
}

// ---- serving -----------------------------------------------------------------------------------

Tensor make_result(call &c, int index, const Tensor &x) {
    const dims sizes(c.result_sizes, static_cast<size_t>(c.result_dimensions));
    const auto its = static_cast<at::ScalarType>(c.result_dtype[index]);
    Tensor made(c.device < 0 ? at::detail::empty_cpu(sizes, its)
                             : at::detail::empty_cuda(sizes, its, x.device(), std::nullopt));
    c.result[index] = made.mutable_data_ptr();
    return made;
}

void make_results(call &c, const Tensor &x, Tensor *out) { *out = make_result(c, 0, x); }

void make_results(call &c, const Tensor &x, std::tuple<Tensor, Tensor> *out) {
    *out = {make_result(c, 0, x), make_result(c, 1, x)};
}

void take_results(call &c, const Tensor &, const Tensor *out) {
    c.result[0] = out->mutable_data_ptr();
}

bool have_stream(int device, void **stream) {
    return device < 0 || !aoti_torch_get_current_cuda_stream(device, stream);
}

// out is made, or const where the caller gave it.
template <class Result> bool serve(call &c, const Tensor &x, Result *out) {
    char message[REDTUNE_TORCH_MESSAGE];
    if (!have_stream(c.device, &c.stream)) return false;
    if constexpr (std::is_const_v<Result>)
        take_results(c, x, out);
    else
        make_results(c, x, out);
    c.data = x.const_data_ptr();
    c.message = message;
    const int done = hooks.run(&c);
    TORCH_CHECK(done != REDTUNE_TORCH_FAILED, message);
    return done == REDTUNE_TORCH_SERVED;
}

// Whether PyTorch's kernel of a call that was left runs on this thread, or all are to be: the ops
// that it is made of, as logsumexp is of amax and sum, are not asked for one by one.
thread_local bool is_left = false;

struct leaving {
    const bool before = is_left;
    leaving() { is_left = true; }
    ~leaving() { is_left = before; }
};

// The kernel before an op's new one.
template <class Op> struct slot {
    static inline std::optional<c10::SafeKernelFunction> before;
    static inline std::optional<c10::OperatorHandle> handle;

    template <class Result, class... Arguments>
    static Result call_before(c10::DispatchKeySet keys, Arguments... arguments) {
        const leaving now;
        return kernel_in(*before).template call<Result, Arguments...>(
            *handle, keys, std::forward<Arguments>(arguments)...);
    }

    template <class Run> static void put(c10::DispatchKey key, Run run) {
        const std::string overload = Op::overload_name;
        handle = c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
        before = handle->getComputedKernelForDispatchKey(key);
        library->impl((Op::name + (overload.empty() ? "" : "." + overload)).c_str(),
                      torch::CppFunction(run));
    }
};

template <int number, class Op, class Schema = typename Op::schema> struct kernel;

template <int number, class Op, class Result, class... More>
struct kernel<number, Op, Result(const Tensor &, More...)> {
    static Result run(c10::DispatchKeySet keys, const Tensor &x, More... more) {
        call c;
        Result out;
        if (!is_left) {
            c.op = number;
            take_tensor(c, x);
            take(c, more...);
            if (hooks.choose(&c) && serve(c, x, &out)) return out;
        }
        return slot<Op>::template call_before<Result, const Tensor &, More...>(
            keys, x, std::forward<More>(more)...);
    }
};

// ---- forms with out= ---------------------------------------------------------------------------

template <class... Types> struct types;

// The types but the last.
template <class Done, class... Rest> struct all_but_last;
template <class... Done, class Last> struct all_but_last<types<Done...>, Last> {
    using type = types<Done...>;
};
template <class... Done, class Next, class Another, class... Rest>
struct all_but_last<types<Done...>, Next, Another, Rest...>
    : all_but_last<types<Done..., Next>, Another, Rest...> {};

template <int number, class Op, class Schema = typename Op::schema> struct out_kernel;

template <int number, class Op, class... More> struct out_kernel<number, Op, types<More...>> {
    static Tensor &run(c10::DispatchKeySet keys, const Tensor &x, More... more, Tensor &out) {
        call c;
        if (!is_left) {
            c.op = number;
            take_tensor(c, x);
            take(c, more...);
            take_out(c, x, out);
            if (hooks.choose(&c) && serve<const Tensor>(c, x, &out)) return out;
        }
        return slot<Op>::template call_before<Tensor &, const Tensor &, More..., Tensor &>(
            keys, x, std::forward<More>(more)..., out);
    }
};

template <int number, class Op, class... More>
struct out_kernel<number, Op, Tensor &(const Tensor &, More...)>
    : out_kernel<number, Op, typename all_but_last<types<>, More...>::type> {};

// ---- by key ------------------------------------------------------------------------------------

template <int number, class Op, class Schema = typename Op::schema> struct by_key;

template <int number, class Op, class Result, class Self, class... More>
struct by_key<number, Op, Result(Self, int64_t, const Tensor &, const Tensor &, More...)> {
    static Result run(c10::DispatchKeySet keys, Self self, int64_t dim, const Tensor &index,
                      const Tensor &source, More... more) {
        if (!is_left) {
            const torch_keyed::kind its = torch_keyed::kind_of(more...);
            redtune_torch_keyed k;
            k.op = number;
            torch_keyed::take_keyed(k, self, dim, index, source, its);
            if (hooks.choose_keyed(&k) && have_stream(k.device, &k.stream)) {
                const leaving now; // what is asked of PyTorch for it
                if constexpr (std::is_reference_v<Result>) {
                    if (torch_keyed::serve_keyed(hooks, k, self, index, source, its)) return self;
                } else {
                    Result out = self.clone();
                    if (torch_keyed::serve_keyed(hooks, k, out, index, source, its)) return out;
                }
            }
        }
        return slot<Op>::template call_before<Result, Self, int64_t, const Tensor &, const Tensor &,
                                              More...>(keys, self, dim, index, source,
                                                       std::forward<More>(more)...);
    }
};

// ---- installing --------------------------------------------------------------------------------

// PyTorch warns once of kernels that are replaced, which is meant here.
struct silent : c10::WarningHandler {
    void process(const c10::Warning &) override {}
};

#define KERNELS(X)                                                                                 \
    X(SUM, sum_dim_IntList)                                                                        \
    X(MEAN, mean_dim)                                                                              \
    X(NANSUM, nansum)                                                                              \
    X(AMAX, amax)                                                                                  \
    X(AMIN, amin)                                                                                  \
    X(MAX, max)                                                                                    \
    X(MIN, min)                                                                                    \
    X(MAX_DIM, max_dim)                                                                            \
    X(MIN_DIM, min_dim)                                                                            \
    X(ARGMAX, argmax)                                                                              \
    X(ARGMIN, argmin)                                                                              \
    X(VAR, var_correction)                                                                         \
    X(STD, std_correction)                                                                         \
    X(VAR_MEAN, var_mean_correction)                                                               \
    X(NORM, linalg_vector_norm)                                                                    \
    X(LOGSUMEXP, logsumexp)                                                                        \
    X(ANY, any)                                                                                    \
    X(ANY_DIM, any_dim)                                                                            \
    X(ANY_DIMS, any_dims)                                                                          \
    X(ALL, all)                                                                                    \
    X(ALL_DIM, all_dim)                                                                            \
    X(ALL_DIMS, all_dims)                                                                          \
    X(COUNT_NONZERO, count_nonzero_dim_IntList)

// They count as their ops.
#define OUT_KERNELS(X)                                                                             \
    X(SUM, sum_IntList_out)                                                                        \
    X(MEAN, mean_out)                                                                              \
    X(NANSUM, nansum_out)                                                                          \
    X(AMAX, amax_out)                                                                              \
    X(AMIN, amin_out)                                                                              \
    X(ARGMAX, argmax_out)                                                                          \
    X(ARGMIN, argmin_out)                                                                          \
    X(VAR, var_correction_out)                                                                     \
    X(STD, std_correction_out)                                                                     \
    X(NORM, linalg_vector_norm_out)                                                                \
    X(LOGSUMEXP, logsumexp_out)                                                                    \
    X(ANY, any_all_out)                                                                            \
    X(ANY_DIM, any_out)                                                                            \
    X(ANY_DIMS, any_dims_out)                                                                      \
    X(ALL, all_all_out)                                                                            \
    X(ALL_DIM, all_out)                                                                            \
    X(ALL_DIMS, all_dims_out)

#define KEYED_KERNELS(X)                                                                           \
    X(INDEX_ADD, index_add)                                                                        \
    X(INDEX_ADD_IN_PLACE, index_add_)                                                              \
    X(SCATTER_ADD, scatter_add)                                                                    \
    X(SCATTER_ADD_IN_PLACE, scatter_add_)                                                          \
    X(SCATTER_REDUCE, scatter_reduce_two)                                                          \
    X(SCATTER_REDUCE_IN_PLACE, scatter_reduce__two)

void put_all(c10::DispatchKey key, uint64_t ops) {
    silent handler;
    c10::WarningUtils::WarningHandlerGuard guard(&handler);
    library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", key, __FILE__, 0);
#define PUT(name, op, its)                                                                         \
    if (ops >> REDTUNE_TORCH_##name & 1)                                                           \
        slot<at::_ops::op>::put(key, &its<REDTUNE_TORCH_##name, at::_ops::op>::run);
#define PUT_KERNEL(name, op) PUT(name, op, kernel)
#define PUT_OUT(name, op)    PUT(name, op, out_kernel)
#define PUT_KEYED(name, op)  PUT(name, op, by_key)
    KERNELS(PUT_KERNEL)
    OUT_KERNELS(PUT_OUT)
    KEYED_KERNELS(PUT_KEYED)
#undef PUT_KEYED
#undef PUT_OUT
#undef PUT_KERNEL
#undef PUT
}

} // namespace

// Puts the kernels of the ops, a bit each, in place of the key's. 0: done; else message says why
// not, and nothing is changed.
extern "C" __attribute__((visibility("default"))) int
redtune_torch_shim_install(const redtune_torch_hooks *given, const char *key, uint64_t ops,
                           char *message) {
    try {
        hooks = *given;
        put_all(c10::parseDispatchKey(key), ops);
        return 0;
    } catch (const std::exception &error) {
        library.reset();
        snprintf(message, REDTUNE_TORCH_MESSAGE, "%s", error.what());
        return 1;
    }
}

extern "C" __attribute__((visibility("default"))) void redtune_torch_shim_uninstall() {
    library.reset();
}

// Whether this thread's calls are all PyTorch's.
extern "C" __attribute__((visibility("default"))) void redtune_torch_shim_leave(int leaves) {
    is_left = leaves != 0;
}
