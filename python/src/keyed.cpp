// Keyed: reductions by key.
#include "keyed.h"

#include <algorithm>

#include "redtune/keys.h"
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

void check_values(const redtune_op_info *op, const array &x) {
    if (x.dimensions < 1 || !(x.is_packed() || x.on_host))
        fail(PyExc_ValueError, "cannot reduce x by key: give a contiguous array of one axis, or of "
                               "more, whose first one has the keys");
    if (op->inputs != 1)
        fail(PyExc_TypeError, "cannot compute %s by key: it has two inputs", op->name);
}

// Elements that have a key together.
uint64_t width_of(const array &x) {
    uint64_t width = 1;
    for (int i = 1; i < x.dimensions; i++) width *= static_cast<uint64_t>(x.shape[i]);
    return width;
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

nb::object reduce(int op, nb::handle x, nb::handle keys, uint64_t count, nb::handle out, int dtype,
                  nb::handle skipped, int spread, nb::handle stream, nb::handle parameters) {
    array in, by, counter;
    outputs results;
    reduction what;
    in.read(x, "reduce x");
    refuse_gradients(in, x);
    check_values(op_get(op), in);
    by.read(keys, "take keys");
    check_keys(in, by);
    what.choose(op, in, static_cast<redtune_dtype>(dtype));
    what.take_parameters(parameters);
    what.dimensions = in.dimensions;
    std::copy_n(in.shape, in.dimensions, what.shape);
    what.shape[0] = static_cast<int64_t>(count);
    const uint64_t width = width_of(in);
    redtune_problem extents = redtune_problem_rows_by_key(
        what.problem.op, in.dtype, by.dtype, count, static_cast<uint64_t>(in.shape[0]), width);
    extents.result = what.problem.result;
    extents.uses = what.problem.uses;
    what.problem = extents;
    what.problem.spread = static_cast<redtune_spread>(spread);
    redtune_keyed keyed = {};
    if (!skipped.is_none()) {
        counter.read(skipped, "count keys in skipped");
        keyed.d_skipped = counter_of(in, counter);
    }
    results.take(what, {{"x", &in}, {"keys", &by}}, x, out);
    if (!in.on_host) results.need_packed();
    if (!count || !width) return results.get(what, in, out);
    if (in.on_host) {
        run_keyed_on_host(what, in, by, results, parameters);
        return results.get(what, in, out);
    }
    keyed.d_in = in.data;
    keyed.d_keys = by.data;
    for (int i = 0; i < what.op->outputs; i++) keyed.d_out[i] = results.view[i].data;
    if (!parameters.is_none()) keyed.parameters = what.parameters;
    redtune *rt = runtime_get(in.device);
    CUstream_st *const on = stream_of(in, x, stream);
    call_without_gil(
        [&](redtune_error *err) { return redtune_run_keyed(rt, &what.problem, &keyed, on, err); });
    return results.get(what, in, out);
}

} // namespace

void keyed_add(nb::module_ &module) {
    module.def("by_key", &reduce, nb::arg("op"), nb::arg("x"), nb::arg("keys"), nb::arg("count"),
               nb::arg("out").none(), nb::arg("dtype"), nb::arg("skipped").none(),
               nb::arg("spread"), nb::arg("stream").none(), nb::arg("parameters").none(),
               nb::call_guard<calling>());
}
