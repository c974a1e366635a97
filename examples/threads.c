/* One plan on many threads, each with streams of its own: no lock is needed, for a plan does not
 * change and scratch belongs to the stream. */
#include "example.h"

#include <pthread.h>

enum { THREADS = 4, STREAMS = 3, ROUNDS = 20, COUNT = 50000 };

static CUcontext context;
static redtune_plan *plan;
static const void *d_ones;

/* Each call sums another number of ones. */
static void *work(void *argument) {
    uint64_t first = COUNT - (uint64_t)(uintptr_t)argument;
    redtune_error err;
    CUstream streams[STREAMS];
    float *d_out[STREAMS], out[ROUNDS];
    TRY_CUDA(cuCtxSetCurrent(context));
    for (int s = 0; s < STREAMS; s++) {
        streams[s] = make_stream();
        d_out[s] = upload(NULL, sizeof out);
    }
    for (uint64_t i = 0; i < ROUNDS; i++)
        for (int s = 0; s < STREAMS; s++)
            TRY_REDTUNE(
                redtune_plan_reduce(plan, d_ones, first - i, d_out[s] + i, streams[s], &err));
    for (int s = 0; s < STREAMS; s++) {
        download(out, d_out[s], sizeof out, streams[s]);
        for (uint64_t i = 0; i < ROUNDS; i++) expect(out[i] == (float)(first - i), "a sum");
    }
    return NULL;
}

int main(void) {
    static float ones[COUNT];
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, COUNT);
    redtune_error err;
    redtune *rt;
    pthread_t threads[THREADS];
    for (int i = 0; i < COUNT; i++) ones[i] = 1;
    start_cuda();
    TRY_CUDA(cuCtxGetCurrent(&context));
    d_ones = upload(ones, sizeof ones);
    TRY_REDTUNE(redtune_open(NULL, &rt, &err));
    TRY_REDTUNE(redtune_plan_create(rt, &problem, &plan, &err));
    for (uintptr_t i = 0; i < THREADS; i++)
        expect(!pthread_create(&threads[i], NULL, work, (void *)(100 * i)), "a thread");
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%d sums on %d threads and %d streams\n", THREADS * STREAMS * ROUNDS, THREADS,
           THREADS * STREAMS);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return EXIT_SUCCESS;
}
