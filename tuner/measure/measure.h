/* Measure: the time of one call of a kernel, from events around replayed graphs.
 *
 * Timed calls are verified, too, for calls that overlap may go wrong where single ones do not:
 * each call of a graph has an output of its own, and after the last sample all are compared with
 * the exact result. Where the input is too long for one, they are compared with what the same
 * kernel gives for the same input when it is called alone, which is the same to the bit.
 *
 * Of rows and columns a sample of the results is compared. Their outputs are the same for all
 * measurements, and if they are large for several calls of one: what the last sample left there is
 * taken before the next measurement. */
#pragma once

#include "gpu/graph.h"
#include "tuner/measure/answers.h"
#include "tuner/measure/kernel_set.h"

enum {
    RDT_VARIANTS_MAX = 3, /* of one candidate */
    /* Of one measurement: those of the timed calls, then those of calls made alone. */
    RDT_MEASURE_OUTPUTS = 2 * RDT_TEST_BUFFERS_CALLS_MAX,
};

/* The exact results of whole arrays over the inputs that are timed at one count, each computed
 * once. Valid when zeroed. */
typedef struct rdt_expected {
    uint64_t count;
    bool known[RDT_VARIANTS_MAX * RDT_TEST_BUFFERS_CALLS_MAX]; /* by the number of the input */
    rdt_answer value[RDT_VARIANTS_MAX * RDT_TEST_BUFFERS_CALLS_MAX];
} rdt_expected;

/* A kernel's calls, recorded so that they can be timed again and again. */
typedef struct rdt_measurement rdt_measurement;

/* What is measured, and in which state of the cache; all of it outlives the measurement. */
typedef struct rdt_measured {
    const rdt_test_buffers *buffers;
    const rdt_kernel_set *kernels; /* flushes */
    const redtune_problem *problem;
    rdt_cache_state cache;
    rdt_kernel *const *copies; /* of the kernel: the calls take turns through them */
    int copy_count;
    const rdt_launch *launch;
    int variant; /* below RDT_VARIANTS_MAX: inputs and scratch lie elsewhere, if there is room */
    CUdeviceptr outputs;  /* of whole arrays: RDT_MEASURE_OUTPUTS of them, poisoned */
    rdt_answers *answers; /* of others than whole arrays: the problem's; else NULL */
} rdt_measured;

redtune_status rdt_measure_open(const rdt_measured *what, rdt_measurement **out,
                                redtune_error *err);
void rdt_measure_close(rdt_measurement *measurement);
/* Flushes L2, or fills it with the input, and replays the graph: ns per call. is_last: rows and
 * columns keep the results of this sample. */
redtune_status rdt_measure_sample(rdt_measurement *measurement, bool is_last, double *sample_ns,
                                  redtune_error *err);
/* REDTUNE_WRONG names the first of the timed calls that gave a wrong result; another failure is the
 * judge's. results: of whole arrays, what the outputs hold after the last sample. */
redtune_status rdt_measure_check(const rdt_measurement *measurement, rdt_expected *expected,
                                 const unsigned char *results, redtune_error *err);
