/* Facts about files and arrays of two inputs, two results and parameters: redtune_reduce_input and
 * redtune_reduce_array. On the simulated GPU, which has a few MB of memory here, arrays take
 * several pieces. */
#define _GNU_SOURCE
#include <math.h>
#include "check.h"
#include "device.h"
#include "order_reference.h"
#include "redtune/list.h"
#include "redtune/team.h"
#include "shaped.h"
#include "simulator.h"

static redtune_error err;
static device gpu;
static redtune *rt;

/* Element k of either input: whole numbers, so that f64 sums are exact. */
static float element(int input, uint64_t k) {
    return (float)((int)(k * 7919 % 2003) % 41 - 20 + (input ? (int)(k % 5) : 0));
}

typedef struct supply {
    int input;
    uint64_t served, count; /* of the elements that there are */
    size_t most;            /* elements at a time */
} supply;

static redtune_status serve(void *user, void *buffer, size_t capacity, size_t *bytes,
                            redtune_error *failure) {
    supply *self = user;
    uint64_t count = capacity / sizeof(float);
    (void)failure;
    if (count > self->count - self->served) count = self->count - self->served;
    if (self->most && count > self->most) count = self->most;
    for (uint64_t i = 0; i < count; i++)
        ((float *)buffer)[i] = element(self->input, self->served + i);
    self->served += count;
    *bytes = count * sizeof(float);
    return REDTUNE_OK;
}

static redtune_problem problem_of(const char *op, uint64_t count) {
    redtune_problem problem =
        PROBLEM(.dtype = REDTUNE_F32, .result = REDTUNE_DTYPE_NONE, .count = count);
    if (redtune_op_find(op, &problem.op, &err)) fprintf(stderr, "%s\n", err.message);
    return problem;
}

static bool is_there(uint64_t k) { return k % 7 != 2; }

static redtune_status serve_mask(void *user, void *buffer, size_t capacity, size_t *bytes,
                                 redtune_error *failure) {
    supply *self = user;
    (void)failure;
    if (capacity > self->count - self->served) capacity = (size_t)(self->count - self->served);
    for (size_t i = 0; i < capacity; i++) ((unsigned char *)buffer)[i] = is_there(self->served + i);
    self->served += capacity;
    *bytes = capacity;
    return REDTUNE_OK;
}

/* from: of the two inputs and the mask. */
typedef struct pair {
    supply from[3];
    redtune_input mask, second, first;
} pair;

/* The first input gives `most` elements at a time, the second others. */
static void set_pair(pair *out, uint64_t count, size_t most, bool two) {
    *out = (pair){.from = {{0, 0, count, most}, {1, 0, count, most / 3}}};
    out->second = (redtune_input){.read = serve, .user = &out->from[1]};
    out->first =
        (redtune_input){.read = serve, .user = &out->from[0], .second = two ? &out->second : NULL};
}

static void set_masked_pair(pair *out, uint64_t count, size_t most) {
    set_pair(out, count, most, true);
    out->from[2] = (supply){.count = count};
    out->mask = (redtune_input){.read = serve_mask, .user = &out->from[2]};
    out->second.second = &out->mask;
}

static double masked_dot_of(uint64_t first, uint64_t end) {
    double sum = 0;
    for (uint64_t k = first; k < end; k++)
        if (is_there(k)) sum += (double)element(0, k) * (double)element(1, k);
    return sum;
}

static double dot_of(uint64_t first, uint64_t count, uint64_t step) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += (double)element(0, first + i * step) * (double)element(1, first + i * step);
    return sum;
}

/* ---- one result ------------------------------------------------------------------------------ */

FACT(two_inputs_are_read_in_step) {
    static const size_t mosts[] = {0, 1000, 7};
    for (size_t i = 0; i < sizeof mosts / sizeof *mosts; i++) {
        const uint64_t count = mosts[i] == 7 ? 700 : 20001;
        redtune_problem problem = problem_of("dot", count);
        redtune_reading reading;
        pair inputs;
        problem.result = REDTUNE_F64;
        set_pair(&inputs, count, mosts[i], true);
        CHECK_OK(redtune_reduce_input(rt, &problem, &inputs.first, &reading, &err), err);
        CHECK_INT(reading.count, count);
        CHECK((reading.pieces > 1) == (mosts[i] > 0));
        CHECK(reading.value.f64 == dot_of(0, count, 1));
        CHECK_INT(reading.second_dtype, REDTUNE_DTYPE_NONE);
    }
}

FACT(pairs_and_their_mask_are_read_in_step) {
    static const size_t mosts[] = {0, 1000, 7};
    for (size_t i = 0; i < sizeof mosts / sizeof *mosts; i++) {
        const uint64_t count = mosts[i] == 7 ? 700 : 20001;
        redtune_problem problem = problem_of("dot", count);
        redtune_reading reading = {.count = 77};
        pair inputs;
        problem.result = REDTUNE_F64;
        problem.mask = REDTUNE_MASK_BYTES;
        set_masked_pair(&inputs, count, mosts[i]);
        CHECK_OK(redtune_reduce_input(rt, &problem, &inputs.first, &reading, &err), err);
        CHECK_INT(reading.count, count);
        CHECK((reading.pieces > 1) == (mosts[i] > 0));
        CHECK(reading.value.f64 == masked_dot_of(0, count));
        set_masked_pair(&inputs, count, mosts[i]);
        inputs.from[2].count = count - 1;
        CHECK_FAILS(redtune_reduce_input(rt, &problem, &inputs.first, &reading, &err),
                    REDTUNE_INVALID, err, "the mask ends after");
    }
}

/* As arrays': the count of the problem says how many are expected, and no more. */
FACT(any_number_of_masked_pairs_may_be_expected) {
    static const uint64_t expected[] = {0, 1, 2, 300, 5000};
    redtune_reading reading = {.count = 77};
    pair inputs;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        redtune_problem problem = problem_of("dot", expected[i]);
        problem.result = REDTUNE_F64;
        problem.mask = REDTUNE_MASK_BYTES;
        set_masked_pair(&inputs, 1000, 0);
        CHECK_OK(redtune_reduce_input(rt, &problem, &inputs.first, &reading, &err), err);
        CHECK_INT(reading.count, 1000);
        CHECK(reading.value.f64 == masked_dot_of(0, 1000));
    }
    redtune_problem apart = problem_of("dot", 0);
    apart.mask = REDTUNE_MASK_BYTES;
    apart.steps = 1u << REDTUNE_ARRAY_X;
    apart.reduced[0].step[REDTUNE_ARRAY_X] = 5;
    set_masked_pair(&inputs, 1000, 0);
    CHECK_FAILS(redtune_reduce_input(rt, &apart, &inputs.first, &reading, &err),
                REDTUNE_UNSUPPORTED, err, "in parts along axes");
    CHECK_INT(inputs.from[0].served, 0);
}

FACT(two_results_come_from_all_pieces) {
    enum { ELEMENTS = 9001 };
    double sum = 0, squares = 0;
    uint64_t lowest = 0;
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        const double x = (double)element(0, i);
        sum += x;
        squares += x * x;
        if (element(0, i) < element(0, lowest)) lowest = i;
    }
    for (size_t most = 0; most < 5000; most += 2100) {
        const double one = 1, mean = sum / ELEMENTS;
        redtune_problem problem = problem_of("min_at", ELEMENTS);
        redtune_reading reading;
        pair inputs;
        set_pair(&inputs, ELEMENTS, most, false);
        CHECK_OK(redtune_reduce_input(rt, &problem, &inputs.first, &reading, &err), err);
        CHECK(reading.value.f32 == element(0, lowest));
        CHECK_INT(reading.second_dtype, REDTUNE_I64);
        CHECK_INT(reading.second.i64, lowest);
        problem = problem_of("mean_var", ELEMENTS);
        problem.result = REDTUNE_F64;
        set_pair(&inputs, ELEMENTS, most, false);
        inputs.first.parameters = &one;
        CHECK_OK(redtune_reduce_input(rt, &problem, &inputs.first, &reading, &err), err);
        CHECK(fabs(reading.value.f64 - mean) < 1e-12);
        const double variance = (squares - sum * mean) / (ELEMENTS - 1);
        CHECK(fabs(reading.second.f64 - variance) < 1e-9 * variance);
    }
}

/* ---- in fixed order -------------------------------------------------------------------------- */

/* More elements than SLOTS pieces of a chunk have. */
enum { UNEVEN_MAX = 1100003 };
static float uneven[2][UNEVEN_MAX];

static redtune_status serve_uneven(void *user, void *buffer, size_t capacity, size_t *bytes,
                                   redtune_error *failure) {
    supply *self = user;
    uint64_t count = capacity / sizeof(float);
    (void)failure;
    if (count > self->count - self->served) count = self->count - self->served;
    if (self->most && count > self->most) count = self->most;
    memcpy(buffer, &uneven[self->input][self->served], count * sizeof(float));
    self->served += count;
    *bytes = count * sizeof(float);
    return REDTUNE_OK;
}

/* An input that has more than was expected comes in pieces, of `expected` elements at first. */
static void check_pieces(const char *op, uint64_t expected, uint64_t count, size_t most,
                         bool masked) {
    redtune_problem problem = problem_of(op, expected), resolved;
    redtune_reading reading;
    redtune_value wanted[2];
    pair inputs;
    problem.order = REDTUNE_ORDER_FIXED;
    set_pair(&inputs, count, most, !strcmp(op, "dot"));
    if (masked) set_masked_pair(&inputs, count, most);
    inputs.first.read = inputs.second.read = serve_uneven;
    CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
    if (masked) problem.mask = REDTUNE_MASK_BYTES;
    CHECK_OK(redtune_reduce_input(rt, &problem, &inputs.first, &reading, &err), err);
    CHECK(reading.pieces > 1);
    for (uint64_t k = 0; masked && k < count; k++) /* the identity at its own number */
        if (!is_there(k)) uneven[0][k] = uneven[1][k] = 0;
    rdt_order_reference_reduce(&resolved, uneven[0], uneven[1], count, wanted);
    check_that(reading.value.f32 == wanted[0].f32, __FILE__, __LINE__,
               "%s of %llu elements in %llu pieces is %.9g and should be %.9g", op,
               (unsigned long long)count, (unsigned long long)reading.pieces,
               (double)reading.value.f32, (double)wanted[0].f32);
    if (reading.second_dtype) CHECK(reading.second.f32 == wanted[1].f32);
}

FACT(pieces_have_the_bits_of_the_whole) {
    static const char *const ops[] = {"sum", "mean", "sum_sumsq", "var", "dot"};
    uint64_t state = 1;
    for (size_t i = 0; i < 2 * (size_t)UNEVEN_MAX; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uneven[i / UNEVEN_MAX][i % UNEVEN_MAX] =
            ldexpf((float)(int32_t)(state >> 32), -(int)(state >> 60));
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        check_pieces(ops[i], 1, 2049, 0, false);
        check_pieces(ops[i], 1500, 100003, 700, false);
    }
    check_pieces("sum", 7000, 300001, 12345, false);
    check_pieces("sum", 1, UNEVEN_MAX, 0, false);
    check_pieces("dot", 1500, 100003, 700, true);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void check_dots(uint64_t outer, uint64_t count, uint64_t inner, size_t most, bool pieces) {
    redtune_problem problem = problem_of("dot", count);
    redtune_reading reading;
    pair inputs;
    double *results = calloc(outer * inner, sizeof *results);
    problem.result = REDTUNE_F64;
    RESHAPE(&problem, outer, outer);
    RESHAPE(&problem, inner, inner);
    set_pair(&inputs, outer * count * inner, most, true);
    redtune_status status = redtune_reduce_array(rt, &problem, &inputs.first, results,
                                                 outer * inner * sizeof *results, &reading, &err);
    check_that(!status, __FILE__, __LINE__, "%s", err.message);
    for (uint64_t r = 0; !status && r < outer * inner; r++)
        check_that(results[r] == dot_of(r / inner * count * inner + r % inner, count, inner),
                   __FILE__, __LINE__, "dot %zu of %zu x %zu x %zu is wrong", (size_t)r,
                   (size_t)outer, (size_t)count, (size_t)inner);
    free(results);
    CHECK((!status && reading.pieces > 1) == pieces);
}

FACT(arrays_of_two_inputs_are_cut_alike) {
    const bool small = device_is_simulated(&gpu);
    check_dots(1, 900, 1, 0, false);
    check_dots(7, 90, 1, 31, false);
    check_dots(1, 40, 30, 0, false);
    check_dots(5, 40, 30, 100, false);
    check_dots(3000, 400, 1, 0, small);
    if (small) check_dots(2, 1500000, 1, 0, true); /* rows that do not fit */
}

FACT(second_results_lie_behind_the_first) {
    enum { ROWS = 7, COUNT = 50, SECOND = 32, BYTES = SECOND + ROWS * 8 };
    redtune_problem problem = problem_of("min_at", COUNT);
    unsigned char results[BYTES];
    redtune_reading reading;
    pair inputs;
    RESHAPE(&problem, outer, ROWS);
    set_pair(&inputs, ROWS * COUNT, 0, false);
    CHECK_FAILS(
        redtune_reduce_array(rt, &problem, &inputs.first, results, BYTES - 4, &reading, &err),
        REDTUNE_INVALID, err, "its 7 results of f32 and i64 take 88 bytes, not 84");
    CHECK_OK(redtune_reduce_array(rt, &problem, &inputs.first, results, BYTES, &reading, &err),
             err);
    for (uint64_t r = 0; r < ROWS; r++) {
        uint64_t lowest = 0;
        float least;
        int64_t at;
        for (uint64_t i = 0; i < COUNT; i++)
            if (element(0, r * COUNT + i) < element(0, r * COUNT + lowest)) lowest = i;
        memcpy(&least, results + r * sizeof least, sizeof least);
        memcpy(&at, results + SECOND + r * sizeof at, sizeof at);
        CHECK(least == element(0, r * COUNT + lowest));
        CHECK_INT(at, lowest);
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

enum { PARTS = 3 };

static void set_memory(const char *bytes) {
    simulator sim;
    if (simulator_find(&sim)) sim.set("REDTUNE_SIM_MEMORY", bytes);
}

/* Parts of so many elements, one behind the other, reduced side by side: that takes more memory,
 * and a redtune of its own gives all of it back. */
static redtune_status reduce_parts(const redtune_problem *problem, const uint64_t counts[PARTS],
                                   redtune_reading *out) {
    const redtune_options options = {.database = "/nowhere/tuning.db"};
    redtune *own = NULL;
    redtune_input inputs[PARTS] = {{NULL}};
    supply from[PARTS];
    uint64_t at = 0;
    for (int i = 0; i < PARTS; i++) {
        from[i] = (supply){0, at, at + counts[i], 0};
        inputs[i] = (redtune_input){.read = serve, .user = &from[i]};
        at += counts[i];
    }
    set_memory("80M");
    redtune_status status = redtune_open(&options, &own, &err);
    redtune *const rts[PARTS] = {own, own, own};
    if (!status) status = redtune_reduce_inputs(rts, problem, inputs, PARTS, out, &err);
    redtune_close(own);
    set_memory(getenv("REDTUNE_SIM_MEMORY"));
    return status;
}

FACT(parts_side_by_side_are_the_whole) {
    static const uint64_t counts[][PARTS] = {{10, 20, 30}, {1, 2, 500}, {1, 0, 0}, {0, 3, 1300}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint64_t all = counts[i][0] + counts[i][1] + counts[i][2];
        redtune_problem sum = problem_of("sum", 100), place = problem_of("argmax", 100);
        redtune_reading reading;
        double wanted = 0;
        uint64_t highest = 0;
        for (uint64_t k = 0; k < all; k++) {
            wanted += (double)element(0, k);
            if (element(0, k) > element(0, highest)) highest = k;
        }
        sum.result = REDTUNE_F64;
        CHECK_OK(reduce_parts(&sum, counts[i], &reading), err);
        CHECK(reading.value.f64 == wanted);
        CHECK_INT(reading.count, all);
        CHECK_OK(reduce_parts(&place, counts[i], &reading), err);
        CHECK_INT(reading.value.i64, highest);
    }
}

/* Each but the last that has elements must be the same node of the tree. */
FACT(parts_in_fixed_order_are_nodes) {
    static const struct {
        uint64_t counts[PARTS];
        bool fit;
    } parts[] = {{{1024, 1024, 1024}, true},  {{2048, 2048, 5}, true},     {{1024, 7, 0}, true},
                 {{5000, 0, 0}, true},        {{1024, 1024, 1025}, false}, {{1024, 1025, 0}, false},
                 {{1024, 2048, 5}, false},    {{2048, 1024, 5}, false},    {{3072, 3072, 5}, false},
                 {{1000, 1000, 1000}, false}, {{0, 1024, 1024}, false},    {{1024, 0, 5}, false}};
    redtune_problem problem = problem_of("sum", 100);
    problem.order = REDTUNE_ORDER_FIXED;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        redtune_reading reading;
        const redtune_status status = reduce_parts(&problem, parts[i].counts, &reading);
        check_that(status == (parts[i].fit ? REDTUNE_OK : REDTUNE_UNSUPPORTED), __FILE__, __LINE__,
                   "parts %zu: %s", i, redtune_status_name(status));
    }
    CHECK_CONTAINS(err.message, "the same power of two of chunks of 1024 elements");
}

/* ---- segments -------------------------------------------------------------------------------- */

/* On the simulated GPU more segments than a piece has, one that is longer than a piece, and some
 * more. */
enum { PIECE_SEGMENTS = 400000, LONG_ELEMENTS = 2000000, SEGMENTS = PIECE_SEGMENTS + 100 };

static uint64_t segment_length(uint64_t i) {
    return i == PIECE_SEGMENTS ? LONG_ELEMENTS : i < PIECE_SEGMENTS ? i % 3 : i % 500;
}

/* Elements stand before the first segment and behind the last. */
static void check_segments(const char *op, const uint64_t *offsets, float *results,
                           int64_t *places) {
    redtune_problem problem = problem_of(op, 0);
    const uint64_t count = offsets[SEGMENTS] + 10;
    redtune_reading reading;
    pair inputs;
    RESHAPE(&problem, outer, SEGMENTS);
    problem.segmented = REDTUNE_SEGMENTED_EACH;
    set_pair(&inputs, count, 0, false);
    CHECK_OK(redtune_reduce_segments_input(rt, &problem, &inputs.first, offsets, results,
                                           (size_t)((char *)(places + SEGMENTS) - (char *)results),
                                           &reading, &err),
             err);
    CHECK_INT(reading.count, count);
    CHECK(reading.pieces > (device_is_simulated(&gpu) ? 3 : 0));
    for (uint64_t i = 0; i < SEGMENTS && !check_state.failed; i++) {
        uint64_t lowest = offsets[i];
        for (uint64_t k = lowest; k < offsets[i + 1]; k++)
            if (element(0, k) < element(0, lowest)) lowest = k;
        if (lowest == offsets[i + 1]) continue;
        check_that(results[i] == element(0, lowest), __FILE__, __LINE__,
                   "the least of segment %zu is %g", (size_t)i, (double)results[i]);
        check_that((uint64_t)places[i] == lowest - offsets[i], __FILE__, __LINE__,
                   "the least of segment %zu is element %lld of it", (size_t)i,
                   (long long)places[i]);
    }
}

FACT(segments_come_in_pieces) {
    static uint64_t offsets[SEGMENTS + 1];
    static struct {
        float least[SEGMENTS];
        int64_t place[SEGMENTS]; /* from a multiple of 16 bytes on */
    } results;
    offsets[0] = 7;
    for (uint64_t i = 0; i < SEGMENTS; i++) offsets[i + 1] = offsets[i] + segment_length(i);
    check_segments("min_at", offsets, results.least, results.place);
}

/* The second of three segments is longer than a piece, as pieces are on the simulated GPU. */
FACT(long_segments_of_masked_pairs_come_in_pieces) {
    static const uint64_t lengths[] = {570000, LONG_ELEMENTS};
    for (int i = 0; i < 2 && !check_state.failed; i++) {
        const uint64_t offsets[] = {0, 50, 50 + lengths[i], 90 + lengths[i]};
        redtune_problem problem = problem_of("dot", 0);
        redtune_reading reading;
        pair inputs;
        double got[3] = {77, 77, 77};
        RESHAPE(&problem, outer, 3);
        problem.segmented = REDTUNE_SEGMENTED_EACH;
        problem.result = REDTUNE_F64;
        problem.mask = REDTUNE_MASK_BYTES;
        set_masked_pair(&inputs, offsets[3], 0);
        CHECK_OK(redtune_reduce_segments_input(rt, &problem, &inputs.first, offsets, got,
                                               sizeof got, &reading, &err),
                 err);
        if (i && device_is_simulated(&gpu)) CHECK(reading.pieces > 3);
        for (int s = 0; s < 3; s++) CHECK(got[s] == masked_dot_of(offsets[s], offsets[s + 1]));
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

FACT(inputs_of_other_lengths_are_refused) {
    const redtune_problem problem = problem_of("dot", 0);
    redtune_reading reading = {.count = 77};
    pair inputs;
    set_pair(&inputs, 1000, 300, true);
    inputs.from[1].count = 999;
    CHECK_FAILS(redtune_reduce_input(rt, &problem, &inputs.first, &reading, &err), REDTUNE_INVALID,
                err, "the second ends after 999 elements, where the first goes on");
    set_pair(&inputs, 1000, 300, true);
    inputs.from[1].count = 1001;
    CHECK_FAILS(redtune_reduce_input(rt, &problem, &inputs.first, &reading, &err), REDTUNE_INVALID,
                err, "the first ends after 1000 elements, where the second goes on");
    CHECK_INT(reading.count, 77);
}

FACT(inputs_and_parameters_that_are_none_of_the_ops_are_refused) {
    const redtune_problem dot = problem_of("dot", 10);
    redtune_problem sum = problem_of("sum", 10);
    const double one = 1;
    redtune_reading reading;
    float result;
    pair inputs;
    set_pair(&inputs, 10, 0, false);
    CHECK_FAILS(redtune_reduce_input(rt, &dot, &inputs.first, &reading, &err), REDTUNE_INVALID, err,
                "input->second is NULL, and it has two inputs");
    inputs.first.parameters = &one;
    CHECK_FAILS(redtune_reduce_input(rt, &sum, &inputs.first, &reading, &err), REDTUNE_INVALID, err,
                "parameters are given, and it has none");
    const double nan = NAN;
    const redtune_problem var = problem_of("var", 10);
    set_pair(&inputs, 10, 0, false);
    inputs.first.parameters = &nan;
    CHECK_FAILS(redtune_reduce_input(rt, &var, &inputs.first, &reading, &err), REDTUNE_INVALID, err,
                "cannot compute the var with ddof=nan: give a number");
    CHECK_FAILS(redtune_reduce_array(rt, &var, &inputs.first, &result, 4, &reading, &err),
                REDTUNE_INVALID, err, "ddof=nan");
    set_pair(&inputs, 10, 0, true);
    CHECK_FAILS(redtune_reduce_array(rt, &sum, &inputs.first, &result, 4, &reading, &err),
                REDTUNE_INVALID, err, "input->second is not NULL, and it has one input");
    inputs.second.read = NULL;
    CHECK_FAILS(redtune_reduce_input(rt, &dot, &inputs.first, &reading, &err), REDTUNE_INVALID, err,
                "the second's read is NULL");
    inputs.second.read = serve;
    inputs.second.parameters = &one;
    CHECK_FAILS(redtune_reduce_input(rt, &dot, &inputs.first, &reading, &err), REDTUNE_INVALID, err,
                "parameters and initial must be NULL");
    set_pair(&inputs, 10, 0, false);
    sum.uses = REDTUNE_USE_ACCUMULATE;
    CHECK_FAILS(redtune_reduce_input(rt, &sum, &inputs.first, &reading, &err), REDTUNE_UNSUPPORTED,
                err, "problem.uses");
}

int main(int argc, char **argv) {
    setenv("REDTUNE_SIM_MEMORY", "20M", 0); /* what inputs are cut by */
    const redtune_options options = {.database = "/nowhere/tuning.db"};
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = redtune_open(&options, &rt, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    redtune_close(rt);
    device_close(&gpu);
    return rc;
}
