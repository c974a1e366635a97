/* Shape: arrays and axes as people write them, and the problems that they stand for.
 *
 * "64x512x512" along axis 1 is one text for options, tables and progress lines: what a table prints
 * may be typed again. Sizes have K, M and G as counts have. A problem of rows or columns is a
 * matrix or, with both an outer and an inner extent, an array of three dimensions; the steps that
 * are not those of a packed array follow as pitches. */
#pragma once

#include <stdbool.h>
#include "redtune/tune.h"

enum {
    RDT_SHAPE_DIMENSIONS_MAX = 64, /* as redtune_problem_fold takes */
    RDT_SHAPE_BYTES = 192,         /* room for any problem's text */
};

typedef struct rdt_shape_array {
    int64_t sizes[RDT_SHAPE_DIMENSIONS_MAX];
    size_t dimensions;
} rdt_shape_array;

typedef struct rdt_axes {
    int axis[RDT_SHAPE_DIMENSIONS_MAX];
    size_t count;
} rdt_axes;

/* How far its elements are apart along each axis. */
typedef struct rdt_shape_steps {
    int64_t step[RDT_SHAPE_DIMENSIONS_MAX];
    size_t count; /* 0: the array is packed */
} rdt_shape_steps;

/* The array in text[0..length), such as 64x512x512. REDTUNE_INVALID for anything else. */
redtune_status rdt_shape_read(const char *text, size_t length, rdt_shape_array *out,
                              redtune_error *err);
/* Takes the next array off a list with commas between; *more is false once the list has ended. */
redtune_status rdt_shape_read_next(const char **list, rdt_shape_array *out, bool *more,
                                   redtune_error *err);
/* Whole numbers with commas between, such as 0,2 or -1. */
redtune_status rdt_shape_read_axes(const char *list, rdt_axes *out, redtune_error *err);

/* Steps with commas between, such as 8192,2 or -1; they have K, M and G as sizes have. */
redtune_status rdt_shape_read_steps(const char *list, rdt_shape_steps *out, redtune_error *err);

/* Sets the problem's extents to those of the array along the axes; none: all of them. steps may be
 * NULL. */
redtune_status rdt_shape_fold(const rdt_shape_array *shape, const rdt_shape_steps *steps,
                              const rdt_axes *axes, redtune_problem *problem, redtune_error *err);

/* Element e of result (o, i) is x[o * outer_step + e * step + i]. Of segments there are outer, of
 * count elements on average. */
typedef struct rdt_shape_extents {
    uint64_t count, outer, inner, outer_step, step, median, greatest;
} rdt_shape_extents;

rdt_shape_extents rdt_shape_complete(const redtune_problem *problem);
/* Elements of a result. */
uint64_t rdt_shape_count(const redtune_problem *problem);
/* Sets the axes of a whole array of count elements; or, where segments is not 0, of that many
 * segments of count elements each on average. */
void rdt_shape_set(redtune_problem *problem, uint64_t segments, uint64_t count);
/* The problem that was measured for the plan. */
redtune_problem rdt_shape_measured(const redtune_info *info);
/* Whether it has axes that are neither rows nor columns. */
bool rdt_shape_has_any_axes(const redtune_problem *problem);
redtune_layouts rdt_shape_layout(const redtune_problem *problem);
/* "whole", "rows", "columns", "ragged", "list", "strided" or "keyed". */
const char *rdt_shape_layout_name(const redtune_problem *problem);
/* The name of keys' spread, such as uniform; NULL: there is none. */
const char *rdt_shape_spread_name(redtune_spread spread);
/* "plain", "compensated" or "exact". */
const char *rdt_shape_accuracy_name(const redtune_problem *problem);

/* "1M" of a whole array; "1Kx4K axis 1", "64x512x512 axis 1", "1000x1000 axis 1 pitch 1K";
 * "4Kx1000 segments", "4Kx1000:20:300K list". */
void rdt_shape_print(char out[RDT_SHAPE_BYTES], const redtune_problem *problem);
/* "sum of 1M f32", "sum of 1Kx4K f32 along axis 1"; in_full: "sum of 1048576 f32". */
void rdt_shape_describe(char out[RDT_SHAPE_BYTES], const redtune_problem *problem, bool in_full);
