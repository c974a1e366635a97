/* Facts about the family "rows": one result per row, whatever the extents and the grid, from every
 * element-aligned start, with nothing read that lies between rows. */
#include "splits.h"

enum { COUNT_MAX = 1027, OUTER_MAX = 1000, OFFSET_MAX = 16, GAP_MAX = 37, SHAPES_PER_KERNEL = 7 };
/* On a simulated device most kernels leave out the shapes of more elements. */
enum { ELEMENTS_FEW = 8000 };

static const uint64_t outers[] = {1, 2, 3, 7, 33, OUTER_MAX};
static const uint64_t counts[] = {0, 1, 2, 5, 31, 32, 33, 100, COUNT_MAX};
enum { OUTERS = sizeof outers / sizeof *outers, COUNTS = sizeof counts / sizeof *counts };

/* ---- facts ----------------------------------------------------------------------------------- */

static shape draw_shape(bool large) {
    shape out = {.offset = draw(OFFSET_MAX + 1), .turns = 1 + (uint32_t)draw(3)};
    do {
        out.extents.outer = outers[draw(OUTERS)];
        out.extents.count = counts[draw(COUNTS)];
    } while (!large && out.extents.outer * out.extents.count > ELEMENTS_FEW);
    out.extents.inner = out.extents.step = 1;
    out.extents.outer_step = out.extents.count + (draw(2) ? draw(GAP_MAX + 1) : 0);
    return out;
}

static const layout_test test = {"rows", COUNT_MAX, 2, 1, COUNT_MAX, SHAPES_PER_KERNEL, draw_shape};

/* Few blocks, and as many as there are tiles; more blocks than a block has threads; rows from any
 * element on, so that the first and the last elements are beside whole vectors. */
FACT(blocks_share_rows) {
    static const split_test splits[] = {
        {"block=32,lanes=32,vec=1,unroll=1,finish=poll,per_sm=16",
         {{1027, 1, 1, 1027, 1}, {100, 2, 1, 107, 1}, {33, 1, 1, 33, 1}}},
        {"block=32,lanes=32,vec=2,unroll=2,finish=poll,per_sm=16",
         {{1000, 2, 1, 1001, 1}, {257, 2, 1, 257, 1}, {1027, 1, 1, 1027, 1}}},
        {"block=128,lanes=128,vec=2,unroll=1,finish=poll,per_sm=1",
         {{1027, 2, 1, 1030, 1}, {700, 1, 1, 700, 1}}},
        {"block=64,lanes=64,vec=1,unroll=4,finish=poll,per_sm=8",
         {{1027, 2, 1, 1027, 1}, {513, 2, 1, 513, 1}}},
        {"block=32,lanes=32,vec=1,unroll=1,finish=poll,per_sm=16", {{1027, 2, 1, 1027, 1}}},
        {NULL, {{0}}},
    };
    check_splits(&test, splits);
}

FACT(few_shapes_of_the_covering_set_are_right) { check_covering_set(&test); }

FACT(every_op_of_every_dtype_is_right) { check_every_op_and_dtype(&test); }

FACT(steps_have_64_bits) { check_rows_backwards(&test, 40, 50); }

int main(int argc, char **argv) { return run_layout_test(&test, argc, argv); }
