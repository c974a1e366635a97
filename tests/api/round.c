/* Round: what a program does with redtune, while a call of the driver fails. */
#define _XOPEN_SOURCE 700
#include "round.h"

#include <stdio.h>
#include <string.h>
#include "gpu/graph.h"
#include "gpu/stream.h"
#include "redtune/keys.h"
#include "shaped.h"

adder round_ones;
simulator round_sim;
fault round_fault;

static const device *const gpu = &round_ones.gpu;
static redtune_error err;

/* ---- the fault at hand ----------------------------------------------------------------------- */

static bool detached; /* redtune is called with no context current */

static uint64_t step_begin(void) {
    char rule[160];
    CUcontext popped;
    if (detached) gpu->driver->ctx_pop(&popped);
    uint64_t before = round_fault.entry ? round_sim.calls(round_fault.entry) : 0;
    if (round_fault.entry && round_fault.left) {
        snprintf(rule, sizeof rule, "%s:%llu:%s", round_fault.entry,
                 (unsigned long long)(before + round_fault.left), round_fault.error);
        round_sim.set("REDTUNE_SIM_FAIL", rule);
    }
    return before;
}

/* A context that redtune could not pop is popped here. */
static void attach_again(void) {
    CUcontext left = NULL, popped;
    gpu->driver->ctx_get_current(&left);
    if (left) gpu->driver->ctx_pop(&popped);
    gpu->driver->ctx_push(gpu->context->handle);
}

static void step_end(uint64_t before) {
    uint64_t made = round_fault.entry ? round_sim.calls(round_fault.entry) - before : 0;
    round_sim.set("REDTUNE_SIM_FAIL", NULL);
    if (detached) attach_again();
    if (!round_fault.entry) return;
    round_fault.calls += made;
    if (round_fault.left && made >= round_fault.left) {
        round_fault.hit = true;
        round_fault.left = 0;
    } else if (round_fault.left) {
        round_fault.left -= made;
    }
}

/* Runs a call of redtune's under the fault; whether it succeeded. */
#define STEP(out, call)                                                                            \
    ({                                                                                             \
        err = (redtune_error){0};                                                                  \
        uint64_t before_ = step_begin();                                                           \
        redtune_status status_ = (call);                                                           \
        step_end(before_);                                                                         \
        note_status((out), #call, status_);                                                        \
        !status_;                                                                                  \
    })
#define STEP_VOID(call)                                                                            \
    do {                                                                                           \
        uint64_t before_ = step_begin();                                                           \
        call;                                                                                      \
        step_end(before_);                                                                         \
    } while (0)

static void note_status(outcome *out, const char *call, redtune_status status) {
    if (!status || out->status) return;
    out->status = status;
    out->step = call;
    out->told = err.status == status && strlen(err.message) > 10 && !strchr(err.message, '\n');
}

/* ---- a round --------------------------------------------------------------------------------- */

static void *pointer(const rdt_buffer *buffer) { return (void *)(uintptr_t)buffer->address; }

static float read_result(void) {
    float value = -1;
    redtune_error ignored;
    rdt_buffer_read(gpu->driver, &value, round_ones.result.address, sizeof value, gpu->stream,
                    &ignored);
    return value;
}

static void clear_result(void) {
    gpu->driver->memset_d8_async(round_ones.result.address, 0xff, sizeof(float), gpu->stream);
}

static void run_in_graph(redtune_plan *plan, outcome *out) {
    rdt_graph *graph = NULL;
    redtune_error ignored;
    if (rdt_graph_begin(gpu->driver, gpu->stream, &ignored)) return;
    clear_result();
    /* The second overlaps with the first. */
    bool done = STEP(out, redtune_plan_reduce(plan, pointer(&round_ones.input), 9,
                                              pointer(&round_ones.result), gpu->stream, &err));
    done &= STEP(out, redtune_plan_reduce(plan, pointer(&round_ones.input), ROUND_COUNT,
                                          pointer(&round_ones.result), gpu->stream, &err));
    redtune_status ended = rdt_graph_end(gpu->driver, gpu->stream, &graph, &ignored);
    /* A failure of redtune's must leave the capture whole. */
    if (ended && ignored.status != REDTUNE_MEMORY) out->right = false;
    if (!ended && done) {
        rdt_graph_replay(graph, gpu->stream, &ignored);
        out->right &= read_result() == ROUND_COUNT;
    }
    /* Destroying the graph calls back into redtune, but no entry point from there. */
    rdt_graph_destroy(graph);
}

static void run_everywhere(redtune *rt, redtune_plan *plan, outcome *out) {
    CUstream other = NULL;
    redtune_workspace *workspace = NULL;
    redtune_error ignored;
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 500);
    clear_result();
    if (STEP(out, redtune_plan_reduce(plan, pointer(&round_ones.input), ROUND_COUNT,
                                      pointer(&round_ones.result), gpu->stream, &err)))
        out->right &= read_result() == ROUND_COUNT;
    rdt_stream_create(gpu->driver, &other, &ignored);
    clear_result();
    if (STEP(out, redtune_plan_reduce(plan, pointer(&round_ones.input), 77,
                                      pointer(&round_ones.result), other, &err)))
        out->right &= read_result() == 77;
    redtune_operands operands = {
        .d_in = {pointer(&round_ones.input)}, .d_out = {pointer(&round_ones.result)}, .count = 99};
    bool has_workspace =
        STEP(out, redtune_workspace_create(rt, NULL, 0, gpu->stream, &workspace, &err));
    operands.workspace = workspace;
    if (has_workspace && STEP(out, redtune_plan_run(plan, &operands, gpu->stream, &err)))
        out->right &= read_result() == 99;
    run_in_graph(plan, out);
    clear_result();
    if (STEP(out, redtune_prepare(rt, &problem, 1, &err)) &&
        STEP(out, redtune_reduce(rt, &problem, pointer(&round_ones.input),
                                 pointer(&round_ones.result), gpu->stream, &err)))
        out->right &= read_result() == 500;
    STEP_VOID(redtune_workspace_destroy(workspace));
    rdt_stream_destroy(gpu->driver, other);
}

/* Serves ones, piece by piece; user: how many are left. */
static redtune_status serve(void *user, void *buffer, size_t capacity, size_t *bytes,
                            redtune_error *failure) {
    size_t *left = user, most = capacity / sizeof(float), count = *left < most ? *left : most;
    (void)failure;
    for (size_t i = 0; i < count; i++) ((float *)buffer)[i] = 1;
    *left -= count;
    *bytes = count * sizeof(float);
    return REDTUNE_OK;
}

static void reduce_from_host(redtune *rt, outcome *out) {
    size_t left = 2 * ROUND_COUNT;
    const redtune_input input = {serve, &left};
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, ROUND_COUNT);
    redtune_reading reading = {.count = 0};
    if (STEP(out, redtune_reduce_input(rt, &problem, &input, &reading, &err)))
        out->right &= reading.value.f32 == 2 * ROUND_COUNT;
    float sums[4] = {0};
    left = ROUND_COUNT / 4 * 4;
    RESHAPE(&problem, outer, 4);
    RESHAPE(&problem, count, ROUND_COUNT / 4);
    if (STEP(out, redtune_reduce_array(rt, &problem, &input, sums, sizeof sums, &reading, &err)))
        for (int i = 0; i < 4; i++) out->right &= sums[i] == (float)shaped_of(&problem).count;
}

/* The bytes of a one are the keys 0, 0, 128 and 63. Some keys have a table in shared memory, many
 * one that is larger than scratch. */
static void reduce_by_key(redtune *rt, outcome *out) {
    enum { KEYS = 40000, COUNT = 2000 };
    rdt_buffer sums;
    redtune_error ignored;
    if (rdt_buffer_create(gpu->driver, KEYS * sizeof(float), &sums, &ignored)) return;
    for (int i = 0; i < 2; i++) {
        float got[129] = {0};
        const redtune_problem problem =
            redtune_problem_by_key(REDTUNE_SUM, REDTUNE_F32, REDTUNE_U8, i ? KEYS : 300, COUNT);
        const redtune_keyed keyed = {.d_in = pointer(&round_ones.input),
                                     .d_keys = pointer(&round_ones.input),
                                     .d_out = {pointer(&sums)}};
        gpu->driver->memset_d8_async(sums.address, 0xff, sizeof got, gpu->stream);
        if (!STEP(out, redtune_run_keyed(rt, &problem, &keyed, gpu->stream, &err))) continue;
        rdt_buffer_read(gpu->driver, got, sums.address, sizeof got, gpu->stream, &ignored);
        out->right &= got[0] == COUNT / 2 && got[63] == COUNT / 4 && got[128] == COUNT / 4;
    }
    rdt_buffer_destroy(&sums);
}

outcome round_go(const char *device) {
    const redtune_options options = {.device = device, .database = "/nowhere/at/all.db"};
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, ROUND_COUNT);
    outcome out = {.step = "", .right = true};
    detached = device != NULL;
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    if (STEP(&out, redtune_open(&options, &rt, &err)) &&
        STEP(&out, redtune_plan_create(rt, &problem, &plan, &err)))
        run_everywhere(rt, plan, &out);
    if (rt) reduce_from_host(rt, &out);
    if (rt) reduce_by_key(rt, &out);
    STEP_VOID(redtune_plan_destroy(plan));
    STEP_VOID(redtune_close(rt));
    detached = false;
    return out;
}

/* ---- what is left behind --------------------------------------------------------------------- */

census round_census(void) {
    census now = {round_sim.check_leaks(),
                  (int64_t)(round_sim.calls("cuStreamCreate") - round_sim.calls("cuStreamDestroy")),
                  (int64_t)(round_sim.calls("cuDevicePrimaryCtxRetain") -
                            round_sim.calls("cuDevicePrimaryCtxRelease")),
                  NULL};
    round_sim.clear_findings();
    gpu->driver->ctx_get_current(&now.current);
    return now;
}
