/* Contestant: redtune's plans and CUB's calls as contestants. */
#pragma once

#include "bench/cub.h"
#include "bench/timer.h"

/* A plan of rt for the problem. Fills the config and the match of time. */
redtune_status bench_contestant_open_plan(redtune *rt, const redtune_problem *problem,
                                          bench_contestant *out, bench_time *time,
                                          redtune_error *err);
/* CUB's call with its scratch. */
redtune_status bench_contestant_open_cub(const bench_cub_call *call, uint64_t count,
                                         bench_contestant *out, redtune_error *err);
/* One that does not take part is fine. */
void bench_contestant_close(bench_contestant *contestant);
