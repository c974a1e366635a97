/* Turns: reductions timed in turns on a GPU, cold. */
#include "turns.h"

#include "model/scalar.h"
#include "model/strides.h"
#include "shaped.h"

enum { CALLS_MAX = 32, ALIGNMENT_BYTES = 256 };
static const double interval_ns = 60000;
/* What an H200 takes for a call, and for its bytes. */
static const double call_ns = 2200, bytes_per_ns = 4620;

static size_t round_up(size_t bytes) {
    return (bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
}

static size_t fewer(size_t a, size_t b) { return a < b ? a : b; }

/* ---- opening --------------------------------------------------------------------------------- */

redtune_status turns_fill(turns *self, redtune_dtype dtype, redtune_error *err) {
    const device *gpu = self->gpu;
    const size_t bytes = redtune_dtype_bytes(dtype);
    char period[TURNS_PERIOD * sizeof(redtune_value)];
    for (size_t i = 0; i < TURNS_PERIOD; i++) {
        const redtune_value value = rdt_scalar_from_real(dtype, turns_element(i));
        memcpy(period + i * bytes, value.bytes, bytes);
    }
    redtune_status status = rdt_buffer_write(gpu->driver, self->pool.address, period,
                                             TURNS_PERIOD * bytes, gpu->stream, err);
    return status ? status
                  : rdt_buffer_repeat(gpu->driver, self->pool.address, TURNS_PERIOD * bytes,
                                      self->pool.bytes, gpu->stream, err);
}

redtune_status turns_open(workshop *shop, turns_sizes size, turns *out, redtune_error *err) {
    const device *gpu = shop->gpu;
    if (device_is_simulated(gpu)) size = (turns_sizes){1 << 22, 1 << 22, 1 << 10};
    *out = (turns){.gpu = gpu, .size = size};
    redtune_problem all = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = size.flush_count);
    redtune_status status = rdt_problem_resolve(&all, &all, err);
    if (!status) status = rdt_buffer_create(gpu->driver, size.pool_bytes, &out->pool, err);
    if (!status) status = rdt_buffer_create(gpu->driver, size.outputs_bytes, &out->outputs, err);
    if (!status) status = turns_fill(out, REDTUNE_F32, err);
    if (!status) status = rdt_timer_create(gpu->driver, &out->timer, err);
    if (!status) status = subject_open(shop, &all, NULL, &out->flush, err);
    return status;
}

void turns_close(turns *self) {
    subject_close(&self->flush);
    rdt_timer_destroy(&self->timer);
    rdt_buffer_destroy(&self->pool);
    rdt_buffer_destroy(&self->outputs);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* From its first to its last element, with what lies before. */
static size_t input_bytes(const turns_call *call) {
    const redtune_problem *of = &call->problem;
    const uint64_t reach = rdt_problem_is_strided(of)
                               ? rdt_strides_reach(of, REDTUNE_ARRAY_X).elements
                               : rdt_problem_reach(of);
    return (size_t)(reach + call->offset) * redtune_dtype_bytes(call->problem.dtype);
}

/* Of the first results, and of both. */
static size_t first_bytes(const redtune_problem *problem) {
    return (size_t)rdt_problem_results(problem) * redtune_dtype_bytes(problem->result);
}

static size_t result_bytes(const turns_call *call) {
    const redtune_problem *at = &call->problem;
    const size_t first = first_bytes(at), second = redtune_dtype_bytes(rdt_problem_second(at));
    return second ? round_up(first) + (size_t)rdt_problem_results(at) * second : first;
}

static size_t calls_that_fit(const turns *self, const turns_call *call) {
    const size_t room = self->size.pool_bytes - self->size.flush_count * sizeof(float);
    return fewer(room / round_up(input_bytes(call)),
                 self->size.outputs_bytes / round_up(result_bytes(call)));
}

static redtune_status check_room(const turns *self, const turns_call *call, redtune_error *err) {
    if (calls_that_fit(self, call)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "there is no room for an input of %zu bytes",
                    input_bytes(call));
}

/* They last long against the timer's resolution. */
static size_t choose_calls(const turns *self, const turns_call *call, double floor_ns) {
    if (floor_ns <= 0)
        floor_ns = call_ns + (double)(input_bytes(call) + result_bytes(call)) / bytes_per_ns;
    return fewer(fewer(calls_that_fit(self, call), CALLS_MAX),
                 (size_t)(interval_ns / floor_ns) + 1);
}

static redtune_status record(const turns *self, const turns_call *call, size_t calls,
                             rdt_graph **out, redtune_error *err) {
    const device *gpu = self->gpu;
    const size_t element = redtune_dtype_bytes(call->problem.dtype);
    const size_t stride = round_up(input_bytes(call)), apart = round_up(result_bytes(call));
    const CUdeviceptr first = self->pool.address + call->offset * element;
    redtune_status status = rdt_graph_begin(gpu->driver, gpu->stream, err);
    if (status) return status;
    for (size_t i = 0; !status && i < calls; i++)
        status = call->queue(call->user, first + i * stride, self->outputs.address + i * apart,
                             i > 0, err);
    if (!status) return rdt_graph_end(gpu->driver, gpu->stream, out, err);
    rdt_graph_abandon(gpu->driver, gpu->stream);
    return status;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static redtune_status sample(const turns *self, const rdt_graph *graph, double *elapsed_ns,
                             redtune_error *err) {
    const device *gpu = self->gpu;
    const rdt_operands read = {
        .input =
            self->pool.address + self->size.pool_bytes - self->size.flush_count * sizeof(float),
        .extents = rdt_problem_extents(&self->flush.problem),
        .output = self->flush.output.address,
        .scratch = self->flush.scratch.address,
    };
    redtune_status status =
        rdt_kernel_start(self->flush.kernel, &self->flush.launch, &read, gpu->stream, err);
    if (!status) status = rdt_timer_start(&self->timer, gpu->stream, err);
    if (!status) status = rdt_graph_replay(graph, gpu->stream, err);
    if (!status) status = rdt_timer_stop(&self->timer, gpu->stream, err);
    return status ? status : rdt_timer_read(&self->timer, elapsed_ns, err);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

redtune_status turns_time(turns *self, const turns_call *calls, size_t count, int samples,
                          double floor_ns, double *median_ns, redtune_error *err) {
    double taken[TURNS_MAX][TURNS_SAMPLES_MAX], ignored;
    rdt_graph *graph[TURNS_MAX] = {NULL};
    size_t each[TURNS_MAX];
    redtune_status status = REDTUNE_OK;
    for (size_t k = 0; !status && k < count; k++) {
        status = check_room(self, &calls[k], err);
        if (status) break;
        each[k] = choose_calls(self, &calls[k], floor_ns);
        status = record(self, &calls[k], each[k], &graph[k], err);
        /* The first replay pays for uploading the graph. */
        if (!status) status = sample(self, graph[k], &ignored, err);
    }
    for (int i = 0; !status && i < samples; i++)
        for (size_t k = 0; !status && k < count; k++)
            status = sample(self, graph[k], &taken[k][i], err);
    for (size_t k = 0; !status && k < count; k++) {
        qsort(taken[k], (size_t)samples, sizeof *taken[k], by_size);
        median_ns[k] = taken[k][samples / 2] / (double)each[k];
    }
    for (size_t k = 0; k < count; k++) rdt_graph_destroy(graph[k]);
    return status;
}

/* ---- plans ----------------------------------------------------------------------------------- */

redtune_status turns_run_plan(void *user, CUdeviceptr input, CUdeviceptr output, bool chained,
                              redtune_error *err) {
    const turns_plan *self = user;
    redtune_operands operands = redtune_problem_operands(&self->problem);
    void *second = self->second_at ? (void *)(uintptr_t)(output + self->second_at) : NULL;
    operands.d_in[0] = (const void *)(uintptr_t)input;
    operands.d_out[0] = (void *)(uintptr_t)output;
    operands.d_out[1] = second;
    (void)chained; /* a plan sees so itself */
    return redtune_plan_run(self->plan, &operands, self->stream, err);
}

redtune_status turns_call_plan(const turns *self, redtune *rt, const redtune_problem *problem,
                               turns_plan *plan, turns_call *call, redtune_error *err) {
    *plan = (turns_plan){.problem = *problem, .stream = self->gpu->stream};
    *call = (turns_call){.queue = turns_run_plan, .user = plan};
    redtune_status status = rdt_problem_resolve(problem, &call->problem, err);
    if (!status) status = check_room(self, call, err);
    if (!status && rdt_problem_second(&call->problem))
        plan->second_at = round_up(first_bytes(&call->problem));
    if (!status) status = redtune_plan_create(rt, problem, &plan->plan, err);
    /* Scratch is allocated, and the kernel loaded, by a first call outside any capture. */
    if (!status)
        status = turns_run_plan(plan, self->pool.address, self->outputs.address, false, err);
    return status;
}
