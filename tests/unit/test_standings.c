/* Facts about the winners of cache/tuning.h: which measurements lead, and who may. */
#define _GNU_SOURCE
#include "trials.h"
#include "shaped.h"
#include "cache/rows.h"
#include "cache/tuning.h"

static int ranked;

static redtune_status rank(void *user, const rdt_standing *standing, redtune_error *error) {
    (void)error;
    ((rdt_standing *)user)[ranked++] = *standing;
    return REDTUNE_OK;
}

/* ---- winners --------------------------------------------------------------------------------- */

FACT(winner_has_the_lowest_median) {
    CHECK(begin());
    CHECK(put_one(1024, "slow", 30, 9) && put_one(1024, "fast", 10, 9));
    CHECK(put_one(1024, "middle", 20, 9));
    CHECK_TEXT(winner(), "fast");
    CHECK(taken.row[0].trial.median_ns == 10);
}

FACT(winner_is_no_quick_look) {
    CHECK(begin());
    CHECK(put_one(1024, "careful", 30, 21) && put_one(1024, "quick", 10, 10));
    CHECK_TEXT(winner(), "careful");
    CHECK(put_one(1024, "half", 20, 11));
    CHECK_TEXT(winner(), "half");
    CHECK(put_one(1024, "very careful", 40, 23));
    CHECK_TEXT(winner(), "careful");
}

FACT(winner_is_good) {
    CHECK(begin());
    rdt_trial wrong = trials_make(1024, "wrong", 0, 0);
    wrong.outcome = RDT_OUTCOME_WRONG;
    CHECK_OK(put(&wrong, 1), err);
    CHECK_INT(take_winners(), 0);
    CHECK(put_one(1024, "right", 30, 9));
    CHECK_TEXT(winner(), "right");
}

FACT(winner_of_a_tie_is_the_simpler) {
    CHECK(begin());
    rdt_trial trials[2] = {trials_make(1024, "second", 10, 9), trials_make(1024, "first", 10, 9)};
    trials[0].rank = 7, trials[1].rank = 3;
    CHECK_OK(put(trials, 2), err);
    CHECK_TEXT(winner(), "first");
    CHECK(sql("UPDATE measurement SET place = NULL WHERE config = 'first'"));
    CHECK_TEXT(winner(), "second");
}

FACT(winner_was_measured_here) {
    CHECK(begin());
    CHECK(put_one(1024, "own", 10, 9) && put_one(1024, "imported", 30, 9));
    CHECK(put_one(1024, "imported", 5, 9) && put_one(1024, "imported", 6, 9));
    CHECK(sql("INSERT INTO import VALUES(3, 'file', 0);"
              "UPDATE measurement SET import = 3 WHERE median_ns < 10"));
    CHECK_TEXT(winner(), "own");
    CHECK(sql("DELETE FROM measurement WHERE median_ns = 30"));
    CHECK_TEXT(winner(), "imported");
    CHECK(taken.row[0].trial.imported);
    CHECK_INT(taken.row[0].import, 3);
    CHECK(taken.row[0].trial.median_ns == 6);
}

FACT(winners_of_other_templates_do_not_compete) {
    CHECK(begin());
    rdt_origin older = trials_origin;
    rdt_trial trial = trials_make(1024, "older", 5, 9);
    older.templates[0] = 'x';
    CHECK_OK(rdt_tuning_put(tuning, &trials_gpu, &older, &trial, 1, &err), err);
    CHECK(put_one(1024, "newer", 10, 9));
    CHECK_INT(take_winners(), 2);
    CHECK_TEXT(taken.row[0].trial.config, "newer");
    CHECK_TEXT(taken.row[1].trial.config, "older");
}

/* Contenders are told in SQL, and winners in C: both must mean the same. Imported rows of a config
 * that was measured here count for neither, though it was a quick look. */
FACT(contenders_give_the_winners_of_all_rows) {
    CHECK(begin());
    static rdt_trial trials[400];
    unsigned seed = 1;
    for (int i = 0; i < 400; i++) {
        char config[16];
        seed = seed * 1103515245 + 12345;
        snprintf(config, sizeof config, "c%d", (int)(seed >> 16) % 12);
        trials[i] = trials_make(1024u << i % 8, config, 100 + (seed >> 20) % 50,
                                (int[]){3, 9, 20, 31, 63}[(seed >> 8) % 5]);
        trials[i].is_default = !strcmp(config, "c5");
        if ((seed >> 12) % 17 == 0) {
            trials[i].outcome = RDT_OUTCOME_HUNG;
            trials[i].median_ns = trials[i].spread_ns = trials[i].samples = 0;
        }
    }
    CHECK_OK(put(trials, 400), err);
    CHECK(sql("INSERT INTO import VALUES(3, 'file', 0);"
              "UPDATE measurement SET import = 3, median_ns = 60 + id % 7"
              "  WHERE outcome = 'good' AND NOT is_default AND id % 3 = 0"));
    CHECK(ask("SELECT count(*) FROM measurement AS a WHERE import = 3 AND (SELECT max(samples)"
              "  FROM measurement WHERE (count, config) = (a.count, a.config) AND import IS NULL)"
              "  < 16") > 5);
    rdt_rows all = {0}, some = {0};
    CHECK_OK(rdt_tuning_each(tuning, &sum_f32, RDT_CACHE_COLD, rdt_rows_keep, &all, &err), err);
    CHECK_OK(rdt_contenders_read(tuning, &sum_f32, RDT_CACHE_COLD, &some, &err), err);
    CHECK_INT(all.count, 400);
    CHECK(some.count < 350);
    static rdt_standing standings[2][16];
    for (int i = 0; i < 2; i++) {
        ranked = 0;
        CHECK_OK(rdt_rows_rank(i ? &some : &all, rank, standings[i], &err), err);
        CHECK_INT(ranked, 8);
    }
    for (int i = 0; i < 8; i++) {
        CHECK_TEXT(standings[0][i].winner->trial.config, standings[1][i].winner->trial.config);
        CHECK(standings[0][i].winner->trial.median_ns == standings[1][i].winner->trial.median_ns);
    }
    rdt_rows_free(&all);
    rdt_rows_free(&some);
}

/* What is bad is so whatever it was measured with, be there nothing good beside it. */
FACT(a_bad_row_of_another_origin_is_a_contender) {
    CHECK(begin());
    rdt_origin later = trials_origin;
    rdt_trial trial = trials_make(1024, "good", 5, 31);
    CHECK_OK(put(&trial, 1), err);
    trial.outcome = RDT_OUTCOME_WRONG;
    trial.median_ns = trial.spread_ns = trial.samples = 0;
    later.driver_version = 13010;
    CHECK_OK(rdt_tuning_put(tuning, &trials_gpu, &later, &trial, 1, &err), err);
    CHECK_INT(take_winners(), 0);
}

/* The clock ran a year ahead, or falls a year behind: the last word is still the last one put. */
FACT(what_is_put_later_counts_as_later_whatever_the_clock_said) {
    rdt_trial good = trials_make(1024, "a", 5, 31), wrong = trials_make(1024, "a", 0, 0);
    rdt_trial beside = trials_make(2048, "a", 5, 31);
    wrong.outcome = RDT_OUTCOME_WRONG;
    CHECK(begin());
    CHECK_OK(put(&good, 1), err);
    CHECK(sql("UPDATE measurement SET date = date + 365 * 86400"));
    CHECK_TEXT(winner(), "a");
    CHECK_OK(put(&wrong, 1), err);
    CHECK_INT(take_winners(), 0);
    CHECK_OK(put(&good, 1), err);
    CHECK_TEXT(winner(), "a");
    CHECK_OK(put(&wrong, 1), err);
    CHECK_INT(take_winners(), 0);
    CHECK_INT(ask("SELECT count(*) FROM (SELECT date, lag(date) OVER (ORDER BY id) AS before"
                  " FROM measurement) WHERE date <= before"),
              0);
    /* Another problem has nothing to do with that, and the last second there is stays one. */
    CHECK_OK(put(&beside, 1), err);
    CHECK(ask("SELECT date - strftime('%s', 'now') FROM measurement WHERE count = 2048") <= 0);
    CHECK(sql("UPDATE measurement SET date = 9223372036854775807"));
    CHECK_OK(put(&wrong, 1), err);
    CHECK_TEXT(winner(), "a");
    CHECK_INT(shaped_of(&taken.row[0].trial.problem).count, 2048);
}

/* Of a config that another file knows better: a trial is later than what it contradicts. */
FACT(a_trial_is_later_than_what_it_was_made_after) {
    rdt_trial trial = trials_make(1024, "a", 5, 31);
    CHECK(begin());
    trial.after = 4102444800; /* 2100 */
    CHECK_OK(put(&trial, 1), err);
    CHECK_INT(ask("SELECT date FROM measurement"), 4102444801);
}

FACT(winner_may_be_the_default) {
    CHECK(begin());
    rdt_trial trial = trials_make(1024, "default", 10, 9);
    trial.is_default = true;
    CHECK_OK(put(&trial, 1), err);
    CHECK_TEXT(winner(), "default");
    CHECK(taken.row[0].trial.is_default);
}

FACT(winners_are_one_per_gpu_and_problem) {
    static const char order[] = "abcdef";
    CHECK(begin());
    rdt_trial trial[6];
    for (int i = 0; i < 6; i++) {
        char config[2] = {order[i], '\0'};
        trial[i] = trials_make(1024, config, 10, 9);
    }
    RESHAPE(&trial[2].problem, count, 2048);
    RESHAPE(&trial[3].problem, count, 2048);
    trial[3].cache = RDT_CACHE_WARM;
    trial[4].problem.dtype = trial[4].problem.result = REDTUNE_F64;
    trial[5].problem = PROBLEM(REDTUNE_MAX, REDTUNE_I32, REDTUNE_I32, .count = 1024);
    rdt_facts other = trials_gpu;
    other.bus_bits++;
    for (int i = 0; i < 6; i++)
        CHECK_OK(rdt_tuning_put(tuning, i == 1 ? &other : &trials_gpu, &trials_origin, &trial[i], 1,
                                &err),
                 err);
    for (int i = 0; i < 6; i++) trial[i].median_ns = 9;
    CHECK_OK(put(trial, 1), err);
    CHECK_OK(put(trial + 2, 4), err);
    CHECK_INT(take_winners(), 6);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(taken.row[i].trial.config[0], order[i]);
        CHECK(taken.row[i].trial.median_ns == 10);
        CHECK_INT(taken.row[i].gpu.bus_bits, i == 1 ? other.bus_bits : trials_gpu.bus_bits);
    }
}

FACT(winners_are_found_among_many) {
    CHECK(begin());
    static rdt_trial trials[2000];
    for (int i = 0; i < 2000; i++) {
        char config[16];
        snprintf(config, sizeof config, "c%d", i);
        trials[i] = trials_make(1024u << i % 20, config, 1 + i, 5);
    }
    CHECK_OK(put(trials, 2000), err);
    CHECK_INT(take_winners(), 20);
    for (int i = 0; i < 20; i++) CHECK(taken.row[i].trial.median_ns == 1 + i);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    rdt_tuning_close(tuning);
    scratch_end();
    return failed;
}
