/* Facts about src/api/tuning/work_queue.c: which device tuner does what, and when. */
#include "check.h"
#include "api/tuning/work_queue.h"
#include "base/random.h"
#include "redtune/tune.h"

enum { GPUS_MAX = 9, CLASSES_MAX = 7, SIZES_MAX = 21 };

static redtune_error err;

/* So many classes of so many sizes each, shared by so many GPUs. */
static redtune_status begin(size_t classes, size_t sizes, size_t gpus, rdt_work_queue *out) {
    static const redtune_dtype dtypes[CLASSES_MAX] = {
        REDTUNE_F16, REDTUNE_BF16, REDTUNE_F32, REDTUNE_F64, REDTUNE_I8, REDTUNE_I32, REDTUNE_I64};
    uint64_t counts[SIZES_MAX];
    rdt_problems problems = {0};
    for (size_t i = 0; i < sizes; i++) counts[i] = UINT64_C(64) << (i % 16);
    const redtune_tuning tuning = {
        .dtypes = dtypes, .dtype_count = classes, .counts = counts, .count_count = sizes};
    redtune_status status = rdt_problem_list_make(&tuning, false, NULL, &problems, &err);
    *out = (rdt_work_queue){.free_bytes = UINT64_C(1) << 34, .gpu_count = gpus};
    if (!status) status = rdt_work_queue_begin(out, &problems, NULL, &err);
    rdt_problem_list_free(&problems);
    return status;
}

/* What has become of each problem. */
typedef struct work {
    rdt_work_queue queue;
    size_t begun[CLASSES_MAX * SIZES_MAX], done[CLASSES_MAX * SIZES_MAX];
    size_t joined[CLASSES_MAX * SIZES_MAX];
    size_t pieces[CLASSES_MAX * SIZES_MAX]; /* of the class that begins here */
} work;

static void note(work *self, const rdt_work_range *range) {
    const rdt_problems *problems = &self->queue.problems;
    const size_t end = range->first + range->count;
    CHECK(range->count && end <= problems->count);
    CHECK(rdt_problem_list_class(problems, range->first) >= range->count);
    for (size_t i = range->first; i < end; i++) {
        if (range->joins) {
            CHECK_INT(self->done[i], 1);
            self->joined[i]++;
        } else {
            self->begun[i]++;
        }
    }
    if (range->joins) CHECK_INT(range->count, rdt_problem_list_class(problems, range->first));
}

/* The GPUs take turns by lot, so that parts end in any order. */
static void tune_all(work *self, uint64_t seed) {
    rdt_work_range at[GPUS_MAX] = {{0}};
    const size_t gpus = self->queue.gpu_count;
    rdt_random random = {seed};
    for (size_t left = gpus, ended[GPUS_MAX] = {0}; left;) {
        const size_t gpu = rdt_random_below(&random, gpus);
        if (ended[gpu]) continue;
        for (size_t i = 0; !at[gpu].joins && i < at[gpu].count; i++)
            self->done[at[gpu].first + i]++;
        if (rdt_work_queue_next(&self->queue, &at[gpu])) {
            note(self, &at[gpu]);
            self->pieces[at[gpu].first] += !at[gpu].joins;
        } else {
            ended[gpu] = 1;
            left--;
        }
    }
}

static void check_sharing(size_t classes, size_t sizes, size_t gpus) {
    work self = {.begun = {0}};
    CHECK_OK(begin(classes, sizes, gpus, &self.queue), err);
    const rdt_problems *problems = &self.queue.problems;
    tune_all(&self, 100 * classes + 10 * sizes + gpus);
    for (size_t first = 0, count; first < problems->count; first += count) {
        size_t pieces = 0;
        count = rdt_problem_list_class(problems, first);
        for (size_t i = first; i < first + count; i++) pieces += self.pieces[i];
        for (size_t i = first; i < first + count; i++) {
            CHECK_INT(self.begun[i], 1);
            CHECK_INT(self.done[i], 1);
            CHECK_INT(self.joined[i], pieces > 1);
        }
        CHECK(gpus > 1 || pieces == 1);
    }
    CHECK(self.queue.part_count >= (gpus < problems->count ? gpus : problems->count));
    rdt_work_queue_end(&self.queue);
}

FACT(every_problem_is_done_once_and_every_cut_class_joined_after) {
    for (size_t classes = 1; classes <= CLASSES_MAX; classes += 2)
        for (size_t sizes = 1; sizes <= 16; sizes++)
            for (size_t gpus = 1; gpus <= GPUS_MAX; gpus++) check_sharing(classes, sizes, gpus);
}

static size_t bytes_of(const rdt_work_queue *queue, const rdt_work_range *range) {
    return redtune_dtype_bytes(queue->problems.problem[range->first].dtype);
}

/* So that what one has found seeds the other. */
FACT(equal_element_sizes_are_tuned_one_after_the_other) {
    rdt_work_queue queue;
    rdt_work_range at[2] = {{0}};
    CHECK_OK(begin(CLASSES_MAX, 3, 1, &queue), err);
    for (size_t i = 0; i < CLASSES_MAX - 1; i++) {
        CHECK(rdt_work_queue_next(&queue, &at[i % 2]));
        CHECK(bytes_of(&queue, &at[0]) != bytes_of(&queue, &at[1]) || !at[1].count);
    }
    rdt_work_queue_end(&queue);
    /* Where there is nothing else, both are tuned at once. */
    CHECK_OK(begin(2, 3, 1, &queue), err);
    CHECK(rdt_work_queue_next(&queue, &(rdt_work_range){0}));
    CHECK(rdt_work_queue_next(&queue, &(rdt_work_range){0}));
    rdt_work_queue_end(&queue);
}

/* A plane of f32 rows, of each of so many numbers of elements and of rows, and one of columns. */
static redtune_status begin_planes(uint64_t extents, size_t jobs, rdt_work_queue *out) {
    enum { SHAPES_MAX = 2 * 100 };
    redtune_problem shapes[SHAPES_MAX];
    size_t count = 0;
    for (uint64_t i = 1; i <= extents; i++)
        for (uint64_t k = 1; k <= extents; k++) {
            shapes[count++] = redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 10 * k, 10 * i);
            shapes[count++] = redtune_problem_columns(REDTUNE_SUM, REDTUNE_F32, 10 * i, 10 * k);
        }
    rdt_problems problems = {0};
    const redtune_tuning tuning = {.problems = shapes, .problem_count = count};
    redtune_status status = rdt_problem_list_make(&tuning, false, NULL, &problems, &err);
    *out = (rdt_work_queue){.free_bytes = UINT64_C(1) << 34, .gpu_count = 1, .job_count = jobs};
    if (!status) status = rdt_work_queue_begin(out, &problems, NULL, &err);
    rdt_problem_list_free(&problems);
    return status;
}

/* Parts of a third of a plane each, since there are two planes; of 16 shapes at least. */
FACT(planes_are_cut_where_jobs_would_be_idle) {
    static const struct {
        uint64_t extents;
        size_t jobs, parts;
    } cases[] = {{10, 6, 6}, {10, 5, 6}, {10, 2, 2}, {10, 1, 2}, {10, 0, 2}, {6, 6, 4}, {3, 6, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rdt_work_queue queue;
        rdt_work_range at = {0};
        size_t parts = 0, joins = 0, begun = 0;
        CHECK_OK(begin_planes(cases[i].extents, cases[i].jobs, &queue), err);
        CHECK_INT(rdt_work_queue_parts(&queue.problems, 1, cases[i].jobs), cases[i].parts);
        while (rdt_work_queue_next(&queue, &at)) {
            parts += !at.joins;
            joins += at.joins;
            begun += at.joins ? 0 : at.count;
        }
        CHECK_INT(parts, cases[i].parts);
        CHECK_INT(joins, cases[i].parts > 2 ? 2 : 0);
        CHECK_INT(begun, 2 * cases[i].extents * cases[i].extents);
        rdt_work_queue_end(&queue);
    }
}

int main(int argc, char **argv) { return check_run(argc, argv); }
