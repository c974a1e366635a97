// Call: one reduction of Python's arrays, from the arguments to the results.
#include "call.h"

#include <cstring>
#include <optional>
#include <string>

#include "runtime.h"

// ---- results -----------------------------------------------------------------------------------

static void check_shape(const reduction &what, const array &out) {
    bool same = out.dimensions == what.dimensions;
    for (int i = 0; same && i < out.dimensions; i++) same = out.shape[i] == what.shape[i];
    if (same) return;
    std::string wanted;
    for (int i = 0; i < what.dimensions; i++) wanted += std::to_string(what.shape[i]) + ",";
    fail(PyExc_ValueError,
         "cannot write the result to out: the result's shape is (%s); give an "
         "array of that shape",
         wanted.c_str());
}

static void check_given(const reduction &what, int index, const array &x, const array &out) {
    const result_dtype &result = what.result[index];
    const bool same = out.boolean
                          ? result.boolean
                          : !result.boolean && (out.dtype == result.shown || out.dtype == result.c);
    if (!same)
        fail(PyExc_TypeError,
             "cannot write the result to out: its elements are %s, and the result's %s; give an "
             "array of that dtype, or another dtype",
             out.boolean ? "bool" : redtune_dtype_name(out.dtype),
             result.boolean ? "bool" : redtune_dtype_name(result.shown));
    check_shape(what, out);
    if (out.device != x.device)
        fail(PyExc_ValueError, "cannot write the result to out: it lies on another device than x; "
                               "give an array of x's device");
    if (out.read_only) fail(PyExc_ValueError, "cannot write the result to out: it is read-only");
    if (out.may_overlap_itself())
        fail(PyExc_ValueError, "cannot write the result to out: its elements may share memory; "
                               "give an array that has memory for each");
}

// From the first byte of the array's elements to the last; an array without elements has none.
struct span {
    uintptr_t begin, end;
};

static span span_of(const array &x) {
    span its = {reinterpret_cast<uintptr_t>(x.data), reinterpret_cast<uintptr_t>(x.data)};
    const auto bytes = static_cast<int64_t>(redtune_dtype_bytes(x.dtype));
    if (!x.count()) return its;
    its.end +=
        static_cast<uintptr_t>(x.is_packed() ? bytes * static_cast<int64_t>(x.count()) : bytes);
    for (int i = 0; i < x.dimensions && !x.is_packed(); i++) {
        const int64_t reach = (x.shape[i] - 1) * x.strides[i] * bytes;
        (reach < 0 ? its.begin : its.end) += static_cast<uintptr_t>(reach);
    }
    return its;
}

static void check_apart(const array &out, const named_array &other) {
    const span a = span_of(out), b = span_of(*other.view);
    if (a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end)
        fail(PyExc_ValueError,
             "cannot write the result to out: it overlaps %s; give an array with memory of its own",
             other.name);
}

// Makes the array of a result, and reads it.
static nb::object make_result(const reduction &what, int index, const array &x, nb::handle like,
                              array *view) {
    const result_dtype &result = what.result[index];
    const array_wanted wanted = {what.shape, what.dimensions, result.shown, result.boolean};
    nb::object made = library_empty_quick(x.library, x.on_host, wanted);
    if (made.is_valid()) {
        view->read_new(x.library, made);
        if (view->device == x.device) return made;
    }
    made = library_empty(x.library, like, wanted);
    view->read_new(x.library, made);
    return made;
}

void outputs::read(int i, nb::handle given) {
    if (made[i].is_valid()) return;
    made[i] = nb::borrow(given);
    view[i].read(made[i], "write the result to out");
}

void outputs::choose(reduction *what, int op, const array &x, redtune_dtype dtype, nb::handle out) {
    what->choose(op, x, dtype);
    if (dtype || out.is_none() || what->op->outputs > 1) return;
    read(0, out);
    const result_dtype &its = what->result[0];
    if (view[0].boolean || its.boolean || view[0].dtype == its.shown || view[0].dtype == its.c)
        return;
    redtune_problem asked = what->problem;
    redtune_dtype found[2];
    redtune_error err;
    asked.result = view[0].dtype;
    if (!redtune_problem_results(&asked, found, &err)) what->choose(op, x, view[0].dtype);
}

void outputs::take(const reduction &what, std::initializer_list<named_array> inputs,
                   nb::handle like, nb::handle out) {
    const array &x = *inputs.begin()->view;
    const int count = what.op->outputs;
    if (!out.is_none() && count > 1 &&
        (!PyTuple_Check(out.ptr()) || PyTuple_Size(out.ptr()) != count))
        fail(PyExc_TypeError,
             "cannot write the results of %s to out: it has %d; give a tuple of "
             "%d arrays",
             what.op->name, count, count);
    for (int i = 0; i < count; i++) {
        if (out.is_none()) {
            made[i] = make_result(what, i, x, like, &view[i]);
            continue;
        }
        read(i, count > 1 ? PyTuple_GetItem(out.ptr(), i) : out.ptr());
        check_given(what, i, x, view[i]);
        for (const named_array &each : inputs)
            if (each.view) check_apart(view[i], each);
        if (i) check_apart(view[i], {"the first result's", &view[0]});
    }
}

bool have_same_strides(const array &x, const array &y) {
    if (x.is_packed() && y.is_packed()) return true;
    bool same = true;
    for (int i = 0; same && i < x.dimensions; i++)
        same = x.shape[i] == 1 || (x.strides && y.strides && x.strides[i] == y.strides[i]);
    return same;
}

void outputs::need_packed() const {
    for (const array &each : view)
        if (each.data && !each.is_packed() && !each.on_host)
            fail(PyExc_ValueError, "cannot write the result to out: it is not contiguous; give an "
                                   "array that is");
}

void outputs::place(reduction *what, const array &x, const others &beside) const {
    const bool two = what->op->outputs > 1;
    if (x.on_host || what->is_empty || (view[0].is_packed() && (!two || view[1].is_packed())))
        return;
    if (two && !have_same_strides(view[0], view[1]))
        fail(PyExc_ValueError,
             "cannot write the results to out: the strides of the two arrays differ; "
             "give arrays that are alike");
    what->set_steps(x, beside, &view[0]);
}

nb::object outputs::get(const reduction &what, const array &x, nb::handle out) const {
    const bool as_scalars = x.library->scalars && out.is_none() && !what.dimensions;
    const auto its = [&](int i) { return as_scalars ? nb::object(made[i][nb::tuple()]) : made[i]; };
    if (what.op->outputs == 1) return its(0);
    return nb::make_tuple(its(0), its(1));
}

// ---- running -----------------------------------------------------------------------------------

redtune_operands operands_of(const reduction &what, const array &x, const others &beside,
                             const outputs &out, nb::handle parameters) {
    redtune_operands operands = {};
    operands.d_in[0] = x.data;
    operands.d_in[1] = beside.y ? beside.y->data : nullptr;
    operands.d_mask = beside.mask ? beside.mask->data : nullptr;
    operands.mask_first = what.mask_first;
    for (int i = 0; i < what.op->outputs; i++) operands.d_out[i] = out.view[i].data;
    if (!parameters.is_none()) operands.parameters = what.parameters;
    if (what.has_initial) operands.initial = &what.initial;
    return operands;
}

void put_extents(const redtune_problem &problem, redtune_operands *operands) {
    const redtune_operands of = redtune_problem_operands(&problem);
    operands->count = of.count;
    operands->outer = of.outer;
    operands->inner = of.inner;
    operands->outer_step = of.outer_step;
    operands->step = of.step;
}

CUstream_st *stream_of(const array &x, nb::handle like, nb::handle stream) {
    if (!stream.is_none()) return stream_from(stream);
    if (x.stream) return reinterpret_cast<CUstream_st *>(x.stream);
    return library_stream(x.library, like, x.device);
}

void run_on_device(const reduction &what, const array &x, const others &beside, const outputs &out,
                   nb::handle parameters, CUstream_st *stream) {
    redtune *rt = runtime_get(x.device);
    const bool simple = !beside.y && !beside.mask && what.op->outputs == 1 &&
                        parameters.is_none() && !what.has_initial;
    redtune_operands operands = {};
    if (!simple) operands = operands_of(what, x, beside, out, parameters);
    call_without_gil([&](redtune_error *err) { // the first call of a problem compiles its kernel
        return simple ? redtune_reduce(rt, &what.problem, x.data, out.view[0].data, stream, err)
                      : redtune_run(rt, &what.problem, &operands, stream, err);
    });
}

void refuse_gradients(const array &in, nb::handle x) {
    if (!in.library->is_torch) return;
    static PyObject *name = PyUnicode_InternFromString("requires_grad");
    array_library *library = in.library;
    nb::object required = nb::steal(
        library->gradient ? library->get_gradient(library->gradient, x.ptr(),
                                                  reinterpret_cast<PyObject *>(Py_TYPE(x.ptr())))
                          : PyObject_GetAttr(x.ptr(), name));
    if (!required.is_valid()) throw nb::python_error();
    if (required.ptr() != Py_True) return;
    if (!nb::cast<bool>(nb::module_::import_("torch").attr("is_grad_enabled")())) return;
    fail(PyExc_RuntimeError,
         "cannot reduce a tensor that requires gradients: redtune.torch has functions that compute "
         "them, and x.detach() leaves them out");
}

// Shapes of which neither broadcasts to the other's are refused later.
void broadcast_pair(array *x, array *y) {
    bool same = x->dimensions == y->dimensions;
    for (int i = 0; same && i < x->dimensions; i++) same = x->shape[i] == y->shape[i];
    if (!same && !y->broadcast_to(*x)) x->broadcast_to(*y);
}

void read_inputs(const redtune_op_info *op, nb::handle x, nb::handle y, array *in, array *second) {
    if (y.is_none() != (op->inputs == 1))
        fail(PyExc_TypeError, "cannot compute %s of %s: it has %d input%s", op->name,
             y.is_none() ? "one array" : "two arrays", op->inputs, op->inputs > 1 ? "s" : "");
    in->read(x, "reduce x");
    refuse_gradients(*in, x);
    if (y.is_none()) return;
    second->read(y, "reduce y");
    refuse_gradients(*second, y);
}

// Whether the op needs an element, or an initial value.
static bool lacks_identity(const reduction &what) {
    for (const char *name : {"max", "min", "fmax", "fmin"})
        if (!what.has_initial && !strcmp(what.op->name, name)) return true;
    return false;
}

void check_elements(const reduction &what) {
    if (!what.of_none || what.is_empty) return;
    if (lacks_identity(what))
        fail(PyExc_ValueError, "cannot compute %s: there are no elements; give initial",
             what.op->name);
    const bool needs = !strcmp(what.op->name, "ptp") || !strcmp(what.op->name, "minmax");
    if (needs || (what.op->indexed && what.op->outputs == 1))
        fail(PyExc_ValueError, "cannot compute %s: there are no elements", what.op->name);
}

void check_identity(const reduction &what) {
    if (lacks_identity(what))
        fail(PyExc_ValueError,
             "cannot compute %s with where: it has no identity, and a result may be of no "
             "elements; give initial",
             what.op->name);
}

nb::object call_op(int op, const call_arguments &given) {
    array in, second;
    std::optional<mask_view> mask; // most calls have none
    outputs results;
    reduction what;
    if (!given.stream.is_none()) stream_from(given.stream); // of the host's arrays, too
    read_inputs(op_get(op), given.x, given.y, &in, &second);
    others beside(given.y.is_none() ? nullptr : &second);
    if (beside.y) broadcast_pair(&in, &second);
    results.choose(&what, op, in, given.dtype, given.out);
    what.problem.order = given.order;
    what.problem.accuracy = given.accuracy;
    what.take_parameters(given.parameters);
    if (!given.initial.is_none()) what.take_initial(given.initial);
    if (!given.where.is_none() && what.take_where(in, given.where, &mask.emplace())) {
        beside.mask = &mask->view;
        check_identity(what);
    }
    what.fold(in, beside, given.axis, given.keepdims);
    check_elements(what);
    results.take(what,
                 {{"x", &in}, {"y", beside.y}, {"where", beside.mask ? &mask->given : nullptr}},
                 given.x, given.out);
    results.place(&what, in, beside);
    if (what.is_empty) {
        // Nothing to write.
    } else if (in.on_host) {
        run_on_host(what, in, beside, results, given.parameters);
    } else {
        run_on_device(what, in, beside, results, given.parameters,
                      stream_of(in, given.x, given.stream));
    }
    return results.get(what, in, given.out);
}

// call(op, x, y, axis, keepdims, out, dtype, order, accuracy, stream, parameters, where, initial),
// by C's own convention: nanobind's takes longer where an argument is None.
enum { CALL_ARGUMENTS = 13 };

// Of a Python int, which the caller is known to give.
static int int_from(PyObject *number) {
    const long value = PyLong_AsLong(number);
    if (value == -1 && PyErr_Occurred()) throw nb::python_error();
    return static_cast<int>(value);
}

bool truth_of(nb::handle object) {
    if (object.ptr() == Py_False || object.is_none()) return false;
    if (object.ptr() == Py_True) return true;
    // A dtype or an array stands there where NumPy's order of arguments is meant.
    const std::string type = nb::cast<std::string>(object.type().attr("__name__"));
    if (!PyLong_Check(object.ptr()) && type != "bool" && type != "bool_") // NumPy's two names
        fail(PyExc_TypeError,
             "cannot take keepdims=%s: give True or False, and dtype and out by their names",
             nb::cast<std::string>(nb::repr(object)).substr(0, 80).c_str());
    const int truth = PyObject_IsTrue(object.ptr());
    if (truth < 0) throw nb::python_error();
    return truth;
}

static nb::object call_given(PyObject *const *given, Py_ssize_t count) {
    if (count != CALL_ARGUMENTS) fail(PyExc_TypeError, "call takes %d arguments", CALL_ARGUMENTS);
    call_arguments arguments = {given[1], given[2], given[3], given[5], given[9], given[10]};
    arguments.where = given[11];
    arguments.initial = given[12];
    arguments.keepdims = truth_of(given[4]);
    arguments.dtype = static_cast<redtune_dtype>(int_from(given[6]));
    arguments.order = static_cast<redtune_order>(int_from(given[7]));
    arguments.accuracy = static_cast<redtune_accuracy>(int_from(given[8]));
    return call_op(int_from(given[0]), arguments);
}

static PyObject *call_fast(PyObject *, PyObject *const *given, Py_ssize_t count) noexcept {
    return returned([&] { return call_given(given, count); });
}

static PyMethodDef methods[] = {
    {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_fast)), METH_FASTCALL,
     nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// ---- the table of ops --------------------------------------------------------------------------

static nb::object op_facts_of(int number) {
    const redtune_op_info *op = op_get(number);
    nb::list outputs, parameters;
    for (int i = 0; i < op->outputs; i++) outputs.append(op->output_name[i]);
    for (int i = 0; i < op->parameters; i++)
        parameters.append(nb::make_tuple(op->parameter_name[i], op->parameter_usual[i]));
    return nb::make_tuple(op->name, op->formula, op->inputs, nb::tuple(outputs),
                          nb::tuple(parameters));
}

// The dtypes of the results of elements of that dtype, by redtune_dtype; bool is 0.
static nb::tuple result_dtypes(int op, int dtype, bool for_torch) {
    array x;
    reduction what;
    nb::list dtypes;
    x.dtype = dtype ? static_cast<redtune_dtype>(dtype) : REDTUNE_U8;
    x.boolean = !dtype;
    what.for_torch = for_torch;
    what.choose(op, x, REDTUNE_DTYPE_NONE);
    for (int i = 0; i < what.op->outputs; i++)
        dtypes.append(what.result[i].boolean ? 0 : static_cast<int>(what.result[i].shown));
    return nb::tuple(dtypes);
}

static int op_find(const char *name) {
    redtune_op op;
    redtune_error err;
    check(redtune_op_find(name, &op, &err), err);
    return op;
}

static int dtype_find(const char *name) {
    redtune_dtype dtype;
    redtune_error err;
    if (redtune_dtype_find(name, &dtype, &err)) fail(PyExc_TypeError, "%s", err.message);
    return dtype;
}

static nb::tuple op_names() {
    nb::list names;
    redtune_op_info info;
    for (int op = 0; !redtune_op_get(static_cast<redtune_op>(op), &info, nullptr); op++)
        names.append(info.name);
    return nb::tuple(names);
}

// (name, long name, kind) of each, from 1 on.
static nb::tuple dtypes() {
    nb::list rows;
    redtune_dtype_info info;
    for (int i = 1; !redtune_dtype_get(static_cast<redtune_dtype>(i), &info, nullptr); i++)
        rows.append(nb::make_tuple(info.name, info.long_name, std::string(1, char(info.kind))));
    return nb::tuple(rows);
}

void call_add(nb::module_ &module) {
    if (PyModule_AddFunctions(module.ptr(), methods)) throw nb::python_error();
    module.def("op_facts", &op_facts_of);
    module.def("op_find", &op_find);
    module.def("result_dtypes", &result_dtypes, nb::arg("op"), nb::arg("dtype"),
               nb::arg("for_torch") = false);
    module.def("op_names", &op_names);
    module.def("op_is_indexed", [](int op) { return op_get(op)->indexed != 0; });
    module.def("dtype_find", &dtype_find);
    module.def("dtypes", &dtypes);
    module.attr("BOOL") = static_cast<int>(BOOL);
    module.def("ops_read", [](const char *files) {
        redtune_error err;
        check(redtune_ops_read(files, &err), err);
    });
}
