/* World: what surrounds a program whose database is elsewhere or in use: a clock that goes on only
 * while redtune waits, a file system that fails, and the program. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "redtune/records.h"

/* ---- the clock ------------------------------------------------------------------------------- */

static int64_t slept_ns;

static struct {
    double after_s;
    void (*run)(void);
} event;

void world_plan(double after_s, void (*run)(void)) {
    event.after_s = after_s;
    event.run = run;
}

bool world_has_plans(void) { return event.run != NULL; }

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

double world_waited_s(void) {
    double seconds = (double)slept_ns / 1e9;
    slept_ns = 0;
    return seconds;
}

/* ---- the file system ------------------------------------------------------------------------- */

int world_unwell_errno;

#define WRAP(name, parameters, arguments)                                                          \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters {                                                                 \
        if (world_unwell_errno && strstr(path, "unwell")) {                                        \
            errno = world_unwell_errno;                                                            \
            return -1;                                                                             \
        }                                                                                          \
        return __real_##name arguments;                                                            \
    }

WRAP(stat, (const char *path, struct stat *info), (path, info))
WRAP(access, (const char *path, int mode), (path, mode))
WRAP(mkdir, (const char *path, mode_t mode), (path, mode))

bool world_shared_is_nfs;

int __real_statfs(const char *path, struct statfs *info);
int __wrap_statfs(const char *path, struct statfs *info);
int __wrap_statfs(const char *path, struct statfs *info) {
    int failed = __real_statfs(path, info);
    if (!failed && world_shared_is_nfs && strstr(path, "shared")) info->f_type = 0x6969;
    return failed;
}

/* ---- a program ------------------------------------------------------------------------------- */

char world_heard[4096];

void world_hear(void *user, redtune_log_level level, const char *line) {
    (void)user;
    if (level != REDTUNE_LOG_WARNING) return;
    size_t length = strlen(world_heard);
    snprintf(world_heard + length, sizeof world_heard - length, "%s\n", line);
}

redtune_status world_run(const char *named, const char *environment, redtune_info *info,
                         redtune_error *err) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    const redtune_options options = {
        .device = "sim", .database = named, .log = world_hear, .log_level = REDTUNE_LOG_WARNING};
    const redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 4096);
    world_heard[0] = '\0';
    if (environment) setenv("REDTUNE_DB", environment, 1);
    redtune_status status = redtune_open(&options, &rt, err);
    if (!status) status = redtune_plan_create(rt, &problem, &plan, err);
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

int world_count_rows(const char *path, redtune_error *err) {
    const redtune_rows_query query = {.database = path};
    int rows = 0;
    *err = (redtune_error){0};
    return redtune_rows_each(&query, count_row, &rows, err) ? -1 : rows;
}
