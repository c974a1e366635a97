// Library: what is known of an array type: how to read its arrays, to make one, and which stream is
// current.
#include "library.h"

#include <algorithm>
#include <cstring>

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

// Only where it is C's own, as every type of PyTorch's has it, and found first.
void find_gradient(nb::handle type, array_library *library) {
    for (nb::handle base : nb::borrow<nb::tuple>(type.attr("__mro__"))) {
        nb::object found = base.attr("__dict__").attr("get")("requires_grad");
        if (found.is_none()) continue;
        if (strcmp(nb::type_name(found.type()).c_str(), "getset_descriptor")) return;
        void *slot = PyType_GetSlot(Py_TYPE(found.ptr()), Py_tp_descr_get);
        PyErr_Clear(); // Python before 3.10 has it for types of the heap alone
        if (!slot) return;
        library->get_gradient =
            reinterpret_cast<PyObject *(*)(PyObject *, PyObject *, PyObject *)>(slot);
        library->gradient = found.release().ptr();
        return;
    }
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
    if (library->is_torch) find_gradient(type, library);
    library->scalars = nb::cast<bool>(facts.attr("scalars"));
    library->dtypes = facts.attr("dtypes");
    library->empty = facts.attr("empty");
    library->quick_host = facts.attr("quick_host");
    library->quick_gpu = facts.attr("quick_gpu");
    library->stream = facts.attr("stream");
    return library;
}

nb::object tuple_of(const int64_t *values, int count) {
    nb::object tuple = nb::steal(PyTuple_New(count));
    for (int i = 0; i < count; i++) PyTuple_SetItem(tuple.ptr(), i, PyLong_FromLongLong(values[i]));
    return tuple;
}

nb::handle dtype_of(const array_library *library, const array_wanted &wanted) {
    const redtune_dtype place = wanted.boolean ? REDTUNE_DTYPE_NONE : wanted.dtype;
    nb::handle its = PyTuple_GetItem(library->dtypes.ptr(), place);
    if (its.is_none())
        fail(PyExc_TypeError,
             "cannot make a result of %s: the array's library has no such dtype; name another as "
             "dtype",
             wanted.boolean ? "bool" : redtune_dtype_name(wanted.dtype));
    return its;
}

// (shape, strides, dtype) of a packed array.
nb::object strided_arguments(const array_wanted &wanted, nb::handle dtype) {
    int64_t strides[DIMENSIONS_MAX], step = 1;
    for (int i = wanted.dimensions - 1; i >= 0; i--) {
        strides[i] = step;
        step *= wanted.shape[i] ? wanted.shape[i] : 1;
    }
    return nb::make_tuple(tuple_of(wanted.shape, wanted.dimensions),
                          tuple_of(strides, wanted.dimensions), dtype);
}

// What programs do again and again has the same results: making the tuples takes as long as half of
// making the array.
nb::object kept_arguments(array_library *library, const array_wanted &wanted, nb::handle dtype) {
    std::vector<int64_t> &shape = library->last_shape;
    const int64_t *end = wanted.shape + wanted.dimensions;
    if (library->last_dtype == dtype.ptr() &&
        std::equal(wanted.shape, end, shape.begin(), shape.end()))
        return library->last_arguments;
    library->last_arguments = strided_arguments(wanted, dtype);
    library->last_dtype = dtype.ptr();
    shape.assign(wanted.shape, end);
    return library->last_arguments;
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

void library_learn(array_library *library, redtune_dtype dtype, nb::handle its) {
    nb::list dtypes;
    if (PyTuple_GetItem(library->dtypes.ptr(), dtype) != Py_None) return;
    for (nb::handle each : library->dtypes)
        dtypes.append(nb::len(dtypes) == static_cast<size_t>(dtype) ? its : each);
    library->dtypes = nb::tuple(dtypes);
}

nb::object library_empty(array_library *library, nb::handle like, const array_wanted &wanted) {
    if (library->empty.is_none())
        fail(PyExc_TypeError,
             "cannot make a result for an array of type %s: redtune does not know how its "
             "library makes one; give the result's array as out",
             nb::type_name(nb::handle(reinterpret_cast<PyObject *>(library->type))).c_str());
    nb::handle dtype = dtype_of(library, wanted);
    if (!library->is_torch)
        return library->empty(like, tuple_of(wanted.shape, wanted.dimensions), dtype);
    nb::object arguments = strided_arguments(wanted, dtype);
    return library->empty(arguments[0], arguments[1], nb::arg("dtype") = dtype,
                          nb::arg("device") = like.attr("device"));
}

nb::object library_empty_quick(array_library *library, bool on_host, const array_wanted &wanted) {
    nb::handle quick = on_host ? library->quick_host : library->quick_gpu;
    if (quick.is_none()) return nb::object();
    nb::handle dtype = dtype_of(library, wanted);
    nb::object made, &kept = library->no_axes[wanted.boolean ? REDTUNE_DTYPE_NONE : wanted.dtype];
    if (!wanted.dimensions) {
        if (!kept.is_valid()) kept = strided_arguments(wanted, dtype);
        made = nb::steal(PyObject_Call(quick.ptr(), kept.ptr(), nullptr));
    } else {
        nb::object arguments = kept_arguments(library, wanted, dtype);
        made = nb::steal(PyObject_Call(quick.ptr(), arguments.ptr(), nullptr));
    }
    if (!made.is_valid()) throw nb::python_error();
    return made;
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
    nb::object address, pair = attribute_of(stream, "__cuda_stream__");
    if (pair.is_valid()) address = pair()[1];
    for (const char *name : {"cuda_stream", "ptr"})
        if (!address.is_valid()) address = attribute_of(stream, name);
    if (!address.is_valid()) address = nb::borrow(stream);
    uintptr_t value = 0;
    if (!PyLong_Check(address.ptr()) || PyBool_Check(address.ptr()) ||
        !nb::try_cast(address, value))
        fail(PyExc_TypeError,
             "cannot use %s as stream: it is no stream of torch or CuPy, has no __cuda_stream__, "
             "and is no address",
             nb::cast<std::string>(nb::repr(stream)).substr(0, 80).c_str());
    return reinterpret_cast<CUstream_st *>(value);
}
