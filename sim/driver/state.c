/* Owns the driver's state: libcuda's functions take no handle for it, so it cannot be passed. */
#include "driver/state.h"

#include <stdlib.h>
#include <string.h>

struct sim_state sim_state = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Thread_local struct sim_thread sim_thread;

void sim_handle_put(struct sim_handle *handle, enum sim_handle_kind kind) {
    handle->kind = kind;
    handle->next = sim_state.handles;
    sim_state.handles = handle;
}

bool sim_handle_is(const void *handle, enum sim_handle_kind kind) {
    for (const struct sim_handle *known = sim_state.handles; known; known = known->next) {
        if (known == handle) return known->kind == kind;
    }
    return false;
}

void sim_handle_drop(struct sim_handle *handle) {
    struct sim_handle **link = &sim_state.handles;
    while (*link && *link != handle) link = &(*link)->next;
    if (*link) *link = handle->next;
}
