/* Lent: of the candidates at a shape, those that have won at a similar one, and those that have
 * lost.
 */
#pragma once

#include "tuner/search/candidates.h"

/* Marks the winners of the problems that are similar to the search's, and what was far behind at
 * each of them that has tried it. */
redtune_status rdt_lent_mark(rdt_candidates *candidates, redtune_error *err);

/* Of ranked entries leaves those that a last round should have: those lent, the defaults, and of
 * the others those that are faster than all of these by more than noise. Returns how many. */
size_t rdt_lent_prefer(const rdt_candidates *candidates, size_t *ranked, size_t count);
