/* Verify strides: whether a kernel of any axes gives the exact results at small problems, before it
 * may be timed.
 *
 * Each has two reduced axes and one or two kept ones, which lie in memory in one of a few orders,
 * with gaps or without, some read backwards: a plane within a batch, a column of a batch, every
 * second element. What is between the elements is of the pool, too, and differs from them. A second
 * input, or a mask, lies as the first does, or in another order, or is the same for all results or
 * elements: in each of these manners beside each order of the first, and the mask in each beside
 * each manner of the second. */
#include "tuner/measure/verify_strides.h"

#include <stdlib.h>
#include "tuner/measure/answers.h"
#include "tuner/measure/verify_shapes.h"

enum { RESULTS = REDTUNE_ARRAY_RESULTS, AXES = 4, ORDERS = 4, ELEMENTS_MAX = 1 << 17 };

/* In which order axes lie, the innermost first: 0 and 1 are reduced, 2 and 3 kept. */
static const int orders[ORDERS][AXES] = {{1, 3, 0, 2}, {3, 1, 2, 0}, {1, 2, 0, 3}, {0, 2, 1, 3}};

/* Results are packed, two apart or backwards, the outer ones inside. */
static void lay_out_results(redtune_axis axes[AXES], size_t number) {
    const int64_t apart = 1 + number % 3 % 2;
    const int inner = number % 3 == 2 ? 2 : 3, outer = 5 - inner;
    axes[inner].step[RESULTS] = apart;
    axes[outer].step[RESULTS] = (int64_t)axes[inner].size * apart + (apart - 1);
    if (inner == 2) axes[outer].step[RESULTS] = -axes[outer].step[RESULTS];
}

/* Sets the steps of all arrays. */
static void lay_out(redtune_axis axes[AXES], size_t number) {
    static const int64_t gaps[] = {0, 1, 0, 4, 3};
    const int *order = orders[number % ORDERS];
    int64_t step = number % 5 == 3 ? 2 : 1;
    for (int i = 0; i < AXES; i++) {
        redtune_axis *axis = &axes[order[i]];
        const int64_t way = number % 3 == 2 && i == 2 ? -step : step;
        for (int k = 0; k < RESULTS; k++) axis->step[k] = way;
        step = step * (int64_t)axis->size + gaps[(number + (size_t)i) % 5];
    }
    lay_out_results(axes, number);
}

/* How an array lies beside x. */
typedef enum manner { LIKE_X, ONE_VECTOR, ONE_WEIGHT, OTHER_ORDER, MANNERS } manner;

static void lay_out_beside(redtune_axis axes[AXES], redtune_array array, manner how,
                           size_t number) {
    const int *order = orders[(number + 1) % ORDERS];
    int64_t step = 1;
    for (int i = 0; how != LIKE_X && i < AXES; i++) {
        redtune_axis *axis = &axes[order[i]];
        const bool stays = how == (order[i] < 2 ? ONE_WEIGHT : ONE_VECTOR);
        axis->step[array] = stays ? 0 : step;
        if (!stays) step = step * (int64_t)axis->size + (int64_t)(number % 2);
    }
}

/* Two Latin squares of which each pair of entries stands once: of numbers 0 to 15 each order of x
 * meets each manner, and each manner of a second input meets each of a mask. */
static manner manner_of(redtune_array array, size_t number) {
    static const int doubled[MANNERS] = {0, 2, 3, 1}; /* in the field of four elements */
    const size_t turn = number / ORDERS % MANNERS;
    return (manner)((int)(number % ORDERS) ^
                    (array == REDTUNE_ARRAY_Y ? (int)turn : doubled[turn]));
}

/* A problem of about so many elements for each of about so many results. */
static redtune_status make(const redtune_problem *like, uint64_t count, uint64_t results,
                           size_t number, redtune_problem *out, redtune_error *err) {
    static const uint64_t inner[] = {7, 16, 62, 5, 33};
    const uint64_t size = inner[number % 5], kept = number % 2 ? 3 : 1;
    redtune_axis axes[AXES] = {
        {(count + size - 1) / size}, {size}, {kept}, {(results + kept - 1) / kept}};
    while (axes[0].size > 1 && axes[3].size > 1 &&
           axes[0].size * size * kept * axes[3].size > ELEMENTS_MAX)
        axes[3].size = (axes[3].size + 1) / 2;
    lay_out(axes, number);
    if (rdt_op_find(like->op)->inputs > 1)
        lay_out_beside(axes, REDTUNE_ARRAY_Y, manner_of(REDTUNE_ARRAY_Y, number), number);
    if (like->mask)
        lay_out_beside(axes, REDTUNE_ARRAY_MASK, manner_of(REDTUNE_ARRAY_MASK, number), number + 1);
    *out = *like;
    return rdt_problem_strided_set(out, axes + 2, 2, axes, 2, err);
}

redtune_status rdt_verify_strides_edges(const rdt_test_buffers *buffers,
                                        const redtune_problem *problem, const rdt_kernel *kernel,
                                        const rdt_launch *launch, redtune_error *err) {
    const uint64_t tile = launch->tile, each = launch->results ? launch->results : 1;
    const uint64_t counts[] = {1, tile, tile - 1, 2 * tile + 1, 33, tile + 7, 5 * tile + 7, 130};
    const bool beside = rdt_op_find(problem->op)->inputs > 1 || problem->mask;
    const size_t lengths = sizeof counts / sizeof *counts,
                 problems = beside ? 2 * lengths : lengths;
    const uint64_t results[] = {each + 1, each, 2 * each + 1, 1, 3, each > 1 ? each - 1 : 5, 2};
    rdt_answers *answers = calloc(1, sizeof *answers);
    redtune_status status = answers ? REDTUNE_OK : rdt_fail_memory(err, sizeof *answers);
    for (size_t i = 0; !status && i < problems; i++) {
        redtune_problem small;
        status = make(problem, counts[i % lengths], results[i % 7], i, &small, err);
        if (status || rdt_problem_reach(&small) + 1 > buffers->dense.count ||
            rdt_problem_strided_results_reach(&small) > buffers->results.bytes / 64 ||
            rdt_problem_count(&small) > buffers->dense.data->count_max)
            continue;
        status = rdt_answers_need(answers, buffers, &small, err);
        if (!status) status = rdt_verify_shapes_extents(answers, kernel, launch, err);
    }
    if (answers) rdt_answers_forget(answers);
    free(answers);
    return status;
}
