/* Candidates: the points that a search of one problem may choose from, and what is known of each.
 */
#include "tuner/search/candidates.h"

#include <stdlib.h>
#include <string.h>
#include "tuner/summary.h"

/* So many are verified, timed in turns and stored together. */
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
    if (trial->problem.count != self->search->problem->count ||
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

static bool is_default(const defaults *defaults, const rdt_point *point) {
    for (size_t i = 0; i < defaults->count; i++)
        if (rdt_point_same(&defaults->point[i], point)) return true;
    return false;
}

/* points are in their order, the defaults among them. */
static redtune_status fill(rdt_candidates *self, const rdt_point *points, const defaults *defaults,
                           redtune_error *err) {
    self->entry = calloc(self->count, sizeof *self->entry);
    if (!self->entry) return rdt_fail_memory(err, self->count * sizeof *self->entry);
    for (size_t i = 0; i < self->count; i++) {
        rdt_entry *each = &self->entry[i];
        each->candidate.point = points[i];
        each->rank = rdt_point_rank(self->spaces, &points[i]);
        each->is_default = is_default(defaults, &points[i]);
        if (rdt_point_same(&points[i], &defaults->point[0])) self->baseline = i;
    }
    return apply_known(self, err);
}

static rdt_candidates start_empty(const rdt_search *search) {
    return (rdt_candidates){.search = search, .spaces = rdt_codegen_spaces(search->codegen)};
}

/* Fills them unless status says that its points were not found. Takes the points over. */
static redtune_status fill_or_close(rdt_candidates *self, rdt_point *points,
                                    const defaults *defaults, redtune_status status,
                                    rdt_candidates *out, redtune_error *err) {
    if (!status) status = fill(self, points, defaults, err);
    free(points);
    if (status)
        rdt_candidates_close(self);
    else
        *out = *self;
    return status;
}

redtune_status rdt_candidates_open(const rdt_search *search, rdt_candidates *out,
                                   redtune_error *err) {
    rdt_point *points = NULL;
    defaults defaults;
    rdt_candidates self = start_empty(search);
    redtune_status status = rdt_codegen_defaults(search->codegen, case_of(search), defaults.point,
                                                 &defaults.count, err);
    if (!status)
        status = rdt_points_list(search->codegen, case_of(search), search->strategy->extent,
                                 &points, &self.count, err);
    return fill_or_close(&self, points, &defaults, status, out, err);
}

/* Whether the search may look at the point. */
static bool is_point(const rdt_search *search, const rdt_point *point) {
    bool is = false;
    if (rdt_codegen_check(search->codegen, case_of(search), point, NULL)) return false;
    return search->any || (!rdt_codegen_is_point(search->codegen, case_of(search),
                                                 search->strategy->extent, point, &is, NULL) &&
                           is);
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

redtune_status rdt_candidates_open_some(const rdt_search *search, const rdt_point *wanted,
                                        size_t count, rdt_candidates *out, redtune_error *err) {
    const size_t room = count + RDT_FAMILY_MAX;
    rdt_point *points = malloc(room * sizeof *points);
    defaults defaults;
    rdt_candidates self = start_empty(search);
    if (!points) return rdt_fail_memory(err, room * sizeof *points);
    redtune_status status = rdt_codegen_defaults(search->codegen, case_of(search), defaults.point,
                                                 &defaults.count, err);
    for (size_t i = 0; !status && i < defaults.count; i++)
        insert(self.spaces, points, &self.count, &defaults.point[i]);
    for (size_t i = 0; !status && i < count; i++)
        if (is_point(search, &wanted[i])) insert(self.spaces, points, &self.count, &wanted[i]);
    return fill_or_close(&self, points, &defaults, status, out, err);
}

void rdt_candidates_close(rdt_candidates *self) {
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
    size_t index[BATCH]; /* in the candidates */
    rdt_candidate candidates[BATCH];
    rdt_verdict verdicts[BATCH];
    rdt_conditions conditions[BATCH];
    size_t count;
} batch;

static rdt_batch request_of(const rdt_candidates *self, const rdt_candidate *candidates,
                            size_t count) {
    return (rdt_batch){self->search->problem, candidates, count};
}

static rdt_trial trial_of(const rdt_candidates *self, const rdt_entry *each) {
    rdt_trial trial = {
        .problem = *self->search->problem,
        .cache = self->search->cache,
        .is_default = each->is_default,
        .outcome = each->outcome,
        .median_ns = each->median_ns,
        .spread_ns = each->spread_ns,
        .samples = each->samples,
        .rank = each->rank,
    };
    rdt_point_write(self->spaces, &each->candidate.point, trial.family, trial.config);
    return trial;
}

static void note_cause(rdt_candidates *self, const rdt_trial *trial) {
    if (trial->outcome != RDT_OUTCOME_GOOD && !*self->first_cause)
        rdt_text_copy(self->first_cause, sizeof self->first_cause, trial->cause);
}

static redtune_status store(rdt_candidates *self, const batch *batch, redtune_error *err) {
    const rdt_sink *sink = self->search->sink;
    rdt_trial trials[BATCH];
    for (size_t i = 0; i < batch->count; i++) {
        trials[i] = trial_of(self, &self->entry[batch->index[i]]);
        /* A compiler's or driver's words, cut where their buffer ended. */
        rdt_text_copy_plain(trials[i].cause, sizeof trials[i].cause, batch->verdicts[i].cause);
        trials[i].conditions = batch->conditions[i];
        note_cause(self, &trials[i]);
    }
    return batch->count ? sink->store(sink->user, trials, batch->count, err) : REDTUNE_OK;
}

/* Those of the batch that nothing is known of yet. */
static redtune_status verify(const rdt_candidates *self, batch *batch, redtune_error *err) {
    rdt_candidate unknown[BATCH];
    rdt_verdict verdicts[BATCH];
    size_t at[BATCH], count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->verdicts[i] = (rdt_verdict){.outcome = RDT_OUTCOME_GOOD};
        if (self->entry[batch->index[i]].verified) continue;
        at[count] = i;
        unknown[count++] = batch->candidates[i];
    }
    if (!count) return REDTUNE_OK;
    rdt_batch request = request_of(self, unknown, count);
    const rdt_evaluator *evaluator = self->search->evaluator;
    redtune_status status = evaluator->verify(evaluator->self, &request, verdicts, err);
    for (size_t i = 0; !status && i < count; i++) batch->verdicts[at[i]] = verdicts[i];
    return status;
}

/* What came of an entry; median and spread are of that many samples, none for a failure. */
static void record(rdt_candidates *self, rdt_entry *each, rdt_outcome outcome, double median_ns,
                   double spread_ns, int samples) {
    self->tried += !each->tried;
    each->tried = each->verified = true;
    each->outcome = outcome;
    each->median_ns = median_ns;
    each->spread_ns = spread_ns;
    each->samples = samples;
    if (samples && (!self->best_ns || median_ns < self->best_ns)) self->best_ns = median_ns;
}

static void record_times(rdt_candidates *self, const batch *batch, int samples, double *sample_ns) {
    for (size_t i = 0; i < batch->count; i++) {
        rdt_entry *each = &self->entry[batch->index[i]];
        rdt_outcome outcome = batch->verdicts[i].outcome;
        double median_ns = 0, spread_ns = 0;
        bool is_good = outcome == RDT_OUTCOME_GOOD;
        if (is_good)
            rdt_summary_of(&sample_ns[i * (size_t)samples], samples, &median_ns, &spread_ns);
        self->now.measured += is_good && !each->tried;
        self->now.failed += !is_good;
        record(self, each, outcome, median_ns, spread_ns, is_good ? samples : 0);
    }
}

static redtune_status measure_batch(rdt_candidates *self, batch *batch, int samples,
                                    redtune_error *err) {
    const rdt_search *search = self->search;
    const rdt_evaluator *evaluator = search->evaluator;
    double *sample_ns = calloc((size_t)BATCH * (size_t)samples, sizeof *sample_ns);
    if (!sample_ns)
        return rdt_fail_memory(err, (size_t)BATCH * (size_t)samples * sizeof *sample_ns);
    rdt_batch request = request_of(self, batch->candidates, batch->count);
    redtune_status status = verify(self, batch, err);
    if (!status)
        status = evaluator->time(evaluator->self, &request, search->cache, samples, sample_ns,
                                 batch->verdicts, batch->conditions, err);
    if (!status) {
        record_times(self, batch, samples, sample_ns);
        status = store(self, batch, err);
    }
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
        record(self, each, found->outcome, found->median_ns, found->spread_ns, found->samples);
    else if (is_bad)
        record(self, each, failed ? failed->outcome : each->outcome, 0, 0, 0);
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
    rdt_batch request = request_of(self, candidates, count);
    evaluator->prepare(evaluator->self, &request, soon);
    free(candidates);
}

static redtune_status add_to_batch(rdt_candidates *self, size_t index, size_t at, batch *batch,
                                   redtune_error *err) {
    const rdt_search *search = self->search;
    rdt_candidate *each = &self->entry[index].candidate;
    redtune_status status =
        rdt_codegen_launch(search->codegen, case_of(search), &each->point, &each->launch, err);
    batch->index[at] = index;
    batch->candidates[at] = *each;
    return status;
}

bool rdt_candidates_is_late(const rdt_candidates *self) {
    const rdt_search *search = self->search;
    return search->is_late && search->is_late(search->sink->user);
}

/* i of the n that a call asks for; whether the tune is to stop. */
static bool report_progress(const rdt_candidates *self, size_t i, size_t n) {
    const rdt_search *search = self->search;
    if (self->planned) {
        i += self->asked;
        n = self->planned;
        if (i > n) i = n;
    }
    return search->sink->progress(search->sink->user, search->problem, search->stage, i, n,
                                  self->best_ns);
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
    for (size_t first = 0; !status && first < left; first += BATCH) {
        if (report_progress(self, count - left + first, count)) {
            status = rdt_fail_interrupted(err, "tuning");
            break;
        }
        batch batch = {.count = left - first < BATCH ? left - first : BATCH};
        for (size_t i = 0; !status && i < batch.count; i++)
            status = add_to_batch(self, wanted[first + i], i, &batch, err);
        if (!status) status = measure_batch(self, &batch, samples, err);
    }
    self->asked += count;
    free(wanted);
    return status;
}
