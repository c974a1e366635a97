// Packing: arrays of a GPU that do not lie side by side, copied where kernels take only those.
#include "packing.h"

#include "runtime.h"

redtune_view view_of(const array &x) {
    return {x.data, x.shape, x.strides, static_cast<size_t>(x.dimensions), {}};
}

// The library may give freed memory to what it does next on its own stream, and to anything where a
// graph is captured, except by PyTorch, whose graphs keep what was allocated in their captures.
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
    const array_wanted wanted = {x.shape, x.dimensions, x.dtype, x.boolean};
    array made;
    room = library_empty_quick(x.library, false, wanted);
    if (room.is_valid()) made.read_new(x.library, room);
    if (!room.is_valid() || made.device != x.device) {
        room = library_empty(x.library, like, wanted);
        made.read_new(x.library, room);
    }
    const redtune_view view = view_of(x);
    redtune *rt = runtime_get(x.device);
    call_without_gil(
        [&](redtune_error *err) { return redtune_pack(rt, x.dtype, &view, made.data, on, err); });
    x.data = made.data;
    x.strides = nullptr;
}

void pack_mask_on_gpu(const array &x, nb::handle like, CUstream_st *on, mask_view &mask,
                      nb::object &room) {
    mask.view.library = x.library;
    pack_on_gpu(mask.view, like, on, room);
}
