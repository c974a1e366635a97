// Torch host: a call of a tensor in the host's memory, which goes to the GPU in pieces.
#include "torch_calls.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

struct bytes_left {
    const char *at;
    size_t bytes;
};

redtune_status read_bytes(void *user, void *buffer, size_t capacity, size_t *bytes,
                          redtune_error *) {
    auto *self = static_cast<bytes_left *>(user);
    *bytes = std::min(capacity, self->bytes);
    memcpy(buffer, self->at, *bytes);
    self->at += *bytes;
    self->bytes -= *bytes;
    return REDTUNE_OK;
}

// From the first element to the last: PyTorch has no negative strides.
size_t span_of(const redtune_torch_call &call) {
    int64_t count = 1;
    for (int i = 0; i < call.dimensions; i++) count += (call.sizes[i] - 1) * call.strides[i];
    return static_cast<size_t>(count);
}

} // namespace

redtune_status torch_host_reduce(redtune *rt, const redtune_torch_call &call,
                                 const redtune_problem &given, const redtune_operands &operands,
                                 redtune_error *err) {
    redtune_problem problem = given;
    redtune_dtype dtypes[2] = {};
    redtune_reading reading;
    problem.uses = 0; // bools of the host are 0 or 1
    redtune_status status = redtune_problem_results(&problem, dtypes, err);
    if (status) return status;
    size_t count = 1;
    for (int i = 0; i < call.result_dimensions; i++)
        count *= static_cast<size_t>(call.result_sizes[i]);
    const size_t first = count * redtune_dtype_bytes(dtypes[0]), second_at = (first + 15) / 16 * 16;
    const size_t second = call.results > 1 ? count * redtune_dtype_bytes(dtypes[1]) : 0;
    std::vector<char> results(second ? second_at + second : first);
    bytes_left from = {static_cast<const char *>(call.data),
                       span_of(call) * redtune_dtype_bytes(problem.dtype)};
    redtune_input input = {};
    input.read = read_bytes;
    input.user = &from;
    input.parameters = operands.parameters;
    status =
        redtune_reduce_array(rt, &problem, &input, results.data(), results.size(), &reading, err);
    if (status) return status;
    memcpy(operands.d_out[0], results.data(), first);
    if (second) memcpy(operands.d_out[1], results.data() + second_at, second);
    return REDTUNE_OK;
}

namespace {

template <class T> void combine(const redtune_torch_keyed &call, const T *results) {
    T *out = static_cast<T *>(call.out);
    for (int64_t i = 0; i < call.keys * call.width; i++) {
        const T one = out[i], other = results[i];
        const bool takes = call.reduce == '>' ? !(one > other) : !(one < other);
        out[i] = call.reduce == '+' || call.reduce == '/' ? one + other
                 : takes && one == one                    ? other
                                                          : one;
    }
}

} // namespace

redtune_status torch_host_reduce_keyed(redtune *rt, const redtune_torch_keyed &call,
                                       const redtune_problem &given, redtune_error *err) {
    redtune_problem problem = given;
    redtune_reading reading;
    problem.uses = 0; // the results are combined here with those before
    const size_t bytes = redtune_dtype_bytes(problem.dtype);
    const auto rows = static_cast<size_t>(call.rows), width = static_cast<size_t>(call.width);
    std::vector<char> results(static_cast<size_t>(call.keys) * width * bytes);
    bytes_left from = {static_cast<const char *>(call.data), rows * width * bytes};
    bytes_left keys = {static_cast<const char *>(call.key_data),
                       rows * redtune_dtype_bytes(torch_dtype_of(call.key_dtype))};
    redtune_input input = {}, second = {};
    input.read = second.read = read_bytes;
    input.user = &from;
    second.user = &keys;
    input.second = &second;
    const redtune_status status =
        redtune_reduce_array(rt, &problem, &input, results.data(), results.size(), &reading, err);
    if (status) return status;
    switch (problem.dtype) {
    case REDTUNE_F32: combine(call, reinterpret_cast<float *>(results.data())); break;
    case REDTUNE_F64: combine(call, reinterpret_cast<double *>(results.data())); break;
    case REDTUNE_I32: combine(call, reinterpret_cast<int32_t *>(results.data())); break;
    case REDTUNE_I64: combine(call, reinterpret_cast<int64_t *>(results.data())); break;
    default:
        err->status = REDTUNE_UNSUPPORTED;
        snprintf(err->message, sizeof err->message, "cannot combine halves of the host by key");
        return err->status;
    }
    return REDTUNE_OK;
}
