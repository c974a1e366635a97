/* Second pass over shapes: what has won at the larger shapes beside one, tried at it. */
#pragma once

#include "tuner/search/sweep.h"

/* As rdt_second_pass_run, for shapes: from the last one that was searched to the first, with the
 * winners beside it that were found after it. */
redtune_status rdt_second_pass_shapes(rdt_sweep *sweep, redtune_error *err);
