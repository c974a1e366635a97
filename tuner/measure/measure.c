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

/* With a cold cache each call has its own input, and the scratch is the same for all: each place
 * would be fetched once more. Warm ones take turns through a few of both. Where these lie makes a
 * kernel a few percent faster or slower, one more than another, so that a single place would
 * decide by luck; so each variant has others, too. */
static rdt_places choose_places(const rdt_test_buffers *buffers, rdt_measured what, int calls) {
    enum { WARM_INPUTS_MAX = 4 };
    const size_t element = redtune_dtype_bytes(what.problem->dtype);
    const uint64_t count = what.problem->count, unit = ALIGNMENT_BYTES / element;
    rdt_places out = {.stride = (count + unit - 1) / unit * unit,
                      .scratch = what.variant % RDT_TEST_BUFFERS_SCRATCHES,
                      .scratches = 1};
    const uint64_t all = count ? 1 + (buffers->dense.count - count) / out.stride : 1;
    uint64_t most = (uint64_t)calls;
    if (what.cache == RDT_CACHE_WARM) {
        const uint64_t bytes = out.stride * element;
        most = bytes ? rdt_facts_warm_bytes(&buffers->context->facts) / bytes : 1;
        if (most > WARM_INPUTS_MAX) most = WARM_INPUTS_MAX;
        out.scratches = RDT_TEST_BUFFERS_SCRATCHES;
    }
    if (most < 1) most = 1;
    out.inputs = all < most ? all : most;
    out.first = (uint64_t)what.variant * out.inputs;
    if (out.first + out.inputs > all) out.first = all - out.inputs;
    return out;
}

static int choose_calls(const rdt_test_buffers *buffers, rdt_measured what) {
    const uint64_t count = what.problem->count;
    double peak = rdt_facts_peak_gbps(&buffers->context->facts); /* bytes per ns */
    double bytes = (double)count * (double)redtune_dtype_bytes(what.problem->dtype);
    double call_ns = CALL_NS + (peak > 0 ? bytes / peak : 0);
    int calls = (int)(RDT_TEST_BUFFERS_INTERVAL_NS / call_ns) + 1;
    return calls < RDT_TEST_BUFFERS_CALLS_MAX ? calls : RDT_TEST_BUFFERS_CALLS_MAX;
}

/* Of call i: not always the same one for the same input. */
static const rdt_kernel *choose_copy(rdt_measured what, int i) {
    return what.copies[(i + i / what.copy_count) % what.copy_count];
}

static uint64_t input_of(const rdt_places *at, int i) {
    return at->first + (uint64_t)i % at->inputs;
}

static rdt_operands choose_operands(const rdt_test_buffers *buffers, rdt_measured what,
                                    const rdt_places *at, int i) {
    const uint64_t turn = (uint64_t)i / at->inputs, input = input_of(at, i);
    const int scratch =
        (at->scratch + (int)(turn % (uint64_t)at->scratches)) % RDT_TEST_BUFFERS_SCRATCHES;
    return (rdt_operands){
        .input = buffers->dense.buffer.address +
                 input * at->stride * redtune_dtype_bytes(what.problem->dtype),
        .count = what.problem->count,
        .output = what.outputs + (size_t)i * RDT_TEST_BUFFERS_OUTPUT_BYTES,
        .scratch = buffers->scratch.address + (size_t)scratch * RDT_SCRATCH_BYTES,
        .chained = i > 0, /* as reductions that a program captures one after the other */
    };
}

static redtune_status record_graph(rdt_measurement *measurement, rdt_measured what,
                                   redtune_error *err) {
    const rdt_test_buffers *buffers = measurement->buffers;
    int calls = choose_calls(buffers, what);
    const rdt_places at = choose_places(buffers, what, calls);
    measurement->at = at;
    if (what.cache == RDT_CACHE_COLD && what.problem->count && at.inputs < (uint64_t)calls)
        calls = (int)at.inputs;
    measurement->calls = calls;
    redtune_status status = rdt_graph_begin(buffers->driver, buffers->stream, err);
    if (status) return status;
    for (int i = 0; !status && i < calls; i++)
        status = rdt_kernel_launch(choose_copy(what, i), what.launch,
                                   choose_operands(buffers, what, &at, i), buffers->stream, err);
    if (status) {
        rdt_graph_abandon(buffers->driver, buffers->stream);
        return status;
    }
    return rdt_graph_end(buffers->driver, buffers->stream, &measurement->graph, err);
}

/* Calls the kernel on each input alone, for what the timed calls should give. */
static redtune_status call_alone(const rdt_measurement *measurement, rdt_measured what,
                                 redtune_error *err) {
    const rdt_test_buffers *buffers = measurement->buffers;
    const uint64_t calls = (uint64_t)measurement->calls, inputs = measurement->at.inputs;
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < (int)(inputs < calls ? inputs : calls); i++) {
        rdt_operands operands = choose_operands(buffers, what, &measurement->at, i);
        operands.output += (size_t)RDT_TEST_BUFFERS_CALLS_MAX * RDT_TEST_BUFFERS_OUTPUT_BYTES;
        operands.chained = false;
        status = rdt_kernel_launch(what.copies[0], what.launch, operands, buffers->stream, err);
    }
    return status;
}

redtune_status rdt_measure_open(const rdt_test_buffers *buffers, const rdt_kernel_set *kernels,
                                rdt_measured what, rdt_measurement **out, redtune_error *err) {
    rdt_measurement *measurement = calloc(1, sizeof *measurement);
    if (!measurement) return rdt_fail_memory(err, sizeof *measurement);
    measurement->buffers = buffers;
    measurement->kernels = kernels;
    measurement->cache = what.cache;
    measurement->problem = what.problem;
    measurement->exact = what.problem->count <= buffers->dense.data->count_max;
    redtune_status status = record_graph(measurement, what, err);
    /* The first replay pays for uploading the graph, which is not the kernel's time. */
    if (!status) status = rdt_graph_replay(measurement->graph, buffers->stream, err);
    measurement->alone = !measurement->exact && what.launch->overlap && measurement->calls > 1;
    if (!status && measurement->alone) status = call_alone(measurement, what, err);
    if (status) {
        rdt_measure_close(measurement);
        return status;
    }
    *out = measurement;
    return REDTUNE_OK;
}

void rdt_measure_close(rdt_measurement *measurement) {
    if (!measurement) return;
    rdt_graph_destroy(measurement->graph);
    free(measurement);
}

redtune_status rdt_measure_sample(const rdt_measurement *measurement, double *sample_ns,
                                  redtune_error *err) {
    const rdt_test_buffers *buffers = measurement->buffers;
    /* The flush, or the replay that fills the cache, also keeps the GPU busy until the timed work
     * is queued, so that the host's time for queueing it is not in the interval. */
    redtune_status status = measurement->cache == RDT_CACHE_WARM
                                ? rdt_graph_replay(measurement->graph, buffers->stream, err)
                                : rdt_kernel_set_flush(measurement->kernels, err);
    double elapsed_ns = 0;
    if (!status) status = rdt_timer_start(&buffers->timer, buffers->stream, err);
    if (!status) status = rdt_graph_replay(measurement->graph, buffers->stream, err);
    if (!status) status = rdt_timer_stop(&buffers->timer, buffers->stream, err);
    if (!status) status = rdt_timer_read(&buffers->timer, &elapsed_ns, err);
    if (!status) *sample_ns = elapsed_ns / measurement->calls;
    return status;
}

/* Sees to it that the results over the inputs of the timed calls are known. */
static redtune_status need_expected(const rdt_measurement *measurement, rdt_expected *expected,
                                    redtune_error *err) {
    enum { INPUTS = RDT_TEST_BUFFERS_CALLS_MAX };
    const rdt_test_buffers *buffers = measurement->buffers;
    const uint64_t count = measurement->problem->count;
    rdt_question questions[INPUTS];
    redtune_value answers[INPUTS];
    uint64_t inputs[INPUTS];
    size_t asked = 0;
    if (expected->count != count) *expected = (rdt_expected){.count = count};
    for (int i = 0; i < measurement->calls; i++) {
        const uint64_t input = input_of(&measurement->at, i);
        if (expected->known[input]) continue;
        expected->known[input] = true;
        inputs[asked] = input;
        questions[asked++] =
            rdt_judge_question(&buffers->dense.judged, input * measurement->at.stride, count);
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
static redtune_value get_expected(const rdt_measurement *measurement, const rdt_expected *expected,
                                  const unsigned char *results, int i) {
    redtune_value value;
    if (!measurement->alone) return expected->value[input_of(&measurement->at, i)];
    const uint64_t alone = RDT_TEST_BUFFERS_CALLS_MAX + (uint64_t)i % measurement->at.inputs;
    memcpy(&value, results + alone * RDT_TEST_BUFFERS_OUTPUT_BYTES, sizeof value);
    return value;
}

redtune_status rdt_measure_check(const rdt_measurement *measurement, rdt_expected *expected,
                                 const unsigned char *results, redtune_error *err) {
    const redtune_problem *problem = measurement->problem;
    if (!measurement->exact && !measurement->alone) return REDTUNE_OK;
    redtune_status status =
        measurement->alone ? REDTUNE_OK : need_expected(measurement, expected, err);
    if (status) return status;
    for (int i = 0; i < measurement->calls; i++) {
        const unsigned char *output = results + (size_t)i * RDT_TEST_BUFFERS_OUTPUT_BYTES;
        const redtune_value value = get_expected(measurement, expected, results, i);
        char which[80];
        if (rdt_verify_same(problem->result, output, &value)) continue;
        snprintf(which, sizeof which, ", in call %d of %d one after the other,", i + 1,
                 measurement->calls);
        return rdt_verify_wrong(problem, problem->count, which, output, &value, err);
    }
    return REDTUNE_OK;
}
