// Errors: what C reports, as Python's own exceptions.
#pragma once

#include "ending.h"

#include <nanobind/stl/string.h>

#include "redtune/redtune.h"

// Raises the exception of that type with a formatted message.
[[noreturn]] void fail(PyObject *type, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The object's attribute; one that is not valid where the object has none of that name. What a
// property raises, other than AttributeError, is raised.
nb::object attribute_of(nb::handle object, const char *name);

// Raises what err holds: ValueError for what makes no sense or cannot be, MemoryError, OSError for
// files, KeyboardInterrupt, and redtune.Error for the rest.
[[noreturn]] void fail_status(const redtune_error &err);

inline void check(redtune_status status, const redtune_error &err) {
    if (status) fail_status(err);
}

// Calls what fills in an error, without the GIL, and raises what it fails with.
template <class Call> void call_without_gil(Call call) {
    redtune_error err;
    redtune_status status;
    {
        without_gil release;
        status = call(&err);
    }
    check(status, err);
}

// What a C function returns to Python: what make gives, or NULL with Python's exception set.
template <class Make> PyObject *returned(Make make) noexcept {
    try {
        calling call;
        return make().release().ptr();
    } catch (nb::python_error &error) {
        error.restore();
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

// redtune.AxisError, which is there from errors_add on.
extern PyObject *axis_error;

// redtune.Error, a RuntimeError with the attributes status and code, and redtune.AxisError.
void errors_add(nb::module_ &module);
