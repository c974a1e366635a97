/* Sqlite fail: errors that name the file, SQLite's reason and a remedy. */
#include "cache/sqlite_fail.h"

#include <errno.h>
#include <stdio.h>
#include "base/locale.h"
#include "base/text.h"
#include "cache/remedy.h"

/* A longer path is cut in messages, so that the reason after it is still read. */
#define PATH_FORMAT "%.400s"

redtune_status rdt_sqlite_fail_open(const rdt_sqlite *file, redtune_status status, long code,
                                    const char *reason, const char *remedy, redtune_error *err) {
    return rdt_fail(err, status, code, "cannot open %s " PATH_FORMAT ": %s; %s", file->kind->what,
                    file->path, reason, remedy);
}

redtune_status rdt_sqlite_fail_kind(const rdt_sqlite *file, const char *reason,
                                    redtune_error *err) {
    return rdt_sqlite_fail_open(file, REDTUNE_DATABASE, 0, reason, file->kind->remedy, err);
}

redtune_status rdt_sqlite_fail_content(const rdt_sqlite *file, const char *reason,
                                       redtune_error *err) {
    char remedy[RDT_REMEDY_BYTES];
    return rdt_sqlite_fail_open(file, REDTUNE_DATABASE, 0, reason, rdt_remedy_foreign(file, remedy),
                                err);
}

redtune_status rdt_sqlite_fail_errno(const rdt_sqlite *file, const char *what, int code,
                                     redtune_error *err) {
    char reason[128];
    snprintf(reason, sizeof reason, "%s%s", what, rdt_locale_reason(code));
    if (code == EMFILE) /* no other file would do */
        return rdt_fail(err, REDTUNE_FILE, code, "cannot open %s " PATH_FORMAT ": %s",
                        file->kind->what, file->path, reason);
    return rdt_sqlite_fail_open(file, REDTUNE_FILE, code, reason, file->kind->remedy, err);
}

/* NULL, or the reason for a code that SQLite has too few words for. */
static const char *find_better_reason(const rdt_sqlite *file, int rc) {
    if (rc == SQLITE_READONLY_DBMOVED)
        return "it was moved, removed or replaced while it was open, and nothing more is written "
               "to what was there; run this again";
    if ((rc & 0xff) == SQLITE_IOERR && file->met_limit) return rdt_locale_reason(EFBIG);
    const bool unopened = (rc & 0xff) == SQLITE_CANTOPEN;
    return unopened && sqlite3_system_errno(file->db) == EMFILE ? rdt_locale_reason(EMFILE) : NULL;
}

redtune_status rdt_sqlite_fail(const rdt_sqlite *file, const char *verb, int rc,
                               redtune_error *err) {
    char remedy[RDT_REMEDY_BYTES];
    const char *better = find_better_reason(file, rc);
    if (better)
        return rdt_fail(err, REDTUNE_DATABASE, rc, "cannot %s %s " PATH_FORMAT ": %s", verb,
                        file->kind->what, file->path, better);
    bool said = sqlite3_extended_errcode(file->db) == rc;
    /* SQLite quotes the file's own text. */
    char reason[256];
    rdt_text_copy_plain(reason, sizeof reason,
                        said ? sqlite3_errmsg(file->db) : sqlite3_errstr(rc));
    redtune_status status = REDTUNE_DATABASE;
    if ((rc & 0xff) == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM) status = REDTUNE_MEMORY;
    return rdt_fail(err, status, rc, "cannot %s %s " PATH_FORMAT ": %s; %s", verb, file->kind->what,
                    file->path, reason, rdt_remedy_find(file, rc, remedy));
}
