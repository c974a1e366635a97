/* Summary: what is kept of the timed samples of one candidate. */
#include "tuner/summary.h"

#include <stdlib.h>

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which a fraction of the n sorted values lies, between neighbours linearly. */
static double quantile(const double *sorted, int n, double fraction) {
    double at = fraction * (n - 1);
    int below = (int)at;
    int above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

void rdt_summary_of(double *samples, int count, double *median, double *spread) {
    qsort(samples, (size_t)count, sizeof *samples, compare_doubles);
    *median = quantile(samples, count, 0.5);
    *spread = (quantile(samples, count, 0.75) - quantile(samples, count, 0.25)) / 2;
}
