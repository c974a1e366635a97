/* History: what the tuning database has of one problem class on this GPU that counts. */
#pragma once

#include "cache/tuning.h"
#include "codegen/codegen.h"
#include "model/trials.h"

/* Reads the rows of the problem's class and cache state that were measured here, on this GPU model
 * and with kernels that are current, by count and then by age. The problem's count does not matter.
 */
redtune_status rdt_history_read(rdt_tuning *tuning, rdt_codegen *codegen, const rdt_facts *gpu,
                                const redtune_problem *problem, rdt_cache_state cache,
                                rdt_trials *out, redtune_error *err);
