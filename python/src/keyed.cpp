// Keyed: reductions by key.
#include "keyed.h"

#include <algorithm>

#include "packing.h"
#include "runtime.h"

namespace {

void check_keys(const array &x, const array &keys) {
    redtune_dtype_info its = {};
    redtune_dtype_get(keys.dtype, &its, nullptr);
    if (its.kind == 'f' || keys.boolean)
        fail(PyExc_TypeError, "cannot take keys of %s: give integers",
             keys.boolean ? "bool" : its.name);
    if (keys.dimensions != 1 || !(keys.is_packed() || keys.on_host) || keys.shape[0] != x.shape[0])
        fail(PyExc_ValueError, "cannot take keys: give a contiguous array of one axis, as long as "
                               "x's first one");
    if (keys.device != x.device)
        fail(PyExc_ValueError,
             "cannot take keys: they lie on another device than x; copy them there");
}

void check_values(const redtune_op_info *op, const array &x, const array *y) {
    if (x.dimensions < 1 || !(x.is_packed() || x.on_host))
        fail(PyExc_ValueError, "cannot reduce x by key: give a contiguous array of one axis, or of "
                               "more, whose first one has the keys");
    if ((op->inputs > 1) != (y != nullptr))
        fail(PyExc_TypeError,
             y ? "cannot compute %s by key: it has one input; leave y out"
               : "cannot compute %s by key: it has two inputs; give y to redtune.by_key",
             op->name);
    if (!y) return;
    if (y->dtype != x.dtype || y->boolean != x.boolean)
        fail(PyExc_TypeError, "cannot reduce x and y by key: their dtypes differ, %s and %s",
             x.boolean ? "bool" : redtune_dtype_name(x.dtype),
             y->boolean ? "bool" : redtune_dtype_name(y->dtype));
    if (y->dimensions != x.dimensions || !std::equal(x.shape, x.shape + x.dimensions, y->shape))
        fail(PyExc_ValueError, "cannot reduce x and y by key: their shapes differ, %s and %s",
             shape_text(x).c_str(), shape_text(*y).c_str());
    if (y->device != x.device)
        fail(PyExc_ValueError,
             "cannot reduce x and y by key: they lie on different devices; copy one of them");
    if (!(y->is_packed() || y->on_host))
        fail(PyExc_ValueError, "cannot reduce x and y by key: y has gaps; give a contiguous one");
}

// Elements that have a key together.
uint64_t width_of(const array &x) {
    uint64_t width = 1;
    for (int i = 1; i < x.dimensions; i++) width *= static_cast<uint64_t>(x.shape[i]);
    return width;
}

// As the library does, but before there are results of that many.
void check_count(uint64_t count, uint64_t width) {
    const uint64_t most = (UINT64_C(1) << 56) / (width ? width : 1);
    if (count > most)
        fail(PyExc_ValueError,
             "cannot reduce by %llu keys: there are at most %llu; give K, below which keys count",
             static_cast<unsigned long long>(count), static_cast<unsigned long long>(most));
}

// Where keys that are out of range are counted.
void *counter_of(const array &x, const array &counter) {
    if (x.on_host)
        fail(PyExc_ValueError, "cannot count keys in skipped of arrays of the host: count them "
                               "there");
    if (counter.device != x.device || counter.count() != 1 || counter.read_only ||
        (counter.dtype != REDTUNE_I64 && counter.dtype != REDTUNE_U64))
        fail(PyExc_ValueError, "cannot count keys in skipped: give an array of one int64 on x's "
                               "device, to which their number is added");
    return counter.data;
}

nb::object reduce(int op, nb::handle x, nb::handle y, nb::handle keys, uint64_t count,
                  nb::handle out, int dtype, int order, int accuracy, nb::handle skipped,
                  int spread, nb::handle stream, nb::handle parameters, nb::handle where,
                  nb::handle initial) {
    array in, second, by, counter;
    others beside;
    mask_view mask;
    nb::object rooms[4];
    outputs results;
    reduction what;
    in.read(x, "reduce x");
    refuse_gradients(in, x);
    CUstream_st *const on = in.on_host ? nullptr : stream_of(in, x, stream);
    pack_on_gpu(in, x, on, rooms[0]);
    if (!y.is_none()) {
        second.read(y, "reduce y");
        refuse_gradients(second, y);
        pack_on_gpu(second, y, on, rooms[1]);
        beside.y = &second;
    }
    by.read(keys, "take keys");
    pack_on_gpu(by, keys, on, rooms[2]);
    results.choose(&what, op, in, static_cast<redtune_dtype>(dtype), out);
    keyed_fold(in, by, count, parameters, &what, beside.y);
    if (what.take_where(in, where, &mask)) {
        pack_mask_on_gpu(in, x, on, mask, rooms[3]);
        beside.mask = &mask.view;
    }
    if (!initial.is_none()) what.take_initial(initial);
    what.problem.spread = static_cast<redtune_spread>(spread);
    what.problem.order = static_cast<redtune_order>(order);
    what.problem.accuracy = static_cast<redtune_accuracy>(accuracy);
    void *d_skipped = nullptr;
    if (!skipped.is_none()) {
        counter.read(skipped, "count keys in skipped");
        d_skipped = counter_of(in, counter);
    }
    results.take(what,
                 {{"x", &in},
                  {"y", beside.y},
                  {"keys", &by},
                  {"where", beside.mask ? &mask.given : nullptr}},
                 x, out);
    if (!in.on_host) results.need_packed();
    keyed_run(what, in, by, results, parameters, d_skipped, on, beside);
    return results.get(what, in, out);
}

} // namespace

void keyed_fold(const array &x, const array &keys, uint64_t count, nb::handle parameters,
                reduction *what, const array *y) {
    check_values(what->op, x, y);
    check_keys(x, keys);
    check_count(count, width_of(x));
    what->take_parameters(parameters);
    what->dimensions = x.dimensions;
    std::copy_n(x.shape, x.dimensions, what->shape);
    what->shape[0] = static_cast<int64_t>(count);
    redtune_problem extents =
        redtune_problem_rows_by_key(what->problem.op, x.dtype, keys.dtype, count,
                                    static_cast<uint64_t>(x.shape[0]), width_of(x));
    extents.result = what->problem.result;
    extents.uses = what->problem.uses;
    what->problem = extents;
    what->is_empty = !count || !width_of(x);
}

void keyed_run(const reduction &what, const array &x, const array &keys, const outputs &out,
               nb::handle parameters, void *d_skipped, CUstream_st *stream, const others &beside) {
    if (what.is_empty) return;
    if (x.on_host) return run_keyed_on_host(what, x, keys, beside, out, parameters);
    redtune_keyed keyed = {};
    keyed.d_in = x.data;
    keyed.d_keys = keys.data;
    keyed.d_skipped = d_skipped;
    if (beside.y) keyed.d_second = beside.y->data;
    if (beside.mask) keyed.d_mask = beside.mask->data;
    keyed.mask_first = what.mask_first;
    if (what.has_initial) keyed.initial = &what.initial;
    for (int i = 0; i < what.op->outputs; i++) keyed.d_out[i] = out.view[i].data;
    if (!parameters.is_none()) keyed.parameters = what.parameters;
    redtune *rt = runtime_get(x.device);
    call_without_gil([&](redtune_error *err) {
        return redtune_run_keyed(rt, &what.problem, &keyed, stream, err);
    });
}

void keyed_add(nb::module_ &module) {
    module.def("by_key", &reduce, nb::arg("op"), nb::arg("x"), nb::arg("y").none(), nb::arg("keys"),
               nb::arg("count"), nb::arg("out").none(), nb::arg("dtype"), nb::arg("order"),
               nb::arg("accuracy"), nb::arg("skipped").none(), nb::arg("spread"),
               nb::arg("stream").none(), nb::arg("parameters").none(), nb::arg("where").none(),
               nb::arg("initial").none(), nb::call_guard<calling>());
}
