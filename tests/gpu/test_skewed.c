/* Facts about the family "skewed": one result per column, whatever the extents, the grid and the
 * skews of the rows, with nothing read that is no element of a column. */
#include "splits.h"

enum { COUNT_MAX = 257, OFFSET_MAX = 16, GAP_MAX = 37, SHAPES_PER_KERNEL = 4 };
/* On a simulated device most kernels leave out the shapes of more elements. */
enum { ELEMENTS_FEW = 4000, ELEMENTS_MANY = 100000, SPAN_MANY = 400000 };

static const uint64_t outers[] = {1, 1, 2, 3};
static const uint64_t counts[] = {0, 1, 2, 7, 16, 17, 100, COUNT_MAX};
static const uint64_t inners[] = {1, 2, 7, 14, 15, 17, 28, 33, 57, 129, 257, 1001};
/* Half of the rows are packed; many steps are a multiple of a load. */
static const uint64_t gaps[] = {0, 0, 0, 0, 1, 2, 15, GAP_MAX};
enum {
    OUTERS = sizeof outers / sizeof *outers,
    COUNTS = sizeof counts / sizeof *counts,
    INNERS = sizeof inners / sizeof *inners,
    GAPS = sizeof gaps / sizeof *gaps,
};

/* ---- facts ----------------------------------------------------------------------------------- */

/* Now and then the outer steps are within the others. */
static shape draw_shape(bool large) {
    shape out = {.offset = draw(OFFSET_MAX + 1), .turns = 1 + (uint32_t)draw(3)};
    rdt_extents *at = &out.extents;
    do {
        *at = (rdt_extents){counts[draw(COUNTS)], outers[draw(OUTERS)], inners[draw(INNERS)], 0, 0};
        at->step = at->inner + gaps[draw(GAPS)];
        at->outer_step = at->count * at->step + gaps[draw(GAPS)];
        if (!draw(4)) {
            at->outer_step = at->inner + gaps[draw(GAPS)];
            at->step = at->outer * at->outer_step + gaps[draw(GAPS)];
        }
    } while (at->outer * at->inner > RESULTS_MAX || span_of(at) + OFFSET_MAX > SPAN_MANY ||
             at->outer * at->inner * at->count > (large ? ELEMENTS_MANY : ELEMENTS_FEW));
    return out;
}

static const layout_test test = {"skewed",  COUNT_MAX,         1,         1001,
                                 COUNT_MAX, SHAPES_PER_KERNEL, draw_shape};

static void every_op_of_every_dtype_is_right(void) {
    if (!gpu.context) SKIP("there is no GPU");
    check_every_op_and_dtype(&test);
}

/* Few blocks, and as many as there are tiles; strips whose loads overlap the next one's, strips of
 * fewer columns, and rows with gaps between them. */
static void blocks_share_columns(void) {
    if (!gpu.context) SKIP("there is no GPU");
    static const split_test splits[] = {
        {"block=128,width=8,vec=2,unroll=1,finish=poll,per_sm=16",
         {{257, 1, 14, 3598, 14}, {100, 1, 15, 1500, 15}, {67, 1, 27, 2010, 30}}},
        {"block=128,width=16,vec=2,unroll=2,finish=ticket,per_sm=16",
         {{99, 1, 31, 3069, 31}, {257, 2, 33, 8481, 33}, {50, 1, 5, 350, 7}}},
        {"block=128,width=32,vec=2,unroll=2,finish=poll,per_sm=1",
         {{257, 1, 62, 16191, 63}, {65, 1, 7, 455, 7}}},
        {"block=256,width=8,vec=2,unroll=1,finish=ticket,per_sm=2",
         {{257, 1, 14, 3855, 15}, {200, 1, 13, 2600, 13}, {65, 1, 5, 325, 5}}},
        {NULL, {{0}}},
    };
    check_splits(&test, splits);
}

/* As of the family "columns". */
static void steps_have_64_bits(void) {
    if (!gpu.context) SKIP("there is no GPU");
    enum { OUTER = 3, COUNT = 40, PITCH = 51, INNER = 33, ALL = OUTER * COUNT * PITCH };
    static int32_t input[ALL];
    const uint64_t pitch = (uint64_t)0 - PITCH;
    const shape at = {{COUNT, OUTER, INNER, COUNT * pitch, pitch}, 0, 1};
    for (int i = 0; i < ALL; i++) input[i] = i * i % 1001;
    check_sums(&test, input, sizeof input, ALL - PITCH, &at);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(steps_have_64_bits), /* the quick one first, for mutants */
        FACT(blocks_share_columns),
        FACT(every_op_of_every_dtype_is_right),
    };
    return run_layout_test(&test, facts, sizeof facts / sizeof *facts, argc, argv);
}
