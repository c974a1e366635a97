/* Row: one result of the race, the times of all contestants at one op, dtype, size and mode. */
#pragma once

#include <stdbool.h>
#include "bench/dtype.h"

/* enumerator, name */
#define BENCH_CONTESTANT_LIST(X)                                                                   \
    X(BENCH_CUB, "cub")                                                                            \
    X(BENCH_TUNED, "tuned")                                                                        \
    X(BENCH_DEFAULT, "default")                                                                    \
    X(BENCH_FLOOR, "floor")

#define BENCH_MODE_LIST(X)                                                                         \
    X(BENCH_COLD, "cold")     /* replayed graph, the input not in L2 */                            \
    X(BENCH_WARM, "warm")     /* replayed graph, the input in L2 as far as it fits */              \
    X(BENCH_APART, "apart")   /* like cold, with an ordinary kernel before each call */            \
    X(BENCH_STREAM, "stream") /* calls back to back on a stream, by the host's clock */

#define BENCH_FIRST(first, ...) first,
typedef enum bench_contestant_id {
    BENCH_CONTESTANT_LIST(BENCH_FIRST) BENCH_CONTESTANTS
} bench_contestant_id;
typedef enum bench_mode { BENCH_MODE_LIST(BENCH_FIRST) BENCH_MODES } bench_mode;
#undef BENCH_FIRST

enum { BENCH_SAMPLES_MAX = 255 };

typedef struct bench_time {
    double median_ns, spread_ns; /* per call; 0: not measured */
    int launches;                /* kernels per call */
    char config[256];            /* of redtune and the floor; "" for CUB */
    const char *match;           /* where redtune's config came from; NULL for the others */
} bench_time;

typedef struct bench_row {
    const char *op;
    const bench_dtype *dtype;
    uint64_t count;
    bench_mode mode;
    bench_time times[BENCH_CONTESTANTS];
    bool agree; /* the results of all contestants */
} bench_row;

const char *bench_row_contestant(bench_contestant_id id);
const char *bench_row_mode(bench_mode mode);
/* Input bytes over the contestant's time, in 10^9 bytes per second; 0 if it was not measured. */
double bench_row_gbps(const bench_row *row, bench_contestant_id id);
/* The time of top over the time of bottom; 0 if either was not measured. */
double bench_row_ratio(const bench_row *row, bench_contestant_id top, bench_contestant_id bottom);
