/* Facts about cache/sqlite.h and cache/schema.h, seen through the tuning database: which files are
 * not opened, what is said of them, and that they stay as they are. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include "row_files.h"

static redtune_status put_row(rdt_tuning *handle) {
    const rdt_trial trial = trials_make(1024, "block=256", 1000, 9);
    return rdt_tuning_put(handle, &trials_gpu, &trials_origin, &trial, 1, &err);
}

/* Both ways of opening refuse the file with this reason, and leave it as it is. */
static bool is_refused(const char *path, redtune_status status, const char *reason) {
    size_t bytes = 0;
    char *before = read_bytes(path, &bytes);
    bool good = before;
    for (int reading = 0; reading < 2 && good; reading++) {
        err = (redtune_error){0};
        redtune_status got = reading ? rdt_tuning_open_read(path, &tuning, &err)
                                     : rdt_tuning_open(path, &tuning, &err);
        good = got == status && err.status == status && !tuning && strstr(err.message, reason) &&
               strstr(err.message, "cannot open tuning database ") && strstr(err.message, path) &&
               strchr(err.message, ';') && !strchr(err.message, '\n') &&
               holds_bytes(path, before, bytes) && !has_beside(path, "-journal") &&
               !has_beside(path, "-wal") && !has_beside(path, "-shm");
        if (!good) fprintf(stderr, "%s gave %s: %s\n", path, redtune_status_name(got), err.message);
    }
    free(before);
    return good;
}

/* ---- files that are refused ------------------------------------------------------------------ */

FACT(open_refuses_text_file) {
    const char *path = in_scratch("text.db");
    const char *text = "block=256,vec=4 and much more text, enough of it to be longer than the "
                       "header of an SQLite file, which has a hundred bytes.\n";
    CHECK(write_bytes(path, text, strlen(text)));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is not an SQLite file"));
}

FACT(open_refuses_short_file) {
    const char *path = in_scratch("short.db");
    CHECK(write_bytes(path, "SQLite", 6));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is not an SQLite file"));
    CHECK(write_bytes(path, "SQLite format 3", 16));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is an SQLite file of another program"));
}

FACT(open_refuses_foreign_sqlite_file) {
    const char *path = in_scratch("foreign.db");
    CHECK(run_sql(path, "CREATE TABLE person(name)"));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is an SQLite file of another program"));
    CHECK(run_sql(path, "PRAGMA application_id=1919186004"));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is of version 0"));
}

FACT(open_plays_back_no_foreign_journal) {
    const char *path = in_scratch("journal.db"), *journal = in_scratch("journal.db-journal");
    CHECK(run_sql(path, "CREATE TABLE person(name); INSERT INTO person VALUES('Ada')"));
    CHECK(write_bytes(journal, journal_header, sizeof journal_header));
    CHECK_FAILS(rdt_tuning_open(path, &tuning, &err), REDTUNE_DATABASE, err, "another program");
    CHECK_FAILS(rdt_tuning_open_read(path, &tuning, &err), REDTUNE_DATABASE, err,
                "another program");
    CHECK(holds_bytes(journal, (const char *)journal_header, sizeof journal_header));
    CHECK(!unlink(journal));
    CHECK_INT(ask_sql(path, "SELECT count(*) FROM person"), 1);
}

FACT(open_refuses_newer_version) {
    const char *path = in_scratch("newer.db");
    CHECK(make_with(path, "PRAGMA user_version=5"));
    CHECK(is_refused(path, REDTUNE_DATABASE,
                     "it is of version 5 and this redtune knows version 4; update redtune"));
}

FACT(open_refuses_other_schema) {
    static const char *const changes[] = {
        "CREATE TABLE more(x)",
        "CREATE INDEX more ON measurement(date)",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER more AFTER INSERT ON measurement BEGIN DELETE FROM gpu; END",
        "ALTER TABLE measurement ADD COLUMN more INTEGER",
        "ALTER TABLE measurement RENAME COLUMN samples TO sample",
        "DROP INDEX measurement_by_problem",
        "DROP TABLE measurement",
        "DROP TABLE measurement; CREATE VIEW measurement AS WITH RECURSIVE endless(id) AS"
        " (SELECT 1 UNION ALL SELECT id + 1 FROM endless) SELECT id FROM endless",
        "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'per call', '')",
        "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('table', 'sqlite_stat1',"
        " 'sqlite_stat1', 2, 'CREATE TABLE sqlite_stat1(tbl,idx,stat,more)')",
    };
    const char *path = in_scratch("schema.db");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        CHECK(make_with(path, changes[i]));
        CHECK(is_refused(path, REDTUNE_DATABASE, "its tables are not those of this version"));
    }
}

FACT(open_refuses_truncated_file) {
    const char *path = in_scratch("truncated.db");
    size_t bytes = 0;
    CHECK(make(path));
    char *whole = read_bytes(path, &bytes);
    CHECK(whole && bytes > 8192);
    const size_t lengths[] = {120, 700, 4096, bytes / 2, bytes - 4096, bytes - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        CHECK(write_bytes(path, whole, lengths[i]));
        CHECK(is_refused(path, REDTUNE_DATABASE, "damaged"));
    }
    free(whole);
}

FACT(open_refuses_damaged_schema) {
    const char *path = in_scratch("damaged.db");
    CHECK(make(path));
    int file = open(path, O_WRONLY);
    char zeros[3900] = {0};
    CHECK(pwrite(file, zeros, sizeof zeros, 100) == (ssize_t)sizeof zeros);
    close(file);
    CHECK(is_refused(path, REDTUNE_DATABASE, ""));
}

FACT(open_refuses_what_is_no_file) {
    const char *folder = in_scratch("folder"), *pipe = in_scratch("pipe");
    CHECK(!mkdir(folder, 0777) && !mkfifo(pipe, 0666));
    CHECK_FAILS(rdt_tuning_open(folder, &tuning, &err), REDTUNE_FILE, err, "directory");
    CHECK_FAILS(rdt_tuning_open_read(folder, &tuning, &err), REDTUNE_FILE, err, "directory");
    CHECK_FAILS(rdt_tuning_open(pipe, &tuning, &err), REDTUNE_DATABASE, err, "not a regular file");
    CHECK_FAILS(rdt_tuning_open_read(pipe, &tuning, &err), REDTUNE_DATABASE, err,
                "not a regular file");
    CHECK_FAILS(rdt_tuning_open("", &tuning, &err), REDTUNE_FILE, err, "it has no place");
    const char *below = in_scratch("pipe/tuning.db");
    CHECK_FAILS(rdt_tuning_open(below, &tuning, &err), REDTUNE_FILE, err, "Not a directory");
}

/* SQLite would open it, and wait. */
FACT(open_refuses_a_pipe_in_the_journals_place) {
    static const char *const ends[] = {"-journal", "-wal"};
    const char *path = in_scratch("beside.db");
    CHECK(make(path));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char beside[300];
        snprintf(beside, sizeof beside, "%s%s", path, ends[i]);
        CHECK(!mkfifo(beside, 0666));
        CHECK_FAILS(rdt_tuning_open(path, &tuning, &err), REDTUNE_FILE, err, "named pipe");
        CHECK_FAILS(rdt_tuning_open_read(path, &tuning, &err), REDTUNE_FILE, err, beside);
        CHECK(!unlink(beside));
    }
    CHECK_OK(rdt_tuning_open_read(path, &tuning, &err), err);
    close_tuning();
}

FACT(a_file_that_lost_its_path_takes_nothing_more) {
    const char *path = in_scratch("moved.db"), *old = in_scratch("moved.old");
    rdt_tuning *lost = NULL;
    CHECK(make(path));
    CHECK_OK(rdt_tuning_open(path, &lost, &err), err);
    CHECK_OK(rdt_tuning_check_place(lost, &err), err);
    for (int again = 0; again < 2; again++) {
        CHECK(again ? make(path) : !rename(path, old)); /* none has the path, then another */
        CHECK_FAILS(rdt_tuning_check_place(lost, &err), REDTUNE_DATABASE, err, "replaced");
        CHECK_FAILS(put_row(lost), REDTUNE_DATABASE, err, "moved, removed or replaced");
    }
    rdt_tuning_close(lost);
}

/* Opens the file, or with one open puts a row, while the process has a low limit. */
static redtune_status try_within(int resource, rlim_t limit, const char *path) {
    struct rlimit usual;
    getrlimit(resource, &usual);
    const struct rlimit low = {.rlim_cur = limit, .rlim_max = usual.rlim_max};
    setrlimit(resource, &low);
    redtune_status status = path ? rdt_tuning_open(path, &tuning, &err) : put_row(tuning);
    setrlimit(resource, &usual);
    return status;
}

/* As a signal the limit would end the process; and what was there is there. */
FACT(limits_of_the_process_are_told) {
    const char *path = in_scratch("limit.db");
    CHECK(make(path));
    CHECK_FAILS(try_within(RLIMIT_NOFILE, 3, path), REDTUNE_FILE, err, "raise ulimit -n");
    CHECK_OK(rdt_tuning_open(path, &tuning, &err), err);
    CHECK_FAILS(try_within(RLIMIT_FSIZE, 1000, NULL), REDTUNE_DATABASE, err, "raise ulimit -f");
    CHECK_INT(rows_in(tuning), 40);
    CHECK_FAILS(try_within(RLIMIT_NOFILE, 3, NULL), REDTUNE_DATABASE, err, "raise ulimit -n");
    CHECK_INT(rows_in(tuning), 40);
    CHECK_OK(put_row(tuning), err);
    close_tuning();
}

FACT(open_shows_the_reason_after_a_long_path) {
    char path[2000];
    memset(path, 'x', sizeof path);
    memcpy(path, "/tmp/", 5);
    path[sizeof path - 1] = '\0';
    CHECK_FAILS(rdt_tuning_open(path, &tuning, &err), REDTUNE_FILE, err, "File name too long; ");
}

FACT(open_read_needs_the_file) {
    const char *path = in_scratch("missing/tuning.db");
    CHECK_FAILS(rdt_tuning_open_read(path, &tuning, &err), REDTUNE_FILE, err, "No such file");
    CHECK_INT(err.code, ENOENT);
    CHECK(!rdt_file_exists(in_scratch("missing")));
}

/* ---- permissions, for which root must become somebody ---------------------------------------- */

static bool refuse_without_permission(int index) {
    (void)index;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return false;
    const char *unreadable = in_scratch("locked/unreadable.db");
    const char *unwritable = in_scratch("locked/unwritable.db");
    const char *fresh = in_scratch("locked/fresh.db"), *deep = in_scratch("locked/a/b.db");
    return rdt_tuning_open(unreadable, &tuning, &err) == REDTUNE_FILE && err.code == EACCES &&
           rdt_tuning_open_read(unreadable, &tuning, &err) == REDTUNE_FILE &&
           strstr(err.message, "Permission denied; ") &&
           rdt_tuning_open(unwritable, &tuning, &err) == REDTUNE_FILE &&
           strstr(err.message, "it cannot be written: Permission denied; ") &&
           rdt_tuning_open(fresh, &tuning, &err) == REDTUNE_FILE && err.code == EACCES &&
           rdt_tuning_open(deep, &tuning, &err) == REDTUNE_FILE &&
           strstr(err.message, "cannot create folder") &&
           rdt_tuning_open(in_scratch("locked/tuning.db"), &tuning, &err) == REDTUNE_FILE &&
           strstr(err.message, "its folder cannot be written: Permission denied; ");
}

static bool read_without_permission(int index) {
    (void)index;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return false;
    return !rdt_tuning_open_read(in_scratch("locked/unwritable.db"), &tuning, &err) &&
           rows_in(tuning) == 40;
}

static bool lock_folder(void) {
    const char *folder = in_scratch("locked");
    return (!mkdir(folder, 0777) || !chmod(folder, 0777)) &&
           make(in_scratch("locked/unreadable.db")) && make(in_scratch("locked/unwritable.db")) &&
           make(in_scratch("locked/tuning.db")) &&
           !chmod(in_scratch("locked/unreadable.db"), 0000) &&
           !chmod(in_scratch("locked/unwritable.db"), 0444) &&
           !chmod(in_scratch("locked/tuning.db"), 0666) && !chmod(folder, 0555);
}

FACT(open_says_what_permission_is_missing) {
    CHECK(lock_folder());
    bool good = run_processes(1, refuse_without_permission);
    CHECK(!chmod(in_scratch("locked"), 0777));
    CHECK(good);
}

FACT(open_read_needs_no_write_permission) {
    CHECK(lock_folder());
    bool good = run_processes(1, read_without_permission);
    CHECK(!chmod(in_scratch("locked"), 0777));
    CHECK(good);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    scratch_end();
    return failed;
}
