/* Numbers: what the tests of redtune.h along an axis share: an array on the GPU and on the host,
 * and results held against it. A file that includes it has them to itself. */
#pragma once

#include "ones.h"
#include "reference.h"

enum { ELEMENTS = 20000, POISON = 0xa5 };

static redtune *rt;
static float numbers[ELEMENTS]; /* small whole ones, so that every order gives the same sum */
static rdt_buffer copy;         /* of them, on the GPU */

static redtune_status begin(void) {
    const redtune_options options = {.database = "/nowhere/tuning.db"};
    unsigned state = 1;
    for (size_t i = 0; i < ELEMENTS; i++) {
        state = state * 1103515245u + 12345u;
        numbers[i] = (float)(int)(state >> 16 & 63) - 31;
    }
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, sizeof numbers, &copy, &err);
    if (!status)
        status =
            rdt_buffer_write(gpu.driver, copy.address, numbers, sizeof numbers, gpu.stream, &err);
    return status;
}

static void end(void) {
    redtune_close(rt);
    rdt_buffer_destroy(&copy);
    rt = NULL;
}

static void *element(size_t first) {
    return (void *)(uintptr_t)(copy.address + first * sizeof(float));
}

static void poison(void) {
    gpu.driver->memset_d8_async(results.address, POISON, results.bytes, gpu.stream);
}

/* Fails the fact unless the results are those of the problem over the elements from `first` on, and
 * nothing was written behind them. */
static void check_results(const redtune_problem *wanted, size_t first) {
    static unsigned char got[RESULTS * sizeof(float)];
    static float column[ELEMENTS];
    redtune_problem problem;
    CHECK_OK(rdt_problem_resolve(wanted, &problem, &err), err);
    const rdt_extents at = rdt_problem_extents(&problem);
    const size_t bytes = redtune_dtype_bytes(problem.result), count = at.outer * at.inner;
    CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address, sizeof got, gpu.stream, &err), err);
    for (size_t r = 0; r < count; r++) {
        const float *from = numbers + first + r / at.inner * at.outer_step + r % at.inner;
        rdt_reference reference;
        redtune_value value = {.u64 = 0};
        memcpy(value.bytes, got + r * bytes, bytes);
        for (size_t e = 0; e < at.count; e++) column[e] = from[e * at.step];
        rdt_reference_reduce(&problem, column, at.count, &reference);
        const bool same = !memcmp(value.bytes, reference.value.bytes, bytes);
        check_that(same, __FILE__, __LINE__, "%s %zu of %zu x %zu x %zu, steps %zu and %zu",
                   redtune_op_name(problem.op), r, (size_t)at.outer, (size_t)at.count,
                   (size_t)at.inner, (size_t)at.outer_step, (size_t)at.step);
        if (!same) return;
    }
    for (size_t i = count * bytes; i < sizeof got; i++) CHECK_INT(got[i], POISON);
}
