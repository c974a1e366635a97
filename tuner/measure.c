/* Measure: the time of one call of a kernel, from events around replayed graphs. */
#include "tuner/measure.h"

#include <stdlib.h>

enum { CALL_NS = 2000 /* a small call, at the least */, ALIGNMENT_BYTES = 256 };

/* How many inputs the calls have. With a cold cache each has its own. Warm ones take turns, and
 * scratch with them: where these lie in L2 makes a kernel a few percent faster or slower, one more
 * than another, so that a single place would decide by luck. */
static uint64_t choose_inputs(const rdt_rig *rig, rdt_measured what, uint64_t stride) {
    enum { WARM_INPUTS_MAX = 4, L2_PARTS = 2 /* of which they fill one at most */ };
    const uint64_t count = what.problem->count;
    uint64_t inputs = count ? 1 + (rig->dense.count - count) / stride : 1;
    if (what.cache == RDT_CACHE_COLD) return inputs;
    uint64_t bytes = stride * redtune_dtype_bytes(what.problem->dtype);
    uint64_t most = bytes ? rig->context->facts.l2_bytes / L2_PARTS / bytes : 1;
    if (most > WARM_INPUTS_MAX) most = WARM_INPUTS_MAX;
    if (most < 1) most = 1;
    return inputs < most ? inputs : most;
}

static int choose_calls(const rdt_rig *rig, rdt_measured what, uint64_t inputs) {
    const uint64_t count = what.problem->count;
    double peak = rdt_facts_peak_gbps(&rig->context->facts); /* bytes per ns */
    double bytes = (double)count * (double)redtune_dtype_bytes(what.problem->dtype);
    double call_ns = CALL_NS + (peak > 0 ? bytes / peak : 0);
    int calls = (int)(RDT_RIG_INTERVAL_NS / call_ns) + 1;
    if (calls > RDT_RIG_CALLS_MAX) calls = RDT_RIG_CALLS_MAX;
    if (!count || what.cache == RDT_CACHE_WARM) return calls;
    return inputs < (uint64_t)calls ? (int)inputs : calls;
}

/* The offset of turn i. With a cold cache it is the same for all: each place would be fetched
 * once more. */
static uint64_t choose_scratch(rdt_measured what, uint64_t i) {
    return what.cache == RDT_CACHE_WARM ? i % RDT_RIG_SCRATCHES * RDT_SCRATCH_BYTES : 0;
}

static redtune_status record(rdt_measurement *measurement, rdt_measured what, redtune_error *err) {
    const rdt_rig *rig = measurement->rig;
    const size_t element = redtune_dtype_bytes(what.problem->dtype);
    const uint64_t count = what.problem->count, unit = ALIGNMENT_BYTES / element;
    const uint64_t stride = (count + unit - 1) / unit * unit;
    const uint64_t inputs = choose_inputs(rig, what, stride);
    measurement->calls = choose_calls(rig, what, inputs);
    redtune_status status = rdt_graph_begin(rig->driver, rig->stream, err);
    if (status) return status;
    for (int i = 0; !status && i < measurement->calls; i++) {
        uint64_t first = (uint64_t)i % inputs * stride;
        rdt_operands operands = {
            .input = rig->dense.buffer.address + first * element,
            .count = count,
            .output = rig->output.address,
            .scratch = rig->scratch.address + choose_scratch(what, (uint64_t)i / inputs),
            .chained = i > 0, /* as reductions that a program captures one after the other */
        };
        status = rdt_kernel_launch(what.kernel, what.launch, operands, rig->stream, err);
    }
    if (status) {
        rdt_graph_abandon(rig->driver, rig->stream);
        return status;
    }
    return rdt_graph_end(rig->driver, rig->stream, &measurement->graph, err);
}

redtune_status rdt_measurement_open(const rdt_rig *rig, const rdt_bank *bank, rdt_measured what,
                                    rdt_measurement **out, redtune_error *err) {
    rdt_measurement *measurement = calloc(1, sizeof *measurement);
    if (!measurement) return rdt_fail_memory(err, sizeof *measurement);
    measurement->rig = rig;
    measurement->bank = bank;
    measurement->cache = what.cache;
    redtune_status status = record(measurement, what, err);
    /* The first replay pays for uploading the graph, which is not the kernel's time. */
    if (!status) status = rdt_graph_replay(measurement->graph, rig->stream, err);
    if (status) {
        rdt_measurement_close(measurement);
        return status;
    }
    *out = measurement;
    return REDTUNE_OK;
}

void rdt_measurement_close(rdt_measurement *measurement) {
    if (!measurement) return;
    rdt_graph_destroy(measurement->graph);
    free(measurement);
}

redtune_status rdt_measurement_sample(const rdt_measurement *measurement, double *sample_ns,
                                      redtune_error *err) {
    const rdt_rig *rig = measurement->rig;
    /* The flush, or the replay that fills the cache, also keeps the GPU busy until the timed work
     * is queued, so that the host's time for queueing it is not in the interval. */
    redtune_status status = measurement->cache == RDT_CACHE_WARM
                                ? rdt_graph_replay(measurement->graph, rig->stream, err)
                                : rdt_bank_flush(measurement->bank, err);
    double elapsed_ns = 0;
    if (!status) status = rdt_timer_start(&rig->timer, rig->stream, err);
    if (!status) status = rdt_graph_replay(measurement->graph, rig->stream, err);
    if (!status) status = rdt_timer_stop(&rig->timer, rig->stream, err);
    if (!status) status = rdt_timer_read(&rig->timer, &elapsed_ns, err);
    if (!status) *sample_ns = elapsed_ns / measurement->calls;
    return status;
}
