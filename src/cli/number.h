/* Number: sizes as people write them, and values printed so that they read back the same. */
#pragma once

#include <stdbool.h>
#include "redtune/redtune.h"

enum {
    RDT_NUMBER_BYTES = 32,     /* room for any number printed here */
    RDT_NUMBER_COUNT_MAX = 256 /* sizes in one list */
};

/* A whole number from 1 on: digits, perhaps with a point between and an exponent of ten, such as
 * 1e6, then K, M, G or T, or k, Ki and so on, for 1024, 1024^2, 1024^3, 1024^4; all of
 * text[0..length). false if it is invalid, no whole number, or above 2^60. */
bool rdt_number_read_count(const char *text, size_t length, uint64_t *count);

/* A list such as "1K..256M,1000000": single counts, and ranges that stand for the powers of two
 * from the one end to the other. A count that comes twice is kept once. */
redtune_status rdt_number_read_counts(const char *list, uint64_t counts[RDT_NUMBER_COUNT_MAX],
                                      size_t *count_count, redtune_error *err);

/* The shortest exact form with K, M, G or T: 1024 is "1K", 1000 is "1000". */
void rdt_number_print_count(char out[RDT_NUMBER_BYTES], uint64_t count);

/* One value of a dtype: integers in full, floats with the fewest digits that read back as them. */
redtune_status rdt_number_print_value(char out[RDT_NUMBER_BYTES], redtune_dtype dtype,
                                      const redtune_value *value, redtune_error *err);
void rdt_number_print_double(char out[RDT_NUMBER_BYTES], double value);

/* "10", "2.5s", "1m": seconds, more than 0 and at most a week. */
bool rdt_number_read_seconds(const char *text, double *seconds);
