/* Facts about the family "skewed": one result per column, whatever the extents, the grid and the
 * skews of the rows, with nothing read that is no element of a column. */
#include "column_shapes.h"
#include "splits.h"

enum { COUNT_MAX = 257, SHAPES_PER_KERNEL = 4 };

/* Half of the rows are packed; many steps are a multiple of a load. */
static const column_shapes shapes = {
    .outers = {4, {1, 1, 2, 3}},
    .counts = {8, {0, 1, 2, 7, 16, 17, 100, COUNT_MAX}},
    .inners = {12, {1, 2, 7, 14, 15, 17, 28, 33, 57, 129, 257, 1001}},
    .gaps = {8, {0, 0, 0, 0, 1, 2, 15, 37}},
    .outer_within = true,
    .few = 4000,
};

/* ---- facts ----------------------------------------------------------------------------------- */

static shape draw_shape(bool large) {
    return (shape){.offset = draw(COLUMNS_OFFSET_MAX + 1),
                   .turns = 1 + (uint32_t)draw(3),
                   .extents = draw_columns(&shapes, large)};
}

static const layout_test test = {"skewed",  COUNT_MAX,         1,         1001,
                                 COUNT_MAX, SHAPES_PER_KERNEL, draw_shape};

/* The quick one first, for mutants. */
FACT(steps_have_64_bits) { check_columns_backwards(&test, 40, 51, 33); }

/* Few blocks, and as many as there are tiles; strips whose loads overlap the next one's, strips of
 * fewer columns, and rows with gaps between them. */
FACT(blocks_share_columns) {
    static const split_test splits[] = {
        {"block=128,width=8,vec=2,unroll=1,finish=poll,per_sm=16",
         {{257, 1, 14, 3598, 14}, {100, 1, 15, 1500, 15}, {67, 1, 27, 2010, 30}}},
        {"block=128,width=16,vec=2,unroll=2,finish=poll,per_sm=16",
         {{99, 1, 31, 3069, 31}, {257, 1, 33, 8481, 33}, {50, 1, 5, 350, 7}}},
        {"block=128,width=32,vec=2,unroll=2,finish=poll,per_sm=1",
         {{257, 1, 62, 16191, 63}, {65, 1, 7, 455, 7}}},
        {"block=256,width=8,vec=2,unroll=1,finish=poll,per_sm=2",
         {{257, 1, 14, 3855, 15}, {200, 1, 13, 2600, 13}, {65, 1, 5, 325, 5}}},
        {NULL, {{0}}},
    };
    check_splits(&test, splits);
}

FACT(few_shapes_of_the_covering_set_are_right) { check_covering_set(&test); }

FACT(every_op_of_every_dtype_is_right) { check_every_op_and_dtype(&test); }

int main(int argc, char **argv) { return run_layout_test(&test, argc, argv); }
