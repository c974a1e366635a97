/* Judge: the naive kernel (templates/naive/), which says what a reduction should give. */
#include "tuner/measure/judge.h"

#include <stdlib.h>
#include <string.h>

enum { FAN = 64, NOWHERE = -1, CHUNK_BYTES = 4096 };

redtune_status rdt_judge_make_aside(const rdt_maker *maker, const char *family, rdt_case at,
                                    rdt_launch *launch, rdt_kernel **out, redtune_error *err) {
    int number = 0;
    rdt_point point;
    redtune_status status = rdt_codegen_find_aside(maker->codegen, family, &number, err);
    if (!status) status = rdt_rules_default_of(maker->codegen, at, number, &point, err);
    if (!status) status = rdt_rules_launch(maker->codegen, at, &point, launch, err);
    return status ? status : maker->make(maker->user, at.problem, &point, launch, out, err);
}

/* Their usual values. */
static rdt_given give_parameters(const redtune_problem *problem) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    rdt_given given = {.input = 0};
    for (int i = 0; i < op->parameters; i++) given.scalar[i] = op->parameter[i].usual;
    return given;
}

redtune_status rdt_judge_open(const rdt_context *context, const redtune_problem *problem,
                              const rdt_maker *maker, CUstream stream, rdt_judge **out,
                              redtune_error *err) {
    rdt_judge *judge = calloc(1, sizeof *judge);
    if (!judge) return rdt_fail_memory(err, sizeof *judge);
    judge->driver = context->driver;
    judge->stream = stream;
    judge->given = give_parameters(problem);
    if (problem->order == REDTUNE_ORDER_FIXED)
        judge->chunk = CHUNK_BYTES / redtune_dtype_bytes(problem->dtype);
    judge->answer_bytes = (rdt_problem_second(problem) ? 2 : 1) * sizeof(redtune_value);
    redtune_status status = rdt_judge_make_aside(
        maker, "naive", (rdt_case){problem, &context->facts}, &judge->launch, &judge->kernel, err);
    if (!status)
        status = rdt_buffer_create(judge->driver, RDT_JUDGE_QUESTIONS * sizeof(rdt_question),
                                   &judge->questions, err);
    if (!status)
        status = rdt_buffer_create(judge->driver, RDT_JUDGE_QUESTIONS * judge->answer_bytes,
                                   &judge->answers, err);
    if (status)
        rdt_judge_close(judge);
    else
        *out = judge;
    return status;
}

static void forget_windows(rdt_judge *judge) {
    for (size_t i = 0; i < judge->window_count; i++) rdt_buffer_destroy(&judge->window[i].nodes);
    judge->window_count = 0;
}

void rdt_judge_close(rdt_judge *judge) {
    if (!judge) return;
    forget_windows(judge);
    rdt_kernel_unload(judge->kernel);
    rdt_buffer_destroy(&judge->questions);
    rdt_buffer_destroy(&judge->answers);
    free(judge);
}

/* ---- asking ---------------------------------------------------------------------------------- */

rdt_question rdt_judge_question(const rdt_judged *judged, uint64_t first, uint64_t count) {
    return (rdt_question){
        .elements = {judged->elements[0], judged->elements[1]},
        .nodes = judged->nodes.address,
        .period = judged->period,
        .levels = judged->levels,
        .first = first,
        .count = count,
        .planted_at = {(uint64_t)NOWHERE, (uint64_t)NOWHERE},
    };
}

void rdt_judge_plant(rdt_question *question, int input, uint64_t at, const redtune_value *element) {
    question->planted_at[input] = at;
    memcpy(&question->planted[input], element, sizeof question->planted[input]);
}

static redtune_status ask(const rdt_judge *judge, const rdt_question *questions, size_t count,
                          redtune_error *err) {
    const rdt_operands operands = {.input = judge->questions.address,
                                   .extents.count = count,
                                   .output = judge->answers.address,
                                   .given = judge->given};
    redtune_status status = rdt_buffer_write(judge->driver, judge->questions.address, questions,
                                             count * sizeof *questions, judge->stream, err);
    return status ? status
                  : rdt_kernel_start(judge->kernel, &judge->launch, &operands, judge->stream, err);
}

/* ---- windows, in fixed order ----------------------------------------------------------------- */

static bool is_about(const rdt_judge_window *window, const rdt_question *question) {
    return window->elements[0] == question->elements[0] &&
           window->elements[1] == question->elements[1] && window->first == question->first &&
           window->period == question->period;
}

static rdt_judge_window *find_window(rdt_judge *judge, const rdt_question *question) {
    for (size_t i = 0; i < judge->window_count; i++)
        if (is_about(&judge->window[i], question)) return &judge->window[i];
    return NULL;
}

/* Asks for the values of the chunks of the window that question is about. */
static redtune_status fill_window(const rdt_judge *judge, const rdt_question *question,
                                  const rdt_judge_window *window, redtune_error *err) {
    rdt_question *questions = malloc(RDT_JUDGE_QUESTIONS * sizeof *questions);
    if (!questions) return rdt_fail_memory(err, RDT_JUDGE_QUESTIONS * sizeof *questions);
    redtune_status status = REDTUNE_OK;
    size_t count = 0;
    for (uint64_t i = 0; !status && i < window->chunks; i++) {
        rdt_question *each = &questions[count++];
        *each = *question;
        each->levels = 0;
        each->planted_at[0] = each->planted_at[1] = (uint64_t)NOWHERE;
        each->first = (question->first + i * judge->chunk) % question->period;
        each->count = judge->chunk;
        each->node = window->nodes.address + i * judge->launch.slot_bytes;
        if (count < RDT_JUDGE_QUESTIONS && i + 1 < window->chunks) continue;
        status = ask(judge, questions, count, err);
        count = 0;
    }
    free(questions);
    return status;
}

/* A window for the question, with nodes for all of questions[0..count) that are about it, if there
 * is room. */
static redtune_status add_window(rdt_judge *judge, const rdt_question *question,
                                 const rdt_question *questions, size_t count, redtune_error *err) {
    rdt_judge_window window = {.elements = {question->elements[0], question->elements[1]},
                               .first = question->first,
                               .period = question->period};
    for (size_t i = 0; i < count; i++)
        if (is_about(&window, &questions[i]) && questions[i].count / judge->chunk > window.chunks)
            window.chunks = questions[i].count / judge->chunk;
    const uint64_t most = RDT_JUDGE_WINDOWS_BYTES / 2 / judge->launch.slot_bytes;
    if (window.chunks > most) window.chunks = most;
    size_t bytes = window.chunks * judge->launch.slot_bytes, taken = bytes;
    for (size_t i = 0; i < judge->window_count; i++) taken += judge->window[i].nodes.bytes;
    if (window.chunks < 2 || judge->window_count == RDT_JUDGE_WINDOWS ||
        taken > RDT_JUDGE_WINDOWS_BYTES)
        return REDTUNE_OK;
    redtune_status status = rdt_buffer_create(judge->driver, bytes, &window.nodes, err);
    if (status) return status;
    judge->window[judge->window_count++] = window;
    return fill_window(judge, question, &window, err);
}

/* The questions, each with the nodes of its window. Windows that are too short, or too many, make
 * room for others. */
static redtune_status give_nodes(rdt_judge *judge, const rdt_question *questions, size_t count,
                                 rdt_question *out, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    bool fits = judge->window_count < RDT_JUDGE_WINDOWS / 2;
    for (size_t i = 0; fits && i < count; i++) {
        const rdt_judge_window *window = find_window(judge, &questions[i]);
        fits = !window || questions[i].count / judge->chunk <= window->chunks;
    }
    if (!fits) forget_windows(judge);
    for (size_t i = 0; !status && i < count; i++) {
        if (!find_window(judge, &questions[i]))
            status = add_window(judge, &questions[i], questions, count, err);
        const rdt_judge_window *window = find_window(judge, &questions[i]);
        out[i] = questions[i];
        out[i].levels = window ? window->chunks : 0;
        out[i].nodes = window ? window->nodes.address : 0;
    }
    return status;
}

/* ---- answering ------------------------------------------------------------------------------- */

static redtune_status answer_questions(const rdt_judge *judge, const rdt_question *questions,
                                       size_t count, rdt_answer *answers, redtune_error *err) {
    const size_t each = judge->answer_bytes;
    const size_t most = count < RDT_JUDGE_QUESTIONS ? count : RDT_JUDGE_QUESTIONS;
    redtune_status status = REDTUNE_OK;
    char *found = malloc(most * each + 1);
    if (!found) return rdt_fail_memory(err, most * each + 1);
    for (size_t first = 0; !status && first < count; first += most) {
        const size_t left = count - first, now = left < most ? left : most;
        status = ask(judge, questions + first, now, err);
        if (!status)
            status = rdt_buffer_read(judge->driver, found, judge->answers.address, now * each,
                                     judge->stream, err);
        for (size_t i = 0; !status && i < now; i++) {
            memset(&answers[first + i], 0, sizeof *answers);
            memcpy(&answers[first + i], found + i * each, each);
        }
    }
    free(found);
    return status;
}

redtune_status rdt_judge_answer(rdt_judge *judge, const rdt_question *questions, size_t count,
                                rdt_answer *answers, redtune_error *err) {
    if (!judge->chunk) return answer_questions(judge, questions, count, answers, err);
    rdt_question *with_nodes = malloc((count + 1) * sizeof *with_nodes);
    if (!with_nodes) return rdt_fail_memory(err, (count + 1) * sizeof *with_nodes);
    redtune_status status = give_nodes(judge, questions, count, with_nodes, err);
    if (!status) status = answer_questions(judge, with_nodes, count, answers, err);
    free(with_nodes);
    return status;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Asks for the nodes of the next level, which lie from `to` on and have so many elements each. */
static redtune_status add_level(const rdt_judge *judge, const rdt_judged *judged, CUdeviceptr to,
                                uint64_t size, rdt_question *questions, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    size_t count = 0;
    for (uint64_t first = 0; !status && first < judged->period; first += size) {
        const uint64_t left = judged->period - first;
        questions[count] = rdt_judge_question(judged, first, left < size ? left : size);
        questions[count++].node = to + first / size * judge->launch.slot_bytes;
        if (count < RDT_JUDGE_QUESTIONS && left > size) continue;
        status = ask(judge, questions, count, err);
        count = 0;
    }
    return status;
}

static uint64_t count_nodes(uint64_t period) {
    uint64_t nodes = 0, size = 1;
    do {
        size *= FAN;
        nodes += (period + size - 1) / size;
    } while (size < period);
    return nodes;
}

size_t rdt_judge_bytes(const redtune_problem *problem) {
    enum { KNOWN_BYTES = 1 << 20, TWO_INPUTS = 2 };
    const int bytes = rdt_problem_accumulator_bytes(problem);
    const size_t wide = bytes > 64   ? 32
                        : bytes > 32 ? 4
                        : bytes > 16 ? 2
                                     : 1; /* slots of 16 bytes */
    const size_t pairs = rdt_op_find(problem->op)->inputs == TWO_INPUTS ? 2 : 1;
    if (problem->order == REDTUNE_ORDER_FIXED) return KNOWN_BYTES + RDT_JUDGE_WINDOWS_BYTES;
    return KNOWN_BYTES * pairs * wide;
}

redtune_status rdt_judge_prepare(rdt_judge *judge, CUdeviceptr elements, CUdeviceptr second,
                                 uint64_t period, rdt_judged *out, redtune_error *err) {
    rdt_judged judged = {.elements = {elements, second}, .period = period};
    forget_windows(judge);
    if (judge->chunk) {
        *out = judged;
        return REDTUNE_OK;
    }
    rdt_question *questions = malloc(RDT_JUDGE_QUESTIONS * sizeof *questions);
    if (!questions) return rdt_fail_memory(err, RDT_JUDGE_QUESTIONS * sizeof *questions);
    redtune_status status = rdt_buffer_create(
        judge->driver, count_nodes(period) * judge->launch.slot_bytes, &judged.nodes, err);
    CUdeviceptr to = judged.nodes.address;
    for (uint64_t size = FAN; !status; size *= FAN) {
        status = add_level(judge, &judged, to, size, questions, err);
        to += (period + size - 1) / size * judge->launch.slot_bytes;
        judged.levels++;
        if (size >= period) break;
    }
    free(questions);
    if (status)
        rdt_judge_forget(&judged);
    else
        *out = judged;
    return status;
}

void rdt_judge_forget(rdt_judged *judged) {
    rdt_buffer_destroy(&judged->nodes);
    *judged = (rdt_judged){.period = 0};
}
