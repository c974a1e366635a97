/* Keys: redtune's sums by key beside CUB's DeviceRadixSort::SortPairs and
 * DeviceReduce::ReduceByKey, and beside redtune's sum of as many bytes as both arrays have, which
 * is the time of reading them.
 *
 *     nvcc -std=c++17 -O2 -arch=native -Iinclude -o keys bench/keys.cu -Lbuild/release -lredtune
 *     keys [ELEMENTS]
 *
 * Prints a row for each dtype of values and keys, spread and number of keys: microseconds of a
 * call, the median of 5 times 12 calls one after the other on one stream, by the built-in default
 * and by what the user's and the shipped databases have for keys of that spread. 32 Mi elements
 * exceed L2, so that no call finds its own there. CUB sorts as many bits as the keys have; its
 * values are added in their own dtype, redtune's in f64. Results of redtune are held against sums
 * on the host; exits with 1 where one is wrong. */
#include "calls.cuh"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <redtune/keys.h>

namespace {

enum spread { UNIFORM, ONE, SORTED, LOG_UNIFORM, SPREADS };
const char *const names[] = {"uniform", "one", "sorted", "log-uniform"};
const redtune_spread said[] = {REDTUNE_SPREAD_UNIFORM, REDTUNE_SPREAD_ONE, REDTUNE_SPREAD_UNKNOWN,
                               REDTUNE_SPREAD_SKEWED};
long long count = 1 << 25;
redtune *by_default, *tuned;
std::vector<double> values;
bool wrong;

double draw() {
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 11) / 9007199254740992.0;
}

std::vector<long long> make_keys(spread how, long long k) {
    std::vector<long long> keys(count);
    for (long long i = 0; i < count; i++)
        keys[i] = how == UNIFORM  ? (long long)(draw() * (double)k)
                  : how == ONE    ? k / 2
                  : how == SORTED ? i * k / count
                                  : (long long)std::exp(draw() * std::log((double)k)) - 1;
    return keys;
}

template <class T> T *upload(const std::vector<T> &host) {
    T *gpu;
    try_cuda(cudaMalloc(&gpu, host.size() * sizeof(T)));
    try_cuda(cudaMemcpy(gpu, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return gpu;
}

// ---- contestants ----------------------------------------------------------------------------

struct add {
    template <class T> __host__ __device__ T operator()(T a, T b) const { return a + b; }
};

template <class Value, class Key> double time_cub(const Value *in, const Key *keys, long long k) {
    int bits = 1;
    Key *sorted, *unique;
    Value *ordered, *out;
    long long *runs;
    size_t sort_bytes = 0, reduce_bytes = 0;
    void *scratch = nullptr;
    while (1ll << bits < k) bits++;
    try_cuda(cudaMalloc(&sorted, count * sizeof(Key)));
    try_cuda(cudaMalloc(&ordered, count * sizeof(Value)));
    try_cuda(cudaMalloc(&unique, k * sizeof(Key)));
    try_cuda(cudaMalloc(&out, k * sizeof(Value)));
    try_cuda(cudaMalloc(&runs, sizeof *runs));
    const auto sort = [&] {
        return cub::DeviceRadixSort::SortPairs(scratch, sort_bytes, keys, sorted, in, ordered,
                                               count, 0, bits, stream);
    };
    const auto reduce = [&] {
        return cub::DeviceReduce::ReduceByKey(scratch, reduce_bytes, sorted, unique, ordered, out,
                                              runs, add{}, count, stream);
    };
    try_cuda(sort());
    try_cuda(reduce());
    sort_bytes = reduce_bytes = std::max(sort_bytes, reduce_bytes);
    try_cuda(cudaMalloc(&scratch, sort_bytes));
    const double us = time_calls<12>([&](int) {
                          try_cuda(sort());
                          try_cuda(reduce());
                      }).gpu_us;
    for (void *each :
         {(void *)sorted, (void *)ordered, (void *)unique, (void *)out, (void *)runs, scratch})
        cudaFree(each);
    return us;
}

double time_read(long long bytes) {
    const redtune_problem problem =
        redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, (uint64_t)bytes / 4);
    float *in, *out;
    try_cuda(cudaMalloc(&in, bytes));
    try_cuda(cudaMalloc(&out, sizeof *out));
    try_cuda(cudaMemset(in, 0, bytes));
    const double us = time_calls<12>([&](int) {
                          try_redtune(redtune_reduce(tuned, &problem, in, out, stream, &err));
                      }).gpu_us;
    cudaFree(in);
    cudaFree(out);
    return us;
}

struct problem_by_key {
    redtune_problem problem;
    const void *in, *keys;
    std::vector<double> sums, sizes; // of each key, and of magnitudes
};

// Whether the results are within docs/keys.md's bound, and that of narrowing them.
bool is_right(const problem_by_key &self, const unsigned char *out) {
    redtune_dtype dtype;
    redtune_dtype_info info;
    try_redtune(redtune_problem_result(&self.problem, &dtype, &err));
    try_redtune(redtune_dtype_get(dtype, &info, &err));
    std::vector<unsigned char> got(self.sums.size() * info.bytes);
    try_cuda(cudaMemcpy(got.data(), out, got.size(), cudaMemcpyDeviceToHost));
    const double unit = info.kind != 'f' ? 0 : info.bytes == 2 ? 0x1p-7 : 0x1p-23;
    for (size_t k = 0; k < self.sums.size(); k++) {
        redtune_value value = {};
        std::memcpy(value.bytes, &got[k * info.bytes], info.bytes);
        const double off = std::fabs(redtune_value_real(dtype, &value) - self.sums[k]);
        if (!(off <= 0x1p-18 * self.sizes[k] * (unit > 0) + unit * std::fabs(self.sums[k])))
            return false;
    }
    return true;
}

double time_redtune(redtune *rt, const problem_by_key &self, std::string *config) {
    redtune_plan *plan;
    unsigned char *out;
    redtune_keyed keyed = {};
    try_cuda(cudaMalloc(&out, self.sums.size() * 8));
    keyed.d_in = self.in;
    keyed.d_keys = self.keys;
    keyed.count = (uint64_t)count;
    keyed.d_out[0] = out;
    try_redtune(redtune_plan_create(rt, &self.problem, &plan, &err));
    *config = redtune_plan_config(plan);
    const double us = time_calls<12>([&](int) {
                          try_redtune(redtune_plan_run_keyed(plan, &keyed, stream, &err));
                      }).gpu_us;
    if (!is_right(self, out)) {
        *config += " WRONG";
        wrong = true;
    }
    redtune_plan_destroy(plan);
    cudaFree(out);
    return us;
}

// ---- rows of the table ----------------------------------------------------------------------

template <class Value, class Key>
void race(redtune_dtype dtype, redtune_dtype key_dtype, spread how, long long k) {
    const std::vector<long long> wide = make_keys(how, k);
    std::vector<Value> host(count);
    std::vector<Key> host_keys(count);
    problem_by_key self = {
        redtune_problem_by_key(REDTUNE_SUM, dtype, key_dtype, (uint64_t)k, (uint64_t)count),
        nullptr, nullptr, std::vector<double>(k), std::vector<double>(k)};
    for (long long i = 0; i < count; i++) {
        host[i] = (Value)(float)values[i];
        if (dtype == REDTUNE_I32) host[i] = (Value)(float)(i % 5 - 2);
        host_keys[i] = (Key)wide[i];
        self.sums[wide[i]] += (double)host[i];
        self.sizes[wide[i]] += std::fabs((double)host[i]);
    }
    Value *in = upload(host);
    Key *keys = upload(host_keys);
    self.in = in;
    self.keys = keys;
    std::string configs[2];
    const double read = time_read(count * (long long)(sizeof(Value) + sizeof(Key)));
    const double usual = time_redtune(by_default, self, &configs[0]);
    self.problem.spread = said[how];
    const double best = time_redtune(tuned, self, &configs[1]);
    const double cub = time_cub(in, keys, k);
    std::printf("%-5s %-4s %-12s %7lld %8.1f %8.1f %6.2f %8.1f %6.2f %9.1f %6.1f  %s%s%s\n",
                redtune_dtype_name(dtype), redtune_dtype_name(key_dtype), names[how], k, read,
                usual, usual / read, best, best / read, cub, cub / best, configs[0].c_str(),
                configs[0] == configs[1] ? "" : " | ",
                configs[0] == configs[1] ? "" : configs[1].c_str());
    std::fflush(stdout);
    cudaFree(in);
    cudaFree(keys);
}

void open_both() {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    tuned = open_first_gpu();
    setenv("REDTUNE_SYSTEM_DB", "", 1);
    try_redtune(redtune_open(&options, &by_default, &err));
}

} // namespace

int main(int argc, char **argv) {
    if (argc > 1) count = std::atoll(argv[1]);
    open_both();
    for (long long i = 0; i < count; i++) values.push_back(draw());
    std::printf("%-5s %-4s %-12s %7s %8s %8s %6s %8s %6s %9s %6s  %s\n", "us of", "keys", "spread",
                "K", "read", "default", "/read", "tuned", "/read", "cub", "/tuned",
                "default's config | tuned");
    for (long long k : {8, 64, 256, 1024, 4096, 16384, 50000})
        for (int how = 0; how < SPREADS; how++)
            race<float, int>(REDTUNE_F32, REDTUNE_I32, (spread)how, k);
    race<float, int>(REDTUNE_F32, REDTUNE_I32, UNIFORM, 1 << 20);
    for (long long k : {256, 4096})
        for (spread how : {UNIFORM, LOG_UNIFORM}) {
            race<float, long long>(REDTUNE_F32, REDTUNE_I64, how, k);
            race<__half, int>(REDTUNE_F16, REDTUNE_I32, how, k);
            race<__nv_bfloat16, int>(REDTUNE_BF16, REDTUNE_I32, how, k);
            race<double, int>(REDTUNE_F64, REDTUNE_I32, how, k);
            race<int, int>(REDTUNE_I32, REDTUNE_I32, how, k);
        }
    redtune_close(by_default);
    redtune_close(tuned);
    return wrong;
}
