// Library: what is known of an array type: how to read its arrays, to make one, and which stream is
// current.
#include "library.h"

#include <cstring>

#include "runtime.h"

namespace {

std::vector<array_library *> known; // the last one that was asked for stands first

const DLPackExchangeAPI *find_api(nb::handle type) {
    nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
    if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
    auto *header = static_cast<DLPackExchangeAPIHeader *>(
        PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    while (header && header->version.major != 1) header = header->prev_api;
    auto *api = reinterpret_cast<const DLPackExchangeAPI *>(header);
    return api && api->dltensor_from_py_object_no_sync ? api : nullptr;
}

array_library *look_at(nb::handle object) {
    nb::handle type(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr())));
    nb::object facts = nb::module_::import_("redtune._libraries").attr("find")(object);
    auto *library = new array_library();
    library->type = reinterpret_cast<PyTypeObject *>(type.ptr());
    type.inc_ref();
    library->api = find_api(type);
    library->has_buffer = nb::cast<bool>(facts.attr("has_buffer"));
    library->has_dlpack = !nb::getattr(type, "__dlpack__", nb::none()).is_none();
    library->is_torch = nb::cast<bool>(facts.attr("is_torch"));
    library->scalars = nb::cast<bool>(facts.attr("scalars"));
    library->dtypes = facts.attr("dtypes");
    library->empty = facts.attr("empty");
    library->empty_like = facts.attr("empty_like");
    library->tensor = facts.attr("tensor");
    library->stream = facts.attr("stream");
    return library;
}

nb::object tuple_of(const int64_t *values, int count) {
    nb::object tuple = nb::steal(PyTuple_New(count));
    for (int i = 0; i < count; i++) PyTuple_SetItem(tuple.ptr(), i, PyLong_FromLongLong(values[i]));
    return tuple;
}

torch_device &device_of(array_library *library, nb::handle like, int device) {
    const size_t place = static_cast<size_t>(device - HOST_DEVICE);
    if (place >= library->devices.size()) library->devices.resize(place + 1);
    if (!library->devices[place].device.is_valid())
        library->devices[place].device = like.attr("device");
    return library->devices[place];
}

nb::object call_torch(nb::handle function, PyObject **arguments, size_t count, PyObject *names) {
    nb::object made = nb::steal(PyObject_Vectorcall(function.ptr(), arguments,
                                                    count | PY_VECTORCALL_ARGUMENTS_OFFSET, names));
    if (!made.is_valid()) throw nb::python_error();
    return made;
}

// torch.empty_strided(shape, strides, dtype=dtype, device=device), which takes a third of the time
// of torch.empty.
nb::object empty_strided(array_library *library, nb::handle device, const int64_t *shape,
                         int dimensions, nb::handle dtype) {
    static PyObject *names = nb::make_tuple("dtype", "device").release().ptr();
    int64_t strides[DIMENSIONS_MAX], step = 1;
    for (int i = dimensions - 1; i >= 0; i--) {
        strides[i] = step;
        step *= shape[i] ? shape[i] : 1;
    }
    nb::object sizes = tuple_of(shape, dimensions), steps = tuple_of(strides, dimensions);
    PyObject *arguments[] = {nullptr, sizes.ptr(), steps.ptr(), dtype.ptr(), device.ptr()};
    return call_torch(library->empty, arguments + 1, 2, names);
}

// A tensor without axes is made like another one, which takes less time still.
nb::object empty_torch(array_library *library, torch_device &device, const int64_t *shape,
                       int dimensions, size_t place, nb::handle dtype) {
    nb::object &scalar = device.scalars[place];
    if (dimensions || !scalar.is_valid()) {
        nb::object made = empty_strided(library, device.device, shape, dimensions, dtype);
        // Within PyTorch's modes it may be a tensor of another type, which would stay.
        const bool is_plain = made.type().is(library->tensor);
        if (!dimensions && is_plain) scalar = made;
        return made;
    }
    PyObject *arguments[] = {nullptr, scalar.ptr()};
    return call_torch(library->empty_like, arguments + 1, 1, nullptr);
}

} // namespace

array_library *library_of(nb::handle object) {
    PyTypeObject *type = Py_TYPE(object.ptr());
    for (size_t i = 0; i < known.size(); i++) {
        if (known[i]->type != type) continue;
        if (i) std::swap(known[0], known[i]);
        return known[0];
    }
    known.insert(known.begin(), look_at(object));
    return known[0];
}

nb::object library_empty(array_library *library, nb::handle like, int device, const int64_t *shape,
                         int dimensions, redtune_dtype dtype, bool boolean) {
    const char *name = boolean ? "bool" : redtune_dtype_name(dtype);
    if (library->empty.is_none())
        fail(PyExc_TypeError,
             "cannot make a result for an array of type %s: redtune does not know how its "
             "library makes one; give the result's array as out",
             nb::type_name(nb::handle(reinterpret_cast<PyObject *>(library->type))).c_str());
    const redtune_dtype place = boolean ? REDTUNE_DTYPE_NONE : dtype;
    nb::handle its = PyTuple_GetItem(library->dtypes.ptr(), place);
    if (its.is_none())
        fail(PyExc_TypeError,
             "cannot make a result of %s: the array's library has no such dtype; name another as "
             "dtype",
             name);
    if (library->is_torch)
        return empty_torch(library, device_of(library, like, device), shape, dimensions, place,
                           its);
    return library->empty(like, tuple_of(shape, dimensions), its);
}

CUstream_st *library_stream(const array_library *library, nb::handle like, int device) {
    void *stream = nullptr;
    if (library->api) {
        if (library->api->current_work_stream(kDLCUDA, device, &stream)) throw nb::python_error();
    } else if (!library->stream.is_none()) {
        stream = reinterpret_cast<void *>(nb::cast<uintptr_t>(library->stream(like)));
    }
    return static_cast<CUstream_st *>(stream);
}

CUstream_st *stream_from(nb::handle stream) {
    nb::object address = nb::borrow(stream);
    if (nb::hasattr(stream, "__cuda_stream__"))
        address = stream.attr("__cuda_stream__")()[1];
    else if (nb::hasattr(stream, "cuda_stream"))
        address = stream.attr("cuda_stream");
    else if (nb::hasattr(stream, "ptr"))
        address = stream.attr("ptr");
    uintptr_t value = 0;
    if (!PyLong_Check(address.ptr()) || !nb::try_cast(address, value))
        fail(PyExc_TypeError,
             "cannot use %s as stream: it is no stream of torch or CuPy, has no __cuda_stream__, "
             "and is no address",
             nb::cast<std::string>(nb::repr(stream)).substr(0, 80).c_str());
    return reinterpret_cast<CUstream_st *>(value);
}
