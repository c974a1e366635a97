/* Recheck: whether a point that was measured somewhere is right on this GPU, and what it takes
 * here, timed in turns with the built-in default. */
#pragma once

#include "tuner/search/search.h"

/* How careful: as a tune's last round, or, where time is short, at the least what counts. */
enum { RDT_RECHECK_SAMPLES = 31, RDT_RECHECK_SAMPLES_MIN = 16 };

typedef struct rdt_recheck {
    rdt_search search; /* of which evaluator, codegen, facts, problem and cache are set */
    double limit_s;    /* for all of it; 0: none */
    /* Seconds since any fixed moment, without those that do not count (compiling, say). */
    double (*clock_s)(void *user);
    void *user;
    /* Which candidate of a batch the evaluator is at, if that is known: whom a failure is put down
     * to. */
    const size_t *at;
} rdt_recheck;

/* Trials to keep, of the config first and then of the default. A config that is
 * plainly slower than the default, and so slow that it cannot be timed within the limit, did not
 * end in time. count is 0 where the limit leaves nothing that counts. Where the GPU fails with the
 * current config, that is kept, and returned as well. */
typedef struct rdt_rechecked {
    rdt_trial trials[2];
    size_t count;
} rdt_rechecked;

/* REDTUNE_UNSUPPORTED for a point that the templates do not allow there. */
redtune_status rdt_recheck_run(const rdt_recheck *self, const rdt_point *point, rdt_rechecked *out,
                               redtune_error *err);
