// Errors: what C reports, as Python's own exceptions.
#include "errors.h"

#include <cstdarg>
#include <cstdio>

PyObject *axis_error;
static PyObject *error_type;

void fail(PyObject *type, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    PyErr_SetString(type, text);
    throw nb::python_error();
}

nb::object attribute_of(nb::handle object, const char *name) {
    nb::object found = nb::steal(PyObject_GetAttrString(object.ptr(), name));
    if (found.is_valid()) return found;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
    PyErr_Clear();
    return nb::object();
}

[[noreturn]] static void fail_with(nb::handle type, const nb::object &exception) {
    PyErr_SetObject(type.ptr(), exception.ptr());
    throw nb::python_error();
}

void fail_status(const redtune_error &err) {
    switch (err.status) {
    case REDTUNE_INVALID:
    case REDTUNE_UNSUPPORTED: fail(PyExc_ValueError, "%s", err.message);
    case REDTUNE_MEMORY: fail(PyExc_MemoryError, "%s", err.message);
    case REDTUNE_INTERRUPTED: fail(PyExc_KeyboardInterrupt, "%s", err.message);
    case REDTUNE_FILE: {
        nb::handle type(PyExc_OSError);
        fail_with(type, type(err.code, err.message));
    }
    default: break;
    }
    nb::handle type(error_type);
    nb::object exception = type(err.message);
    exception.attr("status") = redtune_status_name(err.status);
    exception.attr("code") = err.code;
    fail_with(type, exception);
}

void errors_add(nb::module_ &module) {
    error_type = PyErr_NewExceptionWithDoc(
        "redtune.Error",
        "The CUDA driver, NVRTC, a template or a database failed.\n\n"
        "status is the kind of failure, as redtune_status_name gives it (\"device\", \"library\", "
        "...), and code the underlying library's own code.",
        PyExc_RuntimeError, nullptr);
    if (!error_type) throw nb::python_error();
    module.attr("Error") = nb::handle(error_type);
    nb::tuple bases = nb::make_tuple(nb::handle(PyExc_ValueError), nb::handle(PyExc_IndexError));
    axis_error = PyErr_NewExceptionWithDoc(
        "redtune.AxisError",
        "The array has no such axis.\n\nIt is a ValueError and an IndexError, as NumPy's is.",
        bases.ptr(), nullptr);
    if (!axis_error) throw nb::python_error();
    module.attr("AxisError") = nb::handle(axis_error);
}
