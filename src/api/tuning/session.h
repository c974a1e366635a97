/* Session: a tune on one GPU or several, by worker processes or in this one. */
#pragma once

#include "api/tuning/problem_list.h"
#include "api/runtime/runtime.h"
#include "redtune/tune.h"

/* Tunes the problems on the GPUs that wanted names, else on rt's, and keeps the results in rt's
 * database. codegen is the calling thread's. */
redtune_status rdt_session_tune(redtune *rt, const redtune_tuning *wanted, rdt_codegen *codegen,
                                const rdt_problems *problems, redtune_error *err);
