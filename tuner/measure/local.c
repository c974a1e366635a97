/* Local: the evaluator of this process: its GPU memory, its kernels and its timer. */
#include "tuner/measure/local.h"

#include <stdlib.h>
#include <string.h>
#include "tuner/measure/measure.h"
#include "tuner/measure/own_check.h"
#include "tuner/measure/verify.h"
#include "tuner/measure/verify_shapes.h"

struct rdt_local {
    rdt_local_parts parts;
    rdt_domain domain;
    rdt_test_buffers *buffers; /* NULL until the first use */
    rdt_kernel_set *kernels;   /* likewise */
    rdt_expected expected;     /* of what is timed, of whole arrays */
    rdt_answers answers;       /* of rows and columns */
    size_t first;              /* of the current part of the batch */
    bool spoilt;  /* a kernel gave a wrong result, and may have written where it should not */
    bool gave_up; /* the clocks stayed down however often samples were taken again */
};

/* How often a turn is taken again in a batch while the GPU's clocks are held down. */
enum { RETAKES_MAX = 3 };

/* From this many samples on, those of a last round, after which a winner is chosen,
 * RDT_VARIANTS_MAX variants of a candidate are timed in turns: where its code, inputs and scratch
 * lie makes it up to 4 % faster or slower. */
enum { CAREFUL = 15 };

static void drop_all(rdt_local *self) {
    rdt_answers_forget(&self->answers);
    rdt_kernel_set_destroy(self->kernels);
    rdt_test_buffers_close(self->buffers);
    self->kernels = NULL;
    self->buffers = NULL;
    self->spoilt = false;
}

/* The test buffers and the kernel set. */
static redtune_status furnish(rdt_local *self, const rdt_batch *batch, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (!rdt_problem_same_class(batch->problem, &self->domain.problem))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot try a problem of another class than the evaluator was made for");
    const bool is_within = rdt_problem_is_within(batch->problem, &self->domain);
    if (self->spoilt || !is_within) drop_all(self);
    if (!is_within) rdt_problem_widen(&self->domain, batch->problem);
    if (!self->buffers)
        status = rdt_own_check(self->parts.context, batch->problem, &self->parts.maker, err);
    if (!status && !self->buffers)
        status = rdt_test_buffers_open(self->parts.context, &self->domain, self->parts.memory_bytes,
                                       &self->parts.maker, &self->buffers, err);
    if (!status && !self->kernels)
        status = rdt_kernel_set_create(self->buffers, &self->parts.maker, batch->problem,
                                       &self->kernels, err);
    if (status || self->buffers->is_whole) return status;
    return rdt_answers_need(&self->answers, self->buffers, batch->problem, err);
}

static rdt_verdict verdict_of(rdt_outcome outcome, const redtune_error *why) {
    rdt_verdict verdict = {.outcome = outcome};
    if (outcome != RDT_OUTCOME_GOOD)
        rdt_text_copy(verdict.cause, sizeof verdict.cause, why->message);
    return verdict;
}

static void tell_at(const rdt_local *self, size_t candidate) {
    if (self->parts.at) self->parts.at(self->parts.at_user, self->first + candidate);
}

/* Whose failure it was, unless somebody is told by the hook. */
static redtune_status blame_config(const rdt_local *self, const rdt_batch *batch, size_t i,
                                   redtune_status status, redtune_error *err) {
    if (self->parts.at) return status;
    char text[RDT_POINT_TEXT_BYTES];
    rdt_point_format(rdt_codegen_spaces(self->parts.maker.codegen), &batch->candidates[i].point,
                     text);
    return rdt_fail_within(err, status, "config %s", text);
}

/* A failure that is the candidate's own becomes its verdict. */
static redtune_status take_failure(redtune_status status, const redtune_error *why,
                                   rdt_verdict *verdict, redtune_error *err) {
    if (status == REDTUNE_WRONG) {
        *verdict = verdict_of(RDT_OUTCOME_WRONG, why);
        return REDTUNE_OK;
    }
    if (status && err) *err = *why;
    return status;
}

/* The candidate's kernel, made and checked at its edges the first time. */
static redtune_status get_kernel(const rdt_local *self, const rdt_batch *batch, size_t i,
                                 rdt_kernel_set_entry **out, rdt_verdict *verdict,
                                 redtune_error *err) {
    const rdt_candidate *each = &batch->candidates[i];
    redtune_status status =
        rdt_kernel_set_get(self->kernels, batch->problem, &each->point, &each->launch, out, err);
    if (!status) *verdict = verdict_of((*out)->outcome, &(*out)->error);
    return status;
}

static redtune_status verify_one(rdt_local *self, const rdt_batch *batch, size_t i,
                                 rdt_verdict *verdict, redtune_error *err) {
    rdt_kernel_set_entry *entry;
    redtune_error why;
    redtune_status status = get_kernel(self, batch, i, &entry, verdict, err);
    if (status || verdict->outcome != RDT_OUTCOME_GOOD) return status;
    const rdt_kernel *kernel = entry->copies[0];
    const rdt_launch *launch = &batch->candidates[i].launch;
    status = self->buffers->is_whole
                 ? rdt_verify_count(self->buffers, batch->problem, kernel, launch, &why)
                 : rdt_verify_shapes_extents(&self->answers, kernel, launch, &why);
    return take_failure(status, &why, verdict, err);
}

static redtune_status verify_here(void *user, const rdt_batch *batch, rdt_verdict *verdicts,
                                  redtune_error *err) {
    rdt_local *self = user;
    redtune_status status = furnish(self, batch, err);
    for (size_t i = 0; !status && i < batch->count; i++) {
        if (self->spoilt) status = furnish(self, batch, err);
        if (status) return status;
        tell_at(self, i);
        status = verify_one(self, batch, i, &verdicts[i], err);
        if (status) return blame_config(self, batch, i, status, err);
        self->spoilt = verdicts[i].outcome == RDT_OUTCOME_WRONG;
    }
    return status;
}

/* A batch that is being timed. */
typedef struct timing {
    const rdt_batch *batch;
    rdt_cache_state cache;
    int samples;
    double *sample_ns;
    rdt_verdict *verdicts;
    rdt_conditions *conditions;
    size_t variants;
    rdt_measurement **opened; /* the variants of each; NULL for a candidate that is not good */
    size_t at;                /* the current candidate */
    int retakes;
    uint64_t throttle; /* what held the clocks down in the turns that were kept */
} timing;

/* Records the candidate's calls in all variants, unless it is not good. With more than one variant
 * all copies of its kernel are called, which a quick look is not worth. */
static redtune_status open_one(rdt_local *self, const timing *timing, size_t i,
                               redtune_error *err) {
    const rdt_batch *batch = timing->batch;
    const rdt_candidate *each = &batch->candidates[i];
    rdt_verdict *verdict = &timing->verdicts[i];
    rdt_kernel_set_entry *entry;
    if (verdict->outcome != RDT_OUTCOME_GOOD) return REDTUNE_OK;
    redtune_status status = get_kernel(self, batch, i, &entry, verdict, err);
    if (status || verdict->outcome != RDT_OUTCOME_GOOD) return status;
    rdt_measured what = {
        .buffers = self->buffers,
        .kernels = self->kernels,
        .problem = batch->problem,
        .cache = timing->cache,
        .copies = entry->copies,
        .copy_count = 1,
        .launch = &each->launch,
        .answers = self->buffers->is_whole ? NULL : &self->answers,
    };
    if (timing->variants > 1)
        what.copy_count = rdt_kernel_set_copy(self->kernels, batch->problem, &each->launch, entry);
    for (size_t k = 0; !status && k < timing->variants; k++) {
        const size_t place = i * timing->variants + k;
        what.variant = (int)k;
        what.outputs = self->buffers->timed.address +
                       place * RDT_MEASURE_OUTPUTS * RDT_TEST_BUFFERS_OUTPUT_BYTES;
        status = rdt_measure_open(&what, &timing->opened[place], err);
    }
    return status;
}

/* Sample j of each. */
static redtune_status take_turn(const rdt_local *local, timing *self, int j, redtune_error *err) {
    for (size_t i = 0; i < self->batch->count; i++) {
        double *sample = &self->sample_ns[i * (size_t)self->samples + (size_t)j];
        rdt_measurement *opened = self->opened[i * self->variants + (size_t)j % self->variants];
        self->at = i;
        *sample = 0;
        if (!opened) continue;
        tell_at(local, i);
        const bool is_last = j + (int)self->variants >= self->samples;
        redtune_status status = rdt_measure_sample(opened, is_last, sample, err);
        if (status) return status;
    }
    return REDTUNE_OK;
}

/* Whether the turn just taken should be taken again, since the clocks were held down meanwhile. It
 * is not, where that was seen to be of no use. */
static bool is_spoilt(rdt_local *self, timing *timing) {
    uint64_t throttle = rdt_nvml_throttle(self->parts.nvml);
    bool is_down = rdt_trial_held_down(&(rdt_conditions){.throttle = throttle});
    if (is_down && !self->gave_up && timing->retakes++ < RETAKES_MAX) return true;
    self->gave_up = is_down;
    timing->throttle |= throttle;
    return false;
}

static redtune_status take_turns(rdt_local *self, timing *timing, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int j = 0; !status && j < timing->samples; j++) do
            status = take_turn(self, timing, j, err);
        while (!status && is_spoilt(self, timing));
    return status;
}

/* Compares what the last sample of each measurement gave. */
static redtune_status check_timed(rdt_local *self, const timing *timing, redtune_error *err) {
    const size_t opened = timing->batch->count * timing->variants;
    const size_t each =
        self->buffers->is_whole ? RDT_MEASURE_OUTPUTS * RDT_TEST_BUFFERS_OUTPUT_BYTES : 0;
    unsigned char *results = malloc(opened * each + 1);
    if (!results) return rdt_fail_memory(err, opened * each + 1);
    redtune_status status = REDTUNE_OK;
    if (each)
        status = rdt_buffer_read(self->buffers->driver, results, self->buffers->timed.address,
                                 opened * each, self->buffers->stream, err);
    for (size_t i = 0; !status && i < opened; i++) {
        redtune_error why;
        rdt_verdict *verdict = &timing->verdicts[i / timing->variants];
        if (!timing->opened[i] || verdict->outcome != RDT_OUTCOME_GOOD) continue;
        status = rdt_measure_check(timing->opened[i], &self->expected, results + i * each, &why);
        self->spoilt |= status == REDTUNE_WRONG;
        status = take_failure(status, &why, verdict, err);
    }
    free(results);
    return status;
}

static redtune_status time_batch(void *user, const rdt_batch *batch, rdt_cache_state cache,
                                 int samples, double *sample_ns, rdt_verdict *verdicts,
                                 rdt_conditions *conditions, redtune_error *err);

/* A kernel that goes wrong may have spoilt what others read: those that were found wrong while they
 * were timed with others are timed again, each alone. */
static redtune_status time_again_alone(rdt_local *self, const timing *timing, redtune_error *err) {
    const size_t samples = (size_t)timing->samples;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < timing->batch->count; i++) {
        double *sample_ns = &timing->sample_ns[i * samples];
        rdt_verdict *verdict = &timing->verdicts[i];
        if (verdict->outcome != RDT_OUTCOME_WRONG || !(sample_ns[0] > 0)) continue;
        memset(sample_ns, 0, samples * sizeof *sample_ns);
        if (timing->batch->count == 1) continue;
        const rdt_batch one = {timing->batch->problem, &timing->batch->candidates[i], 1};
        self->first = i;
        *verdict = (rdt_verdict){.outcome = RDT_OUTCOME_GOOD};
        status = time_batch(self, &one, timing->cache, timing->samples, sample_ns, verdict,
                            &timing->conditions[i], err);
        self->first = 0;
    }
    return status;
}

static redtune_status time_batch(void *user, const rdt_batch *batch, rdt_cache_state cache,
                                 int samples, double *sample_ns, rdt_verdict *verdicts,
                                 rdt_conditions *conditions, redtune_error *err) {
    rdt_local *self = user;
    timing timing = {batch,
                     cache,
                     samples,
                     sample_ns,
                     verdicts,
                     conditions,
                     .variants = samples >= CAREFUL ? RDT_VARIANTS_MAX : 1};
    const size_t opened = batch->count * timing.variants;
    redtune_status status = furnish(self, batch, err);
    if (status) return status;
    timing.opened = calloc(opened + 1, sizeof *timing.opened);
    if (!timing.opened) return rdt_fail_memory(err, opened * sizeof *timing.opened);
    if (self->buffers->is_whole)
        status = rdt_test_buffers_clear_timed(self->buffers, opened * RDT_MEASURE_OUTPUTS, err);
    for (size_t i = 0; !status && i < batch->count; i++) {
        timing.at = i;
        tell_at(self, i);
        status = open_one(self, &timing, i, err);
    }
    if (!status) status = take_turns(self, &timing, err);
    if (!status) status = check_timed(self, &timing, err);
    if (status) status = blame_config(self, batch, timing.at, status, err);
    rdt_conditions now = rdt_nvml_look(self->parts.nvml);
    now.throttle |= timing.throttle;
    for (size_t i = 0; i < batch->count; i++)
        conditions[i] = timing.opened[i * timing.variants] ? now : (rdt_conditions){0};
    for (size_t i = 0; i < opened; i++) rdt_measure_close(timing.opened[i]);
    if (!status && self->spoilt) status = time_again_alone(self, &timing, err);
    free(timing.opened);
    return status;
}

void rdt_local_destroy(rdt_local *self) {
    if (!self) return;
    drop_all(self);
    free(self);
}

redtune_status rdt_local_replace(rdt_local **local, const rdt_local_parts *parts,
                                 const rdt_domain *domain, rdt_evaluator *out, redtune_error *err) {
    rdt_local_destroy(*local);
    rdt_local *self = *local = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->parts = *parts;
    self->domain = *domain;
    *out = (rdt_evaluator){.self = self, .verify = verify_here, .time = time_batch};
    return REDTUNE_OK;
}
