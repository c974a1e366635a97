/* Report: what the tuning databases say of one GPU model, gathered for a page. */
#include <stdlib.h>
#include <string.h>
#include "codegen/page.h"

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

/* A point with the GPU model that it was measured on. */
typedef struct found_point {
    rdt_report_point point;
    size_t gpu;
} found_point;

typedef struct gathering {
    const redtune_reporting *wanted;
    group group;
    found_point *point;
    size_t point_count, point_capacity;
    redtune_device_info *gpu;
    size_t gpu_count, gpu_capacity;
    const rdt_report_point *shown; /* second time through: whose candidates are kept */
    rdt_report report;
    size_t origin_capacity;
} gathering;

/* Makes room for one more element. */
static redtune_status grow(void **array, size_t count, size_t *capacity, size_t element_bytes,
                           redtune_error *err) {
    if (count < *capacity) return REDTUNE_OK;
    size_t wanted = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*array, wanted * element_bytes);
    if (!grown) return rdt_fail_memory(err, wanted * element_bytes);
    *array = grown;
    *capacity = wanted;
    return REDTUNE_OK;
}

#define GROW(array, count, capacity, err)                                                          \
    grow((void **)&(array), (count), &(capacity), sizeof *(array), (err))

static bool same_gpu(const redtune_device_info *a, const redtune_device_info *b) {
    return !strcmp(a->name, b->name) && a->major == b->major && a->minor == b->minor &&
           a->sm_count == b->sm_count && a->l2_bytes == b->l2_bytes && a->peak_gbps == b->peak_gbps;
}

static bool same_point(const redtune_row *a, const redtune_row *b) {
    return a->problem.op == b->problem.op && a->problem.dtype == b->problem.dtype &&
           a->problem.result == b->problem.result && a->problem.count == b->problem.count &&
           !a->warm == !b->warm && same_gpu(&a->gpu, &b->gpu);
}

/* ---- one problem ---------------------------------------------------------------------------- */

static redtune_status find_gpu(gathering *self, const redtune_device_info *gpu, size_t *index,
                               redtune_error *err) {
    for (*index = 0; *index < self->gpu_count; ++*index)
        if (same_gpu(&self->gpu[*index], gpu)) return REDTUNE_OK;
    redtune_status status = GROW(self->gpu, self->gpu_count, self->gpu_capacity, err);
    if (!status) self->gpu[self->gpu_count++] = *gpu;
    return status;
}

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
    redtune_status status = GROW(report->origin, report->origin_count, self->origin_capacity, err);
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

static int compare_configs(const void *a, const void *b) {
    const measured *x = *(const measured *const *)a, *y = *(const measured *const *)b;
    int order = strcmp(x->row.family, y->row.family);
    if (!order) order = strcmp(x->row.config, y->row.config);
    if (!order) order = (x->outcome != RDT_OUTCOME_GOOD) - (y->outcome != RDT_OUTCOME_GOOD);
    if (!order) order = y->row.samples - x->row.samples;
    return order ? order : (x > y) - (x < y);
}

static int compare_times(const void *a, const void *b) {
    const rdt_trial *x = a, *y = b;
    int time = (x->median_ns > y->median_ns) - (x->median_ns < y->median_ns);
    return time ? time : strcmp(x->config, y->config);
}

/* Of each config the good and most careful one; how many there are. */
static size_t reduce_to_configs(const measured **items, size_t count) {
    size_t kept = 0;
    qsort(items, count, sizeof *items, compare_configs);
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

static redtune_status add_point(gathering *self, const measured *winner, const measured **items,
                                size_t count, redtune_error *err) {
    found_point found = {.point = {.winner = trial_of(winner),
                                   .date = winner->row.date,
                                   .default_ns = winner->row.default_ns}};
    for (size_t i = 0; i < count; i++) add_conditions(&found.point, items[i]);
    found.point.configs = reduce_to_configs(items, count);
    redtune_status status = find_gpu(self, &winner->row.gpu, &found.gpu, err);
    if (!status) status = find_origin(self, &winner->origin, &found.point.origin, err);
    if (!status) status = GROW(self->point, self->point_count, self->point_capacity, err);
    if (!status) self->point[self->point_count++] = found;
    return status;
}

/* What was measured with other templates than the winner does not compete with it. */
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
        if (!strcmp(group->item[i].origin.templates, winner->origin.templates))
            items[count++] = &group->item[i];
    if (winner && !self->shown)
        status = add_point(self, winner, items, count, err);
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
    return !shown || (row->problem.result == shown->winner.problem.result &&
                      row->problem.count == shown->winner.problem.count &&
                      (row->warm != 0) == (shown->winner.cache == RDT_CACHE_WARM) &&
                      same_gpu(&row->gpu, &self->report.gpu));
}

static redtune_status take_row(void *user, const redtune_row *row, redtune_error *err) {
    gathering *self = user;
    group *group = &self->group;
    redtune_status status = REDTUNE_OK;
    int outcome = rdt_outcome_find(row->outcome);
    if (outcome < 0 || !is_taken(self, row)) return REDTUNE_OK;
    if (group->count && !same_point(&group->item[0].row, row)) status = finish_group(self, err);
    if (!status) status = GROW(group->item, group->count, group->capacity, err);
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
    redtune_status status = redtune_rows_each(query, take_row, self, err);
    return status ? status : finish_group(self, err);
}

/* ---- the whole database --------------------------------------------------------------------- */

/* The GPU model asked for, else the one with the most points. */
static redtune_status choose_gpu(const gathering *self, size_t *out, redtune_error *err) {
    const char *name = self->wanted->gpu;
    size_t most = 0, chosen = self->gpu_count;
    for (size_t i = 0; i < self->gpu_count; i++) {
        size_t count = 0;
        for (size_t k = 0; k < self->point_count; k++) count += self->point[k].gpu == i;
        if (name && strcmp(self->gpu[i].name, name)) continue;
        if (count > most) {
            most = count;
            chosen = i;
        }
    }
    if (chosen == self->gpu_count && name)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot report on GPU '%.95s': the database has nothing of it%s%.95s", name,
                        self->gpu_count ? "; it has " : "",
                        self->gpu_count ? self->gpu[0].name : "");
    *out = chosen;
    return REDTUNE_OK;
}

static redtune_status split_by_gpu(gathering *self, size_t chosen, redtune_error *err) {
    rdt_report *report = &self->report;
    report->point = calloc(self->point_count + 1, sizeof *report->point);
    report->other = calloc(self->gpu_count + 1, sizeof *report->other);
    if (!report->point || !report->other)
        return rdt_fail_memory(err, (self->point_count + 1) * sizeof *report->point);
    for (size_t i = 0; i < self->point_count; i++)
        if (self->point[i].gpu == chosen)
            report->point[report->point_count++] = self->point[i].point;
    for (size_t i = 0; i < self->gpu_count; i++)
        if (i != chosen) report->other[report->other_count++] = self->gpu[i];
    if (chosen < self->gpu_count) report->gpu = self->gpu[chosen];
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

static redtune_status gather(gathering *self, redtune_error *err) {
    size_t gpu = 0;
    redtune_rows_query query = {.database = self->wanted->database};
    redtune_status status = take_rows(self, &query, err);
    if (!status && !self->point_count && !self->wanted->step_count)
        status = rdt_fail(err, REDTUNE_INVALID, 0,
                          "cannot report: nothing is measured in %.300s yet; run redtune --device "
                          "0 first",
                          self->wanted->database ? self->wanted->database : "any database");
    if (!status) status = choose_gpu(self, &gpu, err);
    if (!status) status = split_by_gpu(self, gpu, err);
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
    free(self->group.item);
    free(self->point);
    free(self->gpu);
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
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot report: format %d is none", (int)format);
    rdt_codegen *codegen = NULL;
    redtune_status status = gather(&self, err);
    if (!status) status = rdt_codegen_open(&codegen, err);
    self.report.step = self.wanted->steps;
    self.report.step_count = self.wanted->step_count;
    if (!status) status = rdt_page_render(codegen, &self.report, format, text, err);
    rdt_codegen_close(codegen);
    free_gathering(&self);
    return status;
}
