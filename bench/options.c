/* Options: what against_cub is asked to do. */
#include "bench/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[] = {"sum", "min", "max", "argmin", "argmax", NULL};

static const uint64_t size_max = UINT64_C(1) << 40;

/* Takes a value, or of a list one of them after the other. */
typedef redtune_status take_fn(bench_options *options, const char *value, redtune_error *err);

typedef struct option {
    const char *name;
    const char *argument; /* NULL: a flag, the bool at offset */
    take_fn *take;
    bool list; /* of values with commas between */
    size_t offset;
    const char *help;
} option;

uint64_t bench_size_count(const bench_size *size, const bench_dtype *dtype) {
    return size->bytes ? size->value / dtype->bytes : size->value;
}

/* ---- values -------------------------------------------------------------------------------- */

static bool read_size(const char *text, size_t length, uint64_t *size) {
    static const char suffixes[] = "KMG";
    uint64_t value = 0;
    size_t i = 0;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        value = value * 10 + (uint64_t)(text[i] - '0');
        if (value > size_max) return false;
    }
    const char *suffix = i + 1 == length ? strchr(suffixes, text[i]) : NULL;
    if (!i || !value || (i < length && !suffix)) return false;
    if (suffix) value <<= 10 * (suffix - suffixes + 1);
    if (value > size_max) return false;
    *size = value;
    return true;
}

/* One size, or the powers of two from the one to the other. */
static redtune_status add_sizes(bench_options *options, const char *text, bool bytes,
                                redtune_error *err) {
    uint64_t first = 0, last = 0;
    const char *dots = strstr(text, "..");
    size_t length = strlen(text), first_length = dots ? (size_t)(dots - text) : length;
    bool good = read_size(text, first_length, &first);
    if (good && dots) good = read_size(dots + 2, length - first_length - 2, &last) && first <= last;
    if (!good)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "'%s' is no size; give 1000, 4K, 256M or a range such as 1K..1G", text);
    uint64_t size = dots ? 1 : first;
    if (!dots) last = first;
    while (size < first) size *= 2;
    for (; size <= last; size *= 2) {
        if (options->size_count == BENCH_SIZES_MAX)
            return rdt_fail(err, REDTUNE_INVALID, 0, "more than %d sizes", BENCH_SIZES_MAX);
        options->sizes[options->size_count++] = (bench_size){size, bytes};
    }
    return REDTUNE_OK;
}

static redtune_status take_size(bench_options *options, const char *value, redtune_error *err) {
    return add_sizes(options, value, false, err);
}

static redtune_status take_bytes(bench_options *options, const char *value, redtune_error *err) {
    return add_sizes(options, value, true, err);
}

static redtune_status take_op(bench_options *options, const char *name, redtune_error *err) {
    size_t i = 0;
    while (op_names[i] && strcmp(op_names[i], name)) i++;
    if (!op_names[i])
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "'%s' is none of the ops sum, min, max, argmin, argmax", name);
    if (options->op_count < BENCH_LIST_MAX) options->ops[options->op_count++] = op_names[i];
    return REDTUNE_OK;
}

static redtune_status take_dtype(bench_options *options, const char *name, redtune_error *err) {
    const bench_dtype *dtype = bench_dtype_find(name);
    if (!dtype)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "'%s' is no dtype; give one of i8 to i64, u8 to u64, f16, bf16, f32, f64",
                        name);
    if (options->dtype_count < BENCH_LIST_MAX) options->dtypes[options->dtype_count++] = dtype;
    return REDTUNE_OK;
}

static redtune_status read_int(const char *value, int least, int most, int *out,
                               redtune_error *err) {
    char *end = NULL;
    long number = strtol(value, &end, 10);
    if (!*value || *end || number < least || number > most)
        return rdt_fail(err, REDTUNE_INVALID, 0, "'%s' is no number from %d to %d", value, least,
                        most);
    *out = (int)number;
    return REDTUNE_OK;
}

static redtune_status take_samples(bench_options *options, const char *value, redtune_error *err) {
    return read_int(value, 1, BENCH_SAMPLES_MAX, &options->samples, err);
}

static redtune_status read_device(bench_options *options, const char *value, redtune_error *err) {
    return read_int(value, 0, 1023, &options->device, err);
}

static redtune_status take_database(bench_options *options, const char *value, redtune_error *err) {
    (void)err;
    options->database = value;
    return REDTUNE_OK;
}

static redtune_status read_format(bench_options *options, const char *value, redtune_error *err) {
    static const char *const names[] = {"text", "csv", "json"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, names[i])) continue;
        options->format = (bench_format)i;
        return REDTUNE_OK;
    }
    return rdt_fail(err, REDTUNE_INVALID, 0, "'%s' is none of text, csv, json", value);
}

/* ---- the table ----------------------------------------------------------------------------- */

#define MEMBER(name) offsetof(bench_options, name)

static const option table[] = {
    {"op", "OP,...", take_op, true, 0, "sum, min, max, argmin, argmax (default: sum)"},
    {"dtype", "DTYPE,...", take_dtype, true, 0, "of the elements (default: every one redtune has)"},
    {"size", "SIZES", take_size, true, 0, "elements: 4K,1M or powers of two, 1K..256M; K is 1024"},
    {"bytes", "SIZES", take_bytes, true, 0, "the same in bytes (default: 1K..1G)"},
    {"cold", NULL, NULL, false, MEMBER(modes[BENCH_COLD]),
     "time replayed graphs whose inputs are not in L2"},
    {"warm", NULL, NULL, false, MEMBER(modes[BENCH_WARM]),
     "time replayed graphs whose input is in L2"},
    {"apart", NULL, NULL, false, MEMBER(modes[BENCH_APART]),
     "as cold, an ordinary kernel before each call; its time is taken off"},
    {"stream", NULL, NULL, false, MEMBER(modes[BENCH_STREAM]),
     "time calls back to back on a stream (default: cold, warm, stream)"},
    {"floor", NULL, NULL, false, MEMBER(floor),
     "race a kernel that never combines its blocks, too (sum only)"},
    {"fixed", NULL, NULL, false, MEMBER(fixed),
     "sums whose bits never change: the fixed order, and CUB's gpu_to_gpu"},
    {"flush-writes", NULL, NULL, false, MEMBER(flush_writes),
     "flush L2 by writing, which leaves it dirty (default: by reading)"},
    {"samples", "N", take_samples, false, 0, "per contestant; the median counts (default: 21)"},
    {"db", "PATH", take_database, false, 0, "redtune's tuning database (default: redtune's own)"},
    {"format", "FORMAT", read_format, false, 0, "text, csv or json (default: text)"},
    {"device", "N", read_device, false, 0, "the GPU (default: 0)"},
    {"dry", NULL, NULL, false, MEMBER(dry), "make the times up: shows the output without a GPU"},
    {"help", NULL, NULL, false, MEMBER(help), "print this"},
    {0},
};

void bench_options_help(FILE *out) {
    fputs(
        "usage: against_cub [OPTION]...\n\n"
        "Times redtune's tuned plan, its untuned default and CUB's DeviceReduce, interleaved.\n\n",
        out);
    for (const option *row = table; row->name; row++) {
        char left[32];
        snprintf(left, sizeof left, "--%s%s%s", row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        fprintf(out, "  %-20s %s\n", left, row->help);
    }
}

static const option *find_option(const char *word, const char **value) {
    if (strncmp(word, "--", 2)) return NULL;
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    *value = name[length] ? name + length + 1 : NULL;
    for (const option *row = table; row->name; row++)
        if (strlen(row->name) == length && !strncmp(row->name, name, length)) return row;
    return NULL;
}

/* Hands a list to the option's function value by value, and any other value as it is. */
static redtune_status take_value(bench_options *options, const option *row, const char *value,
                                 redtune_error *err) {
    if (!row->list) return row->take(options, value, err);
    redtune_status status = REDTUNE_OK;
    for (const char *at = value; !status; at++) {
        char each[64];
        size_t length = strcspn(at, ",");
        snprintf(each, sizeof each, "%.*s", (int)length, at);
        if (length >= sizeof each)
            return rdt_fail(err, REDTUNE_INVALID, 0, "--%s: '%s...' is too long", row->name, each);
        status = row->take(options, each, err);
        at += length;
        if (!*at) break;
    }
    return status;
}

static redtune_status fill_in(bench_options *options, redtune_error *err) {
    if (!options->op_count) options->ops[options->op_count++] = op_names[0];
    if (!options->dtype_count)
        for (const bench_dtype *dtype = bench_dtype_table; dtype->name; dtype++)
            options->dtypes[options->dtype_count++] = dtype;
    bool given = false;
    for (int mode = 0; mode < BENCH_MODES; mode++) given = given || options->modes[mode];
    if (!given)
        options->modes[BENCH_COLD] = options->modes[BENCH_WARM] = options->modes[BENCH_STREAM] =
            true;
    if (!options->samples) options->samples = 21;
    return options->size_count ? REDTUNE_OK : take_bytes(options, "1K..1G", err);
}

redtune_status bench_options_parse(char *const words[], int word_count, bench_options *out,
                                   redtune_error *err) {
    bench_options options = {0};
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < word_count; i++) {
        const char *value = NULL;
        const option *row = find_option(words[i], &value);
        if (!row)
            return rdt_fail(err, REDTUNE_INVALID, 0, "'%s' is no option; see --help", words[i]);
        if (row->argument && !value && i + 1 < word_count) value = words[++i];
        if (!row->argument != !value)
            return rdt_fail(err, REDTUNE_INVALID, 0, "--%s %s", row->name,
                            row->argument ? "needs a value" : "takes no value");
        if (row->take)
            status = take_value(&options, row, value, err);
        else
            *(bool *)((char *)&options + row->offset) = true;
    }
    if (!status) status = fill_in(&options, err);
    if (!status) *out = options;
    return status;
}
