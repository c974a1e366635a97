/* Key file: the keys of --by, one of each element of a file, or of each of its rows. */
#pragma once

#include "cli/input_files.h"
#include "cli/results.h"

/* The problem, whose op, dtype and order are set, becomes one by the keys of files, which are open,
 * with as many results as --keys says, else as the greatest key asks for: then the file of keys is
 * read once more. Gives the results as rdt_array_file_fold does. Refuses options that do not go
 * with keys, and as many keys as there are no elements for. */
redtune_status rdt_key_file_fold(const rdt_options *options, const rdt_input_files *files,
                                 redtune_problem *problem,
                                 rdt_results results[RDT_RESULTS_ARRAYS_MAX], redtune_error *err);
