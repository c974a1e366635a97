/* Facts about reductions of columns by redtune.h: plans, operands, captures, folded arrays, and
 * what is refused. The kernels have their own (test_columns.c). */
#include "numbers.h"

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

FACT(a_plan_of_columns_serves_any_extents) {
    static const extents planned[] = {{0, 10, 1000, 0, 0, 0},
                                      {50, 20, 4, 0, 0, 0},
                                      {0, 300, 33, 0, 0, 0},
                                      {1, 10000, 1, 0, 2, 0}};
    CHECK_OK(begin(), err);
    for (size_t p = 0; p < sizeof planned / sizeof *planned && !check_state.failed; p++)
        check_plan(&planned[p], "columns:", shapes, SHAPES);
    end();
}

FACT(redtune_reduce_takes_columns_of_every_kind_of_op) {
    CHECK_OK(begin(), err);
    check_ops(shapes, COLUMNS);
    end();
}

FACT(columns_can_be_captured) {
    const extents prepared = {3, 20, 100, 0, 0, 0}, wider = {3, 20, 124, 0, 0, 0};
    CHECK_OK(begin(), err);
    check_capture(&prepared, &wider);
    end();
}

/* Each axis of a 10 x 20 x 30 array, and the first two; and of every second of its planes' rows. */
FACT(a_folded_array_is_reduced) {
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

FACT(what_no_plan_takes_is_refused) {
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

int main(int argc, char **argv) { return ones_run(argc, argv); }
