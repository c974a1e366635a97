/* Options: parsing a command's words, and its help text, by the table of options. */
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/beside.h"
#include "cli/command.h"
#include "cli/lengths.h"
#include "cli/message.h"
#include "cli/nearest.h"
#include "cli/table.h"

/* ---- parsing ------------------------------------------------------------------------------- */

typedef struct parser {
    const rdt_command *command;
    unsigned bits;
    char *const *words;
    int word_count, at;
    rdt_options options;
    redtune_error *err;
} parser;

/* --count is another name of --size. */
static const rdt_option *find_name(const char *name, size_t length, unsigned bits) {
    if (length == 5 && !memcmp(name, "count", 5)) name = "size", length = 4;
    for (const rdt_option *row = rdt_option_table; row->name; row++)
        if (row->commands & bits && strlen(row->name) == length && !memcmp(row->name, name, length))
            return row;
    return NULL;
}

static const rdt_option *find_letter(char letter, unsigned bits) {
    for (const rdt_option *row = rdt_option_table; row->name; row++)
        if (row->commands & bits && row->letter && row->letter == letter) return row;
    return NULL;
}

static redtune_status unknown_option(const parser *in, const char *word, size_t length) {
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)length, word);
    rdt_nearest near = {.word = typed + 2};
    for (const rdt_option *row = rdt_option_table; row->name; row++)
        if (row->commands & in->bits && typed[1] == '-') rdt_nearest_try(&near, row->name);
    return rdt_message_set(in->err, REDTUNE_INVALID, 0,
                           "'%s' is no option of redtune %s; %s%s%sredtune %s --help lists them",
                           typed, in->command->name, near.name ? "did you mean --" : "",
                           near.name ? near.name : "", near.name ? "? " : "", in->command->name);
}

/* A negative number is a value, so that it is refused as one. */
static bool is_option(const char *word) {
    return word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9');
}

/* The value of an option is the rest of its word, or the next word unless that is an option. */
static redtune_status take_value(parser *in, const rdt_option *row, const char *value) {
    redtune_error *err = in->err;
    if (!row->argument && value)
        return rdt_message_set(err, REDTUNE_INVALID, 0, "cannot use --%s=%.200s: it takes no value",
                               row->name, value);
    if (row->argument && !value) {
        const char *next = in->at < in->word_count ? in->words[in->at] : NULL;
        if (!next || is_option(next))
            return rdt_message_set(err, REDTUNE_INVALID, 0,
                                   "cannot use --%s: its value is missing; write --%s %s",
                                   row->name, row->name, row->argument);
        value = next;
        in->at++;
    }
    return row->take(&(rdt_taken){&in->options, row, value, err});
}

static redtune_status take_long(parser *in, const char *word) {
    size_t length = strcspn(word + 2, "=");
    const rdt_option *row = find_name(word + 2, length, in->bits);
    if (!row) return unknown_option(in, word, length + 2);
    return take_value(in, row, word[2 + length] ? word + 3 + length : NULL);
}

static redtune_status take_letters(parser *in, const char *word) {
    for (const char *letter = word + 1; *letter; letter++) {
        const rdt_option *row = find_letter(*letter, in->bits);
        if (!row) return unknown_option(in, word, strlen(word));
        redtune_status status = take_value(in, row, NULL);
        if (status) return status;
    }
    return REDTUNE_OK;
}

static redtune_status take_argument(parser *in, const char *word) {
    const rdt_command *command = in->command;
    if (!command->argument)
        return rdt_message_set(in->err, REDTUNE_INVALID, 0,
                               "cannot use '%.200s': redtune %s takes only options; redtune %s "
                               "--help lists them",
                               word, command->name, command->name);
    if (in->options.argument && !command->argument_least)
        return rdt_message_set(in->err, REDTUNE_INVALID, 0,
                               "cannot use '%.200s': redtune %s takes one %s, and '%.200s' is it",
                               word, command->name, command->argument, in->options.argument);
    if (in->options.argument_count == RDT_OPTIONS_ARGUMENT_MAX)
        return rdt_message_set(in->err, REDTUNE_INVALID, 0,
                               "cannot use '%.200s': redtune %s takes at most %d files at once",
                               word, command->name, RDT_OPTIONS_ARGUMENT_MAX);
    in->options.arguments[in->options.argument_count++] = word;
    in->options.argument = in->options.arguments[0];
    return REDTUNE_OK;
}

/* Reads the files of --ops, wherever it stands: --op before it may name an op of theirs. */
static redtune_status read_op_files(const parser *in) {
    redtune_status status = REDTUNE_OK;
    if (!find_name("ops", 3, in->bits)) return REDTUNE_OK;
    for (int i = 0; !status && i < in->word_count && strcmp(in->words[i], "--"); i++) {
        if (!strncmp(in->words[i], "--ops=", 6))
            status = redtune_ops_read(in->words[i] + 6, in->err);
        else if (!strcmp(in->words[i], "--ops") && i + 1 < in->word_count)
            status = redtune_ops_read(in->words[++i], in->err);
    }
    return status;
}

/* Whether the option is one of any command, and how many of the next words are its values. */
static bool find_any(const char *word, int *values) {
    const size_t length = strcspn(word + 2, "=");
    const rdt_option *row = word[1] == '-' ? find_name(word + 2, length, RDT_ALL) : NULL;
    *values = row && row->argument && !word[2 + length];
    if (word[1] == '-') return row;
    for (const char *letter = word + 1; *letter; letter++) {
        row = find_letter(*letter, RDT_ALL);
        if (!row) return false;
        *values += row->argument != NULL;
    }
    return true;
}

int rdt_options_find_command(char *const words[], int word_count) {
    int at = 0, values = 0;
    for (; at < word_count && words[at][0] == '-'; at += 1 + values)
        if (!find_any(words[at], &values)) return word_count;
    return at;
}

redtune_status rdt_options_parse(const rdt_command *command, unsigned bits, char *const words[],
                                 int word_count, bool help, rdt_options *out, redtune_error *err) {
    parser in = {
        .command = command, .bits = bits, .words = words, .word_count = word_count, .err = err};
    in.options.help = help;
    redtune_status read = help ? REDTUNE_OK : read_op_files(&in);
    if (read) return read;
    bool only_arguments = false;
    while (in.at < word_count) {
        const char *word = words[in.at++];
        redtune_status status = REDTUNE_OK;
        if (only_arguments || word[0] != '-' || !word[1])
            status = take_argument(&in, word);
        else if (!strcmp(word, "--"))
            only_arguments = true;
        else if (word[1] == '-')
            status = take_long(&in, word);
        else
            status = take_letters(&in, word);
        if (status) return status;
    }
    size_t least = command->argument_least ? command->argument_least : 1;
    if (command->argument && in.options.argument_count < least && !in.options.help &&
        !command->argument_optional)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot %s: %s%s is given; write redtune %s %s", command->name,
                               in.options.argument ? "only one of " : "no ", command->argument,
                               command->name, command->argument);
    *out = in.options;
    return REDTUNE_OK;
}

redtune_status rdt_options_check_segments(const rdt_options *options, redtune_error *err) {
    const char *name = options->segments ? "segments" : "list";
    const bool size = options->sizes.count_count || options->count;
    const char *other = size                        ? "size"
                        : options->shape            ? "shape"
                        : options->rows.count_count ? "rows"
                        : options->cols.count_count ? "cols"
                        : options->axes.count       ? "axis"
                                                    : NULL;
    if (!(options->segments || options->list) || !other) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --%s with --%s: segments have lengths of their own", other,
                           name);
}

/* Those of --segments or --list, of which only one is given. */
static redtune_status read_segments(const rdt_options *options, redtune_problem *problem,
                                    redtune_error *err) {
    const char *list = options->segments ? options->segments : options->list;
    bool more = false;
    redtune_status status = rdt_options_check_segments(options, err);
    if (!status && options->segments && options->list)
        status = rdt_message_set(err, REDTUNE_INVALID, 0,
                                 "cannot use --segments with --list: name one problem");
    if (!status) status = rdt_lengths_read_next(&list, problem, &more, err);
    if (!status && list)
        status = rdt_message_set(err, REDTUNE_INVALID, 0,
                                 "cannot use --%s with several tables: name one problem",
                                 options->segments ? "segments" : "list");
    if (!status)
        problem->segmented = options->segments ? REDTUNE_SEGMENTED_EACH : REDTUNE_SEGMENTED_ALL;
    return status;
}

/* The extents: of --size, or of --shape along --axis, or of segments. */
static redtune_status read_extents(const rdt_options *options, uint64_t count,
                                   redtune_problem *problem, redtune_error *err) {
    const char *list = options->shape;
    rdt_shape_array shape;
    bool more;
    if (options->segments || options->list) return read_segments(options, problem, err);
    if (list && options->count)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --size with --shape: the array has its elements");
    if (!list && options->axes.count)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --axis without --shape: name the array that it is of, "
                               "such as --shape 4096x4096");
    rdt_shape_set(problem, 0, options->count ? options->count : count);
    redtune_status status = rdt_shape_read_next(&list, &shape, &more, err);
    if (status || !more) return status;
    const redtune_dtype dtype = problem->dtype;
    if (!dtype) problem->dtype = REDTUNE_F32; /* any one: the extents are the same */
    status = rdt_beside_fold(options, &shape, problem, err);
    problem->dtype = dtype;
    return status;
}

redtune_status rdt_options_take_keys(const rdt_options *options, uint64_t keys,
                                     redtune_problem *problem, redtune_error *err) {
    const bool given = options->key_dtype || options->spread;
    problem->keys = keys;
    if (keys) problem->key_dtype = options->key_dtype ? options->key_dtype : REDTUNE_I32;
    if (keys) problem->spread = options->spread;
    if (keys || !given) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --%s without --keys: give how many keys there are",
                           options->spread ? "spread" : "key-dtype");
}

redtune_status rdt_options_problem(const rdt_options *options, redtune_dtype dtype, uint64_t count,
                                   redtune_problem *out, redtune_error *err) {
    redtune_problem problem = {
        .op = options->op_count ? options->ops[0] : REDTUNE_SUM,
        .dtype = options->dtype_count ? options->dtypes[0] : dtype,
        .order = options->order,
        .accuracy = options->accuracy,
    };
    redtune_status status = rdt_beside_check(options, err);
    if (!status) status = read_extents(options, count, &problem, err);
    if (!status) status = rdt_options_take_keys(options, options->key_count, &problem, err);
    if (!status) *out = problem;
    return status;
}

unsigned rdt_options_matrix_layouts(const rdt_options *options) {
    static const unsigned by_axis[] = {REDTUNE_LAYOUT_COLUMNS, REDTUNE_LAYOUT_ROWS};
    unsigned layouts = 0;
    for (size_t i = 0; i < options->axes.count; i++) {
        const int named = options->axes.axis[i], axis = named < 0 ? named + 2 : named;
        if (axis < 0 || axis > 1 || layouts & by_axis[axis]) return 0;
        layouts |= by_axis[axis];
    }
    return layouts;
}

redtune_status rdt_options_read_filter(const rdt_options *options, redtune_rows_query *query,
                                       redtune_error *err) {
    redtune_problem problem = {.dtype = REDTUNE_DTYPE_NONE};
    const unsigned layouts = rdt_options_matrix_layouts(options);
    const bool axis_alone = options->axes.count && !options->shape;
    if (axis_alone && options->count)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --size with --axis: it is for whole arrays; name the "
                               "array with --shape");
    if (axis_alone && !layouts)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --axis alone for other axes than 0, all columns, and 1, "
                               "all rows; name the array with --shape");
    if (!axis_alone) {
        redtune_status status = read_extents(options, 0, &problem, err);
        if (status) return status;
    }
    if (options->op_count) query->op = options->ops;
    if (options->dtype_count) query->dtype = options->dtypes;
    if (axis_alone) {
        query->layouts = layouts;
    } else if (rdt_shape_count(&problem)) {
        const rdt_shape_extents extents = rdt_shape_complete(&problem);
        query->layouts = rdt_shape_layout(&problem);
        query->count = extents.count;
        query->outer = extents.outer;
        query->inner = extents.inner;
    }
    return REDTUNE_OK;
}

/* ---- help ---------------------------------------------------------------------------------- */

void rdt_options_print(unsigned bits, FILE *out) {
    rdt_table lines = {.column_count = 2, .right = "ll"};
    for (const rdt_option *row = rdt_option_table; row->name; row++) {
        if (!(row->commands & bits)) continue;
        char letter[8] = "    ";
        if (row->letter) snprintf(letter, sizeof letter, "-%c, ", row->letter);
        rdt_table_add(&lines, "  %s--%s%s%s", letter, row->name, row->argument ? " " : "",
                      row->argument ? row->argument : "");
        rdt_table_add(&lines, "%s", row->help);
    }
    rdt_table_print(&lines, out);
}
