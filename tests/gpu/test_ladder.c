/* Facts about the steps of the ladder: every one is right for every count, on inputs that end where
 * their allocation ends, and what the simulated GPU counts is what docs/ladder.md says. */
#include "api/tools/ladder_run.h"
#include "check.h"
#include "exact.h"
#include "model/scalar.h"
#include "device.h"
#include "reference.h"
#include "shaped.h"
#include "tuner/measure/test_data.h"
#include "redtune/tools.h"

static redtune_error err;
static device gpu;
static bool named; /* facts were asked for by their names */

/* ---- right for every count ----------------------------------------------------------------- */

typedef struct bench {
    rdt_builder *builder;
    rdt_codegen *codegen;
    int family;
    rdt_buffer output, scratch;
} bench;

static redtune_status open_bench(bench *self) {
    redtune_status status = rdt_builder_create(NULL, &self->builder, &err);
    if (!status) status = rdt_builder_borrow(self->builder, &self->codegen, &err);
    if (!status) status = rdt_codegen_find_aside(self->codegen, "ladder", &self->family, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, 16, &self->output, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, RDT_SCRATCH_BYTES, &self->scratch, &err);
    if (!status)
        status = rdt_driver_check(
            gpu.driver,
            gpu.driver->memset_d8_async(self->scratch.address, 0, RDT_SCRATCH_BYTES, gpu.stream),
            &err, "clear the scratch");
    return status;
}

static void close_bench(bench *self) {
    rdt_buffer_destroy(&self->output);
    rdt_buffer_destroy(&self->scratch);
    if (self->codegen) rdt_builder_give_back(self->builder);
    rdt_builder_destroy(self->builder);
}

/* Sums count elements of the pattern in an allocation of just their size. */
static void check_count(const bench *self, const rdt_ladder_run *rung, const rdt_test_data *pattern,
                        const exact *sums, const char *config, uint64_t count) {
    const redtune_problem *problem = &pattern->problem;
    size_t element = redtune_dtype_bytes(problem->dtype), bytes = (size_t)count * element;
    size_t period = (size_t)pattern->period * element, first = period < bytes ? period : bytes;
    redtune_value got, wanted = exact_value(sums, 0, count);
    rdt_buffer input = {0};
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &input, &err), err);
    redtune_status status =
        rdt_buffer_write(gpu.driver, input.address, pattern->elements, first, gpu.stream, &err);
    if (!status)
        status = rdt_buffer_repeat(gpu.driver, input.address, period, bytes, gpu.stream, &err);
    rdt_operands operands = {.input = input.address,
                             .extents.count = count,
                             .output = self->output.address,
                             .scratch = self->scratch.address};
    if (!status) status = rdt_ladder_run_run(rung, operands, gpu.stream, &err);
    if (!status)
        status = rdt_buffer_read(gpu.driver, got.bytes, self->output.address,
                                 redtune_dtype_bytes(problem->result), gpu.stream, &err);
    rdt_buffer_destroy(&input);
    check_that(!status, __FILE__, __LINE__, "%s of %llu %s: %s", config, (unsigned long long)count,
               redtune_dtype_name(problem->dtype), err.message);
    if (!status)
        check_that(rdt_scalar_same(problem->result, &got, &wanted), __FILE__, __LINE__,
                   "%s of %llu %s: the sum is wrong", config, (unsigned long long)count,
                   redtune_dtype_name(problem->dtype));
}

/* All the counts that the form has, by one rung made for the largest. */
static void check_config(const bench *self, const char *config_text, redtune_dtype dtype,
                         const uint64_t *counts, size_t count_count) {
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = dtype};
    rdt_point point = {.family = self->family};
    rdt_test_data *pattern = NULL;
    exact *sums = NULL;
    rdt_ladder_run rung = {0};
    for (size_t i = 0; i < count_count; i++)
        if (counts[i] > shaped_of(&problem).count) RESHAPE(&problem, count, counts[i]);
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_point_parse(rdt_codegen_spaces(self->codegen), config_text, &point, &err), err);
    CHECK_OK(rdt_test_data_create(&problem, shaped_of(&problem).count, &pattern, &err), err);
    CHECK_OK(exact_open(pattern, &sums, &err), err);
    redtune_status status = rdt_ladder_run_open(self->builder, self->codegen, gpu.context, &problem,
                                                &point, &rung, &err);
    check_that(!status, __FILE__, __LINE__, "%s: %s", config_text, err.message);
    for (size_t i = 0; !status && i < count_count && !check_state.failed; i++)
        check_count(self, &rung, pattern, sums, config_text, counts[i]);
    rdt_ladder_run_close(&rung);
    exact_close(sums);
    rdt_test_data_destroy(pattern);
}

static const redtune_dtype dtypes[] = {REDTUNE_I32, REDTUNE_F32, REDTUNE_F64, REDTUNE_I64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Every step with blocks of that size, of the first dtype_count dtypes. */
static void check_steps(const char *block_and_form, int step_count, size_t dtype_count,
                        const uint64_t *counts, size_t count_count) {
    bench self = {NULL};
    char config[96];
    CHECK_OK(open_bench(&self), err);
    const rdt_param *steps = &rdt_codegen_spaces(self.codegen)->space[self.family].param[0];
    for (int step = 0; step < (step_count ? step_count : steps->value_count); step++)
        for (size_t i = 0; i < dtype_count && !check_state.failed; i++) {
            snprintf(config, sizeof config, "step=%s,%s", steps->label[step], block_and_form);
            check_config(&self, config, dtypes[i], counts, count_count);
        }
    close_bench(&self);
}

/* More partial sums than a block has threads, several times over. */
FACT(every_step_is_right_with_every_block) {
    static const uint64_t counts[] = {1, 31, 32, 33, 63, 64, 65, 257, 70001};
    size_t count = sizeof counts / sizeof *counts;
    check_steps("block=32", 0, DTYPES, counts, count);
    check_steps("block=64", 0, 1, counts, count);
    check_steps("block=128", 0, 1, counts, count);
    check_steps("block=512", 0, 1, counts, count);
    check_steps("block=1024", 0, DTYPES, counts, count);
}

enum { FIRST_STRIDING = 9, FIRST_MEETING = 12 }; /* grid_stride, one_launch */

/* ---- what is counted ----------------------------------------------------------------------- */

enum { COUNTED = 1 << 16, STEPS = 15 };

typedef struct climbed {
    redtune_step step[STEPS];
    int count;
} climbed;

static int keep_step(void *user, const redtune_step *step) {
    climbed *all = user;
    if (all->count < STEPS) all->step[all->count] = *step;
    all->count++;
    return 0;
}

/* The ladder on the simulated GPU. */
static bool climb(climbed *all, redtune_dtype dtype) {
    redtune *rt = NULL;
    redtune_options options = {.device = "sim", .database = "/nowhere/tuning.db"};
    redtune_climb wanted = {.dtype = dtype, .count = COUNTED, .step = keep_step, .user = all};
    if (!gpu.context || !device_is_simulated(&gpu)) {
        check_skip("the GPU counts nothing");
        return false;
    }
    *all = (climbed){.count = 0};
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_ladder(rt, &wanted, &err);
    redtune_close(rt);
    check_that(!status && all->count == STEPS, __FILE__, __LINE__, "%d steps: %s", all->count,
               status ? err.message : "");
    return !check_state.failed;
}

static climbed all;

static const redtune_counters *counters_of(const char *name) {
    static const redtune_counters none;
    for (int i = 0; i < all.count; i++)
        if (!strcmp(all.step[i].name, name)) return &all.step[i].counters;
    return &none;
}

/* With 2^16 elements all blocks of all launches are full, so that every figure is one of a block
 * times the blocks: 256 of 256 elements and one over their sums, 128 of 512 elements and one, or 32
 * of 2048 elements and one over their sums. A block has 8 warps. */
FACT(the_figures_are_those_of_the_algorithms) {
    enum { SMALL = 257, PAIRED = 129, FEW = 33 };
    const struct {
        const char *name;
        uint64_t launches, loads, transactions, divergent, conflicts, requests, barriers, shuffles;
    } wanted[] = {
        /* Modulo's 150 requests to shared memory are 95 loads and 55 stores here: two loads for
         * each of 47 additions by a warp, and the last one. Their sectors: 32 that the copy stores,
         * 96 a round while lanes lie at most 32 bytes apart, then 48, 24, 12, 6 and 3, and 1. */
        {"global", 2, 2056 + SMALL * 95, 8481 + SMALL * (32 + 3 * 96 + 93 + 1), SMALL * 48, 0, 0,
         SMALL * 72, 0},
        /* Rounds of 1 to 128: all 8 warps diverge in the first 5, then those 4, 2, 1 that add, and
         * once more the one that stores. An addition is 3 requests, of 47 warps. */
        {"modulo", 2, 2056, 8481, SMALL * 48, 0, SMALL * 150, SMALL * 72, 0},
        /* Additions by 4, 2, 1, 1, 1, 1, 1, 1 warps, with 2, 4, 8, 8, 8, 4, 2, 1 words to a bank.
         */
        {"strided", 2, 2056, 8481, SMALL * 6, SMALL * 105, SMALL * 45, SMALL * 72, 0},
        {"sequential", 2, 2056, 8481, SMALL * 6, 0, SMALL * 45, SMALL * 72, 0},
        /* Two tests to a round; two words to a bank where 4, 2, 1 warps read twice. */
        {"neighbours", 2, 2056, 8481, SMALL * 11, SMALL * 14, SMALL * 45, SMALL * 136, 0},
        {"first_add", 2, 2052, 8337, PAIRED * 6, 0, PAIRED * 45, PAIRED * 72, 0},
        /* Each of a warp's loads spans 256 bytes, whose 8 sectors both take; first_add's 4. */
        {"adjacent", 2, 2052, 8337 + 2048 * 4 + 16, PAIRED * 6, 0, PAIRED * 45, PAIRED * 72, 0},
        /* Barriers before the tree and after 128 and 64; then one warp is alone. */
        {"last_warp", 2, 2052, 8337, PAIRED * 6, 0, PAIRED * 45, PAIRED * 24, 0},
        {"unrolled", 2, 2052, 8337, PAIRED * 6, 0, PAIRED * 45, PAIRED * 24, 0},
        {"grid_stride", 2, 2049, 8229, FEW * 6, 0, FEW * 45, FEW * 24, 0},
        /* Each warp's lane 0 stores; the first warp's lanes below 8 load; thread 0 stores. */
        {"shuffle", 2, 2049, 8229, FEW * 10, 0, FEW * 9, FEW * 8, FEW * 45},
        {"vector", 2, 513, 8229, FEW * 10 + 1, 0, FEW * 9, FEW * 8, FEW * 45},
        /* Every warp of every block waits for the ticket and reads whether it was the last. */
        {"one_launch", 1, 513, 8261, FEW * 10, 0, FEW * 9 + 32 * 9, FEW * 8 + 32 * 8, FEW * 45},
    };
    if (!climb(&all, REDTUNE_F32)) return;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const redtune_counters *got = counters_of(wanted[i].name);
        printf("%s\n", wanted[i].name);
        CHECK_INT(got->launches, wanted[i].launches);
        CHECK_INT(got->global_loads, wanted[i].loads);
        CHECK_INT(got->global_transactions, wanted[i].transactions);
        CHECK_INT(got->divergent_branches, wanted[i].divergent);
        CHECK_INT(got->shared_wavefronts - got->shared_requests, wanted[i].conflicts);
        CHECK_INT(got->shared_requests, wanted[i].requests);
        CHECK_INT(got->barriers, wanted[i].barriers);
        CHECK_INT(got->shuffles, wanted[i].shuffles);
    }
    CHECK_INT(counters_of("one_launch")->atomics, 32);
    CHECK_INT(counters_of("one_launch")->fences, 64);
    CHECK_INT(counters_of("poll")->launches, 1);
    CHECK_INT(counters_of("poll")->atomics, 0);
    CHECK_INT(counters_of("poll")->fences, 0);
    CHECK_INT(counters_of("poll")->shuffles, FEW * 45);
}

static double lanes_of(const redtune_counters *of) {
    return (double)of->lane_instructions / (double)of->warp_instructions;
}

/* A word of 8 bytes lies in two banks, so that a request of more than 16 lanes, or of lanes further
 * apart, takes more passes: of a block's 45 requests sequential has 29 such (the 8 stores of what
 * is loaded, and additions by whole warps: 3 for each of 4, 2 and 1 warps). Modulo's requests of 8
 * warps are spread over 256 bytes in its first 4 rounds: 8 + 8 * 3 * 4. */
FACT(words_of_8_bytes_take_the_banks_twice) {
    enum { SMALL = 257, PAIRED = 129, FEW = 33 };
    const struct {
        const char *name;
        uint64_t conflicts, requests;
    } wanted[] = {
        {"modulo", SMALL * 104, SMALL * 150},    {"sequential", SMALL * 29, SMALL * 45},
        {"first_add", PAIRED * 29, PAIRED * 45}, {"last_warp", PAIRED * 29, PAIRED * 45},
        {"grid_stride", FEW * 29, FEW * 45},     {"shuffle", 0, FEW * 9},
    };
    static const redtune_dtype wide[] = {REDTUNE_I32, REDTUNE_I64, REDTUNE_F64};
    for (size_t d = 0; d < sizeof wide / sizeof *wide; d++) {
        if (!climb(&all, wide[d])) return;
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            const redtune_counters *got = counters_of(wanted[i].name);
            printf("%s of %s\n", wanted[i].name, redtune_dtype_name(wide[d]));
            CHECK_INT(got->shared_wavefronts - got->shared_requests, wanted[i].conflicts);
            CHECK_INT(got->shared_requests, wanted[i].requests);
        }
    }
}

/* The trees that halve nothing: global, modulo and strided. */
FACT(a_block_that_is_no_power_of_two_is_right_where_the_step_takes_it) {
    static const uint64_t counts[] = {1, 2, 100, 101, 102, 10201, 10302, 70001};
    check_steps("block=101", 3, DTYPES, counts, sizeof counts / sizeof *counts);
}

FACT(modulo_has_the_fewest_active_lanes) {
    if (!climb(&all, REDTUNE_F32)) return;
    double lowest = lanes_of(counters_of("modulo"));
    CHECK(lowest > 22.5 && lowest < 23.5);
    for (int i = 0; i < all.count; i++)
        if (strcmp(all.step[i].name, "modulo") && strcmp(all.step[i].name, "global"))
            CHECK(lanes_of(&all.step[i].counters) > lowest + 4);
}

FACT(a_sum_takes_the_launches_that_the_step_says) {
    if (!climb(&all, REDTUNE_F32)) return;
    for (int i = 0; i < all.count; i++) {
        CHECK(all.step[i].right);
        CHECK_INT(all.step[i].launches, all.step[i].counters.launches);
    }
}

/* ---- right, the slower ones ------------------------------------------------------------------ */

FACT(every_step_is_right_at_every_count) {
    static const uint64_t counts[] = {1, 2, 31, 100, 101, 127, 128, 1000, 65535, 1000007};
    check_steps("block=256", 0, 3, counts, sizeof counts / sizeof *counts);
}

FACT(the_one_block_forms_are_right) {
    static const uint64_t counts[] = {1, 2, 31, 32, 33, 100, 101, 127, 128, 255, 256};
    static const uint64_t small[] = {1, 2, 31, 32};
    static const uint64_t many[] = {1, 100, 1000, 65535};
    check_steps("block=256,form=one", FIRST_MEETING, 3, counts, sizeof counts / sizeof *counts);
    check_steps("block=32,form=one", FIRST_MEETING, 3, small, sizeof small / sizeof *small);
    bench self = {NULL};
    CHECK_OK(open_bench(&self), err);
    const rdt_param *steps = &rdt_codegen_spaces(self.codegen)->space[self.family].param[0];
    for (int step = FIRST_STRIDING; step < FIRST_MEETING; step++) {
        char config[96];
        snprintf(config, sizeof config, "step=%s,block=128,form=one", steps->label[step]);
        check_config(&self, config, REDTUNE_F32, many, sizeof many / sizeof *many);
    }
    close_bench(&self);
}

/* What the kernels need zero they leave zero: the tickets and the words. */
FACT(scratch_is_left_as_it_was) {
    static const uint64_t counts[] = {1000007};
    static unsigned char left[RDT_SCRATCH_SLOTS_OFFSET];
    bench self = {NULL};
    CHECK_OK(open_bench(&self), err);
    check_config(&self, "step=one_launch,block=64,form=many", REDTUNE_F64, counts, 1);
    check_config(&self, "step=poll,block=64,form=many", REDTUNE_F64, counts, 1);
    CHECK_OK(rdt_buffer_read(gpu.driver, left, self.scratch.address, sizeof left, gpu.stream, &err),
             err);
    for (size_t i = 0; i < sizeof left; i++) CHECK_INT(left[i], 0);
    close_bench(&self);
}

FACT(every_step_is_right_at_large_counts) {
    static const uint64_t counts[] = {UINT64_C(1) << 24, (UINT64_C(1) << 24) + 3};
    if (gpu.context && device_is_simulated(&gpu) && !named)
        SKIP("the simulated GPU takes minutes; ask for it by name");
    check_steps("block=256", 0, 3, counts, sizeof counts / sizeof *counts);
}

int main(int argc, char **argv) {
    named = argc > 1;
    redtune_status status = device_open(&gpu, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    device_close(&gpu);
    return rc;
}
