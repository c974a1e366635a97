/* Select: which config serves a problem, from the winners of the tuning database. */
#pragma once

#include "api/records/winners.h"

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
/* The same among the winners of the source, with a cold L2. They are read as far as they matter and
 * are not there already: those of the problem's class on its GPU model, and where nothing of them
 * is near, those of classes alike, and then those of other GPU models. */
redtune_status rdt_select_from(rdt_winners *winners, const rdt_winners_source *source, rdt_case at,
                               rdt_choice *out, redtune_error *err);
