/* Salvage: the rows of a tuning database that SQLite does not open, from its pages alone.
 *
 * A leaf page holds whole records, and a record says of each of its values which type and length it
 * has. So rows are found without the pages that lead to them, and without the schema: by how many
 * values a record has, and that the first one, the id, is left to the key. They go into tables in
 * memory, which take any value; reading these, by the same statement and check as any database,
 * joins a measurement with its GPU and origin and leaves out what is no row. Index pages say which
 * measurements there were. Each byte is looked at a bounded number of times, wherever it leads.
 *
 * The format: https://www.sqlite.org/fileformat2.html */
#include "cache/salvage.h"

#include <stdlib.h>
#include <string.h>
#include "cache/header.h"
#include "cache/schema.h"
#include "cache/tuning_inside.h"

enum { INDEX_INNER = 0x02, INDEX_LEAF = 0x0a, TABLE_LEAF = 0x0d };
enum { VALUES_MAX = 40, PAGE_BYTES_USUAL = 4096 };

/* ---- the tables ------------------------------------------------------------------------------ */

#define ONE(kind, column, least, most, field, note, before) +1
#define VALUES_7                                            "?, ?, ?, ?, ?, ?, ?"

enum {
    MEASUREMENT_VALUES = 4 RDT_MEASUREMENT_LIST(ONE),
    MEASUREMENT_3_VALUES = MEASUREMENT_VALUES - 4,
    MEASUREMENT_2_VALUES = MEASUREMENT_VALUES - 11,
    /* Of measurement_by_problem, which ends with the id. */
    INDEX_VALUES = 21,
    INDEX_3_VALUES = 17,
    INDEX_2_VALUES = 11,
};

/* Their columns, each with a comma before it. */
#define GPU_COLUMNS           RDT_GPU_LIST(RDT_COLUMN_NAME)
#define ORIGIN_COLUMNS        RDT_ORIGIN_LIST(RDT_COLUMN_NAME)
#define MEASUREMENT_COLUMNS   RDT_MEASUREMENT_LIST(RDT_COLUMN_NAME)
#define MEASUREMENT_3_COLUMNS RDT_MEASUREMENT_LIST(RDT_COLUMN_IN_3)
#define MEASUREMENT_2_COLUMNS RDT_MEASUREMENT_LIST(RDT_COLUMN_IN_2)
#define COLUMNS_OF_VERSION_3  RDT_MEASUREMENT_LIST(RDT_COLUMN_FROM_3)
#define COLUMNS_OF_VERSION_2  RDT_MEASUREMENT_LIST(RDT_COLUMN_FROM_2)

static const char tables_sql[] =
    "CREATE TABLE gpu(id INTEGER PRIMARY KEY" GPU_COLUMNS ");"
    "CREATE TABLE origin(id INTEGER PRIMARY KEY" ORIGIN_COLUMNS ");"
    "CREATE TABLE import(id INTEGER PRIMARY KEY, source, date);"
    "CREATE TABLE measurement(id INTEGER PRIMARY KEY, gpu, origin" MEASUREMENT_COLUMNS ", import);"
    "CREATE TABLE measurement_3(id INTEGER PRIMARY KEY, gpu, origin" MEASUREMENT_3_COLUMNS
    ", import);"
    "CREATE TABLE measurement_2(id INTEGER PRIMARY KEY, gpu, origin" MEASUREMENT_2_COLUMNS
    ", import);"
    "CREATE TABLE told(id INTEGER PRIMARY KEY)";

static const char join_versions_sql[] =
    "INSERT OR IGNORE INTO measurement(id, import, gpu, origin" MEASUREMENT_COLUMNS ")"
    " SELECT id, import, gpu, origin" COLUMNS_OF_VERSION_3 " FROM measurement_3;"
    "INSERT OR IGNORE INTO measurement(id, import, gpu, origin" MEASUREMENT_COLUMNS ")"
    " SELECT id, import, gpu, origin" COLUMNS_OF_VERSION_2 " FROM measurement_2;"
    "INSERT OR IGNORE INTO told SELECT id FROM measurement";

enum statement { PUT_FIRST, EACH = 9, COUNT, SOURCE };

/* The records that are taken: those of a table begin with an id, which is NULL in them and their
 * key; then come texts and integers. More values are columns that somebody added. Of several kinds
 * that a record may be of, the last is its. */
static const struct {
    bool index;
    int values;
    const char *begin; /* 0: NULL, t: a text, i: an integer */
} kinds[] = {
    {false, 3, "0ti"},
    {false, 1 RDT_ORIGIN_LIST(ONE), "0tiit"},
    {false, 1 RDT_GPU_LIST(ONE), "0tiiiiii"},
    {false, MEASUREMENT_2_VALUES, "0iittti"},
    {false, MEASUREMENT_3_VALUES, "0iittttti"},
    {false, MEASUREMENT_VALUES, "0iitttttttt"},
    {true, INDEX_2_VALUES, "tttti"},
    {true, INDEX_3_VALUES, "ttttti"},
    {true, INDEX_VALUES, "ttttttttt"},
};

static const rdt_sqlite_kind salvage_kind = {
    .what = "damaged database",
    .remedy = "free some memory",
    .schema = &rdt_schema_tuning,
    .statements =
        {
            "INSERT OR REPLACE INTO import VALUES(?, ?, ?)",
            "INSERT OR REPLACE INTO origin VALUES(?, ?, ?, ?, ?)",
            "INSERT OR REPLACE INTO gpu VALUES(?" RDT_GPU_LIST(RDT_COLUMN_VALUE) ")",
            "INSERT OR REPLACE INTO measurement_2 VALUES(?, ?, ?, ?, ?, ?, " VALUES_7 ", " VALUES_7
            ", ?, ?, ?, ?)",
            "INSERT OR REPLACE INTO measurement_3 VALUES(" VALUES_7 ", " VALUES_7 ", " VALUES_7
            ", " VALUES_7 ", ?, ?, ?, ?, ?)",
            "INSERT OR REPLACE INTO measurement VALUES(?, ?, ?" RDT_MEASUREMENT_LIST(
                RDT_COLUMN_VALUE) ", ?)",
            "INSERT OR IGNORE INTO told VALUES(?11)",
            "INSERT OR IGNORE INTO told VALUES(?17)",
            "INSERT OR IGNORE INTO told VALUES(?21)",
            [EACH] = "SELECT " RDT_ROW_COLUMNS " FROM measurement AS m CROSS JOIN gpu AS g"
                     " ON g.id = m.gpu CROSS JOIN origin AS o ON o.id = m.origin",
            [COUNT] = "SELECT count(*) FROM told",
            [SOURCE] = "SELECT source FROM import WHERE id = ? AND typeof(source) = 'text'",
        },
};

struct rdt_salvage {
    rdt_tuning tuning; /* the tables in memory */
    int64_t rows;      /* measurements that were put into them */
};

/* ---- records --------------------------------------------------------------------------------- */

/* Bytes that are left to be read. */
typedef struct span {
    const unsigned char *at, *end;
} span;

static uint64_t read_big_endian(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}

/* false where the bytes end before it does. */
static bool read_varint(span *from, uint64_t *out) {
    uint64_t value = 0;
    for (int i = 0; i < 9 && from->at < from->end; i++) {
        const unsigned char byte = *from->at++;
        value = i == 8 ? value << 8 | byte : value << 7 | (byte & 0x7f);
        if (i < 8 && byte & 0x80) continue;
        *out = value;
        return true;
    }
    return false;
}

static size_t value_bytes(uint64_t type) {
    static const unsigned char bytes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return type < 12 ? bytes[type] : (size_t)((type - 12) / 2);
}

/* The types that a record's head has; -1 where it is no record, or one of too many values. */
static int read_types(span *record, uint64_t types[VALUES_MAX]) {
    const unsigned char *begin = record->at;
    uint64_t head_bytes;
    int count = 0;
    if (!read_varint(record, &head_bytes) || head_bytes > (uint64_t)(record->end - begin))
        return -1;
    span head = {record->at, begin + head_bytes};
    record->at = begin + head_bytes;
    uint64_t left = (uint64_t)(record->end - record->at);
    while (head.at < head.end) {
        if (count == VALUES_MAX || !read_varint(&head, &types[count])) return -1;
        const uint64_t bytes = value_bytes(types[count++]);
        if (bytes > left) return -1;
        left -= bytes;
    }
    return count;
}

static int bind_raw(sqlite3_stmt *put, int i, uint64_t type, const unsigned char *at) {
    const int bytes = (int)value_bytes(type);
    if (!type) return sqlite3_bind_null(put, i);
    if (type >= 12)
        return type % 2 ? sqlite3_bind_text(put, i, (const char *)at, bytes, SQLITE_STATIC)
                        : sqlite3_bind_blob(put, i, at, bytes, SQLITE_STATIC);
    if (type == 8 || type == 9) return sqlite3_bind_int64(put, i, (int64_t)type - 8);
    uint64_t value = read_big_endian(at, bytes);
    if (bytes < 8 && at[0] & 0x80) value |= ~UINT64_C(0) << (8 * bytes);
    double real;
    memcpy(&real, &value, sizeof real);
    return type == 7 ? sqlite3_bind_double(put, i, real)
                     : sqlite3_bind_int64(put, i, (int64_t)value);
}

static bool begins_so(const char *begin, const uint64_t *types) {
    for (; *begin; begin++, types++) {
        const char is = !*types        ? '0'
                        : *types >= 12 ? (*types % 2 ? 't' : 'b')
                        : *types == 7  ? 'r'
                                       : 'i';
        if (is != *begin) return false;
    }
    return true;
}

/* -1: it is of none. */
static int find_kind(bool index, const uint64_t *types, int count) {
    int found = -1;
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++)
        if (kinds[i].index == index &&
            (index ? kinds[i].values == count : kinds[i].values <= count) &&
            begins_so(kinds[i].begin, types))
            found = i;
    return found;
}

/* key: of a table's record, whose id it is. */
static redtune_status put_record(rdt_salvage *self, span record, bool index, int64_t key,
                                 redtune_error *err) {
    uint64_t types[VALUES_MAX];
    rdt_sqlite *file = &self->tuning.file;
    sqlite3_stmt *put = NULL;
    const int count = read_types(&record, types), kind = find_kind(index, types, count);
    if (kind < 0) return REDTUNE_OK;
    redtune_status status = rdt_sqlite_statement(file, PUT_FIRST + kind, &put, err);
    if (status) return status;
    int rc = SQLITE_OK;
    for (int i = 0; !rc && i < kinds[kind].values; i++) {
        rc = i || index ? bind_raw(put, i + 1, types[i], record.at)
                        : sqlite3_bind_int64(put, 1, key);
        record.at += value_bytes(types[i]);
    }
    if (rc == SQLITE_NOMEM) return rdt_sqlite_fail(file, "read", rc, err);
    /* An index's last value need not be a number, and then is no id. */
    rc = rc ? rc : sqlite3_step(put);
    sqlite3_reset(put);
    sqlite3_clear_bindings(put);
    if (rc == SQLITE_NOMEM) return rdt_sqlite_fail(file, "read", rc, err);
    self->rows += rc == SQLITE_DONE && kinds[kind].values >= MEASUREMENT_2_VALUES;
    return REDTUNE_OK;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* A record that goes on on another page is left: redtune's fit on one. */
static redtune_status take_cell(rdt_salvage *self, span cell, int type, redtune_error *err) {
    uint64_t bytes, key = 0;
    const bool index = type != TABLE_LEAF;
    if (type == INDEX_INNER) cell.at += 4;
    if (cell.at >= cell.end || !read_varint(&cell, &bytes) || (!index && !read_varint(&cell, &key)))
        return REDTUNE_OK;
    if (bytes > (uint64_t)(cell.end - cell.at)) return REDTUNE_OK;
    cell.end = cell.at + bytes;
    return put_record(self, cell, index, (int64_t)key, err);
}

/* head: where its own bytes begin, behind the file's header on the first one. */
static redtune_status take_page(rdt_salvage *self, const unsigned char *page, size_t bytes,
                                size_t head, redtune_error *err) {
    const int type = page[head];
    redtune_status status = REDTUNE_OK;
    if (type != TABLE_LEAF && type != INDEX_LEAF && type != INDEX_INNER) return REDTUNE_OK;
    const size_t cells = (size_t)read_big_endian(page + head + 3, 2);
    const size_t first = head + (type == INDEX_INNER ? 12 : 8);
    for (size_t i = 0; !status && i < cells && first + 2 * i + 2 <= bytes; i++) {
        const size_t at = (size_t)read_big_endian(page + first + 2 * i, 2);
        if (at > head && at < bytes)
            status = take_cell(self, (span){page + at, page + bytes}, type, err);
    }
    return status;
}

static bool may_be_page_bytes(uint64_t bytes) {
    return bytes >= 512 && bytes <= 65536 && !(bytes & (bytes - 1));
}

/* The last page may be cut off: what is missing of it is zero. */
static redtune_status take_pages(rdt_salvage *self, const unsigned char *data, size_t bytes,
                                 size_t page_bytes, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    unsigned char *last = calloc(1, page_bytes);
    if (!last) return rdt_fail_memory(err, page_bytes);
    for (size_t at = 0; !status && at < bytes; at += page_bytes) {
        const unsigned char *page = data + at;
        if (bytes - at < page_bytes) page = memcpy(last, page, bytes - at);
        status = take_page(self, page, page_bytes, at ? 0 : RDT_HEADER_BYTES, err);
    }
    free(last);
    return status;
}

/* A log is frames of a page each, which have a head of 24 bytes, behind a head of 32. */
static redtune_status take_frames(rdt_salvage *self, const unsigned char *data, size_t bytes,
                                  redtune_error *err) {
    const size_t page_bytes = (size_t)read_big_endian(data + 8, 4);
    redtune_status status = REDTUNE_OK;
    if (!may_be_page_bytes(page_bytes)) return REDTUNE_OK;
    for (size_t at = 32; !status && at + 24 + page_bytes <= bytes; at += 24 + page_bytes) {
        const bool first = read_big_endian(data + at, 4) == 1;
        status = take_page(self, data + at + 24, page_bytes, first ? RDT_HEADER_BYTES : 0, err);
    }
    return status;
}

static redtune_status forget(rdt_salvage *self, redtune_error *err) {
    self->rows = 0;
    return rdt_sqlite_run(&self->tuning.file, "read",
                          "DELETE FROM import; DELETE FROM origin; DELETE FROM gpu;"
                          "DELETE FROM measurement_2; DELETE FROM measurement_3;"
                          "DELETE FROM measurement; DELETE FROM told",
                          err);
}

/* By pages of the size that the header says, or of the usual one: it may be wrong. */
static redtune_status take_main_file(rdt_salvage *self, const unsigned char *data, size_t bytes,
                                     redtune_error *err) {
    const size_t usual = PAGE_BYTES_USUAL, of_header = rdt_header_page_bytes(data);
    const size_t says = may_be_page_bytes(of_header) ? of_header : usual;
    redtune_status status = take_pages(self, data, bytes, says, err);
    if (status || says == usual) return status;
    const int64_t rows = self->rows;
    status = forget(self, err);
    if (!status) status = take_pages(self, data, bytes, usual, err);
    if (status || self->rows >= rows) return status;
    status = forget(self, err);
    return status ? status : take_pages(self, data, bytes, says, err);
}

redtune_status rdt_salvage_add(rdt_salvage *self, const void *data, size_t bytes,
                               redtune_error *err) {
    if (bytes < 512) return REDTUNE_OK;
    if (read_big_endian(data, 4) >> 1 == 0x377f0682 >> 1)
        return take_frames(self, data, bytes, err);
    return take_main_file(self, data, bytes, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

redtune_status rdt_salvage_open(rdt_salvage **out, redtune_error *err) {
    rdt_salvage *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    redtune_status status =
        rdt_sqlite_open_blank(&self->tuning.file, &salvage_kind, "in memory", err);
    if (!status) status = rdt_sqlite_run(&self->tuning.file, "create", tables_sql, err);
    if (!status) status = rdt_sqlite_begin(&self->tuning.file, err);
    if (status)
        rdt_salvage_close(self);
    else
        *out = self;
    return status;
}

void rdt_salvage_close(rdt_salvage *self) {
    if (!self) return;
    rdt_sqlite_close(&self->tuning.file);
    free(self);
}

redtune_status rdt_salvage_each(rdt_salvage *self, rdt_tuning_each_fn *each, void *user,
                                int64_t *told, redtune_error *err) {
    rdt_sqlite *file = &self->tuning.file;
    sqlite3_stmt *statement = NULL;
    redtune_status status = rdt_sqlite_run(file, "read", join_versions_sql, err);
    if (!status) status = rdt_sqlite_statement(file, COUNT, &statement, err);
    if (!status) status = rdt_sqlite_execute(file, "read", statement, SQLITE_OK, 1, told, err);
    if (!status) status = rdt_sqlite_statement(file, EACH, &statement, err);
    return status ? status : rdt_tuning_give_rows(&self->tuning, statement, each, user, err);
}

redtune_status rdt_salvage_source(rdt_salvage *self, int64_t import, char out[256],
                                  redtune_error *err) {
    rdt_sqlite *file = &self->tuning.file;
    sqlite3_stmt *find = NULL;
    bool row = false;
    redtune_status status = rdt_sqlite_statement(file, SOURCE, &find, err);
    if (status) return status;
    int rc = sqlite3_bind_int64(find, 1, import);
    if (rc) return rdt_sqlite_fail(file, "read", rc, err);
    status = rdt_sqlite_step(file, "read", find, &row, err);
    if (status) return status;
    const char *name = row ? (const char *)sqlite3_column_text(find, 0) : NULL;
    rdt_text_copy_plain(out, 256, name ? name : "");
    sqlite3_reset(find);
    return REDTUNE_OK;
}

/* ---- whose it is ----------------------------------------------------------------------------- */

static bool has_magic(const void *data, size_t bytes) {
    return bytes >= RDT_HEADER_BYTES && !memcmp(data, "SQLite format 3", 16);
}

bool rdt_salvage_is_foreign(const void *data, size_t bytes) {
    return has_magic(data, bytes) && rdt_header_id(data) != rdt_schema_tuning.application_id;
}

bool rdt_salvage_is_newer(const void *data, size_t bytes) {
    return has_magic(data, bytes) && !rdt_salvage_is_foreign(data, bytes) &&
           rdt_header_version(data) > (uint32_t)rdt_schema_tuning.version;
}
