/* Facts about where the kernel cache lies, as a program sees it: a cache that others own or could
 * have written serves nothing, and neither that nor anything else in its place stops a program or
 * changes a result. On the simulated GPU.
 *
 * The cache holds a forged kernel under the key of the sum's: one that gives the greatest element.
 * So a sum of ones that is 1 was served from it. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mount.h>
#include "../unit/database.h"
#include "adder.h"
#include "base/clock.h"
#include "cache/kernels.h"
#include "shaped.h"

enum { COUNT = 20000, SKIPPED = 77, LOCK_MS_MAX = 20000 };

static redtune_error err;
static adder ones;
static char key[40]; /* of the sum's kernel */

/* ---- a program ------------------------------------------------------------------------------- */

/* Its warnings. */
static struct {
    int lines;
    char last[1024];
} heard;

static void hear(void *user, redtune_log_level level, const char *line) {
    (void)user, (void)level;
    snprintf(heard.last, sizeof heard.last, "%s", line);
    heard.lines++;
}

static const redtune_options options = {
    .database = "/nowhere/at/all.db", .log = hear, .log_level = REDTUNE_LOG_WARNING};

/* The result of a plan made anew for ones; -1 where it fails. */
static float run(redtune *rt, redtune_op op, uint64_t outer) {
    const redtune_problem problem =
        outer ? redtune_problem_rows(op, REDTUNE_F32, outer, COUNT / outer)
              : redtune_problem_whole(op, REDTUNE_F32, COUNT);
    redtune_plan *plan = NULL;
    float result = -1;
    if (!redtune_plan_create(rt, &problem, &plan, &err))
        result = adder_sum(&ones, plan, shaped_of(&problem).count, &err);
    else
        fprintf(stderr, "%s\n", err.message);
    redtune_plan_destroy(plan);
    return result;
}

/* As a new process would. */
static float run_once(redtune_op op) {
    redtune *rt = NULL;
    memset(&heard, 0, sizeof heard);
    if (redtune_open(&options, &rt, &err)) return -1;
    float result = run(rt, op, 0);
    redtune_close(rt);
    return result;
}

/* ---- its cache ------------------------------------------------------------------------------- */

static bool shell(const char *command) {
    char text[1024];
    snprintf(text, sizeof text, "cd %s && { %s\n}", scratch, command);
    return system(text) == 0;
}

static const char *cache(void) { return in_scratch("cache/redtune/kernels.db"); }

/* The key and the bytes of the kernel that an empty cache holds after one plan. */
static bool make_kernel(redtune_op op, void **data, size_t *bytes, bool *ptx) {
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    rdt_kernels *kernels = NULL;
    bool good = shell("rm -rf cache") && run_once(op) >= 0 && !sqlite3_open(cache(), &db) &&
                !sqlite3_prepare_v2(db,
                                    "SELECT k.key FROM kernel AS r JOIN kernel AS k"
                                    " ON substr(r.content, 1, 32) = CAST(k.key AS BLOB)",
                                    -1, &row, NULL) &&
                sqlite3_step(row) == SQLITE_ROW;
    if (good) snprintf(key, sizeof key, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(db);
    good = good && !rdt_kernels_open(cache(), NULL, &kernels, &err) &&
           !rdt_kernels_find(kernels, key, data, bytes, ptx, &err) && *data;
    rdt_kernels_close(kernels);
    return good;
}

/* Stores it under the key with the right digest. */
static bool replace_kernel(const void *data, size_t bytes, bool ptx) {
    rdt_kernels *kernels = NULL;
    bool good = !rdt_kernels_open(cache(), NULL, &kernels, &err) &&
                !rdt_kernels_put(kernels, key, data, bytes, ptx, &err);
    rdt_kernels_close(kernels);
    return good;
}

static bool forge(void) {
    void *greatest = NULL, *sum = NULL;
    size_t greatest_bytes = 0, bytes = 0;
    bool ptx = false;
    bool good = make_kernel(REDTUNE_MAX, &greatest, &greatest_bytes, &ptx) &&
                make_kernel(REDTUNE_SUM, &sum, &bytes, &ptx) &&
                replace_kernel(greatest, greatest_bytes, ptx);
    free(greatest);
    free(sum);
    return good && copy_file(cache(), in_scratch("forged.db"));
}

static bool has_mode(const char *path, unsigned mode) {
    struct stat info;
    return !stat(path, &info) && (info.st_mode & 07777) == mode && info.st_uid == geteuid();
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Expected of a place: that its kernel serves; or else the sum, and one line that has this. */
#define SERVES NULL
#define QUIET  ""
#define ANEW   "begins anew"

/* In an own folder, whose redtune/kernels.db is the forged one. */
static const struct {
    const char *name, *command, *said;
    int root; /* takes root */
} places[] = {
    {"as it was made", ":", SERVES},
    {"folder and file that others may read", "chmod 755 redtune; chmod 644 redtune/*", SERVES},
    {"a folder above that is sticky", "chmod 1777 .", SERVES},
    {"a link to a private folder", "mv redtune mine && ln -s mine redtune", SERVES},
    {"a folder that all may write", "chmod 777 redtune", ANEW},
    {"a sticky folder that all may write", "chmod 1777 redtune", ANEW},
    {"a file that all may write", "chmod 755 redtune; chmod 666 redtune/kernels.db", ANEW},
    {"a journal that all may write", "touch redtune/kernels.db-journal; chmod 666 redtune/*l",
     ANEW},
    {"half begun anew", "chmod 1700 redtune", ANEW},
    {"a folder of another group's", "chgrp 4321 redtune; chmod 775 redtune", ANEW, 1},
    {"a file of another group's", "chgrp 4321 redtune/kernels.db; chmod 664 redtune/*", ANEW, 1},
    {"another's file in a folder for all", "chown 4321 redtune/*; chmod 777 redtune", ANEW, 1},
    {"a folder of the user's private group", "chgrp 0 redtune; chmod 775 redtune", SERVES, 1},
    {"nothing, and a umask of 0", "rm -r redtune", QUIET},
    {"an empty file", ": >redtune/kernels.db", QUIET},
    {"text", "echo text >redtune/kernels.db", QUIET},
    {"another version",
     "printf '\\0\\0\\0\\7' | dd of=redtune/kernels.db bs=1 seek=60 conv=notrunc "
     "status=none",
     QUIET},
    {"a folder above that all may write", "chmod 777 .", "others may write folder"},
    {"a link to a folder that all may write", "mv redtune open; chmod 777 open; ln -s open redtune",
     "others may write it, or its folder"},
    {"a link in a folder that all may write",
     "mkdir open; mv redtune mine; ln -s ../mine open/redtune; chmod 777 open; ln -s open/redtune "
     ".",
     "others may write folder"},
    {"another's file", "chown 4321 redtune/kernels.db", "belongs to user 4321", 1},
    {"another's journal", "touch redtune/kernels.db-journal; chown 4321 redtune/*-journal",
     "belongs to user 4321", 1},
    {"another's folder", "chown 4321 redtune", "belongs to user 4321", 1},
    {"another's folder above", "chown 4321 .", "belongs to user 4321", 1},
    {"another's home without a cache", "rm -r redtune; chown 4321 .", "belongs to user 4321", 1},
    {"a link to another's file",
     "mkdir -m 700 their; mv redtune/kernels.db their; chown 4321 their/*; ln -s "
     "../their/kernels.db "
     "redtune",
     "belongs to user 4321", 1},
    {"another's link", "mv redtune mine; ln -s mine redtune; chown -h 4321 redtune",
     "belongs to user 4321", 1},
    {"a link to nothing", "ln -sf nothing redtune/kernels.db", "symbolic link to nothing"},
    {"a folder in place of the file", "rm redtune/*; mkdir redtune/kernels.db", "Is a directory"},
    {"a pipe in place of the file", "rm redtune/*; mkfifo -m 600 redtune/kernels.db",
     "not a regular file"},
    {"a pipe in place of the journal", "mkfifo -m 600 redtune/kernels.db-journal",
     "not a regular file"},
    {"a device that is full", "rm redtune/*; mknod -m 600 redtune/kernels.db c 1 7",
     "not a regular file", 1},
    {"a file in place of the folder", "rm -r redtune; : >redtune", "Not a directory"},
    {"a full disk",
     "mount -t tmpfs -o size=8k,mode=700 none redtune || exit 77; "
     "dd if=/dev/zero of=redtune/x 2>dd.err; :",
     "full", 1},
    {"a disk that may be read",
     "mount --bind redtune redtune && mount -o remount,bind,ro redtune "
     "|| exit 77",
     SERVES, 1},
    {"an empty disk that may be read",
     "mount -t tmpfs -o size=8k,mode=700,ro none redtune "
     "|| exit 77",
     "its folder cannot be written", 1},
};

static bool lay_out(const char *command, int *skipped) {
    char text[700];
    shell("umount cache/redtune 2>umount.err; :");
    if (!shell(
            "rm -rf cache; mkdir -p -m 700 cache/redtune && cp forged.db cache/redtune/kernels.db"
            " && chmod 700 cache cache/redtune && chmod 600 cache/redtune/kernels.db"))
        return false;
    snprintf(text, sizeof text, "cd %s/cache && { %s\n}", scratch, command);
    int ended = system(text);
    *skipped = WIFEXITED(ended) && WEXITSTATUS(ended) == SKIPPED;
    return ended == 0 || *skipped;
}

static bool is_as_said(const char *said) {
    const float result = run_once(REDTUNE_SUM);
    const int lines = heard.lines;
    if (!said) return result == 1 && !lines;
    if (result != COUNT || lines != (*said != 0) || !strstr(heard.last, said)) return false;
    /* What is private by now serves; what was left out is as it was. A plan, its kernel and the
     * note of the class are kept. */
    const bool kept = !strcmp(said, ANEW) || !*said;
    return !kept || (has_mode(in_scratch("cache/redtune"), 0700) && has_mode(cache(), 0600) &&
                     run_once(REDTUNE_SUM) == COUNT && !heard.lines &&
                     ask_sql(cache(), "SELECT count(*) FROM kernel") == 3);
}

FACT(no_place_of_the_cache_changes_a_result) {
    int failed = 0, skipped = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int skip = places[i].root && geteuid() != 0;
        if (!skip) CHECK(lay_out(places[i].command, &skip));
        skipped += skip;
        if (skip || is_as_said(places[i].said)) continue;
        fprintf(stderr, "%s: %d lines, \"%s\"\n", places[i].name, heard.lines, heard.last);
        failed++;
    }
    if (skipped) printf("%d places skipped: they take root, and mounts\n", skipped);
    CHECK(!rdt_file_exists(in_scratch("cache/.cache")));
    CHECK_INT(failed, 0);
}

/* The digests are right; what they are of is not a kernel, or not this one. */
FACT(a_kernel_that_does_not_load_is_compiled_anew) {
    static const char *const contents[] = {
        "garbage", ".version 99.9\n.target sm_90\n.address_size 64\n",
        ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry other() { ret; }\n"};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        int skip = 0;
        CHECK(lay_out(":", &skip));
        CHECK(replace_kernel(contents[i], strlen(contents[i]), true));
        CHECK(run_once(REDTUNE_SUM) == COUNT);
        CHECK(run_once(REDTUNE_SUM) == COUNT); /* from the cache */
        CHECK_INT(heard.lines, 0);
    }
}

/* ---- while it runs --------------------------------------------------------------------------- */

FACT(a_lock_is_waited_for_once) {
    sqlite3 *other = NULL;
    redtune *rt = NULL;
    int skip = 0;
    CHECK(lay_out(":", &skip));
    memset(&heard, 0, sizeof heard);
    CHECK(!sqlite3_open(cache(), &other) &&
          !sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL));
    const int64_t before_ms = rdt_clock_ms();
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    const bool right = run(rt, REDTUNE_SUM, 0) == COUNT && run(rt, REDTUNE_MIN, 0) == 1 &&
                       run(rt, REDTUNE_SUM, 2) == COUNT / 2;
    const int64_t took_ms = rdt_clock_ms() - before_ms;
    const int lines = heard.lines;
    sqlite3_close(other);
    const bool after = run(rt, REDTUNE_SUM, 0) == 1; /* it is found again */
    redtune_close(rt);
    CHECK(right && after);
    CHECK_INT(lines, 1);
    CHECK(took_ms < LOCK_MS_MAX);
}

FACT(a_cache_that_goes_while_it_runs_is_missed_by_nobody) {
    static const char *const commands[] = {"rm redtune/kernels.db", "rm -r redtune",
                                           "mv redtune there", "rm -r redtune; : >redtune",
                                           "rm redtune/*; mkfifo redtune/kernels.db"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char command[200];
        redtune *rt = NULL;
        int skip = 0;
        CHECK(lay_out("rm redtune/*", &skip));
        memset(&heard, 0, sizeof heard);
        CHECK_OK(redtune_open(&options, &rt, &err), err);
        bool right = run(rt, REDTUNE_SUM, 0) == COUNT;
        snprintf(command, sizeof command, "cd cache && %s", commands[i]);
        right = right && shell(command) && run(rt, REDTUNE_SUM, 0) == COUNT &&
                run(rt, REDTUNE_MIN, 0) == 1 && run(rt, REDTUNE_SUM, 2) == COUNT / 2;
        redtune_close(rt);
        if (!right || heard.lines > 1) fprintf(stderr, "%s: %s\n", commands[i], heard.last);
        CHECK(right);
        CHECK(heard.lines <= 1);
    }
}

int main(int argc, char **argv) {
    umask(0);
    if (!scratch_begin() || setenv("XDG_CACHE_HOME", in_scratch("cache"), 1)) return 1;
    /* What is mounted goes with this process. */
    if (geteuid() == 0 && !unshare(CLONE_NEWNS))
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    redtune_status status = adder_open(&ones, COUNT, &err);
    if (!status && !forge()) status = REDTUNE_WRONG;
    if (status) fprintf(stderr, "%s\n", err.message);
    int failed = status ? 1 : check_run(argc, argv);
    adder_close(&ones);
    shell("umount cache/redtune 2>umount.err; :");
    scratch_end();
    return failed;
}
