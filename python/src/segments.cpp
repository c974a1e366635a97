// Segments: many reductions at once, of parts of one array or of the arrays of a list.
#include "segments.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "elements.h"
#include "redtune/list.h"
#include "runtime.h"

namespace {

void check_table(const array &x, const array &table, const char *name) {
    redtune_dtype_info its = {};
    redtune_dtype_get(table.dtype, &its, nullptr);
    if (its.kind == 'f' || its.bytes < sizeof(int32_t))
        fail(PyExc_TypeError, "cannot take %s as offsets: its elements are %s; give int32 or int64",
             name, its.name);
    if (table.dimensions != 1 || !table.is_packed())
        fail(PyExc_ValueError, "cannot take %s as offsets: give a contiguous array of one axis",
             name);
    if (table.device != x.device)
        fail(PyExc_ValueError,
             "cannot take %s as offsets: it lies on another device than x; copy "
             "it there",
             name);
}

// An array of the host with a step becomes one without, in that room.
void pack_on_host(array &x, std::vector<char> &room) {
    static const int order[] = {0};
    if (!x.on_host || x.dimensions != 1 || x.is_packed()) return;
    room.resize(x.count() * redtune_dtype_bytes(x.dtype));
    elements(x, order, 1).read(room.data(), x.count());
    x.data = room.data();
    x.strides = nullptr;
}

void check_elements(const array &x, const char *name) {
    if (x.dimensions != 1 || !x.is_packed())
        fail(PyExc_ValueError, "cannot reduce segments of %s: give a contiguous array of one axis",
             name);
}

// Whether there is a second input, which lies beside x.
bool has_second(const redtune_op_info *op, nb::handle y) {
    const bool two = op->inputs > 1;
    if (two == y.is_none())
        fail(PyExc_TypeError,
             two ? "cannot compute %s of segments: it has two inputs; give y="
                 : "cannot compute %s of segments: it has one input; leave y out",
             op->name);
    return two;
}

void check_second(const array &x, const array &y) {
    check_elements(y, "y");
    if (y.dtype != x.dtype || y.boolean != x.boolean)
        fail(PyExc_TypeError, "cannot reduce segments of x and y: their dtypes differ, %s and %s",
             x.boolean ? "bool" : redtune_dtype_name(x.dtype),
             y.boolean ? "bool" : redtune_dtype_name(y.dtype));
    if (y.shape[0] != x.shape[0])
        fail(PyExc_ValueError,
             "cannot reduce segments of x and y: x has %lld elements, and y %lld; give as many",
             static_cast<long long>(x.shape[0]), static_cast<long long>(y.shape[0]));
    if (y.device != x.device)
        fail(PyExc_ValueError,
             "cannot reduce segments of x and y: they lie on different devices; copy one of them");
}

// How many segments the tables have.
int64_t count_of(const array &begin, const array *end) {
    if (end && (end->shape[0] != begin.shape[0] || end->dtype != begin.dtype))
        fail(PyExc_ValueError, "cannot take begin and end as offsets: their lengths or dtypes "
                               "differ; make them equal");
    if (!end && !begin.shape[0])
        fail(PyExc_ValueError, "cannot take begin as offsets: it is empty, and without end it has "
                               "an offset more than there are segments");
    return end ? begin.shape[0] : begin.shape[0] - 1;
}

void run(redtune *rt, const reduction &what, const redtune_segments &segments,
         CUstream_st *stream) {
    call_without_gil([&](redtune_error *err) {
        return redtune_run_segments(rt, &what.problem, &segments, stream, err);
    });
}

// How many segments there are and what their lengths are like: their average, and what is said of
// the longest (0: nothing).
void say_lengths(redtune_problem &problem, uint64_t elements, uint64_t segments, uint64_t longest) {
    set_size(problem, segments, segments ? elements / segments : 0);
    if (!longest || !segments) return;
    if (longest > elements)
        fail(PyExc_ValueError, "cannot take longest=%llu: x has %llu elements; give fewer",
             static_cast<unsigned long long>(longest), static_cast<unsigned long long>(elements));
    // Elements may belong to no segment.
    set_size(problem, segments, std::min((elements + segments - 1) / segments, longest));
    problem.greatest = longest;
}

template <typename T> uint64_t offset_at(const array &table, int64_t i) {
    const T offset = static_cast<const T *>(table.data)[i];
    if (offset < 0)
        fail(PyExc_ValueError,
             "cannot take begin as offsets: number %lld is %lld; give none "
             "below 0",
             static_cast<long long>(i), static_cast<long long>(offset));
    return static_cast<uint64_t>(offset);
}

std::vector<uint64_t> read_offsets(const array &table) {
    std::vector<uint64_t> offsets;
    const bool wide = redtune_dtype_bytes(table.dtype) == sizeof(int64_t);
    for (int64_t i = 0; i < table.shape[0]; i++)
        offsets.push_back(wide ? offset_at<int64_t>(table, i) : offset_at<int32_t>(table, i));
    return offsets;
}

nb::object reduce(int op, nb::handle x, nb::handle y, nb::handle begin, nb::handle end,
                  nb::handle out, int dtype, int order, int accuracy, uint64_t longest,
                  nb::handle stream, nb::handle parameters, nb::handle where) {
    array in, second, from, to;
    mask_view mask;
    std::vector<char> packed[3];
    outputs results;
    reduction what;
    in.read(x, "reduce x");
    refuse_gradients(in, x);
    pack_on_host(in, packed[0]);
    check_elements(in, "x");
    const bool two = has_second(op_get(op), y);
    if (two) {
        second.read(y, "reduce y");
        refuse_gradients(second, y);
        pack_on_host(second, packed[2]);
        check_second(in, second);
    }
    from.read(begin, "take begin");
    pack_on_host(from, packed[1]);
    check_table(in, from, "begin");
    if (!end.is_none()) {
        to.read(end, "take end");
        check_table(in, to, "end");
    }
    const array *ends = end.is_none() ? nullptr : &to;
    const int64_t count = count_of(from, ends);
    what.choose(op, in, static_cast<redtune_dtype>(dtype));
    what.take_parameters(parameters);
    const bool masked = what.take_where(in, where, &mask);
    if (masked && !mask.view.is_packed())
        fail(PyExc_ValueError,
             "cannot reduce segments of x with where: give a contiguous mask of x's size");
    what.dimensions = 1;
    what.shape[0] = count;
    say_lengths(what.problem, in.count(), static_cast<uint64_t>(count), longest);
    what.problem.segmented = REDTUNE_SEGMENTED_EACH;
    what.problem.order = static_cast<redtune_order>(order);
    what.problem.accuracy = static_cast<redtune_accuracy>(accuracy);
    results.take(what,
                 {{"x", &in},
                  {"y", two ? &second : nullptr},
                  {"begin", &from},
                  {"end", ends},
                  {"where", masked ? &mask.given : nullptr}},
                 x, out);
    if (in.on_host) {
        if (ends)
            fail(PyExc_ValueError, "cannot take begin and end of an array of the host: give "
                                   "offsets of neighbours, without end, or copy all to a GPU");
        set_size(what.problem, static_cast<uint64_t>(count), 0); // the offsets say the lengths
        std::vector<std::vector<const array *>> beside;
        if (two) beside.push_back({&second});
        if (masked) beside.push_back({&mask.view});
        run_list_on_host(what, {&in}, beside, read_offsets(from), results, parameters);
        return results.get(what, in, out);
    }
    results.need_packed();
    redtune_segments segments = {};
    segments.d_in = in.data;
    segments.d_second = two ? second.data : nullptr;
    segments.count = static_cast<uint64_t>(count);
    segments.d_begin = from.data;
    segments.d_end = to.data;
    segments.offset_bytes = redtune_dtype_bytes(from.dtype);
    segments.d_mask = masked ? mask.view.data : nullptr;
    segments.mask_first = what.mask_first;
    for (int i = 0; i < what.op->outputs; i++) segments.d_out[i] = results.view[i].data;
    if (!parameters.is_none()) segments.parameters = what.parameters;
    run(runtime_get(in.device), what, segments, stream_of(in, x, stream));
    return results.get(what, in, out);
}

// ---- lists --------------------------------------------------------------------------------------

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
    std::shared_ptr<redtune_list> masked; // with the masks that were given last; runs hold it, too
    mask_places masks;                    // those
    nb::object arrays;                    // a tuple, which holds them
    array first;                          // whose library and device the results have
    int64_t count = 0;
    bool row_major = true;              // all of them
    uint64_t elements = 0, longest = 0; // of all, and of an array at most

    ~list() { close(); }
    void close() {
        if (!ending_is_inherited()) redtune_list_destroy(own);
        own = nullptr;
        masked.reset();
        live.erase(this);
    }
};

void check_member(const array &first, const array &member, const void *begin) {
    if (!begin && member.count() && !member.on_host)
        fail(PyExc_ValueError,
             "cannot list an array whose elements have gaps between them; copy it");
    if (member.dtype != first.dtype || member.boolean != first.boolean)
        fail(PyExc_TypeError, "cannot list arrays of %s and %s together; make a list of each",
             redtune_dtype_name(first.dtype), redtune_dtype_name(member.dtype));
    if (member.device != first.device)
        fail(PyExc_ValueError, "cannot list arrays of several devices; make a list of each");
}

list *make_list(nb::handle arrays) {
    auto self = std::make_unique<list>();
    std::vector<const void *> places;
    std::vector<uint64_t> counts;
    nb::tuple members(nb::borrow(arrays));
    self->arrays = members;
    self->count = static_cast<int64_t>(members.size());
    if (!self->count) fail(PyExc_ValueError, "cannot list no arrays: give one at least");
    self->first.read(members[0], "list the arrays");
    for (nb::handle each : members) {
        array member;
        member.read(each, "list the arrays");
        refuse_gradients(member, each);
        const void *begin = member.on_host ? nullptr : member.begin_of_dense();
        check_member(self->first, member, begin);
        places.push_back(begin);
        self->row_major = self->row_major && (member.on_host || member.is_packed());
        counts.push_back(member.count());
        self->elements += member.count();
        self->longest = std::max<uint64_t>(self->longest, member.count());
    }
    if (self->first.on_host) return self.release();
    redtune_error err;
    self->rt = runtime_get(self->first.device);
    check(redtune_list_create(self->rt, self->first.dtype, places.data(), counts.data(),
                              counts.size(), &self->own, &err),
          err);
    live.insert(self.get());
    return self.release();
}

} // namespace

void list_run::take(nb::handle object, int op, bool each, nb::handle out, int dtype, int order,
                    int accuracy, nb::handle parameters) {
    const list &self = *nb::cast<list *>(object);
    if (!self.own && !self.first.on_host)
        fail(PyExc_RuntimeError, "cannot reduce the list: the program ends");
    rt = self.rt;
    first = &self.first;
    like = self.arrays[0];
    what.choose(op, self.first, static_cast<redtune_dtype>(dtype));
    if (what.op->inputs > 1)
        fail(PyExc_TypeError,
             "cannot compute %s of a list: it has two inputs; call redtune.%s for each array, or "
             "redtune.segments with y",
             what.op->name, what.op->name);
    what.take_parameters(parameters);
    what.problem.order = static_cast<redtune_order>(order);
    const bool fixed = !self.row_major && runtime_fixes(self.first.device, what.problem);
    if (!self.row_major && (what.op->indexed || fixed))
        fail(
            PyExc_ValueError,
            "cannot reduce the list by %s%s: an array is not row-major, and its elements are taken "
            "as they lie; copy it to a contiguous one%s",
            what.op->name, fixed ? " in fixed order" : "",
            fixed && !order ? ", or give order=\"free\"" : "");
    what.dimensions = each;
    what.shape[0] = self.count;
    set_size(what.problem, 0, self.elements / static_cast<uint64_t>(self.count));
    what.problem.segmented = each ? REDTUNE_SEGMENTED_EACH : REDTUNE_SEGMENTED_ALL;
    what.problem.accuracy = static_cast<redtune_accuracy>(accuracy);
    results.take(what, {{"an array of the list", &self.first}}, like, out); // C knows the others
    results.need_packed();
    segments.list = self.own;
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
            if (!member.is_packed() || !mask.view.is_packed())
                fail(PyExc_ValueError,
                     "cannot reduce the list with where: array %zu or its mask is not contiguous; "
                     "give a contiguous array, and a contiguous mask of its shape",
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
        redtune_list *made = nullptr;
        call_without_gil([&](redtune_error *err) {
            return redtune_list_create_masked(self.own, masks.place.data(),
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
        say_lengths(its.what.problem, arrays.elements, static_cast<uint64_t>(arrays.count),
                    arrays.longest);
    run(its.rt, its.what, its.segments, stream_of(*its.first, its.like, stream));
    return its.results.get(its.what, *its.first, out);
}

void segments_close_lists() {
    while (!live.empty()) (*live.begin())->close();
}

void segments_add(nb::module_ &module) {
    module.def("segments", &reduce, nb::arg("op"), nb::arg("x"), nb::arg("y").none(),
               nb::arg("begin"), nb::arg("end").none(), nb::arg("out").none(), nb::arg("dtype"),
               nb::arg("order"), nb::arg("accuracy"), nb::arg("longest"), nb::arg("stream").none(),
               nb::arg("parameters").none(), nb::arg("where").none(), nb::call_guard<calling>());
    nb::class_<list>(module, "ArrayList")
        .def("reduce", &reduce_list, nb::arg("op"), nb::arg("each"), nb::arg("out").none(),
             nb::arg("dtype"), nb::arg("order"), nb::arg("accuracy"), nb::arg("stream").none(),
             nb::arg("parameters").none(), nb::arg("where").none(), nb::call_guard<calling>())
        .def_prop_ro("arrays", [](const list &self) { return self.arrays; });
    module.def("make_list", &make_list, nb::call_guard<calling>());
}
