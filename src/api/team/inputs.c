/* Inputs: parts of one input that several GPUs of this process read and reduce at once. */
#include <inttypes.h>
#include <stdlib.h>
#include "api/host_inputs/input.h"
#include "api/team/share.h"

enum { GPUS_MAX = 64 };

/* A GPU and its part, on a thread of its own. */
typedef struct input_worker {
    redtune *rt;
    const redtune_problem *problem;
    const redtune_input *input;
    rdt_input_part part;
    redtune_status status;
    redtune_error err;
    pthread_t thread;
    bool threaded;
} input_worker;

static void *reduce_part(void *user) {
    input_worker *self = user;
    self->status =
        rdt_input_reduce_part(self->rt, self->problem, self->input, &self->part, &self->err);
    return NULL;
}

/* The last of them on this thread, as are those for which there can be no thread. */
static redtune_status reduce_parts(input_worker *workers, size_t count, redtune_error *err) {
    for (size_t i = 0; i < count; i++) {
        input_worker *self = &workers[i];
        self->threaded =
            i + 1 < count && !rdt_runtime_start_thread(reduce_part, self, &self->thread, NULL);
        if (!self->threaded) reduce_part(self);
    }
    for (size_t i = 0; i < count; i++)
        if (workers[i].threaded) pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < count; i++) {
        if (!workers[i].status) continue;
        if (err) *err = workers[i].err;
        return workers[i].status;
    }
    return REDTUNE_OK;
}

/* The time on the GPU is that of the slowest. */
static redtune_status join_workers(const input_worker *workers, size_t count, redtune_reading *out,
                                   redtune_error *err) {
    rdt_input_part parts[GPUS_MAX];
    redtune_problem problem;
    uint64_t counts[GPUS_MAX];
    double kernel_ns = 0;
    for (size_t i = 0; i < count; i++) {
        parts[i] = workers[i].part;
        counts[i] = parts[i].reading.count;
        if (parts[i].reading.kernel_ns > kernel_ns) kernel_ns = parts[i].reading.kernel_ns;
    }
    redtune_reading all;
    redtune_status status = rdt_problem_resolve(workers[0].problem, &problem, err);
    if (!status) status = rdt_share_check_parts(&problem, counts, count, err);
    if (!status)
        status = rdt_input_join_parts(workers[0].rt, &problem, workers[0].input, parts,
                                      (uint32_t)count, &all, err);
    if (status) return status;
    all.kernel_ns += kernel_ns;
    all.info = parts[0].reading.info;
    *out = all;
    return REDTUNE_OK;
}

redtune_status redtune_reduce_inputs(redtune *const *rts, const redtune_problem *problem,
                                     const redtune_input *inputs, size_t count,
                                     redtune_reading *out, redtune_error *err) {
    if (!rts || !problem || !inputs || !out || !count || count > GPUS_MAX)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce inputs: rts, problem, inputs or out is NULL, or they are "
                        "not 1 to %d",
                        GPUS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!rts[i] || !inputs[i].read)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot reduce inputs: rts[%zu] or inputs[%zu].read is NULL", i, i);
    redtune_problem room;
    problem = rdt_runtime_order(rts[0], problem, &room);
    input_worker *workers = calloc(count, sizeof *workers);
    if (!workers) return rdt_fail_memory(err, count * sizeof *workers);
    for (size_t i = 0; i < count; i++)
        workers[i] = (input_worker){.rt = rts[i], .problem = problem, .input = &inputs[i]};
    const double begun = rdt_clock_ns();
    redtune_status status = reduce_parts(workers, count, err);
    if (!status) status = join_workers(workers, count, out, err);
    if (!status) rdt_input_log(rts[0], __func__, problem, out, begun);
    free(workers);
    return status;
}
