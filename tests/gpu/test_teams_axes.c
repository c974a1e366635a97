/* Facts about teams along an axis: each rank has a part of every row or column, and each gets all
 * results, whatever the parts and where a rank's memory has its elements. */
#include <math.h>
#include "check.h"
#include "crew.h"
#include "order_reference.h"
#include "results.h"
#include "model/scalar.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

enum { RANKS_MAX = 4, ELEMENTS_MAX = 60000, GAP = 3, UNWRITTEN = 0x5a };

static redtune_error err;
static crew all;

/* The same numbers in every run. */
static uint64_t draw(uint64_t below) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

static bool is_simulated(void) {
    return strstr(all.rank[0].context->facts.name, "simulated") != NULL;
}

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

/* Element e of result (o, i) is element[(o * count + e) * inner + i] of the host's array. */
typedef struct matrix {
    redtune_problem problem; /* resolved */
    const rdt_op_traits *op;
    size_t bytes;
    uint64_t count, outer, inner;
    char *element[2];
    uint64_t border[CREW_MAX + 1]; /* rank r has the elements e from border[r] on */
} matrix;

static void fill(matrix *self) {
    rdt_test_data *data = NULL;
    const uint64_t elements = self->count * self->outer * self->inner;
    CHECK_OK(rdt_test_data_create(&self->problem, self->count, &data, &err), err);
    for (uint64_t i = 0; i < elements; i++)
        for (int k = 0; k < self->op->inputs; k++) {
            const char *from = k ? data->second : data->elements;
            memcpy(self->element[k] + i * self->bytes, from + i % data->period * self->bytes,
                   self->bytes);
        }
    rdt_test_data_destroy(data);
    if (!rdt_test_data_hides(&self->problem)) return;
    const redtune_value decider = rdt_test_data_decider(&self->problem);
    for (uint64_t r = 0; self->count && r < self->outer * self->inner; r++) {
        const uint64_t at = (r / self->inner * self->count + draw(self->count)) * self->inner;
        memcpy(self->element[0] + (at + r % self->inner) * self->bytes, decider.bytes, self->bytes);
    }
}

static void cut(matrix *self) {
    for (int i = 1; i < all.size; i++) {
        const uint64_t left = self->count - self->border[i - 1];
        self->border[i] = self->border[i - 1] + (draw(4) ? draw(left + 1) : 0);
    }
    self->border[all.size] = self->count;
}

/* Elements whose sum every other order changes. */
static void fill_unlike(matrix *self) {
    for (uint64_t i = 0; i < self->count * self->outer * self->inner; i++) {
        const double real = (double)(1 + draw(1 << 24)) / (1 << 20) * (draw(2) ? 1 : -1);
        const redtune_value each = rdt_scalar_from_real(self->problem.dtype, real);
        memcpy(self->element[0] + i * self->bytes, each.bytes, self->bytes);
    }
}

/* Puts rank r's part on its GPU, the outer ones GAP elements apart. */
static void give(const matrix *self, int r, redtune_operands *out) {
    crew_rank *rank = &all.rank[r];
    const uint64_t first = self->border[r], part = self->border[r + 1] - first;
    const uint64_t span = part * self->inner + GAP;
    char *copy = calloc(self->outer * span + 1, self->bytes);
    const bool two = rdt_problem_second(&self->problem) != REDTUNE_DTYPE_NONE;
    *out = (redtune_operands){
        .count = part, .outer = self->outer, .inner = self->inner, .outer_step = span};
    for (int k = 0; k < 2; k++)
        out->d_out[k] = k && !two ? NULL : pointer_to(rank->output[k].address);
    for (int k = 0; k < self->op->inputs; k++) {
        for (uint64_t o = 0; o < self->outer; o++)
            memcpy(copy + o * span * self->bytes,
                   self->element[k] + (o * self->count + first) * self->inner * self->bytes,
                   part * self->inner * self->bytes);
        out->d_in[k] = pointer_to(rank->input[k].address);
        CHECK_OK(crew_write(&all, r, rank->input[k].address, copy, self->outer * span * self->bytes,
                            &err),
                 err);
    }
    free(copy);
}

/* ---- a shape --------------------------------------------------------------------------------- */

/* So that what is written behind the results shows. */
static void mark_outputs(int rank) {
    char marks[CREW_RESULTS_MAX * 8];
    memset(marks, UNWRITTEN, sizeof marks);
    for (int k = 0; k < 2; k++)
        CHECK_OK(
            crew_write(&all, rank, all.rank[rank].output[k].address, marks, sizeof marks, &err),
            err);
}

static void run(const matrix *self, redtune_plan *const *plans) {
    redtune_operands operands[CREW_MAX];
    redtune_team_call calls[CREW_MAX] = {{0}};
    for (int r = 0; r < all.size && !check_state.failed; r++) {
        give(self, r, &operands[r]);
        if (!check_state.failed) mark_outputs(r);
        calls[r] = (redtune_team_call){plans[r], all.rank[r].team, &operands[r], self->border[r],
                                       all.rank[r].stream};
    }
    if (check_state.failed) return;
    CHECK_OK(redtune_team_run_all(calls, (size_t)all.size, &err), err);
}

static bool is_right(const matrix *self, uint64_t r, int output, const redtune_value *got) {
    results right;
    redtune_value ordered[2];
    char *column[2];
    for (int k = 0; k < 2; k++) column[k] = calloc(self->count + 1, self->bytes);
    for (uint64_t e = 0; e < self->count; e++)
        for (int k = 0; k < self->op->inputs; k++)
            memcpy(column[k] + e * self->bytes,
                   self->element[k] +
                       ((r / self->inner * self->count + e) * self->inner + r % self->inner) *
                           self->bytes,
                   self->bytes);
    const results_input input = {column[0], column[1], self->count, NULL};
    bool same;
    if (self->problem.order == REDTUNE_ORDER_FIXED) {
        rdt_order_reference_reduce(&self->problem, column[0], column[1], self->count, ordered);
        same = rdt_scalar_same(self->problem.result, got, &ordered[output]);
    } else {
        results_reduce(&self->problem, &input, &right);
        same = results_same(&self->problem, output, got, &right, self->count);
    }
    for (int k = 0; k < 2; k++) free(column[k]);
    return same;
}

static void check_rank(const matrix *self, int rank) {
    const uint64_t count = self->outer * self->inner;
    const redtune_dtype dtype[2] = {self->problem.result, rdt_problem_second(&self->problem)};
    char read[CREW_RESULTS_MAX * 8];
    for (int k = 0; k < 2 && dtype[k]; k++) {
        const size_t bytes = redtune_dtype_bytes(dtype[k]);
        CHECK_OK(crew_read(&all, rank, read, all.rank[rank].output[k].address, sizeof read, &err),
                 err);
        for (size_t i = count * bytes; i < sizeof read; i++) CHECK_INT(read[i], UNWRITTEN);
        for (uint64_t r = 0; r < count && !check_state.failed; r++) {
            redtune_value got = {.u64 = 0};
            memcpy(got.bytes, read + r * bytes, bytes);
            check_that(is_right(self, r, k, &got), __FILE__, __LINE__,
                       "%s of %s, %llu x %llu x %llu: result %d of place %llu on rank %d is %.17g",
                       self->op->name, redtune_dtype_name(self->problem.dtype),
                       (unsigned long long)self->outer, (unsigned long long)self->count,
                       (unsigned long long)self->inner, k, (unsigned long long)r, rank,
                       rdt_scalar_real(dtype[k], &got, 0));
        }
    }
}

static void check_shape(const redtune_problem *of, uint64_t outer, uint64_t count, uint64_t inner,
                        bool shared) {
    matrix self = {.count = count, .outer = outer, .inner = inner};
    redtune_plan *plans[CREW_MAX] = {NULL};
    redtune_problem problem = *of;
    problem.count = count / (uint64_t)all.size;
    problem.outer = outer;
    problem.inner = inner;
    CHECK_OK(rdt_problem_resolve(&problem, &self.problem, &err), err);
    self.op = rdt_op_find(problem.op);
    self.bytes = redtune_dtype_bytes(problem.dtype);
    for (int k = 0; k < 2; k++) self.element[k] = calloc(outer * count * inner + 1, self.bytes);
    for (int r = 0; r < all.size; r++)
        CHECK_OK(redtune_plan_create(all.rank[r].rt, &problem, &plans[r], &err), err);
    (shared ? fill_unlike : fill)(&self);
    cut(&self);
    for (int r = 0; shared && r < all.size; r++) {
        uint64_t part;
        CHECK_OK(
            redtune_team_share(all.rank[r].team, plans[r], count, &self.border[r], &part, &err),
            err);
    }
    if (!check_state.failed) run(&self, plans);
    for (int r = 0; r < all.size && !check_state.failed; r++) check_rank(&self, r);
    for (int r = 0; r < all.size; r++) redtune_plan_destroy(plans[r]);
    for (int k = 0; k < 2; k++) free(self.element[k]);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void check_every_op(uint64_t shapes[][3], size_t shape_count, size_t one_of) {
    size_t tried = 0;
    if (!all.size) SKIP("there is no GPU, or no NCCL");
    for (int op = 0; op < rdt_op_compiled_in.count; op++)
        for (int dtype = REDTUNE_I8; dtype <= REDTUNE_F64; dtype++) {
            const redtune_problem problem = {.op = (redtune_op)op, .dtype = (redtune_dtype)dtype};
            redtune_problem resolved;
            if (rdt_problem_resolve(&problem, &resolved, NULL)) continue;
            if (tried++ % (is_simulated() ? one_of : 1) || !subject_is_of_part(tried)) continue;
            const uint64_t *shape = shapes[tried / one_of % shape_count];
            check_shape(&problem, shape[0], shape[1], shape[2], false);
            if (check_state.failed) return;
        }
}

static void rows_have_their_results_on_every_rank(void) {
    static uint64_t shapes[][3] = {{9, 100, 1}, {200, 7, 1}, {3, 500, 1}};
    check_every_op(shapes, 3, 53);
}

static void columns_have_their_results_on_every_rank(void) {
    static uint64_t shapes[][3] = {{1, 60, 33}, {3, 20, 16}, {1, 9, 300}};
    check_every_op(shapes, 3, 59);
}

/* Shares of whole chunks, so that a rank may have none. */
static void rows_in_fixed_order_have_the_bits_of_one_gpu(void) {
    if (!all.size) SKIP("there is no GPU, or no NCCL");
    const redtune_problem problem = {.dtype = REDTUNE_F32, .order = REDTUNE_ORDER_FIXED};
    check_shape(&problem, 2, 3500, 1, true);
}

/* ---- segments -------------------------------------------------------------------------------- */

enum { SEGMENTS = 40, LONGEST = 60 };

/* Offsets into a rank's elements, and elements that are integers. */
typedef struct ragged {
    uint64_t offset[CREW_MAX][SEGMENTS + 1];
    int32_t element[CREW_MAX][SEGMENTS * LONGEST];
} ragged;

static void fill_ragged(ragged *self) {
    for (int r = 0; r < all.size; r++) {
        for (int s = 0; s < SEGMENTS; s++)
            self->offset[r][s + 1] = self->offset[r][s] + (draw(3) ? draw(LONGEST) : 0);
        for (uint64_t e = 0; e < self->offset[r][SEGMENTS]; e++)
            self->element[r][e] = (int32_t)draw(1000000) - 500000;
        CHECK_OK(crew_write(&all, r, all.rank[r].input[0].address, self->element[r],
                            self->offset[r][SEGMENTS] * sizeof(int32_t), &err),
                 err);
        CHECK_OK(crew_write(&all, r, all.rank[r].input[1].address, self->offset[r],
                            sizeof self->offset[r], &err),
                 err);
    }
}

static void run_ragged(const ragged *self, redtune_op op, redtune_segmented segmented) {
    redtune_segments segments[CREW_MAX];
    redtune_team_call calls[CREW_MAX] = {{0}};
    redtune_plan *plans[CREW_MAX] = {NULL};
    const redtune_problem problem = {
        .op = op, .dtype = REDTUNE_I32, .count = LONGEST / 2, .segmented = segmented};
    uint64_t first = 0;
    for (int r = 0; r < all.size; r++) {
        const crew_rank *rank = &all.rank[r];
        CHECK_OK(redtune_plan_create(rank->rt, &problem, &plans[r], &err), err);
        segments[r] = (redtune_segments){.d_in = pointer_to(rank->input[0].address),
                                         .count = SEGMENTS,
                                         .d_begin = pointer_to(rank->input[1].address),
                                         .d_out = {pointer_to(rank->output[0].address)}};
        calls[r] = (redtune_team_call){.plan = plans[r],
                                       .team = rank->team,
                                       .first_index = first,
                                       .stream = rank->stream,
                                       .segments = &segments[r]};
        first += self->offset[r][SEGMENTS];
    }
    CHECK_OK(redtune_team_run_all(calls, (size_t)all.size, &err), err);
    for (int r = 0; r < all.size; r++)
        CHECK_OK(redtune_team_wait(all.rank[r].team, all.rank[r].stream, 20, &err), err);
    for (int r = 0; r < all.size; r++) redtune_plan_destroy(plans[r]);
}

static void check_ragged(const int64_t *wanted, size_t count) {
    int64_t got[SEGMENTS];
    for (int r = 0; r < all.size; r++) {
        CHECK_OK(crew_read(&all, r, got, all.rank[r].output[0].address, count * sizeof *got, &err),
                 err);
        for (size_t s = 0; s < count; s++) CHECK_INT(got[s], wanted[s]);
    }
}

static void segments_have_their_results_on_every_rank(void) {
    if (!all.size) SKIP("there is no GPU, or no NCCL");
    static ragged self;
    int64_t sums[SEGMENTS] = {0}, greatest = -1, at = 0;
    int32_t best = INT32_MIN;
    fill_ragged(&self);
    for (int r = 0; r < all.size; r++)
        for (int s = 0; s < SEGMENTS; s++)
            for (uint64_t e = self.offset[r][s]; e < self.offset[r][s + 1]; e++, at++) {
                sums[s] += self.element[r][e];
                if (self.element[r][e] > best) {
                    best = self.element[r][e];
                    greatest = at;
                }
            }
    run_ragged(&self, REDTUNE_SUM, REDTUNE_SEGMENTED_EACH);
    if (!check_state.failed) check_ragged(sums, SEGMENTS);
    if (!check_state.failed) run_ragged(&self, REDTUNE_ARGMAX, REDTUNE_SEGMENTED_ALL);
    if (!check_state.failed) check_ragged(&greatest, 1);
}

static void list_of_each_rank_has_one_result(void) {
    if (!all.size) SKIP("there is no GPU, or no NCCL");
    const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const redtune_problem problem = {
        .op = REDTUNE_NORM2, .dtype = REDTUNE_F32, .segmented = REDTUNE_SEGMENTED_ALL};
    redtune_list *lists[CREW_MAX] = {NULL};
    redtune_plan *plans[CREW_MAX] = {NULL};
    redtune_segments segments[CREW_MAX];
    redtune_team_call calls[CREW_MAX] = {{0}};
    int elements = 0;
    for (int r = 0; r < all.size; r++) {
        const crew_rank *rank = &all.rank[r];
        const void *arrays[2] = {pointer_to(rank->input[0].address),
                                 pointer_to(rank->input[0].address + 4)};
        const uint64_t counts[2] = {8, (uint64_t)r};
        CHECK_OK(crew_write(&all, r, rank->input[0].address, ones, sizeof ones, &err), err);
        CHECK_OK(redtune_plan_create(rank->rt, &problem, &plans[r], &err), err);
        CHECK_OK(redtune_list_create(rank->rt, REDTUNE_F32, arrays, counts, 2, &lists[r], &err),
                 err);
        segments[r] =
            (redtune_segments){.list = lists[r], .d_out = {pointer_to(rank->output[0].address)}};
        calls[r] = (redtune_team_call){
            .plan = plans[r], .team = rank->team, .stream = rank->stream, .segments = &segments[r]};
        elements += 8 + r;
    }
    CHECK_OK(redtune_team_run_all(calls, (size_t)all.size, &err), err);
    for (int r = 0; r < all.size; r++) {
        float got = 0;
        CHECK_OK(crew_read(&all, r, &got, all.rank[r].output[0].address, sizeof got, &err), err);
        CHECK(fabsf(got * got - (float)elements) < 1e-4F * (float)elements);
        redtune_list_destroy(lists[r]);
        redtune_plan_destroy(plans[r]);
    }
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(rows_have_their_results_on_every_rank),
        FACT(columns_have_their_results_on_every_rank),
        FACT(rows_in_fixed_order_have_the_bits_of_one_gpu),
        FACT(segments_have_their_results_on_every_rank),
        FACT(list_of_each_rank_has_one_result),
    };
    if (crew_open(RANKS_MAX, ELEMENTS_MAX * sizeof(double), &all, &err))
        fprintf(stderr, "no team: %s\n", err.message);
    int rc = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    crew_close(&all);
    return rc;
}
