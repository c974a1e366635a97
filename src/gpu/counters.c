/* Counters: what kernels did on the simulated GPU, which counts it. */
#include "gpu/counters.h"

#include <stddef.h>
#include "base/library.h"
#include "sim/sim.h"
#include "redtune/tools.h"

/* The fields that have the same name and meaning on both sides. */
#define COUNT_LIST(X)                                                                              \
    X(launches)                                                                                    \
    X(blocks)                                                                                      \
    X(warps)                                                                                       \
    X(warp_instructions)                                                                           \
    X(lane_instructions)                                                                           \
    X(branches)                                                                                    \
    X(divergent_branches)                                                                          \
    X(global_loads)                                                                                \
    X(global_stores)                                                                               \
    X(global_transactions)                                                                         \
    X(global_bytes)                                                                                \
    X(memory_transactions)                                                                         \
    X(shared_requests)                                                                             \
    X(shared_wavefronts)                                                                           \
    X(barriers)                                                                                    \
    X(shuffles)                                                                                    \
    X(atomics)                                                                                     \
    X(fences)                                                                                      \
    X(time_ns)

typedef struct counting {
    void (*total)(struct redtune_sim_counters *out);
} counting;

static const rdt_library_symbol symbols[] = {
    {"redtune_sim_total_counters", offsetof(counting, total), true},
};

redtune_status rdt_counters_read(const rdt_driver *driver, redtune_counters *out,
                                 redtune_error *err) {
    counting functions = {NULL};
    struct redtune_sim_counters total;
    redtune_status status = rdt_library_bind(driver->library, symbols, 1, &functions, err);
    if (status) return status;
    if (!functions.total)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot count what a kernel does on %s: only the simulated GPU counts",
                        rdt_driver_path(driver));
    functions.total(&total);
#define COPY(field) out->field = total.field;
    COUNT_LIST(COPY)
#undef COPY
    return REDTUNE_OK;
}

redtune_counters rdt_counters_between(const redtune_counters *before,
                                      const redtune_counters *after) {
    redtune_counters out;
#define SUBTRACT(field) out.field = after->field - before->field;
    COUNT_LIST(SUBTRACT)
#undef SUBTRACT
    return out;
}
