/* Open: opening and closing redtune on a CUDA context. */
#define _POSIX_C_SOURCE 200809L
#include "api/state.h"

#include <stdlib.h>
#include <string.h>
#include "base/file.h"

redtune_status rdt_state_read_winners(redtune *rt, redtune_error *err) {
    rdt_winners winners = {0};
    redtune_status status = rdt_winners_read(rt->database, &winners, err);
    if (status) return status;
    pthread_mutex_lock(&rt->lock);
    rdt_winners old = rt->winners;
    rt->winners = winners;
    pthread_mutex_unlock(&rt->lock);
    rdt_winners_free(&old);
    return REDTUNE_OK;
}

redtune_status redtune_open(const redtune_options *options, redtune **out, redtune_error *err) {
    const redtune_options usual = {0};
    if (!options) options = &usual;
    if (!out) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot open redtune: out is NULL");
    redtune *rt = calloc(1, sizeof *rt);
    if (!rt) return rdt_fail_memory(err, sizeof *rt);
    rt->log = (rdt_log){options->log, options->log_user, options->log_level};
    pthread_mutex_init(&rt->lock, NULL);
    bool entered = false;
    redtune_status status = rdt_file_tuning_path(options->database, &rt->database, err);
    if (!status) status = rdt_state_read_winners(rt, err);
    if (!status) status = rdt_context_open(options->device, &rt->context, err);
    if (!status) status = rdt_builder_create(&rt->log, &rt->builder, err);
    if (!status) status = rdt_context_enter(rt->context, &entered, err);
    if (!status) status = rdt_workspace_create(rt->context, &rt->workspace, err);
    if (rt->context) rdt_context_leave(rt->context, entered);
    if (status) {
        redtune_close(rt);
        return status;
    }
    rdt_log_write(&rt->log, REDTUNE_LOG_INFO, "opened on %s with %zu winners of %s",
                  rt->context->facts.name, rt->winners.count, rt->database);
    *out = rt;
    return REDTUNE_OK;
}

static void destroy_plans(redtune *rt) {
    for (int op = 0; op < RDT_REDUCE_OPS; op++)
        for (int dtype = 0; dtype < RDT_REDUCE_DTYPES; dtype++)
            for (int size = 0; size < RDT_REDUCE_SIZES; size++)
                redtune_plan_destroy(rt->plans[op][dtype][size]);
}

void redtune_close(redtune *rt) {
    if (!rt) return;
    bool entered = false;
    if (rt->context && !rdt_context_enter(rt->context, &entered, NULL)) {
        CUstreamCaptureMode mode = rdt_context_relax(rt->context);
        destroy_plans(rt);
        rdt_workspace_destroy(rt->workspace);
        rdt_context_restore(rt->context, mode);
        rdt_context_leave(rt->context, entered);
    }
    rdt_builder_destroy(rt->builder);
    rdt_context_close(rt->context);
    rdt_winners_free(&rt->winners);
    pthread_mutex_destroy(&rt->lock);
    free(rt->database);
    free(rt);
}

void redtune_device_get(const redtune *rt, redtune_device_info *info) {
    const rdt_facts *facts = &rt->context->facts;
    *info = (redtune_device_info){
        .major = facts->major,
        .minor = facts->minor,
        .sm_count = facts->sm_count,
        .memory_bytes = facts->memory_bytes,
        .l2_bytes = facts->l2_bytes,
        .peak_gbps = rdt_facts_peak_gbps(facts),
        .driver_version = facts->driver_version,
    };
    rdt_text_copy(info->name, sizeof info->name, facts->name);
}

const char *redtune_database_path(const redtune *rt) {
    return rt->database;
}
