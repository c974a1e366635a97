/* Race: all contestants of one problem, checked against one another and timed in turns. */
#pragma once

#include "bench/timer.h"

typedef struct bench_result {
    unsigned char bytes[BENCH_OUTPUT_BYTES];
} bench_result;

/* The contestants of a problem, by bench_contestant_id. */
typedef struct bench_field {
    bench_contestant contestants[BENCH_CONTESTANTS];
} bench_field;

/* Runs every contestant but the floor once on the same input and compares their results, of that
 * dtype; rounds: sums of floats, which may differ. *agree is whether they agree, and if not, err
 * says what differs. reference becomes CUB's result. Fails if the GPU does. */
redtune_status bench_race_check(const bench_gpu *gpu, const bench_field *field, uint64_t count,
                                const bench_dtype *dtype, bool rounds, bench_result *reference,
                                bool *agree, redtune_error *err);

/* Times the contestants in row->mode and fills row->times. They take turns sample by sample, so
 * that a drift of the clock meets all alike. */
redtune_status bench_race_run(bench_gpu *gpu, const bench_field *field, int samples, bench_row *row,
                              redtune_error *err);
