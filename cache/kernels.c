/* Kernels: the kernel cache, a local and disposable SQLite file of compiled kernels.
 *
 * Nothing is synced, so any byte may be wrong after a power cut. Each row has a hash of its
 * content, and one that does not match counts as a miss. A file in which damage was seen is
 * emptied by the next put. A put is tried as it is, after looking again, after emptying, and in a
 * new file; then the cache does without it. */
#define _XOPEN_SOURCE 700 /* for realpath */
#include "cache/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/hash.h"
#include "base/locale.h"
#include "base/owner.h"
#include "cache/guarded.h"
#include "cache/private.h"
#include "cache/schema.h"

#define LIMIT_BYTES (INT64_C(256) << 20)

enum { TOUCH_SECONDS = 3600, ATTEMPTS = 4 };

enum statement { FIND, TOUCH, PUT, DROP_OLDEST, FILE_BYTES, CENSUS };

static const rdt_sqlite_kind kind = {
    .what = "kernel cache",
    .remedy = "delete it, or set XDG_CACHE_HOME to a folder that can be written",
    /* A power cut may damage the file: the hash of each kernel tells. */
    .settings = "PRAGMA synchronous=OFF; PRAGMA secure_delete=OFF; PRAGMA cell_size_check=ON;"
                "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY",
    .busy_ms = 5000,
    .schema = &rdt_schema_kernels,
    .statements =
        {
            [FIND] = "SELECT ptx, hash, used, content FROM kernel WHERE key = ?",
            [TOUCH] = "UPDATE kernel SET used = ? WHERE key = ?",
            [PUT] = "INSERT OR REPLACE INTO kernel(key, bytes, ptx, hash, used, content)"
                    " VALUES(?,?,?,?,?,?)",
            [DROP_OLDEST] =
                "DELETE FROM kernel WHERE rowid ="
                " (SELECT rowid FROM kernel WHERE rowid <> ? ORDER BY used, rowid LIMIT 1)",
            /* Free pages are taken again before the file grows. */
            [FILE_BYTES] = "SELECT (page_count - freelist_count) * page_size"
                           " FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
            [CENSUS] = "SELECT count(*), coalesce(sum(bytes), 0) FROM kernel",
        },
};

struct rdt_kernels {
    rdt_sqlite file;
    int64_t limit_bytes;
    bool sound;   /* identity and schema were found right on this connection */
    bool damaged; /* damage was met: the next put empties the file */
};

typedef struct kernel {
    const char *key;
    const void *data;
    size_t bytes;
    bool ptx;
} kernel;

redtune_status rdt_kernels_open(const char *path, const rdt_log *log, rdt_kernels **out,
                                redtune_error *err) {
    rdt_kernels *kernels = calloc(1, sizeof *kernels);
    char *real = NULL;
    if (!kernels) return rdt_fail_memory(err, sizeof *kernels);
    kernels->limit_bytes = LIMIT_BYTES;
    redtune_status status = rdt_private_prepare(&kind, path, log, &real, err);
    if (!status) status = rdt_sqlite_open(&kernels->file, &kind, real, RDT_SQLITE_WRITE, err);
    if (!status) rdt_private_tighten(real);
    free(real);
    if (status) {
        free(kernels);
        return status;
    }
    *out = kernels;
    return REDTUNE_OK;
}

/* Folders and links are judged, too: who can put another file there decides what runs. */
static redtune_status judge_system_file(const char *path, redtune_error *err) {
    char *real = realpath(path, NULL);
    bool exposed = false;
    if (!real) return rdt_fail(err, REDTUNE_FILE, errno, "%s", rdt_locale_reason(errno));
    redtune_status status = rdt_owner_check(real, RDT_OWNER_SYSTEM, &exposed, err);
    if (!status && exposed) status = rdt_fail(err, REDTUNE_FILE, 0, "others may write it");
    if (!status && path[0] == '/') status = rdt_owner_check_links(path, RDT_OWNER_SYSTEM, err);
    if (!status) {
        *strrchr(real, '/') = '\0';
        status = rdt_owner_check_folders(*real ? real : "/", RDT_OWNER_SYSTEM, err);
    }
    free(real);
    return status;
}

redtune_status rdt_kernels_open_system(const char *path, rdt_kernels **out, redtune_error *err) {
    rdt_kernels *kernels = calloc(1, sizeof *kernels);
    redtune_error why = {0};
    if (!kernels) return rdt_fail_memory(err, sizeof *kernels);
    redtune_status status = judge_system_file(path, &why);
    if (!status)
        status = rdt_sqlite_open(&kernels->file, &kind, path, RDT_SQLITE_READ, err);
    else
        rdt_fail(err, status, why.code, "cannot use the kernel file %.300s: %.200s", path,
                 why.message);
    if (status)
        free(kernels);
    else
        *out = kernels;
    return status;
}

redtune_status rdt_kernels_open_blank(rdt_kernels **out, redtune_error *err) {
    rdt_kernels *kernels = calloc(1, sizeof *kernels);
    if (!kernels) return rdt_fail_memory(err, sizeof *kernels);
    kernels->limit_bytes = INT64_MAX;
    redtune_status status = rdt_sqlite_open_blank(&kernels->file, &kind, "kernel file", err);
    if (!status) status = rdt_schema_create(&kernels->file, err);
    kernels->sound = !status;
    if (status)
        rdt_kernels_close(kernels);
    else
        *out = kernels;
    return status;
}

redtune_status rdt_kernels_write_file(rdt_kernels *kernels, void **data, size_t *bytes,
                                      redtune_error *err) {
    return rdt_sqlite_copy_bytes(&kernels->file, data, bytes, err);
}

bool rdt_kernels_is_damaged(const rdt_kernels *kernels) { return kernels->damaged; }

redtune_status rdt_kernels_check_writable(const rdt_kernels *kernels, redtune_error *err) {
    return rdt_sqlite_check_writable(&kernels->file, err);
}

void rdt_kernels_close(rdt_kernels *kernels) {
    if (!kernels) return;
    rdt_sqlite_close(&kernels->file);
    free(kernels);
}

void rdt_kernels_limit(rdt_kernels *kernels, int64_t bytes) { kernels->limit_bytes = bytes; }

static void hash_kernel(const kernel *stored, char out[RDT_HASH_TEXT_BYTES]) {
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add_string(&hash, stored->key);
    rdt_hash_add(&hash, stored->ptx ? "p" : "c", 1);
    rdt_hash_add(&hash, stored->data, stored->bytes);
    rdt_hash_text(&hash, out);
}

/* Whether an error says that the file is not what it should be, rather than busy or the like. */
static bool is_damage(const redtune_error *why) {
    static const int codes[] = {SQLITE_OK /* refused by redtune */, SQLITE_ERROR, SQLITE_CORRUPT,
                                SQLITE_NOTADB, SQLITE_FORMAT};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (why->status == REDTUNE_DATABASE && (why->code & 0xff) == codes[i]) return true;
    return false;
}

/* A lock that was waited for in vain is not waited for again until it is free: each plan would wait
 * for some of them. */
static void note_lock(rdt_kernels *kernels, redtune_status status, const redtune_error *why) {
    const bool busy = status == REDTUNE_DATABASE && (why->code & 0xff) == SQLITE_BUSY;
    kernels->file.busy_ms = busy ? 0 : kind.busy_ms;
}

/* A table that is gone on a sound file: another process has emptied it, so look again first. */
static void note_damage(rdt_kernels *kernels, const redtune_error *why) {
    if (!kernels->sound || (why->code & 0xff) != SQLITE_ERROR) kernels->damaged = true;
    kernels->sound = false;
}

static redtune_status pass_on(const redtune_error *why, redtune_error *err) {
    if (err) *err = *why;
    return why->status;
}

/* SQLITE_ROW: the file holds a table, an index or the like; SQLITE_DONE: none; else an error. */
static int look_for_object(rdt_sqlite *file) {
    sqlite3_stmt *object = NULL;
    int rc = rdt_guarded_prepare(file, "SELECT 1 FROM sqlite_schema", 0, &object);
    if (!rc) rc = rdt_guarded_step(file, object);
    sqlite3_finalize(object);
    return rc;
}

/* *blank: there is nothing yet; else the file is sound, or the call fails. */
static redtune_status examine(rdt_kernels *kernels, bool *blank, redtune_error *err) {
    rdt_sqlite *file = &kernels->file;
    redtune_error why = {0};
    bool empty = false;
    *blank = false;
    if (kernels->sound) return REDTUNE_OK;
    redtune_status status = rdt_sqlite_identify(file, &empty, &why);
    /* Emptying a damaged file leaves one without an object. */
    *blank = empty || (status && look_for_object(file) == SQLITE_DONE);
    if (*blank) return REDTUNE_OK;
    if (status) return pass_on(&why, err);
    status = rdt_schema_check(file, err);
    kernels->sound = !status;
    return status;
}

/* The row's content if its hash is right, else NULL. */
static redtune_status copy_content(sqlite3_stmt *row, const char *key, kernel *out,
                                   redtune_error *err) {
    char hash[RDT_HASH_TEXT_BYTES];
    const char *stored = (const char *)sqlite3_column_text(row, 1);
    kernel found = {key, sqlite3_column_blob(row, 3), (size_t)sqlite3_column_bytes(row, 3),
                    sqlite3_column_int(row, 0) != 0};
    if (!stored || !found.data || !found.bytes) return REDTUNE_OK;
    hash_kernel(&found, hash);
    if (strcmp(hash, stored)) return REDTUNE_OK;
    char *copy = malloc(found.bytes + 1);
    if (!copy) return rdt_fail_memory(err, found.bytes + 1);
    memcpy(copy, found.data, found.bytes);
    copy[found.bytes] = '\0';
    found.data = copy;
    *out = found;
    return REDTUNE_OK;
}

/* Keeps a kernel in use from being dropped. It may fail: another process writes, or the file is
 * read-only. Seldom, and without a sync, so that finding does not become writing. */
static void touch(rdt_kernels *kernels, const char *key, int64_t used) {
    int64_t now = (int64_t)time(NULL);
    sqlite3_stmt *statement;
    bool row;
    if (!kernels->file.writes || (used > now - TOUCH_SECONDS && used <= now)) return;
    rdt_sqlite_wait(&kernels->file, false);
    if (!rdt_sqlite_run(&kernels->file, "write", kind.settings, NULL) &&
        !rdt_sqlite_statement(&kernels->file, TOUCH, &statement, NULL) &&
        !sqlite3_bind_int64(statement, 1, now) &&
        !sqlite3_bind_text(statement, 2, key, -1, SQLITE_STATIC))
        rdt_sqlite_step(&kernels->file, "write", statement, &row, NULL);
    rdt_sqlite_wait(&kernels->file, true);
}

static redtune_status find(rdt_kernels *kernels, const char *key, kernel *out, redtune_error *err) {
    rdt_sqlite *file = &kernels->file;
    sqlite3_stmt *statement;
    bool blank, row = false;
    redtune_status status = examine(kernels, &blank, err);
    if (status || blank) return status;
    status = rdt_sqlite_statement(file, FIND, &statement, err);
    if (status) return status;
    int rc = sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    if (rc) return rdt_sqlite_fail(file, "read", rc, err);
    status = rdt_sqlite_step(file, "read", statement, &row, err);
    if (status || !row) return status;
    int64_t used = sqlite3_column_int64(statement, 2);
    status = copy_content(statement, key, out, err);
    sqlite3_reset(statement);
    if (out->data) touch(kernels, key, used);
    /* What is wrong in one place may be wrong in others: after a power cut, two kernels may share
     * their pages. */
    if (!status && !out->data) kernels->damaged = true;
    return status;
}

redtune_status rdt_kernels_find(rdt_kernels *kernels, const char *key, void **data, size_t *bytes,
                                bool *ptx, redtune_error *err) {
    kernel found = {0};
    redtune_error why = {0};
    redtune_status status = find(kernels, key, &found, &why);
    if (status == REDTUNE_MEMORY) return pass_on(&why, err);
    note_lock(kernels, status, &why);
    if (status && is_damage(&why)) note_damage(kernels, &why);
    *data = (void *)found.data;
    *bytes = found.bytes;
    *ptx = found.ptx;
    return REDTUNE_OK;
}

/* Empties a file of any content, under SQLite's locks:
 * https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfigresetdatabase */
static redtune_status reset(rdt_kernels *kernels, redtune_error *err) {
    sqlite3 *db = kernels->file.db;
    kernels->sound = false;
    int rc = sqlite3_db_config(db, SQLITE_DBCONFIG_RESET_DATABASE, 1, NULL);
    if (rc) return rdt_sqlite_fail(&kernels->file, "empty", rc, err);
    redtune_status status =
        rdt_sqlite_run(&kernels->file, "empty", "VACUUM; PRAGMA journal_mode=DELETE", err);
    sqlite3_db_config(db, SQLITE_DBCONFIG_RESET_DATABASE, 0, NULL);
    kernels->damaged = status != REDTUNE_OK;
    return status;
}

static redtune_status insert(rdt_sqlite *file, const kernel *stored, redtune_error *err) {
    char hash[RDT_HASH_TEXT_BYTES];
    sqlite3_stmt *put;
    hash_kernel(stored, hash);
    redtune_status status = rdt_sqlite_statement(file, PUT, &put, err);
    if (status) return status;
    int rc = sqlite3_bind_text(put, 1, stored->key, -1, SQLITE_STATIC);
    if (!rc) rc = sqlite3_bind_int64(put, 2, (int64_t)stored->bytes);
    if (!rc) rc = sqlite3_bind_int(put, 3, stored->ptx);
    if (!rc) rc = sqlite3_bind_text(put, 4, hash, -1, SQLITE_STATIC);
    /* In a file that is made whole the same kernels give the same bytes. */
    const int64_t now = file->loaded ? 0 : (int64_t)time(NULL);
    if (!rc) rc = sqlite3_bind_int64(put, 5, now);
    if (!rc) rc = sqlite3_bind_blob64(put, 6, stored->data, stored->bytes, SQLITE_STATIC);
    return rdt_sqlite_execute(file, "write", put, rc, 0, NULL, err);
}

/* Drops others than the kernel just put, which is the last row inserted. Where none is left, the
 * file is damaged unless it is new: its index may know no row of the table, or rows that the table
 * does not have, or pages may be lost. */
static redtune_status drop_oldest(rdt_sqlite *file, int64_t limit_bytes, bool is_new,
                                  redtune_error *err) {
    const sqlite3_int64 own = sqlite3_last_insert_rowid(file->db);
    sqlite3_stmt *measure, *drop;
    int64_t bytes = 0;
    for (;;) {
        redtune_status status = rdt_sqlite_statement(file, FILE_BYTES, &measure, err);
        if (!status) status = rdt_sqlite_execute(file, "read", measure, SQLITE_OK, 1, &bytes, err);
        if (status || bytes <= limit_bytes) return status;
        status = rdt_sqlite_statement(file, DROP_OLDEST, &drop, err);
        if (status) return status;
        int rc = sqlite3_bind_int64(drop, 1, own);
        status = rdt_sqlite_execute(file, "write", drop, rc, 0, NULL, err);
        if (status) return status;
        if (sqlite3_changes(file->db)) continue;
        return is_new ? REDTUNE_OK : rdt_sqlite_fail(file, "write", SQLITE_CORRUPT, err);
    }
}

static redtune_status store(rdt_kernels *kernels, const kernel *stored, redtune_error *err) {
    rdt_sqlite *file = &kernels->file;
    bool blank = false;
    redtune_status status = rdt_sqlite_run(file, "write", kind.settings, err);
    if (!status) status = rdt_sqlite_begin(file, err);
    if (status) return status;
    status = examine(kernels, &blank, err);
    if (!status && blank) status = rdt_schema_create(file, err);
    if (!status) status = insert(file, stored, err);
    if (!status) status = drop_oldest(file, kernels->limit_bytes, blank, err);
    return rdt_sqlite_end(file, status, err);
}

/* A journal that cannot be rolled back bars its file to all who read or write. */
static bool is_barred(rdt_kernels *kernels, const redtune_error *why) {
    int rc = (int)(why->code & 0xff);
    if (why->status != REDTUNE_DATABASE || (rc != SQLITE_IOERR && rc != SQLITE_FULL)) return false;
    rc = look_for_object(&kernels->file);
    return rc != SQLITE_ROW && rc != SQLITE_DONE && (rc & 0xff) != SQLITE_BUSY &&
           rdt_sqlite_has_journal(&kernels->file);
}

/* Whether it is worth another attempt to put, after an error that says why. */
static bool heal(rdt_kernels *kernels, redtune_error *why) {
    rdt_sqlite *file = &kernels->file;
    if (is_damage(why)) {
        note_damage(kernels, why);
        return true;
    }
    bool moved = why->code == SQLITE_READONLY_DBMOVED;
    if (!moved && !is_barred(kernels, why)) return false;
    kernels->sound = kernels->damaged = false;
    if (moved ? rdt_sqlite_reopen(file, why) : rdt_sqlite_replace(file, why)) return false;
    rdt_private_tighten(file->path);
    return true;
}

redtune_status rdt_kernels_put(rdt_kernels *kernels, const char *key, const void *data,
                               size_t bytes, bool ptx, redtune_error *err) {
    kernel stored = {key, data, bytes, ptx};
    if (!bytes)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot store kernel %s: it is empty", key);
    if (bytes > (uint64_t)kernels->limit_bytes) return REDTUNE_OK;
    redtune_error why = {0};
    redtune_status status = REDTUNE_OK;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        status = kernels->damaged ? reset(kernels, &why) : REDTUNE_OK;
        if (!status) status = store(kernels, &stored, &why);
        if (!status || !heal(kernels, &why)) break;
    }
    note_lock(kernels, status, &why);
    return status ? pass_on(&why, err) : REDTUNE_OK;
}

static redtune_status census(rdt_kernels *kernels, int64_t counts[2], redtune_error *err) {
    sqlite3_stmt *statement;
    bool blank;
    redtune_status status = examine(kernels, &blank, err);
    if (status || blank) return status;
    status = rdt_sqlite_statement(&kernels->file, CENSUS, &statement, err);
    if (status) return status;
    return rdt_sqlite_execute(&kernels->file, "read", statement, SQLITE_OK, 2, counts, err);
}

redtune_status rdt_kernels_census(rdt_kernels *kernels, int64_t *count, int64_t *bytes,
                                  redtune_error *err) {
    redtune_error why = {0};
    int64_t counts[2] = {0};
    redtune_status status = census(kernels, counts, &why);
    if (status && !is_damage(&why)) return pass_on(&why, err);
    *count = counts[0];
    *bytes = counts[1];
    return REDTUNE_OK;
}
