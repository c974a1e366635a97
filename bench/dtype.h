/* Dtype: the element types that can be raced, by the names that redtune knows them by, with what
 * test data and comparisons need. A library that lacks one just does not find its name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_dtype {
    const char *name;
    size_t bytes;
    /* An element of test data is random_bits filled at random, and fixed_bits: any integer, or a
     * float from 1 up to 2, whose sums lose no digits to cancellation. */
    uint64_t random_bits, fixed_bits;
    double roundoff; /* the largest relative error of one rounding; 0 for integers */
} bench_dtype;

/* Ends with an entry whose name is NULL. */
extern const bench_dtype bench_dtype_table[];

/* NULL if there is none of that name. */
const bench_dtype *bench_dtype_find(const char *name);
/* The value as a double; exact for floats. */
double bench_dtype_number(const bench_dtype *dtype, const void *value);
/* The value as text, of at least 32 bytes. */
void bench_dtype_print(const bench_dtype *dtype, const void *value, char text[32]);

/* The sum of n values of a dtype that sums have, which lie stride bytes apart. */
void bench_dtype_sum(const bench_dtype *dtype, const unsigned char *values, size_t n, size_t stride,
                     void *sum);

/* Whether two results over count elements of test data agree: bit for bit, except for sums of
 * floats, which may differ by twice the error bound of a sum whose longest chain of additions has
 * 64 + count / 2^14 links. (Every contestant spreads large inputs over 2^14 threads at least.) */
bool bench_dtype_agree(const bench_dtype *result, bool rounds, uint64_t count, const void *a,
                       const void *b);
