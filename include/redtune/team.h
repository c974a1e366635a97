/* Teams: one reduction over the parts of an array that several GPUs hold, each a part of its own.
 * A team is an NCCL communicator, the caller's or one of its own, of one process with several GPUs
 * or of one process for each. redtune.h, whose conventions hold here, says what plans and runs are;
 * docs/teams.md explains. */
#ifndef REDTUNE_TEAM_H
#define REDTUNE_TEAM_H

#include "redtune/list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A communicator of NCCL: ncclComm_t is a pointer to this. */
struct ncclComm;

/* A rank of a team, and what its runs need on its GPU. */
typedef struct redtune_team redtune_team;

typedef struct redtune_team_options {
    /* Seconds that a call waits for NCCL where the communicator is one that does not block; 0: 30.
     */
    double wait_s;
    /* The most results of a run that go by messages; 0: 4096. Each takes 64 bytes for each rank, on
     * each, together less than 2^63. NCCL reduces more results if it has the op (docs/teams.md);
     * else they are refused. */
    uint64_t results;
    uint64_t reserved[6];
} redtune_team_options;

typedef struct redtune_team_info {
    int ranks, rank;
    int nccl_version; /* 22800 is 2.28.0; 0: a team without a communicator */
    int by_peers;     /* nonzero: messages go through peer memory (redtune_team_connect) */
    /* Of a run on a stream, as measured when the team was connected; 0: it is not. */
    double nccl_ns, peers_ns;
    uint64_t reserved[2];
} redtune_team_info;

/* Makes this rank of a team of the communicator's ranks. comm belongs to the caller, is of rt's
 * GPU, and must outlive the team; NULL makes a team of one, which needs no NCCL. options may be
 * NULL. Takes 0.8 MB of the GPU's memory for each stream that runs are on, and the messages'.
 * NCCL, 2.10 or newer, is the library that this process has loaded as libnccl.so.2, or the file
 * that REDTUNE_NCCL names. Fails with REDTUNE_LIBRARY if there is no such library, with
 * REDTUNE_INVALID if comm is of another GPU, and with REDTUNE_TEAM if NCCL refuses. Not during
 * stream capture on this thread. Talks to no other rank. */
REDTUNE_API redtune_status redtune_team_create(redtune *rt, struct ncclComm *comm,
                                               const redtune_team_options *options,
                                               redtune_team **out, redtune_error *err);
/* What the ranks of a team that makes its own communicator must have in common: any bytes of it may
 * differ from those of another team. */
typedef struct redtune_team_id {
    char bytes[128];
} redtune_team_id;

/* Makes the id of a future team on one rank, which then sends it to all others, by MPI, a file or a
 * socket. NCCL is the library that this process has loaded, else the one that is found as NVRTC is.
 * Fails with REDTUNE_LIBRARY without NCCL, and REDTUNE_TEAM if NCCL refuses. */
REDTUNE_API redtune_status redtune_team_make_id(redtune_team_id *out, redtune_error *err);

/* Makes this rank of a team of `ranks` with a communicator of its own, which redtune_team_destroy
 * ends. All ranks call it with the same id, each on a thread or a process of its own, since a call
 * waits for all others, without a limit; not during stream capture on this thread. A team of one
 * needs no id and no NCCL. The rest is as for redtune_team_create. */
REDTUNE_API redtune_status redtune_team_join(redtune *rt, const redtune_team_id *id, int ranks,
                                             int rank, const redtune_team_options *options,
                                             redtune_team **out, redtune_error *err);
/* team may be NULL. None of its runs may still be under way, and no graph that captured one may run
 * again; call it before rt is closed. Leaves the caller's communicator as it is. One of
 * redtune_team_join's is destroyed, which all ranks do, or aborted where a wait or a check found a
 * rank lost. */
REDTUNE_API void redtune_team_destroy(redtune_team *team);
REDTUNE_API void redtune_team_get(const redtune_team *team, redtune_team_info *info);

/* Lets ranks whose GPUs reach each other's memory send messages through it, where that is faster:
 * they open it, through CUDA IPC between processes of a host, and time runs of both ways. Where a
 * rank does not reach all others, or NCCL is faster, runs go on through NCCL; redtune_team_get says
 * which. All ranks call it once, each thread with the teams whose GPUs it drives, and before a run
 * is captured. Waits; not during stream capture on this thread. From then on runs of one result are
 * two launches, and
 * - the runs of a team, called and replayed ones, follow one another on its GPU: events order those
 *   on several streams;
 * - a run ends after options.wait_s where another rank's message does not come, without a result:
 *   redtune_team_wait and redtune_team_check report it;
 * - no team is destroyed before the runs of all ranks are over. Fails with what redtune_plan_create
 * and redtune_team_run fail with; the team then goes on through NCCL, if that still works.
 * REDTUNE_INVALID for a team without a communicator or connected already. */
REDTUNE_API redtune_status redtune_team_connect(redtune_team *const *teams, size_t count,
                                                redtune_error *err);

/* Where this rank's part of `count` elements begins and how many it has, if the ranks share them
 * evenly, in their order: whole chunks of 4 KiB, except the last part. In fixed order each part but
 * the last has a power of two of chunks, so that some ranks may have none. */
REDTUNE_API redtune_status redtune_team_share(const redtune_team *team, const redtune_plan *plan,
                                              uint64_t count, uint64_t *first_index,
                                              uint64_t *part_count, redtune_error *err);

/* Makes what the runs of the plan by teams need, a kernel of its configuration that leaves
 * accumulators, once for a plan, as redtune_plan_create compiles one. The first run does, unless
 * it is captured. Not during stream capture on this thread. Fails with what redtune_plan_create
 * fails with. */
REDTUNE_API redtune_status redtune_team_prepare(redtune_plan *plan, redtune_error *err);

/* Reduces the parts of all ranks to one result, which each rank gets, with the same bits: launches
 * this rank's part, an all-gather of 32 or 64 bytes for a result by NCCL, and what combines the
 * parts in rank order, asynchronously, on a stream of the team's GPU. All ranks call it, for plans
 * of the same op, dtypes and order, all with a mask or none, in the same sequence as everything
 * else on the communicator; their counts, alignments and configurations may differ. first_index is
 * where this rank's part begins in the whole array: an op that gives an index counts from there.
 * Parts may begin anywhere and have no elements, except in fixed order, where part r begins at r
 * times a power of two of chunks of 4 KiB and has at most as many elements: then the bits are those
 * of one GPU. A result over a count, such as a mean, is over that of all parts. A run may be
 * captured once redtune_team_prepare has made its kernel (else REDTUNE_UNPREPARED, and the capture
 * goes on), and all ranks then replay.
 *
 * Rows and columns have the same results on every rank, and each rank has a part of each one's
 * elements: first_index is where that part begins, and steps are those of this rank's memory. Of
 * other axes a part has some of the indices of the outermost reduced one, in the plan of a problem
 * of its own, whose results have no steps; first_index counts in row-major order of the reduced
 * axes.
 *
 * The plan is of the team's redtune, its uses are 0, and operands->workspace is NULL; else
 * REDTUNE_INVALID or REDTUNE_UNSUPPORTED. REDTUNE_TEAM for what NCCL refuses. A rank whose call
 * fails has sent nothing, and the others wait for it: redtune_team_check. One thread at a time may
 * run a team, and outside of NCCL's groups; for several teams on one thread there is
 * redtune_team_run_all. */
REDTUNE_API redtune_status redtune_team_run(redtune_plan *plan, redtune_team *team,
                                            const redtune_operands *operands, uint64_t first_index,
                                            struct CUstream_st *stream, redtune_error *err);

/* The same for segments and lists. If each segment has a result, all ranks have the same number of
 * segments, and result i is of all ranks' segments i. first_index is where this rank's elements
 * begin, of each segment or of all; indices count from there. All ranks call it, those without
 * elements, too. */
REDTUNE_API redtune_status redtune_team_run_segments(redtune_plan *plan, redtune_team *team,
                                                     const redtune_segments *segments,
                                                     uint64_t first_index,
                                                     struct CUstream_st *stream,
                                                     redtune_error *err);

/* What redtune_team_run takes, for one rank; or redtune_team_run_segments, with operands NULL. */
typedef struct redtune_team_call {
    redtune_plan *plan;
    redtune_team *team;
    const redtune_operands *operands;
    uint64_t first_index;
    struct CUstream_st *stream;
    const redtune_segments *segments;
    uint64_t reserved[2];
} redtune_team_call;

/* The same for several ranks whose GPUs this thread drives: no rank waits for another of them. Each
 * call is of another team. */
REDTUNE_API redtune_status redtune_team_run_all(const redtune_team_call *calls, size_t count,
                                                redtune_error *err);

/* Reduces elements that are not on a GPU by several GPUs of this process at once, as
 * redtune_reduce_input does by one, and without NCCL: rts[i] reads and reduces inputs[i], each on a
 * thread of its own, which calls its reader. inputs[i] is the part of the whole that follows
 * inputs[i - 1]; the parameters are those of the first. In fixed order each part but the last has a
 * power of two of chunks, as in redtune_team_share. out is of all: the time on the GPU is that of
 * the slowest, and the plan that of the first. count is 1 to 64. */
REDTUNE_API redtune_status redtune_reduce_inputs(redtune *const *rts,
                                                 const redtune_problem *problem,
                                                 const redtune_input *inputs, size_t count,
                                                 redtune_reading *out, redtune_error *err);

/* Asks NCCL whether the communicator has failed, for example because another rank's process ended:
 * REDTUNE_TEAM with NCCL's message. Its ranks then wait for ever, on the GPU, too: abort the
 * communicator (ncclCommAbort), if it is the caller's, and destroy the team. Does not wait; any
 * thread may call it. */
REDTUNE_API redtune_status redtune_team_check(redtune_team *team, redtune_error *err);

/* Waits until the stream of the team's GPU is done, and checks NCCL meanwhile: REDTUNE_TEAM if the
 * communicator fails first, or after limit_s seconds; 0: only where it fails. Between GPUs of one
 * host NCCL may not notice that a process has ended, so that a limit is the only way to know. */
REDTUNE_API redtune_status redtune_team_wait(redtune_team *team, struct CUstream_st *stream,
                                             double limit_s, redtune_error *err);

#ifdef __cplusplus
}
#endif

#endif
