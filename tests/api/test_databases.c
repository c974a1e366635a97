/* Facts about databases that cannot be reached, as a program sees them. A file that is not there is
 * an empty database; any other reason is told. On the simulated GPU. */
#define _GNU_SOURCE
#include "../unit/database.h"
#include "redtune/records.h"
#include "redtune/tools.h"
#include "world.h"

static redtune_error err;

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

/* All that means the file fails and says why; a program that does not goes on and says so. */
static bool is_told(const char *path, const char *reason) {
    diagnosis found = {REDTUNE_HEALTH_GOOD, "", ""};
    const redtune_options options = {.device = "sim", .database = path};
    const redtune_rows_query query = {.database = path, .own = 1};
    const redtune_question question = {.database = path,
                                       .device = "sim",
                                       .problem =
                                           redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 4096)};
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
    bool good = FAILS(world_count_rows(path, &err) < 0 ? err.status : REDTUNE_OK) &&
                FAILS(redtune_explain(&question, &explanation, &err)) &&
                FAILS(redtune_export(&query, REDTUNE_EXPORT_JSON, &data, &bytes, &err)) &&
                FAILS(redtune_undo(path, source, &removed, &err)) &&
                FAILS(world_run(path, NULL, &info, &err));
#undef FAILS
    good = good && ++step && !redtune_diagnose(&options, note_database, &found, NULL, &err) &&
           found.health == REDTUNE_HEALTH_MISSING && strstr(found.detail, reason) &&
           found.remedy[0];
    good = good && ++step && !world_run(NULL, path, &info, &err) && strstr(world_heard, reason) &&
           !strstr(strchr(world_heard, '\n'), "tuning database") &&
           info.match == REDTUNE_MATCH_DEFAULT;
    if (!good)
        fprintf(stderr, "%s, step %d: %s, doctor: %s, log: %s\n", path, step, err.message,
                found.detail, world_heard);
    return good;
}

static bool look_into_a_closed_folder(int index) {
    (void)index;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return false;
    setenv("XDG_CACHE_HOME", "/nowhere", 1);
    return is_told(in_scratch("closed/tuning.db"), "Permission denied");
}

/* The first, since it forks: before the driver is started. */
FACT(a_folder_without_permission_is_told) {
    CHECK(!mkdir(in_scratch("closed"), 0700));
    CHECK(run_processes(1, look_into_a_closed_folder));
}

FACT(a_path_that_leads_nowhere_is_told) {
    char path[600];
    CHECK(write_bytes(in_scratch("plain"), "x", 1));
    CHECK(is_told(in_scratch("plain/tuning.db"), "Not a directory"));
    CHECK(!symlink("loop", in_scratch("loop")));
    CHECK(is_told(in_scratch("loop"), "Too many levels of symbolic links"));
    CHECK(is_told(in_scratch("loop/tuning.db"), "Too many levels of symbolic links"));
    snprintf(path, sizeof path, "%s/%0300d/tuning.db", scratch, 0);
    CHECK(is_told(path, "File name too long"));
}

FACT(a_file_system_that_fails_is_told) {
    static const int codes[] = {EACCES, ESTALE, EIO};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        world_unwell_errno = codes[i];
        bool good = is_told(in_scratch("unwell/tuning.db"), strerror(codes[i]));
        world_unwell_errno = 0;
        CHECK(good);
    }
}

FACT(a_file_that_is_not_there_is_an_empty_database) {
    redtune_info info;
    CHECK_INT(world_count_rows(in_scratch("none.db"), &err), 0);
    CHECK_INT(world_count_rows(in_scratch("no/such/folder/none.db"), &err), 0);
    CHECK_OK(world_run(in_scratch("no/such/none.db"), NULL, &info, &err), err);
    CHECK_TEXT(world_heard, "");
    CHECK(!rdt_file_exists(in_scratch("no")));
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    setenv("XDG_CACHE_HOME", in_scratch("cache"), 1);
    int failed = check_run(argc, argv);
    scratch_end();
    return failed;
}
