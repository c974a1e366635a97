/* Explorer: an exploration under way, and how it chooses what to measure next. It proposes entries
 * of the candidates, as far as points are left, and then measures all proposed together. */
#pragma once

#include "base/random.h"
#include "tuner/search/candidates.h"
#include "tuner/search/values.h"

typedef struct rdt_explorer {
    rdt_candidates *candidates;
    rdt_random random;
    rdt_values values;
    size_t base_count, explored_count; /* entries of the default's values, and all explored */
    size_t limit;                      /* points to measure */
    size_t *proposed, *scratch;        /* indices of entries; room for all, and for all twice */
    size_t proposed_count;
} rdt_explorer;

/* Explores: gives the explorer, whose candidates are set, its room and values, and runs it. */
redtune_status rdt_explorer_run(rdt_explorer *self,
                                redtune_status (*explore)(rdt_explorer *self, redtune_error *err),
                                redtune_error *err);

/* Marks anew which entries are explored, by the values. */
void rdt_explorer_mark(rdt_explorer *self);

/* Proposes what is explored and has no outcome yet, as far as points are left. */
void rdt_explorer_propose(rdt_explorer *self, const rdt_point *point);
/* Proposes the entry in any case. */
void rdt_explorer_propose_entry(rdt_explorer *self, size_t index);
/* Proposes entries drawn at random, as many of each kind. */
void rdt_explorer_propose_random(rdt_explorer *self, size_t wanted);
/* Proposes the neighbours of an entry that were not proposed before: those a step away, and only
 * when there are none of them, those further off. */
void rdt_explorer_propose_neighbours(rdt_explorer *self, size_t index);
/* Proposes what is a step away from the entry: where that is no point, the nearest one that has the
 * parameter's other value. What has lost at similar problems is left out. */
void rdt_explorer_propose_steps(rdt_explorer *self, size_t index);
/* Whether entry `at` of the ranked is the best of its kind. */
bool rdt_explorer_leads(const rdt_explorer *self, const size_t *ranked, size_t at);
/* Lets the evaluator make the kernels of an entry's neighbours, while others are measured. */
void rdt_explorer_prepare_neighbours(const rdt_explorer *self, size_t index);
/* Measures what was proposed. */
redtune_status rdt_explorer_measure(rdt_explorer *self, redtune_error *err);

/* Goes from the best to its neighbours until so many points are left. */
redtune_status rdt_explorer_climb(rdt_explorer *self, size_t until, redtune_error *err);
