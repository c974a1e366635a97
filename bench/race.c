/* Race: all contestants of one problem, checked against one another and timed interleaved. */
#include "bench/race.h"

#include <string.h>

static redtune_status run_once(const bench_gpu *gpu, const bench_contestant *contestant,
                               uint64_t count, bench_result *out, redtune_error *err) {
    /* What no kernel writes shows as a value that none gives. */
    redtune_status status = bench_gpu_check(
        cudaMemsetAsync(gpu->output, 0xa5, BENCH_OUTPUT_BYTES, gpu->stream), err, "clear memory");
    if (!status)
        status =
            contestant->reduce(contestant->self, gpu->pool, count, gpu->output, gpu->stream, err);
    if (!status)
        status = bench_gpu_check(
            cudaMemcpyAsync(out, gpu->output, sizeof *out, cudaMemcpyDeviceToHost, gpu->stream),
            err, "copy a result");
    if (!status) status = bench_gpu_wait(gpu, err);
    return status;
}

redtune_status bench_race_check(const bench_gpu *gpu, const bench_contestant *contestants,
                                uint64_t count, const bench_dtype *dtype, bool rounds,
                                bench_result *reference, bool *agree, redtune_error *err) {
    redtune_status status = run_once(gpu, &contestants[BENCH_CUB], count, reference, err);
    *agree = true;
    for (int id = 0; !status && id < BENCH_FLOOR; id++) {
        bench_result mine;
        if (id == BENCH_CUB) continue;
        status = run_once(gpu, &contestants[id], count, &mine, err);
        if (status || bench_dtype_agree(dtype, rounds, count, reference->bytes, mine.bytes))
            continue;
        char want[32], got[32];
        bench_dtype_print(dtype, reference->bytes, want);
        bench_dtype_print(dtype, mine.bytes, got);
        rdt_fail(err, REDTUNE_WRONG, 0, "results differ: cub gives %s, %s gives %s", want,
                 bench_row_contestant((bench_contestant_id)id), got);
        *agree = false;
    }
    return status;
}

redtune_status bench_race_run(bench_gpu *gpu, const bench_contestant *contestants, int count,
                              int samples, const bench_row *row, bench_time *times,
                              redtune_error *err) {
    bench_timer timers[BENCH_RACE_MAX];
    int ids[BENCH_RACE_MAX], n = 0;
    redtune_status status = REDTUNE_OK;
    for (int id = 0; !status && id < count; id++) {
        if (!contestants[id].reduce) continue;
        status = bench_timer_open(gpu, &contestants[id], row->mode, row->dtype, row->count,
                                  &timers[n], err);
        ids[n] = id;
        n += !status;
    }
    /* Whoever begins has the others' traces behind it, so each begins in turn. */
    for (int sample = 0; !status && sample < samples; sample++)
        for (int i = 0; !status && i < n; i++)
            status = bench_timer_sample(&timers[(sample + i) % n], err);
    for (int i = 0; i < n; i++) {
        if (!status) bench_timer_summary(&timers[i], &times[ids[i]]);
        bench_timer_close(&timers[i]);
    }
    return status;
}
