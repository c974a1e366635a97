/* Answers: what results of one problem of rows, columns or segments should be over its test data.
 */
#include "tuner/measure/answers.h"

#include <stdlib.h>
#include "model/strides.h"

/* Along any axes each result that is looked at has its elements gathered: of long ones three, for a
 * sample has the first result, the last one and some between. */
static void choose_sample(const redtune_problem *problem, size_t runs, uint64_t length,
                          rdt_sample *out) {
    const uint64_t count = rdt_problem_count(problem) + 1;
    /* Results with gaps are copied one by one. */
    if (!rdt_problem_strided_packs_results(problem) && runs * length > RDT_ANSWERS_APART_MAX) {
        runs = RDT_ANSWERS_APART_RUNS;
        length = RDT_ANSWERS_APART_MAX / runs;
    }
    if (rdt_problem_is_strided(problem) && runs * length * count > RDT_GATHERED_MAX) {
        uint64_t most = RDT_GATHERED_MAX / count;
        if (most < RDT_GATHERED_RESULTS_LEAST) most = RDT_GATHERED_RESULTS_LEAST;
        if (runs > most) runs = most;
        length = most / runs;
    }
    rdt_sample_choose(problem, runs, length, out);
}

/* A small problem begins with the pool's first element or its second; others anywhere in a pool. */
static uint64_t elements_with_keys(const rdt_answers *self, const rdt_test_buffers *buffers,
                                   const redtune_problem *problem) {
    if (self->strays) return rdt_problem_reach(problem) + 1;
    return self->pool->count > buffers->dense.count ? self->pool->count : buffers->dense.count;
}

redtune_status rdt_answers_need(rdt_answers *self, const rdt_test_buffers *buffers,
                                const redtune_problem *problem, redtune_error *err) {
    const rdt_extents extents = rdt_problem_extents(problem);
    const bool is_exact = rdt_problem_segments_longest(problem) <= buffers->dense.data->count_max;
    if (self->buffers && rdt_problem_same(&self->problem, problem)) return REDTUNE_OK;
    rdt_answers_forget(self);
    self->pool = is_exact ? &buffers->dense : &buffers->sparse;
    redtune_status status = REDTUNE_OK;
    if (rdt_problem_is_strided(problem))
        rdt_strides_set(&self->strides, problem);
    else if (rdt_problem_is_keyed(problem))
        status = rdt_key_table_open(buffers, problem, elements_with_keys(self, buffers, problem),
                                    self->strays, &self->keys, err);
    else
        status = rdt_axis_open(buffers, self->pool, extents.count > 1 ? extents.step : 1,
                               &self->axis, err);
    if (!status && problem->segmented)
        status =
            rdt_segment_table_open(buffers->driver, buffers->stream, problem, &self->table, err);
    if (status) return status;
    self->buffers = buffers;
    self->problem = *problem;
    choose_sample(problem, RDT_SAMPLE_RUNS_MAX, 64, &self->sample[RDT_LOOK_VERIFIED]);
    /* There are many timed calls, and each run is a copy. */
    choose_sample(problem, 4, RDT_ANSWERS_TIMED_MAX / 4, &self->sample[RDT_LOOK_TIMED]);
    return REDTUNE_OK;
}

static size_t set_count(const rdt_answers *self) {
    return self->asked < RDT_ANSWERS_SETS_MAX ? self->asked : RDT_ANSWERS_SETS_MAX;
}

void rdt_answers_forget(rdt_answers *self) {
    for (size_t i = 0; i < set_count(self); i++) free(self->set[i].values);
    rdt_axis_close(&self->axis);
    rdt_segment_table_close(&self->table);
    rdt_gathered_close(&self->gathered);
    rdt_key_table_close(&self->keys);
    self->asked = 0;
    self->buffers = NULL;
}

rdt_place rdt_answers_place(const rdt_answers *self, uint64_t r) {
    const rdt_extents extents = rdt_problem_extents(&self->problem);
    const uint64_t *offsets = self->table.offsets;
    switch (rdt_problem_layout(&self->problem)) {
    case RDT_LAYOUT_RAGGED: return (rdt_place){offsets[r], offsets[r + 1] - offsets[r]};
    case RDT_LAYOUT_LIST: return (rdt_place){0, offsets[self->table.count]};
    case RDT_LAYOUT_WHOLE:
    case RDT_LAYOUT_ROWS:
    case RDT_LAYOUT_COLUMNS:
    case RDT_LAYOUT_KEYED:
    case RDT_LAYOUT_STRIDED: break;
    }
    return (rdt_place){r / extents.inner * extents.outer_step + r % extents.inner, extents.count};
}

uint64_t rdt_answers_element(const rdt_answers *self, int input, uint64_t r, uint64_t e) {
    const redtune_problem *problem = &self->problem;
    const redtune_array array = input ? REDTUNE_ARRAY_Y : REDTUNE_ARRAY_X;
    if (!rdt_problem_is_strided(problem))
        return rdt_answers_place(self, r).first + e * rdt_problem_extents(problem).step;
    return rdt_gathered_lead(problem, array) + (uint64_t)rdt_strides_place(problem, array, r, e);
}

static bool is_gathered(const redtune_problem *problem) {
    return rdt_problem_is_strided(problem) || rdt_problem_is_keyed(problem);
}

redtune_status rdt_answers_gather(rdt_answers *self, rdt_look look, uint64_t first,
                                  redtune_error *err) {
    const rdt_sample *sample = &self->sample[look];
    if (!is_gathered(&self->problem) ||
        (self->gathered.sample == sample && self->gathered.first == first))
        return REDTUNE_OK;
    rdt_gathered_close(&self->gathered);
    if (rdt_problem_is_keyed(&self->problem))
        return rdt_gathered_open_keyed(self->buffers, self->pool, &self->keys, sample, first,
                                       &self->gathered, err);
    return rdt_gathered_open(self->buffers, self->pool, sample, first, &self->gathered, err);
}

rdt_operands rdt_answers_operands(const rdt_answers *self, const rdt_pool *pool, uint64_t first,
                                  uint64_t periods, CUdeviceptr second_output) {
    const rdt_test_buffers *buffers = self->buffers;
    const bool strided = rdt_problem_is_strided(&self->problem);
    const uint64_t x = strided ? rdt_answers_element(self, 0, 0, 0) : 0;
    const uint64_t y = strided ? rdt_answers_element(self, 1, 0, 0) : 0;
    rdt_operands out = {
        .input = pool->buffer.address + (first + x) * redtune_dtype_bytes(self->problem.dtype),
        .extents = rdt_problem_extents(&self->problem),
        .segments = rdt_segment_table_launch(&self->table),
        .strides = strided ? &self->strides : NULL,
        .keyed = self->keys.keys ? rdt_key_table_launch(&self->keys, &self->problem, first)
                                 : (rdt_keyed){.count = 0},
        .given = rdt_test_buffers_given(
            buffers, rdt_test_buffers_second(buffers, pool, first + y, periods), second_output),
    };
    if (!self->problem.mask) return out;
    const uint64_t mask = first + rdt_gathered_lead(&self->problem, REDTUNE_ARRAY_MASK);
    *(buffers->inputs > 1 ? &out.given.mask : &out.given.input) =
        rdt_test_mask_place(&buffers->mask, mask);
    return out;
}

redtune_status rdt_answers_scratch(rdt_answers *self, const rdt_launch *launch, CUdeviceptr *out,
                                   redtune_error *err) {
    *out = self->buffers->scratch.address;
    if (!rdt_problem_is_keyed(&self->problem)) return REDTUNE_OK;
    return rdt_key_table_scratch(&self->keys, self->buffers, &self->problem, launch, out, err);
}

/* Which of the sample a result is; the first of several, for a result may be in several runs. */
static size_t find_in_sample(const rdt_sample *sample, uint64_t r) {
    size_t i = 0;
    while (rdt_sample_result(sample, i) != r) i++;
    return i;
}

int64_t rdt_answers_number(const rdt_answers *self, uint64_t r, uint64_t e) {
    if (!self->problem.mask) return (int64_t)e;
    return rdt_gathered_number(&self->gathered, find_in_sample(self->gathered.sample, r), e);
}

rdt_question rdt_answers_question(const rdt_answers *self, uint64_t first, uint64_t r) {
    if (is_gathered(&self->problem))
        return rdt_gathered_question(&self->gathered, find_in_sample(self->gathered.sample, r));
    const rdt_place place = rdt_answers_place(self, r);
    return rdt_axis_question(&self->axis, first + place.first, place.count);
}

void rdt_answers_name(const rdt_answers *self, uint64_t r, rdt_answer *answer) {
    const rdt_gathered *gathered = &self->gathered;
    const rdt_op_traits *op = rdt_op_find(self->problem.op);
    for (int k = 0; gathered->row && k < op->outputs; k++) {
        int64_t *index = &answer->value[k].i64;
        if (op->output[k].result != RDT_RESULT_INDEX || *index < 0) continue;
        const size_t i = find_in_sample(gathered->sample, r);
        *index = (int64_t)gathered->row[gathered->begin[i] + (uint64_t)*index];
    }
}

static redtune_status ask_set(rdt_answers *self, rdt_answer_set *set, redtune_error *err) {
    const rdt_sample *sample = &self->sample[set->look];
    rdt_question *questions = malloc(sample->count * sizeof *questions);
    set->values = malloc(sample->count * sizeof *set->values);
    redtune_status status = rdt_answers_gather(self, set->look, set->first, err);
    if (!status && (!questions || !set->values))
        status = rdt_fail_memory(err, sample->count * sizeof *questions);
    for (size_t i = 0; !status && i < sample->count; i++)
        questions[i] = rdt_answers_question(self, set->first, rdt_sample_result(sample, i));
    if (!status)
        status = rdt_judge_answer(self->buffers->judge, questions, sample->count, set->values, err);
    for (size_t i = 0; !status && i < sample->count; i++)
        rdt_answers_name(self, rdt_sample_result(sample, i), &set->values[i]);
    free(questions);
    return status;
}

redtune_status rdt_answers_get(rdt_answers *self, rdt_look look, uint64_t first,
                               const rdt_answer **out, redtune_error *err) {
    rdt_answer_set set = {look, first, NULL};
    for (size_t i = 0; i < set_count(self); i++)
        if (self->set[i].look == look && self->set[i].first == first) {
            *out = self->set[i].values;
            return REDTUNE_OK;
        }
    redtune_status status = ask_set(self, &set, err);
    if (status) {
        free(set.values);
        return status;
    }
    rdt_answer_set *place = &self->set[self->asked % RDT_ANSWERS_SETS_MAX];
    if (self->asked++ >= RDT_ANSWERS_SETS_MAX) free(place->values);
    *place = set;
    *out = set.values;
    return REDTUNE_OK;
}
