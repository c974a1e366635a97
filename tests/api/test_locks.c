/* Facts about databases that another process is at, as a program sees them: how long it waits, and
 * what it does with a journal. On the simulated GPU, and by a clock that goes on only while redtune
 * waits. */
#define _GNU_SOURCE
#include "../unit/trials.h"
#include "api/runtime/runtime.h"
#include "redtune/tune.h"
#include "world.h"

/* ---- databases that another process is at ---------------------------------------------------- */

static sqlite3 *holder;

static bool hold(const char *path, const char *begin) {
    world_waited_s();
    return !sqlite3_open(path, &holder) && !sqlite3_exec(holder, begin, NULL, NULL, NULL);
}

static void let_go(void) {
    sqlite3_close(holder);
    holder = NULL;
}

static bool make(const char *path) {
    rdt_trial trials[40];
    for (int i = 0; i < 40; i++) trials[i] = trials_make(1024u << i % 8, "block=256", 1000 + i, 9);
    unlink(path);
    redtune_status status = rdt_tuning_open(path, &tuning, &err);
    if (!status) status = rdt_tuning_put(tuning, &trials_gpu, &trials_origin, trials, 40, &err);
    rdt_tuning_close(tuning);
    tuning = NULL;
    return !status;
}

FACT(readers_wait_five_seconds_for_a_lock) {
    const char *path = in_scratch("locked.db");
    redtune_info info;
    CHECK(make(path));
    CHECK(hold(path, "BEGIN EXCLUSIVE"));
    int rows = world_count_rows(path, &err);
    double seconds = world_waited_s();
    redtune_status named = world_run(path, NULL, &info, &err);
    double named_seconds = world_waited_s();
    CHECK_CONTAINS(err.message, "another process is writing it");
    redtune_status usual = world_run(NULL, path, &info, &err);
    double usual_seconds = world_waited_s();
    let_go();
    CHECK_INT(rows, -1);
    CHECK(seconds > 4.9 && seconds < 5.1);
    CHECK_INT(named, REDTUNE_DATABASE);
    CHECK(named_seconds > 4.9 && named_seconds < 5.1);
    CHECK_OK(usual, err); /* which looks at it when it opens, and again for its plan */
    CHECK(usual_seconds < 10.1);
    CHECK_CONTAINS(world_heard, "another process is writing it");
    CHECK_INT(info.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(world_count_rows(path, &err), 40);
}

FACT(a_reader_gets_its_turn) {
    const char *path = in_scratch("locked.db");
    CHECK(make(path));
    CHECK(hold(path, "BEGIN EXCLUSIVE"));
    world_plan(4, let_go);
    CHECK_INT(world_count_rows(path, &err), 40);
    CHECK(world_waited_s() < 4.1);
}

/* A row for the simulated GPU; its config is the default's. */
static redtune_status put_row_of_sim(const char *path, const char *config) {
    redtune *rt = NULL;
    const redtune_options options = {.device = "sim", .database = path};
    const rdt_trial trial = trials_make(4096, config, 1000, 31);
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = rdt_tuning_open(path, &tuning, &err);
    if (!status)
        status = rdt_tuning_put(tuning, &rt->context->facts, &trials_origin, &trial, 1, &err);
    rdt_tuning_close(tuning);
    tuning = NULL;
    redtune_close(rt);
    return status;
}

/* The kernel cache must not keep what was chosen while the database was locked. */
FACT(what_a_lock_hid_is_found_again) {
    const struct timespec long_ago[2] = {{1700000000, 0}, {1700000000, 0}};
    redtune_info locked, after;
    char path[256];
    snprintf(path, sizeof path, "%s", in_scratch("hidden.db"));
    CHECK_OK(world_run(path, NULL, &after, &err), err);
    CHECK_OK(put_row_of_sim(path, after.config), err);
    CHECK(!utimensat(AT_FDCWD, path, long_ago, 0)); /* so that its identity is settled */
    CHECK(hold(path, "BEGIN EXCLUSIVE"));
    redtune_status status = world_run(NULL, path, &locked, &err);
    let_go();
    CHECK_OK(status, err);
    CHECK_OK(world_run(NULL, path, &after, &err), err);
    CHECK_INT(locked.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(after.match, REDTUNE_MATCH_EXACT);
}

static bool has_held;

/* Locks the database for 40 s when the first candidates have been measured. */
static int lock_once(void *user, const redtune_progress *now) {
    if (has_held || strcmp(now->stage, "cold")) return 0;
    has_held = true;
    world_plan(40, let_go);
    return !hold(user, "BEGIN EXCLUSIVE");
}

static redtune_status tune(char *path) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32};
    static const uint64_t counts[] = {32};
    const redtune_tuning wanted = {.dtypes = dtypes,
                                   .dtype_count = 1,
                                   .counts = counts,
                                   .count_count = 1,
                                   .effort = REDTUNE_EFFORT_QUICK,
                                   .budget_s = 0.1,
                                   .progress = lock_once,
                                   .user = path};
    const redtune_options options = {
        .device = "sim", .database = path, .log = world_hear, .log_level = REDTUNE_LOG_WARNING};
    redtune *rt = NULL;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_tune(rt, &wanted, &err);
    redtune_close(rt);
    return status;
}

FACT(a_lock_held_for_forty_seconds_does_not_end_a_tune) {
    char path[256];
    snprintf(path, sizeof path, "%s", in_scratch("tuned.db"));
    world_heard[0] = '\0';
    has_held = false;
    redtune_status status = tune(path);
    double seconds = world_waited_s();
    bool held = has_held && !world_has_plans();
    let_go();
    CHECK_OK(status, err);
    CHECK(held && seconds >= 40 && seconds < 41);
    CHECK_CONTAINS(world_heard, "waits for another process that has locked");
    CHECK(!strstr(strstr(world_heard, "waits for") + 1, "waits for"));
}

/* ---- journals -------------------------------------------------------------------------------- */

/* Makes a database as it is in the middle of a commit, seen from where its writer's locks are not:
 * the journal's first page and the file's are there, the rest of the commit is not. */
static bool make_in_commit(const char *path, char **data, size_t *bytes) {
    char journal[300];
    unsigned char header[512] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    bool good = make(path) && (*data = read_bytes(path, bytes));
    size_t pages = *bytes / 4096;
    header[18] = (unsigned char)(pages >> 8);
    header[19] = (unsigned char)pages;
    header[22] = 2;    /* sectors of 512 bytes */
    header[26] = 0x10; /* pages of 4096 bytes */
    snprintf(journal, sizeof journal, "%s-journal", path);
    world_waited_s();
    return good && write_bytes(journal, header, sizeof header);
}

FACT(a_reader_undoes_what_a_killed_writer_left) {
    const char *path = in_scratch("local.db");
    char *data = NULL;
    size_t bytes = 0;
    CHECK(make_in_commit(path, &data, &bytes));
    CHECK_INT(world_count_rows(path, &err), 40);
    CHECK(!has_beside(path, "-journal"));
    CHECK(holds_bytes(path, data, bytes));
    free(data);
}

/* Nor waits longer to undo something than to read. */
FACT(undoing_waits_no_longer) {
    const char *path = in_scratch("busy.db");
    char *data = NULL;
    size_t bytes = 0;
    CHECK(make(path));
    CHECK(hold(path, "BEGIN; SELECT count(*) FROM measurement"));
    CHECK(make_in_commit(in_scratch("other.db"), &data, &bytes));
    free(data);
    CHECK(copy_file(in_scratch("other.db-journal"), in_scratch("busy.db-journal")));
    int rows = world_count_rows(path, &err);
    double seconds = world_waited_s();
    let_go();
    CHECK_INT(rows, -1);
    CHECK(seconds < 5.1);
    CHECK_INT(world_count_rows(path, &err), 40);
}

FACT(nothing_is_undone_on_a_network) {
    const char *path, *journal;
    char *data = NULL;
    size_t bytes = 0;
    redtune_info info;
    CHECK(!mkdir(in_scratch("shared"), 0777));
    path = in_scratch("shared/tuning.db");
    CHECK(make_in_commit(path, &data, &bytes));
    world_shared_is_nfs = true;
    int rows = world_count_rows(path, &err);
    double seconds = world_waited_s();
    redtune_error why = err;
    redtune_status usual = world_run(NULL, path, &info, &err);
    world_shared_is_nfs = false;
    journal = in_scratch("shared/tuning.db-journal");
    CHECK_INT(rows, -1);
    CHECK_INT(why.status, REDTUNE_DATABASE);
    CHECK_CONTAINS(why.message, "network file system (NFS)");
    CHECK_OK(usual, err);
    CHECK_CONTAINS(world_heard, "network file system (NFS)");
    CHECK(seconds > 3 && seconds < 5.1);
    CHECK(rdt_file_exists(journal));
    CHECK(holds_bytes(path, data, bytes));
    free(data);
}

static void end_commit(void) { unlink(in_scratch("shared/tuning.db-journal")); }

FACT(a_commit_on_another_host_is_waited_for) {
    const char *path = in_scratch("shared/tuning.db");
    char *data = NULL;
    size_t bytes = 0;
    CHECK(make_in_commit(path, &data, &bytes));
    free(data);
    world_plan(2, end_commit);
    world_shared_is_nfs = true;
    int rows = world_count_rows(path, &err);
    world_shared_is_nfs = false;
    CHECK_INT(rows, 40);
    CHECK(world_waited_s() < 2.1);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    setenv("XDG_CACHE_HOME", in_scratch("cache"), 1);
    int failed = check_run(argc, argv);
    scratch_end();
    return failed;
}
