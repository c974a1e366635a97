/* Late: work that is run late (REDTUNE_SIM_LATE): each stream has a queue, and when a call comes
 * that waits, copies or records, the streams take turns, a piece of work each, the stream that
 * came last first. The order is one that CUDA allows, and none that a program may count on. */
#include "driver/state.h"

#include <stdlib.h>

typedef struct late_work {
    struct late_work *next;
    sim_work work;
    double start_ns;
} late_work;

/* Of a stream, which may be gone by now. */
typedef struct sim_late {
    struct sim_late *next;
    unsigned long long stream_id;
    struct CUctx_st *context;
    late_work *first, **end;
} sim_late;

static sim_late *get_queue(const struct CUstream_st *stream) {
    sim_late *queue = sim_state.late;
    while (queue && queue->stream_id != stream->id) queue = queue->next;
    if (queue) return queue;
    queue = calloc(1, sizeof *queue);
    if (!queue) return NULL;
    queue->stream_id = stream->id;
    queue->context = stream->handle.context;
    queue->end = &queue->first;
    queue->next = sim_state.late;
    return sim_state.late = queue;
}

bool sim_late_takes(const struct CUstream_st *stream, const sim_work *work) {
    bool waits = work->kind == SIM_WORK_COPY || work->kind == SIM_WORK_HOST;
    return sim_state.config.late && !waits && stream != stream->handle.context->null_stream;
}

CUresult sim_late_add(const struct CUstream_st *stream, sim_work *work, double start_ns) {
    late_work *added = calloc(1, sizeof *added);
    sim_late *queue = added ? get_queue(stream) : NULL;
    if (!queue) {
        free(added);
        sim_work_drop(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    added->work = *work;
    added->start_ns = start_ns;
    *queue->end = added;
    queue->end = &added->next;
    return CUDA_SUCCESS;
}

static void run_first(sim_late *queue) {
    late_work *first = queue->first;
    queue->first = first->next;
    if (!queue->first) queue->end = &queue->first;
    sim_work_run(queue->context, &first->work, first->start_ns);
    sim_work_drop(&first->work);
    free(first);
}

void sim_late_run(void) {
    while (sim_state.late) {
        sim_late **link = &sim_state.late;
        while (*link) {
            sim_late *queue = *link;
            run_first(queue);
            if (queue->first) {
                link = &queue->next;
            } else {
                *link = queue->next;
                free(queue);
            }
        }
    }
}
