/* Column shapes: what the tests of the families of columns share: extents that are drawn, and steps
 * that lead backwards. */
#pragma once

#include "layouts.h"

/* A list ends behind its count. */
typedef struct extent_list {
    uint64_t count, value[12];
} extent_list;

/* What extents are drawn from. */
typedef struct column_shapes {
    extent_list outers, counts, inners, gaps; /* gaps: behind a row, and behind an outer index */
    bool outer_within; /* now and then the outer steps are within the others */
    uint64_t few;      /* elements, on a simulated device of most kernels; 0: no bound */
} column_shapes;

enum { COLUMNS_MANY = 100000 /* elements */, COLUMNS_SPAN = 400000, COLUMNS_OFFSET_MAX = 16 };

static uint64_t draw_of(const extent_list *list) { return list->value[draw(list->count)]; }

static rdt_extents draw_columns(const column_shapes *from, bool large) {
    const uint64_t most = large || !from->few ? COLUMNS_MANY : from->few;
    rdt_extents at;
    do {
        at = (rdt_extents){.count = draw_of(&from->counts)};
        at.outer = draw_of(&from->outers);
        at.inner = draw_of(&from->inners);
        at.step = at.inner + draw_of(&from->gaps);
        at.outer_step = at.count * at.step + draw_of(&from->gaps);
        if (from->outer_within && !draw(4)) {
            at.outer_step = at.inner + draw_of(&from->gaps);
            at.step = at.outer * at.outer_step + draw_of(&from->gaps);
        }
    } while (at.outer * at.inner > RESULTS_MAX ||
             span_of(&at) + COLUMNS_OFFSET_MAX > COLUMNS_SPAN ||
             at.outer * at.inner * at.count > most);
    return at;
}

/* Sums of columns whose rows, `pitch` elements apart, follow each other backwards: steps of so many
 * less than 2^64. If they, or their products, were cut to 32 bits, they would lead 4 GiB away. */
static void check_columns_backwards(const layout_test *test, uint64_t count, uint64_t pitch,
                                    uint64_t inner) {
    enum { OUTER = 3, ALL = 10000 };
    static int32_t input[ALL];
    const uint64_t back = (uint64_t)0 - pitch, all = OUTER * count * pitch;
    const shape at = {{count, OUTER, inner, count * back, back}, 0, 1};
    CHECK(all <= ALL);
    for (int i = 0; i < ALL; i++) input[i] = i * i % 1001;
    check_sums(test, input, all * sizeof *input, all - pitch, &at);
}
