// Reduction: a call's arguments as a problem, and the shape and dtype of its results.
#include "call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime.h"

// ---- ops ---------------------------------------------------------------------------------------

namespace {

// What the outputs of an op are for floats: those that are u8 then are bools, and those that are
// u64 numbers of elements.
struct op_facts {
    redtune_op_info info;
    // By the elements' dtype and what was asked for, since asking the library takes longer; the
    // first is REDTUNE_DTYPE_NONE where it was not asked yet.
    redtune_dtype results[REDTUNE_DTYPE_END][REDTUNE_DTYPE_END][OUTPUTS_MAX];
    bool is_truth[OUTPUTS_MAX];
    bool is_count[OUTPUTS_MAX];
    redtune_op plain; // the op itself, or the one of all elements of an op that skips NaN
    redtune_op truth; // the op of the elements' truth values, which a sum or product as bool is
};

std::vector<op_facts *> all_facts; // by number; they live as long as the process

op_facts &facts_of(int op) {
    while (op >= static_cast<int>(all_facts.size())) {
        auto next = std::make_unique<op_facts>();
        redtune_error err;
        redtune_problem problem = {};
        redtune_dtype results[OUTPUTS_MAX] = {};
        problem.op = static_cast<redtune_op>(all_facts.size());
        problem.dtype = REDTUNE_F32;
        check(redtune_op_get(problem.op, &next->info, &err), err);
        redtune_problem_results(&problem, results, nullptr); // ops of integers have none
        for (int i = 0; i < OUTPUTS_MAX; i++) {
            next->is_truth[i] = results[i] == REDTUNE_U8;
            next->is_count[i] = results[i] == REDTUNE_U64;
        }
        const char *name = next->info.name;
        next->plain = next->truth = problem.op;
        if (!next->info.file && !strncmp(name, "nan", 3))
            redtune_op_find(name + 3, &next->plain, nullptr); // nans has no such op
        if (problem.op == REDTUNE_SUM) next->truth = REDTUNE_ANY;
        if (problem.op == REDTUNE_PROD) next->truth = REDTUNE_ALL;
        all_facts.push_back(next.release());
    }
    if (op < 0) fail(PyExc_ValueError, "cannot reduce: there is no op %d", op);
    return *all_facts[static_cast<size_t>(op)];
}

// What follows the word in the text; all of it, if the word is not there.
const char *after(const char *text, const char *word) {
    const char *found = strstr(text, word);
    return found ? found + strlen(word) : text;
}

bool is_float(redtune_dtype dtype) {
    redtune_dtype_info info;
    return !redtune_dtype_get(dtype, &info, nullptr) && info.kind == 'f';
}

void refuse_bool(const char *op) {
    fail(PyExc_TypeError, "cannot compute %s of bools; convert them to integers", op);
}

} // namespace

const redtune_op_info *op_get(int op) { return &facts_of(op).info; }

static const redtune_dtype *results_of(op_facts &its, const redtune_problem &problem) {
    redtune_dtype(&results)[OUTPUTS_MAX] = its.results[problem.dtype][problem.result];
    redtune_error err;
    if (results[0] || !redtune_problem_results(&problem, results, &err)) return results;
    // Python has dtype where C has result.
    const std::string text = err.message;
    const size_t remedy = text.find("; set result to");
    const bool converts = text.find("or to f32, and convert", remedy) != text.npos;
    fail(PyExc_TypeError, "%s%s%s", text.substr(0, remedy).c_str(),
         remedy == text.npos ? "" : "; give such a dtype, or none",
         converts ? ", or \"f32\", and convert the result" : "");
}

void reduction::choose(int number, const array &x, redtune_dtype dtype) {
    const int plain = facts_of(number).plain;
    if (plain != number && !is_float(x.dtype)) number = plain; // others have no NaN
    const bool as_bool = dtype == BOOL;
    if (as_bool) dtype = REDTUNE_DTYPE_NONE;
    if (as_bool) number = facts_of(number).truth;
    op_facts &its = facts_of(number);
    op = &its.info;
    if (x.boolean && !op->bools) refuse_bool(op->name);
    problem.op = static_cast<redtune_op>(number);
    problem.dtype = x.dtype;
    // The host's are made 0 or 1 as they are read.
    if (x.boolean && !x.on_host) problem.uses |= REDTUNE_USE_BOOLS;
    // Counts are u64 in C, and so are sums of bools and bytes, of which PyTorch makes int64.
    for_torch |= x.library && x.library->is_torch;
    const bool as_i64 = x.boolean || (for_torch && x.dtype != REDTUNE_U64);
    const bool is_shown = dtype == REDTUNE_I64 && (its.is_count[0] || as_i64) &&
                          results_of(its, problem)[0] == REDTUNE_U64;
    if (!is_shown) problem.result = dtype;
    const redtune_dtype *results = results_of(its, problem);
    for (int i = 0; i < op->outputs; i++) {
        const bool counts = its.is_count[i] || (as_i64 && results[i] == REDTUNE_U64);
        const bool is_u64 = results[i] == REDTUNE_U64 && dtype != REDTUNE_U64;
        result[i].c = results[i];
        result[i].shown = counts && is_u64 ? REDTUNE_I64 : results[i];
        result[i].boolean =
            (its.is_truth[i] || x.boolean) && results[i] == REDTUNE_U8 && dtype != REDTUNE_U8;
        if (as_bool && !result[i].boolean)
            fail(PyExc_TypeError,
                 "cannot compute %s with dtype=bool: its result is no bool; leave dtype out, "
                 "or take any or all",
                 op->name);
    }
}

void reduction::take_parameters(nb::handle values) {
    if (values.is_none()) return;
    const size_t count = nb::len(values);
    if (count != static_cast<size_t>(op->parameters))
        fail(PyExc_TypeError, "cannot compute %s with %zu parameters: it has %d", op->name, count,
             op->parameters);
    for (size_t i = 0; i < count; i++) {
        nb::object value = values[i];
        if (nb::try_cast(value, parameters[i])) continue;
        fail(PyExc_TypeError, "cannot compute %s with %s=%s: a number is wanted", op->name,
             op->parameter_name[i], nb::cast<std::string>(nb::repr(value)).substr(0, 80).c_str());
    }
}

std::string shape_text(const array &x) {
    std::string text = "(";
    for (int i = 0; i < x.dimensions; i++) text += (i ? ", " : "") + std::to_string(x.shape[i]);
    return text + (x.dimensions == 1 ? ",)" : ")");
}

// ---- axes --------------------------------------------------------------------------------------

namespace {

struct axis_list {
    int axis[DIMENSIONS_MAX];
    size_t count;
};

int axis_from(nb::handle value) {
    int axis = 0;
    if (!PyBool_Check(value.ptr()) && nb::try_cast(value, axis, false)) return axis;
    nb::object index = nb::steal(PyNumber_Index(value.ptr())); // as NumPy's integers
    if (!index.is_valid() && !PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    const bool is_axis = index.is_valid() && !PyBool_Check(value.ptr());
    if (is_axis && nb::try_cast(index, axis)) return axis;
    const std::string text = nb::cast<std::string>(nb::repr(value)).substr(0, 80);
    if (is_axis)
        fail(axis_error, "cannot reduce along axis %s: an array has at most %d axes", text.c_str(),
             DIMENSIONS_MAX);
    fail(PyExc_TypeError, "cannot reduce along axis %s: an axis is an integer, or a tuple of them",
         text.c_str());
}

void read_axes(nb::handle axis, axis_list *out) {
    out->count = 0;
    if (!PyTuple_Check(axis.ptr()) && !PyList_Check(axis.ptr())) {
        out->axis[out->count++] = axis_from(axis);
        return;
    }
    if (nb::len(axis) > DIMENSIONS_MAX)
        fail(PyExc_ValueError, "cannot reduce along %zu axes: an array has at most %d",
             nb::len(axis), DIMENSIONS_MAX);
    for (nb::handle each : axis) out->axis[out->count++] = axis_from(each);
}

// As NumPy, which takes 0 and -1 for the axes of an array that has none.
void take_axes_of_none(axis_list *axes) {
    for (size_t i = 0; i < axes->count; i++)
        if (axes->axis[i] != 0 && axes->axis[i] != -1)
            fail(axis_error, "cannot reduce along axis %d: the array has no axes; give None",
                 axes->axis[i]);
    if (axes->count > 1)
        fail(PyExc_ValueError, "cannot reduce the array: axis %d is named twice", axes->axis[1]);
    axes->count = 0;
}

void match(const array &x, const array &y) {
    bool same = x.dimensions == y.dimensions;
    for (int i = 0; same && i < x.dimensions; i++) same = x.shape[i] == y.shape[i];
    if (!same)
        fail(PyExc_ValueError,
             "cannot reduce x and y: their shapes are %s and %s; make them equal, or such that "
             "one broadcasts to the other's",
             shape_text(x).c_str(), shape_text(y).c_str());
    if (x.dtype != y.dtype)
        fail(PyExc_TypeError,
             "cannot reduce x and y: their elements are %s and %s; convert one of them",
             redtune_dtype_name(x.dtype), redtune_dtype_name(y.dtype));
    if (x.device != y.device)
        fail(PyExc_ValueError,
             "cannot reduce x and y: they lie on different devices; copy one to the other's");
}

// From how many steps of a row's length on columns cost more to read with their gaps than packed.
constexpr uint64_t GAPS_MIN = 4;

// Whether the host's elements are to be packed: rows that are not, which may overlap or be mostly
// gaps, and columns that are mostly gaps, or overlap.
bool needs_packing(const redtune_problem &problem) {
    if (problem.steps >> REDTUNE_ARRAY_RESULTS & 1) return true;    // neither rows nor columns
    const redtune_operands of = redtune_problem_operands(&problem); // 0: the usual steps
    if (of.inner <= 1) return of.step || of.outer_step;
    return (of.outer > 1 && of.outer_step) || of.step / of.inner >= GAPS_MIN;
}

} // namespace

// By Python's struct, which refuses what the dtype has no place for.
// The bytes of a number; not valid, and no error is set: it is none of that format.
static nb::object pack_number(const char *format, nb::handle value) {
    if (!value.is_valid()) return {};
    nb::object packed = nb::steal(PyObject_CallMethod(nb::module_::import_("struct").ptr(), "pack",
                                                      "sO", format, value.ptr()));
    PyErr_Clear();
    return packed;
}

// The int that a float is, such as 2.0, which NumPy takes as one; not valid: it is none.
static nb::object whole_of(nb::handle value) {
    nb::object number, whole;
    if (nb::hasattr(value, "__float__")) number = nb::steal(PyNumber_Float(value.ptr())); // no text
    if (number.is_valid()) {
        const double x = PyFloat_AsDouble(number.ptr());
        if (std::floor(x) == x) whole = nb::steal(PyLong_FromDouble(x));
    }
    PyErr_Clear();
    return whole;
}

void reduction::take_initial(nb::handle value) {
    static const char *const formats[REDTUNE_DTYPE_END] = {nullptr, "b", "B", "h", "H", "i", "I",
                                                           "q",     "Q", "e", "f", "f", "d"};
    redtune_op_info info;
    redtune_error err;
    check(redtune_op_get(problem.op, &info, &err), err);
    const char *format = result[0].boolean ? "?" : formats[result[0].shown];
    if (!info.resumes || info.outputs > 1 || info.parameters || !format)
        fail(PyExc_TypeError, "cannot compute %s of %s with initial: %s", op->name,
             redtune_dtype_name(problem.dtype),
             format ? "a result does not say what it was made of; leave it out"
                    : "it takes none of so few bits; give dtype=\"f32\"");
    nb::object packed = pack_number(format, value);
    if (!packed.is_valid() && !strchr("efd", *format))
        packed = pack_number(format, whole_of(value));
    if (!packed.is_valid()) {
        fail(PyExc_ValueError, "cannot compute %s with initial=%s: it is no value of %s", op->name,
             nb::cast<std::string>(nb::repr(value)).substr(0, 80).c_str(),
             result[0].boolean ? "bool" : redtune_dtype_name(result[0].shown));
    }
    memset(&initial, 0, sizeof initial);
    memcpy(&initial, PyBytes_AsString(packed.ptr()),
           static_cast<size_t>(PyBytes_Size(packed.ptr())));
    if (result[0].c == REDTUNE_BF16 && initial.f32 == initial.f32) { // the upper half, to even
        const uint32_t bits = initial.u32;
        initial.u32 = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    } else if (result[0].c == REDTUNE_BF16) {
        initial.u32 = initial.u32 >> 16 | 0x40;
    }
    has_initial = true;
    problem.uses |= REDTUNE_USE_INITIAL;
}

// Without axes everything is reduced; an empty tuple reduces nothing, as in NumPy.
void reduction::fold(const array &x, const others &beside, nb::handle axis, bool keepdims) {
    if (beside.y) match(x, *beside.y);
    const bool alike = (!beside.y || have_same_strides(x, *beside.y)) &&
                       (!beside.mask || have_same_strides(x, *beside.mask));
    is_empty = packs = false;
    of_none = axis.is_none() && !x.count();
    if (axis.is_none() && alike && x.is_packed()) {
        set_size(problem, 0, x.count());
        dimensions = keepdims ? x.dimensions : 0;
        std::fill_n(shape, dimensions, 1);
        std::fill_n(reduced, x.dimensions, true);
        return;
    }
    fold_axes(x, beside, alike, axis, keepdims);
}

void reduction::fold_axes(const array &x, const others &beside, bool alike, nb::handle axis,
                          bool keepdims) {
    axis_list axes;
    axes.count = 0;
    if (!axis.is_none()) read_axes(axis, &axes);
    const bool nothing = !axis.is_none() && !axes.count && x.dimensions;
    if (!x.dimensions) take_axes_of_none(&axes);
    bool are_good = true; // if not, the library says why
    std::fill_n(reduced, x.dimensions, axis.is_none());
    for (size_t i = 0; i < axes.count; i++) {
        const int place = axes.axis[i] + (axes.axis[i] < 0 ? x.dimensions : 0);
        if (place < 0 || place >= x.dimensions)
            fail(axis_error, "cannot reduce the array: it has %d dimensions and no axis %d",
                 x.dimensions, axes.axis[i]);
        are_good = are_good && !reduced[place];
        if (are_good) reduced[place] = true;
    }
    dimensions = 0;
    for (int i = 0; i < x.dimensions; i++) {
        const bool kept = !reduced[i];
        if (kept || keepdims) shape[dimensions++] = kept ? x.shape[i] : 1;
        if (kept && !x.shape[i]) is_empty = are_good;
        if (!kept && !x.shape[i]) of_none = true;
    }
    if (is_empty) return;
    redtune_error err;
    const auto fold_as = [&](redtune_order order) {
        const redtune_order said = problem.order;
        problem.order = order;
        const redtune_status status = nothing
                                          ? fold_none(x, &err)
                                          : redtune_problem_fold(&problem, x.shape, x.strides,
                                                                 static_cast<size_t>(x.dimensions),
                                                                 axes.axis, axes.count, &err);
        problem.order = said;
        return status;
    };
    redtune_status status = fold_as(problem.order);
    // The order of all problems decides how elements are numbered, too.
    const bool is_told = problem.order == REDTUNE_ORDER_FREE &&
                         (!status || status == REDTUNE_UNSUPPORTED) &&
                         runtime_fixes(x.on_host ? HOST_DEVICE : x.device, problem);
    if (is_told) status = fold_as(REDTUNE_ORDER_FIXED);
    if (x.on_host) {
        list_axes(x);
        const bool pairs = beside.y && beside.mask; // of any axes, whatever they are
        if (status ? status == REDTUNE_UNSUPPORTED : !alike || pairs || needs_packing(problem))
            return pack(x);
    }
    if (status)
        fail(PyExc_ValueError, "cannot reduce the array%s%s",
             after(after(err.message, "the array"), "cannot reduce"),
             is_told ? "; configure or REDTUNE_ORDER makes the order of all fixed: or give "
                       "order=\"free\""
                     : "");
    if (!alike) set_steps(x, beside, nullptr);
}

void reduction::set_steps(const array &x, const others &beside, const array *out) {
    const array *const arrays[] = {&x, beside.y, beside.mask, out}; // by redtune_array
    int64_t packed[REDTUNE_ARRAYS] = {1, 1, 1, 1};
    redtune_axis axes[2][DIMENSIONS_MAX]; // the kept and the reduced ones, from the innermost on
    int count[2] = {}, place = dimensions;
    const bool keepdims = dimensions == x.dimensions;
    problem.steps = 0;
    for (int k = 0; k < REDTUNE_ARRAYS; k++) problem.steps |= arrays[k] ? 1u << k : 0;
    for (int i = x.dimensions; i-- > 0;) {
        redtune_axis axis = {static_cast<uint64_t>(x.shape[i]), {}};
        if (keepdims || !reduced[i]) place--;
        for (int k = 0; k < REDTUNE_ARRAYS; k++) {
            if (!arrays[k] || (k == REDTUNE_ARRAY_RESULTS && reduced[i])) continue;
            const int64_t *strides = arrays[k]->strides;
            axis.step[k] = strides ? strides[k == REDTUNE_ARRAY_RESULTS ? place : i] : packed[k];
            packed[k] *= x.shape[i];
        }
        if (x.shape[i] != 1) axes[reduced[i]][count[reduced[i]]++] = axis;
    }
    if (!count[1]) axes[1][count[1]++] = {1, {}};
    if (count[0] > REDTUNE_AXES_MAX || count[1] > REDTUNE_AXES_MAX)
        fail(PyExc_ValueError,
             "cannot reduce %d axes and keep %d of arrays of different strides: kernels take %d of "
             "each; make them contiguous",
             count[1], count[0], REDTUNE_AXES_MAX);
    problem.kept_axes = static_cast<uint32_t>(count[0]);
    problem.reduced_axes = static_cast<uint32_t>(count[1]);
    std::reverse_copy(axes[0], axes[0] + count[0], problem.kept);
    std::reverse_copy(axes[1], axes[1] + count[1], problem.reduced);
}

// Along no axis, as along one more of size 1.
redtune_status reduction::fold_none(const array &x, redtune_error *err) {
    int64_t sizes[DIMENSIONS_MAX + 1], strides[DIMENSIONS_MAX + 1];
    std::copy_n(x.shape, x.dimensions, sizes)[0] = 1;
    if (x.strides) std::copy_n(x.strides, x.dimensions, strides)[0] = 1;
    return redtune_problem_fold(&problem, sizes, x.strides ? strides : nullptr,
                                static_cast<size_t>(x.dimensions + 1), &x.dimensions, 1, err);
}

void reduction::list_axes(const array &x) {
    kept = 0;
    for (int i = 0; i < x.dimensions; i++)
        if (!reduced[i]) order[kept++] = i;
    for (int i = 0, placed = kept; i < x.dimensions; i++)
        if (reduced[i]) order[placed++] = i;
}

void reduction::pack(const array &x) {
    uint64_t results = 1, elements = 1;
    for (int i = 0; i < x.dimensions; i++)
        (i < kept ? results : elements) *= static_cast<uint64_t>(x.shape[order[i]]);
    set_size(problem, results > 1 ? results : 0, elements);
    packs = true;
}
