/* Recording line: a problem that ran, with its calls, as a line of JSON (docs/tuning.md). */
#pragma once

#include "base/text.h"
#include "redtune/tune.h"

/* The lines from `line` to `end`, which is a NUL in place of the newline; REDTUNE_INVALID with what
 * is wrong. The first line of a file says its version, and each other one has a problem. */
redtune_status rdt_recording_line_check_first(const char *line, const char *end,
                                              redtune_error *err);
redtune_status rdt_recording_line_read(const char *line, const char *end, redtune_recorded *out,
                                       redtune_error *err);
void rdt_recording_line_write_first(rdt_text *text);
/* Of a problem that is resolved: its members, from "op" on, each with a comma behind it. */
void rdt_recording_line_write_problem(rdt_text *text, const redtune_problem *problem);
void rdt_recording_line_write(rdt_text *text, const redtune_recorded *recorded);
