/* Exchange: taking rows of other databases in, taking that back, and writing rows out.
 *
 * Incoming rows fill a temporary table, and SQL adds those that differ from every row that is
 * there in all columns except ids and import. So import and merge are unions, whatever the order
 * of the files. An import gives its rows its id, and undo deletes the rows with the highest one.
 * Writing out sorts the rows: equal sets give equal bytes. */
#include "cache/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cache/schema.h"
#include "cache/tuning_inside.h"
#include "redtune/tune.h"

/* ---- taking in ----------------------------------------------------------------------------- */

/* Imported rows that equal a row that counts as measured. */
static const char own_sql[] =
    "UPDATE measurement SET import = NULL WHERE import IS NOT NULL AND EXISTS"
    " (SELECT 1 FROM incoming AS i WHERE i.import = 0 AND i.config = measurement.config"
    "  AND i.date = measurement.date AND i.count = measurement.count AND EXISTS "
    "(SELECT " RDT_ROW_CONTENT " FROM incoming"
    "   WHERE rowid = i.rowid INTERSECT SELECT " RDT_ROW_CONTENT " FROM measurement AS m"
    "   WHERE m.id = measurement.id))";

static redtune_status run_bound(rdt_sqlite *file, const char *sql, const char *text, int64_t number,
                                int bound, uint64_t *changes, redtune_error *err) {
    sqlite3_stmt *statement = NULL;
    redtune_status status = rdt_sqlite_prepare(file, "write", sql, &statement, err);
    if (status) return status;
    int rc = bound > 0 ? sqlite3_bind_int64(statement, 1, number) : SQLITE_OK;
    if (!rc && bound > 1) rc = sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC);
    status = rdt_sqlite_execute(file, "write", statement, rc, 0, NULL, err);
    sqlite3_finalize(statement);
    if (!status && changes) *changes += (uint64_t)sqlite3_changes(file->db);
    return status;
}

/* Fills the table of incoming rows; import is 1 for those that count as imported. */
static redtune_status fill_incoming(rdt_sqlite *file, const rdt_rows *rows, bool all_imported,
                                    redtune_error *err) {
    static const char put[] =
        "INSERT INTO incoming(" RDT_ROW_MEASUREMENT ") VALUES(" RDT_ROW_VALUES ")";
    sqlite3_stmt *statement = NULL;
    int64_t gpu = 0, origin = 0;
    redtune_status status = rdt_sqlite_prepare(file, "write", put, &statement, err);
    for (size_t i = 0; !status && i < rows->count; i++) {
        rdt_row row = rows->row[i];
        status = rdt_tuning_put_keys(file, &row, i ? &rows->row[i - 1] : NULL, &gpu, &origin, err);
        if (status) break;
        row.import = 1; /* so that it is bound */
        int rc = rdt_row_bind_measurement(statement, &row, gpu, origin);
        if (!rc)
            rc = sqlite3_bind_int(statement, sqlite3_bind_parameter_count(statement),
                                  all_imported || row.trial.imported);
        status = rdt_sqlite_execute(file, "write", statement, rc, 0, NULL, err);
    }
    sqlite3_finalize(statement);
    return status;
}

/* What nothing refers to: an import whose rows are gone, or count as measured, has nothing to undo.
 */
static const char drop_orphans_sql[] =
    "DELETE FROM import WHERE id NOT IN"
    " (SELECT import FROM measurement WHERE import IS NOT NULL);"
    "DELETE FROM gpu WHERE id NOT IN (SELECT gpu FROM measurement);"
    "DELETE FROM origin WHERE id NOT IN (SELECT origin FROM measurement)";

static redtune_status add_incoming(rdt_sqlite *file, const char *source, uint64_t *added,
                                   redtune_error *err) {
    uint64_t own = 0, imported = 0;
    redtune_status status = REDTUNE_OK;
    if (!source) status = rdt_sqlite_run(file, "write", own_sql, err);
    if (!status)
        status = run_bound(file,
                           "INSERT INTO measurement(" RDT_ROW_CONTENT ") SELECT " RDT_ROW_CONTENT
                           " FROM incoming WHERE import = 0 EXCEPT SELECT " RDT_ROW_CONTENT
                           " FROM measurement",
                           NULL, 0, 0, &own, err);
    /* It goes again with the orphans if it brings nothing. */
    if (!status)
        status = run_bound(file, "INSERT INTO import(date, source) VALUES(?,?)",
                           source ? source : "merged", (int64_t)time(NULL), 2, NULL, err);
    int64_t id = sqlite3_last_insert_rowid(file->db);
    if (!status)
        status = run_bound(
            file,
            "INSERT INTO measurement(" RDT_ROW_CONTENT ", import) SELECT *, ? FROM (SELECT"
            " " RDT_ROW_CONTENT " FROM incoming WHERE import = 1 EXCEPT SELECT " RDT_ROW_CONTENT
            " FROM measurement)",
            NULL, id, 1, &imported, err);
    if (!status) status = rdt_sqlite_run(file, "write", "DELETE FROM incoming", err);
    if (!status) status = rdt_sqlite_run(file, "write", drop_orphans_sql, err);
    if (!status) *added = own + imported;
    return status;
}

/* For one statement: a minute's work, and more than a million rows take. */
static const int64_t exchange_steps_max = 4000000000;

redtune_status rdt_exchange_begin(rdt_tuning *tuning, redtune_error *err) {
    rdt_sqlite_limit(&tuning->file, exchange_steps_max);
    redtune_status status = rdt_sqlite_run(
        &tuning->file, "write",
        "CREATE TEMP TABLE IF NOT EXISTS incoming(" RDT_ROW_MEASUREMENT ");"
        "CREATE INDEX IF NOT EXISTS temp.incoming_by_config ON incoming(config, date, count)",
        err);
    return status ? status : rdt_sqlite_begin(&tuning->file, err);
}

redtune_status rdt_exchange_end(rdt_tuning *tuning, redtune_status status, redtune_error *err) {
    return rdt_sqlite_end(&tuning->file, status, err);
}

redtune_status rdt_exchange_add(rdt_tuning *tuning, const char *source, const rdt_rows *rows,
                                uint64_t *added, redtune_error *err) {
    redtune_status status = fill_incoming(&tuning->file, rows, source != NULL, err);
    return status ? status : add_incoming(&tuning->file, source, added, err);
}

/* ---- taking back --------------------------------------------------------------------------- */

static redtune_status undo(rdt_sqlite *file, char source[256], uint64_t *removed,
                           redtune_error *err) {
    sqlite3_stmt *last = NULL;
    bool row = false;
    int64_t id = 0;
    source[0] = '\0';
    redtune_status status = rdt_sqlite_prepare(
        file, "read", "SELECT id, source FROM import ORDER BY id DESC LIMIT 1", &last, err);
    if (!status) status = rdt_sqlite_step(file, "read", last, &row, err);
    if (row) {
        const char *name = (const char *)sqlite3_column_text(last, 1);
        id = sqlite3_column_int64(last, 0);
        rdt_text_copy_plain(source, 256, name && *name ? name : "?");
    }
    sqlite3_finalize(last);
    if (status || !source[0]) return status;
    status = run_bound(file, "DELETE FROM measurement WHERE import = ?", NULL, id, 1, removed, err);
    return status ? status : rdt_sqlite_run(file, "write", drop_orphans_sql, err);
}

redtune_status rdt_exchange_undo(rdt_tuning *tuning, char source[256], uint64_t *removed,
                                 redtune_error *err) {
    uint64_t count = 0;
    char name[256];
    redtune_status status = rdt_sqlite_begin(&tuning->file, err);
    if (status) return status;
    status = undo(&tuning->file, name, &count, err);
    status = rdt_sqlite_end(&tuning->file, status, err);
    if (status) return status;
    memcpy(source, name, sizeof name);
    *removed = count;
    return REDTUNE_OK;
}

/* ---- writing out --------------------------------------------------------------------------- */

/* The rows in one order, each once, in a database in memory of their own. */
static redtune_status arrange(const rdt_rows *rows, rdt_tuning **out, redtune_error *err) {
    rdt_rows sorted = {0};
    rdt_tuning *tuning = NULL;
    uint64_t added = 0;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < rows->count; i++) {
        status = rdt_rows_add(&sorted, &rows->row[i], err);
        if (!status) sorted.row[i].trial.imported = false;
    }
    rdt_rows_sort(&sorted);
    if (!status) status = rdt_tuning_open_copy("", &tuning, err);
    if (!status) status = rdt_exchange_begin(tuning, err);
    if (!status) {
        status = rdt_exchange_add(tuning, NULL, &sorted, &added, err);
        status = rdt_exchange_end(tuning, status, err);
    }
    rdt_rows_free(&sorted);
    if (status)
        rdt_tuning_close(tuning);
    else
        *out = tuning;
    return status;
}

redtune_status rdt_exchange_write_file(const rdt_rows *rows, void **data, size_t *bytes,
                                       redtune_error *err) {
    rdt_tuning *tuning = NULL;
    redtune_status status = arrange(rows, &tuning, err);
    if (status) return status;
    status = rdt_sqlite_copy_bytes(&tuning->file, data, bytes, err);
    rdt_tuning_close(tuning);
    return status;
}

/* json_quote writes a REAL with 15 digits, which is not all of it; 17 are. */
#define MEMBER(name, value)                                                                        \
    ", '" name "', json(iif(typeof(" value ") = 'real', printf('%!.17g', " value                   \
    "), json_quote(" value ")))"
#define MEMBER_OF_G(kind, column, ...) MEMBER(#column, "g." #column)
#define MEMBER_OF_O(kind, column, ...) MEMBER(#column, "o." #column)
#define MEMBER_OF_M(kind, column, ...) MEMBER(#column, "m." #column)

/* By the lines themselves: the order of the rows is that of their ids. */
static const char json_sql[] =
    "SELECT json_object('gpu', g.name" RDT_GPU_FIGURE_LIST(MEMBER_OF_G) RDT_ORIGIN_LIST(MEMBER_OF_O)
        RDT_MEASUREMENT_LIST(MEMBER_OF_M) ") FROM measurement AS m"
                                          " JOIN gpu AS g ON g.id = m.gpu JOIN origin AS o ON o.id "
                                          "= m.origin ORDER BY 1";

redtune_status rdt_exchange_write_json(const rdt_rows *rows, void **data, size_t *bytes,
                                       redtune_error *err) {
    rdt_tuning *tuning = NULL;
    sqlite3_stmt *statement = NULL;
    rdt_text text = {0};
    char *out = NULL;
    redtune_status status = arrange(rows, &tuning, err);
    if (status) return status;
    rdt_text_addf(&text, "{\"redtune_tuning\":%d}\n", rdt_schema_tuning.version);
    status = rdt_sqlite_prepare(&tuning->file, "read", json_sql, &statement, err);
    while (!status) {
        bool more = false;
        status = rdt_sqlite_step(&tuning->file, "read", statement, &more, err);
        if (status || !more) break;
        const char *line = (const char *)sqlite3_column_text(statement, 0);
        if (line)
            rdt_text_addf(&text, "%s\n", line);
        else
            status = rdt_fail_memory(err, 1024);
    }
    sqlite3_finalize(statement);
    size_t length = text.length;
    if (!status) status = rdt_text_take(&text, &out, err);
    if (!status) {
        *data = out;
        *bytes = length;
    }
    rdt_text_free(&text);
    rdt_tuning_close(tuning);
    return status;
}
