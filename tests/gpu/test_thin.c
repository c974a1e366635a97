/* Facts about the family "thin": one result per column, whatever the extents and the grid, from
 * every element-aligned start, with nothing read that lies between columns. */
#include "layouts.h"

enum { COUNT_MAX = 5, INNER_MAX = 1100, OFFSET_MAX = 16, GAP_MAX = 37, SHAPES_PER_KERNEL = 4 };
enum { INNER = 1 << 16 /* of a problem that the family serves */ };

static const uint64_t outers[] = {1, 1, 1, 2, 3};
static const uint64_t counts[] = {0, 1, 1, 1, 2, 4, COUNT_MAX};
static const uint64_t inners[] = {1, 2, 15, 127, 128, 129, 257, 512, 1024, INNER_MAX};
static const uint64_t gaps[] = {0, 0, 16, 32, 1, GAP_MAX};
enum {
    OUTERS = sizeof outers / sizeof *outers,
    COUNTS = sizeof counts / sizeof *counts,
    INNERS = sizeof inners / sizeof *inners,
    GAPS = sizeof gaps / sizeof *gaps,
};

/* ---- facts ----------------------------------------------------------------------------------- */

/* Half of them begin aligned. */
static shape draw_shape(bool large) {
    shape out = {.offset = draw(2) ? 0 : draw(OFFSET_MAX + 1), .turns = 1 + (uint32_t)draw(3)};
    rdt_extents *at = &out.extents;
    (void)large;
    do {
        *at = (rdt_extents){counts[draw(COUNTS)], outers[draw(OUTERS)], inners[draw(INNERS)], 0, 0};
        at->step = at->inner + gaps[draw(GAPS)];
        at->outer_step = at->count * at->step + gaps[draw(GAPS)];
    } while (at->outer * at->inner > RESULTS_MAX);
    return out;
}

static const layout_test test = {"thin", 1, 1, INNER, COUNT_MAX, SHAPES_PER_KERNEL, draw_shape};

static void every_op_of_every_dtype_is_right(void) {
    if (!gpu.context) SKIP("there is no GPU");
    check_every_op_and_dtype(&test);
}

/* As of the family "columns". */
static void steps_have_64_bits(void) {
    if (!gpu.context) SKIP("there is no GPU");
    enum { OUTERS_BACK = 3, COUNT = 4, PITCH = 150, ALL = OUTERS_BACK * COUNT * PITCH };
    static int32_t input[ALL];
    const uint64_t pitch = (uint64_t)0 - PITCH;
    const shape at = {{COUNT, OUTERS_BACK, 133, COUNT * pitch, pitch}, 0, 1};
    for (int i = 0; i < ALL; i++) input[i] = i * i % 1001;
    check_sums(&test, input, sizeof input, ALL - PITCH, &at);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(steps_have_64_bits), /* the quick one first, for mutants */
        FACT(every_op_of_every_dtype_is_right),
    };
    return run_layout_test(&test, facts, sizeof facts / sizeof *facts, argc, argv);
}
