/* Target: which GPU model show, explain, report and export are about, by the rule that
 * redtune/records.h gives. */
#pragma once

#include "api/records/layers.h"

typedef struct rdt_target_query {
    const char *verb;   /* what is done, for messages: "explain" */
    const char *device; /* "0", "1", ... or "sim"; NULL: none is named */
    const char *gpu;    /* a name, or "all"; NULL: none is named */
    bool shipped;       /* the system's databases are asked for */
    bool own;           /* they are left out, whatever is named */
    bool single;        /* "all" makes no sense */
    bool runs;          /* it is about what a program would run */
} rdt_target_query;

/* A model that there are measurements of. */
typedef struct rdt_target_model {
    rdt_facts facts;
    int64_t latest; /* date of the latest */
    bool system;    /* the system's databases have some */
    bool meant;     /* by the query's name */
} rdt_target_model;

typedef struct rdt_target {
    bool all;                /* every model; else facts are those of the one, if it was found */
    bool found;              /* false: nothing there could be meant */
    bool here;               /* the facts are a device's, with all that only a driver knows */
    rdt_facts facts;         /* else what the databases say; 0 and unknown beside that */
    int layers;              /* how many of them count: the user's, or all */
    rdt_target_model *model; /* those that were looked at, the target among them if it is one */
    size_t count, capacity;
} rdt_target;

/* Finds the target. The driver is asked where a device is named, or where this machine's GPUs make
 * a difference; a machine without a GPU is no failure then. REDTUNE_INVALID for a name that no
 * model of the databases has, or models of several names. */
redtune_status rdt_target_find(const rdt_target_query *query, const rdt_layers *layers,
                               rdt_target *out, redtune_error *err);
void rdt_target_free(rdt_target *target);

/* Whether a row is of the target. */
bool rdt_target_has(const rdt_target *target, const rdt_facts *gpu);

/* Records that there is nothing to be about, and what to do. */
redtune_status rdt_target_fail(const char *verb, const rdt_layers *layers, redtune_error *err);
