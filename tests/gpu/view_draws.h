/* View draws: random views, whose steps leave gaps, go back and stay, along axes in any order. */
#pragma once

#include "draw.h"
#include "redtune/list.h"

enum { VIEW_AXES = 10 };

typedef struct drawn_view {
    int64_t shape[VIEW_AXES], strides[VIEW_AXES];
    size_t axes;
    uint64_t first, count; /* the element with indices 0, and how many there are */
} drawn_view;

/* Draws the steps, the first element and, from the shape, the count; false: `room` elements have no
 * room for it. */
static bool view_lay_out(drawn_view *out, int64_t room) {
    static const int factors[] = {1, 1, 1, 1, 2, 4, 3, -1, -2, 0};
    const bool in_order = draw(2);
    size_t order[VIEW_AXES];
    int64_t step = 1, begin = 0, end = 0;
    out->count = 1;
    for (size_t i = 0; i < out->axes; i++) {
        out->count *= (uint64_t)out->shape[i];
        const size_t k = in_order ? 0 : draw(i + 1);
        for (size_t j = i; j > k; j--) order[j] = order[j - 1];
        order[k] = i;
    }
    for (size_t i = 0; i < out->axes; i++) {
        const int64_t size = out->shape[order[i]], factor = factors[draw(10)];
        const int64_t way = step * factor * (size ? size - 1 : 0), pad = draw(3) ? 0 : 16;
        out->strides[order[i]] = step * factor;
        *(way < 0 ? &begin : &end) += way;
        if (factor) step = step * (factor < 0 ? -factor : factor) * (size ? size : 1) + pad;
        if (end - begin >= room) return false;
    }
    out->first = draw((uint64_t)(room - (end - begin))) + (uint64_t)-begin;
    if (draw(2))
        out->first -= out->first % 16 <= out->first + (uint64_t)begin ? out->first % 16 : 0;
    return true;
}

/* Where element e of its row-major order is. */
static uint64_t view_place_of(const drawn_view *its, uint64_t e) {
    int64_t at = (int64_t)its->first;
    for (size_t i = its->axes; i-- > 0;) {
        at += (int64_t)(e % (uint64_t)its->shape[i]) * its->strides[i];
        e /= (uint64_t)its->shape[i];
    }
    return (uint64_t)at;
}
