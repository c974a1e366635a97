/* Offset file: where the segments of a file begin and end, as an .npy file of 32 or 64 bit integers
 * has it: segment i has the elements from offsets[i] up to, and without, offsets[i + 1]. */
#pragma once

#include "cli/input_files.h"
#include "cli/results.h"

/* Reads --offsets, of which the caller frees *offsets. The problem becomes one of these segments,
 * and each of the op's results an array with one of each; their values are not there yet. Refuses
 * offsets that decrease or lead beyond the input, as far as its length is known. */
redtune_status rdt_offset_file_read(const rdt_options *options, const rdt_input_files *files,
                                    redtune_problem *problem, uint64_t **offsets,
                                    rdt_results results[RDT_RESULTS_ARRAYS_MAX],
                                    redtune_error *err);
