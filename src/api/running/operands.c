/* Operands: what a run is given, checked against what its plan is for, as a launch takes it.
 *
 * Kernels read inputs, parameters and counts as memory that nobody writes while they run, and each
 * output has its places for itself, as scratch has. So outputs and a workspace may lie over nothing
 * else that the run is given, from its first element to its last; they may touch it.
 * Most plans are plain: their runs have one input and one output, and get by with a part of the
 * checks, since a call is to cost the host as little as it can. */
#include "api/running/operands.h"

#include <inttypes.h>
#include <string.h>
#include "gpu/pointer.h"

static const char *const read_names[RDT_READS_MAX] = {
    "d_in", "d_in[1]", "d_parameters", "d_count", "d_mask", "d_out", "d_out[1]"};
static const char *const read_places[] = {"the input", "the second input", "d_parameters",
                                          "d_count",   "the mask",         NULL};
static const char *const output_names[] = {"d_out", "d_out[1]", "the workspace"};
static const char *const output_places[] = {"the first output", "the second output"};

rdt_signature rdt_operands_signature(const redtune_problem *problem, size_t slot_bytes) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    rdt_signature out = {
        .op = op,
        .uses = problem->uses,
        .input_bytes = rdt_problem_array_bytes(problem, 0),
        .second_bytes = rdt_problem_array_bytes(problem, 1),
        .masked = problem->mask != REDTUNE_MASK_NONE,
        .bits = rdt_problem_mask_bits(problem->mask),
        .listed = rdt_problem_mask_listed(problem->mask),
        .pairs = rdt_problem_mask_pairs(problem),
        .result_bytes = {redtune_dtype_bytes(problem->result),
                         redtune_dtype_bytes(rdt_problem_second(problem))},
        .count_max = rdt_problem_count_max(problem->dtype),
        .layout = rdt_problem_layout(problem),
    };
    /* No extents span so few: a run of such a plan has tables. */
    if (problem->segmented || rdt_problem_is_keyed(problem)) out.count_max = 0;
    if (slot_bytes) {
        out.result_bytes[0] = slot_bytes;
        out.result_bytes[1] = 0;
    }
    out.plain = !out.second_bytes && !out.result_bytes[1] && !op->parameters && !problem->uses;
    return out;
}

redtune_operands redtune_problem_operands(const redtune_problem *problem) {
    redtune_problem resolved;
    if (problem) rdt_problem_copy(&resolved, problem);
    if (!problem || rdt_problem_axes_resolve(&resolved, NULL))
        return (redtune_operands){.count = 0};
    const rdt_extents extents = rdt_problem_axes_written(&resolved);
    return (redtune_operands){.count = extents.count,
                              .outer = extents.outer,
                              .inner = extents.inner,
                              .outer_step = extents.outer_step,
                              .step = extents.step};
}

/* ---- one input and one output ---------------------------------------------------------------- */

/* The lowest bits that must be zero are those below the element's size, a power of two. */
static bool misaligned(CUdeviceptr address, size_t bytes) { return (address & (bytes - 1)) != 0; }

static CUdeviceptr address_of(const void *pointer) { return (CUdeviceptr)(uintptr_t)pointer; }

static redtune_status refuse_extents(const rdt_signature *signature, const rdt_extents *extents,
                                     redtune_error *err) {
    const rdt_layout layout = rdt_problem_layout_of(extents);
    const bool serves = rdt_problem_layout_serves(signature->layout, layout);
    if (rdt_problem_segments_of(signature->layout))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " elements by a plan of segments: run it by "
                        "redtune_plan_run_segments, or redtune_run_segments",
                        extents->count);
    if (signature->layout == RDT_LAYOUT_KEYED)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " elements without their keys by a plan by key: "
                        "run it by redtune_plan_run_keyed, or redtune_run_keyed",
                        extents->count);
    if (!serves && layout == RDT_LAYOUT_COLUMNS)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " x %" PRIu64 " columns, of elements %" PRIu64
                        " apart, by a plan of %s: create it for a problem whose inner or step is "
                        "above 1",
                        extents->outer, extents->inner, extents->step,
                        signature->layout == RDT_LAYOUT_ROWS ? "rows" : "one result");
    if (!serves)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " rows by a plan of one result: create it for a "
                        "problem whose outer is above 1",
                        extents->outer);
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce %" PRIu64 " elements in each of %" PRIu64 " x %" PRIu64
                    " results, outer_step %" PRIu64 " and step %" PRIu64
                    ": a plan spans at most %" PRIu64,
                    extents->count, extents->outer, extents->inner, extents->outer_step,
                    extents->step, signature->count_max);
}

static redtune_status refuse_d_out(int i, CUdeviceptr address, size_t bytes, redtune_error *err) {
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce into %p: %s must be aligned to %zu bytes and not NULL",
                    (void *)(uintptr_t)address, output_names[i], bytes);
}

/* What the caller's struct calls the second input. */
static const char *second_name(const rdt_signature *signature) {
    const bool tables = rdt_problem_segments_of(signature->layout);
    return tables || signature->layout == RDT_LAYOUT_KEYED ? "d_second" : read_names[1];
}

redtune_status rdt_operands_check_second(const rdt_signature *signature, const void *second,
                                         uint64_t count, const char *of, redtune_error *err) {
    const bool two = signature->op->inputs > 1;
    if (two ? second || !count : !second) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot compute the %s %s: d_second is %s",
                    signature->op->name, of,
                    two ? "NULL, and it has two inputs; give the second"
                        : "not NULL, and it has one input; leave it NULL");
}

static redtune_status refuse_d_in(const char *name, CUdeviceptr address, size_t bytes,
                                  redtune_error *err) {
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce from %p: %s must be aligned to %zu bytes and not NULL",
                    (void *)(uintptr_t)address, name, bytes);
}

static redtune_status refuse_overlap(int i, const rdt_span *output, const char *with,
                                     const rdt_span *other, redtune_error *err) {
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce into %p: %s lies within %s, %" PRIu64
                    " bytes from %p on; give it memory of its own",
                    (void *)(uintptr_t)output->begin, output_names[i], with,
                    (uint64_t)(other->end - other->begin), (void *)(uintptr_t)other->begin);
}

static const char *name_in(const char *const *places, uint64_t i) {
    while (i-- && places[1]) places++;
    return *places;
}

redtune_status rdt_operands_check_apart(const rdt_traffic *traffic, CUdeviceptr scratch,
                                        const rdt_span *others, uint64_t count,
                                        const char *const *places, redtune_error *err) {
    const rdt_span *outputs = traffic->written;
    const rdt_span workspace = {scratch, scratch ? scratch + RDT_SCRATCH_BYTES : 0};
    for (int i = 0; i <= RDT_WRITES_MAX; i++) {
        const rdt_span *written = i < RDT_WRITES_MAX ? &outputs[i] : &workspace;
        if (i < RDT_WRITES_MAX && i >= traffic->written_count) continue;
        for (int j = 0; j < i && j < traffic->written_count; j++)
            if (rdt_scratch_pool_overlap(written, &outputs[j]))
                return refuse_overlap(i, written, output_places[j], &outputs[j], err);
        for (uint64_t k = 0; k < count; k++)
            if (rdt_scratch_pool_overlap(written, &others[k]))
                return refuse_overlap(i, written, name_in(places, k), &others[k], err);
    }
    return REDTUNE_OK;
}

/* ---- what other runs have beside ------------------------------------------------------------- */

static redtune_status refuse_more(const rdt_signature *signature, const char *what,
                                  const char *remedy, redtune_error *err) {
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot compute the %s: %s; %s", signature->op->name,
                    what, remedy);
}

/* What is given that the op or the plan has no use for, or is missing. */
static redtune_status check_kinds(const rdt_signature *signature, const redtune_operands *given,
                                  uint64_t elements, redtune_error *err) {
    const rdt_op_traits *op = signature->op;
    if (given->d_in[1] && op->inputs < 2)
        return refuse_more(signature, "d_in[1] is not NULL, and it has one input",
                           "leave d_in[1] NULL", err);
    if (!given->d_in[1] && op->inputs > 1 && elements)
        return refuse_more(signature, "d_in[1] is NULL, and it has two inputs",
                           "give redtune_run or redtune_plan_run both", err);
    if (given->d_mask && !signature->masked)
        return refuse_more(signature, "d_mask is not NULL, and the plan has no kernel for it",
                           "create it for a problem whose mask is REDTUNE_MASK_BYTES or _BITS",
                           err);
    if (!given->d_mask && signature->masked && elements)
        return refuse_more(signature, "d_mask is NULL, and its problem has a mask",
                           "give redtune_run or redtune_plan_run a byte or a bit for each element",
                           err);
    if (given->mask_first && (!signature->bits || signature->listed))
        return refuse_more(signature, "mask_first is not 0, and there is no mask of bits",
                           "leave mask_first 0, or create the plan for REDTUNE_MASK_BITS", err);
    if (given->d_out[1] && !signature->result_bytes[1])
        return refuse_more(signature, "d_out[1] is not NULL, and it has one result",
                           "leave d_out[1] NULL", err);
    if (!given->d_out[1] && signature->result_bytes[1])
        return refuse_more(signature, "d_out[1] is NULL, and it has two results",
                           "give memory for both as operands", err);
    if ((given->parameters || given->d_parameters) && !op->parameters)
        return refuse_more(signature, "parameters are given, and it has none", "leave them NULL",
                           err);
    if (given->parameters && given->d_parameters)
        return refuse_more(signature, "both parameters and d_parameters are given",
                           "leave one of them NULL", err);
    if (given->d_count && !(signature->uses & REDTUNE_USE_DEVICE_COUNT))
        return refuse_more(signature, "d_count is given, and the plan has no kernel for it",
                           "create it for a problem whose uses has REDTUNE_USE_DEVICE_COUNT", err);
    if (given->accumulate && !(signature->uses & REDTUNE_USE_ACCUMULATE))
        return refuse_more(signature, "accumulate is not 0, and the plan has no kernel for it",
                           "create it for a problem whose uses has REDTUNE_USE_ACCUMULATE", err);
    if (given->initial && !(signature->uses & REDTUNE_USE_INITIAL))
        return refuse_more(signature, "initial is given, and the plan has no kernel for it",
                           "create it for a problem whose uses has REDTUNE_USE_INITIAL", err);
    if (given->initial && given->accumulate)
        return refuse_more(signature, "both initial and accumulate are given",
                           "leave one of them 0", err);
    return REDTUNE_OK;
}

/* The bytes of that many bits from that number on (templates/lib/mask_bits.cu). */
static rdt_span bits_of(uint64_t number, uint64_t bits) {
    return (rdt_span){number / 8, (number + bits + 7) / 8};
}

static rdt_span span_of(CUdeviceptr begin, uint64_t bytes) {
    return (rdt_span){begin, begin + bytes};
}

/* As kernels take it: an address, that of the table of masks, or the number of a bit. */
static uint64_t place_of_mask(const rdt_signature *signature, const redtune_operands *given) {
    const CUdeviceptr mask = address_of(given->d_mask);
    return mask && signature->bits && !signature->listed ? mask * 8 + given->mask_first : mask;
}

static rdt_span span_of_mask(const rdt_signature *signature, uint64_t place, uint64_t elements) {
    if (!place) return (rdt_span){0, 0};
    if (signature->listed) return span_of(place, elements * sizeof(uint64_t));
    return signature->bits ? bits_of(place, elements) : span_of(place, elements);
}

void rdt_operands_set_scalars(const rdt_op_traits *op, const double *parameters, rdt_given *out) {
    for (int i = 0; i < op->parameters; i++)
        out->scalar[i] = parameters ? parameters[i] : op->parameter[i].usual;
}

void rdt_operands_set_initial(const redtune_value *initial, rdt_given *out) {
    if (!initial) return;
    out->resumes = 2;
    memcpy(&out->scalar[0], initial, sizeof out->scalar[0]);
}

/* A pointer to doubles or counts on the GPU; NULL: there is none. */
static redtune_status take_gpu_value(const char *name, const void *pointer, size_t bytes,
                                     uint64_t *place, rdt_span *span, redtune_error *err) {
    const CUdeviceptr address = address_of(pointer);
    if (misaligned(address, sizeof(uint64_t)))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot read %s at %p: it must be aligned to %zu bytes", name, pointer,
                        sizeof(uint64_t));
    *place = address;
    if (address) *span = span_of(address, bytes);
    return REDTUNE_OK;
}

redtune_status rdt_operands_take_more(const rdt_signature *signature, const redtune_operands *given,
                                      uint64_t elements, uint64_t results, rdt_operands *operands,
                                      rdt_traffic *traffic, redtune_error *err) {
    rdt_given *out = &operands->given;
    const rdt_op_traits *op = signature->op;
    redtune_status status = check_kinds(signature, given, elements, err);
    if (!status) status = rdt_op_check_parameters(op, given->parameters, err);
    if (status) return status;
    const bool alone = signature->masked && !signature->pairs; /* a mask, in place of an input */
    const uint64_t mask = place_of_mask(signature, given);
    const CUdeviceptr in = alone ? 0 : address_of(given->d_in[1]), to = address_of(given->d_out[1]);
    const size_t input_bytes = signature->second_bytes, result_bytes = signature->result_bytes[1];
    if (in && misaligned(in, input_bytes))
        return refuse_d_in(second_name(signature), in, input_bytes, err);
    if (to && misaligned(to, result_bytes)) return refuse_d_out(1, to, result_bytes, err);
    *out = (rdt_given){.input = alone ? mask : in,
                       .output = to,
                       .resumes = given->accumulate != 0,
                       .mask = alone ? 0 : mask};
    for (int i = 1; i < RDT_READS_MAX; i++) traffic->read[i] = (rdt_span){0, 0};
    if (in) traffic->read[1] = span_of(in, elements * input_bytes);
    traffic->read[RDT_READ_MASK] = span_of_mask(signature, mask, elements);
    if (to) traffic->written[traffic->written_count++] = span_of(to, results * result_bytes);
    rdt_operands_set_scalars(op, given->parameters, out);
    rdt_operands_set_initial(given->initial, out);
    status =
        take_gpu_value("d_parameters", given->d_parameters, (size_t)op->parameters * sizeof(double),
                       &out->scalars, &traffic->read[RDT_READ_PARAMETERS], err);
    if (!status)
        status = take_gpu_value("d_count", given->d_count, sizeof(uint64_t), &out->count,
                                &traffic->read[RDT_READ_COUNT], err);
    if (!status)
        status = rdt_operands_check_apart(traffic, operands->scratch, traffic->read,
                                          RDT_READ_OUTPUTS, read_places, err);
    traffic->read_count = RDT_READS_MAX;
    for (int i = 0; given->accumulate && i < traffic->written_count; i++)
        traffic->read[RDT_READ_OUTPUTS + i] = traffic->written[i];
    return status;
}

/* ---- a run ----------------------------------------------------------------------------------- */

redtune_status rdt_operands_take(const rdt_signature *signature, const redtune_operands *more,
                                 rdt_operands *operands, rdt_traffic *traffic, redtune_error *err) {
    static const redtune_operands nothing = {.count = 0};
    rdt_extents *extents = &operands->extents;
    *extents = rdt_launch_complete(*extents);
    uint64_t elements = extents->count;
    if (!rdt_problem_layout_serves(signature->layout, rdt_problem_layout_of(extents)) ||
        !rdt_problem_span(extents, signature->count_max, &elements))
        return refuse_extents(signature, extents, err);
    const CUdeviceptr in = operands->input, to = operands->output;
    const size_t input_bytes = signature->input_bytes, result_bytes = signature->result_bytes[0];
    const uint64_t results = extents->outer * extents->inner;
    if (!to || misaligned(to, result_bytes)) return refuse_d_out(0, to, result_bytes, err);
    if ((!in && elements) || misaligned(in, input_bytes))
        return refuse_d_in("d_in", in, input_bytes, err);
    traffic->read_count = traffic->written_count = 1;
    traffic->read[0] = span_of(in, elements * input_bytes);
    traffic->written[0] = span_of(to, results * result_bytes);
    if (__builtin_expect(signature->plain && !more, 1))
        return rdt_operands_check_apart(traffic, operands->scratch, traffic->read, 1, read_places,
                                        err);
    return rdt_operands_take_more(signature, more ? more : &nothing, elements, results, operands,
                                  traffic, err);
}

/* ---- any axes -------------------------------------------------------------------------------- */

/* What a run reads or writes there, from its address on. */
static void move_span(rdt_span *span, const redtune_problem *problem, redtune_array array,
                      size_t bytes) {
    const rdt_reach reach = rdt_strides_reach(problem, array);
    const CUdeviceptr begin = span->begin + (CUdeviceptr)(reach.first * (int64_t)bytes);
    if (span->begin) *span = span_of(begin, reach.elements * bytes);
}

static redtune_status check_same_extents(const rdt_extents *given, const rdt_extents *own,
                                         redtune_error *err) {
    const bool same = (!given->count || given->count == own->count) &&
                      (given->outer <= 1 || given->outer == own->outer) && given->inner <= 1 &&
                      (!given->outer_step || given->outer_step == own->count) && given->step <= 1;
    if (same) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce %" PRIu64 " elements in each of %" PRIu64
                    " results by a plan of %" PRIu64 " and %" PRIu64
                    " along axes with steps of their own: leave the extents 0, or make a plan",
                    given->count, given->outer, own->count, own->outer);
}

redtune_status rdt_operands_take_strided(const rdt_signature *signature,
                                         const redtune_problem *problem,
                                         const redtune_operands *more, rdt_operands *operands,
                                         rdt_strides *strides, rdt_traffic *traffic,
                                         redtune_error *err) {
    static const redtune_operands nothing = {.count = 0};
    const rdt_extents own = rdt_problem_strided_extents(problem);
    const uint64_t elements = own.count ? 1 : 0;
    const CUdeviceptr in = operands->input, to = operands->output;
    const size_t input_bytes = signature->input_bytes, result_bytes = signature->result_bytes[0];
    redtune_status status = check_same_extents(&operands->extents, &own, err);
    if (status) return status;
    if (!to || misaligned(to, result_bytes)) return refuse_d_out(0, to, result_bytes, err);
    if ((!in && elements) || misaligned(in, input_bytes))
        return refuse_d_in("d_in", in, input_bytes, err);
    traffic->read_count = traffic->written_count = 1;
    traffic->read[0] = span_of(in, 0);
    traffic->written[0] = span_of(to, 0);
    status = rdt_operands_take_more(signature, more ? more : &nothing, elements, 1, operands,
                                    traffic, err);
    if (status) return status;
    const bool alone = signature->masked && !signature->pairs;
    move_span(&traffic->read[0], problem, REDTUNE_ARRAY_X, input_bytes);
    if (!alone) move_span(&traffic->read[1], problem, REDTUNE_ARRAY_Y, signature->second_bytes);
    if (signature->masked) {
        const uint64_t place = alone ? operands->given.input : operands->given.mask;
        const rdt_reach reach = rdt_strides_reach(problem, REDTUNE_ARRAY_MASK);
        traffic->read[RDT_READ_MASK] =
            span_of_mask(signature, place ? place + (uint64_t)reach.first : 0, reach.elements);
    }
    for (int i = 0; i < traffic->written_count; i++)
        move_span(&traffic->written[i], problem, REDTUNE_ARRAY_RESULTS, signature->result_bytes[i]);
    for (int i = 0; operands->given.resumes && i < traffic->written_count; i++)
        traffic->read[RDT_READ_OUTPUTS + i] = traffic->written[i];
    operands->extents = own;
    rdt_strides_set(strides, problem);
    operands->strides = strides;
    return rdt_operands_check_apart(traffic, operands->scratch, traffic->read, RDT_READ_OUTPUTS,
                                    read_places, err);
}

static redtune_status check_pointer(const rdt_context *context, const char *name,
                                    const rdt_span *span, redtune_error *err) {
    return rdt_pointer_check(context, name, span->begin, span->end - span->begin, err);
}

redtune_status rdt_operands_check_pointers(const rdt_context *context, const rdt_traffic *traffic,
                                           const char *second_name, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < traffic->read_count; i++)
        status =
            check_pointer(context, i == 1 ? second_name : read_names[i], &traffic->read[i], err);
    for (int i = 0; !status && i < traffic->written_count; i++)
        status = check_pointer(context, output_names[i], &traffic->written[i], err);
    return status;
}
