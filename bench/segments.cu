/* Segments: redtune's sums of segments and lists beside CUB's DeviceSegmentedReduce, and beside
 * redtune's sum of all their elements as one array, which is the time of reading them.
 *
 *     nvcc -std=c++17 -O2 -arch=native -Iinclude -o segments bench/segments.cu \
 *         -Lbuild/release -lredtune
 *     segments [CONFIG]
 *
 * Prints a row per table: microseconds of a call, the median of 5 times 48 calls one after the
 * other on one stream. Inputs below 160 MB have copies, so that no call finds its own in L2. "all"
 * is the time of reading elements and offsets and of writing results at the rate of "read", "said"
 * that of a problem that says what the median and greatest lengths are.
 * Results are held against sums on the host; exits with 1 where one is wrong. */
#include "calls.cuh"
#include <cmath>
#include <cub/device/device_segmented_reduce.cuh>
#include <string>

namespace {

constexpr long long MI = 1 << 20;
redtune *rt;

double draw() {
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 11) / 9007199254740992.0;
}

// ---- tables ---------------------------------------------------------------------------------

struct table {
    std::string name;
    std::vector<long long> offset; // one more than segments
    long long segments() const { return (long long)offset.size() - 1; }
    long long elements() const { return offset.back(); }
};

table equal(long long length, long long all) {
    table out{std::to_string(all / length) + " of " + std::to_string(length), {}};
    for (long long i = 0; i <= all / length; i++) out.offset.push_back(i * length);
    return out;
}

// Lengths as 1/1, 1/2, 1/3, ..., in any order.
table zipf(long long segments, long long all) {
    table out{std::to_string(segments) + " by Zipf", {0}};
    std::vector<double> share(segments);
    double sum = 0, at = 0;
    for (long long i = 0; i < segments; i++) sum += share[i] = 1.0 / (double)(i + 1);
    for (long long i = segments - 1; i > 0; i--)
        std::swap(share[i], share[(long long)(draw() * (double)(i + 1))]);
    for (double each : share) out.offset.push_back((long long)((at += each) / sum * (double)all));
    return out;
}

table giant(long long segments, long long length, long long large) {
    table out{std::to_string(segments) + " of " + std::to_string(length) + ", one of " +
                  std::to_string(large),
              {0}};
    for (long long i = 0; i < segments; i++)
        out.offset.push_back(out.offset.back() + (i == segments / 3 ? large : length));
    return out;
}

table half_empty(long long length, long long all) {
    table out{std::to_string(length) + ", half of them empty", {0}};
    while (out.elements() < all) out.offset.push_back(out.elements() + (draw() < 0.5 ? length : 0));
    return out;
}

// Lengths evenly drawn between three and five quarters of one.
table nearly(long long length, long long all) {
    table out{std::to_string(all / length) + " of about " + std::to_string(length), {0}};
    for (long long i = 0; i < all / length; i++)
        out.offset.push_back(out.elements() + (long long)((double)length * (0.75 + 0.5 * draw())));
    return out;
}

// ---- times ----------------------------------------------------------------------------------

template <class Call> double time_us(Call call) { return time_calls(call).gpu_us; }

struct arrays {
    std::vector<float> host;
    std::vector<float *> in; // copies
    long long *offset, *end; // the same offsets from the second on, in a table of their own
    float *out;
};

arrays upload(const table &t) {
    const long long bytes = t.elements() * 4;
    arrays a{std::vector<float>(t.elements()), std::vector<float *>(1 + 160 * MI / bytes), nullptr,
             nullptr, nullptr};
    for (long long i = 0; i < t.elements(); i++) a.host[i] = (float)((i * 7 + i / 3) % 5 - 2);
    for (float *&each : a.in) {
        try_cuda(cudaMalloc(&each, bytes));
        try_cuda(cudaMemcpy(each, a.host.data(), bytes, cudaMemcpyHostToDevice));
    }
    try_cuda(cudaMalloc(&a.offset, (t.segments() + 1) * 8));
    try_cuda(cudaMalloc(&a.out, t.segments() * 4));
    try_cuda(cudaMemcpy(a.offset, t.offset.data(), (t.segments() + 1) * 8, cudaMemcpyHostToDevice));
    try_cuda(cudaMalloc(&a.end, t.segments() * 8));
    try_cuda(cudaMemcpy(a.end, t.offset.data() + 1, t.segments() * 8, cudaMemcpyHostToDevice));
    return a;
}

void release(arrays &a) {
    for (float *each : a.in) cudaFree(each);
    cudaFree(a.offset);
    cudaFree(a.end);
    cudaFree(a.out);
}

bool is_right(const table &t, const arrays &a) {
    std::vector<float> got(t.segments());
    try_cuda(cudaMemcpy(got.data(), a.out, t.segments() * 4, cudaMemcpyDeviceToHost));
    for (long long i = 0; i < t.segments(); i++) {
        double sum = 0;
        for (long long k = t.offset[i]; k < t.offset[i + 1]; k++) sum += a.host[k];
        if (std::fabs(sum - got[i]) > 0.01) return false;
    }
    return true;
}

double time_cub(const table &t, const arrays &a) {
    size_t bytes = 0;
    void *scratch = nullptr;
    const auto call = [&](int i) {
        return cub::DeviceSegmentedReduce::Sum(scratch, bytes, a.in[i % a.in.size()], a.out,
                                               t.segments(), a.offset, a.offset + 1, stream);
    };
    try_cuda(call(0));
    try_cuda(cudaMalloc(&scratch, bytes + 1));
    const double us = time_us([&](int i) { try_cuda(call(i)); });
    cudaFree(scratch);
    return us;
}

double time_read(const table &t, const arrays &a) {
    redtune_problem problem;
    redtune_plan *plan;
    problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, t.elements());
    try_redtune(redtune_plan_create(rt, &problem, &plan, &err));
    const double us = time_us([&](int i) {
        try_redtune(
            redtune_plan_reduce(plan, a.in[i % a.in.size()], t.elements(), a.out, stream, &err));
    });
    redtune_plan_destroy(plan);
    return us;
}

// How a call is made: by offsets, by them with median and greatest length said, or with a table of
// ends.
enum form { OFFSETS, SAID, ENDS };

double time_segments(const table &t, const arrays &a, const char *config, form how) {
    redtune_problem problem;
    redtune_segments segments = {};
    redtune_plan *plan;
    problem = redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, t.segments(),
                                       t.elements() / t.segments());
    problem.config = config;
    if (how == SAID) {
        std::vector<long long> length;
        for (long long i = 0; i < t.segments(); i++)
            length.push_back(t.offset[i + 1] - t.offset[i]);
        std::sort(length.begin(), length.end());
        problem.median = length[length.size() / 2];
        problem.greatest = length.back();
    }
    segments.count = t.segments();
    segments.d_begin = a.offset;
    segments.d_end = how == ENDS ? a.end : nullptr;
    segments.d_out[0] = a.out;
    try_redtune(redtune_plan_create(rt, &problem, &plan, &err));
    const double us = time_us([&](int i) {
        segments.d_in = a.in[i % a.in.size()];
        try_redtune(redtune_plan_run_segments(plan, &segments, stream, &err));
    });
    redtune_plan_destroy(plan);
    return us;
}

} // namespace

int main(int argc, char **argv) {
    const char *config = argc > 1 ? argv[1] : nullptr;
    std::vector<table> tables;
    bool wrong = false;
    double product = 1;
    for (long long length : {4, 16, 32, 100, 256, 1000, 4096, 65536, 1048576})
        tables.push_back(equal(length, 64 * MI));
    for (long long length : {4, 32, 256, 4096, 262144}) tables.push_back(equal(length, 4 * MI));
    for (long long length : {512, 4096}) tables.push_back(nearly(length, 64 * MI));
    tables.push_back(nearly(4096, 4 * MI));
    tables.push_back(zipf(16384, 64 * MI));
    tables.push_back(zipf(100000, 64 * MI));
    tables.push_back(zipf(1000000, 16 * MI));
    tables.push_back(giant(1000000, 3, 100000000));
    for (long long length : {64, 256, 4096}) tables.push_back(half_empty(length, 64 * MI));
    tables.push_back(half_empty(5, 16 * MI));
    rt = open_first_gpu();
    std::printf("%-34s %9s %9s %9s %9s %9s %9s\n", "us of a call", "read", "all", "offsets", "said",
                "ends", "cub");
    for (const table &t : tables) {
        arrays a = upload(t);
        const double cub = time_cub(t, a), read = time_read(t, a);
        const double ends = time_segments(t, a, config, ENDS);
        bool right = is_right(t, a);
        const double said = time_segments(t, a, config, SAID);
        right = is_right(t, a) && right;
        const double offsets = time_segments(t, a, config, OFFSETS);
        right = is_right(t, a) && right;
        const double all = read * (1 + 3.0 * (double)t.segments() / (double)t.elements());
        std::printf("%-34s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f%s\n", t.name.c_str(), read, all,
                    offsets, said, ends, cub, right ? "" : " WRONG");
        product *= cub / offsets;
        wrong |= !right;
        release(a);
    }
    std::printf("cub takes %.2f times as long as offsets (geometric mean)\n",
                std::pow(product, 1.0 / (double)tables.size()));
    redtune_close(rt);
    return wrong;
}
