/* Recording: the file that notes which problems programs ran without a measurement of their own.
 *
 * A line of JSON says which format it is, and one for each problem what was run (docs/tuning.md).
 * Values are unsigned integers and plain names, so that a line is read by one small parser, which
 * takes the members in any order. Writers take turns by a lock on the file, and each puts a whole
 * new file in its place: readers see the old one or the new one. */
#define _GNU_SOURCE
#include "api/records/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/file.h"
#include "model/problem.h"

/* Locks are tried for 5 seconds. */
enum { FORMAT_VERSION = 1, NAME_BYTES = 32, LOCK_TRIES = 500, LOCK_PAUSE_NS = 10000000 };

static const char format_name[] = "redtune_recording";

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

/* ---- a line ---------------------------------------------------------------------------------- */

/* Members of a line: name, whether it is a number, whether every line has it. */
#define MEMBER_LIST(X)                                                                             \
    X(op, false, true)                                                                             \
    X(dtype, false, true)                                                                          \
    X(result, false, false)                                                                        \
    X(order, false, false)                                                                         \
    X(accuracy, false, false)                                                                      \
    X(layout, false, false)                                                                        \
    X(count, true, true)                                                                           \
    X(outer, true, false)                                                                          \
    X(inner, true, false)                                                                          \
    X(outer_step, true, false)                                                                     \
    X(step, true, false)                                                                           \
    X(calls, true, true)                                                                           \
    X(ns, true, false)                                                                             \
    X(match, false, false)

enum {
#define ENTRY(name, is_number, needed) MEMBER_##name,
    MEMBER_LIST(ENTRY)
#undef ENTRY
        MEMBERS
};

static const struct {
    const char *name;
    bool is_number, needed;
} members[MEMBERS] = {
#define ENTRY(name, is_number, needed) {#name, is_number, needed},
    MEMBER_LIST(ENTRY)
#undef ENTRY
};

/* The members of a line; the text of those that are numbers is "". */
typedef struct said {
    bool there[MEMBERS];
    char text[MEMBERS][NAME_BYTES];
    uint64_t number[MEMBERS];
} said;

/* A place in the text, whose end is a NUL. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_spaces(cursor *self) {
    while (*self->at == ' ' || *self->at == '\t' || *self->at == '\r') self->at++;
}

static bool accept(cursor *self, char wanted) {
    skip_spaces(self);
    if (*self->at != wanted) return false;
    self->at++;
    return true;
}

static bool is_at_end(cursor *self) {
    skip_spaces(self);
    return self->at == self->end;
}

/* Names have no escapes. */
static bool read_quoted(cursor *self, char out[NAME_BYTES]) {
    size_t length = 0;
    if (!accept(self, '"')) return false;
    for (; *self->at != '"'; self->at++) {
        if (length + 1 == NAME_BYTES || *self->at < ' ' || *self->at > '~' || *self->at == '\\')
            return false;
        out[length++] = *self->at;
    }
    self->at++;
    out[length] = '\0';
    return true;
}

static bool read_uint64(cursor *self, uint64_t *out) {
    uint64_t number = 0;
    skip_spaces(self);
    const char *start = self->at;
    for (; *self->at >= '0' && *self->at <= '9'; self->at++)
        if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t)(*self->at - '0'), &number))
            return false;
    *out = number;
    return self->at > start;
}

/* NULL, or what is wrong with the member at the cursor. */
static const char *read_member(cursor *self, said *out) {
    char name[NAME_BYTES];
    int i = 0;
    if (!read_quoted(self, name) || !accept(self, ':')) return "it is no object of JSON";
    while (i < MEMBERS && strcmp(members[i].name, name) != 0) i++;
    if (i == MEMBERS) return "it has an unknown member";
    if (out->there[i]) return "it has a member twice";
    out->there[i] = true;
    if (members[i].is_number ? read_uint64(self, &out->number[i]) : read_quoted(self, out->text[i]))
        return NULL;
    return members[i].is_number ? "it has a value that is no whole number of 64 bits"
                                : "it has a value that is no name";
}

static const char *read_members(cursor *self, said *out) {
    const char *wrong = NULL;
    if (!accept(self, '{')) return "it is no object of JSON";
    if (!accept(self, '}')) {
        do {
            wrong = read_member(self, out);
            if (wrong) return wrong;
        } while (accept(self, ','));
        if (!accept(self, '}')) return "it is no object of JSON";
    }
    if (!is_at_end(self)) return "something follows the object";
    for (int i = 0; i < MEMBERS; i++)
        if (members[i].needed && !out->there[i]) return "it lacks op, dtype, count or calls";
    return NULL;
}

static bool find_match(const char *name, redtune_match *out) {
    for (int i = 0; i <= (int)REDTUNE_MATCH_LIKE; i++)
        if (!strcmp(redtune_match_name((redtune_match)i), name)) {
            *out = (redtune_match)i;
            return true;
        }
    return false;
}

/* The text from line to end, which is a NUL in place of the newline. */
static redtune_status read_problem_line(const char *line, const char *end, redtune_recorded *out,
                                        redtune_error *err) {
    cursor at = {line, end};
    said said = {{false}};
    redtune_recorded recorded = {.match = REDTUNE_MATCH_DEFAULT};
    redtune_problem *problem = &recorded.problem;
    const char *wrong = read_members(&at, &said);
    if (!wrong && said.there[MEMBER_match] && !find_match(said.text[MEMBER_match], &recorded.match))
        wrong = "its match is unknown";
    if (wrong) return rdt_fail(err, REDTUNE_INVALID, 0, "%s", wrong);
    recorded.calls = said.number[MEMBER_calls];
    recorded.ns = (double)said.number[MEMBER_ns];
    redtune_status status = redtune_op_find(said.text[MEMBER_op], &problem->op, err);
    if (!status) status = redtune_dtype_find(said.text[MEMBER_dtype], &problem->dtype, err);
    if (!status && said.there[MEMBER_result])
        status = redtune_dtype_find(said.text[MEMBER_result], &problem->result, err);
    const int order =
        said.there[MEMBER_order] ? rdt_problem_find_order(said.text[MEMBER_order]) : 0;
    if (!status && order < 0) status = rdt_fail(err, REDTUNE_INVALID, 0, "its order is unknown");
    problem->order = (redtune_order)order;
    const int accuracy = said.there[MEMBER_accuracy]
                             ? rdt_problem_ordering_find_accuracy(said.text[MEMBER_accuracy])
                             : 0;
    if (!status && accuracy < 0)
        status = rdt_fail(err, REDTUNE_INVALID, 0, "its accuracy is unknown");
    problem->accuracy = (redtune_accuracy)accuracy;
    const int layout =
        said.there[MEMBER_layout] ? rdt_problem_find_layout(said.text[MEMBER_layout]) : 0;
    if (!status && layout < 0) status = rdt_fail(err, REDTUNE_INVALID, 0, "its layout is unknown");
    problem->segmented = rdt_problem_segments_of((rdt_layout)layout);
    rdt_problem_segments_set_shape(
        problem, (rdt_extents){said.number[MEMBER_count], said.number[MEMBER_outer],
                               said.number[MEMBER_inner], said.number[MEMBER_outer_step],
                               said.number[MEMBER_step]});
    if (!status) status = rdt_problem_resolve(problem, problem, err);
    if (!status) *out = recorded;
    return status;
}

static void write_problem_line(rdt_text *text, const redtune_recorded *recorded) {
    const redtune_problem *problem = &recorded->problem;
    const rdt_extents extents = rdt_problem_segments_shape(problem);
    const double most = 9e18; /* fits in 63 bits */
    char layout[NAME_BYTES] = "";
    if (problem->segmented)
        snprintf(layout, sizeof layout, "\"layout\":\"%s\",",
                 rdt_problem_layout_name(rdt_problem_layout(problem)));
    char accuracy[40] = "";
    if (problem->accuracy != REDTUNE_ACCURACY_PLAIN)
        snprintf(accuracy, sizeof accuracy, "\"accuracy\":\"%s\",",
                 rdt_problem_ordering_accuracy((int)problem->accuracy));
    rdt_text_addf(
        text,
        "{\"op\":\"%s\",\"dtype\":\"%s\",\"result\":\"%s\",%s%s%s\"count\":%" PRIu64
        ",\"outer\":%" PRIu64 ",\"inner\":%" PRIu64 ",\"outer_step\":%" PRIu64 ",\"step\":%" PRIu64
        ",\"calls\":%" PRIu64 ",\"ns\":%" PRIu64 ",\"match\":\"%s\"}\n",
        redtune_op_name(problem->op), redtune_dtype_name(problem->dtype),
        redtune_dtype_name(problem->result),
        problem->order == REDTUNE_ORDER_FIXED ? "\"order\":\"fixed\"," : "", accuracy, layout,
        extents.count, extents.outer, extents.inner, extents.outer_step, extents.step,
        recorded->calls, (uint64_t)fmin(recorded->ns, most), redtune_match_name(recorded->match));
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool is_first_line(const char *line, const char *end) {
    char name[NAME_BYTES];
    uint64_t version = 0;
    cursor at = {line, end};
    return accept(&at, '{') && read_quoted(&at, name) && !strcmp(name, format_name) &&
           accept(&at, ':') && read_uint64(&at, &version) && version == FORMAT_VERSION &&
           accept(&at, '}') && is_at_end(&at);
}

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
        if (!number && !is_first_line(line, end))
            status = rdt_fail(err, REDTUNE_INVALID, 0, "it is not {\"%s\":%d}", format_name,
                              FORMAT_VERSION);
        if (!status && number) status = read_problem_line(line, end, &recorded, err);
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
    rdt_text_addf(&text, "{\"%s\":%d}\n", format_name, FORMAT_VERSION);
    for (size_t i = 0; i < all.count; i++) write_problem_line(&text, &all.entry[i]);
    if (!status && text.failed) status = rdt_fail_memory(err, text.length);
    const char *why = status ? NULL : rdt_file_replace(path, text.data, text.length);
    if (why) status = cannot_record(path, why, err);
    if (file >= 0) close(file);
    rdt_text_free(&text);
    rdt_recording_free(&all);
    return status;
}
