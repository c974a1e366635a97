/* Row: one result of the race, the times of all contestants at one op, dtype, size and mode. */
#include "bench/row.h"

#define SECOND(first, second, ...) second,

const char *bench_row_contestant(bench_contestant_id id) {
    static const char *const names[] = {BENCH_CONTESTANT_LIST(SECOND)};
    return names[id];
}

const char *bench_row_mode(bench_mode mode) {
    static const char *const names[] = {BENCH_MODE_LIST(SECOND)};
    return names[mode];
}

double bench_row_gbps(const bench_row *row, bench_contestant_id id) {
    double ns = row->times[id].median_ns;
    return ns > 0 ? (double)row->count * (double)row->dtype->bytes / ns : 0;
}

double bench_row_ratio(const bench_row *row, bench_contestant_id top, bench_contestant_id bottom) {
    double above = row->times[top].median_ns, below = row->times[bottom].median_ns;
    return above > 0 && below > 0 ? above / below : 0;
}
