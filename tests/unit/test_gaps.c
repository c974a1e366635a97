/* Facts about tuner/measure/gaps.h: every byte between results counts, and none of a result does,
 * whatever the order and the direction of the axes; of many results both ends are read. */
#include "tuner/measure/gaps.h"

#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "check.h"
#include "model/strides.h"
#include "tuner/measure/sample.h"
#include "tuner/measure/test_buffers.h"

enum { RESULTS = REDTUNE_ARRAY_RESULTS, PROBLEMS = 300, ROOM = 4096 };

static redtune_error err;

/* Up to four kept axes, in any order in memory, some backwards, with gaps between. */
static redtune_problem random_problem(rdt_random *random) {
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
    int64_t step = 1;
    problem.steps = (1u << REDTUNE_ARRAYS) - 1;
    problem.kept_axes = 1 + (uint32_t)rdt_random_below(random, 4);
    problem.reduced_axes = 1;
    problem.reduced[0] = (redtune_axis){3, {1, 1, 1}};
    for (uint32_t i = 0; i < problem.kept_axes; i++)
        problem.kept[i].size = 1 + rdt_random_below(random, 6);
    uint32_t order[REDTUNE_AXES_MAX];
    for (uint32_t i = 0; i < problem.kept_axes; i++) {
        const uint32_t k = (uint32_t)rdt_random_below(random, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (uint32_t i = 0; i < problem.kept_axes; i++) {
        redtune_axis *axis = &problem.kept[order[i]];
        step += (int64_t)rdt_random_below(random, 3);
        axis->step[0] = axis->step[1] = axis->step[2] = 3 * step;
        axis->step[RESULTS] = rdt_random_below(random, 2) ? step : -step;
        step *= (int64_t)axis->size;
    }
    return problem;
}

FACT(each_place_is_a_result_or_a_gap) {
    rdt_random random = {7};
    int gaps = 0;
    for (int i = 0; i < PROBLEMS && !check_state.failed; i++) {
        static unsigned char copy[ROOM * 4];
        static bool is_result[ROOM];
        redtune_problem problem = random_problem(&random);
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        if (!rdt_problem_is_strided(&problem)) continue;
        const uint64_t reach = rdt_problem_strided_results_reach(&problem);
        CHECK(reach <= ROOM);
        memset(is_result, 0, sizeof is_result);
        for (uint64_t r = 0; r < rdt_problem_results(&problem); r++)
            is_result[rdt_problem_strided_results_lead(&problem) +
                      (uint64_t)rdt_strides_place(&problem, REDTUNE_ARRAY_RESULTS, r, 0)] = true;
        memset(copy, RDT_TEST_BUFFERS_POISON, sizeof copy);
        CHECK(!rdt_gaps_are_written(&problem, 0, 0, copy, reach));
        for (uint64_t k = 0; k < reach; k++) {
            const uint64_t first = k / 2; /* of a window that begins before it */
            copy[4 * (k - first) + k % 4] = 0;
            CHECK(rdt_gaps_are_written(&problem, 0, first, copy, reach - first) != is_result[k]);
            copy[4 * (k - first) + k % 4] = RDT_TEST_BUFFERS_POISON;
            gaps += !is_result[k];
        }
    }
    CHECK(gaps > PROBLEMS);
}

/* ---- reading --------------------------------------------------------------------------------- */

static CUresult copy_from_host(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult wait_for_nothing(CUstream stream) {
    (void)stream;
    return CUDA_SUCCESS;
}

/* Results two apart, 5 MiB of them. */
FACT(the_first_and_the_last_gaps_of_many_are_read) {
    enum { MANY = 700000 };
    const rdt_driver driver = {.memcpy_dtoh_async = copy_from_host,
                               .stream_synchronize = wait_for_nothing};
    redtune_problem problem = {.op = REDTUNE_MINMAX,
                               .dtype = REDTUNE_F32,
                               .steps = (1u << REDTUNE_ARRAYS) - 1,
                               .kept_axes = 1,
                               .reduced_axes = 1};
    problem.kept[0] = (redtune_axis){MANY, {3, 3, 3, -2}};
    problem.reduced[0] = (redtune_axis){3, {1, 1, 1}};
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    const uint64_t reach = rdt_problem_strided_results_reach(&problem);
    const uint64_t second = rdt_sample_second(reach, &problem);
    unsigned char *const all = malloc(second + reach * 4);
    CHECK(all && reach == 2 * MANY - 1);
    memset(all, RDT_TEST_BUFFERS_POISON, second + reach * 4);
    for (uint64_t k = 0; k < reach; k += 2) all[4 * k] = all[second + 4 * k] = 0;
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)all;
    CHECK_OK(rdt_gaps_check(&problem, &driver, at, NULL, &err), err);
    const uint64_t faults[] = {4, 4 * (reach - 2) + 3, second + 4, second + 4 * (reach - 2) + 3};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        all[faults[i]] = 1;
        CHECK_FAILS(rdt_gaps_check(&problem, &driver, at, NULL, &err), REDTUNE_WRONG, err,
                    "bytes between the results are written, too");
        all[faults[i]] = RDT_TEST_BUFFERS_POISON;
    }
    free(all);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
