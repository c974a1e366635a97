/* Exact: the results of test data by the host's reference, over any stretch of them. */
#include "exact.h"

#include <stdlib.h>
#include "fold.h"
#include "reference.h"

enum { LEAF = 256 /* elements whose result is kept; that of fewer is computed */ };

struct exact {
    const rdt_test_data *data;
    uint64_t leaves;
    redtune_value *results; /* of parts of the period, as a binary heap: [1] is the whole's */
};

/* ---- results --------------------------------------------------------------------------------- */

/* A part of the period that a node of the heap stands for, cut where the period ends. */
typedef struct part {
    uint64_t node, first, size;
} part;

static uint64_t end_of(const exact *self, part at) {
    uint64_t end = at.first + at.size;
    return end < self->data->period ? end : self->data->period;
}

static part lower_half(part at) { return (part){2 * at.node, at.first, at.size / 2}; }

static part upper_half(part at) {
    return (part){2 * at.node + 1, at.first + at.size / 2, at.size / 2};
}

static const void *elements_at(const exact *self, uint64_t index) {
    return (const char *)self->data->elements +
           index * redtune_dtype_bytes(self->data->problem.dtype);
}

static void compute(exact *self, part at) {
    if (at.first >= self->data->period) return;
    uint64_t count = end_of(self, at) - at.first;
    redtune_problem piece = rdt_fold_piece(&self->data->problem);
    if (at.size == LEAF) {
        rdt_reference found;
        rdt_reference_reduce(&piece, elements_at(self, at.first), count, &found);
        self->results[at.node] = found.value;
        return;
    }
    rdt_fold fold = rdt_fold_begin(&piece);
    const part halves[] = {lower_half(at), upper_half(at)};
    for (int i = 0; i < 2; i++) {
        if (halves[i].first >= self->data->period) continue;
        compute(self, halves[i]);
        rdt_fold_add(&fold, &self->results[halves[i].node], elements_at(self, halves[i].first),
                     end_of(self, halves[i]) - halves[i].first);
    }
    self->results[at.node] = rdt_fold_value(&fold);
}

/* Adds the elements from first to end, within one period. */
static void add_within(const exact *self, rdt_fold *fold, part at, uint64_t first, uint64_t end) {
    uint64_t from = at.first > first ? at.first : first, at_end = end_of(self, at);
    uint64_t to = at_end < end ? at_end : end;
    if (from >= to) return;
    if (from == at.first && to == at_end) {
        rdt_fold_add(fold, &self->results[at.node], elements_at(self, from), to - from);
    } else if (at.size == LEAF) {
        redtune_problem piece = rdt_fold_piece(&self->data->problem);
        rdt_reference found;
        rdt_reference_reduce(&piece, elements_at(self, from), to - from, &found);
        rdt_fold_add(fold, &found.value, elements_at(self, from), to - from);
    } else {
        add_within(self, fold, lower_half(at), first, end);
        add_within(self, fold, upper_half(at), first, end);
    }
}

static void add(const exact *self, rdt_fold *fold, uint64_t first, uint64_t count) {
    const part whole = {1, 0, self->leaves * LEAF};
    while (count) {
        uint64_t from = first % self->data->period, most = self->data->period - from;
        uint64_t taken = count < most ? count : most;
        add_within(self, fold, whole, from, from + taken);
        first += taken;
        count -= taken;
    }
}

static void add_one(rdt_fold *fold, const redtune_value *one, uint64_t times) {
    rdt_reference found;
    rdt_reference_reduce(&fold->piece, one, 1, &found);
    rdt_fold_add(fold, &found.value, one, times);
}

redtune_value exact_value(const exact *self, uint64_t first, uint64_t count) {
    rdt_fold fold = rdt_fold_begin(&self->data->problem);
    add(self, &fold, first, count);
    return rdt_fold_value(&fold);
}

redtune_value exact_planted(const exact *self, uint64_t first, uint64_t count, uint64_t at) {
    redtune_value decider = rdt_test_data_decider(&self->data->problem);
    return exact_planted_value(self, first, count, at, &decider);
}

redtune_value exact_planted_value(const exact *self, uint64_t first, uint64_t count, uint64_t at,
                                  const redtune_value *value) {
    rdt_fold fold = rdt_fold_begin(&self->data->problem);
    add(self, &fold, first, at);
    add_one(&fold, value, 1);
    add(self, &fold, first + at + 1, count - at - 1);
    return rdt_fold_value(&fold);
}

redtune_value exact_one_hot(const redtune_problem *problem, uint64_t count, uint64_t at) {
    redtune_value decider = rdt_test_data_decider(problem),
                  neutral = rdt_test_data_neutral(problem);
    uint64_t before = at < count ? at : count;
    rdt_fold fold = rdt_fold_begin(problem);
    /* However many they are, neutral elements give what one of them gives. */
    if (before) add_one(&fold, &neutral, before);
    if (at < count) add_one(&fold, &decider, 1);
    if (at + 1 < count) add_one(&fold, &neutral, count - at - 1);
    return rdt_fold_value(&fold);
}

redtune_status exact_open(const rdt_test_data *data, exact **out, redtune_error *err) {
    exact *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->data = data;
    for (self->leaves = 1; self->leaves * LEAF < data->period;) self->leaves *= 2;
    self->results = calloc(2 * self->leaves, sizeof *self->results);
    if (!self->results) {
        exact_close(self);
        return rdt_fail_memory(err, sizeof(redtune_value));
    }
    compute(self, (part){1, 0, self->leaves * LEAF});
    *out = self;
    return REDTUNE_OK;
}

void exact_close(exact *self) {
    if (!self) return;
    free(self->results);
    free(self);
}
