/* Facts about captured calls in graphs of other kinds than those that a stream replays: bodies of
 * conditional nodes, child graphs and clones, graphs that the device may launch. The simulated GPU
 * has none of these, nor have older drivers: what is missing is skipped. */
#include <dlfcn.h>
#include "api/running/plan.h"
#include "gpu/graph.h"
#include "ones.h"

/* A function that redtune does not use; NULL: the driver has none of the name. */
static void *driver_function(const char *name) {
    void *library = dlopen(rdt_driver_path(gpu.driver), RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

typedef CUresult create_fn(CUgraph *graph, unsigned flags);
typedef CUresult clone_fn(CUgraph *clone, CUgraph graph);
typedef CUresult child_fn(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                          CUgraph child);
typedef CUresult upload_fn(CUgraphExec exec, CUstream stream);

static redtune_status open_whole(redtune **rt, redtune_plan **plan) {
    const redtune_problem problem = sum_of(COUNT);
    return open_and_plan(rt, &problem, plan);
}

/* So many calls, each a result of its own; the later ones are chained to those before. */
static redtune_status call(redtune_plan *plan, int calls) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < calls; i++)
        status = redtune_plan_reduce(plan, input(), (uint64_t)(COUNT - i), output((size_t)i),
                                     gpu.stream, &err);
    return status;
}

static redtune_status capture(redtune_plan *plan, int calls, CUgraph *out) {
    redtune_status status = rdt_graph_begin(gpu.driver, gpu.stream, &err);
    if (!status) status = call(plan, calls);
    if (status) return status;
    return rdt_driver_check(gpu.driver, gpu.driver->stream_end_capture(gpu.stream, out), &err,
                            "end the capture");
}

/* Whether a replay gives the results of so many calls. */
static bool replays_right(CUgraphExec exec, int calls) {
    if (gpu.driver->memset_d8_async(results.address, 0xff, 16 * sizeof(float), gpu.stream) ||
        gpu.driver->graph_launch(exec, gpu.stream))
        return false;
    for (int i = 0; i < calls; i++)
        if (result((size_t)i) != (float)(COUNT - i)) return false;
    return true;
}

/* ---- which scratch a launch was given -------------------------------------------------------- */

static __typeof__(cuLaunchKernel) *real_launch;
static CUdeviceptr scratch_seen; /* of the last launch that did not overlap another */

static CUresult launch_and_note(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                CUstream stream, void **arguments, void **extra) {
    memcpy(&scratch_seen, arguments[3], sizeof scratch_seen);
    return real_launch(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
}

/* redtune's own table is in memory of its own, and not const there. */
static void note_scratch(redtune *rt) {
    real_launch = rt->context->driver->launch_kernel;
    rt->context->driver->launch_kernel = launch_and_note;
}

/* Whether a new capture gets other scratch than this, which is still in use. */
static bool others_get_other_scratch(redtune_plan *plan, CUdeviceptr used) {
    CUgraph graph = NULL;
    if (capture(plan, 1, &graph)) return false;
    gpu.driver->graph_destroy(graph);
    return scratch_seen != used;
}

/* ---- uses ------------------------------------------------------------------------------------ */

/* Their copies have the original's scratch, which lives as long as any of them; one after the
 * other they may use it. */
FACT(child_graphs_and_clones_run_one_after_the_other) {
    enum { CALLS = 3, ROUNDS = 50 };
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    CUgraph captured = NULL, parent = NULL, clone = NULL;
    CUgraphNode first, second;
    CUgraphExec execs[2] = {NULL};
    create_fn *create = (create_fn *)driver_function("cuGraphCreate");
    clone_fn *make_clone = (clone_fn *)driver_function("cuGraphClone");
    child_fn *add_child = (child_fn *)driver_function("cuGraphAddChildGraphNode");
    if (!create || !make_clone || !add_child) SKIP("the driver has no child graphs or clones");
    CHECK_OK(open_whole(&rt, &plan), err);
    note_scratch(rt);
    CHECK_OK(capture(plan, CALLS, &captured), err);
    const CUdeviceptr held = scratch_seen;
    CHECK(held);
    CHECK(!create(&parent, 0) && !add_child(&first, parent, NULL, 0, captured));
    CHECK(!add_child(&second, parent, &first, 1, captured));
    CHECK(!make_clone(&clone, captured));
    gpu.driver->graph_destroy(captured);
    CHECK(!gpu.driver->graph_instantiate(&execs[0], parent, 0));
    CHECK(!gpu.driver->graph_instantiate(&execs[1], clone, 0));
    gpu.driver->graph_destroy(parent);
    gpu.driver->graph_destroy(clone);
    CHECK(others_get_other_scratch(plan, held));
    for (int round = 0; round < ROUNDS; round++) CHECK(replays_right(execs[round % 2], CALLS));
    for (int i = 0; i < 2; i++) gpu.driver->graph_exec_destroy(execs[i]);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

#if CUDA_VERSION >= 12040
typedef CUresult condition_fn(CUgraphConditionalHandle *handle, CUgraph graph, CUcontext context,
                              unsigned value, unsigned flags);
typedef CUresult add_fn(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                        const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params);
typedef CUresult begin_fn(CUstream stream, CUgraph graph, const CUgraphNode *before,
                          const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode);

/* A graph of one node, whose body runs each time, with calls captured into that. */
static redtune_status capture_body(redtune_plan *plan, int calls, begin_fn *begin, add_fn *add,
                                   condition_fn *make_condition, CUgraph graph) {
    CUgraphNode node;
    CUgraph body = NULL;
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    params.conditional.type = CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = 1;
    params.conditional.ctx = gpu.context->handle;
    CUresult rc = make_condition(&params.conditional.handle, graph, gpu.context->handle, 1,
                                 CU_GRAPH_COND_ASSIGN_DEFAULT);
    if (!rc) rc = add(&node, graph, NULL, NULL, 0, &params);
    if (!rc)
        rc = begin(gpu.stream, params.conditional.phGraph_out[0], NULL, NULL, 0,
                   CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    redtune_status status = rdt_driver_check(gpu.driver, rc, &err, "begin the body's capture");
    if (status) return status;
    status = call(plan, calls);
    rc = gpu.driver->stream_end_capture(gpu.stream, &body);
    return status ? status : rdt_driver_check(gpu.driver, rc, &err, "end the body's capture");
}

/* One call; and several, of which the later are chained. */
FACT(conditional_bodies_take_captured_calls) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    create_fn *create = (create_fn *)driver_function("cuGraphCreate");
    begin_fn *begin = (begin_fn *)driver_function("cuStreamBeginCaptureToGraph");
    add_fn *add = (add_fn *)driver_function("cuGraphAddNode_v2");
    condition_fn *condition = (condition_fn *)driver_function("cuGraphConditionalHandleCreate");
    if (!create || !begin || !add || !condition)
        SKIP("the driver has no conditional nodes, or cannot capture into their bodies");
    CHECK_OK(open_whole(&rt, &plan), err);
    note_scratch(rt);
    for (int calls = 1; calls <= 3; calls += 2) {
        CUgraph graph = NULL;
        CUgraphExec exec = NULL;
        scratch_seen = 0;
        CHECK(!create(&graph, 0));
        CHECK_OK(capture_body(plan, calls, begin, add, condition, graph), err);
        const CUdeviceptr used = scratch_seen;
        CHECK(used);
        CUresult rc = gpu.driver->graph_instantiate(&exec, graph, 0);
        CHECK_OK(rdt_driver_check(gpu.driver, rc, &err, "instantiate %d calls in a body", calls),
                 err);
        gpu.driver->graph_destroy(graph);
        CHECK(others_get_other_scratch(plan, used));
        for (int round = 0; round < 20; round++) CHECK(replays_right(exec, calls));
        gpu.driver->graph_exec_destroy(exec);
    }
    redtune_plan_destroy(plan);
    redtune_close(rt);
}
#else
FACT(conditional_bodies_take_captured_calls) { SKIP("built with headers before CUDA 12.4"); }
#endif

/* Made for launching from kernels, and launched from the host here. Chained calls are connected by
 * programmatic edges, which a driver may refuse in such graphs; it then says so. */
FACT(graphs_for_the_device_take_captured_calls) {
    enum { DEVICE_LAUNCH = 4 }; /* CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, since CUDA 12.0 */
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    upload_fn *upload = (upload_fn *)driver_function("cuGraphUpload");
    if (device_is_simulated(&gpu)) SKIP("the simulated GPU launches no graphs");
    if (gpu.driver->version < 12000 || !upload) SKIP("the driver is older than CUDA 12.0");
    CHECK_OK(open_whole(&rt, &plan), err);
    for (int calls = 1; calls <= 3; calls += 2) {
        CUgraph graph = NULL;
        CUgraphExec exec = NULL;
        CHECK_OK(capture(plan, calls, &graph), err);
        CUresult rc = gpu.driver->graph_instantiate(&exec, graph, DEVICE_LAUNCH);
        redtune_status status =
            rdt_driver_check(gpu.driver, rc, &err, "instantiate %d calls for the device", calls);
        printf("%d calls in a graph for the device: %s\n", calls, status ? err.message : "taken");
        gpu.driver->graph_destroy(graph);
        if (calls == 1) CHECK_OK(status, err);
        if (status) continue;
        CHECK(!upload(exec, gpu.stream));
        for (int round = 0; round < 20; round++) CHECK(replays_right(exec, calls));
        gpu.driver->graph_exec_destroy(exec);
    }
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
