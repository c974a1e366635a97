/* Test buffers: the GPU memory, stream and timer with which the kernels of one problem class are
 * verified and timed. */
#include "tuner/measure/test_buffers.h"

#include <math.h>
#include <stdlib.h>
#include "model/launch.h"
#include "model/scalar.h"
#include "gpu/stream.h"
#include "gpu/timer.h"
#include "tuner/measure/axis.h"
#include "tuner/measure/gathered.h"
#include "tuner/measure/sample.h"
#include "tuner/measure/segment_table.h"

enum {
    SPARE_ELEMENTS = 4096,      /* behind count_max, for offsets */
    POOL_BYTES_MIN = 32 << 20,  /* so that small inputs can be rotated, where the bus is unknown */
    FREE_BYTES_MIN = 256 << 20, /* left to others */
    FLUSH_BYTES_UNKNOWN = 8 << 20, /* of an L2 of unknown size */
};

#define SCRATCHES_BYTES ((size_t)RDT_TEST_BUFFERS_SCRATCHES * RDT_SCRATCH_BYTES)

static size_t flush_bytes(const rdt_facts *facts) {
    size_t l2 = facts->l2_bytes;
    return l2 ? 2 * l2 : FLUSH_BYTES_UNKNOWN;
}

static bool has_one_result(const redtune_problem *problem) {
    return rdt_problem_layout(problem) == RDT_LAYOUT_WHOLE;
}

static uint64_t inputs_of(const redtune_problem *problem) {
    return (uint64_t)rdt_op_find(problem->op)->inputs;
}

static int count_deciders(const redtune_problem *problem) {
    const redtune_value one = rdt_test_data_decider(problem);
    const redtune_value other = rdt_test_data_other_decider(problem);
    return rdt_scalar_same(problem->dtype, &one, &other) ? 1 : RDT_TEST_DATA_DECIDERS;
}

/* Elements of an alignment. */
static uint64_t alignments_of(const redtune_problem *problem) {
    return RDT_ALIGNMENT_MAX / redtune_dtype_bytes(problem->dtype);
}

/* Bytes at most of the periods that a second input has more than the first, in both pools. */
static uint64_t repeated_bytes(const redtune_problem *problem) {
    const uint64_t pools = 2, periods = alignments_of(problem) - 1;
    if (inputs_of(problem) == 1) return 0;
    return pools * periods * RDT_JUDGE_PERIOD_MAX * redtune_dtype_bytes(problem->dtype);
}

static uint64_t samples_bytes(const redtune_problem *problem) {
    return rdt_op_find(problem->op)->outputs * (uint64_t)RDT_TEST_BUFFERS_SAMPLES_BYTES;
}

/* Bytes beside test data and, of rows and columns, results. */
static uint64_t fixed_bytes(const rdt_facts *facts, const redtune_problem *problem) {
    const uint64_t all =
        flush_bytes(facts) + SCRATCHES_BYTES + rdt_judge_bytes(problem) + repeated_bytes(problem);
    const uint64_t inputs = inputs_of(problem);
    if (has_one_result(problem)) {
        const uint64_t hots = (uint64_t)count_deciders(problem) + inputs - 1;
        return all + hots * rdt_one_hot_bytes(problem->dtype, RDT_TEST_BUFFERS_HOT_BYTES);
    }
    return all + rdt_axis_bytes(problem) + rdt_gathered_bytes(problem) +
           inputs * RDT_TEST_BUFFERS_STAGE_BYTES + samples_bytes(problem);
}

/* Bytes of outputs of rows and columns: the domain's results, or those of many small shapes. */
static uint64_t results_bytes(const redtune_problem *problem, uint64_t results) {
    const uint64_t bytes = rdt_sample_output_bytes(results, problem);
    const uint64_t least =
        rdt_op_find(problem->op)->outputs * (uint64_t)RDT_TEST_BUFFERS_STAGE_BYTES;
    if (has_one_result(problem)) return 0;
    return bytes > least ? bytes : least;
}

/* Elements of test data that fit into so much memory beside all else. */
static uint64_t room_for_data(const rdt_facts *facts, uint64_t bytes,
                              const redtune_problem *problem, uint64_t results) {
    const uint64_t other = fixed_bytes(facts, problem) + results_bytes(problem, results);
    return bytes > other ? (bytes - other) / rdt_problem_input_bytes(problem) : 0;
}

uint64_t rdt_test_buffers_bytes(const rdt_facts *facts, const redtune_problem *problem) {
    const uint64_t longest = rdt_problem_segments_longest(problem);
    const uint64_t pools = longest > rdt_test_data_dense_max(problem) ? 2 : 1;
    const uint64_t elements = pools * (rdt_problem_reach(problem) + SPARE_ELEMENTS);
    return fixed_bytes(facts, problem) +
           results_bytes(problem, rdt_problem_strided_results_reach(problem)) +
           rdt_segment_table_bytes(problem) + elements * rdt_problem_input_bytes(problem);
}

uint64_t rdt_test_buffers_count_within(const rdt_facts *facts, uint64_t bytes,
                                       const redtune_problem *problem) {
    const redtune_problem whole = {
        .op = problem->op, .dtype = problem->dtype, .result = problem->result};
    uint64_t room = room_for_data(facts, bytes, &whole, 1);
    uint64_t largest = room > SPARE_ELEMENTS ? room - SPARE_ELEMENTS : 0;
    if (largest > rdt_test_data_dense_max(problem))
        largest = room / 2 - SPARE_ELEMENTS; /* two pools */
    return largest;
}

bool rdt_test_buffers_fit(const rdt_facts *facts, uint64_t free_bytes,
                          const redtune_problem *problem) {
    return free_bytes >= FREE_BYTES_MIN &&
           rdt_test_buffers_bytes(facts, problem) <= free_bytes - FREE_BYTES_MIN;
}

uint64_t rdt_test_buffers_count_max(const rdt_facts *facts, uint64_t free_bytes,
                                    const redtune_problem *problem) {
    uint64_t bytes = free_bytes > FREE_BYTES_MIN ? free_bytes - FREE_BYTES_MIN : 0;
    return rdt_test_buffers_count_within(facts, bytes, problem);
}

/* A prime, as rdt_axis wants it, that is no longer than what there is. */
static uint64_t choose_period(const rdt_pool *pool) {
    static const uint32_t primes[] = {1048573, 524287, 131071, 65521, 16381, 4093, 0};
    const uint32_t *prime = primes;
    while (*prime > pool->data->period || *prime > pool->count) prime++;
    return *prime;
}

/* Makes a buffer of count elements, which repeat the first ones. */
static redtune_status fill_input(const rdt_test_buffers *buffers, const void *elements,
                                 uint64_t first, uint64_t count, rdt_buffer *out,
                                 redtune_error *err) {
    const size_t element = redtune_dtype_bytes(buffers->dtype);
    redtune_status status = rdt_buffer_create(buffers->driver, count * element, out, err);
    if (!status)
        status = rdt_buffer_write(buffers->driver, out->address, elements, first * element,
                                  buffers->stream, err);
    return status ? status
                  : rdt_buffer_repeat(buffers->driver, out->address, first * element,
                                      count * element, buffers->stream, err);
}

/* Fills the pool from the first element on, so that pattern offsets are buffer offsets. */
static redtune_status fill_pool(rdt_test_buffers *buffers, rdt_pool *pool, uint64_t exact,
                                uint64_t count, redtune_error *err) {
    pool->count = count;
    redtune_status status = rdt_test_data_create(&buffers->problem, exact, &pool->data, err);
    if (status) return status;
    if (!buffers->is_whole || buffers->inputs > 1) pool->data->period = choose_period(pool);
    const uint64_t period = pool->data->period < count ? pool->data->period : count;
    status = fill_input(buffers, pool->data->elements, period, count, &pool->buffer, err);
    if (!status && buffers->inputs > 1)
        status = fill_input(buffers, pool->data->second, period,
                            count + (buffers->alignments - 1) * period, &pool->second, err);
    return status ? status
                  : rdt_judge_prepare(buffers->judge, pool->buffer.address, pool->second.address,
                                      period, &pool->judged, err);
}

static void empty(rdt_pool *pool) {
    rdt_judge_forget(&pool->judged);
    rdt_test_data_destroy(pool->data);
    rdt_buffer_destroy(&pool->buffer);
    rdt_buffer_destroy(&pool->second);
}

/* The bytes that the GPU can read in a timed interval: no call of it reads anything twice. */
static uint64_t rotated_elements(const rdt_test_buffers *buffers) {
    double peak = rdt_facts_peak_gbps(&buffers->context->facts); /* bytes per ns */
    double bytes = peak > 0 ? RDT_TEST_BUFFERS_INTERVAL_NS * peak : (double)POOL_BYTES_MIN;
    return (uint64_t)bytes / rdt_problem_input_bytes(&buffers->problem);
}

/* Elements of the dense pool, beside the spare ones: as many inputs as can be told apart. */
static uint64_t dense_elements(const rdt_test_buffers *buffers, const rdt_domain *domain,
                               uint64_t bytes) {
    const uint64_t reach = domain->reach;
    uint64_t elements = rotated_elements(buffers), all = RDT_TEST_BUFFERS_CALLS_MAX * reach;
    if (elements > all) elements = all;
    if (bytes) {
        uint64_t room =
            room_for_data(&buffers->context->facts, bytes, &buffers->problem, domain->results);
        uint64_t others = SPARE_ELEMENTS; /* and those of the sparse pool, if there is one */
        if (domain->count > rdt_test_data_dense_max(&buffers->problem))
            others += reach + SPARE_ELEMENTS;
        room = room > others ? room - others : 0;
        if (elements > room) elements = room;
    }
    return elements > reach ? elements : reach;
}

static redtune_status fill_pools(rdt_test_buffers *buffers, const rdt_domain *domain,
                                 uint64_t bytes, redtune_error *err) {
    const uint64_t dense_exact = rdt_test_data_dense_max(&buffers->problem);
    const uint64_t elements = dense_elements(buffers, domain, bytes);
    /* Elements of one result: all, or those of the longest shape, which may be a small one. */
    uint64_t exact = elements;
    if (!buffers->is_whole) {
        exact = RDT_TEST_BUFFERS_STAGE_BYTES / redtune_dtype_bytes(buffers->dtype);
        if (exact < domain->count) exact = domain->count;
    }
    redtune_status status = fill_pool(buffers, &buffers->dense,
                                      exact < dense_exact ? exact + SPARE_ELEMENTS : dense_exact,
                                      elements + SPARE_ELEMENTS, err);
    if (!status && domain->count > dense_exact)
        status = fill_pool(buffers, &buffers->sparse, domain->count + SPARE_ELEMENTS,
                           domain->reach + SPARE_ELEMENTS, err);
    return status;
}

static redtune_status create_zeroed(const rdt_test_buffers *buffers, size_t bytes, rdt_buffer *out,
                                    redtune_error *err) {
    redtune_status status = rdt_buffer_create(buffers->driver, bytes, out, err);
    if (status) return status;
    CUresult rc = buffers->driver->memset_d8_async(out->address, 0, bytes, buffers->stream);
    return rdt_driver_check(buffers->driver, rc, err, "clear a test buffer");
}

static redtune_status open_output(rdt_test_buffers *buffers, redtune_error *err) {
    enum { RESULTS_BYTES = RDT_TEST_BUFFERS_OUTPUTS * RDT_TEST_BUFFERS_OUTPUT_BYTES };
    const size_t element = redtune_dtype_bytes(buffers->dtype);
    redtune_status status =
        rdt_buffer_create(buffers->driver, RESULTS_BYTES + 48, &buffers->output, err);
    for (size_t i = 0; !status && i < RDT_TEST_DATA_DECIDERS; i++) {
        buffers->decider[i] = buffers->output.address + RESULTS_BYTES + 16 * (i + 1);
        status = rdt_buffer_write(buffers->driver, buffers->decider[i], &buffers->deciding[i],
                                  element, buffers->stream, err);
    }
    if (status || !rdt_scalar_is_float(buffers->dtype)) return status;
    redtune_value nan = rdt_scalar_from_real(buffers->dtype, (double)NAN);
    buffers->nan = buffers->output.address + RESULTS_BYTES;
    return rdt_buffer_write(buffers->driver, buffers->nan, &nan, element, buffers->stream, err);
}

/* What is opposite to a window of either input, from any alignment on. */
static redtune_status open_opposite(rdt_test_buffers *buffers, redtune_error *err) {
    const redtune_value opposite = rdt_test_data_opposite(&buffers->problem);
    const uint64_t window = buffers->one_hot[0].window;
    const CUdeviceptr hot = buffers->one_hot[0].buffer.address;
    redtune_status status =
        fill_input(buffers, &opposite, 1, window + buffers->alignments, &buffers->opposite, err);
    if (!status)
        status = rdt_judge_prepare(buffers->judge, hot, buffers->opposite.address, window,
                                   &buffers->neutral[0], err);
    return status ? status
                  : rdt_judge_prepare(buffers->judge, buffers->opposite.address, hot, window,
                                      &buffers->neutral[1], err);
}

static redtune_status open_hot(rdt_test_buffers *buffers, redtune_error *err) {
    const redtune_value neutral = rdt_test_data_neutral(&buffers->problem);
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < buffers->deciders; i++) {
        rdt_one_hot *one_hot = &buffers->one_hot[i];
        status = rdt_one_hot_create(buffers->driver, buffers->dtype, RDT_TEST_BUFFERS_HOT_BYTES,
                                    one_hot, err);
        if (!status)
            status =
                rdt_one_hot_fill(one_hot, &neutral, &buffers->deciding[i], buffers->stream, err);
    }
    if (status) return status;
    if (buffers->inputs > 1) return open_opposite(buffers, err);
    /* A window lies before the first decider. */
    return rdt_judge_prepare(buffers->judge, buffers->one_hot[0].buffer.address, 0,
                             buffers->one_hot[0].window, &buffers->neutral[0], err);
}

/* One call's output; where memory has no limit, those of more calls if they are small. */
static redtune_status open_results(rdt_test_buffers *buffers, const rdt_domain *domain,
                                   uint64_t bytes, redtune_error *err) {
    uint64_t all = results_bytes(&buffers->problem, domain->results);
    if (!bytes && all < RDT_TEST_BUFFERS_ROTATED_BYTES) all = RDT_TEST_BUFFERS_ROTATED_BYTES;
    redtune_status status = rdt_buffer_create(buffers->driver, all, &buffers->results, err);
    /* A wrong kernel may read behind what is staged. */
    for (int i = 0; !status && i < buffers->inputs; i++)
        status = create_zeroed(buffers, RDT_TEST_BUFFERS_STAGE_BYTES, &buffers->stage[i], err);
    return status ? status
                  : rdt_buffer_create(buffers->driver, samples_bytes(&buffers->problem),
                                      &buffers->samples, err);
}

/* It is asked about the elements that are there. */
static redtune_status open_judge(rdt_test_buffers *buffers, const rdt_maker *maker,
                                 redtune_error *err) {
    redtune_problem without = buffers->problem;
    without.mask = REDTUNE_MASK_NONE;
    return rdt_judge_open(buffers->context, &without, maker, buffers->stream, &buffers->judge, err);
}

static redtune_status open_mask(rdt_test_buffers *buffers, redtune_error *err) {
    const uint64_t dense = buffers->dense.count, sparse = buffers->sparse.count;
    return rdt_test_mask_open(buffers->driver, buffers->stream, buffers->problem.mask,
                              dense > sparse ? dense : sparse, &buffers->mask, err);
}

redtune_status rdt_test_buffers_open(const rdt_context *context, const rdt_domain *domain,
                                     uint64_t bytes, const rdt_maker *maker, rdt_test_buffers **out,
                                     redtune_error *err) {
    rdt_test_buffers *buffers = calloc(1, sizeof *buffers);
    if (!buffers) return rdt_fail_memory(err, sizeof *buffers);
    buffers->context = context;
    buffers->driver = context->driver;
    buffers->problem = domain->problem;
    buffers->dtype = domain->problem.dtype;
    buffers->is_whole = has_one_result(&domain->problem);
    buffers->inputs = (int)inputs_of(&domain->problem);
    buffers->deciders = count_deciders(&domain->problem);
    buffers->deciding[0] = rdt_test_data_decider(&domain->problem);
    buffers->deciding[1] = rdt_test_data_other_decider(&domain->problem);
    buffers->alignments = alignments_of(&domain->problem);
    redtune_status status = rdt_stream_create(buffers->driver, &buffers->stream, err);
    if (!status) status = open_judge(buffers, maker, err);
    if (!status) status = rdt_timer_create(buffers->driver, &buffers->timer, err);
    if (!status)
        status = create_zeroed(buffers, flush_bytes(&context->facts), &buffers->flush, err);
    if (!status) status = open_output(buffers, err);
    if (!status) status = create_zeroed(buffers, SCRATCHES_BYTES, &buffers->scratch, err);
    if (!status) status = fill_pools(buffers, domain, bytes, err);
    if (!status && buffers->problem.mask) status = open_mask(buffers, err);
    if (!status)
        status =
            buffers->is_whole ? open_hot(buffers, err) : open_results(buffers, domain, bytes, err);
    if (!status) status = rdt_stream_wait(buffers->driver, buffers->stream, err);
    if (status)
        rdt_test_buffers_close(buffers);
    else
        *out = buffers;
    return status;
}

CUdeviceptr rdt_test_buffers_second(const rdt_test_buffers *buffers, const rdt_pool *pool,
                                    uint64_t first, uint64_t periods) {
    const uint64_t element = first + periods % buffers->alignments * pool->judged.period;
    if (buffers->inputs == 1) return 0;
    return pool->second.address + element * redtune_dtype_bytes(buffers->dtype);
}

rdt_given rdt_test_buffers_given(const rdt_test_buffers *buffers, CUdeviceptr second,
                                 CUdeviceptr second_output) {
    rdt_given given = buffers->judge->given; /* parameters */
    given.input = second;
    given.output = rdt_problem_second(&buffers->problem) ? second_output : 0;
    return given;
}

redtune_status rdt_test_buffers_poison(const rdt_test_buffers *buffers, CUdeviceptr outputs,
                                       size_t bytes, redtune_error *err) {
    CUresult rc =
        buffers->driver->memset_d8_async(outputs, RDT_TEST_BUFFERS_POISON, bytes, buffers->stream);
    return rdt_driver_check(buffers->driver, rc, err, "clear the results");
}

void rdt_test_buffers_clean_scratch(const rdt_test_buffers *buffers) {
    buffers->driver->memset_d8_async(buffers->scratch.address, 0, buffers->scratch.bytes,
                                     buffers->stream);
}

redtune_status rdt_test_buffers_copy_element(const rdt_test_buffers *buffers, CUdeviceptr to,
                                             CUdeviceptr from, redtune_error *err) {
    CUresult rc = buffers->driver->memcpy_dtod_async(to, from, redtune_dtype_bytes(buffers->dtype),
                                                     buffers->stream);
    return rdt_driver_check(buffers->driver, rc, err, "place a test element");
}

redtune_status rdt_test_buffers_clear_timed(rdt_test_buffers *buffers, size_t outputs,
                                            redtune_error *err) {
    const size_t bytes = outputs * RDT_TEST_BUFFERS_OUTPUT_BYTES;
    redtune_status status = REDTUNE_OK;
    if (buffers->timed.bytes < bytes) {
        rdt_buffer_destroy(&buffers->timed);
        status = rdt_buffer_create(buffers->driver, bytes, &buffers->timed, err);
    }
    if (status || !bytes) return status;
    return rdt_test_buffers_poison(buffers, buffers->timed.address, bytes, err);
}

void rdt_test_buffers_close(rdt_test_buffers *buffers) {
    if (!buffers) return;
    empty(&buffers->dense);
    empty(&buffers->sparse);
    for (int i = 0; i < RDT_OP_INPUTS_MAX; i++) {
        rdt_judge_forget(&buffers->neutral[i]);
        rdt_buffer_destroy(&buffers->stage[i]);
    }
    for (int i = 0; i < RDT_TEST_DATA_DECIDERS; i++) rdt_one_hot_destroy(&buffers->one_hot[i]);
    rdt_buffer_destroy(&buffers->opposite);
    rdt_test_mask_close(&buffers->mask);
    rdt_judge_close(buffers->judge);
    rdt_buffer_destroy(&buffers->results);
    rdt_buffer_destroy(&buffers->samples);
    rdt_buffer_destroy(&buffers->flush);
    rdt_buffer_destroy(&buffers->output);
    rdt_buffer_destroy(&buffers->timed);
    rdt_buffer_destroy(&buffers->scratch);
    rdt_timer_destroy(&buffers->timer);
    rdt_stream_destroy(buffers->driver, buffers->stream);
    free(buffers);
}
