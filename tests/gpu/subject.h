/* Subject: a kernel under test with what it takes to run it, and the sets of them that tests go
 * over. */
#pragma once

#include "api/build/builder.h"
#include "base/clock.h"
#include "check.h"
#include "cover.h"
#include "device.h"
#include "reference.h"
#include "results.h"
#include "tuner/measure/one_hot.h"

enum { SUBJECT_RESULTS = 4096 };

/* What makes kernels. */
typedef struct workshop {
    device *gpu;
    rdt_builder *builder;
    rdt_codegen *codegen;
} workshop;

typedef struct subject {
    const device *gpu;
    redtune_problem problem;
    size_t element_bytes;
    rdt_point point;
    rdt_launch launch;
    rdt_kernel *kernel;
    int vec, unroll;
    char name[RDT_POINT_TEXT_BYTES + 64]; /* for messages */
    rdt_buffer output, scratch;
    size_t calls; /* since the results were read */
    bool poisoned;
} subject;

redtune_status workshop_open(device *gpu, workshop *out, redtune_error *err);
void workshop_close(workshop *shop);

/* A kernel of that CUDA source, loaded into the current context, in the place of a rendered one. */
redtune_status subject_make_from(const device *gpu, const char *source, rdt_kernel **out,
                                 redtune_error *err);
/* The same with the functions that such a launch has. */
redtune_status subject_make_launched(const device *gpu, const char *source,
                                     const rdt_launch *launch, rdt_kernel **out,
                                     redtune_error *err);
/* A kernel for a resolved problem. point may be NULL: the default. */
redtune_status subject_open(workshop *shop, const redtune_problem *problem, const rdt_point *point,
                            subject *out, redtune_error *err);
void subject_close(subject *self);

/* Queues a reduction; its result is the next of those that subject_read gives, SUBJECT_RESULTS at
 * most. */
redtune_status subject_queue(subject *self, CUdeviceptr input, uint64_t count, redtune_error *err);
/* Waits and gives the results queued since the last time. A kernel that wrote behind one of them,
 * or left scratch in another state than it found, fails with REDTUNE_WRONG. */
redtune_status subject_read(subject *self, redtune_value *results, redtune_error *err);
/* What a reduction of several results has in place of these: overwrites the places of both outputs,
 * and gives the results of one of them. A kernel that wrote behind them fails with REDTUNE_WRONG.
 */
redtune_status subject_poison(const subject *self, redtune_error *err);
redtune_status subject_read_output(const subject *self, int output, size_t results, void *to,
                                   redtune_error *err);
CUdeviceptr subject_output(const subject *self, int output);
/* That of it alone which is about scratch. */
redtune_status subject_check_scratch(const subject *self, redtune_error *err);
/* Both for one reduction. */
redtune_status subject_reduce(subject *self, CUdeviceptr input, uint64_t count,
                              redtune_value *result, redtune_error *err);
/* The same with all inputs and results that the op has, and its parameters' usual values. */
redtune_status subject_reduce_all(subject *self, const CUdeviceptr input[RDT_OP_INPUTS_MAX],
                                  uint64_t count, redtune_value result[RDT_OP_OUTPUTS_MAX],
                                  redtune_error *err);
redtune_dtype subject_result(const subject *self, int output);

/* Whether a thread has few elements at a time, of those that NVRTC unrolls: a thousand of them take
 * it seconds. */
bool subject_is_light(const rdt_space *space, const rdt_point *point);

/* Whether the point has $RDT_TEST_CONFIG in its text, such as finish=cluster, or with an
 * exclamation mark before it, has not. Without it all are wanted. */
bool subject_is_wanted(const workshop *shop, const rdt_point *point);

/* How many additions an element passes through at most: docs/ops.md's d. */
double subject_depth(const subject *self, uint64_t count);

/* Adds "it is <got> and should be <wanted>" unless both are the same. */
void subject_compare(const subject *self, const redtune_value *got, const redtune_value *wanted,
                     rdt_text *out);
/* Adds the same, of result `output`, unless got is within its bound of what is right. */
void subject_compare_close(const subject *self, int output, const redtune_value *got,
                           const results *right, uint64_t count, double depth, rdt_text *out);
/* The same, unless it is the right one of test data. */
void subject_compare_exact(const subject *self, int output, const redtune_value *got,
                           const results *right, uint64_t count, rdt_text *out);

/* What follows reports to the test that includes it. */

/* Fails the fact, and is false, unless the result over count elements is the one wanted. */
__attribute__((unused, format(printf, 5, 6))) static bool
subject_same(const subject *self, uint64_t count, const redtune_value *got,
             const redtune_value *wanted, const char *where, ...) {
    rdt_text wrong = {0};
    char place[128];
    va_list args;
    subject_compare(self, got, wanted, &wrong);
    bool same = !wrong.data;
    va_start(args, where);
    vsnprintf(place, sizeof place, where, args);
    va_end(args);
    check_that(same, __FILE__, __LINE__, "%s: of %llu elements %s %s", self->name,
               (unsigned long long)count, place, same ? "" : wrong.data);
    rdt_text_free(&wrong);
    return same;
}

/* Whether the seconds in RDT_TEST_SECONDS have passed since the first call, which begins the test:
 * under a tool that checks every access, it may have to do with a part of its kernels. */
__attribute__((unused)) static bool subject_is_late(void) {
    static double start_ns;
    const char *seconds = getenv("RDT_TEST_SECONDS");
    if (start_ns == 0) start_ns = rdt_clock_ns();
    return seconds && rdt_clock_ns() - start_ns > 1e9 * atof(seconds);
}

/* Whether kernel i is of the part of them that $RDT_TEST_PART names, "I/N", so that N processes may
 * share a test; without it all are. */
__attribute__((unused)) static bool subject_is_of_part(size_t i) {
    const char *part = getenv("RDT_TEST_PART");
    size_t at = 1, parts = 1;
    if (part && (sscanf(part, "%zu/%zu", &at, &parts) != 2 || at < 1 || at > parts))
        check_that(false, __FILE__, __LINE__, "RDT_TEST_PART is no I/N: %s", part);
    check_state.kernel = i + 1;
    return i % parts == at - 1;
}

/* Which of n kernels is the i-th, in an order whose beginnings spread over all of them. */
__attribute__((unused)) static size_t subject_turn(size_t i, size_t n) {
    enum { STRIDE = 7919 /* a prime beyond any n */ };
    return i * STRIDE % n;
}

/* Runs the fact on every wanted kernel of the covering set of the first op_count ops, 0 for all,
 * each with each dtype; on a simulated device the smaller set. */
__attribute__((unused)) static void subject_for_each(device *gpu, int op_count,
                                                     void (*fact)(subject *self)) {
    redtune_error err;
    workshop shop;
    cover_point *points = NULL;
    size_t count = 0;
    const cover_set set = {.scope = device_is_simulated(gpu) ? COVER_KERNELS : COVER_PROBLEMS,
                           .op_count = op_count};
    CHECK_OK(workshop_open(gpu, &shop, &err), err);
    CHECK_OK(cover_pairs(shop.codegen, &gpu->context->facts, &set, &points, &count, &err), err);
    size_t done = 0, wanted = 0;
    for (size_t i = 0; i < count && !check_state.failed && !subject_is_late(); i++) {
        const cover_point *at = &points[subject_turn(i, count)];
        subject self;
        if (!subject_is_wanted(&shop, &at->point) || !subject_is_of_part(wanted++)) continue;
        done++;
        CHECK_OK(subject_open(&shop, &at->problem, &at->point, &self, &err), err);
        fact(&self);
        subject_close(&self);
    }
    printf("%s: %zu of %zu kernels\n", check_state.fact, done, count);
    free(points);
    workshop_close(&shop);
}

/* What main returns: opens the GPU and, unless shop is NULL, a workshop, runs the facts, and closes
 * both. Facts skip where there is no GPU. */
__attribute__((unused)) static int subject_run(device *gpu, workshop *shop, int argc, char **argv) {
    redtune_error err;
    redtune_status status = device_open(gpu, &err);
    if (!status && shop) status = workshop_open(gpu, shop, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu->context) check_missing = "there is no GPU";
    const int rc = check_run(argc, argv);
    if (shop && shop->builder) workshop_close(shop);
    device_close(gpu);
    return rc;
}
