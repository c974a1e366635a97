/* Bit file: a mask with a bit for each element, from the lowest bit of the first byte on, such as
 * the validity of an array of Arrow's. What is read of it are bytes, 0 or 1. */
#pragma once

#include "cli/element_file.h"

typedef struct rdt_bit_file {
    rdt_element_file *file; /* of bytes */
    uint64_t left;          /* bits that are still to be read: bits beyond may follow */
    unsigned char bytes[4096];
    size_t at, end; /* the bits of bytes that are there */
} rdt_bit_file;

/* Of `count` bits from number `first` on. REDTUNE_FILE if the file is known to have fewer. */
redtune_status rdt_bit_file_begin(rdt_bit_file *bits, rdt_element_file *file, uint64_t first,
                                  uint64_t count, redtune_error *err);
/* Passes over `first` bits of one that was begun, and leaves `count` to be read. */
redtune_status rdt_bit_file_take_part(rdt_bit_file *bits, uint64_t first, uint64_t count,
                                      redtune_error *err);
/* A redtune_read_fn; user is the rdt_bit_file. */
redtune_status rdt_bit_file_read(void *user, void *buffer, size_t capacity, size_t *bytes,
                                 redtune_error *err);
