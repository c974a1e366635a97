/* Facts about redtune_rows_each: which measurements are given, in what order, and who wins. */
#define _GNU_SOURCE
#include "trials.h"
#include "codegen/codegen.h"
#include "redtune/records.h"

static redtune_row given[64];
static char texts[64][3][256]; /* copies of outcome, machine and database */
static int given_count;

static redtune_status keep(void *user, const redtune_row *row, redtune_error *error) {
    (void)user, (void)error;
    if (given_count < 64) {
        given[given_count] = *row;
        snprintf(texts[given_count][0], 256, "%s", row->outcome);
        snprintf(texts[given_count][1], 256, "%s", row->machine);
        snprintf(texts[given_count][2], 256, "%s", row->database);
    }
    given_count++;
    return REDTUNE_OK;
}

static int list(redtune_rows_query query) {
    given_count = 0;
    if (!query.database) query.database = in_scratch("tuning.db");
    return redtune_rows_each(&query, keep, NULL, &err) ? -1 : given_count;
}

static bool put_three(void) {
    rdt_trial trials[3] = {trials_make(1024, "slow", 2000, 31), trials_make(1024, "fast", 1000, 31),
                           trials_make(1024, "wrong", 0, 0)};
    trials[0].is_default = true;
    trials[0].rank = 7;
    trials[2].outcome = RDT_OUTCOME_WRONG;
    rdt_text_copy(trials[2].cause, sizeof trials[2].cause, "3 is 4");
    return begin() && !put(trials, 3);
}

FACT(each_gives_the_good_ones_first_and_marks_the_winner) {
    CHECK(put_three());
    CHECK_INT(list((redtune_rows_query){0}), 3);
    CHECK_TEXT(given[0].config, "fast");
    CHECK(given[0].is_winner && !given[0].is_default);
    CHECK(given[0].median_ns == 1000 && given[0].winner_ns == 1000 && given[0].default_ns == 2000);
    CHECK(given[0].gbps == 4.1); /* 1024 elements and a result of 4 bytes */
    CHECK_TEXT(given[1].config, "slow");
    CHECK(!given[1].is_winner && given[1].is_default);
    CHECK_INT(given[1].rank, 7);
    CHECK_TEXT(given[2].config, "wrong");
    CHECK_TEXT(texts[2][0], "wrong");
    CHECK_TEXT(texts[2][1], trials_origin.machine);
    CHECK_INT(given[2].sm_mhz, -1);
    CHECK(given[2].median_ns == 0 && given[2].samples == 0);
    CHECK_TEXT(given[0].gpu.name, trials_gpu.name);
    CHECK(given[0].templates_differ && !given[0].imported);
}

FACT(winners_are_given_alone) {
    CHECK(put_three() && put_one(2048, "a", 10, 31));
    CHECK_INT(list((redtune_rows_query){.winners = 1}), 2);
    CHECK_TEXT(given[0].config, "fast");
    CHECK(given[0].default_ns == 2000);
    CHECK_TEXT(given[1].config, "a");
    CHECK(given[1].default_ns == 0);
}

FACT(each_gives_what_was_asked_for) {
    const redtune_op sum = REDTUNE_SUM, max = REDTUNE_MAX;
    const redtune_dtype f32 = REDTUNE_F32, f64 = REDTUNE_F64;
    CHECK(put_three() && put_one(2048, "a", 10, 31));
    CHECK_INT(list((redtune_rows_query){.op = &sum}), 4);
    CHECK_INT(list((redtune_rows_query){.op = &max}), 0);
    CHECK_INT(list((redtune_rows_query){.dtype = &f32}), 4);
    CHECK_INT(list((redtune_rows_query){.dtype = &f64}), 0);
    CHECK_INT(list((redtune_rows_query){.count = 2048}), 1);
    CHECK_INT(list((redtune_rows_query){.gpu = "tEST g"}), 4);
    CHECK_INT(list((redtune_rows_query){.gpu = "test gpus"}), -1);
    CHECK_TEXT(err.message, "cannot list measurements: no GPU has 'test gpus' in its name; the "
                            "databases have NVIDIA Test GPU");
}

FACT(each_goes_by_gpu_first) {
    CHECK(put_three());
    rdt_facts other = trials_gpu;
    rdt_text_copy(other.name, sizeof other.name, "A GPU");
    rdt_trial trial = trials_make(4096, "other", 10, 31);
    CHECK_OK(rdt_tuning_put(tuning, &other, &trials_origin, &trial, 1, &err), err);
    CHECK_INT(list((redtune_rows_query){.gpu = "all"}), 4);
    CHECK_TEXT(given[0].gpu.name, "A GPU");
    CHECK(given[0].is_winner && given[1].is_winner);
}

FACT(databases_lie_one_over_another) {
    CHECK(put_three());
    CHECK(copy_file(in_scratch("tuning.db"), in_scratch("second.db")));
    CHECK(put_one(1024, "faster", 500, 31));
    char both[1024];
    snprintf(both, sizeof both, "%s:%s", in_scratch("second.db"), in_scratch("tuning.db"));
    CHECK_INT(list((redtune_rows_query){.database = both, .winners = 1}), 1);
    CHECK_TEXT(given[0].config, "faster");
    CHECK_TEXT(texts[0][2], in_scratch("tuning.db"));
    CHECK_INT(list((redtune_rows_query){.database = both}), 7);
    /* The system's come below; one that cannot be read does no harm. */
    CHECK(!setenv("REDTUNE_SYSTEM_DB", in_scratch("tuning.db"), 1));
    const redtune_rows_query second = {.database = in_scratch("second.db"), .shipped = 1};
    CHECK_INT(list((redtune_rows_query){.database = second.database}), 3);
    CHECK_INT(list((redtune_rows_query){.database = second.database, .gpu = "TEST"}), 7);
    CHECK_INT(list((redtune_rows_query){.database = second.database, .gpu = "TEST", .own = 1}), 3);
    CHECK_INT(list(second), 7);
    int shipped = 0;
    for (int i = 0; i < given_count; i++) shipped += given[i].shipped;
    CHECK_INT(shipped, 4);
    CHECK(!setenv("REDTUNE_SYSTEM_DB", "/dev/null:/nowhere/at/all.db", 1));
    CHECK_INT(list((redtune_rows_query){.database = second.database, .gpu = "TEST"}), 3);
    CHECK_INT(list(second), 0);
    CHECK(!setenv("REDTUNE_SYSTEM_DB", "", 1));
    CHECK_INT(list((redtune_rows_query){.database = "/nowhere/at/all.db"}), 0);
    CHECK_FAILS(redtune_rows_each(&(redtune_rows_query){.database = "/dev/null"}, keep, NULL, &err),
                REDTUNE_DATABASE, err, "/dev/null");
    CHECK_FAILS(redtune_rows_each(&(redtune_rows_query){.database = ":"}, keep, NULL, &err),
                REDTUNE_INVALID, err, "it names no file");
}

FACT(a_winner_of_this_redtune_goes_before_a_faster_one_of_other_templates) {
    rdt_origin here = trials_origin;
    rdt_trial trial = trials_make(1024, "here", 3000, 31);
    CHECK(put_three());
    CHECK_INT(list((redtune_rows_query){.winners = 1}), 1);
    CHECK(given[0].templates_differ);
    CHECK(!rdt_codegen_version(here.templates, &err));
    CHECK_OK(rdt_tuning_put(tuning, &trials_gpu, &here, &trial, 1, &err), err);
    CHECK_INT(list((redtune_rows_query){.winners = 1}), 1);
    CHECK_TEXT(given[0].config, "here");
    CHECK(!given[0].templates_differ);
}

static redtune_status stop(void *user, const redtune_row *row, redtune_error *error) {
    (void)user, (void)row;
    return rdt_fail(error, REDTUNE_INTERRUPTED, 0, "enough");
}

FACT(each_ends_with_the_status_of_its_callback) {
    CHECK(put_three());
    const redtune_rows_query query = {.database = in_scratch("tuning.db")};
    CHECK_FAILS(redtune_rows_each(&query, stop, NULL, &err), REDTUNE_INTERRUPTED, err, "enough");
    CHECK_FAILS(redtune_rows_each(&query, NULL, NULL, &err), REDTUNE_INVALID, err, "each is NULL");
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    rdt_tuning_close(tuning);
    scratch_end();
    return failed;
}
