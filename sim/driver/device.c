/* Device: the simulated device's attributes. */
#include "driver/entry.h"
#include "driver/state.h"

#include <stdio.h>
#include <string.h>

enum { WARP_LANES = 32, BLOCK_THREADS = 1024, KIB = 1024 };

static CUresult get_version(int *version) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = sim_state.config.driver_version;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) { SIM_ENTRY(get_version(version)); }

static CUresult init(unsigned int flags) {
    if (flags || *sim_state.config.refused) return CUDA_ERROR_INVALID_VALUE;
    if (!sim_state.config.device_count) return CUDA_ERROR_NO_DEVICE;
    sim_state.is_initialised = true;
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags) { SIM_ENTRY(init(flags)); }

static bool is_device(CUdevice device) {
    return device >= 0 && device < sim_state.config.device_count;
}

static CUresult get_count(int *count) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = sim_state.config.device_count;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) { SIM_ENTRY(get_count(count)); }

static CUresult get_device(CUdevice *device, int ordinal) {
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) { SIM_ENTRY(get_device(device, ordinal)); }

/* All memory is the host's, so that every device reaches that of every other. */
static CUresult can_access_peer(int *can, CUdevice device, CUdevice peer) {
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device) || !is_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer;
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    SIM_ENTRY(can_access_peer(can, device, peer));
}

static CUresult get_name(char *name, int length, CUdevice device) {
    if (!name || length < 1) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    int model = (int)device % sim_state.config.model_count;
    int written = snprintf(name, (size_t)length, "redtune simulated GPU");
    if (model && written < length)
        snprintf(name + written, (size_t)(length - written), " %d", model + 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    SIM_ENTRY(get_name(name, length, device));
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device) {
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, "redtune-sim-gpu", sizeof uuid->bytes);
    uuid->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) { SIM_ENTRY(get_uuid(uuid, device)); }

static CUresult get_bus_id(char *text, int length, CUdevice device) {
    if (!text || length < 1) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    snprintf(text, (size_t)length, "FFFF:%02X:00.0", (unsigned)device + 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device) {
    SIM_ENTRY(get_bus_id(text, length, device));
}

static CUresult get_total(size_t *bytes, CUdevice device) {
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = sim_state.config.settings.machine.memory_bytes;
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    SIM_ENTRY(get_total(bytes, device));
}

/* A bus of 1024 bits, at the rate that gives the machine's bandwidth with two transfers a cycle:
 * what programs work out from the two is then the same. */
enum { BUS_BITS = 1024 };

static int memory_khz(const sim_machine *machine) {
    return (int)(machine->memory_bytes_per_ns * 1e6 / (2.0 * BUS_BITS / 8));
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    const sim_machine *machine = &sim_state.config.settings.machine;
    const struct {
        CUdevice_attribute attribute;
        int value;
    } known[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, BLOCK_THREADS},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, BLOCK_THREADS},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, BLOCK_THREADS},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT32_MAX},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 * KIB},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
         (int)machine->sm_shared_bytes - KIB},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, (int)machine->sm_shared_bytes},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, KIB},
        {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 * KIB},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, WARP_LANES},
        {CU_DEVICE_ATTRIBUTE_MAX_PITCH, INT32_MAX},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, (int)machine->sm_registers},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, (int)machine->sm_registers},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, (int)(machine->clock_ghz * 1e6)},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, memory_khz(machine)},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, BUS_BITS},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, (int)machine->cache_bytes},
        {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, (int)machine->sm_count},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, (int)machine->sm_threads},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, (int)machine->sm_blocks},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, (int)machine->capability / 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, (int)machine->capability % 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
        {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0xFFFF},
        {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device + 1},
        {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
        {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    };
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    *value = 0; /* what the simulator has not got */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].attribute == attribute) *value = known[i].value;
    }
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    SIM_ENTRY(get_attribute(value, attribute, device));
}
