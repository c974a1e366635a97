/* Report: what a tuning database says of one GPU model, as plain data for a page to show. */
#pragma once

#include "model/trial.h"
#include "redtune/tools.h"

typedef struct rdt_report_origin {
    char machine[64];
    int driver_version, nvrtc_version;
    char templates[40];
} rdt_report_origin;

/* One problem in one cache state: what won, and how sure that is. */
typedef struct rdt_report_point {
    rdt_trial winner;  /* its problem and cache state are the point's */
    double default_ns; /* 0: the default was not measured as carefully */
    size_t origin;     /* of the winner: its place among the report's origins */
    int64_t date;      /* of the winner: seconds since 1970, UTC */
    uint64_t configs;  /* that were tried, with the winner's templates as all that follows */
    uint64_t outcomes[RDT_OUTCOME_COUNT];
    uint64_t throttled, disturbed; /* while clocks were held down, or others used the GPU */
    int hottest_c;                 /* 0: unknown */
} rdt_report_point;

/* Valid when zeroed: nothing is known. The report owns its arrays, except those of steps and
 * comparison. */
typedef struct rdt_report {
    redtune_device_info gpu;
    rdt_report_point *point; /* by op, dtype, result, cache state, count */
    size_t point_count;
    rdt_report_origin *origin;
    size_t origin_count;
    redtune_device_info *other; /* the GPU models that this report does not tell of */
    size_t other_count;
    size_t shown;         /* the point whose candidates follow */
    rdt_trial *candidate; /* good ones, one for each config, the fastest first */
    size_t candidate_count;
    const redtune_step *step; /* of the ladder; none: it was not run */
    size_t step_count;
    const redtune_comparison *comparison; /* NULL: none */
} rdt_report;
