/* Summary: the ratios of all rows of one op, dtype and mode. */
#include "bench/summary.h"

#include <string.h>

static const uint64_t floor_bytes_min = UINT64_C(4) << 10, floor_bytes_max = UINT64_C(1) << 30;

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
    bench_stats_add(&summary->tuned, cub, tuned);
    bench_stats_add(&summary->untuned, cub, row->times[BENCH_DEFAULT].median_ns);
    if (bytes >= floor_bytes_min && bytes <= floor_bytes_max)
        bench_stats_add(&summary->above_floor, tuned, row->times[BENCH_FLOOR].median_ns);
}

void bench_summaries_total(bench_summaries *summaries) {
    size_t count = summaries->count;
    for (size_t i = 0; i < count; i++) {
        const bench_summary *each = &summaries->list[i];
        bench_summary *total = get(summaries, each->op, "all", each->mode);
        bench_stats_merge(&total->tuned, &each->tuned);
        bench_stats_merge(&total->untuned, &each->untuned);
        bench_stats_merge(&total->above_floor, &each->above_floor);
    }
}
