/* Admission: the step before a plan is made. An op of the user's is checked, and imported
 * measurements that would serve are verified on this GPU: both may launch kernels and wait, which
 * making a plan does not. */
#pragma once

#include "api/runtime/runtime.h"

/* The measurements that a choice goes by. */
typedef enum rdt_grounds {
    RDT_GROUNDS_ALL,
    RDT_GROUNDS_MEASURED_HERE,
    RDT_GROUNDS_NONE, /* the default, whatever is known */
} rdt_grounds;

typedef struct rdt_admission {
    rdt_grounds grounds;
    bool waits;      /* verifying is left for later: what is chosen until then is pending */
    bool unverified; /* not every hint could be verified: the next process may find more */
} rdt_admission;

/* Whether a row may serve as it is; an imported one is a hint until it was measured here. */
bool rdt_admission_serves(const redtune *rt, const rdt_row *row);

/* For the problem, which is resolved; pinned: no measurement is chosen by. at_once: verifies
 * nothing now. The context is current. REDTUNE_TEMPLATE for an op that is not what its file says.
 */
redtune_status rdt_admission_find(redtune *rt, const redtune_problem *problem, bool pinned,
                                  bool at_once, rdt_admission *out, redtune_error *err);
