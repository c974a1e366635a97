/* Verify segments: whether a kernel of segments gives the exact results, before it may be timed.
 *
 * Small tables lead into the dense pool, one segment behind the other, so that the judge knows the
 * result of each, and of all of them. Each kind of lengths is given by offsets and in one other
 * form that a run may have. Where an op's result hangs on few elements, one of some segment is
 * replaced by one that decides, at another place in each run. Every other run is launched on few
 * blocks, which then have more of the work each, and the parts of more warps to combine. */
#include "tuner/measure/verify_segments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/random.h"
#include "model/scalar.h"
#include "tuner/measure/sample.h"
#include "tuner/measure/verify.h"

/* Lengths. */
typedef enum kind {
    EQUAL,   /* all the same */
    SINGLES, /* of one element, or none */
    SHORT,   /* of a few elements */
    UNEVEN,  /* half of them short, the others up to some tiles */
    GIANT,   /* one of half of all elements among short ones */
    EMPTY,   /* nearly all empty */
    ONE,     /* a single one */
    FALLING, /* as UNEVEN, but offsets decrease here and there */
    KINDS
} kind;

/* How tables say where segments are. */
typedef enum form {
    OFFSETS, /* count + 1 offsets */
    ENDS,    /* beginnings and ends */
    ARRAYS,  /* arrays and their lengths */
    LISTED,  /* arrays and the elements before each */
    FORMS
} form;

static const char *const form_names[FORMS] = {"offsets", "ends", "arrays", "a list"};

enum { SEGMENTS_MAX = 700, TABLES = 3, EDGE_BLOCKS = 3 };
enum { NAN_PLANTED = RDT_TEST_DATA_DECIDERS };

/* A run: a table in one form. */
typedef struct run {
    kind kind;
    form form;
    uint64_t count;                     /* of segments */
    uint64_t offsets[SEGMENTS_MAX + 1]; /* in the pool */
    uint64_t decides, at;               /* the segment that has a planted element; its place */
    int planted;                        /* kind of that element, or NAN_PLANTED; -1: none */
} run;

typedef struct subject {
    const rdt_test_buffers *buffers;
    const redtune_problem *problem;
    const rdt_kernel *kernel;
    const rdt_launch *launch;
    rdt_buffer tables;
    rdt_random random;
    uint64_t longest, elements; /* at most, of a segment and of a table */
    uint64_t table[TABLES * (SEGMENTS_MAX + 1)];
    rdt_question questions[SEGMENTS_MAX];
    rdt_answer answers[SEGMENTS_MAX];
    rdt_sample sample;
} subject;

/* ---- tables ---------------------------------------------------------------------------------- */

static uint64_t below(subject *self, uint64_t bound) {
    return rdt_random_below(&self->random, bound ? bound : 1);
}

static uint64_t draw_count(const subject *self, kind kind) {
    const uint64_t tile = self->launch->tile;
    switch (kind) {
    case EQUAL: return 7;
    case UNEVEN:
    case FALLING: return 40 + tile % 3;
    case GIANT: return 300;
    case ONE: return 1;
    case SINGLES:
    case SHORT:
    case EMPTY:
    case KINDS: break;
    }
    return SEGMENTS_MAX - 2;
}

static uint64_t draw_length(subject *self, const run *run, uint64_t i) {
    const uint64_t tile = self->launch->tile;
    switch (run->kind) {
    case EQUAL: return tile / 3 + 5;
    case SINGLES: return below(self, 2);
    case SHORT: return below(self, 1 + below(self, 40));
    case GIANT: return i == run->count / 3 ? self->elements / 2 : below(self, 9);
    case EMPTY: return below(self, 200) ? 0 : below(self, 300);
    case ONE: return self->elements;
    case UNEVEN:
    case FALLING:
    case KINDS: break;
    }
    return i % 2 ? below(self, 50) : below(self, tile);
}

static uint64_t length_of(const run *run, uint64_t i) {
    return run->offsets[i + 1] > run->offsets[i] ? run->offsets[i + 1] - run->offsets[i] : 0;
}

static void draw_offsets(subject *self, run *run) {
    uint64_t left = self->elements;
    run->count = draw_count(self, run->kind);
    run->offsets[0] = below(self, self->buffers->alignments + 3);
    for (uint64_t i = 0; i < run->count; i++) {
        uint64_t length = draw_length(self, run, i);
        if (length > self->longest) length = self->longest;
        if (length > left) length = left;
        run->offsets[i + 1] = run->offsets[i] + length;
        left -= length;
    }
    for (int k = 0; run->kind == FALLING && k < 4; k++) {
        const uint64_t i = 1 + below(self, run->count - 1);
        run->offsets[i] = below(self, run->offsets[i]);
        if (length_of(run, i) > self->longest) run->offsets[i] = run->offsets[i + 1];
    }
}

/* An element at either end of a segment, at an edge of its loads, or anywhere. */
static void place_plant(subject *self, run *run, size_t number) {
    /* Of each kind of what decides, and a NaN, in turns. */
    const bool hides = rdt_test_data_hides(self->problem), nan = self->buffers->nan != 0;
    const int kinds = (hides ? self->buffers->deciders : 0) + nan;
    run->planted = -1;
    if (!kinds || run->kind == FALLING) return;
    for (int tries = 0; tries < 64; tries++) {
        run->decides = below(self, run->count);
        const uint64_t length = length_of(run, run->decides);
        const uint64_t places[] = {0, length - 1, 31, 32, self->launch->tile, below(self, length)};
        run->at = places[number % (sizeof places / sizeof *places)];
        if (run->at < length) run->planted = (int)(number % (size_t)kinds);
        if (run->planted >= 0 && run->planted + nan == kinds) run->planted = NAN_PLANTED;
        if (run->planted >= 0) return;
    }
}

/* The tables on the GPU, as a launch takes them. */
static redtune_status put_tables(subject *self, const run *run, rdt_segments *out,
                                 redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    const size_t element = redtune_dtype_bytes(buffers->dtype), each = run->count + 1;
    const CUdeviceptr pool = buffers->dense.buffer.address, to = self->tables.address;
    const bool arrays = run->form >= ARRAYS;
    uint64_t *begin = self->table, *end = begin + each, *place = end + each;
    for (uint64_t i = 0; i < run->count; i++) {
        begin[i] = arrays ? (i ? begin[i - 1] + length_of(run, i - 1) : 0) : run->offsets[i];
        end[i] = arrays ? length_of(run, i) : run->offsets[i + 1];
        place[i] = pool + run->offsets[i] * element;
    }
    begin[run->count] =
        arrays ? begin[run->count - 1] + length_of(run, run->count - 1) : run->offsets[run->count];
    const size_t bytes = each * sizeof *begin;
    *out = (rdt_segments){
        .begin = run->form == ARRAYS ? 0 : to,
        .end = run->form == ENDS || run->form == ARRAYS ? to + bytes : 0,
        .count = run->count,
        .wide = 1,
        .arrays = arrays ? to + 2 * bytes : 0,
    };
    return rdt_buffer_write(buffers->driver, to, self->table, TABLES * bytes, buffers->stream, err);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Asks for all of them. */
static redtune_status ask_results(subject *self, const run *run, redtune_error *err) {
    const rdt_judged *judged = &self->buffers->dense.judged;
    const bool all = self->problem->segmented == REDTUNE_SEGMENTED_ALL;
    const bool has_nan = run->planted == NAN_PLANTED;
    const redtune_value nan =
        has_nan ? rdt_scalar_from_real(self->problem->dtype, (double)NAN) : (redtune_value){0};
    redtune_problem problem =
        redtune_problem_segments(self->problem->op, self->problem->dtype, run->count, 0);
    problem.result = self->problem->result;
    problem.segmented = self->problem->segmented;
    const uint64_t first = run->offsets[0], results = all ? 1 : run->count;
    for (uint64_t i = 0; i < results; i++)
        self->questions[i] =
            all ? rdt_judge_question(judged, first, run->offsets[run->count] - first)
                : rdt_judge_question(judged, run->offsets[i], length_of(run, i));
    if (run->planted >= 0)
        rdt_judge_plant(&self->questions[all ? 0 : run->decides], 0,
                        run->at + (all ? run->offsets[run->decides] - first : 0),
                        has_nan ? &nan : &self->buffers->deciding[run->planted]);
    rdt_sample_choose(&problem, 1, SEGMENTS_MAX, &self->sample);
    return rdt_judge_answer(self->buffers->judge, self->questions, results, self->answers, err);
}

/* What is planted goes whatever happens: others run over the same pool. */
static redtune_status launch_planted(const subject *self, const run *run, const rdt_launch *how,
                                     const rdt_operands *operands, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    if (run->planted < 0)
        return rdt_kernel_start(self->kernel, how, operands, buffers->stream, err);
    const CUdeviceptr saved = buffers->output.address;
    const CUdeviceptr place =
        buffers->dense.buffer.address +
        (run->offsets[run->decides] + run->at) * redtune_dtype_bytes(buffers->dtype);
    redtune_status status = rdt_test_buffers_copy_element(buffers, saved, place, err);
    if (status) return status;
    redtune_error why;
    status = rdt_test_buffers_copy_element(
        buffers, place, run->planted == NAN_PLANTED ? buffers->nan : buffers->decider[run->planted],
        err);
    if (!status) status = rdt_kernel_start(self->kernel, how, operands, buffers->stream, err);
    redtune_status back = rdt_test_buffers_copy_element(buffers, place, saved, &why);
    if (!status && back && err) *err = why;
    return status ? status : back;
}

static redtune_status check_run(const subject *self, const run *run, CUdeviceptr output,
                                redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    const size_t bytes = rdt_sample_gathered_bytes(&self->sample);
    unsigned char *gathered = malloc(bytes);
    if (!gathered) return rdt_fail_memory(err, bytes);
    char which[80];
    snprintf(which, sizeof which, ", given by %s", form_names[run->form]);
    redtune_status status = rdt_sample_gather(&self->sample, buffers->driver, output,
                                              buffers->samples.address, buffers->stream, err);
    if (!status)
        status = rdt_buffer_read(buffers->driver, gathered, buffers->samples.address, bytes,
                                 buffers->stream, err);
    if (!status)
        status = rdt_sample_check_gathered(&self->sample, which, gathered, self->answers, err);
    free(gathered);
    return status ? status : rdt_verify_scratch(buffers, self->launch->blocks_max, err);
}

static redtune_status try_run(subject *self, const run *run, bool on_few, redtune_error *err) {
    const rdt_test_buffers *buffers = self->buffers;
    const CUdeviceptr output = buffers->results.address + RDT_SAMPLE_GUARD_BYTES;
    rdt_operands operands = {
        .input = run->form >= ARRAYS ? 0 : buffers->dense.buffer.address,
        .output = output,
        .scratch = buffers->scratch.address,
    };
    rdt_launch how = *self->launch;
    if (on_few && how.blocks_max > EDGE_BLOCKS) how.blocks_max = EDGE_BLOCKS;
    redtune_status status = ask_results(self, run, err);
    if (!status) status = put_tables(self, run, &operands.segments, err);
    if (status) return status;
    const redtune_problem *of = &self->sample.problem;
    const uint64_t results = rdt_problem_results(of);
    operands.given =
        rdt_test_buffers_given(buffers, rdt_test_buffers_second(buffers, &buffers->dense, 0, 0),
                               output + rdt_sample_second(results, of));
    status = rdt_test_buffers_poison(buffers, buffers->results.address,
                                     rdt_sample_output_bytes(results, of), err);
    if (!status) status = launch_planted(self, run, &how, &operands, err);
    return status ? status : check_run(self, run, output, err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* By offsets, and in one other form. Those that decrease are only for kernels that go by them, and
 * their segments overlap: what all of them give together is of no window of the pool. A second
 * input lies beside one buffer. */
static bool has_form(const subject *self, kind kind, form form) {
    if (self->buffers->inputs > 1) return form <= ENDS;
    if (kind == FALLING) return self->problem->segmented == REDTUNE_SEGMENTED_EACH && form <= ENDS;
    return form == OFFSETS || (int)form == 1 + (int)kind % (FORMS - 1);
}

static redtune_status try_all(subject *self, run *run, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    size_t number = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int form = 0; !status && form < FORMS; form++, number++) {
            if (!has_form(self, kind, form)) continue;
            run->kind = kind;
            run->form = form;
            draw_offsets(self, run);
            place_plant(self, run, number);
            status = try_run(self, run, number % 2, err);
        }
    }
    return status;
}

redtune_status rdt_verify_segments_edges(const rdt_test_buffers *buffers,
                                         const redtune_problem *problem, const rdt_kernel *kernel,
                                         const rdt_launch *launch, redtune_error *err) {
    const rdt_pool *pool = &buffers->dense;
    enum { SPARE = 64, TILES = 3 };
    subject *self = calloc(1, sizeof *self);
    run *run = calloc(1, sizeof *run);
    redtune_status status = REDTUNE_OK;
    if (!self || !run) status = rdt_fail_memory(err, sizeof *self + sizeof *run);
    if (!status) {
        self->buffers = buffers;
        self->problem = problem;
        self->kernel = kernel;
        self->launch = launch;
        self->longest = pool->data->count_max;
        self->elements = TILES * (uint64_t)launch->tile + 7;
        if (self->elements > pool->count - SPARE) self->elements = pool->count - SPARE;
        if (problem->segmented == REDTUNE_SEGMENTED_ALL && self->elements > self->longest)
            self->elements = self->longest;
        status = rdt_buffer_create(buffers->driver, sizeof self->table, &self->tables, err);
    }
    if (!status) status = try_all(self, run, err);
    if (status == REDTUNE_WRONG) rdt_test_buffers_clean_scratch(buffers);
    if (self) rdt_buffer_destroy(&self->tables);
    free(run);
    free(self);
    return status;
}
