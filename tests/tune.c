/* Tune: a tune of one class on an oracle, for the tests of searches and series. */
#include "tune.h"

#include <stdio.h>
#include <stdlib.h>
#include "api/tuning/shape_grid.h"

rdt_codegen *tune_codegen;

static redtune_status store(void *user, const rdt_trial *trials, size_t count, redtune_error *err) {
    (void)err;
    tune *self = user;
    for (size_t i = 0; i < count; i++)
        self->elsewhere += !rdt_problem_same_extents(&trials[i].problem, &self->told);
    self->stored += count;
    self->stored_here = rdt_problem_same_extents(&trials->problem, &self->storing)
                            ? self->stored_here + count
                            : count;
    self->storing = trials->problem;
    if (self->late_after && self->stored_here >= self->late_after) self->budget.late_ns = 1;
    return REDTUNE_OK;
}

static bool progress(void *user, const redtune_problem *problem, const char *stage, size_t i,
                     size_t n, double best_ns) {
    (void)stage, (void)i, (void)n, (void)best_ns;
    tune *self = user;
    self->told = *problem;
    return self->stop_after && self->stored >= self->stop_after;
}

static void tuned(void *user, size_t problem, const rdt_finding finding[RDT_CACHE_STATES],
                  bool again) {
    (void)again;
    tune *self = user;
    self->cold[problem] = finding[RDT_CACHE_COLD];
    self->warm[problem] = finding[RDT_CACHE_WARM];
}

void tune_begin(tune *self, oracle oracle, redtune_dtype dtype, int low, int high) {
    *self = (tune){.oracle = oracle, .seed = 1};
    for (int i = low; i <= high; i++) {
        redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, dtype, UINT64_C(1) << i);
        rdt_problem_resolve(&problem, &self->problems[self->count++], NULL);
    }
}

static int compare_extents(const void *a, const void *b) {
    return rdt_problem_compare_extents(a, b);
}

void tune_begin_shapes(tune *self, oracle oracle, redtune_dtype dtype, bool rows) {
    rdt_shape shapes[RDT_SHAPE_GRID_MAX];
    const size_t count = rdt_shape_grid_make(redtune_dtype_bytes(dtype), rows, false, shapes);
    *self = (tune){.oracle = oracle, .seed = 1};
    for (size_t i = 0; i < count; i++) {
        const redtune_problem problem =
            rows ? redtune_problem_rows(REDTUNE_SUM, dtype, shapes[i].results, shapes[i].count)
                 : redtune_problem_columns(REDTUNE_SUM, dtype, shapes[i].count, shapes[i].results);
        rdt_problem_resolve(&problem, &self->problems[self->count++], NULL);
    }
    qsort(self->problems, self->count, sizeof *self->problems, compare_extents);
}

redtune_status tune_run(tune *self) {
    rdt_evaluator evaluator = oracle_evaluator(&self->oracle);
    self->sink = (rdt_sink){self, store, progress, tuned, NULL};
    self->sweep.evaluator = &evaluator;
    self->sweep.codegen = tune_codegen;
    self->sweep.facts = self->oracle.facts;
    self->sweep.problems = self->problems;
    self->sweep.count = self->count;
    self->sweep.strategy = rdt_strategy_find(self->effort, rdt_problem_layout(self->problems));
    self->sweep.seed = self->seed;
    self->sweep.sink = &self->sink;
    if (self->late_after) {
        rdt_budget_start(&self->budget, 3600);
        self->sweep.budget = &self->budget;
    }
    return rdt_sweep_run(&self->sweep, &self->err);
}

void tune_end(tune *self) {
    for (int i = 0; i < RDT_CACHE_STATES; i++) rdt_trials_free(&self->sweep.known[i]);
}

double tune_truth_ns(const tune *self, const rdt_trial *trial) {
    rdt_candidate each;
    rdt_case at = {&trial->problem, self->oracle.facts};
    if (rdt_point_read(rdt_codegen_spaces(tune_codegen), trial->family, trial->config, &each.point,
                       NULL) ||
        rdt_rules_launch(tune_codegen, at, &each.point, &each.launch, NULL))
        return 0;
    return oracle_truth_ns(&self->oracle, &trial->problem, trial->cache, &each);
}

bool tune_open(void) {
    redtune_error err;
    if (!rdt_codegen_open(&tune_codegen, &err)) return true;
    fprintf(stderr, "%s\n", err.message);
    return false;
}

void tune_close(void) { rdt_codegen_close(tune_codegen); }
