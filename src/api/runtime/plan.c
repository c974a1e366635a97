/* Plan: an executable chosen and loaded for a problem, and running it. */
#include "api/runtime/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include "base/reserved.h"
#include "base/trace.h"
#include "gpu/pointer.h"

/* Scratch of the caller's. */
struct redtune_workspace {
    redtune *rt;
    CUdeviceptr address;
    bool owned;
};

/* ---- making ---------------------------------------------------------------------------------- */

/* Makes what the plan will run from then on; without it the plan stays as it is. */
static void *finish_plan(void *user) {
    redtune_plan *plan = user;
    redtune_error failure;
    rdt_executable *made = NULL;
    if (rdt_executable_create(plan->rt, &plan->problem, plan->accumulates, false, &made,
                              &failure)) {
        rdt_log_write(&plan->rt->log, REDTUNE_LOG_WARNING, "going on with the default: %s",
                      failure.message);
        return NULL;
    }
    plan->later = made;
    atomic_store_explicit(&plan->now, made, memory_order_release);
    return NULL;
}

/* Compiling here and now is as good where there can be no thread. */
static void finish_in_background(redtune_plan *plan) {
    plan->threaded = !rdt_runtime_start_thread(finish_plan, plan, &plan->thread, NULL);
    if (!plan->threaded) finish_plan(plan);
}

redtune_status rdt_plan_make(redtune *rt, const redtune_problem *problem, bool accumulates,
                             redtune_plan **out, redtune_error *err) {
    if (!rt || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot create a plan: %s is NULL",
                        rt ? "out" : "rt");
    redtune_problem resolved;
    redtune_status status = rdt_problem_resolve(problem, &resolved, err);
    if (status) return status;
    redtune_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return rdt_fail_memory(err, sizeof *plan);
    plan->rt = rt;
    plan->input_bytes = redtune_dtype_bytes(resolved.dtype);
    plan->accumulates = accumulates;
    plan->count_max = rdt_problem_count_max(resolved.dtype);
    plan->layout = rdt_problem_layout(&resolved);
    status = rdt_executable_create(rt, &resolved, accumulates, rt->background, &plan->first, err);
    if (status) {
        free(plan);
        return status;
    }
    plan->result_bytes =
        accumulates ? (size_t)plan->first->launch.slot_bytes : redtune_dtype_bytes(resolved.result);
    resolved.config = NULL; /* the caller's */
    plan->problem = resolved;
    atomic_init(&plan->now, plan->first);
    /* What is pinned, or a part of something, is nothing to tune. */
    if (rt->recorder && !accumulates && plan->first->info.match != REDTUNE_MATCH_PINNED)
        plan->tally = calloc(1, sizeof *plan->tally);
    if (plan->first->info.pending) finish_in_background(plan);
    *out = plan;
    return REDTUNE_OK;
}

redtune_status redtune_plan_create(redtune *rt, const redtune_problem *problem, redtune_plan **out,
                                   redtune_error *err) {
    return rdt_plan_make(rt, problem, false, out, err);
}

void redtune_plan_destroy(redtune_plan *plan) {
    if (!plan) return;
    if (plan->threaded) pthread_join(plan->thread, NULL);
    const rdt_executable *served = rdt_plan_executable(plan);
    rdt_recorder_add(plan->rt->recorder, plan->tally,
                     &(rdt_served){&plan->problem, &served->measured, served->info.match,
                                   served->info.tuned_ns});
    rdt_executable_destroy(plan->rt, plan->first);
    rdt_executable_destroy(plan->rt, plan->later);
    free(plan);
}

void redtune_plan_info(const redtune_plan *plan, redtune_info *info) {
    if (info) *info = plan ? rdt_plan_executable(plan)->info : (redtune_info){.tuned_count = 0};
}

const char *redtune_plan_config(const redtune_plan *plan) {
    return plan ? rdt_plan_executable(plan)->text : "";
}

/* ---- running --------------------------------------------------------------------------------- */

/* The lowest bits that must be zero are those below the element's size, a power of two. */
static bool misaligned(const void *pointer, size_t bytes) {
    return ((uintptr_t)pointer & (bytes - 1)) != 0;
}

/* Where a run reads and writes. */
typedef struct places {
    rdt_span input, output;
} places;

/* Kernels read the input as memory that nobody writes while they run. */
static bool overlap(const rdt_span *a, const rdt_span *b) {
    return a->begin < b->end && b->begin < a->end;
}

static redtune_status refuse_extents(const redtune_plan *plan, const rdt_extents *extents,
                                     redtune_error *err) {
    const rdt_layout layout = rdt_problem_layout_of(extents);
    if (layout > plan->layout && layout == RDT_LAYOUT_COLUMNS)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " x %" PRIu64 " columns, of elements %" PRIu64
                        " apart, by a plan of %s: create it for a problem whose inner or step is "
                        "above 1",
                        extents->outer, extents->inner, extents->step,
                        plan->layout == RDT_LAYOUT_ROWS ? "rows" : "one result");
    if (layout > plan->layout)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " rows by a plan of one result: create it for a "
                        "problem whose outer is above 1",
                        extents->outer);
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce %" PRIu64 " elements in each of %" PRIu64 " x %" PRIu64
                    " results, outer_step %" PRIu64 " and step %" PRIu64
                    ": a plan spans at most %" PRIu64,
                    extents->count, extents->outer, extents->inner, extents->outer_step,
                    extents->step, plan->count_max);
}

/* The extents are complete. */
static redtune_status check_operands(const redtune_plan *plan, const void *d_in,
                                     const rdt_extents *extents, const void *d_out, places *out,
                                     redtune_error *err) {
    uint64_t elements = extents->count;
    if (rdt_problem_layout_of(extents) > plan->layout ||
        !rdt_problem_span(extents, plan->count_max, &elements))
        return refuse_extents(plan, extents, err);
    if (!d_out || misaligned(d_out, plan->result_bytes))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce into %p: d_out must be aligned to %zu bytes and not NULL",
                        d_out, plan->result_bytes);
    if ((!d_in && elements) || misaligned(d_in, plan->input_bytes))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce from %p: d_in must be aligned to %zu bytes and not NULL",
                        d_in, plan->input_bytes);
    const CUdeviceptr in = (CUdeviceptr)(uintptr_t)d_in, to = (CUdeviceptr)(uintptr_t)d_out;
    *out = (places){{in, in + elements * plan->input_bytes},
                    {to, to + extents->outer * extents->inner * plan->result_bytes}};
    if (!overlap(&out->input, &out->output)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce into %p: d_out lies within the input, %" PRIu64
                    " elements from %p on; give it memory of its own",
                    d_out, elements, d_in);
}

/* For REDTUNE_CHECK; the context is current. */
static redtune_status check_pointers(const redtune_plan *plan, const places *places,
                                     redtune_error *err) {
    const rdt_context *context = plan->rt->context;
    const rdt_span *in = &places->input, *out = &places->output;
    redtune_status status = rdt_pointer_check(context, "d_in", in->begin, in->end - in->begin, err);
    return status ? status
                  : rdt_pointer_check(context, "d_out", out->begin, out->end - out->begin, err);
}

/* In scratch of the stream's. */
static redtune_status run_here(redtune_plan *plan, const rdt_executable *executable,
                               const places *places, rdt_operands *operands, CUstream stream,
                               redtune_error *err) {
    rdt_workspace *workspace = plan->rt->workspace;
    const rdt_call call = {
        .stream = stream,
        .input = places->input,
        .output = places->output,
        .two_launches = executable->launch.final_threads != 0,
    };
    rdt_turn turn;
    redtune_status status = rdt_workspace_begin(workspace, &call, &turn, err);
    if (status) return status;
    operands->scratch = turn.scratch;
    operands->chained = turn.chained;
    status = rdt_kernel_launch(executable->kernel, &executable->launch, *operands, stream, err);
    rdt_workspace_end(workspace, &call, &turn, !status);
    return status;
}

/* In scratch of the caller's where it is not 0. */
static redtune_status run(redtune_plan *plan, CUdeviceptr scratch, const void *d_in,
                          rdt_extents extents, void *d_out, CUstream stream, redtune_error *err) {
    places places;
    if (!plan) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: the plan is NULL");
    extents = rdt_launch_complete(extents);
    redtune_status status = check_operands(plan, d_in, &extents, d_out, &places, err);
    if (status) return status;
    const rdt_context *context = plan->rt->context;
    const rdt_executable *executable = rdt_plan_executable(plan);
    rdt_operands operands = {
        .input = places.input.begin,
        .extents = extents,
        .output = places.output.begin,
        .scratch = scratch,
    };
    bool entered = false;
    status = rdt_context_enter(context, &entered, err);
    if (status) return status;
    rdt_trace_push("redtune run");
    if (plan->rt->check) status = check_pointers(plan, &places, err);
    if (!status)
        status = scratch ? rdt_kernel_launch(executable->kernel, &executable->launch, operands,
                                             stream, err)
                         : run_here(plan, executable, &places, &operands, stream, err);
    rdt_trace_pop();
    rdt_context_leave(context, entered);
    if (__builtin_expect(plan->tally != NULL, 0) && !status)
        rdt_recorder_count(plan->tally, &extents);
    return status;
}

redtune_status rdt_plan_reduce(redtune_plan *plan, const void *d_in, rdt_extents extents,
                               void *d_out, CUstream stream, redtune_error *err) {
    return run(plan, 0, d_in, extents, d_out, stream, err);
}

redtune_status redtune_plan_reduce(redtune_plan *plan, const void *d_in, uint64_t count,
                                   void *d_out, struct CUstream_st *stream, redtune_error *err) {
    return run(plan, 0, d_in, (rdt_extents){.count = count}, d_out, stream, err);
}

redtune_status redtune_plan_run(redtune_plan *plan, const redtune_operands *operands,
                                struct CUstream_st *stream, redtune_error *err) {
    if (!operands) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: the operands are NULL");
    if (operands->d_in[1] || operands->d_out[1])
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: %s is not NULL, and every op has one input and one output",
                        operands->d_in[1] ? "d_in[1]" : "d_out[1]");
    if (operands->parameters || operands->d_parameters || operands->d_count || operands->accumulate)
        return rdt_fail(
            err, REDTUNE_UNSUPPORTED, 0,
            "cannot reduce: parameters, d_parameters, d_count and accumulate must be 0");
    const redtune_workspace *workspace = operands->workspace;
    if (workspace && plan && workspace->rt != plan->rt)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: the workspace is of another redtune than the plan");
    redtune_status status = rdt_reserved_check(RDT_RESERVED(operands), "redtune_operands", err);
    if (status) return status;
    const rdt_extents extents = {operands->count, operands->outer, operands->inner,
                                 operands->outer_step, operands->step};
    return run(plan, workspace ? workspace->address : 0, operands->d_in[0], extents,
               operands->d_out[0], stream, err);
}

/* ---- the caller's scratch -------------------------------------------------------------------- */

enum { WORKSPACE_ALIGNMENT = 256 };

size_t redtune_workspace_bytes(void) { return RDT_SCRATCH_BYTES; }

static redtune_status set_up(redtune_workspace *workspace, CUstream stream, redtune_error *err) {
    const rdt_driver *driver = workspace->rt->context->driver;
    bool capturing = false;
    redtune_status status =
        rdt_workspace_is_capturing(workspace->rt->workspace, stream, &capturing, err);
    if (status) return status;
    if (capturing)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot create a workspace while its stream is captured: create it before");
    CUstreamCaptureMode mode = rdt_context_relax(workspace->rt->context);
    CUresult rc = CUDA_SUCCESS;
    if (workspace->owned) rc = driver->mem_alloc(&workspace->address, RDT_SCRATCH_BYTES);
    if (!rc) rc = driver->memset_d8_async(workspace->address, 0, RDT_SCRATCH_BYTES, stream);
    if (rc && workspace->owned && workspace->address) driver->mem_free(workspace->address);
    rdt_context_restore(workspace->rt->context, mode);
    return rdt_driver_check(driver, rc, err, "set up a workspace of %zu bytes",
                            (size_t)RDT_SCRATCH_BYTES);
}

redtune_status redtune_workspace_create(redtune *rt, void *d_memory, size_t bytes,
                                        struct CUstream_st *stream, redtune_workspace **out,
                                        redtune_error *err) {
    if (!rt || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot create a workspace: %s is NULL",
                        rt ? "out" : "rt");
    if (d_memory && bytes < RDT_SCRATCH_BYTES)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot create a workspace of %zu bytes: it takes %zu, as "
                        "redtune_workspace_bytes says",
                        bytes, (size_t)RDT_SCRATCH_BYTES);
    if (misaligned(d_memory, WORKSPACE_ALIGNMENT))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot create a workspace at %p: it must be aligned to %d bytes", d_memory,
                        WORKSPACE_ALIGNMENT);
    redtune_workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace) return rdt_fail_memory(err, sizeof *workspace);
    *workspace = (redtune_workspace){rt, (CUdeviceptr)(uintptr_t)d_memory, !d_memory};
    bool entered = false;
    redtune_status status = rdt_context_enter(rt->context, &entered, err);
    if (!status) {
        status = set_up(workspace, stream, err);
        rdt_context_leave(rt->context, entered);
    }
    if (status)
        free(workspace);
    else
        *out = workspace;
    return status;
}

void redtune_workspace_destroy(redtune_workspace *workspace) {
    if (!workspace) return;
    const rdt_context *context = workspace->rt->context;
    bool entered = false;
    if (workspace->owned && !rdt_context_enter(context, &entered, NULL)) {
        CUstreamCaptureMode mode = rdt_context_relax(context);
        context->driver->mem_free(workspace->address);
        rdt_context_restore(context, mode);
        rdt_context_leave(context, entered);
    }
    free(workspace);
}
