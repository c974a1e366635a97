/* Report: what a tuning database says of one GPU model, gathered for a page. */
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "cache/tuning.h"
#include "codegen/page.h"
#include "model/winner.h"

/* NVML's clocks event reasons that are no choice of anyone's: power, heat and brakes. */
static const uint64_t throttle_reasons = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/* The rows of one problem, cache state and GPU model, as they come by. */
typedef struct group {
    rdt_row *row;
    size_t count, capacity;
} group;

/* A point with the GPU model that it was measured on. */
typedef struct found_point {
    rdt_report_point point;
    size_t gpu;
} found_point;

typedef struct problem_class {
    redtune_problem problem;
    rdt_cache_state cache;
} problem_class;

typedef struct gathering {
    const redtune_reporting *wanted;
    rdt_tuning *tuning;
    problem_class *class;
    size_t class_count, class_capacity;
    group group;
    found_point *point;
    size_t point_count, point_capacity;
    rdt_facts *gpu;
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

/* ---- one problem ---------------------------------------------------------------------------- */

static redtune_status find_gpu(gathering *self, const rdt_facts *gpu, size_t *index,
                               redtune_error *err) {
    for (*index = 0; *index < self->gpu_count; ++*index)
        if (rdt_facts_same_model(&self->gpu[*index], gpu)) return REDTUNE_OK;
    redtune_status status = GROW(self->gpu, self->gpu_count, self->gpu_capacity, err);
    if (!status) self->gpu[self->gpu_count++] = *gpu;
    return status;
}

static redtune_status find_origin(gathering *self, const rdt_origin *origin, size_t *index,
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
    if (status) return status;
    rdt_report_origin *added = &report->origin[report->origin_count++];
    *added = (rdt_report_origin){.driver_version = origin->driver_version,
                                 .nvrtc_version = origin->nvrtc_version};
    rdt_text_copy(added->machine, sizeof added->machine, origin->machine);
    rdt_text_copy(added->templates, sizeof added->templates, origin->templates);
    return REDTUNE_OK;
}

/* Of each config the most careful trial, and of those the last. */
static bool is_better(const rdt_trial *a, const rdt_trial *b) {
    bool a_good = a->outcome == RDT_OUTCOME_GOOD, b_good = b->outcome == RDT_OUTCOME_GOOD;
    return a_good != b_good ? a_good : a->samples >= b->samples;
}

static int compare_configs(const void *a, const void *b) {
    const rdt_trial *x = *(const rdt_trial *const *)a, *y = *(const rdt_trial *const *)b;
    int family = strcmp(x->family, y->family), config = family ? 0 : strcmp(x->config, y->config);
    return family ? family : config ? config : (x > y) - (x < y); /* by age, as they lie */
}

static int compare_times(const void *a, const void *b) {
    const rdt_trial *x = a, *y = b;
    int time = (x->median_ns > y->median_ns) - (x->median_ns < y->median_ns);
    return time ? time : strcmp(x->config, y->config);
}

/* Leaves one trial for each config; how many. */
static size_t reduce_to_configs(const rdt_trial **trials, size_t count) {
    size_t kept = 0;
    qsort(trials, count, sizeof *trials, compare_configs);
    for (size_t i = 0; i < count; i++) {
        bool same = kept && !strcmp(trials[kept - 1]->family, trials[i]->family) &&
                    !strcmp(trials[kept - 1]->config, trials[i]->config);
        if (!same)
            trials[kept++] = trials[i];
        else if (is_better(trials[i], trials[kept - 1]))
            trials[kept - 1] = trials[i];
    }
    return kept;
}

static redtune_status keep_candidates(gathering *self, const rdt_trial **configs, size_t count,
                                      redtune_error *err) {
    rdt_report *report = &self->report;
    report->candidate = calloc(count ? count : 1, sizeof *report->candidate);
    if (!report->candidate) return rdt_fail_memory(err, count * sizeof *report->candidate);
    for (size_t i = 0; i < count; i++)
        if (configs[i]->outcome == RDT_OUTCOME_GOOD)
            report->candidate[report->candidate_count++] = *configs[i];
    qsort(report->candidate, report->candidate_count, sizeof *report->candidate, compare_times);
    return REDTUNE_OK;
}

static void add_conditions(rdt_report_point *point, const rdt_trial *trial) {
    point->outcomes[trial->outcome]++;
    point->throttled += (trial->conditions.throttle & throttle_reasons) != 0;
    point->disturbed += trial->conditions.others > 0;
    if (trial->conditions.temperature_c > point->hottest_c)
        point->hottest_c = trial->conditions.temperature_c;
}

/* The trials of these templates are at the front of trials; winner is one of them. */
static redtune_status add_point(gathering *self, const rdt_trial *const *trials, size_t count,
                                const rdt_winner *winner, redtune_error *err) {
    const rdt_row *row = self->group.row;
    while (&row->trial != winner->trial) row++;
    found_point found = {.point = {.winner = *winner->trial, .date = row->date}};
    rdt_report_point *point = &found.point;
    point->default_ns = winner->standard ? winner->standard->median_ns : 0;
    for (size_t i = 0; i < count; i++) add_conditions(point, trials[i]);
    redtune_status status = find_gpu(self, &row->gpu, &found.gpu, err);
    if (!status) status = find_origin(self, &row->origin, &point->origin, err);
    if (!status) status = GROW(self->point, self->point_count, self->point_capacity, err);
    if (!status) self->point[self->point_count++] = found;
    return status;
}

static redtune_status judge(gathering *self, const rdt_trial **trials, size_t count,
                            redtune_error *err) {
    rdt_winner winner;
    redtune_status status = rdt_winner_choose(trials, count, &winner, err);
    if (status || !winner.trial) return status;
    status = add_point(self, trials, count, &winner, err);
    if (!status)
        self->point[self->point_count - 1].point.configs = reduce_to_configs(trials, count);
    return status;
}

/* Measurements with other templates do not compete: the last ones are what there is today. */
static redtune_status finish_group(gathering *self, redtune_error *err) {
    group *group = &self->group;
    if (!group->count) return REDTUNE_OK;
    const char *templates = group->row[group->count - 1].origin.templates;
    const rdt_trial **trials = malloc(group->count * sizeof *trials);
    if (!trials) return rdt_fail_memory(err, group->count * sizeof *trials);
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++)
        if (!strcmp(group->row[i].origin.templates, templates))
            trials[count++] = &group->row[i].trial;
    redtune_status status = REDTUNE_OK;
    if (!self->shown)
        status = judge(self, trials, count, err);
    else if (group->row[0].trial.problem.count == self->shown->winner.problem.count &&
             rdt_facts_same_model(&group->row[0].gpu, &self->report.gpu))
        status = keep_candidates(self, trials, reduce_to_configs(trials, count), err);
    free(trials);
    group->count = 0;
    return status;
}

static redtune_status take_row(void *user, const rdt_row *row, redtune_error *err) {
    gathering *self = user;
    group *group = &self->group;
    redtune_status status = REDTUNE_OK;
    if (group->count && (group->row[0].trial.problem.count != row->trial.problem.count ||
                         !rdt_facts_same_model(&group->row[0].gpu, &row->gpu)))
        status = finish_group(self, err);
    if (!status) status = GROW(group->row, group->count, group->capacity, err);
    if (!status) group->row[group->count++] = *row;
    return status;
}

static redtune_status take_class(gathering *self, const problem_class *class, redtune_error *err) {
    self->group.count = 0;
    redtune_status status =
        rdt_tuning_each(self->tuning, &class->problem, class->cache, take_row, self, err);
    return status ? status : finish_group(self, err);
}

/* ---- the whole database --------------------------------------------------------------------- */

static redtune_status note_class(void *user, const rdt_row *row, redtune_error *err) {
    gathering *self = user;
    for (size_t i = 0; i < self->class_count; i++)
        if (rdt_problem_same_class(&self->class[i].problem, &row->trial.problem) &&
            self->class[i].cache == row->trial.cache)
            return REDTUNE_OK;
    redtune_status status = GROW(self->class, self->class_count, self->class_capacity, err);
    if (!status)
        self->class[self->class_count++] =
            (problem_class){.problem = row->trial.problem, .cache = row->trial.cache};
    return status;
}

static int compare_classes(const void *a, const void *b) {
    const problem_class *x = a, *y = b;
    if (x->problem.op != y->problem.op) return x->problem.op < y->problem.op ? -1 : 1;
    if (x->problem.dtype != y->problem.dtype) return x->problem.dtype < y->problem.dtype ? -1 : 1;
    if (x->problem.result != y->problem.result)
        return x->problem.result < y->problem.result ? -1 : 1;
    return (x->cache > y->cache) - (x->cache < y->cache);
}

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
    double a_gain = a->default_ns / a->winner.median_ns,
           b_gain = b->default_ns / b->winner.median_ns;
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
    redtune_status status = rdt_tuning_each_winner(self->tuning, note_class, self, err);
    if (!status && self->class_count)
        qsort(self->class, self->class_count, sizeof *self->class, compare_classes);
    for (size_t i = 0; !status && i < self->class_count; i++)
        status = take_class(self, &self->class[i], err);
    if (!status) status = choose_gpu(self, &gpu, err);
    if (!status) status = split_by_gpu(self, gpu, err);
    if (!status) status = choose_problem(self, err);
    if (status || !self->report.point_count) return status;
    self->shown = &self->report.point[self->report.shown];
    const problem_class shown = {.problem = self->shown->winner.problem,
                                 .cache = self->shown->winner.cache};
    return take_class(self, &shown, err);
}

static void free_gathering(gathering *self) {
    rdt_tuning_close(self->tuning);
    free(self->class);
    free(self->group.row);
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
    char *path = NULL;
    redtune_status status = rdt_file_tuning_path(self.wanted->database, &path, err);
    if (!status) status = rdt_tuning_open_read(path, &self.tuning, err);
    if (!status) status = gather(&self, err);
    if (!status) status = rdt_codegen_open(&codegen, err);
    self.report.step = self.wanted->steps;
    self.report.step_count = self.wanted->step_count;
    if (!status) status = rdt_page_render(codegen, &self.report, format, text, err);
    rdt_codegen_close(codegen);
    free_gathering(&self);
    free(path);
    return status;
}
