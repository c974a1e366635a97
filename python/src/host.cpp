// Host: arrays in the host's memory, which go to the GPU in pieces.
#include "call.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "elements.h"
#include "runtime.h"

namespace {

// Elements from the first to the last. The steps of a folded problem may be 0.
uint64_t span_of(const redtune_problem &problem) {
    const redtune_operands of = redtune_problem_operands(&problem);
    const uint64_t outer = std::max<uint64_t>(of.outer, 1);
    const uint64_t inner = std::max<uint64_t>(of.inner, 1);
    const uint64_t step = of.step ? of.step : inner;
    const uint64_t outer_step = of.outer_step ? of.outer_step : of.count * inner;
    if (!of.count) return 0;
    return (outer - 1) * outer_step + (of.count - 1) * step + inner;
}

// What is still to be read: the packed rows, or what lies from the first element to the last.
struct reader {
    elements from;
    size_t element_bytes;

    reader(const reduction &what, const array &x)
        : from(what.packs ? elements(x, what.order, x.dimensions)
                          : elements(x, span_of(what.problem))),
          element_bytes(redtune_dtype_bytes(x.dtype)) {}
};

redtune_status read_more(void *user, void *buffer, size_t capacity, size_t *bytes,
                         redtune_error *) {
    auto *self = static_cast<reader *>(user);
    *bytes = self->from.read(static_cast<char *>(buffer), capacity / self->element_bytes) *
             self->element_bytes;
    return REDTUNE_OK;
}

size_t result_bytes(const reduction &what, int index) {
    size_t bytes = redtune_dtype_bytes(what.result[index].c);
    for (int i = 0; i < what.dimensions; i++) bytes *= static_cast<size_t>(what.shape[i]);
    return bytes;
}

// A new array says no more than where it lies.
void write_results(const array &out, const char *results, size_t bytes) {
    if (out.is_packed()) {
        memcpy(out.data, results, bytes);
        return;
    }
    int order[DIMENSIONS_MAX];
    std::iota(order, order + out.dimensions, 0);
    elements(out, order, out.dimensions).write(results, bytes);
}

redtune_status reduce(redtune *rt, const reduction &what, const array &x, const array *y,
                      const double *parameters, std::vector<char> *results, redtune_error *err) {
    reader readers[] = {{what, x}, {what, y ? *y : x}};
    redtune_input second = {}, input = {};
    second.read = input.read = read_more;
    second.user = &readers[1];
    input.user = &readers[0];
    input.second = y ? &second : nullptr;
    input.initial = what.has_initial ? &what.initial : nullptr;
    input.parameters = parameters;
    redtune_reading reading;
    redtune_problem problem = what.problem;
    problem.uses = 0;
    return redtune_reduce_array(rt, &problem, &input, results->data(), results->size(), &reading,
                                err);
}

} // namespace

void run_on_host(const reduction &what, const array &x, const array *y, const outputs &out,
                 nb::handle parameters) {
    const size_t first_bytes = result_bytes(what, 0);
    const size_t second_at = (first_bytes + 15) / 16 * 16; // as redtune_reduce_array says
    const size_t bytes = what.op->outputs == 1 ? first_bytes : second_at + result_bytes(what, 1);
    const double *values = parameters.is_none() ? nullptr : what.parameters;
    std::vector<char> results(bytes);
    redtune *rt = runtime_get(HOST_DEVICE);
    redtune_error err;
    redtune_status status;
    {
        without_gil release;
        status = reduce(rt, what, x, y, values, &results, &err);
        // Columns that the GPU has no room for, of an op that cannot go on from a part of them.
        if (status == REDTUNE_UNSUPPORTED && what.kept && !what.packs) {
            reduction rows = what;
            rows.pack(x);
            status = reduce(rt, rows, x, y, values, &results, &err);
        }
    }
    check(status, err);
    write_results(out.view[0], results.data(), first_bytes);
    if (what.op->outputs > 1)
        write_results(out.view[1], results.data() + second_at, result_bytes(what, 1));
}
