/* Recipe: what was chosen for a problem and which kernel in the cache it is, remembered beside the
 * kernels, so that the next process needs neither Lua to choose and render nor NVRTC to name it.
 *
 * A recipe's key is the hash of everything that its answer depends on: the build (redtune's own
 * sources), the templates' version (those compiled in and the user's folder), the problem, what the
 * templates' rules see of the GPU, the configuration asked for, and the identity of the databases,
 * so that these need not be read either. The kernel that it names has the hash of its source as
 * key. So a change anywhere is a miss, and a recipe cannot name a kernel of other templates. */
#ifndef RDT_API_RECIPE_H
#define RDT_API_RECIPE_H

#include "api/variant.h"

typedef char rdt_recipe_key[RDT_HASH_TEXT_BYTES];

/* pin: the configuration asked for; NULL: none. templates: their version. */
void rdt_recipe_name(const redtune *rt, const redtune_problem *problem, const char *pin,
                     const rdt_identity databases, const char *templates, rdt_recipe_key out);
/* Fills the variant, its kernel loaded into the current context. false: there is no recipe, or its
 * kernel is gone or does not load, or NVRTC's file is another than the one that compiled it; what
 * failed then fails again on the way without recipes, which says so. */
bool rdt_recipe_follow(redtune *rt, const rdt_recipe_key key, rdt_variant *variant);
/* Remembers what was done for the variant. Losing it costs time only. */
void rdt_recipe_write(redtune *rt, const rdt_recipe_key key, const rdt_variant *variant);

#endif
