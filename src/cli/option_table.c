/* Option table: every option of every command, its help, and how its value is read. */
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>
#include "cli/message.h"
#include "cli/names.h"

typedef redtune_status take_fn(rdt_options *options, const rdt_option *row, const char *value,
                               redtune_error *err);
static take_fn take_flag, take_string, take_device, take_devices, take_part, take_seconds,
    take_effort, take_whole, take_sample, take_number, take_ops, take_dtypes, take_count,
    take_counts, take_format, take_shapes, take_axes, take_order, take_accuracy, take_outputs,
    take_parameter, take_archs, take_percent, take_key_dtype, take_spread;

#define MEMBER(name) offsetof(rdt_options, name)

const rdt_option rdt_option_table[] = {
    {"device", 0, "N,...|all", RDT_TUNE, take_devices, MEMBER(device),
     "the GPUs' numbers, all, or sim: the simulated one (default: 0)"},
    {"device", 0, "N,...|all", RDT_REDUCE, take_devices, MEMBER(device),
     "the GPUs' numbers, all, or sim: the simulated one (default: 0)"},
    {"device", 0, "N|sim", RDT_LADDER | RDT_VERIFY, take_device, MEMBER(device),
     "the GPU's number, or sim: the simulated one (default: 0)"},
    {"device", 0, "N|sim", RDT_REPORT, take_device, MEMBER(device),
     "report on this GPU, and run the ladder on it (default: no ladder)"},
    {"output", 'o', "FILE", RDT_REPORT | RDT_EXPORT, take_string, MEMBER(output),
     "where to write (default: -, which is standard output)"},
    {"output", 'o', "FILE", RDT_BAKE, take_string, MEMBER(output),
     "the kernel file (default: kernels.db)"},
    {"gpu", 0, "NAME,...", RDT_BAKE, take_string, MEMBER(gpu),
     "what GPU models with this in their names would run (default: none)"},
    {"arch", 0, "NUMBER,...", RDT_BAKE, take_archs, 0,
     "architectures; 90 is compute capability 9.0 (default: 80,86,89,90,100,120 without --gpu)"},
    {"ptx", 0, NULL, RDT_BAKE, take_flag, MEMBER(ptx),
     "PTX instead of machine code, which drivers of later GPUs compile, too"},
    {"shipped", 0, NULL, RDT_BAKE, take_flag, MEMBER(shipped),
     "all problems that the system's databases have winners for"},
    {"gpu", 0, "NAME", RDT_REPORT | RDT_EXPLAIN, take_string, MEMBER(gpu),
     "the GPU model with this in its name (default: this machine's)"},
    {"op", 0, "OP,...", RDT_BAKE, take_ops, MEMBER(ops), "the reductions (default: sum)"},
    {"dtype", 0, "DTYPE,...", RDT_BAKE, take_dtypes, MEMBER(dtypes),
     "of the elements (default: f32,f16,bf16)"},
    {"size", 0, "SIZES", RDT_BAKE, take_counts, MEMBER(sizes),
     "elements: 4K,1M or a range of powers of two (default: whole arrays, rows, columns, "
     "segments)"},
    {"op", 0, "OP,...", RDT_TUNE, take_ops, MEMBER(ops), "what to tune (default: sum)"},
    {"all", 0, NULL, RDT_SHOW, take_flag, MEMBER(all), "every measurement, not only the winners"},
    {"format", 0, "FORMAT", RDT_EXPORT, take_format, MEMBER(format),
     "sqlite, a database, or json, one object per line (default: json of FILE.jsonl, else sqlite)"},
    {"winners", 0, NULL, RDT_EXPORT, take_flag, MEMBER(winners),
     "only the winners, and what the default took beside each"},
    {"gpu", 0, "NAME", RDT_EMIT, take_string, MEMBER(gpu),
     "for the GPU model with this in its name (default: a typical one)"},
    {"gpu", 0, "NAME|all", RDT_SHOW, take_string, MEMBER(gpu),
     "the GPU model with this in its name, or all (default: this machine's)"},
    {"gpu", 0, "NAME", RDT_COMPARE, take_string, MEMBER(gpu),
     "only the GPU model with this in its name (default: all)"},
    {"all", 0, NULL, RDT_COMPARE, take_flag, MEMBER(all), "print what is within noise, too"},
    {"tolerance", 0, "PERCENT", RDT_COMPARE | RDT_REPORT, take_percent, MEMBER(tolerance),
     "a time that differs by less is the same (default: 5)"},
    {"against", 0, "FILE", RDT_REPORT, take_string, MEMBER(against),
     "show what is slower or faster than in this database or export"},
    {"gpu", 0, "NAME|all", RDT_EXPORT, take_string, MEMBER(gpu),
     "the GPU model with this in its name (default: all; of winners this machine's)"},
    {"shipped", 0, NULL, RDT_SHOW | RDT_EXPLAIN | RDT_REPORT | RDT_EXPORT, take_flag,
     MEMBER(shipped), "the system's databases, too, such as what redtune comes with"},
    {"sample", 0, "NUMBER", RDT_VERIFY, take_sample, MEMBER(sample),
     "how many winners to try, drawn at random (default: 32)"},
    {"bits", 0, "FILE", RDT_VERIFY, take_string, MEMBER(bits),
     "instead: write the bits of standard sums in fixed order there, or compare with it"},
    {"all", 0, NULL, RDT_VERIFY, take_flag, MEMBER(all),
     "try every config that has good measurements"},
    {"op", 0, "OP", RDT_FILTERED, take_ops, MEMBER(ops), "only of this reduction (default: all)"},
    {"dtype", 0, "DTYPE", RDT_FILTERED, take_dtypes, MEMBER(dtypes),
     "only of these elements (default: all)"},
    {"size", 0, "SIZE", RDT_FILTERED, take_count, MEMBER(count),
     "only whole arrays of this number of elements (default: all)"},
    {"shape", 0, "SHAPE", RDT_FILTERED, take_shapes, MEMBER(shape),
     "only this array, such as 64x512x512, reduced"},
    {"axis", 0, "AXIS,...", RDT_FILTERED, take_axes, MEMBER(axes),
     "... along these axes; alone: 1 all rows, 0 all columns, 1,0 both"},
    {"device", 0, "N,...|all", RDT_EXPLAIN, take_devices, MEMBER(device),
     "these GPUs of the machine, all, or sim: the simulated one (default: 0)"},
    {"op", 0, "OP", RDT_EMIT | RDT_REDUCE | RDT_EXPLAIN, take_ops, MEMBER(ops),
     "the reduction (default: sum)"},
    {"dtype", 0, "DTYPE,...", RDT_TUNE, take_dtypes, MEMBER(dtypes),
     "of the elements (default: f16,bf16,f32,f64,i8,i32,i64)"},
    {"dtype", 0, "DTYPE", RDT_EMIT | RDT_EXPLAIN, take_dtypes, MEMBER(dtypes),
     "of the elements (default: f32)"},
    {"op", 0, "OP", RDT_REPORT, take_ops, MEMBER(ops),
     "the problem whose candidates are shown: its op (default: sum),"},
    {"dtype", 0, "DTYPE", RDT_REPORT, take_dtypes, MEMBER(dtypes), "... its dtype (default: any),"},
    {"size", 0, "SIZE", RDT_REPORT, take_count, MEMBER(count),
     "... its elements (default: the one with the greatest gain)"},
    {"shape", 0, "SHAPE", RDT_REPORT, take_shapes, MEMBER(shape),
     "... or its array, such as 64x512x512, reduced"},
    {"axis", 0, "AXIS,...", RDT_REPORT, take_axes, MEMBER(axes),
     "... along these axes, from 0, or from the end: -1"},
    {"csv", 0, NULL, RDT_REPORT, take_flag, MEMBER(csv), "the winners as CSV"},
    {"csv", 0, NULL, RDT_SHOW, take_flag, MEMBER(csv), "print the result as CSV"},
    {"dtype", 0, "DTYPE", RDT_LADDER, take_dtypes, MEMBER(dtypes),
     "of the elements: i32, i64, f32 or f64 (default: f32)"},
    {"axis", 0, "AXIS,...", RDT_REDUCE, take_axes, MEMBER(axes),
     "reduce along these axes, from 0, or from the end: -1 (default: all)"},
    {"keepdims", 0, NULL, RDT_REDUCE, take_flag, MEMBER(keepdims),
     "keep the reduced axes, with size 1"},
    {"output", 'o', "FILE", RDT_REDUCE, take_outputs, MEMBER(output),
     "write the results as an .npy file, second results to a second -o (default: print up to 64)"},
    {"parameter", 0, "NAME=NUMBER", RDT_REDUCE, take_parameter, MEMBER(parameters),
     "a parameter of the op, such as ddof=1; redtune show ops lists them"},
    {"offsets", 0, "FILE", RDT_REDUCE, take_string, MEMBER(offsets),
     "reduce segments: number i from element offsets[i] up to offsets[i + 1]"},
    {"where", 0, "FILE", RDT_REDUCE, take_string, MEMBER(where),
     "a mask: an .npy file of bools of the same shape; elements where it is false are absent"},
    {"where-bits", 0, "FILE", RDT_REDUCE, take_string, MEMBER(where_bits),
     "a mask of bits, such as Arrow's validity, from the lowest bit of the first byte on"},
    {"where-offset", 0, "NUMBER", RDT_REDUCE, take_whole, MEMBER(where_offset),
     "bits of --where-bits before that of the first element (default: 0)"},
    {"by", 0, "FILE", RDT_REDUCE, take_string, MEMBER(by),
     "reduce by key: result k is of the elements, or rows, whose key in that .npy file is k"},
    {"keys", 0, "NUMBER", RDT_REDUCE, take_number, MEMBER(key_count),
     "how many results --by has; other keys are skipped (default: the greatest key and 1)"},
    {"shape", 0, "SHAPE", RDT_REDUCE, take_shapes, MEMBER(shape),
     "of a file of raw elements: its array, such as 64x512x512"},
    {"dtype", 0, "DTYPE", RDT_REDUCE, take_dtypes, MEMBER(dtypes),
     "of a file of raw elements: i8 to u64, f16, bf16, f32, f64, e4m3 or e5m2"},
    {"size", 0, "SIZES", RDT_TUNE, take_counts, MEMBER(sizes),
     "elements: 4K,1M or a range of powers of two, K is 1024 (default: 1K..1G)"},
    {"rows", 0, "SIZES", RDT_TUNE | RDT_BAKE, take_counts, MEMBER(rows),
     "matrices with these numbers of rows, as for --size,"},
    {"cols", 0, "SIZES", RDT_TUNE | RDT_BAKE, take_counts, MEMBER(cols),
     "... each with these of columns"},
    {"shape", 0, "SHAPE,...", RDT_TUNE | RDT_BAKE, take_shapes, MEMBER(shape),
     "arrays, such as 64x512x512"},
    {"axis", 0, "AXIS,...", RDT_TUNE | RDT_BAKE, take_axes, MEMBER(axes),
     "along these axes: 1 each row, 0 each column; alone: of the default shapes, 1,0 both"},
    {"shape", 0, "SHAPE", RDT_EXPLAIN | RDT_EMIT, take_shapes, MEMBER(shape),
     "or an array, such as 64x512x512, reduced"},
    {"axis", 0, "AXIS,...", RDT_EXPLAIN | RDT_EMIT, take_axes, MEMBER(axes),
     "... along these axes, from 0, or from the end: -1 (default: all)"},
    {"segments", 0, "LENGTHS,...", RDT_TUNE | RDT_BAKE, take_string, MEMBER(segments),
     "segments: 4096x1000, 4096x1000:MEDIAN:GREATEST, or a file of lengths, one a line"},
    {"list", 0, "LENGTHS,...", RDT_TUNE | RDT_BAKE, take_string, MEMBER(list),
     "lists of arrays, likewise: one result of all of them"},
    {"segments", 0, "LENGTHS", RDT_EXPLAIN | RDT_EMIT | RDT_FILTERED, take_string, MEMBER(segments),
     "or segments: 4096x1000, 4096x1000:MEDIAN:GREATEST, or a file of lengths"},
    {"list", 0, "LENGTHS", RDT_EXPLAIN | RDT_EMIT | RDT_FILTERED, take_string, MEMBER(list),
     "or a list of such arrays, with one result of all of them"},
    {"keys", 0, "SIZES", RDT_TUNE, take_counts, MEMBER(keys),
     "reductions by so many keys, of the elements of --size or rows: --shape 1Mx64 --axis 0"},
    {"keys", 0, "SIZE", RDT_EXPLAIN, take_count, MEMBER(key_count), "or by so many keys"},
    {"key-dtype", 0, "DTYPE", RDT_TUNE | RDT_EXPLAIN, take_key_dtype, 0,
     "... of the keys: i8 to u64 (default: i32)"},
    {"spread", 0, "SPREAD", RDT_TUNE | RDT_EXPLAIN, take_spread, 0,
     "... uniform, skewed, or one most of the time (default: unknown)"},
    {"size", 0, "SIZE", RDT_EXPLAIN, take_count, MEMBER(count), "elements (default: 1M)"},
    {"size", 0, "SIZE", RDT_EMIT, take_count, MEMBER(count),
     "elements to render for, or to run on (default: 1M)"},
    {"size", 0, "SIZE", RDT_LADDER, take_count, MEMBER(count),
     "elements to sum (default: 16M; on the simulated GPU 1M)"},
    {"block", 0, "THREADS", RDT_LADDER, take_number, MEMBER(block),
     "threads per block: 32 to 1024, a power of two, or 101 (default: 256)"},
    {"show", 0, "STEP", RDT_LADDER, take_string, MEMBER(show),
     "print that step's kernel: its name or number, or tuned"},
    {"trace", 0, "COUNT", RDT_LADDER, take_number, MEMBER(trace),
     "print the trees over 2, 4, 8 or 16 numbers, round by round"},
    {"export", 0, "DIR", RDT_LADDER, take_string, MEMBER(export),
     "write each step as a complete program for nvcc into that folder"},
    {"one-block", 0, NULL, RDT_LADDER, take_flag, MEMBER(one_block),
     "the steps in their form for an array of one block"},
    {"order", 0, "ORDER", RDT_EMIT | RDT_EXPLAIN | RDT_TUNE | RDT_REDUCE | RDT_BAKE, take_order,
     MEMBER(order),
     "of combining: free, or fixed, whose bits never change (default: free, or of reduce "
     "$REDTUNE_ORDER)"},
    {"accuracy", 0, "ACCURACY", RDT_EMIT | RDT_EXPLAIN | RDT_TUNE | RDT_REDUCE | RDT_BAKE,
     take_accuracy, MEMBER(accuracy),
     "of sums of floats: plain, compensated or exact (default: plain)"},
    {"family", 0, "NAME", RDT_EMIT, take_string, MEMBER(family),
     "the template (default: the first that has the op and dtype)"},
    {"config", 0, "NAME=VALUE,...", RDT_EMIT, take_string, MEMBER(config),
     "parameters that differ from the built-in default"},
    {"lines", 0, NULL, RDT_EMIT, take_flag, MEMBER(lines),
     "with the #line directives that the compiler is given"},
    {"counters", 0, NULL, RDT_EMIT, take_flag, MEMBER(counters),
     "print what it does on the simulated GPU instead of the source"},
    {"recorded", 0, "FILE", RDT_TUNE | RDT_BAKE, take_string, MEMBER(recorded),
     "what programs recorded with REDTUNE_RECORD=FILE, the costliest first"},
    {"effort", 0, "EFFORT", RDT_TUNE, take_effort, MEMBER(effort),
     "quick, standard or exhaustive (default: standard)"},
    {"budget", 0, "TIME", RDT_TUNE, take_seconds, MEMBER(budget_s),
     "about how long to take, such as 60s or 5m (default: no limit)"},
    {"seed", 0, "NUMBER", RDT_TUNE, take_whole, MEMBER(seed),
     "of the random choices: the same gives the same search (default: 0)"},
    {"seed", 0, "NUMBER", RDT_VERIFY, take_whole, MEMBER(seed),
     "of the sample: the same draws the same winners (default: 0)"},
    {"shard", 0, "I/N|auto", RDT_TUNE, take_part, MEMBER(shard),
     "tune part I of N, from 0; auto: as torchrun, mpirun or srun says"},
    {"limit", 0, "TIME", RDT_TUNE | RDT_VERIFY, take_seconds, MEMBER(limit_s),
     "abandon a candidate whose step takes longer (default: 10)"},
    {"jobs", 'j', "NUMBER", RDT_TUNE, take_number, MEMBER(jobs),
     "classes to tune side by side on each GPU (default: 1 to 6, by cores)"},
    {"again", 0, NULL, RDT_TUNE, take_flag, MEMBER(again),
     "measure again what the database has, too"},
    {"machine", 0, "LABEL", RDT_TUNE | RDT_VERIFY, take_string, MEMBER(machine),
     "store measurements with this label, for databases that several share"},
    {"dry-run", 0, NULL, RDT_IMPORT | RDT_MERGE, take_flag, MEMBER(dry_run),
     "change nothing, and print what would change"},
    {"repair", 0, NULL, RDT_DOCTOR, take_flag, MEMBER(repair),
     "save what can be read of a damaged database, and keep the old file, renamed"},
    {"db", 0, "PATH", RDT_ALL & ~(RDT_WORKER | RDT_MERGE | RDT_COMPARE | RDT_BARE), take_string,
     MEMBER(database), "the tuning database (default: $REDTUNE_DB, else the user's)"},
    {"ops", 0, "FILE:...", RDT_ALL & ~(RDT_WORKER | RDT_LADDER | RDT_UNDO), take_string,
     MEMBER(op_files), "Lua files with ops of your own (default: $REDTUNE_OPS)"},
    {"json", 0, NULL, RDT_ALL & ~(RDT_EMIT | RDT_WORKER | RDT_EXPORT | RDT_BARE), take_flag,
     MEMBER(json), "print the result as JSON"},
    {"quiet", 'q', NULL, RDT_ALL & ~(RDT_WORKER | RDT_BARE), take_flag, MEMBER(quiet),
     "print the result and errors only"},
    {"verbose", 'v', NULL, RDT_TUNE | RDT_REDUCE | RDT_LADDER | RDT_REPORT | RDT_VERIFY, take_flag,
     MEMBER(verbose), "report details; -vv: everything"},
    {"help", 'h', NULL, RDT_ALL, take_flag, MEMBER(help), "print this"},
    {"version", 0, NULL, RDT_BARE, take_flag, MEMBER(version), "print redtune's version"},
    {0},
};

/* ---- values -------------------------------------------------------------------------------- */

static redtune_status wrong(const rdt_option *row, const char *value, const char *reason,
                            redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0, "cannot use --%s '%.200s': %s", row->name,
                           value, reason);
}

static redtune_status take_flag(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    (void)value, (void)err;
    (*(int *)((char *)options + row->offset))++;
    return REDTUNE_OK;
}

static redtune_status take_string(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    if (!*value) return wrong(row, value, "it is empty", err);
    *(const char **)((char *)options + row->offset) = value;
    return REDTUNE_OK;
}

/* The first -o and the second. */
static redtune_status take_outputs(rdt_options *options, const rdt_option *row, const char *value,
                                   redtune_error *err) {
    if (!*value) return wrong(row, value, "it is empty", err);
    if (options->second_output) return wrong(row, value, "no op has more than two results", err);
    if (options->output)
        options->second_output = value;
    else
        options->output = value;
    return REDTUNE_OK;
}

static redtune_status take_parameter(rdt_options *options, const rdt_option *row, const char *value,
                                     redtune_error *err) {
    const char *number = strchr(value, '=');
    char *end = NULL;
    if (number) strtod(number + 1, &end);
    if (!number || number == value || end == number + 1 || *end || number[1] == ' ')
        return wrong(row, value, "give a name and a number, such as ddof=1", err);
    if (options->parameter_count == RDT_OPTIONS_PARAMETERS_MAX)
        return wrong(row, value, "no op has more than two", err);
    options->parameters[options->parameter_count++] = value;
    return REDTUNE_OK;
}

static redtune_status take_device(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    size_t digits = strspn(value, "0123456789");
    if ((!digits || value[digits]) && strcmp(value, "sim"))
        return wrong(row, value, "give one device: a number such as 0, or sim", err);
    return take_string(options, row, value, err);
}

/* Numbers with commas between, or a word for all. */
static redtune_status take_devices(rdt_options *options, const rdt_option *row, const char *value,
                                   redtune_error *err) {
    const char *at = value;
    while (*at >= '0' && *at <= '9') {
        at += strspn(at, "0123456789");
        if (*at == ',' && at[1]) at++;
    }
    if (!*value || (*at && strcmp(value, "sim") && strcmp(value, "all") && strcmp(value, "auto")))
        return wrong(row, value, "give numbers such as 0 or 0,1, or all, or sim", err);
    return take_string(options, row, value, err);
}

static redtune_status take_part(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    (void)row;
    return rdt_shard_read(value, &options->shard, err);
}

static redtune_status take_effort(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    (void)row;
    return redtune_effort_find(value, &options->effort, err);
}

static redtune_status take_order(rdt_options *options, const rdt_option *row, const char *value,
                                 redtune_error *err) {
    const bool fixed = !strcmp(value, "fixed");
    if (!fixed && strcmp(value, "free")) return wrong(row, value, "give free or fixed", err);
    options->order = fixed ? REDTUNE_ORDER_FIXED : REDTUNE_ORDER_FREE_ALWAYS;
    return REDTUNE_OK;
}

static redtune_status take_accuracy(rdt_options *options, const rdt_option *row, const char *value,
                                    redtune_error *err) {
    redtune_problem named = {.accuracy = REDTUNE_ACCURACY_PLAIN};
    for (; named.accuracy <= REDTUNE_ACCURACY_EXACT; named.accuracy++)
        if (!strcmp(value, rdt_shape_accuracy_name(&named))) {
            options->accuracy = named.accuracy;
            return REDTUNE_OK;
        }
    return wrong(row, value, "give plain, compensated or exact", err);
}

static redtune_status take_key_dtype(rdt_options *options, const rdt_option *row, const char *value,
                                     redtune_error *err) {
    redtune_dtype_info dtype;
    redtune_status status = rdt_names_find_dtype(value, &options->key_dtype, err);
    if (!status) status = redtune_dtype_get(options->key_dtype, &dtype, err);
    if (status || dtype.kind == 'i' || dtype.kind == 'u') return status;
    return wrong(row, value, "give a dtype of integers, such as i32 or i64", err);
}

static redtune_status take_spread(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    for (int spread = 1; rdt_shape_spread_name((redtune_spread)spread); spread++)
        if (!strcmp(value, rdt_shape_spread_name((redtune_spread)spread))) {
            options->spread = (redtune_spread)spread;
            return REDTUNE_OK;
        }
    return wrong(row, value, "give uniform, skewed or one", err);
}

static redtune_status take_whole(rdt_options *options, const rdt_option *row, const char *value,
                                 redtune_error *err) {
    char *end;
    size_t digits = strspn(value, "0123456789");
    uint64_t whole = strtoull(value, &end, 10);
    if (!digits || value[digits] || digits > 19)
        return wrong(row, value, "give a whole number of up to 19 digits", err);
    *(uint64_t *)((char *)options + row->offset) = whole;
    return REDTUNE_OK;
}

static redtune_status take_seconds(rdt_options *options, const rdt_option *row, const char *value,
                                   redtune_error *err) {
    double seconds;
    if (!rdt_number_read_seconds(value, &seconds))
        return wrong(row, value, "give seconds, such as 10, 2.5s or 1m, up to a week", err);
    *(double *)((char *)options + row->offset) = seconds;
    return REDTUNE_OK;
}

static redtune_status take_percent(rdt_options *options, const rdt_option *row, const char *value,
                                   redtune_error *err) {
    char *end;
    options->tolerance = *value >= '0' && *value <= '9' ? strtod(value, &end) : 0;
    if (!(options->tolerance > 0 && options->tolerance <= 1000) || *end)
        return wrong(row, value, "give percent, such as 5 or 0.5", err);
    return REDTUNE_OK;
}

static redtune_status read_number(rdt_options *options, const rdt_option *row, const char *value,
                                  const char *remedy, redtune_error *err) {
    uint64_t *number = (uint64_t *)(void *)((char *)options + row->offset);
    if (!rdt_number_read_count(value, strlen(value), number)) return wrong(row, value, remedy, err);
    return REDTUNE_OK;
}

static redtune_status take_sample(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    return read_number(options, row, value, "give a number from 1 on, or --all", err);
}

static redtune_status take_number(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    return read_number(options, row, value, "give a whole number from 1 on", err);
}

/* One name out of a list, or the whole of it for an option of one name; false once the list has
 * ended. */
static bool next_name(const rdt_option *row, const char **list, char name[64]) {
    if (!*list) return false;
    size_t length = strcspn(*list, strchr(row->argument, ',') ? "," : "");
    snprintf(name, 64, "%.*s", (int)length, *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return true;
}

static redtune_status take_format(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    if (strcmp(value, "json") != 0 && strcmp(value, "sqlite") != 0)
        return wrong(row, value, "give sqlite or json", err);
    return take_string(options, row, value, err);
}

static redtune_status take_ops(rdt_options *options, const rdt_option *row, const char *value,
                               redtune_error *err) {
    const char *list = value;
    char name[64];
    options->op_count = 0;
    while (next_name(row, &list, name)) {
        if (options->op_count == RDT_OPTIONS_LIST_MAX)
            return wrong(row, value, "too many names", err);
        redtune_status status = rdt_names_find_op(name, &options->ops[options->op_count], err);
        if (status) return status;
        options->op_count++;
    }
    return REDTUNE_OK;
}

static redtune_status take_archs(rdt_options *options, const rdt_option *row, const char *value,
                                 redtune_error *err) {
    const char *at = value;
    options->arch_count = 0;
    do {
        char *end = NULL;
        const long number = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
        if (number < 75 || number > 999 || (*end && (*end != ',' || !end[1])))
            return wrong(row, value, "give numbers of 75 or more, such as 80,90", err);
        if (options->arch_count == RDT_OPTIONS_ARCH_MAX)
            return wrong(row, value, "too many numbers", err);
        options->archs[options->arch_count++] = (int)number;
        at = end + (*end == ',');
    } while (*at);
    return REDTUNE_OK;
}

static redtune_status take_dtypes(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    const char *list = value;
    char name[64];
    options->dtype_count = 0;
    while (next_name(row, &list, name)) {
        if (options->dtype_count == RDT_OPTIONS_LIST_MAX)
            return wrong(row, value, "too many names", err);
        redtune_status status =
            rdt_names_find_dtype(name, &options->dtypes[options->dtype_count], err);
        if (status) return status;
        options->dtype_count++;
    }
    return REDTUNE_OK;
}

static redtune_status take_counts(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    rdt_sizes *sizes = (rdt_sizes *)(void *)((char *)options + row->offset);
    redtune_status status = rdt_number_read_counts(value, sizes->counts, &sizes->count_count, err);
    if (status) rdt_message_within(err, "cannot use --%s", row->name);
    return status;
}

static redtune_status take_count(rdt_options *options, const rdt_option *row, const char *value,
                                 redtune_error *err) {
    return read_number(options, row, value,
                       "give a whole number of elements from 1 to 2^60, such as 1000, 1e6, 4K",
                       err);
}

/* A list, or one array for an option of one. */
static redtune_status take_shapes(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    const char *list = value;
    rdt_shape_array shape;
    bool more = strchr(row->argument, ',') != NULL;
    redtune_status status = more ? REDTUNE_OK : rdt_shape_read(value, strlen(value), &shape, err);
    while (!status && more) status = rdt_shape_read_next(&list, &shape, &more, err);
    if (status) return rdt_message_within(err, "cannot use --%s", row->name);
    options->shape = value;
    return REDTUNE_OK;
}

static redtune_status take_axes(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    redtune_status status = rdt_shape_read_axes(value, &options->axes, err);
    return status ? rdt_message_within(err, "cannot use --%s", row->name) : REDTUNE_OK;
}
