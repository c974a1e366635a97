/* Shape: arrays and axes as people write them, and the problems that they stand for. */
#include "cli/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/message.h"
#include "cli/number.h"

enum { PITCH_BYTES = 80, KEYS_BYTES = 64 };

/* ---- reading ------------------------------------------------------------------------------- */

static redtune_status refuse_shape(const char *text, size_t length, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "'%.*s' is no array; give its sizes with x between, such as 64x512x512 "
                           "or 4Kx1M",
                           (int)(length < 60 ? length : 60), text);
}

redtune_status rdt_shape_read(const char *text, size_t length, rdt_shape_array *out,
                              redtune_error *err) {
    rdt_shape_array shape = {.dimensions = 0};
    const char *const end = text + length;
    for (const char *at = text;; at++) {
        const char *next = memchr(at, 'x', (size_t)(end - at));
        uint64_t size;
        if (!next) next = end;
        if (shape.dimensions == RDT_SHAPE_DIMENSIONS_MAX ||
            !rdt_number_read_count(at, (size_t)(next - at), &size))
            return refuse_shape(text, length, err);
        shape.sizes[shape.dimensions++] = (int64_t)size;
        at = next;
        if (at == end) break;
    }
    *out = shape;
    return REDTUNE_OK;
}

redtune_status rdt_shape_read_next(const char **list, rdt_shape_array *out, bool *more,
                                   redtune_error *err) {
    const bool some = *list != NULL;
    if (some) {
        size_t length = strcspn(*list, ",");
        redtune_status status = rdt_shape_read(*list, length, out, err);
        if (status) return status;
        *list = (*list)[length] ? *list + length + 1 : NULL;
    }
    *more = some;
    return REDTUNE_OK;
}

redtune_status rdt_shape_read_axes(const char *list, rdt_axes *out, redtune_error *err) {
    rdt_axes axes = {.count = 0};
    for (const char *at = list;; at++) {
        size_t sign = *at == '-', digits = strspn(at + sign, "0123456789");
        if (!digits || digits > 3 || (at[sign + digits] && at[sign + digits] != ',') ||
            axes.count == RDT_SHAPE_DIMENSIONS_MAX)
            return rdt_message_set(err, REDTUNE_INVALID, 0,
                                   "'%.60s' names no axes; give numbers from 0, or from the end "
                                   "below 0, such as 1, -1 or 0,1",
                                   list);
        axes.axis[axes.count++] = atoi(at);
        at += sign + digits;
        if (!*at) break;
    }
    *out = axes;
    return REDTUNE_OK;
}

redtune_status rdt_shape_read_steps(const char *list, rdt_shape_steps *out, redtune_error *err) {
    rdt_shape_steps steps = {.count = 0};
    for (const char *at = list;; at++) {
        const size_t back = *at == '-', length = strcspn(at + back, ",");
        const bool stays = length == 1 && at[back] == '0'; /* which is no count */
        uint64_t step = 0;
        if (steps.count == RDT_SHAPE_DIMENSIONS_MAX ||
            (!stays && !rdt_number_read_count(at + back, length, &step)))
            return rdt_message_set(err, REDTUNE_INVALID, 0,
                                   "'%.60s' names no steps; give elements, one number for each "
                                   "axis, such as 8192,2, below 0 for backwards, or 0",
                                   list);
        steps.step[steps.count++] = back ? -(int64_t)step : (int64_t)step;
        at += back + length;
        if (!*at) break;
    }
    *out = steps;
    return REDTUNE_OK;
}

redtune_status rdt_shape_fold(const rdt_shape_array *shape, const rdt_shape_steps *steps,
                              const rdt_axes *axes, redtune_problem *problem, redtune_error *err) {
    const bool apart = steps && steps->count;
    if (apart && steps->count != shape->dimensions)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --strides of %zu steps with --shape of %zu axes: give "
                               "one step for each axis",
                               steps->count, shape->dimensions);
    return redtune_problem_fold(problem, shape->sizes, apart ? steps->step : NULL,
                                shape->dimensions, axes->axis, axes->count, err);
}

/* ---- printing ------------------------------------------------------------------------------ */

uint64_t rdt_shape_count(const redtune_problem *problem) {
    return problem->reduced_axes ? problem->reduced[0].size : 0;
}

void rdt_shape_set(redtune_problem *problem, uint64_t segments, uint64_t count) {
    problem->steps = 0;
    problem->kept_axes = segments != 0;
    problem->kept[0] = (redtune_axis){.size = segments};
    problem->reduced_axes = 1;
    problem->reduced[0] = (redtune_axis){.size = count};
}

/* The results have steps then. */
bool rdt_shape_has_any_axes(const redtune_problem *problem) {
    return problem->steps & 1u << REDTUNE_ARRAY_RESULTS;
}

redtune_problem rdt_shape_measured(const redtune_info *info) {
    if (info->match == REDTUNE_MATCH_EXACT && rdt_shape_has_any_axes(&info->problem))
        return info->problem;
    const uint64_t outer = info->tuned_outer, inner = info->tuned_inner;
    const rdt_shape_array shape = {{(int64_t)outer, (int64_t)info->tuned_count, (int64_t)inner},
                                   .dimensions = 3};
    const rdt_axes axes = {{1}, 1};
    redtune_problem problem = {
        .op = info->tuned_op, .dtype = info->tuned_dtype, .segmented = info->problem.segmented};
    if (problem.segmented || (outer < 2 && inner < 2) ||
        rdt_shape_fold(&shape, NULL, &axes, &problem, NULL))
        rdt_shape_set(&problem, problem.segmented ? outer : 0, info->tuned_count);
    return problem;
}

rdt_shape_extents rdt_shape_complete(const redtune_problem *problem) {
    const redtune_operands of = redtune_problem_operands(problem);
    rdt_shape_extents out = {.count = rdt_shape_count(problem), .outer = 1, .inner = 1};
    out.median = problem->median ? problem->median : out.count;
    out.greatest = problem->greatest ? problem->greatest : out.count;
    if (problem->segmented) {
        if (problem->kept_axes && problem->kept[0].size) out.outer = problem->kept[0].size;
        return out;
    }
    if (of.outer) out.outer = of.outer;
    if (of.inner) out.inner = of.inner;
    out.step = of.step ? of.step : out.inner;
    out.outer_step = of.outer_step ? of.outer_step : out.count * out.inner;
    return out;
}

static redtune_layouts layout_of(const rdt_shape_extents *of) {
    if (of->inner > 1 || of->step > 1) return REDTUNE_LAYOUT_COLUMNS;
    return of->outer > 1 ? REDTUNE_LAYOUT_ROWS : REDTUNE_LAYOUT_WHOLE;
}

redtune_layouts rdt_shape_layout(const redtune_problem *problem) {
    const rdt_shape_extents complete = rdt_shape_complete(problem);
    if (problem->segmented)
        return problem->segmented == REDTUNE_SEGMENTED_ALL ? REDTUNE_LAYOUT_LIST
                                                           : REDTUNE_LAYOUT_RAGGED;
    return layout_of(&complete);
}

const char *rdt_shape_layout_name(const redtune_problem *problem) {
    if (rdt_shape_has_any_axes(problem)) return "strided";
    if (problem->key_dtype) return "keyed";
    switch (rdt_shape_layout(problem)) {
    case REDTUNE_LAYOUT_ROWS: return "rows";
    case REDTUNE_LAYOUT_COLUMNS: return "columns";
    case REDTUNE_LAYOUT_RAGGED: return "ragged";
    case REDTUNE_LAYOUT_LIST: return "list";
    case REDTUNE_LAYOUT_WHOLE: break;
    }
    return "whole";
}

const char *rdt_shape_accuracy_name(const redtune_problem *problem) {
    switch (problem->accuracy) {
    case REDTUNE_ACCURACY_COMPENSATED: return "compensated";
    case REDTUNE_ACCURACY_EXACT: return "exact";
    case REDTUNE_ACCURACY_PLAIN: break;
    }
    return "plain";
}

const char *rdt_shape_spread_name(redtune_spread spread) {
    switch (spread) {
    case REDTUNE_SPREAD_UNKNOWN: return "unknown";
    case REDTUNE_SPREAD_UNIFORM: return "uniform";
    case REDTUNE_SPREAD_SKEWED: return "skewed";
    case REDTUNE_SPREAD_ONE: return "one";
    }
    return NULL;
}

static void print_number(char out[RDT_NUMBER_BYTES], uint64_t number, bool in_full) {
    if (in_full)
        snprintf(out, RDT_NUMBER_BYTES, "%" PRIu64, number);
    else
        rdt_number_print_count(out, number);
}

/* The steps of the axes before the last one, as far as a packed array has others: of the reduced
 * axis, and of the outer one. */
static void print_pitches(char out[PITCH_BYTES], const rdt_shape_extents *of, bool in_full) {
    char step[RDT_NUMBER_BYTES], outer_step[RDT_NUMBER_BYTES];
    print_number(step, of->step, in_full);
    print_number(outer_step, of->outer_step, in_full);
    const bool steps = of->step != of->inner;
    const bool outer_steps = of->outer > 1 && of->outer_step != of->count * of->inner;
    *out = '\0';
    if (steps || outer_steps)
        snprintf(out, PITCH_BYTES, " pitch %s%s%s", outer_steps ? outer_step : "",
                 steps && outer_steps ? "," : "", steps ? step : "");
}

/* The array, and the axis that is reduced; -1: it is whole. */
static int print_array(char out[RDT_SHAPE_BYTES], const rdt_shape_extents *of, bool in_full) {
    char outer[RDT_NUMBER_BYTES], count[RDT_NUMBER_BYTES], inner[RDT_NUMBER_BYTES];
    const redtune_layouts layout = layout_of(of);
    const bool several = of->outer > 1, columns = layout == REDTUNE_LAYOUT_COLUMNS;
    print_number(outer, of->outer, in_full);
    print_number(count, of->count, in_full);
    print_number(inner, of->inner, in_full);
    snprintf(out, RDT_SHAPE_BYTES, "%s%s%s%s%s", several ? outer : "", several ? "x" : "", count,
             columns ? "x" : "", columns ? inner : "");
    return layout == REDTUNE_LAYOUT_WHOLE ? -1 : several;
}

/* "4Kx1000", "4Kx1000:20:300K", as rdt_lengths_read_next takes it. */
static void print_segments(char out[RDT_SHAPE_BYTES], const rdt_shape_extents *of, bool in_full) {
    char outer[RDT_NUMBER_BYTES], count[RDT_NUMBER_BYTES], median[RDT_NUMBER_BYTES];
    char greatest[RDT_NUMBER_BYTES];
    const bool equal = of->median == of->count && of->greatest == of->count;
    print_number(outer, of->outer, in_full);
    print_number(count, of->count, in_full);
    print_number(median, of->median, in_full);
    print_number(greatest, of->greatest, in_full);
    snprintf(out, RDT_SHAPE_BYTES, "%sx%s%s%s%s%s", outer, count, equal ? "" : ":",
             equal ? "" : median, equal ? "" : ":", equal ? "" : greatest);
}

static const char *name_segments(const redtune_problem *of) {
    return of->segmented == REDTUNE_SEGMENTED_ALL ? "list" : "segments";
}

/* The reduced axes, and of which kept ones. */
static void print_any_axes(char out[RDT_SHAPE_BYTES], const redtune_problem *problem) {
    char kept[REDTUNE_AXES_TEXT_BYTES], reduced[REDTUNE_AXES_TEXT_BYTES];
    redtune_problem_axes_text(problem, false, reduced);
    redtune_problem_axes_text(problem, true, kept);
    snprintf(out, RDT_SHAPE_BYTES, "%.70s%s%.70s%s", reduced, *kept ? " of " : "", kept,
             problem->mask ? " masked" : "");
}

/* " by 1K i32 keys, uniform" */
static void print_keys(char out[KEYS_BYTES], const redtune_problem *of, bool in_full) {
    char keys[RDT_NUMBER_BYTES];
    const bool said = of->spread != REDTUNE_SPREAD_UNKNOWN;
    print_number(keys, of->keys, in_full);
    snprintf(out, KEYS_BYTES, " by %.20s %s keys%s%s", keys, redtune_dtype_name(of->key_dtype),
             said ? ", " : "", said ? rdt_shape_spread_name(of->spread) : "");
}

void rdt_shape_print(char out[RDT_SHAPE_BYTES], const redtune_problem *problem) {
    if (rdt_shape_has_any_axes(problem)) {
        print_any_axes(out, problem);
        return;
    }
    const rdt_shape_extents complete = rdt_shape_complete(problem);
    char pitches[PITCH_BYTES];
    if (problem->segmented) {
        char segments[RDT_SHAPE_BYTES];
        print_segments(segments, &complete, false);
        snprintf(out, RDT_SHAPE_BYTES, "%.150s %s", segments, name_segments(problem));
        return;
    }
    print_pitches(pitches, &complete, false);
    int axis = print_array(out, &complete, false);
    size_t length = strlen(out);
    if (problem->key_dtype)
        print_keys(out + length, problem, false);
    else if (axis >= 0)
        snprintf(out + length, RDT_SHAPE_BYTES - length, " axis %d%s", axis, pitches);
}

void rdt_shape_describe(char out[RDT_SHAPE_BYTES], const redtune_problem *problem, bool in_full) {
    const rdt_shape_extents complete = rdt_shape_complete(problem);
    char array[RDT_SHAPE_BYTES], pitches[PITCH_BYTES] = "", along[KEYS_BYTES] = "";
    int axis = -1;
    if (rdt_shape_has_any_axes(problem)) {
        print_any_axes(array, problem);
        snprintf(out, RDT_SHAPE_BYTES, "%s of %s along %.160s", redtune_op_name(problem->op),
                 redtune_dtype_name(problem->dtype), array);
        return;
    }
    if (problem->segmented) {
        print_segments(array, &complete, in_full);
        snprintf(along, sizeof along, " %s", name_segments(problem));
    } else {
        print_pitches(pitches, &complete, in_full);
        axis = print_array(array, &complete, in_full);
    }
    if (problem->key_dtype) {
        print_keys(along, problem, in_full);
        axis = -1;
    }
    if (axis >= 0) snprintf(along, sizeof along, " along axis %d", axis);
    const bool plain = problem->accuracy == REDTUNE_ACCURACY_PLAIN;
    snprintf(out, RDT_SHAPE_BYTES, "%s%s%s of %.70s %s%s%s%s",
             plain ? "" : rdt_shape_accuracy_name(problem), plain ? "" : " ",
             redtune_op_name(problem->op), array, redtune_dtype_name(problem->dtype), along,
             pitches, problem->order == REDTUNE_ORDER_FIXED ? " in fixed order" : "");
}
