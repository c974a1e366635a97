/* Facts about every kernel of the covering set on a GPU: exact sums at all counts around the
 * boundaries, from every element-aligned start, no element missed or taken twice, nothing read
 * outside the input, scratch left clean, the same bits every time. */
#include "api/builder.h"
#include "check.h"
#include "cover.h"
#include "gpu/device.h"

static redtune_error err;
static device gpu;

enum { OUTPUT_BYTES = 16, GUARD_BYTES = 64 };

/* A kernel of the set with what it takes to run it. */
typedef struct subject {
    const cover_point *point;
    rdt_kernel *kernel;
    rdt_launch launch;
    char name[RDT_CONFIG_TEXT_BYTES + 16];
    rdt_buffer output, scratch;
    size_t element_bytes;
} subject;

/* ---- running ------------------------------------------------------------------------------- */

/* The result of count elements at input, and whether scratch and what is behind the result are as
 * they should be. */
static redtune_status reduce(const subject *self, CUdeviceptr input, uint64_t count,
                             unsigned char result[OUTPUT_BYTES]) {
    rdt_operands operands = {input, count, self->output.address, self->scratch.address};
    CUresult rc = gpu.driver->memset_d8_async(self->output.address, 0xa5, OUTPUT_BYTES, gpu.stream);
    redtune_status status = rdt_driver_check(gpu.driver, rc, &err, "poison the result");
    if (!status)
        status = rdt_kernel_launch(self->kernel, &self->launch, operands, gpu.stream, &err);
    if (!status)
        status = rdt_buffer_read(gpu.driver, result, self->output.address, OUTPUT_BYTES, gpu.stream,
                                 &err);
    return status;
}

static bool equals(const subject *self, const unsigned char *result, int64_t wanted) {
    _Alignas(16) unsigned char bytes[OUTPUT_BYTES];
    redtune_dtype dtype = self->point->problem.result;
    memset(bytes, 0xa5, sizeof bytes);
    rdt_value_store(dtype, bytes, 0, wanted);
    return !memcmp(bytes, result, sizeof bytes);
}

/* Runs the fact on each kernel of the set. */
static void for_each_kernel(void (*fact)(const subject *self)) {
    rdt_builder *builder = NULL;
    rdt_codegen *codegen = NULL;
    cover_point *points = NULL;
    size_t count = 0;
    if (!gpu.context) SKIP("there is no GPU");
    const rdt_facts *facts = &gpu.context->facts;
    CHECK_OK(rdt_builder_create(NULL, &builder, &err), err);
    CHECK_OK(rdt_builder_borrow(builder, &codegen, &err), err);
    CHECK_OK(cover_pairs(codegen, 0, facts, &points, &count, &err), err);
    for (size_t i = 0; i < count && !check_state.failed; i++) {
        const redtune_problem *problem = &points[i].problem;
        subject self = {.point = &points[i], .element_bytes = redtune_dtype_bytes(problem->dtype)};
        char text[RDT_CONFIG_TEXT_BYTES];
        rdt_case at = {problem, facts};
        rdt_config_format(rdt_codegen_space(codegen, 0), &points[i].config, text);
        snprintf(self.name, sizeof self.name, "%s %s", redtune_dtype_name(problem->dtype), text);
        CHECK_OK(rdt_codegen_launch(codegen, 0, at, &points[i].config, &self.launch, &err), err);
        CHECK_OK(rdt_builder_make(builder, gpu.context, 0, problem, &points[i].config, &self.launch,
                                  &self.kernel, &err),
                 err);
        CHECK_OK(rdt_buffer_create(gpu.driver, OUTPUT_BYTES, &self.output, &err), err);
        CHECK_OK(rdt_buffer_create(gpu.driver, rdt_scratch_bytes(), &self.scratch, &err), err);
        CHECK(
            !gpu.driver->memset_d8_async(self.scratch.address, 0, self.scratch.bytes, gpu.stream));
        fact(&self);
        rdt_buffer_destroy(&self.output);
        rdt_buffer_destroy(&self.scratch);
        rdt_kernel_unload(self.kernel);
    }
    free(points);
    rdt_builder_give_back(builder);
    rdt_builder_destroy(builder);
}

/* ---- facts --------------------------------------------------------------------------------- */

/* Small integers from a fixed seed (xorshift, Marsaglia 2003). */
static int64_t next_number(uint32_t *state) {
    *state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5;
    return (int64_t)(*state % 15) - 7;
}

static const uint64_t counts[] = {0,    1,    2,    31,   32,    33,    63,   65,
                                  127,  129,  255,  256,  257,   511,   1023, 1025,
                                  4095, 4096, 4097, 8193, 16385, 40001, 65537};
enum { COUNT_MAX = 65537, OFFSETS = 4 };

/* The input ends where its allocation ends, so that a checker of memory accesses finds a read
 * behind it; the offset puts unread elements before it. */
static void sums_of(const subject *self, uint64_t count) {
    for (uint64_t offset = 0; offset < OFFSETS; offset++) {
        rdt_buffer input = {0};
        uint64_t total = offset + count;
        size_t bytes = total * self->element_bytes;
        unsigned char *host = malloc(bytes ? bytes : 1);
        uint32_t state = 1 + (uint32_t)count;
        int64_t wanted = 0;
        CHECK(host);
        for (uint64_t i = 0; i < total; i++) {
            int64_t number = next_number(&state);
            if (i >= offset) wanted += number;
            rdt_value_store(self->point->problem.dtype, host, i, i < offset ? 1000 : number);
        }
        CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &input, &err), err);
        CHECK_OK(rdt_buffer_write(gpu.driver, input.address, host, bytes, gpu.stream, &err), err);
        unsigned char result[OUTPUT_BYTES];
        CHECK_OK(reduce(self, input.address + offset * self->element_bytes, count, result), err);
        check_that(equals(self, result, wanted), __FILE__, __LINE__,
                   "%s: the sum of %llu elements at offset %llu is wrong", self->name,
                   (unsigned long long)count, (unsigned long long)offset);
        rdt_buffer_destroy(&input);
        free(host);
    }
}

static void check_sums(const subject *self) {
    unsigned char header[RDT_SCRATCH_HEADER_BYTES], zero[RDT_SCRATCH_HEADER_BYTES] = {0};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) sums_of(self, counts[i]);
    CHECK_OK(
        rdt_buffer_read(gpu.driver, header, self->scratch.address, sizeof header, gpu.stream, &err),
        err);
    if (memcmp(header, zero, sizeof zero))
        check_that(false, __FILE__, __LINE__, "%s leaves counters in scratch", self->name);
}

static void sums_are_exact_at_every_count_and_offset(void) {
    for_each_kernel(check_sums);
}

/* Positions around every boundary of the kernel: vectors, warps, blocks, tiles, the whole grid. */
static bool near_boundary(const subject *self, uint64_t at, uint64_t count) {
    const uint64_t periods[] = {32, self->launch.threads, self->launch.tile,
                                (uint64_t)self->launch.tile * self->launch.blocks_max};
    if (at < 40 || at + 40 > count) return true;
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        uint64_t rest = at % periods[i];
        if (i > 0 && (rest < 2 || rest + 2 >= periods[i])) return true;
    }
    return false;
}

/* One element is 1 and the others are 0: all positions at once would hide one that is missed. */
static void check_one_hot(const subject *self) {
    enum { POSITIONS_MAX = 160 };
    uint64_t count = 2 * (uint64_t)self->launch.tile + 5;
    if (count > COUNT_MAX) count = COUNT_MAX;
    size_t bytes = count * self->element_bytes;
    rdt_buffer input = {0};
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &input, &err), err);
    CHECK(!gpu.driver->memset_d8_async(input.address, 0, bytes, gpu.stream));
    int tried = 0;
    for (uint64_t at = 0; at < count && tried < POSITIONS_MAX; at++) {
        if (!near_boundary(self, at, count)) continue;
        _Alignas(8) unsigned char one[8] = {0};
        unsigned char result[OUTPUT_BYTES];
        CUdeviceptr place = input.address + at * self->element_bytes;
        rdt_value_store(self->point->problem.dtype, one, 0, 1);
        CHECK_OK(rdt_buffer_write(gpu.driver, place, one, self->element_bytes, gpu.stream, &err),
                 err);
        CHECK_OK(reduce(self, input.address, count, result), err);
        check_that(equals(self, result, 1), __FILE__, __LINE__,
                   "%s: of %llu elements the one at %llu is not taken once", self->name,
                   (unsigned long long)count, (unsigned long long)at);
        CHECK(!gpu.driver->memset_d8_async(place, 0, self->element_bytes, gpu.stream));
        tried++;
    }
    rdt_buffer_destroy(&input);
}

static void every_element_is_taken_once(void) {
    for_each_kernel(check_one_hot);
}

/* Numbers that do not add up exactly, so that another order would show. */
static void check_repeats(const subject *self) {
    enum { COUNT = 50001, TIMES = 50 };
    redtune_dtype dtype = self->point->problem.dtype;
    if (rdt_dtype_find(dtype)->kind != RDT_KIND_FLOAT) return;
    size_t bytes = COUNT * self->element_bytes;
    unsigned char *host = malloc(bytes);
    rdt_buffer input = {0};
    CHECK(host);
    for (int i = 0; i < COUNT; i++) {
        if (dtype == REDTUNE_F32)
            ((float *)host)[i] = 1.0f / (float)(i + 1);
        else
            ((double *)host)[i] = 1.0 / (i + 1);
    }
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &input, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, input.address, host, bytes, gpu.stream, &err), err);
    unsigned char first[OUTPUT_BYTES], again[OUTPUT_BYTES];
    CHECK_OK(reduce(self, input.address, COUNT, first), err);
    for (int i = 0; i < TIMES; i++) {
        CHECK_OK(reduce(self, input.address, COUNT, again), err);
        if (!check_that(!memcmp(first, again, sizeof first), __FILE__, __LINE__,
                        "%s: the bits of the result change from run to run", self->name))
            break;
    }
    rdt_buffer_destroy(&input);
    free(host);
}

static void results_are_the_same_bits_every_time(void) {
    for_each_kernel(check_repeats);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(sums_are_exact_at_every_count_and_offset),
        FACT(every_element_is_taken_once),
        FACT(results_are_the_same_bits_every_time),
    };
    redtune_status status = device_open(&gpu, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    int rc = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    device_close(&gpu);
    return rc;
}
