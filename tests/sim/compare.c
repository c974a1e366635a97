/* Runs the kernels of data/ on two drivers in one process, hardware's and the simulated one, with
 * the same inputs, and compares the results bit by bit. Exit code 77: there is no GPU. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, PTX_BYTES = 1 << 20, SCRATCH_BYTES = 1 << 16, COUNT_MAX = 70000 };

static const struct {
    const char *name;
    char letter; /* of the elements: as in struct snippet; b: bytes */
    unsigned int element_bytes, block;
} kernels[] = {
    {"sum_i8", 'b', 1, 256},  {"sum_u16", 'b', 2, 128},    {"sum_i32", 'b', 4, 64},
    {"sum_f16", 'g', 2, 128}, {"sum_bf16", 'k', 2, 1024},  {"sum_f32", 'f', 4, 256},
    {"sum_f64", 'e', 8, 256}, {"product_i32", 'b', 4, 32}, {"max_u8", 'b', 1, 512},
    {"max_f32", 'f', 4, 256}, {"min_u64", 'b', 8, 128},
};

static const unsigned long long counts[] = {0, 1, 33, 257, 4097, 65537};

enum {
    KERNELS = sizeof kernels / sizeof *kernels,
    COUNTS = sizeof counts / sizeof *counts,
    GRIDS = 3
};

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state ^ *state >> 29;
}

/* Random bits, but for floats of a moderate size, so that sums round and do not overflow. Now and
 * then an input has a NaN or an infinity in it. */
static void fill(unsigned char *to, size_t count, int kernel, uint64_t seed) {
    unsigned int size = kernels[kernel].element_bytes;
    bool has_special = seed % 5 == 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t r = next_random(&seed), v = r;
        uint64_t small = r >> 58 & 7;
        switch (kernels[kernel].letter) {
        case 'f': v = (r & 0x807fffff) | (124 + small) << 23; break;
        case 'e': v = (r & 0x800fffffffffffffull) | (1020 + small) << 52; break;
        case 'g': v = (r & 0x83ff) | (12 + small) << 10; break;
        case 'k': v = (r & 0x807f) | (124 + small) << 7; break;
        default: break;
        }
        if (has_special && kernels[kernel].letter == 'f' && r >> 45 == 0) v = 0x7fc12345;
        memcpy(to + i * size, &v, size);
    }
}

struct device {
    struct driver driver;
    CUmodule module;
    CUdeviceptr input, out, scratch;
};

static bool open_device(struct device *device, const char *file, const char *ptx) {
    const char *why = "";
    if (!driver_open(&device->driver, file, &why)) {
        fprintf(stderr, "%s: %s\n", file, why);
        return false;
    }
    const struct driver *d = &device->driver;
    return d->cuModuleLoadDataEx(&device->module, ptx, 0, NULL, NULL) == CUDA_SUCCESS &&
           d->cuMemAlloc_v2(&device->input, COUNT_MAX * 8) == CUDA_SUCCESS &&
           d->cuMemAlloc_v2(&device->out, 8) == CUDA_SUCCESS &&
           d->cuMemAlloc_v2(&device->scratch, SCRATCH_BYTES) == CUDA_SUCCESS &&
           d->cuMemsetD8_v2(device->scratch, 0, SCRATCH_BYTES) == CUDA_SUCCESS;
}

static bool run(struct device *device, int kernel, const unsigned char *data,
                unsigned long long count, unsigned int grid, uint64_t *result) {
    const struct driver *d = &device->driver;
    CUfunction function = NULL;
    CUdeviceptr input = device->input + kernels[kernel].element_bytes * (count % 3);
    void *params[] = {&input, &count, &device->out, &device->scratch};
    size_t bytes = count * kernels[kernel].element_bytes;
    *result = 0;
    return d->cuModuleGetFunction(&function, device->module, kernels[kernel].name) ==
               CUDA_SUCCESS &&
           (!bytes || d->cuMemcpyHtoD_v2(input, data, bytes) == CUDA_SUCCESS) &&
           d->cuMemsetD8_v2(device->out, 0, 8) == CUDA_SUCCESS &&
           d->cuLaunchKernel(function, grid, 1, 1, kernels[kernel].block, 1, 1, 0, NULL, params,
                             NULL) == CUDA_SUCCESS &&
           d->cuCtxSynchronize() == CUDA_SUCCESS &&
           d->cuMemcpyDtoH_v2(result, device->out, 8) == CUDA_SUCCESS;
}

/* Runs all that one kernel is asked; gives how often the two differ. */
static int compare(struct device *real, struct device *simulated, int kernel, unsigned char *data) {
    static const unsigned int grids[GRIDS] = {1, 5, 24};
    int different = 0;
    for (int c = 0; c < COUNTS; c++) {
        for (int g = 0; g < GRIDS; g++) {
            uint64_t want = 0, got = 1;
            fill(data, counts[c], kernel, (uint64_t)(c * GRIDS + g));
            bool ran = run(real, kernel, data, counts[c], grids[g], &want) &&
                       run(simulated, kernel, data, counts[c], grids[g], &got);
            if (ran && got == want) continue;
            different++;
            fprintf(stderr, "%s of %llu by %u blocks: %llx on hardware, %llx simulated%s\n",
                    kernels[kernel].name, counts[c], grids[g], (unsigned long long)want,
                    (unsigned long long)got, ran ? "" : ", or it did not run");
        }
    }
    return different;
}

/* Everything, once the kernels and a place for inputs are there. Returns main's exit code. */
static int compare_all(char **files, const char *ptx, unsigned char *data) {
    static struct device real, simulated;
    if (!open_device(&real, files[0], ptx)) return SKIPPED;
    if (!open_device(&simulated, files[1], ptx)) return 1;
    int different = 0;
    for (int k = 0; k < KERNELS; k++) different += compare(&real, &simulated, k, data);
    printf("%d of %d results are those of hardware\n", KERNELS * COUNTS * GRIDS - different,
           KERNELS * COUNTS * GRIDS);
    return different ? 1 : 0;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "compare HARDWARE SIMULATED PTX\n");
        return 2;
    }
    char *ptx = calloc(1, PTX_BYTES);
    unsigned char *data = malloc((size_t)COUNT_MAX * 8);
    FILE *file = fopen(argv[3], "rb");
    bool read = ptx && data && file && fread(ptx, 1, PTX_BYTES - 1, file) > 0;
    if (file) fclose(file);
    if (!read) fprintf(stderr, "%s: cannot be read\n", argv[3]);
    int rc = read ? compare_all(argv + 1, ptx, data) : 2;
    free(ptx);
    free(data);
    return rc;
}
