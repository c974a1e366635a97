/* Hold: whether what a point once took still holds, by what it takes now. A GPU is not at all times
 * as fast as on the day of a tune, so a point that takes longer is held against a partner, which
 * was measured then and is measured beside it now. */
#pragma once

#include "model/trial.h"

/* Trials of one point at one problem: the one that stood for it, which is good, and one of now. */
typedef struct rdt_then_now {
    const rdt_trial *then, *now;
} rdt_then_now;

typedef enum rdt_hold {
    RDT_HOLD_TIME,   /* it takes no longer than then */
    RDT_HOLD_BESIDE, /* it takes longer, and so does its partner: it is as good as it was */
    RDT_HOLD_SLOWER,
    RDT_HOLD_FAILED, /* it is not good now */
} rdt_hold;

/* The rule, where longer means by more than the noise, 15 % and 0.3 us:
 *
 * 1. It holds if it takes no longer than then.
 * 2. If not, and it is as fast as its partner or faster, it holds if the partner takes longer than
 *    then, or if its time over its partner's is not higher than then.
 * 3. If it is slower than its partner by more than the noise, it holds if it did not beat its
 *    partner then, and its time over its partner's is not higher than then.
 *
 * Without a partner that is good now (either is NULL, or it is not good) only the first counts. */
rdt_hold rdt_hold_judge(rdt_then_now point, rdt_then_now partner);

/* How much longer or shorter counts as the same, but for the 15 %: the noise, at least 0.3 us. */
double rdt_hold_noise_ns(rdt_then_now point);

/* Whether it takes longer; both are good. */
bool rdt_hold_takes_longer(rdt_then_now point);
