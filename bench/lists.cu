/* Lists: the norm2 of thousands of bf16 arrays, as the gradients of a model are, by one launch of
 * redtune, beside its norm2 of as many elements in one array, which is the time of reading them.
 *
 *     nvcc -std=c++17 -O2 -arch=native -Iinclude -o lists bench/lists.cu -Lbuild/release -lredtune
 *     lists [CONFIG]
 *     lists --sizes >sizes.txt
 *     python3 bench/lists_torch.py sizes.txt
 *
 * Sizes: 5434 arrays, of which every other one has 1536 to 4536 elements, as norms and biases, and
 * the others 64 to 664 rows of 1536, both drawn evenly by the generator below: 1.54 G elements, as
 * in a model of 1.5 B parameters. --sizes prints them, one a line, as redtune --list and
 * lists_torch.py read them. Times are the median of 5 rounds of 48 calls one after the other on one
 * stream. Exits with 1 where the norm is wrong: all elements are 1. */
#include "calls.cuh"
#include <cmath>
#include <cstring>

namespace {

enum { ARRAYS = 5434, COLUMNS = 1536 };

unsigned long long draw(unsigned long long below) {
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % below;
}

std::vector<uint64_t> draw_sizes() {
    std::vector<uint64_t> sizes(ARRAYS);
    for (int i = 0; i < ARRAYS; i++)
        sizes[i] = i % 2 ? COLUMNS + draw(3001) : COLUMNS * (64 + draw(601));
    return sizes;
}

} // namespace

int main(int argc, char **argv) {
    const std::vector<uint64_t> sizes = draw_sizes();
    uint64_t all = 0;
    for (uint64_t size : sizes) all += size;
    if (argc > 1 && !std::strcmp(argv[1], "--sizes")) {
        for (uint64_t size : sizes) std::printf("%llu\n", (unsigned long long)size);
        return 0;
    }
    redtune *const rt = open_first_gpu();
    unsigned short *elements;
    float *norm, got = 0;
    try_cuda(cudaMalloc(&elements, all * sizeof *elements));
    try_cuda(cudaMalloc(&norm, sizeof *norm));
    const std::vector<unsigned short> ones(1 << 20, 0x3f80);
    for (uint64_t at = 0; at < all; at += ones.size())
        try_cuda(cudaMemcpy(elements + at, ones.data(),
                            std::min<uint64_t>(ones.size(), all - at) * sizeof *elements,
                            cudaMemcpyHostToDevice));

    std::vector<const void *> places;
    for (uint64_t at = 0, i = 0; i < sizes.size(); at += sizes[i++])
        places.push_back(elements + at);
    redtune_list *list;
    try_redtune(redtune_list_create(rt, REDTUNE_BF16, places.data(), sizes.data(), sizes.size(),
                                    &list, &err));
    redtune_problem problem = {};
    redtune_segments segments = {};
    redtune_plan *plan, *whole;
    problem.op = REDTUNE_NORM2;
    problem.dtype = REDTUNE_BF16;
    problem.reduced_axes = 1;
    problem.reduced[0].size = all;
    try_redtune(redtune_plan_create(rt, &problem, &whole, &err));
    problem.kept_axes = 1;
    problem.kept[0].size = sizes.size();
    problem.reduced[0].size = all / sizes.size();
    problem.segmented = REDTUNE_SEGMENTED_ALL;
    problem.config = argc > 1 ? argv[1] : nullptr;
    try_redtune(redtune_plan_create(rt, &problem, &plan, &err));
    segments.list = list;
    segments.d_out[0] = norm;
    const call_times read = time_calls(
        [&](int) { try_redtune(redtune_plan_reduce(whole, elements, all, norm, stream, &err)); });
    const call_times listed = time_calls(
        [&](int) { try_redtune(redtune_plan_run_segments(plan, &segments, stream, &err)); });
    try_cuda(cudaMemcpy(&got, norm, sizeof got, cudaMemcpyDeviceToHost));
    const bool right = std::fabs(got / std::sqrt((double)all) - 1) < 1e-5;
    std::printf(
        "norm2 of %d bf16 arrays, %.3f G elements: %.1f us, %.2f us of the host; of one array "
        "%.1f us (%.3f)%s\n",
        ARRAYS, (double)all / 1e9, listed.gpu_us, listed.host_us, read.gpu_us,
        listed.gpu_us / read.gpu_us, right ? "" : " WRONG");
    redtune_plan_destroy(plan);
    redtune_plan_destroy(whole);
    redtune_list_destroy(list);
    redtune_close(rt);
    return !right;
}
