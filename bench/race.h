/* Race: all contestants of one problem, checked against one another and timed interleaved. */
#pragma once

#include "bench/timer.h"

typedef struct bench_result {
    unsigned char bytes[BENCH_OUTPUT_BYTES];
} bench_result;

enum { BENCH_RACE_MAX = 8 }; /* contestants */

/* Runs every contestant, by bench_contestant_id, but the floor once on the same input and compares
 * their results, of that dtype; rounds: sums of floats, which may differ. *agree is whether they
 * agree, and if not, err says what differs. reference becomes CUB's result. Fails if the GPU does.
 */
redtune_status bench_race_check(const bench_gpu *gpu, const bench_contestant *contestants,
                                uint64_t count, const bench_dtype *dtype, bool rounds,
                                bench_result *reference, bool *agree, redtune_error *err);

/* Times the count contestants that take part in the row's mode and fills their times. They take
 * turns sample by sample, so that a drift of the clock meets all alike. */
redtune_status bench_race_run(bench_gpu *gpu, const bench_contestant *contestants, int count,
                              int samples, const bench_row *row, bench_time *times,
                              redtune_error *err);
