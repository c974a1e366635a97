/* State: what a tuning database holds, as text: two files with the same rows have the same. */
#pragma once

#include "trials.h"
#include "cache/exchange.h"

/* Ids say nothing, and neither does when within the test something was stored. Rows of gpu and
 * origin that nothing refers to would be another state. */
#define STATE_COLUMN(name) " || '|' || quote(" #name ")"

static const char state_sql[] =
    "SELECT group_concat(line, x'0a') FROM ("
    "SELECT 'measurement'" STATE_COLUMN(g.name) STATE_COLUMN(g.major) STATE_COLUMN(
        g.minor) STATE_COLUMN(g.sm_count) STATE_COLUMN(g.l2_bytes) STATE_COLUMN(g.bus_bits)
        STATE_COLUMN(g.memory_khz) STATE_COLUMN(o.machine) STATE_COLUMN(
            o.driver_version) STATE_COLUMN(o.nvrtc_version) STATE_COLUMN(o.templates)
            STATE_COLUMN(m.op) STATE_COLUMN(m.dtype) STATE_COLUMN(m.result) STATE_COLUMN(
                m.count) STATE_COLUMN(m.cache_state) STATE_COLUMN(m.family) STATE_COLUMN(m.config)
                STATE_COLUMN(m.is_default) STATE_COLUMN(m.outcome) STATE_COLUMN(
                    m.median_ns) STATE_COLUMN(m.spread_ns) STATE_COLUMN(m.samples)
                    STATE_COLUMN(m.place) STATE_COLUMN(m.cause) STATE_COLUMN(m.sm_mhz) STATE_COLUMN(
                        m.memory_mhz) STATE_COLUMN(m.temperature_c) STATE_COLUMN(m.throttle)
                        STATE_COLUMN(m.others) STATE_COLUMN(
                            i.source) " || iif(abs(m.date - strftime('%s', 'now')) < 3600, '|now', "
                                      "'|' || m.date) AS line"
                                      " FROM measurement AS m LEFT JOIN gpu AS g ON g.id = m.gpu"
                                      " LEFT JOIN origin AS o ON o.id = m.origin LEFT JOIN import "
                                      "AS i ON i.id = m.import"
                                      " UNION ALL SELECT 'gpu'" STATE_COLUMN(name) STATE_COLUMN(
                                          sm_count) " FROM gpu"
                                                    " UNION ALL SELECT 'origin'" STATE_COLUMN(
                                                        machine)
                                                        STATE_COLUMN(
                                                            templates) " FROM origin"
                                                                       " UNION ALL SELECT "
                                                                       "'import'" STATE_COLUMN(
                                                                           source) " FROM import "
                                                                                   "ORDER BY line)";

/* The caller frees it. NULL, with a word on stderr, if the file is not sound. */
UNUSED static char *state_of(const char *path) {
    char *state = NULL;
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    if (ask_sql(path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") != 1 ||
        ask_sql(path, "SELECT count(*) FROM pragma_foreign_key_check") != 0) {
        fprintf(stderr, "%s is not sound\n", path);
        return NULL;
    }
    int rc = sqlite3_open(path, &db);
    if (!rc) rc = sqlite3_prepare_v2(db, state_sql, -1, &row, NULL);
    if (!rc && sqlite3_step(row) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(row, 0);
        state = strdup(text ? text : "");
    } else {
        fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(db));
    }
    sqlite3_finalize(row);
    sqlite3_close(db);
    return state;
}

/* The same after redtune has repaired what was left half done, as any writer does. */
UNUSED static char *state_after_repair(const char *path) {
    rdt_tuning *own = NULL;
    redtune_error why = {0};
    redtune_status status = rdt_tuning_open(path, &own, &why);
    rdt_tuning_close(own);
    if (!status) return state_of(path);
    fprintf(stderr, "%s\n", why.message);
    return NULL;
}
