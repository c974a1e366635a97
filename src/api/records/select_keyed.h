/* Select keyed: which measurement serves a problem by key. */
#pragma once

#include "api/records/winners.h"

/* How far the extents of a measured problem are from one that is asked for, in powers of two: keys,
 * elements of them all, and columns of a row. */
double rdt_select_keyed_distance(const redtune_problem *here, const redtune_problem *measured);

/* Of a problem whose spread is not known: at the nearest extents that were measured here, of the
 * configs that were measured with care in every spread there is the one whose slowest time is the
 * least; its row of that time, and its point, or NULL. rows: all good ones of classes alike. */
const rdt_row *rdt_select_keyed_unknown(const rdt_rows *rows, rdt_codegen *codegen, rdt_case at,
                                        rdt_point *out);
