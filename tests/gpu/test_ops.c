/* Facts about every op of every dtype on a GPU, through the built-in defaults: results in each
 * dtype that may be asked for, and inputs that are reduced in pieces. */
#include "check.h"
#include "fold.h"
#include "model/scalar.h"
#include "subject.h"
#include "tuner/measure/test_data.h"
#include "shaped.h"

static redtune_error err;
static device gpu;

/* ---- results in other dtypes --------------------------------------------------------------- */

static const uint64_t counts[] = {0, 1, 33, 4097, 65537};
enum { COUNTS = sizeof counts / sizeof *counts, COUNT_MAX = 65537 };

static void check_result(subject *self) {
    rdt_test_data *pattern = NULL;
    rdt_buffer input = {0};
    redtune_value got[2 * COUNTS];
    size_t element = self->element_bytes;
    CHECK_OK(rdt_test_data_create(&self->problem, COUNT_MAX, &pattern, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, COUNT_MAX * element, &input, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, input.address, pattern->elements, COUNT_MAX * element,
                              gpu.stream, &err),
             err);
    for (uint64_t i = 0; i < 2 * COUNTS; i++) {
        uint64_t offset = i % 2 && counts[i / 2] ? 1 : 0;
        CHECK_OK(
            subject_queue(self, input.address + offset * element, counts[i / 2] - offset, &err),
            err);
    }
    CHECK_OK(subject_read(self, got, &err), err);
    for (uint64_t i = 0; i < 2 * COUNTS; i++) {
        rdt_reference wanted;
        uint64_t offset = i % 2 && counts[i / 2] ? 1 : 0, count = counts[i / 2] - offset;
        rdt_reference_reduce(&self->problem, (char *)pattern->elements + offset * element, count,
                             &wanted);
        subject_same(self, count, &got[i], &wanted.value, "at offset %llu",
                     (unsigned long long)offset);
    }
    rdt_buffer_destroy(&input);
    rdt_test_data_destroy(pattern);
}

/* How many there were of the ops behind those of tests/reference.h, of usual results and of others.
 */
typedef struct turns {
    size_t other_op, usual, other_result;
} turns;

/* Whether a device tries the problem: a simulated one takes one in usual_one_of of the usual
 * results, and fewer of the rest. */
static bool is_sampled(const redtune_problem *problem, turns *at, size_t usual_one_of) {
    const bool known = (int)problem->op < RDT_REFERENCE_OPS;
    const redtune_dtype usual =
        rdt_problem_result_usual(rdt_op_find(problem->op), 0, rdt_dtype_find(problem->dtype));
    const bool good = !known                     ? at->other_op++ % 16 == 0
                      : problem->result == usual ? at->usual++ % usual_one_of == 0
                                                 : at->other_result++ % 7 == 0;
    return good || !device_is_simulated(&gpu);
}

/* Runs the fact for every op that tests/reference.h has, dtype and result, with the default config;
 * test_results.c has the other ops. */
static void for_each_problem(void (*fact)(subject *self)) {
    workshop shop;
    turns at = {0};
    size_t tried = 0;
    CHECK_OK(workshop_open(&gpu, &shop, &err), err);
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op < &rdt_op_compiled_in.entry[RDT_REFERENCE_OPS]; op++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
            for (int result = REDTUNE_I8; result < REDTUNE_DTYPE_END; result++) {
                redtune_problem problem =
                    PROBLEM(op->op, dtype->dtype, (redtune_dtype)result, .count = COUNT_MAX);
                subject self;
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                if (!is_sampled(&problem, &at, 1) || !subject_is_of_part(tried++)) continue;
                CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
                fact(&self);
                subject_close(&self);
            }
    printf("%s: %zu kernels\n", check_state.fact, tried);
    workshop_close(&shop);
}

FACT(results_are_converted_as_asked) { for_each_problem(check_result); }

/* ---- inputs in pieces ---------------------------------------------------------------------- */

typedef struct supply {
    const char *elements;
    size_t element_bytes;
    uint64_t left, turn;
} supply;

/* Pieces of changing lengths. */
static redtune_status serve(void *user, void *buffer, size_t capacity, size_t *bytes,
                            redtune_error *failure) {
    (void)failure;
    supply *self = user;
    static const uint64_t lengths[] = {1, 700, 2, 4095, 33, 1024};
    uint64_t count = lengths[self->turn++ % 6];
    if (count > capacity / self->element_bytes) count = capacity / self->element_bytes;
    if (count > self->left) count = self->left;
    memcpy(buffer, self->elements, count * self->element_bytes);
    self->elements += count * self->element_bytes;
    self->left -= count;
    *bytes = count * self->element_bytes;
    return REDTUNE_OK;
}

static void check_reading(const redtune_problem *problem, const redtune_reading *reading,
                          const results *right, uint64_t length) {
    const redtune_value *got[] = {&reading->value, &reading->second};
    CHECK_INT(reading->count, length);
    CHECK_INT(reading->dtype, problem->result);
    CHECK_INT(reading->second_dtype, rdt_problem_second(problem));
    for (int k = 0; k < rdt_op_find(problem->op)->outputs; k++)
        check_that(results_same(problem, k, got[k], right, length), __FILE__, __LINE__,
                   "%s of %s into %s of %llu elements in %llu pieces: result %d is wrong",
                   redtune_op_name(problem->op), redtune_dtype_name(problem->dtype),
                   redtune_dtype_name(problem->result), (unsigned long long)length,
                   (unsigned long long)reading->pieces, k);
}

/* With the results of all ops over the pieces' own results known on the host, this is about what
 * joins them: indices, NaN, division, conversion. On a simulated device the kernels are light. */
static void check_input(redtune *rt, const redtune_problem *problem) {
    static const uint64_t lengths[] = {0, 1, 20000};
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    rdt_test_data *pattern = NULL;
    CHECK_OK(rdt_test_data_create(problem, COUNT_MAX, &pattern, &err), err);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const results_input of = {pattern->elements, pattern->second, lengths[i], NULL};
        supply from[] = {{pattern->elements, bytes, lengths[i], 0},
                         {pattern->second, bytes, lengths[i], 3 /* pieces of other lengths */}};
        redtune_input second = {serve, &from[1]}, input = {serve, &from[0]};
        redtune_reading reading;
        results right;
        if (pattern->second) input.second = &second;
        CHECK_OK(redtune_reduce_input(rt, problem, &input, &reading, &err), err);
        results_reduce(problem, &of, &right);
        check_reading(problem, &reading, &right, lengths[i]);
    }
    rdt_test_data_destroy(pattern);
}

/* What joins pieces is an op's own: on a simulated device, of few dtypes each. */
FACT(inputs_in_pieces_give_the_value_of_the_whole) {
    redtune *rt = NULL;
    turns at = {0};
    size_t tried = 0;
    const redtune_options options = {.device = getenv("REDTUNE_TEST_DEVICE"),
                                     .database = "/nowhere/at/all.db"};
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    for (int op = 0; op < rdt_op_compiled_in.count; op++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
            for (int result = REDTUNE_I8; result < REDTUNE_DTYPE_END; result++) {
                redtune_problem problem = redtune_problem_whole((redtune_op)op, dtype->dtype, 5000);
                problem.result = (redtune_dtype)result;
                problem.config = device_is_simulated(&gpu) ? "vec=1,unroll=1" : NULL;
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                if (!is_sampled(&problem, &at, 3) || !subject_is_of_part(tried++)) continue;
                check_input(rt, &problem);
            }
    printf("%s: %zu problems\n", check_state.fact, tried);
    redtune_close(rt);
}

int main(int argc, char **argv) { return subject_run(&gpu, NULL, argc, argv); }
