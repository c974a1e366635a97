/* Facts about a tune of shapes, from its list of problems to the plan that serves by it: small
 * ones of rows, of columns and of planes, on the simulated GPU. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "folder.h"
#include "redtune/records.h"
#include "redtune/tune.h"
#include "shaped.h"

enum { SHAPES = 3, STOP_AFTER = 3 };

static const shaped shapes[SHAPES] = {
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 64, .outer = 8},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 12, .inner = 33},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 3 * 49, .outer = 5}, /* 3x5x7x7, (0, 2, 3) */
};

static redtune_error err;
static char folder[64], database[96], other[96];
static redtune_tuned tuned[SHAPES];
static size_t tuned_count;
static unsigned steps, stop_after;

static redtune_problem problem_of(size_t i) {
    redtune_problem problem = shaped_problem(shapes[i]);
    if (i == 2)
        redtune_problem_fold(&problem, (const int64_t[]){3, 5, 7, 7}, NULL, 4,
                             (const int[]){0, 2, 3}, 3, NULL);
    return problem;
}

static int progress(void *user, const redtune_progress *now) {
    (void)user, (void)now;
    return stop_after && ++steps > stop_after;
}

static void keep(void *user, const redtune_tuned *result) {
    (void)user;
    if (result->index < SHAPES) tuned[result->index] = *result;
    tuned_count += !result->again;
}

static redtune_status tune(void) {
    const redtune_problem problems[SHAPES] = {problem_of(0), problem_of(1), problem_of(2)};
    const redtune_tuning wanted = {.problems = problems,
                                   .problem_count = SHAPES,
                                   .effort = REDTUNE_EFFORT_QUICK,
                                   .progress = progress,
                                   .tuned = keep};
    redtune *rt = NULL;
    redtune_status status =
        redtune_open(&(redtune_options){.device = "sim", .database = database}, &rt, &err);
    tuned_count = steps = 0;
    if (!status) status = redtune_tune(rt, &wanted, &err);
    redtune_close(rt);
    return status;
}

/* What a plan of the problem runs, by that database. */
static redtune_status ask(const char *path, const redtune_problem *problem, redtune_info *out) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_status status =
        redtune_open(&(redtune_options){.device = "sim", .database = path}, &rt, &err);
    if (!status) status = redtune_plan_create(rt, problem, &plan, &err);
    if (!status) redtune_plan_info(plan, out);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return status;
}

FACT(a_stopped_tune_of_shapes_goes_on_to_winners_that_serve) {
    static const char *const families[SHAPES] = {"rows", "columns", "strided"};
    stop_after = STOP_AFTER;
    CHECK_FAILS(tune(), REDTUNE_INTERRUPTED, err, "");
    stop_after = 0;
    CHECK_OK(tune(), err);
    CHECK_INT(tuned_count, SHAPES);
    for (size_t i = 0; i < SHAPES; i++) {
        redtune_info info;
        /* The elements, and the results. */
        const double bytes = (double[]){4 * (64 * 8 + 8), 4 * (12 * 33 + 33), 4 * (147 * 5 + 5)}[i];
        CHECK_TEXT(tuned[i].family, families[i]);
        CHECK(tuned[i].measured && tuned[i].median_ns > 0 && tuned[i].default_ns > 0);
        CHECK(tuned[i].gbps > 0.999 * bytes / tuned[i].median_ns);
        CHECK(tuned[i].gbps < 1.001 * bytes / tuned[i].median_ns);
        CHECK(tuned[i].warm_ns == 0);
        const redtune_problem problem = problem_of(i);
        CHECK_OK(ask(database, &problem, &info), err);
        CHECK_INT(info.match, REDTUNE_MATCH_EXACT);
        CHECK_TEXT(info.family, tuned[i].family);
        CHECK_TEXT(info.config, tuned[i].config);
    }
}

FACT(what_is_tuned_is_not_measured_again) {
    CHECK_OK(tune(), err);
    CHECK_INT(tuned_count, SHAPES);
    for (size_t i = 0; i < SHAPES; i++) CHECK_INT(tuned[i].measured + tuned[i].failed, 0);
}

/* Every row is one that a tune could have given. */
FACT(measurements_of_shapes_are_admitted_elsewhere) {
    const char *files[] = {database};
    const redtune_importing wanted = {.database = other, .files = files, .file_count = 1};
    redtune_import_counts counts = {0};
    CHECK_OK(redtune_import(&wanted, &counts, &err), err);
    CHECK(counts.added > 20);
    CHECK_INT(counts.refused, 0);
    CHECK_INT(counts.added, counts.rows);
}

int main(int argc, char **argv) {
    snprintf(folder, sizeof folder, "/tmp/redtune-test-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(database, sizeof database, "%s/tuning.db", folder);
    snprintf(other, sizeof other, "%s/other.db", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    const int failed = check_run(argc, argv);
    folder_remove(folder);
    return failed;
}
