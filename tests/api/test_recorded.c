/* Facts about recording: what a program ran without a measurement of its own is in the file once it
 * has closed redtune, each problem with its calls, its steps and its time. On the simulated GPU. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "adder.h"
#include "check.h"
#include "folder.h"
#include "cache/tuning.h"
#include "api/running/plan.h"
#include "model/problem.h"
#include "redtune/list.h"
#include "redtune/tools.h"
#include "redtune/tune.h"
#include "shaped.h"

enum { SHAPES = 10, ELEMENTS = 40000, RESULT_BYTES = 40000, THREADS = 4, CALLS = 50 };

static redtune_error err;
static adder with;
static rdt_buffer results;
static redtune *rt;
static char folder[64], file[96], database[96], heard[2000];
static redtune_recorded *found;
static size_t found_count;

static void hear(void *user, redtune_log_level level, const char *line) {
    (void)user, (void)level;
    snprintf(heard, sizeof heard, "%s", line);
}

static redtune_status open_recording(const char *path) {
    heard[0] = '\0';
    const redtune_options options = {
        .database = database, .record = path, .log = hear, .log_level = REDTUNE_LOG_WARNING};
    return redtune_open(&options, &rt, &err);
}

static bool begin(void) {
    remove(file);
    return !open_recording(file);
}

/* What is in the file when the program has closed redtune. */
static redtune_status end(void) {
    redtune_close(rt);
    rt = NULL;
    redtune_free(found);
    found = NULL;
    found_count = 0;
    return redtune_recording_read(file, &found, &found_count, &err);
}

static redtune_problem of(uint64_t outer, uint64_t count, uint64_t inner, uint64_t outer_step) {
    return PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = count, .outer = outer,
                   .inner = inner, .outer_step = outer_step);
}

static redtune_status reduce(const redtune_problem *problem) {
    return redtune_reduce(rt, problem, (void *)(uintptr_t)with.input.address,
                          (void *)(uintptr_t)results.address, with.gpu.stream, &err);
}

/* The entry of the problem; NULL: there is none. */
static const redtune_recorded *find(const redtune_problem *problem) {
    redtune_problem resolved = PROBLEM(.count = 0);
    rdt_problem_resolve(problem, &resolved, &err);
    for (size_t i = 0; i < found_count; i++)
        if (rdt_problem_same(&found[i].problem, &resolved)) return &found[i];
    return NULL;
}

/* A measurement of the problem on this GPU: the default's config took so long. */
static redtune_status put_measurement(const redtune_problem *problem, double median_ns) {
    rdt_tuning *tuning = NULL;
    redtune_plan *plan = NULL;
    redtune_info info;
    redtune_status status = redtune_open(&(redtune_options){.database = "/none.db"}, &rt, &err);
    if (!status) status = redtune_plan_create(rt, problem, &plan, &err);
    if (status) return status;
    redtune_plan_info(plan, &info);
    rdt_trial trial = {.problem = info.problem, .median_ns = median_ns, .samples = 31, .rank = 1};
    rdt_origin origin = {.machine = "", .driver_version = 13000, .nvrtc_version = 13000};
    rdt_text_copy(trial.family, sizeof trial.family, info.family);
    rdt_text_copy(trial.config, sizeof trial.config, info.config);
    status = rdt_codegen_version(origin.templates, &err);
    if (!status) status = rdt_tuning_open(database, &tuning, &err);
    if (!status) status = rdt_tuning_put(tuning, &rt->context->facts, &origin, &trial, 1, &err);
    rdt_tuning_close(tuning);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    rt = NULL;
    return status;
}

static redtune_problem shapes[SHAPES];

static void fill_shapes(void) {
    const redtune_problem several[SHAPES] = {
        of(0, 30000, 0, 0),  of(64, 100, 0, 0),    of(65, 100, 0, 0), of(64, 104, 0, 0),
        of(64, 100, 0, 128), of(2, 9999, 0, 0),    of(0, 100, 64, 0), of(0, 100, 68, 0),
        of(7, 20, 100, 0),   of(7, 20, 100, 2048),
    };
    memcpy(shapes, several, sizeof shapes);
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(ten_shapes_are_recorded_and_read_back) {
    CHECK(begin());
    for (int i = 0; i < SHAPES; i++)
        for (int k = 0; k <= i; k++) CHECK_OK(reduce(&shapes[i]), err);
    CHECK_OK(end(), err);
    CHECK_INT(found_count, SHAPES);
    for (int i = 0; i < SHAPES; i++) {
        const redtune_recorded *entry = find(&shapes[i]);
        CHECK(entry && entry->calls == (uint64_t)i + 1);
        CHECK_INT(entry->match, REDTUNE_MATCH_DEFAULT);
        CHECK(entry->ns == 0);
    }
    CHECK_INT(found[0].calls, SHAPES); /* nothing is known of their time: by calls */
    /* The next program adds its own. */
    CHECK_OK(open_recording(file), err);
    CHECK_OK(reduce(&shapes[0]), err);
    CHECK_OK(end(), err);
    CHECK_INT(found_count, SHAPES);
    CHECK_INT(find(&shapes[0])->calls, 2);
}

/* A second input, a mask and results with steps of their own; a mask that lies as the elements do
 * is nothing to tune. */
FACT(steps_of_all_arrays_are_recorded) {
    enum { X = REDTUNE_ARRAY_X, Y, MASK, RESULTS };
    const redtune_problem problems[] = {
        {.op = REDTUNE_DOT,
         .dtype = REDTUNE_F32,
         .steps = 1u << X | 1u << Y,
         .kept_axes = 1,
         .reduced_axes = 1,
         .kept = {{30, {100, 0}}},
         .reduced = {{100, {1, 1}}}},
        {.op = REDTUNE_SUM,
         .dtype = REDTUNE_F32,
         .mask = REDTUNE_MASK_BYTES,
         .steps = 1u << X | 1u << MASK,
         .kept_axes = 1,
         .reduced_axes = 1,
         .kept = {{30, {100, 0, 0}}},
         .reduced = {{100, {1, 0, 1}}}},
        {.op = REDTUNE_SUM,
         .dtype = REDTUNE_F32,
         .steps = 1u << X | 1u << RESULTS,
         .kept_axes = 1,
         .reduced_axes = 1,
         .kept = {{30, {100, 0, 0, 3}}},
         .reduced = {{100, {1}}}},
        {.op = REDTUNE_SUM,
         .dtype = REDTUNE_F32,
         .mask = REDTUNE_MASK_BYTES,
         .kept_axes = 1,
         .reduced_axes = 1,
         .kept = {{30}},
         .reduced = {{100}}},
    };
    CHECK(begin());
    for (int i = 0; i < 4; i++) {
        void *const in = (void *)(uintptr_t)with.input.address;
        const redtune_operands operands = {
            .d_in = {in, i ? NULL : in},
            .d_out = {(void *)(uintptr_t)results.address},
            .d_mask = problems[i].mask ? in : NULL,
            .count = i < 3 ? 0 : 100,
            .outer = i < 3 ? 0 : 30,
        };
        CHECK_OK(redtune_run(rt, &problems[i], &operands, with.gpu.stream, &err), err);
    }
    CHECK_OK(end(), err);
    CHECK_INT(found_count, 3);
    for (int i = 0; i < 3; i++) CHECK(find(&problems[i]) && find(&problems[i])->calls == 1);
}

/* Most share the keys of the plan table: each is served by its own measurement all the same, in the
 * next process, too, which finds the plans in the cache. */
FACT(segments_and_lists_are_recorded) {
    enum { SEGMENTS = 60, LENGTH = 64 }; /* plans go by powers of two of lengths */
    int64_t offset[SEGMENTS + 1];
    rdt_buffer table = {0};
    redtune_problem problem = of(SEGMENTS, LENGTH, 0, 0);
    for (int i = 0; i <= SEGMENTS; i++) offset[i] = (int64_t)i * LENGTH;
    CHECK_OK(rdt_buffer_create(with.gpu.driver, sizeof offset, &table, &err), err);
    CHECK_OK(rdt_buffer_write(with.gpu.driver, table.address, offset, sizeof offset,
                              with.gpu.stream, &err),
             err);
    const redtune_segments segments = {.d_in = (void *)(uintptr_t)with.input.address,
                                       .count = SEGMENTS,
                                       .d_begin = (void *)(uintptr_t)table.address,
                                       .offset_bytes = sizeof *offset,
                                       .d_out = {(void *)(uintptr_t)results.address}};
    CHECK(begin());
    for (int call = 0; call < 5; call++) {
        problem.segmented = call < 3 ? REDTUNE_SEGMENTED_EACH : REDTUNE_SEGMENTED_ALL;
        CHECK_OK(redtune_run_segments(rt, &problem, &segments, with.gpu.stream, &err), err);
    }
    CHECK_OK(end(), err);
    CHECK_INT(found_count, 2);
    problem.segmented = REDTUNE_SEGMENTED_EACH;
    CHECK(find(&problem) && find(&problem)->calls == 3);
    problem.segmented = REDTUNE_SEGMENTED_ALL;
    CHECK(find(&problem) && find(&problem)->calls == 2);
    rdt_buffer_destroy(&table);
}

FACT(once_they_are_measured_none_is_recorded) {
    for (int i = 0; i < SHAPES; i++) CHECK_OK(put_measurement(&shapes[i], 1000 + i), err);
    for (int process = 0; process < 2; process++) {
        CHECK(begin());
        CHECK_OK(redtune_prepare(rt, shapes, SHAPES / 2, &err), err);
        for (int i = 1; i < 3 * SHAPES; i++) CHECK_OK(reduce(&shapes[1 + i % (SHAPES - 1)]), err);
        const redtune_problem other = of(66, 100, 0, 0);
        CHECK_OK(reduce(&other), err);
        CHECK_OK(end(), err);
        CHECK_INT(found_count, 1);
        CHECK(find(&other));
    }
    remove(database);
}

/* One plan serves all, and counts so many of them apart; the others count for its own problem. */
FACT(extents_beyond_a_plans_tally_count_for_its_own) {
    const redtune_problem planned = of(40, 500, 0, 0);
    redtune_plan *plan = NULL;
    uint64_t calls = 0;
    CHECK(begin());
    CHECK_OK(redtune_plan_create(rt, &planned, &plan, &err), err);
    for (uint64_t outer = 2; outer < 32; outer++) {
        const redtune_operands operands = {.d_in = {(void *)(uintptr_t)with.input.address},
                                           .d_out = {(void *)(uintptr_t)results.address},
                                           .count = 500,
                                           .outer = outer};
        CHECK_OK(redtune_plan_run(plan, &operands, with.gpu.stream, &err), err);
    }
    redtune_plan_destroy(plan);
    CHECK_OK(end(), err);
    CHECK_INT(found_count, RDT_TALLY_EXTENTS + 1);
    for (size_t i = 0; i < found_count; i++) calls += found[i].calls;
    CHECK_INT(calls, 30);
    CHECK_INT(find(&planned)->calls, 30 - RDT_TALLY_EXTENTS);
}

static void *reduce_often(void *user) {
    const redtune_problem *problem = user;
    for (int i = 0; i < CALLS; i++)
        if (redtune_reduce(rt, problem, (void *)(uintptr_t)with.input.address,
                           (void *)(uintptr_t)results.address, with.gpu.stream, NULL))
            return NULL;
    return user;
}

FACT(calls_of_several_threads_are_all_counted) {
    redtune_problem each[THREADS];
    pthread_t threads[THREADS];
    uint64_t calls = 0;
    CHECK(begin());
    for (int i = 0; i < THREADS; i++) {
        each[i] = of(17 + (uint64_t)i / 2, 8, 0, 0);
        CHECK(!pthread_create(&threads[i], NULL, reduce_often, &each[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        void *done = NULL;
        CHECK(!pthread_join(threads[i], &done) && done);
    }
    CHECK_OK(end(), err);
    CHECK_INT(found_count, 2);
    for (size_t i = 0; i < found_count; i++) calls += found[i].calls;
    CHECK_INT(calls, THREADS * CALLS);
    CHECK_INT(find(&each[0])->calls, 2 * CALLS);
}

static redtune_status run_planned(const redtune_problem *problem, int calls) {
    redtune_plan *plan = NULL;
    const redtune_operands operands = {.d_in = {(void *)(uintptr_t)with.input.address},
                                       .d_out = {(void *)(uintptr_t)results.address},
                                       .count = shaped_of(problem).count,
                                       .outer = shaped_of(problem).outer,
                                       .inner = shaped_of(problem).inner,
                                       .outer_step = shaped_of(problem).outer_step};
    redtune_status status = redtune_plan_create(rt, problem, &plan, &err);
    for (int i = 0; !status && i < calls; i++)
        status = redtune_plan_run(plan, &operands, with.gpu.stream, &err);
    redtune_plan_destroy(plan);
    return status;
}

/* Its time: that of the measurement which served, by elements. */
FACT(what_is_measured_is_not_recorded) {
    const redtune_problem measured = of(64, 100, 0, 0), near = of(128, 100, 0, 0),
                          pitched = of(64, 100, 0, 104);
    redtune_problem max = measured;
    max.op = REDTUNE_MAX;
    CHECK_OK(put_measurement(&measured, 1000), err);
    CHECK(begin());
    CHECK_OK(run_planned(&measured, 3), err);
    CHECK_OK(run_planned(&near, 2), err);
    CHECK_OK(run_planned(&pitched, 2), err);
    CHECK_OK(run_planned(&max, 2), err);
    CHECK_OK(end(), err);
    remove(database);
    CHECK(!find(&measured));
    CHECK_INT(found_count, 3);
    CHECK_INT(find(&near)->match, REDTUNE_MATCH_SIZE);
    CHECK(find(&near)->ns == 2 * 2000);
    CHECK_INT(find(&pitched)->match, REDTUNE_MATCH_SIZE);
    CHECK_INT(find(&max)->match, REDTUNE_MATCH_LIKE);
    CHECK(rdt_problem_same(&found[0].problem, &find(&near)->problem)); /* it took the most */
}

/* Nothing can be tuned for what is pinned; a refused call did not run. */
FACT(pinned_and_refused_calls_are_not_recorded) {
    redtune_problem pinned = of(64, 100, 0, 0), refused = pinned;
    pinned.config = "unroll=2";
    RESHAPE(&refused, outer_step, INT64_MAX);
    CHECK(begin());
    CHECK_OK(run_planned(&pinned, 3), err);
    CHECK_INT(reduce(&refused), REDTUNE_INVALID);
    CHECK_OK(end(), err);
    CHECK_INT(found_count, 0);
}

FACT(the_environment_names_a_file_too) {
    const redtune_problem one = of(3, 7, 0, 0);
    remove(file);
    setenv("REDTUNE_RECORD", file, 1);
    CHECK_OK(open_recording(NULL), err);
    CHECK_OK(reduce(&one), err);
    CHECK_OK(end(), err);
    CHECK_INT(found_count, 1);
    /* A program runs on where that one is unfit. */
    setenv("REDTUNE_RECORD", "/proc/none/at/all", 1);
    CHECK_OK(open_recording(NULL), err);
    CHECK_CONTAINS(heard, "nothing is recorded: cannot ");
    CHECK_OK(reduce(&one), err);
    unsetenv("REDTUNE_RECORD");
    CHECK_OK(end(), err);
    CHECK_INT(found_count, 1);
    CHECK_FAILS(open_recording("/proc/none/at/all"), REDTUNE_FILE, err, "cannot ");
}

/* "" and what leads to /dev/null record nothing, also where the environment names a file. */
FACT(nothing_is_recorded_where_nobody_wants_it) {
    const redtune_problem one = of(3, 7, 0, 0);
    char null[96];
    struct stat info;
    remove(file);
    snprintf(null, sizeof null, "%s/null", folder);
    setenv("REDTUNE_RECORD", file, 1);
    const char *const none[] = {"", null};
    const bool has_null = !mknod(null, S_IFCHR | 0666, makedev(1, 3));
    for (int i = 0; i < 1 + has_null; i++) {
        CHECK_OK(open_recording(none[i]), err);
        CHECK_OK(reduce(&one), err);
        redtune_close(rt);
        rt = NULL;
        CHECK(access(file, F_OK));
    }
    unsetenv("REDTUNE_RECORD");
    CHECK(!has_null || (!stat(null, &info) && S_ISCHR(info.st_mode)));
}

/* What cannot be written for ulimit -f is done without: the recording, the kernel cache. */
FACT(a_limit_on_files_costs_no_result) {
    const redtune_problem fresh = of(3, 70, 50, 0); /* of no other fact: it is compiled */
    struct rlimit usual;
    char cache[96], warned[sizeof heard];
    snprintf(cache, sizeof cache, "%s/fresh", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("REDTUNE_RECORD", file, 1);
    remove(file);
    getrlimit(RLIMIT_FSIZE, &usual);
    const struct rlimit low = {.rlim_cur = 10, .rlim_max = usual.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
    redtune_status status = open_recording(NULL);
    snprintf(warned, sizeof warned, "%s", heard);
    if (!status) status = reduce(&fresh);
    setrlimit(RLIMIT_FSIZE, &usual);
    unsetenv("REDTUNE_RECORD");
    setenv("XDG_CACHE_HOME", folder, 1);
    CHECK_OK(status, err);
    CHECK_CONTAINS(warned, "nothing is recorded: cannot write the recording");
    CHECK_CONTAINS(heard, "cannot write kernel cache");
    CHECK_CONTAINS(heard, "raise ulimit -f");
    float sum = 0;
    CHECK_OK(
        rdt_buffer_read(with.gpu.driver, &sum, results.address, sizeof sum, with.gpu.stream, &err),
        err);
    CHECK(sum == 70);
    redtune_close(rt);
    rt = NULL;
}

/* What is no recording stays as it is, and is refused before anything runs. */
FACT(a_file_of_something_else_is_refused) {
    FILE *other = fopen(file, "w");
    CHECK(other && fputs("letters\n", other) >= 0 && !fclose(other));
    CHECK_FAILS(open_recording(file), REDTUNE_INVALID, err, "line 1");
    other = fopen(file, "a");
    CHECK(other && ftell(other) == 8 && !fclose(other));
}

int main(int argc, char **argv) {
    snprintf(folder, sizeof folder, "/tmp/redtune-test-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(file, sizeof file, "%s/record", folder);
    snprintf(database, sizeof database, "%s/tuning.db", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    fill_shapes();
    int failed = 1;
    if (adder_open(&with, ELEMENTS, &err) ||
        rdt_buffer_create(with.gpu.driver, RESULT_BYTES, &results, &err))
        fprintf(stderr, "%s\n", err.message);
    else
        failed = check_run(argc, argv);
    redtune_free(found);
    rdt_buffer_destroy(&results);
    adder_close(&with);
    folder_remove(folder);
    return failed;
}
