/* Second pass: a second search of a problem, with what was found at the next larger
 * size since. */
#pragma once

#include "tuner/search/sweep.h"

/* Measures, at problem i of the sweep, what was among the best of problem i + 1 and has not been
 * measured here, and goes through the rounds again with it. Called for the problems from the last
 * but one down, so that what it asks does not depend on whether it was called before. */
redtune_status rdt_second_pass_run(rdt_sweep *sweep, size_t i, rdt_cache_state cache,
                                   rdt_search_count *count, redtune_error *err);
