// List: many reductions at once, of the arrays of a list.
#include "list.h"

#include <algorithm>
#include <set>
#include <vector>

#include "packing.h"
#include "runtime.h"
#include "segments.h"

namespace {

struct list;
std::set<list *> live; // those whose C list is there

// Where the masks of a list's arrays are; the place of an array that has none is NULL.
struct mask_places {
    std::vector<const void *> place;
    std::vector<uint64_t> first; // numbers of bits
    redtune_mask kind = REDTUNE_MASK_NONE;

    bool operator==(const mask_places &other) const {
        return kind == other.kind && place == other.place && first == other.first;
    }
};

struct list {
    redtune *rt = nullptr; // of the generation that it was made in
    redtune_list *own = nullptr;
    redtune_list *in_order = nullptr;     // the same in row-major order; NULL: not made yet
    std::shared_ptr<redtune_list> masked; // with the masks that were given last; runs hold it, too
    mask_places masks;                    // those
    nb::object arrays;                    // a tuple, which holds them
    array first;                          // whose library and device the results have
    int64_t count = 0;
    bool row_major = true;              // what own has, of all of them
    uint64_t elements = 0, longest = 0; // of all, and of an array at most

    ~list() { close(); }
    void close() {
        if (!ending_is_inherited()) {
            redtune_list_destroy(own);
            redtune_list_destroy(in_order);
        }
        own = in_order = nullptr;
        masked.reset();
        live.erase(this);
    }
};

void check_member(const array &first, const array &member) {
    if (member.dtype != first.dtype || member.boolean != first.boolean)
        fail(PyExc_TypeError, "cannot list arrays of %s and %s together; make a list of each",
             redtune_dtype_name(first.dtype), redtune_dtype_name(member.dtype));
    if (member.device != first.device)
        fail(PyExc_ValueError, "cannot list arrays of several devices; make a list of each");
}

// Those without gaps as they lie, unless in_order.
redtune_list *make_tables(const list &self, bool in_order) {
    const size_t count = static_cast<size_t>(self.count);
    std::vector<array> members(count);
    std::vector<int64_t> counts(count); // the shapes of those
    std::vector<redtune_view> views;
    for (size_t i = 0; i < count; i++) {
        array &member = members[i];
        member.read(nb::tuple(self.arrays)[i], "list the arrays");
        counts[i] = static_cast<int64_t>(member.count());
        const void *dense = in_order ? nullptr : member.begin_of_dense();
        views.push_back(dense ? redtune_view{dense, &counts[i], nullptr, 1, {}} : view_of(member));
    }
    redtune_list *made = nullptr;
    call_without_gil([&](redtune_error *err) {
        return redtune_list_create_views(self.rt, self.first.dtype, views.data(), count, &made,
                                         err);
    });
    return made;
}

list *make_list(nb::handle arrays) {
    auto self = std::make_unique<list>();
    nb::tuple members(nb::borrow(arrays));
    self->arrays = members;
    self->count = static_cast<int64_t>(members.size());
    if (!self->count) fail(PyExc_ValueError, "cannot list no arrays: give one at least");
    self->first.read(members[0], "list the arrays");
    for (nb::handle each : members) {
        array member;
        member.read(each, "list the arrays");
        refuse_gradients(member, each);
        check_member(self->first, member);
        if (!member.on_host && !member.is_packed() && member.begin_of_dense())
            self->row_major = false;
        self->elements += member.count();
        self->longest = std::max<uint64_t>(self->longest, member.count());
    }
    if (self->first.on_host) return self.release();
    self->rt = runtime_get(self->first.device);
    self->own = make_tables(*self, false);
    live.insert(self.get());
    return self.release();
}

// Of elements in row-major order. Another thread may make it at the same time.
redtune_list *in_order_of(list &self) {
    if (self.row_major) return self.own;
    if (!self.in_order) {
        redtune_list *made = make_tables(self, true);
        if (self.in_order)
            redtune_list_destroy(made);
        else
            self.in_order = made;
    }
    return self.in_order;
}

} // namespace

void list_run::take(nb::handle object, int op, bool each, nb::handle out, int dtype, int order,
                    int accuracy, nb::handle parameters) {
    list &self = *nb::cast<list *>(object);
    if (!self.own && !self.first.on_host)
        fail(PyExc_RuntimeError, "cannot reduce the list: the program ends");
    rt = self.rt;
    first = &self.first;
    like = self.arrays[0];
    results.choose(&what, op, self.first, static_cast<redtune_dtype>(dtype), out);
    if (what.op->inputs > 1)
        fail(PyExc_TypeError,
             "cannot compute %s of a list: it has two inputs; call redtune.%s for each array, or "
             "redtune.segments with y",
             what.op->name, what.op->name);
    what.take_parameters(parameters);
    what.problem.order = static_cast<redtune_order>(order);
    what.dimensions = each;
    what.shape[0] = self.count;
    set_size(what.problem, 0, self.elements / static_cast<uint64_t>(self.count));
    what.problem.segmented = each ? REDTUNE_SEGMENTED_EACH : REDTUNE_SEGMENTED_ALL;
    what.problem.accuracy = static_cast<redtune_accuracy>(accuracy);
    results.take(what, {{"an array of the list", &self.first}}, like, out); // C knows the others
    results.need_packed();
    const bool ordered =
        !self.row_major && (what.op->indexed || runtime_fixes(self.first.device, what.problem));
    segments.list = ordered ? in_order_of(self) : self.own;
    for (int i = 0; i < what.op->outputs; i++) segments.d_out[i] = results.view[i].data;
    if (!parameters.is_none()) segments.parameters = what.parameters;
}

// The arrays of the host, and their masks, are read anew.
static void run_on_host(list_run &its, const list &self, bool each, nb::handle parameters,
                        nb::handle where) {
    const nb::object all = nb::module_::import_("numpy").attr("asarray")(true);
    std::vector<array> members(static_cast<size_t>(self.count));
    std::vector<mask_view> masks(where.is_none() ? 0 : members.size());
    std::vector<const array *> views, there;
    std::vector<uint64_t> offsets = {0};
    for (array &member : members) {
        const size_t i = views.size();
        member.read(nb::tuple(self.arrays)[i], "reduce the list");
        views.push_back(&member);
        offsets.push_back(offsets.back() + member.count());
        if (where.is_none()) continue;
        nb::object mask = where[i];
        if (mask.is_none() || mask.ptr() == Py_True) mask = all;
        its.what.take_where(member, mask, &masks[i]);
        there.push_back(&masks[i].view);
    }
    set_size(its.what.problem, each ? static_cast<uint64_t>(self.count) : 0,
             each ? 0 : offsets.back());
    if (!each) its.what.problem.segmented = 0;
    std::vector<std::vector<const array *>> beside;
    if (!there.empty()) beside.push_back(there);
    run_list_on_host(its.what, views, beside, offsets, its.results, parameters);
}

// A mask for each array of a list, or None.
static void check_masks(const list &self, nb::handle where) {
    if (where.is_none()) return;
    if (!PyList_Check(where.ptr()) && !PyTuple_Check(where.ptr()))
        fail(PyExc_TypeError, "cannot reduce the list with where: give a list of masks, one for "
                              "each array or None");
    if (nb::len(where) != static_cast<size_t>(self.count))
        fail(PyExc_ValueError,
             "cannot reduce the list with where: it has %zu masks, and the list %lld arrays; give "
             "one for each, or None",
             nb::len(where), static_cast<long long>(self.count));
}

// What the arrays of a GPU are given, for kernels that take elements and masks as they lie.
static mask_places read_masks(const list &self, nb::handle where) {
    mask_places out;
    size_t i = 0;
    for (nb::handle each : nb::tuple(self.arrays)) {
        array member;
        reduction its;
        mask_view mask;
        const nb::object given = where[i];
        member.read(each, "reduce the list");
        out.place.push_back(nullptr);
        out.first.push_back(0);
        if (its.take_where(member, given, &mask)) {
            if (!mask.view.is_packed())
                fail(PyExc_ValueError,
                     "cannot reduce the list with where: mask %zu is not contiguous; give a "
                     "contiguous mask of its array's shape",
                     i);
            if (out.kind && out.kind != its.problem.mask)
                fail(PyExc_TypeError,
                     "cannot reduce the list with where: mask %zu is of %s, and one before it of "
                     "%s; give masks of one kind",
                     i, its.problem.mask == REDTUNE_MASK_BITS ? "bits" : "bools",
                     its.problem.mask == REDTUNE_MASK_BITS ? "bools" : "bits");
            out.kind = its.problem.mask;
            out.place[i] = mask.view.data;
            out.first[i] = its.mask_first;
        }
        i++;
    }
    return out;
}

// The tables of the last ones are kept.
void list_run::take_masks(nb::handle object, nb::handle where, bool of_team) {
    list &self = *nb::cast<list *>(object);
    if (where.is_none() || self.first.on_host) return;
    check_masks(self, where);
    mask_places masks = read_masks(self, where);
    if (!masks.kind && !of_team) return;
    if (!masks.kind) masks.kind = REDTUNE_MASK_BYTES;
    const bool bits = masks.kind == REDTUNE_MASK_BITS;
    if (!self.masked || !(masks == self.masks)) {
        redtune_list *const of = in_order_of(self), *made = nullptr;
        call_without_gil([&](redtune_error *err) {
            return redtune_list_create_masked(of, masks.place.data(),
                                              bits ? masks.first.data() : nullptr, &made, err);
        });
        self.masked.reset(made, [](redtune_list *its) {
            const without_gil released; // it may wait for kernels, and these for another thread's
            if (!ending_is_inherited()) redtune_list_destroy(its);
        });
        self.masks = masks;
    }
    masked_list = self.masked;
    segments.list = masked_list.get();
    what.problem.mask = bits ? REDTUNE_MASK_LISTED_BITS : REDTUNE_MASK_LISTED_BYTES;
}

static nb::object reduce_list(nb::handle self, int op, bool each, nb::handle out, int dtype,
                              int order, int accuracy, nb::handle stream, nb::handle parameters,
                              nb::handle where) {
    list_run its;
    list &arrays = *nb::cast<list *>(self);
    check_masks(arrays, where);
    its.take(self, op, each, out, dtype, order, accuracy, parameters);
    if (arrays.first.on_host) {
        run_on_host(its, arrays, each, parameters, where);
        return its.results.get(its.what, *its.first, out);
    }
    its.take_masks(self, where, false);
    if (each)
        segments_say_lengths(its.what.problem, arrays.elements, static_cast<uint64_t>(arrays.count),
                             arrays.longest);
    segments_run(its.rt, its.what, its.segments, stream_of(*its.first, its.like, stream));
    return its.results.get(its.what, *its.first, out);
}

void list_close_all() {
    while (!live.empty()) (*live.begin())->close();
}

void list_add(nb::module_ &module) {
    nb::class_<list>(module, "ArrayList")
        .def("reduce", &reduce_list, nb::arg("op"), nb::arg("each"), nb::arg("out").none(),
             nb::arg("dtype"), nb::arg("order"), nb::arg("accuracy"), nb::arg("stream").none(),
             nb::arg("parameters").none(), nb::arg("where").none(), nb::call_guard<calling>())
        .def_prop_ro("arrays", [](const list &self) { return self.arrays; });
    module.def("make_list", &make_list, nb::call_guard<calling>());
}
