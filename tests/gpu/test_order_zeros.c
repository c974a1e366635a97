/* Facts about the least numbers in fixed order: sums of -0 are +0, by every way that values meet,
 * subnormal numbers count, and of a compensated sum that cancels the losses have their order. */
#include <math.h>
#include "check.h"
#include "model/scalar.h"
#include "order_reference.h"
#include "shaped.h"
#include "subject.h"

static redtune_error err;
static device gpu;
static workshop shop;

/* Nothing is missing in any of them: an identity in the place of what is missing would make a sum
 * +0. */
static const struct {
    const char *family, *config;
    rdt_extents extents;
} ways[] = {
    /* As many nodes as the block's threads ask for at once. */
    {"ordered",
     "block=32,lanes=32,chunks=1,unroll=8,resident=512,load=no_allocate,rows=1,finish=poll,"
     "per_sm=16",
     {256 * 1024, 1, 1}},
    {"ordered",
     "block=128,lanes=64,chunks=1,unroll=4,resident=1024,load=no_allocate,rows=1,finish=single,"
     "per_sm=1",
     {2 * 1024, 1, 1}},
    /* By the warps of a group, by one warp, by lanes that take several loads. */
    {"ordered_rows", "block=128,lanes=32,unroll=8,rows=1,load=no_allocate", {4 * 1024, 3, 1}},
    {"ordered_rows", "block=64,lanes=32,unroll=2,rows=1,load=no_allocate", {2 * 1024, 3, 1}},
    {"ordered_rows", "block=64,lanes=8,unroll=2,rows=2,load=no_allocate", {64, 9, 1}},
    /* By one block, by as many as its threads ask for at once. */
    {"ordered_columns",
     "block=64,width=8,vec=1,unroll=4,load=no_allocate,finish=single,per_sm=1",
     {1024, 1, 8}},
    {"ordered_columns",
     "block=32,width=8,vec=1,unroll=8,load=no_allocate,finish=poll,per_sm=8",
     {1024, 1, 8}},
};

/* All elements are the same, and so are all sums. */
static void check_way(size_t i, float element, float wanted) {
    enum { RESULTS_MAX = 16 };
    const rdt_extents e = rdt_launch_complete(ways[i].extents);
    const size_t count = e.count * e.outer * e.inner, results = e.outer * e.inner;
    redtune_problem problem =
        PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = e.count, .outer = e.outer,
                .inner = e.inner, .order = REDTUNE_ORDER_FIXED);
    float *elements = malloc(count * sizeof *elements), got[RESULTS_MAX];
    rdt_buffer input = {0};
    rdt_point point;
    subject self;
    CHECK(elements && results <= RESULTS_MAX);
    for (size_t k = 0; k < count; k++) elements[k] = element;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_point_read(rdt_codegen_spaces(shop.codegen), ways[i].family, ways[i].config,
                            &point, &err),
             err);
    CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, count * sizeof *elements, &input, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, input.address, elements, count * sizeof *elements,
                              gpu.stream, &err),
             err);
    const rdt_operands operands = {.input = input.address,
                                   .extents = e,
                                   .output = self.output.address,
                                   .scratch = self.scratch.address};
    CHECK_OK(rdt_kernel_start(self.kernel, &self.launch, &operands, gpu.stream, &err), err);
    CHECK_OK(rdt_buffer_read(gpu.driver, got, self.output.address, results * sizeof *got,
                             gpu.stream, &err),
             err);
    for (size_t r = 0; r < results; r++)
        check_that(!memcmp(&got[r], &wanted, sizeof wanted), __FILE__, __LINE__,
                   "%s: result %zu is %g and should be %g", self.name, r, (double)got[r],
                   (double)wanted);
    subject_close(&self);
    rdt_buffer_destroy(&input);
    free(elements);
}

enum { WAYS = sizeof ways / sizeof *ways };

FACT(sums_of_negative_zeros_are_positive) {
    for (size_t i = 0; i < WAYS && !check_state.failed; i++) check_way(i, -0.0f, 0);
}

FACT(subnormal_numbers_count) {
    for (size_t i = 0; i < WAYS && !check_state.failed; i++)
        check_way(i, 0x1p-149f, ldexpf((float)ways[i].extents.count, -149));
}

/* Its result is little but what additions lost. */
FACT(losses_have_the_order) {
    enum { COUNT = 1 << 13, DRAWS = 16 };
    static float elements[COUNT];
    redtune_problem problem =
        PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = COUNT,
                .order = REDTUNE_ORDER_FIXED, .accuracy = REDTUNE_ACCURACY_COMPENSATED);
    rdt_buffer input = {0};
    redtune_value got = {.u64 = 0}, wanted[2];
    subject self;
    uint32_t state = 1;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof elements, &input, &err), err);
    for (int draw = 0; draw < DRAWS && !check_state.failed; draw++) {
        for (size_t i = 0; i < COUNT / 2; i++) {
            state = state * 1664525 + 1013904223;
            elements[i] = ldexpf((float)(int32_t)state, (int)(state >> 16) % 40 - 60);
            elements[COUNT / 2 + (i * 37 + 11) % (COUNT / 2)] = -elements[i];
        }
        CHECK_OK(rdt_buffer_write(gpu.driver, input.address, elements, sizeof elements, gpu.stream,
                                  &err),
                 err);
        CHECK_OK(subject_reduce(&self, input.address, COUNT, &got, &err), err);
        rdt_order_reference_reduce(&problem, elements, NULL, COUNT, wanted);
        subject_same(&self, COUNT, &got, &wanted[0], "that cancel");
    }
    rdt_buffer_destroy(&input);
    subject_close(&self);
}

int main(int argc, char **argv) {
    redtune_status status = device_open(&gpu, &err);
    if (!status) status = workshop_open(&gpu, &shop, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    if (shop.builder) workshop_close(&shop);
    device_close(&gpu);
    return rc;
}
