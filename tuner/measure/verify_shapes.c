/* Verify shapes: whether a kernel of rows or columns gives the exact results, before it may be
 * timed.
 *
 * Small shapes are staged side by side (stage.h), so that all of a kernel's are one upload and one
 * download. Counts lie around its tile, results around what a block makes at a time. At a problem's
 * own extents the input is the pool, and a sample of the results is looked at. */
#include "tuner/measure/verify_shapes.h"

#include <stdlib.h>
#include <string.h>
#include "tuner/measure/gaps.h"
#include "tuner/measure/stage.h"
#include "tuner/measure/verify.h"

/* Blocks that may have used scratch. */
static size_t scratch_blocks(const rdt_launch *launch, const rdt_extents *extents) {
    const uint32_t blocks =
        launch->segments ? launch->blocks_max : rdt_launch_grid(launch, extents);
    return blocks < RDT_BLOCKS_MAX ? blocks : RDT_BLOCKS_MAX;
}

/* ---- small shapes ---------------------------------------------------------------------------- */

/* Numbers of elements at which loads, warps, tiles and the parts of a split begin and end. */
enum { BORDERS = 14 };

static void list_borders(uint64_t tile, uint64_t count, uint64_t borders[BORDERS]) {
    const uint64_t all[BORDERS] = {0,        count - 1, tile,      tile - 1, count / 2,
                                   1,        31,        32,        2 * tile, 2 * tile - 1,
                                   tile / 2, 15,        count / 3, count - 2};
    for (int i = 0; i < BORDERS; i++) borders[i] = all[i];
}

/* A shape of `count` elements for each of `results` results: of rows, or of columns for one to
 * three outer indices. Steps are packed or an odd number of elements more; or multiples of 16
 * elements. */
static rdt_extents make_shape(rdt_layout layout, uint64_t count, uint64_t results, size_t number,
                              bool aligned) {
    static const uint64_t gaps[] = {0, 1, 0, 5, 2, 16, 3};
    const uint64_t gap = gaps[number % (sizeof gaps / sizeof *gaps)];
    const bool columns = layout == RDT_LAYOUT_COLUMNS;
    rdt_extents shape = {.count = count, .outer = results, .inner = 1, .step = 1};
    if (columns) {
        shape.outer = 1 + number % 3;
        shape.inner = results;
        shape.step = results + gap;
        if (aligned) shape.step = (shape.step + 15) / 16 * 16;
    }
    shape.outer_step = count * shape.step + (columns ? number % 2 * 3 : gap);
    if (aligned) shape.outer_step = (shape.outer_step + 15) / 16 * 16;
    if (!shape.outer_step) shape.outer_step = 1;
    return shape;
}

/* Adds it with as many of the results as there is room for. */
static void stage_shape(rdt_stage *stage, const rdt_launch *launch, uint64_t count,
                        uint64_t results, size_t number, bool aligned) {
    enum { SHARE = RDT_TEST_BUFFERS_STAGE_BYTES / 8 };
    const redtune_problem *problem = &stage->buffers->problem;
    const rdt_layout layout = rdt_problem_layout(problem);
    const uint64_t most = SHARE / redtune_dtype_bytes(problem->dtype);
    uint64_t borders[BORDERS];
    list_borders(launch->tile, count, borders);
    for (;; results = (results + 1) / 2) {
        const rdt_extents shape = make_shape(layout, count, results, number, aligned);
        const bool is_small = results == 1 || shape.outer * shape.outer_step <= most;
        if (is_small && rdt_stage_add(stage, &shape, aligned ? 0 : number % 8, borders, BORDERS))
            return;
        if (results == 1) return;
    }
}

/* Many results of few elements, of which first the first ones, then the last ones decide: so a
 * kernel that takes a neighbour's in one of them is seen. Of two shapes side by side, because the
 * elements that decide are alike in some pairs of neighbours. */
static void stage_ends(rdt_stage *stage) {
    enum { COUNT = 33, RESULTS = 40 };
    const uint64_t ends[] = {0, 0, COUNT - 1, COUNT - 1};
    const rdt_layout layout = rdt_problem_layout(&stage->buffers->problem);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const rdt_extents shape = make_shape(layout, COUNT, RESULTS, i, false);
        rdt_stage_add(stage, &shape, i, &ends[i], 1);
    }
}

static void stage_shapes(rdt_stage *stage, const rdt_launch *launch) {
    stage_ends(stage);
    const uint64_t tile = launch->tile, each = launch->results ? launch->results : 1;
    const uint64_t counts[] = {1,        2,        tile - 1,     tile,         tile + 1,
                               33,       0,        2 * tile + 1, 5 * tile + 7, 3,
                               2 * tile, 7 * tile, 17 * tile + 5};
    const uint64_t results[] = {each + 1, 2 * each + 1,    each, 3,
                                1,        each + each / 2, 2,    each > 1 ? each - 1 : 5};
    enum { COUNTS = sizeof counts / sizeof *counts, RESULTS = sizeof results / sizeof *results };
    for (size_t i = 0; i < COUNTS; i++)
        stage_shape(stage, launch, counts[i], results[i % RESULTS], i, false);
    for (size_t i = 0; i < COUNTS; i++)
        stage_shape(stage, launch, counts[i], results[(i + 3) % RESULTS], i, true);
}

/* What decides comes to stand at each place around the tile's borders, and here and there. */
static void stage_sweeps(rdt_stage *stage, const rdt_launch *launch) {
    enum { OUTER = 32 };
    const bool columns = rdt_problem_layout(&stage->buffers->problem) == RDT_LAYOUT_COLUMNS;
    const uint64_t tile = launch->tile, count = 2 * tile + 35, many = 5 * tile + 7;
    const struct {
        uint64_t count, shift, at;
    } sweeps[] = {
        {count, 1, OUTER - 1},
        {count, 1, tile + 24},
        {count, 1, 2 * tile + 24},
        {count, 1, count + OUTER / 2},
        {many, many / OUTER + 1, many},
        {33, 1, 33 + OUTER / 2},
        {many, tile / 2 + 1, many + tile},
    };
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        rdt_extents shape = {.count = sweeps[i].count, .outer = OUTER, .inner = 1, .step = 1};
        if (columns) shape.inner = 1 + i % 3, shape.step = 3;
        rdt_stage_add_sweep(stage, shape, sweeps[i].shift, sweeps[i].at, i);
    }
}

/* Every other shape is launched as if there were room for few blocks, which then take several tiles
 * each where blocks share results. */
enum { EDGE_BLOCKS = 7 };

/* Where a shape's elements of that input are; 0 where there is no such input. */
static CUdeviceptr staged_input(const rdt_stage *stage, const rdt_staged *shape, int input) {
    const rdt_test_buffers *buffers = stage->buffers;
    if (input >= buffers->inputs) return 0;
    return buffers->stage[input].address +
           shape->offset[input] * redtune_dtype_bytes(buffers->dtype);
}

static redtune_status run_shapes(const rdt_stage *stage, const rdt_kernel *kernel,
                                 const rdt_launch *launch, redtune_error *err) {
    const rdt_test_buffers *buffers = stage->buffers;
    redtune_status status = REDTUNE_OK;
    rdt_launch few = *launch;
    size_t blocks = 1;
    if (few.blocks_max > EDGE_BLOCKS) few.blocks_max = EDGE_BLOCKS;
    for (size_t i = 0; !status && i < stage->shape_count; i++) {
        const rdt_staged *shape = &stage->shape[i];
        const rdt_launch *how = i % 2 ? &few : launch;
        const rdt_operands operands = {
            .input = staged_input(stage, shape, 0),
            .extents = shape->extents,
            .output = buffers->results.address + shape->output[0],
            .scratch = buffers->scratch.address,
            .given = rdt_test_buffers_given(buffers, staged_input(stage, shape, 1),
                                            buffers->results.address + shape->output[1]),
        };
        const size_t used = scratch_blocks(how, &shape->extents);
        if (blocks < used) blocks = used;
        status = rdt_kernel_start(kernel, how, &operands, buffers->stream, err);
    }
    if (!status) status = rdt_stage_check(stage, err);
    return status ? status : rdt_verify_scratch(buffers, blocks, err);
}

static redtune_status verify_staged(const rdt_test_buffers *buffers,
                                    void (*add)(rdt_stage *stage, const rdt_launch *launch),
                                    const rdt_kernel *kernel, const rdt_launch *launch,
                                    redtune_error *err) {
    rdt_stage *stage = NULL;
    redtune_status status = rdt_stage_create(buffers, &stage, err);
    if (status) return status;
    add(stage, launch);
    status = rdt_stage_set(stage, err);
    if (!status) status = run_shapes(stage, kernel, launch, err);
    if (status == REDTUNE_WRONG) rdt_test_buffers_clean_scratch(buffers);
    rdt_stage_destroy(stage);
    return status;
}

/* The sweeps come second: their results share elements, so that a kernel that mistakes the steps
 * might read far outside. */
redtune_status rdt_verify_shapes_edges(const rdt_test_buffers *buffers,
                                       const redtune_problem *problem, const rdt_kernel *kernel,
                                       const rdt_launch *launch, redtune_error *err) {
    redtune_status status = verify_staged(buffers, stage_shapes, kernel, launch, err);
    if (status || !rdt_test_data_hides(problem)) return status;
    return verify_staged(buffers, stage_sweeps, kernel, launch, err);
}

/* ---- a problem's own extents ----------------------------------------------------------------- */

enum { PLANTS_MAX = 16, SHIFTS = 2 };

/* An element that decides in the place of another, in one result of the sample. */
typedef struct plant {
    uint64_t result;
    CUdeviceptr place;
    CUdeviceptr decider;
    rdt_question question;
    rdt_answer expected;
} plant;

typedef struct inspection {
    rdt_answers *answers;
    const rdt_kernel *kernel;
    const rdt_launch *launch;
    plant plants[PLANTS_MAX];
    size_t plant_count, placed; /* placed: those that may stand in their places */
} inspection;

/* Whether no element of the input is of two results. */
static bool is_disjoint(const redtune_problem *problem, int input) {
    const redtune_array array = input ? REDTUNE_ARRAY_Y : REDTUNE_ARRAY_X;
    const rdt_extents at = rdt_problem_extents(problem);
    const uint64_t along = (at.count - 1) * at.step, across = (at.outer - 1) * at.outer_step;
    if (rdt_problem_is_strided(problem)) return rdt_problem_strided_is_disjoint(problem, array);
    return (at.step >= at.inner && at.outer_step >= along + at.inner) ||
           (at.outer_step >= at.inner && at.step >= across + at.inner);
}

static bool has_plant(const inspection *self, uint64_t result) {
    for (size_t i = 0; i < self->plant_count; i++)
        if (self->plants[i].result == result) return true;
    return false;
}

/* The second input begins so many periods behind the first in the run from element `first` on. */
static uint64_t periods_of(uint64_t first) { return first; }

/* Over the sample's results from the first to the last, and in each at another border, of either
 * input whose elements are of one result each. */
static void add_plants(inspection *self, uint64_t first) {
    const rdt_answers *answers = self->answers;
    const rdt_test_buffers *buffers = answers->buffers;
    const rdt_sample *sample = &answers->sample[RDT_LOOK_VERIFIED];
    const rdt_extents extents = rdt_problem_extents(&answers->problem);
    const CUdeviceptr inputs[] = {
        answers->pool->buffer.address,
        rdt_test_buffers_second(buffers, answers->pool, 0, periods_of(first))};
    const size_t element = redtune_dtype_bytes(answers->problem.dtype);
    const size_t count = sample->count < PLANTS_MAX ? sample->count : PLANTS_MAX;
    uint64_t borders[BORDERS];
    bool disjoint[RDT_OP_INPUTS_MAX];
    for (int k = 0; k < RDT_OP_INPUTS_MAX; k++) disjoint[k] = is_disjoint(&answers->problem, k);
    if (!extents.count || !rdt_test_data_hides(&answers->problem)) return;
    for (size_t i = 0; i < count; i++) {
        const size_t chosen = count > 1 ? i * (sample->count - 1) / (count - 1) : 0;
        const uint64_t r = rdt_sample_result(sample, chosen);
        const uint64_t elements = rdt_answers_place(answers, r).count;
        const int input = (int)i % buffers->inputs;
        if (has_plant(self, r) || !elements || !disjoint[input]) continue;
        list_borders(self->launch->tile, elements, borders);
        plant *each = &self->plants[self->plant_count++];
        each->result = r;
        const uint64_t at = borders[i % BORDERS] % elements;
        const uint64_t place = rdt_answers_element(answers, input, r, at);
        const size_t kind = i / 2 % RDT_TEST_DATA_DECIDERS;
        each->place = inputs[input] + (first + place) * element;
        each->decider = buffers->decider[kind];
        each->question = rdt_answers_question(answers, first, r);
        const int64_t number = rdt_answers_number(answers, r, at);
        if (number >= 0) /* else it is absent, and changes nothing */
            rdt_judge_plant(&each->question, input, (uint64_t)number, &buffers->deciding[kind]);
    }
}

static redtune_status ask_plants(inspection *self, redtune_error *err) {
    rdt_question questions[PLANTS_MAX];
    rdt_answer answers[PLANTS_MAX];
    for (size_t i = 0; i < self->plant_count; i++) questions[i] = self->plants[i].question;
    redtune_status status =
        rdt_judge_answer(self->answers->buffers->judge, questions, self->plant_count, answers, err);
    for (size_t i = 0; !status && i < self->plant_count; i++) {
        rdt_answers_name(self->answers, self->plants[i].result, &answers[i]);
        self->plants[i].expected = answers[i];
    }
    return status;
}

/* Where what a plant replaces is kept: where whole arrays have their outputs. */
static CUdeviceptr find_saved(const inspection *self, size_t i) {
    return self->answers->buffers->output.address + (i + 1) * RDT_TEST_BUFFERS_OUTPUT_BYTES;
}

static redtune_status put_plants(inspection *self, redtune_error *err) {
    const rdt_test_buffers *buffers = self->answers->buffers;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < self->plant_count; i++) {
        const plant *each = &self->plants[i];
        status = rdt_test_buffers_copy_element(buffers, find_saved(self, i), each->place, err);
        if (status) break;
        self->placed++;
        status = rdt_test_buffers_copy_element(buffers, each->place, each->decider, err);
    }
    return status;
}

/* Puts back what was there before, as far as plants were put. Of failures the first counts. */
static redtune_status remove_plants(inspection *self, redtune_error *err) {
    redtune_status first = REDTUNE_OK;
    for (; self->placed; self->placed--) {
        const size_t i = self->placed - 1;
        redtune_status status = rdt_test_buffers_copy_element(
            self->answers->buffers, self->plants[i].place, find_saved(self, i), first ? NULL : err);
        if (!first) first = status;
    }
    return first;
}

/* Runs the kernel over the pool from its element number `first` on, and gathers the sample. */
static redtune_status run_at(const inspection *self, uint64_t first, CUdeviceptr to,
                             redtune_error *err) {
    const rdt_answers *answers = self->answers;
    const rdt_test_buffers *buffers = answers->buffers;
    const redtune_problem *problem = &answers->problem;
    const uint64_t reach = rdt_problem_strided_results_reach(problem);
    const CUdeviceptr output = buffers->results.address + RDT_SAMPLE_GUARD_BYTES;
    const CUdeviceptr second = output + rdt_sample_second(reach, problem);
    rdt_operands operands = rdt_answers_operands(answers, answers->pool, first, periods_of(first),
                                                 second + rdt_sample_lead(problem, 1));
    operands.output = output + rdt_sample_lead(problem, 0);
    redtune_status status =
        rdt_answers_scratch(self->answers, self->launch, &operands.scratch, err);
    if (status) return status;
    status = rdt_test_buffers_poison(buffers, buffers->results.address,
                                     rdt_sample_output_bytes(reach, problem), err);
    if (!status)
        status = rdt_kernel_start(self->kernel, self->launch, &operands, buffers->stream, err);
    if (!status)
        status = rdt_sample_gather(&answers->sample[RDT_LOOK_VERIFIED], buffers->driver, output, to,
                                   buffers->stream, err);
    if (status) return status;
    return rdt_gaps_check(problem, buffers->driver, output, buffers->stream, err);
}

/* A result may be in several of the sample's runs. */
static void expect_plant(const rdt_sample *sample, const plant *each, rdt_answer *expected) {
    for (size_t i = 0; i < sample->run_count; expected += sample->run[i++].count) {
        const rdt_run *run = &sample->run[i];
        if (each->result >= run->first && each->result - run->first < run->count)
            expected[each->result - run->first] = each->expected;
    }
}

/* Compares both runs' samples, the second with what the plants make of it. */
static redtune_status compare_runs(const inspection *self, const rdt_answer *const wanted[],
                                   const unsigned char *gathered, redtune_error *err) {
    const rdt_sample *sample = &self->answers->sample[RDT_LOOK_VERIFIED];
    rdt_answer *planted = malloc(sample->count * sizeof *planted);
    if (!planted) return rdt_fail_memory(err, sample->count * sizeof *planted);
    memcpy(planted, wanted[1], sample->count * sizeof *planted);
    for (size_t i = 0; i < self->plant_count; i++) expect_plant(sample, &self->plants[i], planted);
    redtune_status status = rdt_sample_check_gathered(sample, "", gathered, wanted[0], err);
    if (!status)
        status = rdt_sample_check_gathered(
            sample, " at offset 1", gathered + rdt_sample_gathered_bytes(sample), planted, err);
    free(planted);
    return status;
}

/* The plants go whatever happens: later candidates run over the same pool. */
static redtune_status run_planted(inspection *self, CUdeviceptr to, redtune_error *err) {
    redtune_error why;
    redtune_status status = put_plants(self, err);
    if (!status) status = run_at(self, 1, to, err);
    redtune_status removed = remove_plants(self, &why);
    if (!status && removed && err) *err = why;
    return status ? status : removed;
}

static redtune_status run_both(inspection *self, const rdt_answer *const wanted[],
                               redtune_error *err) {
    const rdt_answers *answers = self->answers;
    const rdt_test_buffers *buffers = answers->buffers;
    const size_t bytes = rdt_sample_gathered_bytes(&answers->sample[RDT_LOOK_VERIFIED]);
    const rdt_extents extents = rdt_problem_extents(&answers->problem);
    unsigned char *gathered = malloc(SHIFTS * bytes);
    if (!gathered) return rdt_fail_memory(err, SHIFTS * bytes);
    redtune_status status = run_at(self, 0, buffers->samples.address, err);
    if (!status) status = run_planted(self, buffers->samples.address + bytes, err);
    if (!status)
        status = rdt_buffer_read(buffers->driver, gathered, buffers->samples.address,
                                 SHIFTS * bytes, buffers->stream, err);
    if (!status) status = compare_runs(self, wanted, gathered, err);
    free(gathered);
    return status ? status
                  : rdt_verify_scratch(buffers, scratch_blocks(self->launch, &extents), err);
}

redtune_status rdt_verify_shapes_extents(rdt_answers *answers, const rdt_kernel *kernel,
                                         const rdt_launch *launch, redtune_error *err) {
    inspection self = {.answers = answers, .kernel = kernel, .launch = launch};
    const rdt_answer *wanted[SHIFTS];
    redtune_status status = REDTUNE_OK;
    for (uint64_t i = 0; !status && i < SHIFTS; i++)
        status = rdt_answers_get(answers, RDT_LOOK_VERIFIED, i, &wanted[i], err);
    if (!status) status = rdt_answers_gather(answers, RDT_LOOK_VERIFIED, 1, err);
    if (!status && !rdt_problem_is_keyed(&answers->problem)) add_plants(&self, 1);
    if (!status && self.plant_count) status = ask_plants(&self, err);
    if (!status) status = run_both(&self, wanted, err);
    if (status == REDTUNE_WRONG) rdt_test_buffers_clean_scratch(answers->buffers);
    return status;
}
