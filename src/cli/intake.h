/* Intake: importing and merging as commands: both take files in, and tell the same of it. */
#pragma once

#include "cli/options.h"

/* The database takes the files in. Returns the exit code. */
int rdt_intake_run(const rdt_options *options, const char *database, const char *const *files,
                   size_t file_count, bool merge);
