/* Team: what redtune_team holds. */
#pragma once

#include <stdatomic.h>
#include "api/running/plan.h"
#include "api/team/peers.h"
#include "gpu/nccl.h"
#include "redtune/team.h"

/* A message takes at most as much as two slots. */
enum { RDT_MESSAGE_BYTES_MAX = 2 * RDT_ACCUMULATOR_BYTES_MAX };

struct redtune_team {
    redtune *rt;
    struct ncclComm *comm; /* NULL: a team of one */
    bool owns_comm;        /* redtune_team_join made it */
    atomic_bool lost;      /* another rank has failed, as a check or a wait found */
    rdt_nccl *nccl;        /* NULL: likewise */
    rdt_nccl_place place;
    double wait_s;
    uint64_t results_max; /* of a run */
    rdt_peers *peers;     /* NULL: the team is not connected */
    bool by_peers;        /* messages of one result go through them */
    double way_ns[2];     /* measured, of a run through NCCL, and through them; 0: not connected */
    rdt_workspace *workspace; /* scratch of its runs, with the messages of all ranks behind it */
};
