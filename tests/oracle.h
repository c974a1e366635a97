/* Oracle: evaluators whose answers are known, so that a search can be held against the best there
 * is: a model of time, and the record of a real GPU. Both count what they are asked for. */
#pragma once

#include "codegen/codegen.h"
#include "tuner/evaluator.h"

typedef struct oracle_record oracle_record;

enum { ORACLE_EVERY = -2, ORACLE_NAMES = 3 };

/* What a named value costs in the model, as a factor of the time. */
typedef struct oracle_name {
    const char *label;
    double factor;
} oracle_name;

typedef struct oracle {
    rdt_codegen *codegen;
    const rdt_facts *facts;
    const oracle_record *record; /* NULL: the model answers */
    double noise;                /* of the model: standard deviation, as a share of the time */
    double outliers;             /* and the share of samples that are far too slow */
    uint64_t salt;               /* of the noise */
    double elsewhere;            /* of the model: the share by which every third sample of a last
                                    round is slower, where data and code lie elsewhere */
    double uneven;               /* of the model: the share by which most configs, each at counts of
                                    its own, are slower where the count is no power of two */
    oracle_name name[ORACLE_NAMES]; /* of the model: every name that costs something */
    rdt_text *log;                  /* what was asked, a line a candidate; NULL: not kept */
    /* Faults, by the order of the point: each such candidate fails, or is flattered
     * at first: its first samples are half the truth. -1: none. wrong may be ORACLE_EVERY. */
    int wrong, faulted, hung, flattered;
    size_t verified, timed, samples; /* asked for so far */
} oracle;

/* No record, no noise, no faults. */
oracle oracle_model(rdt_codegen *codegen, const rdt_facts *facts);
rdt_evaluator oracle_evaluator(oracle *self);

/* Without noise: what the candidate takes. 0: the record does not have it. */
double oracle_truth_ns(const oracle *self, const redtune_problem *problem, rdt_cache_state cache,
                       const rdt_candidate *candidate);
/* The best of all distinct points of the problem, and how many of them are useful and have the
 * names that the default has at some size: a search explores no others unless a probe says so. */
double oracle_best_ns(const oracle *self, const redtune_problem *problem, rdt_cache_state cache,
                      size_t *points);

/* Reads a file of tests/records/tunes, or says why not and returns NULL. */
oracle_record *oracle_record_read(const char *path);
void oracle_record_free(oracle_record *record);
/* The GPUs of the records. */
extern const rdt_facts oracle_h200, oracle_h100, oracle_sim;
