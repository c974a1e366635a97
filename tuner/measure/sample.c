/* Sample: which results of a problem are held against what they should be. */
#include "tuner/measure/sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/random.h"
#include "model/scalar.h"
#include "model/strides.h"
#include "tuner/measure/test_buffers.h"

enum { GUARD_BYTES = RDT_SAMPLE_GUARD_BYTES };

/* ---- choosing -------------------------------------------------------------------------------- */

/* A run with this result in its middle. */
static void add_run(rdt_sample *self, size_t runs, uint64_t length, uint64_t middle) {
    const uint64_t results = rdt_problem_results(&self->problem);
    uint64_t first = middle > length / 2 ? middle - length / 2 : 0;
    if (middle >= results || self->run_count == runs) return;
    if (first > results - length) first = results - length;
    self->run[self->run_count++] = (rdt_run){first, length};
    self->count += length;
}

void rdt_sample_choose(const redtune_problem *problem, size_t runs, uint64_t length,
                       rdt_sample *out) {
    const rdt_extents extents = rdt_problem_extents(problem);
    const uint64_t results = rdt_problem_results(problem);
    rdt_random random = {results};
    *out = (rdt_sample){.problem = *problem};
    if (results <= runs * length) {
        out->run[out->run_count++] = (rdt_run){0, results};
        out->count = results;
        return;
    }
    add_run(out, runs, length, 0);
    if (extents.outer > 1 && extents.inner > 1) {
        add_run(out, runs - 1, length, extents.inner);
        add_run(out, runs - 1, length, extents.inner * (extents.outer / 2));
    }
    /* From far to near: those next to the first are in its run. At most half of the runs, so that
     * others are left. */
    for (uint64_t power = UINT64_C(1) << 62; power > length / 2; power /= 2)
        add_run(out, 1 + runs / 2, length, power);
    while (out->run_count < runs - 1)
        add_run(out, runs - 1, length, rdt_random_below(&random, results));
    add_run(out, runs, length, results - 1);
}

uint64_t rdt_sample_result(const rdt_sample *sample, size_t i) {
    const rdt_run *run = sample->run;
    while (i >= run->count) i -= run++->count;
    return run->first + i;
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* Of one output. */
static uint64_t guarded_bytes(uint64_t results, redtune_dtype result) {
    const uint64_t bytes = results * redtune_dtype_bytes(result);
    return 2 * GUARD_BYTES + (bytes + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
}

uint64_t rdt_sample_output_bytes(uint64_t results, const redtune_problem *problem) {
    const redtune_dtype second = rdt_problem_second(problem);
    return guarded_bytes(results, problem->result) + (second ? guarded_bytes(results, second) : 0);
}

uint64_t rdt_sample_second(uint64_t results, const redtune_problem *problem) {
    return rdt_problem_second(problem) ? guarded_bytes(results, problem->result) : 0;
}

/* Of one output in what was gathered. */
static size_t gathered_bytes(const rdt_sample *sample, int output) {
    const redtune_dtype dtype = rdt_compare_dtype(&sample->problem, output);
    return dtype ? 2 * GUARD_BYTES + sample->count * redtune_dtype_bytes(dtype) : 0;
}

size_t rdt_sample_gathered_bytes(const rdt_sample *sample) {
    return gathered_bytes(sample, 0) + gathered_bytes(sample, 1);
}

size_t rdt_sample_gathered_at(const rdt_sample *sample, int output) {
    return GUARD_BYTES + (output ? gathered_bytes(sample, 0) : 0);
}

uint64_t rdt_sample_lead(const redtune_problem *problem, int output) {
    return rdt_problem_strided_results_lead(problem) *
           redtune_dtype_bytes(rdt_compare_dtype(problem, output));
}

/* Where result r is, in results from the first one in memory. */
static uint64_t place_of_result(const redtune_problem *problem, uint64_t r) {
    if (rdt_problem_strided_packs_results(problem)) return r;
    return rdt_problem_strided_results_lead(problem) +
           (uint64_t)rdt_strides_place(problem, REDTUNE_ARRAY_RESULTS, r, 0);
}

/* The same of results with gaps, one by one. */
static CUresult gather_apart(const rdt_sample *sample, const rdt_driver *driver, size_t result,
                             CUdeviceptr first, CUdeviceptr to, CUstream stream) {
    const redtune_problem *problem = &sample->problem;
    const CUdeviceptr behind = first + rdt_problem_strided_results_reach(problem) * result;
    CUresult rc = driver->memcpy_dtod_async(to, first - GUARD_BYTES, GUARD_BYTES, stream);
    to += GUARD_BYTES;
    for (size_t i = 0; !rc && i < sample->count; i++, to += result) {
        const uint64_t place = place_of_result(problem, rdt_sample_result(sample, i));
        rc = driver->memcpy_dtod_async(to, first + place * result, result, stream);
    }
    return rc ? rc : driver->memcpy_dtod_async(to, behind, GUARD_BYTES, stream);
}

/* Of one output, whose results have so many bytes. */
static CUresult gather(const rdt_sample *sample, const rdt_driver *driver, size_t result,
                       CUdeviceptr first, CUdeviceptr to, CUstream stream) {
    CUresult rc = CUDA_SUCCESS;
    if (!rdt_problem_strided_packs_results(&sample->problem))
        return gather_apart(sample, driver, result, first, to, stream);
    for (size_t i = 0; !rc && i < sample->run_count; i++) {
        const rdt_run *run = &sample->run[i];
        const size_t before = i == 0 ? GUARD_BYTES : 0;
        const size_t behind = i + 1 == sample->run_count ? GUARD_BYTES : 0;
        const size_t bytes = before + run->count * result + behind;
        rc = driver->memcpy_dtod_async(to, first + run->first * result - before, bytes, stream);
        to += bytes;
    }
    return rc;
}

redtune_status rdt_sample_gather(const rdt_sample *sample, const rdt_driver *driver,
                                 CUdeviceptr first, CUdeviceptr to, CUstream stream,
                                 redtune_error *err) {
    const redtune_problem *problem = &sample->problem;
    const uint64_t second = rdt_sample_second(rdt_problem_strided_results_reach(problem), problem);
    CUresult rc = CUDA_SUCCESS;
    for (int k = 0; !rc && k < (second ? 2 : 1); k++)
        rc = gather(sample, driver, redtune_dtype_bytes(rdt_compare_dtype(problem, k)),
                    first + (k ? second : 0), to + rdt_sample_gathered_at(sample, k) - GUARD_BYTES,
                    stream);
    return rdt_driver_check(driver, rc, err, "gather results");
}

/* ---- checking -------------------------------------------------------------------------------- */

static bool is_poison(const unsigned char *guard) {
    for (size_t i = 0; i < GUARD_BYTES; i++)
        if (guard[i] != RDT_TEST_BUFFERS_POISON) return false;
    return true;
}

/* "sum of 64 rows of 1000 f32", and the steps where these are not the usual ones. */
static void print_problem(const redtune_problem *problem, rdt_text *text) {
    const rdt_extents extents = rdt_problem_extents(problem);
    const rdt_extents usual =
        rdt_launch_complete((rdt_extents){.count = extents.count, .inner = extents.inner});
    char described[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(problem, described);
    rdt_text_add(text, described);
    if (extents.step != usual.step || (extents.outer > 1 && extents.outer_step != usual.outer_step))
        rdt_text_addf(text, ", steps %" PRIu64 " and %" PRIu64, extents.outer_step, extents.step);
}

static redtune_status fail_wrong(const rdt_sample *sample, const char *which, rdt_text *what,
                                 redtune_error *err) {
    rdt_text text = {0};
    print_problem(&sample->problem, &text);
    redtune_status status =
        rdt_fail(err, REDTUNE_WRONG, 0, "wrong result: %s%s: %s", text.data ? text.data : "", which,
                 what->data ? what->data : "");
    rdt_text_free(&text);
    rdt_text_free(what);
    return status;
}

/* The results of one output. */
static redtune_status check_output(const rdt_sample *sample, const char *which, int output,
                                   const unsigned char *at, const rdt_answer *expected,
                                   redtune_error *err) {
    const redtune_problem *problem = &sample->problem;
    const size_t bytes = redtune_dtype_bytes(rdt_compare_dtype(problem, output));
    const unsigned char *before = at - GUARD_BYTES;
    rdt_text what = {0};
    for (size_t i = 0; i < sample->count; i++, at += bytes) {
        redtune_value got = {.u64 = 0};
        memcpy(&got, at, bytes);
        if (rdt_compare_is_right(problem, output, &got, &expected[i].value[output])) continue;
        rdt_text_addf(&what, "result %" PRIu64 " ", rdt_sample_result(sample, i));
        rdt_compare_print(problem, output, &got, &expected[i].value[output], &what);
        return fail_wrong(sample, which, &what, err);
    }
    if (!is_poison(before))
        rdt_text_add(&what, "bytes before the first result are written, too");
    else if (!is_poison(at))
        rdt_text_add(&what, "bytes behind the last result are written, too");
    else
        return REDTUNE_OK;
    if (output) rdt_text_addf(&what, " (%s)", rdt_op_find(problem->op)->output[output].name);
    return fail_wrong(sample, which, &what, err);
}

redtune_status rdt_sample_check(const rdt_sample *sample, const char *which,
                                const unsigned char *const outputs[RDT_OP_OUTPUTS_MAX],
                                const rdt_answer *expected, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int k = 0; !status && k < rdt_op_find(sample->problem.op)->outputs; k++)
        status = check_output(sample, which, k, outputs[k], expected, err);
    return status;
}

redtune_status rdt_sample_check_gathered(const rdt_sample *sample, const char *which,
                                         const unsigned char *gathered, const rdt_answer *expected,
                                         redtune_error *err) {
    const unsigned char *const outputs[] = {gathered + rdt_sample_gathered_at(sample, 0),
                                            gathered + rdt_sample_gathered_at(sample, 1)};
    return rdt_sample_check(sample, which, outputs, expected, err);
}
