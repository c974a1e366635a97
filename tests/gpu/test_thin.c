/* Facts about the family "thin": one result per column, whatever the extents and the grid, from
 * every element-aligned start, with nothing read that lies between columns. */
#include "column_shapes.h"

enum { COUNT_MAX = 9, SHAPES_PER_KERNEL = 4 };
enum { INNER = 1 << 16 /* of a problem that the family serves */ };

static const column_shapes shapes = {
    .outers = {5, {1, 1, 1, 2, 3}},
    .counts = {9, {0, 1, 1, 2, 3, 4, 7, 8, COUNT_MAX}},
    .inners = {10, {1, 2, 15, 127, 128, 129, 257, 512, 1024, 1100}},
    .gaps = {6, {0, 0, 16, 32, 1, 37}},
};

/* ---- facts ----------------------------------------------------------------------------------- */

/* Half of them begin aligned. */
static shape draw_shape(bool large) {
    return (shape){.offset = draw(2) ? 0 : draw(COLUMNS_OFFSET_MAX + 1),
                   .turns = 1 + (uint32_t)draw(3),
                   .extents = draw_columns(&shapes, large)};
}

static const layout_test test = {"thin", 1, 1, INNER, COUNT_MAX, SHAPES_PER_KERNEL, draw_shape};

/* The quick one first, for mutants. */
FACT(steps_have_64_bits) { check_columns_backwards(&test, 4, 150, 133); }

FACT(few_shapes_of_the_covering_set_are_right) { check_covering_set(&test); }

FACT(every_op_of_every_dtype_is_right) { check_every_op_and_dtype(&test); }

int main(int argc, char **argv) { return run_layout_test(&test, argc, argv); }
