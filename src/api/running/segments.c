/* Segments: runs whose elements are where tables on the GPU say. */
#include "api/running/segments.h"

#include <inttypes.h>
#include "api/running/list.h"
#include "base/reserved.h"
#include "gpu/pointer.h"

enum { TABLES = RDT_SEGMENTS_TABLES };
static const char *const table_names[] = {"d_begin", "d_end", "d_arrays", NULL};

static CUdeviceptr address_of(const void *pointer) { return (CUdeviceptr)(uintptr_t)pointer; }

static redtune_status take_offset_bytes(const redtune_segments *given, uint64_t *bytes,
                                        redtune_error *err) {
    *bytes = given->offset_bytes ? given->offset_bytes : sizeof(uint64_t);
    if (*bytes == sizeof(uint32_t) || *bytes == sizeof(uint64_t)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce segments with offsets of %" PRIu64
                    " bytes: set offset_bytes to 4 or 8",
                    given->offset_bytes);
}

/* The tables in the caller's words: which there must be. */
static redtune_status check_forms(const redtune_segments *given, redtune_error *err) {
    const bool arrays = given->d_arrays != NULL;
    const char *wrong = !given->count                         ? NULL
                        : !arrays && !given->d_begin          ? "d_begin is NULL"
                        : arrays && !given->d_end             ? "d_end is NULL beside d_arrays"
                        : arrays && given->d_in               ? "d_in is not NULL beside d_arrays"
                        : given->count > rdt_list_count_max() ? "count is too large"
                                                              : NULL;
    if (!wrong) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce %" PRIu64 " segments: %s", given->count,
                    wrong);
}

/* A run that goes on from results makes each once, and one result of all in fixed order is made
 * once: they do not rely on offsets' order. */
static bool needs_ends(const redtune_plan *plan, const redtune_segments *given) {
    return given->accumulate || (plan->problem.segmented == REDTUNE_SEGMENTED_ALL &&
                                 plan->problem.order == REDTUNE_ORDER_FIXED);
}

static redtune_status take_tables(rdt_segments_run *self, const redtune_plan *plan,
                                  const redtune_segments *given, redtune_error *err) {
    const CUdeviceptr place[TABLES] = {address_of(given->d_begin), address_of(given->d_end),
                                       address_of(given->d_arrays)};
    uint64_t bytes = 0;
    redtune_status status = check_forms(given, err);
    if (!status) status = take_offset_bytes(given, &bytes, err);
    if (status) return status;
    const uint64_t each[TABLES] = {bytes, bytes, sizeof(void *)};
    for (int i = 0; i < TABLES; i++) {
        if (place[i] % each[i])
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot read segments at %p: %s must be aligned to %" PRIu64 " bytes",
                            (void *)(uintptr_t)place[i], table_names[i], each[i]);
        const uint64_t entries = given->count + !place[1];
        self->table[i] = (rdt_span){place[i], place[i] ? place[i] + entries * each[i] : 0};
    }
    /* Ends that are the next begins: the kernel of one table is the faster one. */
    rdt_segments *tables = &self->operands.segments;
    *tables = (rdt_segments){place[0], place[1], given->count, bytes == 8, place[2]};
    if (rdt_launch_are_neighbours(tables))
        tables->end = needs_ends(plan, given) ? place[0] + bytes : 0;
    if (!given->count) *tables = (rdt_segments){.count = 0};
    return REDTUNE_OK;
}

static redtune_status take_list(rdt_segments_run *self, const redtune_plan *plan,
                                const redtune_segments *given, redtune_error *err) {
    if (given->d_in || given->count || given->d_begin || given->d_end || given->offset_bytes ||
        given->d_arrays || given->d_mask)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce a list with tables beside it: leave d_in, count, d_begin, "
                        "d_end, offset_bytes, d_arrays and d_mask 0");
    for (int i = 0; i < TABLES; i++) self->table[i] = (rdt_span){0, 0};
    return rdt_list_take(given->list, plan->rt, &plan->problem, &self->operands.segments, err);
}

/* A second input lies beside one buffer. */
static redtune_status check_second(const rdt_signature *signature, const redtune_segments *given,
                                   redtune_error *err) {
    if (signature->op->inputs > 1 && (given->d_arrays || given->list))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot compute the %s of segments: it has two inputs, and arrays of their "
                        "own have one; give d_in and d_second",
                        signature->op->name);
    return rdt_operands_check_second(signature, given->d_second, given->count, "of segments", err);
}

/* A mask lies beside one buffer, or there is a table of one for each array. */
static redtune_status check_mask(const rdt_signature *signature, const redtune_segments *given,
                                 redtune_error *err) {
    const bool apart = given->d_arrays || given->list;
    const char *wrong =
        !signature->masked ? NULL
        : !signature->listed && apart
            ? "arrays of their own have a mask each; create the plan for REDTUNE_MASK_LISTED_BYTES "
              "or _BITS"
        : signature->listed && given->count && !apart
            ? "the plan is for arrays that have a mask each; give d_arrays or a list, or create it "
              "for REDTUNE_MASK_BYTES or _BITS"
        : given->count && !given->d_mask
            ? "d_mask is NULL; give a byte or a bit for each element, or of arrays of their own "
              "the table of their masks"
        : signature->listed && (uintptr_t)given->d_mask % sizeof(uint64_t)
            ? "d_mask, a table, must be aligned to 8 bytes"
            : NULL;
    if (!wrong) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce segments with a mask: %s", wrong);
}

static redtune_status check_input(const rdt_signature *signature, CUdeviceptr input,
                                  redtune_error *err) {
    if (input % signature->input_bytes == 0) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce from %p: d_in must be aligned to %zu bytes",
                    (void *)(uintptr_t)input, signature->input_bytes);
}

static uint64_t results_of(const rdt_segments_run *self, const rdt_signature *signature) {
    return signature->layout == RDT_LAYOUT_LIST ? 1 : self->operands.segments.count;
}

static redtune_status take_first_output(rdt_segments_run *self, const rdt_signature *signature,
                                        redtune_error *err) {
    const CUdeviceptr to = self->operands.output;
    const size_t bytes = signature->result_bytes[0];
    if ((!to && results_of(self, signature)) || to % bytes)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce into %p: d_out must be aligned to %zu bytes and not NULL",
                        (void *)(uintptr_t)to, bytes);
    self->traffic.written[0] = (rdt_span){to, to + results_of(self, signature) * bytes};
    self->traffic.written_count = 1;
    return REDTUNE_OK;
}

static redtune_status check_apart(const rdt_segments_run *self, const redtune_list *list,
                                  redtune_error *err) {
    const CUdeviceptr scratch = self->operands.scratch;
    if (list) return rdt_list_check_apart(list, &self->traffic, scratch, err);
    return rdt_operands_check_apart(&self->traffic, scratch, self->table, TABLES, table_names, err);
}

static redtune_status take_run(rdt_segments_run *self, const redtune_plan *plan,
                               const redtune_segments *given, redtune_error *err) {
    const rdt_signature *signature = &plan->signature;
    const redtune_operands more = {
        .d_in = {NULL, given->d_second},
        .d_out = {given->d_out[0], given->d_out[1]},
        .parameters = given->parameters,
        .d_parameters = given->d_parameters,
        .accumulate = given->accumulate,
        .d_mask = given->list ? rdt_list_masks(given->list) : given->d_mask, /* or their table */
        .mask_first = given->mask_first,
    };
    rdt_operands_set(&self->operands, given->d_in, given->d_out[0], 0);
    self->traffic.read[0] = (rdt_span){0, 0};
    redtune_status status =
        rdt_plan_take_workspace(plan->rt, given->workspace, &self->operands, err);
    if (!status) status = rdt_reserved_check(RDT_RESERVED(given), "redtune_segments", err);
    if (!status)
        status =
            given->list ? take_list(self, plan, given, err) : take_tables(self, plan, given, err);
    if (!status) status = check_second(signature, given, err);
    if (!status) status = check_mask(signature, given, err);
    if (!status) status = check_input(signature, self->operands.input, err);
    if (!status) status = take_first_output(self, signature, err);
    if (!status)
        status = rdt_operands_take_more(
            signature, &more, signature->listed ? self->operands.segments.count : 0,
            results_of(self, signature), &self->operands, &self->traffic, err);
    return status ? status : check_apart(self, given->list, err);
}

redtune_status rdt_segments_take(rdt_segments_run *self, const redtune_plan *plan,
                                 const redtune_segments *given, redtune_error *err) {
    if (plan->problem.segmented) return take_run(self, plan, given, err);
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce segments by a plan of other arrays: create it for a problem "
                    "whose segmented is not 0");
}

uint64_t rdt_segments_results(const rdt_segments_run *self, const redtune_plan *plan) {
    return results_of(self, &plan->signature);
}

/* Where elements are only the tables say: d_in may be an address of no memory,
 * if offsets begin above 0. */
redtune_status rdt_segments_check_pointers(const rdt_context *context, const rdt_segments_run *self,
                                           redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < TABLES; i++)
        if (self->table[i].end)
            status = rdt_pointer_check(context, table_names[i], self->table[i].begin,
                                       self->table[i].end - self->table[i].begin, err);
    return status ? status : rdt_operands_check_pointers(context, &self->traffic, "d_second", err);
}

/* Lengths that only the tables have are those of the problem. */
rdt_extents rdt_segments_shape(const redtune_plan *plan, const redtune_segments *segments) {
    rdt_extents shape = rdt_problem_segments_shape(&plan->problem);
    if (segments->list) return rdt_list_shape(segments->list);
    shape.outer = segments->count;
    return shape;
}

redtune_status rdt_segments_plan(redtune_plan *plan, const rdt_segments *tables, CUstream stream,
                                 redtune_plan **out, redtune_error *err) {
    const rdt_executable *executable = rdt_plan_executable(plan);
    const rdt_launch *launch = &executable->launch;
    /* One that deals work makes results anew where offsets decrease, and may not go on from them.
     */
    const bool are_apart = launch->packed && plan->problem.segmented == REDTUNE_SEGMENTED_EACH &&
                           (tables->arrays || (tables->end && !launch->results));
    *out = plan;
    if (!tables->count || !rdt_plan_leaves_scattered(plan, executable) ||
        (!are_apart && rdt_launch_are_neighbours(tables)))
        return REDTUNE_OK;
    return rdt_plan_take_scattered(plan, stream, out, err);
}

static redtune_status run_on_tables(redtune_plan *plan, const redtune_segments *segments,
                                    struct CUstream_st *stream, redtune_error *err) {
    if (!plan || !segments)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce segments: %s is NULL",
                        plan ? "segments" : "the plan");
    rdt_segments_run self;
    redtune_status status = rdt_segments_take(&self, plan, segments, err);
    if (status || !rdt_segments_results(&self, plan)) return status;
    const rdt_context *context = plan->rt->context;
    bool entered = false;
    status = rdt_context_enter(context, &entered, err);
    if (status) return status;
    if (plan->rt->check) status = rdt_segments_check_pointers(context, &self, err);
    /* It may read anything, so that no launch before it that writes may still run. */
    self.traffic.read[0] = (rdt_span){1, UINT64_MAX};
    redtune_plan *its = NULL;
    if (!status) status = rdt_segments_plan(plan, &self.operands.segments, stream, &its, err);
    if (!status && segments->list) status = rdt_list_pack(segments->list, stream, err);
    if (!status) status = rdt_plan_start(its, &self.operands, &self.traffic, stream, err);
    rdt_context_leave(context, entered);
    if (plan->tally && !status) {
        const rdt_extents shape = rdt_segments_shape(plan, segments);
        rdt_recorder_count(plan->tally, &shape);
    }
    return status;
}

/* Of lengths that only the tables have those of the problem. A call without segments launches
 * nothing. */
static void log_segments(rdt_call_log *calls, const char *call, const redtune_plan *plan,
                         const redtune_problem *asked, const redtune_segments *segments,
                         double ns) {
    redtune_problem problem;
    if (rdt_problem_resolve(asked, &problem, NULL)) return;
    rdt_extents shape = rdt_problem_segments_shape(&problem);
    shape.outer = segments->count;
    if (segments->list) shape = rdt_list_shape(segments->list);
    rdt_problem_segments_set_shape(&problem, shape);
    if (shape.outer || problem.segmented == REDTUNE_SEGMENTED_ALL)
        rdt_call_log_write(calls, call, &problem, &rdt_plan_executable(plan)->info, ns);
}

redtune_status redtune_plan_run_segments(redtune_plan *plan, const redtune_segments *segments,
                                         struct CUstream_st *stream, redtune_error *err) {
    rdt_call_log *calls = plan ? plan->calls : NULL;
    const double begun = rdt_call_log_begin(calls);
    redtune_status status = run_on_tables(plan, segments, stream, err);
    if (calls && !status)
        log_segments(calls, __func__, plan, &plan->problem, segments, rdt_clock_ns() - begun);
    return status;
}

redtune_status redtune_run_segments(redtune *rt, const redtune_problem *problem,
                                    const redtune_segments *segments, struct CUstream_st *stream,
                                    redtune_error *err) {
    redtune_plan *plan = NULL;
    redtune_problem room;
    if (!rt || !segments)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce segments: %s is NULL",
                        rt ? "segments" : "rt");
    const uint64_t count = segments->list ? rdt_list_count(segments->list) : segments->count;
    const uint64_t wanted = problem ? rdt_problem_segments_count(problem) : 0;
    if (wanted && wanted != count)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " segments for a problem of %" PRIu64
                        ": name as many, or 0",
                        count, wanted);
    const double begun = rdt_call_log_begin(rt->calls);
    redtune_status status = rdt_reduce_take_plan(rt, problem, stream, &plan, err);
    if (!status) status = run_on_tables(plan, segments, stream, err);
    if (rt->calls && !status)
        log_segments(rt->calls, __func__, plan, rdt_runtime_order(rt, problem, &room), segments,
                     rdt_clock_ns() - begun);
    return status;
}
