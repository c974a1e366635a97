/* Facts about redtune_run and what redtune.h runs with more than an input and an output: two
 * inputs, two results, parameters, results to go on from, counts on the GPU, and captures of all of
 * these. The ops are those of fixtures/operands, whose kernels have their own facts
 * (test_operands.c). */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include "gpu/graph.h"
#include "ones.h"
#include "shaped.h"

enum { ELEMENTS = 20000, POISON = 0xa5 };

static redtune *rt;
static float numbers[ELEMENTS]; /* small whole ones, so that every order gives the same sum */
static rdt_buffer copy;         /* of them, on the GPU */

static redtune_status begin(void) {
    const redtune_options options = {.database = "/nowhere/tuning.db"};
    for (size_t i = 0; i < ELEMENTS; i++) numbers[i] = (float)(int)(i * 7919 % 2003 % 64) - 31;
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

static redtune_op find_op(const char *name) {
    redtune_op op = REDTUNE_SUM;
    if (redtune_op_find(name, &op, &err)) fprintf(stderr, "%s\n", err.message);
    return op;
}

static redtune_problem problem_of(const char *op, uint64_t count) {
    return redtune_problem_whole(find_op(op), REDTUNE_F32, count);
}

enum { SECOND = 512 }; /* f32 of results that lie before second ones */

/* The first input from element 1 on, the second from 7 on. */
static redtune_operands operands_of(const char *op) {
    redtune_op_info info = {.inputs = 1, .outputs = 1};
    redtune_op_get(find_op(op), &info, NULL);
    return (redtune_operands){
        .d_in = {element(1), info.inputs > 1 ? element(7) : NULL},
        .d_out = {output(0), info.outputs > 1 ? output(SECOND) : NULL},
    };
}

static double dot_of(size_t first, size_t second, size_t count, size_t step) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)numbers[first + i * step] * (double)numbers[second + i * step];
    return sum;
}

static double sum_from(size_t first, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)numbers[first + i];
    return sum;
}

/* Of mismatches: the first input from element 1 on, the second from 7 on. */
static uint64_t apart(size_t count, double tolerance) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += fabs((double)numbers[1 + i] - (double)numbers[7 + i]) > tolerance;
    return sum;
}

/* A word of 8 bytes among the results. */
static uint64_t word_at(size_t place) {
    uint64_t value = UINT64_MAX;
    rdt_buffer_read(gpu.driver, &value, results.address + place * sizeof(float), sizeof value,
                    gpu.stream, &err);
    return value;
}

static redtune_status write_words(size_t place, const void *words, size_t bytes) {
    return rdt_buffer_write(gpu.driver, results.address + place * sizeof(float), words, bytes,
                            gpu.stream, &err);
}

/* ---- two inputs, two results ----------------------------------------------------------------- */

FACT(two_inputs_lie_anywhere) {
    CHECK_OK(begin(), err);
    for (size_t second = 0; second < 6; second++) {
        const redtune_problem problem = problem_of("dot", 5000 + second);
        redtune_operands operands = operands_of("dot");
        operands.d_in[1] = element(second);
        poison();
        CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
        CHECK((double)result(0) == dot_of(1, second, 5000 + second, 1));
    }
    end();
}

FACT(two_inputs_reduce_along_an_axis) {
    redtune_problem rows = problem_of("dot", 100), columns = problem_of("dot", 20);
    CHECK_OK(begin(), err);
    const redtune_operands of = operands_of("dot");
    RESHAPE(&rows, outer, 30);
    CHECK_OK(redtune_run(rt, &rows, &of, gpu.stream, &err), err);
    for (size_t r = 0; r < 30; r++)
        CHECK((double)result(r) == dot_of(1 + 100 * r, 7 + 100 * r, 100, 1));
    RESHAPE(&columns, inner, 50);
    CHECK_OK(redtune_run(rt, &columns, &of, gpu.stream, &err), err);
    for (size_t r = 0; r < 50; r++) CHECK((double)result(r) == dot_of(1 + r, 7 + r, 20, 50));
    end();
}

FACT(two_results_have_an_array_each) {
    CHECK_OK(begin(), err);
    redtune_problem problem = problem_of("min_at", 9000);
    redtune_operands operands = operands_of("min_at");
    size_t lowest = 1;
    for (size_t i = 1; i < 9001; i++)
        if (numbers[i] < numbers[lowest]) lowest = i;
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK(result(0) == numbers[lowest]);
    CHECK_INT(word_at(SECOND), lowest - 1);
    problem = problem_of("minmax", 64);
    RESHAPE(&problem, outer, 40);
    operands = operands_of("minmax");
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    for (size_t r = 0; r < 40; r++) {
        float least = numbers[1 + 64 * r], greatest = least;
        for (size_t i = 1 + 64 * r; i < 1 + 64 * (r + 1); i++) {
            if (numbers[i] < least) least = numbers[i];
            if (numbers[i] > greatest) greatest = numbers[i];
        }
        CHECK(result(r) == least && result(SECOND + r) == greatest);
    }
    end();
}

/* ---- parameters, counts, going on ------------------------------------------------------------ */

FACT(parameters_come_from_the_host_or_the_gpu) {
    const double value = 5, on_gpu = 20;
    CHECK_OK(begin(), err);
    const redtune_problem problem = problem_of("mismatches", 3000);
    redtune_operands operands = operands_of("mismatches");
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK_INT(word_at(0), apart(3000, 0));
    operands.parameters = &value;
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK_INT(word_at(0), apart(3000, 5));
    CHECK_OK(write_words(SECOND, &on_gpu, sizeof on_gpu), err);
    operands.parameters = NULL;
    operands.d_parameters = output(SECOND);
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK_INT(word_at(0), apart(3000, 20));
    end();
}

/* redtune_reduce has no place for any. */
FACT(parameters_left_out_are_the_usual_ones) {
    CHECK_OK(begin(), err);
    const redtune_problem problem = problem_of("var", 3000);
    redtune_operands operands = operands_of("var");
    const double zero = 0, one = 1;
    float by_default = -1;
    CHECK_OK(redtune_reduce(rt, &problem, element(1), output(0), gpu.stream, &err), err);
    by_default = result(0);
    operands.parameters = &zero;
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK(result(0) == by_default);
    operands.parameters = &one;
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK(fabs((double)result(0) * 2999 / 3000 - (double)by_default) < 1e-4 * (double)by_default);
    end();
}

FACT(runs_go_on_from_what_the_output_holds) {
    CHECK_OK(begin(), err);
    redtune_problem problem = sum_of(4000);
    problem.uses = REDTUNE_USE_ACCUMULATE;
    redtune_operands operands = {.d_in = {element(0)}, .d_out = {output(0)}};
    poison();
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK((double)result(0) == sum_from(0, 4000));
    operands.accumulate = 1;
    operands.d_in[0] = element(4000);
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK((double)result(0) == sum_from(0, 8000));
    RESHAPE(&problem, count, 100);
    RESHAPE(&problem, outer, 20);
    operands.d_in[0] = element(0);
    operands.accumulate = 0;
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    operands.accumulate = 1;
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    for (size_t r = 0; r < 20; r++) CHECK((double)result(r) == 2 * sum_from(100 * r, 100));
    end();
}

FACT(counts_on_the_gpu_are_bounded_by_the_hosts) {
    const uint64_t counts[] = {0, 1, 999, 5000, 5001, UINT64_MAX};
    CHECK_OK(begin(), err);
    redtune_problem problem = sum_of(5000);
    problem.uses = REDTUNE_USE_DEVICE_COUNT;
    redtune_operands operands = {.d_in = {input()}, .d_out = {output(0)}};
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK((double)result(0) == 5000);
    operands.d_count = output(SECOND);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint64_t least = counts[i] < 5000 ? counts[i] : 5000;
        CHECK_OK(write_words(SECOND, &counts[i], sizeof *counts), err);
        CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
        CHECK((double)result(0) == (double)least);
    }
    end();
}

/* ---- captures -------------------------------------------------------------------------------- */

static rdt_graph *graph;

static void begin_capture(const redtune_problem *problem) {
    CHECK_OK(redtune_prepare(rt, problem, 1, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
}

static void end_capture(void) {
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
}

FACT(graphs_read_parameters_anew) {
    const double values[] = {0, 9, 30};
    double host = 3;
    CHECK_OK(begin(), err);
    const redtune_problem problem = problem_of("mismatches", 2500);
    redtune_operands operands = operands_of("mismatches");
    operands.d_parameters = output(SECOND);
    begin_capture(&problem);
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    operands.d_parameters = NULL;
    operands.parameters = &host;
    operands.d_out[0] = output(2);
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    end_capture();
    host = 0; /* the graph has what it was */
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        poison();
        CHECK_OK(write_words(SECOND, &values[i], sizeof *values), err);
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        CHECK_INT(word_at(0), apart(2500, values[i]));
        CHECK_INT(word_at(2), apart(2500, 3));
    }
    rdt_graph_destroy(graph);
    end();
}

FACT(graphs_read_counts_anew_and_go_on) {
    const uint64_t counts[] = {10, 3000, 0, 70000};
    const float start = 100;
    double wanted = 100;
    CHECK_OK(begin(), err);
    redtune_problem problem = sum_of(3000);
    problem.uses = REDTUNE_USE_DEVICE_COUNT | REDTUNE_USE_ACCUMULATE;
    const redtune_operands operands = {
        .d_in = {element(0)}, .d_out = {output(0)}, .d_count = output(SECOND), .accumulate = 1};
    begin_capture(&problem);
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    end_capture();
    CHECK_OK(write_words(0, &start, sizeof start), err);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        CHECK_OK(write_words(SECOND, &counts[i], sizeof *counts), err);
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        wanted += 2 * sum_from(0, counts[i] < 3000 ? counts[i] : 3000);
        CHECK((double)result(0) == wanted);
    }
    rdt_graph_destroy(graph);
    end();
}

/* What the second reads as its count is the first one's result. */
FACT(a_captured_result_counts_for_the_next_call) {
    CHECK_OK(begin(), err);
    const redtune_problem nonzeros = redtune_problem_whole(REDTUNE_NONZEROS, REDTUNE_F32, 1000);
    redtune_problem problem = sum_of(4000);
    problem.uses = REDTUNE_USE_DEVICE_COUNT;
    const redtune_operands operands = {
        .d_in = {element(0)}, .d_out = {output(0)}, .d_count = output(SECOND)};
    uint64_t count = 0;
    for (size_t i = 0; i < 1000; i++) count += numbers[i] != 0;
    CHECK_OK(redtune_prepare(rt, &nonzeros, 1, &err), err);
    begin_capture(&problem);
    CHECK_OK(redtune_reduce(rt, &nonzeros, element(0), output(SECOND), gpu.stream, &err), err);
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    end_capture();
    for (int i = 0; i < 3; i++) {
        poison();
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        CHECK((double)result(0) == sum_from(0, count));
    }
    rdt_graph_destroy(graph);
    end();
}

/* ---- what is refused ------------------------------------------------------------------------- */

FACT(the_simple_calls_refuse_what_they_have_no_room_for) {
    CHECK_OK(begin(), err);
    const redtune_problem dot = problem_of("dot", 100), both = problem_of("minmax", 100);
    const redtune_operands operands = operands_of("dot");
    redtune_plan *plan = NULL;
    for (int made = 0; made < 2; made++) {
        CHECK_INT(redtune_reduce(rt, &dot, element(0), output(0), gpu.stream, &err),
                  REDTUNE_INVALID);
        CHECK_CONTAINS(err.message, "redtune_run");
        CHECK_CONTAINS(err.message, "dot");
        CHECK_OK(redtune_run(rt, &dot, &operands, gpu.stream, &err), err);
    }
    CHECK_INT(redtune_reduce(rt, &both, element(0), output(0), gpu.stream, &err), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "redtune_run");
    CHECK_OK(redtune_plan_create(rt, &both, &plan, &err), err);
    CHECK_INT(redtune_plan_reduce(plan, element(0), 100, output(0), gpu.stream, &err),
              REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "two results");
    redtune_plan_destroy(plan);
    end();
}

FACT(run_goes_by_the_problems_extents) {
    CHECK_OK(begin(), err);
    redtune_problem problem = sum_of(700);
    redtune_operands operands = {.d_in = {element(0)}, .d_out = {output(0)}, .count = 700};
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    CHECK((double)result(0) == sum_from(0, 700));
    operands.count = 699;
    CHECK_INT(redtune_run(rt, &problem, &operands, gpu.stream, &err), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "operands->count is 699, and that of the problem 700");
    operands.count = 0;
    operands.accumulate = 1;
    CHECK_INT(redtune_run(rt, &problem, &operands, gpu.stream, &err), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "REDTUNE_USE_ACCUMULATE");
    problem.op = REDTUNE_MEAN;
    problem.uses = REDTUNE_USE_ACCUMULATE;
    CHECK_INT(redtune_run(rt, &problem, &operands, gpu.stream, &err), REDTUNE_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "mean");
    end();
}

FACT(every_pointer_can_be_checked) {
    static double on_host[4];
    setenv("REDTUNE_CHECK", "1", 1);
    CHECK_OK(begin(), err);
    unsetenv("REDTUNE_CHECK");
    redtune_problem problem = problem_of("dot", 3);
    problem.uses = REDTUNE_USE_DEVICE_COUNT;
    redtune_operands operands = operands_of("dot");
    CHECK_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err), err);
    if (!device_is_simulated(&gpu)) { /* a GPU may reach all of the host's memory */
        end();
        return;
    }
    operands.d_in[1] = on_host;
    CHECK_INT(redtune_run(rt, &problem, &operands, gpu.stream, &err), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "d_in[1]");
    operands = operands_of("dot");
    operands.d_count = (const uint64_t *)(const void *)on_host;
    CHECK_INT(redtune_run(rt, &problem, &operands, gpu.stream, &err), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "d_count");
    problem = problem_of("minmax", 3);
    operands = operands_of("minmax");
    operands.d_out[1] = on_host;
    CHECK_INT(redtune_run(rt, &problem, &operands, gpu.stream, &err), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "d_out[1]");
    problem = problem_of("mismatches", 3);
    operands = operands_of("mismatches");
    operands.d_parameters = on_host;
    CHECK_INT(redtune_run(rt, &problem, &operands, gpu.stream, &err), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "d_parameters");
    end();
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
