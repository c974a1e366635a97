/* Sqlite fail: errors that name the file, SQLite's reason and a remedy. */
#pragma once

#include "base/fail.h"
#include "cache/connection.h"

/* Records SQLite's error rc: REDTUNE_MEMORY or REDTUNE_DATABASE. */
redtune_status rdt_sqlite_fail(const rdt_sqlite *file, const char *verb, int rc,
                               redtune_error *err);
/* Says that the file cannot be opened, why, and what to do. */
redtune_status rdt_sqlite_fail_open(const rdt_sqlite *file, redtune_status status, long code,
                                    const char *reason, const char *remedy, redtune_error *err);
/* REDTUNE_FILE for errno's code; what begins the reason, and may be "". */
redtune_status rdt_sqlite_fail_errno(const rdt_sqlite *file, const char *what, int code,
                                     redtune_error *err);
/* REDTUNE_DATABASE for a file that is not what it should be, and for one whose content is not. */
redtune_status rdt_sqlite_fail_kind(const rdt_sqlite *file, const char *reason, redtune_error *err);
redtune_status rdt_sqlite_fail_content(const rdt_sqlite *file, const char *reason,
                                       redtune_error *err);
