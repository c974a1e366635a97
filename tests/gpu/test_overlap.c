/* Facts about which launches overlap the one before them: those that follow a reduction in a
 * capture, where the GPU, the driver and NVRTC all know how. */
#define _POSIX_C_SOURCE 200809L
#include "compiler/compiler.h"
#include "gpu/graph.h"
#include "ones.h"
#include "simulator.h"

/* Captures two sums, one behind the other, and replays them. How many launches overlap, as far as
 * the driver counts; -1: an error, or a wrong result. */
static int count_overlapping(void) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    redtune_problem problem = sum_of(COUNT);
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_graph *graph = NULL;
    simulator sim;
    bool counts = simulator_find(&sim);
    uint64_t before = counts ? sim.calls("cuLaunchKernelEx") : 0;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_plan_create(rt, &problem, &plan, &err);
    if (!status) status = rdt_graph_begin(gpu.driver, gpu.stream, &err);
    for (size_t i = 0; !status && i < 2; i++)
        status = redtune_plan_reduce(plan, input(), COUNT - i, output(i), gpu.stream, &err);
    if (!status) status = rdt_graph_end(gpu.driver, gpu.stream, &graph, &err);
    if (!status) status = rdt_graph_replay(graph, gpu.stream, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    bool right = !status && result(0) == COUNT && result(1) == COUNT - 1;
    rdt_graph_destroy(graph);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return right ? (counts ? (int)(sim.calls("cuLaunchKernelEx") - before) : 0) : -1;
}

static void a_call_that_follows_another_overlaps_it(void) {
    NEED_GPU();
    simulator sim;
    bool overlaps = simulator_find(&sim) && gpu.context->facts.major >= 9;
    CHECK_INT(count_overlapping(), overlaps ? 1 : 0);
}

/* Graphs know such edges since CUDA 12.3. */
static void with_an_older_driver_none_does(void) {
    NEED_GPU();
    simulator sim;
    if (!simulator_find(&sim)) SKIP("only a simulated driver can be an older one");
    CHECK(sim.set("REDTUNE_SIM_DRIVER", "12020"));
    int count = count_overlapping();
    CHECK(sim.set("REDTUNE_SIM_DRIVER", NULL));
    CHECK_INT(count, 0);
}

/* What it makes is for an older architecture, which has no word for it. */
static void with_an_nvrtc_older_than_the_gpu_none_does(void) {
    NEED_GPU();
    rdt_compiler *compiler = NULL;
    const char *moved = getenv("RDT_TEST_OLD_NVRTC"); /* where the tests run in another place */
    CHECK_OK(rdt_compiler_open(&compiler, &err), err);
    setenv("RDT_TEST_REAL_NVRTC", rdt_compiler_path(compiler), 1);
    rdt_compiler_close(compiler);
    setenv("XDG_CACHE_HOME", "/proc/nowhere", 1); /* or it takes what the other NVRTC has made */
    setenv("REDTUNE_NVRTC", moved ? moved : RDT_TEST_OLD_NVRTC_FILE, 1);
    int count = count_overlapping();
    unsetenv("REDTUNE_NVRTC");
    CHECK_INT(count, 0);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(a_call_that_follows_another_overlaps_it),
        FACT(with_an_older_driver_none_does),
        FACT(with_an_nvrtc_older_than_the_gpu_none_does),
    };
    return ones_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
