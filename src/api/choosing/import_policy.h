/* Import policy: imported measurements are hints, which are verified on this GPU before they serve.
 */
#pragma once

#include "api/runtime/runtime.h"

/* An imported measurement that would serve. */
typedef struct rdt_hint {
    const redtune_problem *problem; /* that it would serve */
    redtune_match match;
    redtune_problem measured; /* its extents are those that it was measured at */
    rdt_point point;
} rdt_hint;

/* Verifies the hint's config for the problem's class, and times it beside the default: at the
 * extents that it was measured at, or, if that was on another GPU model, at the problem's; where a
 * quarter of the free memory has no room for these, at fewer results, and then elements. The trials
 * are stored in the first database, or kept in rt->verified, and the winners are forgotten, so that
 * they are chosen anew.
 *
 * A config that the templates think not worth measuring there is not tried with a large input.
 *
 * Takes *left_s at most, beside compiling, and lessens it. *decided: it was done, at those
 * very extents. Everything else is a status, and the hint must not serve. The context is current,
 * codegen is borrowed, rt->lock is not held. */
redtune_status rdt_import_policy_verify(redtune *rt, rdt_codegen *codegen, const rdt_hint *hint,
                                        double *left_s, bool *decided, redtune_error *err);
