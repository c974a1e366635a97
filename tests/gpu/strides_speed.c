/* Strides speed: sums along axes that are neither rows nor columns, against the packed sum of as
 * many elements and results, in turns on GPU 0, cold, by the built-in defaults; and, where a folder
 * of other templates is named, against theirs. Run by hand; it takes about a minute.
 *
 * usage: strides_speed [TEMPLATES] */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include "shaped.h"
#include "turns.h"

enum { SAMPLES = 15, MOST = 4 };
enum { OTHERS, THESE, PACKED, CONTESTANTS };

static const struct {
    const char *text;
    size_t dimensions;
    int64_t shape[MOST], strides[MOST]; /* strides of 0: packed */
    size_t axis_count;
    int axes[MOST];
    uint64_t offset;
} cases[] = {
    {"256 x 2048 x 7 x 7 (0, 2, 3)", 4, {256, 2048, 7, 7}, {0}, 3, {0, 2, 3}, 0},
    {"256 x 1024 x 14 x 14 (0, 2, 3)", 4, {256, 1024, 14, 14}, {0}, 3, {0, 2, 3}, 0},
    {"64 x 256 x 56 x 56 (0, 2, 3)", 4, {64, 256, 56, 56}, {0}, 3, {0, 2, 3}, 0},
    {"64 x 64 x 112 x 112 (0, 2, 3)", 4, {64, 64, 112, 112}, {0}, 3, {0, 2, 3}, 0},
    {"8 x 32 x 512 x 512 (0, 2, 3)", 4, {8, 32, 512, 512}, {0}, 3, {0, 2, 3}, 0},
    {"32 x 64 x 32 x 256 (1, 3)", 4, {32, 64, 32, 256}, {0}, 2, {1, 3}, 0},
    {"64 x 256 x 54 x 54 within 56 x 56 (0, 2, 3)",
     4,
     {64, 256, 54, 54},
     {256 * 3136, 3136, 56, 1},
     3,
     {0, 2, 3},
     57},
    {"every second column of 16384 x 8192 (0)", 2, {16384, 4096}, {8192, 2}, 1, {0}, 0},
    {"4096 x 1024 for each of 32 (0, 2)", 3, {32, 4096, 1024}, {0, 1024, 1}, 2, {0, 2}, 0},
};

static redtune_error err;
static device gpu;
static workshop shop;
static turns race;

static bool is_packed(size_t i) { return !cases[i].strides[cases[i].dimensions - 1]; }

static redtune_status make_problem(size_t i, redtune_dtype dtype, redtune_problem *out) {
    int64_t shape[MOST];
    const bool packed = is_packed(i);
    for (int k = 0; k < MOST; k++) {
        shape[k] = cases[i].shape[k];
        if (device_is_simulated(&gpu) && shape[k] > 6)
            shape[k] = 6; /* to see that all of it runs */
    }
    *out = (redtune_problem){.op = REDTUNE_SUM, .dtype = dtype};
    return redtune_problem_fold(out, shape, packed ? NULL : cases[i].strides, cases[i].dimensions,
                                cases[i].axes, cases[i].axis_count, &err);
}

/* With the other templates, where it is their turn. */
static redtune_status open_call(const char *templates, const redtune_problem *problem,
                                uint64_t offset, redtune **rt, turns_plan *plan, turns_call *call) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    if (templates) setenv("REDTUNE_TEMPLATES", templates, 1);
    redtune_status status = redtune_open(&options, rt, &err);
    if (!status) status = turns_call_plan(&race, *rt, problem, plan, call, &err);
    unsetenv("REDTUNE_TEMPLATES");
    call->offset = offset;
    return status;
}

static redtune_status time_case(const char *templates, size_t i, redtune_dtype dtype) {
    redtune *rts[CONTESTANTS] = {NULL};
    turns_plan plans[CONTESTANTS] = {{0}};
    turns_call calls[CONTESTANTS];
    double ns[CONTESTANTS] = {0};
    const int first = templates ? OTHERS : THESE;
    redtune_problem problem, resolved;
    redtune_status status = make_problem(i, dtype, &problem);
    if (!status) status = rdt_problem_resolve(&problem, &resolved, &err);
    if (status) return status;
    const redtune_problem packed = redtune_problem_rows(
        REDTUNE_SUM, dtype, rdt_problem_results(&resolved), rdt_problem_count(&resolved));
    for (int k = first; !status && k < CONTESTANTS; k++)
        status = open_call(k == OTHERS ? templates : NULL, k == PACKED ? &packed : &problem,
                           k == PACKED ? 0 : cases[i].offset, &rts[k], &plans[k], &calls[k]);
    if (!status)
        status = turns_time(&race, calls + first, (size_t)(CONTESTANTS - first), SAMPLES, 0,
                            ns + first, &err);
    if (!status) {
        redtune_info info;
        redtune_plan_info(plans[THESE].plan, &info);
        printf("%-4s %-44s %8.2f us, packed %8.2f: %.3f", redtune_dtype_name(dtype), cases[i].text,
               ns[THESE] / 1e3, ns[PACKED] / 1e3, ns[THESE] / ns[PACKED]);
        if (templates) printf(", others %8.2f: %.3f", ns[OTHERS] / 1e3, ns[THESE] / ns[OTHERS]);
        printf("  %s:%s\n", info.family, info.config);
        fflush(stdout);
    }
    for (int k = 0; k < CONTESTANTS; k++) {
        redtune_plan_destroy(plans[k].plan);
        redtune_close(rts[k]);
    }
    return status;
}

int main(int argc, char **argv) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_BF16};
    const turns_sizes size = {(size_t)5 << 29, (size_t)1 << 26, (uint64_t)1 << 26};
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    redtune_status status = workshop_open(&gpu, &shop, &err);
    if (!status) status = turns_open(&shop, size, &race, &err);
    for (size_t i = 0; !status && i < sizeof cases / sizeof *cases; i++)
        for (int d = 0; !status && d < 2; d++)
            /* Steps of their own lead beyond what a simulated device has. */
            if (is_packed(i) || !device_is_simulated(&gpu))
                status = time_case(argc > 1 ? argv[1] : NULL, i, dtypes[d]);
    if (status) fprintf(stderr, "strides_speed: %s\n", err.message);
    turns_close(&race);
    workshop_close(&shop);
    device_close(&gpu);
    return status ? 1 : 0;
}
