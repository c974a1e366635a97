/* redtune in C++17: owners of what redtune.h opens, dtypes from types, and exceptions. Everything
 * is inline over redtune.h, whose conventions hold here: pointers are the GPU's, calls are queued
 * on the stream, owners must outlive their reductions, and a plan its runtime. What is not here is
 * called as in C, with runtime::get() and plan::get(), by redtunepp::call. */
#ifndef REDTUNE_REDTUNE_HPP
#define REDTUNE_REDTUNE_HPP

#include <memory>
#include <stdexcept>
#include <type_traits>
#include "redtune/redtune.h"

namespace redtunepp {

/* What a call failed with; what() is the message. */
class error : public std::runtime_error {
  public:
    explicit error(const redtune_error &from)
        : std::runtime_error(from.message), status(from.status), code(from.code) {}
    redtune_status status;
    long code; /* of the library underneath, as in redtune_error */
};

/* Calls a function of redtune's that takes a redtune_error last. Throws error. */
template <class Function, class... Arguments> void call(Function function, Arguments... arguments) {
    redtune_error err;
    if (function(arguments..., &err)) throw error(err);
}

template <class T> constexpr redtune_dtype find_dtype() {
    constexpr bool is_signed = std::is_signed_v<T>;
    if (std::is_same_v<T, float>) return REDTUNE_F32;
    if (std::is_same_v<T, double>) return REDTUNE_F64;
    if (!std::is_integral_v<T>) return REDTUNE_DTYPE_NONE;
    if (sizeof(T) == 1) return is_signed ? REDTUNE_I8 : REDTUNE_U8; /* bools are u8 */
    if (sizeof(T) == 2) return is_signed ? REDTUNE_I16 : REDTUNE_U16;
    if (sizeof(T) == 4) return is_signed ? REDTUNE_I32 : REDTUNE_U32;
    return is_signed ? REDTUNE_I64 : REDTUNE_U64;
}

/* The dtype of a C++ type. A program names that of others, such as CUDA's halves:
 *
 *     template <> constexpr redtune_dtype redtunepp::dtype_of<__half> = REDTUNE_F16; */
template <class T> constexpr redtune_dtype dtype_of = find_dtype<std::remove_cv_t<T>>();

/* The problem with elements of T and results of R: as redtune_problem_whole makes one, say. */
template <class T, class R> redtune_problem typed(redtune_problem problem) {
    static_assert(dtype_of<T> && dtype_of<R>, "no dtype: specialise redtunepp::dtype_of");
    problem.dtype = dtype_of<T>;
    problem.result = dtype_of<R>;
    return problem;
}

struct closer {
    void operator()(redtune *rt) const { redtune_close(rt); }
    void operator()(redtune_plan *plan) const { redtune_plan_destroy(plan); }
};

/* An open redtune. options as for redtune_open. */
class runtime {
  public:
    explicit runtime(const redtune_options *options = nullptr) {
        redtune *opened;
        call(redtune_open, options, &opened);
        rt.reset(opened);
    }
    redtune *get() const { return rt.get(); }

    /* Queues the op over count elements, with the result at d_out: R is i64 for argmin, and may be
     * wider than T for sums. */
    template <class T, class R>
    void reduce(redtune_op op, const T *d_in, uint64_t count, R *d_out,
                CUstream_st *stream = nullptr) const {
        const auto problem = typed<T, R>(redtune_problem_whole(op, dtype_of<T>, count));
        call(redtune_reduce, get(), &problem, d_in, d_out, stream);
    }
    /* Of a std::span, or anything else with data() and size() whose elements are on the GPU. */
    template <class Span, class R>
    auto reduce(redtune_op op, const Span &in, R *d_out, CUstream_st *stream = nullptr) const
        -> decltype(in.data(), in.size(), void()) {
        reduce(op, in.data(), in.size(), d_out, stream);
    }

  private:
    std::unique_ptr<redtune, closer> rt;
};

/* A plan of elements T and results R: chosen and compiled once. */
template <class T, class R = T> class plan {
  public:
    plan(const runtime &rt, const redtune_problem &wanted) {
        const auto problem = typed<T, R>(wanted);
        redtune_plan *created;
        call(redtune_plan_create, rt.get(), &problem, &created);
        owned.reset(created);
    }
    plan(const runtime &rt, redtune_op op, uint64_t count)
        : plan(rt, redtune_problem_whole(op, dtype_of<T>, count)) {}
    redtune_plan *get() const { return owned.get(); }

    /* Queues the reduction of a whole array. */
    void reduce(const T *d_in, uint64_t count, R *d_out, CUstream_st *stream = nullptr) const {
        call(redtune_plan_reduce, get(), d_in, count, d_out, stream);
    }
    /* Queues any other one: redtune_problem_operands gives the operands of a problem's extents. */
    void run(const redtune_operands &operands, CUstream_st *stream = nullptr) const {
        call(redtune_plan_run, get(), &operands, stream);
    }
    redtune_info info() const {
        redtune_info info;
        redtune_plan_info(get(), &info);
        return info;
    }

  private:
    std::unique_ptr<redtune_plan, closer> owned;
};

} // namespace redtunepp

#endif
