/* Planes of shapes: how far shapes are apart, what a search finds at each of them for how many
 * candidates, going on after a stop, and crossovers in both directions. */
#include <math.h>
#include <stdlib.h>
#include "check.h"
#include "oracle_shape.h"
#include "shaped.h"
#include "tune.h"
#include "model/winner.h"
#include "tuner/search/plane.h"
#include "redtune/tune.h"

static redtune_problem rows_of(uint64_t count, uint64_t outer) {
    return PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .result = REDTUNE_F32, .count = count,
                   .outer = outer);
}

static redtune_problem columns_of(uint64_t count, uint64_t outer, uint64_t inner) {
    redtune_problem problem = rows_of(count, outer);
    RESHAPE(&problem, inner, inner);
    return problem;
}

/* ---- where shapes lie ------------------------------------------------------------------------ */

FACT(sides_are_those_of_the_greater_difference) {
    const redtune_problem here = rows_of(1024, 64);
    const struct {
        redtune_problem there;
        rdt_side side;
    } of[] = {
        {rows_of(4096, 64), RDT_SIDE_MORE_COUNT},    {rows_of(256, 64), RDT_SIDE_LESS_COUNT},
        {rows_of(1024, 256), RDT_SIDE_MORE_RESULTS}, {rows_of(1024, 16), RDT_SIDE_LESS_RESULTS},
        {rows_of(4096, 128), RDT_SIDE_MORE_COUNT},   {rows_of(2048, 16), RDT_SIDE_LESS_RESULTS},
        {rows_of(1025, 64), RDT_SIDE_HERE},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        CHECK_INT(rdt_plane_side(&here, &of[i].there), of[i].side);
    const redtune_problem batch = columns_of(64, 16, 64), wide = columns_of(64, 0, 4096);
    CHECK_INT(rdt_plane_side(&batch, &wide), RDT_SIDE_MORE_RESULTS);
    CHECK(rdt_plane_distance(&batch, &wide) == 6);
    CHECK(rdt_plane_distance(&here, &of[0].there) == 2);
}

/* The nearest on each side; one of another alignment only where its own kind is far. */
FACT(nearest_shapes_are_of_the_same_alignment_first) {
    const redtune_problem here = rows_of(1025, 64);
    const redtune_problem others[] = {
        rows_of(16385, 64), rows_of(4096, 64),     rows_of(1024, 64),   rows_of(1025, 1024),
        rows_of(1025, 256), rows_of(65, 8),        rows_of(262145, 64), rows_of(4097, 64),
        rows_of(1025, 64),  rows_of(64 << 20, 64),
    };
    rdt_beside beside = {{NULL}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        rdt_plane_add(&beside, &here, &others[i]);
    CHECK(beside.side[RDT_SIDE_HERE] == &others[2]);
    CHECK(beside.side[RDT_SIDE_MORE_COUNT] == &others[7]);
    CHECK(beside.side[RDT_SIDE_MORE_RESULTS] == &others[4]);
    CHECK(beside.side[RDT_SIDE_LESS_COUNT] == &others[5]);
    CHECK(!beside.side[RDT_SIDE_LESS_RESULTS]);
    /* Of its own alignment and twice as far it is nearer. */
    const redtune_problem less[] = {rows_of(256, 64), rows_of(65, 64)};
    rdt_beside own = {{NULL}};
    for (size_t i = 0; i < 2; i++) rdt_plane_add(&own, &here, &less[i]);
    CHECK(own.side[RDT_SIDE_LESS_COUNT] == &less[1]);
}

FACT(order_is_by_bytes_and_then_by_count) {
    const redtune_problem problems[] = {rows_of(4, 4096), rows_of(16, 64), rows_of(64, 16),
                                        rows_of(256, 64), rows_of(65, 16)};
    static const size_t expected[] = {1, 2, 4, 0, 3};
    size_t *order = NULL;
    redtune_error err;
    CHECK_OK(rdt_plane_order(problems, 5, &order, &err), err);
    for (size_t i = 0; i < 5; i++) CHECK_INT(order[i], expected[i]);
    free(order);
}

FACT(lines_run_along_each_extent) {
    redtune_problem problems[] = {
        columns_of(64, 0, 64),      columns_of(1024, 0, 64), columns_of(256, 0, 64),
        columns_of(64, 0, 257),     columns_of(64, 0, 1024), columns_of(64, 8, 64),
        columns_of(1 << 20, 0, 64),
    };
    CHECK_INT(rdt_plane_next(problems, 7, 0, RDT_AXIS_COUNT), 2);
    CHECK_INT(rdt_plane_next(problems, 7, 2, RDT_AXIS_COUNT), 1);
    CHECK_INT(rdt_plane_next(problems, 7, 1, RDT_AXIS_COUNT), -1); /* too far */
    CHECK_INT(rdt_plane_next(problems, 7, 0, RDT_AXIS_INNER), 4);  /* not the odd one */
    CHECK_INT(rdt_plane_next(problems, 7, 3, RDT_AXIS_INNER), -1);
    CHECK_INT(rdt_plane_next(problems, 7, 0, RDT_AXIS_OUTER), -1); /* one is no line of batches */
    RESHAPE(&problems[2], step, 80);
    CHECK_INT(rdt_plane_next(problems, 7, 0, RDT_AXIS_COUNT), 1);
}

FACT(middles_are_aligned_as_their_ends) {
    const struct {
        redtune_problem low, high;
        rdt_axis axis;
        uint64_t extent; /* 0: there is none between them */
    } of[] = {
        {rows_of(64, 16), rows_of(256, 16), RDT_AXIS_COUNT, 144},
        {rows_of(65, 16), rows_of(1025, 16), RDT_AXIS_COUNT, 289},
        {rows_of(4, 16), rows_of(16, 16), RDT_AXIS_COUNT, 8},
        {rows_of(4, 16), rows_of(8, 16), RDT_AXIS_COUNT, 0},
        {rows_of(65, 16), rows_of(65, 64), RDT_AXIS_OUTER, 32},
        {columns_of(64, 0, 17), columns_of(64, 0, 65), RDT_AXIS_INNER, 33},
        {columns_of(64, 0, 1000), columns_of(64, 0, 3000), RDT_AXIS_INNER, 1732},
        {rows_of(100, 2), rows_of(100, 3), RDT_AXIS_OUTER, 0},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        redtune_problem middle;
        const bool found = rdt_plane_middle(&of[i].low, &of[i].high, of[i].axis, &middle);
        CHECK_INT(found, of[i].extent != 0);
        if (!found) continue;
        const uint64_t extent = of[i].axis == RDT_AXIS_COUNT   ? shaped_of(&middle).count
                                : of[i].axis == RDT_AXIS_OUTER ? shaped_of(&middle).outer
                                                               : shaped_of(&middle).inner;
        CHECK_INT(extent, of[i].extent);
        CHECK_INT(rdt_problem_alignment(&middle), rdt_problem_alignment(&of[i].low));
    }
}

/* ---- what is found, and at what cost --------------------------------------------------------- */

typedef struct regret {
    double log_sum, worst;
    size_t judged;  /* shapes */
    size_t apart;   /* of them, those whose winner is more than 2 % slower than the best */
    size_t winners; /* configs that win somewhere */
} regret;

static regret measure_regret(const tune *self) {
    regret found = {.worst = 1};
    for (size_t i = 0; i < self->count; i++) {
        const rdt_trial *winner = &self->cold[i].winner;

        bool is_new = true;
        for (size_t k = 0; is_new && k < i; k++)
            is_new = strcmp(winner->config, self->cold[k].winner.config) != 0;
        found.winners += is_new;
        if (i % 2) continue; /* finding the best takes longer than the tune */
        const double ratio =
            tune_truth_ns(self, winner) / oracle_shape_best_ns(&self->oracle, &self->problems[i]);
        found.judged++;
        found.log_sum += log(ratio);
        found.apart += ratio > 1.02;
        if (ratio > found.worst) found.worst = ratio;
    }
    return found;
}

static tune self, other; /* large */

static void begin(tune *out, redtune_dtype dtype, bool rows, double noise) {
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    oracle.noise = oracle.outliers = noise;
    oracle.elsewhere = 0.003;
    tune_begin_shapes(out, oracle, dtype, rows);
}

/* Of f32, by rows; several facts look at them, so they are tuned once. */
static tune planes[2];

static tune *plane_of(bool rows) {
    tune *plane = &planes[rows];
    if (plane->count) return plane;
    begin(plane, REDTUNE_F32, rows, 0);
    tune_run(plane);
    return plane;
}

static void check_plane(const tune *plane) {
    const bool rows = rdt_problem_layout(plane->problems) == RDT_LAYOUT_ROWS;
    const regret found = measure_regret(plane);
    const double shapes = (double)plane->count, timed = (double)plane->oracle.timed / shapes;
    printf("  %s of %s, %s: %.1f candidates a shape, %.2f %% above the best on average, %.1f %% at "
           "worst, %zu of %zu by more than 2 %%, %zu winners\n",
           rows ? "rows" : "columns", redtune_dtype_name(plane->problems[0].dtype),
           redtune_effort_name(plane->effort), timed,
           100 * (exp(found.log_sum / (double)found.judged) - 1), 100 * (found.worst - 1),
           found.apart, found.judged, found.winners);
    CHECK(timed <= (plane->effort == REDTUNE_EFFORT_QUICK ? 26 : 36));
    CHECK(found.log_sum <= (double)found.judged * log(1.02));
    CHECK(found.apart * 5 <= found.judged);
    CHECK(found.winners * 2 <= plane->count);
    CHECK(found.worst <= 1.25);
    for (size_t i = 0; i < plane->count; i++) CHECK(plane->cold[i].found && !plane->warm[i].found);
}

FACT(standard_finds_the_best_at_most_shapes) {
    for (int rows = 0; rows < 2; rows++) check_plane(plane_of(rows));
}

FACT(quick_finds_the_best_for_less_in_noise) {
    for (int rows = 0; rows < 2; rows++) {
        begin(&self, REDTUNE_F16, rows, 0.01);
        self.effort = REDTUNE_EFFORT_QUICK;
        CHECK_OK(tune_run(&self), self.err);
        check_plane(&self);
        tune_end(&self);
    }
}

/* Every twentieth shape in full, as a plane of its own. */
FACT(exhaustive_finds_the_best) {
    begin(&self, REDTUNE_F32, true, 0);
    size_t kept = 0;
    for (size_t i = 0; i < self.count; i += 20) self.problems[kept++] = self.problems[i];
    self.count = kept;
    self.effort = REDTUNE_EFFORT_EXHAUSTIVE;
    CHECK_OK(tune_run(&self), self.err);
    CHECK(measure_regret(&self).worst <= 1.01);
    tune_end(&self);
}

/* A plane of some of the shapes, so that all stops take seconds. */
static void thin_out(tune *at) {
    size_t kept = 0;
    for (size_t i = 0; i < at->count; i++)
        if (shaped_of(&at->problems[i]).count <= 4097 &&
            rdt_problem_results(&at->problems[i]) <= 1025)
            at->problems[kept++] = at->problems[i];
    at->count = kept;
}

/* ---- few configs for many shapes ------------------------------------------------------------- */

/* The class of the same element bytes, with its trials known. */
FACT(a_class_alike_lends_its_winners) {
    begin(&self, REDTUNE_F16, true, 0.01);
    thin_out(&self);
    CHECK_OK(tune_run(&self), self.err);
    const double alone = (double)self.oracle.timed;
    begin(&other, REDTUNE_BF16, true, 0.01);
    thin_out(&other);
    other.sweep.alike[RDT_CACHE_COLD] = self.sweep.known[RDT_CACHE_COLD];
    CHECK_OK(tune_run(&other), other.err);
    size_t same = 0;
    for (size_t i = 0; i < other.count; i++)
        same += !strcmp(self.cold[i].winner.config, other.cold[i].winner.config);
    CHECK(same * 4 >= other.count * 3);
    CHECK((double)other.oracle.timed <= 1.1 * alone);
    tune_end(&other);
    tune_end(&self);
}

/* ---- going on -------------------------------------------------------------------------------- */

FACT(what_is_known_is_not_asked_again) {
    for (int effort = 0; effort < 2; effort++)
        for (int rows = 0; rows < 2; rows++) {
            begin(&self, REDTUNE_F32, rows, 0.01);
            thin_out(&self);
            self.effort = (redtune_effort)effort;
            CHECK_OK(tune_run(&self), self.err);
            const size_t verified = self.oracle.verified, timed = self.oracle.timed;
            CHECK_OK(tune_run(&self), self.err);
            CHECK_INT(self.oracle.verified, verified);
            CHECK_INT(self.oracle.timed, timed);
            tune_end(&self);
        }
}

/* Stops after so many trials, goes on, and asks of the evaluator what an undisturbed tune asks. */
FACT(a_stopped_tune_goes_on_as_if_undisturbed) {
    begin(&self, REDTUNE_F32, true, 0.01);
    thin_out(&self);
    CHECK_OK(tune_run(&self), self.err);
    for (size_t stop = 1; stop < self.stored; stop += self.stored / 11 + 1) {
        begin(&other, REDTUNE_F32, true, 0.01);
        thin_out(&other);
        other.stop_after = stop;
        CHECK(tune_run(&other) == REDTUNE_INTERRUPTED || other.stored == self.stored);
        other.stop_after = 0;
        CHECK_OK(tune_run(&other), other.err);
        CHECK_INT(other.oracle.samples, self.oracle.samples);
        CHECK_INT(other.stored, self.stored);
        for (size_t i = 0; i < other.count; i++)
            CHECK_TEXT(other.cold[i].winner.config, self.cold[i].winner.config);
        tune_end(&other);
    }
    tune_end(&self);
}

/* ---- crossovers ------------------------------------------------------------------------------ */

static const rdt_trial *winner_at(const tune *at, const redtune_problem *problem) {
    const rdt_trials *trials = &at->sweep.known[RDT_CACHE_COLD];
    const rdt_trial *pointers[512] = {NULL};
    size_t found = 0;
    rdt_winner winner = {.trial = NULL};
    for (size_t i = 0; i < trials->count && found < 512; i++)
        if (rdt_problem_same_extents(&trials->trial[i].problem, problem))
            pointers[found++] = &trials->trial[i];
    rdt_winner_choose(pointers, found, &winner, NULL);
    return winner.trial;
}

static bool is_asked_for(const tune *at, const redtune_problem *problem) {
    for (size_t i = 0; i < at->count; i++)
        if (rdt_problem_same_extents(&at->problems[i], problem)) return true;
    return false;
}

/* The line whose middle the shape is, and whether winners differ at its ends; RDT_AXES: none. */
static rdt_axis axis_of(const tune *at, const redtune_problem *middle, bool *differ) {
    for (size_t i = 0; i < at->count; i++)
        for (int axis = 0; axis < RDT_AXES; axis++) {
            redtune_problem here;
            const long next = rdt_plane_next(at->problems, at->count, i, (rdt_axis)axis);
            if (next < 0 ||
                !rdt_plane_middle(&at->problems[i], &at->problems[next], (rdt_axis)axis, &here) ||
                !rdt_problem_same_extents(&here, middle))
                continue;
            *differ = strcmp(winner_at(at, &at->problems[i])->config,
                             winner_at(at, &at->problems[next])->config) != 0;
            return (rdt_axis)axis;
        }
    return RDT_AXES;
}

/* Each lies between two neighbours whose winners differ, and at most half as many as shapes are
 * measured. */
FACT(crossovers_lie_between_different_winners_in_both_directions) {
    for (int rows = 0; rows < 2; rows++) {
        size_t along[RDT_AXES + 1] = {0}, middles = 0;
        const tune *plane = plane_of(rows);
        const rdt_trials *trials = &plane->sweep.known[RDT_CACHE_COLD];
        const redtune_problem *last = NULL;
        for (size_t i = 0; i < trials->count; i++) {
            const redtune_problem *each = &trials->trial[i].problem;
            bool differ = false;
            if (is_asked_for(plane, each) || (last && rdt_problem_same_extents(last, each)))
                continue;
            last = each;
            middles++;
            along[axis_of(plane, each, &differ)]++;
            CHECK(differ && winner_at(plane, each));
        }
        printf("  %s: %zu crossovers, %zu by count\n", rows ? "rows" : "columns", middles,
               along[RDT_AXIS_COUNT]);
        CHECK(middles <= (plane->count + 1) / 2);
        CHECK_INT(along[RDT_AXES], 0);
        CHECK(along[RDT_AXIS_COUNT]);
        if (!rows) CHECK(along[RDT_AXIS_INNER]);
    }
}

/* The winner of the measured shape nearest on a log scale, of those asked for only or of all. */
static const rdt_trial *nearest_winner(const tune *at, const redtune_problem *problem, bool all) {
    const rdt_trials *trials = &at->sweep.known[RDT_CACHE_COLD];
    const redtune_problem *nearest = NULL;
    double least = HUGE_VAL;
    for (size_t i = 0; i < trials->count; i++) {
        const redtune_problem *each = &trials->trial[i].problem;
        const double count = log2((double)shaped_of(each).count / (double)shaped_of(problem).count);
        const double results =
            log2((double)rdt_problem_results(each) / (double)rdt_problem_results(problem));
        const double distance = count * count + results * results;
        if (distance >= least || rdt_problem_alignment(each) != rdt_problem_alignment(problem) ||
            (!all && !is_asked_for(at, each)))
            continue;
        least = distance;
        nearest = each;
    }
    return winner_at(at, nearest);
}

static double borrowed_ns(const tune *at, const redtune_problem *problem, const rdt_trial *winner) {
    rdt_trial here = *winner;
    here.problem = *problem;
    return tune_truth_ns(at, &here);
}

FACT(crossovers_lead_to_the_faster_config) {
    double with = 0, without = 0;
    size_t shapes = 0;
    for (int rows = 0; rows < 2; rows++) {
        const tune *plane = plane_of(rows);
        for (double count = 3; count <= 14; count += 0.9)
            for (double results = 3; results <= 14; results += 0.9) {
                const uint64_t n = (uint64_t)exp2(count), m = (uint64_t)exp2(results);
                const redtune_problem problem =
                    rows ? rows_of((n + 3) / 4 * 4, m) : columns_of(n, 0, (m + 3) / 4 * 4);
                if (n * m < 1024) continue;
                with += log(borrowed_ns(plane, &problem, nearest_winner(plane, &problem, true)));
                without +=
                    log(borrowed_ns(plane, &problem, nearest_winner(plane, &problem, false)));
                shapes++;
            }
    }
    printf("  between the shapes: %.2f %% faster by the crossovers\n",
           100 * (exp((without - with) / (double)shapes) - 1));
    CHECK(with < without);
}

int main(int argc, char **argv) {
    if (!tune_open()) return 1;
    int code = check_run(argc, argv);
    for (int rows = 0; rows < 2; rows++) tune_end(&planes[rows]);
    tune_close();
    return code;
}
