/* Select: which config serves a problem, from the winners of the tuning database. */
#pragma once

#include "api/records/layers.h"
#include "codegen/codegen.h"

/* Winners in memory. Valid when zeroed: none. */
typedef struct rdt_winners {
    rdt_rows rows;            /* of the classes below, on all GPU models */
    redtune_problem *classes; /* those that were read */
    size_t class_count;
    rdt_rows alike; /* of all classes that have one of the traffics below, on one model */
    redtune_problem *traffics; /* one problem of each that was read */
    size_t traffic_count;
    bool incomplete; /* a database was unavailable */
} rdt_winners;

/* Where winners come from. */
typedef struct rdt_winners_source {
    rdt_layers *layers;
    rdt_codegen *codegen;
    const rdt_rows *verified; /* beside those of the layers; NULL: none */
    bool own;                 /* imported rows do not count */
    const rdt_log *log;       /* may be NULL */
} rdt_winners_source;

typedef struct rdt_choice {
    rdt_point point;
    redtune_match match;
    const rdt_row *row; /* NULL for the default; the winners' */
} rdt_choice;

/* The first of these that there is:
 *
 * 1. the nearest row of the problem's class and this GPU model;
 * 2. the nearest row of this GPU model of another class that has the same traffic
 *    (rdt_problem_same_traffic);
 * 3. that of the class and the nearest GPU model (architecture, then bandwidth and SMs), where a
 *    GPU of twice the SMs counts as doing twice the work at a time;
 * 4. the built-in default.
 *
 * Near are rows of the same alignment before others, and then those whose extents are, on a log
 * scale (select.c has the measure; for a whole array it is that of its count). Of rows equally
 * near, the one with the very extents, one whose kernel is current, and then the latest. The counts
 * between powers of two at which a tune saw the winner change are rows like any other, so that the
 * nearest row changes where the winner did. A row does not count whose family or config the
 * templates do not have or do not allow there, whose extents are more than four powers of two away,
 * or whose config would not be worth measuring there.
 *
 * Off the shapes that were measured the nearest row's config may leave strips or multiprocessors
 * empty. Where the templates' estimate (rdt_estimate_time) of another one is lower by a twentieth,
 * that one serves: of the eight nearest rows of the same kind of match and alignment the one with
 * the least, or, lower by another twentieth, the default. Where there is no estimate, a winner at
 * other extents whose gain over the default of its own shape is less than a twentieth leaves the
 * default of this one to serve: that is made for these extents. A row of the very problem always
 * serves. */
redtune_status rdt_select(const rdt_winners *winners, rdt_codegen *codegen, rdt_case at,
                          rdt_choice *out, redtune_error *err);
/* The same among the winners of the source, with a cold L2, which are read as far as they matter
 * and are not there already: those of the problem's class, and where it has nothing near, those of
 * all classes with its traffic on this GPU model, which is the same for each call. */
redtune_status rdt_select_from(rdt_winners *winners, const rdt_winners_source *source, rdt_case at,
                               rdt_choice *out, redtune_error *err);
void rdt_select_free_winners(rdt_winners *winners);
