/* Input files: the files that an op reduces, one for each of its inputs, with their keys and a
 * mask, and its parameters. */
#pragma once

#include "cli/bit_file.h"
#include "cli/options.h"

enum { RDT_INPUT_FILES_MAX = 4 };

typedef struct rdt_input_files {
    redtune_op op;
    redtune_op_info info; /* of it */
    /* Keys are the second one, a mask the last. */
    rdt_element_file file[RDT_INPUT_FILES_MAX];
    bool masked, keyed;
    size_t count; /* of those that are open */
    double parameters[RDT_OPTIONS_PARAMETERS_MAX];
    redtune_input beside[RDT_INPUT_FILES_MAX]; /* what source points to */
    rdt_bit_file bits;                         /* of a mask of bits: what reads the last one */
} rdt_input_files;

/* Opens the files that the options name for their op (default: the sum), and reads the parameters.
 * Refuses more files or fewer than it has inputs, files that are not alike, and what NumPy would
 * answer otherwise. Close them even so. */
redtune_status rdt_input_files_open(const rdt_options *options, rdt_input_files *out,
                                    redtune_error *err);
void rdt_input_files_close(rdt_input_files *files);

/* Whether pairs of two files have a mask. */
bool rdt_input_files_mask_pairs(const rdt_input_files *files);
/* How many elements each has, as far as files say; 0: that is known at the end only. */
uint64_t rdt_input_files_elements(const rdt_input_files *files);
/* What reads them; it points into files. */
redtune_input rdt_input_files_source(rdt_input_files *files);
/* After the last element: rdt_element_file_finish of each. */
redtune_status rdt_input_files_finish(rdt_input_files *files, redtune_error *err);
