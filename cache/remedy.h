/* Remedy: what the message about a database file says to do. */
#pragma once

#include "cache/connection.h"

enum { RDT_REMEDY_BYTES = 400 };

/* For SQLite's error rc. Each returns out, or a constant. */
const char *rdt_remedy_find(const rdt_sqlite *file, int rc, char out[RDT_REMEDY_BYTES]);
/* For a file that is damaged, and for one that another program wrote. */
const char *rdt_remedy_damaged(const rdt_sqlite *file, char out[RDT_REMEDY_BYTES]);
const char *rdt_remedy_foreign(const rdt_sqlite *file, char out[RDT_REMEDY_BYTES]);
