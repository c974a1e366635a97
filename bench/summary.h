/* Summary: the ratios of all rows of one op, dtype and mode. */
#pragma once

#include "bench/row.h"
#include "bench/stats.h"

typedef struct bench_summary {
    const char *op;
    const char *dtype; /* "all": a total */
    bench_mode mode;
    bench_ratios tuned;       /* CUB's time over the tuned plan's */
    bench_ratios untuned;     /* CUB's over the default's */
    bench_ratios above_floor; /* the tuned plan's over the floor's, from 4 KiB to 1 GiB */
} bench_summary;

enum { BENCH_SUMMARIES_MAX = 5 * 13 * BENCH_MODES };

typedef struct bench_summaries {
    bench_summary list[BENCH_SUMMARIES_MAX];
    size_t count;
} bench_summaries;

/* Adds the row to its dtype's summary. */
void bench_summaries_add(bench_summaries *summaries, const bench_row *row);
/* Appends a summary of all dtypes for each op and mode; no row may come after that. */
void bench_summaries_total(bench_summaries *summaries);
