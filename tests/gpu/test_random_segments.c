/* Random segments, by the functions of redtune/list.h, held against the host's results: every op of
 * one input, dtype and result, each segment's and of all, tables of each form, width and kind,
 * arrays of their own, parameters, results that go on, captures whose tables change, workspaces,
 * and other reductions on the same stream in between.
 *
 * Each case is drawn from its number: RDT_TEST_CASE runs one alone. RDT_TEST_CASES says how many
 * there are, RDT_TEST_EACH how many of a kernel, RDT_TEST_SECONDS for how long they run at most,
 * and RDT_TEST_PART which part does. */
#include "check.h"
#include "gpu/graph.h"
#include "redtune/list.h"
#include "segment_results.h"
#include "shaped.h"
#include "simulator.h"
#include "subject.h"

enum {
    PROBLEMS_MAX = RDT_OPS_MAX * REDTUNE_DTYPE_END * REDTUNE_DTYPE_END,
    GUARD_BYTES = 64,
    POISON = 0xa5,
    RESULT_BYTES_MAX = 8,
    BESIDE = 5000
};

static redtune_error err;
static device gpu;
static redtune *rt;
static redtune_workspace *workspace;
static redtune_problem problems[PROBLEMS_MAX];
static size_t problem_count;
static rdt_buffer beside, beside_sum; /* of the reductions in between */

/* ---- one case -------------------------------------------------------------------------------- */

typedef struct output {
    rdt_buffer buffer;
    size_t first, bytes; /* where results begin, and of one */
} output;

/* Where elements are: in d_in; in arrays, from where segments begin; or in arrays from before. */
typedef enum arrays_form { ONE_BUFFER, ARRAYS, ARRAYS_FROM, FORMS } arrays_form;

typedef struct job {
    uint64_t number;
    redtune_problem problem; /* resolved */
    const rdt_op_traits *op;
    redtune_plan *plan; /* NULL: through the table of plans */
    size_t element_bytes;
    rdt_buffer input, begin, end, scalars;
    size_t input_first, begin_first, end_first;
    output output[2][RDT_OP_OUTPUTS_MAX]; /* of two calls */
    double parameter[RDT_OP_PARAMETERS_MAX];
    bool on_device; /* the parameters */
    bool own_workspace;
    arrays_form form;
    rdt_buffer arrays;
    const unsigned char *before; /* elements of the call that this one goes on from; or NULL */
} job;

static uint64_t results_made(const job *self) {
    return self->problem.segmented == REDTUNE_SEGMENTED_ALL ? 1 : drawn.count;
}

static const char *text_of(const job *self) {
    static char text[256];
    snprintf(text, sizeof text,
             "case %llu: %s of %s into %s, %s of %llu segments, %llu elements from %llu on, "
             "%d-byte offsets, %s, style %d, form %d, %s",
             (unsigned long long)self->number, redtune_op_name(self->problem.op),
             redtune_dtype_name(self->problem.dtype), redtune_dtype_name(self->problem.result),
             draws_kind_name(), (unsigned long long)drawn.count, (unsigned long long)drawn.elements,
             (unsigned long long)drawn.shift, (int)drawn.wide,
             drawn.one ? "one table" : "two tables", (int)drawn.style, (int)self->form,
             self->problem.segmented == REDTUNE_SEGMENTED_ALL ? "all" : "each");
    return text;
}

#define CASE_OK(call)                                                                              \
    do {                                                                                           \
        const redtune_status status_ = (call);                                                     \
        if (!check_that(!status_, __FILE__, __LINE__, "%s: %s failed: %s: %s", text_of(self),      \
                        #call, redtune_status_name(status_), err.message))                         \
            return;                                                                                \
    } while (0)

/* Of exactly what it has to hold, at its beginning or at its end. */
static redtune_status make_buffer(size_t bytes, size_t unit, rdt_buffer *out, size_t *first) {
    const size_t room = draw(4) * unit;
    *first = draw(2) ? room : 0;
    return rdt_buffer_create(gpu.driver, bytes + (*first ? room : 0) + !bytes, out, &err);
}

static CUdeviceptr first_of(const job *self) {
    return self->input.address + self->input_first - drawn.shift * self->element_bytes;
}

/* Has segment i in an array of its own that begins at its first element, or anywhere before. */
static uint64_t put_array(const job *self, uint64_t i, int64_t *begin, int64_t *end) {
    const int64_t shift = (int64_t)drawn.shift, least = *begin < *end ? *begin : *end;
    int64_t skipped =
        self->form == ARRAYS ? *begin + shift : (int64_t)draw((uint64_t)(least + shift) + 1);
    if (self->form == ARRAYS && !draws_length(i)) skipped = 0;
    *end = self->form == ARRAYS ? (int64_t)draws_length(i) - shift : *end - skipped;
    *begin -= skipped;
    return first_of(self) + (uint64_t)skipped * self->element_bytes;
}

static redtune_status write_tables(const job *self) {
    static unsigned char table[2][(DRAWS_SEGMENTS + 1) * 8];
    static int64_t begin[DRAWS_SEGMENTS + 1], end[DRAWS_SEGMENTS];
    static uint64_t arrays[DRAWS_SEGMENTS];
    memcpy(begin, drawn.begin, sizeof begin);
    memcpy(end, drawn.end, sizeof end);
    for (uint64_t i = 0; self->form && i < drawn.count; i++)
        arrays[i] = put_array(self, i, &begin[i], &end[i]);
    const size_t begin_bytes = draws_store(begin, drawn.count + drawn.one, table[0]);
    const size_t end_bytes = draws_store(end, drawn.one ? 0 : drawn.count, table[1]);
    redtune_status status = rdt_buffer_write(gpu.driver, self->begin.address + self->begin_first,
                                             table[0], begin_bytes, gpu.stream, &err);
    if (!status)
        status = rdt_buffer_write(gpu.driver, self->end.address + self->end_first, table[1],
                                  end_bytes, gpu.stream, &err);
    if (!status && self->form)
        status = rdt_buffer_write(gpu.driver, self->arrays.address, arrays,
                                  drawn.count * sizeof *arrays, gpu.stream, &err);
    return status;
}

static redtune_status write_input(const job *self) {
    return rdt_buffer_write(gpu.driver, self->input.address + self->input_first, drawn.element,
                            drawn.elements * self->element_bytes, gpu.stream, &err);
}

static void make_buffers(job *self) {
    CASE_OK(make_buffer(drawn.elements * self->element_bytes, self->element_bytes, &self->input,
                        &self->input_first));
    CASE_OK(make_buffer((drawn.count + drawn.one) * drawn.wide, drawn.wide, &self->begin,
                        &self->begin_first));
    CASE_OK(make_buffer(drawn.count * drawn.wide, drawn.wide, &self->end, &self->end_first));
    CASE_OK(rdt_buffer_create(gpu.driver, 8 * drawn.count + 8, &self->arrays, &err));
    CASE_OK(rdt_buffer_create(gpu.driver, sizeof self->parameter, &self->scalars, &err));
    CASE_OK(rdt_buffer_write(gpu.driver, self->scalars.address, self->parameter,
                             sizeof self->parameter, gpu.stream, &err));
    for (int call = 0; call < 2; call++)
        for (int i = 0; i < self->op->outputs; i++) {
            output *to = &self->output[call][i];
            to->bytes =
                redtune_dtype_bytes(i ? rdt_problem_second(&self->problem) : self->problem.result);
            to->first = GUARD_BYTES + draw(4) * to->bytes;
            CASE_OK(rdt_buffer_create(gpu.driver,
                                      to->first + results_made(self) * to->bytes + GUARD_BYTES,
                                      &to->buffer, &err));
        }
}

static void destroy_buffers(job *self) {
    rdt_buffer_destroy(&self->input);
    rdt_buffer_destroy(&self->arrays);
    rdt_buffer_destroy(&self->begin);
    rdt_buffer_destroy(&self->end);
    rdt_buffer_destroy(&self->scalars);
    for (int call = 0; call < 2; call++)
        for (int i = 0; i < self->op->outputs; i++)
            rdt_buffer_destroy(&self->output[call][i].buffer);
}

static void poison_outputs(const job *self) {
    for (int call = 0; call < 2; call++)
        for (int i = 0; i < self->op->outputs; i++)
            gpu.driver->memset_d8_async(self->output[call][i].buffer.address, POISON,
                                        self->output[call][i].buffer.bytes, gpu.stream);
}

static void *pointer(CUdeviceptr address) { return (void *)(uintptr_t)address; }

static redtune_segments segments_of(const job *self, int call) {
    redtune_segments segments = {
        .d_in =
            pointer(self->input.address + self->input_first - drawn.shift * self->element_bytes),
        .count = drawn.count,
        .d_begin = pointer(self->begin.address + self->begin_first),
        .d_end = drawn.one ? NULL : pointer(self->end.address + self->end_first),
        .offset_bytes = drawn.wide == 8 && drawn.count % 2 ? 0 : drawn.wide,
        .workspace = self->own_workspace ? workspace : NULL,
    };
    if (self->form) {
        segments.d_in = NULL;
        segments.d_arrays = pointer(self->arrays.address);
        if (self->form == ARRAYS) segments.d_begin = NULL;
    }
    if (self->op->parameters && self->on_device)
        segments.d_parameters = pointer(self->scalars.address);
    else if (self->op->parameters)
        segments.parameters = self->parameter;
    for (int i = 0; i < self->op->outputs; i++)
        segments.d_out[i] =
            pointer(self->output[call][i].buffer.address + self->output[call][i].first);
    return segments;
}

static redtune_status run(const job *self, const redtune_segments *segments) {
    if (self->plan) return redtune_plan_run_segments(self->plan, segments, gpu.stream, &err);
    return redtune_run_segments(rt, &self->problem, segments, gpu.stream, &err);
}

/* ---- what is right --------------------------------------------------------------------------- */

/* Adds segment i of these elements. */
static void add_segment(const job *self, const unsigned char *from, uint64_t i, unsigned char *to,
                        uint64_t *count) {
    const size_t bytes = self->element_bytes, length = draws_length(i);
    if (length) memcpy(to + *count * bytes, from + (size_t)drawn.begin[i] * bytes, length * bytes);
    *count += length;
}

/* The elements of result i; where results go on, those before them come first. */
static const void *elements_of(const job *self, uint64_t i, uint64_t *count) {
    static unsigned char all[2 * DRAWS_WORK * 8];
    const bool each = self->problem.segmented == REDTUNE_SEGMENTED_EACH;
    *count = 0;
    for (int old = self->before != NULL; old >= 0; old--)
        for (uint64_t k = each ? i : 0; k < (each ? i + 1 : drawn.count); k++)
            add_segment(self, old ? self->before : drawn.element, k, all, count);
    return all;
}

static void check_segment(const job *self, int which, uint64_t i, const redtune_value *got) {
    uint64_t count;
    redtune_value wanted;
    char texts[2][64];
    const redtune_problem *problem = &self->problem;
    results_input in = {.x = elements_of(self, i, &count), .parameters = self->parameter};
    in.count = count;
    if (segment_agrees(problem, &in, which, self->before, got, &wanted)) return;
    describe_value(result_of(problem, which), got, texts[0]);
    describe_value(result_of(problem, which), &wanted, texts[1]);
    check_that(false, __FILE__, __LINE__,
               "%s: result %d of segment %llu, %llu elements from %lld on, is %s, not %s",
               text_of(self), which, (unsigned long long)i, (unsigned long long)count,
               (long long)drawn.begin[i], texts[0], texts[1]);
}

/* What lies around the results is as it was. */
static void check_outputs(const job *self, int call) {
    static unsigned char got[3 * GUARD_BYTES + DRAWS_SEGMENTS * RESULT_BYTES_MAX];
    for (int which = 0; which < self->op->outputs; which++) {
        const output *at = &self->output[call][which];
        const size_t end = at->first + results_made(self) * at->bytes;
        CASE_OK(rdt_buffer_read(gpu.driver, got, at->buffer.address, at->buffer.bytes, gpu.stream,
                                &err));
        for (size_t i = 0; i < at->buffer.bytes; i++)
            if ((i < at->first || i >= end) &&
                !check_that(got[i] == POISON, __FILE__, __LINE__, "%s: writes %d from its end",
                            text_of(self), (int)i - (int)end))
                return;
        for (uint64_t i = 0; i < results_made(self) && !check_state.failed; i++) {
            redtune_value value = {.u64 = 0};
            memcpy(value.bytes, got + at->first + i * at->bytes, at->bytes);
            check_segment(self, which, i, &value);
        }
    }
}

static void check_same_bits(const job *self) {
    static unsigned char got[2][(DRAWS_SEGMENTS + 1) * RESULT_BYTES_MAX];
    for (int which = 0; which < self->op->outputs; which++) {
        const size_t bytes = results_made(self) * self->output[0][which].bytes;
        for (int call = 0; call < 2; call++) {
            const output *at = &self->output[call][which];
            CASE_OK(rdt_buffer_read(gpu.driver, got[call], at->buffer.address + at->first, bytes,
                                    gpu.stream, &err));
        }
        check_that(!memcmp(got[0], got[1], bytes), __FILE__, __LINE__, "%s: other bits again",
                   text_of(self));
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* A reduction of another kind on the same stream finds its scratch clean. */
static void check_beside(const job *self) {
    const redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_U8, BESIDE);
    const redtune_operands operands = {.d_in = {pointer(beside.address)},
                                       .d_out = {pointer(beside_sum.address)},
                                       .workspace = self->own_workspace ? workspace : NULL};
    uint64_t sum = 0;
    CASE_OK(redtune_run(rt, &problem, &operands, gpu.stream, &err));
    CASE_OK(rdt_buffer_read(gpu.driver, &sum, beside_sum.address, sizeof sum, gpu.stream, &err));
    check_that(sum == (uint64_t)BESIDE * POISON, __FILE__, __LINE__,
               "%s: a sum on the same stream is %llu then", text_of(self), (unsigned long long)sum);
}

/* Once more into other memory, which gives the same bits. */
static void run_twice(job *self) {
    redtune_segments first = segments_of(self, 0), second = segments_of(self, 1);
    if (!draws_work() && draw(2)) first.d_in = NULL;
    poison_outputs(self);
    CASE_OK(run(self, &first));
    if (draw(2)) check_beside(self);
    CASE_OK(run(self, &second));
    check_outputs(self, 0);
    if (!check_state.failed) check_outputs(self, 1);
    if (!check_state.failed) check_same_bits(self);
}

static void run_on(job *self) {
    static unsigned char before[sizeof drawn.element];
    redtune_segments segments = segments_of(self, 0);
    poison_outputs(self);
    CASE_OK(run(self, &segments));
    check_outputs(self, 0);
    memcpy(before, drawn.element, drawn.elements * self->element_bytes);
    draw_elements(&self->problem);
    CASE_OK(write_input(self));
    segments.accumulate = 1;
    CASE_OK(run(self, &segments));
    self->before = before;
    if (!check_state.failed) check_outputs(self, 0);
    self->before = NULL;
}

/* Both calls are captured; what they read changes. */
static void run_captured(job *self) {
    rdt_graph *graph = NULL;
    const redtune_segments alike = segments_of(self, 0);
    /* A plan makes the kernel for such tables at the first run, which may not be captured. */
    CASE_OK(self->plan ? run(self, &alike) : redtune_prepare(rt, &self->problem, 1, &err));
    CASE_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err));
    for (int call = 0; call < 2; call++) {
        const redtune_segments segments = segments_of(self, call);
        CASE_OK(run(self, &segments));
    }
    CASE_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err));
    for (int replay = 0; replay < 3 && !check_state.failed; replay++) {
        if (replay) draw_tables();
        draw_elements(&self->problem);
        CASE_OK(write_input(self));
        CASE_OK(write_tables(self));
        poison_outputs(self);
        CASE_OK(rdt_graph_replay(graph, gpu.stream, &err));
        check_outputs(self, 0);
        if (!check_state.failed) check_same_bits(self);
    }
    rdt_graph_destroy(graph);
}

static void draw_call(job *self) {
    static const double powers[] = {0.5, 1, 2, 3};
    for (int i = 0; i < self->op->parameters; i++)
        self->parameter[i] = self->problem.op == REDTUNE_NORMP ? powers[draw(4)] : (double)draw(3);
    if (draw(2))
        self->problem.segmented = REDTUNE_SEGMENTED_ALL;
    else if (draw(2)) /* with giants of few elements */
        self->problem.config =
            draw(2) ? "grouped:block=64,lanes=8,unroll=1" : "tiled:block=64,vec=1,unroll=1";
    /* Many are given to groups of threads by default, and those of some forms not. */
    if (drawn.count && draw(2)) RESHAPE(&self->problem, outer, drawn.count);
    if (!drawn.one) self->form = (arrays_form)draw(FORMS);
    self->on_device = draw(2);
    self->own_workspace = draw(2);
}

static void run_case(uint64_t number, const redtune_problem *problem) {
    job it = {.number = number, .problem = *problem, .op = rdt_op_find(problem->op)}, *self = &it;
    draws_begin(number);
    draw_sizes(device_is_simulated(&gpu));
    draw_call(self);
    draw_tables();
    draw_elements(problem);
    self->element_bytes = redtune_dtype_bytes(problem->dtype);
    const bool goes_on = self->op->resumes && !draw(4);
    if (goes_on) self->problem.uses = REDTUNE_USE_ACCUMULATE;
    if (self->problem.config || !draw(8))
        CASE_OK(redtune_plan_create(rt, &self->problem, &self->plan, &err));
    make_buffers(self);
    if (!check_state.failed) CASE_OK(write_input(self));
    if (!check_state.failed) CASE_OK(write_tables(self));
    if (check_state.failed) return;
    if (goes_on)
        run_on(self);
    else if (!draw(4))
        run_captured(self);
    else
        run_twice(self);
    if (!check_state.failed) check_beside(self);
    destroy_buffers(self);
    redtune_plan_destroy(self->plan);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void find_problems(void) {
    for (int k = 0; k < rdt_op_compiled_in.count; k++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
            for (int result = REDTUNE_DTYPE_NONE + 1; result < REDTUNE_DTYPE_END; result++) {
                const redtune_problem problem =
                    PROBLEM(.op = rdt_op_compiled_in.entry[k].op, .dtype = dtype->dtype,
                            .result = (redtune_dtype)result, .count = 100,
                            .segmented = REDTUNE_SEGMENTED_EACH);
                if (rdt_op_compiled_in.entry[k].inputs > 1) continue; /* test_grouped.c has these */
                if (!rdt_problem_resolve(&problem, &problems[problem_count], NULL)) problem_count++;
            }
}

static uint64_t number_of(const char *variable, uint64_t usual) {
    const char *value = getenv(variable);
    return value ? strtoull(value, NULL, 10) : usual;
}

FACT(random_segments_are_right) {
    const bool simulated = device_is_simulated(&gpu);
    const uint64_t alone = number_of("RDT_TEST_CASE", UINT64_MAX),
                   each = number_of("RDT_TEST_EACH", simulated ? 2 : 60);
    const uint64_t usual = simulated ? 50 : each * problem_count;
    const uint64_t count = alone == UINT64_MAX ? number_of("RDT_TEST_CASES", usual) : alone + 1;
    uint64_t cases = 0, kernels = 0;
    for (uint64_t i = 0; i < count && !check_state.failed && !subject_is_late(); i++) {
        const uint64_t place = i / each;
        if (alone == UINT64_MAX ? !subject_is_of_part(place) : i != alone) continue;
        run_case(i, &problems[subject_turn(place, problem_count)]);
        kernels += i % each == 0;
        cases++;
    }
    printf("%llu cases\n%s: %llu of %zu kernels\n", (unsigned long long)cases, check_state.fact,
           (unsigned long long)kernels, problem_count);
}

static redtune_status open_all(void) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_workspace_create(rt, NULL, 0, gpu.stream, &workspace, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, BESIDE, &beside, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, sizeof(uint64_t), &beside_sum, &err);
    if (!status) gpu.driver->memset_d8_async(beside.address, POISON, beside.bytes, gpu.stream);
    return status;
}

int main(int argc, char **argv) {
    simulator simulator;
    if (open_all()) fprintf(stderr, "no GPU: %s\n", err.message);
    find_problems();
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    if (gpu.context && simulator_find(&simulator) && simulator.findings()) rc = 1;
    rdt_buffer_destroy(&beside);
    rdt_buffer_destroy(&beside_sum);
    redtune_workspace_destroy(workspace);
    redtune_close(rt);
    device_close(&gpu);
    return rc;
}
