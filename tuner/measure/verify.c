/* Verify: whether a kernel of whole arrays gives the exact result, before it may be timed.
 *
 * A check is an input, a count and the expected result. All checks of a kernel are launched before
 * any result is read. Each output has poison behind it, which must survive, and the scratch must
 * be zero again afterwards. Four kinds of checks: test data at counts around warp, tile and grid;
 * one element that decides, at every boundary; the same just outside the input, where it must not
 * be seen; a NaN in each part of an element's way. The grid is cut to three blocks for them, which
 * brings its boundaries near the beginning.
 *
 * Of two inputs each decides in turn, and each begins at all distances from an alignment that the
 * other may have from it. */
#include "tuner/measure/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model/scalar.h"

enum {
    CHECKS_MAX = RDT_TEST_BUFFERS_OUTPUTS - 1,
    OUTPUT_BYTES = RDT_TEST_BUFFERS_OUTPUT_BYTES,
    RESULT_BYTES = RDT_TEST_BUFFERS_RESULT_BYTES,
    EDGE_BLOCKS = 3
};

/* The last output keeps an element while the decider is in its place. */
enum { SAVED = RDT_TEST_BUFFERS_OUTPUTS - 1 };

/* Where the element is that decides; at the place of none there is no such element. */
enum { NO_DECIDER = -2 };

/* One call and what it should give. */
typedef struct check {
    CUdeviceptr input[RDT_OP_INPUTS_MAX]; /* the second 0 where the op has one */
    uint64_t first, count; /* first: elements behind a 16-byte boundary, or in the pool */
    int64_t decider;       /* its index, -1 and count being just outside; or NO_DECIDER */
    int decides;           /* the input that it is of */
    CUdeviceptr planted;   /* this element is put in its place for this call only; 0: none */
    rdt_question question; /* what it should give */
    rdt_answer expected;
} check;

typedef struct subject {
    const rdt_test_buffers *buffers;
    const redtune_problem *problem;
    const rdt_kernel *kernel;
    rdt_launch launch;
    size_t turn; /* of the distances from an alignment that inputs begin at */
    size_t count;
    check checks[CHECKS_MAX];
} subject;

static void add(subject *self, check each) {
    if (self->count < CHECKS_MAX) self->checks[self->count++] = each;
}

/* ---- running --------------------------------------------------------------------------------- */

static redtune_status launch_check(const subject *self, size_t i, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    const check *each = &self->checks[i];
    const CUdeviceptr output = buffers->output.address + i * OUTPUT_BYTES;
    const rdt_operands operands = {
        .input = each->input[0],
        .extents.count = each->count,
        .output = output,
        .scratch = buffers->scratch.address,
        .given = rdt_test_buffers_given(buffers, each->input[1], output + RESULT_BYTES),
    };
    if (!each->planted)
        return rdt_kernel_start(self->kernel, &self->launch, &operands, buffers->stream, err);
    CUdeviceptr saved = buffers->output.address + SAVED * OUTPUT_BYTES;
    CUdeviceptr place =
        each->input[each->decides] + (uint64_t)each->decider * redtune_dtype_bytes(buffers->dtype);
    redtune_status status = rdt_test_buffers_copy_element(buffers, saved, place, err);
    if (!status) status = rdt_test_buffers_copy_element(buffers, place, each->planted, err);
    if (!status)
        status = rdt_kernel_start(self->kernel, &self->launch, &operands, buffers->stream, err);
    if (!status) status = rdt_test_buffers_copy_element(buffers, place, saved, err);
    return status;
}

/* One result in its part of an output. */
static redtune_value result_in(const redtune_problem *problem, const unsigned char *output, int k) {
    redtune_value got = {.u64 = 0};
    memcpy(&got, output + k * RESULT_BYTES, redtune_dtype_bytes(rdt_compare_dtype(problem, k)));
    return got;
}

/* Whether nothing but results was written. */
static bool is_tidy(const redtune_problem *problem, const unsigned char *output) {
    const redtune_dtype second = rdt_problem_second(problem);
    const size_t of_first = redtune_dtype_bytes(problem->result);
    const size_t of_second = redtune_dtype_bytes(second);
    for (size_t i = of_first; i < OUTPUT_BYTES; i++) {
        const bool is_result = i >= RESULT_BYTES && i - RESULT_BYTES < of_second;
        if (!is_result && output[i] != RDT_TEST_BUFFERS_POISON) return false;
    }
    return true;
}

/* The first result that is wrong; -1: none is. */
static int find_wrong(const redtune_problem *problem, const unsigned char *output,
                      const rdt_answer *expected) {
    const int results = rdt_op_find(problem->op)->outputs;
    for (int k = 0; k < results; k++) {
        const redtune_value got = result_in(problem, output, k);
        if (!rdt_compare_is_right(problem, k, &got, &expected->value[k])) return k;
    }
    return -1;
}

bool rdt_verify_same(const redtune_problem *problem, const unsigned char output[OUTPUT_BYTES],
                     const rdt_answer *expected) {
    return find_wrong(problem, output, expected) < 0 && is_tidy(problem, output);
}

redtune_status rdt_verify_wrong(const redtune_problem *problem, uint64_t count, const char *which,
                                const unsigned char output[OUTPUT_BYTES],
                                const rdt_answer *expected, redtune_error *err) {
    const int wrong = find_wrong(problem, output, expected);
    const redtune_value got = result_in(problem, output, wrong < 0 ? 0 : wrong);
    rdt_text text = {0};
    rdt_text_addf(&text, "%s of %" PRIu64 " %s%s ", redtune_op_name(problem->op), count,
                  redtune_dtype_name(problem->dtype), which);
    if (wrong < 0) {
        rdt_text_add(&text, "is ");
        rdt_scalar_print(problem->result, &got, &text);
        rdt_text_addf(&text, ", but the bytes behind it%s are written, too",
                      rdt_problem_second(problem) ? " or behind the other result" : "");
    } else {
        rdt_compare_print(problem, wrong, &got, &expected->value[wrong], &text);
    }
    redtune_status status =
        rdt_fail(err, REDTUNE_WRONG, 0, "wrong result: %s", text.data ? text.data : "");
    rdt_text_free(&text);
    return status;
}

static redtune_status compare(const subject *self, const check *each, const unsigned char *output,
                              redtune_error *err) {
    const size_t element = redtune_dtype_bytes(self->buffers->dtype);
    const bool has_two = self->buffers->inputs > 1;
    char which[128];
    if (rdt_verify_same(self->problem, output, &each->expected)) return REDTUNE_OK;
    int length = snprintf(which, sizeof which, " at offset %" PRIu64, each->first);
    if (has_two)
        length += snprintf(which + length, sizeof which - (size_t)length, " and %" PRIu64,
                           (uint64_t)each->input[1] / element % self->buffers->alignments);
    if (each->decider != NO_DECIDER)
        snprintf(which + length, sizeof which - (size_t)length,
                 ", where the one at %" PRId64 "%s decides,", each->decider,
                 !has_two        ? ""
                 : each->decides ? " of the second"
                                 : " of the first");
    return rdt_verify_wrong(self->problem, each->count, which, output, &each->expected, err);
}

redtune_status rdt_verify_scratch(const rdt_test_buffers *buffers, size_t blocks,
                                  redtune_error *err) {
    size_t bytes = RDT_SCRATCH_WORDS_OFFSET + blocks * RDT_SCRATCH_WORDS_BYTES;
    unsigned char *scratch = malloc(bytes);
    if (!scratch) return rdt_fail_memory(err, bytes);
    redtune_status status = rdt_buffer_read(buffers->driver, scratch, buffers->scratch.address,
                                            bytes, buffers->stream, err);
    /* Every byte is like the one before it, and the first is zero: quick where there are many. */
    bool clean = !status && !scratch[0] && !memcmp(scratch, scratch + 1, bytes - 1);
    for (size_t i = 0; !status && !clean && i < bytes; i++)
        if (scratch[i])
            status = rdt_fail(err, REDTUNE_WRONG, 0, "wrong result: scratch byte %zu is left at %d",
                              i, scratch[i]);
    free(scratch);
    return status;
}

/* As far as the launches reached. */
static redtune_status check_scratch(const subject *self, redtune_error *err) {
    uint64_t most = 0;
    for (size_t i = 0; i < self->count; i++)
        if (self->checks[i].count > most) most = self->checks[i].count;
    return rdt_verify_scratch(self->buffers, rdt_launch_blocks(&self->launch, most), err);
}

/* Before the kernel under test runs, which may write where it should not. */
static redtune_status ask_judge(subject *self, redtune_error *err) {
    rdt_question questions[CHECKS_MAX];
    rdt_answer answers[CHECKS_MAX];
    for (size_t i = 0; i < self->count; i++) questions[i] = self->checks[i].question;
    redtune_status status =
        rdt_judge_answer(self->buffers->judge, questions, self->count, answers, err);
    for (size_t i = 0; !status && i < self->count; i++) self->checks[i].expected = answers[i];
    return status;
}

static redtune_status run_checks(subject *self, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    unsigned char output[CHECKS_MAX * OUTPUT_BYTES];
    redtune_status status = ask_judge(self, err);
    if (status) return status;
    status =
        rdt_test_buffers_poison(buffers, buffers->output.address, self->count * OUTPUT_BYTES, err);
    for (size_t i = 0; !status && i < self->count; i++) status = launch_check(self, i, err);
    if (!status)
        status = rdt_buffer_read(buffers->driver, output, buffers->output.address,
                                 self->count * OUTPUT_BYTES, buffers->stream, err);
    for (size_t i = 0; !status && i < self->count; i++)
        status = compare(self, &self->checks[i], output + i * OUTPUT_BYTES, err);
    if (!status) status = check_scratch(self, err);
    if (status == REDTUNE_WRONG) rdt_test_buffers_clean_scratch(buffers);
    return status;
}

/* ---- what is checked ------------------------------------------------------------------------- */

/* Elements of the test data from first on; planted, unless it is 0, stands in the place of number
 * `at` of those of an input then, and has that value. */
typedef struct planting {
    int input;
    int64_t at;
    CUdeviceptr element;
    redtune_value value;
} planting;

static void add_data(subject *self, const rdt_pool *pool, uint64_t first, uint64_t count,
                     planting what) {
    const rdt_test_buffers *buffers = self->buffers;
    if (what.element && what.at >= (int64_t)count) return;
    if (first + count > pool->count || first + count > pool->data->count_max) return;
    check each = {
        .input = {pool->buffer.address + first * redtune_dtype_bytes(buffers->dtype),
                  rdt_test_buffers_second(buffers, pool, first, self->turn++)},
        .first = first,
        .count = count,
        .decider = what.at,
        .decides = what.input,
        .planted = what.element,
        .question = rdt_judge_question(&pool->judged, first, count),
    };
    if (what.element) rdt_judge_plant(&each.question, what.input, (uint64_t)what.at, &what.value);
    add(self, each);
}

static void add_pattern(subject *self, const rdt_pool *pool, uint64_t first, uint64_t count) {
    add_data(self, pool, first, count, (planting){.at = NO_DECIDER});
}

static void add_planted(subject *self, const rdt_pool *pool, uint64_t count, uint64_t at) {
    const rdt_test_buffers *buffers = self->buffers;
    for (int input = 0; input < buffers->inputs; input++)
        for (int kind = 0; kind < buffers->deciders; kind++)
            add_data(
                self, pool, 0, count,
                (planting){input, (int64_t)at, buffers->decider[kind], buffers->deciding[kind]});
}

/* A NaN among numbers: docs/ops.md says what every op makes of it. */
static void add_nan(subject *self, uint64_t count, uint64_t at) {
    const rdt_test_buffers *buffers = self->buffers;
    for (int input = 0; input < buffers->inputs; input++)
        add_data(self, &buffers->dense, 0, count,
                 (planting){input, (int64_t)at, buffers->nan,
                            rdt_scalar_from_real(buffers->dtype, (double)NAN)});
}

/* A decider of that kind among neutral elements of that input. */
static void add_hot_in(subject *self, uint64_t offset, uint64_t count, int64_t at, int input,
                       int kind) {
    const rdt_test_buffers *buffers = self->buffers;
    const uint64_t apart = (offset + self->turn++) % buffers->alignments;
    check each = {
        .first = offset,
        .count = count,
        .decider = at,
        .decides = input,
        .question = rdt_judge_question(&buffers->neutral[input], 0, count),
    };
    each.input[input] = rdt_one_hot_window(&buffers->one_hot[kind], at, offset);
    if (buffers->inputs > 1)
        each.input[!input] =
            buffers->opposite.address + apart * redtune_dtype_bytes(buffers->dtype);
    if (at >= 0 && at < (int64_t)count)
        rdt_judge_plant(&each.question, input, (uint64_t)at, &buffers->deciding[kind]);
    add(self, each);
}

/* at may be -1 or count: the decider lies outside then, and must not be seen. */
static void add_hot(subject *self, uint64_t offset, uint64_t count, int64_t at) {
    const rdt_test_buffers *buffers = self->buffers;
    if (at > (int64_t)count || count > buffers->one_hot[0].window) return;
    for (int input = 0; input < buffers->inputs; input++)
        for (int kind = 0; kind < buffers->deciders; kind++)
            add_hot_in(self, offset, count, at, input, kind);
}

static void add_counts(subject *self) {
    const uint64_t tile = self->launch.tile, grid = (uint64_t)self->launch.blocks_max * tile;
    const uint64_t counts[] = {
        0,        1,        2,           31,       32,           33,
        tile - 1, tile,     tile + 1,    2 * tile, 2 * tile + 1, 5 * tile + 7,
        grid - 1, grid + 1, 2 * grid + 3};
    const uint64_t firsts[] = {0, 1, 2, 3, 7};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t j = 0; j < sizeof firsts / sizeof *firsts; j++)
            add_pattern(self, &self->buffers->dense, firsts[j], counts[i]);
}

/* One element decides, and is moved over the boundaries of vectors, warps, blocks, tiles and the
 * grid: it is missed or taken twice nowhere. */
static void add_sweep(subject *self) {
    const rdt_one_hot *one_hot = &self->buffers->one_hot[0];
    const uint64_t tile = self->launch.tile, vector = one_hot->alignments;
    const uint64_t threads = self->launch.threads;
    uint64_t count = 5 * tile + 7 < one_hot->window ? 5 * tile + 7 : one_hot->window;
    const uint64_t boundaries[] = {
        0,        vector,   32,       32 * vector, threads,        tile / 2,  tile - 1,        tile,
        2 * tile, 3 * tile, 4 * tile, 5 * tile,    count - vector, count - 1, threads * vector};
    for (size_t i = 0; i < sizeof boundaries / sizeof *boundaries; i++)
        for (int64_t step = -2; step <= 2; step++) {
            int64_t at = (int64_t)boundaries[i] + step;
            if (at >= 0 && at < (int64_t)count)
                add_hot(self, step == 0 ? 0 : (uint64_t)at % vector, count, at);
        }
}

/* The elements just outside decide, and must not be read as if they were inside. */
static void add_outside(subject *self) {
    const uint64_t tile = self->launch.tile, vector = self->buffers->alignments;
    const uint64_t counts[] = {0, 1, vector, 33, tile - 1, tile, 2 * tile + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (uint64_t offset = 0; offset<vector; offset += vector> 1 ? vector - 1 : 1) {
            add_hot(self, offset, counts[i], -1);
            add_hot(self, offset, counts[i], (int64_t)counts[i]);
        }
}

/* One NaN in each part of the way of an element: a vector's first and last, a warp's, a tile's,
 * what is left over before and behind. */
static void add_nans(subject *self) {
    const uint64_t tile = self->launch.tile, count = 3 * tile + 7;
    const uint64_t at[] = {0, 1, 15, 16, 31, 32, tile - 1, tile, 2 * tile, 3 * tile, count - 1};
    if (!self->buffers->nan) return;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) add_nan(self, count, at[i]);
    add_nan(self, 1, 0);
}

redtune_status rdt_verify_edges(const rdt_test_buffers *buffers, const redtune_problem *problem,
                                const rdt_kernel *kernel, const rdt_launch *launch,
                                redtune_error *err) {
    subject self = {.buffers = buffers, .problem = problem, .kernel = kernel, .launch = *launch};
    /* The boundaries of the grid are near the beginning then. */
    if (self.launch.blocks_max > EDGE_BLOCKS) self.launch.blocks_max = EDGE_BLOCKS;
    add_counts(&self);
    add_sweep(&self);
    add_outside(&self);
    add_nans(&self);
    return run_checks(&self, err);
}

redtune_status rdt_verify_count(const rdt_test_buffers *buffers, const redtune_problem *problem,
                                const rdt_kernel *kernel, const rdt_launch *launch,
                                redtune_error *err) {
    const uint64_t count = rdt_problem_count(problem), tile = launch->tile;
    bool exact = count <= buffers->dense.data->count_max;
    const rdt_pool *pool = exact ? &buffers->dense : &buffers->sparse;
    subject self = {.buffers = buffers, .problem = problem, .kernel = kernel, .launch = *launch};
    add_pattern(&self, pool, 0, count);
    if (count > 2) {
        add_pattern(&self, pool, 1, count - 1);
        add_pattern(&self, pool, 3, count - 2);
    } else if (buffers->inputs > 1) {
        add_pattern(&self, pool, 0, count);
    }
    if (rdt_test_data_hides(problem) && count) {
        /* Partial results of the first and last block, and of those at which combining them
         * begins anew. */
        const uint64_t blocks = rdt_launch_blocks(launch, count), last = blocks - 1;
        const uint64_t at[] = {0, 31, 32, launch->threads - 1, launch->threads, last / 2, last};
        for (size_t i = 0; i < sizeof at / sizeof *at; i++)
            if (at[i] <= last) add_planted(&self, pool, count, at[i] * tile + at[i] % tile);
        add_planted(&self, pool, count, count - 1);
    }
    return run_checks(&self, err);
}
