/* Options: parsing a command's words, and its help text, by the table of options. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include "cli/number.h"
#include "cli/shape.h"
#include "cli/shard.h"
#include "redtune/records.h"
#include "redtune/tune.h"

/* The commands that an option belongs to. */
enum {
    RDT_TUNE = 1,
    RDT_EMIT = 2,
    RDT_REDUCE = 4,
    RDT_DOCTOR = 8,
    RDT_BARE = 16, /* redtune with no command named */
    RDT_LADDER = 32,
    RDT_SHOW = 64,
    RDT_REPORT = 128,
    RDT_WORKER = 256,
    RDT_EXPLAIN = 512,
    RDT_EXPORT = 1024,
    RDT_IMPORT = 2048,
    RDT_MERGE = 4096,
    RDT_UNDO = 8192,
    RDT_VERIFY = 16384,
    RDT_BAKE = 32768,
    RDT_COMPARE = 65536,
    RDT_ALL = (1 << 17) - 1,
    RDT_FILTERED = RDT_SHOW | RDT_EXPORT | RDT_VERIFY | RDT_COMPARE, /* choose among problems */
};

enum {
    RDT_OPTIONS_ARCH_MAX = 16,
    RDT_OPTIONS_LIST_MAX = 32,
    RDT_OPTIONS_ARGUMENT_MAX = 1024,
    RDT_OPTIONS_PARAMETERS_MAX = 2
};

typedef struct rdt_sizes {
    uint64_t counts[RDT_NUMBER_COUNT_MAX];
    size_t count_count;
} rdt_sizes;

/* The options as given. Zero and NULL: not given. */
typedef struct rdt_options {
    const char *device, *database, *against, *family, *config, *show, *gpu, *machine, *output,
        *export, *recorded, *bits, *format;
    const char *shape;              /* arrays with commas between, read once already */
    const char *second_shape;       /* of the second input, one array */
    const char *where_shape;        /* of the mask, likewise */
    const char *offsets;            /* a file of them */
    const char *where, *where_bits; /* a file: the mask */
    const char *by;                 /* a file: the keys */
    const char *segments, *list;    /* as cli/lengths.h reads them */
    const char *argument; /* what stands beside the options, such as a file: the first of them */
    const char *op_files; /* read already */
    const char *arguments[RDT_OPTIONS_ARGUMENT_MAX];
    size_t argument_count;
    const char *second_output;                          /* of -o given twice */
    const char *parameters[RDT_OPTIONS_PARAMETERS_MAX]; /* each NAME=NUMBER */
    size_t parameter_count;
    redtune_op ops[RDT_OPTIONS_LIST_MAX];
    redtune_dtype dtypes[RDT_OPTIONS_LIST_MAX];
    size_t op_count, dtype_count;
    int archs[RDT_OPTIONS_ARCH_MAX];
    size_t arch_count;
    rdt_sizes sizes, rows, cols, keys;
    redtune_dtype key_dtype; /* 0: i32, where there are keys */
    redtune_spread spread;
    rdt_axes axes;
    rdt_shape_steps steps; /* of the shape */
    redtune_effort effort;
    redtune_order order;
    redtune_accuracy accuracy;
    double limit_s, budget_s, tolerance; /* the last in % */
    uint64_t count, key_count, seed, sample, block, trace, jobs, where_offset;
    rdt_shard shard;
    int again, all, shipped, lines, counters, one_block, csv, winners, dry_run, json, quiet,
        verbose, keepdims, repair, ptx, help, version; /* how often they were given */
} rdt_options;

struct rdt_option;

/* An option as it is given. */
typedef struct rdt_taken {
    rdt_options *options;
    const struct rdt_option *row;
    const char *value;
    redtune_error *err;
} rdt_taken;
/* Reads the value into the options. REDTUNE_INVALID names the option and the value. */
typedef redtune_status rdt_value_fn(const rdt_taken *in);

typedef struct rdt_option {
    const char *name;
    char letter;          /* the short form; 0: none */
    const char *argument; /* NULL: a flag */
    unsigned commands;
    rdt_value_fn *take;
    size_t offset; /* of the member that take fills */
    const char *help;
} rdt_option;

/* Every option of every command. Ends with one whose name is NULL. */
extern const rdt_option rdt_option_table[];

struct rdt_command;

/* The index of the first word that is neither an option, of whichever command, nor an option's
 * value; word_count or more where there is no such word, or an unknown option stands before it. */
int rdt_options_find_command(char *const words[], int word_count);

/* Reads words[0..word_count), which follow the command's name, as options of the commands in
 * bits; help: as if --help were among them. REDTUNE_INVALID, with a message that names the word and
 * the remedy, for a wrong one. The strings in out point into words. */
redtune_status rdt_options_parse(const struct rdt_command *command, unsigned bits,
                                 char *const words[], int word_count, bool help, rdt_options *out,
                                 redtune_error *err);

/* The problem of a command that is about one: the first op and dtype that were given, and the count
 * or the array along its axes; else the sum, and those that are given here. REDTUNE_INVALID for
 * options that do not go together. */
redtune_status rdt_options_problem(const rdt_options *options, redtune_dtype dtype, uint64_t count,
                                   redtune_problem *out, redtune_error *err);

/* Makes the problem one by so many keys, of the dtype and spread of the options; 0: by none, and
 * REDTUNE_INVALID where they are given. */
redtune_status rdt_options_take_keys(const rdt_options *options, uint64_t keys,
                                     redtune_problem *problem, redtune_error *err);

/* REDTUNE_INVALID for segments or a list beside other extents. */
redtune_status rdt_options_check_segments(const rdt_options *options, redtune_error *err);

/* Sets which problems the query, whose members for them are zero, is about: of several ops or
 * dtypes the first counts. --size is of whole arrays; --axis without --shape stands for all rows,
 * 1, for all columns, 0, or for both. */
redtune_status rdt_options_read_filter(const rdt_options *options, redtune_rows_query *query,
                                       redtune_error *err);

/* The layouts, redtune_layouts or'ed, that --axis names where it is about all matrices: 1 rows, 0
 * columns. 0: it names another axis, or one twice, or none. */
unsigned rdt_options_matrix_layouts(const rdt_options *options);

/* Prints the options that the commands in bits have, one per line. */
void rdt_options_print(unsigned bits, FILE *out);
