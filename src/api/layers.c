/* Layers: the databases that are read one over another, those of the user first. */
#define _POSIX_C_SOURCE 200809L
#include "api/layers.h"

#include <stdlib.h>
#include <string.h>
#include "base/file.h"

/* The administrator's, the distribution's, and what redtune comes with. */
static const char system_list[] =
    "/etc/redtune/tuning.db:/usr/share/redtune/tuning.db:" REDTUNE_DATA_DIR "/shipped.db";

static redtune_status add_list(rdt_layers *layers, const char *list, redtune_error *err) {
    while (*list) {
        size_t length = strcspn(list, ":");
        if (length && layers->count == RDT_LAYER_MAX)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot use so many databases: at most %d are read; merge some",
                            RDT_LAYER_MAX);
        if (length) {
            char *path = strndup(list, length);
            if (!path) return rdt_fail_memory(err, length + 1);
            layers->path[layers->count++] = path;
        }
        list += length + (list[length] == ':');
    }
    return REDTUNE_OK;
}

redtune_status rdt_layers_list(const char *chosen, rdt_layers *out, redtune_error *err) {
    rdt_layers layers = {.count = 0};
    const char *below = getenv("REDTUNE_SYSTEM_DB");
    char *own = NULL;
    redtune_status status = rdt_file_tuning_path(chosen, &own, err);
    if (!status) status = add_list(&layers, own, err);
    if (!status && !layers.count)
        status = rdt_fail(err, REDTUNE_INVALID, 0, "cannot use the database '%s': it names no file",
                          own);
    layers.own = layers.count;
    if (!status) status = add_list(&layers, below ? below : system_list, err);
    free(own);
    if (status)
        rdt_layers_free(&layers);
    else
        *out = layers;
    return status;
}

void rdt_layers_free(rdt_layers *layers) {
    for (int i = 0; i < layers->count; i++) free(layers->path[i]);
    *layers = (rdt_layers){.count = 0};
}

/* A writer that was killed leaves a write to be undone, which only opening for writing does. */
static redtune_status open_whole(const char *path, rdt_tuning **out, redtune_error *err) {
    redtune_status status = rdt_tuning_open_read(path, out, err);
    rdt_tuning *healed = NULL;
    if (status != REDTUNE_DATABASE || rdt_tuning_open(path, &healed, NULL)) return status;
    rdt_tuning_close(healed);
    return rdt_tuning_open_read(path, out, err);
}

redtune_status rdt_layers_check(const rdt_layers *layers, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < layers->own; i++) {
        rdt_tuning *tuning = NULL;
        if (rdt_file_exists(layers->path[i])) status = open_whole(layers->path[i], &tuning, err);
        rdt_tuning_close(tuning);
    }
    return status;
}

static redtune_status read_one(const char *path, const rdt_layers_wanted *wanted, rdt_rows *rows,
                               redtune_error *err) {
    rdt_tuning *tuning = NULL;
    redtune_status status = open_whole(path, &tuning, err);
    if (!status)
        status = (wanted->contenders ? rdt_tuning_each_contender : rdt_tuning_each)(
            tuning, wanted->problem, wanted->cache, rdt_rows_keep, rows, err);
    rdt_tuning_close(tuning);
    return status;
}

redtune_status rdt_layers_read(const rdt_layers *layers, const rdt_layers_wanted *wanted,
                               rdt_rows *rows, redtune_error *err) {
    for (int i = 0; i < layers->count; i++) {
        size_t before = rows->count;
        redtune_error failure;
        if (!rdt_file_exists(layers->path[i])) continue;
        redtune_status status = read_one(layers->path[i], wanted, rows, &failure);
        if (status && (i < layers->own || status == REDTUNE_MEMORY)) {
            if (err) *err = failure;
            return status;
        }
        if (status) {
            rows->count = before;
            rdt_log_write(wanted->log, REDTUNE_LOG_WARNING, "%s", failure.message);
        }
        for (size_t k = before; k < rows->count; k++) {
            rows->row[k].layer = i;
            /* What an administrator or redtune's makers put there is as good as measured. */
            if (i >= layers->own) rows->row[k].trial.received = false;
        }
    }
    return REDTUNE_OK;
}

redtune_status rdt_layers_each_gpu(const rdt_layers *layers, rdt_tuning_gpu_fn *each, void *user,
                                   redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < layers->count; i++) {
        rdt_tuning *tuning = NULL;
        redtune_error failure;
        if (!rdt_file_exists(layers->path[i])) continue;
        status = open_whole(layers->path[i], &tuning, &failure);
        if (!status) status = rdt_tuning_each_gpu(tuning, each, user, &failure);
        rdt_tuning_close(tuning);
        if (status && status != REDTUNE_MEMORY && i >= layers->own) status = REDTUNE_OK;
        if (status && err) *err = failure;
    }
    return status;
}
