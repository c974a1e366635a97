/* Dry: the report of a run whose times are made up, to look at the output without a GPU. */
#pragma once

#include "bench/report.h"

redtune_status bench_dry_run(const bench_options *options, FILE *out, redtune_error *err);
