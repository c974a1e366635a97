/* Element file: the elements of a file or of standard input, as redtune_reduce_input reads them.
 *
 * A file that begins with the .npy magic is an array of NumPy; any other is raw elements of the
 * dtype that the user names. A file's length and its header must agree to the byte:
 * one that ends early is truncated, one that goes on holds something that would be left out.
 */
#pragma once

#include <stdbool.h>
#include "cli/npy.h"

typedef struct rdt_element_file {
    const char *path; /* "-" is standard input */
    int file;
    redtune_dtype dtype;
    uint64_t count;                   /* elements; 0 where that is not known before the end */
    uint64_t shape[RDT_NPY_RANK_MAX]; /* of an .npy file */
    size_t rank;
    bool is_npy;        /* then left_bytes counts down to the end of the array */
    bool fortran_order; /* of an .npy file with several dimensions */
    bool big_endian;    /* of an .npy file; what is read is in the host's order */
    bool is_bool;       /* of an .npy file: bool, whose bytes are read as u8 */
    uint64_t left_bytes;
    unsigned char ahead[16]; /* bytes read in search of the magic */
    size_t ahead_begin, ahead_end;
} rdt_element_file;

/* Opens a file and reads its header. raw_dtype may be REDTUNE_DTYPE_NONE; else it is the dtype of
 * raw elements, and an .npy file must have it too. Fails with a message that names the path. Close
 * it even so. */
redtune_status rdt_element_file_open(const char *path, redtune_dtype raw_dtype,
                                     rdt_element_file *input, redtune_error *err);
/* The same of what must be an .npy file; what: the elements' name in messages, such as "keys". */
redtune_status rdt_element_file_open_npy(const char *what, const char *path,
                                         rdt_element_file *input, redtune_error *err);
void rdt_element_file_close(rdt_element_file *input);

/* Passes over the next `count` elements, which are there. Fails with REDTUNE_FILE if the input is
 * not a regular file. */
redtune_status rdt_element_file_skip(rdt_element_file *input, uint64_t count, redtune_error *err);

/* A redtune_read_fn; user is the rdt_element_file. */
redtune_status rdt_element_file_read(void *user, void *buffer, size_t capacity, size_t *bytes,
                                     redtune_error *err);

/* After the last element: REDTUNE_FILE if the array has not ended, or the file goes on after it. */
redtune_status rdt_element_file_finish(rdt_element_file *input, redtune_error *err);
