/* Gaps: the memory between results that do not lie side by side, which no kernel may write to. */
#include "tuner/measure/gaps.h"

#include <stdlib.h>
#include "tuner/measure/sample.h"
#include "tuner/measure/test_buffers.h"

enum { MOST_BYTES = RDT_TEST_BUFFERS_STAGE_BYTES }; /* that are read of an output */

/* Kept axes by the steps of results in memory, the longest first. */
typedef struct ladder {
    uint64_t size[REDTUNE_AXES_MAX], step[REDTUNE_AXES_MAX];
    uint32_t count;
} ladder;

static ladder sort_steps(const redtune_problem *problem) {
    ladder out = {.count = 0};
    for (uint32_t i = 0; i < problem->kept_axes; i++) {
        const uint64_t step = rdt_problem_step_length(problem->kept[i].step[REDTUNE_ARRAY_RESULTS]);
        uint32_t at = out.count++;
        for (; at && out.step[at - 1] < step; at--) {
            out.step[at] = out.step[at - 1];
            out.size[at] = out.size[at - 1];
        }
        out.step[at] = step;
        out.size[at] = problem->kept[i].size;
    }
    return out;
}

/* Whether a result is there, in results from the first one in memory. Each step leads beyond all
 * that the shorter ones lead to. */
static bool is_result(const ladder *steps, uint64_t place) {
    for (uint32_t i = 0; i < steps->count; i++) {
        uint64_t index = steps->step[i] ? place / steps->step[i] : 0;
        if (index >= steps->size[i]) index = steps->size[i] - 1;
        place -= index * steps->step[i];
    }
    return !place;
}

bool rdt_gaps_are_written(const redtune_problem *problem, int output, uint64_t first,
                          const unsigned char *copy, uint64_t count) {
    const size_t bytes = redtune_dtype_bytes(rdt_compare_dtype(problem, output));
    const ladder steps = sort_steps(problem);
    for (uint64_t i = 0; i < count * bytes; i++)
        if (copy[i] != RDT_TEST_BUFFERS_POISON && !is_result(&steps, first + i / bytes))
            return true;
    return false;
}

/* A part of an output: its places from number `first` on. */
typedef struct window {
    CUdeviceptr output;
    uint64_t first, count;
} window;

static redtune_status check_window(const redtune_problem *problem, int output, window part,
                                   const rdt_driver *driver, CUstream stream, redtune_error *err) {
    const size_t each = redtune_dtype_bytes(rdt_compare_dtype(problem, output));
    const size_t bytes = part.count * each;
    char text[RDT_PROBLEM_TEXT_BYTES];
    unsigned char *copy = malloc(bytes + 1);
    if (!copy) return rdt_fail_memory(err, bytes);
    redtune_status status =
        rdt_buffer_read(driver, copy, part.output + part.first * each, bytes, stream, err);
    const bool written =
        !status && rdt_gaps_are_written(problem, output, part.first, copy, part.count);
    free(copy);
    if (!written) return status;
    rdt_problem_describe(problem, text);
    return rdt_fail(err, REDTUNE_WRONG, 0,
                    "wrong result: %s: bytes between the results are written, too", text);
}

redtune_status rdt_gaps_check(const redtune_problem *problem, const rdt_driver *driver,
                              CUdeviceptr output, CUstream stream, redtune_error *err) {
    const uint64_t reach = rdt_problem_strided_results_reach(problem);
    redtune_status status = REDTUNE_OK;
    if (rdt_problem_strided_packs_results(problem)) return REDTUNE_OK;
    for (int k = 0; !status && k < rdt_op_find(problem->op)->outputs; k++) {
        const CUdeviceptr at = output + (k ? rdt_sample_second(reach, problem) : 0);
        const uint64_t most = MOST_BYTES / redtune_dtype_bytes(rdt_compare_dtype(problem, k));
        const bool all = reach <= most;
        const window begin = {at, 0, all ? reach : most / 2};
        const window end = {at, reach - most / 2, most / 2};
        status = check_window(problem, k, begin, driver, stream, err);
        if (!status && !all) status = check_window(problem, k, end, driver, stream, err);
    }
    return status;
}
