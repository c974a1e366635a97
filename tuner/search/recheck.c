/* Recheck: whether a config that was measured somewhere is right on this GPU, and what it takes. */
#include "tuner/search/recheck.h"

#include <stdio.h>
#include "base/text.h"
#include "tuner/search/candidates.h"

enum { QUICK_SAMPLES = 3 };

/* Times what the default takes: beyond that few samples leave no doubt. */
static const double plainly_slower = 1.25;

typedef struct work {
    const rdt_recheck *wanted;
    rdt_candidates candidates;
    size_t index[2]; /* of the config and of the default, which may be the same */
    size_t count;
    rdt_trial latest[2];
    double end_s;
} work;

/* ---- the sink -------------------------------------------------------------------------------- */

static redtune_status keep_latest(void *user, const rdt_trial *trials, size_t count,
                                  redtune_error *err) {
    (void)err;
    work *self = user;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < self->count; k++)
            if (trials[i].rank == self->candidates.entry[self->index[k]].rank)
                self->latest[k] = trials[i];
    return REDTUNE_OK;
}

/* ---- how long it may take -------------------------------------------------------------------- */

static double left_s(const work *self) {
    const rdt_recheck *wanted = self->wanted;
    return wanted->limit_s > 0 ? self->end_s - wanted->clock_s(wanted->user) : 1e9;
}

static bool is_good(const work *self, size_t k) {
    return self->latest[k].outcome == RDT_OUTCOME_GOOD;
}

static bool is_plainly_slower(const work *self) {
    return self->count == 2 && is_good(self, 0) && is_good(self, 1) &&
           self->latest[0].median_ns > plainly_slower * self->latest[1].median_ns;
}

/* Samples of all that is good for which there is time, after one of each took so long. */
static int affordable(const work *self, double turn_s) {
    double samples = turn_s > 0 ? left_s(self) / turn_s : RDT_RECHECK_SAMPLES;
    return samples < RDT_RECHECK_SAMPLES ? (int)samples : RDT_RECHECK_SAMPLES;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The config is out: 16 samples of it would take longer than there is time for. */
static void reject_slow(work *self) {
    rdt_trial *trial = &self->latest[0];
    rdt_text_print(
        trial->cause, sizeof trial->cause,
        "too slow to be timed within %.3g s: %.4g us a call, where the default takes %.4g us",
        self->wanted->limit_s, trial->median_ns / 1e3, self->latest[1].median_ns / 1e3);
    trial->outcome = RDT_OUTCOME_HUNG;
    trial->median_ns = trial->spread_ns = 0;
    trial->samples = 0;
    trial->conditions = (rdt_conditions){0};
}

/* Measures good configs with care, as far as there is time. turn_s: for a sample of each. */
static redtune_status measure_carefully(work *self, double turn_s, redtune_error *err) {
    int samples = affordable(self, turn_s);
    size_t first = 0;
    if (samples < RDT_RECHECK_SAMPLES_MIN && is_plainly_slower(self)) {
        double fast_ns = self->latest[1].median_ns, slow_ns = self->latest[0].median_ns;
        reject_slow(self);
        samples = affordable(self, turn_s * fast_ns / (fast_ns + slow_ns));
        first = 1;
    }
    if (samples < RDT_RECHECK_SAMPLES_MIN) return REDTUNE_OK;
    return rdt_candidates_measure(&self->candidates, &self->index[first], self->count - first,
                                  samples, err);
}

static void collect_trials(const work *self, rdt_rechecked *out) {
    *out = (rdt_rechecked){.count = 0};
    for (size_t k = 0; k < self->count; k++)
        if (!is_good(self, k) || self->latest[k].samples >= RDT_RECHECK_SAMPLES_MIN)
            out->trials[out->count++] = self->latest[k];
}

static redtune_status measure_within_limit(work *self, rdt_rechecked *out, redtune_error *err) {
    /* The first sample comes with the test data and the verifying: it says little of the time. */
    redtune_status status =
        rdt_candidates_measure(&self->candidates, self->index, self->count, 1, err);
    double before = left_s(self);
    if (!status && before > 0)
        status =
            rdt_candidates_measure(&self->candidates, self->index, self->count, QUICK_SAMPLES, err);
    double left = left_s(self);
    if (!status && left > 0) status = measure_carefully(self, (before - left) / QUICK_SAMPLES, err);
    if (!status) collect_trials(self, out);
    return status;
}

/* The config's own failure, which the evaluator did not survive. */
static void attribute_failure(const work *self, const redtune_error *why, rdt_rechecked *out) {
    const rdt_entry *entry = &self->candidates.entry[self->index[0]];
    rdt_trial trial = {
        .problem = *self->wanted->search.problem,
        .cache = self->wanted->search.cache,
        .outcome = RDT_OUTCOME_FAULTED,
        .rank = entry->rank,
    };
    rdt_point_write(self->candidates.spaces, &entry->candidate.point, trial.family, trial.config);
    rdt_text_copy(trial.cause, sizeof trial.cause, why->message);
    *out = (rdt_rechecked){.trials = {trial}, .count = 1};
}

redtune_status rdt_recheck_run(const rdt_recheck *wanted, const rdt_point *point,
                               rdt_rechecked *out, redtune_error *err) {
    work self = {.wanted = wanted};
    const rdt_sink sink = {.user = &self, .store = keep_latest};
    rdt_search search = wanted->search;
    search.any = true;
    search.sink = &sink;
    if (wanted->limit_s > 0) self.end_s = wanted->clock_s(wanted->user) + wanted->limit_s;
    redtune_status status =
        rdt_rules_check(search.codegen, (rdt_case){search.problem, search.facts}, point, err);
    if (!status) status = rdt_candidates_open(&search, point, 1, &self.candidates, err);
    if (status) return status;
    self.index[self.count++] = (size_t)rdt_candidates_find(&self.candidates, point);
    if (self.index[0] != self.candidates.baseline)
        self.index[self.count++] = self.candidates.baseline;
    redtune_error why;
    status = measure_within_limit(&self, out, &why);
    if (status == REDTUNE_DEVICE && wanted->at && *wanted->at == 0 && self.count == 2 &&
        self.latest[0].outcome != RDT_OUTCOME_HUNG)
        attribute_failure(&self, &why, out);
    if (status && err) *err = why;
    rdt_candidates_close(&self.candidates);
    return status;
}
