/* Measure: the time of one call of a kernel, from events around replayed graphs.
 *
 * An interval must be long against the timer's resolution, so a graph holds up to 32 calls, 60 us
 * together. Calls of a cold cache must not find their input in L2, so each has its own part of the
 * dense pool; calls of a warm one take turns through a few parts that stay in L2. Addresses of
 * code, input and scratch decide a few per cent: copies of the kernel take turns within a graph,
 * and each variant of a measurement lies elsewhere. */
#include "tuner/measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tuner/measure/verify.h"
#include "gpu/timer.h"

enum {
    CALL_NS = 2000, /* a small call, at the least */
    ALIGNMENT_BYTES = 256,
    /* In a graph, at the most: the simulated GPU's clock resolves one call, and fewer reuse too few
     * inputs of a warm cache. */
    CALLS_SIMULATED = 16,
};

struct rdt_measurement {
    rdt_measured what;
    rdt_graph *graph;
    int calls;
    uint64_t stride;        /* elements, from one input to the next */
    uint64_t first, inputs; /* the calls take turns through `inputs` of them */
    int scratches;          /* likewise */
    CUdeviceptr tables;     /* by key: the scratch of all of them; else 0 */
    bool exact;             /* the results are known exactly */
    bool alone; /* else: the kernel was also called alone; if neither, no call overlaps another */
    /* Of rows and columns: the calls take turns through `outputs` of `output_bytes`; and a sample
     * of what the last calls left in each, those of the graph and those made alone. */
    uint64_t outputs, output_bytes;
    unsigned char *kept, *kept_alone;
};

static int choose_calls(const rdt_measured *what) {
    const redtune_problem *problem = what->problem;
    const rdt_facts *facts = &what->buffers->context->facts;
    const int most = rdt_facts_is_simulated(facts) ? CALLS_SIMULATED : RDT_TEST_BUFFERS_CALLS_MAX;
    double peak = rdt_facts_peak_gbps(facts); /* bytes per ns */
    double call_ns = CALL_NS + (peak > 0 ? rdt_problem_bytes(problem) / peak : 0);
    int calls = (int)(RDT_TEST_BUFFERS_INTERVAL_NS / call_ns) + 1;
    return calls < most ? calls : most;
}

/* With a cold cache each call has its own input, and the scratch is the same for all: each place
 * would be fetched once more. Warm ones take turns through a few of both. Where these lie makes a
 * kernel a few percent faster or slower, one more than another, so that a single place would
 * decide by luck; so each variant has others, too. */
static void choose_places(rdt_measurement *self) {
    enum { WARM_INPUTS_MAX = 4 };
    const rdt_test_buffers *buffers = self->what.buffers;
    const bool warm = self->what.cache == RDT_CACHE_WARM;
    const size_t element = redtune_dtype_bytes(self->what.problem->dtype);
    const uint64_t reach = rdt_problem_reach(self->what.problem), unit = ALIGNMENT_BYTES / element;
    self->calls = choose_calls(&self->what);
    self->stride = (reach + unit - 1) / unit * unit;
    self->scratches = warm ? RDT_TEST_BUFFERS_SCRATCHES : 1;
    const uint64_t all = reach ? 1 + (buffers->dense.count - reach) / self->stride : 1;
    uint64_t most = (uint64_t)self->calls;
    if (warm) {
        const uint64_t bytes = self->stride * rdt_problem_input_bytes(self->what.problem);
        most = bytes ? rdt_facts_warm_bytes(&buffers->context->facts) / bytes : 1;
        if (most > WARM_INPUTS_MAX) most = WARM_INPUTS_MAX;
    }
    if (most < 1) most = 1;
    self->inputs = all < most ? all : most;
    self->first = (uint64_t)self->what.variant * self->inputs;
    if (self->first + self->inputs > all) self->first = all - self->inputs;
    if (!warm && reach && self->inputs < (uint64_t)self->calls) self->calls = (int)self->inputs;
}

/* As many outputs as calls, if they take few bytes. A program mostly writes many results where
 * earlier ones were, and L2 may still have these: that is up to a tenth of the time of rows of four
 * elements, and more for one kind of load than for another. */
static void choose_outputs(rdt_measurement *self) {
    const redtune_problem *problem = self->what.problem;
    const uint64_t calls = (uint64_t)self->calls;
    self->output_bytes =
        rdt_sample_output_bytes(rdt_problem_strided_results_reach(problem), problem);
    self->outputs = self->what.buffers->results.bytes / self->output_bytes;
    const uint64_t most = RDT_TEST_BUFFERS_ROTATED_BYTES / self->output_bytes;
    if (self->outputs > most) self->outputs = most > 0 ? most : 1;
    if (self->outputs > calls) self->outputs = calls;
}

/* Where call i leaves its results: the first of them in memory. */
static CUdeviceptr output_of(const rdt_measurement *self, int i) {
    const rdt_measured *what = &self->what;
    if (!what->answers) return what->outputs + (size_t)i * RDT_TEST_BUFFERS_OUTPUT_BYTES;
    return what->buffers->results.address + (uint64_t)i % self->outputs * self->output_bytes +
           RDT_SAMPLE_GUARD_BYTES;
}

/* Where call i leaves its second results, if its first are there. */
static CUdeviceptr second_output(const rdt_measurement *self, CUdeviceptr first) {
    const redtune_problem *problem = self->what.problem;
    if (!self->what.answers) return first + RDT_TEST_BUFFERS_RESULT_BYTES;
    return first + rdt_sample_second(rdt_problem_strided_results_reach(problem), problem);
}

static uint64_t input_of(const rdt_measurement *self, int i) {
    return self->first + (uint64_t)i % self->inputs;
}

static rdt_operands choose_operands(const rdt_measurement *self, int i) {
    const rdt_measured *what = &self->what;
    const uint64_t turn = (uint64_t)i / self->inputs % (uint64_t)self->scratches;
    const int scratch = (what->variant + (int)turn) % RDT_TEST_BUFFERS_SCRATCHES;
    const uint64_t first = input_of(self, i) * self->stride;
    const rdt_pool *pool = &what->buffers->dense;
    const CUdeviceptr output = output_of(self, i), second = second_output(self, output);
    rdt_operands operands = {
        .input = pool->buffer.address + first * redtune_dtype_bytes(what->problem->dtype),
        .extents = rdt_problem_extents(what->problem),
        .given = rdt_test_buffers_given(
            what->buffers, rdt_test_buffers_second(what->buffers, pool, first, 0), second),
    };
    if (what->answers)
        operands = rdt_answers_operands(what->answers, pool, first, 0,
                                        second + rdt_sample_lead(what->problem, 1));
    operands.output = output + rdt_sample_lead(what->problem, 0);
    operands.scratch = what->buffers->scratch.address + (size_t)scratch * RDT_SCRATCH_BYTES;
    if (self->tables) operands.scratch = self->tables;
    operands.chained = i > 0; /* as reductions that a program captures one after the other */
    return operands;
}

static redtune_status record_graph(rdt_measurement *self, redtune_error *err) {
    const rdt_measured *what = &self->what;
    const rdt_test_buffers *buffers = what->buffers;
    redtune_status status = rdt_graph_begin(buffers->driver, buffers->stream, err);
    if (status) return status;
    for (int i = 0; !status && i < self->calls; i++) {
        /* Not always the same copy for the same input. */
        const int copy = (i + i / what->copy_count) % what->copy_count;
        const rdt_operands operands = choose_operands(self, i);
        status =
            rdt_kernel_start(what->copies[copy], what->launch, &operands, buffers->stream, err);
    }
    if (!status) return rdt_graph_end(buffers->driver, buffers->stream, &self->graph, err);
    rdt_graph_abandon(buffers->driver, buffers->stream);
    return status;
}

/* Calls the kernel on each input alone, for what the timed calls should give. */
static redtune_status call_alone(const rdt_measurement *self, redtune_error *err) {
    const rdt_measured *what = &self->what;
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < self->calls && (uint64_t)i < self->inputs; i++) {
        rdt_operands operands = choose_operands(self, i);
        operands.output += (size_t)RDT_TEST_BUFFERS_CALLS_MAX * RDT_TEST_BUFFERS_OUTPUT_BYTES;
        if (operands.given.output) operands.given.output = second_output(self, operands.output);
        operands.chained = false;
        status =
            rdt_kernel_start(what->copies[0], what->launch, &operands, what->buffers->stream, err);
    }
    return status;
}

redtune_status rdt_measure_open(const rdt_measured *what, rdt_measurement **out,
                                redtune_error *err) {
    rdt_measurement *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->what = *what;
    self->exact =
        rdt_problem_segments_longest(what->problem) <= what->buffers->dense.data->count_max;
    choose_places(self);
    if (what->answers) choose_outputs(self);
    self->alone = !self->exact && what->launch->overlap && self->calls > 1;
    redtune_status status = REDTUNE_OK;
    if (rdt_problem_is_keyed(what->problem))
        status = rdt_answers_scratch(what->answers, what->launch, &self->tables, err);
    if (!status) status = record_graph(self, err);
    /* The first replay pays for uploading the graph, which is not the kernel's time. */
    if (!status) status = rdt_graph_replay(self->graph, what->buffers->stream, err);
    if (!status && self->alone && !what->answers) status = call_alone(self, err);
    if (status)
        rdt_measure_close(self);
    else
        *out = self;
    return status;
}

void rdt_measure_close(rdt_measurement *self) {
    if (!self) return;
    rdt_graph_destroy(self->graph);
    free(self->kept);
    free(self->kept_alone);
    free(self);
}

/* ---- the results of rows and columns --------------------------------------------------------- */

static redtune_status poison_results(const rdt_measurement *self, redtune_error *err) {
    const rdt_test_buffers *buffers = self->what.buffers;
    return rdt_test_buffers_poison(buffers, buffers->results.address,
                                   self->outputs * self->output_bytes, err);
}

/* The first of the calls behind which none has the same output. */
static int first_kept(const rdt_measurement *self) { return self->calls - (int)self->outputs; }

static redtune_status keep_results(const rdt_measurement *self, unsigned char **kept,
                                   redtune_error *err) {
    const rdt_test_buffers *buffers = self->what.buffers;
    const rdt_sample *sample = &self->what.answers->sample[RDT_LOOK_TIMED];
    const size_t each = rdt_sample_gathered_bytes(sample), all = self->outputs * each;
    redtune_status status = REDTUNE_OK;
    if (!*kept) *kept = malloc(all);
    if (!*kept) return rdt_fail_memory(err, all);
    for (int i = first_kept(self); !status && i < self->calls; i++) {
        const size_t at = (size_t)(i - first_kept(self)) * each;
        status = rdt_sample_gather(sample, buffers->driver, output_of(self, i),
                                   buffers->samples.address + at, buffers->stream, err);
    }
    return status ? status
                  : rdt_buffer_read(buffers->driver, *kept, buffers->samples.address, all,
                                    buffers->stream, err);
}

/* The same calls, each alone. */
static redtune_status keep_alone(rdt_measurement *self, redtune_error *err) {
    const rdt_measured *what = &self->what;
    redtune_status status = poison_results(self, err);
    for (int i = first_kept(self); !status && i < self->calls; i++) {
        rdt_operands operands = choose_operands(self, i);
        operands.chained = false;
        status =
            rdt_kernel_start(what->copies[0], what->launch, &operands, what->buffers->stream, err);
    }
    return status ? status : keep_results(self, &self->kept_alone, err);
}

/* What the calls should give is what they gave alone. */
static void take_alone(const rdt_measurement *self, int i, rdt_answer *answers) {
    const redtune_problem *problem = self->what.problem;
    const rdt_sample *sample = &self->what.answers->sample[RDT_LOOK_TIMED];
    const size_t at = (size_t)(i - first_kept(self)) * rdt_sample_gathered_bytes(sample);
    for (int output = 0; output < rdt_op_find(problem->op)->outputs; output++) {
        const unsigned char *from = self->kept_alone + at + rdt_sample_gathered_at(sample, output);
        const size_t bytes = redtune_dtype_bytes(rdt_compare_dtype(problem, output));
        for (size_t k = 0; k < sample->count; k++) {
            answers[k].value[output].u64 = 0;
            memcpy(&answers[k].value[output], from + k * bytes, bytes);
        }
    }
}

static redtune_status check_results(const rdt_measurement *self, redtune_error *err) {
    rdt_answers *answers = self->what.answers;
    const rdt_sample *sample = &answers->sample[RDT_LOOK_TIMED];
    const size_t each = rdt_sample_gathered_bytes(sample);
    rdt_answer alone[RDT_ANSWERS_TIMED_MAX];
    const rdt_answer *expected = alone;
    redtune_status status = REDTUNE_OK;
    for (int i = first_kept(self); !status && i < self->calls; i++) {
        char which[80];
        snprintf(which, sizeof which, ", in call %d of %d one after the other", i + 1, self->calls);
        if (self->alone)
            take_alone(self, i, alone);
        else
            status = rdt_answers_get(answers, RDT_LOOK_TIMED, input_of(self, i) * self->stride,
                                     &expected, err);
        if (!status)
            status = rdt_sample_check_gathered(
                sample, which, self->kept + (size_t)(i - first_kept(self)) * each, expected, err);
    }
    return status;
}

/* ---- samples --------------------------------------------------------------------------------- */

redtune_status rdt_measure_sample(rdt_measurement *self, bool is_last, double *sample_ns,
                                  redtune_error *err) {
    const rdt_test_buffers *buffers = self->what.buffers;
    const bool keeps = is_last && self->what.answers && (self->exact || self->alone);
    /* The flush, or the replay that fills the cache, also keeps the GPU busy until the timed work
     * is queued, so that the host's time for queueing it is not in the interval. */
    redtune_status status = keeps ? poison_results(self, err) : REDTUNE_OK;
    if (!status)
        status = self->what.cache == RDT_CACHE_WARM
                     ? rdt_graph_replay(self->graph, buffers->stream, err)
                     : rdt_kernel_set_flush(self->what.kernels, err);
    double elapsed_ns = 0;
    if (!status) status = rdt_timer_start(&buffers->timer, buffers->stream, err);
    if (!status) status = rdt_graph_replay(self->graph, buffers->stream, err);
    if (!status) status = rdt_timer_stop(&buffers->timer, buffers->stream, err);
    if (!status) status = rdt_timer_read(&buffers->timer, &elapsed_ns, err);
    if (!status && keeps) status = keep_results(self, &self->kept, err);
    if (!status && keeps && self->alone) status = keep_alone(self, err);
    if (!status) *sample_ns = elapsed_ns / self->calls;
    return status;
}

/* Sees to it that the results over the inputs of the timed calls are known. */
static redtune_status need_expected(const rdt_measurement *self, rdt_expected *expected,
                                    redtune_error *err) {
    enum { INPUTS = RDT_TEST_BUFFERS_CALLS_MAX };
    const rdt_test_buffers *buffers = self->what.buffers;
    const uint64_t count = rdt_problem_count(self->what.problem);
    rdt_question questions[INPUTS];
    rdt_answer answers[INPUTS];
    uint64_t inputs[INPUTS];
    size_t asked = 0;
    if (expected->count != count) *expected = (rdt_expected){.count = count};
    for (int i = 0; i < self->calls; i++) {
        const uint64_t input = input_of(self, i);
        if (expected->known[input]) continue;
        expected->known[input] = true;
        inputs[asked] = input;
        questions[asked++] =
            rdt_judge_question(&buffers->dense.judged, input * self->stride, count);
    }
    if (!asked) return REDTUNE_OK;
    redtune_status status = rdt_judge_answer(buffers->judge, questions, asked, answers, err);
    for (size_t i = 0; i < asked; i++) {
        expected->known[inputs[i]] = !status;
        expected->value[inputs[i]] = answers[i];
    }
    return status;
}

/* What call i should give. */
static rdt_answer get_expected(const rdt_measurement *self, const rdt_expected *expected,
                               const unsigned char *results, int i) {
    rdt_answer answer;
    if (!self->alone) return expected->value[input_of(self, i)];
    const uint64_t alone = RDT_TEST_BUFFERS_CALLS_MAX + (uint64_t)i % self->inputs;
    memcpy(&answer, results + alone * RDT_TEST_BUFFERS_OUTPUT_BYTES, sizeof answer);
    return answer;
}

redtune_status rdt_measure_check(const rdt_measurement *self, rdt_expected *expected,
                                 const unsigned char *results, redtune_error *err) {
    const redtune_problem *problem = self->what.problem;
    if (!self->exact && !self->alone) return REDTUNE_OK;
    if (self->what.answers) return self->kept ? check_results(self, err) : REDTUNE_OK;
    redtune_status status = self->alone ? REDTUNE_OK : need_expected(self, expected, err);
    if (status) return status;
    for (int i = 0; i < self->calls; i++) {
        const unsigned char *output = results + (size_t)i * RDT_TEST_BUFFERS_OUTPUT_BYTES;
        const rdt_answer answer = get_expected(self, expected, results, i);
        char which[80];
        if (rdt_verify_same(problem, output, &answer)) continue;
        snprintf(which, sizeof which, ", in call %d of %d one after the other,", i + 1,
                 self->calls);
        return rdt_verify_wrong(problem, rdt_problem_count(problem), which, output, &answer, err);
    }
    return REDTUNE_OK;
}
