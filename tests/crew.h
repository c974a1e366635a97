/* Crew: the ranks of a team on the GPUs of this process, for tests: on each GPU a redtune, a
 * stream, a communicator of NCCL and the team made of them, and buffers for a part. NCCL is the
 * file that REDTUNE_NCCL names, or libnccl.so.2 of the loader's path. */
#pragma once

#include "check.h"
#include "gpu/buffer.h"
#include "gpu/context.h"
#include "gpu/stream.h"
#include "redtune/team.h"

enum { CREW_MAX = 8, CREW_RESULTS_MAX = 512 };

typedef struct crew_rank {
    rdt_context *context;
    const rdt_driver *driver;
    CUstream stream;
    redtune *rt;
    struct ncclComm *comm;
    redtune_team *team, *usual; /* usual: where another has its place (crew_change_room) */
    rdt_buffer input[2], output[2];
} crew_rank;

typedef struct crew {
    void *nccl; /* the library; NULL: none, and the teams are of one */
    int size;
    crew_rank rank[CREW_MAX];
} crew;

/* As many ranks as there are GPUs, at most `most`, with inputs of so many bytes. REDTUNE_LIBRARY or
 * REDTUNE_DEVICE where there is no GPU or no NCCL. */
redtune_status crew_open(int most, size_t input_bytes, crew *out, redtune_error *err);
void crew_close(crew *self);

/* One process for each rank: what the first makes and all others get (ncclUniqueId). */
typedef struct crew_id {
    char internal[128];
} crew_id;

redtune_status crew_make_id(crew_id *out, redtune_error *err);
/* The crew that has only this rank of `ranks`, on the GPU of its number; all open theirs at once.
 */
redtune_status crew_open_rank(int ranks, int rank, const crew_id *id, size_t input_bytes, crew *out,
                              redtune_error *err);

/* In rank i's context: copies to and from its buffers, which are over when they return. */
redtune_status crew_write(crew *self, int i, CUdeviceptr to, const void *from, size_t bytes,
                          redtune_error *err);
redtune_status crew_read(crew *self, int i, void *to, CUdeviceptr from, size_t bytes,
                         redtune_error *err);

/* Gives each rank a team with room for that many results; 0: the team that it had before. */
redtune_status crew_change_room(crew *self, uint64_t results, redtune_error *err);

/* What main returns: opens a crew, runs the facts, and closes it. Facts skip where there is none.
 */
__attribute__((unused)) static int crew_run(int most, size_t input_bytes, crew *self, int argc,
                                            char **argv) {
    redtune_error err;
    if (crew_open(most, input_bytes, self, &err)) fprintf(stderr, "no team: %s\n", err.message);
    if (!self->size) check_missing = "there is no GPU, or no NCCL";
    const int rc = check_run(argc, argv);
    crew_close(self);
    return rc;
}
