/* Workspace: the scratch that launches combine their blocks in.
 *
 * A stream has scratch for the calls of one launch, which its order keeps apart without a lock, and
 * scratch of its own for the calls of two launches: a lock keeps the two together, since another
 * thread's call on the stream would overwrite in between what the second is to read.
 *
 * Within a capture a call uses the scratch of an earlier call of that capture which the graph has
 * it follow, whatever stream either was captured from, or else fresh scratch, tied to the graph.
 * Captured calls take turns under one lock, whichever workspace they use: what the driver tells of
 * a capture holds only until the next call on its stream. */
#define _POSIX_C_SOURCE 200809L
#include "api/runtime/workspace.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    STREAM_BUCKETS = 64, /* a power of two */
    /* One for the first stream, one for the first capture. */
    RESERVED_BLOCKS = 2,
    /* How many of the nodes that a captured call follows are looked at for its scratch, and how
     * many of those that one node follows. Beyond that a call takes scratch of its own. */
    ANCESTORS_MAX = 1024,
    PARENTS_MAX = 32,
};

/* A stream's handle, the stream that has it now, and that one's scratch block. Entries are never
 * removed, so that readers need no lock; a handle that is used again for another stream keeps its
 * entry, and readers of the stream before are gone, since its handle is. */
typedef struct stream_entry {
    uintptr_t key;
    _Atomic(unsigned long long) id;
    _Atomic(rdt_scratch_block *) block; /* written before id is */
    pthread_mutex_t lock;               /* held over a call of two launches */
    struct stream_entry *next;
} stream_entry;

struct rdt_workspace {
    const rdt_context *context;
    rdt_scratch_pool *pool;
    pthread_mutex_t lock; /* guards the adding and changing of entries */
    /* Held over a captured call, and guards what scratch blocks have of captures: own_capturing, or
     * the one of the workspace that this one is beside. */
    pthread_mutex_t *capturing, own_capturing;
    /* For the calls of one launch, and for those of two. */
    _Atomic(stream_entry *) streams[2][STREAM_BUCKETS];
};

redtune_status rdt_workspace_create(const rdt_context *context, size_t more_bytes,
                                    rdt_workspace *beside, rdt_workspace **out,
                                    redtune_error *err) {
    rdt_workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace) return rdt_fail_memory(err, sizeof *workspace);
    redtune_status status = rdt_scratch_pool_create(context, more_bytes, &workspace->pool, err);
    if (status) {
        free(workspace);
        return status;
    }
    workspace->context = context;
    pthread_mutex_init(&workspace->lock, NULL);
    pthread_mutex_init(&workspace->own_capturing, NULL);
    workspace->capturing = beside ? beside->capturing : &workspace->own_capturing;
    *out = workspace;
    return REDTUNE_OK;
}

void rdt_workspace_destroy(rdt_workspace *workspace, bool lost) {
    if (!workspace) return;
    for (int i = 0; i < 2 * STREAM_BUCKETS; i++)
        for (stream_entry *entry = workspace->streams[i % 2][i / 2], *next; entry; entry = next) {
            next = entry->next;
            pthread_mutex_destroy(&entry->lock);
            free(entry);
        }
    rdt_scratch_pool_destroy(workspace->pool, lost);
    pthread_mutex_destroy(&workspace->lock);
    pthread_mutex_destroy(&workspace->own_capturing);
    free(workspace);
}

redtune_status rdt_workspace_reserve(rdt_workspace *workspace, redtune_error *err) {
    return rdt_scratch_pool_reserve(workspace->pool, RESERVED_BLOCKS, err);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The key of a stream's entry. The per-thread default stream is one handle, but a stream of its own
 * for each thread: there the thread's own address is the key. */
static uintptr_t stream_key(CUstream stream) {
    static _Thread_local char thread;
    return stream == CU_STREAM_PER_THREAD ? (uintptr_t)&thread : (uintptr_t)stream;
}

static _Atomic(stream_entry *) *bucket_of(rdt_workspace *workspace, bool two, uintptr_t key) {
    return &workspace->streams[two][(key >> 4 ^ key >> 10 ^ key >> 16) % STREAM_BUCKETS];
}

static stream_entry *find_stream(rdt_workspace *workspace, bool two, uintptr_t key) {
    stream_entry *entry =
        atomic_load_explicit(bucket_of(workspace, two, key), memory_order_acquire);
    while (entry && entry->key != key) entry = entry->next;
    return entry;
}

/* Handles are used again, ids are not: a new stream may get the handle of one that was destroyed
 * and whose last launches still run. Drivers before CUDA 12.0 tell no ids, and the default stream,
 * which most programs work on, is always the same. */
static CUresult stream_id(const rdt_driver *driver, CUstream stream, unsigned long long *out) {
    *out = 0;
    return stream && driver->stream_get_id ? driver->stream_get_id(stream, out) : CUDA_SUCCESS;
}

static bool serves(stream_entry *entry, unsigned long long id) {
    return entry && atomic_load_explicit(&entry->id, memory_order_acquire) == id;
}

/* The lock is held. The entry's stream is gone: the handle is another's now. */
static void pass_entry_on(stream_entry *entry, unsigned long long id, rdt_scratch_block *taken) {
    rdt_scratch_pool_retire(atomic_load_explicit(&entry->block, memory_order_relaxed));
    atomic_store_explicit(&entry->block, taken, memory_order_relaxed);
    atomic_store_explicit(&entry->id, id, memory_order_release);
}

/* The stream's first call. */
static redtune_status add_stream(rdt_workspace *workspace, bool two, uintptr_t key,
                                 unsigned long long id, stream_entry **out, redtune_error *err) {
    rdt_scratch_block *taken = NULL;
    stream_entry *fresh = calloc(1, sizeof *fresh);
    if (!fresh) return rdt_fail_memory(err, sizeof *fresh);
    redtune_status status = rdt_scratch_pool_take(workspace->pool, &taken, err);
    if (status) {
        free(fresh);
        return status;
    }
    pthread_mutex_lock(&workspace->lock);
    stream_entry *entry = find_stream(workspace, two, key);
    if (serves(entry, id)) { /* another thread was faster */
        rdt_scratch_pool_give_back(taken);
    } else if (entry) {
        pass_entry_on(entry, id, taken);
    } else {
        _Atomic(stream_entry *) *bucket = bucket_of(workspace, two, key);
        pthread_mutex_init(&fresh->lock, NULL);
        fresh->key = key;
        atomic_init(&fresh->id, id);
        atomic_init(&fresh->block, taken);
        fresh->next = atomic_load_explicit(bucket, memory_order_relaxed);
        atomic_store_explicit(bucket, fresh, memory_order_release);
        entry = fresh;
        fresh = NULL;
    }
    *out = entry;
    pthread_mutex_unlock(&workspace->lock);
    free(fresh);
    return REDTUNE_OK;
}

/* ---- captures -------------------------------------------------------------------------------- */

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

/* Adds to the nodes seen, which are count, those that the node follows. */
static size_t add_parents(const rdt_driver *driver, CUgraphNode node, CUgraphNode *seen,
                          size_t count) {
    CUgraphNode parents[PARENTS_MAX];
    uint64_t edges[PARENTS_MAX];
    size_t parent_count = PARENTS_MAX;
    CUresult rc = driver->graph_node_edges
                      ? driver->graph_node_edges(node, parents, edges, &parent_count)
                      : driver->graph_node_dependencies(node, parents, &parent_count);
    for (size_t i = 0; !rc && i < parent_count && count < ANCESTORS_MAX; i++) {
        size_t k = 0;
        while (k < count && seen[k] != parents[i]) k++;
        if (k == count) seen[count++] = parents[i];
    }
    return count;
}

/* The scratch block of the nearest launch that the next one follows in the graph; NULL: there is
 * none. Goes back from the nodes before the next launch, one step of the graph at a time. */
static rdt_scratch_block *find_before(rdt_workspace *workspace, const capture_state *now) {
    CUgraphNode seen[ANCESTORS_MAX];
    size_t count = 0, done = 0;
    rdt_scratch_block *found = NULL;
    if (!rdt_scratch_pool_find(workspace->pool, now->id, NULL, 0)) return NULL;
    for (; count < now->before_count && count < ANCESTORS_MAX; count++)
        seen[count] = now->before[count];
    while (done < count && !found) {
        size_t step = count;
        found = rdt_scratch_pool_find(workspace->pool, now->id, seen + done, step - done);
        for (; done < step && !found; done++)
            count = add_parents(workspace->context->driver, seen[done], seen, count);
    }
    return found;
}

static bool is_written(const rdt_scratch_block *block, const rdt_span *span) {
    int i = 0;
    while (i < block->written_count && !rdt_scratch_pool_overlap(&block->written[i], span)) i++;
    return i < block->written_count;
}

static bool reads_written(const rdt_scratch_block *block, const rdt_traffic *traffic) {
    int i = 0;
    while (i < traffic->read_count && !is_written(block, &traffic->read[i])) i++;
    return i < traffic->read_count;
}

/* 0 where they overlap or touch. */
static CUdeviceptr distance(rdt_span a, rdt_span b) {
    if (a.end < b.begin) return b.begin - a.end;
    return b.end < a.begin ? a.begin - b.end : 0;
}

/* Where there is no room, spans are joined: what lies between them then counts as written, too. */
static void add_written(rdt_scratch_block *block, rdt_span output) {
    rdt_span *nearest = NULL;
    for (int i = 0; i < block->written_count; i++) {
        rdt_span *each = &block->written[i];
        if (!nearest || distance(*each, output) < distance(*nearest, output)) nearest = each;
    }
    if (nearest && (!distance(*nearest, output) || block->written_count == RDT_SPANS_MAX)) {
        if (output.begin < nearest->begin) nearest->begin = output.begin;
        if (output.end > nearest->end) nearest->end = output.end;
    } else {
        block->written[block->written_count++] = output;
    }
}

/* A new one, tied to the graph. The lock is open while it is made, which may wait for the GPU. */
static redtune_status take_for_capture(rdt_workspace *workspace, const capture_state *now,
                                       rdt_scratch_block **out, redtune_error *err) {
    rdt_scratch_block *taken = NULL;
    pthread_mutex_unlock(workspace->capturing);
    redtune_status status = rdt_scratch_pool_take(workspace->pool, &taken, err);
    pthread_mutex_lock(workspace->capturing);
    if (!status) status = rdt_scratch_pool_tie(taken, now->graph, now->id, err);
    if (!status) *out = taken;
    return status;
}

/* The lock is held. */
static redtune_status begin_captured(rdt_workspace *workspace, const rdt_call *call, rdt_turn *turn,
                                     redtune_error *err) {
    capture_state now;
    redtune_status status = ask_capture(workspace->context->driver, call->stream, &now, err);
    if (status) return status;
    const CUgraphNode before = now.before_count == 1 ? now.before[0] : NULL;
    rdt_scratch_block *held = find_before(workspace, &now);
    if (!held) status = take_for_capture(workspace, &now, &held, err);
    if (status) return status;
    bool follows = before && held->last == before;
    *turn = (rdt_turn){
        .scratch = held->address,
        .chained = follows && !reads_written(held, call->traffic),
        .captured = held,
        .lock = workspace->capturing,
    };
    return REDTUNE_OK;
}

static void end_captured(rdt_workspace *workspace, const rdt_call *call, const rdt_turn *turn,
                         bool launched) {
    rdt_scratch_block *held = turn->captured;
    capture_state now;
    bool known = launched && !ask_capture(workspace->context->driver, call->stream, &now, NULL) &&
                 now.before_count == 1;
    if (!turn->chained) held->written_count = 0;
    for (int i = 0; i < call->traffic->written_count; i++)
        add_written(held, call->traffic->written[i]);
    held->last = known ? now.before[0] : NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A call that asks about its stream is told of what kernels before it did. */
static redtune_status fail_stream(const rdt_driver *driver, CUresult rc, redtune_error *err) {
    if (rc != CUDA_ERROR_ILLEGAL_ADDRESS)
        return rdt_driver_check(driver, rc, err, "use the stream");
    return rdt_fail(err, REDTUNE_DEVICE, (long)rc,
                    "cannot use the stream: an illegal memory access was encountered "
                    "(CUDA_ERROR_ILLEGAL_ADDRESS), by an earlier kernel; if that was redtune's, it "
                    "was given a pointer to host memory, or to too little: run the program again "
                    "with REDTUNE_CHECK=1, and that call fails and names the pointer");
}

redtune_status rdt_workspace_begin(rdt_workspace *workspace, const rdt_call *call, rdt_turn *turn,
                                   redtune_error *err) {
    const rdt_driver *driver = workspace->context->driver;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult rc = driver->stream_is_capturing(call->stream, &capture);
    if (rc) return fail_stream(driver, rc, err);
    if (capture == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        pthread_mutex_lock(workspace->capturing);
        redtune_status status = begin_captured(workspace, call, turn, err);
        if (status) pthread_mutex_unlock(workspace->capturing);
        return status;
    }
    unsigned long long id;
    rc = stream_id(driver, call->stream, &id);
    if (rc) return fail_stream(driver, rc, err);
    uintptr_t key = stream_key(call->stream);
    stream_entry *entry = find_stream(workspace, call->two_launches, key);
    if (!serves(entry, id)) {
        redtune_status status = add_stream(workspace, call->two_launches, key, id, &entry, err);
        if (status) return status;
    }
    *turn = (rdt_turn){
        .scratch = atomic_load_explicit(&entry->block, memory_order_relaxed)->address,
        .lock = call->two_launches ? &entry->lock : NULL,
    };
    if (turn->lock) pthread_mutex_lock(turn->lock);
    return REDTUNE_OK;
}

void rdt_workspace_end(rdt_workspace *workspace, const rdt_call *call, const rdt_turn *turn,
                       bool launched) {
    if (turn->captured) end_captured(workspace, call, turn, launched);
    if (turn->lock) pthread_mutex_unlock(turn->lock);
}

redtune_status rdt_workspace_is_capturing(rdt_workspace *workspace, CUstream stream,
                                          bool *capturing, redtune_error *err) {
    const rdt_driver *driver = workspace->context->driver;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    bool entered = false;
    redtune_status status = rdt_context_enter(workspace->context, &entered, err);
    if (status) return status;
    CUresult rc = driver->stream_is_capturing(stream, &capture);
    rdt_context_leave(workspace->context, entered);
    if (!rc) *capturing = capture != CU_STREAM_CAPTURE_STATUS_NONE;
    return rc ? fail_stream(driver, rc, err) : REDTUNE_OK;
}
