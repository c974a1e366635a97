/* Problem list: the list of what a tune goes through. */
#include "api/tuning/problem_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "model/problem.h"
#include "tuner/measure/test_buffers.h"
#include "redtune/tune.h"

/* The counts, dtypes and ops that are tuned when the caller names none. The simulated GPU takes
 * minutes for what a GPU does in milliseconds, so fewer of them make its tune. */
static const redtune_op usual_ops[] = {REDTUNE_SUM};
static const redtune_dtype usual_dtypes[] = {REDTUNE_F16, REDTUNE_BF16, REDTUNE_F32, REDTUNE_F64,
                                             REDTUNE_I8,  REDTUNE_I32,  REDTUNE_I64};
static const redtune_dtype simulated_dtypes[] = {REDTUNE_F32, REDTUNE_F64, REDTUNE_I32};
enum { USUAL_COUNT_LOW = 10, USUAL_COUNT_HIGH = 30 };
enum { SIMULATED_COUNT_LOW = 8, SIMULATED_COUNT_HIGH = 10 };

static int compare_counts(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The caller's counts in ascending order, each once; or the usual ones. */
static redtune_status list_counts(const redtune_tuning *wanted, bool simulated, uint64_t **out,
                                  size_t *out_count, redtune_error *err) {
    int low = simulated ? SIMULATED_COUNT_LOW : USUAL_COUNT_LOW;
    int high = simulated ? SIMULATED_COUNT_HIGH : USUAL_COUNT_HIGH;
    size_t count = wanted->count_count ? wanted->count_count : (size_t)(high - low + 1);
    uint64_t *counts = malloc(count * sizeof *counts);
    if (!counts) return rdt_fail_memory(err, count * sizeof *counts);
    for (size_t i = 0; i < count; i++)
        counts[i] = wanted->count_count ? wanted->counts[i] : UINT64_C(1) << ((size_t)low + i);
    qsort(counts, count, sizeof *counts, compare_counts);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || counts[kept - 1] != counts[i]) counts[kept++] = counts[i];
    *out = counts;
    *out_count = kept;
    return REDTUNE_OK;
}

/* Neighbours stay together: a search starts from what was best beside it. Where two shards meet
 * within a class, the first of the later one is the last of the earlier one, too, so that the
 * crossover between the two sizes lies in one shard, and in one only. */
static redtune_status take_shard(const redtune_tuning *wanted, rdt_problems *list,
                                 redtune_error *err) {
    const uint64_t shards = wanted->shard_count ? wanted->shard_count : 1;
    if (wanted->shard_index >= shards) {
        rdt_problem_list_free(list);
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune shard %u of %u: they count from 0",
                        wanted->shard_index, wanted->shard_count);
    }
    size_t first = (size_t)(list->count * (uint64_t)wanted->shard_index / shards);
    size_t end = (size_t)(list->count * ((uint64_t)wanted->shard_index + 1) / shards);
    if (first < end && end < list->count &&
        rdt_problem_same_class(&list->problem[end - 1], &list->problem[end]))
        end++;
    list->count = end - first;
    memmove(list->problem, list->problem + first, list->count * sizeof *list->problem);
    return REDTUNE_OK;
}

/* The dtypes that the caller names, or the usual ones. Returns how many. */
static size_t choose_dtypes(const redtune_tuning *wanted, bool simulated,
                            const redtune_dtype **dtypes) {
    *dtypes = wanted->dtype_count ? wanted->dtypes : simulated ? simulated_dtypes : usual_dtypes;
    if (wanted->dtype_count) return wanted->dtype_count;
    return simulated ? sizeof simulated_dtypes / sizeof *simulated_dtypes
                     : sizeof usual_dtypes / sizeof *usual_dtypes;
}

redtune_status rdt_problem_list_make(const redtune_tuning *wanted, bool simulated,
                                     rdt_problems *out, redtune_error *err) {
    const redtune_op *ops = wanted->op_count ? wanted->ops : usual_ops;
    const redtune_dtype *dtypes = NULL;
    size_t op_count = wanted->op_count ? wanted->op_count : sizeof usual_ops / sizeof *usual_ops;
    size_t dtype_count = choose_dtypes(wanted, simulated, &dtypes);
    rdt_problems list = {0};
    uint64_t *counts = NULL;
    size_t count_count = 0;
    redtune_status status = list_counts(wanted, simulated, &counts, &count_count, err);
    if (status) return status;
    size_t total = op_count * dtype_count * count_count;
    list.problem = calloc(total, sizeof *list.problem);
    if (!list.problem) status = rdt_fail_memory(err, total * sizeof *list.problem);
    for (size_t i = 0; !status && i < total; i++) {
        const redtune_problem problem = {
            .op = ops[i / count_count / dtype_count],
            .dtype = dtypes[i / count_count % dtype_count],
            .count = counts[i % count_count],
        };
        status = rdt_problem_resolve(&problem, &list.problem[list.count++], err);
    }
    free(counts);
    if (status)
        rdt_problem_list_free(&list);
    else
        *out = list;
    return status ? status : take_shard(wanted, out, err);
}

/* The counts of a class ascend: those behind one that does not fit do not fit either. */
static void note_left_out(const redtune_problem *first, const rdt_facts *facts,
                          const rdt_log *log) {
    rdt_log_write(
        log, REDTUNE_LOG_WARNING,
        "%s of %s is left out from %" PRIu64 " elements on: it does not fit the memory of %s",
        redtune_op_name(first->op), redtune_dtype_name(first->dtype), first->count, facts->name);
}

static bool fits(const redtune_problem *problem, const rdt_facts *facts, uint64_t free_bytes) {
    return rdt_test_buffers_fit(facts, free_bytes, problem);
}

bool rdt_problem_list_fits(const rdt_problems *problems, const rdt_facts *facts,
                           uint64_t free_bytes) {
    for (size_t i = 0; i < problems->count; i++)
        if (!fits(&problems->problem[i], facts, free_bytes)) return false;
    return true;
}

redtune_status rdt_problem_list_fit(const rdt_problems *problems, const rdt_facts *facts,
                                    uint64_t free_bytes, const rdt_log *log, rdt_problems *out,
                                    redtune_error *err) {
    rdt_problems kept = {.problem = calloc(problems->count, sizeof *kept.problem)};
    if (!kept.problem) return rdt_fail_memory(err, problems->count * sizeof *kept.problem);
    for (size_t first = 0, end; first < problems->count; first = end) {
        end = first + rdt_problem_list_class(problems, first);
        size_t at = first;
        while (at < end && fits(&problems->problem[at], facts, free_bytes))
            kept.problem[kept.count++] = problems->problem[at++];
        if (at < end) note_left_out(&problems->problem[at], facts, log);
    }
    if (kept.count) {
        *out = kept;
        return REDTUNE_OK;
    }
    rdt_problem_list_free(&kept);
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot tune: no problem of the sizes asked for fits the GPU's memory; ask "
                    "for smaller sizes");
}

void rdt_problem_list_free(rdt_problems *problems) {
    free(problems->problem);
    *problems = (rdt_problems){0};
}

size_t rdt_problem_list_class(const rdt_problems *problems, size_t first) {
    size_t end = first;
    while (end < problems->count &&
           rdt_problem_same_class(&problems->problem[first], &problems->problem[end]))
        end++;
    return end - first;
}

size_t rdt_problem_list_classes(const rdt_problems *problems) {
    size_t classes = 0;
    for (size_t first = 0; first < problems->count;
         first += rdt_problem_list_class(problems, first))
        classes++;
    return classes;
}
