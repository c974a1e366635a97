/* Facts about importing files that somebody made to do harm: each is refused, quickly, with a
 * reason in plain text, and the local database stays as it was, bit for bit. */
#define _GNU_SOURCE
#include "forge.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TIME_LIMIT_MS = 1500 };
#else
enum { TIME_LIMIT_MS = 100 };
#endif

static redtune_error err;
static char theirs[300]; /* the path of the file at hand */
static char *local_bytes;
static size_t local_length;

/* Of this process: other work on the machine is no fault of the import's. */
static double used_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool is_plain(const char *text) {
    for (; *text; text++)
        if (*text < ' ' || *text > '~') return false;
    return true;
}

static bool fails(const char *name, const char *how, const char *more) {
    fprintf(stderr, "%s: %s%s\n", name, how, more);
    return false;
}

/* Whether the import of the file is refused as it must be: with this in the reason, or, where rows
 * are given, row by row. */
static bool is_refused(const char *name, const char *path, const char *reason, uint64_t rows) {
    redtune_import_report report;
    err.message[0] = '\0';
    double begin = used_ms();
    redtune_status status = forge_import(in_scratch("local.db"), path, &report, &err);
    double took = used_ms() - begin;
    if (took > TIME_LIMIT_MS) fprintf(stderr, "%s: took %.0f ms\n", name, took);
    if (took > TIME_LIMIT_MS) return false;
    /* Versions of SQLite differ in whether that is JSON. */
    if (reason[0] == '*') rows = !status, reason = "";
    if (rows && status) return fails(name, "all of it was refused: ", err.message);
    if (!rows && !status) return fails(name, "was taken", "");
    if (rows && (report.refused != rows || report.added || report.winners)) {
        fprintf(stderr, "%s: %d rows refused, %d added\n", name, (int)report.refused,
                (int)report.added);
        return false;
    }
    if (!rows && status != REDTUNE_DATABASE && status != REDTUNE_FILE)
        return fails(name, "odd status: ", err.message);
    if (!rows && !strstr(err.message, reason)) return fails(name, "odd reason: ", err.message);
    if (!is_plain(err.message)) return fails(name, "not plain: ", err.message);
    if (!holds_bytes(in_scratch("local.db"), local_bytes, local_length))
        return fails(name, "the local database has changed", "");
    if (has_beside(in_scratch("local.db"), "-journal") ||
        has_beside(in_scratch("local.db"), "-wal"))
        return fails(name, "something lies beside the local database", "");
    return true;
}

static bool begin_local(void) {
    const char *local = in_scratch("local.db");
    free(local_bytes);
    local_bytes = NULL;
    if (!forge_database(local, 0)) return false;
    rdt_text_copy(theirs, sizeof theirs, in_scratch("theirs.db"));
    local_bytes = read_bytes(local, &local_length);
    return local_bytes != NULL;
}

/* ---- honest files, without which the rest would say nothing -------------------------------- */

static bool is_taken(const char *path) {
    redtune_import_report report;
    unlink(in_scratch("other.db"));
    redtune_status status = forge_import(in_scratch("other.db"), path, &report, &err);
    if (status) return fails(path, err.message, "");
    if (!report.rows || report.added != report.rows || report.refused)
        return fails(path, "not all of its rows were taken", "");
    return ask_sql(in_scratch("other.db"), "SELECT count(*) FROM measurement") ==
           (int64_t)report.rows;
}

static void honest_files_are_taken(void) {
    static const int pages[] = {0, 512, 1024, 65536};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        CHECK(forge_database(in_scratch("theirs.db"), pages[i]));
        CHECK(is_taken(in_scratch("theirs.db")));
    }
    CHECK(forge_lines(in_scratch("theirs.jsonl")));
    CHECK(is_taken(in_scratch("theirs.jsonl")));
}

/* ---- hostile schemas ----------------------------------------------------------------------- */

#define TABLES "its tables are not those"
#define BOMB   "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
#define ESCAPE "char(27) || ']0;" FORGE_MARK "' || char(7) || char(155) || '2J'"

/* Each is done to an honest database with SQLite itself. */
static const struct {
    const char *name, *sql, *reason;
} schemas[] = {
    {"a view for a table", "DROP TABLE import; CREATE VIEW import AS SELECT 1 AS id", TABLES},
    {"a view for the rows",
     "ALTER TABLE measurement RENAME TO m; CREATE VIEW measurement AS SELECT * FROM m", TABLES},
    {"a view that never ends",
     "DROP TABLE import; CREATE VIEW import AS " BOMB " SELECT x AS id, '' AS source, 0 AS date"
     " FROM c",
     TABLES},
    {"rows that never end",
     "ALTER TABLE measurement RENAME TO m; CREATE VIEW measurement AS " BOMB
     " SELECT m.* FROM m, c",
     TABLES},
    {"a view beside the tables", "CREATE VIEW v AS " BOMB " SELECT x FROM c", TABLES},
    {"a trigger", "CREATE TRIGGER t AFTER INSERT ON measurement BEGIN DELETE FROM measurement; END",
     TABLES},
    {"a trigger in place of a view's rows",
     "CREATE VIEW v AS SELECT 1 AS x; CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN SELECT"
     " load_extension('/tmp/" FORGE_MARK "'); END",
     TABLES},
    {"a generated column", "ALTER TABLE gpu ADD COLUMN x INTEGER AS (sm_count * 2)", TABLES},
    {"an index on an expression", "CREATE INDEX e ON measurement(length(config) * abs(count))",
     TABLES},
    {"a partial index", "CREATE INDEX p ON measurement(count) WHERE count > 5", TABLES},
    {"one index more", "CREATE INDEX more ON measurement(config)", TABLES},
    {"one index less", "DROP INDEX measurement_by_problem", TABLES},
    {"one table more", "CREATE TABLE more(x)", TABLES},
    {"one table less", "DROP TABLE import", TABLES},
    {"statistics", "ANALYZE", TABLES},
    {"a virtual table",
     "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('table', 'v', 'v', 0,"
     " 'CREATE VIRTUAL TABLE v USING fts5(x)')",
     TABLES},
    {"a virtual table of no module",
     "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('table', 'v', 'v', 0,"
     " 'CREATE VIRTUAL TABLE v USING " FORGE_MARK "(x)')",
     TABLES},
    {"a table without rowids",
     "DROP TABLE import; CREATE TABLE import(id INTEGER PRIMARY KEY, source TEXT, date INTEGER)"
     " WITHOUT ROWID",
     TABLES},
    {"a column of another name", "ALTER TABLE import RENAME COLUMN source TO name", TABLES},
    {"a table of another name", "ALTER TABLE import RENAME TO imports", TABLES},
    {"one column more", "ALTER TABLE import ADD COLUMN x TEXT DEFAULT 'x'", TABLES},
    {"a default that is a bomb",
     "ALTER TABLE import ADD COLUMN x TEXT DEFAULT 'x'; PRAGMA"
     " writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, '''x''',"
     " '(zeroblob(1000000000))') WHERE name = 'import'",
     TABLES},
    {"a CHECK that runs a function",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql,"
     " 'CHECK(date >= 0)', 'CHECK(load_extension(source))') WHERE name = 'import'",
     TABLES},
    {"no CHECKs",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'CHECK(date >= 0)',"
     " '') WHERE name = 'measurement'",
     TABLES},
    {"a schema of other spaces",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, '  ', ' ')", TABLES},
    {"a schema of another case",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'TEXT', 'text')",
     TABLES},
    {"a schema with a comment more",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = sql || ' -- x' WHERE name = 'gpu'",
     TABLES},
    {"a row of the schema twice",
     "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name"
     " = 'gpu'",
     "malformed"},
    {"an index of the schema twice",
     "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name"
     " = 'measurement_by_problem'",
     "malformed"},
    {"a table without a text",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = NULL WHERE name = 'import'", ""},
    {"an index that has none",
     "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('index',"
     " 'sqlite_autoindex_import_1', 'import', 3, NULL)",
     ""},
    {"a schema that is no SQL",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = '" FORGE_MARK "' WHERE name ="
     " 'import'",
     "malformed"},
    {"escape codes in the schema",
     "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('table', " ESCAPE ", " ESCAPE
     ", 2, 'CREATE TABLE ' || " ESCAPE ")",
     "malformed"},
    {"escape codes in SQL",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE import(' || " ESCAPE
     " WHERE name = 'import'",
     "malformed"},
    {"an object of no type",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET type = " ESCAPE " WHERE name = 'import'",
     "malformed"},
    {"two tables on one root",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM"
     " sqlite_schema WHERE name = 'gpu') WHERE name = 'origin'",
     "damaged"},
    {"a table on the root of an index",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM"
     " sqlite_schema WHERE name = 'measurement_by_problem') WHERE name = 'measurement'",
     ""},
    {"a table on the schema's root",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'origin'", ""},
    {"a table without a root",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = 0 WHERE name = 'origin'", ""},
    {"a root beyond the end",
     "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = 2000000000 WHERE name ="
     " 'origin'",
     ""},
    {"a table of a megabyte of text",
     "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('table', 'x', 'x', 2, 'CREATE"
     " TABLE x(y CHECK(y <> ''' || printf('%.*c', 1000000, 'x') || '''))')",
     ""},
    {"ten thousand tables",
     "PRAGMA writable_schema=ON; " BOMB
     " INSERT INTO sqlite_schema SELECT 'table', 't' || x, 't' ||"
     " x, 0, 'CREATE TABLE t' || x || '(y)' FROM c LIMIT 10000",
     ""},
    {"a program's own mark", "PRAGMA application_id=1380011604", "another program"},
    {"no program's mark", "PRAGMA application_id=0", "another program"},
    {"a newer version", "PRAGMA user_version=3", "update redtune"},
    {"the last version", "PRAGMA user_version=2147483647", "update redtune"},
    {"a version before all", "PRAGMA user_version=-1", "update redtune"},
    {"no version", "PRAGMA user_version=0", "version 0"},
    {"an older version's number", "PRAGMA user_version=1", TABLES},
    {"a write-ahead log", "PRAGMA journal_mode=WAL", "WAL"},
    {"UTF-16", "", "UTF-8"}, /* made below */
    {"a kernel cache's mark", "PRAGMA application_id=1919186507", "another program"},
};

/* A database with the same content and texts in UTF-16. */
static bool make_wide(const char *path) {
    const char *narrow = in_scratch("narrow.db");
    char text[2048];
    sqlite3 *db = NULL;
    if (rename(path, narrow) || sqlite3_open(path, &db)) return false;
    snprintf(text, sizeof text,
             "PRAGMA encoding='UTF-16le'; PRAGMA application_id=%d; PRAGMA user_version=2;"
             "ATTACH '' AS x; CREATE TABLE t(x); DROP TABLE t",
             0x72647454);
    bool good = !sqlite3_exec(db, text, NULL, NULL, NULL);
    sqlite3 *from = NULL;
    sqlite3_stmt *row = NULL;
    good = good && !sqlite3_open(narrow, &from) &&
           !sqlite3_prepare_v2(from, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", -1,
                               &row, NULL);
    while (good && sqlite3_step(row) == SQLITE_ROW)
        good = !sqlite3_exec(db, (const char *)sqlite3_column_text(row, 0), NULL, NULL, NULL);
    sqlite3_finalize(row);
    sqlite3_close(from);
    sqlite3_close(db);
    return good;
}

static void hostile_schemas_are_refused(void) {
    CHECK(begin_local());
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        const char *path = theirs;
        bool wide = !strcmp(schemas[i].name, "UTF-16");
        CHECK(forge_database(path, 0));
        CHECK(wide ? make_wide(path) : run_sql(path, schemas[i].sql));
        CHECK(is_refused(schemas[i].name, path, schemas[i].reason, 0));
        unlink(path);
    }
}

/* ---- hostile bytes ------------------------------------------------------------------------- */

/* Where the header's fields lie. */
enum {
    PAGE_BYTES_AT = 16,
    FORMAT_AT = 18,
    RESERVED_AT = 20,
    FRACTION_AT = 21,
    PAGE_COUNT_AT = 28,
    FREE_FIRST_AT = 32,
    FREE_COUNT_AT = 36,
    ENCODING_AT = 56,
};

static uint32_t root_of(const char *path, const char *name) {
    char text[128];
    snprintf(text, sizeof text, "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
    return (uint32_t)ask_sql(path, text);
}

static bool cut(const char *path, size_t bytes) {
    return !truncate(path, (off_t)bytes);
}

static bool cut_to_no_byte(const char *path) {
    return cut(path, 0);
}
static bool cut_within_the_header(const char *path) {
    return cut(path, 50);
}
static bool cut_after_the_header(const char *path) {
    return cut(path, 100);
}
static bool cut_after_a_page(const char *path) {
    return cut(path, 4096);
}
static bool cut_within_a_page(const char *path) {
    return cut(path, 3 * 4096 + 1000);
}
static bool give_it_a_page_of_zeros(const char *path) {
    struct stat info;
    return !stat(path, &info) && cut(path, (size_t)info.st_size + 4096);
}
static bool zero_its_second_half(const char *path) {
    static const char zeros[1 << 20];
    struct stat info;
    if (stat(path, &info)) return false;
    size_t half = (size_t)info.st_size / 2;
    return half <= sizeof zeros && forge_patch(path, half, zeros, (size_t)info.st_size - half);
}
static bool zero_its_last_page(const char *path) {
    static const char zeros[4096];
    struct stat info;
    return !stat(path, &info) && forge_patch(path, (size_t)info.st_size - 4096, zeros, 4096);
}
static bool make_it_a_hole(const char *path) {
    return cut(path, 0) && cut(path, 16u << 20);
}
/* A header that agrees with 16 MB of nothing. */
static bool make_it_hollow(const char *path) {
    return cut(path, 4096) && cut(path, 16u << 20) &&
           forge_patch_u32(path, PAGE_COUNT_AT, (16u << 20) / 4096);
}
static bool make_it_huge(const char *path) {
    return !truncate(path, (off_t)1 << 40);
}
static bool claim_wal_for_writing(const char *path) {
    return forge_patch(path, FORMAT_AT, "\2", 1);
}
static bool claim_wal_for_reading(const char *path) {
    return forge_patch(path, FORMAT_AT + 1, "\2", 1);
}
static bool claim_a_future_format(const char *path) {
    return forge_patch(path, FORMAT_AT, "\3\3", 2);
}
static bool claim_four_thousand_million_pages(const char *path) {
    return forge_patch_u32(path, PAGE_COUNT_AT, UINT32_MAX);
}
static bool claim_no_pages(const char *path) {
    return forge_patch_u32(path, PAGE_COUNT_AT, 0);
}
static bool claim_pages_of_64k(const char *path) {
    return forge_patch(path, PAGE_BYTES_AT, "\0\1", 2);
}
static bool claim_pages_of_512(const char *path) {
    return forge_patch(path, PAGE_BYTES_AT, "\2\0", 2);
}
static bool claim_pages_of_0(const char *path) {
    return forge_patch(path, PAGE_BYTES_AT, "\0\0", 2);
}
static bool claim_pages_of_3(const char *path) {
    return forge_patch(path, PAGE_BYTES_AT, "\0\3", 2);
}
static bool reserve_all_of_a_page(const char *path) {
    return forge_patch(path, RESERVED_AT, "\377", 1);
}
static bool claim_another_fraction(const char *path) {
    return forge_patch(path, FRACTION_AT, "\0\0\0", 3);
}
static bool claim_no_such_encoding(const char *path) {
    return forge_patch_u32(path, ENCODING_AT, 7);
}
static bool claim_utf16(const char *path) {
    return forge_patch_u32(path, ENCODING_AT, 2);
}
static bool loop_its_free_pages(const char *path) {
    struct stat info;
    if (!run_sql(path, "CREATE TABLE t AS SELECT * FROM measurement, gpu; DROP TABLE t") ||
        stat(path, &info))
        return false;
    uint32_t trunk = (uint32_t)ask_sql(path, "PRAGMA page_count"); /* the last page, likely free */
    return forge_patch_u32(path, FREE_FIRST_AT, trunk) &&
           forge_patch_u32(path, FREE_COUNT_AT, 1000000) &&
           forge_patch_u32(path, (trunk - 1) * (size_t)4096, trunk) &&
           forge_patch_u32(path, (trunk - 1) * (size_t)4096 + 4, UINT32_MAX);
}
static bool free_a_page_in_use(const char *path) {
    uint32_t page = root_of(path, "measurement");
    return forge_patch_u32(path, FREE_FIRST_AT, page) && forge_patch_u32(path, FREE_COUNT_AT, 1);
}
static bool make_a_child_its_own(const char *path) {
    uint32_t page = root_of(path, "measurement");
    return forge_patch_u32(path, (page - 1) * (size_t)4096 + 8, page);
}
static bool make_the_first_page_a_child(const char *path) {
    uint32_t page = root_of(path, "measurement");
    return forge_patch_u32(path, (page - 1) * (size_t)4096 + 8, 1);
}
static bool point_a_cell_past_its_page(const char *path) {
    return forge_patch(path, (root_of(path, "gpu") - 1) * (size_t)4096 + 8, "\377\377", 2);
}
static bool point_a_cell_at_its_header(const char *path) {
    return forge_patch(path, (root_of(path, "gpu") - 1) * (size_t)4096 + 8, "\0\0", 2);
}
static bool count_cells_that_are_not(const char *path) {
    return forge_patch(path, (root_of(path, "gpu") - 1) * (size_t)4096 + 3, "\377\377", 2);
}
static bool change_a_page_into_an_index(const char *path) {
    return forge_patch(path, (root_of(path, "gpu") - 1) * (size_t)4096, "\12", 1);
}

static size_t offset_of(const char *path, const char *what, size_t bytes) {
    size_t length = 0;
    char *whole = read_bytes(path, &length);
    char *found = whole ? memmem(whole, length, what, bytes) : NULL;
    size_t at = found ? (size_t)(found - whole) : 0;
    free(whole);
    return at;
}

/* The cell of the GPU's row begins with its length, in a byte; the name follows its header. */
static bool claim_a_row_of_two_gigabytes(const char *path) {
    size_t at = offset_of(path, "NVIDIA H200", 11);
    return at && forge_patch(path, at - 11, "\207\377\377\377\177", 5);
}
static bool claim_a_text_of_two_gigabytes(const char *path) {
    size_t at = offset_of(path, "NVIDIA H200", 11);
    return at && forge_patch(path, at - 9, "\217\377\377\377\177", 5);
}

/* With pages of 512 bytes, the text of the schema goes on on other pages, each of which begins with
 * the number of the next. */
static bool loop_an_overflow(const char *path) {
    if (!forge_database(path, 512)) return false;
    size_t at = offset_of(path, "  nvrtc_version INTEGER NOT NULL", 20);
    size_t page = at / 512 + 1;
    return at > 512 && forge_patch_u32(path, (page - 1) * 512, (uint32_t)page);
}
static bool share_an_overflow(const char *path) {
    if (!forge_database(path, 512)) return false;
    size_t from = offset_of(path, "  memory_mhz INTEGER CHECK", 20) / 512 * 512;
    size_t to = offset_of(path, "  nvrtc_version INTEGER NOT NULL", 20) / 512 * 512;
    return from > 0 && to > 0 && from != to &&
           forge_patch_u32(path, from, (uint32_t)(to / 512 + 1));
}

static bool make_a_maze_of_the_schema(const char *path) {
    return forge_database(path, 512) && forge_schema_maze(path);
}
/* The same of measurements; the cell is none of theirs, which only who reads it would see. */
static bool make_a_maze_of_the_rows(const char *path) {
    static const unsigned char cell[] = {3, 1, 2, 1, 0};
    return forge_database(path, 512) &&
           forge_maze(path, root_of(path, "measurement"), cell, sizeof cell);
}

static bool put_beside(const char *path, const char *suffix) {
    char name[300];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return write_bytes(name, "\331\325\005\371 " FORGE_MARK, 10);
}
static bool put_a_journal_beside(const char *path) {
    return put_beside(path, "-journal");
}
static bool put_a_log_beside(const char *path) {
    return put_beside(path, "-wal");
}
static bool put_a_log_index_beside(const char *path) {
    return put_beside(path, "-shm");
}
static bool put_a_dangling_link_beside(const char *path) {
    char name[300];
    snprintf(name, sizeof name, "%s-journal", path);
    return !symlink("/nowhere/at/all", name);
}
static bool make_it_a_pipe(const char *path) {
    return !unlink(path) && !mkfifo(path, 0666);
}
static bool make_it_a_folder(const char *path) {
    return !unlink(path) && !mkdir(path, 0777);
}
static bool make_it_a_socket(const char *path) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
    bool good = !unlink(path) && !bind(end, (const struct sockaddr *)&name, sizeof name);
    close(end);
    return good;
}
static bool link_it(const char *path, const char *to) {
    return !unlink(path) && !symlink(to, path);
}
static bool link_it_to_itself(const char *path) {
    return link_it(path, path);
}
static bool link_it_to_zeros(const char *path) {
    return link_it(path, "/dev/zero");
}
static bool link_it_to_randomness(const char *path) {
    return link_it(path, "/dev/urandom");
}
static bool link_it_to_nothing(const char *path) {
    return link_it(path, "/nowhere/" FORGE_MARK);
}
static bool link_it_to_memory(const char *path) {
    return link_it(path, "/proc/self/mem");
}
static bool remove_it(const char *path) {
    return !unlink(path);
}
static bool gzip_it(const char *path) {
    return forge_patch(path, 0, "\037\213\010\0", 4);
}
static bool make_it_text(const char *path) {
    return write_bytes(path, "block=256,vec=4\n", 16);
}

#define LENGTH "its length"
static const struct {
    const char *name, *reason;
    bool (*make)(const char *path);
} files[] = {
#define FILE_OF(make, reason)                                                                      \
    { #make, reason, make }
    FILE_OF(cut_to_no_byte, "not an SQLite file"),
    FILE_OF(cut_within_the_header, "not an SQLite file"),
    FILE_OF(cut_after_the_header, LENGTH),
    FILE_OF(cut_after_a_page, LENGTH),
    FILE_OF(cut_within_a_page, LENGTH),
    FILE_OF(give_it_a_page_of_zeros, LENGTH),
    FILE_OF(zero_its_second_half, ""),
    FILE_OF(zero_its_last_page, "damaged"),
    FILE_OF(make_it_a_hole, "neither an SQLite file"),
    FILE_OF(make_it_hollow, ""),
    FILE_OF(make_it_huge, "larger than"),
    FILE_OF(claim_wal_for_writing, "WAL"),
    FILE_OF(claim_wal_for_reading, "WAL"),
    FILE_OF(claim_a_future_format, "WAL"),
    FILE_OF(claim_four_thousand_million_pages, LENGTH),
    FILE_OF(claim_no_pages, LENGTH),
    FILE_OF(claim_pages_of_64k, LENGTH),
    FILE_OF(claim_pages_of_512, LENGTH),
    FILE_OF(claim_pages_of_0, LENGTH),
    FILE_OF(claim_pages_of_3, LENGTH),
    FILE_OF(reserve_all_of_a_page, ""),
    FILE_OF(claim_another_fraction, ""),
    FILE_OF(claim_no_such_encoding, "UTF-8"),
    FILE_OF(claim_utf16, "UTF-8"),
    FILE_OF(loop_its_free_pages, "damaged"),
    FILE_OF(free_a_page_in_use, "damaged"),
    FILE_OF(make_a_child_its_own, "damaged"),
    FILE_OF(make_the_first_page_a_child, "damaged"),
    FILE_OF(point_a_cell_past_its_page, "damaged"),
    FILE_OF(point_a_cell_at_its_header, "damaged"),
    FILE_OF(count_cells_that_are_not, "damaged"),
    FILE_OF(change_a_page_into_an_index, "damaged"),
    FILE_OF(claim_a_row_of_two_gigabytes, "damaged"),
    FILE_OF(claim_a_text_of_two_gigabytes, "damaged"),
    FILE_OF(loop_an_overflow, ""),
    FILE_OF(share_an_overflow, ""),
    FILE_OF(make_a_maze_of_the_schema, "takes too long"),
    FILE_OF(make_a_maze_of_the_rows, "damaged"),
    FILE_OF(put_a_journal_beside, "-journal"),
    FILE_OF(put_a_log_beside, "-wal"),
    FILE_OF(put_a_log_index_beside, "-shm"),
    FILE_OF(put_a_dangling_link_beside, "-journal"),
    FILE_OF(make_it_a_pipe, "not a regular file"),
    FILE_OF(make_it_a_folder, "not a regular file"),
    FILE_OF(make_it_a_socket, "not a regular file"),
    FILE_OF(link_it_to_itself, "symbolic links"),
    FILE_OF(link_it_to_zeros, "not a regular file"),
    FILE_OF(link_it_to_randomness, "not a regular file"),
    FILE_OF(link_it_to_nothing, "No such file"),
    FILE_OF(link_it_to_memory, ""),
    FILE_OF(remove_it, "No such file"),
    FILE_OF(gzip_it, "neither"),
    FILE_OF(make_it_text, "neither"),
#undef FILE_OF
};

static void hostile_files_are_refused(void) {
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
    CHECK(begin_local());
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = theirs;
        CHECK(forge_database(path, 0));
        if (!files[i].make(path)) fprintf(stderr, "cannot %s\n", files[i].name);
        CHECK(files[i].make == remove_it || !access(path, F_OK) || files[i].reason[0] == 'N' ||
              files[i].make == link_it_to_itself);
        CHECK(is_refused(files[i].name, path, files[i].reason, 0));
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            char beside[300];
            snprintf(beside, sizeof beside, "%s%s", path, suffixes[k]);
            remove(beside);
        }
    }
}

/* ---- hostile lines ------------------------------------------------------------------------- */

static char *line; /* an honest one, of a row */

/* The first line, and the honest one with its only match of a part replaced, times so often. */
static bool write_lines(const char *path, const char *part, const char *other, int times) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    const char *at = strstr(line, part);
    fprintf(file, "{\"redtune_tuning\":2}\n");
    for (int i = 0; at && i < times; i++)
        fprintf(file, "%.*s%s%s\n", (int)(at - line), line, other, at + strlen(part));
    return !fclose(file) && at;
}

static const struct {
    const char *name, *part, *other;
    const char *reason; /* "": the row is refused, not the file */
} lines[] = {
    {"a row that is an array", "{", "[{", "line 2"},
    {"a row with more behind it", "}", "} {}", "line 2"},
    {"a row that does not end", "}", "", "line 2"},
    {"a row that is text", "{", "\"{\"", "line 2"},
    {"an unknown member", "\"op\"", "\"" FORGE_MARK "\":1,\"op\"", ""},
    {"a member twice", "\"op\":\"", "\"op\":\"sum\",\"op\":\"", ""},
    {"a member in place of another", "\"cause\":", "\"op\":", ""},
    {"a member less", "\"place\":", "\"no_place\":", ""},
    {"a member within another", "\"op\":\"sum\"", "\"op\":{\"op\":\"sum\"}", ""},
    {"a list for a text", "\"op\":\"sum\"", "\"op\":[\"sum\"]", ""},
    {"a list for no text", "\"cause\":null", "\"cause\":[]", ""},
    {"an object for no text", "\"cause\":null", "\"cause\":{}", ""},
    {"a number for no text", "\"cause\":null", "\"cause\":7", ""},
    {"a truth for a number", "\"is_default\":0", "\"is_default\":false", ""},
    {"a text for a number", "\"samples\":31", "\"samples\":\"31\"", ""},
    {"a text for a time", "\"median_ns\":", "\"median_ns\":\"1\",\"x\":", ""},
    {"a list for a time", "\"median_ns\":", "\"median_ns\":[1],\"x\":", ""},
    {"a real for a number", "\"samples\":31", "\"samples\":31.0", ""},
    {"a real number of SMs", "\"sm_count\":132", "\"sm_count\":1.32e2", ""},
    {"more than 63 bits", "\"samples\":31", "\"samples\":9223372036854775808", ""},
    {"infinity", "\"median_ns\":", "\"median_ns\":1e999,\"x\":", ""},
    {"no escape's end", "\"op\":\"sum\"", "\"op\":\"sum\\\"", "line 2"},
    {"half a surrogate", "\"machine\":\"bench 7\"", "\"machine\":\"\\ud800\"", ""},
    {"a NUL in an escape", "\"machine\":\"bench 7\"", "\"machine\":\"a\\u0000b\"", "NUL"},
    {"an escape code", "\"machine\":\"bench 7\"", "\"machine\":\"\\u001b]0;x\\u0007\"", ""},
    {"a raw escape code", "\"machine\":\"bench 7\"", "\"machine\":\"\033]0;x\a\"", "*"},
    {"a C1 escape code", "\"machine\":\"bench 7\"", "\"machine\":\"\\u009b2J\"", ""},
    {"no UTF-8", "\"machine\":\"bench 7\"", "\"machine\":\"\377\376\200\"", ""},
    {"an overlong form", "\"machine\":\"bench 7\"", "\"machine\":\"\300\257\"", ""},
    {"text that turns round", "\"machine\":\"bench 7\"", "\"machine\":\"\342\200\256x\"", ""},
};

/* A file of bytes again and again behind the first line. */
static bool write_run(const char *path, const char *first, const char *unit, size_t times,
                      const char *last) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    fputs(first, file);
    for (size_t i = 0; i < times; i++) fputs(unit, file);
    fputs(last, file);
    return !fclose(file);
}

#define FIRST "{\"redtune_tuning\":2}\n"
static const struct {
    const char *name, *first, *unit, *last, *reason;
    size_t times;
} runs[] = {
    {"ten megabytes in a line", FIRST "{\"op\":\"", "x", "\"}\n", "line 2", 10000000},
    {"a deep list", FIRST, "[", "\n", "line 2", 60000},
    {"a deep list of a megabyte", FIRST, "[", "\n", "line 2", 1000000},
    {"a deep object", FIRST, "{\"a\":", "\n", "line 2", 12000},
    {"a deep list that ends", FIRST "{\"op\":", "[1,", "\n", "line 2", 20000},
    {"a line of numbers", FIRST "[1", ",1", "]\n", "line 2", 30000},
    {"two hundred thousand empty rows", FIRST, "{}\n", "", "takes too long", 200000},
    {"two million empty lines", FIRST, "\n", "", "line", 2000000},
    {"no first line", "", "{}\n", "", "neither", 10},
    {"a first line without a version", "{\"redtune_tuning\":}\n", "", "", "neither", 0},
    {"a first line with a text", "{\"redtune_tuning\":\"2\"}\n", "", "", "neither", 0},
    {"a first line with more", "{\"redtune_tuning\":2,\"x\":1}\n", "", "", "neither", 0},
    {"a first line that never ends", "{\"redtune_tuning\":", "2", "}\n", "line 1", 1000000},
    {"a newer version", "{\"redtune_tuning\":3}\n", "", "", "version", 0},
    {"a negative version", "{\"redtune_tuning\":-2}\n", "", "", "version", 0},
    {"a byte-order mark", "\357\273\277" FIRST, "", "", "neither", 0},
    {"a brace", "{", "", "", "neither", 0},
    {"a row that is a number", FIRST "7\n", "", "", "line 2", 0},
    {"a row that is null", FIRST "null\n", "", "", "line 2", 0},
    {"a row that is none", FIRST FORGE_MARK "\n", "", "", "line 2", 0},
};

static bool read_line(void) {
    size_t bytes = 0;
    if (!forge_lines(in_scratch("theirs.jsonl"))) return false;
    char *whole = read_bytes(in_scratch("theirs.jsonl"), &bytes), *begin = strchr(whole, '\n') + 1;
    /* One that is good, and no default. */
    while (*begin) {
        *strchr(begin, '\n') = '\0';
        if (strstr(begin, "\"good\"") && strstr(begin, "\"is_default\":0") &&
            strstr(begin, "\"op\":\"sum\""))
            break;
        begin += strlen(begin) + 1;
    }
    free(line);
    line = strdup(begin);
    free(whole);
    return line && *line;
}

static void hostile_lines_are_refused(void) {
    const char *path = theirs;
    CHECK(begin_local() && read_line());
    CHECK(write_lines(path, "\"op\"", "\"op\"", 1) && is_taken(path));
    /* A backslash and the rest, which is no NUL. */
    CHECK(write_lines(path, "\"cause\":null", "\"cause\":\"\\\\u0000\"", 1) && is_taken(path));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!write_lines(path, lines[i].part, lines[i].other, 1))
            fprintf(stderr, "cannot write %s\n", lines[i].name);
        CHECK(is_refused(lines[i].name, path, lines[i].reason, !lines[i].reason[0]));
    }
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        CHECK(write_run(path, runs[i].first, runs[i].unit, runs[i].times, runs[i].last));
        CHECK(is_refused(runs[i].name, path, runs[i].reason, 0));
    }
    CHECK(write_bytes(path, FIRST "{\"op\0\":1}\n", sizeof FIRST + 10));
    CHECK(is_refused("a NUL", path, "NUL", 0));
}

/* ---- hostile names ------------------------------------------------------------------------- */

static void names_of_files_are_kept_as_plain_text(void) {
    char source[256], path[300];
    uint64_t removed = 0;
    redtune_import_report report;
    rdt_text_copy(path, sizeof path, in_scratch("\033]0;" FORGE_MARK "\a\2332J\n.db"));
    unlink(in_scratch("other.db"));
    CHECK(forge_database(path, 0));
    CHECK_OK(forge_import(in_scratch("other.db"), path, &report, &err), err);
    CHECK_INT(ask_sql(in_scratch("other.db"),
                      "SELECT count(*) FROM import WHERE source = '?]0;" FORGE_MARK "??2J?.db'"),
              1);
    CHECK(run_sql(in_scratch("other.db"), "UPDATE import SET source = " ESCAPE));
    CHECK_OK(redtune_undo(in_scratch("other.db"), source, &removed, &err), err);
    CHECK(rdt_text_is_plain(source) && strstr(source, FORGE_MARK));
    CHECK_INT(removed, report.added);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(honest_files_are_taken),
        FACT(hostile_schemas_are_refused),
        FACT(hostile_files_are_refused),
        FACT(hostile_lines_are_refused),
        FACT(names_of_files_are_kept_as_plain_text),
    };
    if (!scratch_begin() || !forge_begin()) return 1;
    int failed = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    free(local_bytes);
    free(line);
    forge_end();
    scratch_end();
    return failed;
}
