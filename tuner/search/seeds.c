/* Seeds: the best configs of problems like this one, as a start for its search.
 *
 * From each such problem come its best configs, the best of each kind (the values that have
 * names), and, if its size differs, the best ones with a single parameter a step towards this
 * size. They are interleaved: the best of every problem come before the next best of any, because
 * a search may stop after the first few. */
#include "tuner/search/seeds.h"

#include <stdlib.h>
#include <string.h>
#include "tuner/search/neighbours.h"

enum {
    BEST = 4,   /* of each problem */
    MOVED = 3,  /* and of these the neighbours towards this size, where it differs */
    LEADERS = 8 /* kinds of which the best is taken at most */
};

_Static_assert(RDT_SEEDS_MAX >= RDT_SIMILAR_MAX * (BEST + LEADERS + MOVED * RDT_PARAM_MAX),
               "a list has room for the seeds of all similar problems");

/* A point and its time there. */
typedef struct ranked_point {
    rdt_point point;
    uint64_t kind;
    double median_ns;
    int samples, rank;
} ranked_point;

static int compare_medians(const void *a, const void *b) {
    const ranked_point *x = a, *y = b;
    if (x->median_ns != y->median_ns) return x->median_ns < y->median_ns ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Of several trials of one point the last with the most samples counts. The caller frees *out. */
static redtune_status rank_points(const rdt_search *search, const rdt_similar *from,
                                  ranked_point **out, size_t *out_count, redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(search->codegen);
    const rdt_trials *trials = from->trials;
    const size_t room = rdt_trials_at(trials, &from->problem) + 1;
    size_t count = 0;
    ranked_point *ranked = *out = calloc(room, sizeof *ranked);
    if (!ranked) return rdt_fail_memory(err, room * sizeof *ranked);
    for (size_t i = 0; i < trials->count; i++) {
        const rdt_trial *trial = &trials->trial[i];
        rdt_point point;
        if (!rdt_problem_same_extents(&trial->problem, &from->problem) ||
            trial->outcome != RDT_OUTCOME_GOOD ||
            rdt_point_read(spaces, trial->family, trial->config, &point, NULL))
            continue;
        size_t at = 0;
        while (at < count && !rdt_point_same(&ranked[at].point, &point)) at++;
        if (at < count && ranked[at].samples > trial->samples) continue;
        if (at == count) count++;
        ranked[at] = (ranked_point){
            .point = point,
            .kind = rdt_neighbours_kind(spaces, &point),
            .median_ns = trial->median_ns,
            .samples = trial->samples,
            .rank = rdt_point_rank(spaces, &point),
        };
    }
    qsort(ranked, count, sizeof *ranked, compare_medians);
    *out_count = count;
    return REDTUNE_OK;
}

static void add_seed(rdt_seeds_list *list, const rdt_point *point) {
    list->point[list->count++] = *point;
}

/* The best of each kind: which kind is best may change with the size. */
static void add_leaders(const ranked_point *ranked, size_t count, rdt_seeds_list *list) {
    size_t leaders = 0;
    for (size_t i = 0; i < count && leaders < LEADERS; i++) {
        bool leads = true;
        for (size_t k = 0; leads && k < i; k++) leads = ranked[k].kind != ranked[i].kind;
        if (!leads) continue;
        add_seed(list, &ranked[i].point);
        leaders++;
    }
}

/* The neighbours of the best towards this size, where it differs. */
static void add_moved(const rdt_spaces *spaces, const ranked_point *ranked, size_t count, int shift,
                      rdt_seeds_list *list) {
    for (size_t i = 0; shift && i < count && i < MOVED; i++)
        for (int k = rdt_point_space(spaces, &ranked[i].point)->param_count - 1; k >= 0; k--) {
            rdt_point moved;
            if (rdt_neighbours_step(spaces, &ranked[i].point, k, shift, &moved))
                add_seed(list, &moved);
        }
}

static void add_range(const ranked_point *ranked, size_t first, size_t end, size_t count,
                      rdt_seeds_list *list) {
    for (size_t i = first; i < end && i < count; i++) add_seed(list, &ranked[i].point);
}

/* Of every problem the very best comes before anything less of another. */
static void add_all(const rdt_search *search, ranked_point *const *ranked, const size_t *counts,
                    rdt_seeds_list *out) {
    const rdt_spaces *spaces = rdt_codegen_spaces(search->codegen);
    for (size_t i = 0; i < search->similar_count; i++) {
        add_range(ranked[i], 0, BEST / 2, counts[i], out);
        add_leaders(ranked[i], counts[i], out);
    }
    for (size_t i = 0; i < search->similar_count; i++)
        add_range(ranked[i], BEST / 2, BEST, counts[i], out);
    for (size_t i = 0; i < search->similar_count; i++)
        add_moved(spaces, ranked[i], counts[i], search->similar[i].shift, out);
}

redtune_status rdt_seeds_collect(const rdt_search *search, rdt_seeds_list *out,
                                 redtune_error *err) {
    ranked_point *ranked[RDT_SIMILAR_MAX] = {NULL};
    size_t counts[RDT_SIMILAR_MAX];
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < search->similar_count; i++)
        status = rank_points(search, &search->similar[i], &ranked[i], &counts[i], err);
    if (!status) add_all(search, ranked, counts, out);
    for (size_t i = 0; i < search->similar_count; i++) free(ranked[i]);
    return status;
}

redtune_status rdt_seeds_best(const rdt_search *search, const rdt_similar *from, int family,
                              size_t most, rdt_point *out, size_t *count, redtune_error *err) {
    const int samples = rdt_strategy_samples(search->strategy);
    ranked_point *ranked = NULL;
    size_t ranked_count = 0;
    redtune_status status = rank_points(search, from, &ranked, &ranked_count, err);
    if (!status) *count = 0;
    for (size_t i = 0; i < ranked_count && *count < most; i++)
        if (ranked[i].samples >= samples && (family < 0 || ranked[i].point.family == family))
            out[(*count)++] = ranked[i].point;
    free(ranked);
    return status;
}
