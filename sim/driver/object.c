/* Object: user objects, destroyed when the last graph that holds them is gone. */
#include "driver/entry.h"
#include "driver/graph.h"

#include <stdlib.h>
#include <string.h>

/* The destructor is the caller's own, and runs with the driver's lock open. */
static void release_object(struct CUuserObject_st *object, unsigned int count) {
    if (object->references > count) {
        object->references -= count;
        return;
    }
    CUhostFn destroy = object->destroy;
    void *ptr = object->ptr;
    sim_state_handle_drop(&object->handle);
    free(object);
    pthread_mutex_unlock(&sim_state.lock);
    bool was_inside = sim_thread.in_callback;
    sim_thread.in_callback = true;
    destroy(ptr);
    sim_thread.in_callback = was_inside;
    pthread_mutex_lock(&sim_state.lock);
}

void sim_object_drop(sim_object_share *shares, size_t count) {
    for (size_t i = 0; i < count; i++) release_object(shares[i].object, shares[i].count);
    free(shares);
}

CUresult sim_object_copy(sim_object_share **out, size_t *out_count, const sim_object_share *from,
                         size_t count) {
    if (!count) return CUDA_SUCCESS;
    *out = malloc(count * sizeof **out);
    if (!*out) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        (*out)[i] = (sim_object_share){from[i].object, 1};
        from[i].object->references++;
    }
    *out_count = count;
    return CUDA_SUCCESS;
}

/* An object that outlives every context was never given back: its owner's destructors do not run.
 */
void sim_object_destroy_all(void) {
    sim_handle *handle = sim_state.handles;
    while (handle) {
        sim_handle *next = handle->next;
        if (handle->kind == SIM_HANDLE_USER_OBJECT) {
            sim_state_handle_drop(handle);
            free(handle);
        }
        handle = next;
    }
}

static CUresult create(CUuserObject *out, void *ptr, CUhostFn destroy, unsigned int count,
                       unsigned int flags) {
    bool sane = out && destroy && count && flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
    if (!sane) return CUDA_ERROR_INVALID_VALUE;
    struct CUuserObject_st *object = calloc(1, sizeof *object);
    if (!object) return CUDA_ERROR_OUT_OF_MEMORY;
    object->ptr = ptr;
    object->destroy = destroy;
    object->references = count;
    sim_state_handle_put(&object->handle, SIM_HANDLE_USER_OBJECT);
    *out = object;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectCreate(CUuserObject *out, void *ptr, CUhostFn destroy, unsigned int count,
                            unsigned int flags) {
    SIM_ENTRY(create(out, ptr, destroy, count, flags));
}

static bool is_object(CUuserObject object) {
    return sim_state_handle_is(object, SIM_HANDLE_USER_OBJECT);
}

static CUresult retain(CUuserObject object, unsigned int count) {
    if (!is_object(object) || !count) return CUDA_ERROR_INVALID_VALUE;
    object->references += count;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
    SIM_ENTRY(retain(object, count));
}

static CUresult release(CUuserObject object, unsigned int count) {
    if (!is_object(object) || !count) return CUDA_ERROR_INVALID_VALUE;
    release_object(object, count);
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
    SIM_ENTRY(release(object, count));
}

static CUresult graph_retain(CUgraph graph, CUuserObject object, unsigned int count,
                             unsigned int flags) {
    bool sane = sim_state_handle_is(graph, SIM_HANDLE_GRAPH) && is_object(object) && count &&
                (flags & ~(unsigned int)CU_GRAPH_USER_OBJECT_MOVE) == 0;
    if (!sane) return CUDA_ERROR_INVALID_VALUE;
    sim_object_share *shares = realloc(graph->shares, (graph->share_count + 1) * sizeof *shares);
    if (!shares) return CUDA_ERROR_OUT_OF_MEMORY;
    graph->shares = shares;
    shares[graph->share_count++] = (sim_object_share){object, count};
    bool moves = flags & CU_GRAPH_USER_OBJECT_MOVE; /* the caller's references become the graph's */
    if (!moves) object->references += count;
    return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags) {
    SIM_ENTRY(graph_retain(graph, object, count, flags));
}

static CUresult graph_release(CUgraph graph, CUuserObject object, unsigned int count) {
    bool sane = sim_state_handle_is(graph, SIM_HANDLE_GRAPH) && is_object(object) && count;
    if (!sane) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->share_count; i++) {
        sim_object_share *share = &graph->shares[i];
        if (share->object != object || share->count < count) continue;
        share->count -= count;
        if (!share->count) {
            memmove(share, share + 1, (graph->share_count - i - 1) * sizeof *share);
            graph->share_count--;
        }
        release_object(object, count);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
    SIM_ENTRY(graph_release(graph, object, count));
}
