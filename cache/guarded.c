/* Guarded: calls of SQLite kept from doing harm to the process. */
#define _POSIX_C_SOURCE 200809L
#include "cache/guarded.h"

#include <sys/stat.h>
#include "base/file.h"
#include "base/limit.h"
#include "cache/sqlite_fail.h"

/* Many are for each row that is read: what is open for reading only needs no guard. */
static void enter_limit(const rdt_sqlite *file, rdt_limit *limit) {
    if (file->writes) rdt_limit_enter(limit);
}

static int leave_limit(rdt_sqlite *file, rdt_limit *limit, int rc) {
    if (file->writes) file->met_limit = rdt_limit_leave(limit);
    return rc;
}

int rdt_guarded_exec(rdt_sqlite *file, const char *sql) {
    rdt_limit limit;
    file->calls_left = file->calls_most;
    enter_limit(file, &limit);
    return leave_limit(file, &limit, sqlite3_exec(file->db, sql, NULL, NULL, NULL));
}

int rdt_guarded_prepare(rdt_sqlite *file, const char *sql, unsigned flags, sqlite3_stmt **out) {
    rdt_limit limit;
    file->calls_left = file->calls_most;
    enter_limit(file, &limit);
    return leave_limit(file, &limit, sqlite3_prepare_v3(file->db, sql, -1, flags, out, NULL));
}

int rdt_guarded_step(rdt_sqlite *file, sqlite3_stmt *statement) {
    rdt_limit limit;
    enter_limit(file, &limit);
    return leave_limit(file, &limit, sqlite3_step(statement));
}

void rdt_guarded_close(rdt_sqlite *file) {
    rdt_limit limit;
    enter_limit(file, &limit);
    leave_limit(file, &limit, sqlite3_close(file->db));
}

redtune_status rdt_guarded_check_place(const rdt_sqlite *file, redtune_error *err) {
    int moved = 0;
    sqlite3_file_control(file->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved ? rdt_sqlite_fail(file, "keep", SQLITE_READONLY_DBMOVED, err) : REDTUNE_OK;
}

redtune_status rdt_guarded_check_beside(const rdt_sqlite *file, redtune_error *err) {
    const char *name = sqlite3_db_filename(file->db, "main");
    const char *const beside[] = {sqlite3_filename_journal(name), sqlite3_filename_wal(name)};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        struct stat info;
        const char *unfit = stat(beside[i], &info) ? NULL : rdt_file_unfit(info.st_mode);
        if (unfit)
            return rdt_fail(err, REDTUNE_FILE, 0,
                            "cannot open %s %.300s: of %.300s beside it, %s; "
                            "move that away",
                            file->kind->what, file->path, beside[i], unfit);
    }
    return REDTUNE_OK;
}
