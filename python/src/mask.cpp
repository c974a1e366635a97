// Mask: what where= is given, bools or bits, as elements beside those of an array.
#include "reduction.h"

// Bits lie as x's elements do in C order.
static void check_bits(const array &x, const array &given, uint64_t first) {
    if (given.boolean)
        fail(PyExc_TypeError,
             "cannot reduce x with where: its bits are an array of bools; give the "
             "array itself as where");
    if (redtune_dtype_bytes(given.dtype) != 1 || given.dimensions != 1 || !given.is_packed())
        fail(PyExc_TypeError, "cannot reduce x with where: its bits are no contiguous array of "
                              "uint8 of one axis");
    if (given.device != x.device)
        fail(PyExc_ValueError, "cannot reduce x with where: they lie on different devices; copy "
                               "the bits to the other's");
    const uint64_t bits = 8 * given.count();
    if (first > bits || bits - first < x.count())
        fail(PyExc_ValueError,
             "cannot reduce x with where: it has %llu bits, and x %llu elements from bit %llu on; "
             "give a longer buffer",
             static_cast<unsigned long long>(bits), static_cast<unsigned long long>(x.count()),
             static_cast<unsigned long long>(first));
}

static void view_mask(const array &x, mask_view *out) {
    out->view.data = out->given.data;
    out->view.dtype = REDTUNE_U8;
    out->view.on_host = out->given.on_host;
    out->view.device = out->given.device;
    out->view.dimensions = x.dimensions;
    out->view.shape = x.shape;
}

// Lists and bools are of the host; so are bits that become bools.
bool reduction::take_where(const array &x, nb::handle where, mask_view *out) {
    if (where.is_none() || where.ptr() == Py_True) return false;
    const bool bits = nb::hasattr(where, "_bools");
    array packed;
    if (bits) {
        array &raw = x.on_host ? packed : out->given;
        out->held = where.attr("_buffer");
        raw.read(out->held, "reduce x with where");
        mask_first = nb::cast<uint64_t>(where.attr("_first"));
        check_bits(x, raw, mask_first);
        if (!x.on_host) {
            view_mask(x, out);
            problem.mask = REDTUNE_MASK_BITS;
            return true;
        }
        mask_first = 0;
        nb::list shape;
        for (int i = 0; i < x.dimensions; i++) shape.append(x.shape[i]);
        out->held = where.attr("_bools")(nb::tuple(shape));
    } else if (where.ptr() == Py_False || PyList_Check(where.ptr())) {
        out->held = nb::module_::import_("numpy").attr("asarray")(where);
    } else {
        out->held = nb::borrow(where);
    }
    out->given.read(out->held, "reduce x with where");
    take_mask(x, out);
    return true;
}

void reduction::take_mask(const array &x, mask_view *out) {
    const array &given = out->given;
    if (!given.boolean)
        fail(PyExc_TypeError, "cannot reduce x with where: its elements are %s; give bools",
             redtune_dtype_name(given.dtype));
    if (given.device != x.device)
        fail(PyExc_ValueError, "cannot reduce x with where: they lie on different devices; copy "
                               "the mask to the other's");
    const int ahead = x.dimensions - given.dimensions;
    bool fits = ahead >= 0;
    int64_t packed = 1;
    for (int i = x.dimensions; fits && i-- > 0;) {
        const int64_t size = i < ahead ? 1 : given.shape[i - ahead];
        const int64_t step = i < ahead ? 0 : given.strides ? given.strides[i - ahead] : packed;
        fits = size == x.shape[i] || size == 1;
        out->strides[i] = size == 1 ? 0 : step;
        packed *= size;
    }
    if (!fits)
        fail(PyExc_ValueError,
             "cannot reduce x with where: their shapes are %s and %s; give a mask that broadcasts "
             "to x's",
             shape_text(x).c_str(), shape_text(given).c_str());
    view_mask(x, out);
    out->view.boolean = true;
    out->view.strides = out->strides;
    problem.mask = REDTUNE_MASK_BYTES;
}
