/* Array file: an array in a file, reduced along its axes.
 *
 * The elements of a file come in the order of memory. An array in Fortran order is one in C order
 * with its axes the other way round: so it is folded, and its results are in Fortran order, too. */
#pragma once

#include "cli/element_file.h"
#include "cli/options.h"
#include "cli/results.h"

/* The sizes of the file's array: those of its header, or of --shape for raw elements. */
redtune_status rdt_array_file_shape(const rdt_options *options, const rdt_element_file *input,
                                    rdt_shape_array *out, redtune_error *err);

/* Folds the array along the options' axes into the problem, whose op and dtype are set, and gives
 * the results' dtype and shape; their values are not there yet. */
redtune_status rdt_array_file_fold(const rdt_options *options, const rdt_element_file *input,
                                   redtune_problem *problem, rdt_results *results,
                                   redtune_error *err);

/* Reduces the file; results->values is freed by the caller. */
redtune_status rdt_array_file_reduce(redtune *rt, const redtune_problem *problem,
                                     rdt_element_file *input, rdt_results *results,
                                     redtune_reading *reading, redtune_error *err);
