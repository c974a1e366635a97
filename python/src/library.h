// Library: what is known of an array type: how to read its arrays, to make one, and which stream is
// current.
//
// A type is looked at once. redtune/_libraries.py says how its library makes arrays and which
// stream it works on, in Python; torch, whose calls count most, is asked from here.
#pragma once

#include <vector>

#include "dlpack.h"
#include "errors.h"

enum { DIMENSIONS_MAX = 64 }; // what redtune_problem_fold takes

struct array_library {
    PyTypeObject *type;
    const DLPackExchangeAPI *api; // NULL: has none
    bool has_buffer;              // NumPy's: a buffer is the fastest way to its elements
    bool has_dlpack;
    bool unversioned; // its DLPack is from before version 1.0, as a call has shown
    bool is_torch;
    // Of torch: what gives an object its attribute requires_grad, and how; or NULL. Asking it takes
    // half of the time that a look-up by name does.
    PyObject *gradient;
    PyObject *(*get_gradient)(PyObject *self, PyObject *object, PyObject *type);
    nb::object dtypes; // its dtypes by redtune_dtype; bool stands in the place of _NONE
    nb::object empty;  // of torch: empty_strided; else called with (like, shape, dtype); or None
    nb::object stream; // called with (like,), gives the current stream's address; or None
    bool scalars;      // a result without axes is taken out of its array
    // Of torch: called with (shape, strides, dtype), on the host and on the current GPU; or None.
    nb::object quick_host, quick_gpu;
    nb::object no_axes[REDTUNE_DTYPE_END]; // their arguments for results without axes, by dtype
    // Those of the last result that had axes, and what it was.
    nb::object last_arguments;
    std::vector<int64_t> last_shape;
    PyObject *last_dtype = nullptr;
};

// What is known of the object's type. Lives as long as the process.
array_library *library_of(nb::handle object);

// An array for results.
struct array_wanted {
    const int64_t *shape;
    int dimensions;
    redtune_dtype dtype;
    bool boolean;
};

// Has the library's results of that dtype, where it has none yet, be of its dtype of that name.
void library_learn(array_library *library, redtune_dtype dtype, nb::handle its);

// Makes one on the device of `like`.
nb::object library_empty(array_library *library, nb::handle like, const array_wanted &wanted);

// Makes one in less time: on the host, or on the GPU that is the library's current one, which may
// be another than like's. An object that is not valid: the library cannot.
nb::object library_empty_quick(array_library *library, bool on_host, const array_wanted &wanted);

// The stream that the library works on now, on that device.
CUstream_st *library_stream(const array_library *library, nb::handle like, int device);

// The stream that the caller named: an address, or an object that has one.
CUstream_st *stream_from(nb::handle stream);
