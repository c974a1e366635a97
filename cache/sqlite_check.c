/* Sqlite check: whether the whole content of a file is as it must be. */
#include <string.h>
#include "cache/remedy.h"
#include "cache/sqlite.h"

redtune_status rdt_sqlite_check_integrity(rdt_sqlite *file, redtune_error *err) {
    sqlite3_stmt *check = NULL;
    char remedy[RDT_REMEDY_BYTES];
    bool good = false;
    int rc = sqlite3_prepare_v2(file->db, "PRAGMA integrity_check(1)", -1, &check, NULL);
    if (!rc) rc = sqlite3_step(check);
    if (rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(check, 0);
        good = text && !strcmp(text, "ok");
        rc = SQLITE_OK;
    }
    int ended = sqlite3_finalize(check);
    if (rc == SQLITE_NOMEM || ended == SQLITE_NOMEM)
        return rdt_sqlite_fail(file, "open", SQLITE_NOMEM, err);
    if (good) return REDTUNE_OK;
    return rdt_sqlite_fail_open(file, REDTUNE_DATABASE, SQLITE_CORRUPT, "its content is damaged",
                                rdt_remedy_damaged(file, remedy), err);
}
