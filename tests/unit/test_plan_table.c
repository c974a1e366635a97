/* Facts about the table of plans: each key finds its own plan, whichever bucket it shares, and
 * threads that add the same keys at the same time end with the same plans. */
#include "check.h"

#include <pthread.h>
#include "api/runtime/plan_table.h"
#include "model/problem.h"
#include "shaped.h"

enum { OPS = 40, DTYPES = 13, POWERS = 65, THREADS = 4 };

static redtune_error err;
static rdt_plan_table table;
static char plans[OPS * DTYPES * POWERS]; /* only their addresses are used */

/* Without a result, so that the table owns none of the plans. */
static redtune_problem problem_at(int op, int dtype, int power) {
    return redtune_problem_whole((redtune_op)op, (redtune_dtype)dtype,
                                 power ? UINT64_C(1) << (power - 1) : 0);
}

static redtune_plan *plan_at(int op, int dtype, int power) {
    return (redtune_plan *)&plans[(op * DTYPES + dtype) * POWERS + power];
}

FACT(each_key_finds_its_own_plan) {
    redtune_plan *got = NULL;
    for (int op = 0; op < OPS; op++)
        for (int dtype = 0; dtype < DTYPES; dtype++)
            for (int power = 0; power < POWERS; power++) {
                redtune_problem problem = problem_at(op, dtype, power);
                CHECK(!rdt_plan_table_find(&table, &problem));
                CHECK_OK(rdt_plan_table_add(&table, &problem, plan_at(op, dtype, power), NULL,
                                            false, &got, &err),
                         err);
                CHECK(got == plan_at(op, dtype, power));
            }
    for (int op = 0; op < OPS; op++)
        for (int dtype = 0; dtype < DTYPES; dtype++)
            for (int power = 0; power < POWERS; power++) {
                redtune_problem problem = problem_at(op, dtype, power);
                CHECK(rdt_plan_table_find(&table, &problem) == plan_at(op, dtype, power));
            }
    rdt_plan_table_clear(&table);
    redtune_problem first = problem_at(0, 0, 0);
    CHECK(!rdt_plan_table_find(&table, &first));
}

/* A plan of a whole array would give one result where others are wanted. */
FACT(a_plan_of_a_whole_array_serves_no_other_layout) {
    redtune_plan *got = NULL;
    const redtune_problem whole = problem_at(0, 0, 10);
    CHECK_OK(rdt_plan_table_add(&table, &whole, plan_at(0, 0, 10), NULL, false, &got, &err), err);
    redtune_problem other[4] = {whole, whole, whole, whole};
    RESHAPE(&other[0], outer, 2);
    RESHAPE(&other[1], inner, 2);
    RESHAPE(&other[2], step, 2);
    other[3].order = (redtune_order)1;
    for (size_t i = 0; i < 4; i++) CHECK(!rdt_plan_table_find(&table, &other[i]));
    CHECK(rdt_plan_table_find(&table, &whole) == plan_at(0, 0, 10));
    rdt_plan_table_clear(&table);
}

FACT(usual_extents_written_out_find_the_same_plan) {
    redtune_plan *got = NULL;
    redtune_problem whole = problem_at(0, 0, 10);
    CHECK_OK(rdt_plan_table_add(&table, &whole, plan_at(0, 0, 10), NULL, false, &got, &err), err);
    RESHAPE(&whole, outer, 1);
    RESHAPE(&whole, inner, 1);
    RESHAPE(&whole, step, 1);
    RESHAPE(&whole, outer_step, shaped_of(&whole).count);
    CHECK(rdt_plan_table_find(&table, &whole) == plan_at(0, 0, 10));
    rdt_plan_table_clear(&table);
}

/* Keys that share a bucket are told apart by all of these, uses left out here. */
FACT(every_part_of_a_key_tells_plans_apart) {
    const redtune_problem key = redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 64, 100);
    redtune_problem others[10];
    for (size_t i = 0; i < 10; i++) others[i] = key;
    others[0].op = REDTUNE_MAX;
    others[1].dtype = REDTUNE_I32;
    others[2].result = REDTUNE_F64;
    others[3].order = REDTUNE_ORDER_FIXED;
    others[4].accuracy = REDTUNE_ACCURACY_COMPENSATED;
    RESHAPE(&others[5], count, 128);
    RESHAPE(&others[6], outer, 128);
    RESHAPE(&others[7], inner, 2);
    RESHAPE(&others[8], outer_step, 101); /* of another alignment */
    RESHAPE(&others[9], step, 4);         /* columns */
    RESHAPE(&others[9], outer_step, 400);
    for (size_t i = 0; i < 10; i++) {
        check_that(!rdt_plan_table_same_key(&key, &others[i]), __FILE__, __LINE__, "key %zu", i);
        CHECK(rdt_plan_table_same_key(&others[i], &others[i]));
    }
    redtune_problem segments[4];
    for (size_t i = 0; i < 4; i++) {
        segments[i] = key;
        segments[i].segmented = i == 1 ? REDTUNE_SEGMENTED_ALL : REDTUNE_SEGMENTED_EACH;
    }
    segments[2].median = 8;
    segments[3].greatest = 5000;
    CHECK(!rdt_plan_table_same_key(&key, &segments[0]));
    for (size_t i = 1; i < 4; i++) CHECK(!rdt_plan_table_same_key(&segments[0], &segments[i]));
}

/* Whatever lies between them. */
FACT(rows_share_a_plan_up_to_the_next_power_of_two) {
    redtune_plan *got = NULL;
    redtune_problem rows = problem_at(0, 0, 10);
    RESHAPE(&rows, outer, 64);
    CHECK_OK(rdt_plan_table_add(&table, &rows, plan_at(0, 0, 10), NULL, false, &got, &err), err);
    RESHAPE(&rows, outer, 127);
    RESHAPE(&rows, outer_step, 4096);
    CHECK(rdt_plan_table_find(&table, &rows) == plan_at(0, 0, 10));
    RESHAPE(&rows, outer, 128);
    CHECK(!rdt_plan_table_find(&table, &rows));
    rdt_plan_table_clear(&table);
}

/* Each pair differs in one part of the key alone, which is named; results would not show all. */
FACT(each_part_of_the_key_tells_problems_apart) {
    static const struct {
        const char *part;
        shaped a, b;
    } pairs[] = {
        {"op", {.count = 9}, {.count = 9, .op = REDTUNE_PROD}},
        {"dtype", {.dtype = REDTUNE_F32}, {.dtype = REDTUNE_I32}},
        {"result", {.count = 9}, {.count = 9, .result = REDTUNE_F64}},
        {"order", {.count = 9}, {.count = 9, .order = REDTUNE_ORDER_FIXED}},
        {"accuracy", {.count = 9}, {.count = 9, .accuracy = REDTUNE_ACCURACY_EXACT}},
        {"uses", {.count = 9}, {.count = 9, .uses = REDTUNE_USE_ACCUMULATE}},
        {"segmented", {.count = 9}, {.count = 9, .segmented = REDTUNE_SEGMENTED_EACH}},
        {"segmented",
         {.count = 9, .segmented = REDTUNE_SEGMENTED_EACH},
         {.count = 9, .segmented = REDTUNE_SEGMENTED_ALL}},
        {"count", {.count = 15}, {.count = 16}},
        {"outer", {.count = 16, .outer = 2}, {.count = 16, .outer = 4}},
        {"inner", {.count = 16, .inner = 64}, {.count = 16, .inner = 128}},
        {"median",
         {.count = 9, .segmented = REDTUNE_SEGMENTED_EACH},
         {.count = 9, .segmented = REDTUNE_SEGMENTED_EACH, .median = 1}},
        {"greatest",
         {.count = 9, .segmented = REDTUNE_SEGMENTED_EACH},
         {.count = 9, .segmented = REDTUNE_SEGMENTED_EACH, .greatest = 9}},
        {"alignment",
         {.dtype = REDTUNE_F32, .count = 16, .outer = 2, .outer_step = 17},
         {.dtype = REDTUNE_F32, .count = 16, .outer = 2, .outer_step = 18}},
        {"columns",
         {.dtype = REDTUNE_F32, .count = 16, .outer = 2, .outer_step = 64},
         {.dtype = REDTUNE_F32, .count = 16, .outer = 2, .outer_step = 64, .step = 4}},
    };
    redtune_plan *got = NULL;
    int failed = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const redtune_problem one = shaped_problem(pairs[i].a), *a = &one;
        const redtune_problem other = shaped_problem(pairs[i].b), *b = &other;
        CHECK_OK(rdt_plan_table_add(&table, a, plan_at(0, 0, 1), NULL, false, &got, &err), err);
        bool good = rdt_plan_table_find(&table, a) && !rdt_plan_table_find(&table, b) &&
                    !rdt_plan_table_same_key(a, b) == (a->uses == b->uses);
        rdt_plan_table_clear(&table);
        if (!good) fprintf(stderr, "not told apart by %s\n", pairs[i].part);
        failed += !good;
    }
    CHECK_INT(failed, 0);
}

/* Whatever their steps, as long as they leave elements apart. */
FACT(columns_share_a_plan_up_to_the_next_power_of_two) {
    redtune_plan *got = NULL;
    redtune_problem columns = problem_at(0, 0, 10), strided = columns;
    RESHAPE(&columns, inner, 64);
    RESHAPE(&strided, step, 3);
    CHECK_OK(rdt_plan_table_add(&table, &columns, plan_at(0, 0, 10), NULL, false, &got, &err), err);
    CHECK_OK(rdt_plan_table_add(&table, &strided, plan_at(0, 0, 11), NULL, false, &got, &err), err);
    RESHAPE(&columns, inner, 127);
    RESHAPE(&columns, step, 127);
    CHECK(rdt_plan_table_find(&table, &columns) == plan_at(0, 0, 10));
    RESHAPE(&columns, outer, 1);
    CHECK(rdt_plan_table_find(&table, &columns) == plan_at(0, 0, 10));
    RESHAPE(&columns, outer, 2);
    CHECK(!rdt_plan_table_find(&table, &columns));
    RESHAPE(&columns, outer, 0);
    RESHAPE(&columns, inner, 128);
    CHECK(!rdt_plan_table_find(&table, &columns));
    RESHAPE(&strided, step, 4097);
    CHECK(rdt_plan_table_find(&table, &strided) == plan_at(0, 0, 11));
    RESHAPE(&strided, step, 1);
    CHECK(!rdt_plan_table_find(&table, &strided));
    rdt_plan_table_clear(&table);
}

/* ---- alignment ------------------------------------------------------------------------------- */

static redtune_problem resolved_of(redtune_dtype dtype, uint64_t outer, uint64_t count,
                                   uint64_t inner, uint64_t outer_step, uint64_t step) {
    redtune_problem problem = PROBLEM(.dtype = dtype, .count = count, .outer = outer,
                                      .inner = inner, .outer_step = outer_step, .step = step);
    if (rdt_problem_resolve(&problem, &problem, &err)) RESHAPE(&problem, count, UINT64_MAX);
    return problem;
}

static bool share_a_plan(const redtune_problem *a, const redtune_problem *b) {
    redtune_plan *got = NULL;
    bool found = !rdt_plan_table_add(&table, a, plan_at(0, 0, 1), NULL, false, &got, &err) &&
                 rdt_plan_table_find(&table, b) == got;
    rdt_plan_table_clear(&table);
    return found;
}

/* 1001 and 1003 f32 are aligned to 4 bytes, 1002 to 8, 1004 and 1008 to 16. */
FACT(steps_of_another_alignment_have_a_plan_of_their_own) {
    const redtune_problem rows[] = {
        resolved_of(REDTUNE_F32, 64, 1001, 1, 0, 0), resolved_of(REDTUNE_F32, 64, 1003, 1, 0, 0),
        resolved_of(REDTUNE_F32, 64, 1002, 1, 0, 0), resolved_of(REDTUNE_F32, 64, 1004, 1, 0, 0),
        resolved_of(REDTUNE_F32, 64, 1008, 1, 0, 0)};
    const redtune_problem pitched = resolved_of(REDTUNE_F32, 64, 1001, 1, 1004, 0);
    const redtune_problem columns = resolved_of(REDTUNE_F32, 1, 100, 1001, 0, 0);
    const redtune_problem wide = resolved_of(REDTUNE_F32, 1, 100, 1001, 0, 1024);
    const redtune_problem batch = resolved_of(REDTUNE_F32, 2, 100, 1024, 0, 0);
    const redtune_problem uneven = resolved_of(REDTUNE_F32, 2, 100, 1024, 102401, 0);
    CHECK(share_a_plan(&rows[0], &rows[1]) && share_a_plan(&rows[3], &rows[4]));
    CHECK(!share_a_plan(&rows[0], &rows[2]) && !share_a_plan(&rows[0], &rows[3]));
    CHECK(!share_a_plan(&rows[2], &rows[3]));
    CHECK(share_a_plan(&pitched, &rows[3]) && !share_a_plan(&pitched, &rows[0]));
    CHECK(!share_a_plan(&columns, &wide) && !share_a_plan(&batch, &uneven));
    /* A whole array has no steps, whatever is written. */
    redtune_problem whole = resolved_of(REDTUNE_F32, 1, 1001, 1, 0, 0), written = whole;
    RESHAPE(&written, outer, 1);
    RESHAPE(&written, inner, 1);
    RESHAPE(&written, step, 1);
    RESHAPE(&written, outer_step, 1003);
    CHECK(share_a_plan(&whole, &written));
}

/* Each problem of a key has the same typical one, which is of that key. */
FACT(the_plan_does_not_depend_on_which_problem_came_first) {
    static const uint64_t extents[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 1000, 1001, 1002, 1004, 4096};
    static const uint64_t steps[] = {0, 1, 2, 3, 4, 6, 8, 16, 24, 999, 1024, 5000000};
    enum { EXTENTS = sizeof extents / sizeof *extents, STEPS = sizeof steps / sizeof *steps };
    static const redtune_dtype dtypes[] = {REDTUNE_I8, REDTUNE_F16, REDTUNE_F32, REDTUNE_F64};
    int tried = 0;
    for (int i = 0; i < EXTENTS * EXTENTS * EXTENTS * STEPS * STEPS; i += 7) {
        int rest = i;
        const uint64_t outer = extents[rest % EXTENTS],
                       count = extents[(rest /= EXTENTS) % EXTENTS];
        const uint64_t inner = extents[(rest /= EXTENTS) % EXTENTS];
        const uint64_t outer_step = steps[(rest /= EXTENTS) % STEPS], step = steps[rest / STEPS];
        const redtune_problem problem =
            resolved_of(dtypes[i % 4], outer, count, inner, outer_step, step);
        if (shaped_of(&problem).count == UINT64_MAX) continue;
        redtune_problem typical = rdt_plan_table_typical(&problem), same = typical;
        CHECK_OK(rdt_problem_resolve(&typical, &typical, &err), err);
        CHECK_INT(rdt_problem_alignment(&typical), rdt_problem_alignment(&problem));
        CHECK(rdt_problem_layout(&typical) == rdt_problem_layout(&problem));
        CHECK(share_a_plan(&problem, &typical) && share_a_plan(&problem, &same));
        const redtune_problem again = rdt_plan_table_typical(&typical);
        CHECK(rdt_problem_same(&again, &same) || !rdt_problem_compare_extents(&again, &same));
        tried++;
    }
    CHECK(tried > 50000);
}

/* Rows that overlap may be more elements side by side than there are bytes of memory. */
FACT(a_plan_for_overlapping_rows_can_be_made) {
    const uint64_t many = UINT64_C(1) << 31;
    const redtune_problem several[] = {
        resolved_of(REDTUNE_F32, many, many, 1, 1, 0),
        resolved_of(REDTUNE_F32, many, many, 2, 4, 8),
        resolved_of(REDTUNE_F64, many, many, 1, 3, 5),
        resolved_of(REDTUNE_I8, 1 << 20, 1, many - 1, 1, 1),
    };
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        CHECK(shaped_of(&several[i]).count != UINT64_MAX);
        redtune_problem typical = rdt_plan_table_typical(&several[i]);
        CHECK_OK(rdt_problem_resolve(&typical, &typical, &err), err);
        CHECK(share_a_plan(&several[i], &typical));
    }
}

/* One problem of the key has a plan of its own, however its extents are written. */
FACT(a_problem_with_a_plan_of_its_own_finds_that) {
    redtune_problem measured = resolved_of(REDTUNE_F32, 64, 100, 1, 0, 0), written = measured;
    const redtune_problem other = resolved_of(REDTUNE_F32, 65, 100, 1, 0, 0);
    const redtune_problem pitched = resolved_of(REDTUNE_F32, 64, 100, 1, 104, 0);
    rdt_plan_own own = {.extents = {rdt_problem_extents(&measured)}, .count = 1}, *found = NULL;
    redtune_plan *got = NULL;
    RESHAPE(&written, inner, 1);
    RESHAPE(&written, step, 1);
    RESHAPE(&written, outer_step, 100);
    CHECK_OK(rdt_plan_table_add(&table, &other, plan_at(0, 0, 1), &own, false, &got, &err), err);
    CHECK(rdt_plan_table_find(&table, &other) == plan_at(0, 0, 1));
    CHECK(rdt_plan_table_find(&table, &pitched) == plan_at(0, 0, 1));
    CHECK(!rdt_plan_table_find(&table, &measured)); /* not made yet */
    CHECK(rdt_plan_table_find_key(&table, &measured, &found) == plan_at(0, 0, 1) && found == &own);
    CHECK(!rdt_plan_table_place(&own, &other) && !rdt_plan_table_place(NULL, &other));
    for (int i = 0; i < 5; i++) { /* each extent counts */
        redtune_problem apart = written;
        shaped of = shaped_of(&written);
        of.inner = of.step = 1;
        of.outer_step = 100;
        uint64_t *const extents[] = {&of.count, &of.outer, &of.inner, &of.outer_step, &of.step};
        CHECK(rdt_plan_table_place(&own, &apart));
        ++*extents[i];
        shape_problem(&apart, &of);
        CHECK(!rdt_plan_table_place(&own, &apart));
    }
    atomic_store(rdt_plan_table_place(&own, &measured), plan_at(0, 0, 2));
    CHECK(rdt_plan_table_find(&table, &measured) == plan_at(0, 0, 2));
    CHECK(rdt_plan_table_find(&table, &written) == plan_at(0, 0, 2));
    CHECK(rdt_plan_table_find(&table, &other) == plan_at(0, 0, 1));
    CHECK(rdt_plan_table_same_key(&measured, &other) && rdt_plan_table_same_key(&pitched, &other));
    rdt_plan_table_clear(&table);
}

/* Kernels of runs that accumulate are others; what was measured serves them all. */
FACT(uses_have_plans_of_their_own) {
    redtune_problem plain = resolved_of(REDTUNE_F32, 64, 100, 1, 0, 0), uses = plain;
    redtune_plan *got = NULL;
    uses.uses = REDTUNE_USE_ACCUMULATE;
    CHECK_OK(rdt_plan_table_add(&table, &plain, plan_at(0, 0, 1), NULL, false, &got, &err), err);
    CHECK(!rdt_plan_table_find(&table, &uses));
    CHECK_OK(rdt_plan_table_add(&table, &uses, plan_at(0, 0, 2), NULL, false, &got, &err), err);
    CHECK(rdt_plan_table_find(&table, &plain) == plan_at(0, 0, 1));
    CHECK(rdt_plan_table_find(&table, &uses) == plan_at(0, 0, 2));
    CHECK(rdt_plan_table_same_key(&plain, &uses));
    rdt_plan_table_clear(&table);
}

FACT(counts_share_a_plan_up_to_the_next_power_of_two) {
    redtune_plan *got = NULL;
    redtune_problem problem = PROBLEM(.count = 1024);
    CHECK_OK(rdt_plan_table_add(&table, &problem, plan_at(1, 1, 1), NULL, false, &got, &err), err);
    RESHAPE(&problem, count, 2047);
    CHECK(rdt_plan_table_find(&table, &problem) == got);
    RESHAPE(&problem, count, 2048);
    CHECK(!rdt_plan_table_find(&table, &problem));
    RESHAPE(&problem, count, 1023);
    CHECK(!rdt_plan_table_find(&table, &problem));
    CHECK_INT(rdt_plan_table_count(0), 0);
    CHECK_INT(rdt_plan_table_count(1), 1);
    CHECK_INT(rdt_plan_table_count(2047), 1024);
    CHECK(rdt_plan_table_count(UINT64_MAX) == UINT64_C(1) << 63);
    rdt_plan_table_clear(&table);
}

FACT(enumerators_that_are_none_find_nothing) {
    redtune_plan *got = NULL;
    redtune_problem problem = problem_at(1, 1, 1);
    CHECK_OK(rdt_plan_table_add(&table, &problem, plan_at(1, 1, 1), NULL, false, &got, &err), err);
    for (int shift = 5; shift < 32; shift++) {
        redtune_problem none = problem;
        none.op = (redtune_op)((unsigned)problem.op + (1u << shift));
        CHECK(!rdt_plan_table_find(&table, &none));
        none = problem;
        none.dtype = (redtune_dtype)((unsigned)problem.dtype + (1u << shift));
        CHECK(!rdt_plan_table_find(&table, &none));
        none = problem;
        none.result = (redtune_dtype)(1u << shift);
        CHECK(!rdt_plan_table_find(&table, &none));
    }
    rdt_plan_table_clear(&table);
}

/* Adds every key with a plan of its own thread's; the first of a key stays. */
static void *add_all(void *user) {
    const int thread = (int)(intptr_t)user;
    static _Atomic(redtune_plan *) first[OPS][POWERS];
    for (int op = 0; op < OPS; op++)
        for (int power = 0; power < POWERS; power++) {
            redtune_problem problem = problem_at(op, 1, power);
            redtune_plan *got = NULL, *none = NULL;
            if (rdt_plan_table_add(&table, &problem, plan_at(op, thread, power), NULL, false, &got,
                                   NULL) ||
                rdt_plan_table_find(&table, &problem) != got)
                return NULL;
            if (!atomic_compare_exchange_strong(&first[op][power], &none, got) && none != got)
                return NULL;
        }
    return user;
}

FACT(threads_that_add_one_key_get_one_plan) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, add_all, (void *)(intptr_t)(i + 1)));
    for (int i = 0; i < THREADS; i++) {
        void *done = NULL;
        CHECK(!pthread_join(threads[i], &done) && done);
    }
    rdt_plan_table_clear(&table);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
