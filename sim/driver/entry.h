/* Entry: libcuda's entry points as one table, and the gate that every call passes. */
#pragma once

#include "driver/cuda_api.h"

#include <stdint.h>

typedef enum sim_need {
    SIM_NEED_NOTHING,
    SIM_NEED_INIT,
    SIM_NEED_CONTEXT, /* a current one, without an error that has been seen */
    SIM_NEED_SYNC,    /* likewise; and errors of earlier launches are seen here */
    SIM_NEED_SAFE,    /* as CONTEXT, and no stream may be capturing */
    SIM_NEED_SAFE_SYNC
} sim_need;

/* X(base, symbol, first CUDA version that cuGetProcAddress gives it for, need). The versions of
 * one base stand together, oldest first. */
#define SIM_ENTRY_LIST(X)                                                                          \
    X(cuInit, cuInit, 2000, NOTHING)                                                               \
    X(cuDriverGetVersion, cuDriverGetVersion, 2020, NOTHING)                                       \
    X(cuGetProcAddress, cuGetProcAddress_v2, 12000, NOTHING)                                       \
    X(cuGetErrorName, cuGetErrorName, 6000, NOTHING)                                               \
    X(cuGetErrorString, cuGetErrorString, 6000, NOTHING)                                           \
    X(cuDeviceGetCount, cuDeviceGetCount, 2000, INIT)                                              \
    X(cuDeviceGet, cuDeviceGet, 2000, INIT)                                                        \
    X(cuDeviceGetName, cuDeviceGetName, 2000, INIT)                                                \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, INIT)                                      \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020, INIT)                                           \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040, INIT)                                            \
    X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010, INIT)                                        \
    X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, INIT)                                    \
    X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, CONTEXT)                                 \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, INIT)                              \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, INIT)                        \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000, INIT)                            \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, INIT)                          \
    X(cuCtxCreate, cuCtxCreate_v2, 3020, INIT)                                                     \
    X(cuCtxCreate, cuCtxCreate_v4, 12050, INIT)                                                    \
    X(cuCtxDestroy, cuCtxDestroy_v2, 4000, INIT)                                                   \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 4000, INIT)                                                \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, INIT)                                                \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000, INIT)                                           \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000, INIT)                                             \
    X(cuCtxGetDevice, cuCtxGetDevice, 2000, INIT)                                                  \
    X(cuCtxGetId, cuCtxGetId, 12000, INIT)                                                         \
    X(cuCtxSynchronize, cuCtxSynchronize, 2000, SAFE_SYNC)                                         \
    X(cuMemAlloc, cuMemAlloc_v2, 3020, SAFE)                                                       \
    X(cuMemFree, cuMemFree_v2, 3020, SAFE_SYNC)                                                    \
    X(cuMemAllocAsync, cuMemAllocAsync, 11020, CONTEXT)                                            \
    X(cuMemFreeAsync, cuMemFreeAsync, 11020, CONTEXT)                                              \
    X(cuMemHostAlloc, cuMemHostAlloc, 2020, SAFE)                                                  \
    X(cuMemAllocHost, cuMemAllocHost_v2, 3020, SAFE)                                               \
    X(cuMemFreeHost, cuMemFreeHost, 2000, SAFE_SYNC)                                               \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020, SAFE_SYNC)                                              \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020, SAFE_SYNC)                                              \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2, 3020, SAFE_SYNC)                                              \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, CONTEXT)                                      \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, CONTEXT)                                      \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020, CONTEXT)                                      \
    X(cuMemsetD8, cuMemsetD8_v2, 3020, SAFE)                                                       \
    X(cuMemsetD32, cuMemsetD32_v2, 3020, SAFE)                                                     \
    X(cuMemsetD8Async, cuMemsetD8Async, 3020, CONTEXT)                                             \
    X(cuMemsetD32Async, cuMemsetD32Async, 3020, CONTEXT)                                           \
    X(cuMemGetInfo, cuMemGetInfo_v2, 3020, CONTEXT)                                                \
    X(cuPointerGetAttribute, cuPointerGetAttribute, 4000, INIT)                                    \
    X(cuModuleLoadData, cuModuleLoadData, 2000, SAFE)                                              \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, SAFE)                                          \
    X(cuModuleUnload, cuModuleUnload, 2000, SAFE)                                                  \
    X(cuModuleGetFunction, cuModuleGetFunction, 2000, CONTEXT)                                     \
    X(cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020, CONTEXT)                                      \
    X(cuFuncGetAttribute, cuFuncGetAttribute, 2020, CONTEXT)                                       \
    X(cuFuncSetAttribute, cuFuncSetAttribute, 9000, CONTEXT)                                       \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,    \
      6050, CONTEXT)                                                                               \
    X(cuLaunchKernel, cuLaunchKernel, 4000, CONTEXT)                                               \
    X(cuLaunchKernelEx, cuLaunchKernelEx, 11060, CONTEXT)                                          \
    X(cuLaunchHostFunc, cuLaunchHostFunc, 10000, CONTEXT)                                          \
    X(cuStreamCreate, cuStreamCreate, 2000, CONTEXT)                                               \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, CONTEXT)                       \
    X(cuStreamDestroy, cuStreamDestroy_v2, 4000, CONTEXT)                                          \
    X(cuStreamSynchronize, cuStreamSynchronize, 2000, SYNC)                                        \
    X(cuStreamQuery, cuStreamQuery, 2000, SYNC)                                                    \
    X(cuStreamWaitEvent, cuStreamWaitEvent, 3020, CONTEXT)                                         \
    X(cuStreamIsCapturing, cuStreamIsCapturing, 10000, CONTEXT)                                    \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, 11030, CONTEXT)                           \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3, 12030, CONTEXT)                           \
    X(cuStreamGetCtx, cuStreamGetCtx, 9020, CONTEXT)                                               \
    X(cuStreamGetId, cuStreamGetId, 12000, CONTEXT)                                                \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, CONTEXT)                               \
    X(cuStreamEndCapture, cuStreamEndCapture, 10000, CONTEXT)                                      \
    X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies, 11030, CONTEXT)        \
    X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2, 12030, CONTEXT)     \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010, INIT)           \
    X(cuGraphCreate, cuGraphCreate, 10000, CONTEXT)                                                \
    X(cuGraphAddKernelNode, cuGraphAddKernelNode_v2, 12000, CONTEXT)                               \
    X(cuGraphAddMemsetNode, cuGraphAddMemsetNode, 10000, CONTEXT)                                  \
    X(cuGraphAddEmptyNode, cuGraphAddEmptyNode, 10000, CONTEXT)                                    \
    X(cuGraphGetNodes, cuGraphGetNodes, 10000, CONTEXT)                                            \
    X(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies, 10000, CONTEXT)                      \
    X(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2, 12030, CONTEXT)                   \
    X(cuGraphInstantiate, cuGraphInstantiateWithFlags, 11040, CONTEXT)                             \
    X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, CONTEXT)                    \
    X(cuGraphUpload, cuGraphUpload, 11010, CONTEXT)                                                \
    X(cuGraphLaunch, cuGraphLaunch, 10000, CONTEXT)                                                \
    X(cuGraphExecDestroy, cuGraphExecDestroy, 10000, CONTEXT)                                      \
    X(cuGraphDestroy, cuGraphDestroy, 10000, CONTEXT)                                              \
    X(cuUserObjectCreate, cuUserObjectCreate, 11030, INIT)                                         \
    X(cuUserObjectRetain, cuUserObjectRetain, 11030, INIT)                                         \
    X(cuUserObjectRelease, cuUserObjectRelease, 11030, INIT)                                       \
    X(cuGraphRetainUserObject, cuGraphRetainUserObject, 11030, CONTEXT)                            \
    X(cuGraphReleaseUserObject, cuGraphReleaseUserObject, 11030, CONTEXT)                          \
    X(cuEventCreate, cuEventCreate, 2000, CONTEXT)                                                 \
    X(cuEventRecord, cuEventRecord, 2000, CONTEXT)                                                 \
    X(cuEventSynchronize, cuEventSynchronize, 2000, SYNC)                                          \
    X(cuEventQuery, cuEventQuery, 2000, SYNC)                                                      \
    X(cuEventElapsedTime, cuEventElapsedTime, 2000, SYNC)                                          \
    X(cuEventElapsedTime, cuEventElapsedTime_v2, 12080, SYNC)                                      \
    X(cuEventDestroy, cuEventDestroy_v2, 4000, CONTEXT)

typedef struct sim_entry {
    const char *base;
    const char *symbol;
    void (*function)(void);
    int version;
    uint8_t need; /* sim_need */
} sim_entry;

extern const sim_entry sim_entry_table[];
extern const uint32_t sim_entry_count;

/* Opens the gate for the calling function: takes the driver's lock, counts the call, and gives
 * the error that it has to fail with at once, if any. Every call of it is paired with
 * sim_entry_leave, which gives the lock back and returns what it is given. */
CUresult sim_entry_enter(const char *symbol);
CUresult sim_entry_leave(CUresult rc);

/* The result of the gate's checks: CUDA_SUCCESS goes on to work. */
#define SIM_ENTRY(work)                                                                            \
    do {                                                                                           \
        CUresult rc_ = sim_entry_enter(__func__);                                                  \
        if (rc_ == CUDA_SUCCESS) rc_ = (work);                                                     \
        return sim_entry_leave(rc_);                                                               \
    } while (0)
