/* Cub: CUB's DeviceReduce behind plain functions, one per op and dtype. */
#include "bench/cub.h"

#include <string.h>

static const struct {
    const char *op;
    bool fixed;
    const bench_cub_call *calls;
} table[] = {
    {"sum", false, bench_cub_sum},       {"sum", true, bench_cub_sum_fixed},
    {"min", false, bench_cub_min},       {"max", false, bench_cub_max},
    {"argmin", false, bench_cub_argmin}, {"argmax", false, bench_cub_argmax},
};

const bench_cub_call *bench_cub_find(const char *op, const char *dtype, bool fixed) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].op, op) || table[i].fixed != fixed) continue;
        for (const bench_cub_call *call = table[i].calls; call->dtype; call++)
            if (!strcmp(call->dtype, dtype)) return call;
    }
    return NULL;
}
