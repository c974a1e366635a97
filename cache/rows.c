/* Rows: measurements in memory, from one database or several, and what wins among them.
 *
 * A group is the rows of one problem, cache state, GPU model and version of the templates. Rows
 * are sorted by group, then by age, then by content and never by where a row came from: so the
 * same rows give the same winner and the same bytes, whatever database they lie in. */
#include "cache/rows.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "model/winner.h"

redtune_status rdt_rows_add(rdt_rows *rows, const rdt_row *row, redtune_error *err) {
    redtune_status status = RDT_ARRAY_RESERVE(rows->row, rows->capacity, rows->count + 1, err);
    if (!status) rows->row[rows->count++] = *row;
    return status;
}

redtune_status rdt_rows_keep(void *user, const rdt_row *row, redtune_error *err) {
    return rdt_rows_add(user, row, err);
}

void rdt_rows_free(rdt_rows *rows) {
    free(rows->row);
    *rows = (rdt_rows){0};
}

/* ---- their order --------------------------------------------------------------------------- */

static int sign(double a, double b) { return (a > b) - (a < b); }

static int compare_integers(int64_t a, int64_t b) { return (a > b) - (a < b); }

int rdt_rows_compare_problem(const rdt_trial *a, const rdt_trial *b) {
    int diff = rdt_problem_compare_class(&a->problem, &b->problem);
    if (!diff) diff = (int)a->cache - (int)b->cache;
    return diff ? diff : rdt_problem_compare_extents(&a->problem, &b->problem);
}

int rdt_rows_compare_gpu(const rdt_facts *a, const rdt_facts *b) {
    int diff = strcmp(a->name, b->name);
    if (!diff) diff = a->major - b->major;
    if (!diff) diff = a->minor - b->minor;
    if (!diff) diff = a->sm_count - b->sm_count;
    if (!diff) diff = (a->l2_bytes > b->l2_bytes) - (a->l2_bytes < b->l2_bytes);
    return diff ? diff : a->bus_bits - b->bus_bits;
}

int rdt_rows_compare_group(const rdt_row *a, const rdt_row *b) {
    int diff = rdt_rows_compare_problem(&a->trial, &b->trial);
    if (!diff) diff = rdt_rows_compare_gpu(&a->gpu, &b->gpu);
    if (!diff) diff = (int)a->current - (int)b->current;
    return diff || a->current ? diff : strcmp(a->origin.templates, b->origin.templates);
}

/* What does not matter for who wins, so that equal sets of rows are sorted alike. */
static int compare_rest(const rdt_row *x, const rdt_row *y) {
    const rdt_conditions *a = &x->trial.conditions, *b = &y->trial.conditions;
    int diff = strcmp(x->trial.cause, y->trial.cause);
    if (!diff) diff = (int)x->trial.is_default - (int)y->trial.is_default;
    if (!diff) diff = compare_integers(x->trial.rank, y->trial.rank);
    if (!diff) diff = a->sm_mhz - b->sm_mhz;
    if (!diff) diff = a->memory_mhz - b->memory_mhz;
    if (!diff) diff = a->temperature_c - b->temperature_c;
    if (!diff) diff = compare_integers((int64_t)a->throttle, (int64_t)b->throttle);
    if (!diff) diff = a->others - b->others;
    if (!diff) diff = x->gpu.memory_khz - y->gpu.memory_khz;
    if (!diff) diff = x->origin.driver_version - y->origin.driver_version;
    if (!diff) diff = x->origin.nvrtc_version - y->origin.nvrtc_version;
    if (!diff) diff = strcmp(x->origin.templates, y->origin.templates);
    if (!diff) diff = strcmp(x->trial.kernel, y->trial.kernel);
    return diff ? diff : strcmp(x->origin.machine, y->origin.machine);
}

/* Within a group by age, and where that is equal by content, never by where a row came from. */
static int compare_rows(const rdt_row *x, const rdt_row *y) {
    int diff = rdt_rows_compare_group(x, y);
    if (!diff) diff = compare_integers(x->date, y->date);
    if (!diff) diff = strcmp(x->trial.family, y->trial.family);
    if (!diff) diff = strcmp(x->trial.config, y->trial.config);
    /* Of the same second the good one is the older: what is bad then is out. */
    if (!diff) diff = (int)x->trial.outcome - (int)y->trial.outcome;
    if (!diff) diff = sign(x->trial.median_ns, y->trial.median_ns);
    if (!diff) diff = sign(x->trial.spread_ns, y->trial.spread_ns);
    if (!diff) diff = x->trial.samples - y->trial.samples;
    return diff ? diff : compare_rest(x, y);
}

static int compare(const void *a, const void *b) {
    return compare_rows(*(const rdt_row *const *)a, *(const rdt_row *const *)b);
}

static int compare_in_place(const void *a, const void *b) { return compare_rows(a, b); }

void rdt_rows_sort(rdt_rows *rows) {
    if (rows->count) qsort(rows->row, rows->count, sizeof *rows->row, compare_in_place);
}

/* ---- what wins ----------------------------------------------------------------------------- */

static redtune_status rank_group(const rdt_row *const *rows, size_t count, const rdt_trial **trials,
                                 rdt_rows_rank_fn *each, void *user, redtune_error *err) {
    rdt_winner found;
    for (size_t i = 0; i < count; i++) trials[i] = &rows[i]->trial;
    redtune_status status = rdt_winner_choose(trials, count, &found, err);
    if (status || !found.trial) return status;
    rdt_standing standing = {.count = count};
    for (size_t i = 0; i < count; i++) {
        if (trials[i] == found.trial) standing.winner = rows[i];
        if (trials[i] == found.fastest) standing.fastest = rows[i];
        if (trials[i] == found.baseline) standing.baseline = rows[i];
    }
    return each(user, &standing, err);
}

redtune_status rdt_rows_rank(const rdt_rows *rows, rdt_rows_rank_fn *each, void *user,
                             redtune_error *err) {
    size_t bytes = (rows->count + 1) * (sizeof(rdt_row *) + sizeof(rdt_trial *));
    const rdt_row **sorted = malloc(bytes);
    if (!sorted) return rdt_fail_memory(err, bytes);
    const rdt_trial **trials = (const rdt_trial **)(sorted + rows->count);
    for (size_t i = 0; i < rows->count; i++) sorted[i] = &rows->row[i];
    qsort(sorted, rows->count, sizeof *sorted, compare);
    redtune_status status = REDTUNE_OK;
    for (size_t first = 0, end; !status && first < rows->count; first = end) {
        end = first + 1;
        while (end < rows->count && !rdt_rows_compare_group(sorted[first], sorted[end])) end++;
        status = rank_group(&sorted[first], end - first, trials, each, user, err);
    }
    free(sorted);
    return status;
}
