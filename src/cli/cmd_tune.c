/* redtune tune: tunes reductions on a GPU, and prints the winners. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <signal.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/command.h"
#include "cli/device.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/meter.h"
#include "cli/plane.h"
#include "cli/table.h"
#include "cli/wanted.h"
#include "redtune/records.h"
#include "redtune/tune.h"

/* The one thing that a signal handler may touch. */
static volatile sig_atomic_t interrupted;

static void note_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* The first Ctrl-C lets the tune put down what it holds; a second one ends the process. */
static void catch_interrupts(void) {
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

typedef struct outcome {
    rdt_meter meter;
    const rdt_wanted *wanted;
    redtune_tuned *results; /* by index */
    size_t result_count, capacity;
    int64_t began; /* seconds since 1970 */
    bool out_of_memory;
} outcome;

static int on_progress(void *user, const redtune_progress *progress) {
    outcome *now = user;
    rdt_meter_show(&now->meter, progress);
    return interrupted || now->out_of_memory;
}

/* Makes room for a result by its index, or gives the room of the one that it replaces; NULL: out of
 * memory. */
static redtune_tuned *find_room(outcome *now, const redtune_tuned *result) {
    size_t at = now->result_count;
    while (at && now->results[at - 1].index > result->index) at--;
    if (at && now->results[at - 1].index == result->index) return &now->results[at - 1];
    if (now->result_count == now->capacity) {
        size_t capacity = now->capacity ? 2 * now->capacity : 64;
        redtune_tuned *results = realloc(now->results, capacity * sizeof *results);
        if (!results) return NULL;
        now->results = results;
        now->capacity = capacity;
    }
    memmove(&now->results[at + 1], &now->results[at],
            (now->result_count++ - at) * sizeof *now->results);
    return &now->results[at];
}

static void on_tuned(void *user, const redtune_tuned *result) {
    outcome *now = user;
    if (!result->again) rdt_meter_finish(&now->meter, result);
    redtune_tuned *room = find_room(now, result);
    if (room)
        *room = *result;
    else
        now->out_of_memory = true;
}

/* ---- the table ----------------------------------------------------------------------------- */

static void add_result(rdt_table *table, const redtune_tuned *result) {
    rdt_table_add_problem(table, &result->problem);
    rdt_table_add_us(table, result->median_ns);
    rdt_table_add(table, "%.1f", result->gbps);
    rdt_table_add_ratio(table, result->default_ns, result->median_ns);
    if (result->peak_gbps > 0)
        rdt_table_add(table, "%.1f %%", 100 * result->gbps / result->peak_gbps);
    else
        rdt_table_add(table, "-");
    rdt_table_add(table, "%s", result->family);
    rdt_table_add(table, "%s", result->config);
}

static redtune_device_info model_of(const redtune_tuned *result) {
    redtune_device_info gpu = {.major = result->major,
                               .minor = result->minor,
                               .sm_count = result->sm_count,
                               .l2_bytes = result->l2_bytes,
                               .peak_gbps = result->peak_gbps};
    snprintf(gpu.name, sizeof gpu.name, "%s", result->gpu);
    return gpu;
}

/* The lines of a model's results, in a table, and then its planes, whose results have no lines of
 * their own unless there is to be more said. */
static void print_model(const redtune_tuned *results, size_t count, bool all) {
    static const char *const titles[] = {"op",   "dtype", "size",   "us",    "GB/s",
                                         "gain", "peak",  "family", "config"};
    rdt_table table = {.column_count = sizeof titles / sizeof *titles, .right = "llrrrrrll"};
    size_t lines = 0;
    for (size_t first = 0, of_class; first < count; first += of_class) {
        of_class = rdt_plane_class(results + first, count - first);
        const bool plane = !all && rdt_plane_is_worth(results + first, of_class);
        for (size_t i = first; i < first + of_class; i++) {
            if (plane && rdt_plane_takes(&results[i])) continue;
            if (!lines++) rdt_table_add_row(&table, titles);
            add_result(&table, &results[i]);
        }
    }
    rdt_table_print(&table, stdout);
    for (size_t first = 0, of_class; first < count; first += of_class) {
        of_class = rdt_plane_class(results + first, count - first);
        if (!rdt_plane_is_worth(results + first, of_class)) continue;
        if (lines++) puts("");
        rdt_plane_print(results + first, of_class, stdout);
    }
}

/* Each model's results, which follow each other, under the same header whichever GPU it is. */
static void print_tables(const redtune *rt, const outcome *done, bool all) {
    redtune_device_info opened;
    redtune_device_get(rt, &opened);
    for (size_t first = 0, end; first < done->result_count; first = end) {
        const redtune_device_info model = model_of(&done->results[first]);
        for (end = first + 1; end < done->result_count; end++) {
            const redtune_device_info next = model_of(&done->results[end]);
            if (!rdt_table_is_same_gpu(&model, &next)) break;
        }
        if (first) puts("");
        rdt_table_print_gpu(&model, opened.driver_version, stdout);
        print_model(&done->results[first], end - first, all);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* One model of GPU is told once, by "device". */
static void write_tuned(rdt_json *json, const redtune_tuned *result) {
    rdt_json_begin(json, NULL, '{');
    if (result->model_count > 1) rdt_json_text(json, "gpu", result->gpu);
    rdt_json_problem(json, &result->problem);
    rdt_json_text(json, "family", result->family);
    rdt_json_text(json, "config", result->config);
    rdt_json_real(json, "median_ns", result->median_ns);
    rdt_json_real(json, "spread_ns", result->spread_ns);
    rdt_json_real(json, "default_ns", result->default_ns);
    rdt_json_truth(json, "is_default", result->is_default);
    rdt_json_real(json, "gbps", result->gbps);
    rdt_json_real(json, "peak_gbps", result->peak_gbps);
    if (result->warm_ns > 0) {
        rdt_json_text(json, "warm_config", result->warm_config);
        rdt_json_real(json, "warm_ns", result->warm_ns);
    }
    rdt_json_count(json, "measured", result->measured);
    rdt_json_count(json, "failed", result->failed);
    if (result->untried) rdt_json_count(json, "untried", result->untried);
    rdt_json_end(json, '}');
}

static void write_recorded(rdt_json *json, const outcome *done) {
    const rdt_wanted_gain gain =
        rdt_wanted_compare(done->wanted, done->results, done->result_count);
    rdt_json_begin(json, "recorded", '{');
    rdt_json_count(json, "problems", gain.known);
    rdt_json_count(json, "calls", gain.calls);
    rdt_json_real(json, "before_ns", gain.before_ns);
    rdt_json_real(json, "now_ns", gain.now_ns);
    rdt_json_count(json, "unknown", gain.unknown);
    rdt_json_end(json, '}');
}

static void write_tune_json(const redtune *rt, const outcome *done, bool complete) {
    redtune_device_info device;
    redtune_device_get(rt, &device);
    rdt_json json = rdt_json_open(stdout);
    rdt_json_begin(&json, "device", '{');
    rdt_json_text(&json, "name", device.name);
    rdt_json_count(&json, "major", (uint64_t)device.major);
    rdt_json_count(&json, "minor", (uint64_t)device.minor);
    rdt_json_count(&json, "sm_count", (uint64_t)device.sm_count);
    rdt_json_count(&json, "memory_bytes", device.memory_bytes);
    rdt_json_count(&json, "l2_bytes", device.l2_bytes);
    rdt_json_real(&json, "peak_gbps", device.peak_gbps);
    rdt_json_count(&json, "driver_version", (uint64_t)device.driver_version);
    rdt_json_end(&json, '}');
    rdt_json_text(&json, "database", redtune_database_path(rt));
    rdt_json_truth(&json, "complete", complete);
    rdt_json_begin(&json, "results", '[');
    for (size_t i = 0; i < done->result_count; i++) write_tuned(&json, &done->results[i]);
    rdt_json_end(&json, ']');
    if (done->wanted->recorded) write_recorded(&json, done);
    rdt_json_end(&json, '}');
}

/* ---- the command --------------------------------------------------------------------------- */

/* The first of the measurements that failed in this tune. */
typedef struct failure {
    int64_t since, date; /* when the tune began, and it was measured; 0: none was found */
    char text[640];
} failure;

static redtune_status note_failure(void *user, const redtune_row *row, redtune_error *err) {
    failure *self = user;
    char what[RDT_SHAPE_BYTES];
    (void)err;
    if (row->median_ns > 0 || row->date < self->since || (self->date && row->date >= self->date))
        return REDTUNE_OK;
    self->date = row->date;
    rdt_shape_describe(what, &row->problem, false);
    snprintf(self->text, sizeof self->text, "%s, %s %.200s: %s%s%.120s", what, row->family,
             row->config, row->outcome, *row->cause ? ": " : "", row->cause);
    return REDTUNE_OK;
}

static void tell_first_failure(const redtune *rt, const outcome *done) {
    const redtune_rows_query query = {
        .database = redtune_database_path(rt), .gpu = "all", .own = 1};
    failure first = {.since = done->began};
    redtune_error ignored;
    if (!redtune_rows_each(&query, note_failure, &first, &ignored) && first.date)
        rdt_message_print_prose("the first that failed: %s; redtune show --all lists them",
                                first.text);
}

/* The lines below the table: how much was measured, what failed, where it is kept. */
static void summarise(const redtune *rt, const outcome *done) {
    uint64_t measured = 0, failed = 0, points = 0, untried = 0;
    size_t known = 0;
    for (size_t i = 0; i < done->result_count; i++) {
        measured += done->results[i].measured;
        failed += done->results[i].failed;
        known += !done->results[i].measured;
        points += done->results[i].points;
        untried += done->results[i].untried;
    }
    rdt_message_print_prose("%zu problem%s, %zu of them measured before; %" PRIu64
                            " candidate%s measured, "
                            "%" PRIu64 " failed; kept in %s",
                            done->result_count, done->result_count == 1 ? "" : "s", known, measured,
                            measured == 1 ? "" : "s", failed, redtune_database_path(rt));
    if (failed) tell_first_failure(rt, done);
    if (untried)
        rdt_message_print_prose(
            "the budget was enough for %" PRIu64 " of %" PRIu64
            " candidates, the likely ones first; the same command goes on from there",
            points - untried, points);
}

static void tell_budget(const rdt_options *options, const outcome *done) {
    const double over_s = rdt_meter_elapsed_s(&done->meter) - options->budget_s;
    if (options->budget_s > 0 && over_s > options->budget_s / 20)
        rdt_message_print_prose(
            "the budget of %.4g s was exceeded by %.3g s: each search looks at a few "
            "candidates in any case",
            options->budget_s, over_s);
}

/* The lines for what programs ran: what they gain by this tune. */
static void summarise_recorded(const outcome *done) {
    const rdt_wanted_gain gain =
        rdt_wanted_compare(done->wanted, done->results, done->result_count);
    if (gain.known)
        rdt_message_print_prose(
            "recorded: %zu problem%s, %" PRIu64 " call%s: %.3f ms before, %.3f ms now, "
            "%.2fx as fast",
            gain.known, gain.known == 1 ? "" : "s", gain.calls, gain.calls == 1 ? "" : "s",
            gain.before_ns / 1e6, gain.now_ns / 1e6, gain.before_ns / gain.now_ns);
    if (gain.unknown)
        rdt_message_print_prose("recorded: %zu problem%s whose time before is not known",
                                gain.unknown, gain.unknown == 1 ? "" : "s");
}

static int report_outcome(const redtune *rt, const rdt_options *options, const outcome *done,
                          redtune_status status, const redtune_error *err) {
    if (options->json)
        write_tune_json(rt, done, status == REDTUNE_OK);
    else if (done->result_count)
        print_tables(rt, done, options->verbose);
    fflush(stdout); /* before the messages, should both go to one place */
    if (done->out_of_memory) {
        rdt_message_print_prose(
            "cannot hold the results: out of host memory; what was measured is kept "
            "in %s",
            redtune_database_path(rt));
        return RDT_EXIT_FAILED;
    }
    if (status == REDTUNE_INTERRUPTED) {
        rdt_message_print_prose(
            "interrupted; what was measured is kept in %s, and the same command goes "
            "on from there",
            redtune_database_path(rt));
        return RDT_EXIT_INTERRUPTED;
    }
    if (status) return rdt_message_fail(err);
    if (!options->quiet) summarise(rt, done);
    if (!options->quiet) tell_budget(options, done);
    if (!options->quiet && options->recorded) summarise_recorded(done);
    return RDT_EXIT_DONE;
}

/* The processes that a launcher starts on a machine take a GPU each, in turns if there are fewer. A
 * launcher that gives each process a GPU of its own shows it as the only one. */
static redtune_status choose_device(const rdt_options *options, char local[16],
                                    const char **devices, redtune_error *err) {
    const rdt_shard *shard = &options->shard;
    const bool chosen = options->device && strcmp(options->device, "auto");
    int count = 1;
    if (options->device && !chosen && !shard->launcher)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --device auto: it is the GPU of a launcher's task; "
                               "write --shard auto beside it, or the GPU's number");
    *devices = chosen ? options->device : local;
    snprintf(local, 16, "0");
    if (!shard->launcher) return REDTUNE_OK;
    if (!chosen) {
        redtune_status status = redtune_device_count(&count, err);
        if (status) return status;
    }
    if (!chosen && shard->has_local_rank && count > 0)
        snprintf(local, 16, "%u", shard->local_rank % (unsigned)count);
    const bool unknown = count > 1 && !shard->has_local_rank;
    if (!options->quiet)
        rdt_message_print("part %u of %u (%s: --shard %u/%u) on GPU %s%s%s%s", shard->index + 1,
                          shard->count, shard->launcher, shard->index, shard->count, *devices,
                          unknown ? ", for " : "", unknown ? shard->launcher : "",
                          unknown ? " does not number a node's tasks; --device chooses" : "");
    return REDTUNE_OK;
}

/* The GPU that redtune is opened on, of those to tune on. */
static void first_device(const char *devices, char out[16]) {
    if (!strcmp(devices, "all")) devices = "0";
    snprintf(out, 16, "%.*s", (int)strcspn(devices, ","), devices);
}

static int run_tune(const rdt_options *options) {
    outcome done = {.began = (int64_t)time(NULL)};
    redtune *rt = NULL;
    redtune_error err;
    char device[16], local[16];
    const char *devices = NULL;
    rdt_wanted wanted;
    done.wanted = &wanted;
    if (choose_device(options, local, &devices, &err)) return rdt_message_fail(&err);
    if (rdt_wanted_list(options, &wanted, &err)) return rdt_message_fail(&err);
    first_device(devices, device);
    redtune_tuning tuning = {
        .ops = options->ops,
        .op_count = options->op_count,
        .dtypes = options->dtypes,
        .dtype_count = options->dtype_count,
        .counts = options->sizes.counts,
        .count_count = options->sizes.count_count,
        .again = options->again,
        .effort = options->effort,
        .budget_s = options->budget_s,
        .seed = options->seed,
        .worker = "/proc/self/exe",
        .devices = devices,
        .limit_s = options->limit_s,
        .jobs = options->jobs > UINT_MAX ? UINT_MAX : (unsigned)options->jobs,
        .shard_index = options->shard.index,
        .shard_count = options->shard.count,
        .progress = on_progress,
        .tuned = on_tuned,
        .user = &done,
        .problems = wanted.problems,
        .problem_count = wanted.problem_count,
        .layouts = wanted.layouts,
        .order = options->order,
        .accuracy = options->accuracy,
    };
    catch_interrupts();
    rdt_meter_begin(&done.meter, options->quiet);
    redtune_status status = rdt_device_open(options, device, rdt_meter_log, &done.meter, &rt, &err);
    int code = RDT_EXIT_FAILED;
    if (status) {
        code = rdt_message_fail(&err);
    } else {
        status = redtune_tune(rt, &tuning, &err);
        rdt_meter_clear(&done.meter);
        code = report_outcome(rt, options, &done, status, &err);
    }
    redtune_close(rt);
    rdt_wanted_free(&wanted);
    free(done.results);
    return code;
}

const rdt_command rdt_cmd_tune = {
    .name = "tune",
    .bit = RDT_TUNE,
    .summary = "tunes reductions on a GPU, keeps every measurement, prints the winners",
    .details =
        "Each problem is one op, dtype and size, or shape. Its candidates are compiled, checked\n"
        "against a naive kernel and timed; each result is kept at once, so that a tune may be\n"
        "stopped and started again. What is measured already is not measured again.\n"
        "\n"
        "Without --op, --dtype, --size and shapes it tunes the sums of whole arrays, and then "
        "those\n"
        "of the rows and columns of matrices of f16, bf16 and f32, of a few batches of planes, "
        "and\n"
        "by key. --op and --dtype alone name whole arrays; --axis 1 beside them the rows of the "
        "same\n"
        "matrices, --axis 0 their columns, and --axis 1,0 both, one after the other. Where shapes\n"
        "are named, --dtype is f16,bf16,f32 unless it is given, --axis 0,1 reduces both axes at\n"
        "once, and without --axis arrays are reduced whole.\n"
        "\n"
        "On the simulated GPU, where no sizes or dtypes are named, only 256, 512 and 1K elements\n"
        "of f32, f64 and i32 are tuned, and three small matrices of f32 by rows and by columns,\n"
        "which takes one to two minutes.\n"
        "\n"
        "For example: redtune --device 0 --dtype f32 --size 1K..1M,1000000\n"
        "             redtune --device 0 --dtype f32 --rows 1K..1M --cols 16..64K --axis 1\n"
        "             redtune --device 0 --op max --shape 64x512x512,1000x77 --axis 1\n"
        "             redtune --device 0 --keys 1K,16K --size 16M --spread skewed\n"
        "             REDTUNE_RECORD=runs.jsonl ./program; redtune --device 0 --recorded "
        "runs.jsonl\n"
        "\n"
        "The table gives microseconds per call with a cold L2 cache, the gain over the built-in\n"
        "default, and the share of the memory bus's peak. Where rows or columns of many matrices\n"
        "were tuned, it is a line for each number of rows and a column for each of columns, in\n"
        "percent of the peak; -v prints them one by one, too.\n",
    .run = run_tune,
};
