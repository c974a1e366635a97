/* NCCL: the entry points that a team needs, of the library that made the caller's communicator. */
#pragma once

#include <stdbool.h>
#include "gpu/driver.h"

struct ncclComm;
typedef struct rdt_nccl rdt_nccl;

/* What all ranks of a communicator must know to make it (ncclUniqueId). */
typedef struct rdt_nccl_id {
    char internal[128];
} rdt_nccl_id;

/* REDTUNE_LIBRARY where there is none, or one that is too old. own: for communicators that are made
 * below; else the library is one that this process has loaded. */
redtune_status rdt_nccl_open(bool own, rdt_nccl **out, redtune_error *err);
void rdt_nccl_close(rdt_nccl *nccl);
int rdt_nccl_version(const rdt_nccl *nccl);

typedef struct rdt_nccl_place {
    int ranks, rank;
    int device; /* of CUDA */
} rdt_nccl_place;

redtune_status rdt_nccl_find_place(const rdt_nccl *nccl, struct ncclComm *comm, rdt_nccl_place *out,
                                   redtune_error *err);

redtune_status rdt_nccl_make_id(const rdt_nccl *nccl, rdt_nccl_id *out, redtune_error *err);
/* Makes the rank's communicator, on the GPU of the context that is current. Waits for all ranks. */
redtune_status rdt_nccl_join(const rdt_nccl *nccl, const rdt_nccl_id *id, int ranks, int rank,
                             struct ncclComm **out, redtune_error *err);
/* comm may be NULL. lost: another rank does not come any more, so that what waits for it is ended.
 */
void rdt_nccl_leave(const rdt_nccl *nccl, struct ncclComm *comm, bool lost);

/* Between the two, gathers of several communicators wait for each other's ranks. */
redtune_status rdt_nccl_begin_group(const rdt_nccl *nccl, redtune_error *err);
redtune_status rdt_nccl_end_group(const rdt_nccl *nccl, redtune_error *err);

/* All ranks get the `bytes` of each, side by side in the order of ranks: this one's lie where they
 * belong. Asynchronous; with a communicator that does not block, or in a group, the caller settles
 * it before its next launch on the stream. By an all-gather; where NCCL_ALGO is set, which may
 * leave NCCL no algorithm for that (Tree, PAT), by a message from each rank to each. */
redtune_status rdt_nccl_gather(const rdt_nccl *nccl, struct ncclComm *comm, CUdeviceptr messages,
                               size_t bytes, rdt_nccl_place place, CUstream stream,
                               redtune_error *err);

/* ncclRedOp_t, and of ncclDataType_t what messages are; the table of dtypes has the others. */
typedef enum rdt_nccl_op {
    RDT_NCCL_SUM = 0,
    RDT_NCCL_PROD = 1,
    RDT_NCCL_MAX = 2,
    RDT_NCCL_MIN = 3
} rdt_nccl_op;

enum { RDT_NCCL_I8 = 0 };

typedef struct rdt_nccl_reduction {
    rdt_nccl_op op;
    int type;
} rdt_nccl_reduction;

/* The `count` values of each rank become those of all ranks together, the same bits on each.
 * Asynchronous, as a gather is. */
redtune_status rdt_nccl_reduce(const rdt_nccl *nccl, struct ncclComm *comm,
                               rdt_nccl_reduction reduction, CUdeviceptr values, size_t count,
                               CUstream stream, redtune_error *err);
/* Waits until what was asked of the communicator is on its stream, at most so long. */
redtune_status rdt_nccl_settle(const rdt_nccl *nccl, struct ncclComm *comm, double limit_s,
                               redtune_error *err);
/* REDTUNE_TEAM where the communicator has failed. */
redtune_status rdt_nccl_check(const rdt_nccl *nccl, struct ncclComm *comm, redtune_error *err);
