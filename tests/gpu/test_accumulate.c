/* Facts about plans that accumulate: parts of an input, each reduced into an accumulator, combined
 * in any number of steps, are the whole. */
#include <math.h>
#include "api/running/plan.h"
#include "check.h"
#include "device.h"
#include "reference.h"
#include "model/scalar.h"
#include "tuner/measure/test_data.h"

enum { COUNT = 3000, SLOTS = 8, POISON = 0xa5, HEARD_BYTES = 8192 };

static redtune_error err;
static device gpu;
static redtune *rt;

/* A plan with room for an input and accumulators; one slot more holds the result. */
typedef struct accumulation {
    redtune_problem problem;
    redtune_plan *plan;
    rdt_buffer input, slots;
    size_t slot_bytes;
} accumulation;

static CUdeviceptr slot(const accumulation *self, uint32_t index) {
    return self->slots.address + index * self->slot_bytes;
}

static redtune_status open_accumulation(const redtune_problem *problem, const void *elements,
                                        accumulation *out) {
    const size_t bytes = COUNT * redtune_dtype_bytes(problem->dtype);
    accumulation self = {.problem = *problem};
    redtune_status status = rdt_plan_make(rt, problem, RDT_YIELD_ACCUMULATOR, &self.plan, &err);
    if (!status) self.slot_bytes = rdt_plan_executable(self.plan)->launch.slot_bytes;
    const size_t slots_bytes = (SLOTS + 1) * self.slot_bytes;
    if (!status) status = rdt_buffer_create(gpu.driver, bytes, &self.input, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, slots_bytes, &self.slots, &err);
    if (!status)
        status =
            rdt_buffer_write(gpu.driver, self.input.address, elements, bytes, gpu.stream, &err);
    if (!status) gpu.driver->memset_d8_async(self.slots.address, POISON, slots_bytes, gpu.stream);
    *out = self;
    return status;
}

static void close_accumulation(accumulation *self) {
    rdt_buffer_destroy(&self->slots);
    rdt_buffer_destroy(&self->input);
    redtune_plan_destroy(self->plan);
}

static redtune_status combine(const accumulation *self, uint32_t from, uint32_t count,
                              uint64_t first) {
    const rdt_combination what = {.slots = slot(self, from), .slot_count = count, .first = first};
    return rdt_kernel_combine(rdt_plan_executable(self->plan)->kernel, what, gpu.stream, &err);
}

/* The part of so many elements from first on, into a slot and moved to where it stands. */
static redtune_status accumulate(const accumulation *self, uint64_t first, uint64_t count,
                                 uint32_t into) {
    const size_t bytes = redtune_dtype_bytes(self->problem.dtype);
    redtune_status status =
        redtune_plan_reduce(self->plan, (void *)(uintptr_t)(self->input.address + first * bytes),
                            count, (void *)(uintptr_t)slot(self, into), gpu.stream, &err);
    return status ? status : combine(self, into, 1, first);
}

/* The result of the slots from `from` on, over count elements. */
static redtune_status finish(const accumulation *self, uint32_t from, uint32_t slots,
                             uint64_t count, redtune_value *out) {
    const rdt_combination what = {.slots = slot(self, from),
                                  .slot_count = slots,
                                  .count = count,
                                  .output = slot(self, SLOTS)};
    *out = (redtune_value){.u64 = 0};
    redtune_status status =
        rdt_kernel_combine(rdt_plan_executable(self->plan)->kernel, what, gpu.stream, &err);
    return status ? status
                  : rdt_buffer_read(gpu.driver, out, what.output,
                                    redtune_dtype_bytes(self->problem.result), gpu.stream, &err);
}

static void check_value(const accumulation *self, const redtune_value *got,
                        const redtune_value *wanted, const char *what) {
    const redtune_problem *problem = &self->problem;
    check_that(rdt_scalar_same(problem->result, got, wanted), __FILE__, __LINE__,
               "%s of %s into %s: %s", redtune_op_name(problem->op),
               redtune_dtype_name(problem->dtype), redtune_dtype_name(problem->result), what);
}

/* Every op, with dtypes of each size and kind. */
static void for_each_op(void (*fact)(const accumulation *self, const void *elements)) {
    static const redtune_dtype dtypes[] = {REDTUNE_I8,   REDTUNE_U32, REDTUNE_I64,
                                           REDTUNE_BF16, REDTUNE_F32, REDTUNE_F64};
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op < &rdt_op_compiled_in.entry[RDT_REFERENCE_OPS]; op++)
        for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
            redtune_problem problem = redtune_problem_whole(op->op, dtypes[i], COUNT);
            rdt_test_data *data = NULL;
            accumulation self;
            if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
            CHECK_OK(rdt_test_data_create(&problem, COUNT, &data, &err), err);
            CHECK_OK(open_accumulation(&problem, data->elements, &self), err);
            fact(&self, data->elements);
            close_accumulation(&self);
            rdt_test_data_destroy(data);
        }
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void check_parts(const accumulation *self, const void *elements) {
    static const uint64_t begins[] = {0, 1, 700, 701, 702, 2001, 2999, COUNT};
    enum { PARTS = sizeof begins / sizeof *begins - 1 };
    unsigned char behind[RDT_ACCUMULATOR_BYTES], poison[RDT_ACCUMULATOR_BYTES];
    redtune_value got;
    rdt_reference wanted;
    rdt_reference_reduce(&self->problem, elements, COUNT, &wanted);
    /* From behind, so that no slot's place is that of its part. */
    for (uint32_t i = 0; i < PARTS; i++)
        CHECK_OK(accumulate(self, begins[i], begins[i + 1] - begins[i], PARTS - 1 - i), err);
    CHECK_OK(
        rdt_buffer_read(gpu.driver, behind, slot(self, PARTS), sizeof behind, gpu.stream, &err),
        err);
    memset(poison, POISON, sizeof poison);
    CHECK(!memcmp(behind, poison, sizeof poison));
    /* Slots 2 to 6 into 2; 0 to 2 are then the whole. */
    CHECK_OK(combine(self, 2, PARTS - 2, 0), err);
    CHECK_OK(finish(self, 0, 3, COUNT, &got), err);
    check_value(self, &got, &wanted.value, "parts are not the whole");
    /* What was finished is an accumulator all the same. */
    CHECK_OK(finish(self, 0, 1, COUNT, &got), err);
    check_value(self, &got, &wanted.value, "finishing spoils the accumulator");
}

FACT(parts_in_any_order_and_steps_are_the_whole) { for_each_op(check_parts); }

static void check_nothing(const accumulation *self, const void *elements) {
    rdt_reference nothing, wanted;
    redtune_value got;
    rdt_reference_reduce(&self->problem, NULL, 0, &nothing);
    rdt_reference_reduce(&self->problem, elements, 50, &wanted);
    CHECK_OK(accumulate(self, 7, 0, 0), err);
    CHECK_OK(accumulate(self, 0, 50, 1), err);
    CHECK_OK(accumulate(self, 9, 0, 2), err);
    CHECK_OK(finish(self, 0, 3, 50, &got), err);
    check_value(self, &got, &wanted.value, "parts of no elements change it");
    CHECK_OK(accumulate(self, 7, 0, 0), err);
    CHECK_OK(finish(self, 0, 1, 0, &got), err);
    check_value(self, &got, &nothing.value, "a part of no elements is no empty input");
    CHECK_OK(finish(self, 1, 0, 0, &got), err);
    check_value(self, &got, &nothing.value, "no accumulators are no empty input");
}

FACT(parts_of_no_elements_change_nothing) { for_each_op(check_nothing); }

/* ---- counts and indices ---------------------------------------------------------------------- */

static void open_ramp(redtune_op op, redtune_dtype dtype, accumulation *out) {
    uint64_t elements[COUNT];
    redtune_problem problem = redtune_problem_whole(op, dtype, COUNT);
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    for (int i = 0; i < COUNT; i++) rdt_scalar_store(dtype, elements, (uint64_t)i, 1 + i % 100);
    CHECK_OK(open_accumulation(&problem, elements, out), err);
}

FACT(indices_go_beyond_32_bits) {
    const uint64_t far = UINT64_C(5) << 32;
    accumulation self = {.plan = NULL};
    redtune_value got;
    open_ramp(REDTUNE_ARGMAX, REDTUNE_F32, &self);
    if (check_state.failed) return;
    CHECK_OK(accumulate(&self, 0, 150, 0), err);
    CHECK_OK(combine(&self, 0, 1, far), err);
    CHECK_OK(finish(&self, 0, 1, far + 150, &got), err);
    CHECK_INT(got.i64, (long long)far + 99);
    /* The same value further to the front goes before it, whatever the slots' order. */
    CHECK_OK(accumulate(&self, 100, 100, 1), err);
    CHECK_OK(finish(&self, 0, 2, far + 150, &got), err);
    CHECK_INT(got.i64, 199);
    close_accumulation(&self);
}

/* Doubles the accumulator of 300 elements, which sum to 300 * 50.5, so many times. */
static uint64_t double_often(redtune_op op, redtune_dtype dtype, int times, redtune_value *out) {
    accumulation self = {.plan = NULL};
    uint64_t count = 300;
    redtune_status status = REDTUNE_OK;
    open_ramp(op, dtype, &self);
    if (check_state.failed) return 0;
    if (accumulate(&self, 0, count, 0)) check_that(false, __FILE__, __LINE__, "%s", err.message);
    for (int i = 0; !status && i < times; i++, count *= 2) {
        CUresult rc = gpu.driver->memcpy_dtod_async(slot(&self, 1), slot(&self, 0), self.slot_bytes,
                                                    gpu.stream);
        status = rdt_driver_check(gpu.driver, rc, &err, "copy");
        if (!status) status = combine(&self, 0, 2, 0);
    }
    if (!status) status = finish(&self, 0, 1, count, out);
    check_that(!status, __FILE__, __LINE__, "%s", err.message);
    close_accumulation(&self);
    return count;
}

FACT(counts_go_beyond_32_bits) {
    redtune_value got;
    uint64_t count = double_often(REDTUNE_NONZEROS, REDTUNE_U8, 32, &got);
    CHECK(count > UINT64_C(1) << 40);
    CHECK(got.u64 == count);
    double_often(REDTUNE_MEAN, REDTUNE_I32, 32, &got);
    CHECK(got.f64 == 50.5);
    count = double_often(REDTUNE_SUM, REDTUNE_F64, 40, &got);
    CHECK(got.f64 == 50.5 * (double)count);
    count = double_often(REDTUNE_NORM2, REDTUNE_U8, 32, &got);
    CHECK(got.f64 == sqrt(338350. / 100 * (double)count));
}

FACT(integers_wrap_around) {
    redtune_value got;
    double_often(REDTUNE_SUM, REDTUNE_U64, 60, &got);
    CHECK(got.u64 == UINT64_C(15150) << 60);
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* The parts {1, x, 2} and {3, 4}, or the other way around, with x NaN or an infinity. */
static redtune_value of_special(redtune_op op, double special, bool first) {
    float elements[COUNT] = {1, 0, 2, 3, 4};
    redtune_value got = {.u64 = 0};
    accumulation self = {.plan = NULL};
    redtune_problem problem = redtune_problem_whole(op, REDTUNE_F32, COUNT);
    elements[1] = (float)special;
    redtune_status status = rdt_problem_resolve(&problem, &problem, &err);
    if (!status) status = open_accumulation(&problem, elements, &self);
    if (!status) status = accumulate(&self, 0, 3, first ? 0 : 1);
    if (!status) status = accumulate(&self, 3, 2, first ? 1 : 0);
    if (!status) status = finish(&self, 0, 2, 5, &got);
    check_that(!status, __FILE__, __LINE__, "%s", err.message);
    close_accumulation(&self);
    return got;
}

FACT(nan_and_infinity_follow_the_ops_rules) {
    for (int first = 0; first < 2; first++) {
        CHECK(isnan(of_special(REDTUNE_SUM, (double)NAN, first).f32));
        CHECK(isnan(of_special(REDTUNE_MIN, (double)NAN, first).f32));
        CHECK(isnan(of_special(REDTUNE_MAXABS, (double)NAN, first).f32));
        CHECK(of_special(REDTUNE_FMIN, (double)NAN, first).f32 == 1);
        CHECK(of_special(REDTUNE_FMAX, (double)NAN, first).f32 == 4);
        CHECK_INT(of_special(REDTUNE_ARGMAX, (double)NAN, first).i64, 1);
        CHECK_INT(of_special(REDTUNE_ARGMIN, (double)NAN, first).i64, 1);
        CHECK(isinf(of_special(REDTUNE_MEAN, (double)INFINITY, first).f32));
        CHECK_INT(of_special(REDTUNE_ARGMAX, (double)INFINITY, first).i64, 1);
        CHECK_INT(of_special(REDTUNE_ARGMIN, (double)INFINITY, first).i64, 0);
    }
}

/* ---- inputs of many pieces ------------------------------------------------------------------- */

/* More pieces than redtune_reduce_input has slots for, twice over. */
enum { PIECES = 2500, LONGEST = 3, ELEMENTS_MAX = PIECES * LONGEST };

typedef struct supply {
    const char *elements;
    size_t element_bytes;
    uint64_t served, turn;
} supply;

/* 1, 2, 3, 1, 2, 3, ... elements. */
static redtune_status serve(void *user, void *buffer, size_t capacity, size_t *bytes,
                            redtune_error *failure) {
    supply *self = user;
    (void)failure;
    uint64_t count = self->turn < PIECES ? 1 + self->turn % LONGEST : 0;
    *bytes = count * self->element_bytes;
    if (*bytes > capacity) return REDTUNE_INVALID;
    memcpy(buffer, self->elements + self->served * self->element_bytes, *bytes);
    self->served += count;
    self->turn++;
    return REDTUNE_OK;
}

static void check_pieces(const redtune_problem *problem, const void *elements,
                         redtune_reading *reading) {
    supply from = {elements, redtune_dtype_bytes(problem->dtype), 0, 0};
    const redtune_input input = {serve, &from};
    CHECK_OK(redtune_reduce_input(rt, problem, &input, reading, &err), err);
    CHECK_INT(reading->pieces, PIECES);
    CHECK_INT(reading->count, from.served);
    CHECK_INT(reading->info.problem.op, problem->op);
}

FACT(pieces_are_as_many_as_it_takes) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MEAN, REDTUNE_ARGMIN, REDTUNE_NORM2};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        redtune_problem problem = {ops[i], REDTUNE_I16};
        int16_t elements[ELEMENTS_MAX];
        redtune_reading reading;
        rdt_reference wanted;
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        for (int k = 0; k < ELEMENTS_MAX; k++) elements[k] = (int16_t)(k * 7 % 1000);
        elements[4700] = elements[4800] = -5;
        check_pieces(&problem, elements, &reading);
        rdt_reference_reduce(&problem, elements, reading.count, &wanted);
        check_that(rdt_scalar_same(problem.result, &reading.value, &wanted.value), __FILE__,
                   __LINE__, "%s is wrong", redtune_op_name(problem.op));
    }
}

/* docs/ops.md: every 1023 pieces, or part of them, add 37 to the depth. */
FACT(float_sums_of_pieces_keep_the_bound) {
    redtune_problem problem = {REDTUNE_SUM, REDTUNE_F32};
    float elements[ELEMENTS_MAX];
    redtune_reading reading;
    rdt_reference wanted;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    for (int k = 0; k < ELEMENTS_MAX; k++) elements[k] = 1 / (float)(3 + k * 7 % 1000);
    check_pieces(&problem, elements, &reading);
    rdt_reference_reduce(&problem, elements, reading.count, &wanted);
    double bound = rdt_reference_bound(&problem, &wanted, reading.count, LONGEST + 3 * 37);
    CHECK(fabs((double)reading.value.f32 - wanted.exact) <= bound);
}

/* What all pieces have lost counts: here it is the whole result. */
FACT(accurate_sums_of_pieces_lose_nothing) {
    redtune_problem problem = {
        .op = REDTUNE_SUM, .dtype = REDTUNE_F32, .accuracy = REDTUNE_ACCURACY_COMPENSATED};
    float elements[ELEMENTS_MAX];
    redtune_reading reading;
    double wanted = 0;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    for (int k = 0; k < ELEMENTS_MAX; k++) elements[k] = k % 3 ? 1.25f : k % 2 ? 0x1p40f : -0x1p40f;
    check_pieces(&problem, elements, &reading);
    for (uint64_t k = 0; k < reading.count; k++) wanted += (double)elements[k];
    CHECK((double)reading.value.f32 == (double)(float)wanted);
    problem.accuracy = REDTUNE_ACCURACY_EXACT;
    check_pieces(&problem, elements, &reading);
    CHECK((double)reading.value.f32 == (double)(float)wanted);
    static double wide[ELEMENTS_MAX];
    problem.dtype = problem.result = REDTUNE_F64;
    for (int k = 0; k < ELEMENTS_MAX; k++) wide[k] = (double)elements[k];
    check_pieces(&problem, wide, &reading);
    CHECK(reading.value.f64 == wanted);
}

/* ---- starting -------------------------------------------------------------------------------- */

static void listen(void *user, redtune_log_level level, const char *line) {
    char *text = user;
    (void)level;
    snprintf(text + strlen(text), HEARD_BYTES - strlen(text), "%s\n", line);
}

/* Makes a plan as a new process would. */
static void start_anew(rdt_yield yield, char heard[HEARD_BYTES]) {
    const redtune_options options = {.device = getenv("REDTUNE_TEST_DEVICE"),
                                     .database = "/nowhere/at/all.db",
                                     .log = listen,
                                     .log_user = heard,
                                     .log_level = REDTUNE_LOG_DEBUG};
    /* A count of its own: no other fact has cached its plans. */
    const redtune_problem problem = redtune_problem_whole(REDTUNE_MEAN, REDTUNE_F32, 654321);
    redtune *fresh = NULL;
    redtune_plan *plan = NULL;
    heard[0] = '\0';
    CHECK_OK(redtune_open(&options, &fresh, &err), err);
    CHECK_OK(rdt_plan_make(fresh, &problem, yield, &plan, &err), err);
    CHECK_INT(rdt_plan_executable(plan)->launch.yield, yield);
    CHECK_INT(rdt_plan_executable(plan)->kernel->combine != NULL, yield == RDT_YIELD_ACCUMULATOR);
    redtune_plan_destroy(plan);
    redtune_close(fresh);
}

/* The cached plans of a whole and of its parts are three, of one problem. */
FACT(warm_start_needs_neither_lua_nor_nvrtc) {
    char heard[HEARD_BYTES];
    for (int i = 0; i < 3; i++) start_anew((rdt_yield)i, heard);
    for (int i = 0; i < 6 && !check_state.failed; i++) {
        start_anew((rdt_yield)(i % 3), heard);
        CHECK_CONTAINS(heard, "plan for mean");
        CHECK(!strstr(heard, "Lua") && !strstr(heard, "NVRTC"));
    }
}

int main(int argc, char **argv) {
    const redtune_options options = {.device = getenv("REDTUNE_TEST_DEVICE"),
                                     .database = "/nowhere/at/all.db"};
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = redtune_open(&options, &rt, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    redtune_close(rt);
    device_close(&gpu);
    return rc;
}
