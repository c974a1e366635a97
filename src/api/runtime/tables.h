/* Tables: scratch for reductions by key whose tables are larger than scratch has room for. */
#pragma once

#include "api/runtime/runtime.h"

/* The workspace whose blocks have at least so many bytes: rt's own, or one of larger blocks, made
 * at first and kept. The context is current. */
redtune_status rdt_tables_find(redtune *rt, uint64_t bytes, rdt_workspace **out,
                               redtune_error *err);
/* Allocates beforehand what the first runs of such a launch take, unless that is much: so that one
 * in a capture allocates nothing. */
redtune_status rdt_tables_reserve(redtune *rt, const rdt_launch *launch, const rdt_keyed *sizes,
                                  redtune_error *err);
void rdt_tables_destroy(redtune *rt, bool lost);
