/* Facts about arrays that are not on the GPU, by redtune_reduce_array. On the simulated GPU, which
 * has a few MB of memory here, they take several pieces. */
#include "check.h"
#include "device.h"
#include "reference.h"
#include "shaped.h"

static redtune_error err;
static device gpu;
static redtune *rt;

/* Element k of every array. */
static int16_t element(uint64_t k) { return (int16_t)((int)(k * 7919 % 2003) - 1000); }

typedef struct supply {
    uint64_t served, count; /* of the elements that there are */
    size_t most;            /* elements at a time */
} supply;

static redtune_status serve(void *user, void *buffer, size_t capacity, size_t *bytes,
                            redtune_error *failure) {
    supply *self = user;
    uint64_t count = capacity / sizeof(int16_t);
    (void)failure;
    if (count > self->count - self->served) count = self->count - self->served;
    if (self->most && count > self->most) count = self->most;
    for (uint64_t i = 0; i < count; i++) ((int16_t *)buffer)[i] = element(self->served + i);
    self->served += count;
    *bytes = count * sizeof(int16_t);
    return REDTUNE_OK;
}

static uint64_t span_of(const rdt_extents *at) {
    return at->count ? (at->outer - 1) * at->outer_step + (at->count - 1) * at->step + at->inner
                     : 0;
}

/* Fails the fact unless the results are those of the elements. */
static void check_results(const redtune_problem *problem, const unsigned char *results) {
    const rdt_extents at = rdt_problem_extents(problem);
    const size_t bytes = redtune_dtype_bytes(problem->result);
    int16_t *column = malloc((at.count + 1) * sizeof *column);
    bool same = true;
    for (uint64_t r = 0; column && same && r < at.outer * at.inner; r++) {
        rdt_reference wanted;
        for (uint64_t e = 0; e < at.count; e++)
            column[e] = element(r / at.inner * at.outer_step + e * at.step + r % at.inner);
        rdt_reference_reduce(problem, column, at.count, &wanted);
        same = !memcmp(results + r * bytes, wanted.value.bytes, bytes);
        check_that(same, __FILE__, __LINE__, "%s %zu of %zu x %zu x %zu is wrong",
                   redtune_op_name(problem->op), (size_t)r, (size_t)at.outer, (size_t)at.count,
                   (size_t)at.inner);
    }
    free(column);
}

/* Reduces the array and checks its results; gives the number of pieces, 0 where it failed. */
static uint64_t reduce(redtune_problem problem, size_t most) {
    redtune_reading reading = {.pieces = 0};
    redtune_status status = rdt_problem_resolve(&problem, &problem, &err);
    const rdt_extents at = rdt_problem_extents(&problem);
    const size_t bytes = at.outer * at.inner * redtune_dtype_bytes(problem.result);
    unsigned char *results = malloc(bytes);
    supply from = {.count = span_of(&at), .most = most};
    const redtune_input input = {serve, &from};
    if (!status)
        status = redtune_reduce_array(rt, &problem, &input, results, bytes, &reading, &err);
    check_that(!status, __FILE__, __LINE__, "%s", err.message);
    if (!status) check_results(&problem, results);
    check_that(status || reading.count == from.count, __FILE__, __LINE__, "%zu elements are read",
               (size_t)reading.count);
    free(results);
    return status ? 0 : reading.pieces;
}

static redtune_problem problem_of(redtune_op op, uint64_t outer, uint64_t count, uint64_t inner,
                                  uint64_t outer_step, uint64_t step) {
    return PROBLEM(.op = op, .dtype = REDTUNE_I16, .count = count, .outer = outer, .inner = inner,
                   .outer_step = outer_step, .step = step);
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(arrays_of_any_extents_are_reduced) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_ARGMAX, REDTUNE_MEAN, REDTUNE_MIN};
    static const struct {
        uint64_t outer, count, inner, outer_step, step;
    } shapes[] = {{1, 1000, 1, 0, 0},   {7, 33, 1, 0, 0},   {7, 33, 1, 40, 0}, {1, 50, 9, 0, 0},
                  {6, 50, 9, 0, 0},     {6, 50, 9, 500, 0}, {6, 5, 9, 70, 13}, {4, 10, 1, 30, 3},
                  {3, 20, 4, 1000, 11}, {300, 1, 1, 0, 0},  {1, 1, 300, 0, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t op = 0; op < sizeof ops / sizeof *ops; op++)
            for (size_t most = 0; most < 2; most++) {
                const uint64_t pieces =
                    reduce(problem_of(ops[op], shapes[i].outer, shapes[i].count, shapes[i].inner,
                                      shapes[i].outer_step, shapes[i].step),
                           most ? 13 : 0);
                CHECK_INT(pieces, 1);
            }
}

FACT(arrays_without_elements_give_what_the_op_says) {
    CHECK_INT(reduce(problem_of(REDTUNE_SUM, 5, 0, 1, 0, 0), 0), 1);
    CHECK_INT(reduce(problem_of(REDTUNE_ANY, 1, 0, 5, 0, 0), 0), 1);
}

FACT(larger_ones_go_in_pieces_of_outer_indices) {
    const bool small = device_is_simulated(&gpu);
    CHECK((reduce(problem_of(REDTUNE_SUM, 8000, 700, 1, 0, 0), 0) > 1) == small);
    CHECK((reduce(problem_of(REDTUNE_MAX, 7000, 700, 1, 801, 0), 4001) > 1) == small);
    CHECK((reduce(problem_of(REDTUNE_ARGMIN, 260, 300, 70, 0, 0), 0) > 1) == small);
    /* More bytes of results than of elements. */
    CHECK((reduce(problem_of(REDTUNE_SUM, 1200000, 1, 1, 0, 0), 0) > 1) == small);
}

/* On the simulated GPU 32 MiB lie between two rows, more than it has room for. */
FACT(gaps_need_no_memory) {
    const uint64_t pieces = reduce(problem_of(REDTUNE_SUM, 3, 10, 1, 16 << 20, 0), 0);
    if (device_is_simulated(&gpu)) CHECK_INT(pieces, 3);
    CHECK(pieces > 0);
}

FACT(rows_that_do_not_fit_are_combined) {
    if (!device_is_simulated(&gpu)) SKIP("the GPU's memory holds any row of a test");
    CHECK(reduce(problem_of(REDTUNE_SUM, 2, 6000000, 1, 0, 0), 0) > 2);
    CHECK(reduce(problem_of(REDTUNE_ARGMAX, 2, 6000000, 1, 6003001, 0), 70001) > 2);
}

FACT(columns_that_do_not_fit_go_on_from_piece_to_piece) {
    if (!device_is_simulated(&gpu)) SKIP("the GPU's memory holds any array of a test");
    CHECK(reduce(problem_of(REDTUNE_SUM, 2, 6000, 1000, 0, 0), 0) > 2);
    CHECK(reduce(problem_of(REDTUNE_MAX, 2, 6001, 999, 6003000, 1000), 70001) > 2);
    /* A row and what follows it are more than there is room for. */
    CHECK_INT(reduce(problem_of(REDTUNE_SUM, 1, 3, 10, 0, 16 << 20), 0), 3);
}

static void check_refused(redtune_problem problem, const char *bytes, const char *what) {
    static int64_t results[1200000];
    redtune_reading reading = {.count = 77};
    const uint64_t outer = shaped_of(&problem).outer, inner = shaped_of(&problem).inner;
    const size_t size = (outer ? outer : 1) * (inner ? inner : 1) * sizeof *results;
    supply from = {.count = UINT64_MAX};
    const redtune_input input = {serve, &from};
    CHECK_FAILS(redtune_reduce_array(rt, &problem, &input, results, size, &reading, &err),
                REDTUNE_UNSUPPORTED, err, bytes);
    CHECK_CONTAINS(err.message, what);
    CHECK_CONTAINS(err.message, "cut the array along its last axis");
    CHECK_INT(reading.count, 77);
    CHECK_INT(from.served, 0);
}

/* An index does not say what else it was found among. */
FACT(other_columns_that_do_not_fit_are_refused) {
    if (!device_is_simulated(&gpu)) SKIP("the GPU's memory holds any array of a test");
    check_refused(problem_of(REDTUNE_ARGMIN, 2, 6000, 1000, 0, 0), "take 12008000 bytes of the GPU",
                  "argmin of 2 x 6000 x 1000 i16 along axis 1");
    /* Nor a compensated sum what was lost. */
    redtune_problem compensated = problem_of(REDTUNE_SUM, 2, 6000, 1000, 0, 0);
    compensated.dtype = REDTUNE_F64;
    compensated.accuracy = REDTUNE_ACCURACY_COMPENSATED;
    check_refused(compensated, "take 48008000 bytes of the GPU", "compensated sum of");
    /* Going on from one piece to the next is not the fixed order. */
    redtune_problem fixed = problem_of(REDTUNE_SUM, 2, 6000, 1000, 0, 0);
    fixed.dtype = REDTUNE_F64;
    fixed.order = REDTUNE_ORDER_FIXED;
    check_refused(fixed, "take 48008000 bytes of the GPU", "in fixed order");
    /* Rows that overlap do not come one after the other. */
    check_refused(problem_of(REDTUNE_SUM, 1, 6000000, 2, 0, 1), "bytes of the GPU's memory",
                  "sum of");
    /* One row alone. */
    check_refused(problem_of(REDTUNE_SUM, 1, 2, 1200000, 0, 0), "take 12000000 bytes of the GPU",
                  "sum of 2 x 1200000 i16 along axis 0");
}

/* Of axes that are neither rows nor columns, the elements of a result one after the other. */
static bool is_right_along_axes(const redtune_problem *problem, int64_t first, uint64_t r,
                                int64_t got) {
    const bool places = problem->op == REDTUNE_ARGMAX;
    int64_t origin = first, sum = 0, best = INT64_MIN, place = -1, number = 0;
    for (uint32_t i = problem->kept_axes; i-- > 0; r /= problem->kept[i].size)
        origin += (int64_t)(r % problem->kept[i].size) * problem->kept[i].step[0];
    const redtune_axis *axes = problem->reduced;
    for (uint64_t a = 0; a < axes[0].size; a++)
        for (uint64_t b = 0; b < axes[1].size; b++, number++) {
            const int64_t x = element(
                (uint64_t)(origin + (int64_t)a * axes[0].step[0] + (int64_t)b * axes[1].step[0]));
            sum += x;
            if (x > best) best = x, place = number;
        }
    return got == (places ? place : sum);
}

/* Those of the last column are pieces on the simulated GPU: of the batch, whose results go on; of a
 * kept axis; of both; and from the end. Places do not go on. */
FACT(arrays_of_any_axes_are_reduced) {
    enum { KEPT_AROUND = 1, BACKWARDS = 2 };
    static const struct {
        uint64_t batch, channels, pixels;
        redtune_op op;
        int form;
        uint64_t pieces; /* at least; 0: it is refused */
    } cases[] = {
        {4, 3, 50, REDTUNE_SUM, 0, 1},
        {4, 3, 50, REDTUNE_ARGMAX, 0, 1},
        {4, 3, 50, REDTUNE_SUM, BACKWARDS, 1},
        {40, 3, 50000, REDTUNE_SUM, 0, 2},
        {40, 3, 50000, REDTUNE_SUM, BACKWARDS, 2},
        {2, 3, 1500000, REDTUNE_SUM, 0, 3},
        {40, 3, 50000, REDTUNE_ARGMAX, KEPT_AROUND, 2},
        {40, 3, 50000, REDTUNE_ARGMAX, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t pixels = (int64_t)cases[i].pixels, channels = (int64_t)cases[i].channels;
        const bool around = cases[i].form == KEPT_AROUND;
        const uint64_t count = cases[i].batch * cases[i].channels * cases[i].pixels;
        int64_t results[200], first = 0;
        redtune_problem p = {
            .op = cases[i].op,
            .dtype = REDTUNE_I16,
            .steps = 1,
            .kept_axes = around ? 2 : 1,
            .reduced_axes = 2,
            .kept = {{cases[i].channels, {pixels}}},
            .reduced = {{cases[i].batch, {channels * pixels}}, {cases[i].pixels, {1}}}};
        if (around) { /* the batch and half of the pixels stay */
            p.kept[0] = p.reduced[0];
            p.kept[1] = (redtune_axis){2, {1}};
            p.reduced[0] = (redtune_axis){cases[i].channels, {pixels}};
            p.reduced[1] = (redtune_axis){cases[i].pixels / 2, {2}};
        }
        if (cases[i].form == BACKWARDS) {
            first = (int64_t)(cases[i].batch - 1) * p.reduced[0].step[0];
            p.reduced[0].step[0] *= -1;
        }
        supply from = {.count = count};
        const redtune_input input = {serve, &from};
        redtune_reading reading = {.pieces = 0};
        const uint64_t many = p.kept[0].size * (around ? 2 : 1);
        redtune_status status =
            redtune_reduce_array(rt, &p, &input, results, many * 8, &reading, &err);
        if (!cases[i].pieces && device_is_simulated(&gpu)) {
            CHECK_INT(status, REDTUNE_UNSUPPORTED);
            CHECK_CONTAINS(err.message, "cut the array along its kept axes");
            CHECK_INT(from.served, 0);
            continue;
        }
        CHECK_OK(status, err);
        CHECK_INT(from.served, count);
        if (device_is_simulated(&gpu)) CHECK(reading.pieces >= cases[i].pieces);
        for (uint64_t r = 0; r < many; r++)
            check_that(is_right_along_axes(&p, first, r, results[r]), __FILE__, __LINE__,
                       "result %d of case %d is wrong", (int)r, (int)i);
    }
}

FACT(what_makes_no_sense_is_refused) {
    redtune_problem problem = problem_of(REDTUNE_SUM, 4, 10, 1, 0, 0);
    int64_t results[4];
    redtune_reading reading;
    supply from = {.count = 39};
    redtune_input input = {serve, &from};
    CHECK_FAILS(redtune_reduce_array(rt, &problem, &input, results, 31, &reading, &err),
                REDTUNE_INVALID, err, "its 4 results of i64 take 32 bytes, not 31");
    CHECK_FAILS(redtune_reduce_array(rt, &problem, &input, results, 32, &reading, &err),
                REDTUNE_INVALID, err, "its input ends after 39 elements, of 40");
    RESHAPE(&problem, outer_step, 9);
    CHECK_FAILS(redtune_reduce_array(rt, &problem, &input, results, 32, &reading, &err),
                REDTUNE_UNSUPPORTED, err, "its outer indices overlap (outer_step 9, of 10");
    CHECK_FAILS(redtune_reduce_array(rt, &problem, NULL, results, 32, &reading, &err),
                REDTUNE_INVALID, err, "NULL");
    CHECK_FAILS(redtune_reduce_array(rt, NULL, &input, results, 32, &reading, &err),
                REDTUNE_INVALID, err, "problem is NULL");
    input.reserved[0] = 1;
    CHECK_FAILS(redtune_reduce_array(rt, &problem, &input, results, 32, &reading, &err),
                REDTUNE_UNSUPPORTED, err, "redtune_input");
}

int main(int argc, char **argv) {
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
