/* Field: the points of a space for one problem, and what is known of each. */
#include "tuner/field.h"

#include <stdlib.h>
#include <string.h>
#include "tuner/summary.h"

/* So many are verified, timed in turns and stored together. */
enum { LOT = 8 };

/* ---- opening ------------------------------------------------------------------------------- */

static const rdt_space *space_of(const rdt_search *search) {
    return rdt_codegen_space(search->codegen, search->family);
}

/* The entry whose config is written so, or NULL. */
static rdt_entry *find_written(const rdt_field *field, const char *text) {
    const rdt_space *space = space_of(field->search);
    rdt_config config = {{0}};
    if (rdt_config_parse(space, text, &config, NULL)) return NULL;
    for (size_t i = 0; i < field->count; i++)
        if (!memcmp(&field->entry[i].candidate.config, &config, sizeof config))
            return &field->entry[i];
    return NULL;
}

/* Of several trials of a config the one with the most samples counts, and of those the latest; one
 * that failed counts only while none was good. */
static void take_known(rdt_field *field, const rdt_trial *trial) {
    rdt_entry *each = find_written(field, trial->config);
    if (!each || trial->samples < each->samples) return;
    bool is_good = trial->outcome == RDT_OUTCOME_GOOD;
    if (!is_good && each->known && each->outcome == RDT_OUTCOME_GOOD) return;
    each->known = true;
    each->outcome = trial->outcome;
    each->median_ns = is_good ? trial->median_ns : 0;
    each->spread_ns = is_good ? trial->spread_ns : 0;
    each->samples = is_good ? trial->samples : 0;
}

static redtune_status fill(rdt_field *field, const rdt_config *points, const rdt_config *standard,
                           redtune_error *err) {
    const rdt_search *search = field->search;
    rdt_case at = {search->problem, search->facts};
    for (size_t i = 0; i < field->count; i++) {
        rdt_entry *each = &field->entry[i];
        each->candidate.config = points[i];
        each->order = rdt_config_order(space_of(search), &points[i]);
        each->is_default = !memcmp(&points[i], standard, sizeof *standard);
        if (each->is_default) field->standard = i;
        redtune_status status = rdt_codegen_launch(search->codegen, search->family, at, &points[i],
                                                   &each->candidate.launch, err);
        if (status) return status;
    }
    return REDTUNE_OK;
}

redtune_status rdt_field_open(const rdt_search *search, rdt_field *out, redtune_error *err) {
    rdt_case at = {search->problem, search->facts};
    rdt_config *points = NULL, standard;
    rdt_field field = {.search = search};
    redtune_status status =
        rdt_codegen_default(search->codegen, search->family, at, &standard, err);
    if (!status)
        status =
            rdt_codegen_points(search->codegen, search->family, at, &points, &field.count, err);
    if (status) return status;
    field.entry = calloc(field.count ? field.count : 1, sizeof *field.entry);
    if (!field.entry)
        status = rdt_fail_memory(err, field.count * sizeof *field.entry);
    else
        status = fill(&field, points, &standard, err);
    free(points);
    if (status) {
        rdt_field_close(&field);
        return status;
    }
    for (size_t i = 0; i < search->known_count; i++) take_known(&field, &search->known[i]);
    *out = field;
    return REDTUNE_OK;
}

void rdt_field_close(rdt_field *field) {
    free(field->entry);
    *field = (rdt_field){0};
}

/* ---- ranking ------------------------------------------------------------------------------- */

static bool comes_first(const rdt_entry *x, const rdt_entry *y) {
    return x->median_ns != y->median_ns ? x->median_ns < y->median_ns : x->order < y->order;
}

size_t rdt_field_rank(const rdt_field *field, size_t *indices) {
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

/* ---- measuring ----------------------------------------------------------------------------- */

/* Entries that are verified, timed and stored together, gathered from where they stand. */
typedef struct lot {
    size_t index[LOT]; /* in the field */
    rdt_candidate candidates[LOT];
    rdt_verdict verdicts[LOT];
    rdt_conditions conditions[LOT];
    size_t count;
} lot;

static rdt_batch batch_of(const rdt_field *field, const rdt_candidate *candidates, size_t count) {
    return (rdt_batch){field->search->problem, field->search->family, candidates, count};
}

static rdt_trial describe(const rdt_search *search, const rdt_entry *each) {
    rdt_trial trial = {
        .problem = *search->problem,
        .cache = search->cache,
        .is_default = each->is_default,
        .outcome = each->outcome,
        .median_ns = each->median_ns,
        .spread_ns = each->spread_ns,
        .samples = each->samples,
        .order = each->order,
    };
    rdt_text_copy(trial.family, sizeof trial.family, space_of(search)->family);
    rdt_config_format(space_of(search), &each->candidate.config, trial.config);
    return trial;
}

static redtune_status store(const rdt_field *field, const lot *lot, redtune_error *err) {
    const rdt_search_hooks *hooks = field->search->hooks;
    rdt_trial trials[LOT];
    for (size_t i = 0; i < lot->count; i++) {
        trials[i] = describe(field->search, &field->entry[lot->index[i]]);
        rdt_text_copy(trials[i].cause, sizeof trials[i].cause, lot->verdicts[i].cause);
        trials[i].conditions = lot->conditions[i];
    }
    return lot->count ? hooks->store(hooks->user, trials, lot->count, err) : REDTUNE_OK;
}

/* Those of the lot that nothing is known of yet. */
static redtune_status verify(const rdt_field *field, lot *lot, redtune_error *err) {
    rdt_candidate unknown[LOT];
    rdt_verdict verdicts[LOT];
    size_t at[LOT], count = 0;
    for (size_t i = 0; i < lot->count; i++) {
        lot->verdicts[i] = (rdt_verdict){.outcome = RDT_OUTCOME_GOOD};
        if (field->entry[lot->index[i]].known) continue;
        at[count] = i;
        unknown[count++] = lot->candidates[i];
    }
    if (!count) return REDTUNE_OK;
    rdt_batch batch = batch_of(field, unknown, count);
    const rdt_lab *lab = field->search->lab;
    redtune_status status = lab->verify(lab->self, &batch, verdicts, err);
    for (size_t i = 0; !status && i < count; i++) lot->verdicts[at[i]] = verdicts[i];
    return status;
}

/* Leaves only those in the lot of which something new is known. */
static void take_times(rdt_field *field, const lot *lot, int samples, double *sample_ns) {
    for (size_t i = 0; i < lot->count; i++) {
        rdt_entry *each = &field->entry[lot->index[i]];
        bool was_good = each->samples > 0;
        each->known = true;
        each->outcome = lot->verdicts[i].outcome;
        each->median_ns = each->spread_ns = 0;
        each->samples = 0;
        if (each->outcome != RDT_OUTCOME_GOOD) {
            field->failed++;
            continue;
        }
        rdt_summarise(&sample_ns[i * (size_t)samples], samples, &each->median_ns, &each->spread_ns);
        each->samples = samples;
        field->measured += !was_good;
        if (!field->best_ns || each->median_ns < field->best_ns) field->best_ns = each->median_ns;
    }
}

static redtune_status measure_lot(rdt_field *field, lot *lot, int samples, redtune_error *err) {
    const rdt_search *search = field->search;
    const rdt_lab *lab = search->lab;
    double *sample_ns = calloc((size_t)LOT * (size_t)samples, sizeof *sample_ns);
    if (!sample_ns) return rdt_fail_memory(err, (size_t)LOT * (size_t)samples * sizeof *sample_ns);
    rdt_batch batch = batch_of(field, lot->candidates, lot->count);
    redtune_status status = verify(field, lot, err);
    if (!status)
        status = lab->time(lab->self, &batch, search->cache, samples, sample_ns, lot->verdicts,
                           lot->conditions, err);
    if (!status) {
        take_times(field, lot, samples, sample_ns);
        status = store(field, lot, err);
    }
    free(sample_ns);
    return status;
}

/* Whether the entry needs to be measured to have so many samples. */
static bool wants(const rdt_entry *each, int samples) {
    return !each->known || (each->outcome == RDT_OUTCOME_GOOD && each->samples < samples);
}

static void prepare(const rdt_field *field, const size_t *indices, size_t count) {
    const rdt_lab *lab = field->search->lab;
    rdt_candidate *candidates = lab->prepare ? malloc(count * sizeof *candidates) : NULL;
    if (!candidates) return;
    for (size_t i = 0; i < count; i++) candidates[i] = field->entry[indices[i]].candidate;
    rdt_batch batch = batch_of(field, candidates, count);
    lab->prepare(lab->self, &batch);
    free(candidates);
}

redtune_status rdt_field_measure(rdt_field *field, const size_t *indices, size_t count, int samples,
                                 redtune_error *err) {
    const rdt_search_hooks *hooks = field->search->hooks;
    size_t *wanted = malloc((count ? count : 1) * sizeof *wanted), left = 0;
    if (!wanted) return rdt_fail_memory(err, count * sizeof *wanted);
    for (size_t i = 0; i < count; i++)
        if (wants(&field->entry[indices[i]], samples)) wanted[left++] = indices[i];
    if (left) prepare(field, wanted, left);
    redtune_status status = REDTUNE_OK;
    for (size_t first = 0; !status && first < left; first += LOT) {
        if (hooks->progress(hooks->user, "measure", first, left, field->best_ns)) {
            status = rdt_fail(err, REDTUNE_INTERRUPTED, 0,
                              "tuning was interrupted; what was measured is kept");
            break;
        }
        lot lot = {.count = left - first < LOT ? left - first : LOT};
        for (size_t i = 0; i < lot.count; i++) {
            lot.index[i] = wanted[first + i];
            lot.candidates[i] = field->entry[wanted[first + i]].candidate;
        }
        status = measure_lot(field, &lot, samples, err);
    }
    free(wanted);
    return status;
}
