/* Candidates: the points that a search may choose from, and what is known of each. */
#include "tuner/search/candidates.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "tuner/summary.h"

/* How many are verified, timed in turns and stored together. */
enum { BATCH = 8 };

/* ---- opening --------------------------------------------------------------------------------- */

long rdt_candidates_find(const rdt_candidates *self, const rdt_point *point) {
    int rank = rdt_point_rank(self->spaces, point);
    size_t low = 0, high = self->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->entry[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < self->count && rdt_point_same(&self->entry[low].candidate.point, point);
    return found ? (long)low : -1;
}

/* The entry that a trial of the class is of, or -1. What is right, or wrong, once is so with any
 * state of the cache. */
static long apply_verdict(rdt_candidates *self, const rdt_trial *trial) {
    rdt_point point;
    if (!rdt_problem_same_extents(&trial->problem, self->search->problem) ||
        rdt_point_read(self->spaces, trial->family, trial->config, &point, NULL))
        return -1;
    const long at = rdt_candidates_find(self, &point);
    rdt_entry *each = at >= 0 ? &self->entry[at] : NULL;
    if (each && (!each->verified || trial->outcome == RDT_OUTCOME_GOOD)) {
        each->verified = true;
        each->outcome = trial->outcome;
    }
    return at;
}

static redtune_status apply_known(rdt_candidates *self, redtune_error *err) {
    const rdt_trials *known = self->search->known, *verified = self->search->verified;
    for (size_t i = 0; verified && i < verified->count; i++)
        apply_verdict(self, &verified->trial[i]);
    if (!known || !known->count) return REDTUNE_OK;
    self->known = malloc(known->count * sizeof *self->known);
    if (!self->known) return rdt_fail_memory(err, known->count * sizeof *self->known);
    for (size_t i = 0; i < known->count; i++) {
        const long at = apply_verdict(self, &known->trial[i]);
        if (at >= 0) self->known[self->known_count++] = (rdt_known){i, (size_t)at};
    }
    return REDTUNE_OK;
}

static rdt_case case_of(const rdt_search *search) {
    return (rdt_case){search->problem, search->facts};
}

/* The built-in defaults of the families that serve the problem. */
typedef struct defaults {
    rdt_point point[RDT_FAMILY_MAX];
    size_t count;
} defaults;

/* Whether the search may measure the point. */
static bool is_point(const rdt_search *search, const rdt_point *point) {
    bool is = false;
    if (rdt_rules_check(search->codegen, case_of(search), point, NULL)) return false;
    if (search->any) return true;
    return !rdt_rules_is_point(search->codegen, case_of(search), search->strategy->scope, point,
                               &is, NULL) &&
           is;
}

/* Puts the point where it belongs by order, unless it is there. */
static void insert(const rdt_spaces *spaces, rdt_point *points, size_t *count,
                   const rdt_point *point) {
    int rank = rdt_point_rank(spaces, point);
    size_t at = *count;
    while (at && rdt_point_rank(spaces, &points[at - 1]) > rank) at--;
    if (at && rdt_point_same(&points[at - 1], point)) return;
    memmove(&points[at + 1], &points[at], (*count - at) * sizeof *points);
    points[at] = *point;
    ++*count;
}

/* By rank, the defaults among them; the caller frees them. */
static redtune_status list_points(const rdt_search *search, const rdt_point *wanted,
                                  size_t wanted_count, const defaults *defaults, rdt_point **out,
                                  size_t *count, redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(search->codegen);
    const size_t room = wanted_count + defaults->count;
    if (!wanted)
        return rdt_points_list(search->codegen, case_of(search), search->strategy->scope, out,
                               count, err);
    *out = malloc(room * sizeof **out);
    if (!*out) return rdt_fail_memory(err, room * sizeof **out);
    for (size_t i = 0; i < defaults->count; i++) insert(spaces, *out, count, &defaults->point[i]);
    for (size_t i = 0; i < wanted_count; i++)
        if (is_point(search, &wanted[i])) insert(spaces, *out, count, &wanted[i]);
    return REDTUNE_OK;
}

static redtune_status fill(rdt_candidates *self, const rdt_point *points, const defaults *defaults,
                           redtune_error *err) {
    self->entry = calloc(self->count, sizeof *self->entry);
    if (!self->entry) return rdt_fail_memory(err, self->count * sizeof *self->entry);
    for (size_t i = 0; i < self->count; i++) {
        self->entry[i].candidate.point = points[i];
        self->entry[i].rank = rdt_point_rank(self->spaces, &points[i]);
        self->entry[i].kind = rdt_neighbours_kind(self->spaces, &points[i]);
    }
    for (size_t i = defaults->count; i-- > 0;) { /* the first is the baseline */
        self->baseline = (size_t)rdt_candidates_find(self, &defaults->point[i]);
        self->entry[self->baseline].is_default = true;
    }
    return apply_known(self, err);
}

/* What only brings elements into the order of their keys is no kernel that could be timed: the
 * kernels of segments behind it take as long. */
static redtune_status leave_out_reordered(const rdt_search *search, defaults *defaults,
                                          redtune_error *err) {
    size_t kept = 0;
    redtune_status status = REDTUNE_OK;
    if (!rdt_problem_is_keyed(search->problem)) return REDTUNE_OK;
    for (size_t i = 0; !status && i < defaults->count; i++) {
        rdt_launch launch;
        status =
            rdt_rules_launch(search->codegen, case_of(search), &defaults->point[i], &launch, err);
        if (!status && !launch.reorders) defaults->point[kept++] = defaults->point[i];
    }
    defaults->count = kept;
    if (status || kept) return status;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot tune the %s by %" PRIu64 " keys: no table of them fits a block, so "
                    "that elements are brought into the order of their keys, which has one kernel",
                    redtune_op_name(search->problem->op), search->problem->keys);
}

/* Those of families that are left. */
static void keep_served(const defaults *defaults, rdt_point *points, size_t *count) {
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        bool served = false;
        for (size_t k = 0; k < defaults->count; k++)
            served |= defaults->point[k].family == points[i].family;
        if (served) points[kept++] = points[i];
    }
    *count = kept;
}

redtune_status rdt_candidates_open(const rdt_search *search, const rdt_point *wanted, size_t count,
                                   rdt_candidates *out, redtune_error *err) {
    rdt_candidates self = {.search = search, .spaces = rdt_codegen_spaces(search->codegen)};
    rdt_point *points = NULL;
    defaults defaults;
    redtune_status status =
        rdt_rules_defaults(search->codegen, case_of(search), defaults.point, &defaults.count, err);
    if (!status) status = leave_out_reordered(search, &defaults, err);
    if (!status) status = list_points(search, wanted, count, &defaults, &points, &self.count, err);
    if (!status && rdt_problem_is_keyed(search->problem))
        keep_served(&defaults, points, &self.count);
    if (!status) status = fill(&self, points, &defaults, err);
    free(points);
    if (status)
        rdt_candidates_close(&self);
    else
        *out = self;
    return status;
}

redtune_status rdt_candidates_list_explored(const rdt_search *search, size_t spare, rdt_point **out,
                                            size_t *count, redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(search->codegen);
    const size_t room = rdt_trials_at(search->known, search->problem) + spare;
    rdt_point *points = *out = calloc(room, sizeof *points);
    if (!points) return rdt_fail_memory(err, room * sizeof *points);
    for (size_t i = 0; i < search->known->count; i++) {
        const rdt_trial *trial = &search->known->trial[i];
        if (rdt_problem_same_extents(&trial->problem, search->problem) &&
            trial->outcome == RDT_OUTCOME_GOOD && trial->samples <= search->strategy->samples)
            *count += !rdt_point_read(spaces, trial->family, trial->config, &points[*count], NULL);
    }
    return REDTUNE_OK;
}

/* What runs on the GPU between two batches changes how L2 keeps an input: where jobs took turns
 * after every batch, up to a tenth of the warm times above 2 MB were up to 1.5 times as long. */
static void keep_gpu(rdt_candidates *self) {
    const rdt_evaluator *evaluator = self->search->evaluator;
    if (self->keeps_gpu || self->search->cache != RDT_CACHE_WARM || !evaluator->keep) return;
    evaluator->keep(evaluator->self, true);
    self->keeps_gpu = true;
}

void rdt_candidates_close(rdt_candidates *self) {
    if (self->keeps_gpu) self->search->evaluator->keep(self->search->evaluator->self, false);
    free(self->entry);
    free(self->known);
    *self = (rdt_candidates){0};
}

/* ---- ranking --------------------------------------------------------------------------------- */

static bool comes_first(const rdt_entry *x, const rdt_entry *y) {
    return x->median_ns != y->median_ns ? x->median_ns < y->median_ns : x->rank < y->rank;
}

size_t rdt_candidates_rank(const rdt_candidates *self, size_t *indices) {
    size_t count = 0;
    for (size_t i = 0; i < self->count; i++) {
        const rdt_entry *each = &self->entry[i];
        if (!each->samples) continue;
        size_t at = count++;
        for (; at && comes_first(each, &self->entry[indices[at - 1]]); at--)
            indices[at] = indices[at - 1];
        indices[at] = i;
    }
    return count;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Entries that are verified, timed and stored together, gathered from where they stand. */
typedef struct batch {
    rdt_entry *entry[BATCH];
    rdt_candidate candidates[BATCH];
    rdt_verdict verdicts[BATCH];
    rdt_conditions conditions[BATCH];
    size_t count;
} batch;

static void note_cause(rdt_candidates *self, const rdt_trial *trial) {
    if (trial->outcome != RDT_OUTCOME_GOOD && !*self->first_cause)
        rdt_text_copy(self->first_cause, sizeof self->first_cause, trial->cause);
}

/* Those of the batch that nothing is known of yet. */
static redtune_status verify(const rdt_candidates *self, batch *batch, redtune_error *err) {
    rdt_candidate unknown[BATCH];
    rdt_verdict verdicts[BATCH];
    size_t at[BATCH], count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->verdicts[i] = (rdt_verdict){.outcome = RDT_OUTCOME_GOOD};
        if (batch->entry[i]->verified) continue;
        at[count] = i;
        unknown[count++] = batch->candidates[i];
    }
    if (!count) return REDTUNE_OK;
    rdt_batch request = {self->search->problem, unknown, count};
    const rdt_evaluator *evaluator = self->search->evaluator;
    redtune_status status = evaluator->verify(evaluator->self, &request, verdicts, err);
    for (size_t i = 0; !status && i < count; i++) batch->verdicts[at[i]] = verdicts[i];
    return status;
}

/* What came of an entry; of the trial only the outcome and the times count. */
static void record(rdt_candidates *self, rdt_entry *each, const rdt_trial *trial) {
    self->tried += !each->tried;
    each->tried = each->verified = true;
    each->outcome = trial->outcome;
    each->median_ns = trial->median_ns;
    each->spread_ns = trial->spread_ns;
    each->samples = trial->samples;
    if (trial->samples && (!self->best_ns || trial->median_ns < self->best_ns))
        self->best_ns = trial->median_ns;
}

/* Records what came of entry i of the batch, and writes it as a trial. */
static void conclude(rdt_candidates *self, const batch *batch, size_t i, int samples,
                     double *sample_ns, rdt_trial *out) {
    rdt_entry *each = batch->entry[i];
    const bool is_good = batch->verdicts[i].outcome == RDT_OUTCOME_GOOD;
    *out = (rdt_trial){
        .problem = *self->search->problem,
        .cache = self->search->cache,
        .is_default = each->is_default,
        .outcome = batch->verdicts[i].outcome,
        .samples = is_good ? samples : 0,
        .rank = each->rank,
        .conditions = batch->conditions[i],
    };
    rdt_point_write(self->spaces, &each->candidate.point, out->family, out->config);
    /* A compiler's or driver's words, cut where their buffer ended. */
    rdt_text_copy_plain(out->cause, sizeof out->cause, batch->verdicts[i].cause);
    if (is_good) rdt_summary_of(sample_ns, samples, &out->median_ns, &out->spread_ns);
    self->now.measured += is_good && !each->tried;
    self->now.failed += !is_good;
    note_cause(self, out);
    record(self, each, out);
}

static redtune_status measure_batch(rdt_candidates *self, const size_t *indices, size_t count,
                                    int samples, redtune_error *err) {
    const rdt_search *search = self->search;
    const rdt_evaluator *evaluator = search->evaluator;
    const size_t bytes = BATCH * (size_t)samples * sizeof(double);
    batch batch = {.count = count};
    rdt_trial trials[BATCH];
    redtune_status status = REDTUNE_OK;
    double *sample_ns = calloc(1, bytes);
    if (!sample_ns) return rdt_fail_memory(err, bytes);
    for (size_t i = 0; !status && i < count; i++) {
        rdt_candidate *each = &self->entry[indices[i]].candidate;
        status =
            rdt_rules_launch(search->codegen, case_of(search), &each->point, &each->launch, err);
        batch.entry[i] = &self->entry[indices[i]];
        batch.candidates[i] = *each;
    }
    if (!status) status = verify(self, &batch, err);
    rdt_batch request = {search->problem, batch.candidates, count};
    if (!status)
        status = evaluator->time(evaluator->self, &request, search->cache, samples, sample_ns,
                                 batch.verdicts, batch.conditions, err);
    for (size_t i = 0; !status && i < count; i++)
        conclude(self, &batch, i, samples, &sample_ns[i * (size_t)samples], &trials[i]);
    if (!status) status = search->sink->store(search->sink->user, trials, count, err);
    free(sample_ns);
    return status;
}

/* Gives the entry what is known of it, as if it were measured now: so that a search goes the same
 * way when it goes on after a stop, only what is asked for becomes known, and of several trials
 * that of the fewest samples that suffice, the latest of such. Where none suffices, a failure
 * counts. */
static bool replay_known(rdt_candidates *self, size_t index, int samples) {
    const rdt_trial *found = NULL, *failed = NULL;
    rdt_entry *each = &self->entry[index];
    for (size_t i = 0; i < self->known_count; i++) {
        const rdt_trial *trial = &self->search->known->trial[self->known[i].trial];
        if (self->known[i].entry != index) continue;
        if (trial->outcome != RDT_OUTCOME_GOOD)
            failed = trial;
        else if (trial->samples >= samples && (!found || trial->samples <= found->samples))
            found = trial;
    }
    bool is_bad = !found && (failed || (each->verified && each->outcome != RDT_OUTCOME_GOOD));
    if (failed) note_cause(self, failed);
    if (found)
        record(self, each, found);
    else if (is_bad)
        record(self, each, &(rdt_trial){.outcome = failed ? failed->outcome : each->outcome});
    return found || is_bad;
}

/* Whether the entry needs to be measured to have so many samples. */
static bool needs_measuring(rdt_candidates *self, size_t index, int samples) {
    const rdt_entry *each = &self->entry[index];
    bool has_failed = each->tried && !each->samples;
    return !has_failed && each->samples < samples && !replay_known(self, index, samples);
}

void rdt_candidates_prepare(const rdt_candidates *self, const size_t *indices, size_t count,
                            bool soon) {
    const rdt_evaluator *evaluator = self->search->evaluator;
    rdt_candidate *candidates =
        evaluator->prepare && count ? malloc(count * sizeof *candidates) : NULL;
    if (!candidates) return;
    for (size_t i = 0; i < count; i++) candidates[i] = self->entry[indices[i]].candidate;
    rdt_batch request = {self->search->problem, candidates, count};
    evaluator->prepare(evaluator->self, &request, soon);
    free(candidates);
}

/* i of the n that a call asks for. REDTUNE_INTERRUPTED if the tune is to stop. */
static redtune_status report_progress(const rdt_candidates *self, size_t i, size_t n,
                                      redtune_error *err) {
    const rdt_search *search = self->search;
    const rdt_sink *sink = search->sink;
    if (self->planned) {
        i += self->asked;
        n = self->planned;
        if (i > n) i = n;
    }
    const bool stop = sink->progress && sink->progress(sink->user, search->problem, search->stage,
                                                       i, n, self->best_ns);
    return stop ? rdt_fail_interrupted(err, "tuning") : REDTUNE_OK;
}

redtune_status rdt_candidates_measure(rdt_candidates *self, const size_t *indices, size_t count,
                                      int samples, redtune_error *err) {
    size_t *wanted = calloc(count ? count : 1, sizeof *wanted), left = 0;
    if (!wanted) return rdt_fail_memory(err, count * sizeof *wanted);
    for (size_t i = 0; i < count; i++) {
        const size_t index = indices ? indices[i] : i;
        if (needs_measuring(self, index, samples)) wanted[left++] = index;
    }
    rdt_candidates_prepare(self, wanted, left, true);
    redtune_status status = REDTUNE_OK;
    if (left) keep_gpu(self);
    for (size_t i = 0; !status && i < left; i += BATCH) {
        const size_t size = left - i < BATCH ? left - i : BATCH;
        status = report_progress(self, count - left + i, count, err);
        if (!status) status = measure_batch(self, wanted + i, size, samples, err);
    }
    self->asked += count;
    free(wanted);
    return status;
}
