/* Facts about redtune_pack: a view's elements come side by side in row-major order, whatever its
 * axes, steps, dtype and alignment, and nothing else is written; segments, in free and in fixed
 * order, give what those of a copy give; replays read anew; and what is refused. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include "draw.h"
#include "gpu/graph.h"
#include "model/scalar.h"
#include "ones.h"
#include "redtune/list.h"
#include "view_draws.h"

enum { ROOM = 1 << 17, APART = 32, BYTES_MAX = 8 };

static redtune *rt;
static rdt_buffer elements, copies;
static unsigned char memory[ROOM * BYTES_MAX], got[ROOM * BYTES_MAX];

/* Sizes whose product fits the room, rarely one of 0. */
static bool draw_view(drawn_view *out, size_t axes) {
    out->axes = axes;
    for (size_t i = 0; i < axes; i++) {
        static const int rounded[] = {1, 2, 4, 8, 16, 32, 64, 48};
        const uint64_t most = axes > 5 ? 4 : axes > 2 ? 13 : axes > 1 ? 300 : 40000;
        out->shape[i] = draw(40) ? 1 + (int64_t)draw(most) : 0;
        if (draw(2) && axes < 4) out->shape[i] = rounded[draw(8)];
    }
    return view_lay_out(out, ROOM) && out->count <= ROOM - APART;
}

static void *at(const rdt_buffer *buffer, uint64_t index, size_t bytes) {
    return (char *)(uintptr_t)buffer->address + index * bytes;
}

static redtune_view view_of(const drawn_view *its, size_t bytes) {
    return (redtune_view){at(&elements, its->first, bytes), its->shape, its->strides, its->axes};
}

static void open_all(void) {
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof memory, &elements, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof got, &copies, &err), err);
    draw_from(0);
    for (size_t i = 0; i < sizeof memory; i++) memory[i] = (unsigned char)draw(256);
    CHECK_OK(
        rdt_buffer_write(gpu.driver, elements.address, memory, sizeof memory, gpu.stream, &err),
        err);
}

static void close_all(void) {
    rdt_buffer_destroy(&elements);
    rdt_buffer_destroy(&copies);
    redtune_close(rt);
}

/* Copies it to element `to` and compares all that is there then. */
static void check_copy(const drawn_view *its, redtune_dtype dtype, uint64_t to) {
    const size_t bytes = redtune_dtype_bytes(dtype);
    const redtune_view view = view_of(its, bytes);
    const size_t all = (to + its->count + APART) * bytes;
    gpu.driver->memset_d8_async(copies.address, 0xa5, all, gpu.stream);
    CHECK_OK(redtune_pack(rt, dtype, &view, at(&copies, to, bytes), gpu.stream, &err), err);
    CHECK_OK(rdt_buffer_read(gpu.driver, got, copies.address, all, gpu.stream, &err), err);
    uint64_t wrong = 0;
    for (uint64_t e = 0; e < its->count; e++)
        wrong += memcmp(got + (to + e) * bytes, memory + view_place_of(its, e) * bytes, bytes) != 0;
    for (size_t i = 0; i < all; i++)
        if (i < to * bytes || i >= (to + its->count) * bytes) wrong += got[i] != 0xa5;
    check_that(!wrong, __FILE__, __LINE__, "%s: %zu axes, %llu elements, first %llu, to %llu",
               redtune_dtype_name(dtype), its->axes, (unsigned long long)its->count,
               (unsigned long long)its->first, (unsigned long long)to);
    if (wrong)
        for (size_t i = 0; i < its->axes; i++)
            fprintf(stderr, "  %lld step %lld\n", (long long)its->shape[i],
                    (long long)its->strides[i]);
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(elements_come_side_by_side) {
    static const redtune_dtype dtypes[] = {REDTUNE_U8, REDTUNE_BF16, REDTUNE_F32, REDTUNE_I64};
    enum { VIEWS = 240 };
    open_all();
    for (int i = 0; i < VIEWS && !check_state.failed; i++) {
        drawn_view its;
        while (!draw_view(&its, draw(9))) continue;
        check_copy(&its, dtypes[i % 4], draw(2) ? draw(APART) : 0);
    }
    close_all();
}

/* Layouts whose sectors are shared along another axis than the innermost one, and one of few
 * elements side by side there. */
FACT(turned_arrays_come_side_by_side) {
    static const drawn_view layouts[] = {
        {{70, 90}, {1, 70}, 2, 5, 6300},          {{96, 64}, {-1, 96}, 2, 95, 6144},
        {{3, 1000}, {1, 3}, 2, 0, 3000},          {{1000, 2}, {1, 1000}, 2, 0, 2000},
        {{50, 2000}, {0, 3}, 2, 1, 100000},       {{40, 31}, {2, 160}, 2, 0, 1240},
        {{20, 30, 8}, {8, 160, 1}, 3, 0, 4800},   {{20, 30, 2}, {2, 40, 1}, 3, 8, 1200},
        {{5, 40, 33}, {2000, 1, 40}, 3, 0, 6600}, {{7, 5, 40, 3}, {1, 840, 21, 7}, 4, 0, 4200},
    };
    static const redtune_dtype dtypes[] = {REDTUNE_U8, REDTUNE_BF16, REDTUNE_F32, REDTUNE_I64};
    open_all();
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (int k = 0; k < 4; k++) check_copy(&layouts[i], dtypes[k], i % 3);
    close_all();
}

/* Rows a GiB apart, in memory that nothing else touches. */
FACT(offsets_beyond_31_bits_are_right) {
    enum { ROWS = 4, COLUMNS = 5, APART_OF = 1 << 28 };
    const int64_t shape[] = {ROWS, COLUMNS}, strides[] = {-APART_OF, 1};
    float values[ROWS * COLUMNS], copied[ROWS * COLUMNS];
    rdt_buffer from;
    const size_t room = ((size_t)(ROWS - 1) * APART_OF + COLUMNS) * sizeof(float);
    if (rdt_buffer_create(gpu.driver, room, &from, &err)) SKIP("no memory");
    open_all();
    for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = (float)i;
    for (int i = 0; i < ROWS; i++)
        CHECK_OK(rdt_buffer_write(gpu.driver,
                                  (CUdeviceptr)(uintptr_t)at(
                                      &from, (uint64_t)(ROWS - 1 - i) * APART_OF, sizeof(float)),
                                  values + i * COLUMNS, COLUMNS * sizeof(float), gpu.stream, &err),
                 err);
    const redtune_view view = {at(&from, (uint64_t)(ROWS - 1) * APART_OF, sizeof(float)), shape,
                               strides, 2};
    CHECK_OK(redtune_pack(rt, REDTUNE_F32, &view, at(&copies, 0, 1), gpu.stream, &err), err);
    CHECK_OK(rdt_buffer_read(gpu.driver, copied, copies.address, sizeof copied, gpu.stream, &err),
             err);
    CHECK(!memcmp(copied, values, sizeof values));
    rdt_buffer_destroy(&from);
    close_all();
}

/* Two overlapping walks over 2^31 elements and some, whose marks are few. */
FACT(places_beyond_32_bits_are_right) {
    enum { MARKS = 5, STEP = 2 };
    static const int64_t apart[] = {5, 1}; /* in runs, and in tiles */
    const int64_t size = (INT64_C(1) << 31) + 77;
    const int64_t marks[MARKS] = {0, 10, 2 * (INT64_C(1) << 31), 2 * size - 20, 2 * size - 2};
    const unsigned char mark = 1;
    rdt_buffer from, to;
    if (device_is_simulated(&gpu)) SKIP("it takes minutes on the simulated GPU");
    if (rdt_buffer_create(gpu.driver, (size_t)size * STEP + 8, &from, &err)) SKIP("no memory");
    if (rdt_buffer_create(gpu.driver, (size_t)size * 2, &to, &err)) {
        rdt_buffer_destroy(&from);
        SKIP("no memory");
    }
    open_all();
    gpu.driver->memset_d8_async(from.address, 0, from.bytes, gpu.stream);
    for (int i = 0; i < MARKS; i++)
        CHECK_OK(rdt_buffer_write(gpu.driver, from.address + (CUdeviceptr)marks[i], &mark, 1,
                                  gpu.stream, &err),
                 err);
    for (int k = 0; k < 2; k++) {
        const int64_t shape[] = {2, size}, strides[] = {apart[k], STEP};
        const redtune_view view = {(void *)(uintptr_t)from.address, shape, strides, 2};
        const redtune_problem sum = redtune_problem_whole(REDTUNE_SUM, REDTUNE_U8, to.bytes);
        uint64_t expected = 0, found = 0;
        gpu.driver->memset_d8_async(to.address, 0xa5, to.bytes, gpu.stream);
        CHECK_OK(
            redtune_pack(rt, REDTUNE_U8, &view, (void *)(uintptr_t)to.address, gpu.stream, &err),
            err);
        for (int i = 0; i < 2 * MARKS; i++) {
            const int64_t way = marks[i / 2] - i % 2 * apart[k];
            unsigned char value = 0;
            if (way < 0 || way % STEP || way / STEP >= size) continue;
            expected++;
            CHECK_OK(rdt_buffer_read(gpu.driver, &value,
                                     to.address + (CUdeviceptr)(i % 2 * size + way / STEP), 1,
                                     gpu.stream, &err),
                     err);
            CHECK_INT(value, mark);
        }
        CHECK_OK(
            redtune_reduce(rt, &sum, (void *)(uintptr_t)to.address, output(0), gpu.stream, &err),
            err);
        CHECK_OK(
            rdt_buffer_read(gpu.driver, &found, results.address, sizeof found, gpu.stream, &err),
            err);
        CHECK_INT((int)found, (int)expected);
    }
    rdt_buffer_destroy(&from);
    rdt_buffer_destroy(&to);
    close_all();
}

/* Every third element, from the last one back; NaN lies between. */
FACT(segments_of_values_with_a_step_have_the_bits_of_a_copy) {
    enum { COUNT_OF = 20000, SEGMENTS = 60, STEP = -3 };
    static const redtune_order orders[] = {REDTUNE_ORDER_FREE, REDTUNE_ORDER_FIXED};
    static float values[COUNT_OF * -STEP], copy[COUNT_OF], sums[2][SEGMENTS];
    const int64_t shape[] = {COUNT_OF}, strides[] = {STEP};
    int32_t offsets[SEGMENTS + 1] = {0};
    open_all();
    for (int i = 0; i < COUNT_OF * -STEP; i++) values[i] = NAN;
    for (int i = 0; i < COUNT_OF; i++) {
        copy[i] = (float)draw(2000001) / 1024 - 900;
        values[(COUNT_OF - 1 - i) * -STEP] = copy[i];
    }
    for (int i = 1; i < SEGMENTS; i++)
        offsets[i] = offsets[i - 1] + (int32_t)draw(COUNT_OF / SEGMENTS);
    offsets[SEGMENTS] = COUNT_OF;
    const redtune_view view = {at(&elements, (COUNT_OF - 1) * -STEP, sizeof(float)), shape, strides,
                               1};
    void *const packed = at(&copies, 0, 1), *const held = at(&copies, COUNT_OF, sizeof(float)),
                *const table = at(&copies, 2 * COUNT_OF, sizeof(float));
    const CUdeviceptr places[] = {elements.address, (CUdeviceptr)(uintptr_t)held,
                                  (CUdeviceptr)(uintptr_t)table};
    const void *const from[] = {values, copy, offsets};
    const size_t sizes[] = {sizeof values, sizeof copy, sizeof offsets};
    for (int i = 0; i < 3; i++)
        CHECK_OK(rdt_buffer_write(gpu.driver, places[i], from[i], sizes[i], gpu.stream, &err), err);
    for (int k = 0; k < 2; k++) {
        redtune_problem problem = redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, 0, 300);
        problem.order = orders[k];
        CHECK_OK(redtune_pack(rt, REDTUNE_F32, &view, packed, gpu.stream, &err), err);
        for (int i = 0; i < 2; i++) {
            const redtune_segments run = {.d_in = i ? held : packed,
                                          .count = SEGMENTS,
                                          .d_begin = table,
                                          .offset_bytes = sizeof *offsets,
                                          .d_out = {output(0)}};
            CHECK_OK(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), err);
            CHECK_OK(rdt_buffer_read(gpu.driver, sums[i], results.address, sizeof sums[i],
                                     gpu.stream, &err),
                     err);
        }
        CHECK(!memcmp(sums[0], sums[1], sizeof sums[0]));
        CHECK(isfinite(sums[0][SEGMENTS - 1]));
    }
    close_all();
}

/* A kernel that is not there cannot be made within a capture, which goes on. */
FACT(replays_copy_anew) {
    const int64_t shape[] = {50, 40}, strides[] = {1, 50};
    drawn_view its = {.axes = 2, .first = 7, .count = 2000};
    memcpy(its.shape, shape, sizeof shape);
    memcpy(its.strides, strides, sizeof strides);
    rdt_graph *graph = NULL;
    open_all();
    const redtune_view view = view_of(&its, 2);
    void *const to = at(&copies, 3, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
        if (!i)
            CHECK_FAILS(redtune_pack(rt, REDTUNE_F16, &view, to, gpu.stream, &err),
                        REDTUNE_UNPREPARED, err, "copy one before it");
        else
            CHECK_OK(redtune_pack(rt, REDTUNE_F16, &view, to, gpu.stream, &err), err);
        CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
        if (i) break;
        rdt_graph_destroy(graph);
        check_copy(&its, REDTUNE_F16, 3);
    }
    for (int trip = 0; trip < 2; trip++) {
        uint64_t wrong = 0;
        for (size_t k = 0; k < 8000; k++) memory[k] ^= 0x55;
        CHECK_OK(rdt_buffer_write(gpu.driver, elements.address, memory, 8000, gpu.stream, &err),
                 err);
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        CHECK_OK(rdt_buffer_read(gpu.driver, got, copies.address, 4006, gpu.stream, &err), err);
        for (uint64_t e = 0; e < its.count; e++)
            wrong += memcmp(got + (3 + e) * 2, memory + view_place_of(&its, e) * 2, 2) != 0;
        CHECK_INT((int)wrong, 0);
    }
    rdt_graph_destroy(graph);
    close_all();
}

FACT(what_cannot_be_copied_is_refused) {
    static const int64_t shape[] = {3, 4}, strides[] = {8, 2}, below[] = {-1}, none[] = {3, 0};
    static const int64_t many[] = {2, 2, 2, 2, 2, 2, 2, 2, 2},
                         apart[] = {3, 9, 27, 81, 243, 729, 2187, 6561, 19683};
    static const int64_t far[] = {INT64_MAX / 2, 1}, huge[] = {INT64_MAX / 4, 4};
    open_all();
    void *const in = at(&elements, 0, 1), *const to = at(&copies, 0, 1);
#define REFUSES(status, why, d_out, ...)                                                           \
    do {                                                                                           \
        const redtune_view view = {__VA_ARGS__};                                                   \
        CHECK_FAILS(redtune_pack(rt, REDTUNE_F32, &view, d_out, gpu.stream, &err), status, err,    \
                    why);                                                                          \
    } while (0)
    REFUSES(REDTUNE_INVALID, "its size along axis 0 is -1", to, in, below, strides, 1);
    REFUSES(REDTUNE_INVALID, "d_in must be aligned", to, (char *)in + 2, shape, strides, 2);
    REFUSES(REDTUNE_INVALID, "d_in must be aligned", to, NULL, shape, strides, 2);
    REFUSES(REDTUNE_INVALID, "d_out must be aligned", NULL, in, shape, strides, 2);
    REFUSES(REDTUNE_INVALID, "d_out must be aligned", (char *)to + 2, in, shape, strides, 2);
    REFUSES(REDTUNE_UNSUPPORTED, "9 axes that do not join: at most 8", to, in, many, apart, 9);
    REFUSES(REDTUNE_INVALID, "strides lead beyond", to, in, shape, far, 2);
    REFUSES(REDTUNE_INVALID, "too many elements", to, in, huge, strides, 2);
    REFUSES(REDTUNE_INVALID, "d_out lies among its elements", (char *)in + 84, in, shape, strides,
            2);
    REFUSES(REDTUNE_UNSUPPORTED, "redtune_view", to, in, shape, strides, 2, {0, 1});
    const redtune_view empty = {NULL, none, strides, 2}, whole = {in, shape, strides, 2};
    CHECK_OK(redtune_pack(rt, REDTUNE_F32, &empty, NULL, gpu.stream, &err), err);
    CHECK_OK(redtune_pack(rt, REDTUNE_F32, &whole, (char *)in + 92, gpu.stream, &err), err);
    CHECK_FAILS(redtune_pack(rt, (redtune_dtype)99, &whole, to, gpu.stream, &err), REDTUNE_INVALID,
                err, "dtype");
    CHECK_FAILS(redtune_pack(rt, REDTUNE_F32, NULL, to, gpu.stream, &err), REDTUNE_INVALID, err,
                "view is NULL");
    CHECK_FAILS(redtune_pack(NULL, REDTUNE_F32, &whole, to, gpu.stream, &err), REDTUNE_INVALID, err,
                "rt is NULL");
    close_all();
}

FACT(pointers_are_checked_where_that_is_asked_for) {
    static float host[64];
    const int64_t shape[] = {20}, strides[] = {3};
    redtune_list *list = NULL;
    setenv("REDTUNE_CHECK", "1", 1);
    open_all();
    unsetenv("REDTUNE_CHECK");
    redtune_view view = {host, shape, strides, 1};
    const redtune_problem problem = redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, 1, 20);
    void *const to = at(&copies, 0, 1);
    CHECK_FAILS(redtune_pack(rt, REDTUNE_F32, &view, to, gpu.stream, &err), REDTUNE_INVALID, err,
                "view->d_in");
    CHECK_OK(redtune_list_create_views(rt, REDTUNE_F32, &view, 1, &list, &err), err);
    const redtune_segments run = {.list = list, .d_out = {output(0)}};
    CHECK_FAILS(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), REDTUNE_INVALID, err,
                "an array of the list");
    redtune_list_destroy(list);
    view.d_in = at(&elements, 0, 1);
    CHECK_FAILS(redtune_pack(rt, REDTUNE_F32, &view, host, gpu.stream, &err), REDTUNE_INVALID, err,
                "d_out");
    CHECK_OK(redtune_pack(rt, REDTUNE_F32, &view, to, gpu.stream, &err), err);
    close_all();
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
