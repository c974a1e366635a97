/* Facts about reductions of columns by redtune.h: plans, operands, captures, folded arrays, and
 * what is refused. The kernels have their own (test_columns.c). */
#include "numbers.h"
#include "gpu/graph.h"
#include "gpu/stream.h"

typedef struct extents {
    uint64_t outer, count, inner, outer_step, step;
    size_t first;
} extents;

static redtune_problem sum_over(const extents *at) {
    return (redtune_problem){.op = REDTUNE_SUM,
                             .dtype = REDTUNE_F32,
                             .count = at->count,
                             .outer = at->outer,
                             .inner = at->inner,
                             .outer_step = at->outer_step,
                             .step = at->step};
}

static redtune_operands operands_of(const redtune_problem *problem, size_t first) {
    return (redtune_operands){.d_in = {element(first)},
                              .d_out = {output(0)},
                              .count = problem->count,
                              .outer = problem->outer,
                              .inner = problem->inner,
                              .outer_step = problem->outer_step,
                              .step = problem->step};
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* The last are a whole array and rows, which a plan of columns takes, too. */
static const extents shapes[] = {
    {0, 1, 2, 0, 0, 0},     {0, 7, 3, 0, 0, 1},         {0, 100, 64, 0, 0, 0},
    {1, 4, 4000, 0, 0, 0},  {0, 70, 257, 0, 260, 3},    {0, 6000, 3, 0, 0, 0},
    {8, 20, 100, 0, 0, 0},  {8, 20, 100, 2100, 104, 2}, {300, 10, 5, 0, 0, 0},
    {3, 0, 100, 0, 0, 0},   {3, 10, 100, 1, 0, 0},      {5, 30, 32, 32, 160, 0},
    {0, 5000, 1, 0, 3, 0},  {64, 50, 0, 301, 6, 0},     {2, 33, 31, 0, 0, 5},
    {0, 19999, 0, 0, 0, 1}, {33, 100, 0, 101, 0, 4},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, COLUMNS = SHAPES - 2 };

static void a_plan_of_columns_serves_any_extents(void) {
    NEED_GPU();
    static const extents planned[] = {{0, 10, 1000, 0, 0, 0},
                                      {50, 20, 4, 0, 0, 0},
                                      {0, 300, 33, 0, 0, 0},
                                      {1, 10000, 1, 0, 2, 0}};
    CHECK_OK(begin(), err);
    for (size_t p = 0; p < sizeof planned / sizeof *planned; p++) {
        redtune_plan *plan = NULL;
        const redtune_problem typical = sum_over(&planned[p]);
        CHECK_OK(redtune_plan_create(rt, &typical, &plan, &err), err);
        CHECK_CONTAINS(redtune_plan_config(plan), "columns:");
        for (size_t i = 0; i < SHAPES; i++) {
            const redtune_problem at = sum_over(&shapes[i]);
            const redtune_operands operands = operands_of(&at, shapes[i].first);
            poison();
            CHECK_OK(redtune_plan_run(plan, &operands, gpu.stream, &err), err);
            check_results(&at, shapes[i].first);
        }
        redtune_plan_destroy(plan);
    }
    end();
}

static void redtune_reduce_takes_columns_of_every_kind_of_op(void) {
    NEED_GPU();
    static const redtune_op ops[] = {REDTUNE_SUM,  REDTUNE_MIN, REDTUNE_ARGMAX,
                                     REDTUNE_MEAN, REDTUNE_ANY, REDTUNE_NONZEROS};
    CHECK_OK(begin(), err);
    for (size_t op = 0; op < sizeof ops / sizeof *ops; op++)
        for (size_t i = 0; i < COLUMNS; i++) {
            redtune_problem at = sum_over(&shapes[i]);
            redtune_dtype result;
            at.op = ops[op];
            CHECK_OK(redtune_problem_result(&at, &result, &err), err);
            const uint64_t count = (at.outer ? at.outer : 1) * at.inner;
            if (count * redtune_dtype_bytes(result) > results.bytes) continue;
            poison();
            CHECK_OK(redtune_reduce(rt, &at, element(shapes[i].first), output(0), gpu.stream, &err),
                     err);
            check_results(&at, shapes[i].first);
        }
    end();
}

static void columns_can_be_captured(void) {
    NEED_GPU();
    CHECK_OK(begin(), err);
    const extents extents = {3, 20, 100, 0, 0, 0}, wider = {3, 20, 124, 0, 0, 0};
    const redtune_problem prepared = sum_over(&extents), at = sum_over(&wider);
    rdt_graph *graph = NULL;
    CHECK_OK(redtune_prepare(rt, &prepared, 1, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_reduce(rt, &at, element(0), output(0), gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    for (int i = 0; i < 2; i++) {
        poison();
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        check_results(&at, 0);
    }
    rdt_graph_destroy(graph);
    end();
}

/* Each axis of a 10 x 20 x 30 array, and the first two; and of every second of its planes' rows. */
static void a_folded_array_is_reduced(void) {
    NEED_GPU();
    static const int64_t shape[] = {10, 20, 30}, half[] = {10, 10, 30}, strides[] = {600, 60, 1};
    static const int axes[] = {0, 1};
    static const struct {
        const int64_t *shape, *strides;
        size_t first_axis, axis_count;
        extents wanted;
    } folds[] = {
        {shape, NULL, 0, 1, {1, 10, 600, 0, 600, 0}},
        {shape, NULL, 1, 1, {10, 20, 30, 600, 30, 0}},
        {shape, NULL, 0, 2, {1, 200, 30, 0, 30, 0}},
        {half, strides, 1, 1, {10, 10, 30, 600, 60, 0}},
        {half, strides, 0, 2, {1, 100, 30, 0, 60, 0}},
    };
    CHECK_OK(begin(), err);
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
        const redtune_problem wanted = sum_over(&folds[i].wanted);
        redtune_problem problem = sum_of(0);
        CHECK_OK(redtune_problem_fold(&problem, folds[i].shape, folds[i].strides, 3,
                                      axes + folds[i].first_axis, folds[i].axis_count, &err),
                 err);
        poison();
        CHECK_OK(redtune_reduce(rt, &problem, element(0), output(0), gpu.stream, &err), err);
        check_results(&wanted, 0);
    }
    end();
}

static void what_no_plan_takes_is_refused(void) {
    NEED_GPU();
    redtune_plan *whole = NULL, *columns = NULL;
    const extents extents = {0, 10, 100, 0, 0, 0};
    CHECK_OK(begin(), err);
    const redtune_problem one = sum_of(100), many = sum_over(&extents);
    CHECK_OK(redtune_plan_create(rt, &one, &whole, &err), err);
    CHECK_OK(redtune_plan_create(rt, &many, &columns, &err), err);
    redtune_operands operands = operands_of(&many, 0);
    CHECK_FAILS(redtune_plan_run(whole, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "cannot reduce 1 x 100 columns, of elements 100 apart, by a plan of one result");
    operands.step = UINT64_C(1) << 60;
    CHECK_FAILS(redtune_plan_run(columns, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "a plan spans at most");
    operands = operands_of(&many, 0);
    operands.inner = UINT64_MAX;
    CHECK_FAILS(redtune_plan_run(columns, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "a plan spans at most");
    operands = operands_of(&many, 0);
    operands.d_out[0] = element(999); /* within the last row */
    CHECK_FAILS(redtune_plan_run(columns, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "within the input");
    operands.d_out[0] = element(1000); /* right behind it */
    CHECK_OK(redtune_plan_run(columns, &operands, gpu.stream, &err), err);
    operands.d_in[0] = element(99); /* the hundred results end within the first row */
    operands.d_out[0] = element(0);
    CHECK_FAILS(redtune_plan_run(columns, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "within the input");
    CHECK_OK(redtune_plan_reduce(columns, input(), 1000, output(0), gpu.stream, &err), err);
    CHECK(result(0) == 1000);
    redtune_plan_destroy(whole);
    redtune_plan_destroy(columns);
    end();
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(a_plan_of_columns_serves_any_extents),
        FACT(redtune_reduce_takes_columns_of_every_kind_of_op),
        FACT(columns_can_be_captured),
        FACT(a_folded_array_is_reduced),
        FACT(what_no_plan_takes_is_refused),
    };
    ones_open();
    int rc = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    ones_close();
    return rc;
}
