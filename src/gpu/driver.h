/* Driver: the CUDA driver, loaded at run time, as a table of its functions. */
#pragma once

#include <cuda.h>
#include <stdbool.h>
#include "base/text.h"

/* Since CUDA 13 the header's own name for this is cuEventElapsedTime_v2, which older drivers lack.
 */
typedef CUresult CUDAAPI rdt_event_elapsed_fn(float *milliseconds, CUevent start, CUevent end);
/* Likewise cuStreamGetCaptureInfo_v3. */
typedef CUresult CUDAAPI rdt_capture_info_fn(CUstream stream, CUstreamCaptureStatus *status,
                                             cuuint64_t *id, CUgraph *graph,
                                             const CUgraphNode **dependencies, size_t *count);

/* Likewise cuGraphNodeGetDependencies_v2. */
typedef CUresult CUDAAPI rdt_dependencies_fn(CUgraphNode node, CUgraphNode *dependencies,
                                             size_t *count);

/* The headers of CUDA 11 have it not. */
typedef CUresult CUDAAPI rdt_stream_id_fn(CUstream stream, unsigned long long *id);
/* Nor this one, and its data of an edge, 8 bytes. */
typedef CUresult CUDAAPI rdt_edges_fn(CUgraphNode node, CUgraphNode *dependencies, void *edges,
                                      size_t *count);

/* field, entry point, type */
#define RDT_DRIVER_LIST(X)                                                                         \
    X(init, cuInit, __typeof__(cuInit))                                                            \
    X(driver_get_version, cuDriverGetVersion, __typeof__(cuDriverGetVersion))                      \
    X(get_error_name, cuGetErrorName, __typeof__(cuGetErrorName))                                  \
    X(get_error_string, cuGetErrorString, __typeof__(cuGetErrorString))                            \
    X(device_get_count, cuDeviceGetCount, __typeof__(cuDeviceGetCount))                            \
    X(device_get, cuDeviceGet, __typeof__(cuDeviceGet))                                            \
    X(device_get_name, cuDeviceGetName, __typeof__(cuDeviceGetName))                               \
    X(device_get_attribute, cuDeviceGetAttribute, __typeof__(cuDeviceGetAttribute))                \
    X(device_total_mem, cuDeviceTotalMem_v2, __typeof__(cuDeviceTotalMem_v2))                      \
    X(primary_retain, cuDevicePrimaryCtxRetain, __typeof__(cuDevicePrimaryCtxRetain))              \
    X(primary_release, cuDevicePrimaryCtxRelease_v2, __typeof__(cuDevicePrimaryCtxRelease_v2))     \
    X(ctx_get_current, cuCtxGetCurrent, __typeof__(cuCtxGetCurrent))                               \
    X(ctx_push, cuCtxPushCurrent_v2, __typeof__(cuCtxPushCurrent_v2))                              \
    X(ctx_pop, cuCtxPopCurrent_v2, __typeof__(cuCtxPopCurrent_v2))                                 \
    X(ctx_get_device, cuCtxGetDevice, __typeof__(cuCtxGetDevice))                                  \
    X(mem_alloc, cuMemAlloc_v2, __typeof__(cuMemAlloc_v2))                                         \
    X(mem_free, cuMemFree_v2, __typeof__(cuMemFree_v2))                                            \
    X(mem_get_info, cuMemGetInfo_v2, __typeof__(cuMemGetInfo_v2))                                  \
    X(mem_host_alloc, cuMemHostAlloc, __typeof__(cuMemHostAlloc))                                  \
    X(mem_free_host, cuMemFreeHost, __typeof__(cuMemFreeHost))                                     \
    X(memcpy_htod_async, cuMemcpyHtoDAsync_v2, __typeof__(cuMemcpyHtoDAsync_v2))                   \
    X(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2, __typeof__(cuMemcpyDtoHAsync_v2))                   \
    X(memcpy_dtod_async, cuMemcpyDtoDAsync_v2, __typeof__(cuMemcpyDtoDAsync_v2))                   \
    X(memset_d8_async, cuMemsetD8Async, __typeof__(cuMemsetD8Async))                               \
    X(pointer_get_attribute, cuPointerGetAttribute, __typeof__(cuPointerGetAttribute))             \
    X(module_load_data, cuModuleLoadData, __typeof__(cuModuleLoadData))                            \
    X(module_unload, cuModuleUnload, __typeof__(cuModuleUnload))                                   \
    X(module_get_function, cuModuleGetFunction, __typeof__(cuModuleGetFunction))                   \
    X(func_set_attribute, cuFuncSetAttribute, __typeof__(cuFuncSetAttribute))                      \
    X(launch_kernel, cuLaunchKernel, __typeof__(cuLaunchKernel))                                   \
    X(launch_kernel_ex, cuLaunchKernelEx, __typeof__(cuLaunchKernelEx))                            \
    X(stream_create, cuStreamCreate, __typeof__(cuStreamCreate))                                   \
    X(stream_destroy, cuStreamDestroy_v2, __typeof__(cuStreamDestroy_v2))                          \
    X(stream_synchronize, cuStreamSynchronize, __typeof__(cuStreamSynchronize))                    \
    X(stream_query, cuStreamQuery, __typeof__(cuStreamQuery))                                      \
    X(stream_is_capturing, cuStreamIsCapturing, __typeof__(cuStreamIsCapturing))                   \
    X(stream_begin_capture, cuStreamBeginCapture_v2, __typeof__(cuStreamBeginCapture_v2))          \
    X(stream_end_capture, cuStreamEndCapture, __typeof__(cuStreamEndCapture))                      \
    X(stream_capture_info, cuStreamGetCaptureInfo_v2, rdt_capture_info_fn)                         \
    X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode,                                    \
      __typeof__(cuThreadExchangeStreamCaptureMode))                                               \
    X(user_object_create, cuUserObjectCreate, __typeof__(cuUserObjectCreate))                      \
    X(user_object_release, cuUserObjectRelease, __typeof__(cuUserObjectRelease))                   \
    X(graph_retain_user_object, cuGraphRetainUserObject, __typeof__(cuGraphRetainUserObject))      \
    X(graph_node_dependencies, cuGraphNodeGetDependencies, rdt_dependencies_fn)                    \
    X(graph_instantiate, cuGraphInstantiateWithFlags, __typeof__(cuGraphInstantiateWithFlags))     \
    X(graph_launch, cuGraphLaunch, __typeof__(cuGraphLaunch))                                      \
    X(graph_exec_destroy, cuGraphExecDestroy, __typeof__(cuGraphExecDestroy))                      \
    X(graph_destroy, cuGraphDestroy, __typeof__(cuGraphDestroy))                                   \
    X(event_create, cuEventCreate, __typeof__(cuEventCreate))                                      \
    X(event_record, cuEventRecord, __typeof__(cuEventRecord))                                      \
    X(event_synchronize, cuEventSynchronize, __typeof__(cuEventSynchronize))                       \
    X(event_elapsed, cuEventElapsedTime, rdt_event_elapsed_fn)                                     \
    X(event_destroy, cuEventDestroy_v2, __typeof__(cuEventDestroy_v2))

/* Likewise; NULL in the table where the driver is too old for it. */
#define RDT_DRIVER_OPTIONAL_LIST(X)                                                                \
    X(stream_get_id, cuStreamGetId, rdt_stream_id_fn)                /* since CUDA 12.0 */         \
    X(graph_node_edges, cuGraphNodeGetDependencies_v2, rdt_edges_fn) /* since CUDA 12.3 */         \
    /* Between GPUs, and not in every driver in software. */                                       \
    X(device_can_access_peer, cuDeviceCanAccessPeer, __typeof__(cuDeviceCanAccessPeer))            \
    X(ctx_enable_peer_access, cuCtxEnablePeerAccess, __typeof__(cuCtxEnablePeerAccess))            \
    X(ipc_get_mem_handle, cuIpcGetMemHandle, __typeof__(cuIpcGetMemHandle))                        \
    X(ipc_open_mem_handle, cuIpcOpenMemHandle_v2, __typeof__(cuIpcOpenMemHandle_v2))               \
    X(ipc_close_mem_handle, cuIpcCloseMemHandle, __typeof__(cuIpcCloseMemHandle))

typedef struct rdt_driver {
#define ENTRY(field, symbol, type) type *field;
    RDT_DRIVER_LIST(ENTRY)
    RDT_DRIVER_OPTIONAL_LIST(ENTRY)
#undef ENTRY
    struct rdt_library *library;
    int version; /* 13000 is CUDA 13.0 */
} rdt_driver;

/* Whether redtune_options.device, which may be NULL, names the simulated device. */
bool rdt_driver_is_simulated(const char *device);

/* Loads and initialises the driver; simulated: the one in software. REDTUNE_LIBRARY if it is
 * missing or too old, REDTUNE_DEVICE if it finds no GPU or does not start. */
redtune_status rdt_driver_open(bool simulated, rdt_driver **out, redtune_error *err);
void rdt_driver_close(rdt_driver *driver);
const char *rdt_driver_path(const rdt_driver *driver);

/* REDTUNE_OK for success; else records "cannot <what>: <the driver's name and words for rc>". */
redtune_status rdt_driver_check(const rdt_driver *driver, CUresult rc, redtune_error *err,
                                const char *what, ...) __attribute__((format(printf, 4, 5)));
