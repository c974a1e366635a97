/* Nvml: what a GPU is like while it is timed: clocks, temperature, what holds the clocks down, and
 * who else uses it. Optional: where there is no NVML everything is unknown, and nothing fails. */
#pragma once

#include "gpu/context.h"
#include "model/trial.h"

typedef struct rdt_nvml rdt_nvml;

/* Finds the context's device. NULL: there is no NVML, it does not know the device, or memory ran
 * out. REDTUNE_NVML names the library. */
rdt_nvml *rdt_nvml_open(const rdt_context *context);
/* nvml may be NULL, here and below. */
void rdt_nvml_close(rdt_nvml *nvml);

/* Asks for everything; what costs much is kept for a while (clocks and temperature 0.1 s, other
 * processes 2 s). Processes count as others if this one and its parent can be told from them. */
rdt_conditions rdt_nvml_look(rdt_nvml *nvml);
/* Asks only why clocks are held down, which costs little; 0 if unknown. */
uint64_t rdt_nvml_throttle(rdt_nvml *nvml);
