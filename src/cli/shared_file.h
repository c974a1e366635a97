/* Shared file: the elements of a file, of which several GPUs reduce a part each. */
#pragma once

#include "cli/input_files.h"

/* Reduces the options' files, which are those of `files`, on the GPUs that --device names. */
redtune_status rdt_shared_file_reduce(const rdt_options *options, const redtune_problem *problem,
                                      rdt_input_files *files, redtune_reading *reading,
                                      redtune_error *err);
