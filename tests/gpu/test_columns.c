/* Facts about the family "columns": one result per column, whatever the extents and the grid, from
 * every element-aligned start, with nothing read that lies between columns. */
#include "column_shapes.h"
#include "splits.h"

enum { COUNT_MAX = 257, SHAPES_PER_KERNEL = 6 };

/* Half of the gaps keep loads aligned. */
static const column_shapes shapes = {
    .outers = {5, {1, 1, 2, 3, 33}},
    .counts = {6, {0, 1, 2, 31, 100, COUNT_MAX}},
    .inners = {10, {1, 2, 3, 4, 5, 31, 32, 33, 64, 257}},
    .gaps = {8, {0, 0, 16, 32, 1, 2, 3, 37}},
    .outer_within = true,
    .few = 6000,
};

/* ---- facts ----------------------------------------------------------------------------------- */

static shape draw_shape(bool large) {
    const uint64_t most = COLUMNS_OFFSET_MAX;
    return (shape){.offset = draw(2) ? draw(2) * most : draw(most + 1),
                   .turns = 1 + (uint32_t)draw(3),
                   .extents = draw_columns(&shapes, large)};
}

static const layout_test test = {"columns", COUNT_MAX,         1,         2,
                                 COUNT_MAX, SHAPES_PER_KERNEL, draw_shape};

/* The quick one first, for mutants. */
FACT(steps_have_64_bits) { check_columns_backwards(&test, 40, 50, 33); }

/* A thread with whole columns writes several results at once, where they lie so: first_result puts
 * them elsewhere. */
FACT(results_may_begin_at_any_element) {
    static const shape shapes[] = {{{5, 1, 256, 1280, 256}, 0, 1},
                                   {{5, 1, 256, 1280, 256}, 4, 1},
                                   {{5, 1, 256, 1280, 256}, 8, 1}};
    check_shapes(&test, "block=32,width=32,vec=4,unroll=1", shapes, sizeof shapes / sizeof *shapes);
}

/* Few blocks, and as many as there are tiles; strips that are whole and ragged, and of one column;
 * several outer indices; more blocks than a block has threads. */
FACT(blocks_share_columns) {
    static const split_test splits[] = {
        {"block=32,width=4,vec=1,unroll=1,finish=poll,per_sm=16",
         {{100, 1, 5, 500, 5}, {9, 2, 4, 36, 4}, {257, 2, 1, 257, 1}}},
        {"block=64,width=32,vec=2,unroll=2,finish=poll,per_sm=16",
         {{99, 1, 66, 6534, 66}, {5, 1, 100, 500, 100}, {257, 1, 2, 514, 2}}},
        {"block=128,width=4,vec=2,unroll=2,finish=poll,per_sm=1",
         {{257, 1, 8, 2056, 8}, {65, 1, 3, 195, 3}}},
        {"block=64,width=1,vec=2,unroll=1,finish=poll,per_sm=2",
         {{257, 1, 2, 514, 2}, {200, 1, 4, 800, 4}, {65, 1, 3, 195, 3}}},
        {"block=32,width=16,vec=1,unroll=1,finish=poll,per_sm=16", {{257, 1, 16, 4112, 16}}},
        {NULL, {{0}}},
    };
    check_splits(&test, splits);
}

FACT(few_shapes_of_the_covering_set_are_right) { check_covering_set(&test); }

FACT(every_op_of_every_dtype_is_right) { check_every_op_and_dtype(&test); }

int main(int argc, char **argv) { return run_layout_test(&test, argc, argv); }
