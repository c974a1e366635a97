/* Winner: which of the measurements of one problem wins, and on what evidence. The one rule that
 * the tuner and the readers of a database share. */
#pragma once

#include "model/trial.h"

/* So many samples are as careful as any number more. */
enum { RDT_WINNER_SAMPLES = 32 };

/* The rule, over trials of one problem, cache state and GPU model, the older ones first:
 *
 * 1. Only good trials with at least half the samples of the best-sampled one (or half of
 *    RDT_WINNER_SAMPLES, if that is less) count: a quick look never beats a careful one. Of a
 *    point that was measured here, if only by a quick look, what was imported does not count; and
 *    a point whose latest trial is not good is out.
 * 2. Where a point has several of them, the one in the middle stands for it, of an even number the
 *    slower of the two: one flattering outlier changes nothing.
 * 3. The best of some points is the simplest of those not slower than the one with the lowest
 *    median by more than the noise of the two. The simplest has the lowest
 *    rank (rdt_point_rank), and then has the lower median.
 * 4. The baseline is the best of the families' built-in defaults. A family's default is the point
 *    that its latest trial of a default has.
 * 5. The baseline wins unless the lowest median beats it by more than the noise of the two; else
 *    the best of all wins.
 *
 * The noise of two trials: twice the standard error of the difference of their medians, and at
 * least 0.5 % of the faster. */
typedef struct rdt_winner {
    const rdt_trial *trial;    /* NULL: none is good; all three are among the trials given */
    const rdt_trial *fastest;  /* by the median alone */
    const rdt_trial *baseline; /* the baseline; NULL: no default was measured so carefully */
} rdt_winner;

/* REDTUNE_MEMORY only. */
redtune_status rdt_winner_choose(const rdt_trial *const *trials, size_t count, rdt_winner *out,
                                 redtune_error *err);

/* By how many ns the medians of two good trials may differ by chance. */
double rdt_winner_noise_ns(const rdt_trial *a, const rdt_trial *b);
