/* Plan: a kernel chosen and loaded for a problem, and running it. */
#include "api/state.h"

#include <inttypes.h>
#include <stdlib.h>

/* Chooses the config and fills what the plan tells about it. */
static redtune_status choose(redtune_plan *plan, const redtune_problem *problem, rdt_choice *choice,
                             redtune_error *err) {
    redtune *rt = plan->rt;
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_builder_borrow(rt->builder, &codegen, err);
    if (status) return status;
    rdt_case at = {problem, &rt->context->facts};
    pthread_mutex_lock(&rt->lock);
    status = rdt_select(&rt->winners, codegen, at, choice, err);
    if (!status) {
        redtune_info *info = &plan->info;
        const rdt_space *space = rdt_codegen_space(codegen, choice->family);
        info->problem = *problem;
        info->match = choice->match;
        rdt_text_copy(info->family, sizeof info->family, space->family);
        rdt_config_format(space, &choice->config, info->config);
        if (choice->row) {
            info->tuned_count = choice->row->trial.problem.count;
            info->tuned_ns = choice->row->trial.median_ns;
            rdt_text_copy(info->gpu, sizeof info->gpu, choice->row->gpu.name);
        }
        choice->row = NULL; /* the winners may be read anew once the lock is gone */
    }
    pthread_mutex_unlock(&rt->lock);
    if (!status)
        status =
            rdt_codegen_launch(codegen, choice->family, at, &choice->config, &plan->launch, err);
    rdt_builder_give_back(rt->builder);
    return status;
}

static redtune_status load(redtune_plan *plan, const redtune_problem *problem,
                           const rdt_choice *choice, redtune_error *err) {
    redtune *rt = plan->rt;
    bool entered = false;
    redtune_status status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    /* Other threads may be capturing: loading touches none of their streams. */
    CUstreamCaptureMode mode = rdt_context_relax(rt->context);
    status = rdt_builder_make(rt->builder, rt->context, choice->family, problem, &choice->config,
                              &plan->launch, &plan->kernel, err);
    rdt_context_restore(rt->context, mode);
    rdt_context_leave(rt->context, entered);
    return status;
}

redtune_status redtune_plan_create(redtune *rt, const redtune_problem *problem, redtune_plan **out,
                                   redtune_error *err) {
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
    plan->result_bytes = redtune_dtype_bytes(resolved.result);
    plan->count_max = rdt_problem_count_max(resolved.dtype);
    rdt_choice choice;
    status = choose(plan, &resolved, &choice, err);
    if (!status) status = load(plan, &resolved, &choice, err);
    if (status) {
        redtune_plan_destroy(plan);
        return status;
    }
    rdt_log_write(&rt->log, REDTUNE_LOG_INFO, "plan for %" PRIu64 " %s: %s %s (%s)", resolved.count,
                  redtune_dtype_name(resolved.dtype), plan->info.family, plan->info.config,
                  redtune_match_name(plan->info.match));
    *out = plan;
    return REDTUNE_OK;
}

void redtune_plan_destroy(redtune_plan *plan) {
    if (!plan) return;
    bool entered = false;
    if (plan->kernel && !rdt_context_enter(plan->rt->context, &entered, NULL)) {
        CUstreamCaptureMode mode = rdt_context_relax(plan->rt->context);
        rdt_kernel_unload(plan->kernel);
        rdt_context_restore(plan->rt->context, mode);
        rdt_context_leave(plan->rt->context, entered);
    }
    free(plan);
}

void redtune_plan_info(const redtune_plan *plan, redtune_info *info) {
    *info = plan->info;
}

/* The lowest bits that must be zero are those below the element's size, a power of two. */
static bool misaligned(const void *pointer, size_t bytes) {
    return ((uintptr_t)pointer & (bytes - 1)) != 0;
}

static redtune_status refuse(const redtune_plan *plan, const void *d_in, uint64_t count,
                             const void *d_out, redtune_error *err) {
    if (!plan) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: the plan is NULL");
    if (count > plan->count_max)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " elements: at most %" PRIu64, count,
                        plan->count_max);
    if (!d_out || misaligned(d_out, plan->result_bytes))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce into %p: d_out must be aligned to %zu bytes and not NULL",
                        d_out, plan->result_bytes);
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce from %p: d_in must be aligned to %zu bytes and not NULL", d_in,
                    plan->input_bytes);
}

redtune_status redtune_plan_run(redtune_plan *plan, const void *d_in, uint64_t count, void *d_out,
                                struct CUstream_st *stream, redtune_error *err) {
    if (!plan || count > plan->count_max || !d_out || misaligned(d_out, plan->result_bytes) ||
        misaligned(d_in, plan->input_bytes) || (!d_in && count))
        return refuse(plan, d_in, count, d_out, err);
    const redtune *rt = plan->rt;
    bool entered = false;
    redtune_status status = rdt_context_enter(rt->context, &entered, err);
    if (status) return status;
    rdt_operands operands = {
        .input = (CUdeviceptr)(uintptr_t)d_in,
        .count = count,
        .output = (CUdeviceptr)(uintptr_t)d_out,
    };
    const rdt_span input = {operands.input, operands.input + count * plan->input_bytes};
    const rdt_span output = {operands.output, operands.output + plan->result_bytes};
    rdt_turn turn;
    status = rdt_workspace_begin(rt->workspace, stream, input, &turn, err);
    if (!status) {
        operands.scratch = turn.scratch;
        operands.chained = turn.chained;
        status = rdt_kernel_launch(plan->kernel, &plan->launch, operands, stream, err);
    }
    if (!status) rdt_workspace_end(rt->workspace, stream, output, &turn);
    rdt_context_leave(rt->context, entered);
    return status;
}
