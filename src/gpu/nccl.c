/* NCCL: the entry points that a team needs, of the library that makes its communicators.
 *
 * A communicator is understood by the very library that made it: for one of the caller's, only what
 * this process has loaded already is looked for. For a team's own any NCCL does. The few types
 * below are NCCL's since 2.0, and part of its ABI. */
#define _POSIX_C_SOURCE 200809L
#include "gpu/nccl.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"
#include "base/library.h"

typedef int nccl_result; /* ncclResult_t */
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
enum { VERSION_LEAST = 21000 };

typedef struct entries {
    nccl_result (*version)(int *version);
    const char *(*error_string)(nccl_result result);
    const char *(*last_error)(struct ncclComm *comm); /* since 2.13 */
    nccl_result (*count)(const struct ncclComm *comm, int *count);
    nccl_result (*rank)(const struct ncclComm *comm, int *rank);
    nccl_result (*device)(const struct ncclComm *comm, int *device);
    /* Those of a communicator of the team's own. */
    nccl_result (*get_id)(rdt_nccl_id *out);
    nccl_result (*init_rank)(struct ncclComm **out, int ranks, rdt_nccl_id id, int rank);
    nccl_result (*destroy)(struct ncclComm *comm);
    nccl_result (*abort)(struct ncclComm *comm);
    nccl_result (*async_error)(struct ncclComm *comm, nccl_result *out);
    nccl_result (*group_start)(void);
    nccl_result (*group_end)(void);
    nccl_result (*all_gather)(const void *from, void *to, size_t count, int dtype,
                              struct ncclComm *comm, CUstream stream);
    nccl_result (*all_reduce)(const void *from, void *to, size_t count, int dtype, int op,
                              struct ncclComm *comm, CUstream stream);
    nccl_result (*send)(const void *from, size_t count, int dtype, int peer, struct ncclComm *comm,
                        CUstream stream);
    nccl_result (*receive)(void *to, size_t count, int dtype, int peer, struct ncclComm *comm,
                           CUstream stream);
} entries;

#define ENTRY(member, name, is_optional)                                                           \
    { name, offsetof(entries, member), is_optional }
static const rdt_library_symbol symbols[] = {
    ENTRY(version, "ncclGetVersion", false),
    ENTRY(error_string, "ncclGetErrorString", false),
    ENTRY(last_error, "ncclGetLastError", true),
    ENTRY(count, "ncclCommCount", false),
    ENTRY(rank, "ncclCommUserRank", false),
    ENTRY(device, "ncclCommCuDevice", false),
    ENTRY(get_id, "ncclGetUniqueId", false),
    ENTRY(init_rank, "ncclCommInitRank", false),
    ENTRY(destroy, "ncclCommDestroy", false),
    ENTRY(abort, "ncclCommAbort", false),
    ENTRY(async_error, "ncclCommGetAsyncError", false),
    ENTRY(group_start, "ncclGroupStart", false),
    ENTRY(group_end, "ncclGroupEnd", false),
    ENTRY(all_gather, "ncclAllGather", false),
    ENTRY(all_reduce, "ncclAllReduce", false),
    ENTRY(send, "ncclSend", false),
    ENTRY(receive, "ncclRecv", false),
};

static const char *const names[] = {"libnccl.so.2", NULL};
static const rdt_library_search search_for_theirs = {
    .subject = "NCCL",
    .variable = "REDTUNE_NCCL",
    .names = names,
    .loaded = true,
    .remedy = "link the program with the NCCL that makes its communicators, or name the file that "
              "has it in REDTUNE_NCCL",
};
static const rdt_library_search search_for_own = {
    .subject = "NCCL",
    .variable = "REDTUNE_NCCL",
    .names = names,
    .toolkit = true,
    .remedy = "install it (pip install nvidia-nccl-cu13, or libnccl2), or name its file in "
              "REDTUNE_NCCL",
};

struct rdt_nccl {
    rdt_library *library;
    entries call;
    int version;
    bool one_by_one; /* see rdt_nccl_gather */
};

/* ---- errors ---------------------------------------------------------------------------------- */

static redtune_status tell_refusal(const rdt_nccl *nccl, struct ncclComm *comm, nccl_result rc,
                                   const char *what, redtune_error *err) {
    const char *words = nccl->call.error_string(rc);
    const char *more = nccl->call.last_error ? nccl->call.last_error(comm) : NULL;
    return rdt_fail(err, REDTUNE_TEAM, rc, "cannot %s: NCCL reports %s%s%.300s", what,
                    words ? words : "an unknown error", more && *more ? "; " : "",
                    more && *more ? more : "");
}

/* What does not block has begun. */
static redtune_status check_result(const rdt_nccl *nccl, struct ncclComm *comm, nccl_result rc,
                                   const char *what, redtune_error *err) {
    if (rc == NCCL_SUCCESS || rc == NCCL_IN_PROGRESS) return REDTUNE_OK;
    return tell_refusal(nccl, comm, rc, what, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

redtune_status rdt_nccl_open(bool own, rdt_nccl **out, redtune_error *err) {
    rdt_nccl *nccl = calloc(1, sizeof *nccl);
    if (!nccl) return rdt_fail_memory(err, sizeof *nccl);
    redtune_status status =
        rdt_library_open(own ? &search_for_own : &search_for_theirs, &nccl->library, err);
    if (!status)
        status = rdt_library_bind(nccl->library, symbols, sizeof symbols / sizeof *symbols,
                                  &nccl->call, err);
    if (!status)
        status = check_result(nccl, NULL, nccl->call.version(&nccl->version), "ask for its version",
                              err);
    if (!status && nccl->version < VERSION_LEAST)
        status = rdt_fail(
            err, REDTUNE_LIBRARY, 0, "cannot use NCCL %d.%d (%.300s): a team needs 2.10 or newer",
            nccl->version < 10000 ? nccl->version / 1000 : nccl->version / 10000,
            nccl->version < 10000 ? nccl->version / 100 % 10 : nccl->version / 100 % 100,
            rdt_library_path(nccl->library));
    if (status) {
        rdt_nccl_close(nccl);
        return status;
    }
    nccl->one_by_one = getenv("NCCL_ALGO") != NULL;
    *out = nccl;
    return REDTUNE_OK;
}

void rdt_nccl_close(rdt_nccl *nccl) {
    if (!nccl) return;
    rdt_library_close(nccl->library);
    free(nccl);
}

int rdt_nccl_version(const rdt_nccl *nccl) { return nccl->version; }

redtune_status rdt_nccl_find_place(const rdt_nccl *nccl, struct ncclComm *comm, rdt_nccl_place *out,
                                   redtune_error *err) {
    rdt_nccl_place place = {.ranks = 0};
    redtune_status status = rdt_nccl_check(nccl, comm, err);
    if (status) return status;
    nccl_result rc = nccl->call.count(comm, &place.ranks);
    if (!rc) rc = nccl->call.rank(comm, &place.rank);
    if (!rc) rc = nccl->call.device(comm, &place.device);
    if (rc) return tell_refusal(nccl, comm, rc, "ask for the communicator's rank", err);
    *out = place;
    return REDTUNE_OK;
}

/* ---- communicators of the team's own --------------------------------------------------------- */

redtune_status rdt_nccl_make_id(const rdt_nccl *nccl, rdt_nccl_id *out, redtune_error *err) {
    rdt_nccl_id id;
    nccl_result rc = nccl->call.get_id(&id);
    if (rc) return tell_refusal(nccl, NULL, rc, "make the id of a communicator", err);
    *out = id;
    return REDTUNE_OK;
}

redtune_status rdt_nccl_join(const rdt_nccl *nccl, const rdt_nccl_id *id, int ranks, int rank,
                             struct ncclComm **out, redtune_error *err) {
    struct ncclComm *comm = NULL;
    nccl_result rc = nccl->call.init_rank(&comm, ranks, *id, rank);
    if (rc) return tell_refusal(nccl, NULL, rc, "make a communicator", err);
    *out = comm;
    return REDTUNE_OK;
}

void rdt_nccl_leave(const rdt_nccl *nccl, struct ncclComm *comm, bool lost) {
    if (comm) (lost ? nccl->call.abort : nccl->call.destroy)(comm);
}

/* ---- gathering ------------------------------------------------------------------------------- */

redtune_status rdt_nccl_begin_group(const rdt_nccl *nccl, redtune_error *err) {
    return check_result(nccl, NULL, nccl->call.group_start(), "begin a group", err);
}

redtune_status rdt_nccl_end_group(const rdt_nccl *nccl, redtune_error *err) {
    return check_result(nccl, NULL, nccl->call.group_end(), "gather what the ranks have", err);
}

/* What has no algorithm that could be wrong: a message to each other rank, and one from it. */
static nccl_result exchange(const rdt_nccl *nccl, struct ncclComm *comm, const void *own, char *all,
                            size_t bytes, rdt_nccl_place place, CUstream stream) {
    nccl_result rc = nccl->call.group_start();
    if (rc) return rc;
    for (int i = 0; i < place.ranks && (!rc || rc == NCCL_IN_PROGRESS); i++) {
        if (i == place.rank) continue;
        rc = nccl->call.send(own, bytes, RDT_NCCL_I8, i, comm, stream);
        if (!rc || rc == NCCL_IN_PROGRESS)
            rc = nccl->call.receive(all + (size_t)i * bytes, bytes, RDT_NCCL_I8, i, comm, stream);
    }
    nccl_result ended = nccl->call.group_end();
    return rc && rc != NCCL_IN_PROGRESS ? rc : ended;
}

redtune_status rdt_nccl_gather(const rdt_nccl *nccl, struct ncclComm *comm, CUdeviceptr messages,
                               size_t bytes, rdt_nccl_place place, CUstream stream,
                               redtune_error *err) {
    char *const all = (char *)(uintptr_t)messages;
    const void *const own = all + (size_t)place.rank * bytes;
    nccl_result rc = nccl->one_by_one
                         ? exchange(nccl, comm, own, all, bytes, place, stream)
                         : nccl->call.all_gather(own, all, bytes, RDT_NCCL_I8, comm, stream);
    return check_result(nccl, comm, rc, "gather what the ranks have", err);
}

redtune_status rdt_nccl_reduce(const rdt_nccl *nccl, struct ncclComm *comm,
                               rdt_nccl_reduction reduction, CUdeviceptr values, size_t count,
                               CUstream stream, redtune_error *err) {
    void *const own = (void *)(uintptr_t)values;
    nccl_result rc = nccl->call.all_reduce(own, own, count, (int)reduction.type, (int)reduction.op,
                                           comm, stream);
    return check_result(nccl, comm, rc, "reduce what the ranks have", err);
}

redtune_status rdt_nccl_settle(const rdt_nccl *nccl, struct ncclComm *comm, double limit_s,
                               redtune_error *err) {
    const double start_ns = rdt_clock_ns();
    const struct timespec pause = {.tv_nsec = 100000};
    nccl_result state = NCCL_SUCCESS;
    for (;;) {
        nccl_result rc = nccl->call.async_error(comm, &state);
        rc = rc ? rc : state;
        if (rc != NCCL_IN_PROGRESS)
            return check_result(nccl, comm, rc, "gather what the ranks have", err);
        if (rdt_clock_ns() - start_ns > limit_s * 1e9)
            return rdt_fail(err, REDTUNE_TEAM, NCCL_IN_PROGRESS,
                            "cannot gather what the ranks have: NCCL has not begun after %g "
                            "seconds; see whether every rank runs, or raise wait_s",
                            limit_s);
        nanosleep(&pause, NULL);
    }
}

redtune_status rdt_nccl_check(const rdt_nccl *nccl, struct ncclComm *comm, redtune_error *err) {
    nccl_result state = NCCL_SUCCESS;
    nccl_result rc = nccl->call.async_error(comm, &state);
    return check_result(nccl, comm, rc ? rc : state, "go on with the communicator", err);
}
