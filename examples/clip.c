/* The global norm of a list of gradients, and the factor that clips them, on the GPU in one graph:
 * one launch reads all arrays, and a kernel that scales them may go on from d_factor.
 *
 * The op is one of a file, clip.lua, whose two results are the factor and the norm; the greatest
 * norm allowed is its parameter, which each replay reads on the GPU. */
#include "example.h"
#include <redtune/list.h>

enum { ARRAYS = 200 };

typedef struct gradients {
    void *d_array[ARRAYS];
    uint64_t count[ARRAYS];
    double squares; /* the sum of all elements' squares */
} gradients;

/* As a model has them: large ones, and small ones between. All elements of array i are i % 5 / 8.
 */
static gradients make_gradients(void) {
    static float numbers[3000];
    gradients out = {.squares = 0};
    for (int i = 0; i < ARRAYS; i++) {
        const float each = (float)(i % 5) / 8;
        out.count[i] = i % 2 ? 64 : 3000 - (uint64_t)i;
        for (uint64_t k = 0; k < out.count[i]; k++) numbers[k] = each;
        out.d_array[i] = upload(numbers, out.count[i] * sizeof each);
        out.squares += (double)(each * each) * (double)out.count[i];
    }
    return out;
}

static CUgraphExec capture(redtune *rt, const redtune_problem *problem,
                           const redtune_segments *segments, CUstream stream) {
    CUgraph graph;
    CUgraphExec exec;
    redtune_error err;
    TRY_REDTUNE(redtune_prepare(rt, problem, 1, &err));
    TRY_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    TRY_REDTUNE(redtune_run_segments(rt, problem, segments, stream, &err));
    TRY_CUDA(cuStreamEndCapture(stream, &graph));
    TRY_CUDA(cuGraphInstantiateWithFlags(&exec, graph, 0));
    TRY_CUDA(cuGraphDestroy(graph));
    return exec;
}

int main(void) {
    const redtune_options options = {.ops = EXAMPLE_CLIP_OP}; /* the path of clip.lua */
    redtune_error err;
    redtune *rt;
    redtune_list *list;
    redtune_problem problem = {.dtype = REDTUNE_F32, .segmented = REDTUNE_SEGMENTED_ALL};
    start_cuda();
    CUstream stream = make_stream();
    const gradients all = make_gradients();
    float *d_factor = upload(NULL, sizeof *d_factor), *d_norm = upload(NULL, sizeof *d_norm);
    double *d_most = upload(NULL, sizeof *d_most);
    TRY_REDTUNE(redtune_open(&options, &rt, &err));
    TRY_REDTUNE(redtune_op_find("clip", &problem.op, &err));
    TRY_REDTUNE(redtune_list_create(rt, REDTUNE_F32, (const void *const *)all.d_array, all.count,
                                    ARRAYS, &list, &err));
    const redtune_segments segments = {
        .list = list, .d_out = {d_factor, d_norm}, .d_parameters = d_most};
    CUgraphExec exec = capture(rt, &problem, &segments, stream);

    for (double most = 1; most < 1000; most *= 10) {
        float factor, norm;
        TRY_CUDA(cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)d_most, &most, sizeof most, stream));
        TRY_CUDA(cuGraphLaunch(exec, stream));
        download(&factor, d_factor, sizeof factor, stream);
        download(&norm, d_norm, sizeof norm, stream);
        printf("norm %g, at most %g: factor %g\n", (double)norm, most, (double)factor);
        const double off = (double)norm * (double)norm / all.squares - 1;
        const double clipped = (double)factor * (double)norm;
        expect(off < 1e-5 && off > -1e-5, "the norm");
        expect(clipped < most * (1 + 1e-6) && (factor == 1 || clipped > most * (1 - 1e-6)),
               "the factor");
    }
    TRY_CUDA(cuGraphExecDestroy(exec)); /* before redtune, whose kernels and scratch it has */
    redtune_list_destroy(list);
    redtune_close(rt);
    return EXIT_SUCCESS;
}
