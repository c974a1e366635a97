/* Lengths: segments and lists as people write them, and the problems that they stand for.
 *
 * "4096x1000" is 4096 segments of 1000 elements; "4096x1000:20:300K" has a median of 20 elements
 * and a greatest segment of 300K, 1000 being the average. Numbers have K, M and G as counts have.
 * Any other text is a file's name, which has a length on each line. */
#pragma once

#include <stdbool.h>
#include "redtune/tune.h"

/* Takes the next one off a list with commas between, or the one file, and sets the problem's
 * extents; *more is false once the list has ended. The problem says which of the two it is of. */
redtune_status rdt_lengths_read_next(const char **list, redtune_problem *problem, bool *more,
                                     redtune_error *err);
