/* Facts about cache/sqlite.h and cache/schema.h, seen through the tuning database: which files are
 * opened, and by which way of opening something is written. */
#define _GNU_SOURCE
#include "row_files.h"

FACT(open_creates_file_and_folders) {
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

FACT(open_takes_an_empty_file_as_new) {
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

FACT(open_takes_special_names_for_files) {
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

FACT(open_takes_the_tables_of_sqlite) {
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

FACT(open_read_takes_wal_mode_and_writes_nothing) {
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
FACT(open_takes_wal_mode_with_its_log) {
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

FACT(open_follows_symbolic_links) {
    const char *path = in_scratch("linked.db");
    CHECK(make(in_scratch("real.db")));
    CHECK(!symlink("real.db", path));
    CHECK_OK(rdt_tuning_open(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 40);
    close_tuning();
}

FACT(open_repairs_a_creation_cut_short) {
    const char *path = in_scratch("half.db"), *journal = in_scratch("half.db-journal");
    CHECK(make(path));
    CHECK(write_bytes(journal, journal_header, sizeof journal_header));
    CHECK_FAILS(rdt_tuning_open_read(path, &tuning, &err), REDTUNE_DATABASE, err,
                "a write to it was cut short");
    CHECK(holds_bytes(journal, (const char *)journal_header, sizeof journal_header));
    CHECK_OK(rdt_tuning_open(path, &tuning, &err), err);
    CHECK_INT(rows_in(tuning), 0);
    close_tuning();
    CHECK(!rdt_file_exists(journal));
}

FACT(open_read_never_writes) {
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

FACT(open_by_many_creates_one) {
    for (int round = 0; round < 5; round++) {
        unlink(in_scratch("race.db"));
        CHECK(run_processes(8, open_and_put));
        CHECK_INT(ask_sql(in_scratch("race.db"), "SELECT count(*) FROM measurement"), 8);
    }
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    scratch_end();
    return failed;
}
