/* Header: what the first bytes of an SQLite file say about it. */
#include "cache/header.h"

#include <stdio.h>
#include <string.h>
#include "cache/sqlite_fail.h"

/* The file format's header, https://www.sqlite.org/fileformat2.html#the_database_header */
enum {
    PAGE_BYTES_AT = 16,
    WRITE_FORMAT_AT = 18,
    READ_FORMAT_AT = 19,
    PAGE_COUNT_AT = 28,
    ENCODING_AT = 56,
    VERSION_AT = 60,
    ID_AT = 68
};

static uint32_t big_endian(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

uint32_t rdt_header_id(const unsigned char *header) { return big_endian(header + ID_AT); }

uint32_t rdt_header_version(const unsigned char *header) { return big_endian(header + VERSION_AT); }

unsigned rdt_header_page_bytes(const unsigned char *header) {
    unsigned page = (unsigned)header[PAGE_BYTES_AT] << 8 | header[PAGE_BYTES_AT + 1];
    return page == 1 ? 65536 : page;
}

bool rdt_header_is_wal(const unsigned char *header) { return header[READ_FORMAT_AT] == 2; }

void rdt_header_leave_wal(unsigned char *header) {
    header[WRITE_FORMAT_AT] = header[READ_FORMAT_AT] = 1;
}

redtune_status rdt_header_check(const rdt_sqlite *file, const unsigned char *header,
                                redtune_error *err) {
    const rdt_schema *schema = file->kind->schema;
    if (memcmp(header, "SQLite format 3", 16))
        return rdt_sqlite_fail_content(file, "it is not an SQLite file", err);
    if (big_endian(header + ID_AT) != schema->application_id)
        return rdt_sqlite_fail_content(file, "it is an SQLite file of another program", err);
    uint32_t version = rdt_header_version(header);
    char reason[96];
    snprintf(reason, sizeof reason, "it is of version %u and this redtune knows version %d",
             (unsigned)version, schema->version);
    if (version > (uint32_t)schema->version)
        return rdt_sqlite_fail_open(file, REDTUNE_DATABASE, 0, reason, "update redtune", err);
    if (!rdt_version_is_known(schema, version)) return rdt_sqlite_fail_content(file, reason, err);
    const unsigned most = file->kind->reads_wal ? 2 : 1;
    if (header[WRITE_FORMAT_AT] > most || header[READ_FORMAT_AT] > most)
        return rdt_sqlite_fail_open(
            file, REDTUNE_DATABASE, 0, "it is in WAL mode, which redtune avoids",
            "run PRAGMA journal_mode=DELETE on it in the sqlite3 shell", err);
    if (big_endian(header + ENCODING_AT) != 1)
        return rdt_sqlite_fail_content(file, "its texts are not UTF-8", err);
    return REDTUNE_OK;
}

redtune_status rdt_header_check_length(const rdt_sqlite *file, const unsigned char *data,
                                       size_t bytes, redtune_error *err) {
    if (bytes < RDT_HEADER_BYTES)
        return rdt_sqlite_fail_content(file, "it is not an SQLite file", err);
    redtune_status status = rdt_header_check(file, data, err);
    if (status) return status;
    unsigned page = rdt_header_page_bytes(data);
    if (page >= 512 && !(page & (page - 1)) && bytes % page == 0 &&
        bytes / page == big_endian(data + PAGE_COUNT_AT))
        return REDTUNE_OK;
    return rdt_sqlite_fail_content(file, "its length is not what its header says", err);
}
