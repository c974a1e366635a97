/* Lengths: segments and lists as people write them, and the problems that they stand for. */
#define _POSIX_C_SOURCE 200809L
#include "cli/lengths.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/message.h"
#include "cli/number.h"
#include "cli/open_file.h"
#include "cli/shape.h"

/* ---- a file of lengths --------------------------------------------------------------------- */

enum { LINE_BYTES = 64 };

typedef struct lengths {
    uint64_t *each;
    size_t count, capacity;
} lengths;

static redtune_status add_length(lengths *self, uint64_t length, redtune_error *err) {
    if (self->count == self->capacity) {
        const size_t capacity = self->capacity ? 2 * self->capacity : 1024;
        uint64_t *each = realloc(self->each, capacity * sizeof *each);
        if (!each)
            return rdt_message_set(err, REDTUNE_MEMORY, 0,
                                   "cannot read lengths: out of host memory");
        self->each = each;
        self->capacity = capacity;
    }
    self->each[self->count++] = length;
    return REDTUNE_OK;
}

/* A line without its end; an empty one says nothing. */
static redtune_status take_line(lengths *self, const char *path, const char *line, bool whole,
                                size_t number, redtune_error *err) {
    const size_t length = strlen(line);
    uint64_t elements = 0;
    if (whole && !length) return REDTUNE_OK;
    if (!whole || (strcmp(line, "0") && !rdt_number_read_count(line, length, &elements)))
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot read lengths from %.300s: line %zu is '%.40s'; write the "
                               "elements of one segment on each line, such as 0, 1000 or 4K",
                               path, number, line);
    return add_length(self, elements, err);
}

static redtune_status read_lines(FILE *file, const char *path, lengths *self, redtune_error *err) {
    char line[LINE_BYTES];
    redtune_status status = REDTUNE_OK;
    for (size_t number = 1; !status && fgets(line, sizeof line, file); number++) {
        /* A line that is too long, or that a byte of 0 cuts short, is no number. */
        const bool whole = strchr(line, '\n') || feof(file);
        line[strcspn(line, "\r\n")] = '\0';
        status = take_line(self, path, line, whole, number, err);
    }
    if (!status && ferror(file))
        return rdt_message_set(err, REDTUNE_FILE, errno, "cannot read lengths from %.300s: %s",
                               path, rdt_message_reason(errno));
    return status;
}

static int ascend(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static redtune_status set_extents(lengths *self, const char *path, redtune_problem *problem,
                                  redtune_error *err) {
    uint64_t all = 0;
    for (size_t i = 0; i < self->count; i++)
        if (__builtin_add_overflow(all, self->each[i], &all)) all = UINT64_MAX;
    if (!self->count || !all || all > UINT64_C(1) << 60)
        return rdt_message_set(err, REDTUNE_FILE, 0, "cannot use the lengths in %.300s: %s", path,
                               !self->count ? "it has no line"
                               : !all       ? "all of them are 0"
                                            : "they are more than 2^60 elements");
    qsort(self->each, self->count, sizeof *self->each, ascend);
    const uint64_t median = self->each[self->count / 2];
    rdt_shape_set(problem, self->count, (all + self->count - 1) / self->count);
    problem->median = median ? median : 1;
    problem->greatest = self->each[self->count - 1];
    return REDTUNE_OK;
}

static redtune_status read_lengths(const char *path, redtune_problem *problem, redtune_error *err) {
    lengths self = {.each = NULL};
    redtune_error why;
    int opened = -1;
    redtune_status status = rdt_open_file_read(path, &opened, &why);
    FILE *file = status ? NULL : fdopen(opened, "r");
    if (!file && opened >= 0) close(opened);
    if (!file)
        return rdt_message_set(err, REDTUNE_FILE, errno,
                               "cannot read lengths from %.300s: %s; give a file, or a number of "
                               "segments and their elements, such as 4096x1000",
                               path, status ? why.message : rdt_message_reason(errno));
    status = read_lines(file, path, &self, err);
    fclose(file);
    if (!status) status = set_extents(&self, path, problem, err);
    free(self.each);
    return status;
}

/* ---- in a word ----------------------------------------------------------------------------- */

static redtune_status refuse_word(const char *text, size_t length, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "'%.*s' are no segments; give their number and elements, such as "
                           "4096x1000, and perhaps median and greatest, such as 4096x1000:20:300K",
                           (int)(length < 60 ? length : 60), text);
}

/* SEGMENTSxELEMENTS, or SEGMENTSxELEMENTS:MEDIAN:GREATEST. */
static redtune_status read_word(const char *text, size_t length, redtune_problem *problem,
                                redtune_error *err) {
    static const char behind[] = "x::";
    uint64_t number[4] = {0};
    const char *at = text, *const end = text + length;
    int numbers = 0;
    for (;; at++) {
        const char *next = numbers < 3 ? memchr(at, behind[numbers], (size_t)(end - at)) : NULL;
        if (!next) next = end;
        if (!rdt_number_read_count(at, (size_t)(next - at), &number[numbers++]))
            return refuse_word(text, length, err);
        at = next;
        if (at == end) break;
    }
    if (numbers != 2 && numbers != 4) return refuse_word(text, length, err);
    rdt_shape_set(problem, number[0], number[1]);
    problem->median = number[2];
    problem->greatest = number[3];
    return REDTUNE_OK;
}

static bool is_word(const char *text) {
    const bool digit = *text >= '0' && *text <= '9';
    return digit && !text[strspn(text, "0123456789KMGTkmgtieE.x:,")] && strchr(text, 'x');
}

redtune_status rdt_lengths_read_next(const char **list, redtune_problem *problem, bool *more,
                                     redtune_error *err) {
    const char *text = *list;
    *more = text != NULL;
    if (!text) return REDTUNE_OK;
    if (!is_word(text)) {
        *list = NULL;
        return read_lengths(text, problem, err);
    }
    const size_t length = strcspn(text, ",");
    *list = text[length] ? text + length + 1 : NULL;
    return read_word(text, length, problem, err);
}
