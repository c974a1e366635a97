/* Neighbours: the neighbours of a point. Parameters that count something are steps of a ladder;
 * those whose values have names are kinds. */
#ifndef RDT_TUNER_SEARCH_NEIGHBOURS_H
#define RDT_TUNER_SEARCH_NEIGHBOURS_H

#include "model/config.h"

/* Stage 0: one step in one number, or another name. Stage n: n steps up in one number and n down in
 * another, which leaves their product about as it was: what is best often lies far off on that
 * line. */
enum { RDT_NEIGHBOURS_STAGES = 3 };

typedef void rdt_neighbours_fn(void *user, const rdt_config *neighbour);
/* Not every neighbour need be a point. */
void rdt_neighbours_each(const rdt_space *space, const rdt_config *config, int stage,
                         rdt_neighbours_fn *each, void *user);

/* Sets *out to the config with parameter i moved by `steps` steps; false beyond the last value,
 * and for names. */
bool rdt_neighbours_step(const rdt_space *space, const rdt_config *config, int i, int steps,
                         rdt_config *out);

/* Whether all parameters whose values have names agree. */
bool rdt_neighbours_same_kind(const rdt_space *space, const rdt_config *a, const rdt_config *b);

#endif
