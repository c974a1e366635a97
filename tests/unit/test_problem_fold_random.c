/* Facts about src/model/problem_fold.c: what NumPy calls a reduction over axes, as one problem.
 *
 * Random arrays are enumerated index by index: which elements make each result, and in which order.
 * A search over all problems then says whether one of them reads the same, so that each fold is
 * held against the definition in redtune.h, and one of any axes against the absence of others. */
#include "base/random.h"
#include "check.h"
#include "model/problem.h"
#include "shaped.h"

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
    if (!rdt_problem_extents(problem).outer || !rdt_problem_extents(problem).inner ||
        rdt_problem_extents(problem).count != elements->count ||
        rdt_problem_extents(problem).outer * rdt_problem_extents(problem).inner !=
            elements->results)
        return false;
    for (uint64_t r = 0; r < elements->results; r++) {
        uint64_t o = r / rdt_problem_extents(problem).inner,
                 i = r % rdt_problem_extents(problem).inner;
        for (uint64_t e = 0; e < elements->count; e++)
            if (elements->offset[r * elements->count + e] !=
                (int64_t)(o * rdt_problem_extents(problem).outer_step +
                          e * rdt_problem_extents(problem).step + i))
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
    const rdt_extents extents = rdt_problem_extents(problem);
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

/* Whether no element is there twice; sorts them. */
static bool are_disjoint(elements *elements) {
    const uint64_t all = elements->results * elements->count;
    qsort(elements->offset, all, sizeof *elements->offset, compare_offsets);
    for (uint64_t i = 1; i < all; i++)
        if (elements->offset[i - 1] == elements->offset[i]) return false;
    return true;
}

/* Rows of which neighbours share sectors, and elements of one do not follow each other in these:
 * they go as any axes. */
static bool are_interleaved(const redtune_problem *rows) {
    const rdt_extents its = rdt_problem_extents(rows);
    return its.inner == 1 && its.outer > 1 && its.count > 1 && its.outer_step < its.step &&
           its.outer_step * sizeof(float) < 32;
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
        if (rdt_problem_extents(&problem).outer > 1)
            RESHAPE(&problem, outer_step, (uint64_t)offset[inner * elements->count]);
        if (rdt_problem_extents(&problem).step && rdt_problem_extents(&problem).step < INT32_MAX &&
            rdt_problem_extents(&problem).outer_step &&
            rdt_problem_extents(&problem).outer_step < INT32_MAX && !are_interleaved(&problem) &&
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
    int disjoint,
        interlocked; /* of the strided ones; interlocked: disjoint, but not by their steps */
} tally;

static void count_fold(const redtune_problem *problem, tally *tally) {
    bool many = rdt_problem_extents(problem).outer > 1,
         side_by_side = rdt_problem_extents(problem).inner > 1;
    if (!rdt_problem_extents(problem).count)
        tally->empty++;
    else if (!many && !side_by_side)
        tally->wholes++;
    else if (!side_by_side)
        tally->rows++;
    else if (!many)
        tally->columns++;
    else
        tally->middles++;
    tally->wide += rdt_problem_extents(problem).outer_step >
                   rdt_problem_extents(problem).count * rdt_problem_extents(problem).inner;
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
        const bool known = rdt_problem_strided_is_disjoint(&problem, REDTUNE_ARRAY_X),
                   disjoint = are_disjoint(&all);
        CHECK(!known || disjoint);
        tally->disjoint += disjoint;
        tally->interlocked += disjoint && !known;
        return;
    }
    CHECK(all.results > 0);
    CHECK(reads(&problem, &all));
    CHECK(!are_interleaved(&problem));
    CHECK(rdt_problem_extents(&problem).step &&
          (rdt_problem_extents(&problem).outer_step || !rdt_problem_extents(&problem).count));
    CHECK_INT(problem.op, array->op);
    CHECK_TEXT(problem.config, "block=256");
    count_fold(&problem, tally);
}

FACT(fold_reads_what_the_array_says) {
    rdt_random random = {.state = 2026};
    tally tally = {0};
    array array;
    for (int i = 0; i < ARRAYS && !check_state.failed; i++) {
        draw_array(&random, &array);
        check_array(&array, &tally);
    }
    printf(
        "%d arrays: %d wholes, %d rows, %d columns, %d middle axes, %d wide, %d empty; %d "
        "without results, %d of other axes: %d of them without an element twice, %d interlocked\n",
        ARRAYS, tally.wholes, tally.rows, tally.columns, tally.middles, tally.wide, tally.empty,
        tally.no_results, tally.strided, tally.disjoint, tally.interlocked);
    CHECK(tally.wholes > 500 && tally.rows > 500 && tally.columns > 300 && tally.middles > 300);
    CHECK(tally.wide > 200 && tally.empty > 200 && tally.no_results > 200 && tally.strided > 1000);
    CHECK(tally.disjoint > 500 && tally.disjoint < tally.strided - 200);
    CHECK(tally.interlocked < tally.disjoint / 4);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
