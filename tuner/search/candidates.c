/* Candidates: the points that a search of one problem may choose from, and what is known of each.
 */
#include "tuner/search/candidates.h"

#include <stdlib.h>
#include <string.h>
#include "tuner/summary.h"

/* So many are verified, timed in turns and stored together. */
enum { LOT = 8 };

/* ---- opening --------------------------------------------------------------------------------- */

long rdt_candidates_find(const rdt_candidates *field, const rdt_point *point) {
    int order = rdt_point_rank(field->spaces, point);
    size_t low = 0, high = field->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (field->entry[middle].order < order)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < field->count && rdt_point_same(&field->entry[low].candidate.point, point);
    return found ? (long)low : -1;
}

/* The index of the entry that the trial is of, or -1. */
static long find_tried(const rdt_candidates *field, const rdt_trial *trial) {
    rdt_point point;
    if (rdt_point_read(field->spaces, trial->family, trial->config, &point, NULL)) return -1;
    return rdt_candidates_find(field, &point);
}

/* What is right, or wrong, once is so with any state of the cache. */
static void take_verdict(rdt_candidates *field, long at, const rdt_trial *trial) {
    rdt_entry *each = at >= 0 ? &field->entry[at] : NULL;
    bool is_good = trial->outcome == RDT_OUTCOME_GOOD;
    if (!each || (each->verified && !is_good)) return;
    each->verified = true;
    each->outcome = trial->outcome;
}

static redtune_status take_known(rdt_candidates *field, redtune_error *err) {
    const rdt_trials *known = field->search->known, *verified = field->search->verified;
    for (size_t i = 0; verified && i < verified->count; i++)
        take_verdict(field, find_tried(field, &verified->trial[i]), &verified->trial[i]);
    if (!known || !known->count) return REDTUNE_OK;
    field->known_at = malloc(known->count * sizeof *field->known_at);
    if (!field->known_at) return rdt_fail_memory(err, known->count * sizeof *field->known_at);
    for (size_t i = 0; i < known->count; i++) {
        field->known_at[i] = find_tried(field, &known->trial[i]);
        take_verdict(field, field->known_at[i], &known->trial[i]);
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
static redtune_status fill(rdt_candidates *field, const rdt_point *points, const defaults *defaults,
                           redtune_error *err) {
    field->entry = calloc(field->count, sizeof *field->entry);
    if (!field->entry) return rdt_fail_memory(err, field->count * sizeof *field->entry);
    for (size_t i = 0; i < field->count; i++) {
        rdt_entry *each = &field->entry[i];
        each->candidate.point = points[i];
        each->order = rdt_point_rank(field->spaces, &points[i]);
        each->is_default = is_default(defaults, &points[i]);
        if (rdt_point_same(&points[i], &defaults->point[0])) field->standard = i;
    }
    return take_known(field, err);
}

static rdt_candidates begin(const rdt_search *search) {
    return (rdt_candidates){.search = search, .spaces = rdt_codegen_spaces(search->codegen)};
}

/* Fills the field unless status says that its points were not found. Takes the points over. */
static redtune_status finish(rdt_candidates *field, rdt_point *points, const defaults *defaults,
                             redtune_status status, rdt_candidates *out, redtune_error *err) {
    if (!status) status = fill(field, points, defaults, err);
    free(points);
    if (status)
        rdt_candidates_close(field);
    else
        *out = *field;
    return status;
}

redtune_status rdt_candidates_open(const rdt_search *search, rdt_candidates *out,
                                   redtune_error *err) {
    rdt_point *points = NULL;
    defaults defaults;
    rdt_candidates field = begin(search);
    redtune_status status = rdt_codegen_defaults(search->codegen, case_of(search), defaults.point,
                                                 &defaults.count, err);
    if (!status)
        status = rdt_points_list(search->codegen, case_of(search), search->strategy->extent,
                                 &points, &field.count, err);
    return finish(&field, points, &defaults, status, out, err);
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
    int order = rdt_point_rank(spaces, point);
    size_t at = *count;
    while (at && rdt_point_rank(spaces, &points[at - 1]) > order) at--;
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
    rdt_candidates field = begin(search);
    if (!points) return rdt_fail_memory(err, room * sizeof *points);
    redtune_status status = rdt_codegen_defaults(search->codegen, case_of(search), defaults.point,
                                                 &defaults.count, err);
    for (size_t i = 0; !status && i < defaults.count; i++)
        insert(field.spaces, points, &field.count, &defaults.point[i]);
    for (size_t i = 0; !status && i < count; i++)
        if (is_point(search, &wanted[i])) insert(field.spaces, points, &field.count, &wanted[i]);
    return finish(&field, points, &defaults, status, out, err);
}

void rdt_candidates_close(rdt_candidates *field) {
    free(field->entry);
    free(field->known_at);
    *field = (rdt_candidates){0};
}

/* ---- ranking --------------------------------------------------------------------------------- */

static bool comes_first(const rdt_entry *x, const rdt_entry *y) {
    return x->median_ns != y->median_ns ? x->median_ns < y->median_ns : x->order < y->order;
}

size_t rdt_candidates_rank(const rdt_candidates *field, size_t *indices) {
    size_t count = 0;
    for (size_t i = 0; i < field->count; i++) {
        const rdt_entry *each = &field->entry[i];
        if (!each->samples) continue;
        size_t at = count++;
        for (; at && comes_first(each, &field->entry[indices[at - 1]]); at--)
            indices[at] = indices[at - 1];
        indices[at] = i;
    }
    return count;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Entries that are verified, timed and stored together, gathered from where they stand. */
typedef struct lot {
    size_t index[LOT]; /* in the field */
    rdt_candidate candidates[LOT];
    rdt_verdict verdicts[LOT];
    rdt_conditions conditions[LOT];
    size_t count;
} lot;

static rdt_batch batch_of(const rdt_candidates *field, const rdt_candidate *candidates,
                          size_t count) {
    return (rdt_batch){field->search->problem, candidates, count};
}

static rdt_trial describe(const rdt_candidates *field, const rdt_entry *each) {
    rdt_trial trial = {
        .problem = *field->search->problem,
        .cache = field->search->cache,
        .is_default = each->is_default,
        .outcome = each->outcome,
        .median_ns = each->median_ns,
        .spread_ns = each->spread_ns,
        .samples = each->samples,
        .rank = each->order,
    };
    rdt_point_write(field->spaces, &each->candidate.point, trial.family, trial.config);
    return trial;
}

static void note_cause(rdt_candidates *field, const rdt_trial *trial) {
    if (trial->outcome != RDT_OUTCOME_GOOD && !*field->first_cause)
        rdt_text_copy(field->first_cause, sizeof field->first_cause, trial->cause);
}

static redtune_status store(rdt_candidates *field, const lot *lot, redtune_error *err) {
    const rdt_sink *sink = field->search->sink;
    rdt_trial trials[LOT];
    for (size_t i = 0; i < lot->count; i++) {
        trials[i] = describe(field, &field->entry[lot->index[i]]);
        /* A compiler's or driver's words, cut where their buffer ended. */
        rdt_text_copy_plain(trials[i].cause, sizeof trials[i].cause, lot->verdicts[i].cause);
        trials[i].conditions = lot->conditions[i];
        note_cause(field, &trials[i]);
    }
    return lot->count ? sink->store(sink->user, trials, lot->count, err) : REDTUNE_OK;
}

/* Those of the lot that nothing is known of yet. */
static redtune_status verify(const rdt_candidates *field, lot *lot, redtune_error *err) {
    rdt_candidate unknown[LOT];
    rdt_verdict verdicts[LOT];
    size_t at[LOT], count = 0;
    for (size_t i = 0; i < lot->count; i++) {
        lot->verdicts[i] = (rdt_verdict){.outcome = RDT_OUTCOME_GOOD};
        if (field->entry[lot->index[i]].verified) continue;
        at[count] = i;
        unknown[count++] = lot->candidates[i];
    }
    if (!count) return REDTUNE_OK;
    rdt_batch batch = batch_of(field, unknown, count);
    const rdt_evaluator *evaluator = field->search->evaluator;
    redtune_status status = evaluator->verify(evaluator->self, &batch, verdicts, err);
    for (size_t i = 0; !status && i < count; i++) lot->verdicts[at[i]] = verdicts[i];
    return status;
}

/* What came of an entry; median and spread are of that many samples, none for a failure. */
static void take(rdt_candidates *field, rdt_entry *each, rdt_outcome outcome, double median_ns,
                 double spread_ns, int samples) {
    field->tried += !each->tried;
    each->tried = each->verified = true;
    each->outcome = outcome;
    each->median_ns = median_ns;
    each->spread_ns = spread_ns;
    each->samples = samples;
    if (samples && (!field->best_ns || median_ns < field->best_ns)) field->best_ns = median_ns;
}

static void take_times(rdt_candidates *field, const lot *lot, int samples, double *sample_ns) {
    for (size_t i = 0; i < lot->count; i++) {
        rdt_entry *each = &field->entry[lot->index[i]];
        rdt_outcome outcome = lot->verdicts[i].outcome;
        double median_ns = 0, spread_ns = 0;
        bool is_good = outcome == RDT_OUTCOME_GOOD;
        if (is_good)
            rdt_summary_of(&sample_ns[i * (size_t)samples], samples, &median_ns, &spread_ns);
        field->now.measured += is_good && !each->tried;
        field->now.failed += !is_good;
        take(field, each, outcome, median_ns, spread_ns, is_good ? samples : 0);
    }
}

static redtune_status measure_lot(rdt_candidates *field, lot *lot, int samples,
                                  redtune_error *err) {
    const rdt_search *search = field->search;
    const rdt_evaluator *evaluator = search->evaluator;
    double *sample_ns = calloc((size_t)LOT * (size_t)samples, sizeof *sample_ns);
    if (!sample_ns) return rdt_fail_memory(err, (size_t)LOT * (size_t)samples * sizeof *sample_ns);
    rdt_batch batch = batch_of(field, lot->candidates, lot->count);
    redtune_status status = verify(field, lot, err);
    if (!status)
        status = evaluator->time(evaluator->self, &batch, search->cache, samples, sample_ns,
                                 lot->verdicts, lot->conditions, err);
    if (!status) {
        take_times(field, lot, samples, sample_ns);
        status = store(field, lot, err);
    }
    free(sample_ns);
    return status;
}

/* Gives the entry what is known of it, as if it were measured now: so that a search goes the same
 * way when it goes on after a stop, only what is asked for becomes known, and of several trials
 * that of the fewest samples that suffice, the latest of such. Where none suffices, a failure
 * counts. */
static bool recall(rdt_candidates *field, size_t index, int samples) {
    const rdt_trials *known = field->search->known;
    const rdt_trial *found = NULL, *failed = NULL;
    rdt_entry *each = &field->entry[index];
    for (size_t i = 0; known && i < known->count; i++) {
        const rdt_trial *trial = &known->trial[i];
        if (field->known_at[i] != (long)index) continue;
        if (trial->outcome != RDT_OUTCOME_GOOD)
            failed = trial;
        else if (trial->samples >= samples && (!found || trial->samples <= found->samples))
            found = trial;
    }
    bool is_bad = !found && (failed || (each->verified && each->outcome != RDT_OUTCOME_GOOD));
    if (failed) note_cause(field, failed);
    if (found)
        take(field, each, found->outcome, found->median_ns, found->spread_ns, found->samples);
    else if (is_bad)
        take(field, each, failed ? failed->outcome : each->outcome, 0, 0, 0);
    return found || is_bad;
}

/* Whether the entry needs to be measured to have so many samples. */
static bool wants(rdt_candidates *field, size_t index, int samples) {
    const rdt_entry *each = &field->entry[index];
    bool has_failed = each->tried && !each->samples;
    return !has_failed && each->samples < samples && !recall(field, index, samples);
}

void rdt_candidates_prepare(const rdt_candidates *field, const size_t *indices, size_t count,
                            bool soon) {
    const rdt_evaluator *evaluator = field->search->evaluator;
    rdt_candidate *candidates =
        evaluator->prepare && count ? malloc(count * sizeof *candidates) : NULL;
    if (!candidates) return;
    for (size_t i = 0; i < count; i++) candidates[i] = field->entry[indices[i]].candidate;
    rdt_batch batch = batch_of(field, candidates, count);
    evaluator->prepare(evaluator->self, &batch, soon);
    free(candidates);
}

static redtune_status add_to_lot(rdt_candidates *field, size_t index, size_t at, lot *lot,
                                 redtune_error *err) {
    const rdt_search *search = field->search;
    rdt_candidate *each = &field->entry[index].candidate;
    redtune_status status =
        rdt_codegen_launch(search->codegen, case_of(search), &each->point, &each->launch, err);
    lot->index[at] = index;
    lot->candidates[at] = *each;
    return status;
}

bool rdt_candidates_is_late(const rdt_candidates *field) {
    const rdt_search *search = field->search;
    return search->is_late && search->is_late(search->sink->user);
}

/* i of the n that a call asks for; whether the tune is to stop. */
static bool report(const rdt_candidates *field, size_t i, size_t n) {
    const rdt_search *search = field->search;
    if (field->planned) {
        i += field->asked;
        n = field->planned;
        if (i > n) i = n;
    }
    return search->sink->progress(search->sink->user, search->problem, search->stage, i, n,
                                  field->best_ns);
}

redtune_status rdt_candidates_measure(rdt_candidates *field, const size_t *indices, size_t count,
                                      int samples, redtune_error *err) {
    size_t *wanted = calloc(count ? count : 1, sizeof *wanted), left = 0;
    if (!wanted) return rdt_fail_memory(err, count * sizeof *wanted);
    for (size_t i = 0; i < count; i++)
        if (wants(field, indices[i], samples)) wanted[left++] = indices[i];
    rdt_candidates_prepare(field, wanted, left, true);
    redtune_status status = REDTUNE_OK;
    for (size_t first = 0; !status && first < left; first += LOT) {
        if (report(field, count - left + first, count)) {
            status = rdt_fail_interrupted(err, "tuning");
            break;
        }
        lot lot = {.count = left - first < LOT ? left - first : LOT};
        for (size_t i = 0; !status && i < lot.count; i++)
            status = add_to_lot(field, wanted[first + i], i, &lot, err);
        if (!status) status = measure_lot(field, &lot, samples, err);
    }
    field->asked += count;
    free(wanted);
    return status;
}
