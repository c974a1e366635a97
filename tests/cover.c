/* Cover: a set of kernels in which every pair of parameter values stands together at least once. */
#include "cover.h"

#include <stdlib.h>
#include <string.h>

enum { FACTORS = RDT_PARAM_MAX + 1, VALUES = RDT_PARAM_VALUE_MAX };

/* A point by its values' indices; factor 0 is the dtype. Ops join when there is a second one. */
typedef struct index_point {
    unsigned char at[FACTORS];
} index_point;

typedef struct cover {
    const rdt_space *space;
    int factors;
    index_point *all; /* every allowed point */
    size_t all_count, all_capacity;
    bool missing[FACTORS][VALUES][FACTORS][VALUES]; /* pairs that are not covered yet, i < j */
    size_t missing_count;
} cover;

static redtune_status add_allowed(cover *self, index_point point, redtune_error *err) {
    if (self->all_count == self->all_capacity) {
        size_t capacity = self->all_capacity ? 2 * self->all_capacity : 4096;
        index_point *grown = realloc(self->all, capacity * sizeof *grown);
        if (!grown) return rdt_fail_memory(err, capacity * sizeof *grown);
        self->all = grown;
        self->all_capacity = capacity;
    }
    self->all[self->all_count++] = point;
    for (int i = 0; i < self->factors; i++)
        for (int j = i + 1; j < self->factors; j++) {
            bool *pair = &self->missing[i][point.at[i]][j][point.at[j]];
            self->missing_count += !*pair;
            *pair = true;
        }
    return REDTUNE_OK;
}

static redtune_problem problem_of(index_point point) {
    redtune_problem problem = {REDTUNE_SUM, rdt_dtype_table[point.at[0]].dtype, REDTUNE_DTYPE_NONE,
                               UINT64_C(1) << 20};
    redtune_problem resolved = problem;
    rdt_problem_resolve(&problem, &resolved, NULL);
    return resolved;
}

static rdt_config config_of(const cover *self, index_point point) {
    rdt_config config = {0};
    for (int i = 0; i < self->space->param_count; i++)
        config.value[i] = self->space->param[i].value[point.at[i + 1]];
    return config;
}

static bool next_point(const cover *self, index_point *point) {
    for (int i = self->factors - 1; i >= 0; i--) {
        point->at[i]++;
        if (i > 0 ? point->at[i] < self->space->param[i - 1].value_count
                  : rdt_dtype_table[point->at[0]].name != NULL)
            return true;
        point->at[i] = 0;
    }
    return false;
}

static redtune_status list_allowed(cover *self, rdt_codegen *codegen, int family,
                                   const rdt_facts *facts, redtune_error *err) {
    index_point point = {{0}};
    redtune_status status = REDTUNE_OK;
    do {
        redtune_problem problem = problem_of(point);
        rdt_config config = config_of(self, point);
        redtune_error refusal;
        status = rdt_codegen_check(codegen, family, (rdt_case){&problem, facts}, &config, &refusal);
        if (status == REDTUNE_UNSUPPORTED)
            status = REDTUNE_OK;
        else if (!status)
            status = add_allowed(self, point, err);
        else if (err)
            *err = refusal;
    } while (!status && next_point(self, &point));
    return status;
}

static size_t gain(const cover *self, index_point point) {
    size_t pairs = 0;
    for (int i = 0; i < self->factors; i++)
        for (int j = i + 1; j < self->factors; j++)
            pairs += self->missing[i][point.at[i]][j][point.at[j]];
    return pairs;
}

static void mark(cover *self, index_point point) {
    for (int i = 0; i < self->factors; i++)
        for (int j = i + 1; j < self->factors; j++) {
            bool *pair = &self->missing[i][point.at[i]][j][point.at[j]];
            self->missing_count -= *pair;
            *pair = false;
        }
}

/* Greedy: always the point with the most pairs that are still missing. */
static index_point best_point(const cover *self) {
    index_point best = self->all[0];
    size_t most = 0;
    for (size_t i = 0; i < self->all_count; i++) {
        size_t pairs = gain(self, self->all[i]);
        if (pairs <= most) continue;
        most = pairs;
        best = self->all[i];
    }
    return best;
}

redtune_status cover_pairs(rdt_codegen *codegen, int family, const rdt_facts *facts,
                           cover_point **points, size_t *count, redtune_error *err) {
    enum { POINTS_MAX = 1024 };
    cover *self = calloc(1, sizeof *self);
    cover_point *out = calloc(POINTS_MAX, sizeof *out);
    redtune_status status = REDTUNE_OK;
    size_t made = 0;
    if (!self || !out) {
        status = rdt_fail_memory(err, sizeof *self);
        goto done;
    }
    self->space = rdt_codegen_space(codegen, family);
    self->factors = 1 + self->space->param_count;
    status = list_allowed(self, codegen, family, facts, err);
    while (!status && self->missing_count) {
        if (made == POINTS_MAX) {
            status = rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "the space needs more than %d points",
                              POINTS_MAX);
            break;
        }
        index_point point = best_point(self);
        mark(self, point);
        out[made++] = (cover_point){problem_of(point), config_of(self, point)};
    }
    if (!status) {
        *points = out;
        *count = made;
        out = NULL;
    }
done:
    free(out);
    if (self) free(self->all);
    free(self);
    return status;
}
