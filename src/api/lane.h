/* Lane: one GPU's part of a tune: it goes through problems, and tells and keeps what it finds. */
#ifndef RDT_API_LANE_H
#define RDT_API_LANE_H

#include "api/logbook.h"
#include "api/problems.h"
#include "cache/tuning.h"
#include "tuner/series.h"

/* What a lane reports to; every function gets user first. */
typedef struct rdt_lane_hooks {
    void *user;
    bool (*progress)(void *user, const redtune_progress *progress); /* true stops the lane */
    void (*tuned)(void *user, const redtune_tuned *result);
    void (*warn)(void *user, const char *line); /* of what spoils the measurements */
    /* Gives a lab for problems like this one of up to its count, which is good until the next
     * call. */
    redtune_status (*open_lab)(void *user, const redtune_problem *largest, rdt_lab *out,
                               redtune_error *err);
} rdt_lane_hooks;

/* A GPU among those of a tune. */
typedef struct rdt_lane_gpu {
    const char *device;                 /* its name */
    unsigned device_count, model_count; /* of the tune */
    size_t problems_before;             /* of the models before its own */
} rdt_lane_gpu;

/* One thread at a time uses a lane and what it names, but for problems and logbook. */
typedef struct rdt_lane {
    rdt_codegen *codegen;
    rdt_tuning *database;
    const rdt_facts *facts; /* of the GPU */
    rdt_lane_gpu gpu;
    const rdt_origin *origin;
    const rdt_problems *problems;
    size_t lane_count;    /* lanes that share the problems */
    rdt_logbook *logbook; /* of all of them */
    const redtune_tuning *wanted;
    const rdt_strategy *strategy;
    rdt_budget budget;
    const rdt_lane_hooks *hooks;
    size_t first, finished; /* the lane's own: of the problems at hand, and how many it told */
} rdt_lane;

/* Tunes the portion's problems; what the database has the answer for is told and not measured. Of
 * those that are to be joined only what is new is told. */
redtune_status rdt_lane_run(rdt_lane *lane, const rdt_portion *portion, redtune_error *err);

#endif
