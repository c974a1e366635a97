/* Answers: what results of one problem of rows, columns or segments should be over its test data.
 */
#include "tuner/measure/answers.h"

#include <stdlib.h>

redtune_status rdt_answers_need(rdt_answers *self, const rdt_test_buffers *buffers,
                                const redtune_problem *problem, redtune_error *err) {
    const rdt_extents extents = rdt_problem_extents(problem);
    const bool is_exact = rdt_problem_segments_longest(problem) <= buffers->dense.data->count_max;
    if (self->buffers && rdt_problem_same(&self->problem, problem)) return REDTUNE_OK;
    rdt_answers_forget(self);
    self->pool = is_exact ? &buffers->dense : &buffers->sparse;
    redtune_status status =
        rdt_axis_open(buffers, self->pool, extents.count > 1 ? extents.step : 1, &self->axis, err);
    if (!status && problem->segmented)
        status =
            rdt_segment_table_open(buffers->driver, buffers->stream, problem, &self->table, err);
    if (status) return status;
    self->buffers = buffers;
    self->problem = *problem;
    rdt_sample_choose(problem, RDT_SAMPLE_RUNS_MAX, 64, &self->sample[RDT_LOOK_VERIFIED]);
    /* There are many timed calls, and each run is a copy. */
    rdt_sample_choose(problem, 4, RDT_ANSWERS_TIMED_MAX / 4, &self->sample[RDT_LOOK_TIMED]);
    return REDTUNE_OK;
}

static size_t set_count(const rdt_answers *self) {
    return self->asked < RDT_ANSWERS_SETS_MAX ? self->asked : RDT_ANSWERS_SETS_MAX;
}

void rdt_answers_forget(rdt_answers *self) {
    for (size_t i = 0; i < set_count(self); i++) free(self->set[i].values);
    rdt_axis_close(&self->axis);
    rdt_segment_table_close(&self->table);
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

rdt_question rdt_answers_question(const rdt_answers *self, uint64_t first, uint64_t r) {
    const rdt_place place = rdt_answers_place(self, r);
    return rdt_axis_question(&self->axis, first + place.first, place.count);
}

static redtune_status ask_set(const rdt_answers *self, rdt_answer_set *set, redtune_error *err) {
    const rdt_sample *sample = &self->sample[set->look];
    rdt_question *questions = malloc(sample->count * sizeof *questions);
    set->values = malloc(sample->count * sizeof *set->values);
    redtune_status status = REDTUNE_OK;
    if (!questions || !set->values)
        status = rdt_fail_memory(err, sample->count * sizeof *questions);
    for (size_t i = 0; !status && i < sample->count; i++)
        questions[i] = rdt_answers_question(self, set->first, rdt_sample_result(sample, i));
    if (!status)
        status = rdt_judge_answer(self->buffers->judge, questions, sample->count, set->values, err);
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
