/* Facts about teams along any axes: each rank has a part of the outermost reduced axis, of elements
 * with steps of their own, and each gets all results. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include "crew.h"
#include "strided_draws.h"
#include "subject.h"

enum { RANKS_MAX = 4, INPUT_BYTES = (ROOM + 16) * (int)sizeof(float) };

static redtune_error err;
static crew all;

/* A trial, and what each rank has of it. */
typedef struct shared_trial {
    trial whole, part[CREW_MAX];
    uint64_t first[CREW_MAX];
} shared_trial;

static void *place_in(const rdt_buffer *buffer, size_t bytes) {
    return (void *)(uintptr_t)(buffer->address + bytes);
}

/* What begins at index `from` of the outermost reduced axis. */
static void give_part(const trial *whole, uint64_t from, uint64_t size, trial *part) {
    *part = *whole;
    part->problem.reduced[0].size = size;
    for (int k = 0; k < INPUTS; k++)
        part->first[k] =
            (size_t)((int64_t)whole->first[k] + (int64_t)from * whole->problem.reduced[0].step[k]);
    if (!is_strided(part)) part->problem.config = NULL;
}

/* Any sizes, 0 among them. */
static void share_anyhow(shared_trial *self) {
    const redtune_problem *p = &self->whole.problem;
    const uint64_t inner = size_of(p->reduced + 1, p->reduced_axes - 1);
    uint64_t from = 0;
    for (int r = 0; r < all.size; r++) {
        const uint64_t left = p->reduced[0].size - from;
        const uint64_t size = r + 1 == all.size ? left : draw(4) ? draw(left + 1) : 0;
        give_part(&self->whole, from, size, &self->part[r]);
        self->first[r] = from * inner;
        from += size;
    }
}

/* The mask lies behind the second input, of which no trial with a mask makes use. */
static void give(const trial *part, int r, redtune_operands *out) {
    const crew_rank *rank = &all.rank[r];
    const redtune_op op = part->problem.op;
    const bool two = op == REDTUNE_DOT, masked = part->problem.mask != REDTUNE_MASK_NONE;
    const size_t bytes = op == REDTUNE_ARGMAX ? 8 : 4;
    *out = (redtune_operands){.count = 0}; /* the plan's own */
    if (!is_strided(part)) *out = redtune_problem_operands(&part->problem);
    out->d_in[0] = place_in(&rank->input[0], part->first[X] * sizeof(float));
    out->d_out[0] = place_in(&rank->output[0], part->out_first * bytes);
    CHECK_OK(crew_write(&all, r, rank->input[0].address, numbers[0], sizeof numbers[0], &err), err);
    if (masked)
        CHECK_OK(crew_write(&all, r, rank->input[1].address, there, sizeof there, &err), err);
    else
        CHECK_OK(crew_write(&all, r, rank->input[1].address, numbers[1], sizeof numbers[1], &err),
                 err);
    if (two) out->d_in[1] = place_in(&rank->input[1], part->first[Y] * sizeof(float));
    if (masked) out->d_mask = place_in(&rank->input[1], part->first[MASK]);
    if (op == REDTUNE_MAX_AT) out->d_out[1] = place_in(&rank->output[1], part->out_first * 8);
}

static void mark_outputs(int r) {
    char marks[CREW_RESULTS_MAX * 8];
    memset(marks, POISON, sizeof marks);
    for (int k = 0; k < 2; k++)
        CHECK_OK(crew_write(&all, r, all.rank[r].output[k].address, marks, sizeof marks, &err),
                 err);
}

static void run_shared(const shared_trial *self) {
    redtune_plan *plans[CREW_MAX] = {NULL};
    redtune_operands operands[CREW_MAX];
    redtune_team_call calls[CREW_MAX] = {{0}};
    for (int r = 0; r < all.size && !check_state.failed; r++) {
        give(&self->part[r], r, &operands[r]);
        mark_outputs(r);
        CHECK_OK(redtune_plan_create(all.rank[r].rt, &self->part[r].problem, &plans[r], &err), err);
        calls[r] = (redtune_team_call){plans[r], all.rank[r].team, &operands[r], self->first[r],
                                       all.rank[r].stream};
    }
    if (!check_state.failed) CHECK_OK(redtune_team_run_all(calls, (size_t)all.size, &err), err);
    for (int r = 0; r < all.size; r++) {
        if (!check_state.failed)
            CHECK_OK(redtune_team_wait(all.rank[r].team, all.rank[r].stream, 30, &err), err);
        redtune_plan_destroy(plans[r]);
    }
}

static void check_rank(const shared_trial *self, int r) {
    static unsigned char got[CREW_RESULTS_MAX * 8], want[2][OUT_ROOM * 8];
    char text[600];
    describe(&self->whole, text, sizeof text);
    want_outputs(&self->whole, want);
    for (int k = 0; k < 2 && !check_state.failed; k++) {
        size_t i = 0;
        CHECK_OK(crew_read(&all, r, got, all.rank[r].output[k].address, sizeof got, &err), err);
        while (i < sizeof got && got[i] == want[k][i]) i++;
        check_that(i == sizeof got, __FILE__, __LINE__, "byte %zu of output %d on rank %d: %s, %s",
                   i, k, r, text, self->whole.problem.config ? self->whole.problem.config : "");
    }
}

static void check_shared(const shared_trial *self) {
    run_shared(self);
    for (int r = 0; r < all.size && !check_state.failed; r++) check_rank(self, r);
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Whose results are packed, and fit the crew's room. */
static void draw_shared(redtune_op op, redtune_mask mask, shared_trial *out) {
    do {
        draw_trial(op, 20, &out->whole);
        out->whole.problem.mask = mask;
    } while (out->whole.problem.steps >> OUT & 1 || !is_strided(&out->whole));
}

FACT(every_rank_has_the_results_of_all_parts) {
    static const struct {
        redtune_op op;
        redtune_mask mask;
        const char *config;
    } kinds[] = {
        {REDTUNE_SUM, REDTUNE_MASK_NONE, NULL},
        {REDTUNE_ARGMAX, REDTUNE_MASK_NONE, "strided:block=64,lanes=reduced,width=2,vec=1"},
        {REDTUNE_MAX_AT, REDTUNE_MASK_NONE, "strided:block=64,lanes=kept,width=8,vec=1"},
        {REDTUNE_DOT, REDTUNE_MASK_NONE,
         "strided:block=128,lanes=reduced,width=1,vec=1,finish=poll,per_sm=4"},
        {REDTUNE_SUM, REDTUNE_MASK_BYTES, "strided:block=64,lanes=reduced,width=4,vec=1"},
    };
    const size_t kind_count = sizeof kinds / sizeof *kinds;
    for (size_t i = 0; i < 4 * kind_count && !check_state.failed; i++) {
        const size_t k = i % kind_count;
        shared_trial self;
        if (!subject_is_of_part(i)) continue;
        draw_from(i);
        draw_shared(kinds[k].op, kinds[k].mask, &self);
        self.whole.problem.config = kinds[k].config;
        fill(&self.whole);
        share_anyhow(&self);
        check_shared(&self);
    }
}

/* Planes of a batch: the bits of one GPU, where each rank has a power of two of chunks. */
FACT(parts_in_fixed_order_have_the_bits_of_one_gpu) {
    enum { N = 14, C = 3, PLANE = 512, EACH = 4 };
    shared_trial self = {.whole = {.out_first = 0}};
    redtune_problem *p = &self.whole.problem;
    unsigned char one[C * 4], got[C * 4];
    redtune_plan *plan = NULL;
    if (all.size * EACH < N) SKIP("there are too few GPUs");
    *p = (redtune_problem){.dtype = REDTUNE_F32,
                           .order = REDTUNE_ORDER_FIXED,
                           .steps = 1u << X,
                           .kept_axes = 1,
                           .reduced_axes = 2};
    p->kept[0] = (redtune_axis){C, {PLANE}};
    p->reduced[0] = (redtune_axis){N, {C * PLANE}};
    p->reduced[1] = (redtune_axis){PLANE, {1}};
    draw_from(5);
    for (size_t i = 0; i < ROOM; i++)
        numbers[0][i] = (float)(1 + draw(1 << 24)) / 1024 * (draw(2) ? 1.f : -1.f);
    for (int r = 0; r < all.size; r++) {
        const uint64_t from = (uint64_t)r * EACH < N ? (uint64_t)r * EACH : N;
        give_part(&self.whole, from, N - from < EACH ? N - from : EACH, &self.part[r]);
        self.first[r] = (uint64_t)r * EACH * PLANE;
    }
    redtune_operands whole;
    give(&self.whole, 0, &whole);
    CHECK_OK(redtune_plan_create(all.rank[0].rt, p, &plan, &err), err);
    CHECK_OK(redtune_plan_run(plan, &whole, all.rank[0].stream, &err), err);
    CHECK_OK(crew_read(&all, 0, one, all.rank[0].output[0].address, sizeof one, &err), err);
    redtune_plan_destroy(plan);
    run_shared(&self);
    for (int r = 0; r < all.size && !check_state.failed; r++) {
        CHECK_OK(crew_read(&all, r, got, all.rank[r].output[0].address, sizeof got, &err), err);
        CHECK(!memcmp(got, one, sizeof one));
    }
}

/* Elements of three planes are no power of two of chunks. */
FACT(other_parts_in_fixed_order_are_refused) {
    trial at = {.first = {0}};
    redtune_plan *plan = NULL;
    redtune_operands operands;
    if (all.size < 2) SKIP("there are too few GPUs, or no NCCL");
    at.problem = (redtune_problem){.dtype = REDTUNE_F32,
                                   .order = REDTUNE_ORDER_FIXED,
                                   .steps = 1u << X,
                                   .kept_axes = 1,
                                   .reduced_axes = 2};
    at.problem.kept[0] = (redtune_axis){2, {1024}};
    at.problem.reduced[0] = (redtune_axis){3, {2048}};
    at.problem.reduced[1] = (redtune_axis){1024, {1}};
    give(&at, 1, &operands);
    CHECK_OK(redtune_plan_create(all.rank[1].rt, &at.problem, &plan, &err), err);
    const crew_rank *rank = &all.rank[1];
    CHECK_FAILS(redtune_team_run(plan, rank->team, &operands, 3 * 1024, rank->stream, &err),
                REDTUNE_UNSUPPORTED, err, "must begin at its rank times a power of two of chunks");
    CHECK_FAILS(redtune_team_run(plan, rank->team, &operands, 2 * 1024, rank->stream, &err),
                REDTUNE_UNSUPPORTED, err, "and have at most as many");
    redtune_plan_destroy(plan);
}

FACT(results_beyond_the_room_are_reduced_by_nccl) {
    shared_trial self;
    draw_from(11);
    do draw_shared(REDTUNE_SUM, REDTUNE_MASK_NONE, &self);
    while (results_of(&self.whole) < 8);
    fill(&self.whole);
    share_anyhow(&self);
    CHECK_OK(crew_change_room(&all, 7, &err), err);
    check_shared(&self);
    CHECK_OK(crew_change_room(&all, 0, &err), err);
}

FACT(results_with_gaps_are_refused) {
    trial at;
    redtune_plan *plan = NULL;
    draw_from(12);
    do draw_trial(REDTUNE_SUM, 20, &at);
    while (!(at.problem.steps >> OUT & 1) || !is_strided(&at) || results_of(&at) < 2);
    at.problem.mask = REDTUNE_MASK_NONE;
    at.problem.kept[0].step[OUT] = 1000;
    redtune_operands operands;
    give(&at, 0, &operands);
    CHECK_OK(redtune_plan_create(all.rank[0].rt, &at.problem, &plan, &err), err);
    CHECK_FAILS(redtune_team_prepare(plan, &err), REDTUNE_UNSUPPORTED, err,
                "into results with gaps or in another order");
    CHECK_FAILS(redtune_team_run(plan, all.rank[0].team, &operands, 0, all.rank[0].stream, &err),
                REDTUNE_UNSUPPORTED, err, "into results with gaps or in another order");
    redtune_plan_destroy(plan);
}

int main(int argc, char **argv) { return crew_run(RANKS_MAX, INPUT_BYTES, &all, argc, argv); }
