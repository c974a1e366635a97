/* Facts about cache/sqlite.h and cache/schema.h, seen through the tuning database: which files are
 * opened, what is said of the others, and that these stay as they are. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include "trials.h"

/* ---- help ------------------------------------------------------------------------------------ */

static void close_tuning(void) {
    rdt_tuning_close(tuning);
    tuning = NULL;
}

/* A new database of a few rows at this path. */
static bool make(const char *path) {
    unlink(path);
    rdt_trial trials[40];
    for (int i = 0; i < 40; i++) trials[i] = trials_make(1024u << i % 8, "block=256", 1000 + i, 9);
    redtune_status status = rdt_tuning_open(path, &tuning, &err);
    if (!status) status = rdt_tuning_put(tuning, &trials_gpu, &trials_origin, trials, 40, &err);
    close_tuning();
    return !status;
}

static bool make_with(const char *path, const char *sql) {
    return make(path) && run_sql(path, sql);
}

static redtune_status put_row(rdt_tuning *handle) {
    const rdt_trial trial = trials_make(1024, "block=256", 1000, 9);
    return rdt_tuning_put(handle, &trials_gpu, &trials_origin, &trial, 1, &err);
}

static int64_t rows_in(rdt_tuning *handle) {
    int64_t rows = -1, gpus = -1;
    return rdt_tuning_census(handle, &rows, &gpus, &err) ? -1 : rows;
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

static void open_refuses_text_file(void) {
    const char *path = in_scratch("text.db");
    const char *text = "block=256,vec=4 and much more text, enough of it to be longer than the "
                       "header of an SQLite file, which has a hundred bytes.\n";
    CHECK(write_bytes(path, text, strlen(text)));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is not an SQLite file"));
}

static void open_refuses_short_file(void) {
    const char *path = in_scratch("short.db");
    CHECK(write_bytes(path, "SQLite", 6));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is not an SQLite file"));
    CHECK(write_bytes(path, "SQLite format 3", 16));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is an SQLite file of another program"));
}

static void open_refuses_foreign_sqlite_file(void) {
    const char *path = in_scratch("foreign.db");
    CHECK(run_sql(path, "CREATE TABLE person(name)"));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is an SQLite file of another program"));
    CHECK(run_sql(path, "PRAGMA application_id=1919186004"));
    CHECK(is_refused(path, REDTUNE_DATABASE, "it is of version 0"));
}

static void open_plays_back_no_foreign_journal(void) {
    const char *path = in_scratch("journal.db"), *journal = in_scratch("journal.db-journal");
    CHECK(run_sql(path, "CREATE TABLE person(name); INSERT INTO person VALUES('Ada')"));
    /* A journal's header, https://www.sqlite.org/fileformat2.html#the_rollback_journal: it would
     * cut the file to no pages. */
    unsigned char header[512] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    header[22] = 2;    /* sectors of 512 bytes */
    header[26] = 0x10; /* pages of 4096 bytes */
    CHECK(write_bytes(journal, header, sizeof header));
    CHECK_FAILS(rdt_tuning_open(path, &tuning, &err), REDTUNE_DATABASE, err, "another program");
    CHECK_FAILS(rdt_tuning_open_read(path, &tuning, &err), REDTUNE_DATABASE, err,
                "another program");
    CHECK(holds_bytes(journal, (char *)header, sizeof header));
    CHECK(!unlink(journal));
    CHECK_INT(ask_sql(path, "SELECT count(*) FROM person"), 1);
}

static void open_refuses_newer_version(void) {
    const char *path = in_scratch("newer.db");
    CHECK(make_with(path, "PRAGMA user_version=5"));
    CHECK(is_refused(path, REDTUNE_DATABASE,
                     "it is of version 5 and this redtune knows version 4; update redtune"));
}

static void open_refuses_other_schema(void) {
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

static void open_refuses_truncated_file(void) {
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

static void open_refuses_damaged_schema(void) {
    const char *path = in_scratch("damaged.db");
    CHECK(make(path));
    int file = open(path, O_WRONLY);
    char zeros[3900] = {0};
    CHECK(pwrite(file, zeros, sizeof zeros, 100) == (ssize_t)sizeof zeros);
    close(file);
    CHECK(is_refused(path, REDTUNE_DATABASE, ""));
}

static void open_refuses_what_is_no_file(void) {
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
static void open_refuses_a_pipe_in_the_journals_place(void) {
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

static void a_file_that_lost_its_path_takes_nothing_more(void) {
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
static void limits_of_the_process_are_told(void) {
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

static void open_shows_the_reason_after_a_long_path(void) {
    char path[2000];
    memset(path, 'x', sizeof path);
    memcpy(path, "/tmp/", 5);
    path[sizeof path - 1] = '\0';
    CHECK_FAILS(rdt_tuning_open(path, &tuning, &err), REDTUNE_FILE, err, "File name too long; ");
}

static void open_read_needs_the_file(void) {
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

static void open_says_what_permission_is_missing(void) {
    CHECK(lock_folder());
    bool good = run_processes(1, refuse_without_permission);
    CHECK(!chmod(in_scratch("locked"), 0777));
    CHECK(good);
}

static void open_read_needs_no_write_permission(void) {
    CHECK(lock_folder());
    bool good = run_processes(1, read_without_permission);
    CHECK(!chmod(in_scratch("locked"), 0777));
    CHECK(good);
}

/* ---- files that are opened ------------------------------------------------------------------- */

static void open_creates_file_and_folders(void) {
    const char *path = in_scratch("new/er/tuning.db");
    CHECK_OK(rdt_tuning_open(path, &tuning, &err), err);
    close_tuning();
    CHECK_INT(ask_sql(path, "PRAGMA application_id"), 0x72647454);
    CHECK_INT(ask_sql(path, "PRAGMA user_version"), 4);
    CHECK(!has_beside(path, "-journal"));
    CHECK_OK(rdt_tuning_open(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 0);
    close_tuning();
}

static void open_takes_an_empty_file_as_new(void) {
    const char *path = in_scratch("empty.db");
    CHECK(write_bytes(path, "", 0));
    CHECK_OK(rdt_tuning_open_read(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 0);
    close_tuning();
    CHECK(holds_bytes(path, "", 0));
    CHECK_OK(rdt_tuning_open(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 0);
    close_tuning();
}

static void open_takes_special_names_for_files(void) {
    static const char *const names[] = {":memory:", "file:odd.db?mode=memory"};
    char folder[4096];
    CHECK(getcwd(folder, sizeof folder) && !chdir(scratch));
    for (int i = 0; i < 2; i++) {
        redtune_status status = rdt_tuning_open(names[i], &tuning, &err);
        close_tuning();
        bool there = rdt_file_exists(in_scratch(names[i]));
        if (status || !there) CHECK(!chdir(folder));
        CHECK_OK(status, err);
        CHECK(there);
    }
    CHECK(!chdir(folder));
}

/* Both ways of opening give its rows. */
static bool is_taken(const char *path) {
    bool good = !rdt_tuning_open_read(path, &tuning, &err) && rows_in(tuning) == 40;
    close_tuning();
    good = good && !rdt_tuning_open(path, &tuning, &err) && rows_in(tuning) == 40;
    close_tuning();
    if (!good) fprintf(stderr, "%s: %s\n", path, err.message);
    return good;
}

static void open_takes_the_tables_of_sqlite(void) {
    static const char *const changes[] = {
        "ANALYZE",
        "PRAGMA optimize(0x10002)",
        "CREATE TABLE t(i INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE t",
        /* As a SQLite with other options makes it. */
        "ANALYZE; PRAGMA writable_schema=ON; UPDATE sqlite_schema SET name = 'sqlite_stat4',"
        " tbl_name = 'sqlite_stat4', sql = 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'"
        " WHERE name = 'sqlite_stat1'",
    };
    const char *path = in_scratch("statistics.db");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        CHECK(make_with(path, changes[i]));
        CHECK(is_taken(path));
    }
}

static void open_read_takes_wal_mode_and_writes_nothing(void) {
    const char *path = in_scratch("wal.db");
    size_t bytes = 0;
    CHECK(make_with(path, "PRAGMA journal_mode=WAL"));
    char *before = read_bytes(path, &bytes);
    CHECK_OK(rdt_tuning_open_read(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 40);
    close_tuning();
    CHECK(holds_bytes(path, before, bytes) && !has_beside(path, "-wal") &&
          !has_beside(path, "-shm"));
    free(before);
}

/* The commits of a process that was killed lie beside the file. */
static void open_takes_wal_mode_with_its_log(void) {
    const char *path = in_scratch("log.db");
    sqlite3 *db = NULL;
    CHECK(make_with(path, "PRAGMA journal_mode=WAL"));
    CHECK(!sqlite3_open(path, &db));
    CHECK(!sqlite3_exec(db, "DELETE FROM measurement WHERE id > 30", NULL, NULL, NULL));
    CHECK_OK(rdt_tuning_open_read(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 30);
    close_tuning();
    CHECK_FAILS(rdt_tuning_open_briefly(path, &tuning, &err), REDTUNE_DATABASE, err, path);
    CHECK_CONTAINS(err.message, "; ");
    CHECK(copy_file(path, in_scratch("killed.db")));
    CHECK(copy_file(in_scratch("log.db-wal"), in_scratch("killed.db-wal")));
    sqlite3_close(db);
    path = in_scratch("killed.db");
    for (int write = 0; write < 2; write++) {
        CHECK_OK((write ? rdt_tuning_open : rdt_tuning_open_whole)(path, &tuning, &err), err);
        CHECK_INT(rows_in(tuning), 30);
        close_tuning();
    }
    CHECK(!has_beside(path, "-wal") && !has_beside(path, "-shm"));
    CHECK_INT(ask_sql(path, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
}

static void open_follows_symbolic_links(void) {
    const char *path = in_scratch("linked.db");
    CHECK(make(in_scratch("real.db")));
    CHECK(!symlink("real.db", path));
    CHECK_OK(rdt_tuning_open(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 40);
    close_tuning();
}

static void open_repairs_a_creation_cut_short(void) {
    const char *path = in_scratch("half.db"), *journal = in_scratch("half.db-journal");
    CHECK(make(path));
    unsigned char header[512] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    header[22] = 2;
    header[26] = 0x10;
    CHECK(write_bytes(journal, header, sizeof header));
    CHECK_FAILS(rdt_tuning_open_read(path, &tuning, &err), REDTUNE_DATABASE, err,
                "a write to it was cut short");
    CHECK(holds_bytes(journal, (char *)header, sizeof header));
    CHECK_OK(rdt_tuning_open(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 0);
    close_tuning();
    CHECK(!rdt_file_exists(journal));
}

static void open_read_never_writes(void) {
    const char *path = in_scratch("readonly.db");
    size_t bytes = 0;
    CHECK(make(path));
    char *before = read_bytes(path, &bytes);
    CHECK_OK(rdt_tuning_open_read(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 40);
    rdt_trial trial = trials_make(1024, "block=256", 1, 1);
    CHECK_FAILS(rdt_tuning_put(tuning, &trials_gpu, &trials_origin, &trial, 1, &err),
                REDTUNE_DATABASE, err, "cannot write tuning database ");
    close_tuning();
    CHECK(holds_bytes(path, before, bytes));
    free(before);
}

static bool open_and_put(int index) {
    const char *path = in_scratch("race.db");
    rdt_trial trial = trials_make(1024, "block=256", 1000 + index, 9);
    bool good = !rdt_tuning_open(path, &tuning, &err) &&
                !rdt_tuning_put(tuning, &trials_gpu, &trials_origin, &trial, 1, &err);
    if (!good) fprintf(stderr, "%s\n", err.message);
    close_tuning();
    return good;
}

static void open_by_many_creates_one(void) {
    for (int round = 0; round < 5; round++) {
        unlink(in_scratch("race.db"));
        CHECK(run_processes(8, open_and_put));
        CHECK_INT(ask_sql(in_scratch("race.db"), "SELECT count(*) FROM measurement"), 8);
    }
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(open_refuses_text_file),
        FACT(open_refuses_short_file),
        FACT(open_refuses_foreign_sqlite_file),
        FACT(open_plays_back_no_foreign_journal),
        FACT(open_refuses_newer_version),
        FACT(open_refuses_other_schema),
        FACT(open_refuses_truncated_file),
        FACT(open_refuses_damaged_schema),
        FACT(open_refuses_what_is_no_file),
        FACT(open_refuses_a_pipe_in_the_journals_place),
        FACT(a_file_that_lost_its_path_takes_nothing_more),
        FACT(limits_of_the_process_are_told),
        FACT(open_shows_the_reason_after_a_long_path),
        FACT(open_read_needs_the_file),
        FACT(open_says_what_permission_is_missing),
        FACT(open_read_needs_no_write_permission),
        FACT(open_creates_file_and_folders),
        FACT(open_takes_an_empty_file_as_new),
        FACT(open_takes_special_names_for_files),
        FACT(open_takes_the_tables_of_sqlite),
        FACT(open_read_takes_wal_mode_and_writes_nothing),
        FACT(open_takes_wal_mode_with_its_log),
        FACT(open_follows_symbolic_links),
        FACT(open_repairs_a_creation_cut_short),
        FACT(open_read_never_writes),
        FACT(open_by_many_creates_one),
    };
    if (!scratch_begin()) return 1;
    int failed = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    scratch_end();
    return failed;
}
