/* Facts about every kernel of the covering set on a GPU: exact results at all counts around the
 * boundaries, from every element-aligned start, no element missed or taken twice, nothing read
 * outside the input. */
#include "check.h"
#include "exact.h"
#include "model/scalar.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

static redtune_error err;
static device gpu;

/* ---- exact results --------------------------------------------------------------------------- */

static const uint64_t counts[] = {0, 1, 31, 32, 33, 255, 256, 257, 4095, 4097, 65537};
enum { COUNTS = sizeof counts / sizeof *counts, COUNT_MAX = 65537, OFFSET_MAX = 16 };

/* What the elements are: a pattern whose result is exact, and the two ends of an integer's range,
 * where sums of a few bits would overflow. */
typedef enum content { PATTERN, LEAST, GREATEST, CONTENTS } content;

static bool has_content(const redtune_problem *problem, content each) {
    return each == PATTERN || (!rdt_scalar_is_float(problem->dtype) &&
                               !rdt_scalar_is_float(rdt_problem_accumulator(problem)));
}

/* Elements of each input from OFFSET_MAX on; before them, deciders. */
static uint64_t room[RDT_OP_INPUTS_MAX][OFFSET_MAX + COUNT_MAX];

static const char *first_of(const subject *self, int input) {
    return (const char *)room[input] + OFFSET_MAX * self->element_bytes;
}

static void check_results(const subject *self, uint64_t count, const uint64_t offset[],
                          const redtune_value *got) {
    const rdt_op_traits *op = rdt_op_find(self->problem.op);
    const results_input input = {first_of(self, 0), first_of(self, 1), count, NULL};
    results right;
    results_reduce(&self->problem, &input, &right);
    for (int k = 0; k < op->outputs; k++) {
        rdt_text wrong = {0};
        subject_compare_exact(self, k, &got[k], &right, count, &wrong);
        check_that(!wrong.data, __FILE__, __LINE__,
                   "%s: of %llu elements at offsets %llu and %llu, result %d: %s", self->name,
                   (unsigned long long)count, (unsigned long long)offset[0],
                   (unsigned long long)offset[1], k, wrong.data ? wrong.data : "");
        rdt_text_free(&wrong);
    }
}

/* Each input ends where its allocation ends, so that a checker of memory accesses finds a read
 * behind it; what lies before it decides, if it is taken. */
static void check_inputs(subject *self, uint64_t count, const uint64_t offset[]) {
    const size_t element = self->element_bytes;
    rdt_buffer buffer[RDT_OP_INPUTS_MAX] = {{0}};
    CUdeviceptr first[RDT_OP_INPUTS_MAX] = {0};
    redtune_value got[RDT_OP_OUTPUTS_MAX];
    for (int i = 0; i < rdt_op_find(self->problem.op)->inputs; i++) {
        const size_t bytes = (offset[i] + count) * element;
        CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &buffer[i], &err), err);
        CHECK_OK(rdt_buffer_write(gpu.driver, buffer[i].address,
                                  first_of(self, i) - offset[i] * element, bytes, gpu.stream, &err),
                 err);
        first[i] = buffer[i].address + offset[i] * element;
    }
    CHECK_OK(subject_reduce_all(self, first, count, got, &err), err);
    check_results(self, count, offset, got);
    for (int i = 0; i < RDT_OP_INPUTS_MAX; i++) rdt_buffer_destroy(&buffer[i]);
}

/* The second input is aligned as the first one is, or otherwise. */
static void check_input(subject *self, uint64_t count, uint64_t offset) {
    const uint64_t next = (offset + 1) % (OFFSET_MAX / self->element_bytes);
    check_inputs(self, count, (const uint64_t[]){offset, count % 2 ? next : offset});
}

static void fill(const redtune_problem *problem, content each, const rdt_test_data *data) {
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    const uint64_t top = UINT64_C(1) << (8 * bytes - 1);
    const bool has_sign = rdt_scalar_is_signed(problem->dtype);
    const uint64_t end = each == LEAST ? (has_sign ? top : 0) : (has_sign ? top - 1 : UINT64_MAX);
    const redtune_value value = rdt_scalar_from_bits(problem->dtype, end);
    const redtune_value around[] = {rdt_test_data_decider(problem),
                                    rdt_test_data_opposite(problem)};
    const char *pattern[] = {data->elements, data->second};
    for (int k = 0; k < rdt_op_find(problem->op)->inputs; k++) {
        char *to = (char *)room[k];
        for (uint64_t i = 0; i < OFFSET_MAX; i++) memcpy(to + i * bytes, around[k].bytes, bytes);
        for (uint64_t i = 0; i < COUNT_MAX; i++)
            memcpy(to + (OFFSET_MAX + i) * bytes,
                   each == PATTERN ? pattern[k] + i * bytes : (const char *)value.bytes, bytes);
    }
}

static void check_counts(subject *self) {
    rdt_test_data *data = NULL;
    uint64_t offsets = device_is_simulated(&gpu) ? 2 : OFFSET_MAX / self->element_bytes;
    CHECK_OK(rdt_test_data_create(&self->problem, COUNT_MAX, &data, &err), err);
    for (int each = 0; each < CONTENTS; each++) {
        if (!has_content(&self->problem, (content)each)) continue;
        fill(&self->problem, (content)each, data);
        for (size_t i = 0; i < COUNTS && !check_state.failed; i++)
            for (uint64_t offset = 0; offset < (each == PATTERN ? offsets : 2); offset++)
                check_input(self, counts[i], offset);
    }
    rdt_test_data_destroy(data);
}

/* All; on a simulated device tests/sweep has the others, under more checks. */
static int op_count(void) {
    return gpu.context && device_is_simulated(&gpu) ? RDT_REFERENCE_OPS : 0;
}

/* Little enough for a tool that checks every access. */
static void check_few(subject *self) {
    static const uint64_t few[] = {1, 4097, COUNT_MAX};
    rdt_test_data *data = NULL;
    CHECK_OK(rdt_test_data_create(&self->problem, COUNT_MAX, &data, &err), err);
    fill(&self->problem, PATTERN, data);
    for (size_t i = 0; i < sizeof few / sizeof *few && !check_state.failed; i++)
        check_input(self, few[i], i % 2);
    rdt_test_data_destroy(data);
}

FACT(few_results_are_exact) { subject_for_each(&gpu, op_count(), check_few); }

FACT(results_are_exact_at_every_count_and_offset) {
    subject_for_each(&gpu, op_count(), check_counts);
}

/* ---- one element decides --------------------------------------------------------------------- */

/* Where the deciding element stands: everywhere in the first two tiles if they are small, else
 * around every boundary and here and there; and around every boundary of the grid. */
static bool is_tried(const subject *self, uint64_t at, uint64_t count) {
    const uint64_t every[] = {self->launch.tile,
                              (uint64_t)self->launch.tile * self->launch.blocks_max};
    const uint64_t early[] = {32, self->launch.threads, self->launch.threads * (uint64_t)self->vec};
    bool simulated = device_is_simulated(&gpu);
    uint64_t sweep = simulated ? 40 : 16384;
    if (at < 2 * (uint64_t)self->launch.tile && at < sweep) return true;
    if (at < 3 || at + 20 > count || at % (simulated ? 4093 : 61) == 0) return true;
    for (size_t i = 0; i < 2; i++)
        if (at % every[i] <= 2 || at % every[i] + 2 >= every[i]) return true;
    for (size_t i = 0; i < 3; i++)
        if (at + 2 >= early[i] && at <= early[i] + 2) return true;
    return false;
}

/* Which decider was where, for the results that are still to be read. */
typedef struct sweep {
    subject *self;
    uint64_t count, queued;
    uint64_t at[SUBJECT_RESULTS], offset[SUBJECT_RESULTS];
} sweep;

static redtune_value found[SUBJECT_RESULTS];

static redtune_status flush(sweep *all) {
    redtune_status status = subject_read(all->self, found, &err);
    for (uint64_t i = 0; !status && i < all->queued; i++) {
        redtune_value wanted = exact_one_hot(&all->self->problem, all->count, all->at[i]);
        if (!subject_same(all->self, all->count, &found[i], &wanted,
                          "at offset %llu, of which the one at %llu decides",
                          (unsigned long long)all->offset[i], (unsigned long long)all->at[i]))
            break;
    }
    all->queued = 0;
    return status;
}

static redtune_status queue(sweep *all, const rdt_one_hot *one_hot, uint64_t at, uint64_t offset) {
    if (all->queued == SUBJECT_RESULTS) {
        redtune_status status = flush(all);
        if (status) return status;
    }
    all->at[all->queued] = at;
    all->offset[all->queued++] = offset;
    return subject_queue(all->self, rdt_one_hot_window(one_hot, (int64_t)at, offset), all->count,
                         &err);
}

static void check_one_hot(subject *self) {
    static sweep all;
    rdt_one_hot one_hot = {{0}, 0, 0, 0};
    redtune_value neutral = rdt_test_data_neutral(&self->problem);
    redtune_value decider = rdt_test_data_decider(&self->problem);
    /* A small grid, so that its boundaries are met. */
    if (self->launch.blocks_max > 3) self->launch.blocks_max = 3;
    uint64_t tiles = device_is_simulated(&gpu) ? 2 : 5;
    all = (sweep){.self = self, .count = tiles * self->launch.tile + 7};
    CHECK_OK(rdt_one_hot_create(gpu.driver, self->problem.dtype, all.count * self->element_bytes,
                                &one_hot, &err),
             err);
    CHECK_OK(rdt_one_hot_fill(&one_hot, &neutral, &decider, gpu.stream, &err), err);
    for (uint64_t at = 0; at < all.count && !check_state.failed; at++) {
        if (!is_tried(self, at, all.count)) continue;
        CHECK_OK(queue(&all, &one_hot, at, 0), err);
        CHECK_OK(queue(&all, &one_hot, at, 1 + at % OFFSET_MAX), err);
    }
    /* Just outside it must not be seen; its index there is none. */
    for (uint64_t offset = 0; offset < one_hot.alignments; offset++) {
        CHECK_OK(queue(&all, &one_hot, UINT64_MAX, offset), err);
        CHECK_OK(queue(&all, &one_hot, all.count, offset), err);
    }
    CHECK_OK(flush(&all), err);
    rdt_one_hot_destroy(&one_hot);
}

FACT(every_element_is_taken_once) { subject_for_each(&gpu, RDT_REFERENCE_OPS, check_one_hot); }

int main(int argc, char **argv) {
    subject_is_late();
    return subject_run(&gpu, NULL, argc, argv);
}
