/* Facts about what teams give: the result of the whole array on every rank, whatever the parts, the
 * op, the dtype and the ranks' configurations, and in fixed order its bits. The ranks are those of
 * this process's GPUs; with RDT_TEST_TEAMS the number of random problems is that. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include "check.h"
#include "crew.h"
#include "draw.h"
#include "order_reference.h"
#include "results.h"
#include "model/scalar.h"
#include "shaped.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

enum { ELEMENTS_MAX = 70000, GAP_MAX = 17, RANKS_MAX = 4, SECOND_BYTES = 32 };

static redtune_error err;
static crew all;

static bool is_simulated(void) {
    return strstr(all.rank[0].context->facts.name, "simulated") != NULL;
}

/* ---- an array and its parts ------------------------------------------------------------------ */

typedef struct whole {
    redtune_problem problem; /* resolved */
    const rdt_op_traits *op;
    size_t bytes; /* of an element */
    uint64_t count;
    char *element[2]; /* of each input */
    uint64_t first[CREW_MAX], part[CREW_MAX];
    redtune_plan *plan[CREW_MAX];
} whole;

/* Elements whose result is the same in any order, and one that decides where few do. */
static void fill(whole *self) {
    rdt_test_data *data = NULL;
    CHECK_OK(rdt_test_data_create(&self->problem, self->count, &data, &err), err);
    for (uint64_t i = 0; i < self->count; i++)
        for (int k = 0; k < self->op->inputs; k++) {
            const char *from = k ? data->second : data->elements;
            memcpy(self->element[k] + i * self->bytes, from + i % data->period * self->bytes,
                   self->bytes);
        }
    rdt_test_data_destroy(data);
    if (!self->count || !rdt_test_data_hides(&self->problem)) return;
    const redtune_value decider = rdt_test_data_decider(&self->problem);
    memcpy(self->element[0] + draw(self->count) * self->bytes, decider.bytes, self->bytes);
}

/* Cuts it into parts of any lengths, some of none, in any order of places. */
static void cut(whole *self) {
    uint64_t border[CREW_MAX + 1] = {0};
    const uint64_t turn = draw((uint64_t)all.size);
    for (int i = 1; i < all.size; i++) border[i] = draw(4) ? draw(self->count + 1) : border[i - 1];
    border[all.size] = self->count;
    for (int i = 1; i < all.size; i++) /* in order */
        for (int k = i; k > 1 && border[k] < border[k - 1]; k--) {
            const uint64_t lower = border[k];
            border[k] = border[k - 1];
            border[k - 1] = lower;
        }
    for (int i = 0; i < all.size; i++) {
        const int place = (int)((turn + (uint64_t)i) % (uint64_t)all.size);
        self->first[i] = border[place];
        self->part[i] = border[place + 1] - border[place];
    }
}

static void open_whole(whole *self, const redtune_problem *problem, uint64_t count,
                       const char *const *configs) {
    *self = (whole){.count = count};
    CHECK_OK(rdt_problem_resolve(problem, &self->problem, &err), err);
    self->op = rdt_op_find(problem->op);
    self->bytes = redtune_dtype_bytes(problem->dtype);
    for (int k = 0; k < 2; k++) self->element[k] = calloc(count + 1, self->bytes);
    for (int i = 0; i < all.size; i++) {
        redtune_problem own = *problem;
        RESHAPE(&own, count, count / (uint64_t)all.size);
        own.config = configs ? configs[i % 2] : NULL;
        CHECK_OK(redtune_plan_create(all.rank[i].rt, &own, &self->plan[i], &err), err);
    }
}

static void close_whole(whole *self) {
    for (int i = 0; i < all.size; i++) redtune_plan_destroy(self->plan[i]);
    for (int k = 0; k < 2; k++) free(self->element[k]);
}

/* ---- running --------------------------------------------------------------------------------- */

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

/* Puts rank i's part on its GPU, anywhere in the buffers. */
static void give(const whole *self, int i, redtune_operands *out) {
    crew_rank *rank = &all.rank[i];
    const bool two = rdt_problem_second(&self->problem) != REDTUNE_DTYPE_NONE;
    *out = (redtune_operands){.count = self->part[i]};
    out->d_out[0] = pointer_to(rank->output[0].address);
    out->d_out[1] = two ? pointer_to(rank->output[0].address + SECOND_BYTES) : NULL;
    for (int k = 0; k < self->op->inputs; k++) {
        const CUdeviceptr to = rank->input[k].address + draw(GAP_MAX) * self->bytes;
        out->d_in[k] = pointer_to(to);
        CHECK_OK(crew_write(&all, i, to, self->element[k] + self->first[i] * self->bytes,
                            self->part[i] * self->bytes, &err),
                 err);
    }
}

static void run(const whole *self) {
    redtune_team_call calls[CREW_MAX] = {{0}};
    redtune_operands operands[CREW_MAX];
    for (int i = 0; i < all.size && !check_state.failed; i++) {
        give(self, i, &operands[i]);
        calls[i] = (redtune_team_call){self->plan[i], all.rank[i].team, &operands[i],
                                       self->first[i], all.rank[i].stream};
    }
    if (check_state.failed) return;
    CHECK_OK(redtune_team_run_all(calls, (size_t)all.size, &err), err);
}

static void read_results(int i, redtune_value out[2]) {
    char bytes[SECOND_BYTES + 8];
    CHECK_OK(crew_read(&all, i, bytes, all.rank[i].output[0].address, sizeof bytes, &err), err);
    memset(out, 0, 2 * sizeof *out);
    memcpy(out[0].bytes, bytes, 8);
    memcpy(out[1].bytes, bytes + SECOND_BYTES, 8);
}

static void describe_parts(const whole *self, rdt_text *text) {
    for (int i = 0; i < all.size; i++)
        rdt_text_addf(text, "%s%llu from %llu on", i ? ", " : "", (unsigned long long)self->part[i],
                      (unsigned long long)self->first[i]);
}

/* Each rank has what the reference says, and all the same bits. */
static void check_ranks(const whole *self,
                        bool (*is_right)(const whole *self, int output, const redtune_value *got,
                                         const void *wanted),
                        const void *wanted) {
    redtune_value first[2], got[2];
    const redtune_dtype dtype[2] = {self->problem.result, rdt_problem_second(&self->problem)};
    rdt_text parts = {0};
    describe_parts(self, &parts);
    for (int i = 0; i < all.size && !check_state.failed; i++) {
        read_results(i, got);
        if (!i) memcpy(first, got, sizeof got);
        for (int k = 0; k < 2 && dtype[k]; k++) {
            const size_t bytes = redtune_dtype_bytes(dtype[k]);
            check_that(is_right(self, k, &got[k], wanted) &&
                           !memcmp(got[k].bytes, first[k].bytes, bytes),
                       __FILE__, __LINE__, "%s of %s: result %d of rank %d is %.17g; parts: %s",
                       self->op->name, redtune_dtype_name(self->problem.dtype), k, i,
                       rdt_scalar_real(dtype[k], &got[k], 0), parts.data ? parts.data : "");
        }
    }
    rdt_text_free(&parts);
}

static bool is_result(const whole *self, int output, const redtune_value *got, const void *wanted) {
    return results_same(&self->problem, output, got, wanted, self->count);
}

static bool is_ordered_result(const whole *self, int output, const redtune_value *got,
                              const void *wanted) {
    const redtune_value *values = wanted;
    const redtune_dtype dtype = output ? rdt_problem_second(&self->problem) : self->problem.result;
    return rdt_scalar_same(dtype, got, &values[output]);
}

static void check_whole(const whole *self) {
    results right;
    const results_input input = {self->element[0], self->element[1], self->count, NULL};
    results_reduce(&self->problem, &input, &right);
    check_ranks(self, is_result, &right);
}

/* ---- any op, any parts ----------------------------------------------------------------------- */

static void check_problem(const redtune_problem *problem, int rounds) {
    static const uint64_t lengths[] = {10, 300, 5000, ELEMENTS_MAX};
    /* Different tunes on the ranks. */
    static const char *const configs[] = {"block:block=64,unroll=2", "block:block=256"};
    whole self;
    const uint64_t most = lengths[is_simulated() ? draw(2) : draw(4)];
    open_whole(&self, problem, most, problem->order ? NULL : configs);
    for (int round = 0; round < rounds && !check_state.failed; round++) {
        self.count = draw(most + 1);
        fill(&self);
        cut(&self);
        if (!check_state.failed) run(&self);
        if (!check_state.failed) check_whole(&self);
    }
    close_whole(&self);
}

FACT(every_op_has_the_result_of_the_whole) {
    const char *wanted = getenv("RDT_TEST_TEAMS");
    const size_t problems = wanted ? (size_t)atol(wanted) : SIZE_MAX;
    const size_t one_of = is_simulated() ? 17 : 1, rounds = wanted ? 5 : 2;
    size_t tried = 0, kept = 0;
    for (int op = 0; op < rdt_op_compiled_in.count; op++)
        for (int dtype = REDTUNE_I8; dtype < REDTUNE_DTYPE_END; dtype++) {
            const redtune_problem problem = {.op = (redtune_op)op, .dtype = (redtune_dtype)dtype};
            redtune_problem resolved;
            if (rdt_problem_resolve(&problem, &resolved, NULL)) continue;
            if (tried++ % one_of || !subject_is_of_part(tried) || kept * rounds >= problems)
                continue;
            draw_from(tried);
            check_problem(&problem, (int)rounds);
            kept++;
            if (check_state.failed) return;
        }
    printf("%s: %zu kernels, %zu problems\n", check_state.fact, kept, kept * rounds);
}

FACT(results_of_any_accuracy_are_joined) {
    static const redtune_accuracy accuracies[] = {REDTUNE_ACCURACY_COMPENSATED,
                                                  REDTUNE_ACCURACY_EXACT};
    for (int i = 0; i < 2 && !check_state.failed; i++) {
        const redtune_problem problem = {
            .op = REDTUNE_SUM, .dtype = REDTUNE_F32, .accuracy = accuracies[i]};
        redtune_problem resolved;
        if (!rdt_problem_resolve(&problem, &resolved, NULL)) check_problem(&problem, 2);
    }
}

/* ---- fixed order ----------------------------------------------------------------------------- */

/* Elements whose sum every other order changes. */
static void fill_unlike(whole *self) {
    for (uint64_t i = 0; i < self->count; i++)
        for (int k = 0; k < self->op->inputs; k++) {
            const double real = (double)(1 + draw(1 << 24)) / (1 << 20) * (draw(2) ? 1 : -1);
            const redtune_value each = rdt_scalar_from_real(self->problem.dtype, real);
            memcpy(self->element[k] + i * self->bytes, each.bytes, self->bytes);
        }
}

static void check_fixed(redtune_op op, redtune_dtype dtype, uint64_t count) {
    const redtune_problem problem = {.op = op, .dtype = dtype, .order = REDTUNE_ORDER_FIXED};
    whole self;
    redtune_value wanted[2];
    open_whole(&self, &problem, count, NULL);
    fill_unlike(&self);
    for (int i = 0; i < all.size; i++)
        CHECK_OK(redtune_team_share(all.rank[i].team, self.plan[i], count, &self.first[i],
                                    &self.part[i], &err),
                 err);
    run(&self);
    rdt_order_reference_reduce(&self.problem, self.element[0], self.element[1], count, wanted);
    if (!check_state.failed) check_ranks(&self, is_ordered_result, wanted);
    close_whole(&self);
}

FACT(fixed_order_has_the_bits_of_one_gpu) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_VAR, REDTUNE_DOT, REDTUNE_SUM_SUMSQ};
    for (size_t i = 0; i < sizeof ops / sizeof *ops && !check_state.failed; i++) {
        check_fixed(ops[i], REDTUNE_F32, 3000);
        if (!check_state.failed) check_fixed(ops[i], REDTUNE_F32, 100);
        if (!check_state.failed && !is_simulated()) check_fixed(ops[i], REDTUNE_F64, 60001);
        if (!check_state.failed && !is_simulated()) check_fixed(ops[i], REDTUNE_F16, ELEMENTS_MAX);
    }
}

/* ---- a thread for each rank ------------------------------------------------------------------ */

typedef struct rank_thread {
    const whole *self;
    int rank;
    redtune_operands operands;
    redtune_error err;
} rank_thread;

static void *run_rank(void *user) {
    rank_thread *mine = user;
    redtune_team_run(mine->self->plan[mine->rank], all.rank[mine->rank].team, &mine->operands,
                     mine->self->first[mine->rank], all.rank[mine->rank].stream, &mine->err);
    return NULL;
}

FACT(ranks_may_have_a_thread_each) {
    const redtune_problem problem = {.op = REDTUNE_ARGMAX, .dtype = REDTUNE_F32};
    whole self;
    rank_thread ranks[CREW_MAX] = {{0}};
    pthread_t threads[CREW_MAX];
    open_whole(&self, &problem, 900, NULL);
    fill(&self);
    cut(&self);
    for (int i = 0; i < all.size; i++) {
        ranks[i] = (rank_thread){.self = &self, .rank = i};
        give(&self, i, &ranks[i].operands);
    }
    for (int i = 0; i < all.size; i++)
        CHECK(!pthread_create(&threads[i], NULL, run_rank, &ranks[i]));
    for (int i = 0; i < all.size; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < all.size; i++) CHECK_OK(ranks[i].err.status, ranks[i].err);
    check_whole(&self);
    close_whole(&self);
}

int main(int argc, char **argv) {
    return crew_run(RANKS_MAX, (ELEMENTS_MAX + GAP_MAX) * sizeof(double), &all, argc, argv);
}
