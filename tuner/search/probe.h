/* Probe: trials of the values that are not explored from the start.
 *
 * A probe is a good point with one value changed; the point that it differs from is its control. A
 * value whose probe is clearly faster than the control is explored from then on. Every family has
 * controls of its own, unless it is far behind the best. Waiting for kernels would take most of the
 * time of probing: so the control is what was best at the problem before, and the kernels are made
 * while that one's search ends. Where no problem comes before, the control is the best that the
 * exploration found. */
#pragma once

#include "tuner/search/explorer.h"

typedef struct rdt_probe {
    int family, param, value; /* index of the family, of its parameter, and of the value */
    size_t entry, control;    /* of the candidates */
} rdt_probe;

/* Valid when zeroed: none. */
typedef struct rdt_probes {
    rdt_probe *probe;
    size_t count;
    bool started[RDT_FAMILY_MAX]; /* from what was best at another problem */
} rdt_probes;

/* Chooses probes of all values that are not explored and not known to lose, and lets the evaluator
 * make their kernels. None, if nothing is known to be good yet. */
redtune_status rdt_probe_choose(rdt_probes *probes, rdt_explorer *explorer, redtune_error *err);
/* Lets the evaluator make the kernels of the probes of a search that comes soon. */
redtune_status rdt_probe_prepare(const rdt_search *search, redtune_error *err);
/* Measures the probes, and explores around those that win. */
redtune_status rdt_probe_run(rdt_probes *probes, rdt_explorer *explorer, redtune_error *err);
void rdt_probe_free(rdt_probes *probes);
