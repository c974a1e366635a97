/* Confine: what SQLite may do with content that anybody may have made. */
#include "cache/confine.h"

#include "cache/schema.h"

enum { STEPS_PER_CALL = 500 };

static int burn(void *user) {
    rdt_fuel *left = user;
    left->steps -= STEPS_PER_CALL;
    if (left->steps < 0) left->gone = true;
    return left->gone;
}

void rdt_confine_begin(sqlite3 *db, rdt_fuel *left,
                       int (*allows)(void *, int, const char *, const char *, const char *,
                                     const char *)) {
    static const struct {
        int id, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, 2 * RDT_CONFINE_TEXT_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, 20000},
        {SQLITE_LIMIT_COLUMN, 64},
        {SQLITE_LIMIT_EXPR_DEPTH, 50},
        {SQLITE_LIMIT_COMPOUND_SELECT, 2},
        {SQLITE_LIMIT_VDBE_OP, 25000},
        {SQLITE_LIMIT_FUNCTION_ARG, 8},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 8},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(db, limits[i].id, limits[i].value);
    sqlite3_progress_handler(db, STEPS_PER_CALL, burn, left);
    sqlite3_set_authorizer(db, allows, NULL);
}

redtune_status rdt_confine_end(const rdt_sqlite *file, const rdt_fuel *left, redtune_status status,
                               redtune_error *err) {
    if (!status || !left->gone) return status;
    return rdt_sqlite_fail_kind(file, "reading it takes too long, so it is damaged or a trap", err);
}

const rdt_sqlite_kind rdt_confine_kind = {
    .what = "imported file",
    .remedy = "ask for another export of it",
    .schema = &rdt_schema_tuning,
};
