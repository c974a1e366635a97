/* Against_cub: the program that races redtune against CUB over ops, dtypes and sizes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/contestant.h"
#include "bench/dry.h"
#include "bench/floor.h"
#include "bench/race.h"
#include "bench/report.h"

/* A file that does not exist is an empty database: every plan is the default. */
static const char untuned_database[] = "/nonexistent/tuning.db";

typedef struct session {
    const bench_options *options;
    redtune *tuned, *untuned;
    bench_gpu gpu;
    bench_report *report;
    bool differed; /* some results did */
} session;

static void note(const char *op, const bench_dtype *dtype, uint64_t count, const char *text) {
    fprintf(stderr, "against_cub: %s of %" PRIu64 " %s: %s\n", op, count, dtype->name, text);
}

/* ---- a problem ----------------------------------------------------------------------------- */

/* The results' dtype. That of an index may be signed here and unsigned there: its bits are alike.
 */
static redtune_status find_result(const redtune_problem *problem, const bench_cub_call *call,
                                  const bench_dtype **out, redtune_error *err) {
    redtune_dtype dtype;
    redtune_status status = redtune_problem_result(problem, &dtype, err);
    if (status) return status;
    const char *name = redtune_dtype_name(dtype);
    const bench_dtype *mine = bench_dtype_find(name), *theirs = bench_dtype_find(call->result);
    if (!mine || mine->bytes != theirs->bytes || mine->roundoff != theirs->roundoff)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "skipped: the result is %s, and CUB's is %s",
                        name, call->result);
    *out = mine;
    return REDTUNE_OK;
}

/* Opens CUB and both plans, by bench_contestant_id. What is open is in the field even where this
 * fails. */
static redtune_status open_field(session *all, const redtune_problem *problem,
                                 const bench_cub_call *call, bench_contestant *field,
                                 bench_row *row, redtune_error *err) {
    redtune_status status =
        bench_contestant_open_cub(call, problem->reduced[0].size, &field[BENCH_CUB], err);
    if (!status)
        status = bench_contestant_open_plan(all->tuned, problem, &field[BENCH_TUNED],
                                            &row->times[BENCH_TUNED], err);
    if (!status)
        status = bench_contestant_open_plan(all->untuned, problem, &field[BENCH_DEFAULT],
                                            &row->times[BENCH_DEFAULT], err);
    return status;
}

/* A problem's results as CUB has them. */
typedef struct answer {
    const bench_dtype *dtype;
    bench_result result;
} answer;

/* Races in one mode. The row comes with what is known of all modes. */
static redtune_status run_mode(session *all, bench_contestant *field, const answer *right,
                               bench_row row, redtune_error *err) {
    bench_contestant *floor = &field[BENCH_FLOOR];
    redtune_status status = REDTUNE_OK;
    if (all->options->floor && bench_floor_has(&row))
        status = bench_floor_open(&all->gpu, &row, right->dtype, right->result.bytes, floor, err);
    if (!status)
        status = bench_race_run(&all->gpu, field, BENCH_CONTESTANTS, all->options->samples, &row,
                                row.times, err);
    if (!status) status = bench_report_add(all->report, &row, err);
    bench_contestant_close(floor);
    return status;
}

static redtune_status run_field(session *all, bench_contestant *field, answer *right,
                                bench_row *row, redtune_error *err) {
    bool rounds = !strcmp(row->op, "sum");
    redtune_status status = bench_race_check(&all->gpu, field, row->count, right->dtype, rounds,
                                             &right->result, &row->agree, err);
    if (!status && !row->agree) {
        note(row->op, row->dtype, row->count, err->message);
        all->differed = true;
    }
    for (int mode = 0; !status && mode < BENCH_MODES; mode++) {
        row->mode = (bench_mode)mode;
        if (all->options->modes[mode]) status = run_mode(all, field, right, *row, err);
    }
    return status;
}

static redtune_status run_problem(session *all, const char *op, const bench_dtype *dtype,
                                  const redtune_problem *problem, redtune_error *err) {
    const bench_cub_call *call = bench_cub_find(op, dtype->name, all->options->fixed);
    bench_row row = {.op = op, .dtype = dtype, .count = problem->reduced[0].size};
    bench_contestant field[BENCH_CONTESTANTS] = {0};
    answer right = {0};
    if (!row.count) return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "skipped: no whole element");
    if (!call) return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "skipped: CUB has none");
    if (row.count * dtype->bytes > all->gpu.pool_bytes)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "skipped: not enough device memory");
    redtune_status status = find_result(problem, call, &right.dtype, err);
    if (!status) status = open_field(all, problem, call, field, &row, err);
    if (!status) status = run_field(all, field, &right, &row, err);
    for (int id = 0; id < BENCH_CONTESTANTS; id++) bench_contestant_close(&field[id]);
    return status;
}

/* ---- all problems -------------------------------------------------------------------------- */

static redtune_status run_dtype(session *all, const char *op, const bench_dtype *dtype,
                                redtune_error *err) {
    const bench_options *options = all->options;
    redtune_problem problem = {.order = options->fixed ? REDTUNE_ORDER_FIXED : REDTUNE_ORDER_FREE};
    redtune_status status = redtune_op_find(op, &problem.op, err);
    if (!status) status = redtune_dtype_find(dtype->name, &problem.dtype, err);
    if (status) {
        fprintf(stderr, "against_cub: %s of %s: skipped: %s\n", op, dtype->name, err->message);
        return REDTUNE_OK;
    }
    status = bench_gpu_fill(&all->gpu, dtype, err);
    for (size_t i = 0; !status && i < options->size_count; i++) {
        problem.reduced_axes = 1;
        problem.reduced[0].size = bench_size_count(&options->sizes[i], dtype);
        status = run_problem(all, op, dtype, &problem, err);
        if (status != REDTUNE_UNSUPPORTED) continue;
        note(op, dtype, problem.reduced[0].size, err->message);
        status = REDTUNE_OK;
    }
    return status;
}

static redtune_status run_all(session *all, redtune_error *err) {
    const bench_options *options = all->options;
    redtune_status status = REDTUNE_OK;
    for (size_t op = 0; !status && op < options->op_count; op++)
        for (size_t dtype = 0; !status && dtype < options->dtype_count; dtype++)
            status = run_dtype(all, options->ops[op], options->dtypes[dtype], err);
    return status;
}

static size_t bytes_max(const bench_options *options) {
    uint64_t most = 0;
    for (size_t i = 0; i < options->size_count; i++)
        for (size_t j = 0; j < options->dtype_count; j++) {
            const bench_dtype *dtype = options->dtypes[j];
            uint64_t bytes = bench_size_count(&options->sizes[i], dtype) * dtype->bytes;
            if (bytes > most) most = bytes;
        }
    return most;
}

static redtune_status open_session(session *all, redtune_error *err) {
    const bench_options *options = all->options;
    const redtune_options tuned = {.database = options->database};
    const redtune_options untuned = {.database = untuned_database};
    /* Freeing nothing makes the device's context, which redtune then finds current. */
    redtune_status status = bench_gpu_check(cudaSetDevice(options->device), err, "use the device");
    if (!status) status = bench_gpu_check(cudaFree(NULL), err, "use the device");
    if (!status) status = redtune_open(&tuned, &all->tuned, err);
    if (!status) status = redtune_open(&untuned, &all->untuned, err);
    if (status) return status;
    redtune_device_info device;
    redtune_device_get(all->tuned, &device);
    status = bench_gpu_open(bytes_max(options), &device, options->flush_writes, &all->gpu, err);
    if (status) return status;
    bench_scene scene = {
        .gpu = device.name,
        .database = redtune_database_path(all->tuned),
        .peak_gbps = device.peak_gbps,
        .sm_count = device.sm_count,
        .l2_bytes = device.l2_bytes,
        .driver_version = device.driver_version,
        .cub_version = bench_cub_version,
        .samples = options->samples,
    };
    return bench_report_begin(&scene, options, stdout, &all->report, err);
}

static redtune_status run_session(const bench_options *options, redtune_error *err) {
    session all = {.options = options};
    redtune_status status = open_session(&all, err);
    if (!status) status = run_all(&all, err);
    bench_report_end(all.report);
    bench_gpu_close(&all.gpu);
    redtune_close(all.untuned);
    redtune_close(all.tuned);
    if (!status && all.differed)
        status = rdt_fail(err, REDTUNE_WRONG, 0, "some results differ, as said above");
    return status;
}

int main(int argc, char **argv) {
    bench_options options;
    redtune_error err = {0};
    redtune_status status = bench_options_parse(argv + 1, argc - 1, &options, &err);
    if (!status && options.help) {
        bench_options_help(stdout);
        return EXIT_SUCCESS;
    }
    if (!status && options.dry)
        status = bench_dry_run(&options, stdout, &err);
    else if (!status)
        status = run_session(&options, &err);
    if (!status) return EXIT_SUCCESS;
    fprintf(stderr, "against_cub: %s\n", err.message);
    return status == REDTUNE_INVALID ? 2 : EXIT_FAILURE;
}
