/* Query: the measurements of the databases that a query asks for, row by row. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "api/records/query.h"
#include "api/records/convert.h"
#include "api/records/current.h"
#include "base/array.h"
#include "base/reserved.h"
#include "cache/exchange.h"
#include "codegen/codegen.h"
#include "redtune/records.h"

/* A row with what it is told by. */
typedef struct entry {
    const rdt_row *row;
    const rdt_row *winner, *baseline; /* of its problem on its GPU; NULL: none */
} entry;

typedef struct listing {
    const redtune_rows_query *query;
    rdt_layers layers;
    const rdt_target *target;
    rdt_rows rows;
    entry *entries;
    size_t count;
    rdt_standing *standings; /* one per problem, GPU and version of the templates */
    size_t standing_count, standing_capacity;
} listing;

/* ---- which rows ------------------------------------------------------------------------------ */

static bool is_wanted(const listing *self, const rdt_row *row) {
    const redtune_rows_query *query = self->query;
    const redtune_problem *problem = &row->trial.problem;
    return rdt_target_has(self->target, &row->gpu) && (!query->op || *query->op == problem->op) &&
           (!query->dtype || *query->dtype == problem->dtype) &&
           (!query->count || query->count == problem->count);
}

static void drop_unwanted(listing *self) {
    size_t kept = 0;
    for (size_t i = 0; i < self->rows.count; i++)
        if (is_wanted(self, &self->rows.row[i])) self->rows.row[kept++] = self->rows.row[i];
    self->rows.count = kept;
}

/* ---- their order ----------------------------------------------------------------------------- */

/* The problem of a winner, and its GPU. */
static int compare_problem(const rdt_row *a, const rdt_row *b) {
    int diff = rdt_rows_compare_gpu(&a->gpu, &b->gpu);
    return diff ? diff : rdt_rows_compare_problem(&a->trial, &b->trial);
}

static int compare_entries(const void *a, const void *b) {
    const rdt_row *x = ((const entry *)a)->row, *y = ((const entry *)b)->row;
    int diff = compare_problem(x, y);
    bool x_good = x->trial.outcome == RDT_OUTCOME_GOOD,
         y_good = y->trial.outcome == RDT_OUTCOME_GOOD;
    if (!diff && x_good != y_good) diff = x_good ? -1 : 1;
    if (!diff)
        diff =
            (x->trial.median_ns > y->trial.median_ns) - (x->trial.median_ns < y->trial.median_ns);
    if (!diff) diff = strcmp(x->trial.config, y->trial.config);
    return diff ? diff : (x > y) - (x < y);
}

/* ---- who wins -------------------------------------------------------------------------------- */

static redtune_status keep_standing(void *user, const rdt_standing *standing, redtune_error *err) {
    listing *self = user;
    redtune_status status =
        RDT_ARRAY_RESERVE(self->standings, self->standing_capacity, self->standing_count + 1, err);
    if (!status) self->standings[self->standing_count++] = *standing;
    return status;
}

static int compare_standings(const void *a, const void *b) {
    const rdt_standing *x = a, *y = b;
    int diff = compare_problem(x->winner, y->winner);
    return diff ? diff : rdt_rows_compare_group(x->winner, y->winner);
}

/* Of two standings of one problem, whether the first is the one to go by. */
static bool is_preferred(const rdt_standing *a, const rdt_standing *b) {
    bool a_counts = a->winner->current, b_counts = b->winner->current;
    return a_counts != b_counts ? a_counts : a->winner->date > b->winner->date;
}

/* The standings and the entries are in the same order of problems. */
static void tell_winners(listing *self) {
    size_t at = 0;
    for (size_t i = 0; i < self->count; i++) {
        entry *each = &self->entries[i];
        while (at < self->standing_count &&
               compare_problem(self->standings[at].winner, each->row) < 0)
            at++;
        const rdt_standing *best = NULL;
        for (size_t k = at;
             k < self->standing_count && !compare_problem(self->standings[k].winner, each->row);
             k++)
            if (!best || is_preferred(&self->standings[k], best)) best = &self->standings[k];
        if (!best) continue;
        each->winner = best->winner;
        each->baseline = best->baseline;
    }
}

static redtune_status arrange_listing(listing *self, redtune_error *err) {
    self->count = self->rows.count;
    self->entries = calloc(self->count + 1, sizeof *self->entries);
    if (!self->entries) return rdt_fail_memory(err, (self->count + 1) * sizeof *self->entries);
    for (size_t i = 0; i < self->count; i++) self->entries[i].row = &self->rows.row[i];
    qsort(self->entries, self->count, sizeof *self->entries, compare_entries);
    redtune_status status = rdt_rows_rank(&self->rows, keep_standing, self, err);
    if (status) return status;
    if (self->standing_count)
        qsort(self->standings, self->standing_count, sizeof *self->standings, compare_standings);
    tell_winners(self);
    return REDTUNE_OK;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void tell_conditions(const rdt_conditions *conditions, redtune_row *out) {
    bool any = conditions->sm_mhz || conditions->memory_mhz || conditions->temperature_c ||
               conditions->throttle || conditions->others;
    out->sm_mhz = conditions->sm_mhz ? conditions->sm_mhz : -1;
    out->memory_mhz = conditions->memory_mhz ? conditions->memory_mhz : -1;
    out->temperature_c = conditions->temperature_c ? conditions->temperature_c : -1;
    out->others = any ? conditions->others : -1;
    out->throttle = any ? (int64_t)conditions->throttle : -1;
}

static void describe_row(const listing *self, const entry *each, redtune_row *out) {
    const rdt_row *row = each->row;
    const rdt_trial *trial = &row->trial;
    const rdt_origin *origin = &row->origin;
    double bytes = (double)trial->problem.count * (double)redtune_dtype_bytes(trial->problem.dtype);
    *out = (redtune_row){
        .problem = trial->problem,
        .warm = trial->cache == RDT_CACHE_WARM,
        .rank = trial->rank == INT_MAX ? -1 : trial->rank,
        .outcome = rdt_trial_outcome_name(trial->outcome),
        .cause = trial->cause,
        .median_ns = trial->median_ns,
        .spread_ns = trial->spread_ns,
        .gbps = trial->median_ns > 0 ? bytes / trial->median_ns : 0,
        .samples = trial->samples,
        .winner_ns = each->winner ? each->winner->trial.median_ns : 0,
        .default_ns = each->baseline ? each->baseline->trial.median_ns : 0,
        .is_winner = each->winner == row,
        .is_default = trial->is_default,
        .machine = origin->machine,
        .templates = origin->templates,
        .templates_differ = !row->current,
        .driver_version = origin->driver_version,
        .nvrtc_version = origin->nvrtc_version,
        .date = row->date,
        .imported = trial->imported,
        .shipped = row->layer >= self->layers.own,
        .database = self->layers.path[row->layer],
    };
    rdt_convert_gpu(&row->gpu, &out->gpu);
    tell_conditions(&trial->conditions, out);
    rdt_text_copy(out->family, sizeof out->family, trial->family);
    rdt_text_copy(out->config, sizeof out->config, trial->config);
}

static redtune_status give(const listing *self, redtune_row_fn *each, void *user,
                           redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < self->count; i++) {
        redtune_row row;
        if (self->query->winners && self->entries[i].winner != self->entries[i].row) continue;
        describe_row(self, &self->entries[i], &row);
        status = each(user, &row, err);
    }
    return status;
}

/* Reads and arranges what the query asks for. The listing is closed in any case. */
static redtune_status open_listing(listing *self, redtune_error *err) {
    const rdt_layers_wanted wanted = {.contenders = self->query->winners != 0};
    char templates[RDT_HASH_TEXT_BYTES];
    redtune_status status = rdt_codegen_version(templates, err);
    if (!status) status = rdt_layers_list(self->query->database, &self->layers, err);
    if (status || !self->target->found) return status;
    rdt_layers layers = self->layers;
    layers.count = self->target->layers;
    status = rdt_layers_read(&layers, &wanted, &self->rows, err);
    if (status) return status;
    drop_unwanted(self);
    status = rdt_current_mark_by(templates, &self->rows, err);
    return status ? status : arrange_listing(self, err);
}

static void close_listing(listing *self) {
    free(self->standings);
    free(self->entries);
    rdt_rows_free(&self->rows);
    rdt_layers_free(&self->layers);
}

redtune_status rdt_query_each(const redtune_rows_query *query, const rdt_target *target,
                              redtune_row_fn *each, void *user, redtune_error *err) {
    listing self = {.query = query, .target = target};
    redtune_status status = open_listing(&self, err);
    if (!status) status = give(&self, each, user, err);
    close_listing(&self);
    return status;
}

static redtune_status target_of_query(const redtune_rows_query *query, const char *verb,
                                      rdt_target *out, redtune_error *err) {
    const rdt_target_query wanted = {
        .verb = verb, .gpu = query->gpu, .shipped = query->shipped != 0, .own = query->own != 0};
    rdt_layers layers = {.count = 0};
    redtune_status status = rdt_reserved_check(RDT_RESERVED(query), "redtune_rows_query", err);
    if (!status) status = rdt_problem_check_filter(query->op, query->dtype, err);
    if (!status) status = rdt_layers_list(query->database, &layers, err);
    if (!status) status = rdt_target_find(&wanted, &layers, out, err);
    rdt_layers_free(&layers);
    return status;
}

redtune_status redtune_rows_each(const redtune_rows_query *query, redtune_row_fn *each, void *user,
                                 redtune_error *err) {
    const redtune_rows_query usual = {.database = NULL};
    rdt_target target = {.all = false};
    if (!each) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot list measurements: each is NULL");
    if (!query) query = &usual;
    redtune_status status = target_of_query(query, "list measurements", &target, err);
    if (!status) status = rdt_query_each(query, &target, each, user, err);
    rdt_target_free(&target);
    return status;
}

/* ---- writing them out ------------------------------------------------------------------------ */

redtune_status redtune_export(const redtune_rows_query *query, redtune_export_format format,
                              void **data, size_t *bytes, redtune_error *err) {
    const redtune_rows_query everything_own = {.gpu = "all", .own = 1};
    if (!data || !bytes)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot export: %s is NULL",
                        data ? "bytes" : "data");
    if (format != REDTUNE_EXPORT_SQLITE && format != REDTUNE_EXPORT_JSON)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot export: unknown format %d", (int)format);
    rdt_target target = {.all = false};
    listing self = {.query = query ? query : &everything_own, .target = &target};
    rdt_rows chosen = {0};
    redtune_status status = target_of_query(self.query, "export", &target, err);
    if (!status) status = open_listing(&self, err);
    for (size_t i = 0; !status && i < self.count; i++) {
        const entry *each = &self.entries[i];
        if (!self.query->winners || each->row == each->winner || each->row == each->baseline)
            status = rdt_rows_add(&chosen, each->row, err);
    }
    if (!status)
        status =
            (format == REDTUNE_EXPORT_JSON ? rdt_exchange_write_json
                                           : rdt_exchange_write_file)(&chosen, data, bytes, err);
    rdt_rows_free(&chosen);
    close_listing(&self);
    rdt_target_free(&target);
    return status;
}
