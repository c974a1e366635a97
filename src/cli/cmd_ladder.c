/* redtune ladder: the sum by one classic optimisation after the other, timed or counted, and the
 * sources of it, on stdout or as programs in a folder. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cli/command.h"
#include "cli/device.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/number.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "cli/trace.h"
#include "redtune/records.h"
#include "redtune/tools.h"

enum { TEXT_WIDTH = 92, TEXT_INDENT = 4 };

static const char tuned_name[] = "tuned"; /* of the last step */

typedef struct climbing {
    bool json, started;
    double peak_gbps;
    const char *gpu;
    rdt_json out;
} climbing;

/* ---- the text ------------------------------------------------------------------------------ */

/* Prints words in lines of at most TEXT_WIDTH, or as wide as the terminal, indented. */
static void print_wrapped(const char *text) {
    const size_t columns = rdt_screen_columns(stdout, TEXT_WIDTH);
    const int width = columns < TEXT_WIDTH ? (int)columns : TEXT_WIDTH;
    int column = 0;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column && column + 1 + length > width) {
            putchar('\n');
            column = 0;
        }
        column += printf("%*s%.*s", column ? 1 : TEXT_INDENT, "", length, text);
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static double ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

static void print_title(const climbing *now, const redtune_step *step) {
    const redtune_problem *problem = &step->problem;
    printf("sum of %" PRIu64 " %s on %s", rdt_shape_count(problem),
           redtune_dtype_name(problem->dtype), now->gpu);
    if (step->counted)
        printf(": what each step does, counted\n\n"
               "step            launches    instr. lanes divergent     loads transact. conflicts "
               "barriers shuffles\n");
    else
        printf(", L2 cold\n\n"
               "step            launches          us      GB/s    peak    gain\n");
}

static void print_counts(const redtune_counters *of) {
    printf(" %9" PRIu64 " %5.1f %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %8" PRIu64
           " %8" PRIu64,
           of->warp_instructions, ratio(of->lane_instructions, of->warp_instructions),
           of->divergent_branches, of->global_loads, of->global_transactions,
           of->shared_wavefronts - of->shared_requests, of->barriers, of->shuffles);
}

static void print_times(const climbing *now, const redtune_step *step) {
    char peak[16] = "-", gain[16] = "-";
    if (now->peak_gbps > 0)
        snprintf(peak, sizeof peak, "%.1f %%", 100 * step->gbps / now->peak_gbps);
    if (step->gain > 0) snprintf(gain, sizeof gain, "%.2fx", step->gain);
    printf("  %10.2f  %8.1f  %6s  %6s", step->median_ns / 1e3, step->gbps, peak, gain);
}

static void print_sum(const redtune_step *step) {
    char sum[RDT_NUMBER_BYTES] = "?", exact[RDT_NUMBER_BYTES] = "?";
    rdt_number_print_value(sum, step->problem.result, &step->value, NULL);
    rdt_number_print_value(exact, step->problem.result, &step->exact, NULL);
    printf("%*sSum: %s", TEXT_INDENT, "", sum);
    if (step->right)
        putchar('\n');
    else
        printf(", and %s is right\n", exact);
}

static void print_step(const climbing *now, const redtune_step *step) {
    printf("%3s %-11s %8" PRIu64, step->place, step->name, step->launches);
    if (step->counted)
        print_counts(&step->counters);
    else
        print_times(now, step);
    puts(step->right ? "" : "  WRONG");
    print_wrapped(step->text);
    print_sum(step);
    if (!strcmp(step->name, tuned_name)) printf("%*s%s\n", TEXT_INDENT, "", step->config);
}

static void print_notes(bool counted) {
    putchar('\n');
    rdt_screen_print_prose(counted
                               ? "Instr.: instructions of warps; lanes: of 32, active on average. "
                                 "Divergent: branches that\n"
                                 "lanes of one warp took differently. Loads: requests of warps to "
                                 "global memory; transact.:\n"
                                 "the sectors of 32 bytes that these and the stores moved. "
                                 "Conflicts: extra passes over the\n"
                                 "banks of shared memory; a full warp's words of 8 bytes take two "
                                 "passes at best. Barriers,\n"
                                 "shuffles: of warps.\n"
                               : "Medians of 31 timed intervals, per sum in a replayed graph. "
                                 "Peak: of the memory bus. Gain:\n"
                                 "over the step before; a variant (3b, 4b) is no step before.\n",
                           stdout);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

#define COUNTER(name)                                                                              \
    { #name, offsetof(redtune_counters, name) }

static void write_counters(rdt_json *out, const redtune_counters *of) {
    static const struct {
        const char *name;
        size_t offset;
    } counters[] = {
        COUNTER(launches),
        COUNTER(blocks),
        COUNTER(warps),
        COUNTER(warp_instructions),
        COUNTER(lane_instructions),
        COUNTER(branches),
        COUNTER(divergent_branches),
        COUNTER(global_loads),
        COUNTER(global_stores),
        COUNTER(global_transactions),
        COUNTER(shared_requests),
        COUNTER(shared_wavefronts),
        COUNTER(barriers),
        COUNTER(shuffles),
        COUNTER(atomics),
        COUNTER(fences),
    };
    rdt_json_begin(out, "counters", '{');
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        rdt_json_count(out, counters[i].name,
                       *(const uint64_t *)(const void *)((const char *)of + counters[i].offset));
    rdt_json_end(out, '}');
}

static void write_value(rdt_json *out, const char *name, redtune_dtype dtype,
                        const redtune_value *value) {
    char text[RDT_NUMBER_BYTES] = "?";
    rdt_number_print_value(text, dtype, value, NULL);
    rdt_json_text(out, name, text);
}

static void write_step(rdt_json *out, const redtune_step *step) {
    rdt_json_begin(out, NULL, '{');
    rdt_json_text(out, "place", step->place);
    rdt_json_text(out, "name", step->name);
    rdt_json_text(out, "text", step->text);
    rdt_json_text(out, "dtype", redtune_dtype_name(step->problem.dtype));
    rdt_json_count(out, "count", rdt_shape_count(&step->problem));
    rdt_json_text(out, "family", step->family);
    rdt_json_text(out, "config", step->config);
    rdt_json_count(out, "launches", step->launches);
    rdt_json_count(out, "blocks", step->blocks);
    write_value(out, "sum", step->problem.result, &step->value);
    write_value(out, "exact_sum", step->problem.result, &step->exact);
    rdt_json_truth(out, "right", step->right);
    if (step->counted) {
        write_counters(out, &step->counters);
    } else {
        rdt_json_real(out, "median_ns", step->median_ns);
        rdt_json_real(out, "spread_ns", step->spread_ns);
        rdt_json_real(out, "gbps", step->gbps);
        rdt_json_real(out, "gain", step->gain);
    }
    rdt_json_end(out, '}');
}

/* ---- running them -------------------------------------------------------------------------- */

static int on_step(void *user, const redtune_step *step) {
    climbing *now = user;
    if (now->json) {
        write_step(&now->out, step);
        return 0;
    }
    if (!now->started) print_title(now, step);
    now->started = true;
    print_step(now, step);
    if (!strcmp(step->name, tuned_name)) print_notes(step->counted);
    fflush(stdout);
    return 0;
}

static redtune_status run_steps(redtune *rt, redtune_climb *climb, bool json, redtune_error *err) {
    redtune_device_info device;
    redtune_device_get(rt, &device);
    climbing now = {.json = json, .peak_gbps = device.peak_gbps, .gpu = device.name};
    climb->step = on_step;
    climb->user = &now;
    if (json) {
        now.out = rdt_json_open(stdout);
        rdt_json_text(&now.out, "gpu", device.name);
        rdt_json_real(&now.out, "peak_gbps", device.peak_gbps);
        rdt_json_begin(&now.out, "steps", '[');
    }
    redtune_status status = redtune_ladder(rt, climb, err);
    if (json) {
        rdt_json_end(&now.out, ']');
        rdt_json_truth(&now.out, "complete", status == REDTUNE_OK);
        rdt_json_end(&now.out, '}');
    }
    return status;
}

/* ---- a step's source ----------------------------------------------------------------------- */

typedef struct search {
    const char *wanted;
    bool is_tuned;
} search;

static int compare_tuned(void *user, const redtune_step *step) {
    search *self = user;
    self->is_tuned = !strcmp(step->name, tuned_name) &&
                     (!strcmp(self->wanted, tuned_name) || !strcmp(self->wanted, step->place));
    return 0;
}

static int print_source(redtune_status status, char *source, const redtune_error *err) {
    if (status) return rdt_message_fail(err);
    fputs(source, stdout);
    redtune_free(source);
    return RDT_EXIT_DONE;
}

/* The config that a program would get for this sum; the built-in default where no GPU is known. */
static int show_tuned(const rdt_options *options, const redtune_climb *climb) {
    const redtune_problem problem =
        redtune_problem_whole(REDTUNE_SUM, climb->dtype ? climb->dtype : REDTUNE_F32,
                              climb->count ? climb->count : 1 << 24);
    const redtune_question question = {
        .database = options->database, .device = options->device, .problem = problem};
    redtune_emission emission = {.problem = problem};
    redtune_explanation found;
    redtune_error err;
    char *source = NULL;
    const redtune_status unknown = redtune_explain(&question, &found, &err);
    if (unknown && options->device) return rdt_message_fail(&err);
    if (!unknown) {
        emission.family = found.info.family;
        emission.config = found.info.config;
    }
    if ((unknown || found.info.match == REDTUNE_MATCH_DEFAULT) && !options->quiet)
        rdt_message_print("this is the built-in default: nothing near this sum is known to be "
                          "tuned on the GPU");
    redtune_status status = redtune_emit(&emission, &source, &err);
    return print_source(status, source, &err);
}

/* Prints the kernel of options->show: a step, or what is tuned. Returns the exit code. */
static int show_step(const rdt_options *options, const redtune_climb *climb) {
    search tuned = {.wanted = options->show};
    redtune_climb listed = *climb;
    redtune_error err;
    char *source = NULL;
    listed.step = compare_tuned;
    listed.user = &tuned;
    redtune_status status = redtune_ladder_steps(&listed, &err);
    if (!status && tuned.is_tuned) return show_tuned(options, climb);
    if (!status) status = redtune_ladder_source(climb, options->show, &source, &err);
    return print_source(status, source, &err);
}

/* ---- programs in a folder ------------------------------------------------------------------ */

typedef struct exporting {
    const char *folder;
    const redtune_climb *climb;
    unsigned count;
    char last[4096]; /* the path of the last that was written */
    redtune_status status;
    redtune_error *err;
} exporting;

/* Names sort as the steps do: "03b_neighbours.cu". */
static int write_program(void *user, const redtune_step *step) {
    exporting *self = user;
    char *source = NULL, *letter = NULL;
    if (!strcmp(step->name, tuned_name)) return 0;
    const long place = strtol(step->place, &letter, 10);
    int length = snprintf(self->last, sizeof self->last, "%s/%02ld%s_%s.cu", self->folder, place,
                          letter, step->name);
    if (length < 0 || (size_t)length >= sizeof self->last)
        self->status =
            rdt_message_set(self->err, REDTUNE_INVALID, 0,
                            "cannot write to %.200s: the path is too long", self->folder);
    if (!self->status)
        self->status = redtune_ladder_source(self->climb, step->name, &source, self->err);
    if (!self->status) self->status = rdt_output_put(self->last, source, strlen(source), self->err);
    redtune_free(source);
    if (self->status) return 1;
    puts(self->last);
    self->count++;
    return 0;
}

/* Writes every step as a program into the folder options->export, which it makes where there is
 * none. Returns the exit code. */
static int export_steps(const rdt_options *options, const redtune_climb *climb) {
    redtune_climb wanted = *climb, listed;
    redtune_error err;
    exporting self = {.folder = options->export, .climb = &wanted, .err = &err};
    wanted.program = 1;
    listed = wanted;
    listed.step = write_program;
    listed.user = &self;
    if (mkdir(options->export, 0777) && errno != EEXIST) {
        rdt_message_set(&err, REDTUNE_FILE, errno, "cannot make the folder %.300s: %s",
                        options->export, rdt_message_reason(errno));
        return rdt_message_fail(&err);
    }
    redtune_error stopped;
    redtune_status status = redtune_ladder_steps(&listed, &stopped);
    if (self.status) return rdt_message_fail(&err);
    if (status) return rdt_message_fail(&stopped);
    fflush(stdout);
    if (!options->quiet)
        rdt_message_print("%u programs; try one: nvcc -O3 %s -o sum && ./sum", self.count,
                          self.last);
    return RDT_EXIT_DONE;
}

/* ---- the command --------------------------------------------------------------------------- */

static int run_ladder(const rdt_options *options) {
    redtune *rt = NULL;
    redtune_error err;
    redtune_climb climb = {
        .dtype = options->dtype_count ? options->dtypes[0] : REDTUNE_DTYPE_NONE,
        .count = options->count,
        .block = (int)(options->block < 1 << 16 ? options->block : 1 << 16),
        .one_block = options->one_block,
    };
    if (options->trace) {
        redtune_status traced = rdt_trace_print(options->trace, options->show, &err);
        return traced ? rdt_message_fail(&err) : RDT_EXIT_DONE;
    }
    if (options->export) return export_steps(options, &climb);
    if (options->show) return show_step(options, &climb);
    redtune_status status =
        rdt_device_open(options, options->device, rdt_message_log, NULL, &rt, &err);
    if (!status) status = run_steps(rt, &climb, options->json, &err);
    redtune_close(rt);
    fflush(stdout);
    return status ? rdt_message_fail(&err) : RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_ladder = {
    .name = "ladder",
    .bit = RDT_LADDER,
    .summary = "runs the classic steps of the parallel sum, and says what each one gains",
    .details =
        "Steps from the textbook's tree to one launch without atomics, and last what\n"
        "redtune has tuned. Each sum is checked. On a GPU each step is timed; on the simulated "
        "one\n"
        "(--device sim) it is counted what each does. docs/ladder.md tells the whole story.\n"
        "\n"
        "--show sequential prints that step's kernel, --trace 8 its additions round by round, and\n"
        "--export DIR writes every step as a program for nvcc. These need no GPU.\n",
    .run = run_ladder,
};
