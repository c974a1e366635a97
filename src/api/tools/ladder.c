/* Ladder: the sum by one classic optimisation after the other, checked, and timed or counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/running/plan.h"
#include "api/tools/ladder_run.h"
#include "api/tools/step.h"
#include "gpu/counters.h"
#include "gpu/graph.h"
#include "gpu/stream.h"
#include "gpu/timer.h"
#include "model/scalar.h"
#include "tuner/measure/test_buffers.h"
#include "tuner/summary.h"
#include "redtune/tools.h"

enum {
    USUAL_COUNT = 1 << 24,
    USUAL_COUNT_SIMULATED = 1 << 20,
    SAMPLES = 31,
    CALLS_MAX = 16, /* in one timed graph, each on an input of its own */
    INPUT_ALIGNMENT_BYTES = 256,
};

/* Common to all steps. */
typedef struct ladder {
    redtune *rt;
    const redtune_climb *climb;
    redtune_problem problem; /* resolved */
    bool simulated;
    rdt_test_buffers *buffers;
    redtune_plan *tuned;              /* the last step; it also reads the flush buffer */
    double before_ns;                 /* of the step that the next one goes on from; 0: none */
    char wrong[32];                   /* the first step whose sum was not right; "": none */
    const rdt_ladder_run *ladder_run; /* of the current step; NULL: it is the tuned one */
} ladder;

/* ---- running a step -------------------------------------------------------------------------- */

static redtune_status run_tuned(const ladder *self, CUdeviceptr input, uint64_t count,
                                redtune_error *err) {
    return redtune_plan_reduce(self->tuned, (const void *)(uintptr_t)input, count,
                               (void *)(uintptr_t)self->buffers->output.address,
                               self->buffers->stream, err);
}

static redtune_status launch_step(const ladder *self, CUdeviceptr input, uint64_t count,
                                  redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    const rdt_operands operands = {.input = input,
                                   .extents.count = count,
                                   .output = buffers->output.address,
                                   .scratch = buffers->scratch.address};
    if (self->ladder_run)
        return rdt_ladder_run_run(self->ladder_run, operands, buffers->stream, err);
    return run_tuned(self, input, count, err);
}

/* Sums once from where the exact result is known, and counts what that took if it can be. */
static redtune_status sum_once(const ladder *self, redtune_step *step, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    const rdt_pool *pool = buffers->sparse.count ? &buffers->sparse : &buffers->dense;
    const redtune_problem *problem = &self->problem;
    redtune_counters before, after;
    CUresult rc =
        buffers->driver->memset_d8_async(buffers->output.address, 0xff, 16, buffers->stream);
    redtune_status status = rdt_driver_check(buffers->driver, rc, err, "clear the result");
    if (!status && self->simulated) status = rdt_counters_read(buffers->driver, &before, err);
    if (!status) status = launch_step(self, pool->buffer.address, rdt_problem_count(problem), err);
    if (!status) status = rdt_stream_wait(buffers->driver, buffers->stream, err);
    if (!status && self->simulated) status = rdt_counters_read(buffers->driver, &after, err);
    if (!status)
        status = rdt_buffer_read(buffers->driver, &step->value, buffers->output.address,
                                 redtune_dtype_bytes(problem->result), buffers->stream, err);
    if (status) return status;
    const rdt_question question = rdt_judge_question(&pool->judged, 0, rdt_problem_count(problem));
    rdt_answer answer;
    status = rdt_judge_answer(buffers->judge, &question, 1, &answer, err);
    if (status) return status;
    step->exact = answer.value[0];
    step->right = rdt_scalar_same(problem->result, &step->value, &step->exact);
    if (self->simulated) {
        step->counted = 1;
        step->counters = rdt_counters_between(&before, &after);
        rdt_text_copy(step->counters.config, sizeof step->counters.config, step->config);
        rdt_text_copy(step->counters.gpu, sizeof step->counters.gpu, buffers->context->facts.name);
    }
    return REDTUNE_OK;
}

/* ---- timing it ------------------------------------------------------------------------------- */

/* Records calls on inputs side by side, so that none finds its input in L2. */
static redtune_status record_calls(const ladder *self, int *calls, rdt_graph **out,
                                   redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    const redtune_problem *problem = &self->problem;
    size_t element = redtune_dtype_bytes(problem->dtype);
    uint64_t unit = INPUT_ALIGNMENT_BYTES / element;
    uint64_t stride = (rdt_problem_count(problem) + unit - 1) / unit * unit;
    uint64_t inputs = 1 + (buffers->dense.count - rdt_problem_count(problem)) / stride;
    *calls = inputs < CALLS_MAX ? (int)inputs : CALLS_MAX;
    redtune_status status = rdt_graph_begin(buffers->driver, buffers->stream, err);
    if (status) return status;
    for (int i = 0; !status && i < *calls; i++)
        status = launch_step(self, buffers->dense.buffer.address + (uint64_t)i * stride * element,
                             rdt_problem_count(problem), err);
    if (status) {
        rdt_graph_abandon(buffers->driver, buffers->stream);
        return status;
    }
    return rdt_graph_end(buffers->driver, buffers->stream, out, err);
}

static redtune_status time_replay(const ladder *self, const rdt_graph *graph, double *elapsed_ns,
                                  redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    uint64_t elements = buffers->flush.bytes / redtune_dtype_bytes(self->problem.dtype);
    redtune_status status = run_tuned(self, buffers->flush.address, elements, err);
    if (!status) status = rdt_timer_start(&buffers->timer, buffers->stream, err);
    if (!status) status = rdt_graph_replay(graph, buffers->stream, err);
    if (!status) status = rdt_timer_stop(&buffers->timer, buffers->stream, err);
    if (!status) status = rdt_timer_read(&buffers->timer, elapsed_ns, err);
    return status;
}

static redtune_status time_step(const ladder *self, redtune_step *step, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    const redtune_problem *problem = &self->problem;
    double sample_ns[SAMPLES];
    rdt_graph *graph = NULL;
    int calls = 0;
    redtune_status status = record_calls(self, &calls, &graph, err);
    /* The first replay pays for uploading the graph. */
    if (!status) status = rdt_graph_replay(graph, buffers->stream, err);
    for (int i = 0; !status && i < SAMPLES; i++)
        status = time_replay(self, graph, &sample_ns[i], err);
    rdt_graph_destroy(graph);
    if (status) return status;
    rdt_summary_of(sample_ns, SAMPLES, &step->median_ns, &step->spread_ns);
    step->median_ns /= calls;
    step->spread_ns /= calls;
    step->gbps = (double)rdt_problem_count(problem) * (double)redtune_dtype_bytes(problem->dtype) /
                 step->median_ns;
    return REDTUNE_OK;
}

/* ---- climbing -------------------------------------------------------------------------------- */

static redtune_status climb_step(ladder *self, bool variant, redtune_step *step,
                                 redtune_error *err) {
    redtune_error failure;
    redtune_status status = sum_once(self, step, &failure);
    if (!status && !self->simulated) status = time_step(self, step, &failure);
    if (status)
        return rdt_fail(err, status, failure.code, "cannot climb past step %s: %.600s", step->name,
                        failure.message);
    if (self->before_ns > 0 && step->median_ns > 0) step->gain = self->before_ns / step->median_ns;
    if (!variant) self->before_ns = step->median_ns;
    if (!step->right && !self->wrong[0]) rdt_text_copy(self->wrong, sizeof self->wrong, step->name);
    if (self->climb->step && self->climb->step(self->climb->user, step))
        return rdt_fail(err, REDTUNE_INTERRUPTED, 0, "the ladder was interrupted");
    return REDTUNE_OK;
}

static redtune_status climb_ladder_run(ladder *self, rdt_codegen *codegen, rdt_step *step,
                                       redtune_error *err) {
    const rdt_case at = {&self->problem, &self->rt->context->facts};
    rdt_ladder_run ladder_run = {0};
    redtune_status status = rdt_step_check(codegen, at, step, err);
    if (!status)
        status = rdt_ladder_run_open(self->rt->builder, codegen, self->rt->context, &self->problem,
                                     &step->point, &ladder_run, err);
    if (status) return status;
    step->told.launches = rdt_ladder_run_launches(&ladder_run, rdt_problem_count(&self->problem));
    step->told.blocks =
        rdt_launch_blocks(&ladder_run.first_launch, rdt_problem_count(&self->problem));
    self->ladder_run = &ladder_run;
    status = climb_step(self, step->about.variant, &step->told, err);
    self->ladder_run = NULL;
    rdt_ladder_run_close(&ladder_run);
    return status;
}

/* The kernel that an application gets. */
static redtune_status climb_tuned(ladder *self, const rdt_step *before, redtune_error *err) {
    redtune_step step;
    const rdt_launch *how = &rdt_plan_executable(self->tuned)->launch;
    const redtune_info info = rdt_plan_executable(self->tuned)->info;
    rdt_step_describe_tuned(&self->problem, before, &step);
    if (info.match == REDTUNE_MATCH_DEFAULT)
        snprintf(step.text, sizeof step.text,
                 "What redtune runs for this problem: the built-in default, for nothing near it "
                 "is tuned yet.");
    else
        snprintf(step.text, sizeof step.text,
                 "What redtune runs for this problem: the fastest of hundreds of such kernels, "
                 "measured on %s at %" PRIu64 " elements.",
                 info.gpu, info.tuned_count);
    rdt_text_copy(step.family, sizeof step.family, info.family);
    rdt_text_copy(step.config, sizeof step.config, info.config);
    step.blocks = rdt_launch_blocks(how, rdt_problem_count(&self->problem));
    step.launches = 1;
    return climb_step(self, false, &step, err);
}

static redtune_status climb_all(ladder *self, rdt_codegen *codegen, redtune_error *err) {
    int family = 0;
    rdt_step step;
    redtune_status status = rdt_codegen_find_aside(codegen, "ladder", &family, err);
    if (status) return status;
    const int steps = rdt_codegen_spaces(codegen)->space[family].param[0].value_count;
    for (int i = 0; !status && i < steps; i++) {
        status = rdt_step_describe(codegen, family, self->climb, &self->problem, i, &step, err);
        if (!status && step.about.exists) status = climb_ladder_run(self, codegen, &step, err);
    }
    if (!status && !self->climb->one_block) status = climb_tuned(self, &step, err);
    return status;
}

/* How many elements fit with all that the steps need: the first works on a copy, of sums. */
static uint64_t largest_count(const ladder *self, uint64_t free_bytes) {
    const uint64_t element = redtune_dtype_bytes(self->problem.dtype);
    const uint64_t sum = redtune_dtype_bytes(self->problem.result);
    return rdt_test_buffers_count_max(&self->rt->context->facts, free_bytes, &self->problem) /
           (element + sum) * element;
}

static redtune_status make_kernel(void *user, const redtune_problem *problem,
                                  const rdt_point *point, const rdt_launch *launch,
                                  rdt_kernel **out, redtune_error *err) {
    const ladder *self = user;
    return rdt_builder_make(self->rt->builder, self->rt->context, problem, point, launch, out, err);
}

static redtune_status open_ladder(ladder *self, rdt_codegen *codegen, redtune_error *err) {
    const rdt_maker maker = {codegen, make_kernel, self};
    redtune_counters counters;
    uint64_t free_bytes = 0;
    redtune *rt = self->rt;
    self->simulated = !rdt_counters_read(rt->context->driver, &counters, NULL);
    uint64_t usual = self->simulated ? USUAL_COUNT_SIMULATED : USUAL_COUNT;
    if (self->climb->one_block) usual = self->climb->block ? self->climb->block : RDT_STEP_BLOCK;
    redtune_status status = rdt_step_problem(self->climb, usual, &self->problem, err);
    if (!status) status = rdt_context_free_bytes(rt->context, &free_bytes, err);
    if (status) return status;
    uint64_t largest = largest_count(self, free_bytes);
    if (rdt_problem_count(&self->problem) > largest)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot climb the ladder with %" PRIu64 " elements: the GPU's free memory "
                        "has room for %" PRIu64 "; ask for fewer",
                        rdt_problem_count(&self->problem), largest);
    const rdt_domain domain = rdt_problem_domain(&self->problem, 1);
    status = rdt_plan_make(rt, &self->problem, RDT_YIELD_RESULT, &self->tuned, err);
    if (!status)
        status = rdt_test_buffers_open(rt->context, &domain, 0, &maker, &self->buffers, err);
    return status;
}

redtune_status redtune_ladder(redtune *rt, const redtune_climb *climb, redtune_error *err) {
    const redtune_climb usual = {0};
    if (!rt) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot climb the ladder: rt is NULL");
    ladder self = {.rt = rt, .climb = climb ? climb : &usual};
    rdt_codegen *codegen = NULL;
    bool entered = false;
    redtune_status status = rdt_builder_borrow(rt->builder, &codegen, err);
    if (status) return status;
    status = rdt_context_enter(rt->context, &entered, err);
    if (!status) {
        status = open_ladder(&self, codegen, err);
        if (!status) status = climb_all(&self, codegen, err);
        rdt_test_buffers_close(self.buffers);
        redtune_plan_destroy(self.tuned);
        rdt_context_leave(rt->context, entered);
    }
    rdt_builder_give_back(rt->builder);
    if (!status && self.wrong[0])
        status =
            rdt_fail(err, REDTUNE_WRONG, 0, "cannot trust step %s: its sum is wrong", self.wrong);
    return status;
}
