/* Device tuner: one job's part of a tune: it goes through problems, and tells and keeps what it
 * finds. */
#pragma once

#include "api/tuning/event_queue.h"
#include "api/tuning/session_log.h"
#include "cache/tuning.h"
#include "tuner/search/sweep.h"

/* A GPU among those of a tune. */
typedef struct rdt_device_tuner_gpu {
    const char *device;                 /* its name */
    unsigned device_count, model_count; /* of the tune */
    size_t problems_before;             /* of the models before its own */
} rdt_device_tuner_gpu;

/* One thread at a time uses a device tuner and all it names, except problems and session log. */
typedef struct rdt_device_tuner {
    rdt_codegen *codegen;
    rdt_tuning *database;
    const rdt_facts *facts; /* of the GPU */
    rdt_device_tuner_gpu gpu;
    const rdt_origin *origin;
    const rdt_problems *problems;
    size_t tuner_count;           /* device tuners that share the problems */
    rdt_session_log *session_log; /* of all of them */
    const redtune_tuning *wanted;
    rdt_budget budget;
    rdt_event_queue *events;
    const rdt_log *log; /* takes what spoils the measurements */
    /* Gives an evaluator for the problems of the domain, which is good until the next call; user
     * comes first. */
    redtune_status (*open_evaluator)(void *user, const rdt_domain *domain, rdt_evaluator *out,
                                     redtune_error *err);
    void *user;
    size_t first;    /* the device tuner's own: of the current range */
    unsigned warned; /* likewise: a bit of each family that was said to be left out */
} rdt_device_tuner;

/* Tunes the work range's problems; what the database has the answer for is told and not measured.
 * Of those that are to be joined only what is new is told. */
redtune_status rdt_device_tuner_run(rdt_device_tuner *tuner, const rdt_work_range *range,
                                    redtune_error *err);
