/* Plan cache: what was chosen for a problem and which kernel in the cache it is, remembered beside
 * the kernels, so that the next process needs neither Lua to choose and render nor NVRTC to name
 * it.
 *
 * A cached plan's key is the hash of everything that its answer depends on: the build (redtune's
 * own sources), the templates' version (those compiled in and the user's folder), the op's own file
 * if it has one, the problem, what the templates' rules see of the GPU, the configuration asked
 * for, and the identity of the databases, so that these need not be read either. The kernel that it
 * names has the hash of its source as key. So a change anywhere is a miss, and a cached plan cannot
 * name a kernel of other templates. */
#pragma once

#include "api/choosing/executable.h"

typedef char rdt_plan_cache_key[RDT_HASH_TEXT_BYTES];

typedef struct rdt_plan_cache_question {
    const redtune_problem *problem; /* resolved */
    rdt_yield yield;
    const char *pin;       /* the configuration asked for; NULL: none */
    const char *databases; /* their identity */
    const char *templates; /* their version */
} rdt_plan_cache_question;

void rdt_plan_cache_name(const redtune *rt, const rdt_plan_cache_question *question,
                         rdt_plan_cache_key out);
/* Fills the executable, its kernel loaded into the current context. false: there is no cached plan,
 * or its kernel is gone or does not load, or NVRTC is another than the one that compiled it, unless
 * any will do; what failed then fails again on the way without cached plans, which says so. */
bool rdt_plan_cache_follow(redtune *rt, const rdt_plan_cache_key key, bool any_nvrtc,
                           rdt_executable *executable);
/* Remembers what was done for the executable. Losing it costs time only. */
void rdt_plan_cache_write(redtune *rt, const rdt_plan_cache_key key,
                          const rdt_executable *executable);
