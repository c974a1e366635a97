/* Report: the rows as text, CSV or JSON, each printed as it comes, and what they come to. */
#pragma once

#include <stdio.h>
#include "bench/options.h"
#include "bench/row.h"

/* What the report says of the circumstances. The strings live as long as it. */
typedef struct bench_scene {
    const char *gpu;
    const char *database;
    double peak_gbps; /* of the memory bus; 0 if unknown */
    int sm_count, driver_version, cub_version, samples;
    uint64_t l2_bytes;
} bench_scene;

typedef struct bench_report bench_report;

/* Prints what comes before the rows. */
redtune_status bench_report_begin(const bench_scene *scene, const bench_options *options, FILE *out,
                                  bench_report **report, redtune_error *err);
redtune_status bench_report_add(bench_report *report, const bench_row *row, redtune_error *err);
/* Prints what comes after the rows, and frees the report. report may be NULL. */
void bench_report_end(bench_report *report);
