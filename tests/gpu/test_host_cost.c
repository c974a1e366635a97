/* What a call costs the host: redtune_plan_run and the one-line calls in turns with a bare
 * cuLaunchKernel of the same kernel with the same arguments. Prints the medians; on a GPU, fails
 * where they are further apart than promised. On the simulated one, where a launch runs the kernel,
 * the driver's functions are replaced by empty ones: what is left is redtune's own. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "api/running/plan.h"
#include "ones.h"
#include "gpu/stream.h"
#include "shaped.h"

enum { CONTESTANTS = 4, CALLS = 100000, QUEUE = 128 };

/* What is allowed over the bare launch is a share of that one's own time, since a host that is slow
 * at the one is as slow at the other, and a few nanoseconds. On hosts of H200s a bare launch took
 * 3.0 to 3.8 us, redtune_plan_reduce 90 to 180 ns more, and redtune_reduce 120 to 210 ns more. */
static const double over_share = 0.06;
static const struct {
    const char *name;
    double over_ns;
} contestants[CONTESTANTS] = {
    {"cuLaunchKernel", 0},
    {"redtune_plan_reduce", 40},
    {"redtune_plan_run", 50},
    {"redtune_reduce", 70},
};

typedef struct bench {
    redtune *rt;
    redtune_plan *plan;
    redtune_problem problem;
    redtune_operands operands;
    rdt_buffer scratch; /* of the bare launch */
} bench;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static CUresult launch_bare(const bench *self) {
    const rdt_executable *variant = atomic_load(&self->plan->now);
    CUdeviceptr in = ones.address, out = results.address, scratch = self->scratch.address;
    uint64_t count = shaped_of(&self->problem).count;
    uint32_t overlaps = 0;
    void *arguments[] = {&in, &count, &out, &scratch, &overlaps};
    return self->rt->context->driver->launch_kernel(
        variant->kernel->reduce, rdt_launch_blocks(&variant->launch, count), 1, 1,
        variant->launch.threads, 1, 1, 0, gpu.stream, arguments, NULL);
}

static bool call(const bench *self, int contestant) {
    uint64_t count = shaped_of(&self->problem).count;
    if (contestant == 0) return !launch_bare(self);
    if (contestant == 1)
        return !redtune_plan_reduce(self->plan, input(), count, output(1), gpu.stream, &err);
    if (contestant == 2) return !redtune_plan_run(self->plan, &self->operands, gpu.stream, &err);
    return !redtune_reduce(self->rt, &self->problem, input(), output(3), gpu.stream, &err);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fills medians; false where a call failed. The queue is emptied before it is full, for a launch
 * would then wait for the GPU. */
static bool race(const bench *self, size_t calls, double *samples, double medians[CONTESTANTS]) {
    for (size_t i = 0; i < calls; i++) {
        for (size_t k = 0; k < CONTESTANTS; k++) {
            size_t who = (i + k) % CONTESTANTS;
            double start = now_ns();
            bool good = call(self, (int)who);
            samples[who * calls + i] = now_ns() - start;
            if (!good) return false;
        }
        if (i % QUEUE == QUEUE - 1 && rdt_stream_wait(gpu.driver, gpu.stream, &err)) return false;
    }
    if (rdt_stream_wait(gpu.driver, gpu.stream, &err)) return false;
    for (size_t who = 0; who < CONTESTANTS; who++) {
        qsort(samples + who * calls, calls, sizeof *samples, by_size);
        medians[who] = samples[who * calls + calls / 2];
    }
    return true;
}

static CUresult launch_nothing(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                               unsigned bx, unsigned by, unsigned bz, unsigned shared,
                               CUstream stream, void **arguments, void **extra) {
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
    (void)stream, (void)arguments, (void)extra;
    return CUDA_SUCCESS;
}

static CUresult capture_nothing(CUstream stream, CUstreamCaptureStatus *status) {
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static unsigned long long stream_number;

static CUresult answer_number(CUstream stream, unsigned long long *id) {
    (void)stream;
    *id = stream_number;
    return CUDA_SUCCESS;
}

static CUcontext current_context;

static CUresult answer_context(CUcontext *context) {
    *context = current_context;
    return CUDA_SUCCESS;
}

/* redtune's own table is in memory of its own, and not const there. */
static void empty_driver(const bench *self) {
    rdt_driver *driver = self->rt->context->driver;
    driver->stream_get_id(gpu.stream, &stream_number);
    driver->ctx_get_current(&current_context);
    driver->launch_kernel = launch_nothing;
    driver->stream_is_capturing = capture_nothing;
    driver->stream_get_id = answer_number;
    driver->ctx_get_current = answer_context;
}

static void restore_driver(const bench *self) {
    rdt_driver *driver = self->rt->context->driver;
    driver->launch_kernel = gpu.driver->launch_kernel;
    driver->stream_is_capturing = gpu.driver->stream_is_capturing;
    driver->stream_get_id = gpu.driver->stream_get_id;
    driver->ctx_get_current = gpu.driver->ctx_get_current;
}

/* Scratch is for the bare launch. The first calls of all have been made. */
static void bench_open(bench *self, redtune_problem problem) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    *self = (bench){
        .problem = problem,
        .operands = {.d_in = {input()}, .d_out = {output(2)}, .count = 1000},
    };
    CHECK_OK(redtune_open(&options, &self->rt, &err), err);
    CHECK_OK(redtune_plan_create(self->rt, &problem, &self->plan, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, redtune_workspace_bytes(), &self->scratch, &err), err);
    CHECK(!gpu.driver->memset_d8_async(self->scratch.address, 0, self->scratch.bytes, gpu.stream));
}

static void bench_close(bench *self) {
    rdt_buffer_destroy(&self->scratch);
    redtune_plan_destroy(self->plan);
    redtune_close(self->rt);
}

FACT(calls_cost_little_more_than_a_bare_launch) {
    bool simulated = device_is_simulated(&gpu);
    size_t calls = CALLS;
    bench self;
    double medians[CONTESTANTS];
    bench_open(&self, sum_of(1000));
    for (int who = 0; who < CONTESTANTS; who++) CHECK(call(&self, who)); /* first calls */
    double *samples = malloc(CONTESTANTS * calls * sizeof *samples);
    CHECK(samples);
    if (simulated) empty_driver(&self);
    bool raced = race(&self, calls, samples, medians);
    if (simulated) restore_driver(&self);
    free(samples);
    CHECK(raced);
    for (int who = 0; who < CONTESTANTS; who++) {
        printf("%-19s %7.0f ns, %+6.0f\n", contestants[who].name, medians[who],
               medians[who] - medians[0]);
        CHECK(result((size_t)who) == 1000);
    }
    for (int who = 1; who < CONTESTANTS && !simulated; who++)
        CHECK(medians[who] <= medians[0] * (1 + over_share) + contestants[who].over_ns);
    bench_close(&self);
}

/* Instructions of a process that makes so many calls, stepped one by one; 0: that is not possible
 * here. Counters of the CPU would do, but few machines let a program have them. */
static long count_instructions(const bench *self, int contestant, int calls) {
    int status = 0;
    long count = 0;
    const pid_t child = fork();
    if (!child) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP)) _exit(1);
        bool good = true;
        while (calls--) good = call(self, contestant) && good;
        _exit(!good);
    }
    if (child < 0) return 0;
    for (waitpid(child, &status, 0); WIFSTOPPED(status); waitpid(child, &status, 0), count++)
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL)) kill(child, SIGKILL);
    return WIFEXITED(status) && !WEXITSTATUS(status) ? count : 0;
}

static long instructions_of_a_call(const bench *self, int contestant) {
    const long one = count_instructions(self, contestant, 1);
    return one ? count_instructions(self, contestant, 2) - one : 0;
}

/* How many more redtune_reduce takes than redtune_plan_run, as a share of the latter's: with GCC 12
 * 0.15, 0.18 and 0.21. */
FACT(finding_a_plan_takes_few_instructions) {
#if !defined(__x86_64__) || !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__)
    SKIP("counts of other builds differ");
#endif
    if (!device_is_simulated(&gpu)) SKIP("the driver's instructions would count");
    const struct {
        const char *name;
        redtune_problem problem;
    } trials[] = {
        {"whole", sum_of(1000)},
        {"rows", redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 10, 100)},
        {"columns", redtune_problem_columns(REDTUNE_SUM, REDTUNE_F32, 10, 100)},
    };
    const double share_max = 0.25;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        bench self;
        bench_open(&self, trials[i].problem);
        self.operands = redtune_problem_operands(&self.problem);
        self.operands.d_in[0] = input();
        self.operands.d_out[0] = output(2);
        for (int who = 2; who < CONTESTANTS; who++) CHECK(call(&self, who));
        empty_driver(&self);
        const long run = instructions_of_a_call(&self, 2),
                   reduce = instructions_of_a_call(&self, 3);
        restore_driver(&self);
        bench_close(&self);
        printf("%-8s redtune_plan_run %ld instructions, redtune_reduce %ld\n", trials[i].name, run,
               reduce);
        if (!run || !reduce) SKIP("no process can be stepped here");
        CHECK((double)(reduce - run) <= share_max * (double)run);
    }
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
