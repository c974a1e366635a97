/* Array file: an array in a file, reduced along its axes.
 *
 * The elements of a file come in the order of memory. An array in Fortran order is one in C order
 * with its axes the other way round: so it is folded, and its results are in Fortran order, too.
 * Where elements are counted along several axes, or two files differ, each has steps instead, and
 * the results are in C order. */
#pragma once

#include "cli/input_files.h"
#include "cli/results.h"

/* Folds the array along the options' axes into the problem, whose op and dtype are set, and gives
 * the dtype and shape of each of the op's results; their values are not there yet. */
redtune_status rdt_array_file_fold(const rdt_options *options, const rdt_input_files *files,
                                   redtune_problem *problem,
                                   rdt_results results[RDT_RESULTS_ARRAYS_MAX], redtune_error *err);
/* The sizes of the file's array: those of its header, or of --shape for raw elements. */
redtune_status rdt_array_file_shape(const rdt_options *options, const rdt_element_file *input,
                                    rdt_shape_array *out, redtune_error *err);
/* Whether the order of memory, which a whole array is reduced in, is not that of the elements'
 * numbers, or not that of both files. */
bool rdt_array_file_is_turned(const rdt_options *options, const rdt_input_files *files);

/* Reduces the files; offsets: of a problem of segments, else NULL. The caller frees
 * results[0].values, in which second results lie, too. */
redtune_status rdt_array_file_reduce(redtune *rt, const redtune_problem *problem,
                                     const uint64_t *offsets, rdt_input_files *files,
                                     rdt_results results[RDT_RESULTS_ARRAYS_MAX],
                                     redtune_reading *reading, redtune_error *err);
