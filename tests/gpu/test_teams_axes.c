/* Facts about teams along an axis: each rank has a part of every row or column, and each gets all
 * results, whatever the parts and where a rank's memory has its elements. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include "check.h"
#include "crew.h"
#include "draw.h"
#include "order_reference.h"
#include "results.h"
#include "model/scalar.h"
#include "shaped.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

enum { RANKS_MAX = 4, ELEMENTS_MAX = 60000, GAP = 3, UNWRITTEN = 0x5a };

static redtune_error err;
static crew all;

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
    uint64_t gap;                  /* elements between what a rank has of two outer indices */
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

/* How a shape's elements are shared out. */
typedef enum sharing {
    ANYHOW,  /* any number to each rank, and gaps between what it has of each result */
    BY_TEAM, /* as redtune_team_share says; elements whose sum every other order changes */
    ALIKE    /* as many to each rank, without gaps */
} sharing;

static void cut(matrix *self, sharing how) {
    for (int i = 1; how == ALIKE && i < all.size; i++)
        self->border[i] = self->count / (uint64_t)all.size * (uint64_t)i;
    for (int i = 1; how == ANYHOW && i < all.size; i++) {
        const uint64_t left = self->count - self->border[i - 1];
        self->border[i] = self->border[i - 1] + (draw(4) ? draw(left + 1) : 0);
    }
    self->border[all.size] = self->count;
}

static void fill_unlike(matrix *self) {
    for (uint64_t i = 0; i < self->count * self->outer * self->inner; i++) {
        const double real = (double)(1 + draw(1 << 24)) / (1 << 20) * (draw(2) ? 1 : -1);
        const redtune_value each = rdt_scalar_from_real(self->problem.dtype, real);
        memcpy(self->element[0] + i * self->bytes, each.bytes, self->bytes);
    }
}

/* Puts rank r's part on its GPU. */
static void give(const matrix *self, int r, redtune_operands *out) {
    crew_rank *rank = &all.rank[r];
    const uint64_t first = self->border[r], part = self->border[r + 1] - first;
    const uint64_t span = part * self->inner + self->gap;
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
                        sharing how) {
    matrix self = {.count = count, .outer = outer, .inner = inner, .gap = how == ALIKE ? 0 : GAP};
    redtune_plan *plans[CREW_MAX] = {NULL};
    redtune_problem problem = *of;
    RESHAPE(&problem, count, count / (uint64_t)all.size);
    RESHAPE(&problem, outer, outer);
    RESHAPE(&problem, inner, inner);
    CHECK_OK(rdt_problem_resolve(&problem, &self.problem, &err), err);
    self.op = rdt_op_find(problem.op);
    self.bytes = redtune_dtype_bytes(problem.dtype);
    for (int k = 0; k < 2; k++) self.element[k] = calloc(outer * count * inner + 1, self.bytes);
    for (int r = 0; r < all.size; r++)
        CHECK_OK(redtune_plan_create(all.rank[r].rt, &problem, &plans[r], &err), err);
    (how == BY_TEAM ? fill_unlike : fill)(&self);
    cut(&self, how);
    for (int r = 0; how == BY_TEAM && r < all.size; r++) {
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
    for (int op = 0; op < rdt_op_compiled_in.count; op++)
        for (int dtype = REDTUNE_I8; dtype < REDTUNE_DTYPE_END; dtype++) {
            const redtune_problem problem = {.op = (redtune_op)op, .dtype = (redtune_dtype)dtype};
            redtune_problem resolved;
            if (rdt_problem_resolve(&problem, &resolved, NULL)) continue;
            if (tried++ % (is_simulated() ? one_of : 1) || !subject_is_of_part(tried)) continue;
            const uint64_t *shape = shapes[tried / one_of % shape_count];
            draw_from(tried);
            check_shape(&problem, shape[0], shape[1], shape[2], ANYHOW);
            if (check_state.failed) return;
        }
}

FACT(rows_have_their_results_on_every_rank) {
    static uint64_t shapes[][3] = {{9, 100, 1}, {200, 7, 1}, {3, 500, 1}};
    check_every_op(shapes, 3, 53);
}

FACT(columns_have_their_results_on_every_rank) {
    static uint64_t shapes[][3] = {{1, 60, 33}, {3, 20, 16}, {1, 9, 300}};
    check_every_op(shapes, 3, 59);
}

/* By "short", whose kernels bring a row by one load: what each rank has of every row, or less. */
FACT(places_in_short_rows_are_found_on_every_rank) {
    static const struct {
        redtune_op op;
        redtune_dtype dtype;
    } places[] = {{REDTUNE_ARGMIN, REDTUNE_F32},
                  {REDTUNE_ARGMAX, REDTUNE_I8},
                  {REDTUNE_ARGMAXABS, REDTUNE_I16},
                  {REDTUNE_MIN_AT, REDTUNE_F64},
                  {REDTUNE_MAX_AT, REDTUNE_U32}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const redtune_problem problem = {.op = places[i].op,
                                         .dtype = places[i].dtype,
                                         .config = "short:block=64,row=2,vec=2,unroll=2"};
        const uint64_t count = 2 * (uint64_t)all.size;
        if (!subject_is_of_part(i)) continue;
        draw_from(i);
        check_shape(&problem, 300, count, 1, ALIKE);
        if (!check_state.failed) check_shape(&problem, 300, count, 1, ANYHOW);
        if (check_state.failed) return;
    }
}

/* Shares of whole chunks, so that a rank may have none. */
FACT(rows_in_fixed_order_have_the_bits_of_one_gpu) {
    const redtune_problem problem = {.dtype = REDTUNE_F32, .order = REDTUNE_ORDER_FIXED};
    check_shape(&problem, 2, 3500, 1, BY_TEAM);
}

/* ---- more results than there is room for ----------------------------------------------------- */

FACT(results_beyond_the_room_are_reduced_by_nccl) {
    static const struct {
        redtune_op op;
        redtune_dtype dtype;
    } reduced[] = {{REDTUNE_SUM, REDTUNE_F32},         {REDTUNE_SUM, REDTUNE_F64},
                   {REDTUNE_SUM, REDTUNE_I8},          {REDTUNE_SUMSQ, REDTUNE_F32},
                   {REDTUNE_SUMABS, REDTUNE_F64},      {REDTUNE_PROD, REDTUNE_U32},
                   {REDTUNE_MIN, REDTUNE_I32},         {REDTUNE_MIN, REDTUNE_U8},
                   {REDTUNE_MAX, REDTUNE_I8},          {REDTUNE_MAX, REDTUNE_U64},
                   {REDTUNE_NONZEROS, REDTUNE_F16},    {REDTUNE_NANS, REDTUNE_BF16},
                   {REDTUNE_ANY, REDTUNE_F32},         {REDTUNE_ALL, REDTUNE_I32},
                   {REDTUNE_NONFINITE, REDTUNE_F16},   {REDTUNE_DOT, REDTUNE_F32},
                   {REDTUNE_SQEUCLIDEAN, REDTUNE_F64}, {REDTUNE_CITYBLOCK, REDTUNE_F32},
                   {REDTUNE_MISMATCHES, REDTUNE_F32},  {REDTUNE_SUM, REDTUNE_BF16}};
    const size_t count = sizeof reduced / sizeof *reduced;
    const size_t step = is_simulated() ? 4 : 1;
    CHECK_OK(crew_change_room(&all, 7, &err), err);
    for (size_t i = 0; i < count && !check_state.failed; i += step) {
        if (!subject_is_of_part(i / step + 1)) continue;
        const redtune_problem problem = {.op = reduced[i].op, .dtype = reduced[i].dtype};
        if (i % 2)
            check_shape(&problem, 1, 60, 33, ANYHOW);
        else
            check_shape(&problem, 200, 7, 1, ANYHOW);
    }
    CHECK_OK(crew_change_room(&all, 0, &err), err);
}

/* Eight results of the first rank's, where there is room for seven. */
static void refuse_rows(redtune_problem problem, redtune_status status, const char *text) {
    const crew_rank *rank = &all.rank[0];
    redtune_plan *plan = NULL;
    RESHAPE(&problem, count, 1);
    RESHAPE(&problem, outer, 8);
    const redtune_operands rows = {.d_in = {pointer_to(rank->input[0].address)},
                                   .d_out = {pointer_to(rank->output[0].address)},
                                   .count = 1,
                                   .outer = 8};
    CHECK_OK(redtune_plan_create(rank->rt, &problem, &plan, &err), err);
    CHECK_FAILS(redtune_team_run(plan, rank->team, &rows, 0, rank->stream, &err), status, err,
                text);
    redtune_plan_destroy(plan);
}

FACT(results_that_nccl_cannot_reduce_are_refused) {
    static const redtune_problem refused[] = {
        {.op = REDTUNE_MEAN, .dtype = REDTUNE_F32},
        {.op = REDTUNE_ARGMAX, .dtype = REDTUNE_I32},
        {.op = REDTUNE_MAX, .dtype = REDTUNE_F32},                        /* NCCL leaves out NaN */
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F16, .result = REDTUNE_F16}, /* rounded twice */
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .order = REDTUNE_ORDER_FIXED},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .accuracy = REDTUNE_ACCURACY_COMPENSATED}};
    CHECK_OK(crew_change_room(&all, 7, &err), err);
    for (size_t i = 0; i < sizeof refused / sizeof *refused && !check_state.failed; i++)
        refuse_rows(refused[i], REDTUNE_INVALID,
                    "cannot make 8 results by a team that has room for 7");
    setenv("RDT_TEST_NCCL_FAILS", "ncclAllReduce", 1);
    if (!check_state.failed && is_simulated() && all.size > 1)
        refuse_rows((redtune_problem){.dtype = REDTUNE_F32}, REDTUNE_TEAM,
                    "cannot reduce what the ranks have: NCCL reports");
    unsetenv("RDT_TEST_NCCL_FAILS");
    CHECK_OK(crew_change_room(&all, 0, &err), err);
}

int main(int argc, char **argv) {
    return crew_run(RANKS_MAX, ELEMENTS_MAX * sizeof(double), &all, argc, argv);
}
