/* Report: what the tuning databases say of one GPU model, gathered for a page. */
#include <stdlib.h>
#include <string.h>
#include "api/records/query.h"
#include "api/records/convert.h"
#include "base/array.h"
#include "base/reserved.h"
#include "codegen/page.h"
#include "redtune/records.h"
#include "redtune/tools.h"

/* NVML's clocks event reasons that are no choice of anyone's: power, heat and brakes. */
static const int64_t throttle_reasons = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/* A measurement with copies of the strings that live during the call only. */
typedef struct measured {
    redtune_row row;
    rdt_report_origin origin;
    rdt_outcome outcome;
} measured;

/* The measurements of one problem, cache state and GPU model, as they come by. */
typedef struct group {
    measured *item;
    size_t count, capacity;
} group;

typedef struct gathering {
    const redtune_reporting *wanted;
    rdt_layers layers;
    rdt_target target;
    group group;
    const rdt_report_point *shown; /* second time through: whose candidates are kept */
    rdt_report report;
    size_t point_capacity, origin_capacity;
} gathering;

static bool same_point(const redtune_row *a, const redtune_row *b) {
    return rdt_problem_same(&a->problem, &b->problem) && !a->warm == !b->warm;
}

/* ---- one problem ----------------------------------------------------------------------------- */

static redtune_status find_origin(gathering *self, const rdt_report_origin *origin, size_t *index,
                                  redtune_error *err) {
    rdt_report *report = &self->report;
    for (*index = 0; *index < report->origin_count; ++*index) {
        const rdt_report_origin *known = &report->origin[*index];
        if (!strcmp(known->machine, origin->machine) &&
            !strcmp(known->templates, origin->templates) &&
            known->driver_version == origin->driver_version &&
            known->nvrtc_version == origin->nvrtc_version)
            return REDTUNE_OK;
    }
    redtune_status status =
        RDT_ARRAY_RESERVE(report->origin, self->origin_capacity, report->origin_count + 1, err);
    if (!status) report->origin[report->origin_count++] = *origin;
    return status;
}

static rdt_trial trial_of(const measured *item) {
    const redtune_row *row = &item->row;
    rdt_trial trial = {
        .problem = row->problem,
        .cache = row->warm ? RDT_CACHE_WARM : RDT_CACHE_COLD,
        .is_default = row->is_default != 0,
        .outcome = item->outcome,
        .median_ns = row->median_ns,
        .spread_ns = row->spread_ns,
        .samples = row->samples,
        .conditions = {.sm_mhz = row->sm_mhz > 0 ? row->sm_mhz : 0,
                       .temperature_c = row->temperature_c > 0 ? row->temperature_c : 0},
    };
    rdt_text_copy(trial.family, sizeof trial.family, row->family);
    rdt_text_copy(trial.config, sizeof trial.config, row->config);
    return trial;
}

static int compare_measured(const void *a, const void *b) {
    const measured *x = *(const measured *const *)a, *y = *(const measured *const *)b;
    int diff = strcmp(x->row.family, y->row.family);
    if (!diff) diff = strcmp(x->row.config, y->row.config);
    if (!diff) diff = (x->outcome != RDT_OUTCOME_GOOD) - (y->outcome != RDT_OUTCOME_GOOD);
    if (!diff) diff = y->row.samples - x->row.samples;
    return diff ? diff : (x > y) - (x < y);
}

static int compare_times(const void *a, const void *b) {
    const rdt_trial *x = a, *y = b;
    int time = (x->median_ns > y->median_ns) - (x->median_ns < y->median_ns);
    return time ? time : strcmp(x->config, y->config);
}

/* Of each config the good and most careful one; how many there are. */
static size_t reduce_to_configs(const measured **items, size_t count) {
    size_t kept = 0;
    qsort(items, count, sizeof *items, compare_measured);
    for (size_t i = 0; i < count; i++)
        if (!kept || strcmp(items[kept - 1]->row.family, items[i]->row.family) ||
            strcmp(items[kept - 1]->row.config, items[i]->row.config))
            items[kept++] = items[i];
    return kept;
}

static redtune_status keep_candidates(gathering *self, const measured **configs, size_t count,
                                      redtune_error *err) {
    rdt_report *report = &self->report;
    report->candidate = calloc(count + 1, sizeof *report->candidate);
    if (!report->candidate) return rdt_fail_memory(err, (count + 1) * sizeof *report->candidate);
    for (size_t i = 0; i < count; i++)
        if (configs[i]->outcome == RDT_OUTCOME_GOOD)
            report->candidate[report->candidate_count++] = trial_of(configs[i]);
    qsort(report->candidate, report->candidate_count, sizeof *report->candidate, compare_times);
    return REDTUNE_OK;
}

static void add_conditions(rdt_report_point *point, const measured *item) {
    const redtune_row *row = &item->row;
    point->outcomes[item->outcome]++;
    point->throttled += row->throttle > 0 && (row->throttle & throttle_reasons) != 0;
    point->disturbed += row->others > 0;
    if (row->temperature_c > point->hottest_c) point->hottest_c = row->temperature_c;
}

static redtune_status add_report_point(gathering *self, const measured *winner,
                                       const measured **items, size_t count, redtune_error *err) {
    rdt_report *report = &self->report;
    rdt_report_point point = {
        .winner = trial_of(winner), .date = winner->row.date, .default_ns = winner->row.default_ns};
    for (size_t i = 0; i < count; i++) add_conditions(&point, items[i]);
    point.configs = reduce_to_configs(items, count);
    redtune_status status = find_origin(self, &winner->origin, &point.origin, err);
    if (!status)
        status =
            RDT_ARRAY_RESERVE(report->point, self->point_capacity, report->point_count + 1, err);
    if (!status) report->point[report->point_count++] = point;
    return status;
}

/* What does not count where the winner does, or is of other templates than a winner that does not,
 * does not compete with it. */
static redtune_status finish_group(gathering *self, redtune_error *err) {
    group *group = &self->group;
    const measured *winner = NULL;
    for (size_t i = 0; i < group->count; i++)
        if (group->item[i].row.is_winner) winner = &group->item[i];
    redtune_status status = REDTUNE_OK;
    const measured **items = winner ? malloc(group->count * sizeof *items) : NULL;
    if (winner && !items) return rdt_fail_memory(err, group->count * sizeof *items);
    size_t count = 0;
    for (size_t i = 0; winner && i < group->count; i++)
        if (!group->item[i].row.templates_differ == !winner->row.templates_differ &&
            (!winner->row.templates_differ ||
             !strcmp(group->item[i].origin.templates, winner->origin.templates)))
            items[count++] = &group->item[i];
    if (winner && !self->shown)
        status = add_report_point(self, winner, items, count, err);
    else if (winner)
        status = keep_candidates(self, items, reduce_to_configs(items, count), err);
    free(items);
    group->count = 0;
    return status;
}

/* Whether a row is one of the point whose candidates are kept; the first time all are taken. */
static bool is_taken(const gathering *self, const redtune_row *row) {
    const rdt_report_point *shown = self->shown;
    /* A query for a count of 0 is one for all. */
    return !shown || (rdt_problem_same(&row->problem, &shown->winner.problem) &&
                      (row->warm != 0) == (shown->winner.cache == RDT_CACHE_WARM));
}

static redtune_status take_row(void *user, const redtune_row *row, redtune_error *err) {
    gathering *self = user;
    group *group = &self->group;
    redtune_status status = REDTUNE_OK;
    int outcome = rdt_trial_outcome_find(row->outcome);
    if (outcome < 0 || !is_taken(self, row)) return REDTUNE_OK;
    if (group->count && !same_point(&group->item[0].row, row)) status = finish_group(self, err);
    if (!status) status = RDT_ARRAY_RESERVE(group->item, group->capacity, group->count + 1, err);
    if (status) return status;
    measured *item = &group->item[group->count++];
    *item = (measured){
        .row = *row,
        .outcome = (rdt_outcome)outcome,
        .origin = {.driver_version = row->driver_version, .nvrtc_version = row->nvrtc_version}};
    rdt_text_copy(item->origin.machine, sizeof item->origin.machine, row->machine);
    rdt_text_copy(item->origin.templates, sizeof item->origin.templates, row->templates);
    return REDTUNE_OK;
}

static redtune_status take_rows(gathering *self, const redtune_rows_query *query,
                                redtune_error *err) {
    self->group.count = 0;
    redtune_status status = rdt_query_each(query, &self->target, take_row, self, err);
    return status ? status : finish_group(self, err);
}

/* ---- the whole database ---------------------------------------------------------------------- */

static redtune_status find_reported(gathering *self, redtune_error *err) {
    const redtune_reporting *wanted = self->wanted;
    const rdt_target_query query = {
        .verb = "report",
        .device = wanted->device,
        .gpu = wanted->gpu,
        .shipped = wanted->shipped != 0,
        .single = true,
    };
    redtune_status status = rdt_layers_list(wanted->database, &self->layers, err);
    if (!status) status = rdt_target_find(&query, &self->layers, &self->target, err);
    if (!status && self->target.found) rdt_convert_gpu(&self->target.facts, &self->report.gpu);
    return status;
}

static redtune_status list_others(gathering *self, redtune_error *err) {
    rdt_report *report = &self->report;
    const rdt_target *target = &self->target;
    report->other = calloc(target->count + 1, sizeof *report->other);
    if (!report->other) return rdt_fail_memory(err, (target->count + 1) * sizeof *report->other);
    for (size_t i = 0; i < target->count; i++)
        if (!rdt_target_has(target, &target->model[i].facts))
            rdt_convert_gpu(&target->model[i].facts, &report->other[report->other_count++]);
    return REDTUNE_OK;
}

/* How much there is to see: the gain of problems of which half as many configs as of any are known,
 * and the number of these. */
static bool shows_more(const rdt_report_point *a, const rdt_report_point *b, uint64_t most) {
    bool a_whole = 2 * a->configs >= most, b_whole = 2 * b->configs >= most;
    double a_gain = a->default_ns / a->winner.median_ns;
    double b_gain = b->default_ns / b->winner.median_ns;
    if (a_whole != b_whole) return a_whole;
    return a_gain != b_gain ? a_gain > b_gain : a->configs > b->configs;
}

/* The problem asked for, else the one that shows most. */
static redtune_status choose_problem(gathering *self, redtune_error *err) {
    rdt_report *report = &self->report;
    const redtune_problem *asked = &self->wanted->problem;
    bool any = !asked->count;
    size_t chosen = report->point_count;
    uint64_t most = 0;
    for (size_t i = 0; i < report->point_count; i++)
        if (report->point[i].configs > most) most = report->point[i].configs;
    for (size_t i = 0; i < report->point_count; i++) {
        const rdt_report_point *point = &report->point[i];
        const redtune_problem *problem = &point->winner.problem;
        if (!any && (problem->op != asked->op || problem->count != asked->count ||
                     (asked->dtype && problem->dtype != asked->dtype)))
            continue;
        if (chosen == report->point_count || shows_more(point, &report->point[chosen], most))
            chosen = i;
    }
    if (chosen == report->point_count && !any)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot show the candidates for %s of %llu elements: the database has no "
                        "such problem; redtune show lists those that it has",
                        redtune_op_name(asked->op), (unsigned long long)asked->count);
    report->shown = chosen;
    return REDTUNE_OK;
}

static redtune_status gather_report(gathering *self, redtune_error *err) {
    redtune_rows_query query = {.database = self->wanted->database};
    redtune_status status = find_reported(self, err);
    if (!status) status = take_rows(self, &query, err);
    if (!status && !self->report.point_count && !self->wanted->step_count)
        status = rdt_target_fail("report", &self->layers, err);
    if (!status) status = list_others(self, err);
    if (!status) status = choose_problem(self, err);
    if (status || !self->report.point_count) return status;
    self->shown = &self->report.point[self->report.shown];
    const redtune_problem *shown = &self->shown->winner.problem;
    query.op = &shown->op;
    query.dtype = &shown->dtype;
    query.count = shown->count;
    return take_rows(self, &query, err);
}

static void free_gathering(gathering *self) {
    rdt_target_free(&self->target);
    rdt_layers_free(&self->layers);
    free(self->group.item);
    free(self->report.point);
    free(self->report.origin);
    free(self->report.other);
    free(self->report.candidate);
}

redtune_status redtune_report(const redtune_reporting *reporting, char **text, redtune_error *err) {
    const redtune_reporting usual = {.database = NULL};
    if (!text) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot report: text is NULL");
    gathering self = {.wanted = reporting ? reporting : &usual};
    const redtune_format format = self.wanted->format;
    if (format != REDTUNE_FORMAT_HTML && format != REDTUNE_FORMAT_CSV &&
        format != REDTUNE_FORMAT_JSON)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot report: unknown format %d", (int)format);
    if (self.wanted->step_count && !self.wanted->steps)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot report: steps is NULL, though counted");
    rdt_codegen *codegen = NULL;
    const redtune_problem *shown = &self.wanted->problem;
    redtune_status status = rdt_reserved_check(RDT_RESERVED(self.wanted), "redtune_reporting", err);
    if (!status) status = rdt_reserved_check(RDT_RESERVED(shown), "redtune_problem", err);
    if (!status)
        status = rdt_problem_check_filter(&shown->op, shown->dtype ? &shown->dtype : NULL, err);
    if (!status) status = gather_report(&self, err);
    if (!status) status = rdt_codegen_open(&codegen, err);
    self.report.step = self.wanted->steps;
    self.report.step_count = self.wanted->step_count;
    if (!status) status = rdt_page_render(codegen, &self.report, format, text, err);
    rdt_codegen_close(codegen);
    free_gathering(&self);
    return status;
}
