/* Facts about threads: shared plans and redtune_reduce on eight threads, each with a stream of its
 * own, the default stream and the per-thread one, while other threads create, prepare and destroy;
 * and plans of two launches that several threads run on one stream. Worth most under the thread
 * sanitizer (preset tsan).
 *
 * usage: test_threads [CALLS]: calls of each thread. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "check.h"
#include "gpu/device.h"
#include "gpu/graph.h"
#include "gpu/stream.h"
#include "gpu/two_launches.h"

enum { THREADS = 8, PLANS = 3, COUNT = 40, CALLS_USUAL = 300, ONES = 1000 };

static redtune_error err;
static device gpu;
static rdt_buffer ones;
static size_t calls = CALLS_USUAL;

typedef struct crowd {
    redtune *rt;
    redtune_plan *plans[PLANS];
    atomic_bool over;
    atomic_size_t wrong, failed, made;
} crowd;

typedef struct worker {
    crowd *all;
    size_t number;
} worker;

static redtune_problem sum_of(uint64_t count) {
    return redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, count);
}

static void *input(void) { return (void *)(uintptr_t)ones.address; }

/* Calls in turn a shared plan, and the table for a size that no one has prepared. */
static redtune_status call(crowd *all, size_t i, uint64_t count, CUdeviceptr out, CUstream stream,
                           redtune_error *failure) {
    redtune_problem problem = sum_of(count);
    void *to = (void *)(uintptr_t)out;
    if (i % 2) return redtune_reduce(all->rt, &problem, input(), to, stream, failure);
    return redtune_plan_reduce(all->plans[i / 2 % PLANS], input(), count, to, stream, failure);
}

static void *work(void *user) {
    const worker *self = user;
    crowd *all = self->all;
    const rdt_driver *driver = gpu.driver;
    redtune_error failure;
    rdt_buffer out = {NULL};
    CUstream streams[3] = {NULL, CU_STREAM_PER_THREAD, CU_STREAM_LEGACY};
    driver->ctx_push(gpu.context->handle);
    if (rdt_stream_create(driver, &streams[0], &failure) ||
        rdt_buffer_create(driver, 256, &out, &failure)) {
        all->failed++;
        return NULL;
    }
    for (size_t i = 0; i < calls; i++) {
        /* The default stream is everyone's, and so would be its scratch's order of use. */
        CUstream stream = streams[i % 16 == 5 ? 1 : i % 64 == 7 ? 2 : 0];
        uint64_t count = (self->number + i) % COUNT;
        float sum = -1;
        if (call(all, i, count, out.address, stream, &failure)) all->failed++;
        if (i % 32 && i % 16 != 5) continue; /* looks at some */
        rdt_buffer_read(driver, &sum, out.address, sizeof sum, stream, &failure);
        if (sum != (float)count) all->wrong++;
    }
    rdt_stream_wait(driver, streams[0], &failure);
    rdt_buffer_destroy(&out);
    rdt_stream_destroy(driver, streams[0]);
    return NULL;
}

/* Creates and destroys plans, and prepares, until the others are done. */
static void *disturb(void *user) {
    crowd *all = user;
    redtune_error failure;
    for (size_t i = 0; !all->over; i++) {
        redtune_plan *plan = NULL;
        redtune_info info;
        redtune_problem problem = sum_of(UINT64_C(1) << (i % 12));
        problem.config = i % 3 ? NULL : "block=64";
        if (redtune_plan_create(all->rt, &problem, &plan, &failure)) {
            all->failed++;
            break;
        }
        redtune_plan_info(plan, &info);
        redtune_plan_destroy(plan);
        problem.config = NULL;
        all->failed += redtune_prepare(all->rt, &problem, 1, &failure) != REDTUNE_OK;
        all->made++;
    }
    return NULL;
}

FACT(anything_runs_on_any_thread) {
    crowd all = {.rt = NULL};
    worker workers[THREADS];
    pthread_t threads[THREADS], disturbers[2];
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    CHECK_OK(redtune_open(&options, &all.rt, &err), err);
    for (int i = 0; i < PLANS; i++) {
        redtune_problem problem = sum_of(UINT64_C(1) << (2 * i));
        CHECK_OK(redtune_plan_create(all.rt, &problem, &all.plans[i], &err), err);
    }
    for (int i = 0; i < 2; i++) CHECK(!pthread_create(&disturbers[i], NULL, disturb, &all));
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){&all, i};
        CHECK(!pthread_create(&threads[i], NULL, work, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    all.over = true;
    for (int i = 0; i < 2; i++) pthread_join(disturbers[i], NULL);
    printf("%d threads, %zu calls each, %zu plans made meanwhile\n", THREADS, calls,
           (size_t)all.made);
    for (int i = 0; i < PLANS; i++) redtune_plan_destroy(all.plans[i]);
    redtune_close(all.rt);
    CHECK_INT(all.failed, 0);
    CHECK_INT(all.wrong, 0);
    CHECK(all.made > 0);
}

/* ---- one stream ------------------------------------------------------------------------------ */

enum { SHARERS = 4 };

/* A thread that runs a plan on a stream that others use, too, into outputs of its own. */
typedef struct sharer {
    redtune_plan *plan; /* NULL: two */
    two_launches two;
    CUstream stream;
    rdt_buffer out;
    uint64_t count;
    size_t failed, wrong;
} sharer;

static void *share(void *user) {
    sharer *self = user;
    redtune_error failure;
    gpu.driver->ctx_push(gpu.context->handle);
    for (size_t i = 0; i < calls; i++) {
        void *to = (void *)(uintptr_t)(self->out.address + i * sizeof(float));
        self->failed += (self->plan ? redtune_plan_reduce(self->plan, input(), self->count, to,
                                                          self->stream, &failure)
                                    : two_launches_reduce(&self->two, input(), self->count, to,
                                                          self->stream, &failure)) != REDTUNE_OK;
    }
    gpu.driver->ctx_pop(&(CUcontext){NULL});
    return NULL;
}

/* All results at once, after the threads have ended. */
static void look_at_results(sharer *self) {
    float *sums = malloc(self->out.bytes);
    CHECK(sums);
    CHECK_OK(
        rdt_buffer_read(gpu.driver, sums, self->out.address, self->out.bytes, self->stream, &err),
        err);
    for (size_t i = 0; i < calls; i++) self->wrong += sums[i] != (float)self->count;
    free(sums);
}

/* The threads run their calls, or add them to a capture of the stream, which is then replayed. */
static redtune_status run_sharers(sharer sharers[SHARERS], CUstream stream, bool captured) {
    pthread_t threads[SHARERS];
    rdt_graph *graph = NULL;
    redtune_status status = captured ? rdt_graph_begin(gpu.driver, stream, &err) : REDTUNE_OK;
    size_t started = 0;
    if (status) return status;
    while (started < SHARERS && !pthread_create(&threads[started], NULL, share, &sharers[started]))
        started++;
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    if (!captured) return REDTUNE_OK;
    status = rdt_graph_end(gpu.driver, stream, &graph, &err);
    if (!status) status = rdt_graph_replay(graph, stream, &err);
    if (!status) status = rdt_stream_wait(gpu.driver, stream, &err);
    rdt_graph_destroy(graph);
    return status;
}

/* The second launch of a call reads the partial results of the first. No other call on the stream
 * may write there in between: neither one of two launches nor one of a single launch. */
static void share_a_stream(bool captured) {
    sharer sharers[SHARERS] = {{.plan = NULL}};
    redtune *rt = NULL;
    CUstream stream = NULL;
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    CHECK_OK(rdt_stream_create(gpu.driver, &stream, &err), err);
    for (size_t i = 0; i < SHARERS; i++) {
        sharer *self = &sharers[i];
        redtune_problem problem = sum_of(ONES);
        problem.config = "block=32,vec=1,unroll=1,per_sm=4,finish=poll";
        *self = (sharer){.stream = stream, .count = ONES - 97 * i};
        if (i == 1)
            CHECK_OK(redtune_plan_create(rt, &problem, &self->plan, &err), err);
        else
            CHECK_OK(two_launches_open(&gpu, rt, ONES, &self->two, &err), err);
        CHECK_OK(rdt_buffer_create(gpu.driver, calls * sizeof(float), &self->out, &err), err);
    }
    CHECK_OK(run_sharers(sharers, stream, captured), err);
    for (size_t i = 0; i < SHARERS; i++) {
        look_at_results(&sharers[i]);
        printf("%s: %zu of %zu wrong\n", sharers[i].plan ? "one launch" : "two launches",
               sharers[i].wrong, calls);
        redtune_plan_destroy(sharers[i].plan);
        two_launches_close(&sharers[i].two);
        rdt_buffer_destroy(&sharers[i].out);
    }
    rdt_stream_destroy(gpu.driver, stream);
    redtune_close(rt);
    for (size_t i = 0; i < SHARERS; i++) {
        CHECK_INT(sharers[i].failed, 0);
        CHECK_INT(sharers[i].wrong, 0);
    }
}

FACT(two_launches_of_a_call_stay_together) { share_a_stream(false); }

FACT(captured_calls_of_several_threads_keep_apart) { share_a_stream(true); }

int main(int argc, char **argv) {
    float host[ONES];
    if (argc > 1) calls = strtoull(argv[1], NULL, 10);
    for (int i = 0; i < ONES; i++) host[i] = 1;
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, sizeof host, &ones, &err);
    if (!status)
        status = rdt_buffer_write(gpu.driver, ones.address, host, sizeof host, gpu.stream, &err);
    if (status) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    int rc = check_run(1, argv);
    rdt_buffer_destroy(&ones);
    device_close(&gpu);
    return rc;
}
