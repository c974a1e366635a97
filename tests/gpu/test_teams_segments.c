/* Facts about teams of segments and lists: a result of each rank's segment of a number, or one of
 * all ranks' lists. */
#include <math.h>
#include "check.h"
#include "crew.h"
#include "draw.h"
#include "redtune/list.h"
#include "shaped.h"

enum { RANKS_MAX = 4, INPUT_BYTES = 16384 };

static redtune_error err;
static crew all;

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

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
    const redtune_problem problem =
        PROBLEM(.op = op, .dtype = REDTUNE_I32, .count = LONGEST / 2, .segmented = segmented);
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

FACT(segments_have_their_results_on_every_rank) {
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

/* What a rank has of a segment is no node of its tree; and ranks have no second input of theirs. */
FACT(segments_in_fixed_order_and_of_pairs_are_refused) {
    const crew_rank *rank = &all.rank[0];
    redtune_plan *plan = NULL;
    const redtune_problem problem =
        PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = LONGEST / 2,
                .segmented = REDTUNE_SEGMENTED_EACH, .order = REDTUNE_ORDER_FIXED);
    const redtune_segments segments = {.d_in = pointer_to(rank->input[0].address),
                                       .count = 1,
                                       .d_begin = pointer_to(rank->input[1].address),
                                       .d_out = {pointer_to(rank->output[0].address)}};
    CHECK_OK(redtune_plan_create(rank->rt, &problem, &plan, &err), err);
    CHECK_FAILS(redtune_team_run_segments(plan, rank->team, &segments, 0, rank->stream, &err),
                REDTUNE_UNSUPPORTED, err, "segments by a team in fixed order");
    redtune_plan_destroy(plan);
    redtune_problem pairs = problem;
    redtune_segments two = segments;
    pairs.op = REDTUNE_DOT;
    pairs.order = REDTUNE_ORDER_FREE;
    two.d_second = segments.d_in;
    CHECK_OK(redtune_plan_create(rank->rt, &pairs, &plan, &err), err);
    CHECK_FAILS(redtune_team_run_segments(plan, rank->team, &two, 0, rank->stream, &err),
                REDTUNE_UNSUPPORTED, err, "cannot compute the dot of segments by a team");
    redtune_plan_destroy(plan);
}

FACT(list_of_each_rank_has_one_result) {
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

int main(int argc, char **argv) { return crew_run(RANKS_MAX, INPUT_BYTES, &all, argc, argv); }
