/* Gathered: the elements of a sample's results along any axes, one result's behind the other's, as
 * the judge takes them. */
#include "tuner/measure/gathered.h"

#include <stdlib.h>
#include <string.h>
#include "model/strides.h"

uint64_t rdt_gathered_lead(const redtune_problem *problem, redtune_array array) {
    return -(uint64_t)rdt_strides_reach(problem, array).first;
}

/* At most: by key the results that are looked at may have all elements. */
static uint64_t elements_most(const redtune_problem *problem) {
    const uint64_t least = RDT_GATHERED_RESULTS_LEAST * (rdt_problem_count(problem) + 1);
    if (rdt_problem_is_keyed(problem)) return rdt_problem_elements(problem) + 1;
    return least > RDT_GATHERED_MAX ? least : RDT_GATHERED_MAX;
}

/* The judge's nodes are of 64 elements and more, each in a slot of at most twice its bytes. */
uint64_t rdt_gathered_bytes(const redtune_problem *problem) {
    enum { FAN = 64, SLOT_BYTES_MIN = 16 };
    if (!rdt_problem_is_strided(problem) && !rdt_problem_is_keyed(problem)) return 0;
    const uint64_t elements = elements_most(problem);
    const uint64_t slot = SLOT_BYTES_MIN + 2 * (uint64_t)rdt_problem_accumulator_bytes(problem);
    const uint64_t nodes = problem->order == REDTUNE_ORDER_FIXED ? 0 : elements / FAN * 2 * slot;
    const uint64_t inputs = (uint64_t)rdt_op_find(problem->op)->inputs;
    return elements * inputs * redtune_dtype_bytes(problem->dtype) + nodes;
}

/* Lists the elements of each result that are there. */
static redtune_status list_present(rdt_gathered *self, redtune_error *err) {
    const rdt_sample *sample = self->sample;
    const redtune_problem *problem = &sample->problem;
    const uint64_t count = rdt_problem_count(problem), all = sample->count * count;
    const uint64_t origin = self->first + rdt_gathered_lead(problem, REDTUNE_ARRAY_MASK);
    const uint64_t begin_bytes = (sample->count + 1) * sizeof *self->begin;
    const uint64_t row_bytes = (all + 1) * sizeof *self->row;
    self->begin = malloc(begin_bytes);
    self->row = malloc(row_bytes);
    if (!self->begin || !self->row) return rdt_fail_memory(err, begin_bytes + row_bytes);
    uint64_t found = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t r = rdt_sample_result(sample, i);
        self->begin[i] = found;
        for (uint64_t e = 0; e < count; e++) {
            const int64_t place = rdt_strides_place(problem, REDTUNE_ARRAY_MASK, r, e);
            if (rdt_test_mask_has(origin + (uint64_t)place)) self->row[found++] = e;
        }
    }
    self->begin[sample->count] = found;
    return REDTUNE_OK;
}

int64_t rdt_gathered_number(const rdt_gathered *self, size_t i, uint64_t e) {
    if (!self->begin) return (int64_t)e;
    for (uint64_t at = self->begin[i]; at < self->begin[i + 1]; at++)
        if (self->row[at] == e) return (int64_t)(at - self->begin[i]);
    return -1;
}

static uint64_t count_gathered(const rdt_gathered *self) {
    const size_t results = self->sample->count;
    return self->begin ? self->begin[results] : results * rdt_problem_count(&self->sample->problem);
}

static void copy_elements(const rdt_pool *pool, const rdt_gathered *self, int input, size_t element,
                          char *to) {
    const rdt_sample *sample = self->sample;
    const redtune_problem *problem = &sample->problem;
    const redtune_array array = input ? REDTUNE_ARRAY_Y : REDTUNE_ARRAY_X;
    const char *from = input ? pool->data->second : pool->data->elements;
    const uint64_t origin = self->first + rdt_gathered_lead(problem, array);
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t *row = self->begin ? self->row + self->begin[i] : NULL;
        const uint64_t count =
            row ? self->begin[i + 1] - self->begin[i] : rdt_problem_count(problem);
        const uint64_t at =
            origin + (uint64_t)rdt_strides_place(problem, array, rdt_sample_result(sample, i), 0);
        for (uint64_t e = 0; e < count; e++, to += element) {
            const uint64_t place =
                at + (uint64_t)rdt_strides_place(problem, array, 0, row ? row[e] : e);
            memcpy(to, from + place % pool->judged.period * element, element);
        }
    }
}

static redtune_status gather_input(const rdt_test_buffers *buffers, const rdt_pool *pool, int input,
                                   rdt_gathered *self, redtune_error *err) {
    const size_t element = redtune_dtype_bytes(buffers->dtype);
    const size_t bytes = count_gathered(self) * element;
    /* One element behind them, for the judge reads a period of one where there are none. */
    char *packed = calloc(1, bytes + element);
    if (!packed) return rdt_fail_memory(err, bytes + element);
    copy_elements(pool, self, input, element, packed);
    redtune_status status = rdt_buffer_create_with(buffers->driver, packed, bytes + element,
                                                   buffers->stream, &self->elements[input], err);
    free(packed);
    return status;
}

redtune_status rdt_gathered_open(const rdt_test_buffers *buffers, const rdt_pool *pool,
                                 const rdt_sample *sample, uint64_t first, rdt_gathered *out,
                                 redtune_error *err) {
    rdt_gathered self = {.sample = sample, .first = first};
    redtune_status status = sample->problem.mask ? list_present(&self, err) : REDTUNE_OK;
    for (int i = 0; !status && i < buffers->inputs; i++)
        status = gather_input(buffers, pool, i, &self, err);
    const uint64_t all = status ? 0 : count_gathered(&self);
    if (!status)
        status = rdt_judge_prepare(buffers->judge, self.elements[0].address,
                                   self.elements[1].address, all ? all : 1, &self.judged, err);
    if (status)
        rdt_gathered_close(&self);
    else
        *out = self;
    return status;
}

/* ---- by key ---------------------------------------------------------------------------------- */

/* What of a problem by key goes into the sample. */
typedef struct keyed_walk {
    const rdt_key_table *keys;
    uint64_t first_row, rows, width;
    uint32_t *place; /* of each result, which of the sample's it is and 1 more; 0: of none */
} keyed_walk;

static redtune_status begin_walk(const rdt_sample *sample, const rdt_key_table *keys,
                                 uint64_t first, keyed_walk *out, redtune_error *err) {
    const redtune_problem *problem = &sample->problem;
    const uint64_t results = rdt_problem_results(problem);
    *out = (keyed_walk){keys, rdt_key_table_row(keys, first), rdt_problem_count(problem),
                        keys->width, calloc(results, sizeof *out->place)};
    if (!out->place) return rdt_fail_memory(err, results * sizeof *out->place);
    for (size_t i = sample->count; i-- > 0;)
        out->place[rdt_sample_result(sample, i)] = (uint32_t)i + 1;
    return REDTUNE_OK;
}

/* Counts the elements of each result of the sample in begin[result + 1]; with `to` puts them where
 * begin says, which is then where they end. */
static void walk_keys(const keyed_walk *self, const rdt_pool *pool, size_t element, uint64_t first,
                      rdt_gathered *out, char *to) {
    for (uint64_t i = 0; i < self->rows; i++) {
        const uint64_t key = rdt_key_table_key(self->keys, self->first_row + i);
        for (uint64_t c = 0; key != UINT64_MAX && c < self->width; c++) {
            const uint32_t place = self->place[key * self->width + c];
            if (!place) continue;
            uint64_t *at = &out->begin[place];
            if (to) {
                const uint64_t from = (first + i * self->width + c) % pool->judged.period;
                memcpy(to + *at * element, (const char *)pool->data->elements + from * element,
                       element);
                out->row[*at] = i;
            }
            ++*at;
        }
    }
}

static redtune_status gather_keyed(const rdt_test_buffers *buffers, const rdt_pool *pool,
                                   const keyed_walk *walk, rdt_gathered *self, redtune_error *err) {
    const size_t element = redtune_dtype_bytes(buffers->dtype), results = self->sample->count;
    self->begin = calloc(results + 2, sizeof *self->begin);
    if (!self->begin) return rdt_fail_memory(err, (results + 2) * sizeof *self->begin);
    walk_keys(walk, pool, element, self->first, self, NULL);
    uint64_t all = 0;
    for (size_t i = 1; i <= results; i++) {
        const uint64_t count = self->begin[i];
        self->begin[i] = all;
        all += count;
    }
    char *packed = calloc(all + 1, element); /* one behind them, as above */
    self->row = malloc((all + 1) * sizeof *self->row);
    redtune_status status = REDTUNE_OK;
    if (!packed || !self->row) status = rdt_fail_memory(err, all * (element + sizeof *self->row));
    if (!status) walk_keys(walk, pool, element, self->first, self, packed);
    if (!status)
        status = rdt_buffer_create_with(buffers->driver, packed, (all + 1) * element,
                                        buffers->stream, &self->elements[0], err);
    free(packed);
    return status ? status
                  : rdt_judge_prepare(buffers->judge, self->elements[0].address, 0, all ? all : 1,
                                      &self->judged, err);
}

redtune_status rdt_gathered_open_keyed(const rdt_test_buffers *buffers, const rdt_pool *pool,
                                       const rdt_key_table *keys, const rdt_sample *sample,
                                       uint64_t first, rdt_gathered *out, redtune_error *err) {
    rdt_gathered self = {.sample = sample, .first = first};
    keyed_walk walk;
    redtune_status status = begin_walk(sample, keys, first, &walk, err);
    if (!status) status = gather_keyed(buffers, pool, &walk, &self, err);
    free(walk.place);
    if (status)
        rdt_gathered_close(&self);
    else
        *out = self;
    return status;
}

void rdt_gathered_close(rdt_gathered *gathered) {
    rdt_judge_forget(&gathered->judged);
    for (int i = 0; i < RDT_OP_INPUTS_MAX; i++) rdt_buffer_destroy(&gathered->elements[i]);
    free(gathered->begin);
    free(gathered->row);
    *gathered = (rdt_gathered){.sample = NULL};
}

rdt_question rdt_gathered_question(const rdt_gathered *gathered, size_t i) {
    const uint64_t count = rdt_problem_count(&gathered->sample->problem);
    const uint64_t *begin = gathered->begin;
    if (begin) return rdt_judge_question(&gathered->judged, begin[i], begin[i + 1] - begin[i]);
    return rdt_judge_question(&gathered->judged, i * count, count);
}
