/* Team: what redtune_team holds. */
#pragma once

#include "api/runtime/plan.h"
#include "gpu/nccl.h"
#include "redtune/team.h"

/* A message takes at most as much as two slots. */
enum { RDT_MESSAGE_BYTES_MAX = 2 * RDT_ACCUMULATOR_BYTES_MAX };

struct redtune_team {
    redtune *rt;
    struct ncclComm *comm; /* the caller's; NULL: a team of one */
    rdt_nccl *nccl;        /* NULL: likewise */
    rdt_nccl_place place;
    double wait_s;
    uint64_t results_max;     /* of a run */
    rdt_workspace *workspace; /* scratch of its runs, with the messages of all ranks behind it */
};
