/* The search: what each strategy finds, at what cost, held against evaluators whose answers are
 * known. */
#include <math.h>
#include "check.h"
#include "shaped.h"
#include "tune.h"
#include "redtune/tune.h"

/* ---- what is found, and at what cost --------------------------------------------------------- */

/* How much slower than the best the winners are, and how much was timed for them. */
typedef struct regret {
    double log_sum, worst;
    size_t problems, timed, points, crowded; /* crowded: problems of which too much was timed */
    uint64_t worst_count;
} regret;

static size_t count_timed(const tune *self, rdt_cache_state cache, uint64_t count) {
    const rdt_trials *trials = &self->sweep.known[cache];
    size_t timed = 0;
    for (size_t i = 0; i < trials->count; i++) {
        bool is_new = shaped_of(&trials->trial[i].problem).count == count;
        for (size_t k = 0; is_new && k < i; k++)
            is_new = shaped_of(&trials->trial[k].problem).count != count ||
                     strcmp(trials->trial[k].config, trials->trial[i].config) != 0;
        timed += is_new;
    }
    return timed;
}

/* Of one problem, where all samples of a candidate are the same. The first has nothing like it to
 * start from, and where there are few points a handful is more than 15 % of them. Five may be there
 * for the neighbours' sake: what one lends, and the winners of both for the crossovers. Beyond
 * these come the probes of the five names that the default never has: two each, and a point around
 * where one is near. */
static bool is_crowded(size_t timed, size_t points, bool first) {
    const size_t least = first ? 28 : 14, beyond = 5 + 5 * 3;
    return (double)timed > 0.15 * (double)points + (double)beyond && timed > least + beyond;
}

/* What may be timed, of all points that have the default's names together: more where samples
 * differ. Four hundredths are for probes of other names. */
static double allowed_share(redtune_effort effort, bool exact) {
    return exact || effort == REDTUNE_EFFORT_QUICK ? 0.19 : 0.34;
}

static void check_cost(const regret *found, redtune_effort effort, bool exact) {
    if (effort == REDTUNE_EFFORT_EXHAUSTIVE) return;
    const double share = (double)found->timed / (double)found->points;
    CHECK(share <= allowed_share(effort, exact));
    if (exact) CHECK_INT(found->crowded, 0);
}

/* What takes long to find is kept. */
static double best_of(const tune *self, const rdt_trial *trial, size_t *points) {
    static struct {
        rdt_facts gpu;
        bool recorded;
        redtune_problem problem;
        rdt_cache_state cache;
        double best_ns;
        size_t points;
    } known[512];
    static size_t known_count;
    const rdt_facts *gpu = self->oracle.facts;
    const bool recorded = self->oracle.record != NULL;
    size_t at = 0;
    while (at < known_count &&
           (strcmp(known[at].gpu.name, gpu->name) != 0 || known[at].recorded != recorded ||
            known[at].cache != trial->cache || known[at].problem.dtype != trial->problem.dtype ||
            shaped_of(&known[at].problem).count != shaped_of(&trial->problem).count))
        at++;
    if (at == known_count) {
        known[at].gpu = *gpu;
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
    size_t points = 0, timed = count_timed(self, winner->cache, shaped_of(&winner->problem).count);
    double best = best_of(self, winner, &points);
    double ratio = tune_truth_ns(self, winner) / best;
    out->log_sum += log(ratio);
    out->problems++;
    out->timed += timed;
    out->points += points;
    out->crowded += is_crowded(timed, points, i == 0);
    if (ratio <= out->worst) return;
    out->worst = ratio;
    out->worst_count = shaped_of(&winner->problem).count;
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
static void finds_the_best(redtune_effort effort, uint64_t seed, size_t last, int high,
                           double within, double noise) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_I8, REDTUNE_F64};
    for (size_t i = 0; i <= last; i++) {
        tune self;
        oracle oracle = oracle_model(tune_codegen, &oracle_h200);
        oracle.noise = oracle.outliers = noise;
        oracle.elsewhere = 0.003;
        tune_begin(&self, oracle, dtypes[i], 10, high);
        self.effort = effort;
        self.seed = seed;
        CHECK_OK(tune_run(&self), self.err);
        regret found = measure_regret(&self);
        print_regret(redtune_dtype_name(dtypes[i]), &found);
        CHECK(found.worst <= within);
        check_cost(&found, effort, noise == 0);
        tune_end(&self);
    }
}

FACT(standard_finds_the_best_for_a_sixth) {
    for (uint64_t seed = 0; seed < 2; seed++)
        finds_the_best(REDTUNE_EFFORT_STANDARD, seed, 2, 28, 1.02, 0);
}

FACT(quick_finds_the_best_for_less) { finds_the_best(REDTUNE_EFFORT_QUICK, 0, 2, 28, 1.02, 0); }

FACT(exhaustive_finds_the_best) { finds_the_best(REDTUNE_EFFORT_EXHAUSTIVE, 0, 1, 14, 1.006, 0); }

FACT(noise_and_outliers_cost_little) {
    finds_the_best(REDTUNE_EFFORT_STANDARD, 0, 1, 28, 1.03, 0.01);
}

/* ---- records --------------------------------------------------------------------------------- */

/* What a GPU measured, and of which sums: of 2^low to 2^high elements, by so many doublings. */
typedef struct recording {
    const char *path;
    const rdt_facts *gpu;
    struct {
        redtune_dtype dtype;
        int low, high;
    } of[4];
    size_t count, doublings;
} recording;

static const recording real = {
    RDT_TEST_RECORDS "/h200.txt",
    &oracle_h200,
    {{REDTUNE_F32, 10, 30}, {REDTUNE_F64, 10, 30}, {REDTUNE_I32, 10, 30}, {REDTUNE_F16, 10, 20}},
    4,
    1};
/* With every named value. */
static const recording named = {RDT_TEST_RECORDS "/h100.txt",
                                &oracle_h100,
                                {{REDTUNE_F16, 16, 28}, {REDTUNE_I8, 16, 28}},
                                2,
                                3};
static const recording simulated = {
    RDT_TEST_RECORDS "/sim.txt", &oracle_sim, {{REDTUNE_F32, 10, 15}, {REDTUNE_I8, 10, 15}}, 2, 1};

static size_t spent; /* trials after which the budget is; 0: there is none */

static void record_regret(const recording *recording, redtune_effort effort, uint64_t seed,
                          regret *all) {
    oracle_record *record = oracle_record_read(recording->path);
    CHECK(record);
    for (size_t i = 0; i < recording->count; i++) {
        tune self;
        /* The records are of no clusters, which came later. */
        rdt_facts gpu = *recording->gpu;
        gpu.major = 8;
        oracle oracle = oracle_model(tune_codegen, &gpu);
        oracle.record = record;
        tune_begin(&self, oracle, recording->of[i].dtype, recording->of[i].low,
                   recording->of[i].high);
        self.count = (self.count - 1) / recording->doublings + 1;
        for (size_t k = 0; k < self.count; k++)
            self.problems[k] = self.problems[k * recording->doublings];
        self.effort = effort;
        self.seed = seed;
        self.late_after = spent;
        CHECK_OK(tune_run(&self), self.err);
        for (size_t k = 0; k < self.count; k++) add_regret(&self, &self.cold[k], k, all);
        tune_end(&self);
    }
    oracle_record_free(record);
}

static void check_record(const recording *recording, redtune_effort effort, uint64_t seeds,
                         bool exact, double average, double worst) {
    regret all = {.worst = 0};
    for (uint64_t seed = 0; seed < seeds; seed++) record_regret(recording, effort, seed, &all);
    print_regret(redtune_effort_name(effort), &all);
    CHECK(all.log_sum / (double)all.problems <= log(average));
    CHECK(all.worst <= worst);
    check_cost(&all, effort, exact);
}

FACT(standard_is_as_good_on_a_real_gpu) {
    check_record(&real, REDTUNE_EFFORT_STANDARD, 2, false, 1.01, 1.02);
}

FACT(quick_is_nearly_as_good_on_a_real_gpu) {
    check_record(&real, REDTUNE_EFFORT_QUICK, 1, false, 1.01, 1.08);
}

/* Every size is probed, for none is nearer to another than three doublings. */
FACT(standard_is_as_good_where_every_name_is_recorded) {
    regret all = {.worst = 0};
    for (uint64_t seed = 0; seed < 4; seed++)
        record_regret(&named, REDTUNE_EFFORT_STANDARD, seed, &all);
    print_regret("standard, every name", &all);
    CHECK(all.log_sum / (double)all.problems <= log(1.01));
    CHECK(all.worst <= 1.03);
}

/* The time is over when a thirtieth of the points is measured. */
FACT(exhaustive_takes_the_likely_ones_first) {
    regret all = {.worst = 0};
    spent = 150;
    record_regret(&named, REDTUNE_EFFORT_EXHAUSTIVE, 0, &all);
    spent = 0;
    print_regret("exhaustive, a budget", &all);
    CHECK(all.log_sum / (double)all.problems <= log(1.01));
    CHECK(all.worst <= 1.03);
}

FACT(standard_finds_the_best_on_the_simulated_gpu) {
    check_record(&simulated, REDTUNE_EFFORT_STANDARD, 8, true, 1.02, 1.02);
}

FACT(quick_finds_the_best_on_the_simulated_gpu) {
    check_record(&simulated, REDTUNE_EFFORT_QUICK, 8, true, 1.02, 1.02);
}

int main(int argc, char **argv) {
    if (!tune_open()) return 1;
    int code = check_run(argc, argv);
    tune_close();
    return code;
}
