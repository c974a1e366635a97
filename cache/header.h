/* Header: what the first bytes of an SQLite file say about it. */
#pragma once

#include "base/fail.h"
#include "cache/connection.h"

enum { RDT_HEADER_BYTES = 100 };

/* REDTUNE_DATABASE unless it is that of the file's kind, of a version that its schema knows, and
 * not in WAL mode unless the kind reads that. */
redtune_status rdt_header_check(const rdt_sqlite *file, const unsigned char *header,
                                redtune_error *err);
/* The same, for a file in memory, which must also have the length that its header says. */
redtune_status rdt_header_check_length(const rdt_sqlite *file, const unsigned char *data,
                                       size_t bytes, redtune_error *err);

bool rdt_header_is_wal(const unsigned char *header);
/* Makes it that of a file that is not in WAL mode. */
void rdt_header_leave_wal(unsigned char *header);
uint32_t rdt_header_id(const unsigned char *header); /* application_id */
/* user_version: of the schema. */
uint32_t rdt_header_version(const unsigned char *header);
/* 0 in a header of zeros. */
unsigned rdt_header_page_bytes(const unsigned char *header);
