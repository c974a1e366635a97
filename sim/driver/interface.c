/* Interface: the functions of sim.h. */
#include "driver/entry.h"
#include "driver/state.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int redtune_sim_counters(struct redtune_sim_counters *out) {
    pthread_mutex_lock(&sim_state.lock);
    *out = sim_state.last;
    int any = sim_state.any_launch;
    pthread_mutex_unlock(&sim_state.lock);
    return any;
}

EXPORT void redtune_sim_total_counters(struct redtune_sim_counters *out) {
    pthread_mutex_lock(&sim_state.lock);
    *out = sim_state.total;
    pthread_mutex_unlock(&sim_state.lock);
}

EXPORT size_t redtune_sim_findings(void) {
    pthread_mutex_lock(&sim_state.lock);
    size_t count = sim_state.finding_count;
    pthread_mutex_unlock(&sim_state.lock);
    return count;
}

EXPORT int redtune_sim_finding(size_t index, struct redtune_sim_finding *out) {
    pthread_mutex_lock(&sim_state.lock);
    bool exists = index < sim_state.finding_count;
    if (exists) *out = sim_state.findings[index];
    pthread_mutex_unlock(&sim_state.lock);
    return exists;
}

EXPORT void redtune_sim_clear_findings(void) {
    pthread_mutex_lock(&sim_state.lock);
    sim_state.finding_count = 0;
    pthread_mutex_unlock(&sim_state.lock);
}

EXPORT size_t redtune_sim_check_leaks(void) {
    pthread_mutex_lock(&sim_state.lock);
    size_t count = sim_report_leaks(NULL);
    pthread_mutex_unlock(&sim_state.lock);
    return count;
}

static void configure(void) {
    if (sim_state.is_configured) return;
    sim_config_read(&sim_state.config);
    sim_state.is_configured = true;
}

EXPORT int redtune_sim_set(const char *name, const char *value) {
    pthread_mutex_lock(&sim_state.lock);
    configure();
    int good = name && sim_config_set(&sim_state.config, name, value);
    pthread_mutex_unlock(&sim_state.lock);
    return good;
}

EXPORT uint64_t redtune_sim_calls(const char *entry_point) {
    uint64_t count = 0;
    pthread_mutex_lock(&sim_state.lock);
    if (strcmp(entry_point, "*") == 0) count = sim_state.calls;
    for (uint32_t i = 0; i < sim_entry_count; i++) {
        const sim_entry *entry = &sim_entry_table[i];
        bool named =
            strcmp(entry->base, entry_point) == 0 || strcmp(entry->symbol, entry_point) == 0;
        if (named) count += sim_state.calls_by_entry[i];
    }
    pthread_mutex_unlock(&sim_state.lock);
    return count;
}

EXPORT double redtune_sim_time_ns(void) {
    pthread_mutex_lock(&sim_state.lock);
    double now = sim_state.now_ns;
    pthread_mutex_unlock(&sim_state.lock);
    return now;
}

EXPORT void redtune_sim_reset(void) {
    pthread_mutex_lock(&sim_state.lock);
    sim_context_end_all();
    sim_memory_free_all(&sim_state.memory);
    sim_state.is_hung = false;
    sim_state.is_initialised = false;
    sim_state.launches = sim_state.calls = sim_state.next_id = 0;
    sim_state.safe_captures = 0;
    sim_state.now_ns = 0;
    sim_state.any_launch = false;
    sim_state.finding_count = 0;
    memset(sim_state.calls_by_entry, 0, sizeof sim_state.calls_by_entry);
    memset(&sim_state.last, 0, sizeof sim_state.last);
    memset(&sim_state.total, 0, sizeof sim_state.total);
    memset(&sim_thread, 0, sizeof sim_thread);
    sim_config_read(&sim_state.config);
    sim_state.is_configured = true;
    pthread_mutex_unlock(&sim_state.lock);
}
