/* Facts about what a capture is given, and about replaying what it made: from a process in which
 * nothing was run before, a thousand times, two graphs side by side, calls of one graph side by
 * side, and in graphs of other kinds. */
#include <dlfcn.h>
#include "api/running/plan.h"
#include "gpu/graph.h"
#include "gpu/stream.h"
#include "ones.h"
#include "simulator.h"
#include "two_launches.h"

enum { REPLAYS = 1000 };

/* Entry points that neither work on the GPU nor wait for it: they ask where the thread and the
 * stream stand, and tie scratch to the graph. */
static const char *const harmless[] = {
    "cuCtxGetCurrent",    "cuStreamIsCapturing",     "cuStreamGetCaptureInfo",
    "cuUserObjectCreate", "cuGraphRetainUserObject", "cuThreadExchangeStreamCaptureMode",
};

static uint64_t count_harmless(const simulator *sim) {
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) sum += sim->calls(harmless[i]);
    return sum;
}

static uint64_t count_launches(const simulator *sim) {
    return sim->calls("cuLaunchKernel") + sim->calls("cuLaunchKernelEx");
}

/* Runs first: no stream has scratch yet, no kernel has run. */
FACT(only_launches_reach_the_driver_within_a_cold_capture) {
    enum { CALLS = 5 };
    simulator sim;
    if (!simulator_find(&sim)) SKIP("a real driver counts no calls");
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_graph *graph = NULL;
    redtune_problem problem = sum_of(COUNT), small = sum_of(100);
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_OK(redtune_prepare(rt, &small, 1, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    uint64_t all = sim.calls("*"), fine = count_harmless(&sim), launches = count_launches(&sim);
    for (size_t i = 0; i < CALLS; i++)
        CHECK_OK(redtune_plan_reduce(plan, input(), COUNT, output(i), gpu.stream, &err), err);
    CHECK_OK(redtune_reduce(rt, &small, input(), output(CALLS), gpu.stream, &err), err);
    all = sim.calls("*") - all;
    fine = count_harmless(&sim) - fine;
    launches = count_launches(&sim) - launches;
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    CHECK_INT(launches, CALLS + 1);
    CHECK_INT(all - fine, launches);
    CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
    for (size_t i = 0; i < CALLS; i++) CHECK(result(i) == COUNT);
    CHECK(result(CALLS) == 100);
    rdt_graph_destroy(graph);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

/* Fewer elements on the simulated GPU, where each costs. */
static uint64_t replayed_count(void) { return device_is_simulated(&gpu) ? 2500 : COUNT; }

static redtune_status capture(redtune_plan *plan, uint64_t count, size_t to, rdt_graph **out) {
    redtune_status status = rdt_graph_begin(gpu.driver, gpu.stream, &err);
    if (!status) status = redtune_plan_reduce(plan, input(), count, output(to), gpu.stream, &err);
    if (!status)
        status = redtune_plan_reduce(plan, input(), count - 1, output(to + 1), gpu.stream, &err);
    return status ? status : rdt_graph_end(gpu.driver, gpu.stream, out, &err);
}

FACT(a_thousand_replays_give_the_result_of_a_call) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_graph *graph = NULL;
    redtune_problem problem = sum_of(COUNT);
    const uint64_t count = replayed_count();
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_OK(redtune_plan_reduce(plan, input(), count, output(0), gpu.stream, &err), err);
    const float eager = result(0);
    CHECK_OK(capture(plan, count, 2, &graph), err);
    for (int i = 0; i < REPLAYS; i++) {
        CHECK(!gpu.driver->memset_d8_async(results.address, 0xff, 4 * sizeof(float), gpu.stream));
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        CHECK(result(2) == eager);
        CHECK(result(3) == eager - 1);
    }
    rdt_graph_destroy(graph);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

/* Every replay's results are looked at, while the other graph runs on. */
FACT(two_graphs_of_one_stream_never_disturb_each_other) {
    enum { GRAPHS = 2 };
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_graph *graphs[GRAPHS] = {NULL};
    CUstream streams[GRAPHS] = {NULL};
    redtune_problem problem = sum_of(COUNT);
    const uint64_t count = replayed_count();
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    for (size_t i = 0; i < GRAPHS; i++) {
        CHECK_OK(rdt_stream_create(gpu.driver, &streams[i], &err), err);
        CHECK_OK(capture(plan, count - i, 2 * i, &graphs[i]), err);
    }
    for (int replay = 0; replay < REPLAYS; replay++) {
        for (size_t i = 0; i < GRAPHS; i++) {
            CUdeviceptr at = results.address + 2 * i * sizeof(float);
            CHECK(!gpu.driver->memset_d8_async(at, 0xff, 2 * sizeof(float), streams[i]));
            CHECK_OK(rdt_graph_replay(graphs[i], streams[i], &err), err);
        }
        for (size_t i = 0; i < GRAPHS; i++) {
            float got[2];
            CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address + 2 * i * sizeof(float),
                                     sizeof got, streams[i], &err),
                     err);
            CHECK(got[0] == (float)(count - i) && got[1] == (float)(count - i - 1));
        }
    }
    for (size_t i = 0; i < GRAPHS; i++) {
        rdt_graph_destroy(graphs[i]);
        rdt_stream_destroy(gpu.driver, streams[i]);
    }
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

/* ---- scratch within a capture ---------------------------------------------------------------- */

/* On the simulated GPU, work then runs late, and streams take turns in it. */
static void set_late(const char *value) {
    simulator sim;
    if (simulator_find(&sim)) sim.set("REDTUNE_SIM_LATE", value);
}

/* A function that only newer drivers have, or that redtune does not use. */
static void *driver_function(const char *name) {
    void *library = dlopen(rdt_driver_path(gpu.driver), RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

/* Calls of two launches show a scratch in common as soon as their launches take turns. */
static redtune_status open_two_launches(redtune **rt, two_launches *two) {
    redtune_status status = open_usual(rt);
    return status ? status : two_launches_open(&gpu, *rt, COUNT, two, &err);
}

static redtune_status capture_two(const two_launches *two, uint64_t count, size_t to,
                                  rdt_graph **out) {
    redtune_status status = rdt_graph_begin(gpu.driver, gpu.stream, &err);
    for (size_t i = 0; !status && i < 2; i++)
        status = two_launches_reduce(two, input(), count - i, output(to + i), gpu.stream, &err);
    return status ? status : rdt_graph_end(gpu.driver, gpu.stream, out, &err);
}

static redtune_status clear_results(void) {
    CUresult rc =
        gpu.driver->memset_d8_async(results.address, 0xff, 64 * sizeof(float), gpu.stream);
    redtune_status status = rdt_driver_check(gpu.driver, rc, &err, "clear the results");
    return status ? status : rdt_stream_wait(gpu.driver, gpu.stream, &err);
}

enum { ROUNDS = 100 };

FACT(captures_of_one_stream_have_scratch_of_their_own) {
    enum { GRAPHS = 2 };
    redtune *rt = NULL;
    two_launches two = {.plan = NULL};
    rdt_graph *graphs[GRAPHS] = {NULL};
    CUstream streams[GRAPHS] = {NULL};
    const uint64_t count = replayed_count();
    CHECK_OK(open_two_launches(&rt, &two), err);
    for (size_t i = 0; i < GRAPHS; i++) {
        CHECK_OK(rdt_stream_create(gpu.driver, &streams[i], &err), err);
        CHECK_OK(capture_two(&two, count - 9 * i, 2 * i, &graphs[i]), err);
    }
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(clear_results(), err);
        set_late("1");
        for (size_t i = 0; i < GRAPHS; i++)
            CHECK_OK(rdt_graph_replay(graphs[i], streams[i], &err), err);
        for (size_t i = 0; i < GRAPHS; i++)
            CHECK_OK(rdt_stream_wait(gpu.driver, streams[i], &err), err);
        set_late("0");
        for (size_t i = 0; i < GRAPHS; i++) {
            CHECK(result(2 * i) == (float)(count - 9 * i));
            CHECK(result(2 * i + 1) == (float)(count - 9 * i - 1));
        }
    }
    for (size_t i = 0; i < GRAPHS; i++) {
        rdt_graph_destroy(graphs[i]);
        rdt_stream_destroy(gpu.driver, streams[i]);
    }
    two_launches_close(&two);
    redtune_close(rt);
}

typedef CUresult update_fn(CUstream stream, CUgraphNode *nodes, size_t count, unsigned flags);
typedef CUresult wait_fn(CUstream stream, CUevent event, unsigned flags);

/* The node that the stream's next one follows; NULL: not one node. */
static CUgraphNode node_before(CUstream stream) {
    CUstreamCaptureStatus status;
    const CUgraphNode *nodes = NULL;
    size_t count = 0;
    cuuint64_t id;
    CUgraph graph;
    CUresult rc = gpu.driver->stream_capture_info(stream, &status, &id, &graph, &nodes, &count);
    return !rc && count == 1 ? nodes[0] : NULL;
}

/* One stream captures calls that the graph does not order: each starts anew. */
FACT(calls_of_one_stream_that_do_not_follow_keep_apart) {
    enum { CALLS = 3 };
    redtune *rt = NULL;
    two_launches two = {.plan = NULL};
    rdt_graph *graph = NULL;
    CUgraphNode ends[CALLS];
    const uint64_t count = replayed_count();
    update_fn *update = (update_fn *)driver_function("cuStreamUpdateCaptureDependencies");
    if (!update) SKIP("the driver has no cuStreamUpdateCaptureDependencies");
    CHECK_OK(open_two_launches(&rt, &two), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    for (size_t i = 0; i < CALLS; i++) {
        CHECK(!update(gpu.stream, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
        CHECK_OK(two_launches_reduce(&two, input(), count - 9 * i, output(i), gpu.stream, &err),
                 err);
        ends[i] = node_before(gpu.stream);
        CHECK(ends[i]);
    }
    CHECK(!update(gpu.stream, ends, CALLS, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(clear_results(), err);
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        for (size_t i = 0; i < CALLS; i++) CHECK(result(i) == (float)(count - 9 * i));
    }
    rdt_graph_destroy(graph);
    two_launches_close(&two);
    redtune_close(rt);
}

/* Two streams part after a call and meet again, round after round, with other work in between. */
static redtune_status capture_forks(const two_launches *two, CUstream second, CUevent event,
                                    int rounds, uint64_t count, wait_fn *wait) {
    const CUdeviceptr other = results.address + 32 * sizeof(float);
    redtune_status status = rdt_graph_begin(gpu.driver, gpu.stream, &err);
    for (int i = 0; !status && i < rounds; i++) {
        CUresult rc = gpu.driver->event_record(event, gpu.stream);
        if (!rc) rc = wait(second, event, 0);
        status = rdt_driver_check(gpu.driver, rc, &err, "fork");
        if (!status) status = two_launches_reduce(two, input(), count, output(0), gpu.stream, &err);
        if (!status) status = two_launches_reduce(two, input(), count - 9, output(1), second, &err);
        if (!rc) rc = gpu.driver->event_record(event, second);
        if (!rc) rc = wait(gpu.stream, event, 0);
        if (!rc) rc = gpu.driver->memset_d8_async(other, 0, 4, gpu.stream);
        if (!status) status = rdt_driver_check(gpu.driver, rc, &err, "join");
    }
    return status;
}

FACT(calls_that_follow_one_another_share_scratch) {
    enum { FORKS = 30, BLOCKS_MAX = 10 };
    redtune *rt = NULL;
    two_launches two = {.plan = NULL};
    rdt_graph *graph = NULL;
    CUstream second = NULL;
    CUevent event = NULL;
    size_t before = 0, after = 0, total;
    const uint64_t count = replayed_count();
    wait_fn *wait = (wait_fn *)driver_function("cuStreamWaitEvent");
    CHECK(wait && !gpu.driver->event_create(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_OK(rdt_stream_create(gpu.driver, &second, &err), err);
    CHECK_OK(open_two_launches(&rt, &two), err);
    gpu.driver->mem_get_info(&before, &total);
    CHECK_OK(capture_forks(&two, second, event, FORKS, count, wait), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    gpu.driver->mem_get_info(&after, &total);
    CHECK(before <= after + BLOCKS_MAX * redtune_workspace_bytes());
    for (int round = 0; round < ROUNDS / 10; round++) {
        CHECK_OK(clear_results(), err);
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        CHECK(result(0) == (float)count && result(1) == (float)(count - 9));
    }
    rdt_graph_destroy(graph);
    rdt_stream_destroy(gpu.driver, second);
    gpu.driver->event_destroy(event);
    two_launches_close(&two);
    redtune_close(rt);
}

/* Input, output, input, output, ...: as where each call's memory is allocated by itself. A call
 * whose input lies between two outputs reads nothing that an earlier one wrote, and may overlap it.
 */
FACT(outputs_with_inputs_between_them_keep_the_chain) {
    enum { CALLS = 6, EACH = 512 };
    simulator sim;
    if (!simulator_find(&sim)) SKIP("a real driver counts no calls");
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_graph *graph = NULL;
    redtune_problem problem = sum_of(EACH);
    rdt_buffer memory = {NULL};
    float sums[CALLS];
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_OK(device_ones(&gpu, CALLS * 2 * EACH, &memory, &err), err);
    uint64_t chained = sim.calls("cuLaunchKernelEx");
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    /* The first and the last input first: a span from one output to the other covers the rest. */
    for (size_t i = 0; i < CALLS; i++) {
        size_t place = (i % 2 ? CALLS - 1 - i / 2 : i / 2) * 2 * EACH;
        char *in = (char *)(uintptr_t)memory.address + place * sizeof(float);
        CHECK_OK(
            redtune_plan_reduce(plan, in, EACH - i, in + EACH * sizeof(float), gpu.stream, &err),
            err);
    }
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    CHECK_INT(sim.calls("cuLaunchKernelEx") - chained, CALLS - 1);
    CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
    for (size_t i = 0; i < CALLS; i++) {
        size_t place = (i % 2 ? CALLS - 1 - i / 2 : i / 2) * 2 * EACH + EACH;
        CHECK_OK(rdt_buffer_read(gpu.driver, &sums[i], memory.address + place * sizeof(float),
                                 sizeof(float), gpu.stream, &err),
                 err);
        CHECK(sums[i] == (float)(EACH - i));
    }
    rdt_graph_destroy(graph);
    rdt_buffer_destroy(&memory);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
