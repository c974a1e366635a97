// Segments: many reductions at once, of parts of one array.
#include "segments.h"

#include <algorithm>
#include <vector>

#include "elements.h"
#include "packing.h"
#include "redtune/list.h"
#include "runtime.h"

void segments_run(redtune *rt, const reduction &what, const redtune_segments &segments,
                  CUstream_st *stream) {
    call_without_gil([&](redtune_error *err) {
        return redtune_run_segments(rt, &what.problem, &segments, stream, err);
    });
}

void segments_say_lengths(redtune_problem &problem, uint64_t elements, uint64_t segments,
                          uint64_t longest) {
    set_size(problem, segments, segments ? elements / segments : 0);
    if (!longest || !segments) return;
    if (longest > elements)
        fail(PyExc_ValueError, "cannot take longest=%llu: x has %llu elements; give fewer",
             static_cast<unsigned long long>(longest), static_cast<unsigned long long>(elements));
    // Elements may belong to no segment.
    set_size(problem, segments, std::min((elements + segments - 1) / segments, longest));
    problem.greatest = longest;
}

namespace {

void check_table(const array &x, const array &table, const char *name) {
    redtune_dtype_info its = {};
    redtune_dtype_get(table.dtype, &its, nullptr);
    if (its.kind == 'f' || its.bytes < sizeof(int32_t))
        fail(PyExc_TypeError, "cannot take %s as offsets: its elements are %s; give int32 or int64",
             name, its.name);
    if (table.dimensions != 1)
        fail(PyExc_ValueError, "cannot take %s as offsets: give an array of one axis", name);
    if (table.device != x.device)
        fail(PyExc_ValueError,
             "cannot take %s as offsets: it lies on another device than x; copy "
             "it there",
             name);
}

// An array of the host with a step becomes one without, in that room.
void pack_on_host(array &x, std::vector<char> &room) {
    static const int order[] = {0};
    if (!x.on_host || x.dimensions != 1 || x.is_packed()) return;
    room.resize(x.count() * redtune_dtype_bytes(x.dtype));
    elements(x, order, 1).read(room.data(), x.count());
    x.data = room.data();
    x.strides = nullptr;
}

void check_elements(const array &x, const char *name) {
    if (x.dimensions != 1)
        fail(PyExc_ValueError, "cannot reduce segments of %s: give an array of one axis", name);
}

// Whether there is a second input, which lies beside x.
bool has_second(const redtune_op_info *op, nb::handle y) {
    const bool two = op->inputs > 1;
    if (two == y.is_none())
        fail(PyExc_TypeError,
             two ? "cannot compute %s of segments: it has two inputs; give y="
                 : "cannot compute %s of segments: it has one input; leave y out",
             op->name);
    return two;
}

void check_second(const array &x, const array &y) {
    check_elements(y, "y");
    if (y.dtype != x.dtype || y.boolean != x.boolean)
        fail(PyExc_TypeError, "cannot reduce segments of x and y: their dtypes differ, %s and %s",
             x.boolean ? "bool" : redtune_dtype_name(x.dtype),
             y.boolean ? "bool" : redtune_dtype_name(y.dtype));
    if (y.shape[0] != x.shape[0])
        fail(PyExc_ValueError,
             "cannot reduce segments of x and y: x has %lld elements, and y %lld; give as many",
             static_cast<long long>(x.shape[0]), static_cast<long long>(y.shape[0]));
    if (y.device != x.device)
        fail(PyExc_ValueError,
             "cannot reduce segments of x and y: they lie on different devices; copy one of them");
}

// How many segments the tables have.
int64_t count_of(const array &begin, const array *end) {
    if (end && (end->shape[0] != begin.shape[0] || end->dtype != begin.dtype))
        fail(PyExc_ValueError, "cannot take begin and end as offsets: their lengths or dtypes "
                               "differ; make them equal");
    if (!end && !begin.shape[0])
        fail(PyExc_ValueError, "cannot take begin as offsets: it is empty, and without end it has "
                               "an offset more than there are segments");
    return end ? begin.shape[0] : begin.shape[0] - 1;
}

template <typename T> uint64_t offset_at(const array &table, int64_t i) {
    const T offset = static_cast<const T *>(table.data)[i];
    if (offset < 0)
        fail(PyExc_ValueError,
             "cannot take begin as offsets: number %lld is %lld; give none "
             "below 0",
             static_cast<long long>(i), static_cast<long long>(offset));
    return static_cast<uint64_t>(offset);
}

std::vector<uint64_t> read_offsets(const array &table) {
    std::vector<uint64_t> offsets;
    const bool wide = redtune_dtype_bytes(table.dtype) == sizeof(int64_t);
    for (int64_t i = 0; i < table.shape[0]; i++)
        offsets.push_back(wide ? offset_at<int64_t>(table, i) : offset_at<int32_t>(table, i));
    return offsets;
}

nb::object reduce(int op, nb::handle x, nb::handle y, nb::handle begin, nb::handle end,
                  nb::handle out, int dtype, int order, int accuracy, uint64_t longest,
                  nb::handle stream, nb::handle parameters, nb::handle where) {
    array in, second, from, to;
    mask_view mask;
    std::vector<char> packed[3];
    nb::object rooms[5];
    outputs results;
    reduction what;
    in.read(x, "reduce x");
    refuse_gradients(in, x);
    pack_on_host(in, packed[0]);
    check_elements(in, "x");
    CUstream_st *const on = in.on_host ? nullptr : stream_of(in, x, stream);
    pack_on_gpu(in, x, on, rooms[0]);
    const bool two = has_second(op_get(op), y);
    if (two) {
        second.read(y, "reduce y");
        refuse_gradients(second, y);
        pack_on_host(second, packed[2]);
        check_second(in, second);
        pack_on_gpu(second, y, on, rooms[1]);
    }
    from.read(begin, "take begin");
    pack_on_host(from, packed[1]);
    check_table(in, from, "begin");
    pack_on_gpu(from, begin, on, rooms[2]);
    if (!end.is_none()) {
        to.read(end, "take end");
        check_table(in, to, "end");
        pack_on_gpu(to, end, on, rooms[3]);
    }
    const array *ends = end.is_none() ? nullptr : &to;
    const int64_t count = count_of(from, ends);
    results.choose(&what, op, in, static_cast<redtune_dtype>(dtype), out);
    what.take_parameters(parameters);
    const bool masked = what.take_where(in, where, &mask);
    if (masked) pack_mask_on_gpu(in, x, on, mask, rooms[4]);
    what.dimensions = 1;
    what.shape[0] = count;
    segments_say_lengths(what.problem, in.count(), static_cast<uint64_t>(count), longest);
    what.problem.segmented = REDTUNE_SEGMENTED_EACH;
    what.problem.order = static_cast<redtune_order>(order);
    what.problem.accuracy = static_cast<redtune_accuracy>(accuracy);
    results.take(what,
                 {{"x", &in},
                  {"y", two ? &second : nullptr},
                  {"begin", &from},
                  {"end", ends},
                  {"where", masked ? &mask.given : nullptr}},
                 x, out);
    if (in.on_host) {
        if (ends)
            fail(PyExc_ValueError, "cannot take begin and end of an array of the host: give "
                                   "offsets of neighbours, without end, or copy all to a GPU");
        set_size(what.problem, static_cast<uint64_t>(count), 0); // the offsets say the lengths
        std::vector<std::vector<const array *>> beside;
        if (two) beside.push_back({&second});
        if (masked) beside.push_back({&mask.view});
        run_list_on_host(what, {&in}, beside, read_offsets(from), results, parameters);
        return results.get(what, in, out);
    }
    results.need_packed();
    redtune_segments segments = {};
    segments.d_in = in.data;
    segments.d_second = two ? second.data : nullptr;
    segments.count = static_cast<uint64_t>(count);
    segments.d_begin = from.data;
    segments.d_end = to.data;
    segments.offset_bytes = redtune_dtype_bytes(from.dtype);
    segments.d_mask = masked ? mask.view.data : nullptr;
    segments.mask_first = what.mask_first;
    for (int i = 0; i < what.op->outputs; i++) segments.d_out[i] = results.view[i].data;
    if (!parameters.is_none()) segments.parameters = what.parameters;
    segments_run(runtime_get(in.device), what, segments, on);
    return results.get(what, in, out);
}

} // namespace

void segments_add(nb::module_ &module) {
    module.def("segments", &reduce, nb::arg("op"), nb::arg("x"), nb::arg("y").none(),
               nb::arg("begin"), nb::arg("end").none(), nb::arg("out").none(), nb::arg("dtype"),
               nb::arg("order"), nb::arg("accuracy"), nb::arg("longest"), nb::arg("stream").none(),
               nb::arg("parameters").none(), nb::arg("where").none(), nb::call_guard<calling>());
}
