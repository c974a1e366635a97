/* Local: the evaluator of this process: its GPU memory, its kernels and its timer. */
#include "tuner/measure/local.h"

#include <stdlib.h>
#include <string.h>
#include "tuner/measure/measure.h"
#include "tuner/measure/verify.h"

struct rdt_local {
    rdt_local_parts parts;
    redtune_problem largest;
    rdt_test_buffers *buffers; /* NULL until the first use */
    rdt_kernel_set *kernels;   /* likewise */
    rdt_expected expected;     /* of what is timed */
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
    rdt_kernel_set_destroy(self->kernels);
    rdt_test_buffers_close(self->buffers);
    self->kernels = NULL;
    self->buffers = NULL;
    self->spoilt = false;
}

/* The test buffers and the kernel set. */
static redtune_status furnish(rdt_local *self, const rdt_batch *batch, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (self->spoilt) drop_all(self);
    if (!self->buffers)
        status =
            rdt_test_buffers_open(self->parts.context, &self->largest, self->parts.memory_bytes,
                                  &self->parts.maker, &self->buffers, err);
    if (status || self->kernels) return status;
    return rdt_kernel_set_create(self->buffers, &self->parts.maker, batch->problem, &self->kernels,
                                 err);
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

/* The candidate's kernel, made and checked at its edges the first time. */
static redtune_status get_kernel(const rdt_local *self, const rdt_batch *batch, size_t i,
                                 const rdt_kernel **kernel, rdt_verdict *verdict,
                                 redtune_error *err) {
    const rdt_candidate *each = &batch->candidates[i];
    const rdt_kernel_set_entry *entry = NULL;
    redtune_status status =
        rdt_kernel_set_get(self->kernels, batch->problem, &each->point, &each->launch, &entry, err);
    if (status) return status;
    *kernel = entry->kernel;
    *verdict = verdict_of(entry->outcome, &entry->error);
    return REDTUNE_OK;
}

static redtune_status verify_one(const rdt_local *self, const rdt_batch *batch, size_t i,
                                 rdt_verdict *verdict, redtune_error *err) {
    const rdt_kernel *kernel = NULL;
    redtune_error why;
    redtune_status status = get_kernel(self, batch, i, &kernel, verdict, err);
    if (status || verdict->outcome != RDT_OUTCOME_GOOD) return status;
    status =
        rdt_verify_count(self->buffers, batch->problem, kernel, &batch->candidates[i].launch, &why);
    if (status == REDTUNE_WRONG) {
        *verdict = verdict_of(RDT_OUTCOME_WRONG, &why);
        return REDTUNE_OK;
    }
    if (status && err) *err = why;
    return status;
}

static redtune_status verify_here(void *user, const rdt_batch *batch, rdt_verdict *verdicts,
                                  redtune_error *err) {
    rdt_local *self = user;
    redtune_status status = furnish(self, batch, err);
    if (status) return status;
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

/* Records the candidate's calls in `variants` variants; out stays NULL if it is not good. With more
 * than one variant all copies of its kernel are called, which a quick look is not worth. */
static redtune_status open_one(const rdt_local *self, const rdt_batch *batch, rdt_cache_state cache,
                               int variants, size_t i, rdt_verdict *verdict, rdt_measurement **out,
                               redtune_error *err) {
    const rdt_candidate *each = &batch->candidates[i];
    const rdt_kernel *kernel = NULL, *copies[RDT_KERNEL_SET_COPIES];
    if (verdict->outcome != RDT_OUTCOME_GOOD) return REDTUNE_OK;
    redtune_status status = get_kernel(self, batch, i, &kernel, verdict, err);
    if (status || verdict->outcome != RDT_OUTCOME_GOOD) return status;
    copies[0] = kernel;
    int count = 1;
    if (variants > 1)
        count = rdt_kernel_set_copies(self->kernels, batch->problem, &each->point, &each->launch,
                                      copies);
    for (int k = 0; !status && k < variants; k++) {
        const size_t outputs = (i * (size_t)variants + (size_t)k) * RDT_MEASURE_OUTPUTS;
        rdt_measured what = {
            .problem = batch->problem,
            .cache = cache,
            .copies = copies,
            .copy_count = count,
            .launch = &each->launch,
            .variant = k,
            .outputs = self->buffers->timed.address + outputs * RDT_TEST_BUFFERS_OUTPUT_BYTES,
        };
        status = rdt_measure_open(self->buffers, self->kernels, what, &out[k], err);
    }
    return status;
}

/* A batch that is being timed. */
typedef struct timing {
    const rdt_batch *batch;
    int variants;
    rdt_measurement **opened; /* the variants of each; NULL for a candidate that is not good */
    int samples;
    double *sample_ns;
    size_t at; /* the current candidate */
    int retakes;
    uint64_t throttle; /* what held the clocks down in the turns that were kept */
} timing;

/* Sample j of each. */
static redtune_status take_turn(const rdt_local *local, timing *self, int j, redtune_error *err) {
    for (size_t i = 0; i < self->batch->count; i++) {
        double *sample = &self->sample_ns[i * (size_t)self->samples + (size_t)j];
        const rdt_measurement *opened =
            self->opened[i * (size_t)self->variants + (size_t)(j % self->variants)];
        self->at = i;
        *sample = 0;
        if (!opened) continue;
        tell_at(local, i);
        redtune_status status = rdt_measure_sample(opened, sample, err);
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
static redtune_status check_timed(rdt_local *self, const timing *timing, rdt_verdict *verdicts,
                                  redtune_error *err) {
    const size_t variants = (size_t)timing->variants, opened = timing->batch->count * variants;
    const size_t each = RDT_MEASURE_OUTPUTS * RDT_TEST_BUFFERS_OUTPUT_BYTES;
    unsigned char *results = malloc(opened * each + 1);
    if (!results) return rdt_fail_memory(err, opened * each + 1);
    redtune_status status =
        rdt_buffer_read(self->buffers->driver, results, self->buffers->timed.address, opened * each,
                        self->buffers->stream, err);
    for (size_t i = 0; !status && i < opened; i++) {
        redtune_error why;
        if (!timing->opened[i] || verdicts[i / variants].outcome != RDT_OUTCOME_GOOD) continue;
        redtune_status found =
            rdt_measure_check(timing->opened[i], &self->expected, results + i * each, &why);
        if (found == REDTUNE_WRONG) {
            verdicts[i / variants] = verdict_of(RDT_OUTCOME_WRONG, &why);
            self->spoilt = true;
        } else if (found) {
            if (err) *err = why;
            status = found;
        }
    }
    free(results);
    return status;
}

static redtune_status time_batch(void *user, const rdt_batch *batch, rdt_cache_state cache,
                                 int samples, double *sample_ns, rdt_verdict *verdicts,
                                 rdt_conditions *conditions, redtune_error *err);

/* A kernel that goes wrong may have spoilt what others read: those that were found wrong while they
 * were timed with others are timed again, each alone. */
static redtune_status time_again_alone(rdt_local *self, const timing *timing, rdt_cache_state cache,
                                       rdt_verdict *verdicts, rdt_conditions *conditions,
                                       redtune_error *err) {
    const rdt_batch *batch = timing->batch;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < batch->count; i++) {
        double *sample_ns = &timing->sample_ns[i * (size_t)timing->samples];
        if (verdicts[i].outcome != RDT_OUTCOME_WRONG || !(sample_ns[0] > 0)) continue;
        memset(sample_ns, 0, (size_t)timing->samples * sizeof *sample_ns);
        if (batch->count == 1) continue;
        rdt_batch one = *batch;
        one.candidates += i;
        one.count = 1;
        self->first = i;
        verdicts[i] = (rdt_verdict){.outcome = RDT_OUTCOME_GOOD};
        status = time_batch(self, &one, cache, timing->samples, sample_ns, &verdicts[i],
                            &conditions[i], err);
        self->first = 0;
    }
    return status;
}

static redtune_status time_batch(void *user, const rdt_batch *batch, rdt_cache_state cache,
                                 int samples, double *sample_ns, rdt_verdict *verdicts,
                                 rdt_conditions *conditions, redtune_error *err) {
    rdt_local *self = user;
    timing timing = {.batch = batch,
                     .samples = samples,
                     .sample_ns = sample_ns,
                     .variants = samples >= CAREFUL ? RDT_VARIANTS_MAX : 1};
    const size_t variants = (size_t)timing.variants, opened = batch->count * variants;
    redtune_status status = furnish(self, batch, err);
    if (status) return status;
    timing.opened = calloc(opened ? opened : 1, sizeof(rdt_measurement *));
    if (!timing.opened) return rdt_fail_memory(err, opened * sizeof(rdt_measurement *));
    status = rdt_test_buffers_clear_timed(self->buffers, opened * RDT_MEASURE_OUTPUTS, err);
    for (size_t i = 0; !status && i < batch->count; i++) {
        timing.at = i;
        tell_at(self, i);
        status = open_one(self, batch, cache, timing.variants, i, &verdicts[i],
                          &timing.opened[i * variants], err);
    }
    if (!status) status = take_turns(self, &timing, err);
    if (!status) status = check_timed(self, &timing, verdicts, err);
    if (status) status = blame_config(self, batch, timing.at, status, err);
    rdt_conditions now = rdt_nvml_look(self->parts.nvml);
    now.throttle |= timing.throttle;
    for (size_t i = 0; i < batch->count; i++)
        conditions[i] = timing.opened[i * variants] ? now : (rdt_conditions){0};
    for (size_t i = 0; i < opened; i++) rdt_measure_close(timing.opened[i]);
    if (!status && self->spoilt)
        status = time_again_alone(self, &timing, cache, verdicts, conditions, err);
    free(timing.opened);
    return status;
}

redtune_status rdt_local_create(const rdt_local_parts *parts, const redtune_problem *largest,
                                rdt_local **out, redtune_error *err) {
    rdt_local *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->parts = *parts;
    self->largest = *largest;
    *out = self;
    return REDTUNE_OK;
}

void rdt_local_destroy(rdt_local *self) {
    if (!self) return;
    drop_all(self);
    free(self);
}

rdt_evaluator rdt_local_evaluator(rdt_local *self) {
    return (rdt_evaluator){.self = self, .verify = verify_here, .time = time_batch};
}

redtune_status rdt_local_replace(rdt_local **local, const rdt_local_parts *parts,
                                 const redtune_problem *largest, rdt_evaluator *out,
                                 redtune_error *err) {
    rdt_local_destroy(*local);
    *local = NULL;
    redtune_status status = rdt_local_create(parts, largest, local, err);
    if (!status) *out = rdt_local_evaluator(*local);
    return status;
}
