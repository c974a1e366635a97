/* Repair: a new database with what can be read of a damaged one, which is kept under another name.
 *
 * The new file is made whole beside the old one. Then the old one gets its other name, one that
 * nothing has, and with it what SQLite keeps beside it; last, the new one gets the old one's place.
 * So whatever fails, the measurements are in one of the two. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "api/records/current.h"
#include "api/records/layers.h"
#include "api/records/validate_row.h"
#include "base/file.h"
#include "base/locale.h"
#include "cache/exchange.h"
#include "cache/salvage.h"
#include "redtune/records.h"

enum { BYTES_MAX = 1 << 30, DAY_SECONDS = 86400, NAMES_MAX = 1000 };

/* What SQLite keeps beside a database; the last one is the database. */
static const char *const suffixes[] = {"-journal", "-wal", "-shm", ""};
enum { SUFFIXES = sizeof suffixes / sizeof *suffixes };

typedef struct repair {
    char *path;  /* of the file itself, behind links */
    char *kept;  /* its name afterwards */
    char *fresh; /* the new one, until it takes its place */
    struct stat info;
    bool own; /* the user's, and redtune's: its rows were measured here */
    rdt_codegen *codegen;
    int64_t latest;
    rdt_salvage *salvage;
    rdt_rows rows;
    int64_t told;
} repair;

static redtune_status cannot_repair(const repair *self, const char *reason, int code,
                                    redtune_error *err) {
    return rdt_fail(err, REDTUNE_FILE, code, "cannot repair %.300s: %s", self->path, reason);
}

static char *add_suffix(const char *path, const char *suffix) {
    rdt_text text = {0};
    char *out = NULL;
    rdt_text_addf(&text, "%s%s", path, suffix);
    if (rdt_text_take(&text, &out, NULL)) out = NULL;
    rdt_text_free(&text);
    return out;
}

/* ---- what is wrong --------------------------------------------------------------------------- */

/* REDTUNE_OK for a database that is whole, whose measurements it counts. */
static redtune_status check_database(const char *path, int64_t *count, redtune_error *err) {
    rdt_tuning *tuning = NULL;
    int64_t gpus = 0;
    redtune_status status = rdt_tuning_open(path, &tuning, err);
    if (!status) status = rdt_tuning_check(tuning, err);
    if (!status) status = rdt_tuning_census(tuning, count, &gpus, err);
    rdt_tuning_close(tuning);
    return status;
}

static redtune_status read_bounded(const repair *self, const char *path, char **data, size_t *bytes,
                                   redtune_error *err) {
    struct stat info;
    if (stat(path, &info)) return cannot_repair(self, rdt_locale_reason(errno), errno, err);
    if (!S_ISREG(info.st_mode)) return cannot_repair(self, "it is not a regular file", 0, err);
    if (info.st_size > BYTES_MAX)
        return cannot_repair(self, "it is larger than 1 GiB; move it away", 0, err);
    return rdt_file_read(path, BYTES_MAX, data, bytes, err);
}

/* ---- what can be read ------------------------------------------------------------------------ */

static redtune_status keep_valid(void *user, const rdt_row *row, redtune_error *err) {
    repair *self = user;
    rdt_row taken = *row;
    rdt_validate_row_value value;
    if (rdt_validate_row_check(&taken, self->codegen, self->latest, value)) return REDTUNE_OK;
    taken.trial.imported |= !self->own;
    redtune_status status = rdt_current_complete_row(self->codegen, &taken, err);
    return status ? status : rdt_rows_add(&self->rows, &taken, err);
}

static redtune_status salvage_rows(repair *self, redtune_error *err) {
    char *data = NULL, *log = NULL, *log_path = add_suffix(self->path, "-wal");
    size_t bytes = 0, log_bytes = 0;
    redtune_status status = log_path ? read_bounded(self, self->path, &data, &bytes, err)
                                     : rdt_fail_memory(err, strlen(self->path) + 5);
    if (!status && rdt_salvage_is_newer(data, bytes))
        status = cannot_repair(self, "a newer redtune wrote it; update redtune", 0, err);
    if (!status && rdt_file_exists(log_path))
        status = read_bounded(self, log_path, &log, &log_bytes, err);
    if (!status) {
        self->own = self->info.st_uid == geteuid() && !rdt_salvage_is_foreign(data, bytes);
        self->latest = self->own ? INT64_MAX : (int64_t)time(NULL) + DAY_SECONDS;
        status = rdt_salvage_open(&self->salvage, err);
    }
    if (!status) status = rdt_salvage_add(self->salvage, data, bytes, err);
    if (!status && log) status = rdt_salvage_add(self->salvage, log, log_bytes, err);
    if (!status) status = rdt_salvage_each(self->salvage, keep_valid, self, &self->told, err);
    free(data);
    free(log);
    free(log_path);
    return status;
}

/* ---- the new file ---------------------------------------------------------------------------- */

/* Those that were measured here, and then those of each import under its name. */
static redtune_status put_rows(repair *self, rdt_tuning *tuning, redtune_error *err) {
    rdt_rows some = {0};
    uint64_t added;
    redtune_status status = REDTUNE_OK;
    for (int64_t import = 0, next = 0; !status && import >= 0; import = next) {
        char source[256] = "";
        some.count = 0;
        next = -1;
        for (size_t i = 0; !status && i < self->rows.count; i++) {
            const rdt_row *row = &self->rows.row[i];
            /* Of a file of somebody else's all are one import. */
            const int64_t of = row->import ? row->import : row->trial.imported ? INT64_MAX : 0;
            if (of == import) status = rdt_rows_add(&some, row, err);
            if (of > import && (next < 0 || of < next)) next = of;
        }
        if (!status && import) status = rdt_salvage_source(self->salvage, import, source, err);
        rdt_rows_sort(&some);
        if (!status && some.count)
            status = rdt_exchange_add(tuning,
                                      !import   ? NULL
                                      : *source ? source
                                                : "repaired",
                                      &some, &added, err);
    }
    rdt_rows_free(&some);
    return status;
}

static redtune_status make_fresh(repair *self, redtune_error *err) {
    rdt_tuning *tuning = NULL;
    self->fresh = add_suffix(self->path, ".XXXXXX");
    if (!self->fresh) return rdt_fail_memory(err, strlen(self->path) + 8);
    int descriptor = mkstemp(self->fresh);
    if (descriptor < 0) {
        int code = errno;
        free(self->fresh);
        self->fresh = NULL;
        return cannot_repair(self, rdt_locale_reason(code), code, err);
    }
    /* Who could read the old one can read this one; only root can give it to its owner. */
    bool same = !fchmod(descriptor, self->info.st_mode & 0777) &&
                (!fchown(descriptor, self->info.st_uid, self->info.st_gid) || errno == EPERM);
    if (close(descriptor) || !same)
        return cannot_repair(self, rdt_locale_reason(errno), errno, err);
    redtune_status status = rdt_tuning_open(self->fresh, &tuning, err);
    if (!status) status = rdt_exchange_begin(tuning, err);
    if (!status) {
        status = put_rows(self, tuning, err);
        status = rdt_exchange_end(tuning, status, err);
    }
    rdt_tuning_close(tuning);
    return status;
}

/* ---- changing places ------------------------------------------------------------------------- */

/* Whether nothing has the name, nor one that SQLite would take for a part of it. The name is taken
 * at once, so that no other process takes it. */
static bool take_name(const char *name) {
    struct stat info;
    for (size_t i = 0; i + 1 < SUFFIXES; i++) {
        char *beside = add_suffix(name, suffixes[i]);
        const bool there = !beside || !lstat(beside, &info);
        free(beside);
        if (there) return false;
    }
    int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return descriptor >= 0 && !close(descriptor);
}

static redtune_status choose_kept(repair *self, redtune_error *err) {
    for (int i = 1; i <= NAMES_MAX; i++) {
        char suffix[32];
        snprintf(suffix, sizeof suffix, i > 1 ? ".damaged-%d" : ".damaged", i);
        self->kept = add_suffix(self->path, suffix);
        if (!self->kept) return rdt_fail_memory(err, strlen(self->path) + sizeof suffix);
        if (take_name(self->kept)) return REDTUNE_OK;
        free(self->kept);
        self->kept = NULL;
    }
    return cannot_repair(self, "no other name can be given to it", errno, err);
}

static bool rename_with(const char *from, const char *to, const char *suffix) {
    char *old = add_suffix(from, suffix), *new = add_suffix(to, suffix);
    bool good = old && new && (!rename(old, new) || (errno == ENOENT && *suffix));
    int code = errno;
    free(old);
    free(new);
    errno = code;
    return good;
}

/* What lies beside goes first: it must never meet the new file. */
static redtune_status change_places(repair *self, redtune_error *err) {
    size_t done = 0;
    while (done < SUFFIXES && rename_with(self->path, self->kept, suffixes[done])) done++;
    if (done == SUFFIXES && !rename(self->fresh, self->path)) {
        free(self->fresh);
        self->fresh = NULL;
        return REDTUNE_OK;
    }
    int code = errno;
    const bool moved = done == SUFFIXES;
    while (done > 0) rename_with(self->kept, self->path, suffixes[--done]);
    if (!moved) unlink(self->kept);
    return cannot_repair(self, rdt_locale_reason(code), code, err);
}

/* ---- repairing ------------------------------------------------------------------------------- */

static redtune_status repair_file(repair *self, redtune_error *err) {
    if (stat(self->path, &self->info))
        return cannot_repair(self, rdt_locale_reason(errno), errno, err);
    redtune_status status = rdt_codegen_open(&self->codegen, err);
    if (!status) status = salvage_rows(self, err);
    if (!status) status = make_fresh(self, err);
    if (!status) status = choose_kept(self, err);
    if (!status) status = change_places(self, err);
    return status;
}

static void end_repair(repair *self) {
    if (self->fresh) unlink(self->fresh);
    rdt_salvage_close(self->salvage);
    rdt_codegen_close(self->codegen);
    rdt_rows_free(&self->rows);
    free(self->path);
    free(self->kept);
    free(self->fresh);
}

static redtune_status repair_one(const char *path,
                                 void (*each)(void *user, const redtune_repaired *repaired),
                                 void *user, redtune_error *err) {
    redtune_error why;
    int64_t count = 0;
    repair self = {.path = NULL};
    redtune_status status = check_database(path, &count, &why);
    if (!status) {
        each(user, &(redtune_repaired){path, "", "", (uint64_t)count, 0, {0}});
        return REDTUNE_OK;
    }
    if (!rdt_tuning_open_is_damaged(&why)) {
        if (err) *err = why;
        return status;
    }
    self.path = realpath(path, NULL);
    status = self.path ? repair_file(&self, err)
                       : rdt_fail(err, REDTUNE_FILE, errno, "cannot repair %.300s: %s", path,
                                  rdt_locale_reason(errno));
    const int64_t lost = self.told - (int64_t)self.rows.count;
    if (!status)
        each(
            user,
            &(redtune_repaired){
                path, self.kept, why.message, self.rows.count, lost > 0 ? (uint64_t)lost : 0, {0}});
    end_repair(&self);
    return status;
}

redtune_status redtune_repair(const char *database,
                              void (*repaired)(void *user, const redtune_repaired *repaired),
                              void *user, redtune_error *err) {
    if (!repaired) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot repair: repaired is NULL");
    rdt_layers layers = {.count = 0};
    redtune_status status = rdt_layers_list(database, &layers, err);
    for (int i = 0; !status && i < layers.own; i++)
        if (!rdt_file_is_absent(layers.path[i]))
            status = repair_one(layers.path[i], repaired, user, err);
    rdt_layers_free(&layers);
    return status;
}
