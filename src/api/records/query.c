/* Query: the measurements of the databases that a query asks for, row by row. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "api/records/query.h"
#include "api/records/convert.h"
#include "api/records/current.h"
#include "base/reserved.h"
#include "cache/exchange.h"
#include "codegen/codegen.h"
#include "model/hold.h"
#include "model/problem_filter.h"

/* ---- which rows ------------------------------------------------------------------------------ */

static bool is_wanted(const redtune_rows_query *query, const rdt_target *target,
                      const rdt_row *row) {
    const rdt_problem_filter filter = {query->op,    query->dtype, query->layouts,
                                       query->count, query->outer, query->inner};
    return rdt_target_has(target, &row->gpu) &&
           rdt_problem_filter_takes(&filter, &row->trial.problem);
}

static void drop_unwanted(rdt_rows *rows, const redtune_rows_query *query,
                          const rdt_target *target) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (is_wanted(query, target, &rows->row[i])) rows->row[kept++] = rows->row[i];
    rows->count = kept;
}

/* ---- their order ----------------------------------------------------------------------------- */

/* The problem of a winner, and its GPU. Of each op f32 comes first, the dtype most look for. */
static int compare_problem(const rdt_row *a, const rdt_row *b) {
    const redtune_problem *x = &a->trial.problem, *y = &b->trial.problem;
    int diff = rdt_rows_compare_gpu(&a->gpu, &b->gpu);
    if (!diff) diff = rdt_op_compare(x->op, y->op);
    if (!diff) diff = (y->dtype == REDTUNE_F32) - (x->dtype == REDTUNE_F32);
    return diff ? diff : rdt_rows_compare_problem(&a->trial, &b->trial);
}

static int compare_entries(const void *a, const void *b) {
    const rdt_row *x = ((const rdt_listed *)a)->row, *y = ((const rdt_listed *)b)->row;
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

/* Of two winners of one problem, whether the first is the one to go by. */
static bool is_preferred(const rdt_row *a, const rdt_row *b) {
    return a->current != b->current ? a->current : a->date > b->date;
}

/* Tells the entries of the standing's problem, which lie together. */
static redtune_status note_standing(void *user, const rdt_standing *standing, redtune_error *err) {
    rdt_listing *self = user;
    size_t first = 0, end = self->count;
    (void)err;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (compare_problem(self->entry[middle].row, standing->winner) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    for (size_t i = first;
         i < self->count && !compare_problem(self->entry[i].row, standing->winner); i++) {
        rdt_listed *each = &self->entry[i];
        if (each->winner && !is_preferred(standing->winner, each->winner)) continue;
        each->winner = standing->winner;
        each->baseline = standing->baseline;
    }
    return REDTUNE_OK;
}

static redtune_status arrange_listing(rdt_listing *self, redtune_error *err) {
    self->count = self->rows.count;
    self->entry = calloc(self->count + 1, sizeof *self->entry);
    if (!self->entry) return rdt_fail_memory(err, (self->count + 1) * sizeof *self->entry);
    for (size_t i = 0; i < self->count; i++) self->entry[i].row = &self->rows.row[i];
    qsort(self->entry, self->count, sizeof *self->entry, compare_entries);
    return rdt_rows_rank(&self->rows, note_standing, self, err);
}

redtune_status rdt_query_list(const redtune_rows_query *query, const rdt_target_query *about,
                              rdt_listing *out, redtune_error *err) {
    const rdt_layers_wanted wanted = {.contenders = query->winners != 0};
    const rdt_target *target = &out->target;
    char templates[RDT_HASH_TEXT_BYTES];
    redtune_status status = rdt_layers_list(query->database, &out->layers, err);
    if (!status) status = rdt_target_find(about, &out->layers, &out->target, err);
    if (!status) status = rdt_codegen_version(templates, err);
    if (status || !target->found) return status;
    rdt_layers layers = out->layers;
    layers.count = target->layers;
    status = rdt_layers_read(&layers, &wanted, &out->rows, err);
    if (status) return status;
    drop_unwanted(&out->rows, query, target);
    status = rdt_current_mark_by(templates, &out->rows, err);
    return status ? status : arrange_listing(out, err);
}

void rdt_query_free(rdt_listing *listing) {
    free(listing->entry);
    rdt_rows_free(&listing->rows);
    rdt_target_free(&listing->target);
    rdt_layers_free(&listing->layers);
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

static void describe_row(const rdt_listing *self, const rdt_listed *each, redtune_row *out) {
    const rdt_row *row = each->row;
    const rdt_trial *trial = &row->trial;
    const rdt_origin *origin = &row->origin;
    const double bytes = rdt_problem_bytes(&trial->problem);
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
        .op_absent = rdt_op_find(trial->problem.op)->absent,
    };
    rdt_convert_gpu(&row->gpu, &out->gpu);
    tell_conditions(&trial->conditions, out);
    rdt_text_copy(out->family, sizeof out->family, trial->family);
    rdt_text_copy(out->config, sizeof out->config, trial->config);
}

/* Lists for a caller, whose query also names the target. */
static redtune_status list_query(const redtune_rows_query *query, const char *verb,
                                 rdt_listing *out, redtune_error *err) {
    const rdt_target_query about = {
        .verb = verb, .gpu = query->gpu, .shipped = query->shipped != 0, .own = query->own != 0};
    redtune_status status = rdt_reserved_check(RDT_RESERVED(query), "redtune_rows_query", err);
    if (!status) status = rdt_problem_check_filter(query->op, query->dtype, err);
    return status ? status : rdt_query_list(query, &about, out, err);
}

redtune_status redtune_rows_each(const redtune_rows_query *query, redtune_row_fn *each, void *user,
                                 redtune_error *err) {
    const redtune_rows_query usual = {.database = NULL};
    rdt_listing self = {.count = 0};
    if (!each) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot list measurements: each is NULL");
    if (!query) query = &usual;
    redtune_status status = list_query(query, "list measurements", &self, err);
    for (size_t i = 0; !status && i < self.count; i++) {
        redtune_row row;
        if (query->winners && self.entry[i].winner != self.entry[i].row) continue;
        describe_row(&self, &self.entry[i], &row);
        status = each(user, &row, err);
    }
    rdt_query_free(&self);
    return status;
}

double redtune_noise_ns(const double median_ns[2], const double spread_ns[2],
                        const int samples[2]) {
    const rdt_trial then = {
        .median_ns = median_ns[0], .spread_ns = spread_ns[0], .samples = samples[0]};
    const rdt_trial now = {
        .median_ns = median_ns[1], .spread_ns = spread_ns[1], .samples = samples[1]};
    return rdt_hold_noise_ns((rdt_then_now){&then, &now});
}

redtune_status redtune_export(const redtune_rows_query *query, redtune_export_format format,
                              void **data, size_t *bytes, redtune_error *err) {
    const redtune_rows_query everything_own = {.gpu = "all", .own = 1};
    if (!data || !bytes)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot export: %s is NULL",
                        data ? "bytes" : "data");
    if (format != REDTUNE_EXPORT_SQLITE && format != REDTUNE_EXPORT_JSON)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot export: unknown format %d", (int)format);
    if (!query) query = &everything_own;
    rdt_listing self = {.count = 0};
    rdt_rows chosen = {0};
    redtune_status status = list_query(query, "export", &self, err);
    for (size_t i = 0; !status && i < self.count; i++) {
        const rdt_listed *each = &self.entry[i];
        if (!query->winners || each->row == each->winner || each->row == each->baseline)
            status = rdt_rows_add(&chosen, each->row, err);
    }
    if (!status)
        status =
            (format == REDTUNE_EXPORT_JSON ? rdt_exchange_write_json
                                           : rdt_exchange_write_file)(&chosen, data, bytes, err);
    rdt_rows_free(&chosen);
    rdt_query_free(&self);
    return status;
}
