/* Facts about what a capture is given, and about replaying what it made: from a process in which
 * nothing was run before, a thousand times, and two graphs side by side. */
#include "gpu/graph.h"
#include "ones.h"
#include "simulator.h"

enum { REPLAYS = 1000 };

static redtune_status open_usual(redtune **rt) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    return redtune_open(&options, rt, &err);
}

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
static void only_launches_reach_the_driver_within_a_cold_capture(void) {
    NEED_GPU();
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
        CHECK_OK(redtune_plan_run(plan, input(), COUNT, output(i), gpu.stream, &err), err);
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
static uint64_t replayed_count(void) {
    return device_is_simulated(&gpu) ? 2500 : COUNT;
}

static redtune_status capture(redtune_plan *plan, uint64_t count, size_t to, rdt_graph **out) {
    redtune_status status = rdt_graph_begin(gpu.driver, gpu.stream, &err);
    if (!status) status = redtune_plan_run(plan, input(), count, output(to), gpu.stream, &err);
    if (!status)
        status = redtune_plan_run(plan, input(), count - 1, output(to + 1), gpu.stream, &err);
    return status ? status : rdt_graph_end(gpu.driver, gpu.stream, out, &err);
}

static void a_thousand_replays_give_the_result_of_a_call(void) {
    NEED_GPU();
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_graph *graph = NULL;
    redtune_problem problem = sum_of(COUNT);
    const uint64_t count = replayed_count();
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_OK(redtune_plan_run(plan, input(), count, output(0), gpu.stream, &err), err);
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
static void two_graphs_of_one_stream_never_disturb_each_other(void) {
    NEED_GPU();
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

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(only_launches_reach_the_driver_within_a_cold_capture),
        FACT(a_thousand_replays_give_the_result_of_a_call),
        FACT(two_graphs_of_one_stream_never_disturb_each_other),
    };
    ones_open();
    int rc = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    ones_close();
    return rc;
}
