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

// What is kept of a device of torch's, since getting it takes longer than looking it up.
struct torch_device {
    nb::object device;
    nb::object scalars[REDTUNE_F64 + 1]; // tensors without axes, which results are made like
};

struct array_library {
    PyTypeObject *type;
    const DLPackExchangeAPI *api; // NULL: has none
    bool has_buffer;              // NumPy's: a buffer is the fastest way to its elements
    bool has_dlpack;
    bool is_torch;
    nb::object dtypes; // its dtypes by redtune_dtype; bool stands in the place of _NONE
    nb::object empty;  // of torch: empty_strided; else called with (like, shape, dtype); or None
    nb::object stream; // called with (like,), gives the current stream's address; or None
    bool scalars;      // a result without axes is taken out of its array
    nb::object tensor; // torch.Tensor
    nb::object empty_like;             // torch's, which takes least time of all that make a tensor
    std::vector<torch_device> devices; // from HOST_DEVICE on, as far as seen
};

// What is known of the object's type. Lives as long as the process.
array_library *library_of(nb::handle object);

// An array of that dtype for results, on the device of `like`, which has that number.
nb::object library_empty(array_library *library, nb::handle like, int device, const int64_t *shape,
                         int dimensions, redtune_dtype dtype, bool boolean);

// The stream that the library works on now, on that device.
CUstream_st *library_stream(const array_library *library, nb::handle like, int device);

// The stream that the caller named: an address, or an object that has one.
CUstream_st *stream_from(nb::handle stream);
