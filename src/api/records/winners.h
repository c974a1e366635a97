/* Winners: those of the tuning databases, read as far as choices ask for them, and kept.
 *
 * There are three parts: of a problem's class on its GPU model, of classes alike on that model, and
 * of its class elsewhere. Of the first two the rows near the problem are read first, by their
 * count; for a problem that is not near those the whole part is. */
#pragma once

#include "api/records/layers.h"
#include "codegen/codegen.h"

typedef enum rdt_winners_part {
    RDT_WINNERS_OWN,
    RDT_WINNERS_ALIKE,
    RDT_WINNERS_ELSEWHERE
} rdt_winners_part;

/* A part that was read. */
typedef struct rdt_winners_read {
    rdt_winners_part part;
    redtune_problem problem; /* one that it was read for */
    uint64_t least, most;    /* the counts of its rows */
} rdt_winners_read;

/* Valid when zeroed: none. */
typedef struct rdt_winners {
    rdt_rows rows;  /* of the problems' classes */
    rdt_rows alike; /* of classes that have their traffic (rdt_problem_same_traffic) */
    rdt_winners_read *read;
    size_t read_count, read_capacity;
    size_t reads;    /* how often databases were read */
    bool incomplete; /* a database was unavailable: it is not waited for again */
} rdt_winners;

/* Where winners come from. */
typedef struct rdt_winners_source {
    rdt_layers *layers;
    rdt_codegen *codegen;
    const rdt_rows *verified; /* beside those of the layers; NULL: none */
    bool own;                 /* imported rows do not count */
    const rdt_log *log;       /* may be NULL */
} rdt_winners_source;

/* A row says little of extents that are more powers of two away; the default is better then. */
enum { RDT_WINNERS_DISTANCE_MAX = 4 };

/* Whether a row of that op may serve problems of another class. */
bool rdt_winners_alike(const redtune_problem *measured, const redtune_problem *problem);

/* Reads the part, with a cold L2, unless what is near the case is there. */
redtune_status rdt_winners_need(rdt_winners *winners, const rdt_winners_source *source,
                                rdt_winners_part part, rdt_case at, redtune_error *err);
void rdt_winners_free(rdt_winners *winners);
