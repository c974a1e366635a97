// Torch keyed: what the shim asks of index_add, scatter_add and scatter_reduce, and makes of the
// sums.
//
// redtune combines whole rows of source with those of out that keys name. A mean is a sum that is
// divided by counts, and what was there before does not count where PyTorch presets it, as here.
#pragma once

#include "_torch_shim.h"

#include <cmath>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace torch_keyed {

using at::Scalar;
using at::Tensor;

// What stands behind the tensors of a call. reduce 0: redtune has no such kind.
struct kind {
    char reduce = 0;
    bool includes_self = true;
};

inline kind kind_of() { return {'+'}; }

inline kind kind_of(const Scalar &alpha) {
    const bool is_number = alpha.isFloatingPoint() || alpha.isIntegral(false);
    return {is_number && alpha.toDouble() == 1 ? '+' : '\0'};
}

inline kind kind_of(c10::string_view reduce, bool include_self) {
    const char found = reduce == "sum"    ? '+'
                       : reduce == "mean" ? '/'
                       : reduce == "amax" ? '>'
                       : reduce == "amin" ? '<'
                                          : '\0';
    return {found, include_self};
}

// Sizes that are equal but for the first one.
inline bool have_rows_alike(const Tensor &one, const Tensor &other) {
    return one.dim() == other.dim() && one.sizes().slice(1) == other.sizes().slice(1);
}

// Whether a row of source has one key: that of its place in index, or of its first element where
// index has as many axes and its numbers are repeated along all but the first, as by expand().
inline bool has_a_key_a_row(const Tensor &index, const Tensor &source) {
    if (index.size(0) != source.size(0) || (index.size(0) > 1 && index.stride(0) != 1))
        return false;
    for (int64_t i = 1; i < index.dim(); i++)
        if (index.size(i) != source.size(i) || (index.size(i) > 1 && index.stride(i))) return false;
    return true;
}

// scatters: keys have as many axes as elements, which are rows only where keys are repeated.
inline bool is_by_row(const Tensor &self, int64_t dim, const Tensor &index, const Tensor &source,
                      bool scatters) {
    const c10::DispatchKeySet unusual(
        {c10::DispatchKey::Negative, c10::DispatchKey::Conjugate, c10::DispatchKey::ZeroTensor});
    for (const Tensor *each : {&self, &index, &source})
        if (each->device() != self.device() || each->key_set().has_any(unusual)) return false;
    return self.dim() && (dim == 0 || dim == -self.dim()) && self.is_contiguous() &&
           source.is_contiguous() && have_rows_alike(self, source) && !self.is_alias_of(source) &&
           !self.is_alias_of(index) && // which PyTorch may refuse
           self.scalar_type() == source.scalar_type() &&
           index.dim() == (scatters ? source.dim() : 1) && has_a_key_a_row(index, source);
}

inline void take_keyed(redtune_torch_keyed &k, const Tensor &self, int64_t dim, const Tensor &index,
                       const Tensor &source, const kind &its) {
    const bool scatters = k.op >= REDTUNE_TORCH_SCATTER_ADD;
    k.dtype = static_cast<int32_t>(self.scalar_type());
    k.key_dtype = static_cast<int32_t>(index.scalar_type());
    k.device = self.is_cpu() ? -1 : self.get_device();
    k.stream = nullptr;
    k.is_deterministic = at::globalContext().deterministicAlgorithms();
    k.is_plain = (self.is_cpu() || self.is_cuda()) && is_by_row(self, dim, index, source, scatters);
    k.reduce = its.reduce == '/' && !self.is_floating_point() ? '\0' : its.reduce;
    k.rows = k.is_plain ? source.size(0) : 0;
    k.keys = k.is_plain ? self.size(0) : 0;
    k.width = k.rows ? source.numel() / k.rows : 0;
}

// No element changes an extreme of these, and a sum.
inline Scalar identity_of(const Tensor &out, char reduce) {
    if (reduce == '+' || reduce == '/') return 0;
    const bool is_most = reduce == '>';
    if (out.is_floating_point()) return is_most ? -INFINITY : INFINITY;
    if (out.scalar_type() == at::kInt) return is_most ? INT32_MIN : INT32_MAX;
    return is_most ? INT64_MIN : INT64_MAX;
}

// Sums become means, of what was there before, too, if it counts.
inline void divide(const Tensor &out, const Tensor &index, const kind &its) {
    const int64_t rows = index.size(0);
    std::vector<int64_t> like(static_cast<size_t>(out.dim()), 1);
    like[0] = out.size(0);
    // PyTorch counts in halves, which end at 2048.
    const auto wide =
        out.options().dtype(out.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
    Tensor counts =
        its.includes_self ? at::ones({out.size(0)}, wide) : at::zeros({out.size(0)}, wide);
    counts.scatter_add_(0, index.as_strided({rows}, {1}), at::ones({rows}, wide));
    if (!its.includes_self) counts.clamp_min_(1);
    out.div_(counts.view(like));
}

// Whether redtune combined the rows of source with those of out.
inline bool serve_keyed(const redtune_torch_hooks &hooks, redtune_torch_keyed &k, const Tensor &out,
                        const Tensor &index, const Tensor &source, const kind &its) {
    char message[REDTUNE_TORCH_MESSAGE];
    if (!its.includes_self) out.scatter_(0, index, identity_of(out, its.reduce)); // as PyTorch does
    k.data = source.const_data_ptr();
    k.key_data = index.const_data_ptr();
    k.out = out.mutable_data_ptr();
    k.message = message;
    const int done = hooks.run_keyed(&k);
    TORCH_CHECK(done != REDTUNE_TORCH_FAILED, message);
    if (done == REDTUNE_TORCH_SERVED && its.reduce == '/') divide(out, index, its);
    return done == REDTUNE_TORCH_SERVED;
}

} // namespace torch_keyed
