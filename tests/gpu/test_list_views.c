/* Facts about lists of arrays with gaps: strided, flipped, permuted and broadcast ones among packed
 * ones give what their packed copies give, whatever the op, the order and the dtype; runs read
 * their elements anew; and what is refused. What lies between elements is poison. */
#include <math.h>
#include "draw.h"
#include "gpu/graph.h"
#include "model/problem.h"
#include "model/scalar.h"
#include "ones.h"
#include "redtune/list.h"
#include "shaped.h"
#include "simulator.h"
#include "view_draws.h"

enum { ARRAYS = 40, AXES = 4, ROOM = 60000, COPIES = 200000 };

static redtune *rt;
static rdt_buffer elements, copies, masks;
static unsigned char memory[ROOM * 8], packed[COPIES * 8], there[COPIES];
static size_t bytes; /* of an element */

static drawn_view arrays[ARRAYS];
static uint64_t copy_of[ARRAYS]; /* where its copy begins */

/* Its sizes; without elements once in a while. */
static void draw_shape(drawn_view *out) {
    out->axes = draw(AXES + 1);
    for (size_t i = 0; i < out->axes; i++) {
        out->shape[i] = draw(30) ? 1 + (int64_t)draw(out->axes > 2 ? 7 : 40) : 0;
    }
}

/* The views and their copies on the host. */
static void draw_arrays(void) {
    uint64_t next = 0;
    for (int i = 0; i < ARRAYS; i++) {
        drawn_view *its = &arrays[i];
        do draw_shape(its);
        while (!view_lay_out(its, ROOM));
        copy_of[i] = next;
        next += (its->count * bytes + 15) / 16 * 16 / bytes;
    }
}

/* Elements of random bits or, of floats, of numbers whose sums round; poison elsewhere: all
 * bits, which are a NaN, the greatest number without a sign, or -1. */
static redtune_status fill(redtune_dtype dtype) {
    memset(memory, 0xff, ROOM * bytes);
    memset(packed, 0, sizeof packed);
    for (int i = 0; i < ARRAYS; i++)
        for (uint64_t e = 0; e < arrays[i].count; e++) {
            const double number = ((double)draw(2000001) - 1e6) / 1024;
            const redtune_value value = rdt_scalar_from_real(dtype, number);
            memcpy(memory + view_place_of(&arrays[i], e) * bytes, &value, bytes);
        }
    for (int i = 0; i < ARRAYS; i++) /* they may share elements */
        for (uint64_t e = 0; e < arrays[i].count; e++)
            memcpy(packed + (copy_of[i] + e) * bytes, memory + view_place_of(&arrays[i], e) * bytes,
                   bytes);
    redtune_status status =
        rdt_buffer_write(gpu.driver, elements.address, memory, ROOM * bytes, gpu.stream, &err);
    if (status) return status;
    return rdt_buffer_write(gpu.driver, copies.address, packed, COPIES * bytes, gpu.stream, &err);
}

static const void *at(const rdt_buffer *buffer, uint64_t index) {
    return (const char *)(uintptr_t)buffer->address + index * bytes;
}

static redtune_status make_lists(redtune_dtype dtype, redtune_list **of_views,
                                 redtune_list **of_copies) {
    redtune_view views[ARRAYS] = {{.d_in = NULL}};
    const void *places[ARRAYS];
    uint64_t counts[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        const drawn_view *its = &arrays[i];
        views[i] = (redtune_view){at(&elements, its->first), its->shape, its->strides, its->axes};
        places[i] = at(&copies, copy_of[i]);
        counts[i] = its->count;
    }
    redtune_status status = redtune_list_create_views(rt, dtype, views, ARRAYS, of_views, &err);
    if (status) return status;
    return redtune_list_create(rt, dtype, places, counts, ARRAYS, of_copies, &err);
}

typedef struct trial {
    redtune_op op;
    redtune_dtype dtype;
    redtune_order order;
    bool all;
} trial;

static redtune_problem problem_of(const trial *its, redtune_mask mask) {
    redtune_problem problem = redtune_problem_segments(its->op, its->dtype, 0, 100);
    problem.segmented = its->all ? REDTUNE_SEGMENTED_ALL : REDTUNE_SEGMENTED_EACH;
    problem.order = its->order;
    problem.mask = mask;
    return problem;
}

/* Both lists give the same bytes. */
static void check_same(const trial *its, redtune_mask mask, const redtune_list *views,
                       const redtune_list *of_copies) {
    const redtune_problem problem = problem_of(its, mask);
    const redtune_list *lists[] = {views, of_copies};
    unsigned char got[2][ARRAYS * 16];
    for (int i = 0; i < 2; i++) {
        const redtune_segments run = {.list = lists[i], .d_out = {output(0)}};
        gpu.driver->memset_d8_async(results.address, 0xa5, sizeof got[i], gpu.stream);
        CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
        CHECK_OK(
            rdt_buffer_read(gpu.driver, got[i], results.address, sizeof got[i], gpu.stream, &err),
            err);
    }
    redtune_dtype result = REDTUNE_DTYPE_NONE;
    CHECK_OK(redtune_problem_result(&problem, &result, &err), err);
    const size_t each = redtune_dtype_bytes(result);
    for (size_t i = 0; i < (its->all ? 1 : ARRAYS); i++)
        check_that(!memcmp(got[0] + i * each, got[1] + i * each, each), __FILE__, __LINE__,
                   "%s of %s%s%s: array %zu of %llu elements", redtune_op_name(its->op),
                   redtune_dtype_name(its->dtype), its->all ? ", all" : "",
                   its->order ? ", in fixed order" : "", i, (unsigned long long)arrays[i].count);
    check_that(!memcmp(got[0], got[1], sizeof got[0]), __FILE__, __LINE__, "behind the results");
}

static void open_all(void) {
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof memory, &elements, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof packed, &copies, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof there, &masks, &err), err);
    draw_from(0);
}

static void close_all(void) {
    rdt_buffer_destroy(&elements);
    rdt_buffer_destroy(&copies);
    rdt_buffer_destroy(&masks);
    redtune_close(rt);
}

static void draw_lists(redtune_dtype dtype, redtune_list **views, redtune_list **of_copies) {
    bytes = redtune_dtype_bytes(dtype);
    draw_arrays();
    CHECK_OK(fill(dtype), err);
    CHECK_OK(make_lists(dtype, views, of_copies), err);
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(arrays_with_gaps_count_as_their_packed_copies) {
    static const trial trials[] = {
        {REDTUNE_SUM, REDTUNE_F32, REDTUNE_ORDER_FIXED},
        {REDTUNE_ARGMAX, REDTUNE_F32},
        {REDTUNE_ARGMAX, REDTUNE_F32, .all = true},
        {REDTUNE_NONFINITE, REDTUNE_F32, .all = true},
        {REDTUNE_SUM, REDTUNE_F64, REDTUNE_ORDER_FIXED},
        {REDTUNE_ARGMIN, REDTUNE_F16},
        {REDTUNE_MEAN, REDTUNE_BF16, REDTUNE_ORDER_FIXED},
        {REDTUNE_ARGMAX, REDTUNE_U8, .all = true},
        {REDTUNE_SUM, REDTUNE_I32},
        {REDTUNE_XOR, REDTUNE_I64, .all = true},
    };
    open_all();
    for (size_t i = 0; i < sizeof trials / sizeof *trials && !check_state.failed; i++) {
        redtune_list *views = NULL, *of_copies = NULL;
        draw_lists(trials[i].dtype, &views, &of_copies);
        check_same(&trials[i], REDTUNE_MASK_NONE, views, of_copies);
        redtune_list_destroy(views);
        redtune_list_destroy(of_copies);
    }
    close_all();
}

FACT(one_launch_copies_all_arrays_with_gaps) {
    const redtune_problem problem =
        problem_of(&(trial){REDTUNE_SUM, REDTUNE_F32}, REDTUNE_MASK_NONE);
    redtune_list *lists[2] = {NULL};
    uint64_t launches[2];
    simulator sim;
    if (!simulator_find(&sim)) SKIP("a real driver counts no calls");
    open_all();
    draw_lists(REDTUNE_F32, &lists[0], &lists[1]);
    for (int i = 0; i < 4; i++) { /* the second time */
        const redtune_segments run = {.list = lists[i % 2], .d_out = {output(0)}};
        launches[i % 2] = sim.calls("cuLaunchKernel") + sim.calls("cuLaunchKernelEx");
        CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
        launches[i % 2] =
            sim.calls("cuLaunchKernel") + sim.calls("cuLaunchKernelEx") - launches[i % 2];
    }
    CHECK_INT((int)launches[0], (int)launches[1] + 1);
    redtune_list_destroy(lists[0]);
    redtune_list_destroy(lists[1]);
    close_all();
}

/* Each array has the mask of its packed copy, except every third. */
FACT(masks_are_of_elements_in_row_major_order) {
    static const trial trials[] = {{REDTUNE_ARGMAX, REDTUNE_F32},
                                   {REDTUNE_SUM, REDTUNE_F16, REDTUNE_ORDER_FIXED}};
    open_all();
    for (size_t i = 0; i < COPIES; i++) there[i] = (unsigned char)draw(3);
    CHECK_OK(rdt_buffer_write(gpu.driver, masks.address, there, COPIES, gpu.stream, &err), err);
    for (size_t i = 0; i < 2 && !check_state.failed; i++) {
        redtune_list *views = NULL, *of_copies = NULL, *masked[2] = {NULL, NULL};
        const void *beside[ARRAYS];
        draw_lists(trials[i].dtype, &views, &of_copies);
        for (int k = 0; k < ARRAYS; k++)
            beside[k] = k % 3 == 1 ? NULL : (const char *)(uintptr_t)masks.address + copy_of[k];
        CHECK_OK(redtune_list_create_masked(views, beside, NULL, &masked[0], &err), err);
        CHECK_OK(redtune_list_create_masked(of_copies, beside, NULL, &masked[1], &err), err);
        redtune_list_destroy(views); /* the masked list has what it needs */
        redtune_list_destroy(of_copies);
        check_same(&trials[i], REDTUNE_MASK_LISTED_BYTES, masked[0], masked[1]);
        redtune_list_destroy(masked[0]);
        redtune_list_destroy(masked[1]);
    }
    close_all();
}

/* Every second of n ones; n changes. */
FACT(runs_and_replays_read_elements_anew) {
    enum { EACH = 500 };
    const int64_t shape[] = {EACH}, strides[] = {-2};
    const float one = 1, poison = NAN;
    const trial sum = {REDTUNE_SUM, REDTUNE_F32};
    const redtune_problem problem = problem_of(&sum, REDTUNE_MASK_NONE);
    redtune_list *list = NULL;
    rdt_graph *graph = NULL;
    open_all();
    bytes = sizeof one;
    const redtune_view views[] = {{at(&elements, 2 * EACH - 2), shape, strides, 1},
                                  {at(&elements, 4 * EACH - 2), shape, strides, 1}};
    CHECK_OK(redtune_list_create_views(rt, REDTUNE_F32, views, 2, &list, &err), err);
    CHECK_OK(redtune_prepare(rt, &problem, 1, &err), err);
    const redtune_segments run = {.list = list, .d_out = {output(0)}};
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    float host[4 * EACH];
    for (int trips = 1; trips < 5 && !check_state.failed; trips++) {
        for (int i = 0; i < 4 * EACH; i++)
            host[i] = i % 2 ? poison : (float)(trips * (i < 2 * EACH ? 1 : 3)) * one;
        CHECK_OK(
            rdt_buffer_write(gpu.driver, elements.address, host, sizeof host, gpu.stream, &err),
            err);
        if (trips % 2)
            CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        else
            CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
        CHECK_INT((int)result(0), trips * EACH);
        CHECK_INT((int)result(1), 3 * trips * EACH);
    }
    rdt_graph_destroy(graph);
    redtune_list_destroy(list);
    close_all();
}

FACT(views_that_make_no_sense_are_refused) {
    static const int64_t shape[] = {3, 4}, strides[] = {8, 2}, below[] = {3, -1};
    static const int64_t many[] = {2, 2, 2, 2, 2, 2, 2, 2, 2},
                         apart[] = {3, 9, 27, 81, 243, 729, 2187, 6561, 19683};
    redtune_list *list = NULL;
    open_all();
    bytes = sizeof(float);
#define REFUSES(status, why, ...)                                                                  \
    do {                                                                                           \
        const redtune_view views[] = {{input(), shape, NULL, 2}, {__VA_ARGS__}};                   \
        CHECK_FAILS(redtune_list_create_views(rt, REDTUNE_F32, views, 2, &list, &err), status,     \
                    err, why);                                                                     \
    } while (0)
    REFUSES(REDTUNE_INVALID, "cannot list array 1: its size along axis 1 is -1", input(), below,
            strides, 2);
    REFUSES(REDTUNE_INVALID, "array 1: shape is NULL; give 2 sizes", input(), NULL, strides, 2);
    REFUSES(REDTUNE_INVALID, "array 1: it has 65 dimensions; give at most 64", input(), shape,
            strides, 65);
    REFUSES(REDTUNE_INVALID, "cannot list array 1 at", NULL, shape, strides, 2);
    REFUSES(REDTUNE_UNSUPPORTED, "array 1: cannot", input(), many, apart, 9);
    REFUSES(REDTUNE_UNSUPPORTED, "redtune_view", input(), shape, strides, 2, {0, 1});
    CHECK_FAILS(redtune_list_create_views(rt, REDTUNE_F32, NULL, 1, &list, &err), REDTUNE_INVALID,
                err, "views is NULL");
    CHECK(!list);
    /* Results may not lie among the elements, nor in the gaps between. */
    const trial sum = {REDTUNE_SUM, REDTUNE_F32};
    const redtune_problem problem = problem_of(&sum, REDTUNE_MASK_NONE);
    const redtune_view view = {at(&elements, 10), shape, strides, 2};
    CHECK_OK(redtune_list_create_views(rt, REDTUNE_F32, &view, 1, &list, &err), err);
    redtune_segments run = {.list = list, .d_out = {(void *)(uintptr_t)at(&elements, 32)}};
    CHECK_FAILS(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), REDTUNE_INVALID, err,
                "d_out lies within an array of the list");
    run.d_out[0] = (void *)(uintptr_t)at(&elements, 33);
    CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
    redtune_list_destroy(list);
    close_all();
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
