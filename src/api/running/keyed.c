/* Keyed: runs of reductions by key. */
#include <inttypes.h>
#include "api/running/plan.h"
#include "base/reserved.h"
#include "gpu/pointer.h"
#include "redtune/keys.h"

/* A run: its operands as a launch takes them, and the memory that it uses. */
typedef struct keyed_run {
    rdt_operands operands;
    rdt_span keys, skipped; /* those of none end at 0 */
    rdt_traffic traffic;
} keyed_run;

/* Checks an array of count elements. It may be NULL only where count is 0. */
static redtune_status take_keyed_array(const char *name, const void *pointer, uint64_t count,
                                       size_t bytes, rdt_span *out, redtune_error *err) {
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)pointer;
    if ((!at && count) || at % bytes)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce by key at %p: %s must be aligned to %zu bytes and not NULL",
                        pointer, name, bytes);
    *out = (rdt_span){at, at ? at + count * bytes : 0};
    return REDTUNE_OK;
}

static redtune_status check_keyed_sizes(const redtune_plan *plan, const rdt_keyed *sizes,
                                        redtune_error *err) {
    const uint64_t most = rdt_problem_count_max(plan->problem.dtype) / sizes->width;
    const uint64_t keys_most = rdt_problem_count_max(plan->problem.key_dtype);
    if (sizes->keys > rdt_problem_results(&plan->problem))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce by %" PRIu64 " keys with a plan of %" PRIu64
                        ": create one for as many",
                        sizes->keys / sizes->width, plan->problem.keys);
    if (sizes->count <= most && sizes->count <= keys_most) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce %" PRIu64 " elements by key: at most %" PRIu64, sizes->count,
                    most < keys_most ? most : keys_most);
}

static redtune_status take_keyed_arrays(keyed_run *self, const redtune_plan *plan,
                                        const redtune_keyed *given, redtune_error *err) {
    const rdt_signature *signature = &plan->signature;
    const uint64_t count = self->operands.keyed.count, keys = self->operands.keyed.keys;
    rdt_traffic *traffic = &self->traffic;
    traffic->read_count = traffic->written_count = 1;
    redtune_status status =
        take_keyed_array("d_in", given->d_in, count * self->operands.keyed.width,
                         signature->input_bytes, &traffic->read[0], err);
    if (!status)
        status = take_keyed_array("d_keys", given->d_keys, count,
                                  redtune_dtype_bytes(plan->problem.key_dtype), &self->keys, err);
    if (!status)
        status = take_keyed_array("d_out", given->d_out[0], keys, signature->result_bytes[0],
                                  &traffic->written[0], err);
    if (!status)
        status = take_keyed_array("d_skipped", given->d_skipped, given->d_skipped != NULL,
                                  sizeof(uint64_t), &self->skipped, err);
    self->operands.keyed.key = self->keys.begin;
    self->operands.keyed.skipped = self->skipped.begin;
    return status;
}

/* The part of the caller's scratch that only tables take: the usual one is checked with the rest.
 */
static redtune_status check_tables_apart(const keyed_run *self, redtune_error *err) {
    const rdt_operands *operands = &self->operands;
    const rdt_span table = {operands->scratch + RDT_SCRATCH_BYTES,
                            operands->scratch + operands->scratch_bytes};
    const struct {
        const char *name;
        rdt_span span;
    } others[] = {
        {"d_in", self->traffic.read[0]},       {"d_keys", self->keys},
        {"d_second", self->traffic.read[1]},   {"d_mask", self->traffic.read[RDT_READ_MASK]},
        {"d_skipped", self->skipped},          {"d_out", self->traffic.written[0]},
        {"d_out[1]", self->traffic.written[1]}};
    const size_t count = sizeof others / sizeof *others - (self->traffic.written_count < 2);
    for (size_t i = 0; operands->scratch && i < count; i++)
        if (rdt_scratch_pool_overlap(&table, &others[i].span))
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot reduce by key: %s lies within the workspace, %" PRIu64
                            " bytes from %p on; give it memory of its own",
                            others[i].name, operands->scratch_bytes,
                            (void *)(uintptr_t)operands->scratch);
    return REDTUNE_OK;
}

static redtune_status take_keyed(keyed_run *self, const redtune_plan *plan, uint64_t width,
                                 const redtune_keyed *given, redtune_error *err) {
    const uint64_t keys = given->keys ? given->keys : plan->problem.keys;
    static const char *const places[] = {"the keys", "d_skipped", NULL};
    const redtune_operands more = {
        .d_out = {given->d_out[0], given->d_out[1]},
        .parameters = given->parameters,
        .d_parameters = given->d_parameters,
        .accumulate = given->accumulate,
        .initial = given->initial,
        .d_in = {NULL, given->d_second},
        .d_mask = given->d_mask,
        .mask_first = given->mask_first,
    };
    rdt_operands *operands = &self->operands;
    uint64_t results; /* that overflow are more than any plan's */
    if (__builtin_mul_overflow(keys, width, &results)) results = UINT64_MAX;
    rdt_operands_set(operands, given->d_in, given->d_out[0], 0);
    operands->keyed = (rdt_keyed){.count = given->count, .keys = results, .width = width};
    redtune_status status = rdt_plan_take_workspace(plan->rt, given->workspace, operands, err);
    if (!status) status = rdt_reserved_check(RDT_RESERVED(given), "redtune_keyed", err);
    if (!status) status = check_keyed_sizes(plan, &operands->keyed, err);
    if (!status)
        status = rdt_operands_check_second(&plan->signature, given->d_second, given->count,
                                           "by key", err);
    if (!status) status = take_keyed_arrays(self, plan, given, err);
    if (!status)
        status = rdt_operands_take_more(&plan->signature, &more, operands->keyed.count * width,
                                        operands->keyed.keys, operands, &self->traffic, err);
    const rdt_span others[] = {self->keys, self->skipped};
    if (!status)
        status =
            rdt_operands_check_apart(&self->traffic, operands->scratch, others, 2, places, err);
    return status ? status : check_tables_apart(self, err);
}

/* For REDTUNE_CHECK. The context is current. */
static redtune_status check_key_pointers(const rdt_context *context, const keyed_run *self,
                                         redtune_error *err) {
    const rdt_span *keys = &self->keys, *skipped = &self->skipped;
    redtune_status status =
        rdt_pointer_check(context, "d_keys", keys->begin, keys->end - keys->begin, err);
    if (!status && skipped->end)
        status = rdt_pointer_check(context, "d_skipped", skipped->begin, sizeof(uint64_t), err);
    return status ? status : rdt_operands_check_pointers(context, &self->traffic, "d_second", err);
}

/* problem: of the plan's class, with the width of the rows. */
static redtune_status run_keyed(redtune_plan *plan, const redtune_problem *problem,
                                const redtune_keyed *keyed, CUstream stream, redtune_error *err) {
    keyed_run self;
    redtune_status status = take_keyed(&self, plan, rdt_problem_keyed_width(problem), keyed, err);
    if (status) return status;
    const rdt_context *context = plan->rt->context;
    bool entered = false;
    status = rdt_context_enter(context, &entered, err);
    if (status) return status;
    if (plan->rt->check) status = check_key_pointers(context, &self, err);
    /* The keys are read, too: no launch before it that writes may still run. */
    self.traffic.read[0] = (rdt_span){1, UINT64_MAX};
    if (!status) status = rdt_plan_start(plan, &self.operands, &self.traffic, stream, err);
    rdt_context_leave(context, entered);
    /* All runs count as of the plan's problem. */
    if (plan->tally && !status) rdt_recorder_count(plan->tally, &self.operands.extents);
    return status;
}

static void log_keyed(rdt_call_log *calls, const char *call, const redtune_plan *plan,
                      const redtune_keyed *keyed, double ns) {
    redtune_problem problem = plan->problem;
    rdt_problem_axes_set_count(&problem, keyed->count);
    if (keyed->keys) problem.keys = keyed->keys;
    rdt_call_log_write(calls, call, &problem, &rdt_plan_executable(plan)->info, ns);
}

redtune_status redtune_plan_run_keyed(redtune_plan *plan, const redtune_keyed *keyed,
                                      struct CUstream_st *stream, redtune_error *err) {
    if (!plan || !keyed)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce by key: %s is NULL",
                        plan ? "keyed" : "the plan");
    if (!rdt_problem_is_keyed(&plan->problem))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce by key with a plan without keys: create it for a problem of "
                        "redtune_problem_by_key");
    const double begun = rdt_call_log_begin(plan->calls);
    redtune_status status = run_keyed(plan, &plan->problem, keyed, stream, err);
    if (plan->calls && !status)
        log_keyed(plan->calls, __func__, plan, keyed, rdt_clock_ns() - begun);
    return status;
}

static redtune_status check_same_size(const char *name, uint64_t given, uint64_t own,
                                      redtune_error *err) {
    if (!given || given == own) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce by key: keyed->%s is %" PRIu64
                    ", and that of the problem %" PRIu64
                    "; redtune_run_keyed goes by the problem's, so leave it 0",
                    name, given, own);
}

redtune_status redtune_run_keyed(redtune *rt, const redtune_problem *problem,
                                 const redtune_keyed *keyed, struct CUstream_st *stream,
                                 redtune_error *err) {
    redtune_plan *plan = NULL;
    if (!rt || !keyed)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce by key: %s is NULL",
                        rt ? "keyed" : "rt");
    if (problem && !rdt_problem_is_keyed(problem))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce by key: problem.key_dtype is 0; make the problem by "
                        "redtune_problem_by_key");
    const double begun = rdt_call_log_begin(rt->calls);
    redtune_status status = rdt_reduce_take_plan(rt, problem, stream, &plan, err);
    if (status) return status;
    redtune_keyed own = *keyed;
    own.count = rdt_problem_count(problem);
    own.keys = problem->keys;
    status = check_same_size("count", keyed->count, own.count, err);
    if (!status) status = check_same_size("keys", keyed->keys, own.keys, err);
    if (!status) status = run_keyed(plan, problem, &own, stream, err);
    if (rt->calls && !status) log_keyed(rt->calls, __func__, plan, &own, rdt_clock_ns() - begun);
    return status;
}

size_t redtune_keyed_workspace_bytes(const redtune_plan *plan) {
    if (!plan || !rdt_problem_is_keyed(&plan->problem)) return 0;
    const rdt_keyed sizes = rdt_reordered_sizes(&plan->problem);
    return rdt_launch_keyed_bytes(&plan->first->launch, &sizes);
}
