// Array: where the elements of a Python array are, and how they lie.
#include "array.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime.h"

// ---- dtypes ------------------------------------------------------------------------------------

namespace {

struct dtype_code {
    uint8_t code, bits;
    redtune_dtype dtype;
};

const std::vector<dtype_code> &dtype_codes() {
    static const std::vector<dtype_code> codes = [] {
        std::vector<dtype_code> found = {{kDLBool, 8, REDTUNE_U8}};
        redtune_dtype_info info;
        for (int i = 1; i < REDTUNE_DTYPE_END; i++) {
            const auto dtype = static_cast<redtune_dtype>(i);
            redtune_dtype_get(dtype, &info, nullptr);
            found.push_back(
                {static_cast<uint8_t>(info.dlpack), static_cast<uint8_t>(8 * info.bytes), dtype});
        }
        return found;
    }();
    return codes;
}

// REDTUNE_DTYPE_NONE: redtune has none of that name, such as float8_e5m2.
redtune_dtype dtype_named(const char *long_name) {
    redtune_dtype_info info;
    for (int i = 1; i < REDTUNE_DTYPE_END; i++) {
        redtune_dtype_get(static_cast<redtune_dtype>(i), &info, nullptr);
        if (!strcmp(info.long_name, long_name)) return static_cast<redtune_dtype>(i);
    }
    return REDTUNE_DTYPE_NONE;
}

// "f16, bf16, f32, f64, e4m3 and e5m2"
std::string float_names() {
    std::string names, last;
    redtune_dtype_info info;
    for (int i = 1; i < REDTUNE_DTYPE_END; i++) {
        redtune_dtype_get(static_cast<redtune_dtype>(i), &info, nullptr);
        if (info.kind != 'f') continue;
        names += (names.empty() ? "" : ", ") + last; // nothing at first
        last = info.name;
    }
    return names + " and " + last;
}

[[noreturn]] void fail_dtype(const char *purpose, const std::string &dtype, const char *remedy) {
    fail(PyExc_TypeError,
         "cannot %s: its elements are %s, and redtune has bool, integers of 8 to 64 bits, %s; %s",
         purpose, dtype.c_str(), float_names().c_str(), remedy);
}

redtune_dtype dtype_from(DLDataType type, const char *purpose) {
    static const dtype_code *last =
        dtype_codes().data(); // most calls are of the dtype of the last one
    if (last->code == type.code && last->bits == type.bits && type.lanes == 1) return last->dtype;
    for (const dtype_code &known : dtype_codes()) {
        if (known.code != type.code || known.bits != type.bits || type.lanes != 1) continue;
        last = &known;
        return known.dtype;
    }
    const std::string bits = std::to_string(type.bits);
    if (type.code == kDLComplex)
        fail_dtype(purpose, "complex numbers of " + bits + " bits",
                   "reduce its real and imaginary parts");
    fail_dtype(purpose, "of DLPack's type " + std::to_string(type.code) + " and " + bits + " bits",
               "convert it to one of them");
}

// As the array itself shows its dtype.
std::string dtype_text(nb::handle array, const char *format) {
    nb::object shown = nb::getattr(array, "dtype", nb::none());
    return shown.is_none() ? format : nb::cast<std::string>(nb::str(shown));
}

// Of "<f4", as array interfaces write it, or "f" with its size, as buffers do.
redtune_dtype dtype_from_kind(char kind, size_t bytes, nb::handle array, const char *format,
                              const char *purpose) {
    const int code = kind == 'b'   ? kDLBool
                     : kind == 'i' ? kDLInt
                     : kind == 'u' ? kDLUInt
                     : kind == 'f' ? kDLFloat
                     : kind == 'c' ? kDLComplex
                                   : -1;
    if (code < 0 || bytes > 16)
        fail_dtype(purpose, dtype_text(array, format), "convert it to one of them");
    return dtype_from({static_cast<uint8_t>(code), static_cast<uint8_t>(8 * bytes), 1}, purpose);
}

char kind_of_format(char letter) {
    if (strchr("bhilqn", letter)) return 'i';
    if (strchr("BHILQN", letter)) return 'u';
    if (strchr("efd", letter)) return 'f';
    if (strchr("FDG", letter)) return 'c';
    return letter == '?' ? 'b' : 0;
}

// A description that contradicts itself is the fault of the library that the array comes from.
[[noreturn]] void fail_description(nb::handle object, const char *purpose,
                                   const std::string &wrong) {
    fail(PyExc_ValueError, "cannot %s: %s; report it to those who make %s", purpose, wrong.c_str(),
         nb::type_name(nb::handle(object.type())).c_str());
}

[[noreturn]] void fail_swapped(const char *purpose) {
    fail(PyExc_TypeError,
         "cannot %s: the bytes of its elements are swapped; convert it to this machine's "
         "order by x.astype(x.dtype.newbyteorder(\"=\"))",
         purpose);
}

} // namespace

// ---- DLPack ------------------------------------------------------------------------------------

static void check_dimensions(int64_t count, const char *purpose) {
    if (count >= 0 && count <= DIMENSIONS_MAX) return;
    fail(PyExc_ValueError, "cannot %s: it has %lld dimensions, and 0 to %d are reduced", purpose,
         static_cast<long long>(count), DIMENSIONS_MAX);
}

// A device of neither kind counts as one of CUDA's.
void array::read_place(const DLTensor &tensor) {
    const int32_t place = tensor.device.device_type;
    on_host = place == kDLCPU || place == kDLCUDAHost;
    device = on_host ? HOST_DEVICE : tensor.device.device_id;
    data = static_cast<char *>(tensor.data) + tensor.byte_offset;
}

void array::read_tensor(const DLTensor &tensor, const char *purpose) {
    const int32_t place = tensor.device.device_type;
    read_place(tensor);
    if (!on_host && place != kDLCUDA && place != kDLCUDAManaged)
        fail(PyExc_ValueError,
             "cannot %s: it lies on a device of DLPack's type %d, and redtune reduces "
             "arrays of CUDA devices and of the host; copy it to one",
             purpose, static_cast<int>(place));
    check_dimensions(tensor.ndim, purpose);
    dtype = dtype_from(tensor.dtype, purpose);
    boolean = tensor.dtype.code == kDLBool;
    dimensions = tensor.ndim;
    shape = tensor.shape;
    strides = tensor.strides;
    if (has_unsigned_strides()) sign_strides();
}

// CuPy 14 divides a negative stride in bytes by the elements' bytes as if it had no sign. What it
// gives, times their bytes, is the stride again, modulo 2^64. No memory has 2^56 elements.
bool array::has_unsigned_strides() const {
    for (int i = 0; strides && i < dimensions; i++)
        if (strides[i] >> 56 > 0) return true;
    return false;
}

void array::sign_strides() {
    const auto bytes = static_cast<int64_t>(redtune_dtype_bytes(dtype));
    for (int i = 0; i < dimensions; i++)
        extents[DIMENSIONS_MAX + i] =
            static_cast<int64_t>(static_cast<uint64_t>(strides[i]) * bytes) / bytes;
    strides = extents + DIMENSIONS_MAX;
}

namespace {

// Names as Python keeps them, since making one takes longer than looking it up.
PyObject *interned(const char *text) {
    PyObject *name = PyUnicode_InternFromString(text);
    if (!name) throw nb::python_error();
    return name;
}

// A method of no arguments by their place, with as many by name as keywords has.
nb::object call_method(nb::handle object, PyObject *method, std::array<PyObject *, 3> arguments,
                       PyObject *keywords) {
    arguments[0] = object.ptr();
    return nb::steal(PyObject_VectorcallMethod(method, arguments.data(), 1, keywords));
}

} // namespace

// The capsule waits for the library's stream to be ready, where one is given.
static nb::object capsule_of(array_library *library, nb::handle object, const nb::object &stream) {
    static PyObject *const method = interned("__dlpack__");
    static PyObject *const newest = nb::make_tuple(1, 3).release().ptr();
    static PyObject *const by_version = nb::make_tuple("max_version").release().ptr();
    static PyObject *const by_stream = nb::make_tuple("stream").release().ptr();
    static PyObject *const by_both = nb::make_tuple("stream", "max_version").release().ptr();
    const bool has_stream = !stream.is_none();
    nb::object capsule;
    if (!library->unversioned) {
        capsule = has_stream ? call_method(object, method, {nullptr, stream.ptr(), newest}, by_both)
                             : call_method(object, method, {nullptr, newest}, by_version);
        if (capsule.is_valid()) return capsule;
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
        PyErr_Clear(); // a library from before version 1.0
    }
    capsule =
        call_method(object, method, {nullptr, stream.ptr()}, has_stream ? by_stream : nullptr);
    if (!capsule.is_valid()) throw nb::python_error();
    library->unversioned = true;
    return capsule;
}

void array::read_capsule(nb::handle object, const char *purpose) {
    static PyObject *const method = interned("__dlpack_device__");
    nb::object place = call_method(object, method, {}, nullptr), stream = nb::none();
    if (!place.is_valid()) throw nb::python_error();
    const int id = nb::cast<int>(place[1]);
    if (nb::cast<int>(place[0]) == kDLCUDA) {
        auto current = reinterpret_cast<uintptr_t>(library_stream(library, object, id));
        stream = nb::int_(current ? current : 1); // 1: CUDA's default stream
    }
    nb::object capsule = capsule_of(library, object, stream);
    take_capsule(object, capsule, purpose);
    check_extents(object, purpose);
}

// What another version than 1 has behind its version and its deleter is not known.
void array::take_capsule(nb::handle object, nb::handle capsule, const char *purpose) {
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
        versioned = static_cast<DLManagedTensorVersioned *>(
            PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
        lender = VERSIONED_CAPSULE;
        PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
        if (versioned->version.major != 1)
            fail(PyExc_BufferError,
                 "cannot %s: its description is of version %u.%u of DLPack, and redtune reads 1; "
                 "install a newer redtune",
                 purpose, versioned->version.major, versioned->version.minor);
        read_only = versioned->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
        read_tensor(versioned->dl_tensor, purpose);
    } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
        managed = static_cast<DLManagedTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
        lender = CAPSULE;
        PyCapsule_SetName(capsule.ptr(), "used_dltensor");
        read_tensor(managed->dl_tensor, purpose);
    } else if (PyCapsule_CheckExact(capsule.ptr())) {
        const char *name = PyCapsule_GetName(capsule.ptr());
        fail_description(object, purpose,
                         "its __dlpack__ gives a capsule named " +
                             std::string(name ? name : "NULL") + ", not a new one named dltensor");
    } else {
        fail_description(object, purpose,
                         "its __dlpack__ gives " +
                             nb::cast<std::string>(nb::type_name(capsule.type())) +
                             ", not a capsule");
    }
}

// That the sizes are sizes, all of them no more than memory has, and that there is memory.
void array::check_extents(nb::handle object, const char *purpose) const {
    uint64_t bytes = redtune_dtype_bytes(dtype);
    bool is_empty = false, overflows = false;
    if (dimensions && !shape) fail_description(object, purpose, "it has no sizes");
    for (int i = 0; i < dimensions; i++) {
        if (shape[i] < 0)
            fail_description(object, purpose, "its size is " + std::to_string(shape[i]));
        overflows |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(shape[i]), &bytes);
        is_empty |= !shape[i];
    }
    if (!is_empty && (overflows || bytes > INT64_MAX))
        fail_description(object, purpose, "its sizes are more than 2^63 bytes");
    if (!is_empty && !data) fail_description(object, purpose, "it has no memory");
    if (!on_host && device < 0)
        fail_description(object, purpose, "its device is " + std::to_string(device));
}

// ---- buffers and CUDA's array interface --------------------------------------------------------

// In elements. An axis of one index has no step, whatever its stride.
static int64_t stride_of(int64_t bytes, int64_t size, int64_t element_bytes, const char *purpose) {
    if (size <= 1) return element_bytes;
    if (bytes % element_bytes)
        fail(PyExc_ValueError,
             "cannot %s: its stride of %lld bytes is no multiple of its elements' %lld; "
             "make a contiguous copy of it",
             purpose, static_cast<long long>(bytes), static_cast<long long>(element_bytes));
    return bytes / element_bytes;
}

// NumPy's arrays of a dtype that its buffers have no format for, as those of ml_dtypes. A scalar
// has the interface of an array that is gone by then, so an array is made of it, and kept.
bool array::read_extension(nb::handle object, const char *purpose) {
    nb::object its = attribute_of(object, "dtype"), name;
    if (its.is_valid()) name = attribute_of(its, "name");
    if (!name.is_valid() || !nb::isinstance<nb::str>(name)) return false;
    const redtune_dtype found = dtype_named(nb::str(name).c_str());
    if (!found) return false;
    held = object[nb::ellipsis()];
    nb::object interface = held.attr("__array_interface__");
    nb::object place = interface["data"];
    if (nb::cast<std::string>(interface["typestr"])[0] == '>') fail_swapped(purpose);
    dtype = found;
    library_learn(library, dtype, its);
    on_host = true;
    device = HOST_DEVICE;
    data = reinterpret_cast<void *>(nb::cast<uintptr_t>(place[0]));
    read_only = nb::cast<bool>(place[1]);
    put_extents(interface["shape"], interface["strides"], purpose);
    return true;
}

void array::read_buffer(nb::handle object, const char *purpose) {
    if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_STRIDES | PyBUF_FORMAT)) {
        PyErr_Clear();
        if (read_extension(object, purpose)) return;
        fail_dtype(purpose, dtype_text(object, "of no format"), "convert it to one of them");
    }
    lender = BUFFER;
    const char *format = buffer.format ? buffer.format : "B";
    const char *letter = format + (strchr("@=<>!", *format) && *format);
    if (*format == '>' || *format == '!') fail_swapped(purpose);
    const char kind = letter[0] && !letter[1] ? kind_of_format(*letter) : *letter == 'Z' ? 'c' : 0;
    dtype = dtype_from_kind(kind, static_cast<size_t>(buffer.itemsize), object, format, purpose);
    boolean = kind == 'b';
    on_host = true;
    device = HOST_DEVICE;
    read_only = buffer.readonly;
    data = buffer.buf;
    dimensions = buffer.ndim;
    shape = extents;
    strides = extents + DIMENSIONS_MAX;
    for (int i = 0; i < dimensions; i++) {
        extents[i] = buffer.shape[i];
        extents[DIMENSIONS_MAX + i] =
            stride_of(buffer.strides[i], buffer.shape[i], buffer.itemsize, purpose);
    }
}

void array::put_extents(nb::handle sizes, nb::handle steps, const char *purpose) {
    const size_t count = nb::len(sizes);
    const auto bytes = static_cast<int64_t>(redtune_dtype_bytes(dtype));
    check_dimensions(static_cast<int64_t>(count), purpose);
    dimensions = static_cast<int>(count);
    shape = extents;
    if (!steps.is_none()) strides = extents + DIMENSIONS_MAX;
    for (size_t i = 0; i < count; i++) {
        extents[i] = nb::cast<int64_t>(sizes[i]);
        if (strides)
            extents[DIMENSIONS_MAX + i] =
                stride_of(nb::cast<int64_t>(steps[i]), extents[i], bytes, purpose);
    }
}

// The interface has no device: the library's own attribute says it.
static int device_of(nb::handle object) {
    nb::object device = attribute_of(object, "device");
    for (const char *name : {"id", "index", "ordinal"}) {
        if (!device.is_valid() || PyLong_CheckExact(device.ptr())) break;
        nb::object part = attribute_of(device, name);
        if (part.is_valid()) device = part;
    }
    int number = 0;
    return device.is_valid() && nb::try_cast(device, number) ? number : 0;
}

// What the interface says by that name; None where it leaves it out, and may.
static nb::object entry_of(const nb::object &interface, PyObject *name, bool is_needed) {
    if (is_needed || !PyDict_Check(interface.ptr()))
        return is_needed ? nb::object(interface[nb::handle(name)])
                         : interface.attr("get")(nb::handle(name));
    PyObject *found = PyDict_GetItemWithError(interface.ptr(), name);
    if (!found && PyErr_Occurred()) throw nb::python_error();
    return nb::borrow(found ? found : Py_None);
}

void array::read_interface(nb::handle object, const nb::object &interface, const char *purpose) {
    static PyObject *const typestr = interned("typestr"), *const place = interned("data"),
                           *const work = interned("stream"), *const sizes = interned("shape"),
                           *const steps = interned("strides"), *const mask = interned("mask");
    const std::string type = nb::cast<std::string>(entry_of(interface, typestr, true));
    if (type.size() < 3) fail_dtype(purpose, type, "convert it to one of them");
    if (type[0] == '>') fail_swapped(purpose);
    dtype = dtype_from_kind(type[1], static_cast<size_t>(atoi(type.c_str() + 2)), object,
                            type.c_str(), purpose);
    boolean = type[1] == 'b';
    if (!entry_of(interface, mask, false).is_none())
        fail(PyExc_TypeError,
             "cannot %s: it has a mask, and redtune would reduce the elements that it leaves "
             "out, too; give an array without one, and the mask as where",
             purpose);
    const nb::object where = entry_of(interface, place, true);
    data = reinterpret_cast<void *>(nb::cast<uintptr_t>(where[0]));
    read_only = nb::cast<bool>(where[1]);
    device = device_of(object);
    const nb::object its_stream = entry_of(interface, work, false);
    if (!its_stream.is_none()) stream = nb::cast<uintptr_t>(its_stream);
    put_extents(entry_of(interface, sizes, true), entry_of(interface, steps, false), purpose);
    check_extents(object, purpose);
}

// ---- C's exchange -------------------------------------------------------------------------------

// What a library has no description for, such as sparse tensors.
[[noreturn]] static void fail_exchange(const char *purpose) {
    nb::python_error error;
    const std::string text = nb::cast<std::string>(nb::str(error.value()));
    fail(PyExc_TypeError, "cannot %s: %s; make it dense, with memory of its own", purpose,
         text.substr(0, text.find('\n')).c_str());
}

// A view whose elements PyTorch negates when it reads them, as the imaginary part of a conjugate.
static void refuse_negated(nb::handle tensor, const char *purpose) {
    static PyObject *method = PyUnicode_InternFromString("is_neg");
    PyObject *arguments[] = {tensor.ptr()};
    nb::object negated = nb::steal(PyObject_VectorcallMethod(method, arguments, 1, nullptr));
    if (!negated.is_valid()) throw nb::python_error();
    if (negated.ptr() == Py_True)
        fail(PyExc_ValueError,
             "cannot %s: PyTorch has yet to negate its elements; call x.resolve_neg()", purpose);
}

void array::read_exchange(nb::handle object, const char *purpose) {
    DLTensor tensor;
    if (library->api->dltensor_from_py_object_no_sync(object.ptr(), &tensor))
        fail_exchange(purpose);
    read_tensor(tensor, purpose);
    const uint64_t elements = count();
    // Only views are negated, and only of every second element.
    if (library->is_torch && (elements == 1 || !is_packed())) refuse_negated(object, purpose);
    if (!data && elements)
        fail(PyExc_ValueError,
             "cannot %s: it has no memory, as a fake or meta tensor has "
             "none; redtune.torch has functions for programs that are compiled",
             purpose);
}

// ---- any array ---------------------------------------------------------------------------------

static constexpr char no_array[] =
    "cannot %s: %s is no array, as it has neither __dlpack__ nor __cuda_array_interface__; make it "
    "one, as by numpy.asarray";

// By what Python's own protocols say; false: it has none.
bool array::read_protocol(nb::handle object, const char *purpose) {
    static const char *const name = "__cuda_array_interface__";
    if (library->has_buffer) return read_buffer(object, purpose), true;
    if (library->has_dlpack) return read_capsule(object, purpose), true;
    nb::object interface =
        nb::hasattr(object.type(), name) ? object.attr(name) : attribute_of(object, name);
    if (!interface.is_valid() || interface.is_none()) return false;
    read_interface(object, interface, purpose);
    return true;
}

// What a property of an array raises is raised, too: an AttributeError, which says that it is no
// array, as the cause of the TypeError. A value of the wrong type there is the array's fault.
void array::read(nb::handle object, const char *purpose) try {
    if (lender != NOBODY) give_back();
    library = library_of(object);
    if (library->api) return read_exchange(object, purpose);
    if (!read_protocol(object, purpose))
        fail(PyExc_TypeError, no_array, purpose, nb::type_name(object.type()).c_str());
} catch (nb::python_error &error) {
    if (!error.matches(PyExc_AttributeError)) throw;
    nb::raise_from(error, PyExc_TypeError, no_array, purpose, nb::type_name(object.type()).c_str());
} catch (const nb::cast_error &) {
    fail(PyExc_TypeError,
         "cannot %s: its %s holds a value of the wrong type; report it to those who make %s",
         purpose, library->has_dlpack ? "__dlpack_device__" : "__cuda_array_interface__",
         nb::type_name(nb::handle(object.type())).c_str());
}

void array::read_new(array_library *its_library, nb::handle object) {
    DLTensor tensor;
    library = its_library;
    if (!library->api) return read(object, "write the result");
    if (library->api->dltensor_from_py_object_no_sync(object.ptr(), &tensor))
        fail_exchange("write the result");
    read_place(tensor);
}

bool array::is_packed() const {
    if (!strides) return true;
    int64_t expected = 1;
    for (int i = dimensions - 1; i >= 0; i--) {
        if (shape[i] != 1 && strides[i] != expected) return false;
        expected *= shape[i];
    }
    return true;
}

int array::sort_axes(int *order) const {
    int axes = 0;
    for (int i = 0; i < dimensions; i++)
        if (shape[i] > 1) order[axes++] = i;
    std::sort(order, order + axes,
              [this](int a, int b) { return abs(strides[a]) < abs(strides[b]); });
    return axes;
}

bool array::may_overlap_itself() const {
    if (is_packed() || !count()) return false;
    int order[DIMENSIONS_MAX];
    const int axes = sort_axes(order);
    int64_t last = 0; // the last element along the axes so far
    for (int i = 0; i < axes; i++) {
        const int64_t stride = abs(strides[order[i]]);
        if (stride <= last) return true;
        last += (shape[order[i]] - 1) * stride;
    }
    return false;
}

const void *array::begin_of_dense() const {
    if (is_packed() || !count()) return data;
    int order[DIMENSIONS_MAX];
    const int axes = sort_axes(order);
    int64_t expected = 1, before = 0;
    for (int i = 0; i < axes; i++) {
        const int64_t stride = strides[order[i]], size = shape[order[i]];
        if (abs(stride) != expected) return nullptr;
        if (stride < 0) before += (size - 1) * expected;
        expected *= size;
    }
    return static_cast<const char *>(data) -
           before * static_cast<int64_t>(redtune_dtype_bytes(dtype));
}

uint64_t array::count() const {
    uint64_t count = 1;
    for (int i = 0; i < dimensions; i++) count *= static_cast<uint64_t>(shape[i]);
    return count;
}

bool array::broadcast_to(const array &other) {
    const int ahead = other.dimensions - dimensions;
    int64_t sizes[DIMENSIONS_MAX], steps[DIMENSIONS_MAX], packed = 1;
    if (ahead < 0) return false;
    for (int i = other.dimensions; i-- > 0;) {
        const int64_t size = i < ahead ? 1 : shape[i - ahead];
        if (size != 1 && size != other.shape[i]) return false;
        sizes[i] = other.shape[i];
        steps[i] = size == 1 ? 0 : strides ? strides[i - ahead] : packed;
        packed *= size;
    }
    dimensions = other.dimensions;
    shape = std::copy_n(sizes, dimensions, extents) - dimensions;
    strides = std::copy_n(steps, dimensions, extents + DIMENSIONS_MAX) - dimensions;
    return true;
}

// Arrays are given back while exceptions are raised, too, and who lent them may run Python.
void array::give_back() {
    nb::error_scope exception;
    if (lender == BUFFER) PyBuffer_Release(&buffer);
    if (lender == CAPSULE && managed->deleter) managed->deleter(managed);
    if (lender == VERSIONED_CAPSULE && versioned->deleter) versioned->deleter(versioned);
    lender = NOBODY;
}
