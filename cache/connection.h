/* Connection: a kind of database file, and an open one. sqlite.h opens and uses it; the files below
 * that one look at it. */
#pragma once

#include <stdbool.h>
#include <sqlite3.h>
#include "cache/version.h"

enum { RDT_SQLITE_STATEMENT_MAX = 32 };

/* A kind of file. */
typedef struct rdt_sqlite_kind {
    const char *what;     /* as messages name it: "tuning database" */
    const char *remedy;   /* for a file of another kind, or one that cannot be used */
    const char *repair;   /* the command that saves what can be read of one; or NULL */
    bool reads_wal;       /* whether one in WAL mode is taken */
    const char *settings; /* SQL run on each connection once the file is known to be ours */
    int busy_ms;          /* how long to wait for another process's lock, if not told otherwise */
    const rdt_schema *schema;
    const char *statements[RDT_SQLITE_STATEMENT_MAX]; /* constant SQL, by number */
} rdt_sqlite_kind;

typedef struct rdt_sqlite {
    const rdt_sqlite_kind *kind;
    char *path;       /* as the caller wrote it */
    uint32_t version; /* of its schema, once identified; 0: it is empty */
    bool wal;         /* it is in WAL mode, once identified */
    bool loaded;      /* db is a copy in memory */
    void *image;      /* the bytes of the copy, where it does not own them itself; or NULL */
    bool writes;      /* db may write the file */
    bool met_limit;   /* the last call would have made a file longer than it may be */
    int64_t busy_ms;  /* the kind's, or what the owner set since */
    int64_t waiting_since_ms;
    int64_t calls_most, calls_left; /* of the progress handler, while a statement runs */
    /* Called once in a wait that lasts; NULL: nobody asks. */
    void (*waits)(void *user);
    void *waits_user;
    bool has_told;
    sqlite3 *db;
    sqlite3_stmt *prepared[RDT_SQLITE_STATEMENT_MAX]; /* NULL until first used */
} rdt_sqlite;
