/* Timer: one contestant on one problem, ready to be timed again and again. */
#pragma once

#include "bench/gpu.h"
#include "bench/row.h"

/* Queues one reduction of count elements at in into out. */
typedef redtune_status bench_reduce_fn(void *self, const void *in, uint64_t count, void *out,
                                       cudaStream_t stream, redtune_error *err);

typedef struct bench_contestant {
    bench_reduce_fn *reduce; /* NULL: does not take part */
    void *self;
    void (*close)(void *self); /* NULL: nothing to free */
} bench_contestant;

/* Public to be read only. */
typedef struct bench_timer {
    bench_gpu *gpu;
    bench_contestant contestant;
    bench_mode mode;
    uint64_t count;
    size_t element_bytes;
    int calls;                           /* in what is timed at a time */
    int launches;                        /* kernels of one call */
    cudaGraphExec_t graph, idle_graph;   /* idle_graph: only what keeps calls apart; may be NULL */
    double sample_ns[BENCH_SAMPLES_MAX]; /* per call */
    int samples;
} bench_timer;

/* Starts the timer of a contestant that has run before, so that its kernels are loaded. */
redtune_status bench_timer_open(bench_gpu *gpu, const bench_contestant *contestant, bench_mode mode,
                                const bench_dtype *dtype, uint64_t count, bench_timer *out,
                                redtune_error *err);
void bench_timer_close(bench_timer *timer);
/* Adds a sample. */
redtune_status bench_timer_sample(bench_timer *timer, redtune_error *err);
/* The samples so far (at least one) and the launches. Sorts the samples. */
void bench_timer_summary(bench_timer *timer, bench_time *out);
