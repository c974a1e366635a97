/* Dry: the report of a run whose times are made up, to look at the output without a GPU. */
#include "bench/dry.h"

static const bench_scene scene = {
    .gpu = "no GPU (made-up times)",
    .database = "no database",
    .peak_gbps = 1000,
    .sm_count = 1,
    .l2_bytes = 4 << 20,
    .driver_version = 13000,
    .cub_version = 300000,
};

/* A fixed time to start, and the bus. */
static bench_time make_time(const bench_row *row, double start_ns, int launches) {
    double bytes = (double)row->count * (double)row->dtype->bytes;
    double ns = start_ns + bytes / scene.peak_gbps;
    return (bench_time){.median_ns = ns, .spread_ns = ns / 100, .launches = launches};
}

static bench_row make_row(const bench_options *options, const char *op, const bench_dtype *dtype,
                          uint64_t count, bench_mode mode) {
    bench_row row = {.op = op, .dtype = dtype, .count = count, .mode = mode, .agree = true};
    row.times[BENCH_CUB] = make_time(&row, 3000, 2);
    row.times[BENCH_TUNED] = make_time(&row, 2000, 1);
    row.times[BENCH_TUNED].match = "exact";
    row.times[BENCH_DEFAULT] = make_time(&row, 2500, 1);
    row.times[BENCH_DEFAULT].match = "default";
    if (options->floor && mode != BENCH_STREAM) row.times[BENCH_FLOOR] = make_time(&row, 1500, 1);
    return row;
}

static redtune_status add_modes(const bench_options *options, const char *op,
                                const bench_dtype *dtype, uint64_t count, bench_report *report,
                                redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int mode = 0; !status && mode < BENCH_MODES; mode++) {
        if (!options->modes[mode]) continue;
        bench_row row = make_row(options, op, dtype, count, (bench_mode)mode);
        status = bench_report_add(report, &row, err);
    }
    return status;
}

redtune_status bench_dry_run(const bench_options *options, FILE *out, redtune_error *err) {
    bench_scene shown = scene;
    bench_report *report = NULL;
    shown.samples = options->samples;
    redtune_status status = bench_report_begin(&shown, options, out, &report, err);
    for (size_t op = 0; op < options->op_count; op++)
        for (size_t dtype = 0; dtype < options->dtype_count; dtype++)
            for (size_t i = 0; !status && i < options->size_count; i++)
                status = add_modes(options, options->ops[op], options->dtypes[dtype],
                                   bench_size_count(&options->sizes[i], options->dtypes[dtype]),
                                   report, err);
    bench_report_end(report);
    return status;
}
