/* redtune emit: prints the CUDA source of one configuration, or what its kernel does. */
#include <inttypes.h>
#include <stdio.h>
#include "cli/command.h"
#include "cli/message.h"
#include "cli/table.h"
#include "redtune/tools.h"

/* ---- counters ------------------------------------------------------------------------------ */

static void add_counter(rdt_table *table, const char *what, uint64_t count, const char *remark) {
    rdt_table_add(table, "%s", what);
    rdt_table_add(table, "%" PRIu64, count);
    rdt_table_add(table, "%s", remark);
}

static double ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

static void add_rows(rdt_table *table, const redtune_counters *of) {
    char remark[80];
    add_counter(table, "launches", of->launches, "");
    add_counter(table, "blocks", of->blocks, "");
    add_counter(table, "warps", of->warps, "");
    snprintf(remark, sizeof remark, "of warps; %.1f of 32 lanes active",
             ratio(of->lane_instructions, of->warp_instructions));
    add_counter(table, "instructions", of->warp_instructions, remark);
    snprintf(remark, sizeof remark, "%" PRIu64 " of them divergent", of->divergent_branches);
    add_counter(table, "branches", of->branches, remark);
    add_counter(table, "loads", of->global_loads, "from global memory, by warps");
    add_counter(table, "stores", of->global_stores, "");
    snprintf(remark, sizeof remark, "of 32 bytes, %.1f of them asked for",
             ratio(of->global_bytes, of->global_transactions));
    add_counter(table, "transactions", of->global_transactions, remark);
    add_counter(table, "  past L2", of->memory_transactions, "which was cold");
    add_counter(table, "shared memory", of->shared_requests, "requests of warps");
    add_counter(table, "  bank conflicts", of->shared_wavefronts - of->shared_requests, "");
    add_counter(table, "barriers", of->barriers, "by warps");
    add_counter(table, "shuffles", of->shuffles, "by warps");
    add_counter(table, "atomics", of->atomics, "by lanes");
    add_counter(table, "fences", of->fences, "");
    rdt_table_add(table, "%s", "time");
    rdt_table_add(table, "%.2f", of->time_ns / 1e3);
    rdt_table_add(table, "%s", "us, modelled: says nothing about a real GPU");
}

static int print_counters(const redtune_emission *emission) {
    const redtune_problem *problem = &emission->problem;
    redtune_counters counters;
    redtune_error err;
    char what[RDT_SHAPE_BYTES];
    if (redtune_count(emission, &counters, &err)) return rdt_message_fail(&err);
    rdt_table table = {.column_count = 3, .right = "lrl"};
    rdt_shape_describe(what, problem, true);
    printf("%s, once, on the %s\n%s\n\n", what, counters.gpu, counters.config);
    add_rows(&table, &counters);
    rdt_table_print(&table, stdout);
    return RDT_EXIT_DONE;
}

/* ---- the command --------------------------------------------------------------------------- */

static int run_emit(const rdt_options *options) {
    redtune_emission emission = {
        .family = options->family,
        .config = options->config,
        .lines = options->lines,
        .gpu = options->gpu,
        .database = options->database,
    };
    if (options->counters && options->gpu) {
        rdt_message_print("cannot use --gpu with --counters: the simulated GPU is what counts");
        return RDT_EXIT_MISUSED;
    }
    redtune_error err;
    if (rdt_options_problem(options, REDTUNE_F32, 1 << 20, &emission.problem, &err))
        return rdt_message_fail(&err);
    if (options->counters) return print_counters(&emission);
    char *source = NULL;
    if (redtune_emit(&emission, &source, &err)) return rdt_message_fail(&err);
    fputs(source, stdout);
    redtune_free(source);
    return RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_emit = {
    .name = "emit",
    .bit = RDT_EMIT,
    .summary = "prints the CUDA source of one kernel; needs no GPU",
    .details =
        "Parameters that --config does not name are the built-in default's. The error for a wrong\n"
        "name or value lists the valid ones.\n\n"
        "With --gpu it is rendered for that GPU, and without --family and --config it is what "
        "that\nGPU would run on --size elements, by the databases (redtune explain says why).\n\n"
        "With --counters the kernel is compiled (that takes NVRTC) and called once on --size\n"
        "elements on the simulated GPU: instructions and how many lanes of a warp were active,\n"
        "accesses to memory and how well they coalesced, bank conflicts, barriers, atomics.\n",
    .run = run_emit,
};
