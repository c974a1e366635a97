/* Facts about src/api/records/select.c: which measurement serves a problem by key. */
#define _GNU_SOURCE
#include "select_rows.h"
#include "redtune/keys.h"

#define BY_KEY(block)                                                                              \
    "block=" #block ",tables=private,cells=wide,columns=0,copies=1,hot=0,vec=4,unroll=2,ahead=no," \
    "agree=no,per_sm=4"

static rdt_facts here;

static redtune_problem by_key(uint64_t keys, uint64_t count, redtune_spread spread) {
    redtune_problem problem =
        redtune_problem_by_key(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, keys, count);
    problem.spread = spread;
    rdt_problem_resolve(&problem, &problem, NULL);
    return problem;
}

static void add_by_key(uint64_t keys, uint64_t count, redtune_spread spread, const char *config,
                       double ns) {
    rdt_row *row = add_row(&here, count, config);
    row->trial.problem = by_key(keys, count, spread);
    row->trial.median_ns = ns;
    rdt_text_copy(row->trial.family, sizeof row->trial.family, "keyed");
}

/* As choose() does; all rows are also those of classes alike. */
static int choose_by_key(const redtune_problem *problem) {
    const rdt_rows rows = {among.row, among.count, among.count};
    const rdt_winners winners = {.rows = rows, .alike = rows};
    if (rdt_select(&winners, among.codegen, (rdt_case){problem, &here}, &among.choice, &err))
        return -2;
    return among.choice.row ? (int)(among.choice.row - among.row) : -1;
}

static int choose_of(uint64_t keys, uint64_t count, redtune_spread spread) {
    const redtune_problem problem = by_key(keys, count, spread);
    return choose_by_key(&problem);
}

FACT(the_nearest_keys_and_elements_of_the_spread_serve) {
    CHECK(begin_rows());
    add_by_key(16, 1 << 20, REDTUNE_SPREAD_UNIFORM, BY_KEY(128), 5000);
    add_by_key(64, 1 << 20, REDTUNE_SPREAD_UNIFORM, BY_KEY(128), 5000);
    add_by_key(16, 1 << 20, REDTUNE_SPREAD_SKEWED, BY_KEY(128), 5000);
    CHECK_INT(choose_of(16, 1 << 20, REDTUNE_SPREAD_UNIFORM), 0);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    CHECK_INT(choose_of(20, 1 << 21, REDTUNE_SPREAD_UNIFORM), 0);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    CHECK_INT(choose_of(64, 1 << 20, REDTUNE_SPREAD_UNIFORM), 1);
    CHECK_INT(choose_of(20, 1 << 21, REDTUNE_SPREAD_SKEWED), 2);
    CHECK_INT(choose_of(20, 1 << 21, REDTUNE_SPREAD_ONE), -1);
    CHECK_INT(choose_of(1024, 1 << 21, REDTUNE_SPREAD_SKEWED), -1);
    CHECK_INT(choose(&here, 1 << 20), -1); /* a whole array */
}

FACT(rows_of_other_keys_ops_or_dtypes_do_not_serve) {
    CHECK(begin_rows());
    add_by_key(16, 1 << 20, REDTUNE_SPREAD_UNIFORM, BY_KEY(128), 5000);
    redtune_problem problem = by_key(16, 1 << 20, REDTUNE_SPREAD_UNIFORM);
    CHECK_INT(choose_by_key(&problem), 0);
    problem.key_dtype = REDTUNE_I64;
    CHECK_INT(choose_by_key(&problem), -1);
    problem = by_key(16, 1 << 20, REDTUNE_SPREAD_UNIFORM);
    problem.op = REDTUNE_MAX;
    CHECK_INT(choose_by_key(&problem), -1);
    CHECK(!rdt_problem_same_traffic(&problem, &among.row[0].trial.problem));
}

FACT(an_unknown_spread_is_served_by_its_own_rows) {
    CHECK(begin_rows());
    add_by_key(16, 1 << 20, REDTUNE_SPREAD_UNIFORM, BY_KEY(128), 5000);
    CHECK_INT(choose_of(16, 1 << 20, REDTUNE_SPREAD_UNKNOWN), -1);
    add_by_key(16, 1 << 20, REDTUNE_SPREAD_UNKNOWN, BY_KEY(64), 8000);
    CHECK_INT(choose_of(16, 1 << 20, REDTUNE_SPREAD_UNKNOWN), 1);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    CHECK_INT(choose_of(16, 1 << 20, REDTUNE_SPREAD_UNIFORM), 0);
    CHECK_INT(choose_of(16, 1 << 20, REDTUNE_SPREAD_ONE), -1);
}

int main(int argc, char **argv) {
    here = gpu_named("NVIDIA One");
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    rdt_codegen_close(among.codegen);
    scratch_end();
    return failed;
}
