/* redtune explain: what the runtime would run for a problem, and why. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include "cli/command.h"
#include "cli/device.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/table.h"
#include "cli/team_way.h"
#include "redtune/records.h"

static const char *reason(const redtune_info *info) {
    const bool whole = rdt_shape_layout(&info->problem) == REDTUNE_LAYOUT_WHOLE;
    switch (info->match) {
    case REDTUNE_MATCH_EXACT:
        return whole ? "measured on this GPU model at this size"
                     : "measured on this GPU model at this shape";
    case REDTUNE_MATCH_SIZE:
        return whole ? "measured on this GPU model, and of those the nearest size"
                     : "measured on this GPU model, at one of the nearest shapes";
    case REDTUNE_MATCH_GPU:
        return "nothing near was measured on this GPU model; this is of the "
               "nearest other";
    case REDTUNE_MATCH_PINNED: return "it was asked for";
    case REDTUNE_MATCH_LIKE:
        return "nothing near was measured for it on this GPU model; this is of another op or "
               "dtype that moves the same bytes";
    case REDTUNE_MATCH_DEFAULT: break;
    }
    return "nothing near was measured, or nothing that fits here better, so the built-in default "
           "serves";
}

static void add_line(rdt_table *table, const char *name, const char *text) {
    rdt_table_add(table, "  %s", name);
    rdt_table_add(table, "%s", text);
}

static void add_time(rdt_table *table, const redtune_explanation *found) {
    const redtune_info *info = &found->info;
    char gain[64] = "";
    if (found->default_ns > 0)
        snprintf(gain, sizeof gain, ", %.2fx as fast as the default's %.2f us",
                 found->default_ns / info->tuned_ns, found->default_ns / 1e3);
    rdt_table_add(table, "  time");
    rdt_table_add(table, "%.2f us there, L2 cold%s", info->tuned_ns / 1e3, gain);
}

static void add_origin(rdt_table *table, const redtune_explanation *found) {
    const redtune_info *info = &found->info;
    char date[32] = "", shape[RDT_SHAPE_BYTES], what[64] = "";
    const redtune_problem measured = rdt_shape_measured(info);
    const bool whole = rdt_shape_layout(&measured) == REDTUNE_LAYOUT_WHOLE;
    time_t when = (time_t)info->date;
    struct tm parts;
    if (gmtime_r(&when, &parts)) strftime(date, sizeof date, "%Y-%m-%d", &parts);
    rdt_shape_print(shape, &measured);
    if (info->match == REDTUNE_MATCH_LIKE)
        snprintf(what, sizeof what, ", %s of %s", redtune_op_name(info->tuned_op),
                 redtune_dtype_name(info->tuned_dtype));
    rdt_table_add(table, "  measured");
    rdt_table_add(table, "%s on %s%s at %s %s%s%s%s, CUDA %d.%d, NVRTC %d.%d", date, info->gpu,
                  what, whole ? "size" : "shape", shape, *info->machine ? ", machine " : "",
                  info->machine, found->imported ? ", imported" : "", info->driver_version / 1000,
                  info->driver_version % 1000 / 10, info->nvrtc_version / 1000,
                  info->nvrtc_version % 1000 / 10);
    add_line(table, "in", found->database);
    if (found->to_verify)
        add_line(table, "verified", "not yet: on the GPU, before it serves for the first time");
}

static void add_differences(rdt_table *table, const redtune_explanation *found) {
    if (found->driver_differs) {
        rdt_table_add(table, "  differs");
        rdt_table_add(table, "the driver is now one for CUDA %d.%d", found->driver_version / 1000,
                      found->driver_version % 1000 / 10);
    }
    if (found->nvrtc_differs) {
        rdt_table_add(table, "  differs");
        rdt_table_add(table, "NVRTC is now %d.%d", found->nvrtc_version / 1000,
                      found->nvrtc_version % 1000 / 10);
    }
    if (found->templates_differ)
        add_line(table, "differs", "the templates have changed since; the config is still theirs");
    if (found->driver_differs || found->nvrtc_differs || found->templates_differ)
        add_line(table, "to do", "redtune --again measures it again");
}

/* Of runs of one result; those of several go through NCCL. */
static void add_team(rdt_table *table, const redtune_team_info *team) {
    const double way_us[] = {team->nccl_ns / 1e3, team->peers_ns / 1e3};
    rdt_table_add(table, "  team of %d", team->ranks);
    if (team->by_peers)
        rdt_table_add(table,
                      "messages go through peer memory: a run on a stream takes %.2f us, and %.2f "
                      "us through NCCL %d.%d",
                      way_us[1], way_us[0], team->nccl_version / 10000,
                      team->nccl_version / 100 % 100);
    else
        rdt_table_add(table, "messages go through NCCL %d.%d: %s", team->nccl_version / 10000,
                      team->nccl_version / 100 % 100,
                      team->peers_ns > 0 ? "peer memory measured slower"
                                         : "not all GPUs reach each other's memory");
}

/* asked: it was named. team: NULL where one GPU was asked for. */
static void print_text(const redtune_explanation *found, bool asked,
                       const redtune_team_info *team) {
    const redtune_info *info = &found->info;
    rdt_table table = {.column_count = 2, .right = "ll"};
    char what[RDT_SHAPE_BYTES];
    rdt_shape_describe(what, &info->problem, true);
    printf("%s on %s\n", what, found->gpu.name);
    if (!asked && !found->driver_version) /* not a GPU of this machine */
        add_line(&table, "whose",
                 "the GPU model of the latest row; --gpu names another one, --device 0 this "
                 "machine's");
    rdt_table_add(&table, "  uses");
    rdt_table_add(&table, "%s %s", info->family, info->config);
    rdt_table_add(&table, "  match");
    rdt_table_add(&table, "%s: %s", redtune_match_name(info->match), reason(info));
    if (info->tuned_ns > 0) {
        add_time(&table, found);
        add_origin(&table, found);
        add_differences(&table, found);
    }
    if (team) add_team(&table, team);
    rdt_table_print(&table, stdout);
}

static void print_explained(const redtune_explanation *found, const redtune_team_info *team) {
    const redtune_info *info = &found->info;
    rdt_json json = rdt_json_open(stdout);
    rdt_json_text(&json, "gpu", found->gpu.name);
    rdt_json_problem(&json, &info->problem);
    rdt_json_text(&json, "family", info->family);
    rdt_json_text(&json, "config", info->config);
    rdt_json_text(&json, "match", redtune_match_name(info->match));
    rdt_json_text(&json, "measured_gpu", info->gpu);
    if (info->tuned_dtype) {
        rdt_json_text(&json, "measured_op", redtune_op_name(info->tuned_op));
        rdt_json_text(&json, "measured_dtype", redtune_dtype_name(info->tuned_dtype));
    }
    rdt_json_count(&json, "measured_count", info->tuned_count);
    rdt_json_count(&json, "measured_outer", info->tuned_outer);
    rdt_json_count(&json, "measured_inner", info->tuned_inner);
    rdt_json_count(&json, "measured_alignment", (uint64_t)info->tuned_alignment);
    rdt_json_real(&json, "median_ns", info->tuned_ns);
    rdt_json_real(&json, "default_ns", found->default_ns);
    rdt_json_truth(&json, "imported", found->imported);
    rdt_json_truth(&json, "to_verify", found->to_verify);
    rdt_json_text(&json, "machine", info->machine);
    rdt_json_text(&json, "templates", info->templates);
    rdt_json_count(&json, "date", (uint64_t)info->date);
    rdt_json_count(&json, "measured_driver_version", (uint64_t)info->driver_version);
    rdt_json_count(&json, "measured_nvrtc_version", (uint64_t)info->nvrtc_version);
    rdt_json_count(&json, "driver_version", (uint64_t)found->driver_version);
    rdt_json_count(&json, "nvrtc_version", (uint64_t)found->nvrtc_version);
    rdt_json_truth(&json, "driver_differs", found->driver_differs);
    rdt_json_truth(&json, "nvrtc_differs", found->nvrtc_differs);
    rdt_json_truth(&json, "templates_differ", found->templates_differ);
    rdt_json_text(&json, "database", found->database);
    if (team) {
        rdt_json_count(&json, "team_ranks", (uint64_t)team->ranks);
        rdt_json_count(&json, "team_nccl_version", (uint64_t)team->nccl_version);
        rdt_json_truth(&json, "team_by_peers", team->by_peers);
        rdt_json_real(&json, "team_nccl_ns", team->nccl_ns);
        rdt_json_real(&json, "team_peers_ns", team->peers_ns);
    }
    rdt_json_end(&json, '}');
}

static int run_explain(const rdt_options *options) {
    const bool several = rdt_device_names_several(options);
    redtune_question question = {
        .database = options->database,
        .device = several ? NULL : options->device,
        .gpu = options->gpu,
        .shipped = options->shipped,
    };
    redtune_explanation found;
    redtune_team_info team;
    rdt_device_list devices;
    redtune_error err;
    if (options->device && options->gpu) {
        rdt_message_print("cannot use --gpu with --device: name one GPU");
        return RDT_EXIT_MISUSED;
    }
    if (rdt_options_problem(options, REDTUNE_F32, 1 << 20, &question.problem, &err))
        return rdt_message_fail(&err);
    if (several) {
        if (rdt_device_list_all(options->device, &devices, &err) ||
            rdt_team_way_find(options, &devices, &team, &err))
            return rdt_message_fail(&err);
        question.device = devices.name[0];
    }
    if (redtune_explain(&question, &found, &err)) {
        if (options->device) rdt_device_advise(options->device, &err);
        return rdt_message_fail(&err);
    }
    if (options->json)
        print_explained(&found, several ? &team : NULL);
    else
        print_text(&found, options->gpu || options->device, several ? &team : NULL);
    return RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_explain = {
    .name = "explain",
    .bit = RDT_EXPLAIN,
    .summary = "says which config a reduction would run, and why",
    .details =
        "It answers for this machine's GPU or a named one; without a GPU, for the model measured\n"
        "last. For several GPUs, all or 0,1, it says how a team of them sends its messages, too, "
        "and\n"
        "times that: through peer memory, or through NCCL.\n"
        "\n"
        "For example: redtune explain --gpu H200 --op sum --dtype f32 --size 3000000\n"
        "             redtune explain --device all\n",
    .run = run_explain,
};
