/* Work queue: the problems that GPUs of one model share, and which of them each does next. */
#pragma once

#include "api/tuning/device_tuner.h"

typedef struct rdt_work_queue_part rdt_work_queue_part;

typedef struct rdt_work_queue {
    rdt_facts facts;
    rdt_origin origin;
    uint64_t free_bytes; /* the least of its GPUs' */
    size_t gpu_count;
    size_t job_count;       /* that are wanted for each GPU; 0 stands for 1 */
    size_t tuner_count;     /* device tuners that share it: of each GPU one or more */
    size_t problems_before; /* of other work queues' */
    rdt_problems problems;
    rdt_session_log session_log;
    rdt_work_queue_part *part;
    size_t part_count;
} rdt_work_queue;

/* How many parts the problems have for the GPUs, and the jobs on each: a class is one part where
 * there are enough of them for all GPUs to be busy to the end, else several; and a plane of shapes
 * where there are more jobs than classes. */
size_t rdt_work_queue_parts(const rdt_problems *problems, size_t gpus, size_t jobs);
/* Takes of the problems what fits, and parts it. facts, free_bytes, gpu_count and job_count are
 * set. */
redtune_status rdt_work_queue_begin(rdt_work_queue *queue, const rdt_problems *problems,
                                    const rdt_log *log, redtune_error *err);
void rdt_work_queue_end(rdt_work_queue *queue);

/* Replaces the range that a device tuner has done, empty at first, by its next one; false: nothing
 * is left. The device tuner of a class's last part joins the parts: sizes between two of them are
 * measured as if one had done all. One thread at a time. */
bool rdt_work_queue_next(rdt_work_queue *queue, rdt_work_range *range);
