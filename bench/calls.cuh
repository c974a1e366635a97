/* Calls: what the benches in CUDA C++ that call redtune have in common: how a failure ends them,
 * and how a call is timed. */
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <redtune/list.h>
#include <vector>

namespace {

redtune_error err;
cudaStream_t stream; // on which all is done

/* With 2, which is neither done nor wrong results. */
[[noreturn]] void end_with(const char *message) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, message);
    std::exit(2);
}

void try_cuda(cudaError_t rc) {
    if (rc != cudaSuccess) end_with(cudaGetErrorString(rc));
}

void try_redtune(redtune_status status) {
    if (status) end_with(err.message);
}

redtune *open_first_gpu() {
    redtune *rt;
    try_cuda(cudaSetDevice(0));
    try_cuda(cudaStreamCreate(&stream));
    try_redtune(redtune_open(nullptr, &rt, &err));
    return rt;
}

// Microseconds of a call, on the GPU and of the host.
struct call_times {
    double gpu_us, host_us;
};

// The median of 5 rounds of so many calls one after the other, after 3. With fewer short calls than
// 48 the time until the first one is on the GPU would count. A call is given its number in the
// round.
template <int CALLS = 48, class Call> call_times time_calls(Call call) {
    constexpr int ROUNDS = 5;
    cudaEvent_t begin, end;
    std::vector<double> gpu(ROUNDS), host(ROUNDS);
    try_cuda(cudaEventCreate(&begin));
    try_cuda(cudaEventCreate(&end));
    for (int i = 0; i < 3; i++) call(i);
    for (int round = 0; round < ROUNDS; round++) {
        float ms = 0;
        try_cuda(cudaStreamSynchronize(stream));
        const auto from = std::chrono::steady_clock::now();
        try_cuda(cudaEventRecord(begin, stream));
        for (int i = 0; i < CALLS; i++) call(i);
        const std::chrono::duration<double, std::micro> queued =
            std::chrono::steady_clock::now() - from;
        try_cuda(cudaEventRecord(end, stream));
        try_cuda(cudaEventSynchronize(end));
        try_cuda(cudaEventElapsedTime(&ms, begin, end));
        gpu[round] = 1000 * (double)ms / CALLS;
        host[round] = queued.count() / CALLS;
    }
    std::sort(gpu.begin(), gpu.end());
    std::sort(host.begin(), host.end());
    try_cuda(cudaEventDestroy(begin));
    try_cuda(cudaEventDestroy(end));
    return {gpu[ROUNDS / 2], host[ROUNDS / 2]};
}

} // namespace
