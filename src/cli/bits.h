/* Bits: those of standard problems in fixed order, which two machines compare. */
#pragma once

#include "cli/options.h"

/* Computes them on the GPU, writes them to options->bits where there is no such file, and else
 * compares them with what it holds. Gives the exit status: 1 where a line differs. */
int rdt_bits_run(const rdt_options *options);
