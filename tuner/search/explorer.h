/* Explorer: a first look under way, and how it chooses what to look at next. It wishes for entries
 * of the field, as far as points are left, and then has all wishes measured together. */
#pragma once

#include "base/random.h"
#include "tuner/search/candidates.h"
#include "tuner/search/values.h"

typedef struct rdt_explorer {
    const rdt_strategy *strategy;
    rdt_candidates *field;
    rdt_random random;
    rdt_values values;
    size_t base_count;      /* entries of the default's values */
    size_t most;            /* points to look at */
    size_t *wish, *scratch; /* indices of entries; room for all, and for all twice */
    size_t wish_count;
    size_t *in; /* those of the values that are explored, in the order of the field */
    size_t in_count;
} rdt_explorer;

/* Lists anew which entries are explored, by the values. */
void rdt_explorer_list(rdt_explorer *self);
/* Points that are left. */
size_t rdt_explorer_left(const rdt_explorer *self);

/* A wish for what is explored and has no outcome yet, as far as points are left. */
void rdt_explorer_wish(rdt_explorer *self, const rdt_point *point);
/* Wishes drawn at random, as many of each kind. */
void rdt_explorer_wish_random(rdt_explorer *self, size_t wanted);
/* Wishes for the neighbours of an entry that were not looked at: the near ones, and only when there
 * are none of them, those two steps away. */
void rdt_explorer_wish_around(rdt_explorer *self, size_t index);
/* Lets the evaluator make the kernels of an entry's neighbours, while others are measured. */
void rdt_explorer_prepare_around(const rdt_explorer *self, size_t index);
/* Measures what was wished for. */
redtune_status rdt_explorer_grant(rdt_explorer *self, redtune_error *err);

/* Goes from the best to its neighbours until so many points are left. */
redtune_status rdt_explorer_move_on(rdt_explorer *self, size_t until, redtune_error *err);
