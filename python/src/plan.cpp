// Plan: a reduction that is prepared once and run often.
//
// A plan holds the arrays that it was made with. Run without arguments, it reads and writes these
// again, and nothing is looked up but the current stream. Run with others of the same shape,
// strides and dtype, it only reads where they are. A plan with a mask takes one at each such run.
#include "plan.h"

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime.h"

namespace {

struct plan;
std::set<plan *> live; // those whose C plan is there

struct plan {
    redtune_plan *own = nullptr;
    reduction what;
    array x, y;
    std::optional<mask_view> mask;
    outputs out;
    redtune_operands operands;
    nb::object x_object, y_object, out_object, parameters;

    ~plan() { close(); }
    void close() {
        if (!ending_is_inherited()) redtune_plan_destroy(own);
        own = nullptr;
        live.erase(this);
    }
};

void run_operands(plan &self, const redtune_operands &operands, CUstream_st *stream) {
    if (!self.own) fail(PyExc_RuntimeError, "cannot run the plan: the program ends");
    call_without_gil(
        [&](redtune_error *err) { return redtune_plan_run(self.own, &operands, stream, err); });
}

plan *make_plan(int op, nb::handle x, nb::handle y, nb::handle axis, bool keepdims, nb::handle out,
                int dtype, int order, int accuracy, nb::handle parameters, nb::handle config,
                nb::handle where, nb::handle initial) {
    auto self = std::make_unique<plan>();
    self->x.read(x, "reduce x");
    if (self->x.on_host)
        fail(PyExc_ValueError, "cannot plan for an array of the host: it is reduced in pieces, "
                               "without a plan; copy it to a GPU");
    refuse_gradients(self->x, x);
    if (!y.is_none()) {
        self->y.read(y, "reduce y");
        refuse_gradients(self->y, y);
        broadcast_pair(&self->x, &self->y);
    }
    others beside(y.is_none() ? nullptr : &self->y);
    self->out.choose(&self->what, op, self->x, static_cast<redtune_dtype>(dtype), out);
    self->what.problem.order = static_cast<redtune_order>(order);
    self->what.problem.accuracy = static_cast<redtune_accuracy>(accuracy);
    self->what.take_parameters(parameters);
    if (!initial.is_none()) self->what.take_initial(initial);
    if (self->what.take_where(self->x, where, &self->mask.emplace())) {
        beside.mask = &self->mask->view;
        check_identity(self->what);
    } else {
        self->mask.reset();
    }
    self->what.fold(self->x, beside, axis, keepdims);
    if (self->what.is_empty)
        fail(PyExc_ValueError, "cannot plan for an array without results: a kept axis has size 0");
    check_elements(self->what);
    self->out.take(
        self->what,
        {{"x", &self->x}, {"y", beside.y}, {"where", beside.mask ? &self->mask->given : nullptr}},
        x, out);
    self->out.place(&self->what, self->x, beside);
    self->operands = operands_of(self->what, self->x, beside, self->out, parameters);
    put_extents(self->what.problem, &self->operands);
    self->x_object = nb::borrow(x);
    self->y_object = nb::borrow(y);
    self->out_object = self->out.get(self->what, self->x, out);
    self->parameters = nb::borrow(parameters);
    redtune_problem problem = self->what.problem;
    std::string text = config.is_none() ? "" : nb::cast<std::string>(config);
    problem.config = config.is_none() ? nullptr : text.c_str();
    redtune *rt = runtime_get(self->x.device);
    call_without_gil(
        [&](redtune_error *err) { return redtune_plan_create(rt, &problem, &self->own, err); });
    live.insert(self.get());
    return self.release();
}

// What nanobind would say of other arguments has several lines.
nb::object refuse_run(nb::args, nb::kwargs) {
    fail(PyExc_TypeError,
         "cannot run the plan: run() takes no arguments; for other arrays call the "
         "plan itself, plan(x)");
}

// Runs on the plan's own arrays.
nb::object run(plan &self) {
    run_operands(self, self.operands, stream_of(self.x, self.x_object, nb::none()));
    return self.out_object;
}

void match(const array &planned, const array &given, const char *name) {
    bool same = planned.dimensions == given.dimensions && planned.dtype == given.dtype &&
                planned.boolean == given.boolean && planned.device == given.device;
    for (int i = 0; same && i < given.dimensions; i++) same = planned.shape[i] == given.shape[i];
    const bool packed = planned.is_packed() && given.is_packed();
    for (int i = 0; same && !packed && i < given.dimensions; i++)
        same = planned.strides && given.strides && planned.strides[i] == given.strides[i];
    if (!same)
        fail(PyExc_ValueError,
             "cannot run the plan on %s: its shape, strides, dtype or device are others than those "
             "of the array that the plan was made with; make a plan for it",
             name);
}

// The mask of a run on other arrays: bools or bits, as the plan has, whose elements lie alike.
void take_mask(const plan &self, const array &x, nb::handle where, mask_view *out,
               uint64_t *first) {
    reduction given;
    const bool masked = given.take_where(x, where, out);
    if (self.mask && !masked)
        fail(PyExc_TypeError, "cannot run the plan without where: it was made with a mask; give "
                              "one, or make a plan without");
    if (given.problem.mask != self.what.problem.mask)
        fail(PyExc_TypeError,
             "cannot run the plan with where: it was made with %s; make a plan "
             "for %s",
             !self.mask                                ? "none"
             : given.problem.mask == REDTUNE_MASK_BITS ? "bools"
                                                       : "bits",
             !self.mask                                ? "a mask"
             : given.problem.mask == REDTUNE_MASK_BITS ? "bits"
                                                       : "bools");
    if (self.mask && !have_same_strides(self.mask->view, out->view))
        fail(PyExc_ValueError, "cannot run the plan with where: its shape or strides are others "
                               "than those of the mask that the plan was made with; make a plan "
                               "for it");
    *first = given.mask_first;
}

// Runs on other arrays, alike.
nb::object run_on(plan &self, nb::handle x, nb::handle y, nb::handle out, nb::handle stream,
                  nb::handle where) {
    array in, second;
    std::optional<mask_view> mask; // most plans have none
    uint64_t mask_first = 0;
    outputs results;
    if (x.is_none()) fail(PyExc_TypeError, "cannot run the plan: x is None; run() takes none");
    in.read(x, "reduce x");
    if (y.is_none()) match(self.x, in, "x");
    if (y.is_none() != (self.what.op->inputs == 1))
        fail(PyExc_TypeError, "cannot run the plan: %s has %d inputs", self.what.op->name,
             self.what.op->inputs);
    if (!y.is_none()) {
        second.read(y, "reduce y");
        broadcast_pair(&in, &second);
        match(self.x, in, "x");
        match(self.y, second, "y");
    }
    others beside(y.is_none() ? nullptr : &second);
    if (self.mask || !where.is_none()) {
        take_mask(self, in, where, &mask.emplace(), &mask_first);
        if (self.mask) beside.mask = &mask->view;
    }
    results.take(self.what,
                 {{"x", &in}, {"y", beside.y}, {"where", beside.mask ? &mask->given : nullptr}}, x,
                 out);
    for (int i = 0; i < self.what.op->outputs; i++)
        if (!have_same_strides(self.out.view[i], results.view[i]))
            fail(PyExc_ValueError,
                 "cannot run the plan on out: its strides are others than those of the "
                 "array that the plan was made with; give an array like that");
    redtune_operands operands = operands_of(self.what, in, beside, results, self.parameters);
    operands.mask_first = mask_first;
    put_extents(self.what.problem, &operands);
    run_operands(self, operands, stream_of(in, x, stream));
    return results.get(self.what, in, out);
}

// plan(x, y=None, out=None, stream=None, where=None), by Python's own slot: nanobind's methods take
// longer where an argument is named, or None.
enum { X, Y, OUT, STREAM, WHERE, PLACES };

nb::object call_plan(PyObject *self, PyObject *given, PyObject *named) {
    static PyObject *const names[PLACES] = {
        PyUnicode_InternFromString("x"), PyUnicode_InternFromString("y"),
        PyUnicode_InternFromString("out"), PyUnicode_InternFromString("stream"),
        PyUnicode_InternFromString("where")};
    nb::handle placed[PLACES] = {nb::none(), nb::none(), nb::none(), nb::none(), nb::none()};
    const Py_ssize_t count = PyTuple_Size(given);
    Py_ssize_t taken = 0;
    if (count > PLACES)
        fail(PyExc_TypeError, "plan() takes at most %d arguments but %zd were given", PLACES,
             count);
    for (Py_ssize_t i = 0; i < count; i++) placed[i] = PyTuple_GetItem(given, i);
    for (Py_ssize_t i = count; named && i < PLACES; i++) {
        PyObject *found = PyDict_GetItemWithError(named, names[i]);
        if (!found) continue;
        placed[i] = found;
        taken++;
    }
    if (named && taken != PyDict_Size(named))
        fail(PyExc_TypeError, "plan() takes x, y, out, stream and where, each once");
    if (!nb::inst_ready(self)) fail(PyExc_TypeError, "cannot run the plan: redtune.plan makes one");
    return run_on(*nb::inst_ptr<plan>(self), placed[X], placed[Y], placed[OUT], placed[STREAM],
                  placed[WHERE]);
}

PyObject *call_slot(PyObject *self, PyObject *given, PyObject *named) {
    return returned([&] { return call_plan(self, given, named); });
}

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void *>(call_slot)}, {0, nullptr}};

std::string config_of(const plan &self) { return self.own ? redtune_plan_config(self.own) : ""; }

const char *match_of(const plan &self) {
    redtune_info info;
    if (!self.own) return "";
    redtune_plan_info(self.own, &info);
    return redtune_match_name(info.match);
}

std::string describe(const plan &self) {
    return "<redtune.Plan " + std::string(self.what.op->name) + " of " +
           redtune_dtype_name(self.what.problem.dtype) + ": " + config_of(self) + ">";
}

} // namespace

void plan_close_all() {
    while (!live.empty()) (*live.begin())->close();
}

void plan_add(nb::module_ &module) {
    nb::class_<plan>(module, "Plan", nb::type_slots(slots),
                     "A reduction that is prepared once and run often; made by redtune.plan.\n\n"
                     "plan(x, y=None, out=None, stream=None, where=None) reduces other arrays of "
                     "the same shape, strides and dtype on the same device; where is a mask like "
                     "that which the plan was made with.")
        .def("run", &run, nb::call_guard<calling>(),
             "Reduces the arrays that the plan was made with, again, and returns the result's "
             "array, which is the same each time.")
        .def("run", &refuse_run)
        .def("__repr__", &describe)
        .def_prop_ro("config", &config_of,
                     "The configuration of the plan's kernel, for redtune.plan(config=...).")
        .def_prop_ro(
            "match", &match_of,
            "How near the measurement is that the configuration comes from: \"exact\", \"nearest "
            "size\", \"like\", \"nearest GPU\", \"default\" or \"pinned\".");
    module.def("make_plan", &make_plan, nb::arg("op"), nb::arg("x"), nb::arg("y").none(),
               nb::arg("axis").none(), nb::arg("keepdims"), nb::arg("out").none(), nb::arg("dtype"),
               nb::arg("order"), nb::arg("accuracy"), nb::arg("parameters").none(),
               nb::arg("config").none(), nb::arg("where").none(), nb::arg("initial").none(),
               nb::call_guard<calling>());
}
