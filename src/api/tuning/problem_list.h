/* Problem list: the list of what a tune goes through. */
#pragma once

#include <stdbool.h>
#include "base/log.h"
#include "model/facts.h"
#include "redtune/tune.h"

/* By class, and then by extents; resolved. Valid when zeroed: none. */
typedef struct rdt_problems {
    redtune_problem *problem;
    size_t count;
} rdt_problems;

/* Problems side by side in a list, of one class. */
typedef struct rdt_work_range {
    size_t first, count;
    bool joins;            /* they are searched by now, but not with each other */
    size_t searches_after; /* of the ranges that nobody has taken yet */
} rdt_work_range;

/* The problems that a tuning asks for, on a simulated GPU or a real one; of them its shard, which
 * may be empty. An op goes with those of several dtypes that it has; the log names the rest. */
redtune_status rdt_problem_list_make(const redtune_tuning *tuning, bool simulated,
                                     const rdt_log *log, rdt_problems *out, redtune_error *err);
/* A copy without those that a GPU with these facts has no memory for, which the log names;
 * REDTUNE_INVALID if none is left. */
redtune_status rdt_problem_list_fit(const rdt_problems *problems, const rdt_facts *facts,
                                    uint64_t free_bytes, const rdt_log *log, rdt_problems *out,
                                    redtune_error *err);
/* Whether that would leave out none of them. */
bool rdt_problem_list_fits(const rdt_problems *problems, const rdt_facts *facts,
                           uint64_t free_bytes);
void rdt_problem_list_free(rdt_problems *problems);

/* How many problems from the first on are of its class. */
size_t rdt_problem_list_class(const rdt_problems *problems, size_t first);
size_t rdt_problem_list_classes(const rdt_problems *problems);
