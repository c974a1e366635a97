/* Facts about importing databases that somebody made to do harm with what SQLite runs: views,
 * triggers, expressions, foreign schemas. Each is refused, quickly, with a reason in plain text,
 * and the local database stays as it was, bit for bit. */
#define _GNU_SOURCE
#include "refusal.h"

#define TABLES "its tables are not those"
#define BOMB   "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"

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
    {"statistics of another form",
     "ANALYZE; PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql ="
     " 'CREATE TABLE sqlite_stat1(tbl,idx,stat,more)' WHERE name = 'sqlite_stat1'",
     TABLES},
    {"statistics that are a view",
     "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('view', 'sqlite_stat1',"
     " 'sqlite_stat1', 0, 'CREATE VIEW sqlite_stat1(tbl,idx,stat) AS SELECT 1, 2, 3')",
     ""},
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
    {"a newer version", "PRAGMA user_version=5", "update redtune"},
    {"the last version", "PRAGMA user_version=2147483647", "update redtune"},
    {"a version before all", "PRAGMA user_version=-1", "update redtune"},
    {"no version", "PRAGMA user_version=0", "version 0"},
    {"a version that was never released", "PRAGMA user_version=1", "version 1"},
    {"an older version's number", "PRAGMA user_version=3", TABLES},
    {"the oldest version's number", "PRAGMA user_version=2", TABLES},
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
             "PRAGMA encoding='UTF-16le'; PRAGMA application_id=%d; PRAGMA user_version=4;"
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

FACT(hostile_schemas_are_refused) {
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

/* A copy of somebody's own database may have them; nothing of them is read. */
FACT(statistics_of_sqlite_are_passed_over) {
    const char *path = in_scratch("theirs.db");
    CHECK(forge_database(path, 0) && run_sql(path, "ANALYZE"));
    CHECK(is_taken(path));
    CHECK(run_sql(path, "UPDATE sqlite_stat1 SET stat = 'unordered 1 1 1 1 1 1 " FORGE_MARK "', idx"
                        " = char(27)"));
    CHECK(is_taken(path));
}

int main(int argc, char **argv) { return run_facts(argc, argv); }
