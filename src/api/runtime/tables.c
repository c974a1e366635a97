/* Tables: scratch for reductions by key whose tables are larger than scratch has room for.
 *
 * There is a workspace for each power of two of bytes behind the usual ones, so that streams and
 * captures have tables of their own as they have scratch, whichever plan runs there. */
#include "api/runtime/tables.h"

#include <inttypes.h>

redtune_status rdt_tables_find(redtune *rt, uint64_t bytes, rdt_workspace **out,
                               redtune_error *err) {
    *out = rt->workspace;
    if (bytes <= RDT_SCRATCH_BYTES) return REDTUNE_OK;
    const int power = 64 - __builtin_clzll(bytes - RDT_SCRATCH_BYTES);
    if (power >= RDT_TABLE_POWERS)
        return rdt_fail(err, REDTUNE_MEMORY, 0,
                        "cannot reduce by key: the table takes %" PRIu64 " bytes", bytes);
    _Atomic(rdt_workspace *) *place = &rt->tables[power];
    rdt_workspace *found = atomic_load_explicit(place, memory_order_acquire), *made = NULL;
    if (!found) {
        const CUstreamCaptureMode mode = rdt_context_relax(rt->context);
        redtune_status status =
            rdt_workspace_create(rt->context, (size_t)1 << power, rt->workspace, &made, err);
        if (!status && !atomic_compare_exchange_strong(place, &found, made))
            rdt_workspace_destroy(made, false);
        else if (!status)
            found = made;
        rdt_context_restore(rt->context, mode);
        if (status) return status;
    }
    *out = found;
    return REDTUNE_OK;
}

redtune_status rdt_tables_reserve(redtune *rt, const rdt_launch *launch, const rdt_keyed *sizes,
                                  redtune_error *err) {
    enum { RESERVED_BYTES_MAX = 1 << 24 };
    const uint64_t bytes = rdt_launch_keyed_bytes(launch, sizes);
    rdt_workspace *workspace = NULL;
    if (bytes > RESERVED_BYTES_MAX) return REDTUNE_OK;
    redtune_status status = rdt_tables_find(rt, bytes, &workspace, err);
    return status || workspace == rt->workspace ? status : rdt_workspace_reserve(workspace, err);
}

void rdt_tables_destroy(redtune *rt, bool lost) {
    for (int i = 0; i < RDT_TABLE_POWERS; i++) rdt_workspace_destroy(rt->tables[i], lost);
}
