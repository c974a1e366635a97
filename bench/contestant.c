/* Contestant: redtune's plans and CUB's calls as contestants. */
#include "bench/contestant.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct cub_call {
    bench_cub_run *run;
    void *scratch;
    size_t scratch_bytes;
} cub_call;

static redtune_status run_plan(void *self, const void *in, uint64_t count, void *out,
                               cudaStream_t stream, redtune_error *err) {
    return redtune_plan_reduce(self, in, count, out, stream, err);
}

static void close_plan(void *self) { redtune_plan_destroy(self); }

redtune_status bench_contestant_open_plan(redtune *rt, const redtune_problem *problem,
                                          bench_contestant *out, bench_time *time,
                                          redtune_error *err) {
    redtune_plan *plan = NULL;
    redtune_status status = redtune_plan_create(rt, problem, &plan, err);
    if (status) return status;
    redtune_info info;
    redtune_plan_info(plan, &info);
    snprintf(time->config, sizeof time->config, "%s", info.config);
    time->match = redtune_match_name(info.match);
    *out = (bench_contestant){run_plan, plan, close_plan};
    return REDTUNE_OK;
}

static redtune_status run_cub(void *self, const void *in, uint64_t count, void *out,
                              cudaStream_t stream, redtune_error *err) {
    cub_call *call = self;
    cudaError_t rc = call->run(call->scratch, &call->scratch_bytes, in, count, out, stream);
    return bench_gpu_check(rc, err, "run CUB");
}

static void close_cub(void *self) {
    cub_call *call = self;
    cudaFree(call->scratch);
    free(call);
}

redtune_status bench_contestant_open_cub(const bench_cub_call *call, uint64_t count,
                                         bench_contestant *out, redtune_error *err) {
    cub_call *made = calloc(1, sizeof *made);
    if (!made) return rdt_fail(err, REDTUNE_MEMORY, 0, "cannot prepare CUB: no memory");
    made->run = call->run;
    cudaError_t rc = call->run(NULL, &made->scratch_bytes, NULL, count, NULL, NULL);
    if (rc == cudaErrorNotSupported) {
        close_cub(made);
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "skipped: more elements than CUB is for");
    }
    if (!rc) rc = cudaMalloc(&made->scratch, made->scratch_bytes);
    if (rc) {
        close_cub(made);
        return bench_gpu_check(rc, err, "prepare CUB");
    }
    *out = (bench_contestant){run_cub, made, close_cub};
    return REDTUNE_OK;
}

void bench_contestant_close(bench_contestant *contestant) {
    if (contestant->close) contestant->close(contestant->self);
    *contestant = (bench_contestant){0};
}
