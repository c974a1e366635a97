/* Facts about threads: shared plans and redtune_reduce on eight threads, each with a stream of its
 * own, the default stream and the per-thread one, while other threads create, prepare and destroy.
 * Worth most under the thread sanitizer (preset tsan).
 *
 * usage: test_threads [CALLS]: calls of each thread. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "check.h"
#include "gpu/device.h"

enum { THREADS = 8, PLANS = 3, COUNT = 40, CALLS_USUAL = 300 };

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
    return (redtune_problem){.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = count};
}

static void *input(void) {
    return (void *)(uintptr_t)ones.address;
}

/* Calls in turn a shared plan, and the table for a size that no one has prepared. */
static redtune_status call(crowd *all, size_t i, uint64_t count, CUdeviceptr out, CUstream stream,
                           redtune_error *failure) {
    redtune_problem problem = sum_of(count);
    void *to = (void *)(uintptr_t)out;
    if (i % 2) return redtune_reduce(all->rt, &problem, input(), to, stream, failure);
    return redtune_plan_run(all->plans[i / 2 % PLANS], input(), count, to, stream, failure);
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

static void anything_runs_on_any_thread(void) {
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

int main(int argc, char **argv) {
    static const check_fact facts[] = {FACT(anything_runs_on_any_thread)};
    float host[COUNT];
    if (argc > 1) calls = strtoull(argv[1], NULL, 10);
    for (int i = 0; i < COUNT; i++) host[i] = 1;
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, sizeof host, &ones, &err);
    if (!status)
        status = rdt_buffer_write(gpu.driver, ones.address, host, sizeof host, gpu.stream, &err);
    if (status) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    int rc = check_run(facts, 1, 1, argv);
    rdt_buffer_destroy(&ones);
    device_close(&gpu);
    return rc;
}
