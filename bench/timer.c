/* Timer: one contestant on one problem, ready to be timed again and again. */
#include "bench/timer.h"

#include <stdlib.h>
#include "base/clock.h"
#include "tuner/summary.h"

enum {
    GRAPH_NS = 200000,   /* the aim for what is timed at a time; the timer resolves about 500 */
    GRAPH_CALLS_MIN = 4, /* a graph takes a microsecond or two to start */
    GRAPH_CALLS_MAX = 128,
    STREAM_NS = 2000000,
    STREAM_CALLS_MAX = 1000,
    CALL_NS = 2000, /* a small call, at the least */
    INPUT_ALIGNMENT = 256,
    LATE_MAX = 8, /* doublings of the hold before giving up */
};

/* What a graph is made of. */
enum { CALLS = 1, IDLE_KERNELS = 2 };

static bool is_cold(const bench_timer *timer) {
    return timer->mode == BENCH_COLD || timer->mode == BENCH_APART;
}

static size_t stride_bytes(const bench_timer *timer) {
    size_t bytes = timer->count * timer->element_bytes;
    return (bytes + INPUT_ALIGNMENT - 1) / INPUT_ALIGNMENT * INPUT_ALIGNMENT;
}

/* Calls that last about ns together. */
static int count_calls(const bench_timer *timer, double ns, int calls_max) {
    double peak = timer->gpu->peak_gbps; /* bytes per ns */
    double bytes = (double)timer->count * (double)timer->element_bytes;
    double calls = ns / (CALL_NS + (peak > 0 ? bytes / peak : bytes / 1000));
    return calls >= calls_max ? calls_max : 1 + (int)calls;
}

/* As many calls as have an input of their own, if the input may not be in L2. */
static int choose_graph_calls(const bench_timer *timer) {
    int calls = count_calls(timer, GRAPH_NS, GRAPH_CALLS_MAX);
    if (calls < GRAPH_CALLS_MIN) calls = GRAPH_CALLS_MIN;
    if (!is_cold(timer)) return calls;
    size_t inputs = timer->count ? timer->gpu->pool_bytes / stride_bytes(timer) : GRAPH_CALLS_MAX;
    return inputs < (size_t)calls ? (int)inputs : calls;
}

static redtune_status reduce(const bench_timer *timer, int call, redtune_error *err) {
    size_t offset = is_cold(timer) ? (size_t)call * stride_bytes(timer) : 0;
    return timer->contestant.reduce(timer->contestant.self, timer->gpu->pool + offset, timer->count,
                                    timer->gpu->output, timer->gpu->stream, err);
}

static redtune_status count_kernels(cudaGraph_t graph, int *out, redtune_error *err) {
    size_t node_count = 0;
    redtune_status status =
        bench_gpu_check(cudaGraphGetNodes(graph, NULL, &node_count), err, "count a graph's nodes");
    if (status) return status;
    cudaGraphNode_t *nodes = calloc(node_count + 1, sizeof *nodes);
    if (!nodes) return rdt_fail(err, REDTUNE_MEMORY, 0, "cannot count nodes: no memory");
    int kernels = 0;
    cudaError_t rc = cudaGraphGetNodes(graph, nodes, &node_count);
    for (size_t i = 0; !rc && i < node_count; i++) {
        enum cudaGraphNodeType type;
        rc = cudaGraphNodeGetType(nodes[i], &type);
        kernels += !rc && type == cudaGraphNodeTypeKernel;
    }
    free(nodes);
    if (!rc) *out = kernels;
    return bench_gpu_check(rc, err, "look at a graph's nodes");
}

static redtune_status queue_parts(const bench_timer *timer, int call, int parts,
                                  redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (parts & IDLE_KERNELS) status = bench_gpu_idle(timer->gpu, err);
    if (!status && parts & CALLS) status = reduce(timer, call, err);
    return status;
}

/* Records the parts, calls times. exec is NULL where only the kernels are of interest. */
static redtune_status record(const bench_timer *timer, int calls, int parts, int *kernels,
                             cudaGraphExec_t *exec, redtune_error *err) {
    cudaStream_t stream = timer->gpu->stream;
    redtune_status status = bench_gpu_check(
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), err, "begin a capture");
    if (status) return status;
    for (int i = 0; !status && i < calls; i++) status = queue_parts(timer, i, parts, err);
    cudaGraph_t graph = NULL;
    cudaError_t rc = cudaStreamEndCapture(stream, &graph);
    if (!status) status = bench_gpu_check(rc, err, "end a capture");
    if (!status) status = count_kernels(graph, kernels, err);
    if (!status && exec)
        status = bench_gpu_check(cudaGraphInstantiate(exec, graph, 0), err, "make a graph");
    if (graph) cudaGraphDestroy(graph);
    /* The first replay pays for uploading the graph. */
    if (!status && exec)
        status = bench_gpu_check(cudaGraphLaunch(*exec, stream), err, "replay a graph");
    return status;
}

static redtune_status prepare_graphs(bench_timer *timer, redtune_error *err) {
    int kernels = 0, idle_kernels = 0;
    bool apart = timer->mode == BENCH_APART;
    timer->calls = choose_graph_calls(timer);
    redtune_status status = record(timer, timer->calls, apart ? CALLS | IDLE_KERNELS : CALLS,
                                   &kernels, &timer->graph, err);
    if (!status && apart)
        status = record(timer, timer->calls, IDLE_KERNELS, &idle_kernels, &timer->idle_graph, err);
    timer->launches = (kernels - idle_kernels) / timer->calls;
    return status;
}

static redtune_status prepare_stream(bench_timer *timer, redtune_error *err) {
    timer->calls = count_calls(timer, STREAM_NS, STREAM_CALLS_MAX);
    redtune_status status = record(timer, 1, CALLS, &timer->launches, NULL, err);
    /* The first call on a stream pays for its scratch. */
    return status ? status : reduce(timer, 0, err);
}

redtune_status bench_timer_open(bench_gpu *gpu, const bench_contestant *contestant, bench_mode mode,
                                const bench_dtype *dtype, uint64_t count, bench_timer *out,
                                redtune_error *err) {
    *out = (bench_timer){.gpu = gpu,
                         .contestant = *contestant,
                         .mode = mode,
                         .count = count,
                         .element_bytes = dtype->bytes};
    redtune_status status =
        mode == BENCH_STREAM ? prepare_stream(out, err) : prepare_graphs(out, err);
    if (!status) status = bench_gpu_wait(gpu, err);
    if (status) bench_timer_close(out);
    return status;
}

void bench_timer_close(bench_timer *timer) {
    if (timer->graph) cudaGraphExecDestroy(timer->graph);
    if (timer->idle_graph) cudaGraphExecDestroy(timer->idle_graph);
    timer->graph = timer->idle_graph = NULL;
}

/* Queues what is timed behind work that lasts until the host has queued all of it; what comes
 * directly before is the flush, or an untimed replay. *late: the host was not fast enough. */
static redtune_status queue_replay(const bench_timer *timer, cudaGraphExec_t graph, bool *late,
                                   redtune_error *err) {
    const bench_gpu *gpu = timer->gpu;
    redtune_status status = bench_gpu_hold(gpu, err);
    if (!status && is_cold(timer)) status = bench_gpu_flush(gpu, err);
    if (!status && !is_cold(timer))
        status = bench_gpu_check(cudaGraphLaunch(graph, gpu->stream), err, "replay a graph");
    if (status) return status;
    cudaError_t rc = cudaEventRecord(gpu->start, gpu->stream);
    if (!rc) rc = cudaGraphLaunch(graph, gpu->stream);
    if (!rc) rc = cudaEventRecord(gpu->stop, gpu->stream);
    if (!rc) {
        rc = cudaEventQuery(gpu->start);
        *late = rc == cudaSuccess;
        /* Asking leaves the answer behind as the last error, which launches would report. */
        if (rc == cudaErrorNotReady) cudaGetLastError(), rc = cudaSuccess;
    }
    return bench_gpu_check(rc, err, "time a graph");
}

static redtune_status time_graph(const bench_timer *timer, cudaGraphExec_t graph, double *ns,
                                 redtune_error *err) {
    for (int tries = 0; tries <= LATE_MAX; tries++) {
        bool late = false;
        float ms = 0;
        redtune_status status = queue_replay(timer, graph, &late, err);
        if (!status) status = bench_gpu_wait(timer->gpu, err);
        if (!status)
            status = bench_gpu_check(cudaEventElapsedTime(&ms, timer->gpu->start, timer->gpu->stop),
                                     err, "read a timer");
        if (status) return status;
        *ns = (double)ms * 1e6;
        if (!late) return REDTUNE_OK;
        timer->gpu->hold_ns *= 2;
    }
    return rdt_fail(err, REDTUNE_DEVICE, 0,
                    "cannot time a graph: the host takes longer than %.0f ms to launch it",
                    timer->gpu->hold_ns / 1e6);
}

static redtune_status sample_graphs(const bench_timer *timer, double *ns, redtune_error *err) {
    double idle_ns = 0;
    redtune_status status = time_graph(timer, timer->graph, ns, err);
    if (!status && timer->idle_graph) status = time_graph(timer, timer->idle_graph, &idle_ns, err);
    *ns -= idle_ns;
    return status;
}

static redtune_status sample_stream(bench_timer *timer, double *ns, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    double start = rdt_clock_ns();
    for (int i = 0; !status && i < timer->calls; i++) status = reduce(timer, i, err);
    if (!status) status = bench_gpu_wait(timer->gpu, err);
    *ns = rdt_clock_ns() - start;
    return status;
}

redtune_status bench_timer_sample(bench_timer *timer, redtune_error *err) {
    if (timer->samples == BENCH_SAMPLES_MAX) return REDTUNE_OK;
    double ns = 0;
    redtune_status status = timer->mode == BENCH_STREAM ? sample_stream(timer, &ns, err)
                                                        : sample_graphs(timer, &ns, err);
    if (!status) timer->sample_ns[timer->samples++] = ns / timer->calls;
    return status;
}

void bench_timer_summary(bench_timer *timer, bench_time *out) {
    rdt_summary_of(timer->sample_ns, timer->samples, &out->median_ns, &out->spread_ns);
    out->launches = timer->launches;
}
