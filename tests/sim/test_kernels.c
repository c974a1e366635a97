/* Reductions as NVRTC compiles them: every answer against the host's, clean of every check. */
#include "bench.h"

#include <math.h>
#include <time.h>

enum { OUT_BYTES = 8, SCRATCH_BYTES = 1 << 16 };

enum kind {
    SUM_I8,
    SUM_U16,
    SUM_I32,
    SUM_F16,
    SUM_BF16,
    SUM_F32,
    SUM_F64,
    PRODUCT_I32,
    MAX_U8,
    MAX_F32,
    MIN_U64,
    KINDS
};

static const struct {
    const char *name;
    unsigned int element_bytes, result_bytes, block;
} kernels[KINDS] = {
    [SUM_I8] = {"sum_i8", 1, 8, 256},      [SUM_U16] = {"sum_u16", 2, 8, 128},
    [SUM_I32] = {"sum_i32", 4, 8, 64},     [SUM_F16] = {"sum_f16", 2, 4, 128},
    [SUM_BF16] = {"sum_bf16", 2, 4, 1024}, [SUM_F32] = {"sum_f32", 4, 4, 256},
    [SUM_F64] = {"sum_f64", 8, 8, 256},    [PRODUCT_I32] = {"product_i32", 4, 8, 32},
    [MAX_U8] = {"max_u8", 1, 1, 512},      [MAX_F32] = {"max_f32", 4, 4, 256},
    [MIN_U64] = {"min_u64", 8, 8, 128},
};

static const unsigned long long counts[] = {0, 1, 31, 32, 33, 255, 256, 257, 4095, 4097, 65537};

enum { COUNTS = sizeof counts / sizeof *counts };

static char *read_file(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SIM_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    size_t length = file && text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    CHECK(length > 0);
    if (file) fclose(file);
    return text;
}

/* Small integers: every partial sum is exact in every type, so answers are equal to the bit. */
static long long value_at(unsigned long long i) {
    return (long long)((i * 2654435761u) >> 7) % 7 - 3;
}

static void store(enum kind kind, void *at, unsigned long long i) {
    static const unsigned short f16_bits[7] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
    static const unsigned short bf16_bits[7] = {0xc040, 0xc000, 0xbf80, 0, 0x3f80, 0x4000, 0x4040};
    long long v = value_at(i);
    signed char byte = (signed char)v;
    unsigned char unsigned_byte = (unsigned char)(i * 37 % 251);
    unsigned short half = (unsigned short)(v + 3);
    int word = kind == PRODUCT_I32 ? (i % 97 == 5 ? 3 : 1) : (int)v;
    float f = (float)v;
    double d = (double)v;
    unsigned long long wide = (i + 77) * 0x9E3779B97F4A7C15ull;
    switch ((int)kind) {
    case SUM_I8: memcpy(at, &byte, 1); break;
    case MAX_U8: memcpy(at, &unsigned_byte, 1); break;
    case SUM_U16: memcpy(at, &half, 2); break;
    case SUM_F16: memcpy(at, &f16_bits[v + 3], 2); break;
    case SUM_BF16: memcpy(at, &bf16_bits[v + 3], 2); break;
    case SUM_I32:
    case PRODUCT_I32: memcpy(at, &word, 4); break;
    case SUM_F32:
    case MAX_F32: memcpy(at, &f, 4); break;
    case SUM_F64: memcpy(at, &d, 8); break;
    default: memcpy(at, &wide, 8); break;
    }
}

/* The result's bits, worked out on the host. */
static unsigned long long expected(enum kind kind, unsigned long long count) {
    long long sum = 0, product = 1, most = 0;
    unsigned long long least = UINT64_MAX, bits = 0;
    unsigned int top = 0;
    for (unsigned long long i = 0; i < count; i++) {
        long long v = value_at(i);
        unsigned long long wide = (i + 77) * 0x9E3779B97F4A7C15ull;
        sum += kind == SUM_U16 ? v + 3 : v;
        if (i % 97 == 5) product = (long long)((unsigned long long)product * 3);
        if (v > most) most = v;
        if (i * 37 % 251 > top) top = (unsigned int)(i * 37 % 251);
        if (wide < least) least = wide;
    }
    float f = (float)(kind == MAX_F32 ? most : sum);
    double d = (double)sum;
    switch ((int)kind) {
    case SUM_F16:
    case SUM_BF16:
    case SUM_F32:
    case MAX_F32: memcpy(&bits, &f, 4); return bits;
    case SUM_F64: memcpy(&bits, &d, 8); return bits;
    case PRODUCT_I32: return (unsigned long long)product;
    case MAX_U8: return top;
    case MIN_U64: return least;
    default: return (unsigned long long)sum;
    }
}

static void run_one(CUfunction function, enum kind kind, unsigned long long count,
                    unsigned int misaligned, CUdeviceptr scratch) {
    size_t size = kernels[kind].element_bytes;
    unsigned char *host = malloc(count * size + 1);
    unsigned long long got = 0;
    if (!host) return;
    for (unsigned long long i = 0; i < count; i++) store(kind, host + i * size, i);
    /* As long as the input and not a byte longer, so that any read beyond it is found. */
    CUdeviceptr base = bench_buffer((count + misaligned) * size + (count + misaligned == 0), NULL);
    CUdeviceptr input = base + misaligned * size, out = bench_buffer(OUT_BYTES, NULL);
    if (count) CHECK(cuMemcpyHtoD_v2(input, host, count * size) == CUDA_SUCCESS);
    void *params[] = {&input, &count, &out, &scratch};
    unsigned int grid = count < 300 ? 1 + (unsigned int)(count % 3) : 9;
    CUresult rc = bench_launch(function, grid, kernels[kind].block, params);
    if (rc == CUDA_SUCCESS) rc = cuMemcpyDtoH_v2(&got, out, kernels[kind].result_bytes);
    bool right = rc == CUDA_SUCCESS && got == expected(kind, count) && !redtune_sim_findings();
    CHECK(right);
    if (!right) {
        struct redtune_sim_finding finding;
        fprintf(stderr, "%s count %llu: error %d, got 0x%llx and not 0x%llx\n", kernels[kind].name,
                count, rc, got, expected(kind, count));
        if (redtune_sim_finding(0, &finding)) fprintf(stderr, "found: %s\n", finding.text);
    }
    cuMemFree_v2(base);
    cuMemFree_v2(out);
    free(host);
}

static void run_file(const char *name, const char *capability, unsigned int seeds) {
    static const unsigned char zeros[SCRATCH_BYTES];
    char *ptx = read_file(name);
    for (unsigned int seed = 0; seed < seeds; seed++) {
        char seed_setting[32], capability_setting[32];
        snprintf(seed_setting, sizeof seed_setting, "SEED=%u", seed * 7919);
        snprintf(capability_setting, sizeof capability_setting, "CAPABILITY=%s", capability);
        bench_start((const char *const[]){seed_setting, capability_setting, NULL});
        for (int kind = 0; kind < KINDS; kind++) {
            CUfunction function = bench_function(ptx, kernels[kind].name);
            CUdeviceptr scratch = bench_buffer(SCRATCH_BYTES, zeros);
            for (int c = 0; function && c < COUNTS; c++) {
                run_one(function, (enum kind)kind, counts[c], (unsigned int)(c + kind) % 3,
                        scratch);
            }
        }
    }
    free(ptx);
}

FACT(kernels_of_nvrtc_13_for_sm_90_are_right) { run_file("kernels-nvrtc13-sm_90.ptx", "90", 3); }

FACT(kernels_of_nvrtc_13_for_sm_100_are_right) { run_file("kernels-nvrtc13-sm_100.ptx", "100", 2); }

FACT(kernels_of_nvrtc_12_for_sm_75_are_right) { run_file("kernels-nvrtc12-sm_75.ptx", "75", 2); }

FACT(kernels_for_a_later_device_are_refused) {
    char *ptx = read_file("kernels-nvrtc13-sm_100.ptx");
    CUmodule module;
    bench_start(NULL);
    CHECK_EQUAL(cuModuleLoadData(&module, ptx), CUDA_ERROR_NO_BINARY_FOR_GPU);
    free(ptx);
}

FACT(nan_wins_a_maximum) {
    float values[300], got = 0;
    unsigned long long count = 300;
    static const unsigned char zeros[SCRATCH_BYTES];
    char *ptx = read_file("kernels-nvrtc13-sm_90.ptx");
    bench_start(NULL);
    CUfunction function = bench_function(ptx, "max_f32");
    CUdeviceptr scratch = bench_buffer(SCRATCH_BYTES, zeros), out = bench_buffer(OUT_BYTES, NULL);
    for (unsigned int at = 0; at < 300; at += 23) {
        for (unsigned int i = 0; i < 300; i++) values[i] = i == at ? NAN : (float)i;
        CUdeviceptr input = bench_buffer(sizeof values, values);
        void *params[] = {&input, &count, &out, &scratch};
        CHECK(bench_launch(function, 2, 256, params) == CUDA_SUCCESS);
        CHECK(cuMemcpyDtoH_v2(&got, out, sizeof got) == CUDA_SUCCESS);
        CHECK(isnan(got));
        cuMemFree_v2(input);
    }
    free(ptx);
}

/* The same launch gives the same counters and time with the same seed. */
FACT(time_is_deterministic) {
    struct redtune_sim_counters first, second;
    static const unsigned char zeros[SCRATCH_BYTES];
    char *ptx = read_file("kernels-nvrtc13-sm_90.ptx");
    struct redtune_sim_counters *const runs[] = {&first, &second};
    for (int i = 0; i < 2; i++) {
        bench_start((const char *const[]){"SEED=3", NULL});
        CUfunction function = bench_function(ptx, "sum_f32");
        run_one(function, SUM_F32, 65537, 1, bench_buffer(SCRATCH_BYTES, zeros));
        CHECK(redtune_sim_counters(runs[i]));
    }
    CHECK(memcmp(&first, &second, sizeof first) == 0);
    CHECK(first.time_ns > 0);
    free(ptx);
}

/* Not a fact but a figure: lane-instructions per second of the interpreter, on one core. */
static void print_speed(void) {
    enum { COUNT = 1 << 22 };
    static const unsigned char zeros[SCRATCH_BYTES];
    unsigned long long count = COUNT;
    char *ptx = read_file("kernels-nvrtc13-sm_90.ptx");
    unsigned char *host = malloc((size_t)COUNT * 8);
    if (!host) return;
    for (int kind = 0; kind < KINDS; kind++) {
        struct redtune_sim_counters counters;
        struct timespec begin, end;
        size_t size = kernels[kind].element_bytes;
        bench_start(NULL);
        CUfunction function = bench_function(ptx, kernels[kind].name);
        for (size_t i = 0; i < COUNT; i++) store((enum kind)kind, host + i * size, i);
        CUdeviceptr input = bench_buffer(COUNT * size, host), out = bench_buffer(OUT_BYTES, NULL);
        CUdeviceptr scratch = bench_buffer(SCRATCH_BYTES, zeros);
        void *params[] = {&input, &count, &out, &scratch};
        clock_gettime(CLOCK_MONOTONIC, &begin);
        CHECK(bench_launch(function, 32, kernels[kind].block, params) == CUDA_SUCCESS);
        clock_gettime(CLOCK_MONOTONIC, &end);
        redtune_sim_counters(&counters);
        double seconds =
            (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
        printf("%-12s %6.1f ms %6.0f million lane-instructions/s\n", kernels[kind].name,
               seconds * 1e3, (double)counters.lane_instructions / seconds * 1e-6);
    }
    free(host);
    free(ptx);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--speed") == 0) {
        print_speed();
        return 0;
    }
    int rc = fact_run(argc, argv);
    redtune_sim_reset();
    return rc;
}
