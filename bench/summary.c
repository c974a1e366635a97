/* Summary: the ratios of all rows of one op, dtype and mode. */
#include "bench/summary.h"

#include <math.h>
#include <string.h>

static const uint64_t floor_bytes_min = UINT64_C(4) << 10, floor_bytes_max = UINT64_C(1) << 30;

void bench_ratios_add(bench_ratios *ratios, double top, double bottom) {
    if (!(top > 0) || !(bottom > 0)) return;
    double ratio = top / bottom;
    bench_ratios_merge(ratios, &(bench_ratios){1, log(ratio), ratio, ratio});
}

void bench_ratios_merge(bench_ratios *ratios, const bench_ratios *other) {
    if (!other->n) return;
    if (!ratios->n || other->min < ratios->min) ratios->min = other->min;
    if (!ratios->n || other->max > ratios->max) ratios->max = other->max;
    ratios->log_sum += other->log_sum;
    ratios->n += other->n;
}

double bench_ratios_mean(const bench_ratios *ratios) {
    return ratios->n ? exp(ratios->log_sum / (double)ratios->n) : 0;
}

static bench_summary *get(bench_summaries *summaries, const char *op, const char *dtype,
                          bench_mode mode) {
    for (size_t i = 0; i < summaries->count; i++) {
        bench_summary *each = &summaries->list[i];
        if (!strcmp(each->op, op) && !strcmp(each->dtype, dtype) && each->mode == mode) return each;
    }
    bench_summary *made = &summaries->list[summaries->count++];
    *made = (bench_summary){.op = op, .dtype = dtype, .mode = mode};
    return made;
}

void bench_summaries_add(bench_summaries *summaries, const bench_row *row) {
    bench_summary *summary = get(summaries, row->op, row->dtype->name, row->mode);
    double cub = row->times[BENCH_CUB].median_ns, tuned = row->times[BENCH_TUNED].median_ns;
    uint64_t bytes = row->count * row->dtype->bytes;
    bench_ratios_add(&summary->tuned, cub, tuned);
    bench_ratios_add(&summary->untuned, cub, row->times[BENCH_DEFAULT].median_ns);
    if (bytes >= floor_bytes_min && bytes <= floor_bytes_max)
        bench_ratios_add(&summary->above_floor, tuned, row->times[BENCH_FLOOR].median_ns);
}

void bench_summaries_total(bench_summaries *summaries) {
    size_t count = summaries->count;
    for (size_t i = 0; i < count; i++) {
        const bench_summary *each = &summaries->list[i];
        bench_summary *total = get(summaries, each->op, "all", each->mode);
        bench_ratios_merge(&total->tuned, &each->tuned);
        bench_ratios_merge(&total->untuned, &each->untuned);
        bench_ratios_merge(&total->above_floor, &each->above_floor);
    }
}
