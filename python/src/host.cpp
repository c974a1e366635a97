// Host: arrays in the host's memory, which go to the GPU in pieces.
#include "call.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime.h"

namespace {

// The elements that are still to be read, with what lies between them.
struct reader {
    const char *next;
    size_t left_bytes;
};

redtune_status read_more(void *user, void *buffer, size_t capacity, size_t *bytes,
                         redtune_error *) {
    auto *self = static_cast<reader *>(user);
    *bytes = std::min(capacity, self->left_bytes);
    memcpy(buffer, self->next, *bytes);
    self->next += *bytes;
    self->left_bytes -= *bytes;
    return REDTUNE_OK;
}

// From the first element to the last. The steps of a folded problem may be 0.
size_t span_bytes(const redtune_problem &problem) {
    const redtune_operands of = redtune_problem_operands(&problem);
    const uint64_t outer = std::max<uint64_t>(of.outer, 1);
    const uint64_t inner = std::max<uint64_t>(of.inner, 1);
    const uint64_t step = of.step ? of.step : inner;
    const uint64_t outer_step = of.outer_step ? of.outer_step : of.count * inner;
    if (!of.count) return 0;
    const uint64_t elements = (outer - 1) * outer_step + (of.count - 1) * step + inner;
    return elements * redtune_dtype_bytes(problem.dtype);
}

size_t result_bytes(const reduction &what, int index) {
    size_t bytes = redtune_dtype_bytes(what.result[index].c);
    for (int i = 0; i < what.dimensions; i++) bytes *= static_cast<size_t>(what.shape[i]);
    return bytes;
}

} // namespace

void run_on_host(const reduction &what, const array &x, const array *y, const outputs &out,
                 nb::handle parameters) {
    const size_t first_bytes = result_bytes(what, 0);
    const size_t second_at = (first_bytes + 15) / 16 * 16; // as redtune_reduce_array says
    const size_t bytes = what.op->outputs == 1 ? first_bytes : second_at + result_bytes(what, 1);
    reader readers[] = {
        {static_cast<const char *>(x.data), span_bytes(what.problem)},
        {y ? static_cast<const char *>(y->data) : nullptr, span_bytes(what.problem)}};
    redtune_input second = {}, input = {};
    second.read = input.read = read_more;
    second.user = &readers[1];
    input.user = &readers[0];
    input.second = y ? &second : nullptr;
    input.parameters = parameters.is_none() ? nullptr : what.parameters;
    std::vector<char> results(bytes);
    redtune *rt = runtime_get(HOST_DEVICE);
    redtune_reading reading;
    redtune_error err;
    redtune_status status;
    {
        without_gil release;
        status =
            redtune_reduce_array(rt, &what.problem, &input, results.data(), bytes, &reading, &err);
    }
    check(status, err);
    memcpy(out.view[0].data, results.data(), first_bytes);
    if (what.op->outputs > 1)
        memcpy(out.view[1].data, results.data() + second_at, result_bytes(what, 1));
}
