/* Summary: the ratios of all rows of one op, dtype and mode. */
#pragma once

#include <stddef.h>
#include "bench/row.h"

/* Ratios as they come. Starts zeroed. */
typedef struct bench_ratios {
    size_t n;
    double log_sum;
    double min, max; /* 0 while there are none */
} bench_ratios;

/* Adds top / bottom; nothing where either was not measured (0 or less). */
void bench_ratios_add(bench_ratios *ratios, double top, double bottom);
/* Adds all that other holds. */
void bench_ratios_merge(bench_ratios *ratios, const bench_ratios *other);
/* The geometric mean; 0 of none. */
double bench_ratios_mean(const bench_ratios *ratios);

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
