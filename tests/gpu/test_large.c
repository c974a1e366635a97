/* Facts about plans on a GPU under load: more than 2^31 elements and 4 GiB, and the same bits in
 * every run while the GPU does something else, too. */
#include <inttypes.h>
#include "check.h"
#include "exact.h"
#include "gpu/stream.h"
#include "model/scalar.h"
#include "redtune/list.h"
#include "shaped.h"
#include "simulator.h"
#include "subject.h"
#include "tuner/measure/test_data.h"

static redtune_error err;
static device gpu;

static void *pointer(CUdeviceptr address) { return (void *)(uintptr_t)address; }

static redtune_status open_usual(redtune **rt) {
    const redtune_options options = {.device = getenv("REDTUNE_TEST_DEVICE"),
                                     .database = "/nowhere/at/all.db"};
    return redtune_open(&options, rt, &err);
}

/* ---- large inputs ---------------------------------------------------------------------------- */

static const uint64_t large_count = (UINT64_C(1) << 31) + 3;

/* A large buffer with a pattern in it. */
typedef struct large {
    redtune *rt;
    rdt_test_data *data;
    exact *exact;
    rdt_buffer input, output;
} large;

static redtune_status run(const large *self, uint64_t offset, uint64_t count,
                          redtune_value *value) {
    redtune_plan *plan = NULL;
    redtune_problem problem = self->data->problem;
    RESHAPE(&problem, count, count);
    CUdeviceptr from = self->input.address + offset * redtune_dtype_bytes(problem.dtype);
    *value = (redtune_value){.u64 = 0};
    redtune_status status = redtune_plan_create(self->rt, &problem, &plan, &err);
    if (!status)
        status = redtune_plan_reduce(plan, pointer(from), count, pointer(self->output.address),
                                     gpu.stream, &err);
    if (!status)
        status = rdt_buffer_read(gpu.driver, value, self->output.address,
                                 redtune_dtype_bytes(problem.result), gpu.stream, &err);
    redtune_plan_destroy(plan);
    return status;
}

static void check_equal(const large *self, uint64_t count, const redtune_value *got,
                        const redtune_value *wanted, const char *how) {
    const redtune_problem *problem = &self->data->problem;
    rdt_text text = {0};
    rdt_scalar_print(problem->result, got, &text);
    rdt_text_add(&text, " and should be ");
    rdt_scalar_print(problem->result, wanted, &text);
    check_that(rdt_scalar_same(problem->result, got, wanted), __FILE__, __LINE__,
               "%s of %" PRIu64 " %s, %s, is %s", redtune_op_name(problem->op), count,
               redtune_dtype_name(problem->dtype), how, text.data);
    rdt_text_free(&text);
}

/* Deciders on both sides of every place where an index or an offset of 32 bits would wrap. */
static void check_planted(const large *self, uint64_t count) {
    size_t element = redtune_dtype_bytes(self->data->problem.dtype);
    const uint64_t wrap = (UINT64_C(1) << 32) / element, half = wrap / 2;
    const uint64_t places[] = {0,        half - 1, half,     wrap - 1,  wrap,
                               wrap + 1, 2 * wrap, 3 * wrap, count - 2, count - 1};
    redtune_value decider = rdt_test_data_decider(&self->data->problem), got, before;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        CUdeviceptr place = self->input.address + places[i] * element;
        if (places[i] >= count) continue;
        redtune_value wanted = exact_planted(self->exact, 0, count, places[i]);
        CHECK_OK(rdt_buffer_read(gpu.driver, &before, place, element, gpu.stream, &err), err);
        CHECK_OK(rdt_buffer_write(gpu.driver, place, &decider, element, gpu.stream, &err), err);
        CHECK_OK(run(self, 0, count, &got), err);
        CHECK_OK(rdt_buffer_write(gpu.driver, place, &before, element, gpu.stream, &err), err);
        check_equal(self, count, &got, &wanted, "one of them deciding");
    }
}

/* With room for that many bytes of results. */
static void open_large(large *self, const redtune_problem *problem, size_t bytes) {
    const uint64_t count = shaped_of(problem).count;
    const size_t element = redtune_dtype_bytes(problem->dtype);
    CHECK_OK(rdt_test_data_create(problem, count, &self->data, &err), err);
    CHECK_OK(exact_open(self->data, &self->exact, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, count * element, &self->input, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &self->output, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, self->input.address, self->data->elements,
                              self->data->period * element, gpu.stream, &err),
             err);
    CHECK_OK(rdt_buffer_repeat(gpu.driver, self->input.address, self->data->period * element,
                               count * element, gpu.stream, &err),
             err);
}

static void close_large(large *self) {
    rdt_buffer_destroy(&self->output);
    rdt_buffer_destroy(&self->input);
    exact_close(self->exact);
    rdt_test_data_destroy(self->data);
}

static void check_large(redtune *rt, redtune_op op, redtune_dtype dtype) {
    const uint64_t count = large_count;
    large self = {.rt = rt};
    redtune_problem problem = redtune_problem_whole(op, dtype, count);
    redtune_value got;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    open_large(&self, &problem, sizeof(redtune_value));
    for (uint64_t offset = 0; offset < 2; offset++) {
        redtune_value wanted = exact_value(self.exact, offset, count - offset);
        CHECK_OK(run(&self, offset, count - offset, &got), err);
        check_equal(&self, count - offset, &got, &wanted, offset ? "unaligned" : "aligned");
    }
    if (rdt_test_data_hides(&problem)) check_planted(&self, count);
    close_large(&self);
}

FACT(counts_beyond_32_bits_are_right) {
    static const redtune_dtype dtypes[] = {REDTUNE_U8,  REDTUNE_I8,  REDTUNE_F16, REDTUNE_I32,
                                           REDTUNE_F32, REDTUNE_I64, REDTUNE_F64};
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MAX, REDTUNE_ARGMIN, REDTUNE_NONZEROS,
                                     REDTUNE_MEAN};
    const uint64_t room = UINT64_C(40) << 30;
    redtune *rt = NULL;
    if (device_is_simulated(&gpu) || gpu.context->facts.memory_bytes < room)
        SKIP("it takes a GPU with 40 GiB");
    CHECK_OK(open_usual(&rt), err);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (size_t j = 0; j < sizeof dtypes / sizeof *dtypes; j++)
            check_large(rt, ops[i], dtypes[j]);
    redtune_close(rt);
}

/* ---- large segments -------------------------------------------------------------------------- */

enum { SEGMENTS = 300, LARGEST = 100 };

/* Short segments, and among them one of more elements than 32 bits count. */
static void set_offsets(uint64_t *offset) {
    offset[0] = 3;
    for (uint64_t i = 0; i < SEGMENTS; i++)
        offset[i + 1] = offset[i] + (i == LARGEST ? (UINT64_C(1) << 32) + 77 : i * 7 % 50);
}

static void check_segments(const large *self, const char *config, uint64_t greatest,
                           const uint64_t *offset) {
    redtune_problem problem = self->data->problem;
    redtune_plan *plan = NULL;
    const size_t bytes = redtune_dtype_bytes(problem.result);
    static unsigned char got[SEGMENTS * sizeof(uint64_t)];
    const CUdeviceptr offsets = self->output.address + sizeof got;
    RESHAPE(&problem, outer, SEGMENTS);
    RESHAPE(&problem, count, (offset[SEGMENTS] - offset[0]) / SEGMENTS);
    problem.greatest = greatest;
    problem.segmented = REDTUNE_SEGMENTED_EACH;
    problem.config = config;
    const redtune_segments segments = {.d_in = pointer(self->input.address),
                                       .count = SEGMENTS,
                                       .d_begin = pointer(offsets),
                                       .offset_bytes = 8,
                                       .d_out = {pointer(self->output.address)}};
    CHECK_OK(redtune_plan_create(self->rt, &problem, &plan, &err), err);
    CHECK_OK(redtune_plan_run_segments(plan, &segments, gpu.stream, &err), err);
    CHECK_OK(
        rdt_buffer_read(gpu.driver, got, self->output.address, SEGMENTS * bytes, gpu.stream, &err),
        err);
    for (uint64_t i = 0; i < SEGMENTS; i++) {
        redtune_value value = {0};
        const uint64_t count = offset[i + 1] - offset[i];
        const redtune_value wanted = exact_value(self->exact, offset[i], count);
        memcpy(&value, got + i * bytes, bytes);
        check_equal(self, count, &value, &wanted, config);
    }
    redtune_plan_destroy(plan);
}

FACT(segments_beyond_32_bits_are_right) {
    static const char *const configs[] = {
        "tiled:block=128,vec=16,unroll=4,resident=8",
        "grouped:block=128,lanes=8,vec=16,unroll=4,resident=8",
        "ragged:block=128,vec=16,unroll=2,resident=4,unit=tiles",
        "ragged:block=128,vec=16,unroll=2,resident=4,unit=segments",
        "ragged:block=128,vec=16,unroll=2,resident=4,unit=long",
    };
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_ARGMIN};
    const uint64_t room = UINT64_C(8) << 30;
    uint64_t offset[SEGMENTS + 1];
    if (device_is_simulated(&gpu) || gpu.context->facts.memory_bytes < room)
        SKIP("it takes a GPU with 8 GiB");
    set_offsets(offset);
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        large self = {0};
        redtune_problem problem = redtune_problem_whole(ops[k], REDTUNE_I8, offset[SEGMENTS]);
        CHECK_OK(open_usual(&self.rt), err);
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        open_large(&self, &problem, (SEGMENTS * 2 + 1) * sizeof(uint64_t));
        CHECK_OK(rdt_buffer_write(gpu.driver, self.output.address + SEGMENTS * sizeof(uint64_t),
                                  offset, sizeof offset, gpu.stream, &err),
                 err);
        for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
            check_segments(&self, configs[i], 0, offset);
            /* One that nobody helps with. */
            check_segments(&self, configs[i], shaped_of(&problem).count / SEGMENTS, offset);
        }
        close_large(&self);
        redtune_close(self.rt);
    }
}

/* "tiled" counts in 32 bits where a warp's 128 segments lie, unless they lie too far apart. Here
 * those of the second warp do, and all of them are 2^32 elements and fewer than the first warp has.
 */
enum { FIRST_FAR = 200, SECOND_FAR = 220, FAR_ONES = 50 * SEGMENTS };

static uint64_t far_length(uint64_t i) {
    return i == FIRST_FAR || i == SECOND_FAR ? (UINT64_C(1) << 31) - 2400 : i * 7 % 50;
}

/* Zeros, which take no memory of the host's where nothing is written, but for ones in the short
 * segments and at both ends of the long ones. */
static void write_ones(const rdt_buffer *to, const uint64_t *offset) {
    static unsigned char ones[FAR_ONES];
    const uint64_t runs[][2] = {{0, offset[FIRST_FAR] + 1},
                                {offset[FIRST_FAR + 1] - 1, offset[SECOND_FAR] + 1},
                                {offset[SECOND_FAR + 1] - 1, offset[SEGMENTS]}};
    memset(ones, 1, sizeof ones);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        CHECK_OK(rdt_buffer_write(gpu.driver, to->address + runs[i][0], ones,
                                  runs[i][1] - runs[i][0], gpu.stream, &err),
                 err);
}

static void run_far(redtune *rt, const uint64_t *offset, size_t bytes) {
    const redtune_problem problem = PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_U8, .count = 25,
                                            .outer = SEGMENTS, .segmented = REDTUNE_SEGMENTED_EACH,
                                            .config = "tiled:block=128,vec=16,unroll=4,resident=8");
    static uint64_t sums[SEGMENTS];
    redtune_plan *plan = NULL;
    rdt_buffer input = {0}, table = {0};
    CHECK_OK(rdt_buffer_create(gpu.driver, offset[SEGMENTS], &input, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes + sizeof sums, &table, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, table.address, offset, bytes, gpu.stream, &err), err);
    write_ones(&input, offset);
    const redtune_segments segments = {.d_in = pointer(input.address),
                                       .count = SEGMENTS,
                                       .d_begin = pointer(table.address),
                                       .d_out = {pointer(table.address + bytes)}};
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_OK(redtune_plan_run_segments(plan, &segments, gpu.stream, &err), err);
    CHECK_OK(
        rdt_buffer_read(gpu.driver, sums, table.address + bytes, sizeof sums, gpu.stream, &err),
        err);
    for (uint64_t i = 0; i < SEGMENTS; i++) {
        const uint64_t length = far_length(i);
        CHECK_INT(sums[i], length < 50 ? length : 2);
    }
    redtune_plan_destroy(plan);
    rdt_buffer_destroy(&table);
    rdt_buffer_destroy(&input);
}

FACT(segments_of_a_warp_may_lie_far_apart) {
    static uint64_t offset[SEGMENTS + 1];
    redtune *rt = NULL;
    simulator sim;
    if (!gpu.context || !simulator_find(&sim)) SKIP("there is no simulated GPU");
    offset[0] = 3;
    for (uint64_t i = 0; i < SEGMENTS; i++) offset[i + 1] = offset[i] + far_length(i);
    CHECK(sim.set("REDTUNE_SIM_CHECKS", "none") && sim.set("REDTUNE_SIM_MEMORY", "5G") &&
          sim.set("REDTUNE_SIM_LIMIT", "8000000000"));
    CHECK_OK(open_usual(&rt), err);
    run_far(rt, offset, sizeof offset);
    redtune_close(rt);
    CHECK(sim.set("REDTUNE_SIM_CHECKS", NULL) && sim.set("REDTUNE_SIM_MEMORY", NULL) &&
          sim.set("REDTUNE_SIM_LIMIT", NULL));
}

/* ---- the same bits --------------------------------------------------------------------------- */

enum { RUNS = 1000, RUN_COUNT = 50001, BUSY_BYTES = 32 << 20, BUSY_CALLS = 20 };

/* Numbers whose sum depends on the order. */
static redtune_status fill_harmonic(rdt_buffer *input) {
    static float elements[RUN_COUNT];
    for (int i = 0; i < RUN_COUNT; i++) elements[i] = (i % 3 ? 1.0f : -1.0f) / (float)(i + 1);
    redtune_status status = rdt_buffer_create(gpu.driver, sizeof elements, input, &err);
    return status ? status
                  : rdt_buffer_write(gpu.driver, input->address, elements, sizeof elements,
                                     gpu.stream, &err);
}

/* Other work for the GPU, on a stream of its own. */
typedef struct noise {
    rdt_buffer buffer;
    CUstream stream;
} noise;

static redtune_status open_noise(noise *out) {
    redtune_status status = rdt_buffer_create(gpu.driver, BUSY_BYTES, &out->buffer, &err);
    if (!status) status = rdt_stream_create(gpu.driver, &out->stream, &err);
    if (status) return status;
    CUresult rc = gpu.driver->memset_d8_async(out->buffer.address, 0, BUSY_BYTES, out->stream);
    return rdt_driver_check(gpu.driver, rc, &err, "clear a buffer");
}

static redtune_status make_noise(const noise *self) {
    size_t half = BUSY_BYTES / 2;
    CUresult rc = gpu.driver->memcpy_dtod_async(self->buffer.address, self->buffer.address + half,
                                                half, self->stream);
    return rdt_driver_check(gpu.driver, rc, &err, "keep the GPU busy");
}

static void close_noise(noise *self) {
    if (self->stream) gpu.driver->stream_synchronize(self->stream);
    rdt_stream_destroy(gpu.driver, self->stream);
    rdt_buffer_destroy(&self->buffer);
}

/* One plan, its calls on one stream, while the same plan and copies run on another. */
FACT(runs_of_one_plan_give_the_same_bits) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    rdt_buffer input = {0}, output = {0};
    noise busy = {{0}, NULL};
    static float values[RUNS];
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, RUN_COUNT);
    const bool simulated = device_is_simulated(&gpu);
    const size_t runs = simulated ? 30 : RUNS;
    const uint64_t noise_count = simulated ? 65536 : BUSY_BYTES / sizeof(float);
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(fill_harmonic(&input), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof values + 16, &output, &err), err);
    CHECK_OK(open_noise(&busy), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    for (size_t i = 0; i < runs; i++) {
        if (i % BUSY_CALLS == 0) {
            CHECK_OK(make_noise(&busy), err);
            CHECK_OK(redtune_plan_reduce(plan, pointer(busy.buffer.address), noise_count,
                                         pointer(output.address + sizeof values), busy.stream,
                                         &err),
                     err);
        }
        CHECK_OK(redtune_plan_reduce(plan, pointer(input.address), RUN_COUNT,
                                     pointer(output.address + i * sizeof(float)), gpu.stream, &err),
                 err);
    }
    CHECK_OK(rdt_buffer_read(gpu.driver, values, output.address, sizeof values, gpu.stream, &err),
             err);
    for (size_t i = 1; i < runs; i++) CHECK(!memcmp(&values[i], &values[0], sizeof *values));
    redtune_plan_destroy(plan);
    close_noise(&busy);
    rdt_buffer_destroy(&output);
    rdt_buffer_destroy(&input);
    redtune_close(rt);
}

static void check_runs(subject *self) {
    static redtune_value results[SUBJECT_RESULTS];
    rdt_buffer input = {0};
    noise busy = {{0}, NULL};
    const size_t runs = device_is_simulated(&gpu) ? 5 : RUNS;
    CHECK_OK(fill_harmonic(&input), err);
    CHECK_OK(open_noise(&busy), err);
    for (size_t i = 0; i < runs; i++) {
        if (i % BUSY_CALLS == 0) CHECK_OK(make_noise(&busy), err);
        CHECK_OK(subject_queue(self, input.address, RUN_COUNT, &err), err);
    }
    CHECK_OK(subject_read(self, results, &err), err);
    for (size_t i = 1; i < runs; i++)
        if (!subject_same(self, RUN_COUNT, &results[i], &results[0], "in run %zu", i)) break;
    close_noise(&busy);
    rdt_buffer_destroy(&input);
}

FACT(every_kernel_of_a_float_sum_gives_the_same_bits) {
    workshop shop;
    cover_point *points = NULL;
    size_t count = 0;
    CHECK_OK(workshop_open(&gpu, &shop, &err), err);
    const cover_set set = {.scope = COVER_KERNELS, .op_count = RDT_REFERENCE_OPS};
    CHECK_OK(cover_pairs(shop.codegen, &gpu.context->facts, &set, &points, &count, &err), err);
    redtune_problem problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = RUN_COUNT);
    size_t tried = 0;
    for (size_t i = 0; i < count && !check_state.failed; i++) {
        subject self;
        redtune_error refusal;
        rdt_case at = {&problem, &gpu.context->facts};
        if (rdt_rules_check(shop.codegen, at, &points[i].point, &refusal)) continue;
        CHECK_OK(subject_open(&shop, &problem, &points[i].point, &self, &err), err);
        check_runs(&self);
        subject_close(&self);
        tried++;
    }
    printf("%s: %zu kernels\n", check_state.fact, tried);
    free(points);
    workshop_close(&shop);
}

int main(int argc, char **argv) { return subject_run(&gpu, NULL, argc, argv); }
