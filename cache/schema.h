/* Schema: the exact text of both database files, and the check that a file has it. */
#ifndef RDT_CACHE_SCHEMA_H
#define RDT_CACHE_SCHEMA_H

#include "base/fail.h"

struct rdt_sqlite;

/* A row that sqlite_schema must hold, byte for byte. */
typedef struct rdt_schema_object {
    const char *type, *name;
    const char *table; /* the table it belongs to */
    const char *sql;
} rdt_schema_object;

typedef struct rdt_schema {
    uint32_t application_id;          /* in the file's header: tells redtune's files from others' */
    int version;                      /* user_version in the file's header */
    const char *stamp;                /* SQL that writes these two */
    const rdt_schema_object *objects; /* in order of creation; name NULL at the end */
} rdt_schema;

extern const rdt_schema rdt_schema_tuning;
extern const rdt_schema rdt_schema_kernels;

/* Fills an empty file, inside the caller's transaction. */
redtune_status rdt_schema_create(struct rdt_sqlite *file, redtune_error *err);
/* REDTUNE_DATABASE unless the file holds the objects of its schema, with this very text, and no
 * others. */
redtune_status rdt_schema_check(struct rdt_sqlite *file, redtune_error *err);

#endif
