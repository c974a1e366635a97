/* Facts about what a thread does with the elements of an exact sum: its bins, and what waits in
 * front of them (templates/lib/superaccumulator.lua). */
#include <math.h>
#include "check.h"
#include "model/scalar.h"
#include "rational.h"
#include "shaped.h"
#include "subject.h"

static redtune_error err;
static device gpu;
static workshop shop;

#define ONE_WARP "block=32,vec=1,unroll=1,load=plain,tail=shuffle,finish=single,per_sm=1"

/* Element j of n of a thread. With y, x comes by turns with it, in the second half negative, and
 * every second y takes the one before it away, except its last bit: these bits are the sum. */
static double by_turns(double x, double y, uint64_t j, uint64_t n) {
    if (y == 0) return x;
    if (j % 2 == 0) return j < n / 2 ? x : -x;
    return j % 4 == 1 ? (double)nextafterf((float)y, 1) : -y;
}

/* So many elements of each thread of a warp. */
static void check_one_warp(redtune_dtype dtype, double x, double y, uint64_t each_count) {
    const uint64_t count = 32 * each_count;
    redtune_problem problem = PROBLEM(.op = REDTUNE_SUM, .dtype = dtype, .count = count,
                                      .accuracy = REDTUNE_ACCURACY_EXACT);
    rational sum = {.pending = 0};
    redtune_value got = {.u64 = 0};
    rdt_buffer input = {0};
    rdt_point point;
    subject self;
    char *raw = calloc(count, redtune_dtype_bytes(dtype));
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_point_read(rdt_codegen_spaces(shop.codegen), "block", ONE_WARP, &point, &err),
             err);
    CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
    for (uint64_t i = 0; raw && i < count; i++) {
        const double real = by_turns(x, y, i / 32, each_count);
        const redtune_value each = rdt_scalar_from_real(dtype, real);
        memcpy(raw + i * self.element_bytes, each.bytes, self.element_bytes);
        rational_add(&sum, real, 1);
    }
    CHECK(raw);
    const redtune_value nearest = rational_round(&sum, dtype);
    CHECK_OK(rdt_buffer_create(gpu.driver, count * self.element_bytes, &input, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, input.address, raw, count * self.element_bytes,
                              gpu.stream, &err),
             err);
    CHECK_OK(subject_reduce(&self, input.address, count, &got, &err), err);
    subject_same(&self, count, &got, &nearest, "by turns");
    subject_close(&self);
    rdt_buffer_destroy(&input);
    free(raw);
}

FACT(elements_of_a_thread_fill_no_bin) {
    /* All fill their bin to the highest bit that an element can have there, shifted by 31 bits, so
     * that it runs over unless carries are brought on. The first are too large to wait in f64. */
    check_one_warp(REDTUNE_F32, 0x1.fffffep97, 0, 600);
    check_one_warp(REDTUNE_F32, -0x1.fffffep97, 0, 600);
    check_one_warp(REDTUNE_F32, -0x1.fffffep-95, 0, 600);
    check_one_warp(REDTUNE_F64, 0x1.fffffffffffffp-991, 0, 2300);
}

FACT(elements_that_wait_lose_nothing) {
    /* As far apart as they may be, then too many, and too far apart. */
    check_one_warp(REDTUNE_F32, 0x1.fffffep0, 0x1.8p-20, 512);
    check_one_warp(REDTUNE_F32, 0x1.fffffep0, 0x1.8p-20, 4096);
    check_one_warp(REDTUNE_F32, 0x1.fffffep0, 0x1.8p-23, 512);
}

int main(int argc, char **argv) { return subject_run(&gpu, &shop, argc, argv); }
