/* Facts about src/api/records/select.c: which measurement serves a problem on a GPU. */
#define _GNU_SOURCE
#include "select_rows.h"
#include "api/records/convert.h"
#include "codegen/user_ops.h"
#include "redtune/records.h"
#include "shaped.h"

/* ---- this GPU's model ------------------------------------------------------------------------ */

FACT(the_exact_count_goes_before_any_other) {
    const rdt_facts here = gpu_named("NVIDIA One");
    CHECK(begin_rows());
    add_row(&here, 1 << 20, MIDDLE(128));
    add_row(&here, 1 << 21, MIDDLE(256));
    add_row(&here, 1 << 22, MIDDLE(512));
    CHECK_INT(choose(&here, 1 << 21), 1);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    CHECK_INT(choose(&here, 1 << 22), 2);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
}

/* 2^20 and 2^24 are as far from 2^22 on a log scale; in elements, the middle is 2^23. */
FACT(else_the_nearest_count_on_a_log_scale) {
    const rdt_facts here = gpu_named("NVIDIA One");
    CHECK(begin_rows());
    add_row(&here, 1 << 20, MIDDLE(128));
    add_row(&here, 1 << 24, MIDDLE(512));
    CHECK_INT(choose(&here, (1 << 22) - 100000), 0);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    CHECK_INT(choose(&here, (1 << 22) + 100000), 1);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    CHECK_INT(choose(&here, (1 << 20) - 1000), 0);
    CHECK_INT(choose(&here, (1 << 24) + 1000), 1);
}

/* A tune that finds where the winner changes leaves rows of both on either side of that count. */
FACT(a_measured_crossover_is_where_the_choice_changes) {
    const rdt_facts here = gpu_named("NVIDIA One");
    CHECK(begin_rows());
    add_row(&here, 1 << 20, MIDDLE(128));
    add_row(&here, 1900000, MIDDLE(128));
    add_row(&here, 1910000, MIDDLE(512));
    add_row(&here, 1 << 21, MIDDLE(512));
    for (int count = 1 << 20; count <= 1 << 21; count += 9999) {
        int at = choose(&here, (uint64_t)count);
        CHECK(at >= 0);
        CHECK(count > 1900000 || at < 2);
        CHECK(count < 1910000 || at > 1);
    }
}

FACT(a_row_says_nothing_of_counts_sixteen_times_away) {
    const rdt_facts here = gpu_named("NVIDIA One");
    CHECK(begin_rows());
    add_row(&here, 1 << 20, MIDDLE(256));
    CHECK_INT(choose(&here, 1 << 24), 0);
    CHECK_INT(choose(&here, (1 << 24) + (1 << 20)), -1);
    CHECK_INT(choose(&here, 1 << 17), 0);
    CHECK_INT(choose(&here, 1 << 15), -1);
}

/* One block is best for a count, and a waste for eight times that. */
FACT(a_config_that_is_a_waste_there_does_not_serve) {
    static const char single[] =
        "block=1024,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=single,per_sm=1";
    const rdt_facts here = gpu_named("NVIDIA One");
    CHECK(begin_rows());
    add_row(&here, 1 << 14, single);
    CHECK_INT(choose(&here, 1 << 14), 0);
    CHECK_INT(choose(&here, 1 << 15), 0);
    CHECK_INT(choose(&here, 1 << 17), -1);
    /* What was measured at the very count is known to be good. */
    add_row(&here, 1 << 17, single);
    CHECK_INT(choose(&here, 1 << 17), 1);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
}

FACT(without_a_row_it_is_the_default) {
    const rdt_facts here = gpu_named("NVIDIA One");
    const redtune_problem problem =
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 20);
    rdt_point baseline;
    CHECK(begin_rows());
    CHECK_INT(choose(&here, 1 << 20), -1);
    CHECK_OK(rdt_rules_default(among.codegen, (rdt_case){&problem, &here}, &baseline, &err), err);
    CHECK(rdt_point_same(&baseline, &among.choice.point));
}

FACT(rows_of_another_problem_or_a_warm_cache_do_not_serve) {
    const rdt_facts here = gpu_named("NVIDIA One");
    CHECK(begin_rows());
    add_row(&here, 1 << 20, MIDDLE(256))->trial.problem.op = REDTUNE_MAX;
    add_row(&here, 1 << 20, MIDDLE(256))->trial.problem.dtype = REDTUNE_I32;
    add_row(&here, 1 << 20, MIDDLE(256))->trial.problem.result = REDTUNE_F64;
    add_row(&here, 1 << 20, MIDDLE(256))->trial.cache = RDT_CACHE_WARM;
    CHECK_INT(choose(&here, 1 << 20), -1);
}

/* ---- other models ---------------------------------------------------------------------------- */

FACT(this_model_goes_before_another_with_the_exact_count) {
    const rdt_facts here = gpu_named("NVIDIA One"), other = gpu_named("NVIDIA Other");
    CHECK(begin_rows());
    add_row(&other, 1 << 22, MIDDLE(128));
    add_row(&here, 1 << 20, MIDDLE(512));
    CHECK_INT(choose(&here, 1 << 22), 1);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    /* Where this model's row is too far, another's serves. */
    add_row(&other, 1 << 26, MIDDLE(256));
    CHECK_INT(choose(&here, 1 << 26), 2);
    CHECK_INT(match(), REDTUNE_MATCH_GPU);
}

/* What makes a model, but for its name: an equal name with another L2 is another model. */
FACT(a_model_is_more_than_its_name) {
    const rdt_facts here = gpu_named("NVIDIA One");
    CHECK(begin_rows());
    add_row(&here, 1 << 20, MIDDLE(256))->gpu.sm_count--;
    add_row(&here, 1 << 22, MIDDLE(512))->gpu.memory_khz += 1000;
    CHECK_INT(choose(&here, 1 << 20), 1);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    among.count = 1;
    CHECK_INT(choose(&here, 1 << 20), 0);
    CHECK_INT(match(), REDTUNE_MATCH_GPU);
}

/* The same architecture first, however different in size; then the same generation. */
FACT(the_nearest_gpu_has_the_same_architecture) {
    const rdt_facts here = gpu_named("NVIDIA One");
    rdt_facts same = gpu_named("NVIDIA Small"), close = gpu_named("NVIDIA Close"),
              twin = gpu_named("NVIDIA Twin");
    same.memory_khz /= 4;
    same.bus_bits /= 4;
    close.minor += 6;
    twin.major++;
    CHECK(begin_rows());
    add_row(&twin, 1 << 20, MIDDLE(128));
    CHECK_INT(choose(&here, 1 << 20), 0);
    add_row(&close, 1 << 20, MIDDLE(256));
    CHECK_INT(choose(&here, 1 << 20), 1);
    add_row(&same, 1 << 20, MIDDLE(512));
    CHECK_INT(choose(&here, 1 << 20), 2);
    CHECK_INT(match(), REDTUNE_MATCH_GPU);
}

FACT(then_the_nearest_bandwidth_and_multiprocessors) {
    const rdt_facts here = gpu_named("NVIDIA One");
    rdt_facts half = gpu_named("NVIDIA Half"), slow = gpu_named("NVIDIA Slow"),
              near = gpu_named("NVIDIA Near");
    half.sm_count /= 4;
    slow.memory_khz /= 2;
    near.sm_count -= 8;
    CHECK(begin_rows());
    add_row(&half, 1 << 20, MIDDLE(128));
    CHECK_INT(choose(&here, 1 << 20), 0);
    add_row(&slow, 1 << 20, MIDDLE(256));
    CHECK_INT(choose(&here, 1 << 20), 1);
    add_row(&near, 1 << 20, MIDDLE(512));
    CHECK_INT(choose(&here, 1 << 20), 2);
}

/* A GPU with twice the multiprocessors does at twice the count what the other one did; what the
 * config says of the grid is per multiprocessor. */
FACT(rows_of_another_model_are_scaled_by_multiprocessors) {
    const rdt_facts here = gpu_named("NVIDIA One");
    const redtune_problem problem =
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 22);
    rdt_facts half = gpu_named("NVIDIA Half");
    rdt_launch launch;
    half.sm_count /= 2;
    CHECK(begin_rows());
    add_row(&half, 1 << 22, MIDDLE(128));
    add_row(&half, 1 << 21, MIDDLE(256));
    CHECK_INT(choose(&here, 1 << 22), 1);
    CHECK_INT(match(), REDTUNE_MATCH_GPU);
    CHECK_OK(rdt_rules_launch(among.codegen, (rdt_case){&problem, &here}, &among.choice.point,
                              &launch, &err),
             err);
    CHECK_INT(launch.blocks_max, here.sm_count);
    CHECK_INT(choose(&here, 1 << 23), 0);
}

/* ---- other templates ------------------------------------------------------------------------- */

FACT(of_equally_near_rows_those_with_current_kernels_serve) {
    const rdt_facts here = gpu_named("NVIDIA One");
    CHECK(begin_rows());
    rdt_row *older = add_row(&here, 1 << 20, MIDDLE(128));
    older->current = false;
    older->date = 2000;
    CHECK_INT(choose(&here, 1 << 20), 0);
    add_row(&here, 1 << 20, MIDDLE(256));
    CHECK_INT(choose(&here, 1 << 20), 1);
    /* Among equals the latest. */
    add_row(&here, 1 << 20, MIDDLE(512))->date = 1001;
    CHECK_INT(choose(&here, 1 << 20), 2);
}

/* What other templates called a config may be none here, or only half of one. */
FACT(a_config_that_is_not_in_the_space_does_not_serve) {
    static const char *const strange[] = {
        "block=96,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4",
        "block=128,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=grid,per_sm=4",
        "block=128,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4,more=1",
        "block=128,vec=8,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4",
        "block=128,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll",
        "block=128,finish=poll",
        "per_sm=4",
        "",
        ",",
        "block",
        "block=128,block=128,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4",
    };
    const rdt_facts here = gpu_named("NVIDIA One");
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        CHECK(begin_rows());
        add_row(&here, 1 << 20, strange[i]);
        int at = choose(&here, 1 << 20);
        if (at != -1) fprintf(stderr, "it served: %s\n", strange[i]);
        CHECK_INT(at, -1);
        /* It does not stand in the way of one that is farther. */
        add_row(&here, 1 << 21, MIDDLE(256));
        CHECK_INT(choose(&here, 1 << 20), 1);
    }
    CHECK(begin_rows());
    rdt_text_copy(add_row(&here, 1 << 20, MIDDLE(256))->trial.family, RDT_NAME_BYTES, "cluster");
    CHECK_INT(choose(&here, 1 << 20), -1);
}

/* ---- databases over one another -------------------------------------------------------------- */

static redtune_explanation told;

/* Puts one row of the default's problem into a database of its own. */
static bool put_into(const char *name, const char *config, double median_ns, int samples,
                     bool imported) {
    rdt_tuning *own = NULL;
    rdt_origin origin = trials_origin;
    rdt_trial trial = trials_make(1 << 20, config, median_ns, samples);
    redtune_status status = rdt_codegen_version(origin.templates, &err);
    if (!status) status = rdt_tuning_open(in_scratch(name), &own, &err);
    if (!status) status = rdt_tuning_put(own, &trials_gpu, &origin, &trial, 1, &err);
    rdt_tuning_close(own);
    return !status &&
           (!imported || run_sql(in_scratch(name), "INSERT INTO import VALUES(1, 'f', 0);"
                                                   "UPDATE measurement SET import = 1"));
}

/* What explain tells where the user's database lies over the system's. */
static const char *explain(void) {
    char path[256];
    snprintf(path, sizeof path, "%s", in_scratch("user.db"));
    const redtune_question question = {
        .database = path,
        .gpu = trials_gpu.name,
        .problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 20),
    };
    if (setenv("REDTUNE_SYSTEM_DB", in_scratch("system.db"), 1)) return NULL;
    redtune_status status = redtune_explain(&question, &told, &err);
    unsetenv("REDTUNE_SYSTEM_DB");
    return status ? err.message : strrchr(told.database, '/') + 1;
}

static bool begin_layers(void) {
    unlink(in_scratch("user.db"));
    unlink(in_scratch("system.db"));
    return put_into("system.db", MIDDLE(256), 5000, 31, false);
}

FACT(a_quick_look_of_the_users_hides_no_careful_row_of_the_system) {
    CHECK(begin_layers());
    CHECK_TEXT(explain(), "system.db");
    CHECK_TEXT(told.info.config, MIDDLE(256));
    CHECK_INT(told.info.match, REDTUNE_MATCH_EXACT);
    CHECK(put_into("user.db", MIDDLE(512), 3000, 3, false));
    CHECK_TEXT(explain(), "system.db");
    CHECK_TEXT(told.info.config, MIDDLE(256));
    CHECK(told.info.tuned_ns == 5000);
}

FACT(a_careful_row_of_the_users_is_chosen_and_told) {
    CHECK(begin_layers());
    CHECK(put_into("user.db", MIDDLE(512), 3000, 31, false));
    CHECK_TEXT(explain(), "user.db");
    CHECK_TEXT(told.info.config, MIDDLE(512));
    CHECK(told.info.tuned_ns == 3000 && !told.imported);
    /* Slower, it is not chosen for being the user's. */
    CHECK(begin_layers());
    CHECK(put_into("user.db", MIDDLE(512), 7000, 31, false));
    CHECK_TEXT(explain(), "system.db");
}

/* What the user imported of a config does not outweigh what the system's database measured. */
FACT(a_received_row_hides_no_measured_one_of_its_config) {
    CHECK(begin_layers());
    CHECK(put_into("user.db", MIDDLE(256), 1000, 31, true));
    CHECK_TEXT(explain(), "system.db");
    CHECK(told.info.tuned_ns == 5000 && !told.imported);
}

/* Whoever put it there, the system's database is trusted. */
FACT(what_the_system_received_counts_as_measured) {
    CHECK(begin_layers());
    CHECK(run_sql(in_scratch("system.db"), "INSERT INTO import VALUES(1, 'f', 0);"
                                           "UPDATE measurement SET import = 1"));
    CHECK(put_into("user.db", MIDDLE(256), 1000, 31, true));
    CHECK_TEXT(explain(), "system.db");
    CHECK(told.info.tuned_ns == 5000 && !told.imported);
}

/* ---- simulated GPUs, and families that are not tuned ----------------------------------------- */

/* What is chosen on the GPU `here` where the default was measured on the GPU `there`. */
static redtune_match match_with(rdt_codegen *codegen, const rdt_facts *here,
                                const rdt_facts *there) {
    const redtune_problem problem =
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = UINT64_C(1) << 26);
    rdt_row row = {.gpu = *there};
    rdt_winners winners = {.rows = {&row, 1, 1}};
    rdt_choice choice = {.match = (redtune_match)-1};
    rdt_point point;
    row.trial = (rdt_trial){
        .problem = problem,
        .outcome = RDT_OUTCOME_GOOD,
        .median_ns = 5000,
        .samples = 31,
    };
    if (!rdt_rules_default(codegen, (rdt_case){&problem, there}, &point, &err)) {
        rdt_point_write(rdt_codegen_spaces(codegen), &point, row.trial.family, row.trial.config);
        rdt_select(&winners, codegen, (rdt_case){&problem, here}, &choice, &err);
    }
    return choice.match;
}

static redtune_match match_of(const rdt_facts *here, const rdt_facts *there) {
    rdt_codegen *codegen = NULL;
    redtune_match match = (redtune_match)-1;
    if (!rdt_codegen_open(&codegen, &err)) match = match_with(codegen, here, there);
    rdt_codegen_close(codegen);
    return match;
}

/* A row says what was measured, and a family that is not tuned cannot have been. */
FACT(a_row_of_the_ladder_is_no_winner) {
    const redtune_problem problem =
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = UINT64_C(1) << 26);
    const rdt_facts *here = rdt_facts_typical();
    rdt_row row = {.gpu = *here,
                   .trial = {.problem = problem,
                             .family = "ladder",
                             .config = "step=poll,block=256,form=many",
                             .outcome = RDT_OUTCOME_GOOD,
                             .median_ns = 1,
                             .samples = 31}};
    rdt_winners winners = {.rows = {&row, 1, 1}};
    rdt_codegen *codegen = NULL;
    rdt_choice choice;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_OK(rdt_select(&winners, codegen, (rdt_case){&problem, here}, &choice, &err), err);
    CHECK_INT(choice.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(choice.point.family, 0);
    rdt_codegen_close(codegen);
}

/* A plan remembers the op of its row by a number, which for an op of the user's is this process's
 * alone; one that is absent cannot be asked about its traffic. */
FACT(an_op_of_the_users_lends_its_rows_to_no_other) {
    static const char text[] =
        "return { name = \"doubled\", formula = \"2 * sum\", dtypes = { \"f32\" },"
        " accumulator = \"f32\", identity = \"0\", map = \"x + x\","
        " combine = \"a + b\", examples = { { x = { 1, 2 }, result = 6 } } }";
    const rdt_facts here = gpu_named("NVIDIA One");
    const redtune_problem sum = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 20);
    redtune_op ops[3] = {REDTUNE_MAX, REDTUNE_MAX, rdt_op_meet("nowhere")->op};
    CHECK_OK(rdt_user_ops_add_text("doubled.lua", text, strlen(text), &err), err);
    CHECK_OK(redtune_op_find("doubled", &ops[1], &err), err);
    for (int i = 0; i < 3; i++) {
        CHECK(begin_rows());
        rdt_row *row = add_row(&here, 1 << 20, MIDDLE(128));
        row->trial.problem.op = ops[i];
        CHECK(i == 2 || rdt_problem_same_traffic(&row->trial.problem, &sum));
        const rdt_winners winners = {.alike = {among.row, 1, 1}};
        CHECK_OK(rdt_select(&winners, among.codegen, (rdt_case){&sum, &here}, &among.choice, &err),
                 err);
        CHECK_INT(match(), i ? REDTUNE_MATCH_DEFAULT : REDTUNE_MATCH_LIKE);
        /* To itself it does. */
        row->trial.problem.op = i == 1 ? ops[1] : REDTUNE_SUM;
        const rdt_winners own = {.rows = {among.row, 1, 1}};
        const redtune_problem same = row->trial.problem;
        CHECK_OK(rdt_select(&own, among.codegen, (rdt_case){&same, &here}, &among.choice, &err),
                 err);
        CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    }
}

FACT(a_gpu_serves_its_model_and_others) {
    rdt_facts one = gpu_named("NVIDIA One"), other = gpu_named("NVIDIA Other");
    CHECK_INT(match_of(&one, &one), REDTUNE_MATCH_EXACT);
    CHECK_INT(match_of(&one, &other), REDTUNE_MATCH_GPU);
}

FACT(a_simulated_gpu_serves_no_real_one) {
    rdt_facts real = gpu_named("NVIDIA One"), simulated = gpu_named("redtune simulated GPU");
    CHECK_INT(match_of(&real, &simulated), REDTUNE_MATCH_DEFAULT);
    CHECK_INT(match_of(&simulated, &real), REDTUNE_MATCH_DEFAULT);
    CHECK_INT(match_of(&simulated, &simulated), REDTUNE_MATCH_EXACT);
}

FACT(simulated_gpus_that_differ_do_not_serve_each_other) {
    rdt_facts one = gpu_named("redtune simulated GPU"), other = one;
    other.sm_count = 8;
    CHECK_INT(match_of(&one, &other), REDTUNE_MATCH_DEFAULT);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    rdt_codegen_close(among.codegen);
    scratch_end();
    return failed;
}
