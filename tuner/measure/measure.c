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

enum { CALL_NS = 2000 /* a small call, at the least */, ALIGNMENT_BYTES = 256 };

struct rdt_measurement {
    rdt_measured what;
    rdt_graph *graph;
    int calls;
    uint64_t stride;        /* elements, from one input to the next */
    uint64_t first, inputs; /* the calls take turns through `inputs` of them */
    int scratches;          /* likewise */
    bool exact;             /* the results are known exactly */
    bool alone; /* else: the kernel was also called alone; if neither, no call overlaps another */
};

static int choose_calls(const rdt_measured *what) {
    const uint64_t count = what->problem->count;
    double peak = rdt_facts_peak_gbps(&what->buffers->context->facts); /* bytes per ns */
    double bytes = (double)count * (double)redtune_dtype_bytes(what->problem->dtype);
    double call_ns = CALL_NS + (peak > 0 ? bytes / peak : 0);
    int calls = (int)(RDT_TEST_BUFFERS_INTERVAL_NS / call_ns) + 1;
    return calls < RDT_TEST_BUFFERS_CALLS_MAX ? calls : RDT_TEST_BUFFERS_CALLS_MAX;
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
    const uint64_t count = self->what.problem->count, unit = ALIGNMENT_BYTES / element;
    self->calls = choose_calls(&self->what);
    self->stride = (count + unit - 1) / unit * unit;
    self->scratches = warm ? RDT_TEST_BUFFERS_SCRATCHES : 1;
    const uint64_t all = count ? 1 + (buffers->dense.count - count) / self->stride : 1;
    uint64_t most = (uint64_t)self->calls;
    if (warm) {
        const uint64_t bytes = self->stride * element;
        most = bytes ? rdt_facts_warm_bytes(&buffers->context->facts) / bytes : 1;
        if (most > WARM_INPUTS_MAX) most = WARM_INPUTS_MAX;
    }
    if (most < 1) most = 1;
    self->inputs = all < most ? all : most;
    self->first = (uint64_t)self->what.variant * self->inputs;
    if (self->first + self->inputs > all) self->first = all - self->inputs;
    if (!warm && count && self->inputs < (uint64_t)self->calls) self->calls = (int)self->inputs;
}

static uint64_t input_of(const rdt_measurement *self, int i) {
    return self->first + (uint64_t)i % self->inputs;
}

static rdt_operands choose_operands(const rdt_measurement *self, int i) {
    const rdt_measured *what = &self->what;
    const uint64_t turn = (uint64_t)i / self->inputs % (uint64_t)self->scratches;
    const int scratch = (what->variant + (int)turn) % RDT_TEST_BUFFERS_SCRATCHES;
    return (rdt_operands){
        .input = what->buffers->dense.buffer.address +
                 input_of(self, i) * self->stride * redtune_dtype_bytes(what->problem->dtype),
        .extents.count = what->problem->count,
        .output = what->outputs + (size_t)i * RDT_TEST_BUFFERS_OUTPUT_BYTES,
        .scratch = what->buffers->scratch.address + (size_t)scratch * RDT_SCRATCH_BYTES,
        .chained = i > 0, /* as reductions that a program captures one after the other */
    };
}

static redtune_status record_graph(rdt_measurement *self, redtune_error *err) {
    const rdt_measured *what = &self->what;
    const rdt_test_buffers *buffers = what->buffers;
    redtune_status status = rdt_graph_begin(buffers->driver, buffers->stream, err);
    if (status) return status;
    for (int i = 0; !status && i < self->calls; i++) {
        /* Not always the same copy for the same input. */
        const int copy = (i + i / what->copy_count) % what->copy_count;
        status = rdt_kernel_launch(what->copies[copy], what->launch, choose_operands(self, i),
                                   buffers->stream, err);
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
        operands.chained = false;
        status =
            rdt_kernel_launch(what->copies[0], what->launch, operands, what->buffers->stream, err);
    }
    return status;
}

redtune_status rdt_measure_open(const rdt_measured *what, rdt_measurement **out,
                                redtune_error *err) {
    rdt_measurement *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->what = *what;
    self->exact = what->problem->count <= what->buffers->dense.data->count_max;
    choose_places(self);
    self->alone = !self->exact && what->launch->overlap && self->calls > 1;
    redtune_status status = record_graph(self, err);
    /* The first replay pays for uploading the graph, which is not the kernel's time. */
    if (!status) status = rdt_graph_replay(self->graph, what->buffers->stream, err);
    if (!status && self->alone) status = call_alone(self, err);
    if (status)
        rdt_measure_close(self);
    else
        *out = self;
    return status;
}

void rdt_measure_close(rdt_measurement *self) {
    if (!self) return;
    rdt_graph_destroy(self->graph);
    free(self);
}

redtune_status rdt_measure_sample(const rdt_measurement *self, double *sample_ns,
                                  redtune_error *err) {
    const rdt_test_buffers *buffers = self->what.buffers;
    /* The flush, or the replay that fills the cache, also keeps the GPU busy until the timed work
     * is queued, so that the host's time for queueing it is not in the interval. */
    redtune_status status = self->what.cache == RDT_CACHE_WARM
                                ? rdt_graph_replay(self->graph, buffers->stream, err)
                                : rdt_kernel_set_flush(self->what.kernels, err);
    double elapsed_ns = 0;
    if (!status) status = rdt_timer_start(&buffers->timer, buffers->stream, err);
    if (!status) status = rdt_graph_replay(self->graph, buffers->stream, err);
    if (!status) status = rdt_timer_stop(&buffers->timer, buffers->stream, err);
    if (!status) status = rdt_timer_read(&buffers->timer, &elapsed_ns, err);
    if (!status) *sample_ns = elapsed_ns / self->calls;
    return status;
}

/* Sees to it that the results over the inputs of the timed calls are known. */
static redtune_status need_expected(const rdt_measurement *self, rdt_expected *expected,
                                    redtune_error *err) {
    enum { INPUTS = RDT_TEST_BUFFERS_CALLS_MAX };
    const rdt_test_buffers *buffers = self->what.buffers;
    const uint64_t count = self->what.problem->count;
    rdt_question questions[INPUTS];
    redtune_value answers[INPUTS];
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
static redtune_value get_expected(const rdt_measurement *self, const rdt_expected *expected,
                                  const unsigned char *results, int i) {
    redtune_value value;
    if (!self->alone) return expected->value[input_of(self, i)];
    const uint64_t alone = RDT_TEST_BUFFERS_CALLS_MAX + (uint64_t)i % self->inputs;
    memcpy(&value, results + alone * RDT_TEST_BUFFERS_OUTPUT_BYTES, sizeof value);
    return value;
}

redtune_status rdt_measure_check(const rdt_measurement *self, rdt_expected *expected,
                                 const unsigned char *results, redtune_error *err) {
    const redtune_problem *problem = self->what.problem;
    if (!self->exact && !self->alone) return REDTUNE_OK;
    redtune_status status = self->alone ? REDTUNE_OK : need_expected(self, expected, err);
    if (status) return status;
    for (int i = 0; i < self->calls; i++) {
        const unsigned char *output = results + (size_t)i * RDT_TEST_BUFFERS_OUTPUT_BYTES;
        const redtune_value value = get_expected(self, expected, results, i);
        char which[80];
        if (rdt_verify_same(problem->result, output, &value)) continue;
        snprintf(which, sizeof which, ", in call %d of %d one after the other,", i + 1,
                 self->calls);
        return rdt_verify_wrong(problem, problem->count, which, output, &value, err);
    }
    return REDTUNE_OK;
}
