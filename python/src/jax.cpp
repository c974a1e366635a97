// Jax: the functions that XLA calls for a reduction within a program of JAX's.
//
// redtune/jax.py names the op, the axes or the spread of keys, and the parameters as attributes of
// the call; arrays are packed, row-major. XLA calls from threads of its own, without the GIL: it is
// taken to look the reduction up, and given back to run it.
#include "jax.h"

#include "keyed.h"
#include "runtime.h"
#include "xla.h"

namespace {

// The attributes of a call in the order of their names.
enum { ATTRIBUTE_AXES, ATTRIBUTE_OP, ATTRIBUTE_P0, ATTRIBUTE_P1, ATTRIBUTES };
enum { KEYED_OP, KEYED_P0, KEYED_P1, KEYED_SPREAD, KEYED_ATTRIBUTES };
static_assert(static_cast<int>(KEYED_ATTRIBUTES) == static_cast<int>(ATTRIBUTES),
              "both have as many");

XlaError *error_of(const XlaCall *call, int32_t code, const char *message) {
    XlaErrorCreate arguments = {sizeof arguments, nullptr, message, code};
    return call->api->create_error(&arguments);
}

// XLA looks which version a function is made for before it calls it.
bool give_metadata(const XlaCall *call) {
    XlaExtension *extension = call->extension;
    if (!extension || extension->type != XLA_EXTENSION_METADATA) return false;
    XlaMetadata *metadata = reinterpret_cast<XlaMetadataExtension *>(extension)->metadata;
    metadata->api_version.major_version = 0;
    metadata->api_version.minor_version = 1;
    metadata->traits = 0;
    return true;
}

// Where the call runs: a device's number and stream.
struct place {
    bool on_host;
    int device;
    CUstream_st *stream;
};

XlaError *find_place(const XlaCall *call, bool on_host, place *out) {
    *out = {on_host, on_host ? HOST_DEVICE : 0, nullptr};
    if (on_host) return nullptr;
    XlaStreamGet stream = {sizeof stream, nullptr, call->context, nullptr};
    XlaError *error = call->api->get_stream(&stream);
    if (error) return error;
    out->stream = static_cast<CUstream_st *>(stream.stream);
    // An older XLA does not say; most programs have one device.
    if (call->api->struct_size < sizeof(XlaApi)) return nullptr;
    XlaDeviceGet device = {sizeof device, nullptr, call->context, 0};
    error = call->api->get_device(&device);
    out->device = device.device;
    return error;
}

void read_buffer(const void *item, const place &where, array *out) {
    const auto *buffer = static_cast<const XlaBuffer *>(item);
    for (const XlaDtype &each : XLA_DTYPES)
        if (each.number == buffer->dtype) redtune_dtype_find(each.name, &out->dtype, nullptr);
    if (!out->dtype) fail(PyExc_TypeError, "cannot reduce XLA's dtype %d", int(buffer->dtype));
    out->boolean = buffer->dtype == XLA_PRED;
    out->data = buffer->data;
    out->on_host = where.on_host;
    out->device = where.device;
    out->dimensions = static_cast<int>(buffer->rank);
    out->shape = buffer->dims;
}

template <typename type> type scalar_of(const XlaCall *call, int attribute) {
    const auto *scalar = static_cast<const XlaScalar *>(call->attributes.items[attribute]);
    return *static_cast<const type *>(scalar->value);
}

nb::tuple axes_of(int64_t mask) {
    nb::list axes;
    for (int i = 0; i < DIMENSIONS_MAX; i++)
        if (mask >> i & 1) axes.append(i);
    return nb::tuple(axes);
}

// The first of two stands at that attribute.
nb::object parameters_of(const XlaCall *call, int count, int first) {
    if (!count) return nb::none();
    const double values[] = {scalar_of<double>(call, first), scalar_of<double>(call, first + 1)};
    return count == 1 ? nb::make_tuple(values[0]) : nb::make_tuple(values[0], values[1]);
}

void read_results(const XlaCall *call, const place &where, outputs *out) {
    for (int64_t i = 0; i < call->results.size && i < OUTPUTS_MAX; i++)
        read_buffer(call->results.items[i], where, &out->view[i]);
}

// Within the GIL; raises Python's exceptions.
void reduce(const XlaCall *call, const place &where) {
    array inputs[2];
    outputs results;
    reduction what;
    const auto op = static_cast<int>(scalar_of<int64_t>(call, ATTRIBUTE_OP));
    const bool two = call->arguments.size > 1;
    for (int64_t i = 0; i <= two; i++) read_buffer(call->arguments.items[i], where, &inputs[i]);
    read_results(call, where, &results);
    what.choose(op, inputs[0], REDTUNE_DTYPE_NONE);
    nb::object parameters = parameters_of(call, what.op->parameters, ATTRIBUTE_P0);
    what.take_parameters(parameters);
    const int64_t mask = scalar_of<int64_t>(call, ATTRIBUTE_AXES);
    const int rank = inputs[0].dimensions;
    const bool all = rank < DIMENSIONS_MAX && mask == (int64_t{1} << rank) - 1;
    nb::object axes = all ? nb::none() : nb::object(axes_of(mask));
    const array *second = two ? &inputs[1] : nullptr;
    what.fold(inputs[0], second, axes, false);
    if (what.is_empty) return;
    if (where.on_host)
        run_on_host(what, inputs[0], second, results, parameters);
    else
        run_on_device(what, inputs[0], second, results, parameters, where.stream);
}

void reduce_by_key(const XlaCall *call, const place &where) {
    array x, keys;
    outputs results;
    reduction what;
    const auto op = static_cast<int>(scalar_of<int64_t>(call, KEYED_OP));
    read_buffer(call->arguments.items[0], where, &x);
    read_buffer(call->arguments.items[1], where, &keys);
    read_results(call, where, &results);
    nb::object parameters = parameters_of(call, op_get(op)->parameters, KEYED_P0);
    const auto count = static_cast<uint64_t>(results.view[0].shape[0]);
    what.choose(op, x, REDTUNE_DTYPE_NONE);
    keyed_fold(x, keys, count, parameters, &what);
    what.problem.spread = static_cast<redtune_spread>(scalar_of<int64_t>(call, KEYED_SPREAD));
    keyed_run(what, x, keys, results, parameters, nullptr, where.stream);
}

using run_fn = void(const XlaCall *call, const place &where);

template <run_fn run, bool on_host> XlaError *handle(XlaCall *call) noexcept {
    place where;
    if (give_metadata(call)) return nullptr;
    if (call->attributes.size != ATTRIBUTES)
        return error_of(call, XLA_INVALID_ARGUMENT, "call it by redtune.jax");
    XlaError *error = find_place(call, on_host, &where);
    if (error) return error;
    if (!calling_begin()) return error_of(call, XLA_INTERNAL, "cannot reduce: the program ends");
    {
        nb::gil_scoped_acquire acquire;
        try {
            run(call, where);
        } catch (const std::exception &exception) {
            error = error_of(call, XLA_INTERNAL, exception.what());
        }
    }
    calling_end();
    return error;
}

nb::capsule capsule_of(XlaError *(*function)(XlaCall *)) {
    return nb::capsule(reinterpret_cast<void *>(function));
}

} // namespace

void jax_add(nb::module_ &module) {
    module.def("xla_handler", [](bool by_key, bool on_host) {
        if (by_key)
            return capsule_of(on_host ? handle<reduce_by_key, true> : handle<reduce_by_key, false>);
        return capsule_of(on_host ? handle<reduce, true> : handle<reduce, false>);
    });
}
