/* Facts about which launches overlap the one before them: those that follow a reduction in a
 * capture, where the GPU, the driver and NVRTC all know how. */
#define _POSIX_C_SOURCE 200809L
#include "compiler/compiler.h"
#include "gpu/graph.h"
#include "ones.h"
#include "redtune/list.h"
#include "shaped.h"
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

FACT(a_call_that_follows_another_overlaps_it) {
    simulator sim;
    bool overlaps = simulator_find(&sim) && gpu.context->facts.major >= 9;
    CHECK_INT(count_overlapping(), overlaps ? 1 : 0);
}

/* ---- what a call reads ----------------------------------------------------------------------- */

/* What a call reads that the calls before it wrote. */
typedef enum reads {
    NOTHING,
    FIRST_INPUT,
    SECOND_INPUT,
    PARAMETERS,
    DEVICE_COUNT,
    OUTPUT,        /* which it goes on from */
    SECOND_OUTPUT, /* likewise */
    OFFSETS,       /* of segments */
    ENDS,          /* likewise, by a call of two launches, of which the second overlaps the first */
    SEGMENT_OUTPUT, /* which it goes on from */
    READS
} reads;

static const struct {
    const char *op;
    uint64_t uses, segmented;
    const char *config;
} readers[READS] = {
    [NOTHING] = {"sum", 0, 0},
    [FIRST_INPUT] = {"sum", 0, 0},
    [SECOND_INPUT] = {"dot", 0, 0},
    [PARAMETERS] = {"normp", 0, 0},
    [DEVICE_COUNT] = {"sum", REDTUNE_USE_DEVICE_COUNT, 0},
    [OUTPUT] = {"sum", REDTUNE_USE_ACCUMULATE, 0},
    [SECOND_OUTPUT] = {"minmax", REDTUNE_USE_ACCUMULATE, 0},
    [OFFSETS] = {"sum", 0, REDTUNE_SEGMENTED_EACH},
    [ENDS] = {"sum", 0, REDTUNE_SEGMENTED_EACH, "ragged:unit=anywhere"},
    [SEGMENT_OUTPUT] = {"sum", REDTUNE_USE_ACCUMULATE, REDTUNE_SEGMENTED_EACH},
};

/* Where the reader writes, where nobody does, and where the calls before it write, one after the
 * other: their outputs are joined into one span. */
enum { OWN = 16, OTHER = 32, WRITES = 3, MIDDLE = 4 };
static const size_t written[WRITES] = {MIDDLE, MIDDLE + 1, MIDDLE - 1};

/* Of 100 elements, or of 3 segments by offsets of which nothing is known. */
static redtune_status run_reader(redtune_plan *plan, reads what, size_t at) {
    redtune_operands given = {.d_in = {input()}, .d_out = {output(OWN)}, .count = 100};
    redtune_segments segments = {
        .d_in = input(), .d_begin = output(OTHER), .d_out = {output(OWN)}, .count = 3};
    given.accumulate = what == OUTPUT || what == SECOND_OUTPUT;
    segments.accumulate = what == SEGMENT_OUTPUT;
    if (what == SECOND_INPUT) given.d_in[1] = input();
    if (what == SECOND_OUTPUT) given.d_out[1] = output(OWN + 1);
    switch (what) {
    case FIRST_INPUT: given.d_in[0] = output(at), given.count = 1; break;
    case SECOND_INPUT: given.d_in[1] = output(at), given.count = 1; break;
    case PARAMETERS: given.d_parameters = output(at); break;
    case DEVICE_COUNT: given.d_count = output(at); break;
    case OUTPUT: given.d_out[0] = output(at); break;
    case SECOND_OUTPUT: given.d_out[1] = output(at); break;
    case OFFSETS: segments.d_begin = output(at), segments.count = 1; break;
    case ENDS: segments.d_end = output(at), segments.count = 1; break;
    case SEGMENT_OUTPUT: segments.d_out[0] = output(at); break;
    case NOTHING:
    case READS: break;
    }
    return readers[what].segmented ? redtune_plan_run_segments(plan, &segments, gpu.stream, &err)
                                   : redtune_plan_run(plan, &given, gpu.stream, &err);
}

/* A graph of so many writing calls, so many memsets, and a reader of what is at `at`. How many
 * launches of the reader overlap what comes before. */
static void count_reader(redtune *rt, size_t writes, size_t memsets, reads what, size_t at,
                         uint64_t *overlapping) {
    const redtune_problem first = sum_of(COUNT);
    redtune_problem second =
        PROBLEM(.dtype = REDTUNE_F32, .count = 100, .uses = readers[what].uses,
                .segmented = readers[what].segmented, .config = readers[what].config);
    redtune_plan *plans[2] = {NULL};
    rdt_graph *graph = NULL;
    simulator sim;
    CHECK(simulator_find(&sim));
    CHECK_OK(redtune_op_find(readers[what].op, &second.op, &err), err);
    CHECK_OK(redtune_plan_create(rt, &first, &plans[0], &err), err);
    CHECK_OK(redtune_plan_create(rt, &second, &plans[1], &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    for (size_t i = 0; i < writes; i++)
        CHECK_OK(
            redtune_plan_reduce(plans[0], input(), COUNT, output(written[i]), gpu.stream, &err),
            err);
    for (size_t i = 0; i < memsets; i++)
        CHECK(!gpu.driver->memset_d8_async(results.address + OTHER * sizeof(float), 0, 4,
                                           gpu.stream));
    *overlapping = sim.calls("cuLaunchKernelEx");
    CHECK_OK(run_reader(plans[1], what, at), err);
    *overlapping = sim.calls("cuLaunchKernelEx") - *overlapping;
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    rdt_graph_destroy(graph);
    for (int i = 0; i < 2; i++) redtune_plan_destroy(plans[i]);
}

/* Loads go by the path for what nobody writes meanwhile: such a call waits until those before have
 * ended. */
FACT(a_call_that_reads_what_others_wrote_does_not_overlap_them) {
    redtune *rt = NULL;
    simulator sim;
    if (!simulator_find(&sim) || gpu.context->facts.major < 9) SKIP("nothing counts the launches");
    CHECK_OK(open_usual(&rt), err);
    for (int what = 0; what < READS; what++)
        for (size_t i = 0; i < (what == FIRST_INPUT ? WRITES : 1) && !check_state.failed; i++) {
            uint64_t overlapping = 0;
            count_reader(rt, WRITES, 0, (reads)what, written[i], &overlapping);
            check_that(overlapping == (what == NOTHING || what == ENDS), __FILE__, __LINE__,
                       "%d of %s, of call %zu: %llu launches overlap", what, readers[what].op, i,
                       (unsigned long long)overlapping);
        }
    redtune_close(rt);
}

/* Whatever comes before it has to end, unless it is a reduction: also where a node has the place of
 * one in a graph that is gone. */
FACT(a_call_behind_other_work_does_not_overlap_it) {
    enum { GRAPHS = 60 };
    redtune *rt = NULL;
    simulator sim;
    if (!simulator_find(&sim)) SKIP("nothing counts the launches");
    CHECK_OK(open_usual(&rt), err);
    for (size_t i = 0; i < GRAPHS && !check_state.failed; i++) {
        uint64_t overlapping = 0;
        count_reader(rt, i % 2, 1 + i % 3, NOTHING, 0, &overlapping);
        CHECK_INT(overlapping, 0);
    }
    redtune_close(rt);
}

/* Graphs know such edges since CUDA 12.3. */
FACT(with_an_older_driver_none_does) {
    simulator sim;
    if (!simulator_find(&sim)) SKIP("only a simulated driver can be an older one");
    CHECK(sim.set("REDTUNE_SIM_DRIVER", "12020"));
    int count = count_overlapping();
    CHECK(sim.set("REDTUNE_SIM_DRIVER", NULL));
    CHECK_INT(count, 0);
}

/* What it makes is for an older architecture, which has no word for it. */
FACT(with_an_nvrtc_older_than_the_gpu_none_does) {
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

int main(int argc, char **argv) { return ones_run(argc, argv); }
