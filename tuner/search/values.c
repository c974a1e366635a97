/* Values: what a search does with each value of the parameters whose values have names. */
#include "tuner/search/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/winner.h"
#include "tuner/search/neighbours.h"
#include "tuner/search/plane.h"

enum {
    DOUBLINGS = 3,       /* sizes further apart than that say nothing of each other */
    CLOSE_DOUBLINGS = 2, /* shapes: a step of the default grid */
    CLOSE = 4, /* times as many elements: what ties at sizes closer than that is not tried again */
    LARGEST = 36,
    POWERS = 3,      /* the default is asked for at 2^0, 2^3, ... elements */
    SHAPE_POWERS = 5 /* likewise, of elements and of results */
};

/* Times the best without the value: a smaller gain does not pay for exploring. Of two tunes of an
 * H200 each had 10 gains of more than 3 % at 425 points, of more than 1 % 20; hardly any in both.
 */
static const double worth_exploring = 0.97;

/* What trials of one size say of a value. */
typedef enum effect { UNTRIED, LOST, TIED, WON } effect;

/* A point that was tried at some size, and the last trial of the most samples. */
typedef struct known {
    rdt_point point;
    int rank; /* of the point */
    const rdt_trial *trial;
} known;

typedef struct evidence {
    known *known; /* by size */
    size_t count;
} evidence;

/* At other sizes of the class, in the other cache state, and of each similar problem. */
typedef struct history {
    evidence sizes, other, similar[RDT_SIMILAR_MAX];
} history;

/* A value of a parameter of a family. */
typedef struct setting {
    int family, param;
    int64_t value;
} setting;

/* ---- the default's --------------------------------------------------------------------------- */

static redtune_status mark_default(const rdt_search *search, redtune_problem problem,
                                   rdt_values *out, redtune_error *err) {
    rdt_point defaults[RDT_FAMILY_MAX];
    size_t families = 0;
    redtune_status status = rdt_rules_defaults(search->codegen, (rdt_case){&problem, search->facts},
                                               defaults, &families, err);
    for (size_t f = 0; !status && f < families; f++) {
        const rdt_space *space = rdt_point_space(rdt_codegen_spaces(search->codegen), &defaults[f]);
        for (int i = 0; i < space->param_count; i++) {
            const int at = rdt_space_param_find(&space->param[i], defaults[f].value[i]);
            out->of[defaults[f].family][i][at] = RDT_USE_BASE;
        }
    }
    return status == REDTUNE_UNSUPPORTED ? REDTUNE_OK : status; /* no family serves this size */
}

/* The extent that counts the results of a shape. */
static uint64_t *result_extent(const redtune_problem *problem, rdt_extents *extents) {
    return rdt_problem_layout(problem) == RDT_LAYOUT_COLUMNS ? &extents->inner : &extents->outer;
}

/* The problem's extents, packed. */
static rdt_extents packed(const redtune_problem *problem) {
    const rdt_extents extents = rdt_problem_axes_written(problem);
    return (rdt_extents){extents.count, extents.outer, extents.inner, 0, 0};
}

/* Over the plane, packed: the problem's own steps are looked at beside. */
static redtune_status mark_shapes(const rdt_search *search, uint64_t count, rdt_values *out,
                                  redtune_error *err) {
    redtune_problem problem = *search->problem;
    rdt_extents extents = packed(&problem);
    uint64_t *results = result_extent(&problem, &extents);
    redtune_status status = REDTUNE_OK;
    extents.count = count;
    problem.greatest = problem.median = 0;
    for (int power = 1; !status && power <= LARGEST; power += SHAPE_POWERS) {
        *results = UINT64_C(1) << power;
        rdt_problem_axes_set(&problem, extents);
        status = mark_default(search, problem, out, err);
    }
    return status;
}

/* At all sizes. */
static redtune_status mark_sizes(const rdt_search *search, rdt_values *out, redtune_error *err) {
    const bool shapes = rdt_plane_has(search->problem);
    redtune_status status = REDTUNE_OK;
    for (int power = 0; !status && power <= LARGEST; power += shapes ? SHAPE_POWERS : POWERS) {
        redtune_problem problem = *search->problem;
        const uint64_t count = UINT64_C(1) << power;
        rdt_problem_axes_set_count(&problem, count);
        status =
            shapes ? mark_shapes(search, count, out, err) : mark_default(search, problem, out, err);
    }
    return status;
}

/* What mark_sizes does not replace of a problem. */
static redtune_problem without_size(redtune_problem problem) {
    rdt_extents extents = packed(&problem);
    if (rdt_plane_has(&problem)) {
        *result_extent(&problem, &extents) = 0;
        problem.greatest = problem.median = 0;
    }
    extents.count = 0;
    rdt_problem_axes_set(&problem, extents);
    return problem;
}

static redtune_status mark_defaults(const rdt_search *search, rdt_values *out, redtune_error *err) {
    rdt_usual *usual = search->usual;
    const redtune_problem problem = without_size(*search->problem);
    redtune_status status = REDTUNE_OK;
    if (usual && usual->known && rdt_problem_same(&usual->problem, &problem)) {
        *out = usual->values;
    } else {
        status = mark_sizes(search, out, err);
        if (!status && usual) *usual = (rdt_usual){true, problem, *out};
    }
    if (!status && rdt_plane_has(search->problem))
        status = mark_default(search, *search->problem, out, err);
    return status;
}

static uint64_t up(uint64_t count) {
    return count <= UINT64_MAX >> DOUBLINGS ? count << DOUBLINGS : UINT64_MAX;
}

/* ---- what is known --------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    const known *x = a, *y = b;
    const int extents = rdt_problem_compare_extents(&x->trial->problem, &y->trial->problem);
    if (extents) return extents;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->trial->samples != y->trial->samples)
        return x->trial->samples > y->trial->samples ? -1 : 1;
    return x->trial > y->trial ? -1 : 1;
}

static bool is_near(uint64_t a, uint64_t b) { return a <= up(b) && b <= up(a); }

static bool are_near(const redtune_problem *a, const redtune_problem *b) {
    return rdt_plane_has(a) ? rdt_plane_distance(a, b) <= DOUBLINGS
                            : is_near(rdt_problem_count(a), rdt_problem_count(b));
}

static bool is_close(uint64_t a, uint64_t b) { return a < CLOSE * b && b < CLOSE * a; }

/* Of each point at each problem near this one the trial that counts: at `only`, or, where that is
 * NULL, at all but this one itself. */
static redtune_status gather(const rdt_search *search, const rdt_trials *trials,
                             const redtune_problem *only, evidence *out, redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(search->codegen);
    const redtune_problem *here = search->problem;
    size_t kept = 0;
    if (!trials) return REDTUNE_OK;
    out->known = calloc(trials->count + 1, sizeof *out->known);
    if (!out->known) return rdt_fail_memory(err, (trials->count + 1) * sizeof *out->known);
    for (size_t i = 0; i < trials->count; i++) {
        const rdt_trial *trial = &trials->trial[i];
        const redtune_problem *at = &trial->problem;
        known *next = &out->known[kept];
        if (rdt_problem_same_extents(at, only ? only : here) != (only != NULL) ||
            !are_near(at, here) ||
            rdt_point_read(spaces, trial->family, trial->config, &next->point, NULL))
            continue;
        next->rank = rdt_point_rank(spaces, &next->point);
        next->trial = trial;
        kept++;
    }
    qsort(out->known, kept, sizeof *out->known, compare);
    for (size_t i = 0; i < kept; i++) {
        const known *last = out->count ? &out->known[out->count - 1] : NULL;
        if (last &&
            rdt_problem_same_extents(&last->trial->problem, &out->known[i].trial->problem) &&
            rdt_point_same(&last->point, &out->known[i].point))
            continue;
        out->known[out->count++] = out->known[i];
    }
    return REDTUNE_OK;
}

static redtune_status gather_all(const rdt_search *search, history *out, redtune_error *err) {
    redtune_status status = gather(search, search->sizes, NULL, &out->sizes, err);
    if (!status) status = gather(search, search->verified, search->problem, &out->other, err);
    for (size_t i = 0; !status && i < search->similar_count; i++)
        status = gather(search, search->similar[i].trials, &search->similar[i].problem,
                        &out->similar[i], err);
    return status;
}

static void free_history(history *history) {
    free(history->sizes.known);
    free(history->other.known);
    for (size_t i = 0; i < RDT_SIMILAR_MAX; i++) free(history->similar[i].known);
}

/* How the setting did among these, which are of one size. */
static effect effect_of(const known *at, size_t count, const setting *setting) {
    const rdt_trial *with = NULL, *without = NULL;
    bool tried = false;
    for (size_t k = 0; k < count; k++) {
        const bool has = at[k].point.value[setting->param] == setting->value;
        const rdt_trial **best = has ? &with : &without;
        if (at[k].point.family != setting->family) continue;
        tried = tried || has;
        if (at[k].trial->outcome == RDT_OUTCOME_GOOD &&
            (!*best || at[k].trial->median_ns < (*best)->median_ns))
            *best = at[k].trial;
    }
    if (!tried) return UNTRIED;
    if (!with || !without) return with ? WON : LOST;
    const double noise_ns = rdt_winner_noise_ns(with, without);
    if (with->median_ns > without->median_ns + noise_ns) return LOST;
    /* A lucky time of few samples wins nothing: what is best is timed again with more samples. */
    const bool careful = 2 * with->samples >= without->samples;
    const bool gains = with->median_ns < without->median_ns * worth_exploring;
    return careful && gains && with->median_ns < without->median_ns - noise_ns ? WON : TIED;
}

/* At the nearest shapes that have the setting; of two as near, by the one where it does better. */
static effect nearest_shape_effect(const evidence *all, const redtune_problem *problem,
                                   const setting *setting) {
    effect found = UNTRIED;
    double nearest = HUGE_VAL;
    for (size_t first = 0, end; first < all->count; first = end) {
        const redtune_problem *at = &all->known[first].trial->problem;
        const double distance = rdt_plane_distance(problem, at);
        for (end = first + 1; end < all->count; end++)
            if (!rdt_problem_same_extents(&all->known[end].trial->problem, at)) break;
        if (distance > nearest) continue;
        effect here = effect_of(&all->known[first], end - first, setting);
        if (here == TIED && distance <= CLOSE_DOUBLINGS) here = LOST; /* there is nothing to gain */
        if (here == UNTRIED || (distance == nearest && here < found)) continue;
        nearest = distance;
        found = here;
    }
    return found;
}

/* At the nearest size below the problem's that has the setting, or at or above it. */
static effect nearest_effect(const evidence *all, const redtune_problem *problem, bool above,
                             const setting *setting) {
    effect found = UNTRIED;
    for (size_t first = 0, end; first < all->count; first = end) {
        const redtune_problem *at = &all->known[first].trial->problem;
        for (end = first + 1; end < all->count; end++)
            if (!rdt_problem_same_extents(&all->known[end].trial->problem, at)) break;
        if ((rdt_problem_compare_extents(at, problem) >= 0) != above || (above && found != UNTRIED))
            continue;
        effect here = effect_of(&all->known[first], end - first, setting);
        if (here == TIED && is_close(rdt_problem_count(at), rdt_problem_count(problem)))
            here = LOST; /* there is nothing to gain */
        if (here != UNTRIED) found = here;
    }
    return found;
}

/* What the sizes around the problem's say of the setting. */
static rdt_use use_near(const evidence *all, const redtune_problem *problem,
                        const setting *setting) {
    static const rdt_use use[] = {[UNTRIED] = RDT_USE_UNKNOWN,
                                  [LOST] = RDT_USE_OUT,
                                  [TIED] = RDT_USE_TIED,
                                  [WON] = RDT_USE_IN};
    if (rdt_plane_has(problem)) return use[nearest_shape_effect(all, problem, setting)];
    effect below = nearest_effect(all, problem, false, setting);
    effect above = nearest_effect(all, problem, true, setting);
    return use[below > above ? below : above];
}

/* What won at a similar problem is in. What tied and lost counts in the class alone; and what lost
 * at the problem itself in the other cache state need not be tried. */
static rdt_use classify(const rdt_search *search, const history *all, const setting *setting) {
    const redtune_problem *here = search->problem;
    const rdt_use use = search->sizes ? use_near(&all->sizes, here, setting) : RDT_USE_OUT;
    for (size_t i = 0; i < search->similar_count; i++)
        if (use_near(&all->similar[i], here, setting) == RDT_USE_IN) return RDT_USE_IN;
    const bool lost = effect_of(all->other.known, all->other.count, setting) == LOST;
    return use == RDT_USE_UNKNOWN && lost ? RDT_USE_OUT : use;
}

static void classify_param(const rdt_search *search, const history *all, int family, int i,
                           rdt_use *of) {
    const rdt_param *param = &rdt_codegen_spaces(search->codegen)->space[family].param[i];
    for (int k = 0; k < param->value_count; k++)
        if (!rdt_space_param_is_named(param))
            of[k] = RDT_USE_BASE;
        else if (of[k] != RDT_USE_BASE)
            of[k] = classify(search, all, &(setting){family, i, param->value[k]});
}

redtune_status rdt_values_classify(const rdt_search *search, rdt_values *out, redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(search->codegen);
    history all = {.sizes = {0}};
    redtune_status status = gather_all(search, &all, err);
    if (!status) status = mark_defaults(search, out, err);
    for (int f = 0; !status && f < spaces->count; f++)
        for (int i = 0; i < spaces->space[f].param_count; i++)
            classify_param(search, &all, f, i, out->of[f][i]);
    free_history(&all);
    return status;
}

rdt_use rdt_values_least(const rdt_values *values, const rdt_spaces *spaces,
                         const rdt_point *point) {
    const rdt_space *space = rdt_point_space(spaces, point);
    rdt_use least = RDT_USE_BASE;
    for (int i = 0; i < space->param_count; i++) {
        rdt_use use =
            values->of[point->family][i][rdt_space_param_find(&space->param[i], point->value[i])];
        if (use < least) least = use;
    }
    return least;
}
