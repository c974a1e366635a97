/* Nvml: what a GPU is like while it is timed. */
#define _POSIX_C_SOURCE 199309L
#include "gpu/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/library.h"

/* NVML's interface, as far as it is used (nvml.h of the driver's development package). */
typedef struct nvmlDevice *nvml_device;
typedef struct process_info {
    unsigned pid;
    unsigned long long memory_bytes;
    unsigned gpu_instance, compute_instance;
} process_info;
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };
enum { PROCESSES_MAX = 64 };
static const double clocks_ns = 1e8, processes_ns = 2e9; /* how long an answer is kept */

typedef struct entries {
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *bus_id, nvml_device *device);
    int (*clock)(nvml_device device, int type, unsigned *mhz);
    int (*temperature)(nvml_device device, int sensor, unsigned *celsius);
    int (*throttle)(nvml_device device, unsigned long long *reasons);
    int (*processes)(nvml_device device, unsigned *count, process_info *infos);
} entries;

#define ENTRY(member, name, is_optional)                                                           \
    { name, offsetof(entries, member), is_optional }
static const rdt_library_symbol symbols[] = {
    ENTRY(init, "nvmlInit_v2", false),
    ENTRY(shutdown, "nvmlShutdown", false),
    ENTRY(find, "nvmlDeviceGetHandleByPciBusId_v2", false),
    ENTRY(clock, "nvmlDeviceGetClockInfo", true),
    ENTRY(temperature, "nvmlDeviceGetTemperature", true),
    ENTRY(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons", true),
    ENTRY(processes, "nvmlDeviceGetComputeRunningProcesses_v3", true),
};

static const char *const names[] = {"libnvidia-ml.so.1", NULL};
static const rdt_library_search search = {
    .subject = "NVML",
    .variable = "REDTUNE_NVML",
    .names = names,
    .remedy = "it comes with NVIDIA's driver",
};

struct rdt_nvml {
    rdt_library *library;
    entries call;
    bool initialised;
    nvml_device device;
    rdt_conditions last;
    double clocks_at_ns, processes_at_ns; /* when they were asked for; 0: never */
};

/* As NVML names a device: "00000000:41:00.0". */
static bool describe_bus(const rdt_context *context, char out[32]) {
    static const CUdevice_attribute attributes[] = {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
                                                    CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
                                                    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
    int value[3] = {0};
    for (int i = 0; i < 3; i++)
        if (context->driver->device_get_attribute(&value[i], attributes[i], context->device))
            return false;
    snprintf(out, 32, "%08X:%02X:%02X.0", (unsigned)value[0], (unsigned)value[1] & 0xff,
             (unsigned)value[2] & 0xff);
    return true;
}

rdt_nvml *rdt_nvml_open(const rdt_context *context) {
    char bus[32];
    redtune_error ignored;
    rdt_nvml *nvml = describe_bus(context, bus) ? calloc(1, sizeof *nvml) : NULL;
    if (!nvml) return NULL;
    bool found = !rdt_library_open(&search, &nvml->library, &ignored) &&
                 !rdt_library_bind(nvml->library, symbols, sizeof symbols / sizeof *symbols,
                                   &nvml->call, &ignored);
    nvml->initialised = found && !nvml->call.init();
    if (nvml->initialised && !nvml->call.find(bus, &nvml->device)) return nvml;
    rdt_nvml_close(nvml);
    return NULL;
}

void rdt_nvml_close(rdt_nvml *nvml) {
    if (!nvml) return;
    if (nvml->initialised) nvml->call.shutdown();
    rdt_library_close(nvml->library);
    free(nvml);
}

uint64_t rdt_nvml_throttle(rdt_nvml *nvml) {
    unsigned long long reasons = 0;
    if (!nvml || !nvml->call.throttle || nvml->call.throttle(nvml->device, &reasons)) return 0;
    return reasons;
}

static int clock_of(const rdt_nvml *nvml, int type) {
    unsigned mhz = 0;
    if (!nvml->call.clock || nvml->call.clock(nvml->device, type, &mhz)) return 0;
    return (int)mhz;
}

static int temperature_of(const rdt_nvml *nvml) {
    unsigned celsius = 0;
    if (!nvml->call.temperature ||
        nvml->call.temperature(nvml->device, NVML_TEMPERATURE_GPU, &celsius))
        return 0;
    return (int)celsius;
}

/* Within a container processes have other numbers than NVML gives: where this one is not among
 * them, nobody can be told from it. */
static int count_others(const rdt_nvml *nvml) {
    process_info infos[PROCESSES_MAX];
    unsigned count = PROCESSES_MAX;
    const unsigned self = (unsigned)getpid(), parent = (unsigned)getppid();
    bool is_listed = false;
    int others = 0;
    if (!nvml->call.processes || nvml->call.processes(nvml->device, &count, infos)) return 0;
    for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++) {
        is_listed = is_listed || infos[i].pid == self;
        others += infos[i].pid != self && infos[i].pid != parent;
    }
    return is_listed ? others : 0;
}

rdt_conditions rdt_nvml_look(rdt_nvml *nvml) {
    if (!nvml) return (rdt_conditions){0};
    double now = rdt_clock_ns();
    if (nvml->clocks_at_ns <= 0 || now - nvml->clocks_at_ns > clocks_ns) {
        nvml->last.sm_mhz = clock_of(nvml, NVML_CLOCK_SM);
        nvml->last.memory_mhz = clock_of(nvml, NVML_CLOCK_MEMORY);
        nvml->last.temperature_c = temperature_of(nvml);
        nvml->clocks_at_ns = now;
    }
    if (nvml->processes_at_ns <= 0 || now - nvml->processes_at_ns > processes_ns) {
        nvml->last.others = count_others(nvml);
        nvml->processes_at_ns = now;
    }
    nvml->last.throttle = rdt_nvml_throttle(nvml);
    return nvml->last;
}
