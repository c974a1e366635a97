/* Operands: what a run is given, checked against what its plan is for, as a launch takes it. */
#pragma once

#include "api/runtime/workspace.h"
#include "gpu/kernel.h"
#include "model/problem.h"
#include "model/strides.h"

/* What a plan's runs may be given. */
typedef struct rdt_signature {
    const rdt_op_traits *op;
    uint64_t uses;          /* of the problem */
    size_t input_bytes;     /* of one element */
    size_t second_bytes;    /* of one element of the second input or the mask; 0: it has neither */
    bool masked, bits;      /* whether there is a mask, and whether that is of bits */
    bool listed;            /* whether each array has one, which a table on the GPU names */
    bool pairs;             /* whether that is of two inputs */
    size_t result_bytes[2]; /* of one result; the second is 0 where a run leaves one array */
    uint64_t count_max;     /* elements that an input spans */
    rdt_layout layout;      /* it serves extents of this one and of those before */
    bool plain;             /* a run has one input and one output, and nothing beside */
} rdt_signature;

/* slot_bytes: of the accumulators that the runs leave in place of results; 0: they leave results.
 * The problem is resolved. */
rdt_signature rdt_operands_signature(const redtune_problem *problem, size_t slot_bytes);

/* What a call gives, scratch 0 and zeros among the extents where it leaves them out. Each by
 * itself: a struct that is made by words and copied by vectors would cost more than all else here.
 */
static inline void rdt_operands_set(rdt_operands *out, const void *d_in, void *d_out,
                                    uint64_t count) {
    out->input = (CUdeviceptr)(uintptr_t)d_in;
    out->output = (CUdeviceptr)(uintptr_t)d_out;
    out->extents.count = count;
    out->extents.outer = out->extents.inner = 0;
    out->extents.outer_step = out->extents.step = 0;
    out->strides = NULL;
    out->scratch = 0;
    out->scratch_bytes = RDT_SCRATCH_BYTES;
    out->chained = false;
}

/* Whether they have more than an input, an output, extents and a workspace. */
static inline bool rdt_operands_have_more(const redtune_operands *given) {
    return given->d_in[1] || given->d_mask || given->d_out[1] || given->parameters ||
           given->d_parameters || given->d_count || given->accumulate || given->initial;
}

/* Sets the op's parameters: these, or where they are NULL the usual ones. */
void rdt_operands_set_scalars(const rdt_op_traits *op, const double *parameters, rdt_given *out);

/* Sets what results begin with; NULL: nothing. */
void rdt_operands_set_initial(const redtune_value *initial, rdt_given *out);

/* Checks the first input, the first output and the extents of *operands, and completes them by what
 * else is given (NULL: nothing); says what the run reads and writes. */
redtune_status rdt_operands_take(const rdt_signature *signature, const redtune_operands *more,
                                 rdt_operands *operands, rdt_traffic *traffic, redtune_error *err);

/* The same of a problem of any axes, which is resolved: its axes say where elements are. Sets
 * *strides, which operands then refer to. */
redtune_status rdt_operands_take_strided(const rdt_signature *signature,
                                         const redtune_problem *problem,
                                         const redtune_operands *more, rdt_operands *operands,
                                         rdt_strides *strides, rdt_traffic *traffic,
                                         redtune_error *err);

/* That the second input of a run `of` segments or `by` key is there where the op has two, and only
 * there. */
redtune_status rdt_operands_check_second(const rdt_signature *signature, const void *second,
                                         uint64_t count, const char *of, redtune_error *err);

/* The part of it after the first input and the first output: those are in *traffic, `elements` and
 * `results` of them. */
redtune_status rdt_operands_take_more(const rdt_signature *signature, const redtune_operands *given,
                                      uint64_t elements, uint64_t results, rdt_operands *operands,
                                      rdt_traffic *traffic, redtune_error *err);

/* The rule for all operands: what a run writes, its outputs and the caller's scratch (0: there is
 * none), overlaps neither each other nor any of `count` others. places: what messages call these,
 * up to NULL; the last name is that of all that follow. */
redtune_status rdt_operands_check_apart(const rdt_traffic *traffic, CUdeviceptr scratch,
                                        const rdt_span *others, uint64_t count,
                                        const char *const *places, redtune_error *err);

/* For REDTUNE_CHECK: asks the driver about each pointer, of which the second input's has that name.
 * The context is current. */
redtune_status rdt_operands_check_pointers(const rdt_context *context, const rdt_traffic *traffic,
                                           const char *second_name, redtune_error *err);
