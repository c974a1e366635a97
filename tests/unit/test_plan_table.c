/* Facts about the table of plans: each key finds its own plan, whichever bucket it shares, and
 * threads that add the same keys at the same time end with the same plans. */
#include "check.h"

#include <pthread.h>
#include "api/runtime/plan_table.h"

enum { OPS = 40, DTYPES = 13, POWERS = 65, THREADS = 4 };

static redtune_error err;
static rdt_plan_table table;
static char plans[OPS * DTYPES * POWERS]; /* only their addresses are used */

/* Without a result, so that the table owns none of the plans. */
static redtune_problem problem_at(int op, int dtype, int power) {
    return (redtune_problem){.op = (redtune_op)op,
                             .dtype = (redtune_dtype)dtype,
                             .count = power ? UINT64_C(1) << (power - 1) : 0};
}

static redtune_plan *plan_at(int op, int dtype, int power) {
    return (redtune_plan *)&plans[(op * DTYPES + dtype) * POWERS + power];
}

static void each_key_finds_its_own_plan(void) {
    redtune_plan *got = NULL;
    for (int op = 0; op < OPS; op++)
        for (int dtype = 0; dtype < DTYPES; dtype++)
            for (int power = 0; power < POWERS; power++) {
                redtune_problem problem = problem_at(op, dtype, power);
                CHECK(!rdt_plan_table_find(&table, &problem));
                CHECK_OK(rdt_plan_table_add(&table, &problem, plan_at(op, dtype, power), false,
                                            &got, &err),
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
static void a_plan_of_a_whole_array_serves_no_other_layout(void) {
    redtune_plan *got = NULL;
    const redtune_problem whole = problem_at(0, 0, 10);
    CHECK_OK(rdt_plan_table_add(&table, &whole, plan_at(0, 0, 10), false, &got, &err), err);
    redtune_problem other[4] = {whole, whole, whole, whole};
    other[0].outer = other[1].inner = other[2].step = 2;
    other[3].order = (redtune_order)1;
    for (size_t i = 0; i < 4; i++) CHECK(!rdt_plan_table_find(&table, &other[i]));
    CHECK(rdt_plan_table_find(&table, &whole) == plan_at(0, 0, 10));
    rdt_plan_table_clear(&table);
}

/* Whatever lies between them. */
static void rows_share_a_plan_up_to_the_next_power_of_two(void) {
    redtune_plan *got = NULL;
    redtune_problem rows = problem_at(0, 0, 10);
    rows.outer = 64;
    CHECK_OK(rdt_plan_table_add(&table, &rows, plan_at(0, 0, 10), false, &got, &err), err);
    rows.outer = 127;
    rows.outer_step = 4096;
    CHECK(rdt_plan_table_find(&table, &rows) == plan_at(0, 0, 10));
    rows.outer = 128;
    CHECK(!rdt_plan_table_find(&table, &rows));
    rdt_plan_table_clear(&table);
}

static void usual_extents_written_out_find_the_same_plan(void) {
    redtune_plan *got = NULL;
    redtune_problem whole = problem_at(0, 0, 10);
    CHECK_OK(rdt_plan_table_add(&table, &whole, plan_at(0, 0, 10), false, &got, &err), err);
    whole.outer = whole.inner = whole.step = 1;
    whole.outer_step = whole.count;
    CHECK(rdt_plan_table_find(&table, &whole) == plan_at(0, 0, 10));
    rdt_plan_table_clear(&table);
}

/* Whatever their steps, as long as they leave elements apart. */
static void columns_share_a_plan_up_to_the_next_power_of_two(void) {
    redtune_plan *got = NULL;
    redtune_problem columns = problem_at(0, 0, 10), strided = columns;
    columns.inner = 64;
    strided.step = 3;
    CHECK_OK(rdt_plan_table_add(&table, &columns, plan_at(0, 0, 10), false, &got, &err), err);
    CHECK_OK(rdt_plan_table_add(&table, &strided, plan_at(0, 0, 11), false, &got, &err), err);
    columns.inner = columns.step = 127;
    CHECK(rdt_plan_table_find(&table, &columns) == plan_at(0, 0, 10));
    columns.outer = 1;
    CHECK(rdt_plan_table_find(&table, &columns) == plan_at(0, 0, 10));
    columns.outer = 2;
    CHECK(!rdt_plan_table_find(&table, &columns));
    columns.outer = 0;
    columns.inner = 128;
    CHECK(!rdt_plan_table_find(&table, &columns));
    strided.step = 4097;
    CHECK(rdt_plan_table_find(&table, &strided) == plan_at(0, 0, 11));
    strided.step = 1;
    CHECK(!rdt_plan_table_find(&table, &strided));
    rdt_plan_table_clear(&table);
}

static void counts_share_a_plan_up_to_the_next_power_of_two(void) {
    redtune_plan *got = NULL;
    redtune_problem problem = {.count = 1024};
    CHECK_OK(rdt_plan_table_add(&table, &problem, plan_at(1, 1, 1), false, &got, &err), err);
    problem.count = 2047;
    CHECK(rdt_plan_table_find(&table, &problem) == got);
    problem.count = 2048;
    CHECK(!rdt_plan_table_find(&table, &problem));
    problem.count = 1023;
    CHECK(!rdt_plan_table_find(&table, &problem));
    CHECK_INT(rdt_plan_table_count(0), 0);
    CHECK_INT(rdt_plan_table_count(1), 1);
    CHECK_INT(rdt_plan_table_count(2047), 1024);
    CHECK(rdt_plan_table_count(UINT64_MAX) == UINT64_C(1) << 63);
    rdt_plan_table_clear(&table);
}

static void enumerators_that_are_none_find_nothing(void) {
    redtune_plan *got = NULL;
    redtune_problem problem = problem_at(1, 1, 1);
    CHECK_OK(rdt_plan_table_add(&table, &problem, plan_at(1, 1, 1), false, &got, &err), err);
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
            if (rdt_plan_table_add(&table, &problem, plan_at(op, thread, power), false, &got,
                                   NULL) ||
                rdt_plan_table_find(&table, &problem) != got)
                return NULL;
            if (!atomic_compare_exchange_strong(&first[op][power], &none, got) && none != got)
                return NULL;
        }
    return user;
}

static void threads_that_add_one_key_get_one_plan(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, add_all, (void *)(intptr_t)(i + 1)));
    for (int i = 0; i < THREADS; i++) {
        void *done = NULL;
        CHECK(!pthread_join(threads[i], &done) && done);
    }
    rdt_plan_table_clear(&table);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(each_key_finds_its_own_plan),
        FACT(a_plan_of_a_whole_array_serves_no_other_layout),
        FACT(usual_extents_written_out_find_the_same_plan),
        FACT(rows_share_a_plan_up_to_the_next_power_of_two),
        FACT(columns_share_a_plan_up_to_the_next_power_of_two),
        FACT(counts_share_a_plan_up_to_the_next_power_of_two),
        FACT(enumerators_that_are_none_find_nothing),
        FACT(threads_that_add_one_key_get_one_plan),
    };
    return check_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
