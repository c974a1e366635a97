/* Schema: the exact text of both database files, the check that a file has it, and the way from an
 * older version's to the present one's. */
#pragma once

#include "base/fail.h"
#include "cache/connection.h"

#define RDT_SCHEMA_TEXT_OF(number) #number
#define RDT_SCHEMA_STAMP(id, version)                                                              \
    "PRAGMA application_id=" RDT_SCHEMA_TEXT_OF(id) "; PRAGMA user_version=" RDT_SCHEMA_TEXT_OF(   \
        version)

extern const rdt_schema rdt_schema_tuning;
extern const rdt_schema rdt_schema_kernels;

/* Fills an empty file, inside the caller's transaction. */
redtune_status rdt_schema_create(rdt_sqlite *file, redtune_error *err);
/* REDTUNE_DATABASE unless the file holds the objects of its schema in the version that it says it
 * is of (file->version), with this very text, and no others except SQLite's own. */
redtune_status rdt_schema_check(rdt_sqlite *file, redtune_error *err);
/* Whether it is of an older version than the present one. */
bool rdt_schema_is_past(const rdt_sqlite *file);
/* Takes a file that was checked from file->version to the present one, inside the caller's
 * transaction. */
redtune_status rdt_schema_migrate(rdt_sqlite *file, redtune_error *err);
