/* Pack speed: lists of arrays with gaps against lists of as many packed ones on GPU 0,
 * interleaved, and how fast the copies ahead are, by the difference. Run by hand; it takes some
 * seconds.
 *
 * A line is: the arrays, us packed, us with gaps, the second over the first, and bytes that the
 * copies read and write a second. Arrays exceed L2, except those of 10 elements.
 *
 * usage: pack_speed */
#include <stdio.h>
#include <stdlib.h>
#include "device.h"
#include "gpu/timer.h"
#include "redtune/list.h"

enum { SAMPLES = 9, CALLS = 3, ARRAYS_MAX = 20000, MOST = 3 };

static const struct {
    const char *text;
    redtune_dtype dtype;
    uint64_t arrays, apart; /* elements from one array's first to the next one's */
    size_t dimensions;
    int64_t shape[MOST], strides[MOST];
    uint64_t first; /* of each, where steps go back */
} cases[] = {
    {"1000 x 1000 of 1024 columns, f32", REDTUNE_F32, 100, 1024000, 2, {1000, 1000}, {1024, 1}, 0},
    {"1000 x 1000 of 1023 columns, f32", REDTUNE_F32, 100, 1024000, 2, {1000, 1000}, {1023, 1}, 0},
    {"2000 x 1001 of 1024 columns, bf16",
     REDTUNE_BF16,
     100,
     2048000,
     2,
     {2000, 1001},
     {1024, 1},
     0},
    {"64 x 64 of 65 columns, f32", REDTUNE_F32, 20000, 4160, 2, {64, 64}, {65, 1}, 0},
    {"10 of 11 elements each, f32", REDTUNE_F32, 20000, 128, 2, {10, 10}, {11, 1}, 0},
    {"every second of 2 Mi, f32", REDTUNE_F32, 100, 2097152, 1, {1048576}, {2}, 0},
    {"1 Mi backwards, f32", REDTUNE_F32, 100, 1048576, 1, {1048576}, {-1}, 1048575},
    {"1000 x 1000 transposed, f32", REDTUNE_F32, 100, 1000000, 2, {1000, 1000}, {1, 1000}, 0},
    {"2000 x 1000 transposed, bf16", REDTUNE_BF16, 100, 2000000, 2, {1000, 2000}, {1, 1000}, 0},
    {"1000 x 500 transposed, f64", REDTUNE_F64, 100, 500000, 2, {500, 1000}, {1, 500}, 0},
    {"3 channels last of 512 x 512, f32", REDTUNE_F32, 100, 786432, 2, {3, 262144}, {1, 3}, 0},
    {"8 x 56 x 64 x 56 permuted, f32",
     REDTUNE_F32,
     50,
     1605632,
     3,
     {448, 64, 56},
     {3584, 1, 64},
     0},
};
enum { CASES = sizeof cases / sizeof *cases };

static redtune_error err;
static device gpu;
static redtune *rt;
static rdt_buffer ones, copies, result;
static rdt_timer timer;
static uint64_t arrays; /* of the case; fewer on a simulated GPU */

static uint64_t count_of(size_t i) {
    uint64_t count = 1;
    for (size_t k = 0; k < cases[i].dimensions; k++) count *= (uint64_t)cases[i].shape[k];
    return count;
}

static redtune_status make_lists(size_t i, redtune_list *lists[2]) {
    static redtune_view views[ARRAYS_MAX];
    static const void *places[ARRAYS_MAX];
    static uint64_t counts[ARRAYS_MAX];
    const uint64_t bytes = redtune_dtype_bytes(cases[i].dtype),
                   apart = (count_of(i) + 63) / 64 * 64;
    for (uint64_t k = 0; k < arrays; k++) {
        const CUdeviceptr first = ones.address + (k * cases[i].apart + cases[i].first) * bytes;
        views[k] = (redtune_view){(const void *)(uintptr_t)first, cases[i].shape, cases[i].strides,
                                  cases[i].dimensions};
        places[k] = (const void *)(uintptr_t)(copies.address + k * apart * bytes);
        counts[k] = count_of(i);
        redtune_status status =
            redtune_pack(rt, cases[i].dtype, &views[k], (void *)places[k], gpu.stream, &err);
        if (status) return status;
    }
    redtune_status status =
        redtune_list_create(rt, cases[i].dtype, places, counts, arrays, &lists[0], &err);
    if (status) return status;
    return redtune_list_create_views(rt, cases[i].dtype, views, arrays, &lists[1], &err);
}

static redtune_status start(size_t i, const redtune_list *list) {
    redtune_problem problem =
        redtune_problem_segments(REDTUNE_NORM2, cases[i].dtype, arrays, count_of(i));
    const redtune_segments run = {.list = list, .d_out = {(void *)(uintptr_t)result.address}};
    problem.segmented = REDTUNE_SEGMENTED_ALL;
    return redtune_run_segments(rt, &problem, &run, gpu.stream, &err);
}

static int compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static redtune_status time_case(size_t i) {
    redtune_list *lists[2] = {NULL};
    double samples[2][SAMPLES] = {{0}};
    const bool simulated = device_is_simulated(&gpu); /* to see that all of it runs */
    arrays = simulated ? 1 : cases[i].arrays;
    redtune_status status = make_lists(i, lists);
    for (int s = 0; !status && s < 2; s++) status = start(i, lists[s]);
    for (int s = 0; !status && !simulated && s < 2 * SAMPLES; s++) {
        double *ns = &samples[s % 2][s / 2];
        status = rdt_timer_start(&timer, gpu.stream, &err);
        for (int k = 0; !status && k < CALLS; k++) status = start(i, lists[s % 2]);
        if (!status) status = rdt_timer_stop(&timer, gpu.stream, &err);
        if (!status) status = rdt_timer_read(&timer, ns, &err);
        *ns /= CALLS;
    }
    for (int s = 0; s < 2; s++) {
        qsort(samples[s], SAMPLES, sizeof *samples[s], compare_times);
        redtune_list_destroy(lists[s]);
    }
    const double packed = samples[0][SAMPLES / 2], gaps = samples[1][SAMPLES / 2];
    const double moved =
        2.0 * (double)(arrays * count_of(i)) * (double)redtune_dtype_bytes(cases[i].dtype);
    if (!status && !simulated)
        printf("%6llu of %-36s %9.1f %9.1f %6.2f %8.0f GB/s\n", (unsigned long long)arrays,
               cases[i].text, packed / 1e3, gaps / 1e3, gaps / packed, moved / (gaps - packed));
    fflush(stdout);
    return status;
}

int main(void) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    /* Every case fits: its arrays, and its copies. */
    const uint64_t bytes = device_is_simulated(&gpu) ? (uint64_t)1 << 24 : (uint64_t)1 << 30;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = device_ones(&gpu, bytes / 4, &ones, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, bytes, &copies, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, 64, &result, &err);
    if (!status) status = rdt_timer_create(gpu.driver, &timer, &err);
    if (!status) printf("# %s: arrays, us packed, us with gaps\n", gpu.context->facts.name);
    for (size_t i = 0; !status && i < CASES; i++) status = time_case(i);
    if (status) fprintf(stderr, "pack_speed: %s\n", err.message);
    rdt_timer_destroy(&timer);
    rdt_buffer_destroy(&ones);
    rdt_buffer_destroy(&copies);
    rdt_buffer_destroy(&result);
    redtune_close(rt);
    device_close(&gpu);
    return status ? 1 : 0;
}
