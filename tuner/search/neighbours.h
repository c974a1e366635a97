/* Neighbours: the neighbours of a point, which are of its family. Parameters that count something
 * move by steps; points that agree in all values that have names are of one kind. */
#pragma once

#include "codegen/codegen.h"

/* Neighbourhood 0: one step in one number, or another name. Neighbourhood n: n steps up in one
 * number and n down in another, which leaves their product about as it was: what is best often lies
 * far off on that line. */
enum { RDT_NEIGHBOURHOODS = 3 };

typedef void rdt_neighbours_fn(void *user, const rdt_point *neighbour);
/* Not every neighbour need be allowed. */
void rdt_neighbours_each(const rdt_spaces *spaces, const rdt_point *point, int neighbourhood,
                         rdt_neighbours_fn *each, void *user);

/* Sets *out to the point with parameter i moved by `steps` steps; false beyond the last value,
 * and for names. */
bool rdt_neighbours_step(const rdt_spaces *spaces, const rdt_point *point, int i, int steps,
                         rdt_point *out);

/* How many steps of numbers two points of a family are apart; names do not count. */
int rdt_neighbours_distance(const rdt_spaces *spaces, const rdt_point *a, const rdt_point *b);

/* The same number for points whose families and values that have names agree, another for others.
 */
uint64_t rdt_neighbours_kind(const rdt_spaces *spaces, const rdt_point *point);
