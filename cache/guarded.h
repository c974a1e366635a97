/* Guarded: calls of SQLite kept from doing harm to the process.
 *
 * Those that may write go under the limit on the size of files: beyond it they fail, and the
 * program goes on (base/limit.h). Preparing and closing write as well, where a journal is rolled
 * back. */
#pragma once

#include "base/fail.h"
#include "cache/connection.h"

/* As sqlite3_exec, sqlite3_prepare_v3, sqlite3_step and sqlite3_close. */
int rdt_guarded_exec(rdt_sqlite *file, const char *sql);
int rdt_guarded_prepare(rdt_sqlite *file, const char *sql, unsigned flags, sqlite3_stmt **out);
int rdt_guarded_step(rdt_sqlite *file, sqlite3_stmt *statement);
void rdt_guarded_close(rdt_sqlite *file);

/* REDTUNE_DATABASE where the path has another file by now, or none: what was put since the file was
 * opened may be in none. */
redtune_status rdt_guarded_check_place(const rdt_sqlite *file, redtune_error *err);
/* Refuses a file beside which lies what SQLite would take for its journal, and is no file: to open
 * that may wait forever. */
redtune_status rdt_guarded_check_beside(const rdt_sqlite *file, redtune_error *err);
