/* Served: what a tune's choice costs at shapes that it never saw. For each problem of a recording
 * it times three plans in turns on GPU 0: by the first database, by the second, which has a search
 * of its own for that very shape, and by the built-in default; and holds the first one's results
 * against the host's.
 *
 * Where code and data lie makes a kernel a few percent faster or slower, so each round has modules
 * of its own, two rounds with both orders of the plans are a pair, and the median of the pairs
 * counts. Every second input begins at any element. Prints a line for each shape, and of the first
 * plan's time over the faster of its own and the second's p50, p95 and the greatest; and its gain
 * over the default.
 *
 * With RDT_TEST_PART it makes the plans of a part of the shapes and times nothing: several
 * processes compile side by side what one that times them then finds.
 *
 * usage: served TUNED.db BEST.db RECORDING [P95]   fails beyond P95, as 1.05, and at wrong results
 */
#include <math.h>
#include <stdio.h>
#include "redtune/tools.h"
#include "redtune/tune.h"
#include "turns.h"

enum { PAIRS = 3, ROUNDS = 2 * PAIRS, SAMPLES = 15, PLANS = 3, MOST = 1024, OFFSET_MAX = 16 };
/* The shapes that are timed one after the other, all rounds of them; and of how many elements the
 * host adds up. */
enum { BATCH = 25, CHECKED_ELEMENTS = 1 << 22 };

typedef enum which { TUNED, BEST, DEFAULT } which;

typedef struct entry {
    redtune_problem problem;
    uint64_t offset;
    double log_ns[ROUNDS][PLANS];
    redtune_match match[PLANS];
    char config[PLANS][RDT_POINT_TEXT_BYTES];
    bool timed, failed, wrong;
} entry;

static redtune_error err;
static device gpu;
static workshop shop;
static turns race;
static entry entries[MOST];
static size_t entry_count;

/* ---- results --------------------------------------------------------------------------------- */

static double sum_of(const entry *each, uint64_t result) {
    const rdt_extents at = rdt_problem_extents(&each->problem);
    const uint64_t first = each->offset + result / at.inner * at.outer_step + result % at.inner;
    double sum = 0;
    for (uint64_t e = 0; e < at.count; e++) sum += turns_element(first + e * at.step);
    return sum;
}

/* All results of a small problem; of a large one, a part of them. */
static redtune_status check(entry *each, turns_plan *plan) {
    const uint64_t results = rdt_problem_results(&each->problem);
    const uint64_t step = rdt_problem_elements(&each->problem) / CHECKED_ELEMENTS + 1;
    const CUdeviceptr first =
        race.pool.address + each->offset * redtune_dtype_bytes(each->problem.dtype);
    float *got = malloc(results * sizeof *got);
    if (!got) return rdt_fail_memory(&err, results * sizeof *got);
    gpu.driver->memset_d8_async(race.outputs.address, 0xa5, results * sizeof *got, gpu.stream);
    redtune_status status = turns_run_plan(plan, first, race.outputs.address, false, &err);
    if (!status)
        status = rdt_buffer_read(gpu.driver, got, race.outputs.address, results * sizeof *got,
                                 gpu.stream, &err);
    for (uint64_t r = 0; !status && r < results && !each->wrong; r += step)
        each->wrong = (double)got[r] != sum_of(each, r);
    free(got);
    return status;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static int plan_at(int turn, int round) { return round % 2 ? PLANS - 1 - turn : turn; }

static redtune_status time_entry(redtune *const *rt, entry *each, int round) {
    turns_plan plans[PLANS] = {{0}};
    turns_call calls[PLANS];
    double ns[PLANS];
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < PLANS; i++) {
        const int k = plan_at(i, round);
        status = turns_call_plan(&race, rt[k], &each->problem, &plans[i], &calls[i], &err);
        calls[i].offset = each->offset;
    }
    if (!status) status = turns_time(&race, calls, PLANS, SAMPLES, 0, ns, &err);
    for (int i = 0; !status && i < PLANS; i++) {
        const int k = plan_at(i, round);
        redtune_info info;
        redtune_plan_info(plans[i].plan, &info);
        each->log_ns[round][k] = log(ns[i]);
        each->match[k] = info.match;
        snprintf(each->config[k], sizeof each->config[k], "%s:%s", info.family, info.config);
        if (k == TUNED && !round) status = check(each, &plans[i]);
    }
    for (int i = 0; i < PLANS; i++) redtune_plan_destroy(plans[i].plan);
    return status;
}

/* A shape that fails once is left out from then on. */
static redtune_status time_round(const char *const *databases, size_t first, size_t end,
                                 int round) {
    redtune *rt[PLANS] = {NULL};
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < PLANS; i++)
        status = redtune_open(&(redtune_options){.database = databases[i]}, &rt[i], &err);
    for (size_t i = first; !status && i < end; i++) {
        if (entries[i].failed || !time_entry(rt, &entries[i], round)) continue;
        fprintf(stderr, "served: a shape is left out: %s\n", err.message);
        entries[i].failed = true;
    }
    for (int i = 0; i < PLANS; i++) redtune_close(rt[i]);
    return status;
}

/* All rounds of some shapes, of one dtype. */
static redtune_status time_batch(const char *const *databases, size_t first, size_t end) {
    redtune_status status = turns_fill(&race, entries[first].problem.dtype, &err);
    for (int round = 0; !status && round < ROUNDS; round++)
        status = time_round(databases, first, end, round);
    for (size_t i = first; !status && i < end; i++) entries[i].timed = !entries[i].failed;
    return status;
}

/* ---- the report ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_us(const entry *each, which plan) {
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++) sum += each->log_ns[round][plan];
    return exp(sum / ROUNDS) / 1e3;
}

/* The median of the pairs' ratios. */
static double ratio_of(const entry *each, which over, which under) {
    double paired[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        const double *one = each->log_ns[2 * i], *other = each->log_ns[2 * i + 1];
        paired[i] = (one[over] - one[under] + other[over] - other[under]) / 2;
    }
    qsort(paired, PAIRS, sizeof *paired, by_size);
    return exp(paired[PAIRS / 2]);
}

static void print_entry(const entry *each, double ratio) {
    char text[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(&each->problem, text);
    printf("%.3f  %8.2f us, %8.2f, default %8.2f  %s from %llu, %s: %s | %s%s\n", ratio,
           time_us(each, TUNED), time_us(each, BEST), time_us(each, DEFAULT), text,
           (unsigned long long)each->offset, redtune_match_name(each->match[TUNED]),
           each->config[TUNED], each->config[BEST], each->wrong ? "  WRONG" : "");
}

/* Gives the 95th percentile; infinite where a result is wrong. */
static double report(void) {
    static double ratios[MOST];
    double gain_sum = 0, gain_most = 0, log_sum = 0;
    size_t count = 0, wrong = 0, same = 0;
    for (size_t i = 0; i < entry_count; i++) {
        const entry *each = &entries[i];
        if (!each->timed) continue;
        wrong += each->wrong;
        if (each->match[BEST] != REDTUNE_MATCH_EXACT) continue; /* nothing to be held against */
        const double gain = ratio_of(each, DEFAULT, TUNED);
        const double ratio = fmax(1, ratio_of(each, TUNED, BEST));
        print_entry(each, ratio);
        ratios[count++] = ratio;
        log_sum += log(ratio);
        gain_sum += log(gain);
        gain_most = fmax(gain_most, gain);
        same += !strcmp(each->config[TUNED], each->config[BEST]);
    }
    if (!count) {
        printf("none of %zu shapes has a search of its own; %zu wrong\n", entry_count, wrong);
        return INFINITY;
    }
    qsort(ratios, count, sizeof *ratios, by_size);
    const double p95 = ratios[(count - 1) * 95 / 100];
    printf("%zu shapes of %zu, %zu with the same config, %zu wrong; chosen / best: mean %.3f, "
           "p50 %.3f, p95 %.3f, greatest %.3f; default / chosen: mean %.3f, greatest %.3f\n",
           count, entry_count, same, wrong, exp(log_sum / (double)count), ratios[(count - 1) / 2],
           p95, ratios[count - 1], exp(gain_sum / (double)count), gain_most);
    return wrong ? INFINITY : p95;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int by_dtype(const void *a, const void *b) {
    return (int)((const entry *)a)->problem.dtype - (int)((const entry *)b)->problem.dtype;
}

static redtune_status read_entries(const char *path) {
    redtune_recorded *problems = NULL;
    size_t count = 0;
    redtune_status status = redtune_recording_read(path, &problems, &count, &err);
    for (size_t i = 0; !status && i < count && entry_count < MOST; i++) {
        entry *each = &entries[entry_count++];
        *each = (entry){.offset = i % 2 ? 1 + i / 2 % OFFSET_MAX : 0};
        status = rdt_problem_resolve(&problems[i].problem, &each->problem, &err);
    }
    redtune_free(problems);
    qsort(entries, entry_count, sizeof *entries, by_dtype);
    return status;
}

static const char *const no_database = "/nowhere/none.db";

static redtune_status make_plans(char **paths) {
    const char *const databases[PLANS] = {paths[0], paths[1], no_database};
    redtune_status status = read_entries(paths[2]);
    for (int k = 0; !status && k < PLANS; k++) {
        redtune *rt = NULL;
        status = redtune_open(&(redtune_options){.database = databases[k]}, &rt, &err);
        for (size_t i = 0; !status && i < entry_count && !subject_is_late(); i++) {
            redtune_plan *plan = NULL;
            if (!subject_is_of_part(i)) continue;
            if (redtune_plan_create(rt, &entries[i].problem, &plan, &err))
                fprintf(stderr, "served: a plan is left out: %s\n", err.message);
            redtune_plan_destroy(plan);
        }
        redtune_close(rt);
    }
    return status;
}

/* In batches, so that RDT_TEST_SECONDS ends with some shapes that have all rounds. */
static redtune_status time_all(char **paths) {
    const char *const databases[PLANS] = {paths[0], paths[1], no_database};
    redtune_status status = read_entries(paths[2]);
    for (size_t first = 0, end; !status && first < entry_count && !subject_is_late(); first = end) {
        const redtune_dtype dtype = entries[first].problem.dtype;
        for (end = first; end < entry_count && end < first + BATCH; end++)
            if (entries[end].problem.dtype != dtype) break;
        status = time_batch(databases, first, end);
    }
    return status;
}

int main(int argc, char **argv) {
    const turns_sizes size = {(size_t)1 << 30, (size_t)1 << 28, (uint64_t)1 << 26};
    double p95 = INFINITY;
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: served TUNED.db BEST.db RECORDING [P95]\n");
        return 2;
    }
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    if (getenv("RDT_TEST_PART")) {
        const redtune_status made = make_plans(argv + 1);
        if (made) fprintf(stderr, "served: %s\n", err.message);
        device_close(&gpu);
        return made != REDTUNE_OK;
    }
    redtune_status status = workshop_open(&gpu, &shop, &err);
    if (!status) status = turns_open(&shop, size, &race, &err);
    if (!status) status = time_all(argv + 1);
    if (!status) p95 = report();
    if (status) fprintf(stderr, "served: %s\n", err.message);
    turns_close(&race);
    workshop_close(&shop);
    device_close(&gpu);
    return status || isinf(p95) || p95 > (argc > 4 ? atof(argv[4]) : INFINITY);
}
