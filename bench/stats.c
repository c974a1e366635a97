/* Stats: what samples of a time, and ratios of times, come to. */
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare_values(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which a fraction of the n sorted values lies, between neighbours linearly. */
static double bench_quantile(const double *sorted, size_t n, double fraction) {
    double at = fraction * (double)(n - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

void bench_stats_summary(double *values, size_t n, double *median, double *spread) {
    qsort(values, n, sizeof *values, compare_values);
    *median = bench_quantile(values, n, 0.5);
    *spread = (bench_quantile(values, n, 0.75) - bench_quantile(values, n, 0.25)) / 2;
}

void bench_stats_add(bench_ratios *ratios, double top, double bottom) {
    if (!(top > 0) || !(bottom > 0)) return;
    double ratio = top / bottom;
    bench_stats_merge(ratios, &(bench_ratios){1, log(ratio), ratio, ratio});
}

void bench_stats_merge(bench_ratios *ratios, const bench_ratios *other) {
    if (!other->n) return;
    if (!ratios->n || other->min < ratios->min) ratios->min = other->min;
    if (!ratios->n || other->max > ratios->max) ratios->max = other->max;
    ratios->log_sum += other->log_sum;
    ratios->n += other->n;
}

double bench_stats_mean(const bench_ratios *ratios) {
    return ratios->n ? exp(ratios->log_sum / (double)ratios->n) : 0;
}
