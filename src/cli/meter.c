/* Meter: how far a tune has come, on stderr: one line that is rewritten on a terminal, else one
 * plain line per finished problem. */
#define _DEFAULT_SOURCE /* clock_gettime */
#include "cli/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/message.h"
#include "cli/screen.h"
#include "cli/shape.h"
#include "redtune/tune.h"

enum { BAR_CELLS = 10, LINE_BYTES = 400 };

static const double redraw_s = 0.1;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void rdt_meter_begin(rdt_meter *meter, bool quiet) {
    const char *terminal = getenv("TERM");
    bool dumb = !terminal || !*terminal || !strcmp(terminal, "dumb");
    *meter = (rdt_meter){.quiet = quiet, .rewrites = isatty(STDERR_FILENO) && !dumb};
    meter->began_s = meter->problem_s = now_s();
}

double rdt_meter_elapsed_s(const rdt_meter *meter) { return now_s() - meter->began_s; }

void rdt_meter_clear(rdt_meter *meter) {
    if (!meter->shown) return;
    fputs("\r\033[K", stderr); /* to the line's begin, and erase it */
    meter->shown = false;
}

void rdt_meter_log(void *user, redtune_log_level level, const char *line) {
    rdt_meter_clear(user);
    rdt_message_log(NULL, level, line);
}

/* The time of the rest, if its problems take as long as those measured so far; problems that the
 * database answered do not count. false before the first is measured, and when the last crossovers
 * have taken longer than estimated. */
static bool estimate_left(const rdt_meter *meter, double now, double *left_s) {
    if (!meter->measured_count || meter->problem_index >= meter->problem_count) return false;
    double each_s = meter->measured_s / (double)meter->measured_count;
    double this_s = each_s - (now - meter->problem_s);
    uint64_t after = meter->problem_count - meter->problem_index - 1;
    *left_s = each_s * (double)after + (this_s > 0 ? this_s : 0);
    return *left_s > 0;
}

/* ", 1 m 12 s left" */
static void describe_left(double left_s, char out[48]) {
    uint64_t seconds = (uint64_t)(left_s + 0.5);
    if (seconds < 60)
        snprintf(out, 48, ", %" PRIu64 " s left", seconds);
    else
        snprintf(out, 48, ", %" PRIu64 " m %02" PRIu64 " s left", seconds / 60, seconds % 60);
}

/* How much of the bar is full: by problems, and within one by its candidates, half of them with a
 * cold cache. A full bar stays full in the second pass. */
static size_t fill_bar(const rdt_meter *meter, const redtune_progress *progress) {
    double of = progress->problem_count ? (double)progress->problem_count : 1;
    double within = 0;
    if (progress->candidate_count)
        within = (double)progress->candidate_index / (double)progress->candidate_count;
    if (!strcmp(progress->stage, "warm")) within += 1;
    size_t cells = (size_t)(((double)progress->problem_index + within / 2) * BAR_CELLS / of);
    if (cells < meter->bar_cells) cells = meter->bar_cells;
    return cells < BAR_CELLS ? cells : BAR_CELLS;
}

/* "[#####-----] 30/57, 1 m 12 s left: sum of 4K f32, cold 17/96, best 12.3 GB/s"; with several GPUs
 * "sum of 4K f32 on GPU 1" */
static void compose(const rdt_meter *meter, const redtune_progress *progress, double now,
                    char line[LINE_BYTES]) {
    char bar[BAR_CELLS + 1], problem[RDT_SHAPE_BYTES], gpu[32] = "", best[48] = "", left[48] = "";
    double left_s;
    for (size_t i = 0; i < BAR_CELLS; i++) bar[i] = i < meter->bar_cells ? '#' : '-';
    bar[BAR_CELLS] = '\0';
    rdt_shape_describe(problem, progress->problem, false);
    if (progress->device_count > 1) snprintf(gpu, sizeof gpu, " on GPU %s", progress->device);
    if (progress->best_gbps > 0)
        snprintf(best, sizeof best, ", best %.1f GB/s", progress->best_gbps);
    if (estimate_left(meter, now, &left_s)) describe_left(left_s, left);
    snprintf(line, LINE_BYTES, "[%s] %" PRIu64 "/%" PRIu64 "%s: %s%s, %s %" PRIu64 "/%" PRIu64 "%s",
             bar, progress->problem_index + 1, progress->problem_count, left, problem, gpu,
             progress->stage, progress->candidate_index, progress->candidate_count, best);
}

void rdt_meter_show(rdt_meter *meter, const redtune_progress *progress) {
    double now = now_s();
    meter->problem_index = progress->problem_index;
    meter->problem_count = progress->problem_count;
    if (meter->quiet || !meter->rewrites) return;
    if (meter->shown && now - meter->drawn_s < redraw_s) return;
    char line[LINE_BYTES];
    size_t columns = rdt_screen_columns(stderr, 80);
    meter->bar_cells = fill_bar(meter, progress);
    compose(meter, progress, now, line);
    /* A line as wide as the terminal would wrap, and a wrapped line cannot be rewritten. */
    if (columns <= strlen(line)) line[columns - 1] = '\0';
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    meter->shown = true;
    meter->drawn_s = now;
}

/* " on GPU 1", and of several models which; nothing of the only GPU. */
static void describe_gpu(const redtune_tuned *result, char out[160]) {
    if (result->device_count > 1 && result->model_count > 1)
        snprintf(out, 160, " on GPU %s (%s)", result->device, result->gpu);
    else if (result->device_count > 1)
        snprintf(out, 160, " on GPU %s", result->device);
}

void rdt_meter_finish(rdt_meter *meter, const redtune_tuned *result) {
    double now = now_s();
    meter->finished_count++;
    if (result->measured) {
        meter->measured_count++;
        meter->measured_s += now - meter->problem_s;
    }
    meter->problem_s = now;
    if (meter->quiet || meter->rewrites) return;
    char problem[RDT_SHAPE_BYTES], gpu[160] = "", of[32] = "", gain[32] = "";
    rdt_shape_describe(problem, &result->problem, false);
    describe_gpu(result, gpu);
    if (meter->problem_count) snprintf(of, sizeof of, "/%" PRIu64, meter->problem_count);
    if (result->default_ns > 0)
        snprintf(gain, sizeof gain, ", %.2fx the default", result->default_ns / result->median_ns);
    rdt_message_print("%" PRIu64 "%s %s%s: %.2f us, %.1f GB/s%s, %s%s", meter->finished_count, of,
                      problem, gpu, result->median_ns / 1e3, result->gbps, gain, result->config,
                      result->measured ? "" : " (measured before)");
}
