/* Report: what the tuning databases say of one GPU model, gathered for a page. */
#include <stdlib.h>
#include <string.h>
#include "api/records/query.h"
#include "api/records/convert.h"
#include "base/reserved.h"
#include "codegen/page.h"
#include "model/problem_filter.h"
#include "redtune/tools.h"

/* What competes for one problem in one cache state. */
typedef struct group {
    const rdt_row *winner, *baseline; /* baseline NULL: none */
    const rdt_listed **item;
    size_t count;
} group;

typedef struct gathering {
    const redtune_reporting *wanted;
    rdt_listing listing;
    const rdt_listed **items; /* of all groups, side by side */
    group *groups;            /* one for each point of the report */
    rdt_report report;
    redtune_problem shown; /* as asked for, in the form of axes that problems have */
} gathering;

/* NULL where memory is out. */
static void *allocate_list(size_t count, size_t bytes, redtune_error *err) {
    void *list = calloc(count + 1, bytes);
    if (!list) rdt_fail_memory(err, (count + 1) * bytes);
    return list;
}

/* ---- the problems ---------------------------------------------------------------------------- */

/* What does not count where the winner does, or is of other templates than a winner that does not,
 * does not compete with it. */
static bool competes(const rdt_row *row, const rdt_row *winner) {
    return row->current == winner->current &&
           (row->current || !strcmp(row->origin.templates, winner->origin.templates));
}

static redtune_status list_groups(gathering *self, redtune_error *err) {
    const rdt_listing *listing = &self->listing;
    self->items = allocate_list(listing->count, sizeof *self->items, err);
    if (!self->items) return REDTUNE_MEMORY;
    self->groups = allocate_list(listing->count, sizeof *self->groups, err);
    if (!self->groups) return REDTUNE_MEMORY;
    const rdt_listed **end = self->items;
    group *last = NULL;
    for (size_t i = 0; i < listing->count; i++) {
        const rdt_listed *each = &listing->entry[i];
        if (!each->winner) continue;
        if (!last || last->winner != each->winner) {
            last = &self->groups[self->report.point_count++];
            *last = (group){each->winner, each->baseline, end, 0};
        }
        if (!competes(each->row, each->winner)) continue;
        *end++ = each;
        last->count++;
    }
    return REDTUNE_OK;
}

static size_t find_origin(rdt_report *report, const rdt_origin *origin) {
    size_t i = 0;
    for (; i < report->origin_count; i++) {
        const rdt_report_origin *known = &report->origin[i];
        if (!strcmp(known->machine, origin->machine) &&
            !strcmp(known->templates, origin->templates) &&
            known->driver_version == origin->driver_version &&
            known->nvrtc_version == origin->nvrtc_version)
            return i;
    }
    rdt_report_origin *fresh = &report->origin[report->origin_count++];
    fresh->driver_version = origin->driver_version;
    fresh->nvrtc_version = origin->nvrtc_version;
    rdt_text_copy(fresh->machine, sizeof fresh->machine, origin->machine);
    rdt_text_copy(fresh->templates, sizeof fresh->templates, origin->templates);
    return i;
}

static int compare_items(const void *a, const void *b) {
    const rdt_listed *x = *(const rdt_listed *const *)a, *y = *(const rdt_listed *const *)b;
    const rdt_trial *p = &x->row->trial, *q = &y->row->trial;
    int diff = strcmp(p->family, q->family);
    if (!diff) diff = strcmp(p->config, q->config);
    if (!diff) diff = (p->outcome != RDT_OUTCOME_GOOD) - (q->outcome != RDT_OUTCOME_GOOD);
    if (!diff) diff = q->samples - p->samples;
    return diff ? diff : (x > y) - (x < y);
}

/* Keeps the good and most careful item of each config. */
static void reduce_to_configs(group *self) {
    const rdt_listed **items = self->item;
    size_t kept = 0;
    qsort(items, self->count, sizeof *items, compare_items);
    for (size_t i = 0; i < self->count; i++)
        if (!kept || strcmp(items[kept - 1]->row->trial.family, items[i]->row->trial.family) ||
            strcmp(items[kept - 1]->row->trial.config, items[i]->row->trial.config))
            items[kept++] = items[i];
    self->count = kept;
}

static void describe_group(rdt_report *report, group *self, rdt_report_point *out) {
    out->winner = self->winner->trial;
    out->date = self->winner->date;
    out->default_ns = self->baseline ? self->baseline->trial.median_ns : 0;
    out->origin = find_origin(report, &self->winner->origin);
    for (size_t i = 0; i < self->count; i++) {
        const rdt_trial *trial = &self->item[i]->row->trial;
        out->outcomes[trial->outcome]++;
        out->throttled += rdt_trial_held_down(&trial->conditions);
        out->disturbed += trial->conditions.others > 0;
        if (trial->conditions.temperature_c > out->hottest_c)
            out->hottest_c = trial->conditions.temperature_c;
    }
    reduce_to_configs(self);
    out->configs = self->count;
}

static redtune_status describe_groups(gathering *self, redtune_error *err) {
    rdt_report *report = &self->report;
    const size_t count = report->point_count;
    report->point = allocate_list(count, sizeof *report->point, err);
    if (!report->point) return REDTUNE_MEMORY;
    report->origin = allocate_list(count, sizeof *report->origin, err);
    if (!report->origin) return REDTUNE_MEMORY;
    for (size_t i = 0; i < count; i++) describe_group(report, &self->groups[i], &report->point[i]);
    return REDTUNE_OK;
}

static redtune_status list_others(gathering *self, redtune_error *err) {
    rdt_report *report = &self->report;
    const rdt_target *target = &self->listing.target;
    report->other = allocate_list(target->count, sizeof *report->other, err);
    if (!report->other) return REDTUNE_MEMORY;
    for (size_t i = 0; i < target->count; i++)
        if (!rdt_target_has(target, &target->model[i].facts))
            rdt_convert_gpu(&target->model[i].facts, &report->other[report->other_count++]);
    return REDTUNE_OK;
}

/* ---- the problem whose candidates are shown -------------------------------------------------- */

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
    const redtune_problem *asked = &self->shown;
    const rdt_extents of = rdt_problem_extents(asked);
    const rdt_problem_filter filter = {.op = &asked->op,
                                       .dtype = asked->dtype ? &asked->dtype : NULL,
                                       .layouts = 1u << rdt_problem_layout(asked),
                                       .count = of.count,
                                       .outer = of.outer,
                                       .inner = of.inner};
    bool any = !rdt_problem_count(asked);
    size_t chosen = report->point_count;
    uint64_t most = 0;
    for (size_t i = 0; i < report->point_count; i++)
        if (report->point[i].configs > most) most = report->point[i].configs;
    for (size_t i = 0; i < report->point_count; i++) {
        const rdt_report_point *point = &report->point[i];
        if (!any && !rdt_problem_filter_takes(&filter, &point->winner.problem)) continue;
        if (chosen == report->point_count || shows_more(point, &report->point[chosen], most))
            chosen = i;
    }
    if (chosen == report->point_count && !any && of.outer == 1 && of.inner == 1)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot show the candidates for %s of %llu elements: the database has no "
                        "such problem; redtune show lists those that it has",
                        redtune_op_name(asked->op), (unsigned long long)of.count);
    if (chosen == report->point_count && !any)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot show the candidates for %s of %llu x %llu x %llu elements along "
                        "axis 1: the database has no such problem; redtune show lists those that "
                        "it has",
                        redtune_op_name(asked->op), (unsigned long long)of.outer,
                        (unsigned long long)of.count, (unsigned long long)of.inner);
    report->shown = chosen;
    return REDTUNE_OK;
}

static int compare_times(const void *a, const void *b) {
    const rdt_trial *x = a, *y = b;
    int time = (x->median_ns > y->median_ns) - (x->median_ns < y->median_ns);
    return time ? time : strcmp(x->config, y->config);
}

static redtune_status list_candidates(gathering *self, redtune_error *err) {
    rdt_report *report = &self->report;
    const group *shown = &self->groups[report->shown];
    report->candidate = allocate_list(shown->count, sizeof *report->candidate, err);
    if (!report->candidate) return REDTUNE_MEMORY;
    for (size_t i = 0; i < shown->count; i++)
        if (shown->item[i]->row->trial.outcome == RDT_OUTCOME_GOOD)
            report->candidate[report->candidate_count++] = shown->item[i]->row->trial;
    qsort(report->candidate, report->candidate_count, sizeof *report->candidate, compare_times);
    return REDTUNE_OK;
}

/* A page is about kernels that can be made here. */
static void drop_absent_ops(rdt_listing *listing) {
    size_t kept = 0;
    for (size_t i = 0; i < listing->count; i++)
        if (!rdt_op_find(listing->entry[i].row->trial.problem.op)->absent)
            listing->entry[kept++] = listing->entry[i];
    listing->count = kept;
}

/* ---- the whole database ---------------------------------------------------------------------- */

static redtune_status gather_report(gathering *self, redtune_error *err) {
    const redtune_reporting *wanted = self->wanted;
    const rdt_listing *listing = &self->listing;
    const redtune_rows_query query = {.database = wanted->database};
    const rdt_target_query about = {
        .verb = "report",
        .device = wanted->device,
        .gpu = wanted->gpu,
        .shipped = wanted->shipped != 0,
        .single = true,
    };
    redtune_status status = rdt_query_list(&query, &about, &self->listing, err);
    drop_absent_ops(&self->listing);
    if (!status) status = list_groups(self, err);
    if (!status && !self->report.point_count && !wanted->step_count)
        status = rdt_target_fail("report", &listing->layers, err);
    if (!status && listing->target.found)
        rdt_convert_gpu(&listing->target.facts, &self->report.gpu);
    if (!status) status = describe_groups(self, err);
    if (!status) status = list_others(self, err);
    if (!status) status = choose_problem(self, err);
    if (status || !self->report.point_count) return status;
    return list_candidates(self, err);
}

static void free_gathering(gathering *self) {
    rdt_query_free(&self->listing);
    free(self->items);
    free(self->groups);
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
    const redtune_comparison *comparison = self.wanted->comparison;
    if (comparison && comparison->difference_count && !comparison->differences)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot report: differences is NULL, though counted");
    rdt_codegen *codegen = NULL;
    self.shown = self.wanted->problem;
    redtune_problem *shown = &self.shown;
    redtune_status status = rdt_reserved_check(RDT_RESERVED(self.wanted), "redtune_reporting", err);
    if (!status && comparison)
        status = rdt_reserved_check(RDT_RESERVED(comparison), "redtune_comparison", err);
    if (!status) status = rdt_reserved_check(RDT_RESERVED(shown), "redtune_problem", err);
    if (!status)
        status = rdt_problem_check_filter(&shown->op, shown->dtype ? &shown->dtype : NULL, err);
    if (!status) status = rdt_problem_axes_resolve(shown, err);
    if (!status) status = rdt_problem_check_extents(shown, err);
    if (!status) status = gather_report(&self, err);
    if (!status) status = rdt_codegen_open(&codegen, err);
    self.report.step = self.wanted->steps;
    self.report.step_count = self.wanted->step_count;
    self.report.comparison = self.wanted->comparison;
    if (!status) status = rdt_page_render(codegen, &self.report, format, text, err);
    rdt_codegen_close(codegen);
    free_gathering(&self);
    return status;
}
