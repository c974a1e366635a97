/* Reductions within a CUDA graph: captured once, replayed for each new input.
 *
 * redtune_reduce creates its plans on first use, which a capture cannot take: redtune_prepare
 * creates them before. */
#include "example.h"

enum { COUNT = 65536, REPLAYS = 10 };

/* The sum of the squares and the maximum of what is in d_in then, by each replay. */
static CUgraphExec capture(redtune *rt, const redtune_problem problems[2], const void *d_in,
                           float *d_out, CUstream stream) {
    CUgraph graph;
    CUgraphExec exec;
    redtune_error err;
    TRY_REDTUNE(redtune_prepare(rt, problems, 2, &err));
    TRY_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < 2; i++)
        TRY_REDTUNE(redtune_reduce(rt, &problems[i], d_in, d_out + i, stream, &err));
    TRY_CUDA(cuStreamEndCapture(stream, &graph));
    TRY_CUDA(cuGraphInstantiateWithFlags(&exec, graph, 0));
    TRY_CUDA(cuGraphDestroy(graph));
    return exec;
}

int main(void) {
    static float numbers[COUNT];
    const redtune_problem problems[2] = {
        redtune_problem_whole(REDTUNE_SUMSQ, REDTUNE_F32, COUNT),
        redtune_problem_whole(REDTUNE_MAX, REDTUNE_F32, COUNT),
    };
    redtune_error err;
    redtune *rt;
    start_cuda();
    CUstream stream = make_stream();
    void *d_in = upload(NULL, sizeof numbers);
    float *d_out = upload(NULL, 2 * sizeof *d_out), out[2];
    TRY_REDTUNE(redtune_open(NULL, &rt, &err));
    CUgraphExec exec = capture(rt, problems, d_in, d_out, stream);

    for (int replay = 1; replay <= REPLAYS; replay++) {
        for (int i = 0; i < COUNT; i++) numbers[i] = i % 2 ? (float)replay : 0;
        TRY_CUDA(cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)d_in, numbers, sizeof numbers, stream));
        TRY_CUDA(cuGraphLaunch(exec, stream));
        download(out, d_out, sizeof out, stream);
        printf("replay %d: sum of squares %g, maximum %g\n", replay, out[0], out[1]);
        expect(out[0] == (float)replay * (float)replay * COUNT / 2, "the sum of squares");
        expect(out[1] == (float)replay, "the maximum");
    }
    TRY_CUDA(cuGraphExecDestroy(exec)); /* before redtune, whose kernels and scratch it has */
    redtune_close(rt);
    return EXIT_SUCCESS;
}
