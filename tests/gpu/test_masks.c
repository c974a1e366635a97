/* Facts about masks: an element, or a pair of two inputs, whose byte or bit is 0 is absent, in
 * every family, op and dtype, at any alignment of the elements and of the mask. Results are held
 * against those of the elements that are there, which tests/results.h makes; absent ones are NaN,
 * infinite or large, or would decide.
 */
#include <math.h>
#include "api/running/operands.h"
#include "check.h"
#include "draw.h"
#include "model/scalar.h"
#include "model/strides.h"
#include "shaped.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

enum {
    ROOM = 70000, /* elements */
    COUNT_MAX = 4000,
    RESULTS_MAX = 128,
    OFFSET_MAX = 17,
    SHAPES_PER_KERNEL = 4,
    KERNELS_ON_SIM = 8 /* of each family and kind of mask */
};

static redtune_error err;
static device gpu;

/* A kernel under test, and what it reads and writes. */
typedef struct trial {
    subject self;
    rdt_extents extents;
    uint64_t offset[3]; /* of the elements, the mask and the second input's, in elements */
    rdt_buffer input, second, mask, output[2];
    unsigned char elements[ROOM * 8], others[ROOM * 8], there[ROOM];
} trial;

static trial all;

static bool is_of_pairs(void) { return rdt_op_find(all.self.problem.op)->inputs > 1; }

static uint64_t place_of(uint64_t r, uint64_t e) {
    const rdt_extents *at = &all.extents;
    return r / at->inner * at->outer_step + r % at->inner + e * at->step;
}

static uint64_t span(void) {
    const uint64_t results = all.extents.outer * all.extents.inner;
    return all.extents.count ? place_of(results - 1, all.extents.count - 1) + 1 : 0;
}

/* What would show: an element that decides, or spoils a sum. */
static redtune_value draw_poison(void) {
    const redtune_problem *problem = &all.self.problem;
    if (rdt_test_data_hides(problem) && draw(2)) return rdt_test_data_decider(problem);
    if (!rdt_scalar_is_float(problem->dtype)) return rdt_scalar_from_bits(problem->dtype, 0x5b5b);
    return rdt_scalar_from_real(problem->dtype, draw(2) ? (double)NAN : (double)INFINITY);
}

/* Of every 1, 2, 4 or 64 elements one is absent; or all but one of those. Any byte but 0 counts. */
static void draw_elements(const rdt_test_data *data) {
    const size_t bytes = all.self.element_bytes;
    const uint64_t sparse = 1 + draw(4), most = draw(2);
    for (uint64_t i = 0; i < span(); i++) {
        const bool is_rare = !draw(sparse == 4 ? 64 : sparse);
        const bool there = is_rare ? most : !most;
        const redtune_value poison = draw_poison(), other = draw_poison();
        const void *from = (char *)data->elements + i % data->period * bytes;
        all.there[i] = there ? (unsigned char)(1 + draw(255)) : 0;
        memcpy(all.elements + i * bytes, there ? from : (const void *)&poison, bytes);
        if (!is_of_pairs()) continue;
        from = (char *)data->second + i % data->period * bytes;
        memcpy(all.others + i * bytes, there ? from : (const void *)&other, bytes);
    }
}

/* The mask's bits, or bytes, from that number on. Others are there. */
static size_t pack_mask(unsigned char *to) {
    if (all.self.problem.mask == REDTUNE_MASK_BYTES) {
        memcpy(to, all.there, span());
        return span();
    }
    const uint64_t first = all.offset[1] % 8, bytes = (first + span() + 7) / 8;
    memset(to, 0xff, bytes);
    for (uint64_t i = 0; i < span(); i++)
        if (!all.there[i]) to[(first + i) / 8] &= (unsigned char)~(1u << (first + i) % 8);
    return bytes;
}

/* Where the mask's first byte or bit is: its address, or its number. */
static CUdeviceptr mask_at(void) {
    const bool bits = all.self.problem.mask == REDTUNE_MASK_BITS;
    return all.mask.address * (bits ? 8 : 1) + all.offset[1];
}

/* The last element ends where its buffer does. */
static redtune_status write_elements(void) {
    static unsigned char mask[ROOM + 1];
    const size_t bytes = all.self.element_bytes, mask_bytes = pack_mask(mask);
    const bool bits = all.self.problem.mask == REDTUNE_MASK_BITS;
    const struct {
        rdt_buffer *buffer;
        const void *from;
        size_t before, bytes;
    } arrays[] = {{&all.input, all.elements, all.offset[0] * bytes, span() * bytes},
                  {&all.mask, mask, bits ? all.offset[1] / 8 : all.offset[1], mask_bytes},
                  {&all.second, all.others, all.offset[2] * bytes, span() * bytes}};
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < (is_of_pairs() ? 3 : 2); i++) {
        rdt_buffer_destroy(arrays[i].buffer);
        const size_t size = arrays[i].before + arrays[i].bytes;
        status = rdt_buffer_create(gpu.driver, size ? size : 1, arrays[i].buffer, &err);
        if (!status)
            status = rdt_buffer_write(gpu.driver, arrays[i].buffer->address + arrays[i].before,
                                      arrays[i].from, arrays[i].bytes, gpu.stream, &err);
    }
    return status;
}

static bool is_index(int output) {
    const rdt_op_traits *op = rdt_op_find(all.self.problem.op);
    return op->indexed && output == op->outputs - 1;
}

/* Result r of the elements that are there, whose indices are those of all. */
static void reduce(uint64_t r, results *right, uint64_t *count) {
    static unsigned char there[COUNT_MAX * 8], beside[COUNT_MAX * 8];
    static uint64_t number[COUNT_MAX];
    const size_t bytes = all.self.element_bytes;
    *count = 0;
    for (uint64_t e = 0; e < all.extents.count; e++) {
        const uint64_t i = place_of(r, e);
        if (!all.there[i]) continue;
        memcpy(there + *count * bytes, all.elements + i * bytes, bytes);
        memcpy(beside + *count * bytes, all.others + i * bytes, bytes);
        number[(*count)++] = e;
    }
    const results_input of = {there, is_of_pairs() ? beside : NULL, *count, NULL};
    results_reduce(&all.self.problem, &of, right);
    for (int k = 0; k < RDT_OP_OUTPUTS_MAX; k++)
        if (is_index(k) && right->value[k].i64 >= 0)
            right->value[k].i64 = (int64_t)number[right->value[k].i64];
}

static void check_results(void) {
    const rdt_op_traits *op = rdt_op_find(all.self.problem.op);
    static unsigned char got[2][RESULTS_MAX * 8];
    const uint64_t many = all.extents.outer * all.extents.inner;
    for (int k = 0; k < op->outputs; k++) {
        const size_t bytes = many * redtune_dtype_bytes(subject_result(&all.self, k));
        CHECK_OK(
            rdt_buffer_read(gpu.driver, got[k], all.output[k].address, bytes, gpu.stream, &err),
            err);
    }
    for (uint64_t r = 0; r < many; r++) {
        results right;
        uint64_t count;
        reduce(r, &right, &count);
        for (int k = 0; k < op->outputs; k++) {
            const size_t bytes = redtune_dtype_bytes(subject_result(&all.self, k));
            rdt_text wrong = {0};
            redtune_value value = {.u64 = 0};
            memcpy(&value, got[k] + r * bytes, bytes);
            subject_compare_exact(&all.self, k, &value, &right, count, &wrong);
            const bool same = check_that(
                !wrong.data, __FILE__, __LINE__,
                "%s: result %llu[%d] of %llu x %llu x %llu, offsets %llu and %llu, %llu there %s",
                all.self.name, (unsigned long long)r, k, (unsigned long long)all.extents.outer,
                (unsigned long long)all.extents.count, (unsigned long long)all.extents.inner,
                (unsigned long long)all.offset[0], (unsigned long long)all.offset[1],
                (unsigned long long)count, wrong.data ? wrong.data : "");
            rdt_text_free(&wrong);
            if (!same) return;
        }
    }
}

static void draw_shape(rdt_layout layout) {
    static const uint64_t counts[] = {0, 1, 2, 33, 64, 255, 1025, COUNT_MAX};
    rdt_extents out = {counts[draw(8)], 1, 1, 0, 1};
    if (layout != RDT_LAYOUT_WHOLE) out.outer = 1 + draw(layout == RDT_LAYOUT_ROWS ? 40 : 3);
    if (layout > RDT_LAYOUT_ROWS) out.inner = 1 + draw(40);
    out.step = out.inner + (out.inner > 1 ? draw(2) * draw(9) : 0);
    out.outer_step = out.count * out.step + draw(2) * draw(9);
    for (all.extents = out; span() > ROOM; all.extents.count /= 2) {
    }
    all.offset[0] = draw(OFFSET_MAX);
    all.offset[1] = draw(3) ? draw(OFFSET_MAX) : all.offset[0];
    if (layout == RDT_LAYOUT_STRIDED) all.offset[2] = draw(3) ? draw(OFFSET_MAX) : all.offset[0];
}

/* Pairs are of any axes, those of rows and columns, too. */
static void set_pairs(rdt_operands *operands) {
    static rdt_strides strides;
    redtune_problem shape = all.self.problem;
    rdt_problem_axes_set(&shape, all.extents);
    CHECK_OK(rdt_problem_axes_resolve(&shape, &err), err);
    rdt_strides_set(&strides, &shape);
    operands->strides = &strides;
    operands->extents = rdt_problem_strided_extents(&shape);
    operands->given.mask = operands->given.input;
    operands->given.input = all.second.address + all.offset[2] * all.self.element_bytes;
}

static void check_kernel(workshop *shop, const cover_point *at) {
    rdt_test_data *data = NULL;
    redtune_problem plain = at->problem;
    plain.order = REDTUNE_ORDER_FREE; /* else the data have random digits */
    plain.mask = REDTUNE_MASK_NONE;
    CHECK_OK(subject_open(shop, &at->problem, &at->point, &all.self, &err), err);
    CHECK_OK(rdt_test_data_create(&plain, COUNT_MAX, &data, &err), err);
    for (int i = 0; i < SHAPES_PER_KERNEL && !check_state.failed; i++) {
        draw_shape(rdt_problem_layout(&at->problem));
        draw_elements(data);
        CHECK_OK(write_elements(), err);
        rdt_operands operands = {
            .input = all.input.address + all.offset[0] * all.self.element_bytes,
            .extents = all.extents,
            .output = all.output[0].address,
            .scratch = all.self.scratch.address,
            .given = {.input = mask_at(), .output = all.output[1].address},
        };
        rdt_operands_set_scalars(rdt_op_find(plain.op), NULL, &operands.given);
        if (is_of_pairs()) set_pairs(&operands);
        CHECK_OK(rdt_kernel_start(all.self.kernel, &all.self.launch, &operands, gpu.stream, &err),
                 err);
        check_results();
    }
    CHECK_OK(subject_check_scratch(&all.self, &err), err);
    rdt_test_data_destroy(data);
    subject_close(&all.self);
}

static void check_points(workshop *shop, int family, const cover_point *points, size_t count) {
    const bool simulated = device_is_simulated(&gpu);
    const rdt_space *space = &rdt_codegen_spaces(shop->codegen)->space[family];
    size_t done = 0;
    for (size_t i = 0; i < count && !check_state.failed && !subject_is_late(); i++) {
        const size_t turn = subject_turn(i, count);
        if (simulated && done == KERNELS_ON_SIM) break;
        if (simulated && !subject_is_light(space, &points[turn].point)) continue;
        if (!subject_is_of_part(i)) continue;
        draw_from(turn);
        check_kernel(shop, &points[turn]);
        done++;
    }
    printf("%s: %zu of %zu kernels\n", check_state.fact, done, count);
}

/* Masks of bytes and of bits have the same points: rules ask whether there is a mask. */
static void check_family(const char *family, redtune_problem like) {
    static const redtune_mask masks[] = {REDTUNE_MASK_BYTES, REDTUNE_MASK_BITS};
    workshop shop;
    cover_point *points = NULL;
    size_t count = 0;
    like.mask = REDTUNE_MASK_BYTES;
    cover_set set = {.like = like, .scope = COVER_KERNELS};
    CHECK_OK(workshop_open(&gpu, &shop, &err), err);
    CHECK_OK(rdt_space_find_family(rdt_codegen_spaces(shop.codegen), family, &set.family, &err),
             err);
    CHECK_OK(cover_pairs(shop.codegen, &gpu.context->facts, &set, &points, &count, &err), err);
    CHECK(count > 0);
    for (int k = 0; k < 2; k++)
        CHECK_OK(rdt_buffer_create(gpu.driver, RESULTS_MAX * 8, &all.output[k], &err), err);
    for (int m = 0; m < 2 && !check_state.failed; m++) {
        for (size_t i = 0; i < count; i++) points[i].problem.mask = masks[m];
        check_points(&shop, set.family, points, count);
    }
    rdt_buffer *const buffers[] = {&all.output[0], &all.output[1], &all.input, &all.mask,
                                   &all.second};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) rdt_buffer_destroy(buffers[i]);
    free(points);
    workshop_close(&shop);
}

#define OF(...) shaped_problem((shaped){.op = REDTUNE_SUM, .dtype = REDTUNE_F32, __VA_ARGS__})

FACT(absent_elements_of_whole_arrays_change_nothing) {
    check_family("block", OF(.count = 1 << 16));
}
FACT(absent_elements_of_rows_change_nothing) {
    check_family("rows", OF(.count = 1 << 12, .outer = 40));
}
FACT(absent_elements_of_columns_change_nothing) {
    check_family("columns", OF(.count = 1 << 12, .inner = 40));
}
FACT(absent_elements_in_fixed_order_change_nothing) {
    check_family("ordered", OF(.count = 1 << 16, .order = REDTUNE_ORDER_FIXED));
}
FACT(absent_elements_of_rows_in_fixed_order_change_nothing) {
    check_family("ordered_rows", OF(.count = 1 << 12, .outer = 40, .order = REDTUNE_ORDER_FIXED));
}
FACT(absent_elements_of_columns_in_fixed_order_change_nothing) {
    check_family("ordered_columns",
                 OF(.count = 1 << 12, .inner = 40, .order = REDTUNE_ORDER_FIXED));
}
FACT(absent_elements_of_exact_sums_change_nothing) {
    check_family("block", OF(.count = 1 << 16, .accuracy = REDTUNE_ACCURACY_EXACT));
    if (!check_state.failed)
        check_family("rows", OF(.count = 1 << 12, .outer = 40, .accuracy = REDTUNE_ACCURACY_EXACT));
    if (!check_state.failed)
        check_family("columns",
                     OF(.count = 1 << 12, .inner = 40, .accuracy = REDTUNE_ACCURACY_EXACT));
}

FACT(absent_pairs_change_nothing) { check_family("strided", OF(.count = 1 << 12, .inner = 40)); }
FACT(absent_pairs_in_fixed_order_change_nothing) {
    check_family("ordered_strided",
                 OF(.count = 1 << 12, .inner = 40, .order = REDTUNE_ORDER_FIXED));
}

int main(int argc, char **argv) { return subject_run(&gpu, NULL, argc, argv); }
