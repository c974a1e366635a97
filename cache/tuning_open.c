/* Tuning open: opening a tuning database for writing, for reading, or as a copy.
 *
 * For writing, an empty file gets the schema and an older one is migrated, both under the file's
 * lock and after looking again, since another process may have done it. For reading nothing is
 * written: an older file is migrated in a copy in memory. A journal that a killed writer left is
 * rolled back by the next one to open the file, except by readers on a network file system, where
 * that writer may live. */
#include <stdlib.h>
#include "base/file.h"
#include "base/network.h"
#include "cache/schema.h"
#include "cache/tuning_inside.h"
#include "cache/wal.h"

/* How long to wait for other processes. */
enum { READ_MS = 5000, WRITE_MS = 30000, PATIENT_MS = 600000 };

/* Fills an empty file, and takes an older one forward, unless another process has done so
 * meanwhile: decided under the file's lock. */
static redtune_status renew(rdt_sqlite *file, redtune_error *err) {
    bool empty = true;
    redtune_status status = rdt_sqlite_begin(file, err);
    if (status) return status;
    status = rdt_sqlite_identify(file, &empty, err);
    if (!status) status = empty ? rdt_schema_create(file, err) : rdt_schema_check(file, err);
    if (!status && rdt_schema_is_past(file)) status = rdt_schema_migrate(file, err);
    return rdt_sqlite_end(file, status, err);
}

/* A hundred times what an honest schema takes. */
enum { OPENING_STEPS_MAX = 10000 };

/* For one statement after that: many times what an honest one takes, which reads each byte in less
 * than a step, and puts rows one by one or, in an import, compares them by an index. */
enum { STEPS_MIN = 10000000, STEPS_PER_BYTE = 100 };

static redtune_status limit_by_size(rdt_sqlite *file, redtune_error *err) {
    int64_t pages = 0, page_bytes = 0;
    redtune_status status = rdt_sqlite_select(file, "open", "PRAGMA page_count", &pages, err);
    if (!status) status = rdt_sqlite_select(file, "open", "PRAGMA page_size", &page_bytes, err);
    if (!status) rdt_sqlite_limit(file, STEPS_MIN + STEPS_PER_BYTE * pages * page_bytes);
    return status;
}

static redtune_status prepare(rdt_tuning *tuning, rdt_sqlite_access access, redtune_error *err) {
    rdt_sqlite *file = &tuning->file;
    bool write = access == RDT_SQLITE_WRITE, empty;
    redtune_status status = rdt_sqlite_identify(file, &empty, err);
    if (!status && !write && file->wal) status = rdt_wal_load(file, err);
    rdt_sqlite_limit(file, OPENING_STEPS_MAX);
    if (!status && write) status = rdt_sqlite_check_writable(file, err);
    /* The first read rolls back what another process left half done, its creation even. */
    if (!status) status = rdt_sqlite_run(file, "open", rdt_tuning_kind.settings, err);
    if (!status) status = rdt_sqlite_identify(file, &empty, err);
    if (!status && write && empty) status = renew(file, err);
    tuning->empty = !status && empty && !write;
    if (status || tuning->empty) return status;
    if (!rdt_schema_is_past(file)) status = rdt_schema_check(file, err);
    if (!status && write && file->wal) status = rdt_wal_leave(file, err);
    rdt_sqlite_limit(file, 0);
    if (status) return status;
    if (!rdt_schema_is_past(file)) return limit_by_size(file, err);
    /* A reader migrates a copy. */
    if (!write) status = rdt_sqlite_load(file, err);
    return status ? status : renew(file, err);
}

static redtune_status open_as(const char *path, rdt_sqlite_access access, int busy_ms,
                              rdt_tuning **out, redtune_error *err) {
    if (!*path)
        return rdt_fail(err, REDTUNE_FILE, 0,
                        "cannot open the tuning database: it has no place, for neither "
                        "XDG_DATA_HOME nor HOME is an absolute path; set one of them, or name a "
                        "database with --db or REDTUNE_DB");
    rdt_tuning *tuning = calloc(1, sizeof *tuning);
    if (!tuning) return rdt_fail_memory(err, sizeof *tuning);
    redtune_status status = rdt_sqlite_open(&tuning->file, &rdt_tuning_kind, path, access, err);
    tuning->file.busy_ms = busy_ms;
    if (!status) status = prepare(tuning, access, err);
    if (status) {
        rdt_tuning_close(tuning);
        return status;
    }
    *out = tuning;
    return REDTUNE_OK;
}

redtune_status rdt_tuning_open_copy(const char *path, rdt_tuning **out, redtune_error *err) {
    rdt_tuning *tuning = NULL;
    const bool there = !rdt_file_is_absent(path);
    redtune_status status = there ? rdt_tuning_open_read(path, &tuning, err) : REDTUNE_OK;
    if (status) return status;
    if (!there) tuning = calloc(1, sizeof *tuning);
    if (!tuning) return rdt_fail_memory(err, sizeof *tuning);
    if (!there || tuning->empty) {
        rdt_sqlite_close(&tuning->file);
        status = rdt_sqlite_open_blank(&tuning->file, &rdt_tuning_kind, path, err);
        if (!status) status = rdt_schema_create(&tuning->file, err);
        tuning->empty = false;
    } else if (!tuning->file.loaded) {
        status = rdt_sqlite_load(&tuning->file, err);
    }
    if (!status) status = rdt_sqlite_run(&tuning->file, "open", rdt_tuning_kind.settings, err);
    if (status)
        rdt_tuning_close(tuning);
    else
        *out = tuning;
    return status;
}

redtune_status rdt_tuning_open(const char *path, rdt_tuning **out, redtune_error *err) {
    return open_as(path, RDT_SQLITE_WRITE, WRITE_MS, out, err);
}

redtune_status rdt_tuning_open_read(const char *path, rdt_tuning **out, redtune_error *err) {
    return open_as(path, RDT_SQLITE_READ, READ_MS, out, err);
}

redtune_status rdt_tuning_open_briefly(const char *path, rdt_tuning **out, redtune_error *err) {
    return open_as(path, RDT_SQLITE_WRITE, READ_MS, out, err);
}

/* Whether a journal has to be rolled back before the file can be read. */
static bool is_cut_short(const redtune_error *why) {
    return why->status == REDTUNE_DATABASE && why->code == SQLITE_READONLY_ROLLBACK;
}

/* The first read of a connection that may write rolls the journal back. Where that fails, reading
 * still says why. */
static void roll_back(const char *path) {
    rdt_sqlite file = {0};
    bool empty;
    if (rdt_sqlite_open(&file, &rdt_tuning_kind, path, RDT_SQLITE_WRITE, NULL)) return;
    file.busy_ms = READ_MS;
    if (!rdt_sqlite_identify(&file, &empty, NULL) && !rdt_sqlite_check_writable(&file, NULL))
        rdt_sqlite_run(&file, "open", rdt_tuning_kind.settings, NULL);
    rdt_sqlite_close(&file);
}

redtune_status rdt_tuning_open_whole(const char *path, rdt_tuning **out, redtune_error *err) {
    redtune_error why = {0};
    int64_t since_ms = 0;
    redtune_status status = rdt_tuning_open_read(path, out, &why);
    const char *network = status && is_cut_short(&why) ? rdt_network_find(path) : NULL;
    if (network) {
        while (status && is_cut_short(&why) && rdt_sqlite_pause(&since_ms, READ_MS))
            status = rdt_tuning_open_read(path, out, &why);
        if (status && is_cut_short(&why))
            rdt_fail(
                &why, REDTUNE_DATABASE, why.code,
                "cannot open tuning database %.400s: on this network file system (%s) another "
                "host is writing it, or was cut short; wait for that one, or if there is none, "
                "write it once, by redtune merge say, which repairs it",
                path, network);
    } else if (status && is_cut_short(&why)) {
        roll_back(path);
        status = rdt_tuning_open_read(path, out, &why);
    }
    if (status && err) *err = why;
    return status;
}

void rdt_tuning_open_patience(rdt_tuning *tuning, void (*waits)(void *user), void *user) {
    tuning->file.busy_ms = waits ? PATIENT_MS : WRITE_MS;
    tuning->file.waits = waits;
    tuning->file.waits_user = user;
}

bool rdt_tuning_open_is_unavailable(const redtune_error *why) {
    if (why->status == REDTUNE_FILE) return true;
    if (why->status != REDTUNE_DATABASE) return false;
    int rc = (int)(why->code & 0xff);
    return rc == SQLITE_BUSY || rc == SQLITE_IOERR || rc == SQLITE_CANTOPEN || is_cut_short(why);
}

bool rdt_tuning_open_is_damaged(const redtune_error *why) {
    /* 0: redtune's own look at it. */
    static const int codes[] = {0, SQLITE_ERROR, SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_INTERRUPT};
    if (why->status != REDTUNE_DATABASE) return false;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if ((why->code & 0xff) == codes[i]) return true;
    return false;
}
