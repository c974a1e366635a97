/* Facts about the family "staged": one result per row, whatever the extents and the grid, from
 * every element-aligned start, with nothing read that lies between rows or around them. */
#include "layouts.h"

enum { COUNT_MAX = 70, OUTER_MAX = 1000, OFFSET_MAX = 16, GAP_MAX = 5, SHAPES_PER_KERNEL = 6 };
/* On a simulated device most kernels leave out the shapes of more elements. */
enum { ELEMENTS_FEW = 4000 };

static const uint64_t outers[] = {1, 2, 3, 63, 64, 65, 300, OUTER_MAX};
static const uint64_t counts[] = {0, 1, 2, 3, 5, 7, 12, 31, 33, COUNT_MAX};
enum { OUTERS = sizeof outers / sizeof *outers, COUNTS = sizeof counts / sizeof *counts };

/* ---- facts ----------------------------------------------------------------------------------- */

/* Most rows are packed: others, and long ones, are not staged. */
static shape draw_shape(bool large) {
    shape out = {.offset = draw(OFFSET_MAX + 1), .turns = 1 + (uint32_t)draw(3)};
    do {
        out.extents.outer = outers[draw(OUTERS)];
        out.extents.count = counts[draw(COUNTS)];
    } while (!large && out.extents.outer * out.extents.count > ELEMENTS_FEW);
    out.extents.inner = out.extents.step = 1;
    out.extents.outer_step = out.extents.count + (draw(4) ? 0 : draw(GAP_MAX + 1));
    return out;
}

static const layout_test test = {"staged", 3, 2, 1, COUNT_MAX, SHAPES_PER_KERNEL, draw_shape};

FACT(steps_have_64_bits) { check_rows_backwards(&test, 3, 4); }

FACT(few_shapes_of_the_covering_set_are_right) { check_covering_set(&test); }

FACT(every_op_of_every_dtype_is_right) { check_every_op_and_dtype(&test); }

/* They take every load of a block's threads, and one more where they are not aligned. */
FACT(rows_may_fill_all_of_their_room) {
    static const shape shapes[] = {{{2, 300, 1, 2, 1}, 0, 1},
                                   {{2, 300, 1, 2, 1}, 1, 1},
                                   {{2, 300, 1, 2, 1}, 2, 1},
                                   {{2, 300, 1, 2, 1}, 3, 1}};
    check_shapes(&test, "block=64,rows=2,room=8", shapes, sizeof shapes / sizeof *shapes);
}

int main(int argc, char **argv) { return run_layout_test(&test, argc, argv); }
