/* Test buffers: the GPU memory, stream and timer with which the kernels of one problem class (op,
 * dtype, result) are verified and timed. Everything here runs in the test buffers' context, which
 * the caller has entered. */
#pragma once

#include "gpu/timer.h"
#include "tuner/measure/judge.h"
#include "tuner/measure/one_hot.h"
#include "tuner/measure/test_data.h"
#include "tuner/measure/test_mask.h"

/* Test data on the GPU.
 *
 * That of two inputs repeats with an odd period. The second input may begin any number of periods
 * behind the first: what stands opposite to what is the same then, and with it all results, but the
 * second lies at any distance from an alignment that there is. */
typedef struct rdt_pool {
    rdt_test_data *data;
    rdt_buffer buffer;
    rdt_buffer second; /* of ops of two inputs; longer by the periods that it takes for that */
    uint64_t count;    /* elements */
    rdt_judged judged;
} rdt_pool;

enum {
    RDT_TEST_BUFFERS_OUTPUTS = 512,
    RDT_TEST_BUFFERS_RESULT_BYTES = 16, /* of one result and room behind it */
    RDT_TEST_BUFFERS_OUTPUT_BYTES = 32, /* of one output: two of them */
    RDT_TEST_BUFFERS_POISON = 0xa5,     /* what outputs are filled with beforehand */
    RDT_TEST_BUFFERS_HOT_BYTES = 1 << 20,
    /* A timed interval: its most calls, each with an input of its own, and its length;
     * the timer resolves about 500 ns. */
    RDT_TEST_BUFFERS_CALLS_MAX = 32,
    RDT_TEST_BUFFERS_INTERVAL_NS = 60000,
    RDT_TEST_BUFFERS_SCRATCHES = 4,
    /* Of rows and columns: the inputs of small shapes, their outputs at the least, and samples of
     * results. */
    RDT_TEST_BUFFERS_STAGE_BYTES = 1 << 20,
    RDT_TEST_BUFFERS_ROTATED_BYTES = 1 << 21, /* of the outputs of a graph's calls, or one output */
    RDT_TEST_BUFFERS_SAMPLES_BYTES = 1 << 17,
};

typedef struct rdt_test_buffers {
    const rdt_context *context;
    const rdt_driver *driver;
    redtune_problem problem; /* of the class */
    redtune_dtype dtype;
    bool is_whole;      /* one result of each problem; else several */
    rdt_pool dense;     /* no zeros: what is timed, and verified where its results are exact */
    rdt_pool sparse;    /* exact results of any count in use; empty where dense has them */
    rdt_test_mask mask; /* beside both, where the problem has one */
    /* Of whole arrays: windows up to RDT_TEST_BUFFERS_HOT_BYTES long, for each of the deciders. */
    rdt_one_hot one_hot[RDT_TEST_DATA_DECIDERS];
    rdt_buffer opposite; /* what all of the other input is then, of ops of two */
    /* Likewise: the elements of such a window, except the decider; by the input that has it. */
    rdt_judged neutral[RDT_OP_INPUTS_MAX];
    rdt_buffer stage[RDT_OP_INPUTS_MAX]; /* of rows and columns, as are the next two */
    rdt_buffer results;                  /* outputs with their guards (sample.h) */
    rdt_buffer samples;                  /* of what they hold */
    rdt_judge *judge;
    rdt_buffer flush;  /* read to push everything else out of L2; written, it would leave L2 full of
                        * data that the timed kernel has to wait for until it is in memory */
    rdt_buffer output; /* RDT_TEST_BUFFERS_OUTPUTS of them */
    rdt_buffer timed;  /* the outputs of timed calls, as many as were needed yet */
    CUdeviceptr nan;   /* a NaN of the dtype, where it has one; in output, behind the results */
    CUdeviceptr decider[RDT_TEST_DATA_DECIDERS];    /* likewise, in every dtype */
    redtune_value deciding[RDT_TEST_DATA_DECIDERS]; /* their values */
    int inputs;                                     /* of the op */
    int deciders;                                   /* kinds of them, at least 1 */
    uint64_t alignments;                            /* 16 bytes, in elements */
    rdt_buffer scratch; /* RDT_TEST_BUFFERS_SCRATCHES times RDT_SCRATCH_BYTES */
    CUstream stream;
    rdt_timer timer;
} rdt_test_buffers;

/* Device memory that test buffers for the problem take at the least. */
uint64_t rdt_test_buffers_bytes(const rdt_facts *facts, const redtune_problem *problem);
/* Whether so much free memory has room for that, and for others. */
bool rdt_test_buffers_fit(const rdt_facts *facts, uint64_t free_bytes,
                          const redtune_problem *problem);
/* The largest count of whole arrays of the problem's dtype that test buffers can hold in so much
 * memory; the problem's own count does not matter. */
uint64_t rdt_test_buffers_count_max(const rdt_facts *facts, uint64_t free_bytes,
                                    const redtune_problem *problem);
/* The same, where all of the memory is the test buffers' and nothing is left to others. */
uint64_t rdt_test_buffers_count_within(const rdt_facts *facts, uint64_t bytes,
                                       const redtune_problem *problem);
/* Test buffers for the problems of the domain. bytes: the memory that they may take, which has room
 * for those; 0: what measuring well takes. maker makes the judge's kernel. */
redtune_status rdt_test_buffers_open(const rdt_context *context, const rdt_domain *domain,
                                     uint64_t bytes, const rdt_maker *maker, rdt_test_buffers **out,
                                     redtune_error *err);
void rdt_test_buffers_close(rdt_test_buffers *buffers);

/* Where element `first` of a pool is in its second input, which begins `periods` behind its first,
 * less than `alignments`; 0 for an op of one input. */
CUdeviceptr rdt_test_buffers_second(const rdt_test_buffers *buffers, const rdt_pool *pool,
                                    uint64_t first, uint64_t periods);
/* What a kernel is given beside the usual operands: parameters have their usual values. second,
 * second_output: 0 where the op has no such one. */
rdt_given rdt_test_buffers_given(const rdt_test_buffers *buffers, CUdeviceptr second,
                                 CUdeviceptr second_output);

/* Fills outputs with the poison. Asynchronous, as are the next two. */
redtune_status rdt_test_buffers_poison(const rdt_test_buffers *buffers, CUdeviceptr outputs,
                                       size_t bytes, redtune_error *err);
/* After a wrong kernel, whose leavings would make the next one wrong, too. */
void rdt_test_buffers_clean_scratch(const rdt_test_buffers *buffers);
/* Copies an element of the dtype, so that one stands in the place of another. */
redtune_status rdt_test_buffers_copy_element(const rdt_test_buffers *buffers, CUdeviceptr to,
                                             CUdeviceptr from, redtune_error *err);
/* Makes room for `outputs` outputs of timed calls, all poisoned. Asynchronous. */
redtune_status rdt_test_buffers_clear_timed(rdt_test_buffers *buffers, size_t outputs,
                                            redtune_error *err);
