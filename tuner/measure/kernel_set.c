/* Kernel set: the kernels of one problem class, compiled, loaded and checked at their edges once.
 */
#include "tuner/measure/kernel_set.h"

#include <stdlib.h>
#include "tuner/measure/verify.h"
#include "tuner/measure/verify_keyed.h"
#include "tuner/measure/verify_segments.h"
#include "tuner/measure/verify_shapes.h"
#include "tuner/measure/verify_strides.h"

struct rdt_kernel_set {
    const rdt_test_buffers *buffers;
    rdt_maker maker;
    rdt_kernel_set_entry *first;
    rdt_kernel *flush_kernel;
    rdt_launch flush_launch;
};

/* Elements of each input that are in the flush buffer, one input behind the other. */
static uint64_t flush_count(const rdt_test_buffers *buffers) {
    return buffers->flush.bytes / rdt_problem_input_bytes(&buffers->problem);
}

/* Whether the failure is the candidate's, and not one that every later candidate would meet: a
 * template that does not render is no other family's, and a launch that needs too much leaves the
 * context as it was. */
static bool survivable(const redtune_error *error) {
    return error->status == REDTUNE_COMPILER || error->status == REDTUNE_TEMPLATE ||
           error->status == REDTUNE_WRONG ||
           (error->status == REDTUNE_DEVICE && error->code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

/* Makes the kernel that flushes: the built-in default for whole arrays as large as the flush
 * buffer, or that of the next family, where it cannot be made. */
static redtune_status make_flush(rdt_kernel_set *kernels, const redtune_problem *problem,
                                 redtune_error *err) {
    rdt_codegen *codegen = kernels->maker.codegen;
    redtune_problem flush =
        redtune_problem_whole(problem->op, problem->dtype, flush_count(kernels->buffers));
    flush.result = problem->result;
    rdt_case at = {&flush, &kernels->buffers->context->facts};
    rdt_point points[RDT_FAMILY_MAX];
    size_t count = 0;
    redtune_error why;
    redtune_status status = rdt_rules_defaults(codegen, at, points, &count, &why);
    for (size_t i = 0; i < count; i++) {
        status = rdt_rules_launch(codegen, at, &points[i], &kernels->flush_launch, &why);
        if (!status)
            status = kernels->maker.make(kernels->maker.user, &flush, &points[i],
                                         &kernels->flush_launch, &kernels->flush_kernel, &why);
        if (!status || !survivable(&why)) break;
    }
    if (status && err) *err = why;
    return status;
}

redtune_status rdt_kernel_set_create(const rdt_test_buffers *buffers, const rdt_maker *maker,
                                     const redtune_problem *problem, rdt_kernel_set **out,
                                     redtune_error *err) {
    rdt_kernel_set *kernels = calloc(1, sizeof *kernels);
    if (!kernels) return rdt_fail_memory(err, sizeof *kernels);
    kernels->buffers = buffers;
    kernels->maker = *maker;
    redtune_status status = make_flush(kernels, problem, err);
    if (status)
        rdt_kernel_set_destroy(kernels);
    else
        *out = kernels;
    return status;
}

redtune_status rdt_kernel_set_flush(const rdt_kernel_set *kernels, redtune_error *err) {
    const rdt_test_buffers *buffers = kernels->buffers;
    const uint64_t count = flush_count(buffers);
    const CUdeviceptr output = buffers->output.address;
    const CUdeviceptr behind = buffers->flush.address + count * redtune_dtype_bytes(buffers->dtype);
    const rdt_operands operands = {
        .input = buffers->flush.address,
        .extents.count = count,
        .output = output,
        .scratch = buffers->scratch.address,
        .given = rdt_test_buffers_given(buffers, buffers->inputs > 1 ? behind : 0,
                                        output + RDT_TEST_BUFFERS_RESULT_BYTES),
    };
    return rdt_kernel_start(kernels->flush_kernel, &kernels->flush_launch, &operands,
                            buffers->stream, err);
}

void rdt_kernel_set_destroy(rdt_kernel_set *kernels) {
    if (!kernels) return;
    for (rdt_kernel_set_entry *entry = kernels->first, *next; entry; entry = next) {
        next = entry->next;
        for (int i = 0; i < RDT_KERNEL_SET_COPIES; i++) rdt_kernel_unload(entry->copies[i]);
        free(entry);
    }
    rdt_kernel_unload(kernels->flush_kernel);
    free(kernels);
}

static redtune_status verify_edges(const rdt_test_buffers *buffers, const redtune_problem *problem,
                                   const rdt_kernel *kernel, const rdt_launch *launch,
                                   redtune_error *err) {
    if (problem->segmented) return rdt_verify_segments_edges(buffers, problem, kernel, launch, err);
    if (rdt_problem_is_strided(problem))
        return rdt_verify_strides_edges(buffers, problem, kernel, launch, err);
    if (rdt_problem_is_keyed(problem))
        return rdt_verify_keyed_edges(buffers, problem, kernel, launch, err);
    return buffers->is_whole ? rdt_verify_edges(buffers, problem, kernel, launch, err)
                             : rdt_verify_shapes_edges(buffers, problem, kernel, launch, err);
}

/* Compiles, loads and checks. A failure that is the candidate's own ends up in the entry. */
static redtune_status fill_entry(rdt_kernel_set *kernels, const redtune_problem *problem,
                                 const rdt_launch *launch, rdt_kernel_set_entry *entry,
                                 redtune_error *err) {
    entry->outcome = RDT_OUTCOME_UNCOMPILED;
    redtune_status status = kernels->maker.make(kernels->maker.user, problem, &entry->point, launch,
                                                &entry->copies[0], &entry->error);
    if (!status) {
        status = verify_edges(kernels->buffers, problem, entry->copies[0], launch, &entry->error);
        entry->outcome = status == REDTUNE_WRONG ? RDT_OUTCOME_WRONG
                         : status                ? RDT_OUTCOME_FAULTED
                                                 : RDT_OUTCOME_GOOD;
    }
    if (!status || survivable(&entry->error)) return REDTUNE_OK;
    if (err) *err = entry->error;
    return status;
}

/* What was made for another problem of the class. */
static redtune_status allow(const rdt_kernel_set_entry *entry, const rdt_launch *launch,
                            redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < RDT_KERNEL_SET_COPIES; i++)
        if (entry->copies[i]) status = rdt_kernel_allow(entry->copies[i], launch, err);
    return status;
}

redtune_status rdt_kernel_set_get(rdt_kernel_set *kernels, const redtune_problem *problem,
                                  const rdt_point *point, const rdt_launch *launch,
                                  rdt_kernel_set_entry **out, redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(kernels->maker.codegen);
    rdt_kernel_set_entry *entry = kernels->first;
    while (entry && !rdt_point_same_kernel(spaces, &entry->point, point)) entry = entry->next;
    if (entry) {
        *out = entry;
        return entry->outcome == RDT_OUTCOME_GOOD ? allow(entry, launch, err) : REDTUNE_OK;
    }
    entry = calloc(1, sizeof *entry);
    if (!entry) return rdt_fail_memory(err, sizeof *entry);
    entry->point = *point;
    entry->next = kernels->first;
    kernels->first = entry;
    redtune_status status = fill_entry(kernels, problem, launch, entry, err);
    if (!status) *out = entry;
    return status;
}

int rdt_kernel_set_copy(rdt_kernel_set *kernels, const redtune_problem *problem,
                        const rdt_launch *launch, rdt_kernel_set_entry *entry) {
    const rdt_maker *maker = &kernels->maker;
    for (int i = 1; i < RDT_KERNEL_SET_COPIES; i++) {
        redtune_error why;
        if (!entry->copies[i] &&
            maker->make(maker->user, problem, &entry->point, launch, &entry->copies[i], &why))
            return i;
    }
    return RDT_KERNEL_SET_COPIES;
}
