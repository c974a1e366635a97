/* Crossover: between two neighbouring sizes with different winners, the size at which one takes
 * over from the other.
 *
 * The runtime takes the nearest measured size on a log scale. So this bisects that scale: it
 * compares both winners at the ends, then in the middle, and goes on in the half in which the
 * faster one changes. Each middle is searched in full, since configs that tie at both ends may
 * differ between them. */
#include "tuner/search/crossover.h"

#include <math.h>
#include "model/winner.h"
#include "tuner/search/candidates.h"
#include "tuner/search/similar.h"

enum {
    BISECTIONS = 2,     /* sizes that are a factor of 2 apart: the crossover lies within 2^(1/8) */
    NEIGHBOURS = 4,     /* times: sizes further apart have more than one crossover between them */
    WINNER_SAMPLES = 9, /* of a winner at another size than its own */
};

/* A size, and how the two winners compare there. */
typedef struct comparison {
    redtune_problem problem;
    /* The winners of the lower and the upper end, here; no samples: no candidate, or not good. */
    rdt_trial side[2];
} comparison;

typedef struct crossover {
    rdt_sweep *sweep;
    rdt_point point[2]; /* the winners of the lower and of the upper end */
} crossover;

/* Which of the two is faster beyond noise: -1 the lower end's, 1 the upper end's, 0 neither. */
static int compare_winners(const comparison *at) {
    const rdt_trial *low = &at->side[0], *high = &at->side[1];
    if (!low->samples || !high->samples) return low->samples ? -1 : high->samples ? 1 : 0;
    double difference = low->median_ns - high->median_ns;
    if (fabs(difference) <= rdt_winner_noise_ns(low, high)) return 0;
    return difference < 0 ? -1 : 1;
}

rdt_search rdt_crossover_search(rdt_sweep *sweep, const redtune_problem *problem) {
    rdt_search search = rdt_sweep_search(sweep, problem, RDT_CACHE_COLD);
    search.stage = "crossover";
    return search;
}

redtune_status rdt_crossover_measure(rdt_sweep *sweep, const redtune_problem *problem,
                                     const rdt_point winner[2], int samples, rdt_trial out[2],
                                     redtune_error *err) {
    const rdt_search search = rdt_crossover_search(sweep, problem);
    rdt_candidates candidates = {.entry = NULL};
    redtune_status status = rdt_candidates_open(&search, winner, 2, &candidates, err);
    if (!status) status = rdt_candidates_measure(&candidates, NULL, candidates.count, samples, err);
    for (int i = 0; !status && i < 2; i++) {
        const long index = rdt_candidates_find(&candidates, &winner[i]);
        const rdt_entry *entry = index >= 0 ? &candidates.entry[index] : &(rdt_entry){.samples = 0};
        out[i] = (rdt_trial){.median_ns = entry->median_ns,
                             .spread_ns = entry->spread_ns,
                             .samples = entry->samples};
    }
    rdt_candidates_close(&candidates);
    return status;
}

static redtune_status measure_at(const crossover *self, comparison *at, redtune_error *err) {
    return rdt_crossover_measure(self->sweep, &at->problem, self->point, WINNER_SAMPLES, at->side,
                                 err);
}

/* Configs that tie at both ends may differ by much between them, where the grid fills the GPU
 * otherwise: so a size between is searched like any other, from what was best at the two around it.
 */
static redtune_status search_between(const crossover *self, const redtune_problem *low,
                                     const redtune_problem *problem, const redtune_problem *high,
                                     redtune_error *err) {
    rdt_search search = rdt_crossover_search(self->sweep, problem);
    rdt_search_count measured;
    search.similar[search.similar_count++] = (rdt_similar){search.known, *low, 1};
    search.similar[search.similar_count++] = (rdt_similar){search.known, *high, -1};
    redtune_status status = rdt_search_run(&search, &measured, err);
    return status == REDTUNE_WRONG ? REDTUNE_OK : status; /* neither winner is good here */
}

/* On the log scale; false: there is nothing between them. */
static bool find_middle(const redtune_problem *low, const redtune_problem *high,
                        redtune_problem *out) {
    const uint64_t from = rdt_problem_count(low), to = rdt_problem_count(high);
    const uint64_t middle = (uint64_t)llround(sqrt((double)from) * sqrt((double)to));
    *out = *low;
    rdt_problem_axes_set_count(out, middle);
    return middle > from && middle < to;
}

static redtune_status bisect(const crossover *self, comparison low, comparison high,
                             redtune_error *err) {
    for (int i = 0; i < BISECTIONS; i++) {
        comparison between = {.side = {{.samples = 0}}};
        if (!find_middle(&low.problem, &high.problem, &between.problem)) return REDTUNE_OK;
        redtune_status status =
            search_between(self, &low.problem, &between.problem, &high.problem, err);
        if (!status) status = measure_at(self, &between, err);
        int faster = compare_winners(&between);
        if (status || !faster) return status;
        if (faster < 0)
            low = between;
        else
            high = between;
    }
    return REDTUNE_OK;
}

redtune_status rdt_crossover_winner(rdt_sweep *sweep, const redtune_problem *problem,
                                    rdt_point *out, bool *found, redtune_error *err) {
    const rdt_search search = rdt_crossover_search(sweep, problem);
    const rdt_similar here = {search.known, *problem, 0};
    return rdt_similar_winner(&search, &here, out, found, err);
}

/* Measures the ends, and if there is a crossover and `further` is asked, sizes between. */
static redtune_status cross(rdt_sweep *sweep, size_t i, bool further, redtune_error *err) {
    crossover self = {.sweep = sweep};
    comparison low = {.problem = sweep->problems[i]};
    comparison high = {.problem = sweep->problems[i + 1]};
    bool found[2] = {false};
    const uint64_t from = rdt_problem_count(&low.problem), to = rdt_problem_count(&high.problem);
    if (from < 1 || to / from > NEIGHBOURS) return REDTUNE_OK;
    redtune_status status =
        rdt_crossover_winner(sweep, &low.problem, &self.point[0], &found[0], err);
    if (!status)
        status = rdt_crossover_winner(sweep, &high.problem, &self.point[1], &found[1], err);
    if (status || !found[0] || !found[1] || rdt_point_same(&self.point[0], &self.point[1]))
        return status;
    status = measure_at(&self, &low, err);
    if (!status) status = measure_at(&self, &high, err);
    if (status || !further || (!compare_winners(&low) && !compare_winners(&high))) return status;
    return bisect(&self, low, high, err);
}

/* The ends come first: what is measured there for one crossover must not lead the search at another
 * elsewhere when the tune goes on after a stop. */
redtune_status rdt_crossover_run(rdt_sweep *sweep, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int further = 0; further < 2; further++)
        for (size_t i = 0; !status && i + 1 < sweep->count; i++)
            status = cross(sweep, i, further, err);
    return status;
}
