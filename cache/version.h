/* Version: what the tables of a database file are in each version of its schema. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/* NULL for the present version, and one that never was. */
const rdt_schema_version *rdt_version_find_past(const rdt_schema *schema, uint32_t version);
/* Whether files of that version can be used. */
bool rdt_version_is_known(const rdt_schema *schema, uint32_t version);
