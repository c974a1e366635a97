/* Workspace: the scratch that launches combine their blocks in. */
#define _POSIX_C_SOURCE 200809L
#include "api/workspace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    STREAM_BUCKETS = 64, /* a power of two */
    /* One for the first stream, one for the first capture. */
    RESERVED_SLABS = 2,
};

/* A stream's handle, the stream that has it now, and that one's slab. Entries are never removed, so
 * that readers need no lock; a handle that is used again for another stream keeps its entry, and
 * readers of the stream before are gone, since its handle is. */
typedef struct stream_entry {
    uintptr_t key;
    _Atomic(unsigned long long) id;
    _Atomic(rdt_slab *) slab; /* written before id is */
    struct stream_entry *next;
} stream_entry;

struct rdt_workspace {
    const rdt_context *context;
    rdt_store *store;
    pthread_mutex_t lock; /* guards the adding and changing of entries */
    _Atomic(stream_entry *) streams[STREAM_BUCKETS];
};

redtune_status rdt_workspace_create(const rdt_context *context, rdt_workspace **out,
                                    redtune_error *err) {
    rdt_workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace) return rdt_fail_memory(err, sizeof *workspace);
    redtune_status status = rdt_store_create(context, &workspace->store, err);
    if (status) {
        free(workspace);
        return status;
    }
    workspace->context = context;
    pthread_mutex_init(&workspace->lock, NULL);
    *out = workspace;
    return REDTUNE_OK;
}

void rdt_workspace_destroy(rdt_workspace *workspace) {
    if (!workspace) return;
    for (int i = 0; i < STREAM_BUCKETS; i++)
        for (stream_entry *entry = workspace->streams[i], *next; entry; entry = next) {
            next = entry->next;
            free(entry);
        }
    rdt_store_destroy(workspace->store);
    pthread_mutex_destroy(&workspace->lock);
    free(workspace);
}

redtune_status rdt_workspace_reserve(rdt_workspace *workspace, redtune_error *err) {
    return rdt_store_reserve(workspace->store, RESERVED_SLABS, err);
}

/* ---- streams ------------------------------------------------------------------------------- */

/* The key of a stream's entry. The per-thread default stream is one handle, but a stream of its own
 * for each thread: there the thread's own address is the key. */
static uintptr_t stream_key(CUstream stream) {
    static _Thread_local char thread;
    return stream == CU_STREAM_PER_THREAD ? (uintptr_t)&thread : (uintptr_t)stream;
}

static _Atomic(stream_entry *) *bucket_of(rdt_workspace *workspace, uintptr_t key) {
    return &workspace->streams[(key >> 4 ^ key >> 10 ^ key >> 16) % STREAM_BUCKETS];
}

static stream_entry *find_stream(rdt_workspace *workspace, uintptr_t key) {
    stream_entry *entry = atomic_load_explicit(bucket_of(workspace, key), memory_order_acquire);
    while (entry && entry->key != key) entry = entry->next;
    return entry;
}

/* Handles are used again, ids are not: a new stream may get the handle of one that was destroyed
 * and whose last launches still run. Drivers before CUDA 12.0 tell no ids. */
static CUresult stream_id(const rdt_driver *driver, CUstream stream, unsigned long long *out) {
    *out = 0;
    return driver->stream_get_id ? driver->stream_get_id(stream, out) : CUDA_SUCCESS;
}

static bool serves(stream_entry *entry, unsigned long long id) {
    return entry && atomic_load_explicit(&entry->id, memory_order_acquire) == id;
}

/* The lock is held. The entry's stream is gone: the handle is another's now. */
static void pass_entry_on(stream_entry *entry, unsigned long long id, rdt_slab *taken) {
    rdt_store_retire(atomic_load_explicit(&entry->slab, memory_order_relaxed));
    atomic_store_explicit(&entry->slab, taken, memory_order_relaxed);
    atomic_store_explicit(&entry->id, id, memory_order_release);
}

/* The stream's first call. */
static redtune_status add_stream(rdt_workspace *workspace, uintptr_t key, unsigned long long id,
                                 rdt_slab **out, redtune_error *err) {
    rdt_slab *taken = NULL;
    stream_entry *fresh = calloc(1, sizeof *fresh);
    if (!fresh) return rdt_fail_memory(err, sizeof *fresh);
    redtune_status status = rdt_store_take(workspace->store, &taken, err);
    if (status) {
        free(fresh);
        return status;
    }
    pthread_mutex_lock(&workspace->lock);
    stream_entry *entry = find_stream(workspace, key);
    if (serves(entry, id)) { /* another thread was faster */
        rdt_store_give_back(taken);
    } else if (entry) {
        pass_entry_on(entry, id, taken);
    } else {
        _Atomic(stream_entry *) *bucket = bucket_of(workspace, key);
        fresh->key = key;
        atomic_init(&fresh->id, id);
        atomic_init(&fresh->slab, taken);
        fresh->next = atomic_load_explicit(bucket, memory_order_relaxed);
        atomic_store_explicit(bucket, fresh, memory_order_release);
        entry = fresh;
        fresh = NULL;
    }
    *out = atomic_load_explicit(&entry->slab, memory_order_relaxed);
    pthread_mutex_unlock(&workspace->lock);
    free(fresh);
    return REDTUNE_OK;
}

/* ---- captures ------------------------------------------------------------------------------ */

/* Where a capture stands: its graph, and the nodes that the next launch will follow. */
typedef struct capture_state {
    CUstreamCaptureStatus status;
    cuuint64_t id;
    CUgraph graph;
    const CUgraphNode *before;
    size_t before_count;
} capture_state;

static redtune_status ask_capture(const rdt_driver *driver, CUstream stream, capture_state *out,
                                  redtune_error *err) {
    *out = (capture_state){.status = CU_STREAM_CAPTURE_STATUS_NONE};
    CUresult rc = driver->stream_capture_info(stream, &out->status, &out->id, &out->graph,
                                              &out->before, &out->before_count);
    if (rc == CUDA_ERROR_LOSSY_QUERY) {
        /* The next launch follows a programmatic event: what it follows can then not be told. */
        out->before_count = 0;
        rc = driver->stream_capture_info(stream, &out->status, &out->id, &out->graph, NULL, NULL);
    }
    return rdt_driver_check(driver, rc, err, "find the graph that is being captured");
}

/* The slab of this capture of this stream, which is taken if there is none yet. The calls captured
 * from one stream follow each other in the graph, so that they share a slab; streams that are
 * joined to the capture have their own. */
static redtune_status get_captured(rdt_workspace *workspace, CUstream stream,
                                   const capture_state *now, rdt_slab **out, redtune_error *err) {
    rdt_slab *found = rdt_store_find(workspace->store, now->id, stream);
    if (!found) {
        redtune_status status = rdt_store_take(workspace->store, &found, err);
        if (!status) status = rdt_store_tie(found, now->graph, now->id, stream, err);
        if (status) return status;
    }
    *out = found;
    return REDTUNE_OK;
}

static bool overlap(rdt_span a, rdt_span b) {
    return a.begin < b.end && b.begin < a.end;
}

static redtune_status begin_captured(rdt_workspace *workspace, CUstream stream, rdt_span input,
                                     rdt_turn *turn, redtune_error *err) {
    capture_state now;
    rdt_slab *held = NULL;
    redtune_status status = ask_capture(workspace->context->driver, stream, &now, err);
    if (!status) status = get_captured(workspace, stream, &now, &held, err);
    if (status) return status;
    bool follows = now.before_count == 1 && held->last && now.before[0] == held->last;
    *turn = (rdt_turn){
        .scratch = held->address,
        .chained = follows && !overlap(input, held->written),
        .captured = held,
    };
    return REDTUNE_OK;
}

redtune_status rdt_workspace_begin(rdt_workspace *workspace, CUstream stream, rdt_span input,
                                   rdt_turn *turn, redtune_error *err) {
    const rdt_driver *driver = workspace->context->driver;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult rc = driver->stream_is_capturing(stream, &capture);
    if (rc) return rdt_driver_check(driver, rc, err, "use the stream");
    if (capture == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return begin_captured(workspace, stream, input, turn, err);
    unsigned long long id;
    rc = stream_id(driver, stream, &id);
    if (rc) return rdt_driver_check(driver, rc, err, "use the stream");
    uintptr_t key = stream_key(stream);
    stream_entry *entry = find_stream(workspace, key);
    rdt_slab *held = NULL;
    if (serves(entry, id)) {
        held = atomic_load_explicit(&entry->slab, memory_order_relaxed);
    } else {
        redtune_status status = add_stream(workspace, key, id, &held, err);
        if (status) return status;
    }
    *turn = (rdt_turn){.scratch = held->address};
    return REDTUNE_OK;
}

void rdt_workspace_end(rdt_workspace *workspace, CUstream stream, rdt_span output,
                       const rdt_turn *turn) {
    rdt_slab *held = turn->captured;
    if (!held) return;
    capture_state now;
    bool known =
        !ask_capture(workspace->context->driver, stream, &now, NULL) && now.before_count == 1;
    held->last = known ? now.before[0] : NULL;
    if (turn->chained) {
        if (held->written.begin < output.begin) output.begin = held->written.begin;
        if (held->written.end > output.end) output.end = held->written.end;
    }
    held->written = output;
}

redtune_status rdt_workspace_is_capturing(rdt_workspace *workspace, CUstream stream,
                                          bool *capturing, redtune_error *err) {
    const rdt_driver *driver = workspace->context->driver;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult rc = driver->stream_is_capturing(stream, &capture);
    if (!rc) *capturing = capture != CU_STREAM_CAPTURE_STATUS_NONE;
    return rdt_driver_check(driver, rc, err, "use the stream");
}
