/* Sqlite: what both database files have in common.
 *
 * A file is looked at before SQLite opens it: it must be regular, its header must have the kind's
 * application_id and a known version. Waiting for a lock is done here, by looking often, because
 * SQLite's own waits grow and starve a writer among many. */
#define _POSIX_C_SOURCE 200809L
#include "cache/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/locale.h"
#include "base/text.h"
#include "cache/guarded.h"
#include "cache/header.h"
#include "cache/remedy.h"

#if SQLITE_VERSION_NUMBER < 3037000
#error "redtune needs SQLite 3.37 or later, for STRICT tables"
#endif

/* A wait that lasts longer is told. */
enum { TELL_MS = 5000 };

/* Whether files may be made beside path. */
static redtune_status check_folder(const rdt_sqlite *file, const char *path, redtune_error *err) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder) return rdt_fail_memory(err, strlen(path) + 1);
    redtune_status status = REDTUNE_OK;
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS))
        status = rdt_sqlite_fail_errno(file, "its folder cannot be written: ", errno, err);
    free(folder);
    return status;
}

/* Opening something else than a file may block (a FIFO) or fail oddly (a folder). */
static redtune_status check_regular(const rdt_sqlite *file, rdt_sqlite_access access,
                                    redtune_error *err) {
    struct stat info;
    if (stat(file->path, &info)) {
        /* SQLite would give the wrong reason for a file that it cannot make. */
        bool fresh = errno == ENOENT && access == RDT_SQLITE_WRITE;
        return fresh ? check_folder(file, file->path, err)
                     : rdt_sqlite_fail_errno(file, "", errno, err);
    }
    const char *unfit = rdt_file_unfit(info.st_mode);
    if (!unfit) return REDTUNE_OK;
    return rdt_sqlite_fail_open(file, S_ISDIR(info.st_mode) ? REDTUNE_FILE : REDTUNE_DATABASE,
                                errno, unfit, file->kind->remedy, err);
}

bool rdt_sqlite_pause(int64_t *since_ms, int64_t limit_ms) {
    unsigned char random;
    if (!*since_ms) *since_ms = rdt_clock_ms();
    if (rdt_clock_ms() - *since_ms >= limit_ms) return false;
    sqlite3_randomness(1, &random);
    const struct timespec pause = {0, 500000 + random * 30000}; /* 0.5 to 8 ms */
    nanosleep(&pause, NULL);
    return true;
}

/* Called while another process has the lock; 0 gives up. SQLite's own handler soon looks ten times
 * a second only, and whoever has just written is back before: of many writers some would wait for
 * all others to end. */
static int wait_for_turn(void *user, int calls) {
    rdt_sqlite *file = user;
    if (!calls) file->waiting_since_ms = 0;
    if (!calls) file->has_told = false;
    bool goes_on = rdt_sqlite_pause(&file->waiting_since_ms, file->busy_ms);
    if (!goes_on || !file->waits || file->has_told) return goes_on;
    file->has_told = rdt_clock_ms() - file->waiting_since_ms >= TELL_MS;
    if (file->has_told) file->waits(file->waits_user);
    return goes_on;
}

void rdt_sqlite_wait(rdt_sqlite *file, bool wait) {
    sqlite3_busy_handler(file->db, wait ? wait_for_turn : NULL, file);
}

/* Called after so many steps of SQLite's machine. */
enum { STEPS_PER_CALL = 1000 };

static int count_down(void *user) {
    rdt_sqlite *file = user;
    return --file->calls_left < 0;
}

void rdt_sqlite_limit(rdt_sqlite *file, int64_t steps) {
    file->calls_most = file->calls_left = steps / STEPS_PER_CALL;
    sqlite3_progress_handler(file->db, steps ? STEPS_PER_CALL : 0, steps ? count_down : NULL, file);
}

/* Nothing in a file may run as code, whoever wrote it. None of this touches the file. */
static int guard(sqlite3 *db, rdt_sqlite_access access) {
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; !rc && i < sizeof options / sizeof *options; i++)
        rc = sqlite3_db_config(db, options[i].option, options[i].value, NULL);
    if (!rc && access == RDT_SQLITE_READ)
        rc = sqlite3_exec(db, "PRAGMA query_only=ON", NULL, NULL, NULL);
    return rc;
}

static redtune_status connect(rdt_sqlite *file, rdt_sqlite_access access, redtune_error *err) {
    /* A leading "./" keeps "file:x?mode=memory" and ":memory:" names of files. */
    size_t bytes = strlen(file->path) + 3;
    char *name = malloc(bytes);
    if (!name) return rdt_fail_memory(err, bytes);
    snprintf(name, bytes, "%s%s", file->path[0] == '/' ? "" : "./", file->path);
    int flags = access == RDT_SQLITE_READ ? SQLITE_OPEN_READONLY
                                          : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(name, &file->db, flags, NULL);
    file->writes = access == RDT_SQLITE_WRITE;
    free(name);
    int code = rc ? sqlite3_system_errno(file->db) : 0;
    if (rc && code) return rdt_sqlite_fail_errno(file, "", code, err);
    if (!rc) rdt_sqlite_wait(file, true);
    if (!rc) rc = guard(file->db, access);
    return rc ? rdt_sqlite_fail(file, "open", rc, err) : rdt_guarded_check_beside(file, err);
}

static redtune_status make_folder(const rdt_sqlite *file, redtune_error *err) {
    redtune_error why = {0};
    redtune_status status = rdt_file_make_folder_of(file->path, 0777, &why);
    if (!status) return REDTUNE_OK;
    return rdt_sqlite_fail_open(file, status, why.code, why.message, file->kind->remedy, err);
}

redtune_status rdt_sqlite_open(rdt_sqlite *file, const rdt_sqlite_kind *kind, const char *path,
                               rdt_sqlite_access access, redtune_error *err) {
    file->kind = kind;
    file->busy_ms = kind->busy_ms;
    file->path = strdup(path);
    if (!file->path) return rdt_fail_memory(err, strlen(path) + 1);
    redtune_status status = REDTUNE_OK;
    if (!path[0])
        status = rdt_sqlite_fail_kind(file, "the path is empty", err);
    else if (access == RDT_SQLITE_WRITE)
        status = make_folder(file, err);
    if (!status) status = check_regular(file, access, err);
    if (!status) status = connect(file, access, err);
    if (status) rdt_sqlite_close(file);
    return status;
}

static void disconnect(rdt_sqlite *file) {
    for (int i = 0; i < RDT_SQLITE_STATEMENT_MAX; i++) sqlite3_finalize(file->prepared[i]);
    rdt_guarded_close(file);
}

void rdt_sqlite_close(rdt_sqlite *file) {
    disconnect(file);
    free(file->image);
    free(file->path);
    *file = (rdt_sqlite){0};
}

/* The header, zeros where the file ends before it. *bytes is the file's size.
 * Through SQLite's own descriptor: to close another one would drop this process's locks. */
static redtune_status read_header(const rdt_sqlite *file, unsigned char header[RDT_HEADER_BYTES],
                                  sqlite3_int64 *bytes, redtune_error *err) {
    sqlite3_file *io = NULL;
    memset(header, 0, RDT_HEADER_BYTES);
    int rc = sqlite3_file_control(file->db, "main", SQLITE_FCNTL_FILE_POINTER, &io);
    if (!rc) rc = io->pMethods->xFileSize(io, bytes);
    if (!rc && *bytes) rc = io->pMethods->xRead(io, header, RDT_HEADER_BYTES, 0);
    if (!rc || rc == SQLITE_IOERR_SHORT_READ) return REDTUNE_OK;
    return rdt_sqlite_fail_open(file, REDTUNE_FILE, rc, sqlite3_errstr(rc), file->kind->remedy,
                                err);
}

/* A copy in memory has no file to look at; what it is a copy of was identified. */
static redtune_status identify_loaded(rdt_sqlite *file, redtune_error *err) {
    int64_t version = file->version;
    redtune_status status = rdt_sqlite_select(file, "open", "PRAGMA user_version", &version, err);
    file->version = (uint32_t)version;
    return status;
}

bool rdt_sqlite_has_journal(const rdt_sqlite *file) {
    return rdt_file_exists(sqlite3_filename_journal(sqlite3_db_filename(file->db, "main")));
}

/* The power went while the file was made: its first page is not there yet, but the journal is,
 * which takes the file back to nothing. */
static bool is_half_made(const rdt_sqlite *file, const unsigned char header[RDT_HEADER_BYTES]) {
    static const unsigned char nothing[RDT_HEADER_BYTES];
    return !memcmp(header, nothing, RDT_HEADER_BYTES) && rdt_sqlite_has_journal(file);
}

redtune_status rdt_sqlite_identify(rdt_sqlite *file, bool *empty, redtune_error *err) {
    *empty = false;
    if (file->loaded) return identify_loaded(file, err);
    unsigned char header[RDT_HEADER_BYTES];
    sqlite3_int64 bytes = 0;
    redtune_status status = read_header(file, header, &bytes, err);
    if (!status && is_half_made(file, header)) bytes = 0;
    if (!status && bytes) status = rdt_header_check(file, header, err);
    if (status) return status;
    file->version = bytes ? rdt_header_version(header) : 0;
    file->wal = bytes && rdt_header_is_wal(header);
    *empty = !bytes;
    return REDTUNE_OK;
}

redtune_status rdt_sqlite_open_bytes(rdt_sqlite *file, const rdt_sqlite_kind *kind,
                                     const char *name, const void *data, size_t bytes,
                                     redtune_error *err) {
    redtune_status status = rdt_sqlite_open_blank(file, kind, name, err);
    if (status) return status;
    status = rdt_header_check_length(file, data, bytes, err);
    if (!status) {
        file->version = rdt_header_version(data);
        int rc = sqlite3_deserialize(file->db, "main", (unsigned char *)data, (sqlite3_int64)bytes,
                                     (sqlite3_int64)bytes, SQLITE_DESERIALIZE_READONLY);
        /* Nothing is looked at yet: this is how it says that memory is out. */
        if (rc == SQLITE_ERROR) rc = SQLITE_NOMEM;
        if (!rc) rc = sqlite3_exec(file->db, "PRAGMA query_only=ON", NULL, NULL, NULL);
        if (rc) status = rdt_sqlite_fail(file, "open", rc, err);
    }
    if (status) rdt_sqlite_close(file);
    return status;
}

redtune_status rdt_sqlite_check_length(const rdt_sqlite *file, redtune_error *err) {
    unsigned char header[RDT_HEADER_BYTES];
    sqlite3_int64 bytes = 0;
    if (file->loaded) return REDTUNE_OK;
    redtune_status status = read_header(file, header, &bytes, err);
    if (status) return status;
    unsigned page = rdt_header_page_bytes(header);
    if (page && bytes % page == 0) return REDTUNE_OK;
    char remedy[RDT_REMEDY_BYTES];
    return rdt_sqlite_fail_open(file, REDTUNE_DATABASE, SQLITE_CORRUPT, "its end is missing",
                                rdt_remedy_damaged(file, remedy), err);
}

redtune_status rdt_sqlite_check_writable(const rdt_sqlite *file, redtune_error *err) {
    /* The journal goes beside the file that a symbolic link leads to. */
    const char *real = sqlite3_db_filename(file->db, "main");
    if (faccessat(AT_FDCWD, real, W_OK, AT_EACCESS))
        return rdt_sqlite_fail_errno(file, "it cannot be written: ", errno, err);
    return check_folder(file, real, err);
}

static redtune_status connect_memory(rdt_sqlite *file, redtune_error *err) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(":memory:", &file->db, flags | SQLITE_OPEN_EXRESCODE, NULL);
    if (!rc) rc = guard(file->db, RDT_SQLITE_WRITE);
    file->loaded = true;
    return rc ? rdt_sqlite_fail(file, "open", rc, err) : REDTUNE_OK;
}

redtune_status rdt_sqlite_open_blank(rdt_sqlite *file, const rdt_sqlite_kind *kind,
                                     const char *name, redtune_error *err) {
    *file = (rdt_sqlite){.kind = kind, .path = strdup(name)};
    if (!file->path) return rdt_fail_memory(err, strlen(name) + 1);
    redtune_status status = connect_memory(file, err);
    if (status) rdt_sqlite_close(file);
    return status;
}

/* Takes over the connection of another, which has the same path, in place of the file's own; with a
 * status, closes the other's. */
static redtune_status exchange(rdt_sqlite *file, rdt_sqlite *other, redtune_status status) {
    disconnect(status ? other : file);
    if (!status) *file = *other;
    return status;
}

redtune_status rdt_sqlite_reopen(rdt_sqlite *file, redtune_error *err) {
    rdt_sqlite other = {.kind = file->kind, .path = file->path, .busy_ms = file->busy_ms};
    redtune_status status = connect(&other, RDT_SQLITE_WRITE, err);
    if (exchange(file, &other, status)) return status;
    rdt_sqlite_wait(file, true);
    return REDTUNE_OK;
}

/* A process that opens the file before it is renamed finds it without its journal, and maybe
 * damaged. */
static redtune_status rename_over(const rdt_sqlite *file, const char *fresh, redtune_error *err) {
    const char *real = sqlite3_db_filename(file->db, "main");
    unlink(fresh); /* of a process that had this number */
    int descriptor = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0 || close(descriptor))
        return rdt_sqlite_fail_errno(file, "no new one can be made: ", errno, err);
    bool good =
        (!unlink(sqlite3_filename_journal(real)) || errno == ENOENT) && !rename(fresh, real);
    redtune_status status =
        good ? REDTUNE_OK : rdt_sqlite_fail_errno(file, "it cannot be replaced: ", errno, err);
    if (status) unlink(fresh);
    return status;
}

redtune_status rdt_sqlite_replace(rdt_sqlite *file, redtune_error *err) {
    char *fresh = NULL;
    rdt_text name = {0};
    rdt_text_addf(&name, "%s.%ld", sqlite3_db_filename(file->db, "main"), (long)getpid());
    redtune_status status = rdt_text_take(&name, &fresh, err);
    if (!status) status = rename_over(file, fresh, err);
    free(fresh);
    return status ? status : rdt_sqlite_reopen(file, err);
}

redtune_status rdt_sqlite_load(rdt_sqlite *file, redtune_error *err) {
    rdt_sqlite copy = {.kind = file->kind, .path = file->path, .version = file->version};
    redtune_status status = connect_memory(&copy, err);
    sqlite3_backup *backup = NULL;
    if (!status) {
        backup = sqlite3_backup_init(copy.db, "main", file->db, "main");
        if (backup) sqlite3_backup_step(backup, -1);
        int rc = backup ? sqlite3_backup_finish(backup) : sqlite3_errcode(copy.db);
        if (rc) status = rdt_sqlite_fail(&copy, "open", rc, err);
    }
    return exchange(file, &copy, status);
}

redtune_status rdt_sqlite_run(rdt_sqlite *file, const char *verb, const char *sql,
                              redtune_error *err) {
    int rc = rdt_guarded_exec(file, sql);
    return rc ? rdt_sqlite_fail(file, verb, rc, err) : REDTUNE_OK;
}

redtune_status rdt_sqlite_begin(rdt_sqlite *file, redtune_error *err) {
    return rdt_sqlite_run(file, "write", "BEGIN IMMEDIATE", err);
}

redtune_status rdt_sqlite_end(rdt_sqlite *file, redtune_status status, redtune_error *err) {
    if (!status) status = rdt_sqlite_run(file, "write", "COMMIT", err);
    /* Some failures have rolled back already. */
    if (status && !sqlite3_get_autocommit(file->db)) rdt_guarded_exec(file, "ROLLBACK");
    return status;
}

redtune_status rdt_sqlite_statement(rdt_sqlite *file, int number, sqlite3_stmt **out,
                                    redtune_error *err) {
    sqlite3_stmt **statement = &file->prepared[number];
    int rc = SQLITE_OK;
    file->calls_left = file->calls_most;
    if (*statement)
        sqlite3_reset(*statement);
    else
        rc = rdt_guarded_prepare(file, file->kind->statements[number], SQLITE_PREPARE_PERSISTENT,
                                 statement);
    if (rc) return rdt_sqlite_fail(file, "use", rc, err);
    *out = *statement;
    return REDTUNE_OK;
}

redtune_status rdt_sqlite_step(rdt_sqlite *file, const char *verb, sqlite3_stmt *statement,
                               bool *row, redtune_error *err) {
    int rc = rdt_guarded_step(file, statement);
    redtune_status status = REDTUNE_OK;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) status = rdt_sqlite_fail(file, verb, rc, err);
    if (rc != SQLITE_ROW) sqlite3_reset(statement);
    if (!status) *row = rc == SQLITE_ROW;
    return status;
}

redtune_status rdt_sqlite_execute(rdt_sqlite *file, const char *verb, sqlite3_stmt *statement,
                                  int rc, int count, int64_t *out, redtune_error *err) {
    bool row = false;
    if (rc) return rdt_sqlite_fail(file, verb, rc, err);
    redtune_status status = rdt_sqlite_step(file, verb, statement, &row, err);
    if (status) return status;
    if (count && !row) return rdt_sqlite_fail(file, verb, SQLITE_CORRUPT, err);
    for (int i = 0; i < count; i++) out[i] = sqlite3_column_int64(statement, i);
    sqlite3_reset(statement);
    return REDTUNE_OK;
}

redtune_status rdt_sqlite_prepare(rdt_sqlite *file, const char *verb, const char *sql,
                                  sqlite3_stmt **out, redtune_error *err) {
    int rc = rdt_guarded_prepare(file, sql, 0, out);
    return rc ? rdt_sqlite_fail(file, verb, rc, err) : REDTUNE_OK;
}

redtune_status rdt_sqlite_select(rdt_sqlite *file, const char *verb, const char *sql, int64_t *out,
                                 redtune_error *err) {
    sqlite3_stmt *statement = NULL;
    redtune_status status = rdt_sqlite_prepare(file, verb, sql, &statement, err);
    if (!status) status = rdt_sqlite_execute(file, verb, statement, SQLITE_OK, 1, out, err);
    sqlite3_finalize(statement);
    return status;
}
