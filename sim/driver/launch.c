/* Launch: launches: their checks, their faults on demand, and their findings' errors. */
#include "driver/entry.h"
#include "driver/state.h"

#include <stdlib.h>
#include <string.h>

enum { GRID_YZ_MAX = 65535, BLOCK_Z_MAX = 64 };

static CUresult check_shape(const sim_work *work) {
    const sim_program *program = &work->function->program;
    const sim_machine *machine = &sim_state.config.settings.machine;
    for (int i = 0; i < 3; i++) {
        if (!work->grid[i] || !work->block[i]) return CUDA_ERROR_INVALID_VALUE;
    }
    bool too_large = work->grid[0] > INT32_MAX || work->grid[1] > GRID_YZ_MAX ||
                     work->grid[2] > GRID_YZ_MAX || work->block[2] > BLOCK_Z_MAX;
    uint64_t threads = (uint64_t)work->block[0] * work->block[1];
    if (too_large || threads > 1024 || threads * work->block[2] > 1024) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    threads *= work->block[2];
    if (threads > program->max_threads) return CUDA_ERROR_INVALID_VALUE;
    if (work->dynamic_bytes > work->function->dynamic_bytes_max) return CUDA_ERROR_INVALID_VALUE;
    if (work->grid[0] % program->cluster_blocks) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    uint64_t blocks =
        sim_grid_blocks_per_sm(machine, program, (uint32_t)threads, work->dynamic_bytes);
    bool fits = blocks && blocks * machine->sm_count >= program->cluster_blocks;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

static const char *launch_fault(uint64_t number) {
    for (uint32_t i = 0; i < sim_state.config.launch_fault_count; i++) {
        const sim_rule *rule = &sim_state.config.launches[i];
        if (rule->number == number) return rule->name;
    }
    return "";
}

static void add_counters(struct redtune_sim_counters *total,
                         const struct redtune_sim_counters *one) {
    double longest = total->longest_warp_ns;
    double time = total->time_ns + one->time_ns;
    uint64_t *sums = (uint64_t *)total;
    const uint64_t *parts = (const uint64_t *)one;
    size_t count = offsetof(struct redtune_sim_counters, longest_warp_ns) / sizeof *sums;
    for (size_t i = 0; i < count; i++) sums[i] += parts[i];
    total->longest_warp_ns = one->longest_warp_ns > longest ? one->longest_warp_ns : longest;
    total->time_ns = time;
}

/* Spoils a result as a broken kernel might: one bit of the last bytes that the launch stored. */
static void spoil(const sim_grid *grid) {
    if (!grid->last_store) return;
    uint32_t byte = grid->last_store_bytes > 1 ? grid->last_store_bytes - 2 : 0;
    grid->last_store[byte] ^= 0x10;
}

CUresult sim_launch_run(struct CUctx_st *context, const sim_work *work) {
    sim_launch launch = {.program = &work->function->program,
                         .dynamic_bytes = work->dynamic_bytes,
                         .params = work->params};
    memcpy(launch.grid, work->grid, sizeof launch.grid);
    memcpy(launch.block, work->block, sizeof launch.block);
    const char *fault = launch_fault(++sim_state.launches);
    if (strcmp(fault, "hang") == 0) sim_state.is_hung = true;
    if (strcmp(fault, "trap") == 0) return sim_context_fail(context, CUDA_ERROR_LAUNCH_FAILED);
    if (strcmp(fault, "timeout") == 0) return sim_context_fail(context, CUDA_ERROR_LAUNCH_TIMEOUT);
    if (sim_state.is_hung) return CUDA_SUCCESS;
    sim_grid grid = {.launch = &launch,
                     .settings = &sim_state.config.settings,
                     .memory = &sim_state.memory,
                     .start_ns = sim_state.now_ns};
    if (!sim_grid_run(&grid)) return sim_context_fail(context, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    if (strcmp(fault, "wrong") == 0) spoil(&grid);
    sim_work_advance_clock(grid.counters.time_ns);
    sim_state.last = grid.counters;
    sim_state.any_launch = true;
    add_counters(&sim_state.total, &grid.counters);
    if (!grid.finding.kind) return CUDA_SUCCESS;
    sim_report(&grid.finding);
    return sim_context_fail(context, (CUresult)grid.finding.cuda_error);
}

/* The parameters as one block of bytes, from an array of pointers or from a buffer. */
static CUresult take_params(sim_work *work, void **params, void **extra) {
    const sim_program *program = &work->function->program;
    work->params = calloc(1, program->param_bytes + 1);
    if (!work->params) return CUDA_ERROR_OUT_OF_MEMORY;
    if (params && extra) return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; params && i < program->param_count; i++) {
        const sim_param *param = &program->params[i];
        if (!params[i]) return CUDA_ERROR_INVALID_VALUE;
        memcpy(work->params + param->offset_bytes, params[i], param->size_bytes);
    }
    const void *buffer = NULL;
    size_t bytes = 0;
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
        if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *(const size_t *)extra[1];
    }
    if (!params && program->param_count) {
        if (!buffer || bytes > program->param_bytes) return CUDA_ERROR_INVALID_VALUE;
        memcpy(work->params, buffer, bytes);
    }
    return CUDA_SUCCESS;
}

/* Makes the work that the parameters of a launch or of a kernel node describe. */
CUresult sim_launch_make(const CUDA_KERNEL_NODE_PARAMS_v2 *from, sim_work *out) {
    struct CUfunc_st *function = from->func;
    if (!sim_state_handle_is(function, SIM_HANDLE_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    if (function->module->is_unloaded) {
        sim_report_misuse(CUDA_ERROR_INVALID_HANDLE,
                          "a launch of '%.100s', whose module was "
                          "unloaded",
                          function->program.name);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    sim_work work = {.kind = SIM_WORK_KERNEL,
                     .function = function,
                     .grid = {from->gridDimX, from->gridDimY, from->gridDimZ},
                     .block = {from->blockDimX, from->blockDimY, from->blockDimZ},
                     .dynamic_bytes = from->sharedMemBytes};
    sim_module_retain(function->module);
    CUresult rc = check_shape(&work);
    if (rc == CUDA_SUCCESS) rc = take_params(&work, from->kernelParams, from->extra);
    if (rc == CUDA_SUCCESS)
        *out = work;
    else
        sim_work_drop(&work);
    return rc;
}

static CUresult launch(const CUDA_KERNEL_NODE_PARAMS_v2 *params, CUstream handle) {
    sim_work work;
    struct CUstream_st *stream = sim_stream_find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    CUresult rc = sim_launch_make(params, &work);
    return rc == CUDA_SUCCESS ? sim_work_submit(stream, &work) : rc;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
                        unsigned int bx, unsigned int by, unsigned int bz,
                        unsigned int shared_bytes, CUstream stream, void **params, void **extra) {
    CUDA_KERNEL_NODE_PARAMS_v2 node = {.func = function,
                                       .gridDimX = gx,
                                       .gridDimY = gy,
                                       .gridDimZ = gz,
                                       .blockDimX = bx,
                                       .blockDimY = by,
                                       .blockDimZ = bz,
                                       .sharedMemBytes = shared_bytes,
                                       .kernelParams = params,
                                       .extra = extra};
    SIM_ENTRY(launch(&node, stream));
}

/* Whether the launch asks to overlap the one before it in a capture, for which the driver is too
 * old: graphs know such edges since CUDA 12.3. */
static bool is_too_early(const CUlaunchAttribute *attribute, CUstream handle) {
    const struct CUstream_st *stream = sim_stream_find(handle);
    return stream && stream->capture && sim_state.config.driver_version < 12030 &&
           attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
           attribute->value.programmaticStreamSerializationAllowed;
}

/* Attributes that only say how fast are taken as they come; the clusters are those that an entry
 * itself asks for. */
static CUresult launch_with(const CUlaunchConfig *config, CUfunction function, void **params,
                            void **extra) {
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        bool clusters = attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
                        (attribute->value.clusterDim.x > 1 || attribute->value.clusterDim.y > 1 ||
                         attribute->value.clusterDim.z > 1);
        if (clusters) return CUDA_ERROR_NOT_SUPPORTED;
        if (is_too_early(attribute, config->hStream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    CUDA_KERNEL_NODE_PARAMS_v2 node = {.func = function,
                                       .gridDimX = config->gridDimX,
                                       .gridDimY = config->gridDimY,
                                       .gridDimZ = config->gridDimZ,
                                       .blockDimX = config->blockDimX,
                                       .blockDimY = config->blockDimY,
                                       .blockDimZ = config->blockDimZ,
                                       .sharedMemBytes = config->sharedMemBytes,
                                       .kernelParams = params,
                                       .extra = extra};
    return launch(&node, config->hStream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                          void **extra) {
    SIM_ENTRY(launch_with(config, function, params, extra));
}

static CUresult launch_host(CUstream handle, CUhostFn host, void *user) {
    struct CUstream_st *stream = sim_stream_find(handle);
    sim_work work = {.kind = SIM_WORK_HOST, .host = host, .user = user};
    if (!host) return CUDA_ERROR_INVALID_VALUE;
    return stream ? sim_work_submit(stream, &work) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn host, void *user) {
    SIM_ENTRY(launch_host(stream, host, user));
}

static CUresult get_occupancy(int *blocks, CUfunction function, int threads, size_t dynamic_bytes) {
    if (!blocks || threads < 1 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
    if (!sim_state_handle_is(function, SIM_HANDLE_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    bool fits = dynamic_bytes <= UINT32_MAX && (uint32_t)threads <= function->program.max_threads;
    *blocks =
        fits ? (int)sim_grid_blocks_per_sm(&sim_state.config.settings.machine, &function->program,
                                           (uint32_t)threads, (uint32_t)dynamic_bytes)
             : 0;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t dynamic_bytes) {
    SIM_ENTRY(get_occupancy(blocks, function, threads, dynamic_bytes));
}
