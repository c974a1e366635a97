/* Work queue: the problems that GPUs of one model share, and which of them each does next.
 *
 * A part lies within a class. With one GPU a class is one part, except that a plane of shapes is
 * cut where there are more jobs than classes; with several GPUs there are at least two parts for
 * each, so that all are busy to the end. The tuner that ends the last part of a cut class gets the
 * whole class once more, to join it: second pass and crossovers over the cuts.
 *
 * What is best for one dtype is tried first for another with elements of the same size, so such
 * classes are dealt out one after the other, as long as there is something else to do. */
#include "api/tuning/work_queue.h"

#include <stdlib.h>
#include "model/problem.h"

/* Shapes of a part of a plane: its neighbours are what a shape's search begins with. */
enum { PLANE_PART_MIN = 16 };

struct rdt_work_queue_part {
    rdt_work_range range;
    size_t class_first; /* of the problems of its class */
    bool taken, done;
};

/* How many parts the class that begins there is cut into. */
static size_t pieces_of(const rdt_problems *problems, size_t first, size_t gpus, size_t jobs) {
    const size_t classes = rdt_problem_list_classes(problems);
    const size_t count = rdt_problem_list_class(problems, first);
    if (gpus > 1) return (2 * gpus + classes - 1) / classes;
    if (rdt_problem_layout(&problems->problem[first]) == RDT_LAYOUT_WHOLE) return 1;
    const size_t wanted = (jobs + classes - 1) / classes, most = count / PLANE_PART_MIN;
    const size_t pieces = wanted < most ? wanted : most;
    return pieces ? pieces : 1;
}

size_t rdt_work_queue_parts(const rdt_problems *problems, size_t gpus, size_t jobs) {
    size_t parts = 0;
    for (size_t first = 0; first < problems->count;
         first += rdt_problem_list_class(problems, first))
        parts += pieces_of(problems, first, gpus, jobs);
    return parts;
}

static redtune_status part_out(rdt_work_queue *self, redtune_error *err) {
    const rdt_problems *problems = &self->problems;
    self->part = calloc(problems->count, sizeof *self->part);
    if (!self->part) return rdt_fail_memory(err, problems->count * sizeof *self->part);
    for (size_t first = 0, count; first < problems->count; first += count) {
        count = rdt_problem_list_class(problems, first);
        const size_t pieces = pieces_of(problems, first, self->gpu_count, self->job_count);
        const size_t piece = (count + pieces - 1) / pieces;
        for (size_t at = 0; at < count; at += piece)
            self->part[self->part_count++] = (rdt_work_queue_part){
                .range = {first + at, count - at < piece ? count - at : piece, false, 0},
                .class_first = first,
            };
    }
    return REDTUNE_OK;
}

redtune_status rdt_work_queue_begin(rdt_work_queue *self, const rdt_problems *problems,
                                    const rdt_log *log, redtune_error *err) {
    redtune_status status =
        rdt_problem_list_fit(problems, &self->facts, self->free_bytes, log, &self->problems, err);
    if (!status) status = part_out(self, err);
    if (!status) status = rdt_session_log_open(&self->session_log, self->problems.count, err);
    return status;
}

void rdt_work_queue_end(rdt_work_queue *self) {
    rdt_session_log_close(&self->session_log);
    rdt_problem_list_free(&self->problems);
    free(self->part);
}

static size_t searches_left(const rdt_work_queue *self) {
    size_t searches = 0;
    for (size_t i = 0; i < self->part_count; i++) {
        const rdt_work_range *range = &self->part[i].range;
        for (size_t k = 0; !self->part[i].taken && k < range->count; k++)
            searches += rdt_sweep_searches(&self->facts, &self->problems.problem[range->first + k]);
    }
    return searches;
}

/* Makes of the last part of a class, when it is done, the whole class; false: it is not the last,
 * or the only one. */
static bool join(rdt_work_queue *self, rdt_work_range *done) {
    const rdt_work_queue_part *last = NULL;
    size_t left = 0;
    for (size_t i = 0; i < self->part_count; i++)
        if (self->part[i].range.first == done->first) {
            self->part[i].done = true;
            last = &self->part[i];
        }
    for (size_t i = 0; i < self->part_count; i++)
        left += self->part[i].class_first == last->class_first && !self->part[i].done;
    const size_t whole = rdt_problem_list_class(&self->problems, last->class_first);
    if (left || whole == done->count) return false;
    *done = (rdt_work_range){last->class_first, whole, true, searches_left(self)};
    return true;
}

/* Whether another class with elements of the same size is being tuned. */
static bool is_alike_at_work(const rdt_work_queue *self, const rdt_work_queue_part *part) {
    const redtune_problem *problem = &self->problems.problem[part->class_first];
    for (size_t i = 0; i < self->part_count; i++) {
        const rdt_work_queue_part *each = &self->part[i];
        const redtune_problem *other = &self->problems.problem[each->class_first];
        if (each->taken && !each->done && each->class_first != part->class_first &&
            other->op == problem->op && rdt_problem_layout(other) == rdt_problem_layout(problem) &&
            redtune_dtype_bytes(other->dtype) == redtune_dtype_bytes(problem->dtype))
            return true;
    }
    return false;
}

bool rdt_work_queue_next(rdt_work_queue *self, rdt_work_range *range) {
    rdt_work_queue_part *next = NULL;
    if (range->count && !range->joins && join(self, range)) return true;
    for (size_t i = 0; i < self->part_count; i++) {
        rdt_work_queue_part *each = &self->part[i];
        if (each->taken) continue;
        if (!next || (is_alike_at_work(self, next) && !is_alike_at_work(self, each))) next = each;
    }
    if (!next) return false;
    next->taken = true;
    *range = next->range;
    range->searches_after = searches_left(self);
    return true;
}
