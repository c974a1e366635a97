/* Floor: a contestant that reads the same bytes and sums them within each block, but never combines
 * the blocks. */
#include "bench/floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/floor_kernels.h"
#include "bench/race.h"

enum {
    SHAPES_MAX = 6 * 4 * 7,
    BLOCKS_PER_SM_MAX = 64,
    PASSES_MAX = 8,          /* of a thread over its share, else the GPU must be kept busy */
    SM_BYTES_MIN = 8 * 1024, /* on their way to one multiprocessor, to keep it busy */
    SCREEN_SAMPLES = 3,
    FINALISTS = 6,
    FINAL_SAMPLES = 11,
    PARTIAL_BYTES = 8,
};

_Static_assert((int)FINALISTS <= (int)BENCH_RACE_MAX, "the finalists race at once");

/* A shape this much slower than the best so far is out after its first sample. */
static const double screen_margin = 1.25;

typedef struct shape {
    bench_floor_run *run;
    bench_floor_launch launch;
    int threads, unroll;
    void *partials;
    double median_ns; /* when screened */
} shape;

bool bench_floor_has(const bench_row *row) {
    return !strcmp(row->op, "sum") && row->mode != BENCH_STREAM &&
           row->count * row->dtype->bytes % BENCH_VECTOR_BYTES == 0;
}

/* ---- the contestant ------------------------------------------------------------------------ */

static redtune_status run_shape(void *self, const void *in, uint64_t count, void *out,
                                cudaStream_t stream, redtune_error *err) {
    const shape *mine = self;
    (void)count, (void)out;
    return bench_gpu_check(mine->run(&mine->launch, in, mine->partials, stream), err,
                           "run the floor");
}

static void close_shape(void *self) {
    shape *mine = self;
    cudaFree(mine->partials);
    free(mine);
}

/* ---- the shapes ---------------------------------------------------------------------------- */

/* Whether the blocks ask for enough at a time to be among the fastest. */
static bool keeps_busy(const bench_gpu *gpu, const shape *each) {
    uint64_t threads = (uint64_t)each->launch.blocks * (uint64_t)each->threads;
    uint64_t vectors = threads * (uint64_t)each->unroll; /* on their way together */
    return vectors * PASSES_MAX >= each->launch.vectors ||
           vectors * BENCH_VECTOR_BYTES >= (uint64_t)gpu->sm_count * SM_BYTES_MIN;
}

/* The grids of redtune's own space for blocks of that shape; none where a tile is mostly idle. */
static int list_grids(const bench_gpu *gpu, shape each, shape *list) {
    uint64_t tile = (uint64_t)each.threads * (uint64_t)each.unroll;
    uint64_t tiles = (each.launch.vectors + tile - 1) / tile;
    bool idle = tiles == 1 && tile > 32 && tile >= 2 * each.launch.vectors;
    uint64_t blocks = 0;
    int n = 0;
    for (uint64_t per_sm = 1; per_sm <= BLOCKS_PER_SM_MAX && blocks < tiles && !idle; per_sm *= 2) {
        blocks = per_sm * (uint64_t)gpu->sm_count;
        if (blocks > tiles) blocks = tiles;
        each.launch.blocks = (unsigned)blocks;
        if (keeps_busy(gpu, &each)) list[n++] = each;
    }
    return n;
}

static int list_shapes(const bench_gpu *gpu, const bench_row *row, void *partials,
                       shape list[SHAPES_MAX]) {
    shape each = {.partials = partials};
    each.launch.vectors = row->count * row->dtype->bytes / BENCH_VECTOR_BYTES;
    each.launch.overlap = gpu->overlaps;
    int n = 0;
    for (each.threads = 32; each.threads <= 1024; each.threads *= 2)
        for (each.unroll = 1; each.unroll <= 8; each.unroll *= 2) {
            each.run = bench_floor_find(row->dtype->name, each.threads, each.unroll);
            n += list_grids(gpu, each, list + n);
        }
    return n;
}

static redtune_status screen(bench_gpu *gpu, const bench_row *row, shape *each, double *best_ns,
                             redtune_error *err) {
    bench_contestant contestant = {run_shape, each, NULL};
    /* The first run pays for loading the kernel, which a capture must not. */
    redtune_status status = run_shape(each, gpu->pool, row->count, NULL, gpu->stream, err);
    if (!status) status = bench_gpu_wait(gpu, err);
    if (status) return status;
    bench_timer timer;
    status = bench_timer_open(gpu, &contestant, row->mode, row->dtype, row->count, &timer, err);
    if (status) return status;
    bench_time time;
    status = bench_timer_sample(&timer, err);
    if (!status && timer.sample_ns[0] < screen_margin * *best_ns)
        for (int i = 1; !status && i < SCREEN_SAMPLES; i++)
            status = bench_timer_sample(&timer, err);
    if (!status) {
        bench_timer_summary(&timer, &time);
        each->median_ns = time.median_ns;
        if (time.median_ns < *best_ns) *best_ns = time.median_ns;
    }
    bench_timer_close(&timer);
    return status;
}

static int compare_shapes(const void *a, const void *b) {
    const shape *x = a, *y = b;
    return (x->median_ns > y->median_ns) - (x->median_ns < y->median_ns);
}

/* The fastest of the finalists, interleaved. */
static redtune_status decide(bench_gpu *gpu, const bench_row *row, shape *list, int n,
                             shape *winner, redtune_error *err) {
    bench_contestant contestants[FINALISTS];
    bench_time times[FINALISTS];
    int best = 0;
    for (int i = 0; i < n; i++) contestants[i] = (bench_contestant){run_shape, &list[i], NULL};
    redtune_status status = bench_race_run(gpu, contestants, n, FINAL_SAMPLES, row, times, err);
    if (status) return status;
    for (int i = 1; i < n; i++)
        if (times[i].median_ns < times[best].median_ns) best = i;
    *winner = list[best];
    return REDTUNE_OK;
}

static redtune_status search(bench_gpu *gpu, const bench_row *row, void *partials, shape *winner,
                             redtune_error *err) {
    shape list[SHAPES_MAX];
    int n = list_shapes(gpu, row, partials, list);
    double best_ns = 1e18;
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < n; i++) status = screen(gpu, row, &list[i], &best_ns, err);
    if (status) return status;
    qsort(list, (size_t)n, sizeof *list, compare_shapes);
    return decide(gpu, row, list, n < FINALISTS ? n : FINALISTS, winner, err);
}

/* ---- opening it ---------------------------------------------------------------------------- */

static redtune_status check_floor(bench_gpu *gpu, const shape *winner, const bench_row *row,
                                  const bench_dtype *result, const void *sum, redtune_error *err) {
    size_t bytes = (size_t)winner->launch.blocks * PARTIAL_BYTES;
    unsigned char *partials = malloc(bytes);
    if (!partials) return rdt_fail(err, REDTUNE_MEMORY, 0, "cannot check the floor: no memory");
    redtune_status status =
        run_shape((void *)winner, gpu->pool, row->count, NULL, gpu->stream, err);
    if (!status) status = bench_gpu_wait(gpu, err);
    if (!status)
        status =
            bench_gpu_check(cudaMemcpy(partials, winner->partials, bytes, cudaMemcpyDeviceToHost),
                            err, "copy the floor's sums");
    unsigned char mine[PARTIAL_BYTES];
    if (!status) bench_dtype_sum(result, partials, winner->launch.blocks, PARTIAL_BYTES, mine);
    if (!status && !bench_dtype_agree(result, true, row->count, sum, mine))
        status = rdt_fail(err, REDTUNE_WRONG, 0,
                          "the floor's blocks do not come to the sum of %s with %d threads, "
                          "unroll %d and %u blocks",
                          row->dtype->name, winner->threads, winner->unroll, winner->launch.blocks);
    free(partials);
    return status;
}

redtune_status bench_floor_open(bench_gpu *gpu, bench_row *row, const bench_dtype *result,
                                const void *sum, bench_contestant *out, redtune_error *err) {
    shape *winner = calloc(1, sizeof *winner);
    if (!winner) return rdt_fail(err, REDTUNE_MEMORY, 0, "cannot time the floor: no memory");
    void *partials = NULL;
    size_t bytes = (size_t)gpu->sm_count * BLOCKS_PER_SM_MAX * PARTIAL_BYTES;
    redtune_status status =
        bench_gpu_check(cudaMalloc(&partials, bytes), err, "allocate the floor's sums");
    if (!status) status = search(gpu, row, partials, winner, err);
    if (!status) status = check_floor(gpu, winner, row, result, sum, err);
    if (status) {
        cudaFree(partials);
        free(winner);
        return status;
    }
    bench_time *time = &row->times[BENCH_FLOOR];
    snprintf(time->config, sizeof time->config, "block=%d,unroll=%d,blocks=%u", winner->threads,
             winner->unroll, winner->launch.blocks);
    *out = (bench_contestant){run_shape, winner, close_shape};
    return REDTUNE_OK;
}
