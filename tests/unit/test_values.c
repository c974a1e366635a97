/* Values with names: which of them each effort asks for, by what is known of them, and what it
 * finds where another than the default's is the best. */
#include "check.h"
#include "shaped.h"
#include "tune.h"
#include "redtune/tune.h"

static const char *const names[] = {"load=no_allocate", "load=plain",  "load=streaming",
                                    "tail=shuffle",     "tail=shared", "finish=single",
                                    "finish=poll"};
enum { NAMES = sizeof names / sizeof *names };
static const redtune_effort searches[] = {REDTUNE_EFFORT_STANDARD, REDTUNE_EFFORT_QUICK};

/* How many configs with the name were tried, of those behind the first `from` trials. */
static size_t count_tried(const tune *self, const char *name, size_t from) {
    const rdt_trials *trials = &self->sweep.known[RDT_CACHE_COLD];
    size_t count = 0;
    for (size_t i = from; i < trials->count; i++)
        count += strstr(trials->trial[i].config, name) != NULL;
    return count;
}

/* The model, in which a name costs this much. */
static oracle model_with(const char *label, double factor) {
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    for (int i = 0; i < ORACLE_NAMES; i++)
        if (!strcmp(oracle.name[i].label, label)) oracle.name[i].factor = factor;
    return oracle;
}

FACT(exhaustive_times_every_distinct_point) {
    tune self;
    tune_begin(&self, oracle_model(tune_codegen, &oracle_h200), REDTUNE_F32, 14, 14);
    self.effort = REDTUNE_EFFORT_EXHAUSTIVE;
    CHECK_OK(tune_run(&self), self.err);
    rdt_point *points = NULL;
    size_t count = 0;
    CHECK_OK(rdt_points_list(tune_codegen, (rdt_case){self.problems, &oracle_h200},
                             RDT_SCOPE_DISTINCT, &points, &count, &self.err),
             self.err);
    CHECK_INT(self.cold[0].now.measured, count);
    for (int i = 0; i < NAMES; i++) CHECK(count_tried(&self, names[i], 0) > 100);
    free(points);
    tune_end(&self);
}

FACT(nothing_known_means_a_probe_of_every_name) {
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        tune self;
        tune_begin(&self, oracle_model(tune_codegen, &oracle_h200), REDTUNE_F32, 16, 16);
        self.effort = searches[i];
        CHECK_OK(tune_run(&self), self.err);
        for (int k = 0; k < NAMES; k++) CHECK(count_tried(&self, names[k], 0) > 0);
        tune_end(&self);
    }
}

/* Tunes 2^14 to 2^20, and then the odd sizes between with what is known of those. */
static void run_between(tune *self, oracle oracle, redtune_effort effort, size_t *known) {
    tune_begin(self, oracle, REDTUNE_F32, 14, 20);
    self->effort = effort;
    CHECK_OK(tune_run(self), self->err);
    *known = self->sweep.known[RDT_CACHE_COLD].count;
    for (size_t i = 0; i < self->count; i++)
        RESHAPE(&self->problems[i], count, shaped_of(&self->problems[i]).count / 2 * 3);
    CHECK_OK(tune_run(self), self->err);
    CHECK(self->sweep.known[RDT_CACHE_COLD].count > *known);
}

FACT(what_lost_everywhere_is_not_asked_for_again) {
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        tune self;
        size_t known = 0;
        run_between(&self, oracle_model(tune_codegen, &oracle_h200), searches[i], &known);
        CHECK(count_tried(&self, "tail=shared", 0) > 0);
        CHECK_INT(count_tried(&self, "tail=shared", known), 0);
        CHECK(count_tried(&self, "tail=shuffle", known) > 0);
        tune_end(&self);
    }
}

FACT(what_fails_is_not_asked_for_again) {
    tune self;
    size_t known = 0;
    run_between(&self, model_with("shared", 0), REDTUNE_EFFORT_STANDARD, &known);
    CHECK(count_tried(&self, "tail=shared", 0) > 0);
    CHECK_INT(count_tried(&self, "tail=shared", known), 0);
    tune_end(&self);
}

FACT(what_wins_is_asked_for_again) {
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        tune self;
        size_t known = 0;
        run_between(&self, model_with("shared", 0.9), searches[i], &known);
        CHECK(count_tried(&self, "tail=shared", known) >= self.count);
        tune_end(&self);
    }
}

/* Where it was seen to tie close by there is nothing to gain; further on there may be. */
FACT(what_ties_is_asked_for_further_on) {
    tune self;
    size_t known = 0;
    run_between(&self, model_with("shared", 1), REDTUNE_EFFORT_STANDARD, &known);
    CHECK_INT(count_tried(&self, "tail=shared", known), 0);
    tune_end(&self);
    tune_begin(&self, model_with("shared", 1), REDTUNE_F32, 12, 24);
    CHECK_OK(tune_run(&self), self.err);
    CHECK(count_tried(&self, "tail=shared", 0) >=
          6); /* at each third of 13 sizes, the first twice */
    tune_end(&self);
}

/* Of i32 nothing is known, though all of f32 is. */
FACT(another_class_is_asked_for_itself) {
    tune known, self;
    tune_begin(&known, oracle_model(tune_codegen, &oracle_h200), REDTUNE_F32, 14, 18);
    CHECK_OK(tune_run(&known), known.err);
    tune_begin(&self, oracle_model(tune_codegen, &oracle_h200), REDTUNE_I32, 14, 18);
    for (int i = 0; i < RDT_CACHE_STATES; i++) self.sweep.alike[i] = known.sweep.known[i];
    CHECK_OK(tune_run(&self), self.err);
    for (int k = 0; k < NAMES; k++) CHECK(count_tried(&self, names[k], 0) > 0);
    tune_end(&self);
    tune_end(&known);
}

/* In a class a name that loses is probed at sizes three doublings apart, and seldom twice there. */
FACT(a_losing_name_costs_little) {
    tune self;
    tune_begin(&self, oracle_model(tune_codegen, &oracle_h200), REDTUNE_F32, 10, 28);
    CHECK_OK(tune_run(&self), self.err);
    const size_t tried = count_tried(&self, "tail=shared", 0);
    printf("  shared: %zu trials of 19 sizes\n", tried);
    CHECK(tried >= 5 && tried <= 14);
    tune_end(&self);
}

static void check_winners(const oracle *oracle, redtune_effort effort, const char *label) {
    tune self;
    tune_begin(&self, *oracle, REDTUNE_F32, 13, 21);
    self.effort = effort;
    CHECK_OK(tune_run(&self), self.err);
    double worst = 1;
    for (size_t i = 0; i < self.count; i++) {
        size_t points = 0;
        double best = oracle_best_ns(oracle, &self.problems[i], RDT_CACHE_COLD, &points);
        double ratio = tune_truth_ns(&self, &self.cold[i].winner) / best;
        if (ratio > worst) worst = ratio;
    }
    printf("  %s best, %s: %.1f %% above at worst\n", label, redtune_effort_name(effort),
           100 * (worst - 1));
    CHECK(worst <= 1.03);
    tune_end(&self);
}

/* On a GPU without clusters, which have no other tail and are the default's names where there are
 * any. */
FACT(another_name_that_wins_everywhere_is_found) {
    rdt_facts gpu = oracle_h200;
    gpu.major = 8;
    static const oracle_name best[] = {
        {"shared", 0.7}, {"shared", 0.9}, {"plain", 0.9}, {"streaming", 0.9}};
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        for (size_t k = 0; k < sizeof best / sizeof *best; k++) {
            oracle oracle = model_with(best[k].label, best[k].factor);
            oracle.facts = &gpu;
            check_winners(&oracle, searches[i], best[k].label);
        }
        oracle all = oracle_model(tune_codegen, &gpu);
        for (int k = 0; k < ORACLE_NAMES; k++) all.name[k].factor = 0.8;
        check_winners(&all, searches[i], "every other");
    }
}

/* Where it is faster by far, at sizes that have it. */
FACT(clusters_that_win_are_found) {
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        tune self;
        oracle oracle = oracle_model(tune_codegen, &oracle_h200);
        oracle.name[ORACLE_NAMES - 1] = (oracle_name){"cluster", 0.7};
        tune_begin(&self, oracle, REDTUNE_F32, 12, 18);
        self.effort = searches[i];
        CHECK_OK(tune_run(&self), self.err);
        for (size_t k = 0; k < self.count; k++) {
            const uint64_t bytes = 4 * shaped_of(&self.problems[k]).count;
            const bool wins = strstr(self.cold[k].winner.config, "finish=cluster") != NULL;
            CHECK(wins == (bytes > 16 * 1024 && bytes <= 256 * 1024));
        }
        tune_end(&self);
    }
}

int main(int argc, char **argv) {
    if (!tune_open()) return 1;
    int code = check_run(argc, argv);
    tune_close();
    return code;
}
