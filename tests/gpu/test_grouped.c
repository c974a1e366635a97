/* Facts about the families "grouped" and "tiled": one result per segment, by a group of threads
 * each or by a warp for many, whatever the tables say; by many blocks where it is a giant. */
#include "segment_tables.h"

/* Segments of up to `length` elements, most of them of nearly as many; they overlap. */
static void set_long(uint64_t count, uint64_t length, form form) {
    now.kind = ANY;
    now.form = form;
    now.wide = draw(2);
    now.count = count;
    now.elements = ELEMENTS_MAX;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t its = draw(4) ? length - draw(length / 8) : draw(40);
        now.begin[i] = draw(now.elements - its + 1);
        now.end[i] = now.begin[i] + its;
    }
}

typedef struct kernel {
    const char *family, *config;
} kernel;

/* A kernel, with the tables that set(0), set(1), ... leave in `now`. */
static void check_turns(redtune_problem problem, kernel one, int turns, void (*set)(int turn)) {
    rdt_test_data *data = NULL;
    subject self;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    const rdt_point point = find_point(&problem, one.family, one.config);
    CHECK_OK(rdt_test_data_create(&problem, GATHERED_MAX, &data, &err), err);
    CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
    for (int i = 0; i < turns && !check_state.failed; i++) {
        set(i);
        check_tables(&self, data);
    }
    subject_close(&self);
    rdt_test_data_destroy(data);
}

static void set_long_turn(int turn) {
    if (turn)
        set_long(1 + draw(40), 1 + draw(ELEMENTS_MAX), ENDS + (form)draw(LIST - ENDS));
    else
        set_equal(1 + draw(3), 4000, false);
}

FACT(long_segments_are_right) {
    enum { TURNS = 4 };
    static const kernel kernels[] = {{"grouped", "block=128,lanes=8,unroll=1"},
                                     {"grouped", "block=128,lanes=32,unroll=2"},
                                     {"grouped", "block=128,lanes=128"},
                                     {"grouped", "block=256,lanes=64,unroll=2,resident=4"},
                                     {"grouped", "block=64,lanes=1,segments=2,unroll=2"},
                                     {"grouped", "block=64,lanes=4,segments=4,unroll=1"},
                                     {"tiled", "block=64,vec=1,unroll=1"}};
    static const struct {
        redtune_op op;
        redtune_dtype dtype;
    } classes[] = {
        {REDTUNE_SUM, REDTUNE_I32}, {REDTUNE_ARGMAX, REDTUNE_F32}, {REDTUNE_VAR, REDTUNE_F32}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (size_t k = 0; k < sizeof classes / sizeof *classes && !check_state.failed; k++)
            check_turns(segments_of(classes[k].op, classes[k].dtype, REDTUNE_DTYPE_NONE, false),
                        kernels[i], TURNS, set_long_turn);
}

/* Lengths at which a segment begins to be long for a group or a block, to take one more piece of
 * the elements of all, or to be a giant: these are by powers of two. */
static uint64_t draw_giant(uint64_t left) {
    const uint64_t piece = UINT64_C(64) << draw(7);
    const uint64_t lengths[] = {piece, piece + piece / 8 * 3, 2 * piece, 4 * piece, left};
    const uint64_t length = lengths[draw(5)] + draw(3);
    return length > 1 && length - 1 < left ? length - 1 : left;
}

/* Segments one after the other, a few of them long, or all elements in one. Those in front and
 * behind may be many and empty. `falls`: a few offsets lead anywhere. */
static void set_giants(bool falls) {
    now.kind = falls ? FALLING : GIANT;
    now.form = falls || draw(4) ? OFFSETS : LIST;
    now.wide = draw(2);
    now.count = 20 + draw(draw(3) ? 400 : SEGMENTS_MAX - 20);
    now.elements = ELEMENTS_MAX / 2 + draw(ELEMENTS_MAX / 2);
    const uint64_t often = draw(2) ? now.count / 4 : 2, tiny = draw(3) * draw(9);
    const uint64_t alone = draw(2) ? draw(now.count) : now.count;
    uint64_t at = draw(2) ? 0 : draw(now.elements / 3);
    for (uint64_t i = 0; i < now.count; i++) {
        const uint64_t left = now.elements - at, length = draw(tiny + 1);
        now.begin[i] = at;
        if (alone < now.count)
            at += i == alone ? left - draw(left / 8 + 1) : length < left / 8 ? length : 0;
        else
            at += !draw(often) ? draw_giant(left) : length < left ? length : left;
    }
    now.begin[now.count] = at;
    for (int k = 0; falls && k < 3; k++) {
        const uint64_t ends[] = {0, now.count, draw(now.count + 1)};
        now.begin[ends[draw(3)]] = draw(2) ? draw(now.elements + 1) : now.begin[draw(now.count)];
    }
    for (uint64_t i = 0; i < now.count; i++) now.end[i] = now.begin[i + 1];
}

static void set_giants_turn(int turn) { set_giants(turn % 3 == 2); }

static void check_giants(int turns) {
    static const kernel kernels[] = {
        {"grouped", "block=64,lanes=8,vec=4,unroll=1,resident=16"},
        {"grouped", "block=64,lanes=64,vec=1,unroll=1,resident=16"},
        {"grouped", "block=128,lanes=32,vec=2,unroll=1,resident=8"},
        {"grouped", "block=64,lanes=2,segments=2,vec=2,unroll=1,resident=16"},
        {"tiled", "block=64,vec=1,unroll=1,resident=4"},
        {"tiled", "block=128,vec=4,unroll=2,resident=4"}};
    enum { KERNELS = sizeof kernels / sizeof *kernels };
    static const struct {
        redtune_op op;
        redtune_dtype dtype;
    } classes[] = {
        {REDTUNE_SUM, REDTUNE_I32}, {REDTUNE_ARGMIN, REDTUNE_F16}, {REDTUNE_VAR, REDTUNE_F32}};
    for (size_t k = 0; k < KERNELS * (sizeof classes / sizeof *classes) && !check_state.failed;
         k++) {
        if (!subject_is_of_part(k)) continue;
        draw_from(k);
        check_turns(segments_of(classes[k / KERNELS].op, classes[k / KERNELS].dtype,
                                REDTUNE_DTYPE_NONE, false),
                    kernels[k % KERNELS], turns, set_giants_turn);
    }
}

/* A giant that a binary search finds from each of its elements, among offsets that rise slowly but
 * for the places of the search behind it: what others look at there may seem to have no giant. */
static void set_hidden(uint64_t count, uint64_t giant) {
    now.kind = FALLING;
    now.form = OFFSETS;
    now.wide = draw(2);
    now.count = count;
    now.elements = ELEMENTS_MAX;
    for (uint64_t i = 0; i <= count; i++)
        now.begin[i] =
            i <= giant ? i : giant + (ELEMENTS_MAX - giant) * (i - giant) / (count - giant);
    for (uint64_t step = 1; step < count; step *= 2) {
        const uint64_t place = (giant / step | 1) * step;
        if (place > giant && place < count) now.begin[place] = ELEMENTS_MAX;
    }
    for (uint64_t i = 0; i < count; i++) now.end[i] = now.begin[i + 1];
}

static void set_hidden_turn(int turn) {
    const uint64_t count = 300 * (1 + (uint64_t)turn % 9);
    set_hidden(count, draw(count / 2));
}

FACT(giants_are_right) {
    enum { SIMULATED = 24, TURNS = 200 };
    check_giants(device_is_simulated(&gpu) ? SIMULATED : TURNS);
}

FACT(hidden_giants_are_right) {
    enum { TURNS = 360 };
    static const kernel one = {"grouped", "block=64,lanes=8,vec=1,unroll=1,resident=16"};
    check_turns(segments_of(REDTUNE_SUM, REDTUNE_I32, REDTUNE_DTYPE_NONE, false), one, TURNS,
                set_hidden_turn);
}

/* Little enough for a tool that checks every access. On a simulated device those above are as many.
 */
FACT(few_giants_are_right) {
    enum { FEW = 6 };
    if (device_is_simulated(&gpu)) SKIP("the GPU is a simulated one");
    check_giants(FEW);
}

/* Any configs, with tables of every kind. */
FACT(every_config_is_right) {
    enum { SIMULATED = 12, KERNELS = 400, TABLES = 4 };
    static const struct {
        redtune_op op;
        redtune_dtype dtype;
    } classes[] = {{REDTUNE_SUM, REDTUNE_F16},
                   {REDTUNE_ARGMIN, REDTUNE_I8},
                   {REDTUNE_SUM, REDTUNE_F64},
                   {REDTUNE_MEAN, REDTUNE_I64},
                   {REDTUNE_MAX, REDTUNE_BF16}};
    const int kernels = device_is_simulated(&gpu) ? SIMULATED : KERNELS;
    for (int i = 0; i < kernels && !check_state.failed && !subject_is_late(); i++) {
        const size_t k = (size_t)i % (sizeof classes / sizeof *classes);
        redtune_problem problem =
            segments_of(classes[k].op, classes[k].dtype, REDTUNE_DTYPE_NONE, false);
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        const rdt_point point = draw_point(&problem, draw(3) ? "grouped" : "tiled");
        if (subject_is_of_part((size_t)i)) check_kernel(&problem, &point, TABLES, ELEMENTS_MAX);
    }
}

/* Ops of two inputs, whose elements lie anywhere to each other. */
FACT(pairs_are_right) {
    enum { SIMULATED = 9, KERNELS = 300, TABLES = 5 };
    static const struct {
        redtune_op op;
        redtune_dtype dtype;
        redtune_accuracy accuracy;
    } classes[] = {{REDTUNE_DOT, REDTUNE_F32},
                   {REDTUNE_DOT, REDTUNE_I8},
                   {REDTUNE_MSE, REDTUNE_BF16},
                   {REDTUNE_COSINE, REDTUNE_F64},
                   {REDTUNE_WMEAN, REDTUNE_F16},
                   {REDTUNE_CHEBYSHEV, REDTUNE_I32},
                   {REDTUNE_MISMATCHES, REDTUNE_U8},
                   {REDTUNE_CITYBLOCK, REDTUNE_I64},
                   {REDTUNE_DOT, REDTUNE_F32, REDTUNE_ACCURACY_COMPENSATED}};
    const int kernels = device_is_simulated(&gpu) ? SIMULATED : KERNELS;
    for (int i = 0; i < kernels && !check_state.failed && !subject_is_late(); i++) {
        const size_t k = (size_t)i % (sizeof classes / sizeof *classes);
        redtune_problem problem =
            segments_of(classes[k].op, classes[k].dtype, REDTUNE_DTYPE_NONE, false);
        problem.accuracy = classes[k].accuracy;
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        const rdt_point point = draw_point(&problem, "grouped");
        if (subject_is_of_part((size_t)i)) check_kernel(&problem, &point, TABLES, ELEMENTS_MAX);
    }
}

int main(int argc, char **argv) { return subject_run(&gpu, &shop, argc, argv); }
