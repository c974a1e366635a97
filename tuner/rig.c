/* Rig: the GPU memory, stream and timer with which the kernels of one problem class are verified
 * and timed. */
#include "tuner/rig.h"

#include <math.h>
#include <stdlib.h>
#include "model/launch.h"
#include "model/scalar.h"

enum {
    SPARE_ELEMENTS = 4096,      /* behind count_max, for offsets */
    POOL_BYTES_MIN = 32 << 20,  /* so that small inputs can be rotated, where the bus is unknown */
    FREE_BYTES_MIN = 256 << 20, /* left to others */
    FLUSH_BYTES_UNKNOWN = 8 << 20, /* of an L2 of unknown size */
};

#define SCRATCHES_BYTES ((size_t)RDT_RIG_SCRATCHES * RDT_SCRATCH_BYTES)

static size_t flush_bytes(const rdt_facts *facts) {
    size_t l2 = facts->l2_bytes;
    return l2 ? 2 * l2 : FLUSH_BYTES_UNKNOWN;
}

redtune_status rdt_rig_free_bytes(const rdt_context *context, uint64_t *bytes, redtune_error *err) {
    size_t free_bytes = 0, total_bytes = 0;
    CUresult rc = context->driver->mem_get_info(&free_bytes, &total_bytes);
    if (rc) return rdt_driver_check(context->driver, rc, err, "ask for free device memory");
    *bytes = free_bytes;
    return REDTUNE_OK;
}

/* What it takes beside the test data. */
static uint64_t fixed_bytes(const rdt_facts *facts, redtune_dtype dtype) {
    return flush_bytes(facts) + SCRATCHES_BYTES + rdt_hot_bytes(dtype, RDT_RIG_HOT_BYTES);
}

uint64_t rdt_rig_count_within(const rdt_facts *facts, uint64_t bytes,
                              const redtune_problem *problem) {
    uint64_t fixed = fixed_bytes(facts, problem->dtype);
    uint64_t room = bytes > fixed ? (bytes - fixed) / redtune_dtype_bytes(problem->dtype) : 0;
    uint64_t largest = room > SPARE_ELEMENTS ? room - SPARE_ELEMENTS : 0;
    if (largest > rdt_pattern_dense_max(problem))
        largest = room / 2 - SPARE_ELEMENTS; /* two pools */
    return largest;
}

uint64_t rdt_rig_count_max(const rdt_facts *facts, uint64_t free_bytes,
                           const redtune_problem *problem) {
    uint64_t bytes = free_bytes > FREE_BYTES_MIN ? free_bytes - FREE_BYTES_MIN : 0;
    return rdt_rig_count_within(facts, bytes, problem);
}

/* Fills the pool from the first element on, so that pattern offsets are buffer offsets. */
static redtune_status fill(rdt_rig *rig, rdt_pool *pool, uint64_t exact, uint64_t count,
                           redtune_error *err) {
    size_t element = redtune_dtype_bytes(rig->dtype);
    pool->count = count;
    redtune_status status = rdt_pattern_create(&rig->problem, exact, &pool->pattern, err);
    if (!status) status = rdt_buffer_create(rig->driver, count * element, &pool->buffer, err);
    if (status) return status;
    uint64_t first = pool->pattern->period < count ? pool->pattern->period : count;
    status = rdt_buffer_write(rig->driver, pool->buffer.address, pool->pattern->elements,
                              first * element, rig->stream, err);
    if (!status)
        status = rdt_buffer_repeat(rig->driver, pool->buffer.address, first * element,
                                   count * element, rig->stream, err);
    return status;
}

static void empty(rdt_pool *pool) {
    rdt_pattern_destroy(pool->pattern);
    rdt_buffer_destroy(&pool->buffer);
}

/* What the GPU can read in a timed interval, so that no call of it needs to read anything twice. */
static uint64_t rotated_elements(const rdt_rig *rig) {
    double peak = rdt_facts_peak_gbps(&rig->context->facts); /* bytes per ns */
    double bytes = peak > 0 ? RDT_RIG_INTERVAL_NS * peak : (double)POOL_BYTES_MIN;
    return (uint64_t)bytes / redtune_dtype_bytes(rig->dtype);
}

/* Elements of the dense pool, beside the spare ones: as many inputs as can be told apart. */
static uint64_t dense_elements(const rdt_rig *rig, uint64_t count_max, uint64_t bytes) {
    uint64_t elements = rotated_elements(rig), all = RDT_RIG_CALLS_MAX * count_max;
    if (elements > all) elements = all;
    if (bytes) {
        uint64_t taken = fixed_bytes(&rig->context->facts, rig->dtype);
        uint64_t room = bytes > taken ? (bytes - taken) / redtune_dtype_bytes(rig->dtype) : 0;
        uint64_t others = SPARE_ELEMENTS; /* and those of the sparse pool, if there is one */
        if (count_max > rdt_pattern_dense_max(&rig->problem)) others += count_max + SPARE_ELEMENTS;
        room = room > others ? room - others : 0;
        if (elements > room) elements = room;
    }
    return elements > count_max ? elements : count_max;
}

static redtune_status fill_pools(rdt_rig *rig, uint64_t count_max, uint64_t bytes,
                                 redtune_error *err) {
    uint64_t dense_exact = rdt_pattern_dense_max(&rig->problem);
    uint64_t elements = dense_elements(rig, count_max, bytes);
    redtune_status status =
        fill(rig, &rig->dense, elements < dense_exact ? elements + SPARE_ELEMENTS : dense_exact,
             elements + SPARE_ELEMENTS, err);
    if (!status && count_max > dense_exact)
        status =
            fill(rig, &rig->sparse, count_max + SPARE_ELEMENTS, count_max + SPARE_ELEMENTS, err);
    return status;
}

static redtune_status open_output(rdt_rig *rig, redtune_error *err) {
    enum { RESULTS_BYTES = RDT_RIG_OUTPUTS * RDT_RIG_OUTPUT_BYTES };
    redtune_status status = rdt_buffer_create(rig->driver, RESULTS_BYTES + 16, &rig->output, err);
    if (status || !rdt_scalar_is_float(rig->dtype)) return status;
    redtune_value nan = rdt_scalar_from_real(rig->dtype, (double)NAN);
    rig->nan = rig->output.address + RESULTS_BYTES;
    return rdt_buffer_write(rig->driver, rig->nan, &nan, redtune_dtype_bytes(rig->dtype),
                            rig->stream, err);
}

static redtune_status open_hot(rdt_rig *rig, redtune_error *err) {
    redtune_value neutral = rdt_pattern_neutral(&rig->problem);
    redtune_value decider = rdt_pattern_decider(&rig->problem);
    redtune_status status =
        rdt_hot_create(rig->driver, rig->dtype, RDT_RIG_HOT_BYTES, &rig->hot, err);
    return status ? status : rdt_hot_fill(&rig->hot, &neutral, &decider, rig->stream, err);
}

redtune_status rdt_rig_open(const rdt_context *context, const redtune_problem *problem,
                            uint64_t bytes, rdt_rig **out, redtune_error *err) {
    rdt_rig *rig = calloc(1, sizeof *rig);
    if (!rig) return rdt_fail_memory(err, sizeof *rig);
    rig->context = context;
    rig->driver = context->driver;
    rig->problem = *problem;
    rig->dtype = problem->dtype;
    redtune_status status = rdt_stream_create(rig->driver, &rig->stream, err);
    if (!status) status = rdt_timer_create(rig->driver, &rig->timer, err);
    if (!status)
        status = rdt_buffer_create(rig->driver, flush_bytes(&context->facts), &rig->flush, err);
    if (!status) status = open_output(rig, err);
    if (!status) status = rdt_buffer_create(rig->driver, SCRATCHES_BYTES, &rig->scratch, err);
    if (!status) status = fill_pools(rig, problem->count, bytes, err);
    if (!status) status = open_hot(rig, err);
    if (!status) {
        CUresult rc =
            rig->driver->memset_d8_async(rig->scratch.address, 0, rig->scratch.bytes, rig->stream);
        if (!rc)
            rc = rig->driver->memset_d8_async(rig->flush.address, 0, rig->flush.bytes, rig->stream);
        status = rdt_driver_check(rig->driver, rc, err, "clear the scratch");
    }
    if (!status) status = rdt_stream_wait(rig->driver, rig->stream, err);
    if (status) {
        rdt_rig_close(rig);
        return status;
    }
    *out = rig;
    return REDTUNE_OK;
}

redtune_status rdt_rig_clear_timed(rdt_rig *rig, size_t outputs, redtune_error *err) {
    const size_t bytes = outputs * RDT_RIG_OUTPUT_BYTES;
    redtune_status status = REDTUNE_OK;
    if (rig->timed.bytes < bytes) {
        rdt_buffer_destroy(&rig->timed);
        status = rdt_buffer_create(rig->driver, bytes, &rig->timed, err);
    }
    if (status || !bytes) return status;
    CUresult rc =
        rig->driver->memset_d8_async(rig->timed.address, RDT_RIG_POISON, bytes, rig->stream);
    return rdt_driver_check(rig->driver, rc, err, "clear the results");
}

void rdt_rig_close(rdt_rig *rig) {
    if (!rig) return;
    empty(&rig->dense);
    empty(&rig->sparse);
    rdt_hot_destroy(&rig->hot);
    rdt_buffer_destroy(&rig->flush);
    rdt_buffer_destroy(&rig->output);
    rdt_buffer_destroy(&rig->timed);
    rdt_buffer_destroy(&rig->scratch);
    rdt_timer_destroy(&rig->timer);
    rdt_stream_destroy(rig->driver, rig->stream);
    free(rig);
}
