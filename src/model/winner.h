/* Winner: which of the measurements of one problem wins, and on what evidence. The one rule that
 * the tuner and the readers of a database share. */
#ifndef RDT_MODEL_WINNER_H
#define RDT_MODEL_WINNER_H

#include "model/trial.h"

/* So many samples are as careful as any number more. */
enum { RDT_WINNER_SAMPLES = 32 };

/* The rule, over trials of one problem, cache state and GPU model, the older ones first:
 *
 * 1. Only good trials with at least half the samples of the best-sampled one (or half of
 *    RDT_WINNER_SAMPLES, if that is less) count: a quick look never beats a careful one. Of a
 *    config that was measured here, what was imported from elsewhere does not count; and a config
 *    whose latest trial is not good is out.
 * 2. Where a config has several of them, the one in the middle stands for it, of an even number the
 *    slower of the two: one flattering outlier changes nothing.
 * 3. The best is the config with the lowest median.
 * 4. The built-in default wins unless the best beats it by more than the noise of the two.
 * 5. Else, of the configs not slower than the best by more than the noise of the two, the simplest
 *    wins: the one that comes first in its space (order), and then the one with the lower median.
 *
 * The noise of two trials: twice the standard error of the difference of their medians, and at
 * least 0.5 % of the faster. */
typedef struct rdt_winner {
    const rdt_trial *trial;    /* NULL: none is good; all three are among the trials given */
    const rdt_trial *fastest;  /* by the median alone */
    const rdt_trial *baseline; /* the built-in default; NULL: it was not measured so carefully */
} rdt_winner;

/* REDTUNE_MEMORY only. */
redtune_status rdt_winner_choose(const rdt_trial *const *trials, size_t count, rdt_winner *out,
                                 redtune_error *err);

/* By how many ns the medians of two good trials may differ by chance. */
double rdt_winner_noise_ns(const rdt_trial *a, const rdt_trial *b);

#endif
