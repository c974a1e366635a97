/* Recording: the file that notes which problems programs ran without a measurement of their own.
 *
 * recording_line.c has its lines. Writers take turns by a lock on the file, and each puts a whole
 * new file in its place: readers see the old one or the new one. */
#define _GNU_SOURCE
#include "api/records/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "api/records/recording_line.h"
#include "base/array.h"
#include "base/file.h"
#include "model/problem.h"

/* Locks are tried for 5 seconds. */
enum { LOCK_TRIES = 500, LOCK_PAUSE_NS = 10000000 };

/* ---- problems -------------------------------------------------------------------------------- */

redtune_status rdt_recording_add(rdt_recording *recording, const redtune_recorded *recorded,
                                 redtune_error *err) {
    redtune_status status =
        RDT_ARRAY_RESERVE(recording->entry, recording->capacity, recording->count + 1, err);
    if (!status) recording->entry[recording->count++] = *recorded;
    return status;
}

void rdt_recording_free(rdt_recording *recording) {
    free(recording->entry);
    *recording = (rdt_recording){0};
}

static int compare_recorded(const void *a, const void *b) {
    const redtune_problem *x = &((const redtune_recorded *)a)->problem,
                          *y = &((const redtune_recorded *)b)->problem;
    int diff = rdt_problem_compare_class(x, y);
    return diff ? diff : rdt_problem_compare_extents(x, y);
}

/* The most time first. */
static int compare_costs(const void *a, const void *b) {
    const redtune_recorded *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    if (x->calls != y->calls) return x->calls > y->calls ? -1 : 1;
    return compare_recorded(a, b);
}

/* How far a match is from the problem's own measurement. */
static int farness(redtune_match match) {
    static const int order[] = {
        [REDTUNE_MATCH_EXACT] = 0, [REDTUNE_MATCH_SIZE] = 1,    [REDTUNE_MATCH_LIKE] = 2,
        [REDTUNE_MATCH_GPU] = 3,   [REDTUNE_MATCH_DEFAULT] = 4, [REDTUNE_MATCH_PINNED] = 5,
    };
    return order[match];
}

static void join_calls(redtune_recorded *into, const redtune_recorded *more) {
    if (__builtin_add_overflow(into->calls, more->calls, &into->calls)) into->calls = UINT64_MAX;
    into->ns += more->ns;
    if (farness(more->match) > farness(into->match)) into->match = more->match;
}

void rdt_recording_settle(rdt_recording *recording) {
    redtune_recorded *entry = recording->entry;
    size_t kept = 0;
    if (!recording->count) return;
    qsort(entry, recording->count, sizeof *entry, compare_recorded);
    for (size_t i = 0; i < recording->count; i++) {
        if (kept && !compare_recorded(&entry[kept - 1], &entry[i]))
            join_calls(&entry[kept - 1], &entry[i]);
        else
            entry[kept++] = entry[i];
    }
    recording->count = kept;
    qsort(entry, kept, sizeof *entry, compare_costs);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Adds the lines of the text, which ends with a NUL; one without lines is an empty recording. */
static redtune_status read_all_lines(const char *path, char *text, size_t length,
                                     rdt_recording *recording, redtune_error *err) {
    size_t number = 0;
    for (char *line = text; line < text + length; number++) {
        char *end = memchr(line, '\n', (size_t)(text + length - line));
        redtune_recorded recorded;
        if (!end) end = text + length;
        *end = '\0';
        redtune_status status = REDTUNE_OK;
        if (number)
            status = rdt_recording_line_read(line, end, &recorded, err);
        else
            status = rdt_recording_line_check_first(line, end, err);
        if (!status && number) status = rdt_recording_add(recording, &recorded, err);
        if (status)
            return rdt_fail_within(err, status, "cannot read the recording %.300s: line %zu", path,
                                   number + 1);
        line = end + 1;
    }
    return REDTUNE_OK;
}

static redtune_status read_recording(const char *path, rdt_recording *recording,
                                     redtune_error *err) {
    char *text = NULL;
    size_t length = 0;
    redtune_status status = rdt_file_read(path, RDT_RECORDING_BYTES_MAX, &text, &length, err);
    if (!status) status = read_all_lines(path, text, length, recording, err);
    free(text);
    return status;
}

redtune_status redtune_recording_read(const char *path, redtune_recorded **problems, size_t *count,
                                      redtune_error *err) {
    rdt_recording recording = {0};
    if (!path || !problems || !count)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot read a recording: %s is NULL",
                        !path       ? "path"
                        : !problems ? "problems"
                                    : "count");
    redtune_status status = read_recording(path, &recording, err);
    if (status) {
        rdt_recording_free(&recording);
        return status;
    }
    rdt_recording_settle(&recording);
    *problems = recording.entry;
    *count = recording.count;
    return REDTUNE_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static redtune_status cannot_record(const char *path, const char *reason, redtune_error *err) {
    return rdt_fail(err, errno == ENOMEM ? REDTUNE_MEMORY : REDTUNE_FILE, errno,
                    "cannot write the recording %.300s: %s; name another file, or /dev/null to "
                    "record nothing",
                    path, reason);
}

/* Opens the file, creating it, and locks it: the one that has the path then, not one that another
 * program has just replaced. */
static redtune_status lock_file(const char *path, int *out, redtune_error *err) {
    for (int i = 0; i < LOCK_TRIES; i++) {
        struct stat locked, named;
        int file = -1;
        const char *why = rdt_file_open(path, O_RDWR | O_CREAT, &file);
        if (why) return cannot_record(path, why, err);
        bool mine = !flock(file, LOCK_EX | LOCK_NB);
        if (mine && !fstat(file, &locked) && !stat(path, &named) && locked.st_ino == named.st_ino &&
            locked.st_dev == named.st_dev) {
            *out = file;
            return REDTUNE_OK;
        }
        close(file);
        if (!mine) nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
    }
    return rdt_fail(err, REDTUNE_FILE, 0,
                    "cannot write the recording %.300s: other programs have been writing it for 5 "
                    "seconds",
                    path);
}

redtune_status rdt_recording_merge(const char *path, const rdt_recording *recording,
                                   redtune_error *err) {
    rdt_recording all = {0};
    rdt_text text = {0};
    int file = -1;
    redtune_status status = rdt_file_make_folder_of(path, 0777, err);
    if (!status) status = lock_file(path, &file, err);
    if (!status) status = read_recording(path, &all, err);
    for (size_t i = 0; !status && i < recording->count; i++)
        status = rdt_recording_add(&all, &recording->entry[i], err);
    rdt_recording_settle(&all);
    if (all.count > RDT_RECORDING_PROBLEMS_MAX) all.count = RDT_RECORDING_PROBLEMS_MAX;
    rdt_recording_line_write_first(&text);
    for (size_t i = 0; i < all.count; i++) rdt_recording_line_write(&text, &all.entry[i]);
    if (!status && text.failed) status = rdt_fail_memory(err, text.length);
    const char *why = status ? NULL : rdt_file_replace(path, text.data, text.length);
    if (why) status = cannot_record(path, why, err);
    if (file >= 0) close(file);
    rdt_text_free(&text);
    rdt_recording_free(&all);
    return status;
}
