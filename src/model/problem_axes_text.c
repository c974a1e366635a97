/* Problem axes text: a problem's axes as databases hold them.
 *
 * "64 1000" are two axes, from the outermost to the innermost, of an array that is packed. Where it
 * is not, each has the step of x behind it: "64@1024". An array that has other steps than x has its
 * own behind a comma, in the order of redtune_array, and none where it is like x or packed: no
 * kernel takes such, and this version reads none. */
#include "model/problem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>

enum { GIVEN = 1u << REDTUNE_ARRAY_X | 1u << REDTUNE_ARRAY_Y | 1u << REDTUNE_ARRAY_MASK };

void rdt_problem_axes_text_write(const redtune_problem *problem, bool kept,
                                 char out[RDT_AXES_TEXT_BYTES]) {
    const redtune_axis *axes = kept ? problem->kept : problem->reduced;
    const uint32_t count = kept ? problem->kept_axes : problem->reduced_axes;
    size_t length = 0;
    *out = '\0';
    for (uint32_t i = 0; i < count && length < RDT_AXES_TEXT_BYTES; i++) {
        char step[24] = "";
        if (problem->steps) snprintf(step, sizeof step, "@%" PRId64, axes[i].step[REDTUNE_ARRAY_X]);
        length += (size_t)snprintf(out + length, RDT_AXES_TEXT_BYTES - length, "%s%" PRIu64 "%s",
                                   i ? " " : "", axes[i].size, step);
    }
}

/* A number without a sign, and moves behind it. */
static bool read_digits(const char **at, uint64_t most, uint64_t *out) {
    char *end;
    if (**at < '0' || **at > '9') return false;
    errno = 0;
    *out = strtoull(*at, &end, 10);
    *at = end;
    return !errno && *out <= most;
}

static bool read_axes(const char *text, redtune_axis *axes, uint32_t *count, uint32_t *steps) {
    const char *at = text;
    *count = 0;
    while (*at) {
        uint64_t size, step = 0;
        if (*count == REDTUNE_AXES_MAX || (*count && *at++ != ' ') ||
            !read_digits(&at, UINT64_MAX, &size))
            return false;
        const bool given = *at == '@';
        if (given && (at++, !read_digits(&at, INT64_MAX, &step))) return false;
        if (given) *steps |= GIVEN;
        axes[(*count)++] = (redtune_axis){size, {(int64_t)step, (int64_t)step, (int64_t)step}};
    }
    return true;
}

bool rdt_problem_axes_text_read(const char *kept, const char *reduced, redtune_problem *problem) {
    problem->steps = 0;
    return read_axes(kept, problem->kept, &problem->kept_axes, &problem->steps) &&
           read_axes(reduced, problem->reduced, &problem->reduced_axes, &problem->steps);
}
