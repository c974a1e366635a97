/* Scratch pool: the scratch blocks of one workspace, and which of them are free.
 *
 * Every block is on the list of made ones, and at most on one of two others: free, or retired (its
 * stream is gone, its last launch may still run). Retired blocks are freed 16 at a time, because
 * freeing waits for the GPU. A block that a graph holds is on neither list: a CUDA user object
 * puts it back when the graph and all that was made of it are gone. That may be after
 * redtune_close, so the pool counts its holders and the last one frees it. */
#define _POSIX_C_SOURCE 200809L
#include "api/runtime/scratch_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include "gpu/stream.h"
#include "model/launch.h"

/* Blocks that are freed together. */
enum { RETIRED_MAX = 16, RETIRED_BYTES = 64 << 20 };

/* The lock guards the lists, and is never held over a call of CUDA's: a user object's destructor
 * takes it too, and must not call CUDA. */
struct rdt_scratch_pool {
    const rdt_context *context;
    size_t bytes;    /* of a block */
    CUstream stream; /* for clearing new scratch blocks */
    pthread_mutex_t lock;
    rdt_scratch_block *made, *free, *retired;
    int free_count, retired_count;
    int holders; /* the workspace, and each scratch block in a graph */
};

redtune_status rdt_scratch_pool_create(const rdt_context *context, size_t more_bytes,
                                       rdt_scratch_pool **out, redtune_error *err) {
    rdt_scratch_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return rdt_fail_memory(err, sizeof *pool);
    redtune_status status = rdt_stream_create(context->driver, &pool->stream, err);
    if (status) {
        free(pool);
        return status;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pool->context = context;
    pool->bytes = RDT_SCRATCH_BYTES + more_bytes;
    pool->holders = 1;
    *out = pool;
    return REDTUNE_OK;
}

/* Drops one holder; the lock is held and is released. The scratch blocks' host memory goes with the
 * last. */
static void release(rdt_scratch_pool *pool) {
    bool last = --pool->holders == 0;
    pthread_mutex_unlock(&pool->lock);
    if (!last) return;
    for (rdt_scratch_block *each = pool->made, *next; each; each = next) {
        next = each->next_made;
        free(each);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void rdt_scratch_pool_destroy(rdt_scratch_pool *pool, bool lost) {
    if (!pool) return;
    const rdt_driver *driver = pool->context->driver;
    if (!lost) rdt_stream_destroy(driver, pool->stream);
    /* No scratch block is made any more, and a destructor does not touch next_made. */
    for (rdt_scratch_block *each = pool->made; each && !lost; each = each->next_made)
        driver->mem_free(each->address);
    pthread_mutex_lock(&pool->lock);
    release(pool);
}

/* ---- making and freeing ---------------------------------------------------------------------- */

/* Allocates and clears device memory. Legal while any stream is being captured: nothing here
 * touches a captured stream, and relaxed mode says so to the driver. */
static CUresult allocate(const rdt_scratch_pool *pool, CUdeviceptr *out) {
    const rdt_driver *driver = pool->context->driver;
    const size_t bytes = pool->bytes;
    CUdeviceptr address = 0;
    CUresult rc = driver->mem_alloc(&address, bytes);
    if (rc) return rc;
    rc = driver->memset_d8_async(address, 0, bytes, pool->stream);
    if (!rc) rc = driver->stream_synchronize(pool->stream);
    if (rc)
        driver->mem_free(address);
    else
        *out = address;
    return rc;
}

/* Frees the retired blocks once their list is full; that waits for the launches that use them. */
static void free_retired(rdt_scratch_pool *pool) {
    rdt_scratch_block *unlinked = NULL;
    pthread_mutex_lock(&pool->lock);
    if (pool->retired_count >= RETIRED_MAX || pool->retired_count * pool->bytes > RETIRED_BYTES) {
        unlinked = pool->retired;
        pool->retired = NULL;
        pool->retired_count = 0;
    }
    for (rdt_scratch_block *each = unlinked; each; each = each->next) {
        rdt_scratch_block **link = &pool->made;
        while (*link != each) link = &(*link)->next_made;
        *link = each->next_made;
    }
    pthread_mutex_unlock(&pool->lock);
    for (rdt_scratch_block *each = unlinked, *next; each; each = next) {
        next = each->next;
        pool->context->driver->mem_free(each->address);
        free(each);
    }
}

static redtune_status make(rdt_scratch_pool *pool, rdt_scratch_block **out, redtune_error *err) {
    rdt_scratch_block *made = calloc(1, sizeof *made);
    if (!made) return rdt_fail_memory(err, sizeof *made);
    CUstreamCaptureMode mode = rdt_context_relax(pool->context);
    free_retired(pool);
    CUresult rc = allocate(pool, &made->address);
    rdt_context_restore(pool->context, mode);
    if (rc) {
        free(made);
        return rdt_driver_check(pool->context->driver, rc, err, "allocate %zu bytes of scratch",
                                pool->bytes);
    }
    made->pool = pool;
    pthread_mutex_lock(&pool->lock);
    made->next_made = pool->made;
    pool->made = made;
    pthread_mutex_unlock(&pool->lock);
    *out = made;
    return REDTUNE_OK;
}

/* ---- taking and giving back ------------------------------------------------------------------ */

/* The lock is held. */
static void put_on_free(rdt_scratch_block *unused) {
    unused->next = unused->pool->free;
    unused->pool->free = unused;
    unused->pool->free_count++;
}

void rdt_scratch_pool_give_back(rdt_scratch_block *block) {
    pthread_mutex_lock(&block->pool->lock);
    put_on_free(block);
    pthread_mutex_unlock(&block->pool->lock);
}

void rdt_scratch_pool_retire(rdt_scratch_block *block) {
    rdt_scratch_pool *pool = block->pool;
    pthread_mutex_lock(&pool->lock);
    block->next = pool->retired;
    pool->retired = block;
    pool->retired_count++;
    pthread_mutex_unlock(&pool->lock);
}

redtune_status rdt_scratch_pool_take(rdt_scratch_pool *pool, rdt_scratch_block **out,
                                     redtune_error *err) {
    pthread_mutex_lock(&pool->lock);
    rdt_scratch_block *taken = pool->free;
    if (taken) {
        pool->free = taken->next;
        pool->free_count--;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!taken) return make(pool, out, err);
    *out = taken;
    return REDTUNE_OK;
}

redtune_status rdt_scratch_pool_reserve(rdt_scratch_pool *pool, int count, redtune_error *err) {
    for (;;) {
        pthread_mutex_lock(&pool->lock);
        bool enough = pool->free_count >= count;
        pthread_mutex_unlock(&pool->lock);
        if (enough) return REDTUNE_OK;
        rdt_scratch_block *made = NULL;
        redtune_status status = make(pool, &made, err);
        if (status) return status;
        rdt_scratch_pool_give_back(made);
    }
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* The graph that held the scratch block is gone. */
static void CUDA_CB put_back(void *user) {
    rdt_scratch_block *held = user;
    rdt_scratch_pool *pool = held->pool;
    pthread_mutex_lock(&pool->lock);
    held->capture = 0;
    put_on_free(held);
    release(pool);
}

redtune_status rdt_scratch_pool_tie(rdt_scratch_block *block, CUgraph graph, cuuint64_t capture,
                                    redtune_error *err) {
    rdt_scratch_pool *pool = block->pool;
    const rdt_driver *driver = pool->context->driver;
    pthread_mutex_lock(&pool->lock);
    pool->holders++;
    block->capture = capture;
    block->last = NULL;
    block->written_count = 0;
    pthread_mutex_unlock(&pool->lock);
    CUuserObject object = NULL;
    CUresult rc =
        driver->user_object_create(&object, block, put_back, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (rc) {
        put_back(block);
    } else {
        rc = driver->graph_retain_user_object(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
        if (rc) driver->user_object_release(object, 1); /* calls put_back */
    }
    return rdt_driver_check(driver, rc, err, "tie scratch to a graph");
}

static bool is_among(const CUgraphNode *nodes, size_t count, CUgraphNode node) {
    size_t i = 0;
    while (i < count && nodes[i] != node) i++;
    return i < count;
}

rdt_scratch_block *rdt_scratch_pool_find(rdt_scratch_pool *pool, cuuint64_t capture,
                                         const CUgraphNode *nodes, size_t count) {
    pthread_mutex_lock(&pool->lock);
    rdt_scratch_block *each = pool->made;
    while (each && !(each->capture == capture && each->last &&
                     (!nodes || is_among(nodes, count, each->last))))
        each = each->next_made;
    pthread_mutex_unlock(&pool->lock);
    return each;
}
