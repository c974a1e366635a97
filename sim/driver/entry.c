/* Entry: the table of entry points, and the gate that every call passes.
 *
 * The gate takes the one lock of the driver, counts the call, applies the faults that were asked
 * for, and checks the call's needs: an initialised driver, a current context without a sticky
 * error, no unsafe call during a capture. What lies behind it is single-threaded. */
#include "driver/entry.h"

#include "driver/state.h"

#include <string.h>

static const struct sim_need_info {
    bool init, context, sync, safe;
} needs[] = {
    [SIM_NEED_NOTHING] = {false, false, false, false},
    [SIM_NEED_INIT] = {true, false, false, false},
    [SIM_NEED_CONTEXT] = {true, true, false, false},
    [SIM_NEED_SYNC] = {true, true, true, false},
    [SIM_NEED_SAFE] = {true, true, false, true},
    [SIM_NEED_SAFE_SYNC] = {true, true, true, true},
};

const sim_entry sim_entry_table[] = {
#define X(base, symbol, version, need)                                                             \
    {#base, #symbol, (void (*)(void))symbol, version, SIM_NEED_##need},
    SIM_ENTRY_LIST(X)
#undef X
};

const uint32_t sim_entry_count = sizeof sim_entry_table / sizeof *sim_entry_table;

_Static_assert(sizeof sim_entry_table / sizeof *sim_entry_table <=
                   sizeof sim_state.calls_by_entry / sizeof *sim_state.calls_by_entry,
               "a count for every entry point");

/* The same name stands in the table twice where cuGetProcAddress knows it by two. */
static uint32_t find_entry(const char *symbol) {
    uint32_t i = 0;
    while (i < sim_entry_count && strcmp(sim_entry_table[i].symbol, symbol) != 0) i++;
    return i;
}

static CUresult check_context(const struct sim_need_info *need, const char *base) {
    struct CUctx_st *context = sim_context_current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (need->sync) sim_late_run();
    if (need->sync && sim_state.is_hung) {
        bool asks = strstr(base, "Query") != NULL;
        if (asks) return CUDA_ERROR_NOT_READY;
        if (strcmp(base, "cuEventElapsedTime") == 0) return CUDA_ERROR_NOT_READY;
        CUresult rc = sim_stream_hang();
        if (rc != CUDA_SUCCESS) return rc;
    }
    if (need->sync && context->pending) context->sticky = context->pending;
    if (context->sticky) return context->sticky;
    return need->safe ? sim_capture_check_unsafe() : CUDA_SUCCESS;
}

/* A driver that was started does not survive a fork, as libcuda: another thread may have held the
 * lock, whose copy nobody gives back, and left the state half changed. */
static void leave_to_parent(void) {
    pthread_mutex_init(&sim_state.lock, NULL);
    sim_state.is_forked = sim_state.is_forked || sim_state.is_initialised;
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, leave_to_parent);
}

/* An entry point may stand in the table by two names. */
static bool is_named(const sim_entry *entry, const char *name) {
    for (uint32_t i = 0; i < sim_entry_count; i++) {
        bool same = strcmp(sim_entry_table[i].symbol, entry->symbol) == 0;
        if (same && strcmp(sim_entry_table[i].base, name) == 0) return true;
    }
    return false;
}

/* The error that a call of the entry has to fail with; CUDA_SUCCESS: none. */
static CUresult find_fault(const sim_entry *entry, uint64_t calls_of_it, bool *is_sticky) {
    for (uint32_t i = 0; i < sim_state.config.fail_count; i++) {
        const sim_rule *rule = &sim_state.config.fails[i];
        bool any = strcmp(rule->name, "*") == 0;
        if (!any && !is_named(entry, rule->name)) continue;
        uint64_t number = any ? sim_state.calls : calls_of_it;
        bool hits = rule->mode == SIM_RULE_ON ? number >= rule->number : number == rule->number;
        if (!hits) continue;
        *is_sticky = rule->mode == SIM_RULE_STICKY;
        return rule->error;
    }
    return CUDA_SUCCESS;
}

CUresult sim_entry_enter(const char *symbol) {
    pthread_mutex_lock(&sim_state.lock);
    if (sim_state.is_forked) return CUDA_ERROR_NOT_INITIALIZED;
    if (sim_thread.in_callback) return CUDA_ERROR_NOT_PERMITTED;
    if (!sim_state.is_configured) {
        sim_config_read(&sim_state.config);
        sim_state.is_configured = true;
    }
    uint32_t index = find_entry(symbol);
    const sim_entry *entry = &sim_entry_table[index];
    const struct sim_need_info *need = &needs[entry->need];
    sim_state.calls++;
    sim_state.calls_by_entry[index]++;
    bool is_sticky = false;
    uint64_t calls_of_base = 0;
    for (uint32_t i = 0; i < sim_entry_count; i++) {
        if (strcmp(sim_entry_table[i].base, entry->base) != 0) continue;
        calls_of_base += sim_state.calls_by_entry[i];
    }
    CUresult fault = find_fault(entry, calls_of_base, &is_sticky);
    if (fault != CUDA_SUCCESS) {
        struct CUctx_st *context = sim_context_current();
        if (is_sticky && context) context->sticky = fault;
        return fault;
    }
    if (need->init && !sim_state.is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    return need->context ? check_context(need, entry->base) : CUDA_SUCCESS;
}

CUresult sim_entry_leave(CUresult rc) {
    pthread_mutex_unlock(&sim_state.lock);
    return rc;
}

static CUresult get_address(const char *name, void **out, int version,
                            CUdriverProcAddressQueryResult *status) {
    const sim_entry *best = NULL;
    bool exists = false;
    if (!name || !out) return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < sim_entry_count; i++) {
        const sim_entry *entry = &sim_entry_table[i];
        if (strcmp(entry->base, name) != 0) continue;
        exists = true;
        if (entry->version <= version) best = entry;
    }
    if (status) {
        *status = best     ? CU_GET_PROC_ADDRESS_SUCCESS
                  : exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                           : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    *out = NULL;
    if (!best) return status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    memcpy(out, &best->function, sizeof *out);
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus) {
    (void)flags; /* per-thread default streams make no difference: work runs in call order */
    SIM_ENTRY(get_address(symbol, pfn, cudaVersion, symbolStatus));
}

/* NVRTC and the CUDA runtime ask for tables of undocumented functions. NVRTC does without them. */
CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId) {
    (void)pExportTableId;
    if (!ppExportTable) return CUDA_ERROR_INVALID_VALUE;
    *ppExportTable = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
