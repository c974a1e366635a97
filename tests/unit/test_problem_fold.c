/* Facts about src/model/problem_fold.c: what NumPy calls a reduction over axes, as one problem.
 *
 * Random arrays are enumerated index by index: which elements make each result, and in which order.
 * A search over all problems then says whether one of them reads the same, so that each fold is
 * held against the definition in redtune.h, and one of any axes against the absence of others. */
#include "base/random.h"
#include "check.h"
#include "model/problem.h"
#include "shaped.h"

/* The extents without zeros. */
static rdt_extents complete_of(const redtune_problem *problem) {
    return rdt_problem_extents(problem);
}

enum { DIMENSIONS_MAX = 6, ELEMENTS_MAX = 15625, ARRAYS = 10000 };

typedef struct array {
    redtune_op op;
    int64_t shape[DIMENSIONS_MAX], strides[DIMENSIONS_MAX];
    size_t dimensions, axis_count;
    int axes[DIMENSIONS_MAX];
    bool packed, reduced[DIMENSIONS_MAX];
} array;

/* The offsets of the elements of each result, one result after the other. */
typedef struct elements {
    uint64_t results, count;
    int64_t offset[ELEMENTS_MAX];
} elements;

static redtune_error err;

/* ---- the definition ---------------------------------------------------------------------------
 */

/* What is left of index, counted in row-major order over the axes that are reduced, or kept, gives
 * the offset. */
static int64_t offset_of(const array *array, bool reduced, uint64_t index) {
    int64_t offset = 0;
    for (size_t i = array->dimensions; i-- > 0;) {
        if (array->reduced[i] != reduced) continue;
        offset += (int64_t)(index % (uint64_t)array->shape[i]) * array->strides[i];
        index /= (uint64_t)array->shape[i];
    }
    return offset;
}

static int compare_offsets(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void enumerate(const array *array, elements *out) {
    bool indexed = array->op == REDTUNE_ARGMIN || array->op == REDTUNE_ARGMAX;
    out->results = out->count = 1;
    for (size_t i = 0; i < array->dimensions; i++)
        *(array->reduced[i] ? &out->count : &out->results) *= (uint64_t)array->shape[i];
    for (uint64_t r = 0; r < out->results; r++) {
        int64_t *first = &out->offset[r * out->count];
        for (uint64_t e = 0; e < out->count; e++)
            first[e] = offset_of(array, false, r) + offset_of(array, true, e);
        if (!indexed) qsort(first, out->count, sizeof *first, compare_offsets);
    }
}

/* Whether the problem reads these elements for these results. */
static bool reads(const redtune_problem *problem, const elements *elements) {
    if (!complete_of(problem).outer || !complete_of(problem).inner ||
        complete_of(problem).count != elements->count ||
        complete_of(problem).outer * complete_of(problem).inner != elements->results)
        return false;
    for (uint64_t r = 0; r < elements->results; r++) {
        uint64_t o = r / complete_of(problem).inner, i = r % complete_of(problem).inner;
        for (uint64_t e = 0; e < elements->count; e++)
            if (elements->offset[r * elements->count + e] !=
                (int64_t)(o * complete_of(problem).outer_step + e * complete_of(problem).step + i))
                return false;
    }
    return true;
}

static int64_t along(const redtune_axis *axes, uint32_t count, redtune_array array, uint64_t n) {
    int64_t place = 0;
    for (uint32_t i = count; i-- > 0; n /= axes[i].size)
        place += (int64_t)(n % axes[i].size) * axes[i].step[array];
    return place;
}

/* The same of a problem of any axes, whose results are packed. */
static bool reads_strided(const redtune_problem *problem, const elements *elements) {
    static int64_t offset[ELEMENTS_MAX];
    const rdt_extents extents = complete_of(problem);
    const bool indexed = problem->op == REDTUNE_ARGMIN || problem->op == REDTUNE_ARGMAX;
    if (extents.count != elements->count || extents.outer != elements->results) return false;
    for (uint64_t r = 0; r < extents.outer; r++) {
        for (uint64_t e = 0; e < extents.count; e++)
            offset[e] = along(problem->kept, problem->kept_axes, REDTUNE_ARRAY_X, r) +
                        along(problem->reduced, problem->reduced_axes, REDTUNE_ARRAY_X, e);
        if (!indexed) qsort(offset, extents.count, sizeof *offset, compare_offsets);
        if (along(problem->kept, problem->kept_axes, REDTUNE_ARRAY_RESULTS, r) != (int64_t)r ||
            memcmp(offset, elements->offset + r * extents.count, extents.count * sizeof *offset))
            return false;
    }
    return true;
}

/* Whether any problem of rows or columns does. Two elements of a result give its step and two
 * results the outer one; neither may be 0, which means another. */
static bool can_be_said(const elements *elements) {
    const int64_t *offset = elements->offset;
    redtune_problem problem = PROBLEM(.count = elements->count, .step = 1, .outer_step = 1);
    if (elements->count > 1) RESHAPE(&problem, step, (uint64_t)(offset[1] - offset[0]));
    for (uint64_t inner = 1; inner <= elements->results; inner++) {
        RESHAPE(&problem, inner, inner);
        RESHAPE(&problem, outer, elements->results / inner);
        if (complete_of(&problem).outer > 1)
            RESHAPE(&problem, outer_step, (uint64_t)offset[inner * elements->count]);
        if (complete_of(&problem).step && complete_of(&problem).step < INT32_MAX &&
            complete_of(&problem).outer_step && complete_of(&problem).outer_step < INT32_MAX &&
            reads(&problem, elements))
            return true;
    }
    return false;
}

/* ---- random arrays ----------------------------------------------------------------------------
 */

static uint64_t draw(rdt_random *random, uint64_t bound) { return rdt_random_below(random, bound); }

static void shuffle(rdt_random *random, int *list, size_t count) {
    for (size_t i = count; i > 1; i--) {
        size_t other = draw(random, i);
        int taken = list[i - 1];
        list[i - 1] = list[other];
        list[other] = taken;
    }
}

/* A packed array whose axes were permuted or not, sliced or padded here and there, and now and then
 * reversed, broadcast, or given any stride. */
static void draw_strides(rdt_random *random, array *out) {
    int order[DIMENSIONS_MAX];
    int64_t stride = 1;
    for (size_t i = 0; i < out->dimensions; i++) order[i] = (int)i;
    if (!out->packed && draw(random, 2)) shuffle(random, order, out->dimensions);
    for (size_t i = out->dimensions; i-- > 0;) {
        int axis = order[i];
        if (!out->packed && !draw(random, 8)) stride *= 2;
        out->strides[axis] = stride;
        stride *= out->shape[axis] ? out->shape[axis] : 1;
        if (!out->packed && !draw(random, 8)) stride += (int64_t)draw(random, 3);
        if (out->packed) continue;
        if (!draw(random, 24)) out->strides[axis] *= -1;
        if (!draw(random, 24)) out->strides[axis] = 0;
        if (!draw(random, 24)) out->strides[axis] = (int64_t)draw(random, 12) - 2;
    }
}

static void draw_array(rdt_random *random, array *out) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_ARGMAX, REDTUNE_MEAN, REDTUNE_ARGMIN,
                                     REDTUNE_FMIN};
    int axes[DIMENSIONS_MAX];
    *out = (array){.op = ops[draw(random, 5)], .dimensions = draw(random, DIMENSIONS_MAX + 1)};
    int dimensions = (int)out->dimensions;
    for (int i = 0; i < dimensions; i++) {
        out->shape[i] = draw(random, 40) ? 1 + (int64_t)draw(random, 5) : 0;
        axes[i] = i;
    }
    out->packed = !draw(random, 4);
    draw_strides(random, out);
    /* Neighbours half of the time. */
    if (draw(random, 2)) shuffle(random, axes, out->dimensions);
    if (dimensions && draw(random, 8))
        out->axis_count = 1 + draw(random, (out->dimensions + 1) / 2);
    size_t first = draw(random, out->dimensions - out->axis_count + 1);
    for (size_t i = 0; i < out->axis_count; i++) {
        int axis = axes[first + i];
        out->reduced[axis] = true;
        out->axes[i] = draw(random, 2) ? axis : axis - dimensions;
    }
    for (int i = 0; !out->axis_count && i < dimensions; i++) out->reduced[i] = true;
}

typedef struct tally {
    int wholes, rows, columns, middles, wide, empty, no_results, strided;
} tally;

static void count_fold(const redtune_problem *problem, tally *tally) {
    bool many = complete_of(problem).outer > 1, side_by_side = complete_of(problem).inner > 1;
    if (!complete_of(problem).count)
        tally->empty++;
    else if (!many && !side_by_side)
        tally->wholes++;
    else if (!side_by_side)
        tally->rows++;
    else if (!many)
        tally->columns++;
    else
        tally->middles++;
    tally->wide +=
        complete_of(problem).outer_step > complete_of(problem).count * complete_of(problem).inner;
}

static void check_array(const array *array, tally *tally) {
    static elements all;
    const redtune_problem before = PROBLEM(.op = array->op, .dtype = REDTUNE_F32,
                                           .config = "block=256", .count = 77, .step = 5);
    redtune_problem problem = before;
    redtune_status status =
        redtune_problem_fold(&problem, array->shape, array->packed ? NULL : array->strides,
                             array->dimensions, array->axes, array->axis_count, &err);
    enumerate(array, &all);
    if (status) {
        CHECK_INT(status, REDTUNE_UNSUPPORTED);
        CHECK(!memcmp(&problem, &before, sizeof problem));
        CHECK(!all.results);
        tally->no_results++;
        return;
    }
    if (rdt_problem_is_strided(&problem)) {
        CHECK(!can_be_said(&all));
        CHECK(reads_strided(&problem, &all));
        tally->strided++;
        return;
    }
    CHECK(all.results > 0);
    CHECK(reads(&problem, &all));
    CHECK(complete_of(&problem).step &&
          (complete_of(&problem).outer_step || !complete_of(&problem).count));
    CHECK_INT(problem.op, array->op);
    CHECK_TEXT(problem.config, "block=256");
    count_fold(&problem, tally);
}

static void fold_reads_what_the_array_says(void) {
    rdt_random random = {.state = 2026};
    tally tally = {0};
    array array;
    for (int i = 0; i < ARRAYS && !check_state.failed; i++) {
        draw_array(&random, &array);
        check_array(&array, &tally);
    }
    printf("%d arrays: %d wholes, %d rows, %d columns, %d middle axes, %d wide, %d empty; %d "
           "without results, %d of other axes\n",
           ARRAYS, tally.wholes, tally.rows, tally.columns, tally.middles, tally.wide, tally.empty,
           tally.no_results, tally.strided);
    CHECK(tally.wholes > 500 && tally.rows > 500 && tally.columns > 300 && tally.middles > 300);
    CHECK(tally.wide > 200 && tally.empty > 200 && tally.no_results > 200 && tally.strided > 1000);
}

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
        CHECK_INT(complete_of(&(problem)).outer, outer_);                                          \
        CHECK_INT(complete_of(&(problem)).count, count_);                                          \
        CHECK_INT(complete_of(&(problem)).inner, inner_);                                          \
        CHECK_INT(complete_of(&(problem)).outer_step, outer_step_);                                \
        CHECK_INT(complete_of(&(problem)).step, step_);                                            \
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

static void packed_arrays_give_the_layouts(void) {
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 5), NULL, LIST(0, 1), 1, 20, 1, 20, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 5), NULL, -1, 4, 5, 1, 5, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 5), NULL, 0, 1, 4, 5, 20, 5);
    CHECK_FOLDS(REDTUNE_SUM, LIST(64, 512, 100), NULL, 1, 64, 512, 100, 51200, 100);
    CHECK_FOLDS(REDTUNE_SUM, LIST(2, 3, 4, 5, 6), NULL, LIST(-2, 2), 6, 20, 6, 120, 6);
    CHECK_FOLDS(REDTUNE_SUM, LIST(1, 4, 1, 5, 1), NULL, LIST(3, 0), 4, 5, 1, 5, 1);
}

/* A program that asks for a whole array this way has the plan of one that writes its count. */
static void whole_array_is_what_plans_take(void) {
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
    redtune_dtype result = REDTUNE_DTYPE_NONE;
    const int64_t shape[] = {30, 40};
    CHECK_OK(redtune_problem_fold(&problem, shape, NULL, 2, NULL, 0, &err), err);
    CHECK_OK(redtune_problem_result(&problem, &result, &err), err);
    CHECK_INT(complete_of(&problem).count, 1200);
    CHECK_INT(result, REDTUNE_F32);
}

static void pitches_and_transposes_fold(void) {
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

static void strides_of_one_element_mean_nothing(void) {
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 1, 5), STRIDES(5, -7, 1), 1, 1, 1, 20, 20, 20);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 1, 5), STRIDES(5, 0, 1), LIST(1, 2), 4, 5, 1, 5, 1);
}

static void arrays_of_one_element_and_of_none(void) {
    redtune_problem point = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
    CHECK_OK(redtune_problem_fold(&point, NULL, NULL, 0, NULL, 0, &err), err);
    CHECK_EXTENTS(point, 1, 1, 1, 1, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 0), NULL, 1, 4, 0, 1, 0, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(4, 0, 5), STRIDES(-1, 0, 1), LIST(0, 1), 5, 0, 1, 0, 1);
    CHECK_FOLDS(REDTUNE_SUM, LIST(0), NULL, 0, 1, 0, 1, 0, 1);
}

/* Every second axis has two elements. */
static void up_to_64_dimensions(void) {
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_U8};
    int64_t shape[65];
    const int last = 63;
    for (int i = 0; i < 65; i++) shape[i] = i % 2 + 1;
    CHECK_OK(redtune_problem_fold(&problem, shape, NULL, 64, &last, 1, &err), err);
    CHECK_EXTENTS(problem, INT64_C(1) << 31, 2, 1, 2, 1);
    CHECK_FAILS(redtune_problem_fold(&problem, shape, NULL, 65, &last, 1, &err),
                REDTUNE_UNSUPPORTED, err, "65 dimensions, of at most 64");
}

static void argmax_counts_in_row_major_order(void) {
    CHECK_FOLDS(REDTUNE_ARGMAX, LIST(2, 3, 4), NULL, LIST(2, 1), 2, 12, 1, 12, 1);
    redtune_problem any = {.op = REDTUNE_ARGMAX, .dtype = REDTUNE_F32};
    CHECK_OK(FOLD(&any, LIST(5, 4), STRIDES(1, 5), LIST(0, 1)), err);
    CHECK(rdt_problem_is_strided(&any) && any.reduced_axes == 2 && any.reduced[1].size == 4);
}

/* The forms of rows and columns number elements as the axes do, and so do any axes. */
static void fixed_order_keeps_the_order_of_the_axes(void) {
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
static void resolving_again_changes_nothing(void) {
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

static void no_results_of_a_problem_are_refused(void) {
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

static void no_results_are_refused(void) {
    CHECK_REFUSES(REDTUNE_SUM, LIST(3, 0), NULL, 0, REDTUNE_UNSUPPORTED,
                  "cannot fold the array: kept axis 1 has size 0, so there are no results; "
                  "leave out the reduction");
    CHECK_REFUSES(REDTUNE_SUM, LIST(0, 0), NULL, 0, REDTUNE_UNSUPPORTED,
                  "cannot fold the array: kept axis 1 has size 0, so there are no results; "
                  "leave out the reduction");
}

static void axes_and_sizes_that_are_none_are_refused(void) {
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
static void huge_arrays_are_refused(void) {
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

static void arguments_that_make_no_sense_are_refused(void) {
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

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(fold_reads_what_the_array_says),
        FACT(packed_arrays_give_the_layouts),
        FACT(whole_array_is_what_plans_take),
        FACT(pitches_and_transposes_fold),
        FACT(strides_of_one_element_mean_nothing),
        FACT(arrays_of_one_element_and_of_none),
        FACT(up_to_64_dimensions),
        FACT(argmax_counts_in_row_major_order),
        FACT(fixed_order_keeps_the_order_of_the_axes),
        FACT(resolving_again_changes_nothing),
        FACT(no_results_of_a_problem_are_refused),
        FACT(no_results_are_refused),
        FACT(axes_and_sizes_that_are_none_are_refused),
        FACT(huge_arrays_are_refused),
        FACT(arguments_that_make_no_sense_are_refused),
    };
    return check_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
