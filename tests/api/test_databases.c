/* Facts about databases that cannot be reached or that another process is at, as a program sees
 * them. A file that is not there is an empty database; any other reason is told. On the simulated
 * GPU, and by a clock that goes on only while redtune waits. */
#define _GNU_SOURCE
#include "../unit/trials.h"
#include "api/runtime/state.h"

#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include "redtune/records.h"
#include "redtune/tools.h"
#include "redtune/tune.h"

/* ---- the clock ------------------------------------------------------------------------------- */

static int64_t slept_ns;

/* What happens while redtune waits: once, after so long. */
static struct {
    double after_s;
    void (*run)(void);
} event;

int __wrap_nanosleep(const struct timespec *pause, struct timespec *left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left) {
    (void)left;
    __atomic_add_fetch(&slept_ns, pause->tv_sec * INT64_C(1000000000) + pause->tv_nsec,
                       __ATOMIC_RELAXED);
    if (event.run && (double)slept_ns / 1e9 >= event.after_s) {
        void (*run)(void) = event.run;
        event.run = NULL;
        run();
    }
    return 0;
}

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
    int failed = __real_clock_gettime(clock, out);
    int64_t ns = out->tv_nsec + __atomic_load_n(&slept_ns, __ATOMIC_RELAXED);
    out->tv_sec += ns / 1000000000;
    out->tv_nsec = ns % 1000000000;
    return failed;
}

static double waited_s(void) {
    double seconds = (double)slept_ns / 1e9;
    slept_ns = 0;
    return seconds;
}

/* ---- the file system ------------------------------------------------------------------------- */

/* What is asked of a path that has "unwell" in it fails with this. */
static int unwell_errno;

#define WRAP(name, parameters, arguments)                                                          \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters {                                                                 \
        if (unwell_errno && strstr(path, "unwell")) {                                              \
            errno = unwell_errno;                                                                  \
            return -1;                                                                             \
        }                                                                                          \
        return __real_##name arguments;                                                            \
    }

WRAP(stat, (const char *path, struct stat *info), (path, info))
WRAP(access, (const char *path, int mode), (path, mode))
WRAP(mkdir, (const char *path, mode_t mode), (path, mode))

/* Whether what has "shared" in its path lies on NFS. */
static bool shared_is_nfs;

int __real_statfs(const char *path, struct statfs *info);
int __wrap_statfs(const char *path, struct statfs *info);
int __wrap_statfs(const char *path, struct statfs *info) {
    int failed = __real_statfs(path, info);
    if (!failed && shared_is_nfs && strstr(path, "shared")) info->f_type = 0x6969;
    return failed;
}

/* ---- a program ------------------------------------------------------------------------------- */

static char heard[4096]; /* warnings */

static void hear(void *user, redtune_log_level level, const char *line) {
    (void)user;
    if (level != REDTUNE_LOG_WARNING) return;
    size_t length = strlen(heard);
    snprintf(heard + length, sizeof heard - length, "%s\n", line);
}

/* Opens and plans; with the database that was named, or with that of the environment. */
static redtune_status run_program(const char *named, const char *environment, redtune_info *info) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    const redtune_options options = {
        .device = "sim", .database = named, .log = hear, .log_level = REDTUNE_LOG_WARNING};
    const redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 4096};
    heard[0] = '\0';
    if (environment) setenv("REDTUNE_DB", environment, 1);
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_plan_create(rt, &problem, &plan, &err);
    if (!status) redtune_plan_info(plan, info);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    unsetenv("REDTUNE_DB");
    return status;
}

static redtune_status count_row(void *user, const redtune_row *row, redtune_error *error) {
    (void)row, (void)error;
    ++*(int *)user;
    return REDTUNE_OK;
}

/* The rows that redtune show would list; -1 where it fails. */
static int count_rows(const char *path) {
    const redtune_rows_query query = {.database = path};
    int rows = 0;
    err = (redtune_error){0};
    return redtune_rows_each(&query, count_row, &rows, &err) ? -1 : rows;
}

typedef struct diagnosis {
    redtune_health health;
    char detail[600], remedy[200];
} diagnosis;

static void note_database(void *user, const redtune_finding *finding) {
    diagnosis *out = user;
    if (strcmp(finding->subject, "database")) return;
    out->health = finding->health;
    snprintf(out->detail, sizeof out->detail, "%s", finding->detail);
    snprintf(out->remedy, sizeof out->remedy, "%s", finding->remedy);
}

/* ---- databases that cannot be reached -------------------------------------------------------- */

/* All that means the file fails and says why; a program that does not goes on and says so. */
static bool is_told(const char *path, const char *reason) {
    diagnosis found = {REDTUNE_HEALTH_GOOD, "", ""};
    const redtune_options options = {.device = "sim", .database = path};
    const redtune_rows_query query = {.database = path, .own = 1};
    const redtune_question question = {
        .database = path,
        .device = "sim",
        .problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 4096}};
    redtune_explanation explanation;
    redtune_info info = {.match = REDTUNE_MATCH_PINNED};
    void *data = NULL;
    size_t bytes = 0;
    char source[256];
    uint64_t removed;
    int step = 0;
#define FAILS(call)                                                                                \
    (step++, err = (redtune_error){0},                                                             \
     (call) == REDTUNE_FILE && err.status == REDTUNE_FILE && strstr(err.message, reason))
    bool good = FAILS(count_rows(path) < 0 ? err.status : REDTUNE_OK) &&
                FAILS(redtune_explain(&question, &explanation, &err)) &&
                FAILS(redtune_export(&query, REDTUNE_EXPORT_JSON, &data, &bytes, &err)) &&
                FAILS(redtune_undo(path, source, &removed, &err)) &&
                FAILS(run_program(path, NULL, &info));
#undef FAILS
    good = good && ++step && !redtune_diagnose(&options, note_database, &found, NULL, &err) &&
           found.health == REDTUNE_HEALTH_MISSING && strstr(found.detail, reason) &&
           found.remedy[0];
    good = good && ++step && !run_program(NULL, path, &info) && strstr(heard, reason) &&
           !strstr(strchr(heard, '\n'), "tuning database") && info.match == REDTUNE_MATCH_DEFAULT;
    if (!good)
        fprintf(stderr, "%s, step %d: %s, doctor: %s, log: %s\n", path, step, err.message,
                found.detail, heard);
    return good;
}

static void a_path_that_leads_nowhere_is_told(void) {
    char path[600];
    CHECK(write_bytes(in_scratch("plain"), "x", 1));
    CHECK(is_told(in_scratch("plain/tuning.db"), "Not a directory"));
    CHECK(!symlink("loop", in_scratch("loop")));
    CHECK(is_told(in_scratch("loop"), "Too many levels of symbolic links"));
    CHECK(is_told(in_scratch("loop/tuning.db"), "Too many levels of symbolic links"));
    snprintf(path, sizeof path, "%s/%0300d/tuning.db", scratch, 0);
    CHECK(is_told(path, "File name too long"));
}

static void a_file_system_that_fails_is_told(void) {
    static const int codes[] = {EACCES, ESTALE, EIO};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        unwell_errno = codes[i];
        bool good = is_told(in_scratch("unwell/tuning.db"), strerror(codes[i]));
        unwell_errno = 0;
        CHECK(good);
    }
}

static bool look_into_a_closed_folder(int index) {
    (void)index;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return false;
    setenv("XDG_CACHE_HOME", "/nowhere", 1);
    return is_told(in_scratch("closed/tuning.db"), "Permission denied");
}

static void a_folder_without_permission_is_told(void) {
    CHECK(!mkdir(in_scratch("closed"), 0700));
    CHECK(run_processes(1, look_into_a_closed_folder));
}

static void a_file_that_is_not_there_is_an_empty_database(void) {
    redtune_info info;
    CHECK_INT(count_rows(in_scratch("none.db")), 0);
    CHECK_INT(count_rows(in_scratch("no/such/folder/none.db")), 0);
    CHECK_OK(run_program(in_scratch("no/such/none.db"), NULL, &info), err);
    CHECK_TEXT(heard, "");
    CHECK(!rdt_file_exists(in_scratch("no")));
}

/* ---- databases that another process is at ---------------------------------------------------- */

static sqlite3 *holder;

static bool hold(const char *path, const char *begin) {
    waited_s();
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

static void readers_wait_five_seconds_for_a_lock(void) {
    const char *path = in_scratch("locked.db");
    redtune_info info;
    CHECK(make(path));
    CHECK(hold(path, "BEGIN EXCLUSIVE"));
    int rows = count_rows(path);
    double seconds = waited_s();
    redtune_status named = run_program(path, NULL, &info);
    double named_seconds = waited_s();
    CHECK_CONTAINS(err.message, "another process is writing it");
    redtune_status usual = run_program(NULL, path, &info);
    double usual_seconds = waited_s();
    let_go();
    CHECK_INT(rows, -1);
    CHECK(seconds > 4.9 && seconds < 5.1);
    CHECK_INT(named, REDTUNE_DATABASE);
    CHECK(named_seconds > 4.9 && named_seconds < 5.1);
    CHECK_OK(usual, err); /* which looks at it when it opens, and again for its plan */
    CHECK(usual_seconds < 10.1);
    CHECK_CONTAINS(heard, "another process is writing it");
    CHECK_INT(info.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(count_rows(path), 40);
}

static void a_reader_gets_its_turn(void) {
    const char *path = in_scratch("locked.db");
    CHECK(make(path));
    CHECK(hold(path, "BEGIN EXCLUSIVE"));
    event.after_s = 4;
    event.run = let_go;
    CHECK_INT(count_rows(path), 40);
    CHECK(waited_s() < 4.1);
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
static void what_a_lock_hid_is_found_again(void) {
    const struct timespec long_ago[2] = {{1700000000, 0}, {1700000000, 0}};
    redtune_info locked, after;
    char path[256];
    snprintf(path, sizeof path, "%s", in_scratch("hidden.db"));
    CHECK_OK(run_program(path, NULL, &after), err);
    CHECK_OK(put_row_of_sim(path, after.config), err);
    CHECK(!utimensat(AT_FDCWD, path, long_ago, 0)); /* so that its identity is settled */
    CHECK(hold(path, "BEGIN EXCLUSIVE"));
    redtune_status status = run_program(NULL, path, &locked);
    let_go();
    CHECK_OK(status, err);
    CHECK_OK(run_program(NULL, path, &after), err);
    CHECK_INT(locked.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(after.match, REDTUNE_MATCH_EXACT);
}

static bool has_held;

/* Locks the database for 40 s when the first candidates have been measured. */
static int lock_once(void *user, const redtune_progress *now) {
    if (has_held || strcmp(now->stage, "cold")) return 0;
    has_held = true;
    event.after_s = 40;
    event.run = let_go;
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
        .device = "sim", .database = path, .log = hear, .log_level = REDTUNE_LOG_WARNING};
    redtune *rt = NULL;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_tune(rt, &wanted, &err);
    redtune_close(rt);
    return status;
}

static void a_lock_held_for_forty_seconds_does_not_end_a_tune(void) {
    char path[256];
    snprintf(path, sizeof path, "%s", in_scratch("tuned.db"));
    heard[0] = '\0';
    has_held = false;
    redtune_status status = tune(path);
    double seconds = waited_s();
    bool held = has_held && !event.run;
    let_go();
    CHECK_OK(status, err);
    CHECK(held && seconds >= 40 && seconds < 41);
    CHECK_CONTAINS(heard, "waits for another process that has locked");
    CHECK(!strstr(strstr(heard, "waits for") + 1, "waits for"));
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
    waited_s();
    return good && write_bytes(journal, header, sizeof header);
}

static void a_reader_undoes_what_a_killed_writer_left(void) {
    const char *path = in_scratch("local.db");
    char *data = NULL;
    size_t bytes = 0;
    CHECK(make_in_commit(path, &data, &bytes));
    CHECK_INT(count_rows(path), 40);
    CHECK(!has_beside(path, "-journal"));
    CHECK(holds_bytes(path, data, bytes));
    free(data);
}

/* Nor waits longer to undo something than to read. */
static void undoing_waits_no_longer(void) {
    const char *path = in_scratch("busy.db");
    char *data = NULL;
    size_t bytes = 0;
    CHECK(make(path));
    CHECK(hold(path, "BEGIN; SELECT count(*) FROM measurement"));
    CHECK(make_in_commit(in_scratch("other.db"), &data, &bytes));
    free(data);
    CHECK(copy_file(in_scratch("other.db-journal"), in_scratch("busy.db-journal")));
    int rows = count_rows(path);
    double seconds = waited_s();
    let_go();
    CHECK_INT(rows, -1);
    CHECK(seconds < 5.1);
    CHECK_INT(count_rows(path), 40);
}

static void nothing_is_undone_on_a_network(void) {
    const char *path, *journal;
    char *data = NULL;
    size_t bytes = 0;
    redtune_info info;
    CHECK(!mkdir(in_scratch("shared"), 0777));
    path = in_scratch("shared/tuning.db");
    CHECK(make_in_commit(path, &data, &bytes));
    shared_is_nfs = true;
    int rows = count_rows(path);
    double seconds = waited_s();
    redtune_error why = err;
    redtune_status usual = run_program(NULL, path, &info);
    shared_is_nfs = false;
    journal = in_scratch("shared/tuning.db-journal");
    CHECK_INT(rows, -1);
    CHECK_INT(why.status, REDTUNE_DATABASE);
    CHECK_CONTAINS(why.message, "network file system (NFS)");
    CHECK_OK(usual, err);
    CHECK_CONTAINS(heard, "network file system (NFS)");
    CHECK(seconds > 3 && seconds < 5.1);
    CHECK(rdt_file_exists(journal));
    CHECK(holds_bytes(path, data, bytes));
    free(data);
}

static void end_commit(void) {
    unlink(in_scratch("shared/tuning.db-journal"));
}

static void a_commit_on_another_host_is_waited_for(void) {
    const char *path = in_scratch("shared/tuning.db");
    char *data = NULL;
    size_t bytes = 0;
    CHECK(make_in_commit(path, &data, &bytes));
    free(data);
    event.after_s = 2;
    event.run = end_commit;
    shared_is_nfs = true;
    int rows = count_rows(path);
    shared_is_nfs = false;
    CHECK_INT(rows, 40);
    CHECK(waited_s() < 2.1);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(a_path_that_leads_nowhere_is_told),
        FACT(a_file_system_that_fails_is_told),
        FACT(a_folder_without_permission_is_told),
        FACT(a_file_that_is_not_there_is_an_empty_database),
        FACT(readers_wait_five_seconds_for_a_lock),
        FACT(a_reader_gets_its_turn),
        FACT(what_a_lock_hid_is_found_again),
        FACT(a_lock_held_for_forty_seconds_does_not_end_a_tune),
        FACT(a_reader_undoes_what_a_killed_writer_left),
        FACT(undoing_waits_no_longer),
        FACT(nothing_is_undone_on_a_network),
        FACT(a_commit_on_another_host_is_waited_for),
    };
    if (!scratch_begin()) return 1;
    setenv("XDG_CACHE_HOME", in_scratch("cache"), 1);
    int failed = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    scratch_end();
    return failed;
}
