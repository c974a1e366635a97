/* Second pass: a second search of each problem of a sweep, with what was found at the next larger
 * size since. */
#pragma once

#include "tuner/search/sweep.h"

/* Measures, from the last problem but one down, what was among the best of the next one and has not
 * been measured here, and goes through the rounds again with it; what this asks does not depend on
 * whether it was called before. */
redtune_status rdt_second_pass_run(rdt_sweep *sweep, redtune_error *err);
