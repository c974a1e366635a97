/* NCCL: the entry points that a team needs, of the library that made the caller's communicator. */
#pragma once

#include "gpu/driver.h"

struct ncclComm;
typedef struct rdt_nccl rdt_nccl;

/* REDTUNE_LIBRARY where this process has none, or one that is too old. */
redtune_status rdt_nccl_open(rdt_nccl **out, redtune_error *err);
void rdt_nccl_close(rdt_nccl *nccl);
int rdt_nccl_version(const rdt_nccl *nccl);

typedef struct rdt_nccl_place {
    int ranks, rank;
    int device; /* of CUDA */
} rdt_nccl_place;

redtune_status rdt_nccl_find_place(const rdt_nccl *nccl, struct ncclComm *comm, rdt_nccl_place *out,
                                   redtune_error *err);

/* Between the two, gathers of several communicators wait for each other's ranks. */
redtune_status rdt_nccl_begin_group(const rdt_nccl *nccl, redtune_error *err);
redtune_status rdt_nccl_end_group(const rdt_nccl *nccl, redtune_error *err);

/* All ranks get the `bytes` of each, side by side in the order of ranks: this one's lie where they
 * belong. Asynchronous; with a communicator that does not block, or in a group, the caller settles
 * it before its next launch on the stream. */
redtune_status rdt_nccl_gather(const rdt_nccl *nccl, struct ncclComm *comm, CUdeviceptr messages,
                               size_t bytes, int rank, CUstream stream, redtune_error *err);
/* Waits until what was asked of the communicator is on its stream, at most so long. */
redtune_status rdt_nccl_settle(const rdt_nccl *nccl, struct ncclComm *comm, double limit_s,
                               redtune_error *err);
/* REDTUNE_TEAM where the communicator has failed. */
redtune_status rdt_nccl_check(const rdt_nccl *nccl, struct ncclComm *comm, redtune_error *err);
