/* The series: sequences, bad candidates, going on after a stop, cache states and crossovers. */
#include <math.h>
#include "model/winner.h"
#include "check.h"
#include "shaped.h"
#include "tune.h"
#include "tuner/search/neighbours.h"
#include "redtune/tune.h"

/* ---- sequences ------------------------------------------------------------------------------- */

/* What a tune of a few sizes asks of the evaluator, as text. */
static char *sequence(redtune_effort effort, uint64_t seed) {
    tune self;
    rdt_text log = {0};
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    oracle.noise = 0.01;
    oracle.log = &log;
    tune_begin(&self, oracle, REDTUNE_F32, 16, effort == REDTUNE_EFFORT_EXHAUSTIVE ? 16 : 20);
    self.effort = effort;
    self.seed = seed;
    tune_run(&self);
    tune_end(&self);
    return log.data;
}

FACT(the_same_seed_gives_the_same_sequence) {
    const redtune_effort efforts[] = {REDTUNE_EFFORT_STANDARD, REDTUNE_EFFORT_QUICK,
                                      REDTUNE_EFFORT_EXHAUSTIVE};
    for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++) {
        char *first = sequence(efforts[i], 7), *second = sequence(efforts[i], 7);
        CHECK(first && second && strlen(first) > 1000);
        CHECK(!strcmp(first, second));
        free(first);
        free(second);
    }
}

FACT(another_seed_gives_another_sequence) {
    char *first = sequence(REDTUNE_EFFORT_STANDARD, 7);
    char *second = sequence(REDTUNE_EFFORT_STANDARD, 8);
    CHECK(strcmp(first, second));
    free(first);
    free(second);
}

/* ---- bad candidates -------------------------------------------------------------------------- */

static int order_of(const char *text) {
    rdt_point point = {.family = 0};
    const rdt_spaces *spaces = rdt_codegen_spaces(tune_codegen);
    return rdt_point_parse(spaces, text, &point, NULL) ? -1 : rdt_point_rank(spaces, &point);
}

/* A tune of one size, of every candidate. */
static void begin_one(tune *self, oracle oracle) {
    tune_begin(self, oracle, REDTUNE_F32, 16, 16);
    self->effort = REDTUNE_EFFORT_EXHAUSTIVE;
}

static int order_of_best(void) {
    tune self;
    begin_one(&self, oracle_model(tune_codegen, &oracle_h200));
    tune_run(&self);
    int order = self.cold[0].winner.rank;
    tune_end(&self);
    return order;
}

static const rdt_trial *last_of(const tune *self, int order) {
    const rdt_trials *trials = &self->sweep.known[RDT_CACHE_COLD];
    for (size_t i = trials->count; i-- > 0;)
        if (trials->trial[i].rank == order) return &trials->trial[i];
    return NULL;
}

/* fault: the member of oracle that names the candidate. */
static void a_fault_never_wins(size_t fault, rdt_outcome outcome, const char *cause) {
    const int best = order_of_best();
    tune self;
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    memcpy((char *)&oracle + fault, &best, sizeof best);
    begin_one(&self, oracle);
    CHECK_OK(tune_run(&self), self.err);
    CHECK(self.cold[0].winner.rank != best);
    CHECK_INT(self.cold[0].now.failed, 1);
    const rdt_trial *trial = last_of(&self, best);
    CHECK(trial);
    CHECK_INT(trial->outcome, outcome);
    CHECK_TEXT(trial->cause, cause);
    CHECK(trial->median_ns == 0);
    tune_end(&self);
}

FACT(a_wrong_one_never_wins) {
    a_fault_never_wins(offsetof(oracle, wrong), RDT_OUTCOME_WRONG, "1 and should be 2");
}

FACT(a_faulting_one_never_wins) {
    a_fault_never_wins(offsetof(oracle, faulted), RDT_OUTCOME_FAULTED, "illegal address");
}

FACT(a_hanging_one_never_wins) {
    a_fault_never_wins(offsetof(oracle, hung), RDT_OUTCOME_HUNG, "it did not end");
}

FACT(a_wrong_one_is_never_timed) {
    tune self;
    rdt_text log = {0};
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    oracle.wrong = order_of_best();
    oracle.log = &log;
    begin_one(&self, oracle);
    CHECK_OK(tune_run(&self), self.err);
    char line[RDT_CONFIG_TEXT_BYTES + 64];
    snprintf(line, sizeof line, "cold f32 65536 3 %s\n", last_of(&self, oracle.wrong)->config);
    CHECK(!strstr(log.data, line));
    rdt_text_free(&log);
    tune_end(&self);
}

FACT(where_all_are_wrong_the_problem_is_named) {
    tune self;
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    oracle.wrong = ORACLE_EVERY;
    begin_one(&self, oracle);
    CHECK_FAILS(tune_run(&self), REDTUNE_WRONG, self.err, "cannot tune sum of 65536 f32: none of ");
    CHECK_INT(self.oracle.timed, 0);
    tune_end(&self);
}

FACT(a_flattered_one_does_not_win) {
    const char *flattered = "block=64,vec=2,unroll=1,load=no_allocate,tail=shuffle,finish=poll,"
                            "per_sm=1";
    tune self;
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    oracle.flattered = order_of(flattered);
    begin_one(&self, oracle);
    CHECK_OK(tune_run(&self), self.err);
    CHECK(last_of(&self, oracle.flattered));
    CHECK(last_of(&self, oracle.flattered)->samples >= 9);
    CHECK(self.cold[0].winner.rank != oracle.flattered);
    tune_end(&self);
}

/* ---- going on -------------------------------------------------------------------------------- */

FACT(what_is_known_is_not_asked_again) {
    tune self;
    tune_begin(&self, oracle_model(tune_codegen, &oracle_h200), REDTUNE_F32, 12, 18);
    CHECK_OK(tune_run(&self), self.err);
    const size_t verified = self.oracle.verified, timed = self.oracle.timed;
    CHECK(verified && timed);
    CHECK_OK(tune_run(&self), self.err);
    CHECK_INT(self.oracle.verified, verified);
    CHECK_INT(self.oracle.timed, timed);
    CHECK_INT(self.cold[0].now.measured, 0);
    CHECK(self.cold[0].found);
    tune_end(&self);
}

/* Stops after so many trials, goes on, and asks of the evaluator what an undisturbed tune asks. */
static void a_stop_changes_nothing(redtune_effort effort, int high) {
    tune whole, parts;
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    oracle.noise = 0.01;
    tune_begin(&whole, oracle, REDTUNE_F32, 14, high);
    whole.effort = effort;
    CHECK_OK(tune_run(&whole), whole.err);
    for (size_t stop = 1; stop < whole.stored; stop += whole.stored / 23 + 1) {
        tune_begin(&parts, oracle, REDTUNE_F32, 14, high);
        parts.effort = effort;
        parts.stop_after = stop;
        CHECK(tune_run(&parts) == REDTUNE_INTERRUPTED || parts.stored == whole.stored);
        parts.stop_after = 0;
        CHECK_OK(tune_run(&parts), parts.err);
        CHECK_INT(parts.oracle.samples, whole.oracle.samples);
        CHECK_INT(parts.stored, whole.stored);
        for (size_t i = 0; i < parts.count; i++)
            CHECK_TEXT(parts.cold[i].winner.config, whole.cold[i].winner.config);
        tune_end(&parts);
    }
    tune_end(&whole);
}

FACT(a_stopped_standard_search_goes_on_as_if_undisturbed) {
    a_stop_changes_nothing(REDTUNE_EFFORT_STANDARD, 18);
}

FACT(a_stopped_exhaustive_search_goes_on_as_if_undisturbed) {
    a_stop_changes_nothing(REDTUNE_EFFORT_EXHAUSTIVE, 14);
}

/* ---- cache states and crossovers ----------------------------------------------------------------
 */

FACT(warm_is_measured_where_half_of_l2_holds_the_input) {
    tune self;
    tune_begin(&self, oracle_model(tune_codegen, &oracle_h200), REDTUNE_F32, 22,
               24); /* 16 to 64 MiB */
    self.effort = REDTUNE_EFFORT_QUICK;
    CHECK_OK(tune_run(&self), self.err);
    CHECK(self.warm[0].found && self.warm[0].winner.cache == RDT_CACHE_WARM);
    CHECK(self.warm[0].winner.median_ns < self.cold[0].winner.median_ns);
    CHECK(!self.warm[1].found && !self.warm[2].found);
    tune_end(&self);
}

/* The winner of the measured count nearest on a log scale, of powers of two only or of all. */
static const rdt_trial *nearest_winner(const tune *self, uint64_t count, bool powers_only) {
    const rdt_trials *trials = &self->sweep.known[RDT_CACHE_COLD];
    const rdt_trial *pointers[256] = {NULL};
    uint64_t nearest = 0;
    size_t found = 0;
    rdt_winner winner = {.trial = NULL};
    for (size_t i = 0; i < trials->count; i++) {
        uint64_t each = shaped_of(&trials->trial[i].problem).count;
        if (powers_only && each & (each - 1)) continue;
        if (!nearest ||
            fabs(log2((double)each / (double)count)) < fabs(log2((double)nearest / (double)count)))
            nearest = each;
    }
    for (size_t i = 0; i < trials->count && found < 256; i++)
        if (shaped_of(&trials->trial[i].problem).count == nearest)
            pointers[found++] = &trials->trial[i];
    rdt_winner_choose(pointers, found, &winner, NULL);
    return winner.trial;
}

/* What a count takes with another count's winner. */
static double borrowed_ns(const tune *self, uint64_t count, const rdt_trial *winner) {
    rdt_trial here = *winner;
    RESHAPE(&here.problem, count, count);
    return tune_truth_ns(self, &here);
}

FACT(borders_lead_to_the_faster_config) {
    tune self;
    tune_begin(&self, oracle_model(tune_codegen, &oracle_h200), REDTUNE_F32, 12, 24);
    CHECK_OK(tune_run(&self), self.err);
    double with = 0, without = 0;
    for (double at = 12; at <= 24; at += 1.0 / 16) {
        uint64_t count = (uint64_t)llround(exp2(at));
        with += log(borrowed_ns(&self, count, nearest_winner(&self, count, false)));
        without += log(borrowed_ns(&self, count, nearest_winner(&self, count, true)));
    }
    printf("  between the sizes: %.2f %% faster by the crossovers\n",
           100 * (exp((without - with) / 193) - 1));
    CHECK(with < without);
    tune_end(&self);
}

/* Of all that is known of a count. */
static const rdt_trial *winner_at(const tune *self, uint64_t count) {
    const rdt_trials *trials = &self->sweep.known[RDT_CACHE_COLD];
    const rdt_trial *pointers[512] = {NULL};
    size_t found = 0;
    rdt_winner winner = {.trial = NULL};
    for (size_t i = 0; i < trials->count && found < 512; i++)
        if (shaped_of(&trials->trial[i].problem).count == count)
            pointers[found++] = &trials->trial[i];
    rdt_winner_choose(pointers, found, &winner, NULL);
    return winner.trial;
}

/* A tune, as another day and another order of candidates would have it. */
static void run_with_noise(tune *self, redtune_dtype dtype, uint64_t seed, double uneven) {
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    oracle.noise = 0.005;
    oracle.outliers = 0.005;
    oracle.salt = 100 * seed;
    oracle.uneven = uneven;
    tune_begin(self, oracle, dtype, 10, 28);
    self->seed = seed;
    CHECK_OK(tune_run(self), self->err);
}

/* How the winners of two tunes differ at the counts that both measured, by the truth. */
typedef struct difference {
    double worst;
    size_t compared, apart; /* apart: by more than 2 % */
} difference;

static void compare_tunes(const tune *a, const tune *b, difference *out) {
    const rdt_trials *trials = &a->sweep.known[RDT_CACHE_COLD];
    uint64_t last = 0;
    for (size_t i = 0; i < trials->count; i++) {
        const uint64_t count = shaped_of(&trials->trial[i].problem).count;
        if (count == last) continue; /* those of one count mostly follow each other */
        last = count;
        const rdt_trial *mine = winner_at(a, count), *other = winner_at(b, count);
        if (!mine || !other) continue;
        double ratio = tune_truth_ns(a, mine) / tune_truth_ns(b, other);
        if (ratio < 1) ratio = 1 / ratio;
        if (ratio > out->worst) out->worst = ratio;
        out->apart += ratio > 1.02;
        out->compared++;
    }
}

static difference compare_two_tunes(void) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_I8, REDTUNE_F64};
    difference found = {.worst = 1};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        tune first, second;
        run_with_noise(&first, dtypes[i], 1, 0);
        run_with_noise(&second, dtypes[i], 2, 0);
        compare_tunes(&first, &second, &found);
        tune_end(&first);
        tune_end(&second);
    }
    printf("  two tunes: %.1f %% apart at worst, %zu of %zu counts by more than 2 %%\n",
           100 * (found.worst - 1), found.apart, found.compared);
    return found;
}

/* Counts the crossovers that a tune measured, and those where its winner is more than 3 % slower
 * than the best there is. */
static void judge_crossovers(const tune *self, size_t *crossovers, size_t *slow) {
    const rdt_trials *trials = &self->sweep.known[RDT_CACHE_COLD];
    uint64_t last = 0;
    for (size_t i = 0; i < trials->count; i++) {
        redtune_problem problem = trials->trial[i].problem;
        if (!(shaped_of(&problem).count & (shaped_of(&problem).count - 1)) ||
            shaped_of(&problem).count == last)
            continue;
        last = shaped_of(&problem).count;
        const rdt_trial *winner = winner_at(self, last);
        CHECK(winner);
        double best = oracle_best_ns(&self->oracle, &problem, RDT_CACHE_COLD, &(size_t){0});
        *slow += tune_truth_ns(self, winner) > 1.03 * best;
        ++*crossovers;
    }
}

/* The sizes measured between two neighbours. */
static size_t count_between(const tune *self, size_t i) {
    const rdt_trials *trials = &self->sweep.known[RDT_CACHE_COLD];
    uint64_t last = 0;
    size_t between = 0;
    for (size_t k = 0; k < trials->count; k++) {
        uint64_t count = shaped_of(&trials->trial[k].problem).count;
        if (count <= shaped_of(&self->problems[i]).count ||
            count >= shaped_of(&self->problems[i + 1]).count)
            continue;
        between += count != last; /* those of one size follow each other */
        last = count;
    }
    return between;
}

FACT(borders_are_measured_where_winners_differ) {
    tune self;
    tune_begin(&self, oracle_model(tune_codegen, &oracle_h200), REDTUNE_F32, 12, 24);
    CHECK_OK(tune_run(&self), self.err);
    size_t most = 0;
    for (size_t i = 0; i + 1 < self.count; i++) {
        size_t between = count_between(&self, i);
        bool differ = strcmp(self.cold[i].winner.config, self.cold[i + 1].winner.config) != 0;
        CHECK(differ || !between);
        if (between > most) most = between;
    }
    CHECK_INT(most, 2);
    tune_end(&self);
}

FACT(progress_names_what_is_measured) {
    tune self;
    tune_begin(&self, oracle_model(tune_codegen, &oracle_h200), REDTUNE_F32, 12, 24);
    CHECK_OK(tune_run(&self), self.err);
    CHECK(shaped_of(&self.told).count &
          (shaped_of(&self.told).count - 1)); /* it ended with a crossover */
    CHECK_INT(self.elsewhere, 0);
    tune_end(&self);
}

FACT(two_tunes_agree_at_every_count) {
    difference found = compare_two_tunes();
    CHECK(found.compared > 60);
    CHECK(found.worst <= 1.02);
}

/* What ties at the ends may be far apart between them: of every three configs two are 5 % slower
 * there, each at counts of its own. */
FACT(a_crossover_has_the_better_of_what_ties_at_its_ends) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_I8, REDTUNE_F64};
    size_t crossovers = 0, slow = 0;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        tune self;
        run_with_noise(&self, dtypes[i], 1, 0.05);
        judge_crossovers(&self, &crossovers, &slow);
        tune_end(&self);
    }
    printf("  crossovers: %zu of %zu by more than 3 %% slower than the best there is\n", slow,
           crossovers);
    CHECK(crossovers > 40);
    CHECK(slow * 8 <= crossovers);
}

/* ---- moves ----------------------------------------------------------------------------------- */

static void count_move(void *user, const rdt_point *neighbour) {
    (void)neighbour;
    ++*(size_t *)user;
}

FACT(neighbours_go_a_step_or_two) {
    rdt_point point = {.family = 0};
    const rdt_spaces *spaces = rdt_codegen_spaces(tune_codegen);
    size_t near = 0, far = 0;
    CHECK_OK(rdt_point_parse(spaces,
                             "block=128,vec=4,unroll=2,load=plain,tail=shuffle,finish=poll,"
                             "per_sm=4",
                             &point, NULL),
             (redtune_error){0});
    rdt_neighbours_each(spaces, &point, 0, count_move, &near);
    rdt_neighbours_each(spaces, &point, 1, count_move, &far);
    CHECK_INT(near, 4 * 2 + 2 + 1 + 2); /* four numbers both ways; the other names of three kinds */
    CHECK_INT(far, 4 * 3);              /* one number up, another down */
}

int main(int argc, char **argv) {
    if (!tune_open()) return 1;
    int code = check_run(argc, argv);
    tune_close();
    return code;
}
