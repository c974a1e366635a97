/* Probe: trials of the values that are not explored from the start. */
#include "tuner/search/probe.h"

#include <limits.h>
#include <stdlib.h>
#include "tuner/search/neighbours.h"
#include "tuner/search/seeds.h"

enum {
    AROUND_PROBE = 2 /* points around a probe that wins */
};

/* Times its control's time: so fast a probe shows that its value is worth exploring, by itself or
 * where it is also near the best. Two times of few samples differ by 3 % now and then. */
static const double worth_margin = 0.92, close_margin = 0.97;
static const double near_margin = 1.02; /* times the best's time */
/* Times the best's time: a family whose best is slower is not probed. */
static const double family_margin = 1.2;
/* Times the time of the best before: so much faster a probe shows that the search looked in the
 * wrong part of the space so far. */
static const double wrong_margin = 0.90;

/* ---- choosing -------------------------------------------------------------------------------- */

/* The open entry nearest to the point among those of its names; the count if the point itself was
 * tried, or there is none. */
static size_t find_nearest(const rdt_candidates *candidates, const rdt_point *point) {
    const uint64_t kind = rdt_neighbours_kind(candidates->spaces, point);
    const long same = rdt_candidates_find(candidates, point);
    size_t nearest = candidates->count;
    int least = INT_MAX;
    if (same >= 0 && candidates->entry[same].tried) return nearest;
    for (size_t i = 0; i < candidates->count; i++) {
        const rdt_entry *each = &candidates->entry[i];
        if (each->tried || each->probed || each->kind != kind) continue;
        const int steps =
            rdt_neighbours_distance(candidates->spaces, &each->candidate.point, point);
        if (steps >= least) continue;
        least = steps;
        nearest = i;
    }
    return nearest;
}

/* Whether the value is tried: it is not the default's, and its use is from `least` on. */
static bool is_probed(const rdt_values *values, int family, int i, int k, rdt_use least) {
    const rdt_use use = values->of[family][i][k];
    return use >= least && use != RDT_USE_BASE;
}

/* The best point of the family at the problem that the search starts from, the next smaller one
 * where there is one: its kernel, and those of its probes, are known before the search begins. */
static redtune_status find_start(const rdt_search *search, int family, rdt_point *out,
                                 size_t *found, redtune_error *err) {
    const rdt_similar *from = search->similar;
    *found = 0;
    if (!search->similar_count) return REDTUNE_OK;
    for (size_t i = search->similar_count; i-- > 0;)
        if (search->similar[i].shift > 0) from = &search->similar[i];
    return rdt_seeds_best(search, from, family, 1, out, found, err);
}

static void prepare_chosen(const rdt_probes *probes, rdt_explorer *explorer) {
    for (size_t i = 0; i < probes->count; i++) explorer->scratch[i] = probes->probe[i].entry;
    rdt_candidates_prepare(explorer->candidates, explorer->scratch, probes->count, true);
}

static rdt_point with_value(const rdt_spaces *spaces, const rdt_point *control, int i, int k) {
    rdt_point changed = *control;
    changed.value[i] = rdt_point_space(spaces, control)->param[i].value[k];
    return changed;
}

/* Each value of the control's family of a use from `least` on that is not the default's. */
static void choose_all(rdt_probes *probes, const rdt_explorer *explorer, size_t control,
                       rdt_use least) {
    const rdt_candidates *candidates = explorer->candidates;
    const rdt_point *point = &candidates->entry[control].candidate.point;
    const rdt_space *space = rdt_point_space(candidates->spaces, point);
    for (int i = 0; i < space->param_count; i++)
        for (int k = 0; k < space->param[i].value_count; k++) {
            if (!is_probed(&explorer->values, point->family, i, k, least)) continue;
            const rdt_point changed = with_value(candidates->spaces, point, i, k);
            const size_t nearest = find_nearest(candidates, &changed);
            if (nearest == candidates->count) continue;
            candidates->entry[nearest].probed = true;
            probes->probe[probes->count++] = (rdt_probe){point->family, i, k, nearest, control};
        }
}

/* The best entry of the family so far; the count if none is good. */
static size_t find_best(const rdt_candidates *candidates, int family) {
    size_t best = candidates->count;
    for (size_t i = 0; i < candidates->count; i++) {
        const rdt_entry *each = &candidates->entry[i];
        if (each->samples && each->candidate.point.family == family &&
            (best == candidates->count || each->median_ns < candidates->entry[best].median_ns))
            best = i;
    }
    return best;
}

/* Whether the best of a family is good, and near the best of all. */
static bool is_near_best(const rdt_candidates *candidates, size_t best) {
    return best < candidates->count &&
           candidates->entry[best].median_ns <= candidates->best_ns * family_margin;
}

static redtune_status choose_of_family(rdt_probes *probes, const rdt_explorer *explorer, int family,
                                       redtune_error *err) {
    const rdt_candidates *candidates = explorer->candidates;
    const size_t best = find_best(candidates, family);
    rdt_point point;
    size_t found = 0;
    redtune_status status = find_start(candidates->search, family, &point, &found, err);
    if (status) return status;
    const long start = found ? rdt_candidates_find(candidates, &point) : -1;
    probes->started[family] = start >= 0 && candidates->entry[start].samples;
    if (is_near_best(candidates, best))
        choose_all(probes, explorer, probes->started[family] ? (size_t)start : best, RDT_USE_TIED);
    return REDTUNE_OK;
}

redtune_status rdt_probe_choose(rdt_probes *probes, rdt_explorer *explorer, redtune_error *err) {
    const int families = explorer->candidates->spaces->count;
    const size_t most = (size_t)families * 2 * RDT_PARAM_MAX * RDT_PARAM_VALUE_MAX;
    redtune_status status = REDTUNE_OK;
    probes->probe = malloc(most * sizeof *probes->probe);
    if (!probes->probe) return rdt_fail_memory(err, most * sizeof *probes->probe);
    for (int f = 0; !status && f < families; f++)
        status = choose_of_family(probes, explorer, f, err);
    if (!status) prepare_chosen(probes, explorer);
    return status;
}

static void prepare_for(const rdt_search *search, const rdt_values *values,
                        const rdt_point *control) {
    const rdt_spaces *spaces = rdt_codegen_spaces(search->codegen);
    const rdt_space *space = rdt_point_space(spaces, control);
    const rdt_case at = {search->problem, search->facts};
    rdt_candidate candidates[RDT_PARAM_MAX * RDT_PARAM_VALUE_MAX];
    size_t count = 0;
    for (int i = 0; i < space->param_count; i++)
        for (int k = 0; k < space->param[i].value_count; k++) {
            const rdt_point changed = with_value(spaces, control, i, k);
            if (is_probed(values, control->family, i, k, RDT_USE_TIED) &&
                !rdt_rules_check(search->codegen, at, &changed, NULL))
                candidates[count++] = (rdt_candidate){.point = changed};
        }
    const rdt_batch batch = {search->problem, candidates, count};
    if (count) search->evaluator->prepare(search->evaluator->self, &batch, true);
}

redtune_status rdt_probe_prepare(const rdt_search *search, redtune_error *err) {
    const int families = rdt_codegen_spaces(search->codegen)->count;
    rdt_values values = {{{{0}}}};
    if (!search->evaluator->prepare) return REDTUNE_OK;
    redtune_status status = rdt_values_classify(search, &values, err);
    for (int f = 0; !status && f < families; f++) {
        rdt_point control;
        size_t found = 0;
        status = find_start(search, f, &control, &found, err);
        if (!status && found) prepare_for(search, &values, &control);
    }
    return status;
}

void rdt_probe_free(rdt_probes *probes) {
    free(probes->probe);
    *probes = (rdt_probes){0};
}

/* ---- trying ---------------------------------------------------------------------------------- */

static void propose_all(const rdt_probes *probes, rdt_explorer *explorer) {
    for (size_t i = 0; i < probes->count; i++) {
        const size_t entry = probes->probe[i].entry;
        if (explorer->candidates->entry[entry].tried) continue;
        rdt_explorer_propose_entry(explorer, entry);
        explorer->limit++;
    }
}

static bool wins(const rdt_candidates *candidates, const rdt_probe *probe) {
    const rdt_entry *entry = &candidates->entry[probe->entry],
                    *control = &candidates->entry[probe->control];
    const bool is_near = entry->median_ns < candidates->best_ns * near_margin;
    return entry->samples &&
           entry->median_ns < control->median_ns * (is_near ? close_margin : worth_margin);
}

/* Proposes the best of the family with the probe's value; and the neighbours of the probe, if that
 * is the best. */
static void propose_around_probe(rdt_explorer *explorer, const rdt_probe *probe) {
    const rdt_candidates *candidates = explorer->candidates;
    const size_t best = find_best(candidates, probe->family);
    const rdt_point changed = with_value(
        candidates->spaces, &candidates->entry[best].candidate.point, probe->param, probe->value);
    explorer->limit += AROUND_PROBE;
    rdt_explorer_propose(explorer, &changed);
    if (best == probe->entry) rdt_explorer_propose_neighbours(explorer, best);
}

/* Explores the values whose probes win; where one is far better than the best before, measures as
 * many points again. */
static redtune_status explore_winners(const rdt_probes *probes, rdt_explorer *explorer,
                                      double best_ns, redtune_error *err) {
    const size_t before = explorer->limit;
    bool any = false;
    for (size_t i = 0; i < probes->count; i++) {
        const rdt_probe *each = &probes->probe[i];
        if (!wins(explorer->candidates, each)) continue;
        explorer->values.of[each->family][each->param][each->value] = RDT_USE_IN;
        any = true;
    }
    if (!any) return REDTUNE_OK;
    rdt_explorer_mark(explorer);
    for (size_t i = 0; i < probes->count; i++)
        if (wins(explorer->candidates, &probes->probe[i]))
            propose_around_probe(explorer, &probes->probe[i]);
    redtune_status status = rdt_explorer_measure(explorer, err);
    if (explorer->candidates->best_ns < best_ns * wrong_margin) explorer->limit += before;
    return status ? status : rdt_explorer_climb(explorer, 0, err);
}

redtune_status rdt_probe_run(rdt_probes *probes, rdt_explorer *explorer, redtune_error *err) {
    const double best_ns = explorer->candidates->best_ns;
    for (int f = 0; f < explorer->candidates->spaces->count; f++) {
        const size_t best = find_best(explorer->candidates, f);
        if (!probes->started[f] && is_near_best(explorer->candidates, best))
            choose_all(probes, explorer, best, RDT_USE_UNKNOWN);
    }
    propose_all(probes, explorer);
    redtune_status status = rdt_explorer_measure(explorer, err);
    return status ? status : explore_winners(probes, explorer, best_ns, err);
}
