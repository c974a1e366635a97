/* Problem axes text: a problem's axes as databases hold them.
 *
 * "64 1000" are two axes, from the outermost to the innermost, of an array that is packed. Where it
 * is not, each has the step of x behind it: "64@1024". Where other arrays have steps of their own,
 * these follow behind commas, in the order of redtune_array: "64@1024,0" of rows against one
 * vector, "64@1024,,,2" of results that are two apart. A step that is left out is x's or, of the
 * results, that of packed ones. An array that the problem has not lies as x does, so that equal
 * problems have equal texts. Axes that kernels of rows or columns could take, too, and others read
 * better (rdt_axis_list_shares_sectors), say so by the step of their results. */
#include "model/problem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X = REDTUNE_ARRAY_X, RESULTS = REDTUNE_ARRAY_RESULTS };

/* The step of an axis where its text leaves it out; no result lies along reduced axes. */
static int64_t usual_step(const redtune_axis *axes, uint32_t count, uint32_t i, int array,
                          bool kept) {
    uint64_t packed = kept;
    if (array != RESULTS) return axes[i].step[X];
    for (uint32_t k = i + 1; k < count; k++)
        if (__builtin_mul_overflow(packed, axes[k].size, &packed)) packed = 0;
    return (int64_t)packed;
}

/* Whether it is of any axes only because the steps of its results are given. */
static bool is_by_results(const redtune_problem *problem) {
    redtune_problem without;
    if (!rdt_problem_is_strided(problem)) return false;
    rdt_problem_copy(&without, problem);
    without.steps &= ~(1u << RESULTS);
    return !rdt_problem_axes_resolve(&without, NULL) && !rdt_problem_is_strided(&without);
}

/* A text, and the bytes that it has room for. */
typedef struct axes_text {
    char *text;
    size_t bytes;
} axes_text;

static bool add_to_axes(axes_text out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* false: there is no room. */
static bool add_to_axes(axes_text out, const char *format, ...) {
    const size_t at = strlen(out.text), room = out.bytes - at;
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(out.text + at, room, format, args);
    va_end(args);
    return length >= 0 && (size_t)length < room;
}

static bool write_axes(const redtune_problem *problem, bool kept, axes_text out) {
    const redtune_axis *axes = kept ? problem->kept : problem->reduced;
    const uint32_t count = kept ? problem->kept_axes : problem->reduced_axes;
    const bool says_results = kept == (problem->kept_axes > 0) && is_by_results(problem);
    bool fits = true;
    *out.text = '\0';
    for (uint32_t i = 0; i < count; i++) {
        const int64_t *step = axes[i].step;
        const bool all = says_results && !i;
        int last = rdt_problem_is_strided(problem) ? RESULTS : X;
        while (!all && last > X && step[last] == usual_step(axes, count, i, last, kept)) last--;
        fits &= add_to_axes(out, "%s%" PRIu64, i ? " " : "", axes[i].size);
        if (problem->steps) fits &= add_to_axes(out, "@%" PRId64, step[X]);
        for (int array = X + 1; array <= last; array++) {
            const bool usual =
                (!all || array < RESULTS) && step[array] == usual_step(axes, count, i, array, kept);
            fits &= usual ? add_to_axes(out, ",") : add_to_axes(out, ",%" PRId64, step[array]);
        }
    }
    return fits;
}

bool rdt_problem_axes_text_write(const redtune_problem *problem, bool kept,
                                 char out[RDT_AXES_TEXT_BYTES]) {
    return write_axes(problem, kept, (axes_text){out, RDT_AXES_TEXT_BYTES});
}

void redtune_problem_axes_text(const redtune_problem *problem, int kept,
                               char out[REDTUNE_AXES_TEXT_BYTES]) {
    redtune_problem resolved;
    if (problem && !rdt_problem_resolve(problem, &resolved, NULL)) problem = &resolved;
    *out = '\0';
    const bool fits = problem && problem->kept_axes <= REDTUNE_AXES_MAX &&
                      problem->reduced_axes <= REDTUNE_AXES_MAX;
    if (fits) write_axes(problem, kept, (axes_text){out, REDTUNE_AXES_TEXT_BYTES});
}

/* A number without a sign, and moves behind it. */
static bool read_whole(const char **at, uint64_t most, uint64_t *out) {
    char *end;
    if (**at < '0' || **at > '9') return false;
    errno = 0;
    *out = strtoull(*at, &end, 10);
    *at = end;
    return !errno && *out <= most;
}

static bool read_step(const char **at, int64_t *out) {
    uint64_t magnitude;
    const bool back = **at == '-';
    *at += back;
    if (!read_whole(at, INT64_MAX, &magnitude)) return false;
    *out = back ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

/* Those behind an '@'. Sets the bits of the arrays whose steps it gives. */
static bool read_steps(const char **at, redtune_axis *axis, uint32_t *given) {
    if (!read_step(at, &axis->step[X])) return false;
    for (int array = X + 1; **at == ',' && array <= RESULTS; array++) {
        ++*at;
        if (**at == ',') continue;
        *given |= 1u << array;
        if (!read_step(at, &axis->step[array])) return false;
    }
    return true;
}

static bool read_axes(const char *text, bool kept, redtune_axis *axes, uint32_t *count,
                      uint32_t *steps) {
    uint32_t given[REDTUNE_AXES_MAX] = {0};
    const char *at = text;
    *count = 0;
    for (uint32_t i = 0; *at; *count = ++i) {
        if (i == REDTUNE_AXES_MAX || (i && *at++ != ' ')) return false;
        axes[i] = (redtune_axis){.size = 0};
        if (!read_whole(&at, UINT64_MAX, &axes[i].size)) return false;
        if (*at != '@') continue;
        at++;
        if (!read_steps(&at, &axes[i], &given[i])) return false;
        *steps |= RDT_STEPS_INPUTS | (given[i] & 1u << RESULTS);
    }
    for (uint32_t i = 0; i < *count; i++)
        for (int array = X + 1; array <= RESULTS; array++)
            if (!(given[i] & 1u << array))
                axes[i].step[array] = usual_step(axes, *count, i, array, kept);
    return true;
}

bool rdt_problem_axes_text_read(const char *kept, const char *reduced, redtune_problem *problem) {
    problem->steps = 0;
    return read_axes(kept, true, problem->kept, &problem->kept_axes, &problem->steps) &&
           read_axes(reduced, false, problem->reduced, &problem->reduced_axes, &problem->steps);
}
