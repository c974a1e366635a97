/* Facts about reductions of many arrays by list.h: lists that are made once, tables of arrays on
 * the GPU that change between replays, results of each and of all, and what is refused. */
#include <math.h>
#include "gpu/graph.h"
#include "model/problem.h"
#include "ones.h"
#include "redtune/list.h"
#include "shaped.h"

enum { ARRAYS = 700 };

static redtune *rt;
static const void *places[ARRAYS];
static uint64_t counts[ARRAYS];
static uint64_t total;

static redtune_problem arrays_of(redtune_op op, bool all) {
    return PROBLEM(.op = op, .dtype = REDTUNE_F32, .count = 60,
                   .segmented = all ? REDTUNE_SEGMENTED_ALL : REDTUNE_SEGMENTED_EACH);
}

/* Array i has i * 37 % modulus of the ones, from some place on. */
static void choose_arrays(uint64_t modulus) {
    total = 0;
    for (uint64_t i = 0; i < ARRAYS; i++) {
        counts[i] = i * 37 % modulus;
        places[i] = (const float *)input() + i * 101 % (COUNT - 5000);
        total += counts[i];
    }
}

static redtune_status make_list(uint64_t modulus, redtune_list **out) {
    choose_arrays(modulus);
    return redtune_list_create(rt, REDTUNE_F32, places, counts, ARRAYS, out, &err);
}

static void poison(void) {
    gpu.driver->memset_d8_async(results.address, 0xa5, results.bytes, gpu.stream);
}

static void check_counts(void) {
    static float got[ARRAYS];
    CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address, sizeof got, gpu.stream, &err), err);
    for (int i = 0; i < ARRAYS && !check_state.failed; i++)
        check_that(got[i] == (float)counts[i], __FILE__, __LINE__, "array %d: %g", i,
                   (double)got[i]);
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(each_array_of_a_list_has_its_result) {
    const redtune_problem problem = arrays_of(REDTUNE_SUM, false);
    CHECK_OK(open_usual(&rt), err);
    for (uint64_t modulus = 1; modulus < 5000 && !check_state.failed; modulus *= 9) {
        redtune_list *list = NULL;
        CHECK_OK(make_list(modulus, &list), err);
        const redtune_segments run = {.list = list, .d_out = {output(0)}};
        for (int i = 0; i < 2; i++) {
            poison();
            CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
            check_counts();
        }
        redtune_list_destroy(list);
    }
    redtune_close(rt);
}

FACT(a_list_has_one_result_of_all) {
    const redtune_problem sum = arrays_of(REDTUNE_SUM, true), norm = arrays_of(REDTUNE_NORM2, true);
    CHECK_OK(open_usual(&rt), err);
    for (uint64_t modulus = 1; modulus < 5000 && !check_state.failed; modulus *= 9) {
        redtune_list *list = NULL;
        CHECK_OK(make_list(modulus, &list), err);
        redtune_segments run = {.list = list, .d_out = {output(0)}};
        CHECK_OK(redtune_run_segments(rt, &sum, &run, gpu.stream, &err), err);
        run.d_out[0] = output(1);
        CHECK_OK(redtune_run_segments(rt, &norm, &run, gpu.stream, &err), err);
        CHECK_INT((int)result(0), (int)total);
        CHECK(result(1) == sqrtf((float)total));
        redtune_list_destroy(list);
    }
    redtune_close(rt);
}

/* Index 0 of all is in the first array that is not empty. */
FACT(an_index_counts_through_all_arrays) {
    redtune_list *list = NULL;
    const redtune_problem problem = arrays_of(REDTUNE_ARGMAX, true);
    float host[1000] = {0};
    rdt_buffer elements = {0};
    int64_t found = -7;
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof host, &elements, &err), err);
    host[900] = 2;
    CHECK_OK(rdt_buffer_write(gpu.driver, elements.address, host, sizeof host, gpu.stream, &err),
             err);
    const char *const first = (const char *)(uintptr_t)elements.address;
    const void *parts[] = {first, NULL, first + 4 * 500, first + 4 * 100};
    const uint64_t lengths[] = {300, 0, 450, 10};
    CHECK_OK(redtune_list_create(rt, REDTUNE_F32, parts, lengths, 4, &list, &err), err);
    const redtune_segments run = {.list = list, .d_out = {output(0)}};
    CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
    CHECK_OK(rdt_buffer_read(gpu.driver, &found, results.address, sizeof found, gpu.stream, &err),
             err);
    CHECK_INT(found, 300 + 400);
    redtune_list_destroy(list);
    rdt_buffer_destroy(&elements);
    redtune_close(rt);
}

FACT(no_arrays_have_the_result_of_no_elements) {
    redtune_list *list = NULL;
    const redtune_problem problem = arrays_of(REDTUNE_MEAN, true);
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_list_create(rt, REDTUNE_F32, NULL, NULL, 0, &list, &err), err);
    const redtune_segments run = {.list = list, .d_out = {output(0)}};
    CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
    CHECK(isnan(result(0)));
    poison();
    const redtune_segments none = {.d_out = {output(0)}};
    CHECK_OK(redtune_run_segments(rt, &problem, &none, gpu.stream, &err), err);
    CHECK(isnan(result(0)));
    redtune_list_destroy(list);
    redtune_close(rt);
}

static redtune_status read_ones(void *left, void *buffer, size_t capacity, size_t *bytes,
                                redtune_error *error) {
    (void)error;
    const float one = 1;
    for (*bytes = 0; *bytes < capacity && *(int *)left; *bytes += sizeof one, --*(int *)left)
        memcpy((char *)buffer + *bytes, &one, sizeof one);
    return REDTUNE_OK;
}

FACT(replays_see_changed_arrays) {
    const redtune_problem each = arrays_of(REDTUNE_SUM, false), all = arrays_of(REDTUNE_SUM, true);
    rdt_buffer where = {0}, lengths = {0};
    rdt_graph *graph = NULL;
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof places, &where, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof counts, &lengths, &err), err);
    redtune_segments run = {.d_arrays = (const void *const *)(uintptr_t)where.address,
                            .d_end = (const void *)(uintptr_t)lengths.address,
                            .count = ARRAYS,
                            .d_out = {output(0)}};
    CHECK_OK(redtune_prepare(rt, (redtune_problem[]){each, all}, 2, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_run_segments(rt, &each, &run, gpu.stream, &err), err);
    run.d_out[0] = output(ARRAYS);
    CHECK_OK(redtune_run_segments(rt, &all, &run, gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    for (uint64_t modulus = 1; modulus < 3000; modulus = 5 * modulus + 2) {
        choose_arrays(modulus);
        CHECK_OK(
            rdt_buffer_write(gpu.driver, where.address, places, sizeof places, gpu.stream, &err),
            err);
        CHECK_OK(
            rdt_buffer_write(gpu.driver, lengths.address, counts, sizeof counts, gpu.stream, &err),
            err);
        poison();
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        check_counts();
        CHECK_INT((int)result(ARRAYS), (int)total);
    }
    rdt_graph_destroy(graph);
    rdt_buffer_destroy(&where);
    rdt_buffer_destroy(&lengths);
    redtune_close(rt);
}

#define REFUSES(change, why)                                                                       \
    do {                                                                                           \
        redtune_segments run = {.list = list, .d_out = {output(0)}};                               \
        change;                                                                                    \
        CHECK_FAILS(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), REDTUNE_INVALID,   \
                    err, why);                                                                     \
    } while (0)

FACT(runs_that_make_no_sense_are_refused) {
    redtune *other = NULL;
    redtune_problem problem = arrays_of(REDTUNE_SUM, false);
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(open_usual(&other), err);
    redtune_list *list = NULL;
    CHECK_OK(make_list(100, &list), err);
    REFUSES(run.d_in = input(), "cannot reduce a list with tables beside it");
    REFUSES(run.count = 5, "cannot reduce a list with tables beside it");
    REFUSES(run.d_out[0] = (void *)(uintptr_t)places[1], "d_out lies within an array of the list");
    REFUSES({ RESHAPE(&problem, outer, 5); }, "cannot reduce 700 segments for a problem of 5");
    RESHAPE(&problem, outer, 0);
    problem.dtype = REDTUNE_F64;
    REFUSES(run.d_out[0] = output(0), "cannot reduce a list of f32 by a plan of f64");
    problem.dtype = REDTUNE_F32;
    const redtune_segments run = {.list = list, .d_out = {output(0)}};
    CHECK_FAILS(redtune_run_segments(other, &problem, &run, gpu.stream, &err), REDTUNE_INVALID, err,
                "it is of another redtune than the plan");
    REFUSES((run.list = NULL, run.count = 5, run.d_arrays = (const void *const *)input()),
            "d_end is NULL beside d_arrays");
    REFUSES((run.list = NULL, run.count = 5, run.d_arrays = (const void *const *)input(),
             run.d_end = input(), run.d_in = input()),
            "d_in is not NULL beside d_arrays");
    problem = sum_of(100);
    REFUSES(run.d_out[0] = output(0), "cannot reduce segments by a plan of other arrays");
    redtune_list_destroy(list);
    redtune_close(other);
    redtune_close(rt);
}

FACT(lists_that_make_no_sense_are_refused) {
    redtune_list *list = NULL;
    const void *odd[] = {(const char *)input() + 2}, *none[] = {NULL};
    const uint64_t one[] = {1}, huge[] = {UINT64_MAX};
    const uint64_t together[] = {rdt_problem_count_max(REDTUNE_F32), 1};
    CHECK_OK(open_usual(&rt), err);
    const void *const good[] = {input(), input()};
    CHECK_FAILS(redtune_list_create(NULL, REDTUNE_F32, good, one, 1, &list, &err), REDTUNE_INVALID,
                err, "rt is NULL");
    CHECK_FAILS(redtune_list_create(rt, REDTUNE_F32, good, one, 1, NULL, &err), REDTUNE_INVALID,
                err, "out is NULL");
    CHECK_FAILS(redtune_list_create(rt, REDTUNE_F32, NULL, one, 1, &list, &err), REDTUNE_INVALID,
                err, "d_arrays is NULL");
    CHECK_FAILS(redtune_list_create(rt, REDTUNE_F32, good, NULL, 1, &list, &err), REDTUNE_INVALID,
                err, "counts is NULL");
    CHECK_FAILS(redtune_list_create(rt, REDTUNE_F32, odd, one, 1, &list, &err), REDTUNE_INVALID,
                err, "it must be aligned to 4 bytes and not NULL");
    CHECK_FAILS(redtune_list_create(rt, REDTUNE_F32, none, one, 1, &list, &err), REDTUNE_INVALID,
                err, "it must be aligned to 4 bytes and not NULL");
    CHECK_FAILS(redtune_list_create(rt, REDTUNE_F32, good, huge, 1, &list, &err), REDTUNE_INVALID,
                err, "all arrays have at most");
    CHECK_FAILS(redtune_list_create(rt, REDTUNE_F32, good, together, 2, &list, &err),
                REDTUNE_INVALID, err, "cannot list array 1 of 1 elements: all arrays have at most");
    CHECK_FAILS(redtune_list_create(rt, REDTUNE_DTYPE_NONE, good, one, 1, &list, &err),
                REDTUNE_INVALID, err, "dtype is 0");
    CHECK(!list);
    redtune_list_destroy(NULL);
    redtune_close(rt);
}

/* Without segments nothing is read or written: tables, outputs and results may be NULL. */
FACT(no_segments_have_no_results) {
    redtune_list *list = NULL;
    redtune_problem problem = arrays_of(REDTUNE_SUM, false);
    int left = 5;
    const redtune_input input = {.read = read_ones, .user = &left};
    redtune_reading reading = {.count = 1};
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_list_create(rt, REDTUNE_F32, NULL, NULL, 0, &list, &err), err);
    const redtune_segments none = {.count = 0}, of_list = {.list = list};
    CHECK_OK(redtune_run_segments(rt, &problem, &none, gpu.stream, &err), err);
    CHECK_OK(redtune_run_segments(rt, &problem, &of_list, gpu.stream, &err), err);
    RESHAPE(&problem, count, 0);
    for (; left >= 0; left -= 3) {
        const uint64_t elements = (uint64_t)left;
        CHECK_OK(redtune_reduce_segments_input(rt, &problem, &input, NULL, NULL, 0, &reading, &err),
                 err);
        CHECK_INT(reading.count, elements);
    }
    CHECK_OK(redtune_prepare(rt, NULL, 0, &err), err);
    redtune_list_destroy(list);
    redtune_close(rt);
}

FACT(empty_segments_have_the_result_of_no_elements) {
    const void *const nowhere[] = {NULL, NULL};
    const uint64_t lengths[] = {0, 0};
    uint64_t offsets[] = {0, 0, 0};
    redtune_problem problem = arrays_of(REDTUNE_MEAN, false);
    int left = 0;
    const redtune_input input = {.read = read_ones, .user = &left};
    redtune_reading reading;
    redtune_list *list = NULL;
    float got[] = {1, 1};
    RESHAPE(&problem, count, 0);
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_list_create(rt, REDTUNE_F32, nowhere, lengths, 2, &list, &err), err);
    const redtune_segments run = {.list = list, .d_out = {output(0)}};
    poison();
    CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
    CHECK(isnan(result(0)) && isnan(result(1)));
    RESHAPE(&problem, outer, 2);
    CHECK_OK(redtune_reduce_segments_input(rt, &problem, &input, offsets, got, sizeof got, &reading,
                                           &err),
             err);
    CHECK(isnan(got[0]) && isnan(got[1]));
    CHECK_FAILS(redtune_reduce_segments_input(rt, &problem, &input, offsets, &offsets[1], 8,
                                              &reading, &err),
                REDTUNE_INVALID, err, "the results overlap offsets");
    RESHAPE(&problem, outer, UINT64_MAX);
    CHECK_FAILS(redtune_reduce_segments_input(rt, &problem, &input, offsets, got, sizeof got,
                                              &reading, &err),
                REDTUNE_INVALID, err, "there may be at most");
    redtune_list_destroy(list);
    redtune_close(rt);
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
