/* Counters: what kernels did on the simulated GPU, which counts it. */
#pragma once

#include "gpu/driver.h"
#include "redtune/tools.h"

/* The sums over all launches of the process so far; longest waits and the like do not add up and
 * are left out. REDTUNE_UNSUPPORTED for a driver that counts nothing, as those of real GPUs. */
redtune_status rdt_counters_read(const rdt_driver *driver, redtune_counters *out,
                                 redtune_error *err);
/* The counts between two readings. */
redtune_counters rdt_counters_between(const redtune_counters *before,
                                      const redtune_counters *after);
