/* Select keyed: which measurement serves a problem by key. */
#include "api/records/select_keyed.h"

#include <math.h>
#include <string.h>

static double apart(uint64_t a, uint64_t b) {
    return fabs(log2(((double)a + 1) / ((double)b + 1)));
}

double rdt_select_keyed_distance(const redtune_problem *here, const redtune_problem *measured) {
    return apart(here->keys, measured->keys) +
           apart(rdt_problem_count(here), rdt_problem_count(measured)) +
           apart(rdt_problem_keyed_width(here), rdt_problem_keyed_width(measured));
}

static bool is_here(const rdt_row *row, rdt_case at) {
    return row->trial.problem.spread && row->trial.outcome == RDT_OUTCOME_GOOD &&
           rdt_facts_same_model(&row->gpu, at.facts);
}

static const redtune_problem *nearest_keyed(const rdt_rows *rows, rdt_case at) {
    const redtune_problem *nearest = NULL;
    double least = RDT_WINNERS_DISTANCE_MAX;
    for (size_t i = 0; i < rows->count; i++) {
        const redtune_problem *each = &rows->row[i].trial.problem;
        const double distance = rdt_select_keyed_distance(at.problem, each);
        if (!is_here(&rows->row[i], at) || distance > least || (nearest && distance == least))
            continue;
        least = distance;
        nearest = each;
    }
    return nearest;
}

/* The rows of one spread at the nearest extents. */
typedef struct spread_rows {
    const rdt_rows *rows;
    rdt_case at;
    const redtune_problem *nearest;
    int spread, samples; /* the most of any of them; 0: it has no rows */
} spread_rows;

static bool is_of(const spread_rows *self, const rdt_row *row) {
    return (int)row->trial.problem.spread == self->spread && is_here(row, self->at) &&
           rdt_problem_same_extents(&row->trial.problem, self->nearest);
}

static int most_samples(const spread_rows *self) {
    int most = 0;
    for (size_t i = 0; i < self->rows->count; i++)
        if (is_of(self, &self->rows->row[i]) && self->rows->row[i].trial.samples > most)
            most = self->rows->row[i].trial.samples;
    return most;
}

/* The slowest of the row's config that was timed with care; NULL: none was. */
static const rdt_row *slowest_of_config(const spread_rows *self, const rdt_row *wanted) {
    const rdt_row *found = NULL;
    for (size_t i = 0; i < self->rows->count; i++) {
        const rdt_row *each = &self->rows->row[i];
        if (is_of(self, each) && 2 * each->trial.samples >= self->samples &&
            !strcmp(each->trial.family, wanted->trial.family) &&
            !strcmp(each->trial.config, wanted->trial.config) &&
            (!found || each->trial.median_ns > found->trial.median_ns))
            found = each;
    }
    return found;
}

enum { SPREADS_MAX = 8 };

/* The row of the config that took longest; NULL: it was not measured in every spread. */
static const rdt_row *find_worst(const spread_rows *spreads, size_t count, const rdt_row *wanted) {
    const rdt_row *worst = NULL;
    for (size_t i = 0; i < count; i++) {
        const rdt_row *each = slowest_of_config(&spreads[i], wanted);
        if (!each) return NULL;
        if (!worst || each->trial.median_ns > worst->trial.median_ns) worst = each;
    }
    return worst;
}

static bool is_allowed_by_key(rdt_codegen *codegen, rdt_case at, const rdt_row *row,
                              rdt_point *point) {
    redtune_error ignored;
    return !rdt_point_read(rdt_codegen_spaces(codegen), row->trial.family, row->trial.config, point,
                           &ignored) &&
           !rdt_rules_check(codegen, at, point, &ignored);
}

const rdt_row *rdt_select_keyed_unknown(const rdt_rows *rows, rdt_codegen *codegen, rdt_case at,
                                        rdt_point *out) {
    spread_rows spreads[SPREADS_MAX];
    size_t count = 0;
    const rdt_row *best = NULL;
    const redtune_problem *nearest = nearest_keyed(rows, at);
    for (int i = 1; nearest && count < SPREADS_MAX && rdt_problem_spread_name(i); i++) {
        spreads[count] = (spread_rows){rows, at, nearest, i, 0};
        spreads[count].samples = most_samples(&spreads[count]);
        count += spreads[count].samples > 0;
    }
    for (size_t i = 0; count && i < rows->count; i++) {
        const rdt_row *each = &rows->row[i];
        rdt_point point;
        if (!is_of(&spreads[0], each)) continue;
        each = find_worst(spreads, count, each);
        if (!each || (best && each->trial.median_ns >= best->trial.median_ns) ||
            !is_allowed_by_key(codegen, at, each, &point))
            continue;
        best = each;
        *out = point;
    }
    return best;
}
