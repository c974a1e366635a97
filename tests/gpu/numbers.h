/* Numbers: what the tests of redtune.h along an axis share: an array on the GPU and on the host,
 * and results held against it. A file that includes it has them to itself. */
#pragma once

#include "gpu/graph.h"
#include "ones.h"
#include "reference.h"
#include "shaped.h"

enum { ELEMENTS = 20000, POISON = 0xa5 };

static redtune *rt;
static float numbers[ELEMENTS]; /* small whole ones, so that every order gives the same sum */
static rdt_buffer copy;         /* of them, on the GPU */

static redtune_status begin(void) {
    const redtune_options options = {.database = "/nowhere/tuning.db"};
    unsigned state = 1;
    for (size_t i = 0; i < ELEMENTS; i++) {
        state = state * 1103515245u + 12345u;
        numbers[i] = (float)(int)(state >> 16 & 63) - 31;
    }
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, sizeof numbers, &copy, &err);
    if (!status)
        status =
            rdt_buffer_write(gpu.driver, copy.address, numbers, sizeof numbers, gpu.stream, &err);
    return status;
}

static void end(void) {
    redtune_close(rt);
    rdt_buffer_destroy(&copy);
    rt = NULL;
}

static void *element(size_t first) {
    return (void *)(uintptr_t)(copy.address + first * sizeof(float));
}

static void poison(void) {
    gpu.driver->memset_d8_async(results.address, POISON, results.bytes, gpu.stream);
}

/* Fails the fact unless the results are those of the problem over the elements from `first` on, and
 * nothing was written behind them. */
static void check_results(const redtune_problem *wanted, size_t first) {
    static unsigned char got[RESULTS * sizeof(float)];
    static float column[ELEMENTS];
    redtune_problem problem;
    CHECK_OK(rdt_problem_resolve(wanted, &problem, &err), err);
    const rdt_extents at = rdt_problem_extents(&problem);
    const size_t bytes = redtune_dtype_bytes(problem.result), count = at.outer * at.inner;
    CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address, sizeof got, gpu.stream, &err), err);
    for (size_t r = 0; r < count; r++) {
        const float *from = numbers + first + r / at.inner * at.outer_step + r % at.inner;
        rdt_reference reference;
        redtune_value value = {.u64 = 0};
        memcpy(value.bytes, got + r * bytes, bytes);
        for (size_t e = 0; e < at.count; e++) column[e] = from[e * at.step];
        rdt_reference_reduce(&problem, column, at.count, &reference);
        const bool same = !memcmp(value.bytes, reference.value.bytes, bytes);
        check_that(same, __FILE__, __LINE__, "%s %zu of %zu x %zu x %zu, steps %zu and %zu",
                   redtune_op_name(problem.op), r, (size_t)at.outer, (size_t)at.count,
                   (size_t)at.inner, (size_t)at.outer_step, (size_t)at.step);
        if (!same) return;
    }
    for (size_t i = count * bytes; i < sizeof got; i++) CHECK_INT(got[i], POISON);
}

/* ---- shapes, through plans ------------------------------------------------------------------- */

/* Extents, as in redtune_problem, from element number `first` on. */
typedef struct extents {
    uint64_t outer, count, inner, outer_step, step;
    size_t first;
} extents;

static redtune_problem sum_over(const extents *at) {
    return PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = at->count, .outer = at->outer,
                   .inner = at->inner, .outer_step = at->outer_step, .step = at->step);
}

static redtune_operands operands_of(const redtune_problem *problem, size_t first) {
    return (redtune_operands){.d_in = {element(first)},
                              .d_out = {output(0)},
                              .count = shaped_of(problem).count,
                              .outer = shaped_of(problem).outer,
                              .inner = shaped_of(problem).inner,
                              .outer_step = shaped_of(problem).outer_step,
                              .step = shaped_of(problem).step};
}

static void check_reduce(const redtune_problem *problem, size_t first) {
    poison();
    CHECK_OK(redtune_reduce(rt, problem, element(first), output(0), gpu.stream, &err), err);
    check_results(problem, first);
}

/* A plan for typical extents, of this family, reduces all shapes. */
static void check_plan(const extents *typical, const char *family, const extents *shapes,
                       size_t count) {
    redtune_plan *plan = NULL;
    const redtune_problem planned = sum_over(typical);
    CHECK_OK(redtune_plan_create(rt, &planned, &plan, &err), err);
    CHECK_CONTAINS(redtune_plan_config(plan), family);
    for (size_t i = 0; i < count && !check_state.failed; i++) {
        const redtune_problem at = sum_over(&shapes[i]);
        const redtune_operands operands = {.d_in = {element(shapes[i].first)},
                                           .d_out = {output(0)},
                                           .count = shapes[i].count,
                                           .outer = shapes[i].outer,
                                           .inner = shapes[i].inner,
                                           .outer_step = shapes[i].outer_step,
                                           .step = shapes[i].step};
        poison();
        CHECK_OK(redtune_plan_run(plan, &operands, gpu.stream, &err), err);
        check_results(&at, shapes[i].first);
    }
    redtune_plan_destroy(plan);
}

/* An op of every kind, over shapes whose results there is room for. */
static void check_ops(const extents *shapes, size_t count) {
    static const redtune_op ops[] = {REDTUNE_SUM,  REDTUNE_MIN, REDTUNE_ARGMAX,
                                     REDTUNE_MEAN, REDTUNE_ANY, REDTUNE_NONZEROS};
    for (size_t op = 0; op < sizeof ops / sizeof *ops; op++)
        for (size_t i = 0; i < count && !check_state.failed; i++) {
            redtune_problem at = sum_over(&shapes[i]);
            redtune_dtype result;
            at.op = ops[op];
            CHECK_OK(redtune_problem_result(&at, &result, &err), err);
            const uint64_t made = (shaped_of(&at).outer ? shaped_of(&at).outer : 1) *
                                  (shaped_of(&at).inner ? shaped_of(&at).inner : 1);
            if (made * redtune_dtype_bytes(result) <= results.bytes)
                check_reduce(&at, shapes[i].first);
        }
}

/* What is captured runs as often as it is replayed. */
static void check_capture(const extents *prepared, const extents *captured) {
    const redtune_problem before = sum_over(prepared), at = sum_over(captured);
    rdt_graph *graph = NULL;
    CHECK_OK(redtune_prepare(rt, &before, 1, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_reduce(rt, &at, element(0), output(0), gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    for (int i = 0; i < 2; i++) {
        poison();
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        check_results(&at, 0);
    }
    rdt_graph_destroy(graph);
}
