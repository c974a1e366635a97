/* Share: how the ranks of a team share an array. */
#pragma once

#include "api/team/team.h"

/* Whether this rank's part lies where the order that the problem asks for needs it. The problem is
 * resolved. */
redtune_status rdt_share_check(const redtune_team *team, const redtune_problem *problem,
                               uint64_t first, uint64_t count, redtune_error *err);
/* The same for parts that follow each other and are all known. */
redtune_status rdt_share_check_parts(const redtune_problem *problem, const uint64_t *counts,
                                     size_t parts, redtune_error *err);
