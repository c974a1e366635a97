/* Facts about reductions of rows by redtune.h: plans, operands, captures, folded arrays, and what
 * is refused. The kernels have their own (test_rows.c). */
#include "numbers.h"

static redtune_problem rows_of(uint64_t outer, uint64_t count) {
    return sum_over(&(extents){outer, count, 0, 0, 0, 0});
}

/* ---- facts ----------------------------------------------------------------------------------- */

static const extents shapes[] = {
    {2, 1, 0, 0, 0, 0},    {3, 7, 0, 0, 0, 1},        {1000, 4, 0, 0, 0, 0},
    {1000, 3, 0, 5, 0, 2}, {16, 1000, 0, 1024, 0, 3}, {5, 4000, 0, 0, 0, 0},
    {2, 9999, 0, 0, 0, 1}, {1, 19999, 0, 0, 0, 1},    {64, 0, 0, 0, 0, 0},
    {300, 64, 0, 1, 0, 0}, {33, 100, 0, 101, 0, 4},   {512, 32, 0, 32, 0, 16},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

FACT(a_plan_of_rows_serves_any_extents) {
    CHECK_OK(begin(), err);
    for (uint64_t planned = 2; planned < 100000 && !check_state.failed; planned *= 40)
        check_plan(&(extents){planned, 100000 / planned, 0, 0, 0, 0}, "rows:", shapes, SHAPES);
    end();
}

FACT(redtune_reduce_takes_rows_of_every_kind_of_op) {
    CHECK_OK(begin(), err);
    check_ops(shapes, SHAPES);
    end();
}

FACT(rows_can_be_captured) {
    const extents at = {100, 150, 0, 0, 0, 0};
    CHECK_OK(begin(), err);
    check_capture(&at, &at);
    end();
}

/* Of a 10 x 20 x 30 array in memory, the last axes. */
FACT(a_folded_array_is_reduced) {
    static const int64_t shape[] = {10, 20, 30};
    static const int last[] = {-1}, lasts[] = {2, 1};
    redtune_problem problem = rows_of(0, 0);
    CHECK_OK(begin(), err);
    CHECK_OK(redtune_problem_fold(&problem, shape, NULL, 3, last, 1, &err), err);
    poison();
    CHECK_OK(redtune_reduce(rt, &problem, element(0), output(0), gpu.stream, &err), err);
    const redtune_problem rows = rows_of(200, 30), planes = rows_of(10, 600);
    check_results(&rows, 0);
    CHECK_OK(redtune_problem_fold(&problem, shape, NULL, 3, lasts, 2, &err), err);
    poison();
    CHECK_OK(redtune_reduce(rt, &problem, element(0), output(0), gpu.stream, &err), err);
    check_results(&planes, 0);
    /* One result, whose dtype is named: it has one plan, which is destroyed once. */
    problem.result = REDTUNE_F32;
    CHECK_OK(redtune_problem_fold(&problem, shape, NULL, 3, NULL, 0, &err), err);
    poison();
    CHECK_OK(redtune_reduce(rt, &problem, element(0), output(0), gpu.stream, &err), err);
    const redtune_problem whole = rows_of(1, 6000);
    check_results(&whole, 0);
    end();
}

FACT(what_no_plan_takes_is_refused) {
    redtune_plan *whole = NULL, *rows = NULL;
    CHECK_OK(begin(), err);
    const redtune_problem one = sum_of(100), many = rows_of(10, 100);
    CHECK_OK(redtune_plan_create(rt, &one, &whole, &err), err);
    CHECK_OK(redtune_plan_create(rt, &many, &rows, &err), err);
    redtune_operands operands = operands_of(&many, 0);
    CHECK_FAILS(redtune_plan_run(whole, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "cannot reduce 10 rows by a plan of one result");
    operands.inner = 2;
    CHECK_FAILS(redtune_plan_run(rows, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "cannot reduce 10 x 2 columns, of elements 2 apart, by a plan of rows");
    operands.inner = 1;
    operands.step = 3;
    CHECK_FAILS(redtune_plan_run(rows, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "10 x 1 columns, of elements 3 apart, by a plan of rows");
    operands.step = 1;
    operands.outer = UINT64_C(1) << 40;
    operands.outer_step = UINT64_C(1) << 40;
    CHECK_FAILS(redtune_plan_run(rows, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "a plan spans at most");
    operands = operands_of(&many, 0);
    operands.d_out[0] = element(950); /* within the last row */
    CHECK_FAILS(redtune_plan_run(rows, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "within the input");
    operands.d_out[0] = element(1000); /* right behind it */
    CHECK_OK(redtune_plan_run(rows, &operands, gpu.stream, &err), err);
    operands.d_in[0] = element(5); /* the ten results end within the first row */
    operands.d_out[0] = element(0);
    CHECK_FAILS(redtune_plan_run(rows, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "within the input");
    CHECK_OK(redtune_plan_reduce(whole, input(), 1000, output(0), gpu.stream, &err), err);
    CHECK(result(0) == 1000);
    CHECK_OK(redtune_plan_reduce(rows, input(), 1000, output(0), gpu.stream, &err), err);
    CHECK(result(0) == 1000);
    redtune_plan_destroy(whole);
    redtune_plan_destroy(rows);
    end();
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
