/* Results: the array that a reduction along axes gives, printed or written as an .npy file. */
#pragma once

#include <stdio.h>
#include "cli/npy.h"

typedef struct rdt_results {
    redtune_dtype dtype;
    bool is_bool; /* values of u8 are 0 and 1, for false and true */
    uint64_t shape[RDT_NPY_RANK_MAX];
    size_t rank;
    bool fortran_order; /* the values' order in memory */
    uint64_t count;     /* the product of the shape */
    void *values;
} rdt_results;

enum {
    RDT_RESULTS_PRINTED_MAX = 64,
    RDT_RESULTS_ARRAYS_MAX = 2 /* of an op */
};

/* Sets the dtypes of the problem's results; of_bools: its elements of u8 are bools. Truths are
 * bools, and so are bools that are chosen among them. */
redtune_status rdt_results_take_dtypes(const redtune_problem *problem, bool of_bools,
                                       rdt_results results[RDT_RESULTS_ARRAYS_MAX],
                                       redtune_error *err);

/* One value a line of a single axis; else a line for each index of the axes before the last one,
 * with blanks between values, and an empty line where an axis before those moves on: as
 * numpy.savetxt writes them and numpy.loadtxt reads them. */
redtune_status rdt_results_print(const rdt_results *results, FILE *out, redtune_error *err);

/* Digits of the values one after the other, the last axis fastest. */
redtune_status rdt_results_each(const rdt_results *results,
                                void (*each)(void *user, const char *digits), void *user,
                                redtune_error *err);

/* Writes a whole .npy file or none; "-" is standard output. Values of bf16, which NumPy has not,
 * are written as f32. */
redtune_status rdt_results_write(const rdt_results *results, const char *path, redtune_error *err);
