/* Trace: the ladder's trees over a few numbers, round by round, as text. */
#pragma once

#include "redtune/redtune.h"

enum { RDT_TRACE_MAX = 16 };

/* count is a power of two from 2 to RDT_TRACE_MAX. step is the name of a tree; NULL: all of them.
 * REDTUNE_INVALID for another count or step. */
redtune_status rdt_trace_print(uint64_t count, const char *step, redtune_error *err);
