// Segments: many reductions of one array at once, by tables of offsets on the GPU.
#include "segments.h"

#include "redtune/list.h"
#include "runtime.h"

namespace {

void check_table(const array &x, const array &table, const char *name) {
    const size_t bytes = redtune_dtype_bytes(table.dtype);
    const bool whole = table.dtype >= REDTUNE_I32 && table.dtype <= REDTUNE_U64;
    if (!whole || (bytes != 4 && bytes != 8))
        fail(PyExc_TypeError, "cannot take %s as offsets: its elements are %s; give int32 or int64",
             name, redtune_dtype_name(table.dtype));
    if (table.dimensions != 1 || !table.is_packed())
        fail(PyExc_ValueError, "cannot take %s as offsets: give a contiguous array of one axis",
             name);
    if (table.device != x.device)
        fail(PyExc_ValueError,
             "cannot take %s as offsets: it lies on another device than x; copy "
             "it there",
             name);
}

void check_elements(const redtune_op_info *op, const array &x) {
    if (x.on_host)
        fail(PyExc_ValueError,
             "cannot reduce segments of an array of the host; copy x to a GPU, or reduce slices");
    if (x.dimensions != 1 || !x.is_packed())
        fail(PyExc_ValueError, "cannot reduce segments of x: give a contiguous array of one axis");
    if (op->inputs != 1)
        fail(PyExc_TypeError, "cannot compute %s of segments: it has two inputs", op->name);
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

void run(const reduction &what, const array &x, const redtune_segments &segments,
         CUstream_st *stream) {
    redtune *rt = runtime_get(x.device);
    redtune_error err;
    redtune_status status;
    {
        nb::gil_scoped_release release;
        status = redtune_run_segments(rt, &what.problem, &segments, stream, &err);
    }
    check(status, err);
}

nb::object reduce(int op, nb::handle x, nb::handle begin, nb::handle end, nb::handle out, int dtype,
                  nb::handle stream, nb::handle parameters) {
    array in, from, to;
    outputs results;
    reduction what;
    in.read(x, "x");
    refuse_gradients(in, x);
    check_elements(op_get(op), in);
    from.read(begin, "begin");
    check_table(in, from, "begin");
    if (!end.is_none()) {
        to.read(end, "end");
        check_table(in, to, "end");
    }
    const int64_t count = count_of(from, end.is_none() ? nullptr : &to);
    what.choose(op, in, static_cast<redtune_dtype>(dtype));
    what.take_parameters(parameters);
    what.dimensions = 1;
    what.shape[0] = count;
    what.problem.count = count ? in.count() / static_cast<uint64_t>(count) : 0;
    what.problem.segmented = REDTUNE_SEGMENTED_EACH;
    results.take(what, in, x, out);
    redtune_segments segments = {};
    segments.d_in = in.data;
    segments.count = static_cast<uint64_t>(count);
    segments.d_begin = from.data;
    segments.d_end = to.data;
    segments.offset_bytes = redtune_dtype_bytes(from.dtype);
    for (int i = 0; i < what.op->outputs; i++) segments.d_out[i] = results.view[i].data;
    if (!parameters.is_none()) segments.parameters = what.parameters;
    run(what, in, segments, stream_of(in, x, stream));
    return results.get(what, in, out);
}

} // namespace

void segments_add(nb::module_ &module) {
    module.def("segments", &reduce, nb::arg("op"), nb::arg("x"), nb::arg("begin"),
               nb::arg("end").none(), nb::arg("out").none(), nb::arg("dtype"),
               nb::arg("stream").none(), nb::arg("parameters").none());
}
