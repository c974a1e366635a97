/* Sums in C++, and what the functions of redtune.hpp throw: the sum of integers in a wider type,
 * the index of the greatest, the means of a matrix's rows by a plan.
 *
 * Usage: sum_cxx [COUNT] */
#include <redtune/redtune.hpp>
#include <numeric>
#include <vector>
#include "example.h"

/* Device memory as std::span would tell of it, had the program C++20. */
template <class T> struct device_array {
    explicit device_array(const std::vector<T> &host)
        : at(static_cast<const T *>(upload(host.data(), host.size() * sizeof(T)))),
          count(host.size()) {}
    const T *data() const { return at; }
    size_t size() const { return count; }
    const T *at;
    size_t count;
};

template <class T> static T fetch(const T *device, CUstream stream) {
    T value;
    download(&value, device, sizeof value, stream);
    return value;
}

static void use_redtune(size_t count) {
    const redtunepp::runtime rt; /* of the context that is current */
    CUstream stream = make_stream();
    std::vector<int32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 1);
    const device_array<int32_t> in(numbers);
    auto *total = static_cast<int64_t *>(upload(nullptr, 8 * sizeof(int64_t)));

    rt.reduce(REDTUNE_SUM, in, total, stream); /* dtypes i32 and i64 */
    expect(fetch(total, stream) == static_cast<int64_t>(count * (count + 1) / 2), "the sum");
    rt.reduce(REDTUNE_ARGMAX, in.data(), in.size(), total, stream);
    expect(fetch(total, stream) == static_cast<int64_t>(count - 1), "the index");

    const redtune_problem rows = redtune_problem_rows(REDTUNE_MEAN, REDTUNE_I32, 1, count);
    const redtunepp::plan<int32_t, double> means(rt, rows);
    auto *mean = reinterpret_cast<double *>(total);
    redtune_operands operands = redtune_problem_operands(&rows);
    operands.d_in[0] = in.data();
    operands.d_out[0] = mean;
    means.run(operands, stream);
    expect(fetch(mean, stream) == static_cast<double>(count + 1) / 2, "the mean");
    printf("sum of %zu i32, index of the greatest, mean: right\n", count);

    const redtunepp::plan<int32_t, int64_t> plan(rt, REDTUNE_SUM, count);
    plan.reduce(in.data(), in.size(), total, stream);
    printf("config: %s %s\n", plan.info().family, plan.info().config);
    try {
        plan.reduce(nullptr, count, total, stream);
        expect(false, "that no error is thrown");
    } catch (const redtunepp::error &failed) {
        expect(failed.status == REDTUNE_INVALID, "the error's status");
        printf("thrown as meant: %s\n", failed.what());
    }
}

int main(int argc, char **argv) {
    const auto count = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1 << 20;
    try {
        start_cuda();
        use_redtune(count);
    } catch (const std::exception &failed) {
        fprintf(stderr, "%s\n", failed.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
