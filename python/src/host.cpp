// Host: arrays in the host's memory, which go to the GPU in pieces.
#include "call.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "elements.h"
#include "redtune/list.h"
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

// What is still to be read, one part after the other: of one array the packed rows, or what lies
// from the first element to the last; or all arrays of a list, each in row-major order.
struct reader {
    std::vector<elements> parts;
    size_t element_bytes, part = 0;

    reader(const reduction &what, const array &x)
        : parts{what.packs ? elements(x, what.order, x.dimensions)
                           : elements(x, span_of(what.problem))},
          element_bytes(redtune_dtype_bytes(x.dtype)) {}
    explicit reader(const std::vector<const array *> &arrays)
        : element_bytes(redtune_dtype_bytes(arrays[0]->dtype)) {
        int order[DIMENSIONS_MAX];
        std::iota(order, order + DIMENSIONS_MAX, 0);
        for (const array *each : arrays) parts.emplace_back(*each, order, each->dimensions);
    }
};

redtune_status read_more(void *user, void *buffer, size_t capacity, size_t *bytes,
                         redtune_error *) {
    auto *self = static_cast<reader *>(user);
    const size_t room = capacity / self->element_bytes;
    size_t done = 0;
    for (; done < room && self->part < self->parts.size(); self->part++) {
        char *to = static_cast<char *>(buffer) + done * self->element_bytes;
        done += self->parts[self->part].read(to, room - done);
        if (done == room) break; // the part may have more
    }
    *bytes = done * self->element_bytes;
    return REDTUNE_OK;
}

// Each is the second of the one before it.
void chain(redtune_input *inputs, std::vector<reader> &readers) {
    for (size_t i = 0; i < readers.size(); i++) {
        inputs[i].read = read_more;
        inputs[i].user = &readers[i];
        if (i > 0) inputs[i - 1].second = &inputs[i];
    }
}

size_t result_bytes(const reduction &what, int index) {
    size_t bytes = redtune_dtype_bytes(what.result[index].c);
    for (int i = 0; i < what.dimensions; i++) bytes *= static_cast<size_t>(what.shape[i]);
    return bytes;
}

// The results of a call, as redtune_reduce_array writes them.
struct host_results {
    size_t first_bytes, second_at;
    std::vector<char> bytes;

    explicit host_results(const reduction &what)
        : first_bytes(result_bytes(what, 0)), second_at((first_bytes + 15) / 16 * 16),
          bytes(what.op->outputs == 1 ? first_bytes : second_at + result_bytes(what, 1)) {}
};

// A new array says no more than where it lies.
void write_result(const array &out, const char *results, size_t bytes) {
    if (out.is_packed()) {
        memcpy(out.data, results, bytes);
        return;
    }
    int order[DIMENSIONS_MAX];
    std::iota(order, order + out.dimensions, 0);
    elements(out, order, out.dimensions).write(results, bytes);
}

redtune_status reduce(redtune *rt, const reduction &what, const array &x, const others &beside,
                      const double *parameters, std::vector<char> *results, redtune_error *err) {
    std::vector<reader> readers; // of x, y and the mask
    for (const array *each : {&x, beside.y, beside.mask})
        if (each) readers.emplace_back(what, *each);
    redtune_input inputs[3] = {}, &input = inputs[0];
    chain(inputs, readers);
    input.initial = what.has_initial ? &what.initial : nullptr;
    input.parameters = parameters;
    redtune_reading reading;
    redtune_problem problem = what.problem;
    problem.uses = 0;
    return redtune_reduce_array(rt, &problem, &input, results->data(), results->size(), &reading,
                                err);
}

void write_results(const reduction &what, const outputs &out, const host_results &results) {
    write_result(out.view[0], results.bytes.data(), results.first_bytes);
    if (what.op->outputs > 1)
        write_result(out.view[1], results.bytes.data() + results.second_at, result_bytes(what, 1));
}

} // namespace

void run_list_on_host(const reduction &what, const std::vector<const array *> &arrays,
                      const std::vector<std::vector<const array *>> &beside,
                      const std::vector<uint64_t> &offsets, const outputs &out,
                      nb::handle parameters) {
    host_results results(what);
    std::vector<reader> readers = {reader(arrays)};
    for (const auto &each : beside) readers.emplace_back(each);
    redtune_input inputs[3] = {}, &input = inputs[0];
    chain(inputs, readers);
    input.parameters = parameters.is_none() ? nullptr : what.parameters;
    redtune *rt = runtime_get(HOST_DEVICE);
    call_without_gil([&](redtune_error *err) {
        redtune_reading reading;
        char *to = results.bytes.data();
        const size_t bytes = results.bytes.size();
        return what.problem.segmented
                   ? redtune_reduce_segments_input(rt, &what.problem, &input, offsets.data(), to,
                                                   bytes, &reading, err)
                   : redtune_reduce_array(rt, &what.problem, &input, to, bytes, &reading, err);
    });
    write_results(what, out, results);
}

void run_keyed_on_host(const reduction &what, const array &x, const array &keys,
                       const others &beside, const outputs &out, nb::handle parameters) {
    host_results results(what);
    // One after the other: elements, keys, a second input, a mask.
    std::vector<reader> readers;
    for (const array *each : {&x, &keys, beside.y, beside.mask})
        if (each) readers.emplace_back(std::vector<const array *>{each});
    redtune_input inputs[4] = {}, &input = inputs[0];
    chain(inputs, readers);
    input.parameters = parameters.is_none() ? nullptr : what.parameters;
    input.initial = what.has_initial ? &what.initial : nullptr;
    redtune_problem problem = what.problem;
    problem.uses = 0;
    redtune *rt = runtime_get(HOST_DEVICE);
    call_without_gil([&](redtune_error *err) {
        redtune_reading reading;
        return redtune_reduce_array(rt, &problem, &input, results.bytes.data(),
                                    results.bytes.size(), &reading, err);
    });
    write_results(what, out, results);
}

void run_on_host(const reduction &what, const array &x, const others &beside, const outputs &out,
                 nb::handle parameters) {
    const double *values = parameters.is_none() ? nullptr : what.parameters;
    host_results results(what);
    redtune *rt = runtime_get(HOST_DEVICE);
    redtune_error err;
    redtune_status status;
    {
        without_gil release;
        status = reduce(rt, what, x, beside, values, &results.bytes, &err);
        // Columns that the GPU has no room for, of an op that cannot go on from a part of them.
        if (status == REDTUNE_UNSUPPORTED && what.kept && !what.packs) {
            reduction rows = what;
            rows.pack(x);
            status = reduce(rt, rows, x, beside, values, &results.bytes, &err);
        }
    }
    check(status, err);
    write_results(what, out, results);
}
