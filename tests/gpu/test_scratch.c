/* Facts about redtune.h on a GPU: scratch of streams and of the caller's, and what is left behind.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <pthread.h>
#include "api/runtime/workspace.h"
#include "gpu/graph.h"
#include "ones.h"
#include "simulator.h"
#include "two_launches.h"

/* ---- scratch --------------------------------------------------------------------------------- */

static size_t free_bytes(void) {
    size_t free = 0, total = 0;
    gpu.driver->mem_get_info(&free, &total);
    return free;
}

static size_t count_distinct(const CUstream *handles, size_t count) {
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < i && handles[k] != handles[i]) k++;
        distinct += k == i;
    }
    return distinct;
}

/* A new stream may have the handle of one that was destroyed with work in it. Scratch is for so
 * many streams as there are handles, and for those that wait to be freed. */
FACT(streams_come_and_go) {
    enum { STREAMS = 200, WAITING_MAX = 20 };
    CUstream handles[STREAMS];
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_problem problem = sum_of(COUNT);
    CHECK_OK(open_and_plan(&rt, &problem, &plan), err);
    size_t before = free_bytes();
    for (size_t i = 0; i < STREAMS; i++) {
        CUstream stream = NULL;
        CHECK_OK(rdt_stream_create(gpu.driver, &stream, &err), err);
        for (size_t k = 0; k < 3; k++)
            CHECK_OK(redtune_plan_reduce(plan, input(), COUNT - i, output(i), stream, &err), err);
        handles[i] = stream;
        rdt_stream_destroy(gpu.driver, stream);
    }
    size_t blocks_max = count_distinct(handles, STREAMS) + WAITING_MAX;
    /* A GPU's driver takes memory for new streams, too. */
    size_t slack = device_is_simulated(&gpu) ? 0 : (size_t)64 << 20;
    CHECK(before <= free_bytes() + blocks_max * redtune_workspace_bytes() + slack);
    for (size_t i = 0; i < STREAMS; i++) CHECK(result(i) == (float)(COUNT - i));
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

/* For all streams of the context, those that are gone, too. */
static CUresult wait_for_all(void) {
    void *library = dlopen(rdt_driver_path(gpu.driver), RTLD_LAZY | RTLD_NOLOAD);
    CUresult (*wait)(void) = library ? (CUresult(*)(void))dlsym(library, "cuCtxSynchronize") : NULL;
    return wait ? wait() : CUDA_ERROR_NOT_FOUND;
}

/* A new stream often has the handle of one that was destroyed, whose work may still run: here the
 * first launch of two, with the second to come. */
FACT(new_stream_with_an_old_handle_has_scratch_of_its_own) {
    enum { STREAMS = 8, ROUNDS = 20 };
    redtune *rt = NULL;
    two_launches two = {.plan = NULL};
    simulator sim;
    bool simulated = simulator_find(&sim);
    const uint64_t count = simulated ? 2500 : COUNT;
    size_t reused = 0;
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(two_launches_open(&gpu, rt, COUNT, &two, &err), err);
    for (int round = 0; round < ROUNDS; round++) {
        CUstream before = NULL;
        if (simulated) sim.set("REDTUNE_SIM_LATE", "1");
        for (size_t i = 0; i < STREAMS; i++) {
            CUstream stream = NULL;
            CHECK_OK(rdt_stream_create(gpu.driver, &stream, &err), err);
            CHECK_OK(two_launches_reduce(&two, input(), count - 9 * i, output(i), stream, &err),
                     err);
            rdt_stream_destroy(gpu.driver, stream);
            reused += stream == before;
            before = stream;
        }
        CHECK(!wait_for_all());
        if (simulated) sim.set("REDTUNE_SIM_LATE", "0");
        for (size_t i = 0; i < STREAMS; i++) CHECK(result(i) == (float)(count - 9 * i));
    }
    CHECK(!simulated || reused == ROUNDS * (STREAMS - 1));
    two_launches_close(&two);
    redtune_close(rt);
}

typedef struct turn_of_a_thread {
    rdt_workspace *workspace;
    CUstream stream;
    CUdeviceptr scratch; /* 0: it got none */
} turn_of_a_thread;

static void *take_turn(void *user) {
    static const rdt_traffic nothing;
    turn_of_a_thread *self = user;
    const rdt_call call = {.stream = self->stream, .traffic = &nothing};
    rdt_turn turn;
    bool entered = false;
    if (rdt_context_enter(gpu.context, &entered, NULL)) return NULL;
    if (!rdt_workspace_begin(self->workspace, &call, &turn, NULL)) {
        self->scratch = turn.scratch;
        rdt_workspace_end(self->workspace, &call, &turn, true);
    }
    rdt_context_leave(gpu.context, entered);
    return NULL;
}

/* The per-thread default stream is one handle, and a stream of each thread; other streams are the
 * same in all. */
FACT(threads_have_scratch_of_their_own_on_their_default_stream) {
    const CUstream streams[] = {CU_STREAM_PER_THREAD, gpu.stream};
    rdt_workspace *workspace = NULL;
    CHECK_OK(rdt_workspace_create(gpu.context, 0, NULL, &workspace, &err), err);
    for (size_t i = 0; i < 2; i++) {
        turn_of_a_thread own = {workspace, streams[i], 0}, other = own;
        pthread_t thread;
        take_turn(&own);
        CHECK(!pthread_create(&thread, NULL, take_turn, &other));
        pthread_join(thread, NULL);
        CHECK(own.scratch && other.scratch);
        CHECK((own.scratch == other.scratch) == (i == 1));
    }
    rdt_workspace_destroy(workspace, false);
}

/* The driver's list of the nodes that a captured call follows holds until the stream's next call.
 */
FACT(captured_calls_take_turns_whichever_workspace_they_use) {
    static const rdt_traffic nothing;
    const rdt_call call = {.stream = gpu.stream, .traffic = &nothing};
    rdt_workspace *workspace[2] = {NULL};
    pthread_mutex_t *lock[2];
    rdt_graph *graph = NULL;
    for (int i = 0; i < 2; i++)
        CHECK_OK(rdt_workspace_create(gpu.context, 0, workspace[0], &workspace[i], &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    for (int i = 0; i < 2; i++) {
        rdt_turn turn;
        CHECK_OK(rdt_workspace_begin(workspace[i], &call, &turn, &err), err);
        lock[i] = turn.lock;
        rdt_workspace_end(workspace[i], &call, &turn, true);
    }
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    CHECK(lock[0] && lock[0] == lock[1]);
    rdt_graph_destroy(graph);
    rdt_workspace_destroy(workspace[1], false);
    rdt_workspace_destroy(workspace[0], false);
}

FACT(workspace_of_the_callers_serves_any_plan) {
    redtune *rt = NULL;
    redtune_plan *plans[2] = {NULL};
    redtune_problem problems[2] = {sum_of(COUNT), sum_of(900)};
    rdt_buffer memory = {NULL};
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, redtune_workspace_bytes(), &memory, &err), err);
    CHECK(!gpu.driver->memset_d8_async(memory.address, 0xff, memory.bytes, gpu.stream));
    for (int own = 0; own < 2; own++) {
        redtune_workspace *workspace = NULL;
        void *at = own ? NULL : (void *)(uintptr_t)memory.address;
        CHECK_OK(redtune_workspace_create(rt, at, memory.bytes, gpu.stream, &workspace, &err), err);
        for (int i = 0; i < 2; i++)
            CHECK_OK(redtune_plan_create(rt, &problems[i], &plans[i], &err), err);
        for (int i = 0; i < 20; i++) {
            uint64_t count = i % 2 ? 900 : COUNT - (uint64_t)i;
            const redtune_operands operands = {
                .d_in = {input()}, .d_out = {output(0)}, .count = count, .workspace = workspace};
            CHECK_OK(redtune_plan_run(plans[i % 2], &operands, gpu.stream, &err), err);
            CHECK(result(0) == (float)count);
        }
        for (int i = 0; i < 2; i++) redtune_plan_destroy(plans[i]);
        redtune_workspace_destroy(workspace);
    }
    rdt_buffer_destroy(&memory);
    redtune_close(rt);
}

FACT(workspace_is_refused_where_it_cannot_serve) {
    redtune *rt = NULL, *other = NULL;
    redtune_plan *plan = NULL;
    redtune_workspace *workspace = NULL, *none = NULL;
    redtune_problem problem = sum_of(900);
    size_t bytes = redtune_workspace_bytes();
    char *memory = input();
    CHECK_OK(open_and_plan(&rt, &problem, &plan), err);
    CHECK_OK(open_usual(&other), err);
    CHECK_FAILS(redtune_workspace_create(rt, memory, bytes - 1, NULL, &none, &err), REDTUNE_INVALID,
                err, "redtune_workspace_bytes");
    CHECK_FAILS(redtune_workspace_create(rt, memory + 4, bytes, NULL, &none, &err), REDTUNE_INVALID,
                err, "aligned to 256");
    CHECK_FAILS(redtune_workspace_create(NULL, memory, bytes, NULL, &none, &err), REDTUNE_INVALID,
                err, "rt is NULL");
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_FAILS(redtune_workspace_create(rt, NULL, 0, gpu.stream, &none, &err), REDTUNE_INVALID,
                err, "while its stream is captured");
    rdt_graph_abandon(gpu.driver, gpu.stream);
    CHECK(!none);
    CHECK_OK(redtune_workspace_create(other, NULL, 0, gpu.stream, &workspace, &err), err);
    const redtune_operands operands = {
        .d_in = {input()}, .d_out = {output(0)}, .count = 9, .workspace = workspace};
    CHECK_FAILS(redtune_plan_run(plan, &operands, NULL, &err), REDTUNE_INVALID, err,
                "another redtune");
    redtune_workspace_destroy(workspace);
    redtune_plan_destroy(plan);
    redtune_close(other);
    redtune_close(rt);
}

/* ---- what is left ---------------------------------------------------------------------------- */

/* Live objects that redtune makes: device memory and modules, streams, contexts held. */
typedef struct census {
    size_t memory_and_modules;
    uint64_t streams, contexts;
} census;

static census count_objects(const simulator *sim) {
    census now = {sim->check_leaks(), sim->calls("cuStreamCreate") - sim->calls("cuStreamDestroy"),
                  sim->calls("cuDevicePrimaryCtxRetain") - sim->calls("cuDevicePrimaryCtxRelease")};
    sim->clear_findings();
    return now;
}

static void use_and_close(const char *device) {
    redtune_problem problems[] = {sum_of(10), sum_of(5000), sum_of(COUNT)};
    const redtune_options options = {.database = "/nowhere/at/all.db", .device = device};
    redtune *rt = NULL;
    redtune_workspace *workspace = NULL;
    CUstream streams[4];
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    CHECK_OK(redtune_prepare(rt, problems, 3, &err), err);
    CHECK_OK(redtune_workspace_create(rt, NULL, 0, gpu.stream, &workspace, &err), err);
    for (int i = 0; i < 4; i++) {
        CHECK_OK(rdt_stream_create(gpu.driver, &streams[i], &err), err);
        CHECK_OK(redtune_reduce(rt, &problems[i % 3], input(), output(0), streams[i], &err), err);
        CHECK_OK(rdt_stream_wait(gpu.driver, streams[i], &err), err);
        rdt_stream_destroy(gpu.driver, streams[i]);
    }
    redtune_workspace_destroy(workspace);
    redtune_close(rt);
}

FACT(close_leaves_nothing) {
    simulator sim = {NULL};
    bool simulated = simulator_find(&sim);
    use_and_close(NULL); /* fills the driver's own pools, on a GPU */
    size_t before_bytes = free_bytes();
    census before = simulated ? count_objects(&sim) : (census){0}, after = before;
    for (int i = 0; i < 4; i++) {
        CUcontext current = NULL, left = NULL;
        gpu.driver->ctx_get_current(&current);
        use_and_close(i % 2 ? "0" : NULL);
        gpu.driver->ctx_get_current(&left);
        CHECK(left == current);
    }
    if (simulated) after = count_objects(&sim);
    CHECK_INT(after.memory_and_modules, before.memory_and_modules);
    CHECK_INT(after.streams, before.streams);
    CHECK_INT(after.contexts, before.contexts);
    CHECK(free_bytes() >= before_bytes);
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
