/* The search: what each strategy finds, at what cost, held against oracle whose answers are known.
 */
#include "check.h"

#include <math.h>
#include "oracle.h"
#include "tuner/series.h"

enum { PROBLEMS_MAX = 32 };

/* A tune of one class, and what came of it. */
typedef struct tune {
    oracle oracle;
    redtune_problem problems[PROBLEMS_MAX];
    size_t count;
    redtune_effort effort;
    uint64_t seed;
    rdt_series series;
    rdt_series_hooks hooks;
    rdt_finding cold[PROBLEMS_MAX], warm[PROBLEMS_MAX];
    size_t stored, stop_after; /* stop_after: trials; 0: never */
    redtune_error err;
} tune;

static rdt_codegen *codegen;

static redtune_status store(void *user, const rdt_trial *trials, size_t count, redtune_error *err) {
    (void)trials, (void)err;
    ((tune *)user)->stored += count;
    return REDTUNE_OK;
}

static bool progress(void *user, size_t problem, const char *stage, size_t i, size_t n,
                     double best_ns) {
    (void)problem, (void)stage, (void)i, (void)n, (void)best_ns;
    const tune *self = user;
    return self->stop_after && self->stored >= self->stop_after;
}

static void tuned(void *user, size_t problem, const rdt_finding finding[RDT_CACHE_STATES]) {
    tune *self = user;
    self->cold[problem] = finding[RDT_CACHE_COLD];
    self->warm[problem] = finding[RDT_CACHE_WARM];
}

/* Sums of 2^low to 2^high elements, doubling. */
static void begin(tune *self, oracle oracle, redtune_dtype dtype, int low, int high) {
    *self = (tune){.oracle = oracle, .seed = 1};
    for (int i = low; i <= high; i++) {
        redtune_problem problem = {REDTUNE_SUM, dtype, REDTUNE_DTYPE_NONE, UINT64_C(1) << i};
        rdt_problem_resolve(&problem, &self->problems[self->count++], NULL);
    }
}

static redtune_status run(tune *self) {
    rdt_lab lab = oracle_lab(&self->oracle);
    self->hooks = (rdt_series_hooks){self, store, progress, tuned};
    self->series.lab = &lab;
    self->series.codegen = codegen;
    self->series.facts = self->oracle.facts;
    self->series.problems = self->problems;
    self->series.count = self->count;
    self->series.strategy = rdt_strategy_find(self->effort);
    self->series.seed = self->seed;
    self->series.hooks = &self->hooks;
    return rdt_series_run(&self->series, &self->err);
}

static void end(tune *self) {
    for (int i = 0; i < RDT_CACHE_STATES; i++) rdt_trials_free(&self->series.known[i]);
}

/* ---- what is found, and at what cost -------------------------------------------------------- */

/* How much slower than the best the winners are, and how much was timed for them. */
typedef struct regret {
    double log_sum, worst;
    size_t problems, timed, points, crowded; /* crowded: problems of which too much was timed */
    uint64_t worst_count;
} regret;

static size_t count_timed(const tune *self, rdt_cache_state cache, uint64_t count) {
    const rdt_trials *trials = &self->series.known[cache];
    size_t timed = 0;
    for (size_t i = 0; i < trials->count; i++) {
        bool is_new = trials->trial[i].problem.count == count;
        for (size_t k = 0; is_new && k < i; k++)
            is_new = trials->trial[k].problem.count != count ||
                     strcmp(trials->trial[k].config, trials->trial[i].config) != 0;
        timed += is_new;
    }
    return timed;
}

static double truth_of(const tune *self, const rdt_trial *trial) {
    rdt_candidate each = {.config = {{0}}};
    rdt_case at = {&trial->problem, self->oracle.facts};
    if (rdt_config_parse(rdt_codegen_space(codegen, 0), trial->config, &each.config, NULL) ||
        rdt_codegen_launch(codegen, 0, at, &each.config, &each.launch, NULL))
        return 0;
    return oracle_truth_ns(&self->oracle, &trial->problem, trial->cache, &each);
}

/* The first problem has nothing like it to start from, and where there are few points a handful is
 * more than 15 % of them. Two may be there for the borders' sake: the winners of the neighbours. */
static bool is_crowded(size_t timed, size_t points, bool first) {
    const size_t least = first ? 24 : 16, borders = 2;
    return (double)timed > 0.15 * (double)points + borders && timed > least + borders;
}

/* What takes long to find is kept. */
static double best_of(const tune *self, const rdt_trial *trial, size_t *points) {
    static struct {
        bool recorded;
        redtune_problem problem;
        rdt_cache_state cache;
        double best_ns;
        size_t points;
    } known[512];
    static size_t known_count;
    const bool recorded = self->oracle.record != NULL;
    size_t at = 0;
    while (at < known_count && (known[at].recorded != recorded || known[at].cache != trial->cache ||
                                known[at].problem.dtype != trial->problem.dtype ||
                                known[at].problem.count != trial->problem.count))
        at++;
    if (at == known_count) {
        known[at].recorded = recorded;
        known[at].problem = trial->problem;
        known[at].cache = trial->cache;
        known[at].best_ns =
            oracle_best_ns(&self->oracle, &trial->problem, trial->cache, &known[at].points);
        if (at + 1 < sizeof known / sizeof *known) known_count++;
    }
    *points = known[at].points;
    return known[at].best_ns;
}

static void add_regret(const tune *self, const rdt_finding *finding, size_t i, regret *out) {
    const rdt_trial *winner = &finding->winner;
    size_t points = 0, timed = count_timed(self, winner->cache, winner->problem.count);
    double best = best_of(self, winner, &points);
    double ratio = truth_of(self, winner) / best;
    out->log_sum += log(ratio);
    out->problems++;
    out->timed += timed;
    out->points += points;
    out->crowded += is_crowded(timed, points, i == 0);
    if (ratio <= out->worst) return;
    out->worst = ratio;
    out->worst_count = winner->problem.count;
}

static regret measure_regret(const tune *self) {
    regret found = {.worst = 0};
    for (size_t i = 0; i < self->count; i++) {
        add_regret(self, &self->cold[i], i, &found);
        if (self->warm[i].found) add_regret(self, &self->warm[i], i, &found);
    }
    return found;
}

static void print_regret(const char *what, const regret *found) {
    printf("  %s: %zu problems, %.1f %% of %zu candidates timed, %.2f %% above the best on average,"
           " %.1f %% at worst (%llu elements)\n",
           what, found->problems, 100.0 * (double)found->timed / (double)found->points,
           found->points, 100 * (exp(found->log_sum / (double)found->problems) - 1),
           100 * (found->worst - 1), (unsigned long long)found->worst_count);
}

/* On the model, with every dtype up to `last` of the list. */
static void finds_the_best(redtune_effort effort, uint64_t seed, size_t last, double within,
                           double noise) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_I8, REDTUNE_F64};
    for (size_t i = 0; i <= last; i++) {
        tune self;
        oracle oracle = oracle_model(codegen, &oracle_h200);
        oracle.noise = oracle.outliers = noise;
        begin(&self, oracle, dtypes[i], 10, 28);
        self.effort = effort;
        self.seed = seed;
        CHECK_OK(run(&self), self.err);
        regret found = measure_regret(&self);
        print_regret(redtune_dtype_name(dtypes[i]), &found);
        CHECK(found.worst <= within);
        if (effort != REDTUNE_EFFORT_EXHAUSTIVE) CHECK_INT(found.crowded, 0);
        end(&self);
    }
}

static void standard_finds_the_best_for_a_seventh(void) {
    for (uint64_t seed = 0; seed < 2; seed++)
        finds_the_best(REDTUNE_EFFORT_STANDARD, seed, 2, 1.02, 0);
}

static void quick_finds_the_best_for_less(void) {
    finds_the_best(REDTUNE_EFFORT_QUICK, 0, 2, 1.02, 0);
}

static void exhaustive_finds_the_best(void) {
    finds_the_best(REDTUNE_EFFORT_EXHAUSTIVE, 0, 1, 1.006, 0);
}

static void noise_and_outliers_cost_little(void) {
    finds_the_best(REDTUNE_EFFORT_STANDARD, 0, 1, 1.03, 0.01);
}

/* ---- the record of a real GPU --------------------------------------------------------------- */

static const struct {
    redtune_dtype dtype;
    int high;
} on_record[] = {{REDTUNE_F32, 30}, {REDTUNE_F64, 30}, {REDTUNE_I32, 30}, {REDTUNE_F16, 20}};

static void record_regret(redtune_effort effort, uint64_t seed, regret *all) {
    oracle_record *record = oracle_record_read(RDT_TEST_RECORD);
    CHECK(record);
    for (size_t i = 0; i < sizeof on_record / sizeof *on_record; i++) {
        tune self;
        oracle oracle = oracle_model(codegen, &oracle_h200);
        oracle.record = record;
        begin(&self, oracle, on_record[i].dtype, 10, on_record[i].high);
        self.effort = effort;
        self.seed = seed;
        CHECK_OK(run(&self), self.err);
        for (size_t k = 0; k < self.count; k++) add_regret(&self, &self.cold[k], k, all);
        end(&self);
    }
    oracle_record_free(record);
}

static void check_record(redtune_effort effort, uint64_t seeds, double average, double worst) {
    regret all = {.worst = 0};
    for (uint64_t seed = 0; seed < seeds; seed++) record_regret(effort, seed, &all);
    print_regret(redtune_effort_name(effort), &all);
    CHECK(all.log_sum / (double)all.problems <= log(average));
    CHECK(all.worst <= worst);
}

static void standard_is_as_good_on_a_real_gpu(void) {
    check_record(REDTUNE_EFFORT_STANDARD, 2, 1.01, 1.03);
}

static void quick_is_nearly_as_good_on_a_real_gpu(void) {
    check_record(REDTUNE_EFFORT_QUICK, 1, 1.01, 1.08);
}

/* ---- sequences ------------------------------------------------------------------------------ */

/* What a tune of a few sizes asks of the lab, as text. */
static char *sequence(redtune_effort effort, uint64_t seed) {
    tune self;
    rdt_text log = {0};
    oracle oracle = oracle_model(codegen, &oracle_h200);
    oracle.noise = 0.01;
    oracle.log = &log;
    begin(&self, oracle, REDTUNE_F32, 16, 20);
    self.effort = effort;
    self.seed = seed;
    run(&self);
    end(&self);
    return log.data;
}

static void the_same_seed_gives_the_same_sequence(void) {
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

static void another_seed_gives_another_sequence(void) {
    char *first = sequence(REDTUNE_EFFORT_STANDARD, 7);
    char *second = sequence(REDTUNE_EFFORT_STANDARD, 8);
    CHECK(strcmp(first, second));
    free(first);
    free(second);
}

/* ---- bad candidates ------------------------------------------------------------------------- */

static int order_of(const char *text) {
    rdt_config config = {{0}};
    const rdt_space *space = rdt_codegen_space(codegen, 0);
    return rdt_config_parse(space, text, &config, NULL) ? -1 : rdt_config_order(space, &config);
}

/* A tune of one size, of every candidate. */
static void begin_one(tune *self, oracle oracle) {
    begin(self, oracle, REDTUNE_F32, 16, 16);
    self->effort = REDTUNE_EFFORT_EXHAUSTIVE;
}

static int order_of_best(void) {
    tune self;
    begin_one(&self, oracle_model(codegen, &oracle_h200));
    run(&self);
    int order = self.cold[0].winner.order;
    end(&self);
    return order;
}

static const rdt_trial *last_of(const tune *self, int order) {
    const rdt_trials *trials = &self->series.known[RDT_CACHE_COLD];
    for (size_t i = trials->count; i-- > 0;)
        if (trials->trial[i].order == order) return &trials->trial[i];
    return NULL;
}

/* fault: the member of oracle that names the candidate. */
static void a_fault_never_wins(size_t fault, rdt_outcome outcome, const char *cause) {
    const int best = order_of_best();
    tune self;
    oracle oracle = oracle_model(codegen, &oracle_h200);
    memcpy((char *)&oracle + fault, &best, sizeof best);
    begin_one(&self, oracle);
    CHECK_OK(run(&self), self.err);
    CHECK(self.cold[0].winner.order != best);
    CHECK_INT(self.cold[0].now.failed, 1);
    const rdt_trial *trial = last_of(&self, best);
    CHECK(trial);
    CHECK_INT(trial->outcome, outcome);
    CHECK_TEXT(trial->cause, cause);
    CHECK(trial->median_ns == 0);
    end(&self);
}

static void a_wrong_one_never_wins(void) {
    a_fault_never_wins(offsetof(oracle, wrong), RDT_OUTCOME_WRONG, "1 and should be 2");
}

static void a_faulting_one_never_wins(void) {
    a_fault_never_wins(offsetof(oracle, faulted), RDT_OUTCOME_FAULTED, "illegal address");
}

static void a_hanging_one_never_wins(void) {
    a_fault_never_wins(offsetof(oracle, hung), RDT_OUTCOME_HUNG, "it did not end");
}

static void a_wrong_one_is_never_timed(void) {
    tune self;
    rdt_text log = {0};
    oracle oracle = oracle_model(codegen, &oracle_h200);
    oracle.wrong = order_of_best();
    oracle.log = &log;
    begin_one(&self, oracle);
    CHECK_OK(run(&self), self.err);
    char line[RDT_CONFIG_TEXT_BYTES + 64];
    snprintf(line, sizeof line, "cold f32 65536 3 %s\n", last_of(&self, oracle.wrong)->config);
    CHECK(!strstr(log.data, line));
    rdt_text_free(&log);
    end(&self);
}

static void a_flattered_one_does_not_win(void) {
    const char *flattered = "block=64,vec=2,unroll=1,load=no_allocate,tail=shuffle,finish=poll,"
                            "per_sm=1";
    tune self;
    oracle oracle = oracle_model(codegen, &oracle_h200);
    oracle.flattered = order_of(flattered);
    begin_one(&self, oracle);
    CHECK_OK(run(&self), self.err);
    CHECK(last_of(&self, oracle.flattered));
    CHECK(last_of(&self, oracle.flattered)->samples >= 9);
    CHECK(self.cold[0].winner.order != oracle.flattered);
    end(&self);
}

/* ---- going on ------------------------------------------------------------------------------- */

static void what_is_known_is_not_asked_again(void) {
    tune self;
    begin(&self, oracle_model(codegen, &oracle_h200), REDTUNE_F32, 12, 18);
    CHECK_OK(run(&self), self.err);
    const size_t verified = self.oracle.verified, timed = self.oracle.timed;
    CHECK(verified && timed);
    CHECK_OK(run(&self), self.err);
    CHECK_INT(self.oracle.verified, verified);
    CHECK_INT(self.oracle.timed, timed);
    CHECK_INT(self.cold[0].now.measured, 0);
    CHECK(self.cold[0].found);
    end(&self);
}

/* Stops after so many trials, goes on, and asks of the lab what an undisturbed tune asks. */
static void a_stop_changes_nothing(redtune_effort effort) {
    tune whole, parts;
    oracle oracle = oracle_model(codegen, &oracle_h200);
    oracle.noise = 0.01;
    begin(&whole, oracle, REDTUNE_F32, 14, 18);
    whole.effort = effort;
    CHECK_OK(run(&whole), whole.err);
    for (size_t stop = 1; stop < whole.stored; stop += whole.stored / 23 + 1) {
        begin(&parts, oracle, REDTUNE_F32, 14, 18);
        parts.effort = effort;
        parts.stop_after = stop;
        CHECK_INT(run(&parts), REDTUNE_INTERRUPTED);
        parts.stop_after = 0;
        CHECK_OK(run(&parts), parts.err);
        CHECK_INT(parts.oracle.samples, whole.oracle.samples);
        CHECK_INT(parts.stored, whole.stored);
        for (size_t i = 0; i < parts.count; i++)
            CHECK_TEXT(parts.cold[i].winner.config, whole.cold[i].winner.config);
        end(&parts);
    }
    end(&whole);
}

static void a_stopped_standard_search_goes_on_as_if_undisturbed(void) {
    a_stop_changes_nothing(REDTUNE_EFFORT_STANDARD);
}

static void a_stopped_exhaustive_search_goes_on_as_if_undisturbed(void) {
    a_stop_changes_nothing(REDTUNE_EFFORT_EXHAUSTIVE);
}

/* ---- cache states and borders --------------------------------------------------------------- */

static void warm_is_measured_where_the_input_fits_in_l2(void) {
    tune self;
    begin(&self, oracle_model(codegen, &oracle_h200), REDTUNE_F32, 23, 25); /* 32 to 128 MiB */
    self.effort = REDTUNE_EFFORT_QUICK;
    CHECK_OK(run(&self), self.err);
    CHECK(self.warm[0].found && self.warm[0].winner.cache == RDT_CACHE_WARM);
    CHECK(self.warm[0].winner.median_ns < self.cold[0].winner.median_ns);
    CHECK(!self.warm[1].found && !self.warm[2].found);
    end(&self);
}

static void a_border_is_measured_between_different_winners(void) {
    tune self;
    begin(&self, oracle_model(codegen, &oracle_h200), REDTUNE_F32, 14, 18);
    CHECK_OK(run(&self), self.err);
    const rdt_trials *trials = &self.series.known[RDT_CACHE_COLD];
    size_t between = 0;
    for (size_t i = 0; i < trials->count; i++) {
        uint64_t count = trials->trial[i].problem.count;
        if (!(count & (count - 1))) continue; /* a power of two is a problem's own */
        between++;
        CHECK(trials->trial[i].samples == 31);
        CHECK(count > self.problems[0].count && count < self.problems[self.count - 1].count);
    }
    CHECK(between > 0);
    end(&self);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(standard_finds_the_best_for_a_seventh),
        FACT(quick_finds_the_best_for_less),
        FACT(exhaustive_finds_the_best),
        FACT(noise_and_outliers_cost_little),
        FACT(standard_is_as_good_on_a_real_gpu),
        FACT(quick_is_nearly_as_good_on_a_real_gpu),
        FACT(the_same_seed_gives_the_same_sequence),
        FACT(another_seed_gives_another_sequence),
        FACT(a_wrong_one_never_wins),
        FACT(a_faulting_one_never_wins),
        FACT(a_hanging_one_never_wins),
        FACT(a_wrong_one_is_never_timed),
        FACT(a_flattered_one_does_not_win),
        FACT(what_is_known_is_not_asked_again),
        FACT(a_stopped_standard_search_goes_on_as_if_undisturbed),
        FACT(a_stopped_exhaustive_search_goes_on_as_if_undisturbed),
        FACT(warm_is_measured_where_the_input_fits_in_l2),
        FACT(a_border_is_measured_between_different_winners),
    };
    redtune_error err;
    if (rdt_codegen_open(&codegen, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    int code = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    rdt_codegen_close(codegen);
    return code;
}
