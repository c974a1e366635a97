/* Sample: which results of a problem are held against what they should be, where all would take too
 * long. A sample is of runs of neighbours: the first and the last results, those around powers of
 * two, where the parts of blocks of any size meet, around the first of an outer index, and some
 * anywhere. An output has guards around its results, which nobody may write to. */
#pragma once

#include "gpu/buffer.h"
#include "model/problem.h"

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

/* Bytes of an output of `results` results with its guards, a multiple of the guards' alignment. */
uint64_t rdt_sample_output_bytes(uint64_t results, redtune_dtype result);
/* Bytes of a sample that was gathered. */
size_t rdt_sample_gathered_bytes(const rdt_sample *sample);
/* Copies the sample and the guards out of an output, whose first result is at that address.
 * Asynchronous. */
redtune_status rdt_sample_gather(const rdt_sample *sample, const rdt_driver *driver,
                                 CUdeviceptr first, CUdeviceptr to, CUstream stream,
                                 redtune_error *err);
/* REDTUNE_WRONG unless a gathered sample is as expected and its guards hold the poison. which: of
 * the problem's calls, for the message. */
redtune_status rdt_sample_check(const rdt_sample *sample, const char *which,
                                const unsigned char *gathered, const redtune_value *expected,
                                redtune_error *err);
