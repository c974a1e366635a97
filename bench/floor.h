/* Floor: a contestant that reads the same bytes and sums them within each block, but never combines
 * the blocks: what any reduction takes at the least. */
#pragma once

#include "bench/timer.h"

/* Whether there is one for the row: for sums of whole vectors in replayed graphs. */
bool bench_floor_has(const bench_row *row);
/* Searches the shapes of launch that redtune has, for the fastest at the row's dtype, count and
 * mode, and opens it. Fills the config of row->times[BENCH_FLOOR]. sum is what the blocks' sums
 * must come to, of dtype result. */
redtune_status bench_floor_open(bench_gpu *gpu, bench_row *row, const bench_dtype *result,
                                const void *sum, bench_contestant *out, redtune_error *err);
