/* Facts about redtune.h in captured graphs on a GPU. */
#include "gpu/graph.h"
#include "gpu/stream.h"
#include "ones.h"

/* The plan's first call of all may be a captured one; graphs captured from one stream may be
 * replayed side by side. */
FACT(calls_are_captured_into_graphs) {
    enum { GRAPHS = 2, REPLAYS = 200 };
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_graph *graphs[GRAPHS] = {NULL};
    CUstream streams[GRAPHS] = {NULL};
    redtune_problem problem = sum_of(COUNT);
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    for (size_t i = 0; i < GRAPHS; i++) {
        CHECK_OK(rdt_stream_create(gpu.driver, &streams[i], &err), err);
        CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
        CHECK_OK(redtune_plan_reduce(plan, input(), COUNT - i, output(2 * i), gpu.stream, &err),
                 err);
        CHECK_OK(redtune_plan_reduce(plan, input(), 70000 + i, output(2 * i + 1), gpu.stream, &err),
                 err);
        CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graphs[i], &err), err);
    }
    CHECK(!gpu.driver->memset_d8_async(results.address, 0xff, results.bytes, gpu.stream));
    CHECK_OK(rdt_stream_wait(gpu.driver, gpu.stream, &err), err);
    for (int replay = 0; replay < REPLAYS; replay++)
        for (size_t i = 0; i < GRAPHS; i++)
            CHECK_OK(rdt_graph_replay(graphs[i], streams[i], &err), err);
    for (size_t i = 0; i < GRAPHS; i++) {
        CHECK_OK(rdt_stream_wait(gpu.driver, streams[i], &err), err);
        CHECK(result(2 * i) == (float)(COUNT - i));
        CHECK(result(2 * i + 1) == (float)(70000 + i));
    }
    for (size_t i = 0; i < GRAPHS; i++) {
        rdt_graph_destroy(graphs[i]);
        rdt_stream_destroy(gpu.driver, streams[i]);
    }
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

/* Reads the sums that the calls before it in the same graph wrote, each of which may still run when
 * the next is launched. */
FACT(captured_call_reads_what_those_before_wrote) {
    enum { CALLS = 64, REPLAYS = 100 };
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_graph *graph = NULL;
    redtune_problem problem = sum_of(COUNT);
    float wanted = 0;
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    for (size_t i = 0; i < CALLS; i++) {
        CHECK_OK(redtune_plan_reduce(plan, input(), 1000 + i, output(i), gpu.stream, &err), err);
        wanted += (float)(1000 + i);
    }
    CHECK_OK(redtune_plan_reduce(plan, output(0), CALLS, output(CALLS), gpu.stream, &err), err);
    CHECK_OK(redtune_plan_reduce(plan, output(CALLS), 1, output(CALLS + 1), gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    for (int replay = 0; replay < REPLAYS; replay++) {
        CHECK(!gpu.driver->memset_d8_async(results.address, 0xff, results.bytes, gpu.stream));
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        CHECK(result(CALLS) == wanted);
        CHECK(result(CALLS + 1) == wanted);
    }
    rdt_graph_destroy(graph);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

FACT(first_reduce_in_a_capture_is_refused_and_the_capture_goes_on) {
    redtune *rt = NULL;
    rdt_graph *graph = NULL;
    redtune_problem known = sum_of(5000), unknown = sum_of(70000);
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_reduce(rt, &known, input(), output(0), gpu.stream, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_FAILS(redtune_reduce(rt, &unknown, input(), output(1), gpu.stream, &err),
                REDTUNE_UNPREPARED, err, "70000 f32 for the first time within a capture");
    CHECK_OK(redtune_reduce(rt, &known, input(), output(2), gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
    CHECK(result(2) == 5000);
    rdt_graph_destroy(graph);
    redtune_close(rt);
}

/* The graph gives its scratch back whenever it ends. */
FACT(graph_may_outlive_redtune) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_graph *graph = NULL;
    redtune_problem problem = sum_of(COUNT);
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_plan_reduce(plan, input(), COUNT, output(0), gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    rdt_graph_destroy(graph);
    CHECK_OK(rdt_stream_wait(gpu.driver, gpu.stream, &err), err);
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
