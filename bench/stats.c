/* Stats: what ratios of times come to. */
#include "bench/stats.h"

#include <math.h>

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
