/* Tune: tuning a list of problems, and keeping what was measured. */
#include "api/state.h"

#include <stdlib.h>
#include <string.h>
#include "api/known.h"
#include "tuner/local.h"
#include "tuner/search.h"

/* The counts, dtypes and ops that are tuned when the caller names none. */
static const redtune_op usual_ops[] = {REDTUNE_SUM};
static const redtune_dtype usual_dtypes[] = {REDTUNE_I32, REDTUNE_F32, REDTUNE_F64};
enum { USUAL_COUNT_LOW = 10, USUAL_COUNT_HIGH = 28 };

typedef struct job {
    redtune *rt;
    const redtune_tuning *wanted;
    rdt_codegen *codegen;
    rdt_tuning *database;
    rdt_origin origin;
    redtune_problem *problems; /* by op and dtype, then count */
    size_t problem_count, current;
} job;

/* ---- the list of problems ------------------------------------------------------------------ */

static int compare_counts(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The caller's counts in ascending order, each once; or the usual ones. */
static redtune_status list_counts(const redtune_tuning *wanted, uint64_t **out, size_t *out_count,
                                  redtune_error *err) {
    size_t count =
        wanted->count_count ? wanted->count_count : USUAL_COUNT_HIGH - USUAL_COUNT_LOW + 1;
    uint64_t *counts = malloc(count * sizeof *counts);
    if (!counts) return rdt_fail_memory(err, count * sizeof *counts);
    for (size_t i = 0; i < count; i++)
        counts[i] = wanted->count_count ? wanted->counts[i] : UINT64_C(1) << (USUAL_COUNT_LOW + i);
    qsort(counts, count, sizeof *counts, compare_counts);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || counts[kept - 1] != counts[i]) counts[kept++] = counts[i];
    *out = counts;
    *out_count = kept;
    return REDTUNE_OK;
}

static redtune_status list_problems(job *self, redtune_error *err) {
    const redtune_tuning *wanted = self->wanted;
    const redtune_op *ops = wanted->op_count ? wanted->ops : usual_ops;
    const redtune_dtype *dtypes = wanted->dtype_count ? wanted->dtypes : usual_dtypes;
    size_t op_count = wanted->op_count ? wanted->op_count : sizeof usual_ops / sizeof *usual_ops;
    size_t dtype_count =
        wanted->dtype_count ? wanted->dtype_count : sizeof usual_dtypes / sizeof *usual_dtypes;
    uint64_t *counts = NULL;
    size_t count_count = 0;
    redtune_status status = list_counts(wanted, &counts, &count_count, err);
    if (status) return status;
    size_t total = op_count * dtype_count * count_count;
    self->problems = calloc(total, sizeof *self->problems);
    if (!self->problems) status = rdt_fail_memory(err, total * sizeof *self->problems);
    for (size_t op = 0; !status && op < op_count; op++)
        for (size_t dtype = 0; !status && dtype < dtype_count; dtype++) {
            uint64_t largest = 0;
            redtune_problem problem = {ops[op], dtypes[dtype], REDTUNE_DTYPE_NONE, 0};
            status = rdt_problem_resolve(&problem, &problem, err);
            if (!status) status = rdt_rig_count_max(self->rt->context, &problem, &largest, err);
            for (size_t i = 0; !status && i < count_count; i++) {
                if (counts[i] > largest) continue;
                problem.count = counts[i];
                status = rdt_problem_resolve(&problem, &self->problems[self->problem_count], err);
                if (!status) self->problem_count++;
            }
        }
    free(counts);
    if (!status && !self->problem_count)
        status =
            rdt_fail(err, REDTUNE_INVALID, 0,
                     "cannot tune: no problem of the sizes asked for fits the GPU's memory; ask "
                     "for smaller sizes");
    return status;
}

/* ---- the tuner's hooks --------------------------------------------------------------------- */

static redtune_status store(void *user, const rdt_trial *trials, size_t count, redtune_error *err) {
    job *self = user;
    return rdt_tuning_put(self->database, &self->rt->context->facts, &self->origin, trials, count,
                          err);
}

static bool progress(void *user, const char *stage, size_t i, size_t n, double best_ns) {
    job *self = user;
    if (!self->wanted->progress) return false;
    const redtune_problem *problem = &self->problems[self->current];
    double bytes = (double)problem->count * (double)redtune_dtype_bytes(problem->dtype);
    redtune_progress report = {
        .problem = problem,
        .problem_index = self->current,
        .problem_count = self->problem_count,
        .candidate_index = i,
        .candidate_count = n,
        .stage = stage,
        .best_gbps = best_ns > 0 ? bytes / best_ns : 0,
    };
    return self->wanted->progress(self->wanted->user, &report) != 0;
}

static redtune_status make_kernel(void *user, int family, const redtune_problem *problem,
                                  const rdt_config *config, const rdt_launch *launch,
                                  rdt_kernel **out, redtune_error *err) {
    job *self = user;
    return rdt_builder_make(self->rt->builder, self->rt->context, family, problem, config, launch,
                            out, err);
}

/* ---- what is measured already -------------------------------------------------------------- */

typedef struct known {
    const job *job;
    const redtune_problem *problem;
    int samples;
    double winner_ns, default_ns;
    char family[RDT_NAME_BYTES], config[RDT_CONFIG_TEXT_BYTES];
} known;

static redtune_status look_at_winner(void *user, const rdt_row *row, redtune_error *err) {
    (void)err;
    known *found = user;
    const job *self = found->job;
    const redtune_problem *problem = &row->trial.problem;
    if (!rdt_problem_same_class(problem, found->problem) ||
        problem->count != found->problem->count || row->trial.cache != RDT_CACHE_COLD ||
        strcmp(row->origin.templates, self->origin.templates) ||
        !rdt_facts_same_model(&row->gpu, &self->rt->context->facts))
        return REDTUNE_OK;
    found->samples = row->trial.samples;
    found->winner_ns = row->trial.median_ns;
    rdt_text_copy(found->family, sizeof found->family, row->trial.family);
    rdt_text_copy(found->config, sizeof found->config, row->trial.config);
    return REDTUNE_OK;
}

static redtune_status look_at_default(void *user, const rdt_row *row, redtune_error *err) {
    (void)err;
    known *found = user;
    if (row->trial.is_default && row->trial.outcome == RDT_OUTCOME_GOOD &&
        row->trial.problem.count == found->problem->count &&
        !strcmp(row->origin.templates, found->job->origin.templates) &&
        rdt_facts_same_model(&row->gpu, &found->job->rt->context->facts))
        found->default_ns = row->trial.median_ns;
    return REDTUNE_OK;
}

/* Whether the database has a winner of these templates that a whole search chose. */
static redtune_status find_known(const job *self, const redtune_problem *problem, known *out,
                                 bool *is_known, redtune_error *err) {
    known found = {.job = self, .problem = problem};
    redtune_status status = REDTUNE_OK;
    if (!self->wanted->again)
        status = rdt_tuning_each_winner(self->database, look_at_winner, &found, err);
    if (status) return status;
    *is_known = found.samples >= RDT_SEARCH_FINAL_SAMPLES;
    if (*is_known)
        status =
            rdt_tuning_each(self->database, problem, RDT_CACHE_COLD, look_at_default, &found, err);
    *out = found;
    return status;
}

/* ---- tuning -------------------------------------------------------------------------------- */

static void report(const job *self, const redtune_problem *problem, redtune_tuned *tuned) {
    double bytes = (double)problem->count * (double)redtune_dtype_bytes(problem->dtype);
    tuned->problem = *problem;
    tuned->gbps = tuned->median_ns > 0 ? bytes / tuned->median_ns : 0;
    tuned->peak_gbps = rdt_facts_peak_gbps(&self->rt->context->facts);
    if (self->wanted->tuned) self->wanted->tuned(self->wanted->user, tuned);
}

static redtune_status tune_problem(job *self, const rdt_lab *lab, const rdt_known *known,
                                   const redtune_problem *problem, redtune_error *err) {
    const rdt_search_hooks hooks = {.user = self, .store = store, .progress = progress};
    rdt_search search = {
        .lab = lab,
        .codegen = self->codegen,
        .facts = &self->rt->context->facts,
        .problem = problem,
        .cache = RDT_CACHE_COLD,
        .hooks = &hooks,
    };
    rdt_found found;
    if (!self->wanted->again)
        search.known_count = rdt_known_at(known, problem->count, &search.known);
    redtune_status status = rdt_search_run(&search, &found, err);
    if (status) return status;
    const rdt_space *space = rdt_codegen_space(self->codegen, 0);
    redtune_tuned tuned = {
        .median_ns = found.winner_ns,
        .default_ns = found.default_ns,
        .measured = found.measured,
        .failed = found.failed,
    };
    rdt_text_copy(tuned.family, sizeof tuned.family, space->family);
    rdt_config_format(space, &found.winner, tuned.config);
    report(self, problem, &tuned);
    return REDTUNE_OK;
}

/* Tells of a problem whose answer the database has. */
static redtune_status recall(job *self, const redtune_problem *problem, const known *found,
                             redtune_error *err) {
    if (progress(self, "known", 0, 0, found->winner_ns))
        return rdt_fail(err, REDTUNE_INTERRUPTED, 0, "tuning was interrupted");
    redtune_tuned tuned = {.median_ns = found->winner_ns, .default_ns = found->default_ns};
    rdt_text_copy(tuned.family, sizeof tuned.family, found->family);
    rdt_text_copy(tuned.config, sizeof tuned.config, found->config);
    report(self, problem, &tuned);
    return REDTUNE_OK;
}

static redtune_status tune_each(job *self, const rdt_lab *lab, const rdt_known *measured,
                                size_t first, size_t count, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = first; !status && i < first + count; i++) {
        const redtune_problem *problem = &self->problems[i];
        self->current = i;
        known found;
        bool is_known = false;
        status = find_known(self, problem, &found, &is_known, err);
        if (status) break;
        status = is_known ? recall(self, problem, &found, err)
                          : tune_problem(self, lab, measured, problem, err);
    }
    return status;
}

static redtune_status tune_class(job *self, size_t first, size_t count, redtune_error *err) {
    const rdt_local_parts parts = {self->rt->context, self->codegen, make_kernel, self};
    const redtune_problem *largest = &self->problems[first + count - 1];
    rdt_local *local = NULL;
    rdt_known measured = {0};
    redtune_status status =
        rdt_known_read(self->database, &self->rt->context->facts, self->origin.templates, largest,
                       RDT_CACHE_COLD, &measured, err);
    if (!status) status = rdt_local_create(&parts, largest, &local, err);
    if (!status) {
        rdt_lab lab = rdt_local_lab(local);
        status = tune_each(self, &lab, &measured, first, count, err);
    }
    rdt_local_destroy(local);
    rdt_known_free(&measured);
    return status;
}

static redtune_status tune_all(job *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t first = 0, end; !status && first < self->problem_count; first = end) {
        end = first;
        while (end < self->problem_count &&
               rdt_problem_same_class(&self->problems[first], &self->problems[end]))
            end++;
        status = tune_class(self, first, end - first, err);
    }
    return status;
}

static redtune_status run_job(job *self, redtune_error *err) {
    redtune *rt = self->rt;
    redtune_status status = rdt_builder_nvrtc(rt->builder, &self->origin.nvrtc_version, err);
    if (!status) status = rdt_tuning_open(rt->database, &self->database, err);
    if (!status) status = list_problems(self, err);
    if (status) return status;
    self->origin.driver_version = rt->context->facts.driver_version;
    rdt_text_copy(self->origin.templates, sizeof self->origin.templates,
                  rdt_codegen_hash(self->codegen));
    return tune_all(self, err);
}

redtune_status redtune_tune(redtune *rt, const redtune_tuning *tuning, redtune_error *err) {
    const redtune_tuning usual = {0};
    if (!rt) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune: rt is NULL");
    job self = {.rt = rt, .wanted = tuning ? tuning : &usual};
    bool entered = false;
    redtune_status status = rdt_builder_borrow(rt->builder, &self.codegen, err);
    if (status) return status;
    status = rdt_context_enter(rt->context, &entered, err);
    if (!status) {
        status = run_job(&self, err);
        rdt_context_leave(rt->context, entered);
    }
    rdt_builder_give_back(rt->builder);
    rdt_tuning_close(self.database);
    free(self.problems);
    /* What an interrupted tune has measured counts, too. */
    redtune_error ignored;
    redtune_status read = rdt_state_read_winners(rt, status ? &ignored : err);
    return status ? status : read;
}
