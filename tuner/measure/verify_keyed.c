/* Verify keyed: whether a kernel by key gives the exact results at small problems, before it may be
 * timed. */
#include "tuner/measure/verify_keyed.h"

#include <stdlib.h>
#include "tuner/measure/answers.h"
#include "tuner/measure/verify_shapes.h"

enum { ELEMENTS_MAX = 1 << 16 };

static redtune_problem make_keyed(const redtune_problem *like, uint64_t rows, uint64_t keys,
                                  redtune_spread spread) {
    redtune_problem small = *like;
    const uint64_t width = rdt_problem_keyed_width(like);
    rdt_problem_axes_set(&small, (rdt_extents){.count = rows, .outer = 1, .inner = width});
    small.keys = keys < like->keys ? keys : like->keys;
    small.spread = spread;
    return small;
}

/* Sums and the like of many elements need test data that are mostly zeros: these have none. */
static bool fits_pool(const rdt_test_buffers *buffers, const redtune_problem *small) {
    return rdt_problem_reach(small) + 1 <= buffers->dense.count &&
           rdt_problem_reach(small) <= ELEMENTS_MAX &&
           rdt_problem_count(small) <= buffers->dense.data->count_max;
}

redtune_status rdt_verify_keyed_edges(const rdt_test_buffers *buffers,
                                      const redtune_problem *problem, const rdt_kernel *kernel,
                                      const rdt_launch *launch, redtune_error *err) {
    static const redtune_spread spreads[] = {REDTUNE_SPREAD_UNIFORM, REDTUNE_SPREAD_ONE,
                                             REDTUNE_SPREAD_SKEWED};
    const uint64_t tile = launch->tile;
    const uint64_t counts[] = {1, tile, tile - 1, 2 * tile + 1, 33, tile + 7, 5 * tile + 7, 1000};
    const uint64_t keys[] = {1, UINT64_MAX, 2, 33, UINT64_MAX, 5, 100};
    rdt_answers *answers = calloc(1, sizeof *answers);
    redtune_status status = answers ? REDTUNE_OK : rdt_fail_memory(err, sizeof *answers);
    if (answers) answers->strays = true;
    for (size_t i = 0; !status && i < sizeof counts / sizeof *counts; i++) {
        const redtune_problem small = make_keyed(problem, counts[i], keys[i % 7], spreads[i % 3]);
        if (!fits_pool(buffers, &small)) continue;
        status = rdt_answers_need(answers, buffers, &small, err);
        if (!status) status = rdt_verify_shapes_extents(answers, kernel, launch, err);
    }
    if (answers) rdt_answers_forget(answers);
    free(answers);
    return status;
}
