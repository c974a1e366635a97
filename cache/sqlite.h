/* Sqlite: what both database files have in common: guarded connections, statements prepared on
 * first use, and errors that name the file, SQLite's reason and a remedy.
 *
 * One thread at a time uses a connection, and a child of fork() opens its own. */
#pragma once

#include "cache/sqlite_fail.h"

typedef enum rdt_sqlite_access { RDT_SQLITE_READ, RDT_SQLITE_WRITE } rdt_sqlite_access;

/* Connects, and for RDT_SQLITE_WRITE creates the file (empty) and its folder if they are not there.
 * Reads and writes nothing of an existing file, so that nothing happens to one that is not ours: no
 * journal beside it is played back. *file starts zeroed and is closed on failure. */
redtune_status rdt_sqlite_open(rdt_sqlite *file, const rdt_sqlite_kind *kind, const char *path,
                               rdt_sqlite_access access, redtune_error *err);
/* file may be zeroed, and is afterwards. */
void rdt_sqlite_close(rdt_sqlite *file);

/* Looks at the header's bytes, without a lock and without SQL: REDTUNE_DATABASE unless it is that
 * of the schema's application and a version that it knows. *empty: the file has no bytes. */
redtune_status rdt_sqlite_identify(rdt_sqlite *file, bool *empty, redtune_error *err);
/* REDTUNE_DATABASE if the last page is not whole, which SQLite does not notice. Only while a
 * statement is being read: its lock keeps writers, who may be at that page, out. */
redtune_status rdt_sqlite_check_length(const rdt_sqlite *file, redtune_error *err);
/* REDTUNE_DATABASE if SQLite's own check of all pages, indexes and CHECKs finds anything. */
redtune_status rdt_sqlite_check_integrity(rdt_sqlite *file, redtune_error *err);
/* REDTUNE_FILE if the file, or the folder where its journal goes, cannot be written. */
redtune_status rdt_sqlite_check_writable(const rdt_sqlite *file, redtune_error *err);

/* Whether a journal lies beside the file. */
bool rdt_sqlite_has_journal(const rdt_sqlite *file);

/* Connects for writing to the file that has the path by now. On failure the connection stays. */
redtune_status rdt_sqlite_reopen(rdt_sqlite *file, redtune_error *err);
/* Puts an empty file in the place of a disposable one, whose journal goes too, and connects to it.
 * A process with the old file open goes on with it; writing it fails: SQLITE_READONLY_DBMOVED. */
redtune_status rdt_sqlite_replace(rdt_sqlite *file, redtune_error *err);

/* Whether to wait for other processes' locks, as a connection does at first. The file must not move
 * in memory while it is open. */
void rdt_sqlite_wait(rdt_sqlite *file, bool wait);
/* Ends each statement from now on after this many steps of SQLite's machine; 0: none. A file's
 * pages may lead round and round. The file must not move in memory while it is open. */
void rdt_sqlite_limit(rdt_sqlite *file, int64_t steps);
/* A short pause in a wait that began at *since_ms, which a pause with it at 0 sets; false, at once,
 * when that is limit_ms ago. */
bool rdt_sqlite_pause(int64_t *since_ms, int64_t limit_ms);

/* Connects to a database in memory without a table. name stands for a path in messages. */
redtune_status rdt_sqlite_open_blank(rdt_sqlite *file, const rdt_sqlite_kind *kind,
                                     const char *name, redtune_error *err);
/* Connects to the bytes of a database file, which must outlive the connection, for reading only;
 * REDTUNE_DATABASE unless its header is that of the kind's application, of a version that it knows,
 * and of that length. */
redtune_status rdt_sqlite_open_bytes(rdt_sqlite *file, const rdt_sqlite_kind *kind,
                                     const char *name, const void *data, size_t bytes,
                                     redtune_error *err);
/* The bytes of a file with what a database in memory holds, freed by the caller. */
redtune_status rdt_sqlite_copy_bytes(rdt_sqlite *file, void **data, size_t *bytes,
                                     redtune_error *err);
/* Exchanges the connection for one on a copy of the file in memory, which may be written. */
redtune_status rdt_sqlite_load(rdt_sqlite *file, redtune_error *err);

/* Runs constant SQL that gives no rows. verb as in "cannot <verb> tuning database". */
redtune_status rdt_sqlite_run(rdt_sqlite *file, const char *verb, const char *sql,
                              redtune_error *err);
redtune_status rdt_sqlite_begin(rdt_sqlite *file, redtune_error *err); /* BEGIN IMMEDIATE */
/* Commits if status is REDTUNE_OK, else rolls back; returns status, or why the commit failed. */
redtune_status rdt_sqlite_end(rdt_sqlite *file, redtune_status status, redtune_error *err);

/* The kind's statement of that number, ready to bind: SQLite owns it until the file is closed. */
redtune_status rdt_sqlite_statement(rdt_sqlite *file, int number, sqlite3_stmt **out,
                                    redtune_error *err);
/* *row: a row can be read. Without one, or on failure, the statement is reset. */
redtune_status rdt_sqlite_step(rdt_sqlite *file, const char *verb, sqlite3_stmt *statement,
                               bool *row, redtune_error *err);

/* Runs a statement once and resets it; rc is the code that binding its parameters gave. Reads the
 * first `count` columns of its row: SQLITE_CORRUPT without one, for only a damaged index loses it.
 */
redtune_status rdt_sqlite_execute(rdt_sqlite *file, const char *verb, sqlite3_stmt *statement,
                                  int rc, int count, int64_t *out, redtune_error *err);
/* A statement of the caller's own, who finalizes it. */
redtune_status rdt_sqlite_prepare(rdt_sqlite *file, const char *verb, const char *sql,
                                  sqlite3_stmt **out, redtune_error *err);
/* The integer that constant SQL selects. */
redtune_status rdt_sqlite_select(rdt_sqlite *file, const char *verb, const char *sql, int64_t *out,
                                 redtune_error *err);
