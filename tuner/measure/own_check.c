/* Own check: whether an op of the user's is what its file says. */
#include "tuner/measure/own_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "codegen/user_ops.h"
#include "gpu/stream.h"
#include "model/scalar.h"

enum {
    TRIALS = 64,    /* of each law */
    COUNT_MAX = 48, /* elements of one */
    ANSWER_BYTES = 16,
    ENDLESS_AT = 8, /* of the first result's: whether a loop was ended */
};

/* Which two ways of combining are compared (templates/algebra/kernel.cu). */
typedef enum law {
    LAW_RESULT,
    LAW_IDENTITY_BEFORE,
    LAW_IDENTITY_BEHIND,
    LAW_ASSOCIATIVE,
    LAW_COMMUTATIVE,
    LAW_COUNT,
} law;

/* As templates/algebra/kernel.cu has it. */
typedef struct question {
    uint64_t elements[RDT_OP_INPUTS_MAX];
    uint64_t count, law;
} question;

typedef struct checking {
    const rdt_driver *driver;
    CUstream stream;
    const redtune_problem *problem;
    const rdt_op_traits *op;
    const rdt_own_op *file;
    rdt_kernel *kernel;
    rdt_launch launch;
    rdt_buffer questions, answers, elements;
    size_t inputs, outputs;
    size_t element_bytes, count_max; /* elements of a question */
} checking;

/* ---- messages -------------------------------------------------------------------------------- */

static redtune_status refuse_op(const checking *self, int line, const char *what,
                                redtune_error *err) {
    return rdt_fail(err, REDTUNE_TEMPLATE, 0, "cannot use op %s of %s: %.250s:%d: %s",
                    self->op->name, redtune_dtype_name(self->problem->dtype), self->file->name,
                    line, what);
}

/* A compiler's message has the name of the file and the line within it, "NAME(LINE): error: TEXT",
 * since each expression has a #line directive. */
static redtune_status tell_compiler(const checking *self, const redtune_error *why,
                                    redtune_error *err) {
    static const char head[] = "): error: ";
    char what[320];
    const size_t length = strlen(self->file->name);
    const char *at = strstr(why->message, self->file->name);
    const int line = at && at[length] == '(' ? atoi(at + length + 1) : 0;
    const char *text = line ? strstr(at, head) : NULL;
    if (why->status != REDTUNE_COMPILER || !text) {
        if (err) *err = *why;
        return why->status;
    }
    text += sizeof head - 1;
    const char *end = strstr(text, " | ");
    rdt_text_print(what, sizeof what, "NVRTC says: %.*s; correct the CUDA text there",
                   end ? (int)(end - text) : (int)strlen(text), text);
    return refuse_op(self, line, what, err);
}

/* ---- answers --------------------------------------------------------------------------------- */

static redtune_dtype result_dtype(const checking *self, size_t output) {
    return output ? rdt_problem_second(self->problem) : self->problem->result;
}

/* Answer `way` of a question, 0 or 1. */
static const void *answer_of(const checking *self, const unsigned char *answers, size_t i, int way,
                             size_t output) {
    return answers + ((2 * i + (size_t)way) * self->outputs + output) * ANSWER_BYTES;
}

/* The distance of a number's neighbours at 1: 0 for integers. */
static double unit_of(redtune_dtype dtype) {
    return rdt_scalar_is_float(dtype) ? ldexp(1, -rdt_dtype_find(dtype)->fraction_bits) : 0;
}

/* How far two results may lie apart, of that magnitude: what combining in another order rounds, and
 * what finishing does. */
static double bound_of(const checking *self, size_t output, double magnitude) {
    const double combining = unit_of(rdt_problem_accumulator(self->problem)) * self->op->tolerance;
    return magnitude * (combining + 4 * unit_of(result_dtype(self, output)));
}

static bool is_within(double a, double b, double bound) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= bound;
}

static redtune_status refuse_endless(const checking *self, const unsigned char *answers,
                                     size_t count, redtune_error *err) {
    for (size_t i = 0; i < 2 * count; i++) {
        uint32_t endless;
        memcpy(&endless, answers + i * self->outputs * ANSWER_BYTES + ENDLESS_AT, sizeof endless);
        if (endless)
            return refuse_op(
                self, self->file->line.functions,
                "a loop of its CUDA text goes on for more than 16384 turns; let it end "
                "after fewer",
                err);
    }
    return REDTUNE_OK;
}

/* Asks them, of elements on the GPU. */
static redtune_status ask_both(const checking *self, const question *questions, size_t count,
                               const double *parameters, unsigned char *answers,
                               redtune_error *err) {
    rdt_operands operands = {
        .input = self->questions.address, .extents.count = count, .output = self->answers.address};
    for (int i = 0; i < self->op->parameters; i++)
        operands.given.scalar[i] = parameters ? parameters[i] : self->op->parameter[i].usual;
    redtune_status status = rdt_buffer_write(self->driver, self->questions.address, questions,
                                             count * sizeof *questions, self->stream, err);
    if (!status)
        status = rdt_kernel_start(self->kernel, &self->launch, &operands, self->stream, err);
    if (!status)
        status = rdt_buffer_read(self->driver, answers, self->answers.address,
                                 count * 2 * self->outputs * ANSWER_BYTES, self->stream, err);
    return status ? status : refuse_endless(self, answers, count, err);
}

/* Where elements of an input begin on the GPU. */
static CUdeviceptr place_of_input(const checking *self, size_t input, size_t first) {
    return self->elements.address +
           (input * self->count_max * TRIALS + first) * self->element_bytes;
}

/* ---- examples -------------------------------------------------------------------------------- */

/* Puts an example's elements onto the GPU; *fits: the dtype has these numbers. */
static redtune_status put_elements(const checking *self, const rdt_own_example *example, bool *fits,
                                   redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    *fits = true;
    unsigned char *data = calloc(example->count + 1, self->element_bytes);
    if (!data) return rdt_fail_memory(err, (example->count + 1) * self->element_bytes);
    for (size_t input = 0; !status && input < self->inputs; input++) {
        for (uint64_t i = 0; i < example->count; i++) {
            const double number = example->elements[input][i];
            const redtune_value value = isnan(number)
                                            ? rdt_scalar_from_real(self->problem->dtype, 0)
                                            : rdt_scalar_nearest(self->problem->dtype, number);
            const redtune_value nan = rdt_scalar_from_real(self->problem->dtype, (double)NAN);
            const bool real = rdt_scalar_is_float(self->problem->dtype);
            memcpy(data + i * self->element_bytes, isnan(number) && real ? &nan : &value,
                   self->element_bytes);
            /* A float has each number about as it is, an integer only whole ones. */
            if (!real && rdt_scalar_real(self->problem->dtype, &value, 0) != number) *fits = false;
        }
        if (example->count)
            status = rdt_buffer_write(self->driver, place_of_input(self, input, 0), data,
                                      example->count * self->element_bytes, self->stream, err);
    }
    free(data);
    return status;
}

static redtune_status refuse_example(const checking *self, size_t i, size_t output,
                                     const void *answer, redtune_error *err) {
    char what[256];
    rdt_text got = {0};
    redtune_value value;
    memcpy(&value, answer, sizeof value);
    rdt_scalar_print(result_dtype(self, output), &value, &got);
    rdt_text_print(what, sizeof what,
                   "example %zu gives %s%s%s and should give %.17g; correct the example, or map, "
                   "combine and finish",
                   i + 1, self->outputs > 1 ? self->op->output[output].name : "",
                   self->outputs > 1 ? " " : "", got.data ? got.data : "?",
                   self->file->examples[i].result[output]);
    rdt_text_free(&got);
    return refuse_op(self, self->file->line.examples, what, err);
}

static redtune_status check_example(const checking *self, size_t i, redtune_error *err) {
    const rdt_own_example *example = &self->file->examples[i];
    const question whole = {
        {place_of_input(self, 0, 0), place_of_input(self, 1, 0)}, example->count, LAW_RESULT};
    unsigned char answers[2 * RDT_OP_OUTPUTS_MAX * ANSWER_BYTES];
    bool fits = false;
    redtune_status status = put_elements(self, example, &fits, err);
    if (status || !fits) return status;
    status = ask_both(self, &whole, 1, example->parameter, answers, err);
    for (size_t output = 0; !status && output < self->outputs; output++) {
        const void *answer = answer_of(self, answers, 0, 0, output);
        const double got = rdt_scalar_real(result_dtype(self, output), answer, 0);
        const double want = example->result[output];
        /* Its elements are rounded to the dtype, too. */
        const double rounding = (double)(example->count + 4) * unit_of(self->problem->dtype);
        const double bound = bound_of(self, output, fabs(want)) +
                             (self->element_bytes < 8 ? fabs(want) * rounding : 0);
        if (!is_within(got, want, bound)) status = refuse_example(self, i, output, answer, err);
    }
    return status;
}

/* ---- laws ------------------------------------------------------------------------------------ */

/* Random elements of the range that the file gives, and a question of each law about those of each
 * trial. */
static redtune_status put_trials(const checking *self, question *questions, redtune_error *err) {
    const size_t count = self->inputs * self->count_max * TRIALS;
    rdt_random random = {.state = 1};
    unsigned char *data = malloc(count * self->element_bytes);
    if (!data) return rdt_fail_memory(err, count * self->element_bytes);
    for (size_t i = 0; i < count; i++) {
        const double part = (double)rdt_random_below(&random, 1 << 20) / ((1 << 20) - 1);
        const redtune_value value = rdt_scalar_nearest(
            self->problem->dtype, self->op->least + part * (self->op->greatest - self->op->least));
        memcpy(data + i * self->element_bytes, &value, self->element_bytes);
    }
    redtune_status status = rdt_buffer_write(self->driver, self->elements.address, data,
                                             count * self->element_bytes, self->stream, err);
    free(data);
    for (size_t i = 0; i < LAW_COUNT * TRIALS; i++) {
        const size_t trial = i % TRIALS, first = trial * self->count_max;
        questions[i] = (question){{place_of_input(self, 0, first), place_of_input(self, 1, first)},
                                  3 + trial % (COUNT_MAX - 2),
                                  i / TRIALS};
    }
    return status;
}

static redtune_status refuse_law(const checking *self, law law, double left, double right,
                                 redtune_error *err) {
    char what[256];
    const double apart = fabs(left - right) / fmax(fabs(left), fabs(right));
    const double units = apart / unit_of(rdt_problem_accumulator(self->problem));
    const char *remedy = law == LAW_ASSOCIATIVE || law == LAW_COMMUTATIVE
                             ? "correct it: kernels combine in any order"
                             : "give the accumulator that changes nothing";
    char tolerance[64] = "";
    if (units < 1e5)
        rdt_text_print(tolerance, sizeof tolerance, ", or set tolerance = %.0f", ceil(2 * units));
    switch (law) {
    case LAW_ASSOCIATIVE:
        rdt_text_print(
            what, sizeof what,
            "combine is not associative: (a b) c gives %.9g and a (b c) gives %.9g; %s%s", left,
            right, remedy, tolerance);
        return refuse_op(self, self->file->line.combine, what, err);
    case LAW_COMMUTATIVE:
        rdt_text_print(what, sizeof what,
                       "combine is not commutative: a b gives %.9g and b a gives %.9g; %s%s", left,
                       right, remedy, tolerance);
        return refuse_op(self, self->file->line.combine, what, err);
    case LAW_RESULT:
    case LAW_IDENTITY_BEFORE:
    case LAW_IDENTITY_BEHIND:
    case LAW_COUNT: break;
    }
    rdt_text_print(what, sizeof what,
                   "identity is not neutral: combined with what gives %.9g it gives %.9g; %s%s",
                   right, left, remedy, tolerance);
    return refuse_op(self, self->file->line.identity, what, err);
}

/* The trials' greatest magnitude, as results near 0 are no more exact than others; -1: all NaN. */
static double magnitude_of(const checking *self, const unsigned char *answers, size_t output) {
    double most = -1;
    for (size_t i = 0; i < LAW_COUNT * TRIALS; i++) {
        const double each = fabs(
            rdt_scalar_real(result_dtype(self, output), answer_of(self, answers, i, 1, output), 0));
        if (!isnan(each) && !isinf(each) && each > most) most = each;
    }
    return most;
}

static redtune_status check_output(const checking *self, const unsigned char *answers,
                                   size_t output, redtune_error *err) {
    const redtune_dtype dtype = result_dtype(self, output);
    const double magnitude = magnitude_of(self, answers, output);
    char what[256];
    if (magnitude < 0) {
        rdt_text_print(what, sizeof what,
                       "it gives no number for elements from %g to %g; set elements = { least, "
                       "greatest } where it is defined",
                       self->op->least, self->op->greatest);
        return refuse_op(self, self->file->line.map, what, err);
    }
    for (size_t i = 0; i < LAW_COUNT * TRIALS; i++) {
        const double left = rdt_scalar_real(dtype, answer_of(self, answers, i, 0, output), 0);
        const double right = rdt_scalar_real(dtype, answer_of(self, answers, i, 1, output), 0);
        /* Beyond what the accumulator holds there is nothing to compare. */
        if (!isfinite(left) && !isfinite(right)) continue;
        const double near = fmax(fabs(left), fabs(right));
        const double bound = bound_of(self, output, near < magnitude ? magnitude : near);
        if (!is_within(left, right, bound))
            return refuse_law(self, (law)(i / TRIALS), left, right, err);
    }
    return REDTUNE_OK;
}

static redtune_status check_laws(const checking *self, redtune_error *err) {
    enum { QUESTIONS = LAW_COUNT * TRIALS };
    question questions[QUESTIONS];
    unsigned char answers[QUESTIONS * 2 * RDT_OP_OUTPUTS_MAX * ANSWER_BYTES];
    redtune_status status = put_trials(self, questions, err);
    if (!status) status = ask_both(self, questions, QUESTIONS, NULL, answers, err);
    for (size_t output = 0; !status && output < self->outputs; output++)
        status = check_output(self, answers, output, err);
    return status;
}

/* ---- checking -------------------------------------------------------------------------------- */

static redtune_status make_algebra(checking *self, const rdt_maker *maker, rdt_case at,
                                   redtune_error *err) {
    redtune_error why = {0};
    return rdt_judge_make_aside(maker, "algebra", at, &self->launch, &self->kernel, &why)
               ? tell_compiler(self, &why, err)
               : REDTUNE_OK;
}

static redtune_status open_own(checking *self, redtune_error *err) {
    const size_t questions = LAW_COUNT * TRIALS;
    self->count_max = COUNT_MAX;
    size_t most = self->count_max * TRIALS; /* of an input */
    for (size_t i = 0; i < self->file->example_count; i++)
        if (self->file->examples[i].count > most) most = self->file->examples[i].count;
    self->count_max = (most + TRIALS - 1) / TRIALS;
    redtune_status status = rdt_stream_create(self->driver, &self->stream, err);
    if (!status)
        status =
            rdt_buffer_create(self->driver, questions * sizeof(question), &self->questions, err);
    if (!status)
        status = rdt_buffer_create(self->driver, questions * 2 * RDT_OP_OUTPUTS_MAX * ANSWER_BYTES,
                                   &self->answers, err);
    if (!status)
        status = rdt_buffer_create(self->driver,
                                   self->inputs * self->count_max * TRIALS * self->element_bytes,
                                   &self->elements, err);
    return status;
}

static void close_own(checking *self) {
    rdt_kernel_unload(self->kernel);
    rdt_buffer_destroy(&self->questions);
    rdt_buffer_destroy(&self->answers);
    rdt_buffer_destroy(&self->elements);
    rdt_stream_destroy(self->driver, self->stream);
}

redtune_status rdt_own_check(const rdt_context *context, const redtune_problem *problem,
                             const rdt_maker *maker, redtune_error *err) {
    const rdt_own_op *file = rdt_user_ops_find(problem->op);
    if (!file || rdt_user_ops_is_checked(problem->op, problem->dtype, problem->result))
        return REDTUNE_OK;
    checking self = {
        .driver = context->driver,
        .problem = problem,
        .op = rdt_op_find(problem->op),
        .file = file,
        .element_bytes = redtune_dtype_bytes(problem->dtype),
    };
    self.inputs = (size_t)self.op->inputs;
    self.outputs = (size_t)self.op->outputs;
    redtune_status status = make_algebra(&self, maker, (rdt_case){problem, &context->facts}, err);
    if (!status) status = open_own(&self, err);
    if (!status) status = check_laws(&self, err);
    for (size_t i = 0; !status && i < file->example_count; i++)
        status = check_example(&self, i, err);
    close_own(&self);
    if (!status) rdt_user_ops_set_checked(problem->op, problem->dtype, problem->result);
    return status;
}
