/* Readers: where the elements of inputs that are not on the GPU come from: a caller's readers. */
#include "api/host_inputs/readers.h"

#include "base/reserved.h"

const char *rdt_readers_name(const rdt_readers *readers, int input) {
    if (input == rdt_readers_mask(readers)) return "its mask";
    if (readers->count - readers->masked < 2) return "its input";
    return input ? "its second input" : "its first input";
}

int rdt_readers_mask(const rdt_readers *readers) {
    return readers->masked ? readers->count - 1 : -1;
}

redtune_status rdt_readers_check_second(const redtune_input *second, bool has_third,
                                        const char *how, redtune_error *err) {
    redtune_status status = rdt_reserved_check(RDT_RESERVED(second), "redtune_input", err);
    if (status) return status;
    const char *wrong = !second->read ? "read is NULL"
                        : (second->second && !has_third) || second->parameters || second->initial
                            ? "second, parameters and initial must be NULL"
                            : NULL;
    if (!wrong) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce %s: the second's %s", how, wrong);
}

redtune_status rdt_readers_open(const redtune_problem *problem, const redtune_input *input,
                                rdt_readers *out, redtune_error *err) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const redtune_input *second = input->second;
    const bool pairs = rdt_problem_mask_pairs(problem);
    redtune_status status = rdt_reserved_check(RDT_RESERVED(input), "redtune_input", err);
    if (status) return status;
    if (second && pairs && !second->second)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot compute the %s with a mask: input->second->second is NULL; give "
                        "the reader of the mask",
                        op->name);
    if (!second && problem->mask && !pairs)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot compute the %s with a mask: input->second is NULL; give the "
                        "reader of the mask",
                        op->name);
    if (problem->mask && problem->mask != REDTUNE_MASK_BYTES)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s of an input with a mask of %s: read bytes, and "
                        "set problem.mask to REDTUNE_MASK_BYTES",
                        op->name, rdt_problem_mask_bits(problem->mask) ? "bits" : "each array");
    if ((!problem->mask || pairs) && !second != (op->inputs < 2))
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot compute the %s: input->second is %s",
                        op->name,
                        second ? "not NULL, and it has one input" : "NULL, and it has two inputs");
    if (input->parameters && !op->parameters)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot compute the %s: parameters are given, and it has none; leave "
                        "input->parameters NULL",
                        op->name);
    if ((status = rdt_op_check_parameters(op, input->parameters, err))) return status;
    if (problem->uses)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce an input with problem.uses: they are for operands on the "
                        "GPU; leave them 0");
    if (second && (status = rdt_readers_check_second(second, pairs, "two inputs", err)))
        return status;
    if (pairs && (status = rdt_readers_check_second(second->second, false, "with a mask", err)))
        return status;
    *out = (rdt_readers){
        .input = {input, second, pairs ? second->second : NULL},
        .count = pairs    ? 3
                 : second ? 2
                          : 1,
        .masked = problem->mask != REDTUNE_MASK_NONE,
    };
    for (int i = 0; i < out->count; i++)
        out->element_bytes[i] = rdt_problem_array_bytes(problem, i);
    return REDTUNE_OK;
}

redtune_status rdt_readers_read(const rdt_readers *readers, int input, void *buffer,
                                size_t capacity, size_t *bytes, redtune_error *err) {
    const redtune_input *from = readers->input[input];
    size_t more = 0;
    redtune_status status = from->read(from->user, buffer, capacity, &more, err);
    if (status) return status;
    if (more > capacity || more % readers->element_bytes[input])
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce an input: its reader gave %zu bytes, which is no whole "
                        "number of elements up to %zu bytes",
                        more, capacity);
    *bytes = more;
    return REDTUNE_OK;
}

redtune_status rdt_readers_fill(const rdt_readers *readers, int input, void *buffer,
                                size_t capacity, size_t *bytes, redtune_error *err) {
    unsigned char *to = buffer;
    size_t filled = 0, more = 1;
    while (filled < capacity && more) {
        redtune_status status =
            rdt_readers_read(readers, input, to + filled, capacity - filled, &more, err);
        if (status) return status;
        filled += more;
    }
    *bytes = filled;
    return REDTUNE_OK;
}
