/* Facts about failing: every call of the driver and of NVRTC, and every allocation, made to fail in
 * turn while redtune opens, plans, runs, captures and closes on the simulated GPU. What fails comes
 * back as a status with a message, nothing is left behind, and afterwards everything works.
 *
 * usage: test_failures [--all] [FACT...]; --all: every error at every call, every allocation of a
 * warm start, each seventh of a cold one. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <unistd.h>
#include "check.h"
#include "folder.h"
#include "faults.h"
#include "round.h"

static bool thorough; /* --all */
static char folder[64];
static redtune_error err;

/* ---- the driver ------------------------------------------------------------------------------ */

/* Entry points whose failure redtune may pass over, and why. */
static const struct {
    const char *entry, *reason;
    bool leaves; /* something stays behind, since ending it is what failed */
} passed_over[] = {
    {"cuModuleUnload", "it ends something", true},
    {"cuMemFree", "it ends something", true},
    {"cuStreamDestroy", "it ends something", false}, /* counted by its calls */
    {"cuDevicePrimaryCtxRelease", "it ends something", false},
    {"cuCtxPopCurrent", "it ends something", true},
    {"cuUserObjectRelease", "it ends something", true},
    {"cuMemFreeHost", "it ends something", true},
    {"cuEventDestroy", "it ends something", true},
    {"cuCtxGetCurrent", "pushing the context serves as well", false},
    {"cuThreadExchangeStreamCaptureMode", "the calls behind it tell", false},
    {"cuStreamGetCaptureInfo", "after a launch, it only tells what may overlap", false},
    {"cuCtxPushCurrent", "before what cannot fail, such as closing", true},
    {"cuStreamSynchronize", "before something is ended", false},
    {"cuModuleLoadData", "a kernel of the cache that does not load is made anew", false},
    {"cuModuleGetFunction", "likewise", false},
    {"cuFuncSetAttribute", "likewise", false},
};

static bool may_pass_over(const char *entry, bool *leaves) {
    for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; i++)
        if (!strcmp(passed_over[i].entry, entry)) {
            *leaves = passed_over[i].leaves;
            return true;
        }
    return false;
}

static const char *const entries[] = {
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease",
    "cuCtxGetCurrent",
    "cuCtxPushCurrent",
    "cuCtxPopCurrent",
    "cuCtxGetDevice",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemsetD8Async",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuStreamCreate",
    "cuStreamDestroy",
    "cuStreamSynchronize",
    "cuStreamIsCapturing",
    "cuStreamGetCaptureInfo",
    "cuStreamGetId",
    "cuThreadExchangeStreamCaptureMode",
    "cuUserObjectCreate",
    "cuUserObjectRelease",
    "cuGraphRetainUserObject",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemGetInfo",
    "cuMemcpyHtoDAsync",
    "cuMemcpyDtoHAsync",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuEventDestroy",
};
static const char *const errors[] = {"OUT_OF_MEMORY", "INVALID_VALUE", "NOT_SUPPORTED",
                                     "INVALID_CONTEXT", "UNKNOWN"};
enum {
    ENTRIES = sizeof entries / sizeof *entries,
    ERRORS = sizeof errors / sizeof *errors,
};

/* How often redtune calls the entry in a round. */
static uint64_t count_calls(const char *entry, const char *device) {
    round_fault.entry = entry;
    round_fault.left = round_fault.calls = 0;
    round_go(device);
    round_fault.entry = NULL;
    return round_fault.calls;
}

/* Fails the call; whether that went as it must. */
static bool fail_call(const char *entry, uint64_t number, const char *error, const char *device) {
    bool leaves = false, passable = may_pass_over(entry, &leaves);
    census before = round_census();
    round_fault.entry = entry;
    round_fault.error = error;
    round_fault.left = number;
    round_fault.hit = false;
    outcome out = round_go(device);
    round_fault.entry = NULL;
    census after = round_census();
    bool told = out.status ? out.told : passable;
    bool clean = leaves || (after.leaks == before.leaks && after.current == before.current);
    bool even = leaves || (after.streams == before.streams && after.contexts == before.contexts);
    if (!even && (!strcmp(entry, "cuStreamCreate") || !strcmp(entry, "cuDevicePrimaryCtxRetain")))
        even = true; /* the call that failed was counted, and made nothing */
    outcome again = round_go(device);
    bool works = !again.status && again.right;
    if (round_fault.hit && told && clean && even && out.right && works) return true;
    fprintf(
        stderr, "%s call %llu, %s, device %s: %s%s%s%s%s%s\n", entry, (unsigned long long)number,
        error, device ? device : "(current)", round_fault.hit ? "" : "never reached; ",
        told ? "" : "not told; ", clean ? "" : "something is left; ", even ? "" : "unbalanced; ",
        out.right ? "" : "a wrong result or a lost capture; ", works ? "" : "broken afterwards");
    if (out.status) fprintf(stderr, "  %.40s\n", out.step);
    return false;
}

static uint64_t fail_entry(const char *entry, const char *device, uint64_t *failed) {
    uint64_t calls = count_calls(entry, device), tried = 0;
    for (uint64_t number = 1; number <= calls; number += device && !thorough ? 5 : 1)
        for (int e = 0; e < ERRORS; e++) {
            if (!thorough && e && (number > 1 || device)) break;
            tried++;
            *failed += !fail_call(entry, number, errors[(number + (uint64_t)e) % ERRORS], device);
        }
    return tried;
}

FACT(every_call_of_the_driver_may_fail) {
    uint64_t tried = 0, failed = 0, used = 0;
    static const char *const devices[] = {NULL, "0"};
    outcome sound = round_go(NULL);
    CHECK(!sound.status && sound.right);
    for (size_t i = 0; i < ENTRIES; i++) {
        uint64_t before = tried;
        for (size_t d = 0; d < 2; d++) tried += fail_entry(entries[i], devices[d], &failed);
        used += tried > before;
        if (tried == before) printf("not called: %s\n", entries[i]);
    }
    printf("%llu failures at %llu entry points of %d\n", (unsigned long long)tried,
           (unsigned long long)used, ENTRIES);
    CHECK_INT(failed, 0);
    CHECK(used >= 30);
}

/* ---- NVRTC ----------------------------------------------------------------------------------- */

static void use_cache(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    folder_remove(path);
    setenv("XDG_CACHE_HOME", path, 1);
}

/* tests/fixtures/faulty.c hands each call on to NVRTC but the one that is to fail, and kernels that
 * it has seen before. */
static void use_faulty_nvrtc(void) {
    const char *chosen = getenv("REDTUNE_NVRTC");
    if (chosen) setenv("RDT_TEST_NVRTC_REAL", chosen, 1);
    setenv("REDTUNE_NVRTC", RDT_TEST_FAULTY_FILE, 1);
}

/* A GPU that does not say that it is simulated is given a cubin first, and PTX where it refuses
 * that. */
static void use_gpu_of_unknown_kind(const char *simulated, bool unknown) {
    setenv("TEST_GPUS", "H", 1);
    setenv("REDTUNE_CUDA_DRIVER", unknown ? RDT_TEST_GPUS_FILE : simulated, 1);
}

FACT(every_call_of_nvrtc_may_fail) {
    static const char *const calls[] = {
        "nvrtcVersion",
        "nvrtcGetNumSupportedArchs",
        "nvrtcGetSupportedArchs",
        "nvrtcCreateProgram",
        "nvrtcCompileProgram",
        "nvrtcGetProgramLogSize",
        "nvrtcGetProgramLog",
        "nvrtcGetCUBINSize",
        "nvrtcGetCUBIN",
        "nvrtcGetPTXSize",
        "nvrtcGetPTX",
        "nvrtcDestroyProgram",
        "nvrtcGetErrorString",
    };
    static const char *const codes[] = {"1", "2", "4", "7", "11"};
    char simulated[4096];
    snprintf(simulated, sizeof simulated, "%s", getenv("REDTUNE_CUDA_DRIVER"));
    uint64_t failed = 0, tried = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        use_gpu_of_unknown_kind(simulated, strstr(calls[i], "CUBIN"));
        for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
            bool answers = strstr(calls[i], "Log") || strstr(calls[i], "ErrorString");
            bool ends = !strcmp(calls[i], "nvrtcDestroyProgram") || answers;
            census before = round_census();
            use_cache("nvrtc");
            setenv("RDT_TEST_NVRTC_FAILS", calls[i], 1);
            setenv("RDT_TEST_NVRTC_CODE", codes[c], 1);
            outcome out = round_go(NULL);
            unsetenv("RDT_TEST_NVRTC_FAILS");
            census after = round_census();
            tried++;
            bool told = out.status ? out.told : ends;
            if (told && out.right && after.leaks == before.leaks && after.streams == before.streams)
                continue;
            failed++;
            fprintf(stderr, "%s gives %s: %.40s: %s\n", calls[i], codes[c], out.step,
                    told ? "something is left" : "not told");
        }
    }
    use_gpu_of_unknown_kind(simulated, false);
    use_cache("nvrtc");
    outcome sound = round_go(NULL);
    use_cache("usual");
    printf("%llu failures of NVRTC\n", (unsigned long long)tried);
    CHECK_INT(failed, 0);
    CHECK(!sound.status && sound.right);
}

/* ---- allocations ----------------------------------------------------------------------------- */

/* Every nth allocation fails, and stays the only one. *rounds: how many there were. */
static uint64_t fail_allocations(bool cold, long step, uint64_t *rounds) {
    uint64_t failed = 0;
    *rounds = 0;
    for (long n = 1;; n += step) {
        if (cold) use_cache("cold");
        census before = round_census();
        faults_begin(n);
        outcome out = round_go(NULL);
        bool hit = faults_end();
        census after = round_census();
        if (!hit) break;
        ++*rounds;
        bool good = (!out.status || out.told) && out.right && after.leaks == before.leaks &&
                    after.streams == before.streams && after.current == before.current;
        if (good) continue;
        failed++;
        fprintf(stderr, "allocation %ld: %s: %.40s, %zu objects left, streams %lld\n", n,
                redtune_status_name(out.status), out.step, after.leaks - before.leaks,
                (long long)(after.streams - before.streams));
    }
    return failed;
}

FACT(every_allocation_of_a_warm_start_may_fail) {
    uint64_t rounds = 0;
    use_cache("usual");
    round_go(NULL);
    uint64_t failed = fail_allocations(false, thorough ? 1 : 4, &rounds);
    printf("%llu allocations failed, warm\n", (unsigned long long)rounds);
    CHECK_INT(failed, 0);
    CHECK(rounds > 50);
    outcome sound = round_go(NULL);
    CHECK(!sound.status && sound.right);
}

/* Starting Lua takes thousands of allocations, so that by default only some of them fail. */
FACT(allocations_of_a_cold_start_may_fail) {
    uint64_t rounds = 0, failed = fail_allocations(true, thorough ? 7 : 397, &rounds);
    printf("%llu allocations failed, cold\n", (unsigned long long)rounds);
    use_cache("usual");
    CHECK_INT(failed, 0);
    CHECK(rounds > 10);
}

/* ---- errors that stay ------------------------------------------------------------------------ */

/* Last: the context is lost with it. */
FACT(broken_context_is_told_and_can_be_closed) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, ROUND_COUNT);
    redtune *rt = NULL, *other = NULL;
    redtune_plan *plan = NULL, *more = NULL;
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_OK(adder_run(&round_ones, plan, ROUND_COUNT, &err), err);
    /* Beyond the input: an illegal address, which the driver tells at the next chance. */
    redtune_plan_reduce(plan, (void *)(uintptr_t)64, ROUND_COUNT,
                        (void *)(uintptr_t)round_ones.result.address, round_ones.gpu.stream, &err);
    round_ones.gpu.driver->stream_synchronize(round_ones.gpu.stream);
    CHECK_FAILS(adder_run(&round_ones, plan, ROUND_COUNT, &err), REDTUNE_DEVICE, err,
                "ILLEGAL_ADDRESS");
    CHECK(strstr(err.message, "REDTUNE_CHECK=1"));
    CHECK_INT(err.code, CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_FAILS(redtune_plan_create(rt, &problem, &more, &err), REDTUNE_DEVICE, err,
                "ILLEGAL_ADDRESS");
    CHECK_FAILS(redtune_open(&options, &other, &err), REDTUNE_DEVICE, err, "ILLEGAL_ADDRESS");
    CHECK(!more && !other);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    round_sim.clear_findings();
}

/* ---- the run --------------------------------------------------------------------------------- */

int main(int argc, char **argv) {
    thorough = argc > 1 && !strcmp(argv[1], "--all");
    snprintf(folder, sizeof folder, "/tmp/redtune-test-XXXXXX");
    if (!mkdtemp(folder)) return EXIT_FAILURE;
    use_cache("usual");
    use_faulty_nvrtc();
    redtune_status status = adder_open(&round_ones, ROUND_COUNT, &err);
    if (status || !simulator_find(&round_sim)) {
        fprintf(stderr, "no simulated GPU: %s\n", status ? err.message : "a real one");
        return 77;
    }
    int rc = check_run(thorough ? argc - 1 : argc, thorough ? argv + 1 : argv);
    folder_remove(folder);
    return rc;
}
