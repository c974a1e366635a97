/* Steps: the ladder's sources on stdout, and as programs in a folder. */
#pragma once

#include "cli/options.h"
#include "redtune/tools.h"

/* Prints the kernel of options->show: a step, or what is tuned. Returns the exit code. */
int rdt_steps_show(const rdt_options *options, const redtune_climb *climb);

/* Writes every step as a program into the folder options->export, which it makes where there is
 * none. Returns the exit code. */
int rdt_steps_export(const rdt_options *options, const redtune_climb *climb);
