/* Ops of two inputs, two results and parameters, in a CUDA graph: the dot product of two arrays,
 * and mean and variance of one, whose divisor n - ddof lies on the GPU.
 *
 * A graph has the operands' addresses and the parameters' values of the call that was captured.
 * What d_parameters points to is read by each replay. */
#include "example.h"

enum { COUNT = 4096 };

static CUgraphExec capture(redtune *rt, const redtune_problem problems[2],
                           const redtune_operands operands[2], CUstream stream) {
    CUgraph graph;
    CUgraphExec exec;
    redtune_error err;
    TRY_REDTUNE(redtune_prepare(rt, problems, 2, &err));
    TRY_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < 2; i++)
        TRY_REDTUNE(redtune_run(rt, &problems[i], &operands[i], stream, &err));
    TRY_CUDA(cuStreamEndCapture(stream, &graph));
    TRY_CUDA(cuGraphInstantiateWithFlags(&exec, graph, 0));
    TRY_CUDA(cuGraphDestroy(graph));
    return exec;
}

int main(void) {
    static double x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = i % 2 ? 1 : -1;
        y[i] = i % 4;
    }
    const redtune_problem problems[2] = {
        redtune_problem_whole(REDTUNE_DOT, REDTUNE_F64, COUNT),
        redtune_problem_whole(REDTUNE_MEAN_VAR, REDTUNE_F64, COUNT),
    };
    redtune_error err;
    redtune *rt;
    start_cuda();
    CUstream stream = make_stream();
    const double *d_x = upload(x, sizeof x), *d_y = upload(y, sizeof y);
    double *d_out = upload(NULL, 3 * sizeof *d_out), *d_ddof = upload(NULL, sizeof *d_ddof), out[3];
    const redtune_operands operands[2] = {
        {.d_in = {d_x, d_y}, .d_out = {d_out}},
        {.d_in = {d_y}, .d_out = {d_out + 1, d_out + 2}, .d_parameters = d_ddof},
    };
    TRY_REDTUNE(redtune_open(NULL, &rt, &err));
    CUgraphExec exec = capture(rt, problems, operands, stream);

    for (double ddof = 0; ddof < 2; ddof++) {
        TRY_CUDA(cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)d_ddof, &ddof, sizeof ddof, stream));
        TRY_CUDA(cuGraphLaunch(exec, stream));
        download(out, d_out, sizeof out, stream);
        printf("ddof %g: x . y = %g, mean of y %g, variance %.10g\n", ddof, out[0], out[1], out[2]);
        const double squares = 1.25 * COUNT, off = out[2] - squares / (COUNT - ddof);
        expect(out[0] == COUNT / 2.0, "the dot product");
        expect(out[1] == 1.5, "the mean");
        expect(off < 1e-12 && off > -1e-12, "the variance");
    }
    TRY_CUDA(cuGraphExecDestroy(exec)); /* before redtune, whose kernels and scratch it has */
    redtune_close(rt);
    return EXIT_SUCCESS;
}
