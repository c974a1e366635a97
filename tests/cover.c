/* Cover: a set of kernels in which every pair of parameter values stands together at least once. */
#include "cover.h"

#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "shaped.h"

/* The first two factors are the op and the dtype, the others the space's parameters. */
enum { OP, DTYPE, PARAMS, FACTORS = RDT_PARAM_MAX + PARAMS, VALUES = 64 };
_Static_assert((int)VALUES >= (int)RDT_PARAM_VALUE_MAX, "every value has a place");

/* How often a point with a given pair is looked for, well chosen and at random, and how many random
 * numbers each of its values takes. */
enum { GOOD_TRIES = 50, RANDOM_TRIES = 3000, GOOD_DRAWS = 3, RANDOM_DRAWS = 2, POINTS_MAX = 1024 };

/* A point by its values' indices. */
typedef struct index_point {
    unsigned char at[FACTORS];
} index_point;

/* Whether any allowed point has a value: most pairs that none has are of a value that none has. */
typedef enum life { LIFE_UNKNOWN, LIFE_ALIVE, LIFE_DEAD } life;

typedef struct cover {
    rdt_codegen *codegen;
    redtune_problem like;
    int family;
    const rdt_facts *facts;
    const rdt_space *space;
    int factors, values[FACTORS];
    uint64_t missing[FACTORS][VALUES]
                    [FACTORS]; /* a bit for each of the other's values; both ways */
    life life[FACTORS][VALUES];
    rdt_random random;
} cover;

static int draw(cover *self, int below) {
    return (int)rdt_random_below(&self->random, (uint64_t)below);
}

/* ---- points ---------------------------------------------------------------------------------- */

static redtune_status problem_of(const cover *self, index_point point, redtune_problem *out) {
    redtune_problem problem = self->like;
    problem.op = rdt_op_compiled_in.entry[point.at[OP]].op;
    problem.dtype = rdt_dtype_table[point.at[DTYPE]].dtype;
    return rdt_problem_resolve(&problem, out, NULL);
}

static rdt_point point_of(const cover *self, index_point at) {
    rdt_point point = {.family = self->family};
    for (int i = 0; i < self->space->param_count; i++)
        point.value[i] = self->space->param[i].value[at.at[PARAMS + i]];
    return point;
}

static redtune_status check(cover *self, index_point at, bool *allowed, redtune_error *err) {
    redtune_problem problem;
    *allowed = false;
    for (int i = 0; i < self->factors; i++)
        if (self->life[i][at.at[i]] == LIFE_DEAD) return REDTUNE_OK;
    if (problem_of(self, at, &problem)) return REDTUNE_OK;
    const rdt_point point = point_of(self, at);
    const rdt_case of = {&problem, self->facts};
    /* Most are refused, and reasons take time. */
    redtune_status status = rdt_rules_check(self->codegen, of, &point, NULL);
    *allowed = !status;
    for (int i = 0; *allowed && i < self->factors; i++) self->life[i][at.at[i]] = LIFE_ALIVE;
    if (!status || status == REDTUNE_UNSUPPORTED) return REDTUNE_OK;
    return rdt_rules_check(self->codegen, of, &point, err);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

typedef struct pair {
    int first, first_value, second, second_value;
} pair;

static void set_bit(uint64_t *bits, int value, bool to) {
    *bits = (*bits & ~(UINT64_C(1) << value)) | (uint64_t)to << value;
}

static void set_missing(cover *self, pair p, bool missing) {
    set_bit(&self->missing[p.first][p.first_value][p.second], p.second_value, missing);
    set_bit(&self->missing[p.second][p.second_value][p.first], p.first_value, missing);
}

static bool is_missing(const cover *self, int first, int first_value, int second,
                       int second_value) {
    return self->missing[first][first_value][second] >> second_value & 1;
}

static bool is_wanted(const cover *self, int first, int second, cover_scope scope) {
    if (first == OP && second == DTYPE) return scope == COVER_PROBLEMS;
    return first >= PARAMS || !self->space->param[second - PARAMS].launch;
}

static void want_pairs(cover *self, cover_scope scope) {
    for (pair p = {0, 0, 0, 0}; p.first < self->factors; p.first++)
        for (p.second = p.first + 1; p.second < self->factors; p.second++)
            for (p.first_value = 0; p.first_value < self->values[p.first]; p.first_value++)
                for (p.second_value = 0; p.second_value < self->values[p.second]; p.second_value++)
                    set_missing(self, p, is_wanted(self, p.first, p.second, scope));
}

static bool find_missing(const cover *self, cover_scope scope, pair *out) {
    pair p;
    for (p.first = 0; p.first < self->factors; p.first++)
        for (p.second = p.first + 1; p.second < self->factors; p.second++)
            for (p.first_value = 0; p.first_value < self->values[p.first]; p.first_value++)
                for (p.second_value = 0; p.second_value < self->values[p.second]; p.second_value++)
                    if (is_missing(self, p.first, p.first_value, p.second, p.second_value) &&
                        is_wanted(self, p.first, p.second, scope)) {
                        *out = p;
                        return true;
                    }
    return false;
}

/* Missing pairs of a value with what the point has already, in the factors marked as set. */
static int gain_of(const cover *self, const index_point *point, const bool *set, int factor,
                   int value) {
    int pairs = 0;
    for (int i = 0; i < self->factors; i++)
        if (set[i] && i != factor) pairs += is_missing(self, factor, value, i, point->at[i]);
    return pairs;
}

static int gain(const cover *self, const index_point *point) {
    bool set[FACTORS];
    int pairs = 0;
    memset(set, true, sizeof set);
    for (int i = 0; i < self->factors; i++) pairs += gain_of(self, point, set, i, point->at[i]);
    return pairs / 2;
}

static void mark(cover *self, const index_point *point) {
    for (int i = 0; i < self->factors; i++)
        for (int j = i + 1; j < self->factors; j++)
            set_missing(self, (pair){i, point->at[i], j, point->at[j]}, false);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* A point with the pair in it. Well chosen: factor by factor, in any order, the value with the most
 * pairs that are missing, and now and then another (after Cohen and others, AETG, 1997). */
static index_point make_point(cover *self, pair wanted, bool well_chosen) {
    index_point point = {{0}};
    bool set[FACTORS] = {false};
    set[wanted.first] = set[wanted.second] = true;
    point.at[wanted.first] = (unsigned char)wanted.first_value;
    point.at[wanted.second] = (unsigned char)wanted.second_value;
    for (int left = self->factors - 2; left > 0; left--) {
        int factor = draw(self, self->factors), most = -1;
        while (set[factor]) factor = (factor + 1) % self->factors;
        int first = draw(self, self->values[factor]);
        point.at[factor] = (unsigned char)first;
        bool chosen = well_chosen && draw(self, 6);
        for (int i = 0; chosen && i < self->values[factor]; i++) {
            int value = (first + i) % self->values[factor];
            int pairs = gain_of(self, &point, set, factor, value);
            if (pairs <= most) continue;
            most = pairs;
            point.at[factor] = (unsigned char)value;
        }
        set[factor] = true;
    }
    return point;
}

/* Looks whether any allowed point has the value, as often as for a pair. The set is that which it
 * would be without this. */
static redtune_status settle(cover *self, int factor, int value, redtune_error *err) {
    const rdt_random before = self->random;
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && !self->life[factor][value] && i < RANDOM_TRIES; i++) {
        index_point point;
        bool allowed;
        for (int k = 0; k < self->factors; k++)
            point.at[k] = (unsigned char)draw(self, self->values[k]);
        point.at[factor] = (unsigned char)value;
        status = check(self, point, &allowed, err);
    }
    if (!status && !self->life[factor][value]) self->life[factor][value] = LIFE_DEAD;
    self->random = before;
    return status;
}

static redtune_status settle_pair(cover *self, pair p, redtune_error *err) {
    redtune_status status = settle(self, p.first, p.first_value, err);
    return status ? status : settle(self, p.second, p.second_value, err);
}

/* A pair with a value that no allowed point has is not looked for: its tries' random numbers are
 * passed over, each a step of the generator's state, so that the set stays that which it would be.
 */
static bool is_dead(cover *self, pair wanted) {
    if (self->life[wanted.first][wanted.first_value] != LIFE_DEAD &&
        self->life[wanted.second][wanted.second_value] != LIFE_DEAD)
        return false;
    const uint64_t values = (uint64_t)(self->factors - 2);
    const uint64_t before = self->random.state;
    rdt_random_next(&self->random);
    self->random.state = before + (self->random.state - before) * values *
                                      (GOOD_TRIES * GOOD_DRAWS + RANDOM_TRIES * RANDOM_DRAWS);
    return true;
}

/* The best allowed point with the pair that was found; *pairs is 0 if there is none. */
static redtune_status find_point(cover *self, pair wanted, index_point *best, int *pairs,
                                 redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    *pairs = 0;
    if (is_dead(self, wanted)) return settle_pair(self, wanted, err);
    for (int i = 0; !status && i < GOOD_TRIES + RANDOM_TRIES; i++) {
        bool allowed = false;
        if (i >= GOOD_TRIES && *pairs) break;
        index_point point = make_point(self, wanted, i < GOOD_TRIES);
        int found = gain(self, &point);
        if (found <= *pairs) continue;
        status = check(self, point, &allowed, err);
        if (status || !allowed) continue;
        *pairs = found;
        *best = point;
    }
    return status || *pairs ? status : settle_pair(self, wanted, err);
}

static redtune_status find_points(cover *self, cover_scope scope, cover_point *out, size_t *made,
                                  redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (pair wanted; !status && find_missing(self, scope, &wanted);) {
        index_point point;
        int pairs = 0;
        status = find_point(self, wanted, &point, &pairs, err);
        if (!status && pairs && *made == POINTS_MAX)
            status = rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "the space needs more than %d points",
                              POINTS_MAX);
        if (status) break;
        set_missing(self, wanted, false);
        if (!pairs) continue;
        mark(self, &point);
        out[*made].point = point_of(self, point);
        out[*made].scope = scope;
        status = problem_of(self, point, &out[(*made)++].problem);
    }
    return status;
}

redtune_status cover_pairs(rdt_codegen *codegen, const rdt_facts *facts, const cover_set *set,
                           cover_point **points, size_t *count, redtune_error *err) {
    cover *self = calloc(1, sizeof *self);
    cover_point *out = calloc(POINTS_MAX, sizeof *out);
    redtune_status status = REDTUNE_OK;
    size_t made = 0;
    if (!self || !out) {
        status = rdt_fail_memory(err, sizeof *self);
        goto done;
    }
    self->codegen = codegen;
    self->like = set->like;
    if (!shaped_of(&self->like).count) RESHAPE(&self->like, count, UINT64_C(1) << 20);
    self->family = set->family;
    self->facts = facts;
    self->space = &rdt_codegen_spaces(codegen)->space[set->family];
    self->factors = PARAMS + self->space->param_count;
    self->values[OP] = set->op_count ? set->op_count : rdt_op_compiled_in.count;
    while (rdt_dtype_table[self->values[DTYPE]].name) self->values[DTYPE]++;
    for (int i = 0; i < self->space->param_count; i++)
        self->values[PARAMS + i] = self->space->param[i].value_count;
    want_pairs(self, set->scope);
    status = find_points(self, COVER_KERNELS, out, &made, err);
    if (!status) status = find_points(self, set->scope, out, &made, err);
    if (!status) {
        *points = out;
        *count = made;
        out = NULL;
    }
done:
    free(out);
    free(self);
    return status;
}
