/* Stage: inputs of small shapes, side by side on the GPU, for a kernel to be verified with. */
#include "tuner/measure/stage.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model/scalar.h"

enum { ALIGNMENT_BYTES = 16, GAP_ELEMENTS = 64 /* around a shape */ };

static size_t element_bytes(const rdt_stage *self) {
    return redtune_dtype_bytes(self->buffers->dtype);
}

redtune_status rdt_stage_create(const rdt_test_buffers *buffers, rdt_stage **out,
                                redtune_error *err) {
    rdt_stage *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->buffers = buffers;
    self->used = GAP_ELEMENTS;
    for (int k = 0; k < buffers->inputs; k++) {
        self->elements[k] = malloc(RDT_TEST_BUFFERS_STAGE_BYTES);
        if (self->elements[k]) continue;
        rdt_stage_destroy(self);
        return rdt_fail_memory(err, RDT_TEST_BUFFERS_STAGE_BYTES);
    }
    *out = self;
    return REDTUNE_OK;
}

void rdt_stage_destroy(rdt_stage *self) {
    if (!self) return;
    for (int k = 0; k < RDT_OP_INPUTS_MAX; k++) free(self->elements[k]);
    free(self);
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Gives the value that replaces an element of contents number `number`; false: none does. */
static bool choose_plant(const rdt_stage *self, size_t number, redtune_value *out) {
    const redtune_problem *problem = &self->buffers->problem;
    const bool hides = rdt_test_data_hides(problem);
    const bool is_float = rdt_scalar_is_float(problem->dtype);
    const size_t kind = number % 4;
    if (kind == 3 && is_float)
        *out = rdt_scalar_from_real(problem->dtype, (double)NAN);
    else if (kind && hides)
        *out = self->buffers->deciding[number / 4 % RDT_TEST_DATA_DECIDERS];
    else
        return false;
    return true;
}

static void add_contents(rdt_stage *self, const rdt_staged *shape, const uint64_t *borders,
                         size_t border_count) {
    const uint64_t count = shape->extents.count, period = self->buffers->dense.judged.period;
    for (size_t i = 0; i < shape->content_count; i++) {
        const size_t number = shape->content + i;
        rdt_content *content = &self->content[number];
        *content = (rdt_content){.first = (number + 1) * 7919 % period, .planted_at = -1};
        if (count && choose_plant(self, self->shape_count + i, &content->planted))
            content->planted_at = (int64_t)(borders[(number / 2) % border_count] % count);
        content->input = (int)(number / 3) % self->buffers->inputs;
    }
}

/* Takes room for a shape; its contents are still to be set. NULL: the stage is full. */
static rdt_staged *take_room(rdt_stage *self, const rdt_extents *extents, uint64_t misaligned) {
    const redtune_problem *problem = &self->buffers->problem;
    const uint64_t unit = ALIGNMENT_BYTES / element_bytes(self);
    const uint64_t all = RDT_TEST_BUFFERS_STAGE_BYTES / element_bytes(self);
    const uint64_t results = extents->outer * extents->inner;
    const uint64_t shift = self->shape_count % 4,
                   first = self->output_used + RDT_SAMPLE_GUARD_BYTES;
    const uint64_t second = first + rdt_sample_second(results + 4, problem);
    const uint64_t output_bytes = rdt_sample_output_bytes(results + 4, problem);
    const uint64_t aligned = (self->used + unit - 1) / unit * unit;
    uint64_t span = 0;
    rdt_staged shape = {
        .extents = *extents,
        .offset = {aligned + misaligned % unit, aligned + (misaligned + self->shape_count) % unit},
        .output = {first + shift * redtune_dtype_bytes(problem->result),
                   second + shift * redtune_dtype_bytes(rdt_problem_second(problem))},
        .content = self->content_count,
        .content_count = results < RDT_STAGE_CONTENTS ? results : RDT_STAGE_CONTENTS,
    };
    if (!rdt_problem_span(extents, all, &span) || aligned + unit + span + GAP_ELEMENTS > all ||
        self->output_used + output_bytes > self->buffers->results.bytes ||
        extents->count > self->buffers->dense.data->count_max ||
        self->shape_count == RDT_STAGE_SHAPES_MAX)
        return NULL;
    self->content_count += shape.content_count;
    self->used = aligned + unit + span + GAP_ELEMENTS;
    self->output_used += output_bytes;
    self->shape[self->shape_count] = shape;
    return &self->shape[self->shape_count++];
}

bool rdt_stage_add(rdt_stage *self, const rdt_extents *extents, uint64_t misaligned,
                   const uint64_t *borders, size_t border_count) {
    const rdt_staged *shape = take_room(self, extents, misaligned);
    if (shape) add_contents(self, shape, borders, border_count);
    return shape;
}

bool rdt_stage_add_sweep(rdt_stage *self, rdt_extents extents, uint64_t shift, uint64_t at,
                         uint64_t misaligned) {
    const uint64_t period = self->buffers->dense.judged.period;
    extents.outer_step = shift * extents.step;
    rdt_staged *shape = take_room(self, &extents, misaligned);
    if (!shape) return false;
    shape->shift = shift;
    for (size_t i = 0; i < shape->content_count; i++) {
        const uint64_t skipped = i / extents.inner * shift;
        const uint64_t first = (shape->content + i % extents.inner + 1) * 7919 + skipped;
        const bool has = at >= skipped && at - skipped < extents.count;
        self->content[shape->content + i] = (rdt_content){
            .first = first % period,
            .planted_at = has ? (int64_t)(at - skipped) : -1,
            .input = (int)(self->shape_count % (size_t)self->buffers->inputs),
            .planted = self->buffers->deciding[self->shape_count / 2 % RDT_TEST_DATA_DECIDERS],
        };
    }
    return true;
}

/* ---- setting --------------------------------------------------------------------------------- */

/* Asked for before the kernel under test runs, which may write where it should not. */
static redtune_status ask_contents(rdt_stage *self, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    const size_t count = self->content_count;
    rdt_question *questions = malloc((count + 1) * sizeof *questions);
    rdt_answer *answers = malloc((count + 1) * sizeof *answers);
    redtune_status status = REDTUNE_OK;
    if (!questions || !answers) status = rdt_fail_memory(err, (count + 1) * sizeof *questions);
    for (size_t i = 0; !status && i < self->shape_count; i++)
        for (size_t k = 0; k < self->shape[i].content_count; k++) {
            const size_t number = self->shape[i].content + k;
            const rdt_content *content = &self->content[number];
            questions[number] = rdt_judge_question(&buffers->dense.judged, content->first,
                                                   self->shape[i].extents.count);
            if (content->planted_at >= 0)
                rdt_judge_plant(&questions[number], content->input, (uint64_t)content->planted_at,
                                &content->planted);
        }
    if (!status) status = rdt_judge_answer(buffers->judge, questions, count, answers, err);
    for (size_t i = 0; !status && i < count; i++) self->content[i].expected = answers[i];
    free(questions);
    free(answers);
    return status;
}

static void fill_poison(const rdt_stage *self, char *elements) {
    const redtune_problem *problem = &self->buffers->problem;
    const size_t element = element_bytes(self), all = self->used * element;
    redtune_value poison = rdt_test_data_decider(problem);
    if (rdt_scalar_is_float(problem->dtype) && !rdt_test_data_hides(problem))
        poison = rdt_scalar_from_real(problem->dtype, (double)NAN);
    memcpy(elements, &poison, element);
    for (size_t done = element; done < all; done *= 2)
        memcpy(elements + done, elements, done < all - done ? done : all - done);
}

/* One loop for each size of elements: a copy of a known size is one instruction. */
#define COPY_APART(bytes)                                                                          \
    for (uint64_t i = 0; i < count; i++) memcpy(to + i * stride, from + i * (bytes), (bytes))

/* Copies neighbours to places `stride` bytes apart. */
static void copy_apart(char *to, size_t stride, const char *from, uint64_t count, size_t bytes) {
    if (stride == bytes)
        memcpy(to, from, count * bytes);
    else if (bytes == 1)
        COPY_APART(1);
    else if (bytes == 2)
        COPY_APART(2);
    else if (bytes == 4)
        COPY_APART(4);
    else
        COPY_APART(8);
}

/* The elements of a result in that input. */
static void fill_result(const rdt_stage *self, const rdt_staged *shape, uint64_t r, int input) {
    const size_t element = element_bytes(self);
    const rdt_extents *extents = &shape->extents;
    const rdt_pool *pool = &self->buffers->dense;
    const rdt_content *content = &self->content[shape->content + r % RDT_STAGE_CONTENTS];
    const uint64_t place = r / extents->inner * extents->outer_step + r % extents->inner;
    const size_t stride = extents->step * element;
    const char *from = input ? pool->data->second : pool->data->elements;
    char *to = self->elements[input] + (shape->offset[input] + place) * element;
    const uint64_t period = pool->judged.period;
    /* Of a sweep most is there, since the outer index before. */
    uint64_t e = shape->shift && r >= extents->inner && shape->shift < extents->count
                     ? extents->count - shape->shift
                     : 0;
    for (uint64_t at = (content->first + e) % period, length; e < extents->count;
         e += length, at = 0) {
        const uint64_t left = extents->count - e;
        length = left < period - at ? left : period - at;
        copy_apart(to + e * stride, stride, from + at * element, length, element);
    }
    if (content->planted_at >= 0 && content->input == input)
        memcpy(to + (uint64_t)content->planted_at * stride, &content->planted, element);
}

static redtune_status set_input(const rdt_stage *self, int input, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    fill_poison(self, self->elements[input]);
    for (size_t i = 0; i < self->shape_count; i++) {
        const rdt_staged *shape = &self->shape[i];
        for (uint64_t r = 0; r < shape->extents.outer * shape->extents.inner; r++)
            fill_result(self, shape, r, input);
    }
    return rdt_buffer_write(buffers->driver, buffers->stage[input].address, self->elements[input],
                            self->used * element_bytes(self), buffers->stream, err);
}

redtune_status rdt_stage_set(rdt_stage *self, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    redtune_status status = ask_contents(self, err);
    for (int k = 0; !status && k < buffers->inputs; k++) status = set_input(self, k, err);
    if (status) return status;
    return rdt_test_buffers_poison(buffers, buffers->results.address, self->output_used, err);
}

/* ---- checking -------------------------------------------------------------------------------- */

static redtune_status check_shape(const rdt_stage *self, const rdt_staged *shape,
                                  const unsigned char *outputs, rdt_answer *expected,
                                  redtune_error *err) {
    rdt_sample sample = {.problem = self->buffers->problem, .run_count = 1};
    const rdt_extents *extents = &shape->extents;
    const uint64_t unit = ALIGNMENT_BYTES / element_bytes(self);
    char which[96];
    rdt_problem_axes_set(&sample.problem, *extents);
    sample.count = sample.run[0].count = extents->outer * extents->inner;
    for (size_t r = 0; r < sample.count; r++)
        expected[r] = self->content[shape->content + r % RDT_STAGE_CONTENTS].expected;
    const int length =
        snprintf(which, sizeof which, " at offset %" PRIu64, shape->offset[0] % unit);
    if (self->buffers->inputs > 1)
        snprintf(which + length, sizeof which - (size_t)length, " and %" PRIu64,
                 shape->offset[1] % unit);
    const unsigned char *const at[] = {outputs + shape->output[0], outputs + shape->output[1]};
    return rdt_sample_check(&sample, which, at, expected, err);
}

redtune_status rdt_stage_check(const rdt_stage *self, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    size_t results = 0; /* of the shape that has most */
    for (size_t i = 0; i < self->shape_count; i++) {
        const rdt_extents *extents = &self->shape[i].extents;
        const size_t of_shape = extents->outer * extents->inner;
        if (results < of_shape) results = of_shape;
    }
    unsigned char *outputs = malloc(self->output_used + 1);
    rdt_answer *expected = malloc((results + 1) * sizeof *expected);
    redtune_status status = REDTUNE_OK;
    if (!outputs || !expected) status = rdt_fail_memory(err, self->output_used);
    if (!status)
        status = rdt_buffer_read(buffers->driver, outputs, buffers->results.address,
                                 self->output_used, buffers->stream, err);
    for (size_t i = 0; !status && i < self->shape_count; i++)
        status = check_shape(self, &self->shape[i], outputs, expected, err);
    free(outputs);
    free(expected);
    return status;
}
