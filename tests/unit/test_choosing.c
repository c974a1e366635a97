/* Facts about what it takes to choose a config, counted and not timed: a machine that is busy
 * gives the same. */
#define _GNU_SOURCE
#include <lua.h>
#include "check.h"
#include "api/records/select.h"
#include "api/records/target.h"
#include "base/random.h"
#include "codegen/marshal.h"
#include "shaped.h"

/* An instruction of Lua takes some 6 ns with all that it calls, and a row some 8 us to read: so a
 * choice takes 3 ms at most. The odd widths of columns, which two families serve, take the most. */
enum { INSTRUCTIONS_MAX = 300000, ROWS_MAX = 400, READS_MAX = 3 };

static redtune_error err;
static rdt_layers layers;
static rdt_facts measured, other; /* GPUs */

/* Shipped rows as they are beside what is built. */
static bool begin(void) {
    if (layers.count) return true;
    rdt_target target;
    const rdt_target_query query = {
        .verb = "choose", .gpu = "H100", .shipped = true, .single = true, .runs = true};
    setenv("REDTUNE_SYSTEM_DB", RDT_TEST_SHIPPED_ROWS, 1);
    if (rdt_layers_list("/nonexistent/tuning.db", &layers, &err) ||
        rdt_target_find(&query, &layers, &target, &err))
        return false;
    measured = target.facts;
    other = *rdt_facts_typical();
    rdt_target_free(&target);
    return true;
}

/* ---- counting -------------------------------------------------------------------------------- */

enum { STEP = 100 };
static long instructions;

static void count_step(lua_State *state, lua_Debug *debug) {
    (void)state;
    (void)debug;
    instructions += STEP;
}

typedef struct cost {
    long instructions;
    size_t rows, reads;
} cost;

/* What a first choice takes in a process whose templates are loaded. */
static bool choose(const redtune_problem *problem, const rdt_facts *gpu, cost *out) {
    rdt_codegen *codegen = NULL;
    rdt_winners winners = {.reads = 0};
    rdt_choice choice;
    if (rdt_codegen_open(&codegen, &err)) return false;
    const rdt_winners_source source = {.layers = &layers, .codegen = codegen};
    lua_sethook(codegen->lua.state, count_step, LUA_MASKCOUNT, STEP);
    instructions = 0;
    const rdt_case at = {problem, gpu};
    redtune_status status = rdt_select_from(&winners, &source, at, &choice, &err);
    *out = (cost){instructions, winners.rows.count + winners.alike.count, winners.reads};
    rdt_winners_free(&winners);
    rdt_codegen_close(codegen);
    return !status;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static bool is_cheap(const redtune_problem *problem, const rdt_facts *gpu) {
    cost cost = {0};
    char text[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(problem, text);
    const bool chosen = choose(problem, gpu, &cost);
    return check_that(chosen && cost.instructions <= INSTRUCTIONS_MAX && cost.rows <= ROWS_MAX &&
                          cost.reads <= READS_MAX,
                      __FILE__, __LINE__, "%s on %s takes %ld instructions, %zu rows, %zu reads%s",
                      text, gpu->name, cost.instructions, cost.rows, cost.reads,
                      chosen ? "" : err.message);
}

/* A kind of problem of which there are shipped rows, or none. */
FACT(a_choice_of_each_kind_is_cheap) {
    static const shaped kinds[] = {
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000000},
        {.op = REDTUNE_MAX_AT, .dtype = REDTUNE_F32, .count = 1000000},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000, .outer = 1000},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 31, .outer = 100},
        {.op = REDTUNE_MEAN_VAR, .dtype = REDTUNE_F32, .count = 257, .outer = 5000},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000, .inner = 1000},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F16, .count = 1000, .inner = 1000},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_BF16, .count = 65536, .inner = 64},
        {.op = REDTUNE_MEAN, .dtype = REDTUNE_F32, .count = 100000, .inner = 300},
        {.op = REDTUNE_ARGMAX, .dtype = REDTUNE_F32, .count = 1000, .inner = 1000},
        {.op = REDTUNE_VAR, .dtype = REDTUNE_F64, .count = 300, .inner = 700, .outer = 3},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000, .inner = 1001},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 100, .outer = 1000, .segmented = 1},
        {.op = REDTUNE_NORM2, .dtype = REDTUNE_F32, .count = 100, .outer = 1000, .segmented = 2},
    };
    CHECK(begin());
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        redtune_problem problem = shaped_problem(kinds[i]);
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        CHECK(is_cheap(&problem, &measured) && is_cheap(&problem, &other));
    }
}

FACT(a_choice_of_any_problem_is_cheap) {
    CHECK(begin());
    rdt_random random = {.state = 45};
    for (int i = 0; i < 200; i++) {
        const redtune_problem drawn =
            PROBLEM(.op = (redtune_op)rdt_random_below(&random, REDTUNE_MISMATCHES),
                    .dtype = rdt_random_below(&random, 2) ? REDTUNE_F32 : REDTUNE_BF16,
                    .count = UINT64_C(1) << rdt_random_below(&random, 18),
                    .inner =
                        1 + rdt_random_below(&random, UINT64_C(1) << rdt_random_below(&random, 14)),
                    .outer = 1 + rdt_random_below(&random, 8));
        redtune_problem problem;
        if (!rdt_problem_resolve(&drawn, &problem, &err)) CHECK(is_cheap(&problem, &measured));
    }
}

/* Shapes of a class that are far apart. */
FACT(a_class_is_read_twice_at_most) {
    CHECK(begin());
    rdt_codegen *codegen = NULL;
    rdt_winners winners = {.reads = 0};
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    const rdt_winners_source source = {.layers = &layers, .codegen = codegen};
    size_t rows[3];
    static const uint64_t counts[] = {64, 1 << 14, 256};
    for (int i = 0; i < 3; i++) {
        const redtune_problem problem =
            redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 1024, counts[i]);
        redtune_problem resolved;
        rdt_choice choice;
        CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
        const rdt_case at = {&resolved, &measured};
        CHECK_OK(rdt_select_from(&winners, &source, at, &choice, &err), err);
        CHECK(choice.match == REDTUNE_MATCH_EXACT || choice.match == REDTUNE_MATCH_SIZE);
        rows[i] = winners.rows.count;
    }
    CHECK_INT(winners.reads, 2);
    CHECK(rows[0] > 0 && rows[0] < rows[1] && rows[2] == rows[1]);
    rdt_winners_free(&winners);
    rdt_codegen_close(codegen);
}

int main(int argc, char **argv) {
    int failed = check_run(argc, argv);
    rdt_layers_free(&layers);
    return failed;
}
