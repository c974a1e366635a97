/* Facts about options.order and REDTUNE_ORDER: problems that do not say their order are reduced in
 * fixed order, however they are run, and what has none is refused. On the simulated GPU. */
#define _GNU_SOURCE
#include <unistd.h>
#include "adder.h"
#include "api/running/plan.h"
#include "base/random.h"
#include "check.h"
#include "model/scalar.h"
#include "redtune/keys.h"
#include "redtune/list.h"
#include "redtune/tools.h"
#include "redtune/tune.h"
#include "shaped.h"

enum { LENGTH = 1000, ROWS_MAX = 32, WHOLE = LENGTH * ROWS_MAX };

static redtune_error err;
static adder with;
static redtune *rt;
static char elements[WHOLE * sizeof(float)];

static void fill(redtune_dtype dtype) {
    const size_t bytes = redtune_dtype_bytes(dtype);
    rdt_random random = {20261127};
    for (size_t i = 0; i < WHOLE; i++) {
        const double real = (double)(int64_t)rdt_random_next(&random) / (double)(1ULL << 61);
        const redtune_value value = rdt_scalar_from_real(dtype, real);
        memcpy(elements + i * bytes, &value, bytes);
    }
    rdt_buffer_write(with.gpu.driver, with.input.address, elements, WHOLE * bytes, with.gpu.stream,
                     &err);
}

static redtune_status open_with(redtune_order order) {
    redtune_close(rt);
    rt = NULL;
    return redtune_open(&(redtune_options){.database = "/none.db", .order = order}, &rt, &err);
}

static redtune_status run(const redtune_problem *problem, size_t results, uint32_t *out) {
    const redtune_operands operands = {.d_in = {(void *)(uintptr_t)with.input.address},
                                       .d_out = {(void *)(uintptr_t)with.result.address}};
    redtune_status status = redtune_run(rt, problem, &operands, with.gpu.stream, &err);
    memset(out, 0, results * sizeof *out);
    return status ? status
                  : rdt_buffer_read(with.gpu.driver, out, with.result.address,
                                    results * sizeof *out, with.gpu.stream, &err);
}

static redtune_order order_of(redtune_op op, redtune_order said) {
    const redtune_problem problem = PROBLEM(.op = op, .dtype = REDTUNE_F32, .order = said);
    return redtune_order_get(rt, &problem);
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(rows_have_the_same_bits_alone_and_among_others) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MEAN, REDTUNE_NORM2, REDTUNE_LOGSUMEXP};
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_F16, REDTUNE_BF16};
    static const uint64_t batches[] = {ROWS_MAX, 7, 2, 1}; /* the first has all others' rows */
    uint32_t all[ROWS_MAX], some[ROWS_MAX];
    CHECK_OK(open_with(REDTUNE_ORDER_FIXED), err);
    for (size_t i = 0; i < 3 * sizeof ops / sizeof *ops; i++) {
        fill(dtypes[i % 3]);
        for (int k = 0; k < 4; k++) {
            redtune_problem rows =
                redtune_problem_rows(ops[i / 3], dtypes[i % 3], batches[k], LENGTH);
            rows.result = REDTUNE_F32;
            CHECK_OK(run(&rows, batches[k], k ? some : all), err);
            check_that(!k || !memcmp(some, all, batches[k] * sizeof *some), __FILE__, __LINE__,
                       "%s of %s: %llu rows have other bits than among 32",
                       redtune_op_name(ops[i / 3]), redtune_dtype_name(dtypes[i % 3]),
                       (unsigned long long)batches[k]);
        }
    }
}

/* One table of plans serves calls of every order, whichever comes first. */
FACT(a_problem_may_say_its_own_order) {
    static const redtune_order said[] = {REDTUNE_ORDER_FREE, REDTUNE_ORDER_FIXED,
                                         REDTUNE_ORDER_FREE_ALWAYS};
    static const redtune_dtype results[] = {REDTUNE_DTYPE_NONE, REDTUNE_F32};
    redtune_problem sum = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, WHOLE);
    uint32_t by_free = 0, by_fixed = 0, got = 0;
    fill(REDTUNE_F32);
    CHECK_OK(open_with(REDTUNE_ORDER_FREE), err);
    CHECK_OK(run(&sum, 1, &by_free), err);
    sum.order = REDTUNE_ORDER_FREE_ALWAYS;
    CHECK_OK(run(&sum, 1, &got), err);
    CHECK_INT(got, by_free);
    sum.order = REDTUNE_ORDER_FIXED;
    CHECK_OK(run(&sum, 1, &by_fixed), err);
    CHECK(by_free != by_fixed); /* else the rest would show nothing */
    for (unsigned first = 0; first < 3; first++) {
        CHECK_OK(open_with(REDTUNE_ORDER_FIXED), err);
        for (unsigned i = first; i < first + 6; i++) {
            sum.order = said[i % 3];
            sum.result = results[i / 3 % 2]; /* two keys of one problem */
            CHECK_OK(run(&sum, 1, &got), err);
            CHECK_INT(got, i % 3 == 2 ? by_free : by_fixed);
        }
    }
    CHECK_INT(order_of(REDTUNE_SUM, REDTUNE_ORDER_FREE), REDTUNE_ORDER_FIXED);
    CHECK_INT(order_of(REDTUNE_SUM, REDTUNE_ORDER_FREE_ALWAYS), REDTUNE_ORDER_FREE);
    CHECK_INT(order_of(REDTUNE_MAX, REDTUNE_ORDER_FREE), REDTUNE_ORDER_FREE);
}

static redtune_status family_of(redtune_problem problem, redtune_info *info) {
    redtune_plan *plan = NULL;
    redtune_status status = redtune_plan_create(rt, &problem, &plan, &err);
    if (status) return status;
    redtune_plan_info(plan, info);
    redtune_plan_destroy(plan);
    return REDTUNE_OK;
}

FACT(plans_have_it_and_results_without_an_order_go_on_as_before) {
    const int64_t shape[] = {3, 4, 5};
    const int axes[] = {0, 2};
    redtune_problem odd = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
    redtune_info info;
    CHECK_OK(open_with(REDTUNE_ORDER_FIXED), err);
    CHECK_OK(family_of(PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 99), &info), err);
    CHECK_TEXT(info.family, "ordered");
    CHECK_OK(family_of(PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 9,
                               .order = REDTUNE_ORDER_FREE_ALWAYS),
                       &info),
             err);
    CHECK_INT(info.problem.order, REDTUNE_ORDER_FREE);
    CHECK_OK(family_of(PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_I32, .count = 99), &info), err);
    CHECK_INT(info.problem.order, REDTUNE_ORDER_FREE);
    CHECK_OK(family_of(PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 99,
                               .accuracy = REDTUNE_ACCURACY_EXACT),
                       &info),
             err);
    CHECK_INT(info.problem.accuracy, REDTUNE_ACCURACY_EXACT);
    CHECK_OK(redtune_problem_fold(&odd, shape, NULL, 3, axes, 2, &err), err);
    CHECK_OK(family_of(odd, &info), err);
    CHECK_TEXT(info.family, "ordered_strided");
    CHECK_OK(family_of(PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 100,
                               .segmented = REDTUNE_SEGMENTED_ALL),
                       &info),
             err);
    CHECK_TEXT(info.family, "ordered_segments");
    CHECK_OK(
        family_of(redtune_problem_by_key(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, 4, 100), &info),
        err);
    CHECK_TEXT(info.family, "reordered");
}

FACT(what_has_no_fixed_order_is_refused_with_the_remedy) {
    redtune_problem problem = PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 100);
    redtune_info info;
    CHECK_OK(open_with(REDTUNE_ORDER_FIXED), err);
    problem.config = "block:block=256"; /* of a family of the free order */
    CHECK_FAILS(family_of(problem, &info), REDTUNE_UNSUPPORTED, err, "REDTUNE_ORDER makes");
    CHECK(strstr(err.message, "REDTUNE_ORDER_FREE_ALWAYS"));
    problem.order = REDTUNE_ORDER_FREE_ALWAYS;
    CHECK_OK(family_of(problem, &info), err);
    problem.config = NULL;
    problem.order = REDTUNE_ORDER_FREE;
    problem.op = REDTUNE_MAX;
    CHECK_OK(family_of(problem, &info), err);
    /* It is not the switch that refuses what no order has. */
    problem.steps = 1 << REDTUNE_ARRAYS;
    CHECK_FAILS(family_of(problem, &info), REDTUNE_UNSUPPORTED, err, "steps");
    CHECK(!strstr(err.message, "options.order"));
}

/* Problems of both orders have one shape, and plans of their own. */
FACT(any_axes_have_the_order_that_they_say) {
    const int64_t shape[] = {40, 4, 50};
    const int axes[] = {0, 2};
    redtune_problem odd = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .order = REDTUNE_ORDER_FIXED};
    uint32_t fixed[4], loose[4], got[4];
    fill(REDTUNE_F32);
    CHECK_OK(redtune_problem_fold(&odd, shape, NULL, 3, axes, 2, &err), err);
    CHECK_OK(open_with(REDTUNE_ORDER_FREE), err);
    CHECK_OK(run(&odd, 4, fixed), err);
    odd.order = REDTUNE_ORDER_FREE;
    CHECK_OK(run(&odd, 4, loose), err);
    CHECK(memcmp(fixed, loose, sizeof fixed));
    CHECK_OK(open_with(REDTUNE_ORDER_FIXED), err);
    for (int i = 0; i < 4; i++) {
        odd.order = i % 2 ? REDTUNE_ORDER_FREE_ALWAYS : REDTUNE_ORDER_FREE;
        CHECK_OK(run(&odd, 4, got), err);
        CHECK(!memcmp(got, i % 2 ? loose : fixed, sizeof got));
    }
}

static redtune_status read_all(void *user, void *to, size_t capacity, size_t *bytes,
                               redtune_error *ignored) {
    size_t *left = user;
    (void)ignored;
    *bytes = capacity < *left ? capacity : *left;
    memcpy(to, elements + (WHOLE * sizeof(float) - *left), *bytes);
    *left -= *bytes;
    return REDTUNE_OK;
}

FACT(input_from_the_host_and_segments_have_it) {
    redtune_problem sum = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, WHOLE);
    redtune_problem segments = redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, 4, WHOLE / 4);
    const uint64_t offsets[] = {0, 1, 1, 5000, WHOLE};
    uint32_t wanted = 0, wanted_last = 0, got[4];
    size_t left;
    redtune_reading reading;
    const redtune_input input = {.read = read_all, .user = &left};
    fill(REDTUNE_F32);
    CHECK_OK(open_with(REDTUNE_ORDER_FIXED), err);
    CHECK_OK(run(&sum, 1, &wanted), err);
    left = WHOLE * sizeof(float);
    CHECK_OK(redtune_reduce_input(rt, &sum, &input, &reading, &err), err);
    CHECK_INT(reading.value.u32, wanted);
    CHECK_INT(reading.info.problem.order, REDTUNE_ORDER_FIXED);
    left = WHOLE * sizeof(float);
    CHECK_OK(redtune_reduce_array(rt, &sum, &input, got, sizeof *got, &reading, &err), err);
    CHECK_INT(got[0], wanted);
    left = (WHOLE - 5000) * sizeof(float);
    sum = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, WHOLE - 5000);
    CHECK_OK(redtune_reduce_array(rt, &sum, &input, &wanted_last, 4, &reading, &err), err);
    left = WHOLE * sizeof(float);
    CHECK_OK(redtune_reduce_segments_input(rt, &segments, &input, offsets, got, sizeof got,
                                           &reading, &err),
             err);
    CHECK_INT(got[3], wanted_last);
    CHECK_INT(reading.info.problem.order, REDTUNE_ORDER_FIXED);
    sum.order = REDTUNE_ORDER_FREE_ALWAYS;
    left = (WHOLE - 5000) * sizeof(float);
    CHECK_OK(redtune_reduce_input(rt, &sum, &input, &reading, &err), err);
    CHECK_INT(reading.info.problem.order, REDTUNE_ORDER_FREE);
    left = (WHOLE - 5000) * sizeof(float);
    CHECK_OK(redtune_reduce_array(rt, &sum, &input, got, sizeof *got, &reading, &err), err);
    CHECK_INT(reading.info.problem.order, REDTUNE_ORDER_FREE);
}

FACT(the_environment_overrides_the_option) {
    setenv("REDTUNE_ORDER", "fixed", 1);
    redtune_status status = open_with(REDTUNE_ORDER_FREE);
    const redtune_order raised = order_of(REDTUNE_SUM, REDTUNE_ORDER_FREE);
    setenv("REDTUNE_ORDER", "free", 1);
    if (!status) status = open_with(REDTUNE_ORDER_FIXED);
    const redtune_order lowered = order_of(REDTUNE_SUM, REDTUNE_ORDER_FREE);
    setenv("REDTUNE_ORDER", "fixd", 1);
    const redtune_status refused = open_with(REDTUNE_ORDER_FREE);
    unsetenv("REDTUNE_ORDER");
    CHECK_OK(status, err);
    CHECK_INT(raised, REDTUNE_ORDER_FIXED);
    CHECK_INT(lowered, REDTUNE_ORDER_FREE);
    CHECK_INT(refused, REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "cannot use REDTUNE_ORDER=fixd: it may be free or fixed");
    CHECK_FAILS(open_with(REDTUNE_ORDER_FREE_ALWAYS), REDTUNE_INVALID, err, "options.order 2");
}

FACT(a_recording_says_it) {
    char path[] = "/tmp/redtune-order-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    const redtune_problem sum = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, LENGTH);
    const redtune_options options = {
        .database = "/none.db", .record = path, .order = REDTUNE_ORDER_FIXED};
    redtune_recorded *found = NULL;
    size_t count = 0;
    uint32_t got;
    redtune_close(rt);
    rt = NULL;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = run(&sum, 1, &got);
    redtune_close(rt);
    rt = NULL;
    if (!status) status = redtune_recording_read(path, &found, &count, &err);
    const bool is_fixed = count == 1 && found->problem.order == REDTUNE_ORDER_FIXED;
    redtune_free(found);
    remove(path);
    CHECK_OK(status, err);
    CHECK(is_fixed);
}

int main(int argc, char **argv) {
    unsetenv("REDTUNE_ORDER");
    if (adder_open(&with, WHOLE, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const int rc = check_run(argc, argv);
    redtune_close(rt);
    adder_close(&with);
    return rc;
}
