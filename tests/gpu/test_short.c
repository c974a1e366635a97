/* Facts about the family "short": one result per row, whatever the extents and the grid, from every
 * element-aligned start, with nothing read that lies between rows or around them. */
#include "layouts.h"

enum { COUNT_MAX = 19, OUTER_MAX = 1100, OFFSET_MAX = 16, GAP_MAX = 5, SHAPES_PER_KERNEL = 5 };

static const uint64_t outers[] = {1, 2, 3, 63, 64, 129, 255, 512, OUTER_MAX};
static const uint64_t counts[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 16, 3, COUNT_MAX};
enum { OUTERS = sizeof outers / sizeof *outers, COUNTS = sizeof counts / sizeof *counts };

/* ---- facts ----------------------------------------------------------------------------------- */

/* Most are packed and begin aligned: of others a thread loads a row element by element. */
static shape draw_shape(bool large) {
    shape out = {.offset = draw(3) ? 0 : draw(OFFSET_MAX + 1), .turns = 1 + (uint32_t)draw(3)};
    (void)large;
    out.extents.outer = outers[draw(OUTERS)];
    out.extents.count = counts[draw(COUNTS)];
    out.extents.inner = out.extents.step = 1;
    out.extents.outer_step = out.extents.count + (draw(4) ? 0 : draw(GAP_MAX + 1));
    return out;
}

static const layout_test test = {"short", 2, 2, 1, COUNT_MAX, SHAPES_PER_KERNEL, draw_shape};

/* The quick ones first, for mutants. */
FACT(steps_have_64_bits) { check_rows_backwards(&test, 4, 5); }

/* The same of a block's first row, where others come before it. */
FACT(steps_of_blocks_have_64_bits) {
    enum { COUNT = 4, PITCH = 5 };
    static int32_t input[OUTER_MAX * PITCH];
    const shape at = {{COUNT, OUTER_MAX, 1, (uint64_t)0 - PITCH, 1}, 0, 1};
    for (int i = 0; i < OUTER_MAX * PITCH; i++) input[i] = i % 1000;
    check_sums(&test, input, sizeof input, (OUTER_MAX - 1) * PITCH, &at);
}

FACT(few_shapes_of_the_covering_set_are_right) { check_covering_set(&test); }

FACT(every_op_of_every_dtype_is_right) { check_every_op_and_dtype(&test); }

int main(int argc, char **argv) { return run_layout_test(&test, argc, argv); }
