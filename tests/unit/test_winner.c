/* The winner among measurements: evidence, noise, ties. */
#include "check.h"
#include "model/winner.h"

/* A good trial of config "c=<number>", which is also its rank in the space. */
static rdt_trial good(int number, double median_ns, double spread_ns, int samples) {
    rdt_trial trial = {.outcome = RDT_OUTCOME_GOOD,
                       .family = "block",
                       .median_ns = median_ns,
                       .spread_ns = spread_ns,
                       .samples = samples,
                       .rank = number};
    snprintf(trial.config, sizeof trial.config, "c=%d", number);
    return trial;
}

static rdt_trial baseline(rdt_trial trial) {
    trial.is_default = true;
    return trial;
}

static rdt_winner choose(const rdt_trial *trials, size_t count) {
    const rdt_trial *pointers[16] = {NULL};
    rdt_winner found = {0};
    for (size_t i = 0; i < count; i++) pointers[i] = &trials[i];
    rdt_winner_choose(pointers, count, &found, NULL);
    return found;
}

#define CHOOSE(...)                                                                                \
    const rdt_trial trials[] = {__VA_ARGS__};                                                      \
    rdt_winner found = choose(trials, sizeof trials / sizeof *trials)

FACT(choose_takes_the_lowest_median) {
    CHOOSE(good(1, 1200, 1, 31), good(2, 1000, 1, 31), good(3, 1100, 1, 31));
    CHECK_TEXT(found.trial->config, "c=2");
    CHECK(found.fastest == found.trial);
    CHECK(!found.baseline);
}

FACT(choose_finds_nothing_in_nothing) {
    rdt_trial wrong = {.outcome = RDT_OUTCOME_WRONG, .config = "c=1"};
    CHECK(!choose(NULL, 0).trial);
    CHECK(!choose(&wrong, 1).trial);
}

FACT(choose_never_takes_a_wrong_one) {
    rdt_trial wrong = good(1, 10, 0, 31);
    wrong.outcome = RDT_OUTCOME_WRONG;
    CHOOSE(wrong, good(2, 1000, 1, 31));
    CHECK_TEXT(found.trial->config, "c=2");
}

FACT(choose_does_not_believe_a_quick_look) {
    CHOOSE(good(1, 900, 1, 15), good(2, 1000, 1, 31), good(1, 1100, 1, 31));
    CHECK_TEXT(found.trial->config, "c=2");
}

FACT(choose_takes_half_the_samples_as_careful) {
    CHOOSE(good(1, 900, 1, 16), good(2, 1000, 1, 31));
    CHECK_TEXT(found.trial->config, "c=1");
}

FACT(choose_ignores_one_flattering_outlier) {
    CHOOSE(good(1, 500, 1, 31), good(1, 1100, 1, 31), good(2, 1000, 1, 31));
    CHECK_TEXT(found.trial->config, "c=2");
}

FACT(choose_lets_the_middle_stand_for_many) {
    CHOOSE(good(1, 500, 1, 31), good(1, 950, 1, 31), good(1, 1500, 1, 31), good(2, 1000, 1, 31));
    CHECK_TEXT(found.trial->config, "c=1");
    CHECK(found.trial->median_ns == 950);
}

FACT(choose_keeps_the_default_within_noise) {
    CHOOSE(good(1, 1000, 1, 31), baseline(good(2, 1004, 1, 31)), good(3, 999.5, 1, 31));
    CHECK_TEXT(found.trial->config, "c=2");
    CHECK_TEXT(found.fastest->config, "c=3");
    CHECK(found.baseline == found.trial);
}

FACT(choose_takes_what_beats_the_default_beyond_noise) {
    CHOOSE(good(1, 1000, 1, 31), baseline(good(2, 1006, 1, 31)));
    CHECK_TEXT(found.trial->config, "c=1");
    CHECK_TEXT(found.baseline->config, "c=2");
}

FACT(choose_asks_for_more_where_the_spread_is_wide) {
    /* 1.858 * 30 / sqrt(31) = 10.0 each; twice their root of squares is 28. */
    CHOOSE(good(1, 1000, 30, 31), baseline(good(2, 1027, 30, 31)));
    CHECK_TEXT(found.trial->config, "c=2");
    const rdt_trial apart[] = {good(1, 1000, 30, 31), baseline(good(2, 1030, 30, 31))};
    CHECK_TEXT(choose(apart, 2).trial->config, "c=1");
}

FACT(choose_gives_ties_to_the_simpler) {
    CHOOSE(good(5, 1000, 1, 31), good(3, 1003, 1, 31), good(4, 1001, 1, 31), good(1, 1100, 1, 31));
    CHECK_TEXT(found.trial->config, "c=3");
    CHECK_TEXT(found.fastest->config, "c=5");
}

FACT(choose_is_blind_to_the_order_of_the_trials) {
    rdt_trial trials[] = {good(5, 1000, 1, 31), good(3, 1003, 1, 31), good(5, 1500, 1, 31),
                          baseline(good(9, 1100, 2, 31)), good(4, 1001, 1, 31)};
    const size_t count = sizeof trials / sizeof *trials;
    for (size_t turn = 0; turn < count; turn++) {
        CHECK_TEXT(choose(trials, count).trial->config, "c=3");
        rdt_trial first = trials[0];
        memmove(trials, trials + 1, (count - 1) * sizeof *trials);
        trials[count - 1] = first;
    }
}

FACT(choose_knows_the_default_by_its_latest_trial) {
    CHOOSE(baseline(good(1, 1000, 1, 31)), good(2, 1001, 1, 31), baseline(good(3, 1002, 1, 31)));
    CHECK_TEXT(found.baseline->config, "c=3");
    CHECK_TEXT(found.trial->config, "c=3");
}

FACT(choose_caps_what_careful_means) {
    CHOOSE(good(1, 900, 1, 16), good(2, 1000, 1, 1000000000));
    CHECK_TEXT(found.trial->config, "c=1");
}

static rdt_trial imported(rdt_trial trial) {
    trial.imported = true;
    return trial;
}

FACT(choose_believes_what_was_measured_here) {
    CHOOSE(good(1, 1100, 1, 31), imported(good(1, 500, 1, 31)), imported(good(1, 510, 1, 31)),
           good(2, 1000, 1, 31));
    CHECK_TEXT(found.trial->config, "c=2");
    const rdt_trial only[] = {imported(good(1, 500, 1, 31)), good(2, 1000, 1, 31)};
    CHECK_TEXT(choose(only, 2).trial->config, "c=1");
}

static rdt_trial bad(int number, rdt_outcome outcome) {
    rdt_trial trial = good(number, 0, 0, 0);
    trial.outcome = outcome;
    return trial;
}

FACT(choose_leaves_out_what_went_wrong_last) {
    CHOOSE(good(1, 900, 1, 31), good(2, 1000, 1, 31), bad(1, RDT_OUTCOME_WRONG));
    CHECK_TEXT(found.trial->config, "c=2");
    const rdt_trial mended[] = {bad(1, RDT_OUTCOME_HUNG), good(1, 900, 1, 31),
                                good(2, 1000, 1, 31)};
    CHECK_TEXT(choose(mended, 3).trial->config, "c=1");
}

FACT(choose_lets_nobody_else_declare_a_config_bad) {
    CHOOSE(good(1, 900, 1, 31), good(2, 1000, 1, 31), imported(bad(1, RDT_OUTCOME_WRONG)));
    CHECK_TEXT(found.trial->config, "c=1");
}

/* ---- several families ------------------------------------------------------------------------ */

/* The same of a family whose points come behind. */
static rdt_trial other(rdt_trial trial) {
    rdt_text_copy(trial.family, sizeof trial.family, "another");
    trial.rank += 100;
    return trial;
}

FACT(choose_takes_the_best_default_as_baseline) {
    CHOOSE(baseline(good(1, 1200, 1, 31)), baseline(other(good(1, 1100, 1, 31))),
           good(2, 1000, 1, 31), other(good(3, 1150, 1, 31)));
    CHECK_TEXT(found.baseline->family, "another");
    CHECK_TEXT(found.trial->config, "c=2");
    CHECK_TEXT(found.trial->family, "block");
}

FACT(choose_keeps_either_default_within_noise) {
    CHOOSE(baseline(good(1, 1200, 1, 31)), baseline(other(good(5, 1004, 1, 31))),
           good(2, 1000, 1, 31));
    CHECK_TEXT(found.trial->family, "another");
    CHECK(found.baseline == found.trial);
}

FACT(choose_gives_tied_defaults_to_the_simpler) {
    CHOOSE(baseline(other(good(1, 1000, 1, 31))), baseline(good(9, 1002, 1, 31)));
    CHECK_TEXT(found.trial->family, "block");
    CHECK_TEXT(found.baseline->family, "block");
    CHECK_TEXT(found.fastest->family, "another");
}

/* The default of one family changed; that of the other did not. */
FACT(choose_knows_each_default_by_its_familys_latest_trial) {
    CHOOSE(baseline(good(1, 1000, 1, 31)), baseline(good(2, 1100, 1, 31)),
           baseline(other(good(1, 1300, 1, 31))));
    CHECK_TEXT(found.baseline->config, "c=2");
    CHECK_TEXT(found.baseline->family, "block");
    CHECK_TEXT(found.trial->config, "c=1");
}

/* Configs that are written alike are two points. */
FACT(choose_tells_families_apart) {
    CHOOSE(good(1, 1000, 1, 31), other(good(1, 500, 1, 31)), good(1, 1000, 1, 31));
    CHECK(found.trial->median_ns == 500);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
