/* Evaluator: where the candidates of one problem class (op, dtype, result) are tried. The search
 * asks, an evaluator answers: plain data in, plain data out, and nothing that the search must
 * remember between two calls, so that what stands behind an evaluator may be replaced in between.
 *
 * Evaluators: tuner/measure/local.h (this process and its GPU), a worker process, and in tests a
 * model of time.
 */
#pragma once

#include "model/launch.h"
#include "model/point.h"
#include "model/trial.h"

typedef struct rdt_candidate {
    rdt_point point;
    rdt_launch launch;
} rdt_candidate;

/* How a candidate stands; cause is as in rdt_trial. */
typedef struct rdt_verdict {
    rdt_outcome outcome;
    char cause[160];
} rdt_verdict;

/* Candidates on one problem of the evaluator's class, resolved, and not larger than the evaluator
 * was made for. */
typedef struct rdt_batch {
    const redtune_problem *problem;
    const rdt_candidate *candidates;
    size_t count;
} rdt_batch;

/* A candidate's own failure is its verdict; a status other than REDTUNE_OK says that the evaluator
 * can do nothing more. Every function gets self first. */
typedef struct rdt_evaluator {
    void *self;
    /* Says which candidates will be asked for, so that their kernels can be made meanwhile: soon,
     * or else perhaps, if there is nothing better to do. Returns at once. May be
     * NULL. */
    void (*prepare)(void *self, const rdt_batch *batch, bool soon);
    /* Compiles, loads and checks each candidate at the problem, and fills verdicts[count]. */
    redtune_status (*verify)(void *self, const rdt_batch *batch, rdt_verdict *verdicts,
                             redtune_error *err);
    /* Times each candidate `samples` times, taken in turns so that a drift of the clocks meets all
     * alike: sample_ns[i * samples + j] is ns per call. A candidate that fails now has its verdict
     * changed and zeros for times; one whose verdict is not good is left out. conditions[count] is
     * filled, with zeros where nothing is known. */
    redtune_status (*time)(void *self, const rdt_batch *batch, rdt_cache_state cache, int samples,
                           double *sample_ns, rdt_verdict *verdicts, rdt_conditions *conditions,
                           redtune_error *err);
    /* Whether to keep the GPU for this evaluator, so that nothing else runs on it between two
     * calls, until told otherwise by the same thread. May be NULL: no other has it. */
    void (*keep)(void *self, bool keeps);
} rdt_evaluator;
