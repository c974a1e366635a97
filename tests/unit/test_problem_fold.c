/* Facts about src/model/problem_fold.c: what arrays that are named here fold to, and which are
 * refused. test_problem_fold_random.c has others. */
#include "check.h"
#include "model/problem.h"

static redtune_error err;

/* ---- arrays by name ---------------------------------------------------------------------------
 */

#define LIST(...) __VA_ARGS__
#define FOLD(problem, shape, strides, axes)                                                        \
    redtune_problem_fold((problem), (const int64_t[]){shape}, strides,                             \
                         sizeof((int64_t[]){shape}) / sizeof(int64_t), (const int[]){axes},        \
                         sizeof((int[]){axes}) / sizeof(int), &err)
#define STRIDES(...) ((const int64_t[]){__VA_ARGS__})

#define CHECK_EXTENTS(problem, outer_, count_, inner_, outer_step_, step_)                         \
    do {                                                                                           \
        CHECK_INT(rdt_problem_extents(&(problem)).outer, outer_);                                  \
        CHECK_INT(rdt_problem_extents(&(problem)).count, count_);                                  \
        CHECK_INT(rdt_problem_extents(&(problem)).inner, inner_);                                  \
        CHECK_INT(rdt_problem_extents(&(problem)).outer_step, outer_step_);                        \
        CHECK_INT(rdt_problem_extents(&(problem)).step, step_);                                    \
    } while (0)

#define CHECK_FOLDS(op_, shape, strides, axes, ...)                                                \
    do {                                                                                           \
        redtune_problem folded = {.op = (op_), .dtype = REDTUNE_F32};                              \
        CHECK_OK(FOLD(&folded, LIST(shape), LIST(strides), LIST(axes)), err);                      \
        CHECK_EXTENTS(folded, __VA_ARGS__);                                                        \
    } while (0)

#define CHECK_REFUSES(op_, shape, strides, axes, status, text)                                     \
    do {                                                                                           \
        redtune_problem folded = redtune_problem_whole((op_), REDTUNE_F32, 99);                    \
        CHECK_FAILS(FOLD(&folded, LIST(shape), LIST(strides), LIST(axes)), status, err, "");       \
        CHECK_TEXT(err.message, text);                                                             \
        CHECK(!folded.kept_axes && !folded.steps && folded.reduced[0].size == 99);                 \
    } while (0)

FACT(packed_arrays_give_the_layouts) {
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 5), NULL, LIST(0, 1), 1, 20, 1, 20, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 5), NULL, -1, 4, 5, 1, 5, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 5), NULL, 0, 1, 4, 5, 20, 5);
    CHECK_FOLDS(REDTUNE_SUM, LIST(64, 512, 100), NULL, 1, 64, 512, 100, 51200, 100);
    CHECK_FOLDS(REDTUNE_SUM, LIST(2, 3, 4, 5, 6), NULL, LIST(-2, 2), 6, 20, 6, 120, 6);
    CHECK_FOLDS(REDTUNE_SUM, LIST(1, 4, 1, 5, 1), NULL, LIST(3, 0), 4, 5, 1, 5, 1);
}

/* A program that asks for a whole array this way has the plan of one that writes its count. */
FACT(whole_array_is_what_plans_take) {
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
    redtune_dtype result = REDTUNE_DTYPE_NONE;
    const int64_t shape[] = {30, 40};
    CHECK_OK(redtune_problem_fold(&problem, shape, NULL, 2, NULL, 0, &err), err);
    CHECK_OK(redtune_problem_result(&problem, &result, &err), err);
    CHECK_INT(rdt_problem_extents(&problem).count, 1200);
    CHECK_INT(result, REDTUNE_F32);
}

FACT(pitches_and_transposes_fold) {
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 5), STRIDES(8, 1), 1, 4, 5, 1, 8, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 5), STRIDES(8, 1), 0, 1, 4, 5, 20, 8);
    CHECK_FOLDS(REDTUNE_SUM, LIST(5, 4), STRIDES(1, 5), 0, 4, 5, 1, 5, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(5, 4), STRIDES(1, 5), LIST(0, 1), 1, 20, 1, 20, 1);
    CHECK_FOLDS(REDTUNE_ARGMAX, LIST(5, 4), STRIDES(1, 5), 1, 1, 4, 5, 20, 5);
    /* Channels last: the sums over a picture's pixels, and over the batch, too. */
    CHECK_FOLDS(REDTUNE_SUM, LIST(2, 3, 8, 9), STRIDES(216, 1, 27, 3), LIST(2, 3), 2, 72, 3, 216,
                3);
    CHECK_FOLDS(REDTUNE_SUM, LIST(2, 3, 8, 9), STRIDES(216, 1, 27, 3), LIST(0, 2, 3), 1, 144, 3,
                432, 3);
    /* Every third element, and the kept axes around the reduced one. */
    CHECK_FOLDS(REDTUNE_MAX, LIST(4, 5), STRIDES(15, 3), 1, 4, 5, 1, 15, 3);
    CHECK_FOLDS(REDTUNE_MAX, LIST(4, 8, 5), STRIDES(5, 20, 1), 1, 1, 8, 20, 160, 20);
}

FACT(strides_of_one_element_mean_nothing) {
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 1, 5), STRIDES(5, -7, 1), 1, 1, 1, 20, 20, 20);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 1, 5), STRIDES(5, 0, 1), LIST(1, 2), 4, 5, 1, 5, 1);
}

FACT(arrays_of_one_element_and_of_none) {
    redtune_problem point = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
    CHECK_OK(redtune_problem_fold(&point, NULL, NULL, 0, NULL, 0, &err), err);
    CHECK_EXTENTS(point, 1, 1, 1, 1, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 0), NULL, 1, 4, 0, 1, 0, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 0, 5), STRIDES(-1, 0, 1), LIST(0, 1), 5, 0, 1, 0, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(0), NULL, 0, 1, 0, 1, 0, 1);
}

/* Every second axis has two elements. */
FACT(up_to_64_dimensions) {
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_U8};
    int64_t shape[65];
    const int last = 63;
    for (int i = 0; i < 65; i++) shape[i] = i % 2 + 1;
    CHECK_OK(redtune_problem_fold(&problem, shape, NULL, 64, &last, 1, &err), err);
    CHECK_EXTENTS(problem, INT64_C(1) << 31, 2, 1, 2, 1);
    CHECK_FAILS(redtune_problem_fold(&problem, shape, NULL, 65, &last, 1, &err),
                REDTUNE_UNSUPPORTED, err, "65 dimensions, of at most 64");
}

/* Of two inputs that lie apart, which no fold makes. */
FACT(rows_of_no_elements_may_go_back) {
    redtune_problem problem = {.op = REDTUNE_DOT,
                               .dtype = REDTUNE_F32,
                               .steps = 1u << REDTUNE_ARRAY_X | 1u << REDTUNE_ARRAY_Y,
                               .kept_axes = 1,
                               .reduced_axes = 1,
                               .kept = {{5, {-2, 4}}},
                               .reduced = {{0, {10, 0}}}};
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK(!rdt_problem_is_strided(&problem));
    CHECK_INT(rdt_problem_results(&problem), 5);
    CHECK_INT(rdt_problem_count(&problem), 0);
}

FACT(argmax_counts_in_row_major_order) {
    CHECK_FOLDS(REDTUNE_ARGMAX, LIST(2, 3, 4), NULL, LIST(2, 1), 2, 12, 1, 12, 1);
    redtune_problem any = {.op = REDTUNE_ARGMAX, .dtype = REDTUNE_F32};
    CHECK_OK(FOLD(&any, LIST(5, 4), STRIDES(1, 5), LIST(0, 1)), err);
    CHECK(rdt_problem_is_strided(&any) && any.reduced_axes == 2 && any.reduced[1].size == 4);
}

/* The forms of rows and columns number elements as the axes do, and so do any axes. */
FACT(fixed_order_keeps_the_order_of_the_axes) {
    static const struct {
        int64_t shape[3], strides[3];
        int axes[2];
        uint32_t kept, reduced; /* axes that are left; 0 and 0: it has a form */
    } cases[] = {
        {{2, 3, 4}, {12, 4, 1}, {1, 2}, 0, 0},  {{2, 3, 4}, {12, 4, 1}, {0, 2}, 1, 2},
        {{2, 3, 4}, {16, 5, 1}, {1, 2}, 1, 2},  {{2, 3, 4}, {12, 1, 3}, {1, 2}, 1, 2},
        {{2, 3, 4}, {12, 4, -1}, {1, 2}, 1, 2}, {{2, 3, 4}, {0, 4, 1}, {1, 2}, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        redtune_problem problem = {
            .op = REDTUNE_SUM, .dtype = REDTUNE_F32, .order = REDTUNE_ORDER_FIXED};
        CHECK_OK(redtune_problem_fold(&problem, cases[i].shape, cases[i].strides, 3, cases[i].axes,
                                      2, &err),
                 err);
        CHECK_INT(rdt_problem_is_strided(&problem), cases[i].kept > 0);
        if (!cases[i].kept) continue;
        CHECK_INT(problem.kept_axes, cases[i].kept);
        CHECK_INT(problem.reduced_axes, cases[i].reduced);
    }
}

/* What is resolved stays as it is, where no order shows as well. */
FACT(resolving_again_changes_nothing) {
    const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MAX, REDTUNE_ARGMAX};
    for (int i = 0; i < 24; i++) {
        redtune_problem problem = {.op = ops[i % 3],
                                   .dtype = i / 3 % 2 ? REDTUNE_I32 : REDTUNE_F32,
                                   .steps = 1u << REDTUNE_ARRAY_X,
                                   .reduced_axes = 2,
                                   .reduced = {{2, {1}}, {3, {2}}}};
        if (i / 6 % 2) problem.order = REDTUNE_ORDER_FIXED;
        if (i / 12) problem.accuracy = REDTUNE_ACCURACY_EXACT;
        redtune_problem once, twice;
        CHECK_OK(rdt_problem_resolve(&problem, &once, &err), err);
        CHECK_OK(rdt_problem_resolve(&once, &twice, &err), err);
        CHECK(rdt_problem_same(&once, &twice));
    }
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

FACT(no_results_of_a_problem_are_refused) {
    redtune_problem problem = {.dtype = REDTUNE_F32,
                               .steps = 1u << REDTUNE_ARRAY_X,
                               .kept_axes = 2,
                               .kept = {{3, {4}}, {0, {4}}},
                               .reduced_axes = 1,
                               .reduced = {{4, {1}}}};
    CHECK_FAILS(
        rdt_problem_resolve(&problem, &problem, &err), REDTUNE_UNSUPPORTED, err,
        "cannot reduce: kept axis 1 has size 0, so there are no results; leave out the reduction");
}

FACT(no_results_are_refused) {
    CHECK_REFUSES(REDTUNE_SUM, LIST(3, 0), NULL, 0, REDTUNE_UNSUPPORTED,
                  "cannot fold the array: kept axis 1 has size 0, so there are no results; "
                  "leave out the reduction");
    CHECK_REFUSES(REDTUNE_SUM, LIST(0, 0), NULL, 0, REDTUNE_UNSUPPORTED,
                  "cannot fold the array: kept axis 1 has size 0, so there are no results; "
                  "leave out the reduction");
}

FACT(axes_and_sizes_that_are_none_are_refused) {
    CHECK_REFUSES(REDTUNE_SUM, LIST(3, 4), NULL, 2, REDTUNE_INVALID,
                  "cannot fold the array: it has 2 dimensions and no axis 2");
    CHECK_REFUSES(REDTUNE_SUM, LIST(3, 4), NULL, -3, REDTUNE_INVALID,
                  "cannot fold the array: it has 2 dimensions and no axis -3");
    CHECK_REFUSES(REDTUNE_SUM, LIST(3, 4), NULL, LIST(1, -1), REDTUNE_INVALID,
                  "cannot fold the array: axis -1 is named twice");
    CHECK_REFUSES(REDTUNE_SUM, LIST(3, -4), NULL, 0, REDTUNE_INVALID,
                  "cannot fold the array: axis 1 has size -4");
}

/* Byte offsets stay below 2^63, as for whole arrays. */
FACT(huge_arrays_are_refused) {
    const int64_t large = INT64_C(1) << 29, larger = large * 2;
    CHECK_FOLDS(REDTUNE_SUM, LIST(large, large), NULL, 1, large, large, 1, large, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(large, 2), STRIDES(large, large - 1), 1, large, 2, 1, large,
                large - 1);
#define TOO_MANY                                                                                   \
    "cannot fold the array: it has more than 288230376151711744 elements of f32, the most there "  \
    "may be"
    CHECK_REFUSES(REDTUNE_SUM, LIST(large, larger), NULL, 1, REDTUNE_INVALID, TOO_MANY);
    CHECK_REFUSES(REDTUNE_SUM, LIST(INT64_MAX, INT64_MAX), NULL, 1, REDTUNE_INVALID, TOO_MANY);
    CHECK_REFUSES(REDTUNE_SUM, LIST(larger, 0, larger), NULL, 1, REDTUNE_INVALID, TOO_MANY);
    CHECK_REFUSES(REDTUNE_SUM, LIST(larger, larger), STRIDES(1, 1), 1, REDTUNE_INVALID, TOO_MANY);
    CHECK_REFUSES(REDTUNE_SUM, LIST(5, 4), STRIDES(INT64_MAX, 1), 1, REDTUNE_INVALID,
                  "cannot fold the array: axis 0, of size 5 and stride 9223372036854775807, goes "
                  "beyond element 288230376151711743, the last there may be");
    CHECK_REFUSES(REDTUNE_SUM, LIST(large, 2), STRIDES(large, large), 1, REDTUNE_INVALID,
                  "cannot fold the array: axis 1, of size 2 and stride 536870912, goes beyond "
                  "element 288230376151711743, the last there may be");
}

FACT(arguments_that_make_no_sense_are_refused) {
    const redtune_problem before = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 99);
    const redtune_problem wrong[] = {{.op = (redtune_op)120, .dtype = REDTUNE_F32},
                                     {.op = REDTUNE_SUM},
                                     {.op = REDTUNE_XOR, .dtype = REDTUNE_F32}};
    static const char *const part[] = {"no op 120", "problem.dtype", "the xor of f32"};
    const redtune_problem later = {.dtype = REDTUNE_F32, .reserved = {1}};
    redtune_problem problem = before;
    const int64_t shape[] = {3, 4};
    const int axis = 1;
    CHECK_FAILS(redtune_problem_fold(NULL, shape, NULL, 2, &axis, 1, &err), REDTUNE_INVALID, err,
                "problem is NULL");
    CHECK_FAILS(redtune_problem_fold(&problem, NULL, NULL, 2, &axis, 1, &err), REDTUNE_INVALID, err,
                "shape is NULL");
    CHECK_FAILS(redtune_problem_fold(&problem, shape, NULL, 2, NULL, 1, &err), REDTUNE_INVALID, err,
                "axes is NULL");
    CHECK_INT(redtune_problem_fold(&problem, NULL, NULL, 2, NULL, 0, NULL), REDTUNE_INVALID);
    CHECK(!memcmp(&problem, &before, sizeof problem));
    for (int i = 0; i < 3; i++) {
        problem = wrong[i];
        CHECK_FAILS(redtune_problem_fold(&problem, shape, NULL, 2, &axis, 1, &err), REDTUNE_INVALID,
                    err, part[i]);
    }
    problem = later;
    CHECK_FAILS(redtune_problem_fold(&problem, shape, NULL, 2, &axis, 1, &err), REDTUNE_UNSUPPORTED,
                err, "redtune_problem");
}

int main(int argc, char **argv) { return check_run(argc, argv); }
