/* Cub: CUB's DeviceReduce behind plain functions, one per op and dtype. */
#include "bench/cub.h"

#include <string.h>

static const struct {
    const char *op;
    const bench_cub_call *calls;
} table[] = {
    {"sum", bench_cub_sum},       {"min", bench_cub_min},       {"max", bench_cub_max},
    {"argmin", bench_cub_argmin}, {"argmax", bench_cub_argmax},
};

const bench_cub_call *bench_cub_find(const char *op, const char *dtype) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].op, op)) continue;
        for (const bench_cub_call *call = table[i].calls; call->dtype; call++)
            if (!strcmp(call->dtype, dtype)) return call;
    }
    return NULL;
}
