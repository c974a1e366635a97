/* Facts about the family "columns": one result per column, whatever the extents and the grid, from
 * every element-aligned start, with nothing read that lies between columns. */
#include "splits.h"

enum { COUNT_MAX = 257, OFFSET_MAX = 16, GAP_MAX = 37, SHAPES_PER_KERNEL = 6 };
/* On a simulated device most kernels leave out the shapes of more elements. */
enum { ELEMENTS_FEW = 6000, ELEMENTS_MANY = 100000, SPAN_MANY = 400000 };

static const uint64_t outers[] = {1, 1, 2, 3, 33};
static const uint64_t counts[] = {0, 1, 2, 31, 100, COUNT_MAX};
static const uint64_t inners[] = {1, 2, 3, 4, 5, 31, 32, 33, 64, 257};
/* Half of them keep loads aligned. */
static const uint64_t gaps[] = {0, 0, 16, 32, 1, 2, 3, GAP_MAX};
enum {
    OUTERS = sizeof outers / sizeof *outers,
    COUNTS = sizeof counts / sizeof *counts,
    INNERS = sizeof inners / sizeof *inners,
    GAPS = sizeof gaps / sizeof *gaps,
};

/* ---- facts ----------------------------------------------------------------------------------- */

/* Steps are packed, or leave gaps; now and then the outer ones are within the others. */
static shape draw_shape(bool large) {
    shape out = {.offset = draw(2) ? draw(2) * OFFSET_MAX : draw(OFFSET_MAX + 1)};
    rdt_extents *at = &out.extents;
    out.turns = 1 + (uint32_t)draw(3);
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

static const layout_test test = {"columns", COUNT_MAX,         1,         2,
                                 COUNT_MAX, SHAPES_PER_KERNEL, draw_shape};

static void every_op_of_every_dtype_is_right(void) {
    if (!gpu.context) SKIP("there is no GPU");
    check_every_op_and_dtype(&test);
}

/* Few blocks, and as many as there are tiles; strips that are whole and ragged, and of one column;
 * several outer indices; more blocks than a block has threads. */
static void blocks_share_columns(void) {
    if (!gpu.context) SKIP("there is no GPU");
    static const split_test splits[] = {
        {"block=32,width=4,vec=1,unroll=1,finish=poll,per_sm=16",
         {{100, 1, 5, 500, 5}, {9, 2, 4, 36, 4}, {257, 2, 1, 257, 1}}},
        {"block=64,width=32,vec=2,unroll=2,finish=ticket,per_sm=16",
         {{99, 1, 66, 6534, 66}, {5, 2, 257, 1285, 257}, {257, 1, 2, 514, 2}}},
        {"block=128,width=4,vec=2,unroll=2,finish=poll,per_sm=1",
         {{257, 1, 8, 2056, 8}, {65, 1, 3, 195, 3}}},
        {"block=64,width=1,vec=2,unroll=1,finish=ticket,per_sm=2",
         {{257, 1, 2, 514, 2}, {200, 1, 4, 800, 4}, {65, 1, 5, 325, 5}}},
        {"block=32,width=16,vec=1,unroll=1,finish=poll,per_sm=16", {{257, 1, 16, 4112, 16}}},
        {NULL, {{0}}},
    };
    check_splits(&test, splits);
}

static void few_shapes_of_the_covering_set_are_right(void) {
    if (!gpu.context) SKIP("there is no GPU");
    check_covering_set(&test);
}

/* Steps of so many elements less than 2^64 lead backwards; if they, or their products, were cut to
 * 32 bits, they would lead 4 GiB away. */
static void steps_have_64_bits(void) {
    if (!gpu.context) SKIP("there is no GPU");
    enum { OUTER = 3, COUNT = 40, PITCH = 50, INNER = 33, ALL = OUTER * COUNT * PITCH };
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
        FACT(few_shapes_of_the_covering_set_are_right),
        FACT(every_op_of_every_dtype_is_right),
    };
    return run_layout_test(&test, facts, sizeof facts / sizeof *facts, argc, argv);
}
