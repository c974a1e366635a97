// Function: what redtune.sum and its like are.
//
// An op's function is C's own, so that a call makes no frame of Python's. It takes the arguments
// that most calls have where they stand: x, y, axis, keepdims, out and stream. Given any other, or
// too few, it calls the same function in Python, which converts them, or raises what Python does.
#include "function.h"

#include <array>
#include <utility>

#include "call.h"

namespace {

enum { X, Y, AXIS, KEEPDIMS, OUT, STREAM, PLACES };

struct op_function {
    int op, inputs;
    std::string name, text;
    PyMethodDef method;
    PyObject *rest;       // called with the name at the first call, gives what follows
    PyObject *general;    // the function in Python
    PyObject *kind;       // of several results: makes a named tuple of two; else None
    PyObject *parameters; // a tuple of what the op's parameters usually are; None: it has none
};

// C functions without a state of their own, which is how pickle finds them by their names: as many
// as there may be ops. Those beyond are left to Python.
enum { FUNCTIONS_MAX = 128 };
op_function *functions[FUNCTIONS_MAX];
int function_count;

// The places that may be named; those in front of them cannot.
const char *const place_names[PLACES] = {nullptr, nullptr, "axis", "keepdims", "out", "stream"};
PyObject *interned[PLACES];

int place_named(PyObject *name) {
    for (int place = AXIS; place < PLACES; place++)
        if (name == interned[place]) return place;
    return -1;
}

// Puts the arguments in their places; false: Python is to look at them.
bool place_arguments(const op_function &its, PyObject *const *given, Py_ssize_t count,
                     PyObject *names, PyObject **placed) {
    if (count < its.inputs || count > its.inputs + OUT - Y) return false;
    placed[X] = given[0];
    for (Py_ssize_t i = 1; i < count; i++) placed[i + (its.inputs == 1)] = given[i];
    const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        const int place = place_named(PyTuple_GetItem(names, i));
        if (place < 0 || placed[place]) return false;
        placed[place] = given[count + i];
    }
    return !placed[AXIS] || !PyBool_Check(placed[AXIS]); // which may be PyTorch's unbiased
}

void take_rest(op_function &its) {
    nb::object rest = nb::handle(its.rest)(its.name);
    its.kind = nb::object(rest[1]).release().ptr();
    its.parameters = nb::object(rest[2]).release().ptr();
    its.general = nb::object(rest[0]).release().ptr();
}

nb::object call_placed(const op_function &its, PyObject *const *placed) {
    const auto at = [&](int place) { return placed[place] ? placed[place] : Py_None; };
    call_arguments arguments = {at(X), at(Y), at(AXIS), at(OUT), at(STREAM), its.parameters};
    arguments.keepdims = placed[KEEPDIMS] && truth_of(placed[KEEPDIMS]);
    nb::object found = call_op(its.op, arguments);
    if (its.kind == Py_None) return found;
    return nb::handle(its.kind)(found[0], found[1]);
}

nb::object call_function(op_function &its, PyObject *const *given, Py_ssize_t count,
                         PyObject *names) {
    PyObject *placed[PLACES] = {};
    if (!its.general) take_rest(its);
    if (place_arguments(its, given, count, names, placed)) return call_placed(its, placed);
    nb::object found =
        nb::steal(PyObject_Vectorcall(its.general, given, static_cast<size_t>(count), names));
    if (!found.is_valid()) throw nb::python_error();
    return found;
}

template <int slot>
PyObject *enter(PyObject *, PyObject *const *given, Py_ssize_t count, PyObject *names) noexcept {
    return returned([&] { return call_function(*functions[slot], given, count, names); });
}

using entry = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

template <int... slots> constexpr auto entries_of(std::integer_sequence<int, slots...>) {
    return std::array<entry, sizeof...(slots)>{enter<slots>...};
}

constexpr auto entries = entries_of(std::make_integer_sequence<int, FUNCTIONS_MAX>());

// text: what help shows, with the arguments in its first line, as CPython reads them.
nb::object make_function(int op, const std::string &name, const std::string &text,
                         nb::handle rest) {
    if (function_count == FUNCTIONS_MAX) return nb::object(rest(name)[0]);
    auto *made = new op_function{
        op, op_get(op)->inputs, name, text, {}, rest.inc_ref().ptr(), nullptr, nullptr, nullptr};
    const entry function = entries[static_cast<size_t>(function_count)];
    made->method = {made->name.c_str(),
                    reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
                    METH_FASTCALL | METH_KEYWORDS, made->text.c_str()};
    functions[function_count++] = made;
    nb::str module("redtune");
    return nb::steal(PyCFunction_NewEx(&made->method, nullptr, module.ptr()));
}

} // namespace

void function_add(nb::module_ &module) {
    for (int place = AXIS; place < PLACES; place++)
        interned[place] = PyUnicode_InternFromString(place_names[place]);
    module.def("make_function", &make_function);
}
