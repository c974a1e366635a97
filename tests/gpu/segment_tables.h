/* Segment tables: segments of all kinds, in all forms of tables, for a kernel under test, and
 * whether its results are right. Reports to the test that includes it. */
#pragma once

#include <math.h>
#include "check.h"
#include "draw.h"
#include "model/scalar.h"
#include "order_reference.h"
#include "results.h"
#include "shaped.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

enum {
    ELEMENTS_MAX = 12000,
    SEGMENTS_MAX = 3000,
    GATHERED_MAX = 8 * ELEMENTS_MAX, /* of all segments: more would not be exact */
    RESULT_BYTES_MAX = 8,
    GUARD_BYTES = 64,
    POISON = 0xa5,
    TABLES_PER_KERNEL = 4
};

static redtune_error err;
static device gpu;
static workshop shop;

/* ---- tables ---------------------------------------------------------------------------------- */

typedef enum kind {
    EQUAL,   /* one after the other, of one length */
    ZIPF,    /* of lengths that differ widely, a half of them empty */
    GIANT,   /* one of half of all elements among tiny ones */
    EMPTY,   /* all empty; of these and those before it none overlap */
    ANY,     /* anywhere: they overlap, lie in any order, and a few end before they begin */
    FALLING, /* one after the other, but offsets decrease here and there */
    KINDS
} kind;

/* How the tables say where segments are. */
typedef enum form {
    OFFSETS, /* one table of count + 1 offsets; for segments one after the other */
    ENDS,    /* beginnings and ends */
    LENGTHS, /* arrays, and their lengths */
    PARTS,   /* arrays, and beginnings and ends in them */
    LIST,    /* arrays, and how many elements come before each */
    FORMS
} form;

typedef struct tables {
    kind kind;
    form form;
    bool wide, zeros; /* zeros: all elements are -0 */
    bool pairs;       /* of two inputs, which are one buffer each */
    uint64_t count, elements;
    uint64_t begin[SEGMENTS_MAX + 1], end[SEGMENTS_MAX];
} tables;

static tables now;

static uint64_t draw_length(void) {
    const uint64_t mean = now.elements / now.count;
    switch ((int)now.kind) {
    case EQUAL: return mean;
    case EMPTY: return 0;
    case ZIPF: return draw(2) ? 0 : draw(1 + (draw(16) ? mean : 40 * mean + 100));
    default: return draw(2 * mean + 4);
    }
}

static uint64_t length_of(uint64_t i) {
    return now.end[i] > now.begin[i] ? now.end[i] - now.begin[i] : 0;
}

/* One after the other. */
static void chain_segments(void) {
    const uint64_t giant = now.kind == GIANT ? draw(now.count) : now.count;
    uint64_t at = draw(1 + now.elements / 8);
    for (uint64_t i = 0; i <= now.count; i++) {
        now.begin[i] = at;
        const uint64_t left = now.elements - at;
        uint64_t length = i == giant ? now.elements / 2 : draw_length();
        if (now.kind == GIANT && i != giant && i < giant && left < now.elements / 2 + length)
            length = 0;
        at += length < left ? length : left;
    }
    for (int k = 0; now.kind == FALLING && k < 3; k++)
        now.begin[draw(now.count + 1)] = draw(now.elements + 1);
    for (uint64_t i = 0; i < now.count; i++) now.end[i] = now.begin[i + 1];
}

static void scatter_segments(void) {
    for (uint64_t i = 0; i < now.count; i++) {
        const uint64_t length = draw(3) ? draw_length() : draw(5);
        now.begin[i] = draw(now.elements + 1);
        now.end[i] = now.begin[i] +
                     (length < now.elements - now.begin[i] ? length : now.elements - now.begin[i]);
        if (!draw(16)) now.end[i] = draw(now.begin[i] + 1);
    }
}

/* `once`: no element in two segments. */
static void draw_tables(uint64_t elements, bool once) {
    static const uint64_t counts[] = {1, 2, 3, 31, 32, 33, 100, 1000, 3000};
    now.kind = (kind)draw(once ? ANY : KINDS);
    now.elements = elements ? 1 + draw(elements) : 0;
    now.count = counts[draw(sizeof counts / sizeof *counts)];
    now.wide = draw(2);
    do now.form = (form)draw(FORMS);
    while ((now.kind == ANY && now.form == OFFSETS) || (now.pairs && now.form > ENDS));
    if (now.kind == ANY)
        scatter_segments();
    else
        chain_segments();
    /* Elements that several have count for each. */
    uint64_t all = 0;
    for (uint64_t i = 0; i < now.count; i++) {
        if (all + length_of(i) > GATHERED_MAX) now.end[i] = now.begin[i];
        all += length_of(i);
    }
}

/* One after the other, of one length; `falls`: but for one offset, which decreases. */
static void set_equal(uint64_t count, uint64_t length, bool falls) {
    now.kind = EQUAL;
    now.form = OFFSETS;
    now.wide = draw(2);
    now.count = count;
    now.elements = count * length;
    for (uint64_t i = 0; i <= count; i++) now.begin[i] = i * length;
    if (falls) now.begin[1 + draw(count)] = draw(now.elements + 1);
    for (uint64_t i = 0; i < count; i++) now.end[i] = now.begin[i + 1];
}

static redtune_status upload_table(const uint64_t *offsets, uint64_t count, rdt_buffer *out) {
    static uint32_t narrow[SEGMENTS_MAX + 1];
    const size_t bytes = count * (now.wide ? sizeof *offsets : sizeof *narrow);
    for (uint64_t i = 0; i < count; i++) narrow[i] = (uint32_t)offsets[i];
    redtune_status status = rdt_buffer_create(gpu.driver, bytes, out, &err);
    if (status) return status;
    return rdt_buffer_write(gpu.driver, out->address, now.wide ? (void *)offsets : narrow, bytes,
                            gpu.stream, &err);
}

/* The tables of the form on the GPU. Those of arrays lie behind the offsets. */
static redtune_status upload_tables(CUdeviceptr input, size_t element_bytes, rdt_buffer out[3],
                                    rdt_segments *segments) {
    static uint64_t table[3][SEGMENTS_MAX + 1];
    const bool arrays = now.form >= LENGTHS, list = now.form == LIST;
    for (uint64_t i = 0; i <= now.count; i++) {
        const uint64_t first = i < now.count ? now.begin[i] : 0;
        const uint64_t back = now.form == PARTS && first > 3 ? 3 : 0; /* the array begins before */
        table[0][i] = !arrays     ? now.begin[i]
                      : list && i ? table[0][i - 1] + length_of(i - 1)
                                  : back;
        if (i == now.count) break;
        table[1][i] = arrays ? back + length_of(i) : now.end[i];
        table[2][i] = input + (first - back) * element_bytes;
    }
    if (list) now.wide = true;
    redtune_status status =
        upload_table(table[0], now.count + (now.form == OFFSETS || list), &out[0]);
    if (!status && now.form != OFFSETS && !list)
        status = upload_table(table[1], now.count, &out[1]);
    const bool wide = now.wide;
    now.wide = true;
    if (!status && arrays) status = upload_table(table[2], now.count, &out[2]);
    now.wide = wide;
    *segments = (rdt_segments){now.form == LENGTHS ? 0 : out[0].address, out[1].address, now.count,
                               now.wide, out[2].address};
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

static char elements[ELEMENTS_MAX * RESULT_BYTES_MAX], others[ELEMENTS_MAX * RESULT_BYTES_MAX];
static unsigned char results_read[2][SEGMENTS_MAX * RESULT_BYTES_MAX + GUARD_BYTES];

/* Those of the pattern, with a few that decide: of products, which these are factors of, so few
 * that floats round nothing in whatever order. */
static void fill_elements(const rdt_test_data *data) {
    const size_t bytes = redtune_dtype_bytes(data->problem.dtype);
    const redtune_value decider = rdt_test_data_decider(&data->problem);
    for (uint64_t i = 0, at = draw(data->period); i < now.elements; i++) {
        memcpy(elements + i * bytes, (const char *)data->elements + at * bytes, bytes);
        if (data->second)
            memcpy(others + i * bytes, (const char *)data->second + at * bytes, bytes);
        at = (at + 1) % data->period;
    }
    const int deciders = data->problem.op == REDTUNE_PROD ? 8 : 20;
    for (int k = 0; rdt_test_data_hides(&data->problem) && k < deciders && now.elements; k++)
        memcpy(elements + draw(now.elements) * bytes, decider.bytes, bytes);
    /* Sums of -0 alone are +0. */
    const redtune_value zero = rdt_scalar_from_real(data->problem.dtype, -0.0);
    if (data->problem.order == REDTUNE_ORDER_FIXED && !draw(8))
        for (uint64_t i = 0; i < now.elements; i++) memcpy(elements + i * bytes, zero.bytes, bytes);
}

/* The result of that many elements from there on is the one wanted, as far as `output` goes. */
static bool agrees(const redtune_problem *problem, const char *from, const char *beside,
                   uint64_t count, int output, const redtune_value *got) {
    if (problem->order == REDTUNE_ORDER_FIXED) {
        redtune_value wanted[2];
        rdt_order_reference_reduce(problem, from, beside, count, wanted);
        return rdt_scalar_same(output ? rdt_problem_second(problem) : problem->result, got,
                               &wanted[output]);
    }
    if (problem->op <= REDTUNE_XOR) {
        rdt_reference wanted;
        rdt_reference_reduce(problem, from, count, &wanted);
        return rdt_scalar_same(problem->result, got, &wanted.value);
    }
    results right;
    const results_input input = {.x = from, .y = beside, .count = count};
    results_reduce(problem, &input, &right);
    return results_agree(problem, output, got, &right, count, (double)count + 12);
}

/* The elements of all segments, or of segment i; how many. */
static uint64_t gather(const subject *self, bool all, uint64_t i, char **out) {
    static char gathered[GATHERED_MAX * RESULT_BYTES_MAX];
    const size_t bytes = self->element_bytes;
    uint64_t count = 0;
    *out = elements + now.begin[i] * bytes;
    if (!all) return length_of(i);
    for (i = 0; i < now.count; i++) {
        memcpy(gathered + count * bytes, elements + now.begin[i] * bytes, length_of(i) * bytes);
        count += length_of(i);
    }
    *out = gathered;
    return count;
}

static void check_output(const subject *self, int output) {
    const redtune_problem *problem = &self->problem;
    const bool all = problem->segmented == REDTUNE_SEGMENTED_ALL;
    const size_t bytes =
        redtune_dtype_bytes(output ? rdt_problem_second(problem) : problem->result);
    const unsigned char *read = results_read[output];
    const uint64_t results = all ? 1 : now.count;
    for (size_t i = results * bytes; i < results * bytes + GUARD_BYTES; i++)
        CHECK_INT(read[i], POISON);
    for (uint64_t i = 0; i < results && !check_state.failed; i++) {
        redtune_value got = {.u64 = 0};
        char *from = NULL;
        const uint64_t count = gather(self, all, i, &from);
        memcpy(got.bytes, read + i * bytes, bytes);
        check_that(
            agrees(problem, from, others + now.begin[i] * self->element_bytes, count, output, &got),
            __FILE__, __LINE__,
            "%s: result %d of %s %llu of %llu, %llu elements from %llu on (tables %d, %d, %d)",
            self->name, output, all ? "all" : "segment", (unsigned long long)i,
            (unsigned long long)now.count, (unsigned long long)count,
            (unsigned long long)now.begin[i], now.kind, now.form, now.wide);
    }
}

/* Runs it on the tables, on few blocks, too. */
static void check_tables(subject *self, const rdt_test_data *data) {
    const size_t offset = draw(4) * self->element_bytes;
    const size_t offset_of_second = now.pairs ? draw(5) * self->element_bytes : 0;
    rdt_buffer input = {0}, second = {0}, table[3] = {{0}, {0}, {0}}, output[2] = {{0}, {0}};
    const size_t bytes = now.count * RESULT_BYTES_MAX + GUARD_BYTES;
    const size_t input_bytes = now.elements * self->element_bytes;
    rdt_launch how = self->launch;
    if (draw(2)) how.blocks_max = 1 + (uint32_t)draw(how.blocks_max < 7 ? how.blocks_max : 7);
    fill_elements(data);
    CHECK_OK(rdt_buffer_create(gpu.driver, offset + input_bytes + !input_bytes, &input, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, input.address + offset, elements, input_bytes, gpu.stream,
                              &err),
             err);
    rdt_operands operands = {.input = now.form < LENGTHS ? input.address + offset : 0,
                             .scratch = self->scratch.address};
    if (now.pairs) {
        const size_t second_bytes = offset_of_second + input_bytes;
        CHECK_OK(rdt_buffer_create(gpu.driver, second_bytes + !second_bytes, &second, &err), err);
        operands.given.input = second.address + offset_of_second;
        CHECK_OK(rdt_buffer_write(gpu.driver, operands.given.input, others, input_bytes, gpu.stream,
                                  &err),
                 err);
    }
    CHECK_OK(upload_tables(input.address + offset, self->element_bytes, table, &operands.segments),
             err);
    /* As the library gives one table of these (running/segments.c): it may decrease. */
    if (self->problem.order == REDTUNE_ORDER_FIXED && now.form == OFFSETS &&
        self->problem.segmented == REDTUNE_SEGMENTED_ALL)
        operands.segments.end = operands.segments.begin + (now.wide ? 8 : 4);
    const rdt_op_traits *op = rdt_op_find(self->problem.op);
    for (int i = 0; i < op->parameters; i++) operands.given.scalar[i] = op->parameter[i].usual;
    for (int i = 0; i < op->outputs; i++) {
        CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &output[i], &err), err);
        gpu.driver->memset_d8_async(output[i].address, POISON, bytes, gpu.stream);
    }
    operands.output = output[0].address;
    operands.given.output = output[1].address;
    CHECK_OK(rdt_kernel_start(self->kernel, &how, &operands, gpu.stream, &err), err);
    for (int i = 0; i < op->outputs; i++) {
        CHECK_OK(rdt_buffer_read(gpu.driver, results_read[i], output[i].address, bytes, gpu.stream,
                                 &err),
                 err);
        check_output(self, i);
        rdt_buffer_destroy(&output[i]);
    }
    CHECK_OK(subject_check_scratch(self, &err), err);
    rdt_buffer_destroy(&input);
    rdt_buffer_destroy(&second);
    for (int i = 0; i < 3; i++) rdt_buffer_destroy(&table[i]);
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* A family's default, with the parameters that config names in place of its own. */
static rdt_point find_point(const redtune_problem *problem, const char *family,
                            const char *config) {
    rdt_point point;
    const rdt_case at = {problem, &gpu.context->facts};
    check_that(!rdt_rules_find(shop.codegen, at, family, config, &point, &err), __FILE__, __LINE__,
               "%s", err.message);
    return point;
}

/* Any config that the family allows. */
static rdt_point draw_point(const redtune_problem *problem, const char *family) {
    rdt_point point = find_point(problem, family, "");
    const rdt_case at = {problem, &gpu.context->facts};
    const rdt_space *space = rdt_point_space(rdt_codegen_spaces(shop.codegen), &point);
    do {
        for (int i = 0; i < space->param_count; i++) {
            const rdt_param *param = &space->param[i];
            point.value[i] = param->value[draw((uint64_t)param->value_count)];
        }
    } while (rdt_rules_check(shop.codegen, at, &point, &err));
    return point;
}

static void check_kernel(const redtune_problem *problem, const rdt_point *point, int tables,
                         uint64_t elements_max) {
    rdt_test_data *data = NULL;
    subject self;
    now.pairs = rdt_op_find(problem->op)->inputs > 1;
    /* Elements that several segments have may lead a float product out of its range. */
    const bool once = problem->op == REDTUNE_PROD && problem->segmented == REDTUNE_SEGMENTED_ALL;
    CHECK_OK(rdt_test_data_create(problem, GATHERED_MAX, &data, &err), err);
    CHECK_OK(subject_open(&shop, problem, point, &self, &err), err);
    for (int i = 0; i < tables && !check_state.failed; i++) {
        draw_tables(draw(16) ? elements_max : 0, once);
        check_tables(&self, data);
    }
    subject_close(&self);
    rdt_test_data_destroy(data);
}

/* Of each segment, or of all. */
static redtune_problem segments_of(redtune_op op, redtune_dtype dtype, redtune_dtype result,
                                   bool all) {
    return PROBLEM(.op = op, .dtype = dtype, .result = result, .count = 100, .outer = 100,
                   .segmented = all ? REDTUNE_SEGMENTED_ALL : REDTUNE_SEGMENTED_EACH);
}
