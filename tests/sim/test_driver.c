/* The driver around the interpreter: contexts, memory, modules, events, faults, counters. */
#include "world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

FACT(device_says_that_it_is_simulated) {
    char name[64] = "";
    int major = 0, minor = 0, warp = 0, sms = 0;
    bench_start((const char *const[]){"CAPABILITY=8.6", "SMS=6", NULL});
    CHECK(cuDeviceGetName(name, sizeof name, 0) == CUDA_SUCCESS);
    CHECK_CONTAINS(name, "simulated");
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
    cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
    cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
    CHECK(major == 8 && minor == 6 && warp == 32 && sms == 6);
}

FACT(nothing_works_before_init_or_without_context) {
    CUdeviceptr at = 0;
    int count = 0;
    redtune_sim_reset();
    CHECK_EQUAL(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK_EQUAL(cuMemAlloc_v2(&at, 16), CUDA_ERROR_INVALID_CONTEXT);
    redtune_sim_set("REDTUNE_SIM_DEVICES", "0");
    CHECK_EQUAL(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

FACT(addresses_of_entry_points_follow_the_version) {
    CUdriverProcAddressQueryResult status;
    void *old = NULL, *new = NULL, *none = NULL;
    CHECK(cuGetProcAddress_v2("cuStreamGetCaptureInfo", &old, 11030, 0, &status) == CUDA_SUCCESS);
    CHECK(cuGetProcAddress_v2("cuStreamGetCaptureInfo", &new, 13000, 0, &status) == CUDA_SUCCESS);
    CHECK(old && new &&old != new);
    CHECK(cuGetProcAddress_v2("cuStreamGetCaptureInfo", &none, 10000, 0, &status) == CUDA_SUCCESS);
    CHECK_EQUAL(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK(cuGetProcAddress_v2("cuNothing", &none, 13000, 0, &status) == CUDA_SUCCESS);
    CHECK_EQUAL(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CHECK(!none);
}

FACT(contexts_are_pushed_and_popped) {
    CUcontext primary = NULL, own = NULL, top = NULL;
    unsigned int flags = 0;
    int active = 0;
    world_start(NULL);
    CHECK(cuCtxGetCurrent(&primary) == CUDA_SUCCESS && primary);
    CHECK(cuCtxCreate_v4(&own, NULL, 0, 0) == CUDA_SUCCESS);
    CHECK(cuCtxGetCurrent(&top) == CUDA_SUCCESS && top == own);
    CHECK(cuCtxPopCurrent_v2(&top) == CUDA_SUCCESS && top == own);
    CHECK(cuCtxGetCurrent(&top) == CUDA_SUCCESS && top == primary);
    CHECK(cuCtxDestroy_v2(own) == CUDA_SUCCESS);
    CHECK_EQUAL(cuCtxPushCurrent_v2(own), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active) == CUDA_SUCCESS && active);
}

FACT(memory_is_counted_and_described) {
    size_t before = 0, after = 0, total = 0;
    CUmemorytype type = 0;
    int ordinal = -1;
    void *host = NULL;
    struct world world = world_start((const char *const[]){"MEMORY=1M", NULL});
    CUdeviceptr large = 0;
    CHECK(cuMemGetInfo_v2(&before, &total) == CUDA_SUCCESS && total == 1 << 20);
    CHECK(cuMemAlloc_v2(&large, 1000) == CUDA_SUCCESS);
    CHECK(cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS && before - after == 1000);
    CHECK_EQUAL(cuMemAlloc_v2(&large, 1 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, world.at + 5) ==
          CUDA_SUCCESS);
    CHECK_EQUAL(type, CU_MEMORYTYPE_DEVICE);
    CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, world.at) ==
          CUDA_SUCCESS);
    CHECK_EQUAL(ordinal, 0);
    CHECK_EQUAL(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      (CUdeviceptr)(uintptr_t)&type),
                CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuMemFree_v2(world.at + 4), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemHostAlloc(&host, 64, 0) == CUDA_SUCCESS);
    memset(host, 7, 64);
    CHECK(cuMemFreeHost(host) == CUDA_SUCCESS);
}

FACT(copies_stay_inside_allocations) {
    char bytes[256] = {0};
    struct world world = world_start(NULL);
    CHECK_EQUAL(cuMemcpyHtoD_v2(world.at, bytes, 129), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuMemcpyDtoH_v2(bytes, world.at + 100, 29), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuMemsetD8_v2(world.at + 128, 1, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(redtune_sim_findings(), 3);
    CHECK(cuMemcpyHtoD_v2(world.at, bytes, 128) == CUDA_SUCCESS);
}

FACT(copies_carry_what_was_written) {
    struct world world = world_start(NULL);
    CUdeviceptr from = bench_buffer(8, NULL), to = bench_buffer(8, NULL);
    CHECK(cuMemsetD8_v2(from, 9, 4) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoD_v2(to, from, 8) == CUDA_SUCCESS);
    world.at = to;
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS);
    CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
    world.at = to + 4;
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS);
    CHECK_EQUAL(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    CHECK_EQUAL(bench_finding(NULL), REDTUNE_SIM_UNINITIALISED);
}

FACT(modules_have_functions_and_variables) {
    struct world world = world_start(NULL);
    CUfunction none = NULL;
    CUdeviceptr table = 0;
    size_t bytes = 0;
    unsigned char got[16];
    int value = 0;
    CHECK_EQUAL(cuModuleGetFunction(&none, world.module, "nothing"), CUDA_ERROR_NOT_FOUND);
    CHECK(cuModuleGetGlobal_v2(&table, &bytes, world.module, "table") == CUDA_SUCCESS);
    CHECK(bytes == 16 && cuMemcpyDtoH_v2(got, table, 16) == CUDA_SUCCESS);
    CHECK(got[0] == 1 && got[2] == 3 && got[3] == 0);
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, world.limited) ==
          CUDA_SUCCESS);
    CHECK_EQUAL(value, 64);
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, world.fill, 256, 0) == CUDA_SUCCESS);
    CHECK_EQUAL(value, 8);
    CHECK(cuModuleUnload(world.module) == CUDA_SUCCESS);
    CHECK_EQUAL(cuModuleUnload(world.module), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(world_add_one(&world, NULL), CUDA_ERROR_INVALID_HANDLE);
}

FACT(machine_code_is_refused) {
    CUmodule module;
    world_start(NULL);
    CHECK_EQUAL(cuModuleLoadData(&module, "\177ELF\2\1\1"), CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_EQUAL(cuModuleLoadData(&module, "not PTX"), CUDA_ERROR_INVALID_PTX);
}

FACT(launches_have_to_fit) {
    struct world world = world_start(NULL);
    CHECK_EQUAL(cuLaunchKernel(world.limited, 1, 1, 1, 65, 1, 1, 0, NULL, NULL, NULL),
                CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuLaunchKernel(world.limited, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuLaunchKernel(world.limited, 1, 1, 1, 1, 1, 1, 49153, NULL, NULL, NULL),
                CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLaunchKernel(world.limited, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
}

FACT(errors_are_seen_late_and_stay) {
    CUdeviceptr at;
    struct world world = world_start(NULL);
    CHECK(cuLaunchKernel(world.fault, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS); /* given, and never run */
    CHECK_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(cuMemAlloc_v2(&at, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(world_add_one(&world, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(cuDevicePrimaryCtxReset_v2(0) == CUDA_SUCCESS);
    world = world_start(NULL);
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS);
    CHECK_EQUAL(world_first_word(&world), 1);
}

static void count_up(void *counter) { ++*(int *)counter; }

static void call_the_driver(void *rc) { *(int *)rc = (int)cuCtxSynchronize(); }

FACT(host_functions_run_in_order_and_may_not_call) {
    int calls = 0, rc = 0;
    struct world world = world_start(NULL);
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS);
    CHECK(cuLaunchHostFunc(NULL, count_up, &calls) == CUDA_SUCCESS);
    CHECK_EQUAL(calls, 1);
    CHECK(cuLaunchHostFunc(NULL, call_the_driver, &rc) == CUDA_SUCCESS);
    CHECK_EQUAL(rc, CUDA_ERROR_NOT_PERMITTED);
}

FACT(events_measure_the_modelled_time) {
    CUevent begin, end, never;
    float once = 0, twice = 0;
    struct world world = world_start(NULL);
    cuEventCreate(&begin, 0);
    cuEventCreate(&end, 0);
    cuEventCreate(&never, 0);
    for (int i = 1; i <= 2; i++) {
        cuEventRecord(begin, NULL);
        for (int k = 0; k < i; k++) world_add_one(&world, NULL);
        cuEventRecord(end, NULL);
        CHECK(cuEventSynchronize(end) == CUDA_SUCCESS);
        CHECK(cuEventElapsedTime(i == 1 ? &once : &twice, begin, end) == CUDA_SUCCESS);
    }
    CHECK(once > 0.001f && once < 0.1f);
    CHECK(twice > once * 1.9f && twice < once * 2.1f);
    CHECK_EQUAL(cuEventElapsedTime(&once, begin, never), CUDA_ERROR_INVALID_HANDLE);
}

FACT(chosen_calls_fail) {
    CUdeviceptr at;
    world_start((const char *const[]){"FAIL=cuMemAlloc:2:OUT_OF_MEMORY,cuMemsetD32:3:1:on", NULL});
    CHECK_EQUAL(cuMemAlloc_v2(&at, 16), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cuMemAlloc_v2(&at, 16) == CUDA_SUCCESS);
    CHECK(cuMemsetD32_v2(at, 0, 1) == CUDA_SUCCESS);
    CHECK_EQUAL(cuMemsetD32_v2(at, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuMemsetD32_v2(at, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(redtune_sim_calls("cuMemAlloc"), 3);
    CHECK_EQUAL(redtune_sim_calls("cuMemAlloc_v2"), 3);
}

FACT(chosen_call_poisons_the_context) {
    CUdeviceptr at;
    world_start((const char *const[]){"FAIL=cuMemAlloc:2:ILLEGAL_ADDRESS:sticky", NULL});
    CHECK_EQUAL(cuMemAlloc_v2(&at, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

FACT(large_allocations_fail_on_demand) {
    CUdeviceptr at;
    world_start((const char *const[]){"ALLOC_MAX=4K", NULL});
    CHECK(cuMemAlloc_v2(&at, 4096) == CUDA_SUCCESS);
    CHECK_EQUAL(cuMemAlloc_v2(&at, 4097), CUDA_ERROR_OUT_OF_MEMORY);
}

FACT(chosen_launches_trap_time_out_or_lie) {
    struct world world = world_start((const char *const[]){"LAUNCH=2:wrong,4:trap", NULL});
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS);
    CHECK_EQUAL(world_first_word(&world), 1);
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS);
    CHECK(world_first_word(&world) != 2);
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS &&
          world_add_one(&world, NULL) == CUDA_SUCCESS);
    CHECK_EQUAL(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    world = world_start((const char *const[]){"LAUNCH=1:timeout", NULL});
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS);
    CHECK_EQUAL(cuStreamQuery(NULL), CUDA_ERROR_LAUNCH_TIMEOUT);
}

static void *wait_for_device(void *context) {
    cuCtxSetCurrent(context);
    return (void *)(uintptr_t)cuCtxSynchronize();
}

FACT(chosen_launch_hangs_until_the_reset) {
    CUcontext context;
    pthread_t thread;
    struct world world = world_start((const char *const[]){"LAUNCH=1:hang", NULL});
    cuCtxGetCurrent(&context);
    CHECK(world_add_one(&world, NULL) == CUDA_SUCCESS);
    CHECK_EQUAL(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    CHECK(pthread_create(&thread, NULL, wait_for_device, context) == 0);
    usleep(30000);
    CHECK_EQUAL(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    redtune_sim_reset();
    CHECK(pthread_join(thread, NULL) == 0);
}

FACT(settings_that_make_no_sense_are_refused) {
    redtune_sim_reset();
    CHECK(!redtune_sim_set("REDTUNE_SIM_NOTHING", "1"));
    CHECK(!redtune_sim_set("REDTUNE_SIM_SEED", "x"));
    CHECK(!redtune_sim_set("REDTUNE_SIM_CHECKS", "everything"));
    CHECK(!redtune_sim_set("REDTUNE_SIM_CAPABILITY", "3.5"));
    CHECK(!redtune_sim_set("REDTUNE_SIM_FAIL", "cuMemAlloc"));
    CHECK(!redtune_sim_set("REDTUNE_SIM_LAUNCH", "1:explode"));
    CHECK(redtune_sim_set("REDTUNE_SIM_MEMORY", "2G"));
    CHECK(redtune_sim_set("REDTUNE_SIM_MEMORY", NULL));
    CHECK(!redtune_sim_set("REDTUNE_SIM_CACHE", "4095"));
    CHECK(!redtune_sim_set("REDTUNE_SIM_CACHE", "2G"));
}

FACT(cache_is_as_large_as_set) {
    int bytes = 0;
    CUdevice device;
    redtune_sim_reset();
    CHECK(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(redtune_sim_set("REDTUNE_SIM_CACHE", "64K"));
    CHECK(cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device) == CUDA_SUCCESS);
    CHECK_EQUAL(bytes, 64 << 10);
    CHECK(redtune_sim_set("REDTUNE_SIM_CACHE", NULL));
    CHECK(cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device) == CUDA_SUCCESS);
    CHECK_EQUAL(bytes, 2 << 20);
}

/* Whichever way a warp goes, what it has loaded is waited for once. */
FACT(loads_are_waited_for_on_every_path) {
    unsigned int zeros[32] = {0};
    for (int thread = 0; thread <= 77; thread += 77) {
        struct redtune_sim_counters c;
        char body[256];
        bench_start(NULL);
        CUdeviceptr at = bench_buffer(sizeof zeros, zeros);
        snprintf(body, sizeof body,
                 "ld.global.u32 %%r1, [%%d0]; setp.eq.u32 %%p0, %%r0, %d; @%%p0 bra use;"
                 "bra behind; use: add.u32 %%r2, %%r1, 1; behind: add.u32 %%r3, %%r1, 2;",
                 thread);
        CHECK(bench_body(body, 1, 1, at, 0) == CUDA_SUCCESS);
        redtune_sim_counters(&c);
        CHECK_EQUAL(c.memory_waits, 1);
    }
}

FACT(counters_see_coalescing_and_conflicts) {
    struct redtune_sim_counters c;
    unsigned int zeros[1024] = {0};
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(sizeof zeros, zeros);
    CHECK(bench_body("mul.wide.u32 %d2, %r0, 4; add.s64 %d2, %d2, %d0; ld.global.u32 %r1, [%d2];",
                     1, 32, at, 0) == CUDA_SUCCESS);
    redtune_sim_counters(&c);
    CHECK(c.global_loads == 1 && c.global_transactions == 4 && c.global_bytes == 128);
    CHECK(bench_body("mul.wide.u32 %d2, %r0, 64; add.s64 %d2, %d2, %d0; ld.global.u32 %r1, [%d2];",
                     1, 32, at, 0) == CUDA_SUCCESS);
    redtune_sim_counters(&c);
    CHECK(c.global_loads == 1 && c.global_transactions == 32);
    for (int stride = 1; stride <= 2; stride++) {
        char body[256];
        snprintf(body, sizeof body,
                 "shl.b32 %%r1, %%r0, %d; mov.u32 %%r2, s;"
                 "add.u32 %%r1, %%r1, %%r2; st.shared.u32 [%%r1], %%r0; bar.sync 0;",
                 1 + stride);
        CHECK(bench_body(body, 1, 32, 0, 0) == CUDA_SUCCESS);
        redtune_sim_counters(&c);
        CHECK(c.shared_requests == 1 && (int)c.shared_wavefronts == stride && c.barriers == 1);
    }
}

static void *use_from_a_thread(void *argument) {
    struct world *world = argument;
    CUstream stream;
    CUcontext context;
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxPushCurrent_v2(context);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 50; i++) world_add_one(world, stream);
    CUresult rc = cuStreamSynchronize(stream);
    cuStreamDestroy_v2(stream);
    cuDevicePrimaryCtxRelease_v2(0);
    return (void *)(uintptr_t)rc;
}

FACT(threads_share_the_device) {
    pthread_t threads[4];
    struct world world = world_start(NULL);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, use_from_a_thread, &world);
    for (int i = 0; i < 4; i++) {
        void *rc = NULL;
        pthread_join(threads[i], &rc);
        CHECK(rc == NULL);
    }
    CHECK_EQUAL(world_first_word(&world), 200);
}

static void *ask_until_told(void *user) {
    int count;
    while (!atomic_load((atomic_bool *)user)) cuDeviceGetCount(&count);
    return NULL;
}

/* In the child of a fork, wherever another thread of the parent's was. */
FACT(driver_does_not_survive_a_fork) {
    enum { FORKS = 100 };
    atomic_bool is_told = false;
    pthread_t thread;
    bench_start(NULL);
    pthread_create(&thread, NULL, ask_until_told, &is_told);
    for (int i = 0; i < FORKS; i++) {
        int count, state = -1;
        const pid_t child = fork();
        if (!child) {
            alarm(60);
            const bool is_told_so = cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                                    cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
            _exit(is_told_so ? 0 : 1);
        }
        CHECK(child > 0 && waitpid(child, &state, 0) == child);
        CHECK_EQUAL(state, 0);
    }
    atomic_store(&is_told, true);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    int rc = fact_run(argc, argv);
    redtune_sim_reset();
    return rc;
}
