// Packing: arrays of a GPU that do not lie side by side, copied where kernels take only those.
#include "packing.h"

#include <vector>

#include "runtime.h"

// A reduction of one element for each result: the bits of each, or'ed with nothing else.
static redtune_problem copy_of(const array &x) {
    static const redtune_dtype of_bytes[] = {
        REDTUNE_DTYPE_NONE, REDTUNE_U8,         REDTUNE_U16,        REDTUNE_DTYPE_NONE, REDTUNE_U32,
        REDTUNE_DTYPE_NONE, REDTUNE_DTYPE_NONE, REDTUNE_DTYPE_NONE, REDTUNE_U64};
    std::vector<int64_t> shape, strides;
    for (int i = 0; i < x.dimensions; i++) {
        if (x.shape[i] == 1) continue;
        shape.push_back(x.shape[i]);
        strides.push_back(x.strides[i]);
    }
    const int reduced = static_cast<int>(shape.size());
    shape.push_back(1);
    strides.push_back(1);
    redtune_problem problem =
        redtune_problem_whole(REDTUNE_OR, of_bytes[redtune_dtype_bytes(x.dtype)], 0);
    problem.order = REDTUNE_ORDER_FREE_ALWAYS;
    redtune_error err;
    check(redtune_problem_fold(&problem, shape.data(), strides.data(), shape.size(), &reduced, 1,
                               &err),
          err);
    return problem;
}

// The library may give freed memory to what it does next on its own stream, and to anything where a
// graph is captured: but for PyTorch, whose graphs keep what was allocated in their captures.
static void check_stream(const array &x, nb::handle like, CUstream_st *on) {
    CUstream_st *const given = reinterpret_cast<CUstream_st *>(x.stream);
    if (library_stream(x.library, like, x.device) != on || (given && given != on))
        fail(PyExc_ValueError, "cannot copy an array with gaps on another stream than its "
                               "library's current one; give a contiguous array");
    if (!x.library->is_torch &&
        truth_of(nb::module_::import_("redtune._libraries").attr("is_capturing")(like)))
        fail(PyExc_ValueError, "cannot copy an array with gaps into a graph, which would go on "
                               "writing to memory that is free; give a contiguous array");
}

void pack_on_gpu(array &x, nb::handle like, CUstream_st *on, nb::object &room) {
    if (x.on_host || x.is_packed()) return;
    if (!x.count()) {
        x.strides = nullptr;
        return;
    }
    check_stream(x, like, on);
    const redtune_problem problem = copy_of(x);
    const array_wanted wanted = {x.shape, x.dimensions, x.dtype, x.boolean};
    array made;
    room = library_empty_quick(x.library, false, wanted);
    if (room.is_valid()) made.read_new(x.library, room);
    if (!room.is_valid() || made.device != x.device) {
        room = library_empty(x.library, like, wanted);
        made.read_new(x.library, room);
    }
    redtune_operands operands = {};
    operands.d_in[0] = x.data;
    operands.d_out[0] = made.data;
    redtune *rt = runtime_get(x.device);
    call_without_gil(
        [&](redtune_error *err) { return redtune_run(rt, &problem, &operands, on, err); });
    x.data = made.data;
    x.strides = nullptr;
}

void pack_mask_on_gpu(const array &x, nb::handle like, CUstream_st *on, mask_view &mask,
                      nb::object &room) {
    mask.view.library = x.library;
    pack_on_gpu(mask.view, like, on, room);
}
