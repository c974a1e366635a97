/* Sample: which results of a problem are held against what they should be, where all would take too
 * long. A sample is of runs of neighbours: the first and the last results, those around powers of
 * two, where the parts of blocks of any size meet, around the first of an outer index, and some
 * anywhere. An output has guards around its results, which nobody may write to. */
#pragma once

#include "gpu/buffer.h"
#include "tuner/measure/compare.h"

enum {
    RDT_SAMPLE_RUNS_MAX = 64,
    RDT_SAMPLE_GUARD_BYTES = 256, /* before the first result, and behind the last one */
};

typedef struct rdt_run {
    uint64_t first, count;
} rdt_run;

typedef struct rdt_sample {
    redtune_problem problem; /* whose results these are */
    rdt_run run[RDT_SAMPLE_RUNS_MAX];
    size_t run_count;
    size_t count; /* results in all runs */
} rdt_sample;

/* All results if there are up to runs * length, else at most `runs` runs of that length. The first
 * run begins with the first result, and the last one ends with the last. */
void rdt_sample_choose(const redtune_problem *problem, size_t runs, uint64_t length,
                       rdt_sample *out);
/* The number of the sample's result i among all. */
uint64_t rdt_sample_result(const rdt_sample *sample, size_t i);

/* Bytes from the first result in memory, of that output, to the one with indices 0. */
uint64_t rdt_sample_lead(const redtune_problem *problem, int output);
/* Bytes of the outputs of `results` results, their gaps included, of such a problem with their
 * guards, a multiple of the guards' alignment: that of an op's first result, and behind it that of
 * its second, if there is one. */
uint64_t rdt_sample_output_bytes(uint64_t results, const redtune_problem *problem);
/* Bytes from the first result in memory of the first output to that of the second; 0: there is
 * none. */
uint64_t rdt_sample_second(uint64_t results, const redtune_problem *problem);
/* Bytes of a sample that was gathered. */
size_t rdt_sample_gathered_bytes(const rdt_sample *sample);
/* Where its results of that output are, in bytes; their guards are before and behind them. */
size_t rdt_sample_gathered_at(const rdt_sample *sample, int output);
/* Copies the sample and the guards out of the outputs, whose first result in memory is at that
 * address. Asynchronous. */
redtune_status rdt_sample_gather(const rdt_sample *sample, const rdt_driver *driver,
                                 CUdeviceptr first, CUdeviceptr to, CUstream stream,
                                 redtune_error *err);
/* REDTUNE_WRONG unless the sample's results of each output, which begin there, are as expected and
 * the guards around them hold the poison. which: of the problem's calls, for the message. */
redtune_status rdt_sample_check(const rdt_sample *sample, const char *which,
                                const unsigned char *const outputs[RDT_OP_OUTPUTS_MAX],
                                const rdt_answer *expected, redtune_error *err);
/* The same of a gathered sample. */
redtune_status rdt_sample_check_gathered(const rdt_sample *sample, const char *which,
                                         const unsigned char *gathered, const rdt_answer *expected,
                                         redtune_error *err);
