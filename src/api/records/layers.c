/* Layers: the databases that are read one over another, those of the user first.
 *
 * The first path alone is written. Paths up to `own` are the user's: a failure there is an error,
 * unless the caller is lenient. Below them come the system's and redtune's own: a failure is a
 * warning, and their rows count as measured here. A user's database on a network file system gets
 * this host's own file above it, so that no two hosts write one file. Rows of all layers are read
 * as one set; the rule of the winner decides, not the layer. */
#define _POSIX_C_SOURCE 200809L
#include "api/records/layers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/file.h"
#include "base/network.h"
#include "cache/contenders.h"

/* The administrator's and the distribution's. */
static const char system_list[] = "/etc/redtune/tuning.db:/usr/share/redtune/tuning.db";

static redtune_status add_list(rdt_layers *layers, const char *list, redtune_error *err) {
    const char *wrong = rdt_file_misread_database(list);
    if (wrong)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot use the database '%.300s': %s", list,
                        wrong);
    while (*list) {
        size_t length = strcspn(list, ":");
        if (length && layers->count == RDT_LAYER_MAX)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot use these databases: at most %d are read; merge some",
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

/* /shared/tuning.db becomes /shared/tuning.HOST.db, which stays what it is. */
static redtune_status name_of_host(const char *path, char **out, redtune_error *err) {
    char host[128];
    rdt_text text = {0};
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (!dot || (slash && dot < slash + 2)) dot = path + strlen(path);
    rdt_network_host(host, sizeof host);
    size_t length = strlen(host), before = (size_t)(dot - path);
    *out = NULL;
    if (before > length && dot[-(ptrdiff_t)length - 1] == '.' &&
        !memcmp(dot - length, host, length))
        return REDTUNE_OK;
    rdt_text_addf(&text, "%.*s.%s%s", (int)(dot - path), path, host, dot);
    return rdt_text_take(&text, out, err);
}

/* Writers of several hosts must not meet where their locks may not hold. */
static redtune_status add_host(rdt_layers *layers, redtune_error *err) {
    char *path = NULL;
    layers->network = rdt_network_find(layers->path[0]);
    if (!layers->network) return REDTUNE_OK;
    if (layers->count == RDT_LAYER_MAX)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot use these databases: at most %d are read; merge some",
                        RDT_LAYER_MAX);
    redtune_status status = name_of_host(layers->path[0], &path, err);
    if (status || !path) {
        layers->network = NULL;
        return status;
    }
    memmove(layers->path + 1, layers->path, (size_t)layers->count++ * sizeof *layers->path);
    layers->path[0] = path;
    return REDTUNE_OK;
}

void rdt_layers_note(const rdt_layers *layers, const rdt_log *log) {
    if (!layers->network || rdt_file_exists(layers->path[0])) return;
    rdt_log_write(log, REDTUNE_LOG_WARNING,
                  "%s lies on a network file system (%s), where databases get damaged when several "
                  "hosts write: this host's measurements go to %s; redtune merge joins them",
                  layers->path[1], layers->network, layers->path[0]);
}

static redtune_status add_system(rdt_layers *layers, redtune_error *err) {
    const char *chosen = getenv("REDTUNE_SYSTEM_DB");
    char *shipped = NULL;
    if (chosen) return add_list(layers, chosen, err);
    redtune_status status = add_list(layers, system_list, err);
    if (!status) status = rdt_file_find_own("shipped.db", &shipped, err);
    if (!status) status = add_list(layers, shipped, err);
    free(shipped);
    return status;
}

/* The user's, or, where the environment has no place for one, as a service's has not, one without a
 * name, which is never there. */
static redtune_status add_user(rdt_layers *layers, const char *chosen, redtune_error *err) {
    char *own = NULL;
    redtune_error why;
    redtune_status status = rdt_file_tuning_path(chosen, &own, &why);
    if (status == REDTUNE_FILE) {
        layers->path[0] = strdup("");
        layers->count = layers->path[0] != NULL;
        return layers->count ? REDTUNE_OK : rdt_fail_memory(err, 1);
    }
    if (status) {
        if (err) *err = why;
        return status;
    }
    status = add_list(layers, own, err);
    if (!status && !layers->count)
        status = rdt_fail(err, REDTUNE_INVALID, 0, "cannot use the database '%s': it names no file",
                          own);
    free(own);
    return status ? status : add_host(layers, err);
}

redtune_status rdt_layers_list(const char *chosen, rdt_layers *out, redtune_error *err) {
    rdt_layers layers = {.count = 0};
    redtune_status status = add_user(&layers, chosen, err);
    layers.own = layers.count;
    if (!status) status = add_system(&layers, err);
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

/* Whether to go on without a layer that failed. */
static bool may_go_without(const rdt_layers *layers, int i, const redtune_error *why) {
    return why->status != REDTUNE_MEMORY && (i >= layers->own || layers->lenient);
}

/* Says once what is wrong with a layer. Another thread may come to the same end. */
static void tell_of(rdt_layers *layers, int i, const rdt_log *log, const redtune_error *why) {
    const unsigned bit = 1u << i;
    if (!(__atomic_fetch_or(&layers->told, bit, __ATOMIC_RELAXED) & bit))
        rdt_log_write(log, REDTUNE_LOG_WARNING, "%s", why->message);
}

/* Rows that are read from one layer after the other. */
typedef redtune_status read_fn(rdt_tuning *tuning, const rdt_layers_wanted *wanted,
                               const redtune_problem *problem, rdt_tuning_each_fn *each, void *user,
                               redtune_error *err);

static redtune_status read_wanted(rdt_tuning *tuning, const rdt_layers_wanted *wanted,
                                  const redtune_problem *problem, rdt_tuning_each_fn *each,
                                  void *user, redtune_error *err) {
    if (!wanted->contenders)
        return rdt_tuning_each(tuning, problem, wanted->cache, each, user, err);
    if (wanted->near)
        return rdt_tuning_each_near(tuning, problem, wanted->cache, wanted->near, each, user, err);
    return rdt_tuning_each_contender(tuning, problem, wanted->cache, each, user, err);
}

static redtune_status read_quick(rdt_tuning *tuning, const rdt_layers_wanted *wanted,
                                 const redtune_problem *problem, rdt_tuning_each_fn *each,
                                 void *user, redtune_error *err) {
    return rdt_tuning_each_quick(tuning, problem, wanted->cache, each, user, err);
}

typedef struct reading {
    const rdt_layers_wanted *wanted;
    rdt_rows *rows;
    unsigned unavailable; /* layers that are not waited for again */
} reading;

/* Classes that count. */
typedef struct classes {
    const rdt_layers_wanted *wanted;
    redtune_problem *problem;
    size_t count, capacity;
} classes;

static redtune_status keep_class(void *user, const redtune_problem *of_class, redtune_error *err) {
    classes *self = user;
    if (!self->wanted->alike(of_class, self->wanted->problem)) return REDTUNE_OK;
    redtune_status status = RDT_ARRAY_RESERVE(self->problem, self->capacity, self->count + 1, err);
    if (!status) self->problem[self->count++] = *of_class;
    return status;
}

static redtune_status read_classes(rdt_tuning *tuning, const rdt_layers_wanted *wanted,
                                   read_fn *read, rdt_tuning_each_fn *each, void *user,
                                   redtune_error *err) {
    if (!wanted->alike) return read(tuning, wanted, wanted->problem, each, user, err);
    classes found = {.wanted = wanted};
    redtune_status status = rdt_tuning_each_class(tuning, wanted->problem, keep_class, &found, err);
    for (size_t i = 0; !status && i < found.count; i++)
        status = read(tuning, wanted, &found.problem[i], each, user, err);
    free(found.problem);
    return status;
}

static redtune_status read_layer(const char *path, const reading *self, read_fn *read,
                                 rdt_tuning_each_fn *each, void *user, redtune_error *err) {
    rdt_tuning *tuning = NULL;
    if (rdt_file_is_absent(path)) return REDTUNE_OK;
    redtune_status status = rdt_tuning_open_whole(path, &tuning, err);
    if (!status) status = read_classes(tuning, self->wanted, read, each, user, err);
    rdt_tuning_close(tuning);
    return status;
}

static redtune_status read_layers(rdt_layers *layers, reading *self, read_fn *read,
                                  rdt_tuning_each_fn *each, void *user, redtune_error *err) {
    rdt_rows *rows = self->rows;
    for (int i = 0; i < layers->count; i++) {
        const size_t before = rows->count;
        redtune_error why;
        if (self->unavailable & 1u << i) continue;
        redtune_status status = read_layer(layers->path[i], self, read, each, user, &why);
        if (status && !may_go_without(layers, i, &why)) {
            if (err) *err = why;
            return status;
        }
        if (status) {
            rows->count = before;
            if (rdt_tuning_open_is_unavailable(&why)) self->unavailable |= 1u << i;
            tell_of(layers, i, self->wanted->log, &why);
        }
        for (size_t k = before; k < rows->count; k++) {
            rows->row[k].layer = i;
            /* Rows that an administrator or redtune's makers put there count as measured. */
            if (i >= layers->own) rows->row[k].trial.imported = false;
        }
    }
    return REDTUNE_OK;
}

redtune_status rdt_layers_read(rdt_layers *layers, const rdt_layers_wanted *wanted, rdt_rows *rows,
                               redtune_error *err) {
    reading self = {wanted, rows, 0};
    rdt_claims claims = {0};
    redtune_status status = read_layers(layers, &self, read_wanted, rdt_rows_keep, rows, err);
    if (!status && wanted->contenders) status = rdt_contenders_claims(rows, &claims, err);
    if (!status && claims.count)
        status = read_layers(layers, &self, read_quick, rdt_contenders_answer, &claims, err);
    rdt_contenders_free(&claims);
    if (wanted->left_out && self.unavailable) *wanted->left_out = true;
    return status;
}

redtune_status rdt_layers_each_gpu(const rdt_layers *layers, int first, int end,
                                   rdt_tuning_gpu_fn *each, void *user, redtune_error *left_out,
                                   redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = first; !status && i < end; i++) {
        rdt_tuning *tuning = NULL;
        redtune_error failure;
        if (rdt_file_is_absent(layers->path[i])) continue;
        status = rdt_tuning_open_whole(layers->path[i], &tuning, &failure);
        if (!status) status = rdt_tuning_each_gpu(tuning, each, user, &failure);
        rdt_tuning_close(tuning);
        if (status && may_go_without(layers, i, &failure)) {
            if (left_out && !left_out->status) *left_out = failure;
            status = REDTUNE_OK;
        }
        if (status && err) *err = failure;
    }
    return status;
}

redtune_status rdt_layers_check(rdt_layers *layers, const rdt_log *log, redtune_error *err) {
    for (int i = 0; i < layers->own; i++) {
        rdt_tuning *tuning = NULL;
        redtune_error why;
        if (rdt_file_is_absent(layers->path[i]) ||
            !rdt_tuning_open_whole(layers->path[i], &tuning, &why)) {
            rdt_tuning_close(tuning);
        } else if (may_go_without(layers, i, &why)) {
            tell_of(layers, i, log, &why);
        } else {
            if (err) *err = why;
            return why.status;
        }
    }
    return REDTUNE_OK;
}
