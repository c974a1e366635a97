/* State: the driver's state. libcuda's functions take no handle for it, so it cannot be passed. */
#include "driver/state.h"

#include <stdlib.h>
#include <string.h>

sim_driver sim_state = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Thread_local sim_caller sim_thread;

void sim_state_handle_put(sim_handle *handle, sim_handle_kind kind) {
    handle->kind = kind;
    handle->next = sim_state.handles;
    sim_state.handles = handle;
}

/* One that is found becomes the first: it is asked for again and again, among thousands. */
bool sim_state_handle_is(const void *handle, sim_handle_kind kind) {
    for (sim_handle **link = &sim_state.handles; *link; link = &(*link)->next) {
        sim_handle *known = *link;
        if (known != handle) continue;
        *link = known->next;
        known->next = sim_state.handles;
        sim_state.handles = known;
        return known->kind == kind;
    }
    return false;
}

void sim_state_handle_drop(sim_handle *handle) {
    sim_handle **link = &sim_state.handles;
    while (*link && *link != handle) link = &(*link)->next;
    if (*link) *link = handle->next;
}
