/* Confine: what SQLite may do with content that anybody may have made. */
#pragma once

#include "cache/sqlite.h"

enum { RDT_CONFINE_TEXT_MAX = 65536 }; /* bytes of a row */

/* Steps of SQLite's machine that may be taken: a few times as many as honest content needs. A loop
 * through a file's pages, or a walk that never ends, uses them up. */
typedef struct rdt_fuel {
    int64_t steps;
    bool gone;
} rdt_fuel;

/* Files that are imported. */
extern const rdt_sqlite_kind rdt_confine_kind;

/* left must outlive the connection. allows is an authorizer: what may happen; NULL where all SQL is
 * redtune's, on a database without content. */
void rdt_confine_begin(sqlite3 *db, rdt_fuel *left,
                       int (*allows)(void *, int, const char *, const char *, const char *,
                                     const char *));
/* Returns status; says so where fuel ran out. */
redtune_status rdt_confine_end(const rdt_sqlite *file, const rdt_fuel *left, redtune_status status,
                               redtune_error *err);
