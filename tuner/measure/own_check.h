/* Own check: whether an op of the user's is what its file says, before anything is made of it: its
 * kernels compile, it gives the results of its examples, its identity changes nothing, and the
 * order of combining does not matter (templates/algebra/). */
#pragma once

#include "tuner/measure/judge.h"

/* Checks the op of the problem, which is resolved, for its dtypes, once in a process; any op that
 * is not of a file is right. The context is current. Waits. REDTUNE_TEMPLATE, with the file, the
 * line and the remedy. */
redtune_status rdt_own_check(const rdt_context *context, const redtune_problem *problem,
                             const rdt_maker *maker, redtune_error *err);
