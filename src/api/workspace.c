/* Workspace: the scratch that launches combine their blocks in. */
#define _POSIX_C_SOURCE 200809L
#include "api/workspace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "model/launch.h"

/* One piece of scratch, its counters and words zero unless a launch is using it. */
typedef struct rdt_captured {
    CUdeviceptr address;
    cuuint64_t capture; /* of the stream that it was taken for; 0: none */
    CUstream stream;
    CUgraphNode last; /* the node of the launch before in that capture */
    rdt_span written; /* by the launches that may still run when the next one starts */
    struct rdt_captured *next_made; /* every slab there is */
    struct rdt_captured *next_free;
    struct store *store;
} slab;

/* The slabs. Outlives the workspace while graphs hold slabs: their destructors run whenever the
 * graphs end, and put a slab back without calling CUDA, which a destructor must not. */
typedef struct store {
    pthread_mutex_t lock;
    slab *made, *free;
    int holders; /* the workspace, and each slab in a graph */
} store;

/* A stream and its slab; entries are never removed, so that readers need no lock. */
typedef struct stream_entry {
    uintptr_t key;
    slab *slab;
    struct stream_entry *next;
} stream_entry;

struct rdt_workspace {
    const rdt_context *context;
    CUstream stream; /* for clearing new slabs */
    store *store;
    _Atomic(stream_entry *) first;
};

/* Drops one holder; the lock is held and is released. The slabs' host memory goes with the last. */
static void release_store(store *slabs) {
    bool last = --slabs->holders == 0;
    pthread_mutex_unlock(&slabs->lock);
    if (!last) return;
    for (slab *each = slabs->made, *next; each; each = next) {
        next = each->next_made;
        free(each);
    }
    pthread_mutex_destroy(&slabs->lock);
    free(slabs);
}

redtune_status rdt_workspace_create(const rdt_context *context, rdt_workspace **out,
                                    redtune_error *err) {
    rdt_workspace *workspace = calloc(1, sizeof *workspace);
    store *slabs = calloc(1, sizeof *slabs);
    redtune_status status = REDTUNE_OK;
    if (!workspace || !slabs) status = rdt_fail_memory(err, sizeof *workspace);
    if (!status) status = rdt_stream_create(context->driver, &workspace->stream, err);
    if (status) {
        free(slabs);
        free(workspace);
        return status;
    }
    pthread_mutex_init(&slabs->lock, NULL);
    slabs->holders = 1;
    workspace->context = context;
    workspace->store = slabs;
    *out = workspace;
    return REDTUNE_OK;
}

void rdt_workspace_destroy(rdt_workspace *workspace) {
    if (!workspace) return;
    const rdt_driver *driver = workspace->context->driver;
    for (stream_entry *entry = workspace->first, *next; entry; entry = next) {
        next = entry->next;
        free(entry);
    }
    rdt_stream_destroy(driver, workspace->stream);
    /* No slab is made any more, and a destructor does not touch next_made. */
    for (slab *each = workspace->store->made; each; each = each->next_made)
        driver->mem_free(each->address);
    pthread_mutex_lock(&workspace->store->lock);
    release_store(workspace->store);
    free(workspace);
}

/* Allocates and clears device memory. Legal while any stream is being captured: nothing here
 * touches a captured stream, and relaxed mode says so to the driver. */
static CUresult allocate(rdt_workspace *workspace, CUdeviceptr *out) {
    const rdt_driver *driver = workspace->context->driver;
    const size_t bytes = RDT_SCRATCH_BYTES;
    CUdeviceptr address = 0;
    CUresult rc = driver->mem_alloc(&address, bytes);
    if (rc) return rc;
    rc = driver->memset_d8_async(address, 0, bytes, workspace->stream);
    if (!rc) rc = driver->stream_synchronize(workspace->stream);
    if (rc)
        driver->mem_free(address);
    else
        *out = address;
    return rc;
}

/* The lock guards lists only and is never held over a call of CUDA's: a destructor, which CUDA may
 * run at any time on any thread, takes it, too. */
static redtune_status make_slab(rdt_workspace *workspace, slab **out, redtune_error *err) {
    const rdt_context *context = workspace->context;
    slab *made = calloc(1, sizeof *made);
    if (!made) return rdt_fail_memory(err, sizeof *made);
    CUstreamCaptureMode mode = rdt_context_relax(context);
    CUresult rc = allocate(workspace, &made->address);
    rdt_context_restore(context, mode);
    if (rc) {
        free(made);
        return rdt_driver_check(context->driver, rc, err, "allocate %zu bytes of scratch",
                                (size_t)RDT_SCRATCH_BYTES);
    }
    made->store = workspace->store;
    pthread_mutex_lock(&workspace->store->lock);
    made->next_made = workspace->store->made;
    workspace->store->made = made;
    pthread_mutex_unlock(&workspace->store->lock);
    *out = made;
    return REDTUNE_OK;
}

/* A free slab, or a new one. */
static redtune_status take_slab(rdt_workspace *workspace, slab **out, redtune_error *err) {
    store *slabs = workspace->store;
    pthread_mutex_lock(&slabs->lock);
    slab *taken = slabs->free;
    if (taken) slabs->free = taken->next_free;
    pthread_mutex_unlock(&slabs->lock);
    if (!taken) return make_slab(workspace, out, err);
    *out = taken;
    return REDTUNE_OK;
}

/* The lock is held. */
static void put_on_free(slab *unused) {
    unused->next_free = unused->store->free;
    unused->store->free = unused;
}

/* The key of a stream's scratch. The per-thread default stream is one handle, but a stream of its
 * own for each thread: there the thread's own address is the key. */
static uintptr_t stream_key(CUstream stream) {
    static _Thread_local char thread;
    return stream == CU_STREAM_PER_THREAD ? (uintptr_t)&thread : (uintptr_t)stream;
}

static slab *find_stream(rdt_workspace *workspace, uintptr_t key) {
    stream_entry *entry = atomic_load_explicit(&workspace->first, memory_order_acquire);
    for (; entry; entry = entry->next)
        if (entry->key == key) return entry->slab;
    return NULL;
}

static redtune_status add_stream(rdt_workspace *workspace, uintptr_t key, slab **out,
                                 redtune_error *err) {
    slab *taken = NULL;
    stream_entry *entry = calloc(1, sizeof *entry);
    if (!entry) return rdt_fail_memory(err, sizeof *entry);
    redtune_status status = take_slab(workspace, &taken, err);
    if (status) {
        free(entry);
        return status;
    }
    pthread_mutex_lock(&workspace->store->lock);
    slab *found = find_stream(workspace, key); /* another thread may have been faster */
    if (found) {
        put_on_free(taken);
        free(entry);
    } else {
        *entry = (stream_entry){.key = key, .slab = taken, .next = workspace->first};
        atomic_store_explicit(&workspace->first, entry, memory_order_release);
    }
    pthread_mutex_unlock(&workspace->store->lock);
    *out = found ? found : taken;
    return REDTUNE_OK;
}

/* The graph that held the slab is gone. */
static void CUDA_CB put_back(void *user) {
    slab *held = user;
    store *slabs = held->store;
    pthread_mutex_lock(&slabs->lock);
    held->capture = 0;
    held->last = NULL;
    put_on_free(held);
    release_store(slabs);
}

/* Ties the slab to the graph: it is put back when the graph and all that was made of it are gone.
 */
static redtune_status tie_to_graph(const rdt_driver *driver, slab *taken, CUgraph graph,
                                   redtune_error *err) {
    CUuserObject object = NULL;
    CUresult rc =
        driver->user_object_create(&object, taken, put_back, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (rc) {
        put_back(taken);
        return rdt_driver_check(driver, rc, err, "tie scratch to a graph");
    }
    rc = driver->graph_retain_user_object(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (rc) {
        driver->user_object_release(object, 1); /* calls put_back */
        return rdt_driver_check(driver, rc, err, "tie scratch to a graph");
    }
    return REDTUNE_OK;
}

/* The slab of this capture of this stream, if it has one. The lock is held. */
static slab *find_captured(const store *slabs, cuuint64_t capture, CUstream stream) {
    for (slab *each = slabs->made; each; each = each->next_made)
        if (each->capture == capture && each->stream == stream) return each;
    return NULL;
}

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
                                   const capture_state *now, slab **out, redtune_error *err) {
    store *slabs = workspace->store;
    pthread_mutex_lock(&slabs->lock);
    slab *found = find_captured(slabs, now->id, stream), *taken = NULL;
    pthread_mutex_unlock(&slabs->lock);
    if (!found) {
        redtune_status status = take_slab(workspace, &taken, err);
        if (status) return status;
        pthread_mutex_lock(&slabs->lock);
        slabs->holders++;
        taken->capture = now->id;
        taken->stream = stream;
        pthread_mutex_unlock(&slabs->lock);
        status = tie_to_graph(workspace->context->driver, taken, now->graph, err);
        if (status) return status;
    }
    *out = found ? found : taken;
    return REDTUNE_OK;
}

static bool overlap(rdt_span a, rdt_span b) {
    return a.begin < b.end && b.begin < a.end;
}

static redtune_status begin_captured(rdt_workspace *workspace, CUstream stream, rdt_span input,
                                     rdt_turn *turn, redtune_error *err) {
    capture_state now;
    slab *held = NULL;
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
    uintptr_t key = stream_key(stream);
    slab *found = find_stream(workspace, key);
    if (!found) {
        redtune_status status = add_stream(workspace, key, &found, err);
        if (status) return status;
    }
    *turn = (rdt_turn){.scratch = found->address};
    return REDTUNE_OK;
}

void rdt_workspace_end(rdt_workspace *workspace, CUstream stream, rdt_span output,
                       const rdt_turn *turn) {
    slab *held = turn->captured;
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
