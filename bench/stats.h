/* Stats: what ratios of times come to. */
#pragma once

#include <stddef.h>

/* Ratios as they come. Starts zeroed. */
typedef struct bench_ratios {
    size_t n;
    double log_sum;
    double min, max; /* 0 while there are none */
} bench_ratios;

/* Adds top / bottom; nothing where either was not measured (0 or less). */
void bench_stats_add(bench_ratios *ratios, double top, double bottom);
/* Adds all that other holds. */
void bench_stats_merge(bench_ratios *ratios, const bench_ratios *other);
/* The geometric mean; 0 of none. */
double bench_stats_mean(const bench_ratios *ratios);
