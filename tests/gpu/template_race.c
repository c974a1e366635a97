/* Template race: what another folder of templates takes beside redtune's own, in one process on GPU
 * 0: the first call of a plan with an empty kernel cache, which is NVRTC's time for the most part,
 * and the kernel's time by the same config, the two folders alternating. Prints a line for each
 * problem, and whether the results have the same bits. A round makes both plans anew, in one order
 * and then in the other: where code lies makes one or the other faster.
 *
 * Wants a cache folder of its own (XDG_CACHE_HOME) and CUDA_CACHE_DISABLE=1, without which NVRTC
 * knows sources that were compiled before.
 *
 * usage: template_race FOLDER [WORD...]   only lines that have one of the words in their name */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <stdio.h>
#include "shaped.h"
#include "turns.h"

enum { ROUNDS = 4, SAMPLES = 15, SIMULATED_MOST = 40, COMPARED_MAX = 1 << 20, WHOLE = 2 };

typedef struct contest {
    redtune_op op;
    redtune_dtype dtype;
    redtune_order order;
    redtune_accuracy accuracy;
    int axis; /* that goes away; WHOLE: both */
    uint64_t rows, columns;
} contest;

/* A folder's side of a contest. */
typedef struct side {
    double first_ms; /* plan and first call, in the first round */
    double log_ns;
    redtune_info info;
    unsigned char *results;
} side;

static redtune_error err;
static device gpu;
static workshop shop;
static turns race;

static const struct {
    redtune_op op;
    redtune_order order;
    redtune_accuracy accuracy;
    int axis;
} kinds[] = {
    {REDTUNE_ARGMAX, 0, 0, 0},
    {REDTUNE_VAR, 0, 0, 0},
    {REDTUNE_MEAN_VAR, 0, 0, 0},
    {REDTUNE_LOGSUMEXP, 0, 0, 0},
    {REDTUNE_SUM, REDTUNE_ORDER_FIXED, 0, 0},
    {REDTUNE_MEAN, REDTUNE_ORDER_FIXED, 0, 0},
    {REDTUNE_ARGMAX, 0, 0, 1},
    {REDTUNE_SUM, REDTUNE_ORDER_FIXED, 0, 1},
    {REDTUNE_SUM, REDTUNE_ORDER_FIXED, 0, WHOLE},
    {REDTUNE_SUM, 0, REDTUNE_ACCURACY_COMPENSATED, WHOLE},
};

static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_BF16};

static const uint64_t shapes[][2] = {{16384, 1024}, {1024, 16384}, {4096, 4096}, {262144, 64},
                                     {1000, 1000},  {300, 7777},   {32, 1024},   {100003, 129}};

enum {
    KINDS = sizeof kinds / sizeof *kinds,
    DTYPES = sizeof dtypes / sizeof *dtypes,
    SHAPES = sizeof shapes / sizeof *shapes
};

/* Small ones on a simulated device: to see that all of it runs. */
static redtune_problem problem_of(const contest *at) {
    const uint64_t most = device_is_simulated(&gpu) ? SIMULATED_MOST : UINT64_MAX;
    const uint64_t rows = at->rows < most ? at->rows : most;
    const uint64_t columns = at->columns < most ? at->columns : most;
    redtune_problem out = redtune_problem_whole(at->op, at->dtype, rows * columns);
    if (at->axis == 0) {
        RESHAPE(&out, count, rows);
        RESHAPE(&out, inner, columns);
    } else if (at->axis == 1) {
        RESHAPE(&out, count, columns);
        RESHAPE(&out, outer, rows);
    }
    out.order = at->order;
    out.accuracy = at->accuracy;
    return out;
}

/* NULL: redtune's own. */
static void use_templates(const char *folder) {
    if (folder)
        setenv("REDTUNE_TEMPLATES", folder, 1);
    else
        unsetenv("REDTUNE_TEMPLATES");
}

static redtune_status time_first(redtune *rt, const redtune_problem *problem, turns_plan *plan,
                                 turns_call *call, bool is_first, side *out) {
    const double begin_ns = rdt_clock_ns();
    redtune_status status = turns_call_plan(&race, rt, problem, plan, call, &err);
    const size_t bytes = COMPARED_MAX < race.outputs.bytes ? COMPARED_MAX : race.outputs.bytes;
    if (!status)
        status = rdt_buffer_read(gpu.driver, out->results, race.outputs.address, bytes, gpu.stream,
                                 &err);
    if (status) return status;
    if (is_first) out->first_ms = (rdt_clock_ns() - begin_ns) / 1e6;
    redtune_plan_info(plan->plan, &out->info);
    return REDTUNE_OK;
}

/* Both plans by one config: that which redtune's own templates choose. */
static redtune_status time_round(redtune *rt[2], const char *const folders[2],
                                 const redtune_problem *problem, int round, side sides[2]) {
    static char config[sizeof sides->info.family + sizeof sides->info.config + 2];
    const int order[2] = {round % 2, 1 - round % 2};
    turns_plan plans[2] = {{0}};
    turns_call calls[2];
    double ns[2];
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < 2; i++) {
        const int k = order[i];
        redtune_problem its = *problem;
        if (round || i) its.config = config;
        use_templates(folders[k]);
        gpu.driver->memset_d8_async(race.outputs.address, 0xa5, COMPARED_MAX, gpu.stream);
        status = time_first(rt[k], &its, &plans[i], &calls[i], !round, &sides[k]);
        if (!round && !i)
            snprintf(config, sizeof config, "%s:%s", sides[k].info.family, sides[k].info.config);
    }
    if (!status) status = turns_time(&race, calls, 2, SAMPLES, 0, ns, &err);
    for (int i = 0; !status && i < 2; i++) sides[order[i]].log_ns += log(ns[i]) / ROUNDS;
    for (int i = 0; i < 2; i++) redtune_plan_destroy(plans[i].plan);
    return status;
}

static redtune_status time_contest(const char *folder, const contest *at, const char *name,
                                   double *log_ratio) {
    const char *const folders[2] = {NULL, folder};
    const redtune_problem problem = problem_of(at);
    side sides[2] = {{.results = malloc(COMPARED_MAX)}, {.results = malloc(COMPARED_MAX)}};
    redtune_status status = turns_fill(&race, at->dtype, &err);
    for (int round = 0; !status && round < ROUNDS; round++) {
        redtune *rt[2] = {NULL, NULL};
        const redtune_options options = {.database = NULL};
        for (int k = 0; !status && k < 2; k++) {
            use_templates(folders[k]);
            status = redtune_open(&options, &rt[k], &err);
        }
        if (!status) status = time_round(rt, folders, &problem, round, sides);
        for (int k = 0; k < 2; k++) redtune_close(rt[k]);
    }
    if (!status) {
        *log_ratio = sides[0].log_ns - sides[1].log_ns;
        printf(
            "%-44s %8.2f us, other %8.2f: %.3f; first call %6.1f ms, other %6.1f; bits %s; %s:%s\n",
            name, exp(sides[0].log_ns) / 1e3, exp(sides[1].log_ns) / 1e3, exp(*log_ratio),
            sides[0].first_ms, sides[1].first_ms,
            memcmp(sides[0].results, sides[1].results, COMPARED_MAX) ? "DIFFER" : "equal",
            sides[0].info.family, sides[0].info.config);
        fflush(stdout);
    }
    for (int k = 0; k < 2; k++) free(sides[k].results);
    return status;
}

static bool is_wanted(const char *name, int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (strstr(name, argv[i])) return true;
    return argc < 3;
}

/* What fails, as for want of memory, is left out. */
static int time_all(int argc, char **argv) {
    double log_sum = 0, most = 0;
    int timed = 0, failed = 0;
    for (int i = 0; i < SHAPES * DTYPES * KINDS && !subject_is_late(); i++) {
        const uint64_t *shape = shapes[i / KINDS / DTYPES];
        const contest at = {kinds[i % KINDS].op,
                            dtypes[i / KINDS % DTYPES],
                            kinds[i % KINDS].order,
                            kinds[i % KINDS].accuracy,
                            kinds[i % KINDS].axis,
                            shape[0],
                            shape[1]};
        static const char *const axes[] = {"columns", "rows", "whole"};
        char name[96];
        double log_ratio;
        snprintf(name, sizeof name, "%s%s%s %s of %s %llux%llu", redtune_op_name(at.op),
                 at.order ? " fixed" : "", at.accuracy ? " compensated" : "", axes[at.axis],
                 redtune_dtype_name(at.dtype), (unsigned long long)shape[0],
                 (unsigned long long)shape[1]);
        if (!is_wanted(name, argc, argv)) continue;
        if (time_contest(argv[1], &at, name, &log_ratio)) {
            fprintf(stderr, "template_race: %s: %s\n", name, err.message);
            failed++;
            continue;
        }
        timed++;
        log_sum += log_ratio;
        if (log_ratio > most) most = log_ratio;
    }
    if (timed)
        printf("%d timed, %d failed: own over other in the geometric mean %.4f, at most %.3f\n",
               timed, failed, exp(log_sum / timed), exp(most));
    return failed > 0;
}

int main(int argc, char **argv) {
    const turns_sizes size = {(size_t)3 << 29, (size_t)1 << 26, (uint64_t)1 << 26};
    if (argc < 2) {
        fprintf(stderr, "usage: template_race FOLDER [WORD...]\n");
        return 2;
    }
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    redtune_status status = workshop_open(&gpu, &shop, &err);
    if (!status) status = turns_open(&shop, size, &race, &err);
    if (status) fprintf(stderr, "template_race: %s\n", err.message);
    const int failed = status ? 1 : time_all(argc, argv);
    turns_close(&race);
    workshop_close(&shop);
    device_close(&gpu);
    return failed;
}
