/* Options: what against_cub is asked to do. */
#pragma once

#include <stdio.h>
#include "base/fail.h"
#include "bench/row.h"

enum { BENCH_LIST_MAX = 16, BENCH_SIZES_MAX = 128 };

typedef enum bench_format { BENCH_TEXT, BENCH_CSV, BENCH_JSON } bench_format;

typedef struct bench_size {
    uint64_t value;
    bool bytes; /* else elements */
} bench_size;

/* Whole elements of dtype. */
uint64_t bench_size_count(const bench_size *size, const bench_dtype *dtype);

typedef struct bench_options {
    const char *ops[BENCH_LIST_MAX];
    const bench_dtype *dtypes[BENCH_LIST_MAX];
    bench_size sizes[BENCH_SIZES_MAX];
    size_t op_count, dtype_count, size_count;
    bool modes[BENCH_MODES];
    int samples, device;
    const char *database; /* NULL: redtune's usual one */
    bench_format format;
    bool floor;        /* race the floor too */
    bool fixed;        /* the order of combining */
    bool flush_writes; /* not reads */
    bool dry;          /* with made-up times, without a GPU */
    bool help;
} bench_options;

/* Reads the words behind the program's name. What is not given is filled in: sums of every dtype,
 * 1 KiB to 1 GiB, all modes. REDTUNE_INVALID, with a message, for a wrong word. */
redtune_status bench_options_parse(char *const words[], int word_count, bench_options *out,
                                   redtune_error *err);
void bench_options_help(FILE *out);
