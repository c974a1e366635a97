/* Search: the fastest config for one problem, by rounds that narrow the field. */
#include "tuner/search.h"

#include <stdlib.h>
#include <string.h>
#include "tuner/measure.h"
#include "tuner/verify.h"

/* A round times the best `keep` of the round before (and the default) with so many samples each,
 * taken in turns so that a drift of the clocks meets all alike. */
typedef struct round_plan {
    size_t keep;
    int samples;
} round_plan;

static const round_plan rounds[] = {{SIZE_MAX, 3}, {24, 9}, {6, RDT_SEARCH_FINAL_SAMPLES}};
enum { ROUND_COUNT = sizeof rounds / sizeof *rounds };

typedef struct candidate {
    rdt_config config;
    rdt_launch launch;
    const rdt_kernel *kernel;
    bool is_default;
    rdt_outcome outcome;
    double median_ns, spread_ns;
    int samples;
    size_t order; /* in the space: simpler configs come first */
} candidate;

typedef struct field {
    candidate *at;
    size_t count; /* still in the running, the best first */
    size_t all;
    double best_ns;
} field;

/* ---- the field ---------------------------------------------------------------------------- */

static redtune_status fill_field(const rdt_search *search, field *out, redtune_error *err) {
    rdt_case at = {search->problem, &search->rig->context->facts};
    rdt_config *points = NULL, standard;
    size_t count = 0;
    redtune_status status =
        rdt_codegen_default(search->codegen, search->family, at, &standard, err);
    if (!status)
        status = rdt_codegen_points(search->codegen, search->family, at, &points, &count, err);
    if (status) return status;
    out->at = calloc(count ? count : 1, sizeof *out->at);
    if (!out->at) status = rdt_fail_memory(err, count * sizeof *out->at);
    for (size_t i = 0; !status && i < count; i++) {
        candidate *each = &out->at[i];
        each->config = points[i];
        each->order = i;
        each->is_default = !memcmp(&points[i], &standard, sizeof standard);
        status =
            rdt_codegen_launch(search->codegen, search->family, at, &points[i], &each->launch, err);
    }
    out->count = out->all = count;
    free(points);
    return status;
}

static rdt_trial describe(const rdt_search *search, const candidate *each) {
    const rdt_space *space = rdt_codegen_space(search->codegen, search->family);
    rdt_trial trial = {
        .problem = *search->problem,
        .cache = RDT_CACHE_COLD,
        .is_default = each->is_default,
        .outcome = each->outcome,
        .median_ns = each->median_ns,
        .spread_ns = each->spread_ns,
        .samples = each->samples,
    };
    rdt_text_copy(trial.family, sizeof trial.family, space->family);
    rdt_config_format(space, &each->config, trial.config);
    return trial;
}

static redtune_status store(const rdt_search *search, const candidate *each, size_t count,
                            redtune_error *err) {
    if (!count) return REDTUNE_OK;
    rdt_trial *trials = malloc(count * sizeof *trials);
    if (!trials) return rdt_fail_memory(err, count * sizeof *trials);
    for (size_t i = 0; i < count; i++) trials[i] = describe(search, &each[i]);
    redtune_status status = search->hooks->store(search->hooks->user, trials, count, err);
    free(trials);
    return status;
}

/* Good before bad, fast before slow, and among equals the simpler. */
static int compare(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    bool x_good = x->outcome == RDT_OUTCOME_GOOD, y_good = y->outcome == RDT_OUTCOME_GOOD;
    if (x_good != y_good) return x_good ? -1 : 1;
    if (x_good && x->median_ns != y->median_ns) return x->median_ns < y->median_ns ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Leaves the best `keep` good candidates in the field, and the default behind them. */
static void narrow(field *all, size_t keep) {
    qsort(all->at, all->count, sizeof *all->at, compare);
    size_t good = 0;
    while (good < all->count && all->at[good].outcome == RDT_OUTCOME_GOOD) good++;
    if (keep >= good) {
        all->count = good;
        return;
    }
    for (size_t i = keep; i < good; i++) {
        if (!all->at[i].is_default) continue;
        candidate standard = all->at[i];
        all->at[i] = all->at[keep];
        all->at[keep++] = standard;
        break;
    }
    all->count = keep;
}

/* ---- verifying and timing ------------------------------------------------------------------ */

static bool stopped(const rdt_search *search, const char *stage, size_t i, size_t n,
                    const field *all) {
    return search->hooks->progress(search->hooks->user, stage, i, n, all->best_ns);
}

static redtune_status interrupted(redtune_error *err) {
    return rdt_fail(err, REDTUNE_INTERRUPTED, 0,
                    "tuning was interrupted; what was measured is kept");
}

/* Sets the candidate's kernel and outcome. */
static redtune_status verify(const rdt_search *search, candidate *each, redtune_error *err) {
    const rdt_bank_entry *entry = NULL;
    redtune_status status =
        rdt_bank_get(search->bank, search->problem, &each->config, &each->launch, &entry, err);
    if (status) return status;
    each->outcome = entry->outcome;
    each->kernel = entry->kernel;
    if (entry->outcome != RDT_OUTCOME_GOOD) return REDTUNE_OK;
    status = rdt_verify_count(search->rig, search->problem, entry->kernel, &each->launch, err);
    if (status == REDTUNE_WRONG) {
        each->outcome = RDT_OUTCOME_WRONG;
        return REDTUNE_OK;
    }
    return status;
}

static redtune_status verify_all(const rdt_search *search, field *all, redtune_error *err) {
    for (size_t i = 0; i < all->count; i++) {
        if (stopped(search, "verify", i, all->count, all)) return interrupted(err);
        redtune_status status = verify(search, &all->at[i], err);
        if (status) {
            char text[RDT_CONFIG_TEXT_BYTES];
            rdt_config_format(rdt_codegen_space(search->codegen, search->family),
                              &all->at[i].config, text);
            return rdt_fail_within(err, status, "config %s", text);
        }
    }
    return REDTUNE_OK;
}

static void take_summary(candidate *each, const rdt_measurement *measurement, field *all) {
    rdt_measurement_summary(measurement, &each->median_ns, &each->spread_ns);
    each->samples = measurement->samples;
    if (!all->best_ns || each->median_ns < all->best_ns) all->best_ns = each->median_ns;
}

/* Times a few candidates in turns. */
static redtune_status time_group(const rdt_search *search, field *all, size_t first, size_t count,
                                 int samples, redtune_error *err) {
    enum { GROUP_MAX = 32 };
    rdt_measurement *open[GROUP_MAX] = {NULL};
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < count; i++) {
        const candidate *each = &all->at[first + i];
        status = rdt_measurement_open(search->rig, search->bank, search->problem, each->kernel,
                                      &each->launch, &open[i], err);
    }
    for (int sample = 0; !status && sample < samples; sample++)
        for (size_t i = 0; !status && i < count; i++) status = rdt_measurement_sample(open[i], err);
    for (size_t i = 0; i < count; i++) {
        if (!status) take_summary(&all->at[first + i], open[i], all);
        rdt_measurement_close(open[i]);
    }
    return status;
}

static redtune_status run_round(const rdt_search *search, field *all, const round_plan *plan,
                                redtune_error *err) {
    const size_t group = 8;
    redtune_status status = REDTUNE_OK;
    size_t done = 0;
    while (!status && done < all->count) {
        if (stopped(search, "measure", done, all->count, all)) {
            status = interrupted(err);
            break;
        }
        size_t count = all->count - done < group ? all->count - done : group;
        status = time_group(search, all, done, count, plan->samples, err);
        if (!status) done += count;
    }
    redtune_error ignored;
    redtune_status stored = store(search, all->at, done, status ? &ignored : err);
    return status ? status : stored;
}

redtune_status rdt_search_run(const rdt_search *search, rdt_found *out, redtune_error *err) {
    field all = {0};
    redtune_status status = fill_field(search, &all, err);
    if (status) goto done;
    status = verify_all(search, &all, err);
    if (status) goto done;
    narrow(&all, SIZE_MAX);
    status = store(search, all.at + all.count, all.all - all.count, err);
    for (int i = 0; !status && i < ROUND_COUNT; i++) {
        narrow(&all, rounds[i].keep);
        status = run_round(search, &all, &rounds[i], err);
    }
    if (status) goto done;
    if (!all.count) {
        status = rdt_fail(err, REDTUNE_WRONG, 0,
                          "cannot tune: none of %zu candidates compiles and gives the right result",
                          all.all);
        goto done;
    }
    narrow(&all, SIZE_MAX);
    rdt_found found = {.winner = all.at[0].config, .winner_ns = all.at[0].median_ns};
    for (size_t i = 0; i < all.all; i++) {
        if (all.at[i].outcome == RDT_OUTCOME_GOOD)
            found.measured++;
        else
            found.failed++;
        if (all.at[i].is_default) found.default_ns = all.at[i].median_ns;
    }
    *out = found;
done:
    free(all.at);
    return status;
}
