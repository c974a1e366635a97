/* Streams that capture, graphs, and what lives as long as they do. */
#include "world.h"

FACT(captured_work_runs_when_the_graph_does) {
    CUstream stream;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    size_t nodes = 0;
    struct world world = world_start(NULL);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CHECK(world_add_one(&world, stream) == CUDA_SUCCESS);
    CHECK(world_add_one(&world, stream) == CUDA_SUCCESS);
    CHECK(cuStreamGetCaptureInfo_v3(stream, &status, &id, NULL, NULL, NULL, NULL) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id);
    CHECK(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    CHECK(cuGraphGetNodes(graph, NULL, &nodes) == CUDA_SUCCESS && nodes == 2);
    CHECK_EQUAL(world_first_word(&world), 0);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    for (int i = 0; i < 3; i++) CHECK(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
    CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK_EQUAL(world_first_word(&world), 6);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
}

FACT(capture_forbids_what_would_break_it) {
    CUstream stream;
    CUgraph graph;
    CUdeviceptr at;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    struct world world = world_start(NULL);
    CHECK(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CHECK_EQUAL(cuMemAlloc_v2(&at, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_EQUAL(world_add_one(&world, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_EQUAL(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK(cuMemAlloc_v2(&at, 16) == CUDA_SUCCESS);
    CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK_EQUAL(world_add_one(&world, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK_EQUAL(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    CHECK_EQUAL(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_EQUAL(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

FACT(events_carry_a_capture_to_other_streams) {
    CUstream first, second;
    CUevent fork, join;
    CUgraph graph = NULL;
    CUgraphExec exec;
    struct world world = world_start(NULL);
    cuStreamCreate(&first, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING);
    cuEventCreate(&join, CU_EVENT_DISABLE_TIMING);
    for (int joins = 0; joins < 2; joins++) {
        CHECK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
        CHECK(cuEventRecord(fork, first) == CUDA_SUCCESS);
        CHECK(cuStreamWaitEvent(second, fork, 0) == CUDA_SUCCESS);
        CHECK(world_add_one(&world, second) == CUDA_SUCCESS);
        CHECK(cuEventRecord(join, second) == CUDA_SUCCESS);
        if (joins) CHECK(cuStreamWaitEvent(first, join, 0) == CUDA_SUCCESS);
        CHECK_EQUAL(cuStreamEndCapture(second, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        CHECK_EQUAL(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
        CHECK(cuEventRecord(fork, first) == CUDA_SUCCESS);
        CHECK(cuStreamWaitEvent(second, fork, 0) == CUDA_SUCCESS);
        CHECK(world_add_one(&world, second) == CUDA_SUCCESS);
        CHECK(cuEventRecord(join, second) == CUDA_SUCCESS);
        if (joins) CHECK(cuStreamWaitEvent(first, join, 0) == CUDA_SUCCESS);
        CHECK_EQUAL(cuStreamEndCapture(first, &graph),
                    joins ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    }
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
    CHECK(cuGraphLaunch(exec, first) == CUDA_SUCCESS);
    CHECK_EQUAL(world_first_word(&world), 1);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS && cuGraphDestroy(graph) == CUDA_SUCCESS);
}

FACT(graphs_are_built_by_hand) {
    CUgraph graph;
    CUgraphNode set, kernel, end;
    CUgraphExec exec;
    struct world world = world_start(NULL);
    unsigned int value = 5;
    void *params[] = {&world.at, &value};
    CUDA_MEMSET_NODE_PARAMS memset_params = {
        .dst = world.at, .elementSize = 4, .width = 32, .height = 1, .value = 40};
    CUDA_KERNEL_NODE_PARAMS_v2 add_params = {.func = world.add_one,
                                             .gridDimX = 1,
                                             .gridDimY = 1,
                                             .gridDimZ = 1,
                                             .blockDimX = 1,
                                             .blockDimY = 1,
                                             .blockDimZ = 1,
                                             .kernelParams = params};
    CUcontext context;
    cuCtxGetCurrent(&context);
    CHECK(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
    CHECK(cuGraphAddMemsetNode(&set, graph, NULL, 0, &memset_params, context) == CUDA_SUCCESS);
    CHECK(cuGraphAddKernelNode_v2(&kernel, graph, &set, 1, &add_params) == CUDA_SUCCESS);
    CHECK(cuGraphAddEmptyNode(&end, graph, &kernel, 1) == CUDA_SUCCESS);
    CUgraphNode before[2] = {NULL};
    size_t count = 2;
    CHECK(cuGraphNodeGetDependencies(kernel, before, &count) == CUDA_SUCCESS);
    CHECK(count == 1 && before[0] == set);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
    CHECK(cuGraphUpload(exec, NULL) == CUDA_SUCCESS);
    CHECK(cuGraphLaunch(exec, NULL) == CUDA_SUCCESS);
    CHECK_EQUAL(world_first_word(&world), 41);
    CHECK(cuModuleUnload(world.module) == CUDA_SUCCESS);
    CHECK(cuGraphLaunch(exec, NULL) == CUDA_SUCCESS);
    CHECK_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(bench_finding(NULL), REDTUNE_SIM_MISUSE);
}

/* The nodes of a level run before those that depend on them, and the newest first. */
FACT(graph_runs_level_by_level) {
    struct world world = world_start(NULL);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode ends[2];
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    for (unsigned i = 0; i < 2; i++) {
        const CUgraphNode *tips = NULL;
        CUstreamCaptureStatus status;
        CHECK(cuStreamUpdateCaptureDependencies(stream, NULL, 0, 1) == CUDA_SUCCESS);
        CHECK(cuMemsetD32Async(world.at, 10 + 10 * i, 1, stream) == CUDA_SUCCESS);
        CHECK(world_add_one(&world, stream) == CUDA_SUCCESS);
        CHECK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, &tips, NULL) == CUDA_SUCCESS);
        ends[i] = tips[0];
    }
    CHECK(cuStreamUpdateCaptureDependencies(stream, ends, 2, 1) == CUDA_SUCCESS);
    CHECK(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
    CHECK(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
    CHECK_EQUAL(world_first_word(&world), 12);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS && cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
}

FACT(late_streams_take_turns) {
    static const unsigned results[] = {12, 21, 21}; /* late; late, with an event; at once */
    for (int way = 0; way < 3; way++) {
        const char *const late[] = {way < 2 ? "LATE=1" : "LATE=0", NULL};
        struct world world = world_start(late);
        CUstream streams[2];
        CUevent event;
        CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
        for (unsigned i = 0; i < 2; i++) {
            CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
            if (way == 1 && i) CHECK(cuStreamWaitEvent(streams[1], event, 0) == CUDA_SUCCESS);
            CHECK(cuMemsetD32Async(world.at, 10 + 10 * i, 1, streams[i]) == CUDA_SUCCESS);
            CHECK(world_add_one(&world, streams[i]) == CUDA_SUCCESS);
            if (way == 1 && !i) CHECK(cuEventRecord(event, streams[0]) == CUDA_SUCCESS);
        }
        CHECK(cuStreamDestroy_v2(streams[0]) == CUDA_SUCCESS); /* its work goes on */
        CHECK(cuStreamSynchronize(streams[1]) == CUDA_SUCCESS);
        CHECK_EQUAL(world_first_word(&world), results[way]);
        CHECK(cuStreamDestroy_v2(streams[1]) == CUDA_SUCCESS);
        CHECK(cuEventDestroy_v2(event) == CUDA_SUCCESS);
    }
}

FACT(stream_gets_the_handle_of_the_last_one) {
    CUstream first, second;
    unsigned long long first_id, second_id;
    world_start(NULL);
    CHECK(cuStreamCreate(&first, 0) == CUDA_SUCCESS);
    CHECK(cuStreamGetId(first, &first_id) == CUDA_SUCCESS);
    CHECK(cuStreamDestroy_v2(first) == CUDA_SUCCESS);
    CHECK_EQUAL(cuStreamDestroy_v2(first), CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamCreate(&second, 0) == CUDA_SUCCESS);
    CHECK(cuStreamGetId(second, &second_id) == CUDA_SUCCESS);
    CHECK(first == second && first_id != second_id);
    CHECK(cuStreamDestroy_v2(second) == CUDA_SUCCESS);
}

static void count_up(void *counter) { ++*(int *)counter; }

FACT(user_objects_live_as_long_as_graphs) {
    int destroyed = 0;
    CUuserObject object;
    CUgraph graph;
    CUgraphExec exec;
    world_start(NULL);
    CHECK(cuUserObjectCreate(&object, &destroyed, count_up, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) ==
          CUDA_SUCCESS);
    CHECK(cuGraphCreate(&graph, 0) == CUDA_SUCCESS);
    CHECK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) == CUDA_SUCCESS);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
    CHECK(cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK_EQUAL(destroyed, 0);
    CHECK(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    CHECK_EQUAL(destroyed, 1);
    CHECK_EQUAL(cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
}

int main(int argc, char **argv) {
    int rc = fact_run(argc, argv);
    redtune_sim_reset();
    return rc;
}
