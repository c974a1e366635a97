/* Crew: the ranks of a team on the GPUs of this process, for tests. */
#define _GNU_SOURCE
#include "crew.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/fail.h"

enum { OUTPUT_BYTES = CREW_RESULTS_MAX * 8 };

typedef int init_fn(struct ncclComm **comms, int count, const int *devices);
typedef int init_rank_fn(struct ncclComm **comm, int ranks, crew_id id, int rank);
typedef int id_fn(crew_id *out);
typedef int destroy_fn(struct ncclComm *comm);

/* On that GPU, with redtune's own configurations, or those of $RDT_TEST_DATABASE. */
static redtune_status open_rank(crew *self, int i, int gpu, size_t input_bytes,
                                redtune_error *err) {
    crew_rank *rank = &self->rank[i];
    const char *database = getenv("RDT_TEST_DATABASE");
    char name[16];
    bool entered = false;
    snprintf(name, sizeof name, "%d", gpu);
    const redtune_options options = {.device = name,
                                     .database = database ? database : "/nowhere/at/all.db"};
    redtune_status status = rdt_context_open(name, &rank->context, err);
    if (!status) status = redtune_open(&options, &rank->rt, err);
    if (!status) status = rdt_context_enter(rank->context, &entered, err);
    if (status) return status;
    rank->driver = rank->context->driver;
    status = rdt_stream_create(rank->driver, &rank->stream, err);
    for (int k = 0; !status && k < 2; k++) {
        status = rdt_buffer_create(rank->driver, input_bytes, &rank->input[k], err);
        if (!status) status = rdt_buffer_create(rank->driver, OUTPUT_BYTES, &rank->output[k], err);
    }
    rdt_context_leave(rank->context, entered);
    return status;
}

/* dlsym gives a pointer to data. */
static void find(const crew *self, const char *name, void *function) {
    *(void **)function = dlsym(self->nccl, name);
}

static redtune_status load_nccl(crew *self, redtune_error *err) {
    const char *file = getenv("REDTUNE_NCCL");
    self->nccl = dlopen(file ? file : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    return self->nccl ? REDTUNE_OK : rdt_fail(err, REDTUNE_LIBRARY, 0, "no NCCL: %s", dlerror());
}

static redtune_status check_nccl(int rc, redtune_error *err) {
    if (!rc) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_LIBRARY, rc, "cannot make communicators: NCCL gives %d", rc);
}

static redtune_status make_communicators(crew *self, redtune_error *err) {
    struct ncclComm *comms[CREW_MAX] = {NULL};
    init_fn *init = NULL;
    redtune_status status = load_nccl(self, err);
    if (status) return status;
    find(self, "ncclCommInitAll", &init);
    int rc = init ? init(comms, self->size, NULL) : -1;
    for (int i = 0; i < self->size; i++) self->rank[i].comm = comms[i];
    return check_nccl(rc, err);
}

redtune_status crew_open(int most, size_t input_bytes, crew *out, redtune_error *err) {
    int count = 0;
    *out = (crew){.size = 0};
    redtune_status status = redtune_device_count(&count, err);
    if (status) return status;
    out->size = count < most ? count : most;
    for (int i = 0; !status && i < out->size; i++) status = open_rank(out, i, i, input_bytes, err);
    if (!status) status = make_communicators(out, err);
    for (int i = 0; !status && i < out->size; i++)
        status =
            redtune_team_create(out->rank[i].rt, out->rank[i].comm, NULL, &out->rank[i].team, err);
    if (status) crew_close(out);
    return status;
}

redtune_status crew_make_id(crew_id *out, redtune_error *err) {
    crew self = {.size = 0};
    id_fn *make = NULL;
    redtune_status status = load_nccl(&self, err);
    if (status) return status;
    find(&self, "ncclGetUniqueId", &make);
    return check_nccl(make ? make(out) : -1, err);
}

redtune_status crew_open_rank(int ranks, int rank, const crew_id *id, size_t input_bytes, crew *out,
                              redtune_error *err) {
    init_rank_fn *init = NULL;
    bool entered = false;
    *out = (crew){.size = 1};
    redtune_status status = open_rank(out, 0, rank, input_bytes, err);
    if (!status) status = load_nccl(out, err);
    if (!status) status = rdt_context_enter(out->rank[0].context, &entered, err);
    if (!status) {
        find(out, "ncclCommInitRank", &init);
        status = check_nccl(init ? init(&out->rank[0].comm, ranks, *id, rank) : -1, err);
        rdt_context_leave(out->rank[0].context, entered);
    }
    crew_rank *own = &out->rank[0];
    if (!status) status = redtune_team_create(own->rt, own->comm, NULL, &own->team, err);
    if (status) crew_close(out);
    return status;
}

static void close_rank(crew_rank *rank) {
    bool entered = false;
    redtune_team_destroy(rank->team);
    if (rank->driver && !rdt_context_enter(rank->context, &entered, NULL)) {
        for (int k = 0; k < 2; k++) {
            rdt_buffer_destroy(&rank->input[k]);
            rdt_buffer_destroy(&rank->output[k]);
        }
        rdt_stream_destroy(rank->driver, rank->stream);
        rdt_context_leave(rank->context, entered);
    }
    redtune_close(rank->rt);
    rdt_context_close(rank->context);
}

void crew_close(crew *self) {
    destroy_fn *destroy = NULL;
    for (int i = 0; i < self->size; i++) close_rank(&self->rank[i]);
    if (self->nccl) find(self, "ncclCommDestroy", &destroy);
    for (int i = 0; destroy && i < self->size; i++)
        if (self->rank[i].comm) destroy(self->rank[i].comm);
    *self = (crew){.size = 0};
}

redtune_status crew_write(crew *self, int i, CUdeviceptr to, const void *from, size_t bytes,
                          redtune_error *err) {
    crew_rank *rank = &self->rank[i];
    bool entered = false;
    redtune_status status = rdt_context_enter(rank->context, &entered, err);
    if (!status) status = rdt_buffer_write(rank->driver, to, from, bytes, rank->stream, err);
    rdt_context_leave(rank->context, entered);
    return status;
}

redtune_status crew_read(crew *self, int i, void *to, CUdeviceptr from, size_t bytes,
                         redtune_error *err) {
    crew_rank *rank = &self->rank[i];
    bool entered = false;
    redtune_status status = rdt_context_enter(rank->context, &entered, err);
    if (!status) status = rdt_buffer_read(rank->driver, to, from, bytes, rank->stream, err);
    rdt_context_leave(rank->context, entered);
    return status;
}

redtune_status crew_change_room(crew *self, uint64_t results, redtune_error *err) {
    const redtune_team_options options = {.results = results};
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < self->size; i++) {
        crew_rank *rank = &self->rank[i];
        if (results) {
            rank->usual = rank->team;
            status = redtune_team_create(rank->rt, rank->comm, &options, &rank->team, err);
        } else {
            redtune_team_destroy(rank->team);
            rank->team = rank->usual;
        }
    }
    return status;
}
