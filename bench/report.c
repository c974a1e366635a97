/* Report: the rows as text, CSV or JSON, each printed as it comes, and what they come to. */
#include "bench/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bench/summary.h"

struct bench_report {
    FILE *out;
    bench_scene scene;
    bench_format format;
    bool floor;
    size_t row_count;
    bench_summaries summaries;
};

static uint64_t row_bytes(const bench_row *row) { return row->count * row->dtype->bytes; }

static double bus_percent(const bench_report *report, const bench_row *row,
                          bench_contestant_id id) {
    double peak = report->scene.peak_gbps;
    return peak > 0 ? 100 * bench_row_gbps(row, id) / peak : 0;
}

/* The largest spread of a contestant, as a part of its time. */
static double worst_spread(const bench_row *row) {
    double worst = 0;
    for (int id = 0; id < BENCH_CONTESTANTS; id++) {
        const bench_time *time = &row->times[id];
        double spread = time->median_ns > 0 ? time->spread_ns / time->median_ns : 0;
        if (spread > worst) worst = spread;
    }
    return worst;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_size(char out[16], uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    for (; unit < 3 && bytes && bytes % 1024 == 0; unit++) bytes /= 1024;
    snprintf(out, 16, "%" PRIu64 " %s", bytes, units[unit]);
}

/* A number, width columns wide; a dash: not measured. */
static void print_cell(FILE *out, int width, int digits, double value) {
    if (value > 0)
        fprintf(out, "  %*.*f", width, digits, value);
    else
        fprintf(out, "  %*s", width, "-");
}

static void begin_text(const bench_report *report) {
    const bench_scene *scene = &report->scene;
    fprintf(report->out,
            "%s, %d SMs, L2 of %" PRIu64 " MiB, bus of %.0f GB/s, CUDA %d.%d; CUB %d.%d.%d; "
            "redtune %s, %s; medians of %d samples\n\n",
            scene->gpu, scene->sm_count, scene->l2_bytes >> 20, scene->peak_gbps,
            scene->driver_version / 1000, scene->driver_version % 1000 / 10,
            scene->cub_version / 100000, scene->cub_version / 100 % 1000, scene->cub_version % 100,
            REDTUNE_VERSION, scene->database, scene->samples);
    fprintf(report->out, "%-6s  %-5s  %9s  %-6s  %10s  %10s  %10s  %9s  %11s", "op", "dtype",
            "input", "mode", "CUB us", "tuned us", "default us", "CUB/tuned", "CUB/default");
    if (report->floor) fprintf(report->out, "  %10s  %11s", "floor us", "tuned/floor");
    fprintf(report->out, "  %7s  %5s  %7s  %8s  %s\n", "GB/s", "bus %", "+-%", "launches",
            "tuned by");
}

static void add_text(const bench_report *report, const bench_row *row) {
    FILE *out = report->out;
    const bench_time *times = row->times;
    char size[16];
    print_size(size, row_bytes(row));
    fprintf(out, "%-6s  %-5s  %9s  %-6s", row->op, row->dtype->name, size,
            bench_row_mode(row->mode));
    print_cell(out, 10, 3, times[BENCH_CUB].median_ns / 1000);
    print_cell(out, 10, 3, times[BENCH_TUNED].median_ns / 1000);
    print_cell(out, 10, 3, times[BENCH_DEFAULT].median_ns / 1000);
    print_cell(out, 9, 3, bench_row_ratio(row, BENCH_CUB, BENCH_TUNED));
    print_cell(out, 11, 3, bench_row_ratio(row, BENCH_CUB, BENCH_DEFAULT));
    if (report->floor) {
        print_cell(out, 10, 3, times[BENCH_FLOOR].median_ns / 1000);
        print_cell(out, 11, 3, bench_row_ratio(row, BENCH_TUNED, BENCH_FLOOR));
    }
    print_cell(out, 7, 1, bench_row_gbps(row, BENCH_TUNED));
    print_cell(out, 5, 1, bus_percent(report, row, BENCH_TUNED));
    fprintf(out, "  %7.1f  %4d %d %d  %s%s\n", 100 * worst_spread(row), times[BENCH_CUB].launches,
            times[BENCH_TUNED].launches, times[BENCH_DEFAULT].launches,
            times[BENCH_TUNED].match ? times[BENCH_TUNED].match : "-",
            row->agree ? "" : "  RESULTS DIFFER");
}

static void end_text(const bench_report *report) {
    FILE *out = report->out;
    fprintf(out, "\n%-6s  %-5s  %-6s  %6s  %9s  %9s  %11s  %11s", "op", "dtype", "mode", "points",
            "CUB/tuned", "least", "CUB/default", "least");
    if (report->floor) fprintf(out, "  %11s  %9s", "tuned/floor", "most");
    fprintf(out, "\n");
    for (size_t i = 0; i < report->summaries.count; i++) {
        const bench_summary *each = &report->summaries.list[i];
        fprintf(out, "%-6s  %-5s  %-6s  %6zu", each->op, each->dtype, bench_row_mode(each->mode),
                each->tuned.n);
        print_cell(out, 9, 3, bench_ratios_mean(&each->tuned));
        print_cell(out, 9, 3, each->tuned.min);
        print_cell(out, 11, 3, bench_ratios_mean(&each->untuned));
        print_cell(out, 11, 3, each->untuned.min);
        if (report->floor) {
            print_cell(out, 11, 3, bench_ratios_mean(&each->above_floor));
            print_cell(out, 9, 3, each->above_floor.max);
        }
        fprintf(out, "\n");
    }
}

/* ---- CSV ----------------------------------------------------------------------------------- */

static void begin_csv(const bench_report *report) {
    fprintf(report->out, "op,dtype,count,bytes,mode,agree");
    for (int id = 0; id < BENCH_CONTESTANTS; id++) {
        const char *name = bench_row_contestant((bench_contestant_id)id);
        fprintf(report->out, ",%s_ns,%s_spread_ns,%s_gbps,%s_launches,%s_match,%s_config", name,
                name, name, name, name, name);
    }
    fprintf(report->out, "\n");
}

static void add_csv(const bench_report *report, const bench_row *row) {
    FILE *out = report->out;
    fprintf(out, "%s,%s,%" PRIu64 ",%" PRIu64 ",%s,%d", row->op, row->dtype->name, row->count,
            row_bytes(row), bench_row_mode(row->mode), row->agree);
    for (int id = 0; id < BENCH_CONTESTANTS; id++) {
        const bench_time *time = &row->times[id];
        if (time->median_ns > 0)
            fprintf(out, ",%.1f,%.1f,%.2f,%d,%s,\"%s\"", time->median_ns, time->spread_ns,
                    bench_row_gbps(row, (bench_contestant_id)id), time->launches,
                    time->match ? time->match : "", time->config);
        else
            fprintf(out, ",,,,,,");
    }
    fprintf(out, "\n");
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void print_string(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    fputc('"', out);
}

static void begin_json(const bench_report *report) {
    const bench_scene *scene = &report->scene;
    fprintf(report->out, "{\n\"gpu\": ");
    print_string(report->out, scene->gpu);
    fprintf(report->out, ",\n\"database\": ");
    print_string(report->out, scene->database);
    fprintf(report->out,
            ",\n\"redtune\": \"%s\", \"peak_gbps\": %.1f, \"sm_count\": %d, \"l2_bytes\": %" PRIu64
            ", \"driver_version\": %d, \"cub_version\": %d, \"samples\": %d,\n\"rows\": [",
            REDTUNE_VERSION, scene->peak_gbps, scene->sm_count, scene->l2_bytes,
            scene->driver_version, scene->cub_version, scene->samples);
}

static void add_json(const bench_report *report, const bench_row *row) {
    FILE *out = report->out;
    fprintf(out,
            "%s\n{\"op\": \"%s\", \"dtype\": \"%s\", \"count\": %" PRIu64 ", \"bytes\": %" PRIu64
            ", \"mode\": \"%s\", \"agree\": %s",
            report->row_count ? "," : "", row->op, row->dtype->name, row->count, row_bytes(row),
            bench_row_mode(row->mode), row->agree ? "true" : "false");
    for (int id = 0; id < BENCH_CONTESTANTS; id++) {
        const bench_time *time = &row->times[id];
        if (!(time->median_ns > 0)) continue;
        fprintf(out,
                ",\n \"%s\": {\"ns\": %.1f, \"spread_ns\": %.1f, \"gbps\": %.2f, \"launches\": %d",
                bench_row_contestant((bench_contestant_id)id), time->median_ns, time->spread_ns,
                bench_row_gbps(row, (bench_contestant_id)id), time->launches);
        if (time->match) fprintf(out, ", \"match\": \"%s\"", time->match);
        if (time->config[0]) fprintf(out, ", \"config\": \"%s\"", time->config);
        fprintf(out, "}");
    }
    fprintf(out, "}");
}

static void print_ratios(FILE *out, const char *name, const bench_ratios *ratios) {
    if (ratios->n)
        fprintf(out, ", \"%s\": {\"mean\": %.4f, \"min\": %.4f, \"max\": %.4f}", name,
                bench_ratios_mean(ratios), ratios->min, ratios->max);
}

static void end_json(const bench_report *report) {
    fprintf(report->out, "\n],\n\"summary\": [");
    for (size_t i = 0; i < report->summaries.count; i++) {
        const bench_summary *each = &report->summaries.list[i];
        fprintf(report->out,
                "%s\n{\"op\": \"%s\", \"dtype\": \"%s\", \"mode\": \"%s\", \"points\": %zu",
                i ? "," : "", each->op, each->dtype, bench_row_mode(each->mode), each->tuned.n);
        print_ratios(report->out, "cub_over_tuned", &each->tuned);
        print_ratios(report->out, "cub_over_default", &each->untuned);
        print_ratios(report->out, "tuned_over_floor", &each->above_floor);
        fprintf(report->out, "}");
    }
    fprintf(report->out, "\n]\n}\n");
}

/* ---- all of them --------------------------------------------------------------------------- */

static const struct {
    void (*begin)(const bench_report *report);
    void (*add)(const bench_report *report, const bench_row *row);
    void (*end)(const bench_report *report); /* NULL: whoever reads it sums it up */
} formats[] = {
    [BENCH_TEXT] = {begin_text, add_text, end_text},
    [BENCH_CSV] = {begin_csv, add_csv, NULL},
    [BENCH_JSON] = {begin_json, add_json, end_json},
};

redtune_status bench_report_begin(const bench_scene *scene, const bench_options *options, FILE *out,
                                  bench_report **report, redtune_error *err) {
    bench_report *made = calloc(1, sizeof *made);
    if (!made) return rdt_fail(err, REDTUNE_MEMORY, 0, "cannot begin a report: no memory");
    made->out = out;
    made->scene = *scene;
    made->format = options->format;
    made->floor = options->floor;
    formats[made->format].begin(made);
    *report = made;
    return REDTUNE_OK;
}

redtune_status bench_report_add(bench_report *report, const bench_row *row, redtune_error *err) {
    formats[report->format].add(report, row);
    report->row_count++;
    bench_summaries_add(&report->summaries, row);
    /* A run that is cut short has given what it had. */
    if (fflush(report->out)) return rdt_fail(err, REDTUNE_FILE, 0, "cannot write the report");
    return REDTUNE_OK;
}

void bench_report_end(bench_report *report) {
    if (!report) return;
    bench_summaries_total(&report->summaries);
    if (formats[report->format].end) formats[report->format].end(report);
    fflush(report->out);
    free(report);
}
