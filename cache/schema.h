/* Schema: the exact text of both database files, the check that a file has it, and the way from an
 * older version's to the present one's. */
#pragma once

#include <stdbool.h>
#include "base/fail.h"

struct rdt_sqlite;

/* A row that sqlite_schema must hold, byte for byte. */
typedef struct rdt_schema_object {
    const char *type, *name;
    const char *table; /* the table it belongs to */
    const char *sql;
} rdt_schema_object;

/* An older version, and the statements that lead to the next one. */
typedef struct rdt_schema_version {
    int version; /* 0 after the last */
    const rdt_schema_object *objects;
    const char *const *step; /* NULL at the end */
} rdt_schema_version;

typedef struct rdt_schema {
    uint32_t application_id;          /* in the file's header: tells redtune's files from others' */
    int version;                      /* user_version in the file's header */
    const char *stamp;                /* SQL that writes these two */
    const rdt_schema_object *objects; /* in order of creation; name NULL at the end */
    const rdt_schema_version *past;   /* those that can be taken forward, ascending; NULL: none */
} rdt_schema;

#define RDT_SCHEMA_TEXT_OF(number) #number
#define RDT_SCHEMA_STAMP(id, version)                                                              \
    "PRAGMA application_id=" RDT_SCHEMA_TEXT_OF(id) "; PRAGMA user_version=" RDT_SCHEMA_TEXT_OF(   \
        version)

extern const rdt_schema rdt_schema_tuning;
extern const rdt_schema rdt_schema_kernels;

/* Whether files of that version can be used. */
bool rdt_schema_knows(const rdt_schema *schema, uint32_t version);
/* Fills an empty file, inside the caller's transaction. */
redtune_status rdt_schema_create(struct rdt_sqlite *file, redtune_error *err);
/* REDTUNE_DATABASE unless the file holds the objects of its schema in the version that it says it
 * is of (file->version), with this very text, and no others except SQLite's own. */
redtune_status rdt_schema_check(struct rdt_sqlite *file, redtune_error *err);
/* Whether it is of an older version than the present one. */
bool rdt_schema_is_past(const struct rdt_sqlite *file);
/* Takes a file that was checked from file->version to the present one, inside the caller's
 * transaction. */
redtune_status rdt_schema_migrate(struct rdt_sqlite *file, redtune_error *err);
