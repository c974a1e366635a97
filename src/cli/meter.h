/* Meter: how far a tune has come, on stderr: one line that is rewritten on a terminal, else one
 * plain line per finished problem. */
#pragma once

#include <stdbool.h>
#include "redtune/redtune.h"
#include "redtune/tune.h"

typedef struct rdt_meter {
    bool quiet, rewrites;                  /* rewrites: stderr is a terminal that can */
    bool shown;                            /* a line stands on the terminal now */
    double began_s, drawn_s;               /* when the tune began, and the line was drawn */
    size_t bar_cells;                      /* of its bar that are full */
    double problem_s;                      /* when the current problem began */
    uint64_t problem_index, problem_count; /* of the last progress; 0 before the first */
    uint64_t finished_count;
    uint64_t measured_count; /* finished problems that took measuring, and how long they took */
    double measured_s;
} rdt_meter;

void rdt_meter_begin(rdt_meter *meter, bool quiet);
/* Since then. */
double rdt_meter_elapsed_s(const rdt_meter *meter);
/* Where the tune is: to be called often, draws only now and then. */
void rdt_meter_show(rdt_meter *meter, const redtune_progress *progress);
/* A problem is finished. */
void rdt_meter_finish(rdt_meter *meter, const redtune_tuned *result);
/* Takes the line off the terminal, so that something else can be printed. */
void rdt_meter_clear(rdt_meter *meter);
/* A redtune_log_fn that does so; user is the meter. */
void rdt_meter_log(void *user, redtune_log_level level, const char *line);
