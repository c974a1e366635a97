/* Facts about databases of one's own that were damaged, by a crash, a disk or somebody: a program
 * that names none goes on without and is right, whatever else is asked of one says what is wrong
 * and what to do, nothing hangs, and redtune_repair saves what can be read and keeps the rest. */
#define _GNU_SOURCE
#include "refusal.h"

#include <sys/time.h>
#include "redtune/tools.h"

enum { COPIES = 20, ONES = 1000 };

static char own[300]; /* the path of the user's database */
static char heard[4096];
static int64_t whole_rows, whole_pages;

/* ---- ways to damage it ----------------------------------------------------------------------- */

/* One of some pages, and the number of its rows. */
static bool make_whole(const char *path) {
    static const char copy[] =
        "CREATE TEMP TABLE t AS SELECT * FROM measurement; UPDATE t SET id = NULL, date = date +"
        " (SELECT count(*) FROM measurement); INSERT INTO measurement SELECT * FROM t; DROP TABLE "
        "t";
    static char *data;
    static size_t bytes;
    bool good = data || forge_database(path, 0);
    for (int64_t rows = 0; good && !data && rows < 200; rows = whole_rows) {
        good = run_sql(path, copy);
        whole_rows = ask_sql(path, "SELECT count(*) FROM measurement");
        whole_pages = ask_sql(path, "PRAGMA page_count");
    }
    if (good && !data) data = read_bytes(path, &bytes);
    return good && data && write_bytes(path, data, bytes);
}

/* The same each time. */
static bool fill_with_noise(const char *path, size_t offset, size_t bytes) {
    uint32_t state = 12345 + (uint32_t)offset;
    unsigned char noise[1 << 17];
    for (size_t i = 0; i < bytes; i++) {
        state = state * 1103515245 + 12345;
        noise[i] = (unsigned char)(state >> 16);
    }
    return forge_patch(path, offset, noise, bytes);
}

static bool sql_on(const char *path, const char *sql) { return run_sql(path, sql); }

static bool zeros(const char *path) { return !truncate(path, 0) && !truncate(path, 3 * 4096); }
static bool no_bytes(const char *path) { return !truncate(path, 0); }
static bool its_header_alone(const char *path) { return !truncate(path, 100); }
static bool its_first_page_alone(const char *path) { return !truncate(path, 4096); }
static bool half_of_it(const char *path) {
    return !truncate(path, whole_pages * 2048 / 4096 * 4096);
}
static bool half_a_page_less(const char *path) {
    return !truncate(path, whole_pages * 4096 - 2048);
}
static bool text(const char *path) { return write_bytes(path, "block=256,vec=4\n", 16); }
static bool encrypted(const char *path) {
    return !truncate(path, 0) && fill_with_noise(path, 0, 100000);
}
static bool a_first_page_of_zeros(const char *path) {
    static const char nothing[4096];
    return forge_patch(path, 0, nothing, sizeof nothing);
}
static bool other_pages(const char *path) { return forge_patch(path, 16, "\40\0", 2); }
static bool small_pages(const char *path) { return forge_patch(path, 16, "\2\0", 2); }
static bool another_program(const char *path) {
    return no_bytes(path) && sql_on(path, "CREATE TABLE person(id INTEGER PRIMARY KEY, name, born);"
                                          "INSERT INTO person VALUES(1, 'Ada', 1815)");
}
static bool another_mark(const char *path) { return sql_on(path, "PRAGMA application_id=7"); }
static bool a_future_version(const char *path) { return sql_on(path, "PRAGMA user_version=5"); }
static bool a_view_for_a_table(const char *path) {
    return sql_on(path, "DROP TABLE measurement; CREATE VIEW measurement AS WITH RECURSIVE c(id) AS"
                        " (SELECT 1 UNION ALL SELECT id + 1 FROM c) SELECT id FROM c");
}
static bool a_trigger(const char *path) {
    return sql_on(path, "CREATE TRIGGER measurement_by_date AFTER INSERT ON measurement"
                        " BEGIN DELETE FROM measurement; END");
}
static bool one_column_more(const char *path) {
    return sql_on(path, "ALTER TABLE measurement ADD COLUMN more TEXT DEFAULT 'x'");
}
static bool one_index_less(const char *path) {
    return sql_on(path, "DROP INDEX measurement_by_problem");
}
static bool a_schema_of_noise(const char *path) { return fill_with_noise(path, 100, 3996); }
static bool no_numbers(const char *path) {
    return forge_unchecked(path, "UPDATE measurement SET median_ns = 9e999 WHERE id % 3 = 0;"
                                 "UPDATE measurement SET median_ns = -1 WHERE id % 3 = 1;"
                                 "UPDATE measurement SET spread_ns = NULL WHERE id % 3 = 2");
}
static bool nothing_in_it(const char *path) {
    return forge_unchecked(path, "UPDATE measurement SET op = NULL, config = NULL, date = NULL");
}
static bool a_walk_without_end(const char *path) {
    static const unsigned char cell[] = {3, 1, 2, 1, 0};
    return forge_database(path, 512) &&
           forge_maze(path,
                      (uint32_t)ask_sql(path, "SELECT rootpage FROM sqlite_schema WHERE name"
                                              " = 'measurement'"),
                      cell, sizeof cell);
}
static bool very_many_rows(const char *path) {
    static const char twice[] = "CREATE TEMP TABLE t AS SELECT * FROM measurement; UPDATE t SET"
                                " id = NULL; INSERT INTO measurement SELECT * FROM t; DROP TABLE t";
    bool good = true;
    for (int i = 0; i < 6; i++) good = good && sql_on(path, twice);
    return good;
}
static bool a_folder(const char *path) { return !unlink(path) && !mkdir(path, 0777); }
/* It claims sectors of 2 GB and takes the file back to none. */
static bool a_journal_of_somebody(const char *path) {
    char beside[320];
    unsigned char header[512] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7,
                                 0xff, 0xff, 0xff, 0xff, 1,    2,    3,    4};
    header[20] = 0x80, header[26] = 0x10;
    snprintf(beside, sizeof beside, "%s-journal", path);
    return write_bytes(beside, header, sizeof header);
}
static bool a_log_of_noise(const char *path) {
    char beside[320];
    snprintf(beside, sizeof beside, "%s-wal", path);
    return sql_on(path, "PRAGMA journal_mode=WAL") && write_bytes(beside, "", 0) &&
           fill_with_noise(beside, 0, 50000);
}
static bool wal_mode(const char *path) { return sql_on(path, "PRAGMA journal_mode=WAL"); }
static bool statistics(const char *path) { return sql_on(path, "ANALYZE; PRAGMA optimize"); }

#define REPAIR "redtune doctor --repair --db "
/* remedy: NULL where it is taken as it is, "" where it may be, for not all of it is read. saved:
 * how many hundredths of the rows at least; -1: it stays as it is. */
static const struct {
    const char *name;
    bool (*make)(const char *path);
    const char *remedy;
    int saved;
} damages[] = {
#define DAMAGE(make, remedy, saved)                                                                \
    { #make, make, remedy, saved }
    DAMAGE(zeros, REPAIR, 0),
    DAMAGE(no_bytes, NULL, 0),
    DAMAGE(its_header_alone, REPAIR, 0),
    DAMAGE(its_first_page_alone, REPAIR, 0),
    DAMAGE(half_of_it, REPAIR, 20),
    DAMAGE(half_a_page_less, REPAIR, 95),
    DAMAGE(text, REPAIR, 0),
    DAMAGE(encrypted, REPAIR, 0),
    DAMAGE(a_first_page_of_zeros, REPAIR, 100),
    DAMAGE(other_pages, REPAIR, 0),
    DAMAGE(small_pages, REPAIR, 100),
    DAMAGE(another_program, REPAIR, 0),
    DAMAGE(another_mark, REPAIR, 100),
    DAMAGE(a_future_version, "update redtune", -1),
    DAMAGE(a_view_for_a_table, REPAIR, 0),
    DAMAGE(a_trigger, REPAIR, 100),
    DAMAGE(one_column_more, REPAIR, 100),
    DAMAGE(one_index_less, REPAIR, 100),
    DAMAGE(a_schema_of_noise, REPAIR, 100),
    DAMAGE(no_numbers, NULL, 0),
    DAMAGE(nothing_in_it, NULL, 0),
    DAMAGE(a_walk_without_end, "", 0),
    DAMAGE(very_many_rows, NULL, 100),
    DAMAGE(a_folder, "name another with --db or REDTUNE_DB", -1),
    DAMAGE(a_journal_of_somebody, NULL, 0),
    DAMAGE(a_log_of_noise, NULL, 100),
    DAMAGE(wal_mode, NULL, 100),
    DAMAGE(statistics, NULL, 100),
#undef DAMAGE
};
enum { DAMAGES = sizeof damages / sizeof *damages };

/* ---- what is asked of it --------------------------------------------------------------------- */

static void hear(void *user, redtune_log_level level, const char *line) {
    (void)user;
    if (level != REDTUNE_LOG_WARNING) return;
    size_t length = strlen(heard);
    snprintf(heard + length, sizeof heard - length, "%s\n", line);
}

static redtune_status give_ones(void *user, void *buffer, size_t capacity, size_t *bytes,
                                redtune_error *error) {
    size_t *left = user, count = capacity / sizeof(float);
    (void)error;
    if (count > *left) count = *left;
    for (size_t i = 0; i < count; i++) ((float *)buffer)[i] = 1;
    *left -= count;
    *bytes = count * sizeof(float);
    return REDTUNE_OK;
}

/* Two plans, each of which reads the database. */
static redtune_status reduce(const char *database, float sums[2]) {
    redtune *rt = NULL;
    const redtune_options options = {
        .device = "sim",
        .database = database,
        .log = hear,
        .log_level = REDTUNE_LOG_WARNING,
        .verify_s = 600}; /* on a machine that is busy with others' work, too */
    heard[0] = '\0';
    redtune_status status = redtune_open(&options, &rt, &err);
    for (int i = 0; !status && i < 2; i++) {
        size_t left = ONES;
        redtune_reading out;
        const redtune_problem problem =
            redtune_problem_whole(i ? REDTUNE_MAX : REDTUNE_SUM, REDTUNE_F32, ONES);
        const redtune_input input = {.read = give_ones, .user = &left};
        status = redtune_reduce_input(rt, &problem, &input, &out, &err);
        if (!status) sums[i] = out.value.f32;
    }
    redtune_close(rt);
    return status;
}

static bool names(const char *message, const char *remedy) {
    return strstr(message, own) && strstr(message, remedy);
}

/* A program that names no database; warned once, or not at all. */
static bool goes_on(const char *name, const char *remedy) {
    float sums[2] = {0};
    if (reduce(NULL, sums)) return fails(name, "a program stopped: ", err.message);
    if (sums[0] != ONES || sums[1] != 1) return fails(name, "a wrong result", "");
    if (!remedy) return !*heard || fails(name, "a warning: ", heard);
    const char *end = strchr(heard, '\n');
    if (!end && !*remedy) return true;
    if (!end || end[1]) return fails(name, "not one warning: ", heard);
    return names(heard, remedy) || fails(name, "an odd warning: ", heard);
}

static redtune_status pass_over(void *user, const redtune_row *row, redtune_error *error) {
    (void)user, (void)row, (void)error;
    return REDTUNE_OK;
}

static void note_finding(void *user, const redtune_finding *finding) {
    if (strcmp(finding->subject, "database")) return;
    snprintf(user, 1200, "%s; %s", finding->detail, finding->remedy);
}

/* Whatever names it is served, or told what is wrong. */
static bool answers(const char *name, const char *remedy) {
    const redtune_rows_query query = {.database = own};
    const redtune_question question = {.database = own,
                                       .device = "sim",
                                       .problem =
                                           redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, ONES)};
    redtune_explanation explanation;
    redtune_import_counts report;
    void *data = NULL;
    size_t bytes;
    char source[256], finding[1200] = "";
    uint64_t removed;
    float sums[2];
    for (int i = 0; i < 6; i++) {
        err.message[0] = '\0';
        redtune_status status =
            i == 0   ? redtune_rows_each(&query, pass_over, NULL, &err)
            : i == 1 ? redtune_explain(&question, &explanation, &err)
            : i == 2 ? redtune_export(&query, REDTUNE_EXPORT_JSON, &data, &bytes, &err)
            : i == 3 ? redtune_undo(own, source, &removed, &err)
            : i == 4 ? forge_import(own, in_scratch("theirs.db"), &report, &err)
                     : reduce(own, sums);
        if (status ? !remedy || !names(err.message, remedy) : remedy && *remedy) {
            fprintf(stderr, "%s, question %d: %s\n", name, i, err.message);
            return false;
        }
    }
    redtune_free(data);
    redtune_diagnose(&(redtune_options){.device = "sim", .database = own}, note_finding, finding,
                     NULL, &err);
    return !remedy || names(finding, remedy) || fails(name, "the doctor says: ", finding);
}

/* ---- repairing it ---------------------------------------------------------------------------- */

static struct {
    char kept[320];
    int64_t saved, lost;
} repaired;

static void note_repaired(void *user, const redtune_repaired *found) {
    (void)user;
    snprintf(repaired.kept, sizeof repaired.kept, "%s", found->kept);
    repaired.saved = (int64_t)found->saved;
    repaired.lost = (int64_t)found->lost;
}

static redtune_status repair(void) { return redtune_repair(own, note_repaired, NULL, &err); }

/* The old file is kept to the byte, and the new one is served. */
static bool is_repaired(const char *name, int saved) {
    size_t bytes = 0;
    char *before = read_bytes(own, &bytes);
    bool good = before != NULL;
    if (repair()) good = fails(name, "no repair: ", err.message);
    good = good && (holds_bytes(repaired.kept, before, bytes) || fails(name, "not kept", ""));
    free(before);
    if (good && repaired.saved * 100 < whole_rows * saved) {
        fprintf(stderr, "%s: %d of %d rows were saved\n", name, (int)repaired.saved,
                (int)whole_rows);
        return false;
    }
    return good && !has_beside(own, "-journal") && !has_beside(own, "-wal") &&
           goes_on(name, NULL) && answers(name, NULL) &&
           (!repair() && !*repaired.kept ? true : fails(name, "is damaged again", ""));
}

static void begin_own(void) {
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s/data/redtune' && mkdir -p '%s/data/redtune'",
             scratch, scratch);
    if (system(command)) perror(command);
}

FACT(a_damaged_database_stops_no_program) {
    CHECK(forge_single(in_scratch("theirs.db")));
    for (size_t i = 0; i < DAMAGES; i++) {
        const char *name = damages[i].name;
        begin_own();
        CHECK(make_whole(own));
        if (!damages[i].make(own)) fprintf(stderr, "cannot make %s\n", name);
        double begin = used_ms();
        CHECK(goes_on(name, damages[i].remedy));
        CHECK(answers(name, damages[i].remedy));
        if (damages[i].saved < 0) {
            CHECK(repair());
            CHECK(names(err.message, damages[i].remedy));
        } else if (damages[i].remedy) {
            CHECK(is_repaired(name, damages[i].saved));
        }
        if (used_ms() - begin > 200 * TIME_LIMIT_MS)
            fprintf(stderr, "%s took %.0f ms\n", name, used_ms() - begin);
        CHECK(used_ms() - begin <= 200 * TIME_LIMIT_MS);
    }
}

/* Of each page in turn: what it had is lost at most, and what needs it. */
FACT(noise_on_a_page_costs_that_page) {
    begin_own();
    CHECK(make_whole(own));
    int64_t least = whole_rows;
    for (int64_t page = 0; page < whole_pages; page++) {
        float sums[2] = {0};
        CHECK(make_whole(own) && fill_with_noise(own, (size_t)page * 4096, 4096));
        CHECK_OK(reduce(NULL, sums), err);
        CHECK(sums[0] == ONES && sums[1] == 1);
        CHECK(!*heard || names(heard, REPAIR));
        CHECK_OK(repair(), err);
        CHECK(*repaired.kept && repaired.saved + repaired.lost <= whole_rows);
        if (repaired.saved && repaired.saved < least) least = repaired.saved;
    }
    CHECK(least > whole_rows * 9 / 10);
}

/* ---- whose rows they are --------------------------------------------------------------------- */

FACT(only_ones_own_rows_count_as_measured_here) {
    static const char imported[] = "INSERT INTO import VALUES(5, 'theirs.db', 1);"
                                   "UPDATE measurement SET import = 5 WHERE id % 2";
    const char *of_import = "SELECT count(*) FROM measurement AS m JOIN import AS i ON i.id = "
                            "m.import WHERE i.source = 'theirs.db'";
    begin_own();
    CHECK(make_whole(own) && run_sql(own, imported));
    const int64_t theirs_count = ask_sql(own, of_import);
    CHECK(theirs_count > 100 && a_trigger(own));
    CHECK_OK(repair(), err);
    CHECK_INT(repaired.saved, whole_rows);
    CHECK_INT(ask_sql(own, of_import), theirs_count);
    CHECK_INT(ask_sql(own, "SELECT count(*) FROM measurement WHERE import IS NULL"),
              whole_rows - theirs_count);
    /* Of another program's file, none are. */
    CHECK(make_whole(own) && another_mark(own));
    CHECK_OK(repair(), err);
    CHECK_INT(ask_sql(own, "SELECT count(*) FROM measurement WHERE import IS NULL"), 0);
    if (geteuid()) return;
    /* Nor of another user's, who keeps the file. */
    struct stat info;
    CHECK(make_whole(own) && a_trigger(own) && !chown(own, 65534, 65534) && !chmod(own, 0640));
    CHECK_OK(repair(), err);
    CHECK_INT(ask_sql(own, "SELECT count(*) FROM measurement WHERE import IS NULL"), 0);
    CHECK(!stat(own, &info) && info.st_uid == 65534 && (info.st_mode & 0777) == 0640);
}

/* What the templates could not give is no measurement. */
FACT(rows_of_a_damaged_database_are_checked) {
    begin_own();
    CHECK(make_whole(own));
    CHECK(run_sql(own, "UPDATE measurement SET config = 'block=3' WHERE id = 7;"
                       "UPDATE measurement SET median_ns = 0.5 WHERE outcome = 'good' AND id < 3"));
    CHECK(a_trigger(own));
    CHECK_OK(repair(), err);
    CHECK_INT(repaired.saved, whole_rows - 3);
    CHECK_INT(repaired.lost, 3);
}

/* A link stays one, what lies beside goes along, and no name is taken twice. */
FACT(a_repair_overwrites_nothing) {
    const char *real = in_scratch("elsewhere.db"), *name = "elsewhere.db.damaged";
    begin_own();
    CHECK(make_whole(real) && zeros(real));
    CHECK(!symlink(real, own) && write_bytes(in_scratch("elsewhere.db-wal"), "log", 3));
    CHECK(write_bytes(in_scratch(name), "mine", 4));
    CHECK(write_bytes(in_scratch("elsewhere.db.damaged-2-journal"), "mine", 4));
    CHECK_OK(repair(), err);
    CHECK_CONTAINS(repaired.kept, "elsewhere.db.damaged-3");
    CHECK(holds_bytes(in_scratch(name), "mine", 4));
    CHECK(holds_bytes(in_scratch("elsewhere.db.damaged-3-wal"), "log", 3));
    CHECK(!has_beside(real, "-wal") && goes_on("a link", NULL));
    struct stat info;
    CHECK(!lstat(own, &info) && S_ISLNK(info.st_mode));
    unlink(own);
}

int main(int argc, char **argv) {
    if (!scratch_begin() || !forge_begin() || !forge_use_simulated()) return 1;
    setenv("XDG_DATA_HOME", in_scratch("data"), 1);
    rdt_text_copy(own, sizeof own, in_scratch("data/redtune/tuning.db"));
    int failed = check_run(argc, argv);
    forge_end();
    scratch_end();
    return failed;
}
