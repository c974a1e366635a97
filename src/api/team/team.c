/* Team: making a rank of a team, and asking how it stands. */
#define _POSIX_C_SOURCE 200809L
#include "api/team/team.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/reserved.h"

static const double usual_wait_s = 30;
enum { USUAL_RESULTS = 4096 };

static redtune_status find_communicator(redtune_team *team, redtune_error *err) {
    if (!team->comm) {
        team->place = (rdt_nccl_place){.ranks = 1, .device = (int)team->rt->context->device};
        return REDTUNE_OK;
    }
    redtune_status status = team->nccl ? REDTUNE_OK : rdt_nccl_open(false, &team->nccl, err);
    if (!status) status = rdt_nccl_find_place(team->nccl, team->comm, &team->place, err);
    if (status || team->place.device == (int)team->rt->context->device) return status;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot create a team: the communicator is of GPU %d, and redtune of GPU %d; "
                    "open redtune on the communicator's",
                    team->place.device, (int)team->rt->context->device);
}

/* The context is current. */
static redtune_status make_workspace(redtune_team *team, redtune_error *err) {
    const uint64_t ranks_bytes = (uint64_t)team->place.ranks * RDT_MESSAGE_BYTES_MAX;
    const uint64_t results_max = (INT64_MAX - RDT_SCRATCH_BYTES) / ranks_bytes;
    if (team->results_max > results_max)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot create a team: options.results is %" PRIu64
                        "; a team of %d has room for at most %" PRIu64,
                        team->results_max, team->place.ranks, results_max);
    const size_t bytes = ranks_bytes * team->results_max;
    CUstreamCaptureMode mode = rdt_context_relax(team->rt->context);
    redtune_status status =
        rdt_workspace_create(team->rt->context, bytes, team->rt->workspace, &team->workspace, err);
    if (!status) status = rdt_workspace_reserve(team->workspace, err);
    rdt_context_restore(team->rt->context, mode);
    return status;
}

/* What a team is made of: the caller's communicator, or one that it makes itself. */
typedef struct team_source {
    struct ncclComm *comm;
    const redtune_team_id *id; /* NULL: comm is the caller's */
    int ranks, rank;
} team_source;

/* The context is current. */
static redtune_status join_ranks(redtune_team *team, const team_source *from, redtune_error *err) {
    rdt_nccl_id id;
    if (!from->id) return REDTUNE_OK;
    redtune_status status = rdt_nccl_open(true, &team->nccl, err);
    if (status) return status;
    memcpy(id.internal, from->id->bytes, sizeof id.internal);
    CUstreamCaptureMode mode = rdt_context_relax(team->rt->context);
    status = rdt_nccl_join(team->nccl, &id, from->ranks, from->rank, &team->comm, err);
    rdt_context_restore(team->rt->context, mode);
    team->owns_comm = !status;
    return status;
}

static redtune_status make_team(redtune *rt, const team_source *from,
                                const redtune_team_options *options, redtune_team **out,
                                redtune_error *err) {
    if (!rt || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot create a team: %s is NULL",
                        rt ? "out" : "rt");
    const redtune_team_options usual = {0};
    if (!options) options = &usual;
    redtune_status status = rdt_reserved_check(RDT_RESERVED(options), "redtune_team_options", err);
    if (!status)
        status = rdt_clock_check_s("create a team", "options.wait_s", options->wait_s, err);
    if (status) return status;
    redtune_team *team = calloc(1, sizeof *team);
    if (!team) return rdt_fail_memory(err, sizeof *team);
    *team = (redtune_team){
        .rt = rt, .comm = from->comm, .wait_s = usual_wait_s, .results_max = USUAL_RESULTS};
    if (options->wait_s > 0) team->wait_s = options->wait_s;
    if (options->results) team->results_max = options->results;
    bool entered = false;
    status = rdt_context_enter(rt->context, &entered, err);
    if (!status) {
        status = join_ranks(team, from, err);
        if (!status) status = find_communicator(team, err);
        if (!status) status = make_workspace(team, err);
        rdt_context_leave(rt->context, entered);
    }
    if (status) {
        redtune_team_destroy(team);
        return status;
    }
    rdt_log_write(&rt->log, REDTUNE_LOG_INFO, "rank %d of a team of %d", team->place.rank,
                  team->place.ranks);
    *out = team;
    return REDTUNE_OK;
}

redtune_status redtune_team_create(redtune *rt, struct ncclComm *comm,
                                   const redtune_team_options *options, redtune_team **out,
                                   redtune_error *err) {
    return make_team(rt, &(team_source){.comm = comm}, options, out, err);
}

redtune_status redtune_team_make_id(redtune_team_id *out, redtune_error *err) {
    rdt_nccl *nccl = NULL;
    rdt_nccl_id id;
    if (!out) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot make a team's id: out is NULL");
    redtune_status status = rdt_nccl_open(true, &nccl, err);
    if (!status) status = rdt_nccl_make_id(nccl, &id, err);
    rdt_nccl_close(nccl);
    if (!status) memcpy(out->bytes, id.internal, sizeof out->bytes);
    return status;
}

redtune_status redtune_team_join(redtune *rt, const redtune_team_id *id, int ranks, int rank,
                                 const redtune_team_options *options, redtune_team **out,
                                 redtune_error *err) {
    if (ranks < 1 || rank < 0 || rank >= ranks)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot join a team as rank %d of %d: ranks count from 0", rank, ranks);
    if (!id && ranks > 1)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot join a team of %d: id is NULL", ranks);
    const team_source from = {.id = ranks > 1 ? id : NULL, .ranks = ranks, .rank = rank};
    return make_team(rt, &from, options, out, err);
}

void redtune_team_destroy(redtune_team *team) {
    if (!team) return;
    const rdt_context *context = team->rt->context;
    bool entered = false;
    const bool lost = rdt_context_enter(context, &entered, NULL) != REDTUNE_OK;
    CUstreamCaptureMode mode = rdt_context_relax(context);
    /* First: freeing memory waits for what runs, such as a gather that waits for a lost rank. */
    if (team->owns_comm) rdt_nccl_leave(team->nccl, team->comm, atomic_load(&team->lost));
    rdt_peers_destroy(team->peers, lost);
    rdt_workspace_destroy(team->workspace, lost);
    rdt_context_restore(context, mode);
    rdt_context_leave(context, entered);
    rdt_nccl_close(team->nccl);
    free(team);
}

void redtune_team_get(const redtune_team *team, redtune_team_info *info) {
    if (!info) return;
    *info = (redtune_team_info){.ranks = 0};
    if (!team) return;
    info->ranks = team->place.ranks;
    info->rank = team->place.rank;
    info->nccl_version = team->nccl ? rdt_nccl_version(team->nccl) : 0;
    info->by_peers = team->by_peers;
    info->nccl_ns = team->way_ns[0];
    info->peers_ns = team->way_ns[1];
}

/* What a program does once a rank is lost. */
static const char *remedy_of(const redtune_team *team) {
    return team->owns_comm ? "destroy the team" : "abort the communicator";
}

/* A message that did not come in time. On a stream of its own, so that it waits for no run. */
static redtune_status check_peers(const redtune_team *team, redtune_error *err) {
    const rdt_context *context = team->rt->context;
    uint32_t missing = 0;
    bool entered = false;
    redtune_status status = rdt_context_enter(context, &entered, err);
    if (status) return status;
    CUstreamCaptureMode mode = rdt_context_relax(context);
    status = rdt_peers_find_failure(team->peers, &missing, err);
    rdt_context_restore(context, mode);
    rdt_context_leave(context, entered);
    if (status || !missing) return status;
    return rdt_fail(err, REDTUNE_TEAM, 0,
                    "cannot go on with the team: rank %d waited %g seconds for rank %u, which may "
                    "have ended, or never have called; abort the communicator",
                    team->place.rank, team->wait_s, missing - 1);
}

static redtune_status note_loss(redtune_team *team, redtune_status status) {
    if (status == REDTUNE_TEAM) atomic_store(&team->lost, true);
    return status;
}

redtune_status redtune_team_check(redtune_team *team, redtune_error *err) {
    if (!team) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot check a team: it is NULL");
    redtune_status status = REDTUNE_OK;
    if (team->nccl) status = rdt_nccl_check(team->nccl, team->comm, err);
    if (!status && team->peers) status = check_peers(team, err);
    return note_loss(team, status);
}

/* Most runs end within a millisecond: until then without sleeping. */
static void pause_for(double passed_s) {
    const struct timespec pause = {.tv_nsec = 50000};
    if (passed_s < 1e-3)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

/* The context is current. */
static redtune_status wait_for_stream(redtune_team *team, CUstream stream, double limit_s,
                                      redtune_error *err) {
    const rdt_driver *driver = team->rt->context->driver;
    const double start_s = rdt_clock_s();
    for (;;) {
        CUresult rc = driver->stream_query(stream);
        if (rc && rc != CUDA_ERROR_NOT_READY)
            return rdt_driver_check(driver, rc, err, "finish work on the GPU");
        /* Peers that waited in vain have ended their kernel: only then is there something to see.
         */
        redtune_status status = !rc && team->peers ? check_peers(team, err) : REDTUNE_OK;
        if (!rc) return status;
        status = team->nccl ? rdt_nccl_check(team->nccl, team->comm, err) : REDTUNE_OK;
        const double passed_s = rdt_clock_s() - start_s;
        if (status) return status;
        if (limit_s > 0 && passed_s > limit_s)
            return rdt_fail(err, REDTUNE_TEAM, 0,
                            "cannot finish the work of rank %d of %d within %g seconds: another "
                            "rank may have ended, or never have called; %s",
                            team->place.rank, team->place.ranks, limit_s, remedy_of(team));
        pause_for(passed_s);
    }
}

redtune_status redtune_team_wait(redtune_team *team, struct CUstream_st *stream, double limit_s,
                                 redtune_error *err) {
    bool entered = false;
    if (!team) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot wait for a team: it is NULL");
    redtune_status status = rdt_clock_check_s("wait for a team", "limit_s", limit_s, err);
    if (!status) status = rdt_context_enter(team->rt->context, &entered, err);
    if (status) return status;
    status = wait_for_stream(team, stream, limit_s, err);
    rdt_context_leave(team->rt->context, entered);
    return note_loss(team, status);
}
