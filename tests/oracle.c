/* Oracle: evaluators whose answers are known, so that a search can be held against the best there
 * is. */
#include "oracle.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "oracle_shape.h"
#include "shaped.h"

const rdt_facts oracle_h200 = {
    .name = "NVIDIA H200",
    .major = 9,
    .minor = 0,
    .sm_count = 132,
    .threads_per_sm = 2048,
    .threads_per_block = 1024,
    .shared_bytes_per_block = 48 << 10,
    .memory_bytes = UINT64_C(139) << 30,
    .l2_bytes = UINT64_C(60) << 20,
    .bus_bits = 6016,
    .memory_khz = 3201000,
    .driver_version = 13000,
};

const rdt_facts oracle_h100 = {
    .name = "NVIDIA H100 80GB HBM3",
    .major = 9,
    .minor = 0,
    .sm_count = 132,
    .threads_per_sm = 2048,
    .threads_per_block = 1024,
    .shared_bytes_per_block = 48 << 10,
    .memory_bytes = UINT64_C(78) << 30,
    .l2_bytes = UINT64_C(50) << 20,
    .bus_bits = 5120,
    .memory_khz = 2619000,
    .driver_version = 13000,
};

const rdt_facts oracle_sim = {
    .name = "redtune simulated GPU",
    .major = 9,
    .minor = 0,
    .sm_count = 4,
    .threads_per_sm = 2048,
    .threads_per_block = 1024,
    .shared_bytes_per_block = 48 << 10,
    .memory_bytes = UINT64_C(4) << 30,
    .l2_bytes = UINT64_C(2) << 20,
    .driver_version = 13000,
};

/* ---- the record ------------------------------------------------------------------------------ */

enum { PLACES = 7, BASE_PLACES = 5, SUMMARIES = 3, PROBLEMS_MAX = 128, NAMES = 4 };

/* The parameters of a code, and the names of those that have names, as the digits count them. */
static const struct {
    const char *param, *name[NAMES];
} recorded[PLACES] = {
    {"block", {NULL}},
    {"vec", {NULL}},
    {"unroll", {NULL}},
    {"load", {"no_allocate", "plain", "streaming"}},
    {"tail", {"shuffle", "shared"}},
    {"finish", {"single", "poll", "ticket", "two_pass"}},
    {"per_sm", {NULL}},
};
static const int summary_samples[SUMMARIES] = {3, 9, 31};

typedef struct measured {
    char code[PLACES + 1];
    double median_ns[SUMMARIES], spread_ns[SUMMARIES]; /* 0: not taken */
} measured;

typedef struct recorded_problem {
    redtune_dtype dtype;
    uint64_t count;
    measured *at;
    size_t size, capacity;
} recorded_problem;

struct oracle_record {
    recorded_problem problem[PROBLEMS_MAX];
    size_t count;
};

static bool read_problem(oracle_record *record, const char *line) {
    char dtype[16];
    recorded_problem *next = &record->problem[record->count];
    if (record->count == PROBLEMS_MAX || sscanf(line, "%15s %" SCNu64, dtype, &next->count) != 2 ||
        redtune_dtype_find(dtype, &next->dtype, NULL))
        return false;
    record->count++;
    return true;
}

static bool read_candidate(oracle_record *record, const char *line) {
    recorded_problem *problem = record->count ? &record->problem[record->count - 1] : NULL;
    measured each = {.code = ""};
    int read = sscanf(line + (*line == 'd'), "%7[0-9] %lf %lf %lf %lf %lf %lf", each.code,
                      &each.median_ns[0], &each.spread_ns[0], &each.median_ns[1],
                      &each.spread_ns[1], &each.median_ns[2], &each.spread_ns[2]);
    if (!problem || read < 3) return false;
    if (strlen(each.code) == BASE_PLACES) {
        memmove(each.code + 5, each.code + 3, 3);
        memset(each.code + 3, '0', 2); /* of the first load and tail */
    }
    if (problem->size == problem->capacity) {
        problem->capacity = problem->capacity ? 2 * problem->capacity : 64;
        measured *grown = realloc(problem->at, problem->capacity * sizeof *grown);
        if (!grown) return false;
        problem->at = grown;
    }
    problem->at[problem->size++] = each;
    return true;
}

oracle_record *oracle_record_read(const char *path) {
    FILE *file = fopen(path, "r");
    oracle_record *record = file ? calloc(1, sizeof *record) : NULL;
    char line[256];
    bool good = record != NULL;
    while (good && fgets(line, sizeof line, file)) {
        if (*line == '#') continue;
        bool is_candidate = *line == 'd' || (*line >= '0' && *line <= '9');
        good = is_candidate ? read_candidate(record, line) : read_problem(record, line);
        if (!good) fprintf(stderr, "%s: cannot read: %s", path, line);
    }
    if (file) fclose(file);
    if (good) return record;
    oracle_record_free(record);
    return NULL;
}

void oracle_record_free(oracle_record *record) {
    for (size_t i = 0; record && i < record->count; i++) free(record->problem[i].at);
    free(record);
}

static void encode(const rdt_space *space, const rdt_point *point, char code[PLACES + 1]) {
    for (int i = 0; i < PLACES; i++) {
        const char *name = recorded[i].param;
        int at = rdt_space_find(space, name, (int)strlen(name)), digit = 0;
        const rdt_param *param = &space->param[at];
        int place = rdt_space_param_find(param, point->value[at]);
        const char *const *names = recorded[i].name;
        while (names[0] && digit < NAMES && strcmp(names[digit], param->label[place])) digit++;
        code[i] = (char)('0' + (names[0] ? digit : place));
    }
    code[PLACES] = '\0';
}

static const measured *find_measured(const oracle *self, const redtune_problem *problem,
                                     const rdt_point *point) {
    char code[PLACES + 1];
    encode(rdt_point_space(rdt_codegen_spaces(self->codegen), point), point, code);
    for (size_t i = 0; i < self->record->count; i++) {
        const recorded_problem *each = &self->record->problem[i];
        if (each->dtype != problem->dtype || each->count != shaped_of(problem).count) continue;
        for (size_t k = 0; k < each->size; k++)
            if (!strcmp(each->at[k].code, code)) return &each->at[k];
    }
    return NULL;
}

/* The summary of the most samples that are not more than these; 0 is the one of three. */
static int summary_of(const measured *each, int samples) {
    int at = 0;
    for (int i = 1; i < SUMMARIES; i++)
        if (each->median_ns[i] > 0 && summary_samples[i] <= samples) at = i;
    return at;
}

/* Samples that have the recorded median and spread. */
static void replay(const measured *each, int samples, double *sample_ns) {
    int at = summary_of(each, samples);
    for (int j = 0; j < samples; j++) {
        double place = samples > 1 ? 2.0 * j / (samples - 1) - 1 : 0; /* -1 to 1 */
        sample_ns[j] = each->median_ns[at] + 2 * place * each->spread_ns[at];
    }
}

/* ---- the model ------------------------------------------------------------------------------- */

/* A reduction as one expects it: a launch; memory that is the faster the more bytes are in flight,
 * up to what the bus gives; blocks that start, combine their threads, and are combined. */
static double model_ns(const oracle *self, const redtune_problem *problem, rdt_cache_state cache,
                       const rdt_candidate *candidate) {
    const rdt_launch *launch = &candidate->launch;
    const rdt_facts *gpu = self->facts;
    const double element = (double)redtune_dtype_bytes(problem->dtype);
    const double bytes = element * (double)shaped_of(problem).count,
                 blocks = rdt_launch_blocks(launch, shaped_of(problem).count);
    double resident = gpu->threads_per_sm / (double)launch->threads;
    if (resident > 32) resident = 32;
    resident *= gpu->sm_count;
    if (resident > blocks) resident = blocks;
    const double tiles = ceil((double)shaped_of(problem).count / launch->tile);
    const double steps = ceil(tiles / blocks), waves = ceil(blocks / resident);
    const double latency_ns = cache == RDT_CACHE_WARM ? 300 : 700;
    double flight = resident * launch->tile * element, share = bytes / (waves * steps);
    if (flight > share) flight = share;
    double peak = rdt_facts_peak_gbps(gpu) * (cache == RDT_CACHE_WARM ? 1.6 : 0.94);
    double loads = launch->tile / (double)launch->threads; /* elements a thread takes at a time */
    double narrow = loads * element < 16 ? 1.1 : 1;
    double stream_ns = bytes / peak * narrow, wait_ns = bytes / flight * latency_ns;
    double block_ns = 60 * waves + 15 * log2(launch->threads) + 2 * loads;
    double combine_ns = blocks > 1 ? 500 + 0.12 * blocks : 0;
    double sms = blocks < gpu->sm_count ? blocks : gpu->sm_count;
    double issue_ns = bytes / 16 / sms * 0.3;
    double work_ns = stream_ns > issue_ns ? stream_ns : issue_ns;
    return 1000 + latency_ns + (work_ns > wait_ns ? work_ns : 0.8 * wait_ns + 0.2 * work_ns) +
           block_ns + combine_ns;
}

/* Sum of twelve uniform numbers: as good as normal. */
static double normal(rdt_random *random) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(rdt_random_next(random) >> 11) / 9007199254740992.0;
    return sum;
}

static double with_noise(const oracle *self, double truth_ns, rdt_random *random) {
    double sample = truth_ns * (1 + self->noise * normal(random));
    bool is_outlier = (double)rdt_random_below(random, 1000) < 1000 * self->outliers;
    return is_outlier ? 3 * sample : sample;
}

/* What the point's names cost. */
static double name_factor(const oracle *self, const rdt_point *point) {
    const rdt_space *space = rdt_point_space(rdt_codegen_spaces(self->codegen), point);
    double factor = 1;
    for (int i = 0; i < space->param_count; i++) {
        const rdt_param *param = &space->param[i];
        const char *label = param->label[rdt_space_param_find(param, point->value[i])];
        for (int k = 0; k < ORACLE_NAMES; k++)
            if (self->name[k].label && !strcmp(self->name[k].label, label))
                factor *= self->name[k].factor;
    }
    return factor;
}

/* What the noise of a candidate goes by. That of the families behind the first is as it was when
 * the tests' bounds were set, however many points the first has: its size then stands here. */
static uint64_t noise_order(const oracle *self, const rdt_candidate *candidate) {
    enum { FIRST_SIZE = 20160 };
    const rdt_spaces *spaces = rdt_codegen_spaces(self->codegen);
    const uint64_t order = (uint64_t)rdt_point_rank(spaces, &candidate->point);
    if (!candidate->point.family) return order;
    return order - (uint64_t)rdt_space_size(&spaces->space[0]) + FIRST_SIZE;
}

/* ---- the evaluator --------------------------------------------------------------------------- */

static int order_of(const oracle *self, const rdt_candidate *candidate) {
    return rdt_point_rank(rdt_codegen_spaces(self->codegen), &candidate->point);
}

/* 1, or what a count that suits it badly costs the candidate. */
static double fit_of(const oracle *self, const redtune_problem *problem,
                     const rdt_candidate *candidate) {
    bool is_power = !(shaped_of(problem).count & (shaped_of(problem).count - 1));
    rdt_random random = {shaped_of(problem).count ^ ((uint64_t)order_of(self, candidate) << 40)};
    return is_power || !rdt_random_below(&random, 3) ? 1 : 1 + self->uneven;
}

double oracle_truth_ns(const oracle *self, const redtune_problem *problem, rdt_cache_state cache,
                       const rdt_candidate *candidate) {
    if (rdt_problem_layout(problem) != RDT_LAYOUT_WHOLE)
        return oracle_shape_ns(self, problem, candidate) * name_factor(self, &candidate->point);
    if (!self->record)
        return model_ns(self, problem, cache, candidate) * fit_of(self, problem, candidate) *
               name_factor(self, &candidate->point);
    const measured *each = find_measured(self, problem, &candidate->point);
    return each ? each->median_ns[summary_of(each, 31)] : 0;
}

/* Whether a search explores the point without a probe's saying so. */
static bool is_explored(const oracle *self, rdt_case at, const rdt_point *point) {
    char text[RDT_POINT_TEXT_BYTES];
    bool useful = false;
    rdt_point_format(rdt_codegen_spaces(self->codegen), point, text);
    return strstr(text, "load=no_allocate,tail=shuffle,") &&
           (strstr(text, "finish=single") || strstr(text, "finish=poll")) &&
           !rdt_rules_is_point(self->codegen, at, RDT_SCOPE_USEFUL, point, &useful, NULL) && useful;
}

double oracle_best_ns(const oracle *self, const redtune_problem *problem, rdt_cache_state cache,
                      size_t *points) {
    rdt_case at = {problem, self->facts};
    rdt_point *listed = NULL;
    double best = 0;
    size_t count = 0;
    *points = 0;
    if (rdt_points_list(self->codegen, at, RDT_SCOPE_DISTINCT, &listed, &count, NULL)) return 0;
    for (size_t i = 0; i < count; i++) {
        rdt_candidate each = {.point = listed[i]};
        *points += is_explored(self, at, &listed[i]);
        if (rdt_rules_launch(self->codegen, at, &listed[i], &each.launch, NULL)) continue;
        double truth = oracle_truth_ns(self, problem, cache, &each);
        /* What is recorded with three samples only was not worth more. */
        if (self->record) {
            const measured *found = find_measured(self, problem, &each.point);
            if (!found || !(found->median_ns[2] > 0)) continue;
        }
        if (truth > 0 && (!(best > 0) || truth < best)) best = truth;
    }
    free(listed);
    return best;
}

static void note(const oracle *self, const char *what, const rdt_batch *batch, size_t i,
                 int samples) {
    char text[RDT_POINT_TEXT_BYTES];
    if (!self->log) return;
    rdt_point_format(rdt_codegen_spaces(self->codegen), &batch->candidates[i].point, text);
    rdt_text_addf(self->log, "%s %s %" PRIu64 " %d %s\n", what,
                  redtune_dtype_name(batch->problem->dtype), shaped_of(batch->problem).count,
                  samples, text);
}

static rdt_verdict bad(rdt_outcome outcome, const char *cause) {
    rdt_verdict verdict = {.outcome = outcome};
    rdt_text_copy(verdict.cause, sizeof verdict.cause, cause);
    return verdict;
}

static redtune_status verify(void *user, const rdt_batch *batch, rdt_verdict *verdicts,
                             redtune_error *err) {
    (void)err;
    oracle *self = user;
    for (size_t i = 0; i < batch->count; i++) {
        int order = order_of(self, &batch->candidates[i]);
        verdicts[i] = (rdt_verdict){.outcome = RDT_OUTCOME_GOOD};
        if (order == self->wrong || self->wrong == ORACLE_EVERY)
            verdicts[i] = bad(RDT_OUTCOME_WRONG, "1 and should be 2");
        if (order == self->faulted) verdicts[i] = bad(RDT_OUTCOME_FAULTED, "illegal address");
        if (!(oracle_truth_ns(self, batch->problem, RDT_CACHE_COLD, &batch->candidates[i]) > 0))
            verdicts[i] = bad(RDT_OUTCOME_UNCOMPILED, "it is not in the record");
        self->verified++;
        note(self, "verify", batch, i, 0);
    }
    return REDTUNE_OK;
}

static redtune_status time_batch(void *user, const rdt_batch *batch, rdt_cache_state cache,
                                 int samples, double *sample_ns, rdt_verdict *verdicts,
                                 rdt_conditions *conditions, redtune_error *err) {
    (void)err;
    oracle *self = user;
    for (size_t i = 0; i < batch->count; i++) {
        const rdt_candidate *each = &batch->candidates[i];
        double truth = oracle_truth_ns(self, batch->problem, cache, each);
        double *out = &sample_ns[i * (size_t)samples];
        conditions[i] = (rdt_conditions){.sm_mhz = 1980};
        if (verdicts[i].outcome != RDT_OUTCOME_GOOD) continue;
        self->timed++;
        self->samples += (size_t)samples;
        note(self, cache == RDT_CACHE_WARM ? "warm" : "cold", batch, i, samples);
        if (order_of(self, each) == self->hung) {
            verdicts[i] = bad(RDT_OUTCOME_HUNG, "it did not end");
            continue;
        }
        if (order_of(self, each) == self->flattered && samples < 9) truth /= 2;
        rdt_random random = {self->salt ^ noise_order(self, each) ^
                             shaped_of(batch->problem).count << 20 ^ (uint64_t)samples << 56};
        if (self->record) replay(find_measured(self, batch->problem, &each->point), samples, out);
        for (int j = 0; !self->record && j < samples; j++) {
            bool is_elsewhere = samples >= 15 && j % 3 == 2;
            out[j] = with_noise(self, truth * (is_elsewhere ? 1 + self->elsewhere : 1), &random);
        }
    }
    return REDTUNE_OK;
}

oracle oracle_model(rdt_codegen *codegen, const rdt_facts *facts) {
    return (oracle){.codegen = codegen,
                    .facts = facts,
                    .name = {{"plain", 1.02}, {"streaming", 1.01}, {"shared", 1.04}},
                    .wrong = -1,
                    .faulted = -1,
                    .hung = -1,
                    .flattered = -1};
}

rdt_evaluator oracle_evaluator(oracle *self) {
    return (rdt_evaluator){.self = self, .verify = verify, .time = time_batch};
}
