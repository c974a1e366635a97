/* Facts about arguments: every public function refuses what makes no sense, NULLs, enumerators that
 * are none and lists that are not there, in one line that names it, and none ends the process. Each
 * call is made in a process of its own. On the simulated GPU. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "redtune/records.h"
#include "redtune/team.h"
#include "redtune/tools.h"
#include "redtune/tune.h"

#define NONE 99

static redtune_error err;
static redtune *rt;
static char value[16]; /* what a device pointer points to in the simulator; never read */
static redtune_problem sum, no_op, no_dtype, no_result, huge, lines; /* by main */
static const redtune_operands one = {.d_in = {value}, .d_out = {value}, .count = 1};
static const redtune_operands nothing = {.d_in = {value}, .count = 1};
static const redtune_operands two_inputs = {.d_in = {value, value}, .d_out = {value}};
static const redtune_operands two_outputs = {.d_in = {value}, .d_out = {value, value}};
static const redtune_comparison uncounted = {.difference_count = 1}; /* and no differences */
static const char *const no_file[] = {"/nowhere/at/all", NULL};
static const redtune_op ops[] = {NONE};
static const redtune_dtype dtypes[] = {NONE};

static redtune_op op;
static redtune_problem folded = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
static const int64_t shape[] = {2, 3};
static redtune_dtype dtype;
static redtune_effort effort;
static redtune_plan *plan;
static redtune_workspace *workspace;
static redtune_info info;
static redtune_device_info device;
static redtune_reading reading;
static redtune_explanation explanation;
static redtune_counters counters;
static redtune_import_counts report;
static redtune_verify_counts verified;
static char *text, source[256];
static redtune_recorded *recorded;
static void *data;
static size_t bytes;
static uint64_t removed;
static int count;

static redtune_status each_row(void *user, const redtune_row *row, redtune_error *error) {
    (void)user, (void)row, (void)error;
    return REDTUNE_OK;
}

static redtune_status read_none(void *user, void *buffer, size_t capacity, size_t *got,
                                redtune_error *error) {
    (void)user, (void)buffer, (void)capacity, (void)error;
    *got = 0;
    return REDTUNE_OK;
}

static int each_step(void *user, const redtune_step *step) {
    (void)user, (void)step;
    return 0;
}

static void each_finding(void *user, const redtune_finding *finding) { (void)user, (void)finding; }

static const redtune_input input = {read_none, NULL}, no_input = {NULL, NULL};

/* What the message names, and the call; NULL: the call has no status, or the argument is fine. */
#define CALLS(X)                                                                                   \
    X("op is NULL", redtune_op_find("sum", NULL, &err))                                            \
    X("no such op", redtune_op_find(NULL, &op, &err))                                              \
    X("no such op", redtune_op_find("a\nb", &op, &err))                                            \
    X("dtype is NULL", redtune_dtype_find("f32", NULL, &err))                                      \
    X("no such dtype", redtune_dtype_find(NULL, &dtype, &err))                                     \
    X("effort is NULL", redtune_effort_find("quick", NULL, &err))                                  \
    X("use effort ''", redtune_effort_find(NULL, &effort, &err))                                   \
    X("problem is NULL", redtune_problem_result(NULL, &dtype, &err))                               \
    X("result is NULL", redtune_problem_result(&sum, NULL, &err))                                  \
    X("op", redtune_problem_result(&no_op, &dtype, &err))                                          \
    X("dtype", redtune_problem_result(&no_dtype, &dtype, &err))                                    \
    X("dtype", redtune_problem_result(&no_result, &dtype, &err))                                   \
    X("elements", redtune_problem_result(&huge, &dtype, &err))                                     \
    X(NULL, redtune_problem_result(&huge, &dtype, NULL) ? REDTUNE_OK : REDTUNE_WRONG)              \
    X("problem is NULL", redtune_problem_fold(NULL, shape, NULL, 2, NULL, 0, &err))                \
    X("shape is NULL", redtune_problem_fold(&folded, NULL, NULL, 2, NULL, 0, &err))                \
    X("axes is NULL", redtune_problem_fold(&folded, shape, NULL, 2, NULL, 1, &err))                \
    X("no axis 99", redtune_problem_fold(&folded, shape, NULL, 2, (int[]){NONE}, 1, &err))         \
    X("out is NULL", redtune_open(NULL, NULL, &err))                                               \
    X("trust", redtune_open(&(redtune_options){.device = "sim", .trust = NONE}, &rt, &err))        \
    X("log", redtune_open(&(redtune_options){.device = "sim", .log_level = NONE}, &rt, &err))      \
    X("verify_s is nan",                                                                           \
      redtune_open(&(redtune_options){.device = "sim", .verify_s = NAN}, &rt, &err))               \
    X("verify_s is -1",                                                                            \
      redtune_open(&(redtune_options){.device = "sim", .verify_s = -1}, &rt, &err))                \
    X("device ''", redtune_open(&(redtune_options){.device = ""}, &rt, &err))                      \
    X("device '\?'", redtune_open(&(redtune_options){.device = "\n"}, &rt, &err))                  \
    X(NULL, (redtune_close(NULL), REDTUNE_OK))                                                     \
    X("rt is NULL", redtune_plan_create(NULL, &sum, &plan, &err))                                  \
    X("problem is NULL", redtune_plan_create(rt, NULL, &plan, &err))                               \
    X("out is NULL", redtune_plan_create(rt, &sum, NULL, &err))                                    \
    X("a\?\?[31mb", redtune_plan_create(rt, &lines, &plan, &err))                                  \
    X(NULL, (redtune_plan_destroy(NULL), REDTUNE_OK))                                              \
    X(NULL, redtune_plan_config(NULL) ? REDTUNE_OK : REDTUNE_WRONG)                                \
    X(NULL, (redtune_plan_info(NULL, &info), info.family[0]))                                      \
    X(NULL, redtune_plan_create(rt, &sum, &plan, &err) ?: (redtune_plan_info(plan, NULL), 0))      \
    X("plan is NULL", redtune_plan_reduce(NULL, value, 1, value, NULL, &err))                      \
    X("d_out", redtune_plan_create(rt, &sum, &plan, &err)                                          \
                   ?: redtune_plan_reduce(plan, value, 1, NULL, NULL, &err))                       \
    X("d_in", redtune_plan_create(rt, &sum, &plan, &err)                                           \
                  ?: redtune_plan_reduce(plan, NULL, 1, value, NULL, &err))                        \
    X("plan is NULL", redtune_plan_run(NULL, &one, NULL, &err))                                    \
    X("operands are NULL",                                                                         \
      redtune_plan_create(rt, &sum, &plan, &err) ?: redtune_plan_run(plan, NULL, NULL, &err))      \
    X("d_out",                                                                                     \
      redtune_plan_create(rt, &sum, &plan, &err) ?: redtune_plan_run(plan, &nothing, NULL, &err))  \
    X("d_in[1] is not NULL", redtune_plan_create(rt, &sum, &plan, &err)                            \
                                 ?: redtune_plan_run(plan, &two_inputs, NULL, &err))               \
    X("d_out[1] is not NULL", redtune_plan_create(rt, &sum, &plan, &err)                           \
                                  ?: redtune_plan_run(plan, &two_outputs, NULL, &err))             \
    X("rt is NULL", redtune_reduce(NULL, &sum, value, value, NULL, &err))                          \
    X("problem is NULL", redtune_reduce(rt, NULL, value, value, NULL, &err))                       \
    X("op", redtune_reduce(rt, &no_op, value, value, NULL, &err))                                  \
    X("config", redtune_reduce(rt, &lines, value, value, NULL, &err))                              \
    X("rt is NULL", redtune_prepare(NULL, &sum, 1, &err))                                          \
    X("problems is NULL", redtune_prepare(rt, NULL, 1, &err))                                      \
    X("dtype", redtune_prepare(rt, &no_dtype, 1, &err))                                            \
    X(NULL, redtune_prepare(rt, NULL, 0, &err))                                                    \
    X("rt is NULL", redtune_workspace_create(NULL, NULL, 0, NULL, &workspace, &err))               \
    X("out is NULL", redtune_workspace_create(rt, NULL, 0, NULL, NULL, &err))                      \
    X("takes", redtune_workspace_create(rt, value, 1, NULL, &workspace, &err))                     \
    X(NULL, (redtune_workspace_destroy(NULL), REDTUNE_OK))                                         \
    X("rt", redtune_reduce_input(NULL, &sum, &input, &reading, &err))                              \
    X("problem is NULL", redtune_reduce_input(rt, NULL, &input, &reading, &err))                   \
    X("input", redtune_reduce_input(rt, &sum, NULL, &reading, &err))                               \
    X("read", redtune_reduce_input(rt, &sum, &no_input, &reading, &err))                           \
    X("out", redtune_reduce_input(rt, &sum, &input, NULL, &err))                                   \
    X("rt", redtune_reduce_array(NULL, &sum, &input, value, 4, &reading, &err))                    \
    X("problem is NULL", redtune_reduce_array(rt, NULL, &input, value, 4, &reading, &err))         \
    X("input", redtune_reduce_array(rt, &sum, NULL, value, 4, &reading, &err))                     \
    X("read", redtune_reduce_array(rt, &sum, &no_input, value, 4, &reading, &err))                 \
    X("results", redtune_reduce_array(rt, &sum, &input, NULL, 4, &reading, &err))                  \
    X("out", redtune_reduce_array(rt, &sum, &input, value, 4, NULL, &err))                         \
    X("rt is NULL", redtune_tune(NULL, NULL, &err))                                                \
    X("ops is NULL", redtune_tune(rt, &(redtune_tuning){.op_count = 1}, &err))                     \
    X("dtypes is NULL", redtune_tune(rt, &(redtune_tuning){.dtype_count = 1}, &err))               \
    X("counts is NULL", redtune_tune(rt, &(redtune_tuning){.count_count = 1}, &err))               \
    X("op", redtune_tune(rt, &(redtune_tuning){.ops = ops, .op_count = 1}, &err))                  \
    X("dtype", redtune_tune(rt, &(redtune_tuning){.dtypes = dtypes, .dtype_count = 1}, &err))      \
    X("effort 99", redtune_tune(rt, &(redtune_tuning){.effort = NONE}, &err))                      \
    X("shard", redtune_tune(rt, &(redtune_tuning){.shard_index = 1}, &err))                        \
    X("descriptors", redtune_worker_run(-1, -1, &err))                                             \
    X(NULL, (redtune_device_get(NULL, &device), device.sm_count))                                  \
    X(NULL, (redtune_device_get(rt, NULL), REDTUNE_OK))                                            \
    X(NULL, redtune_database_path(NULL) ? REDTUNE_OK : REDTUNE_WRONG)                              \
    X("each is NULL", redtune_rows_each(NULL, NULL, NULL, &err))                                   \
    X("op", redtune_rows_each(&(redtune_rows_query){.op = ops}, each_row, NULL, &err))             \
    X("dtype", redtune_rows_each(&(redtune_rows_query){.dtype = dtypes}, each_row, NULL, &err))    \
    X("question is NULL", redtune_explain(NULL, &explanation, &err))                               \
    X("out is NULL", redtune_explain(&(redtune_question){.problem = sum}, NULL, &err))             \
    X("op", redtune_explain(&(redtune_question){.problem = no_op}, &explanation, &err))            \
    X("data is NULL", redtune_export(NULL, REDTUNE_EXPORT_JSON, NULL, &bytes, &err))               \
    X("bytes is NULL", redtune_export(NULL, REDTUNE_EXPORT_JSON, &data, NULL, &err))               \
    X("format 99", redtune_export(NULL, NONE, &data, &bytes, &err))                                \
    X("op",                                                                                        \
      redtune_export(&(redtune_rows_query){.op = ops}, REDTUNE_EXPORT_JSON, &data, &bytes, &err))  \
    X("no file", redtune_import(NULL, &report, &err))                                              \
    X("no file", redtune_import(&(redtune_importing){.file_count = 1}, &report, &err))             \
    X("file 1",                                                                                    \
      redtune_import(&(redtune_importing){.files = no_file, .file_count = 2}, &report, &err))      \
    X("source is NULL", redtune_undo(NULL, NULL, &removed, &err))                                  \
    X("removed is NULL", redtune_undo(NULL, source, NULL, &err))                                   \
    X("rt is NULL", redtune_verify(NULL, NULL, &verified, &err))                                   \
    X("op", redtune_verify(rt, &(redtune_verifying){.op = ops}, &verified, &err))                  \
    X("dtype", redtune_verify(rt, &(redtune_verifying){.dtype = dtypes}, &verified, &err))         \
    X("emission is NULL", redtune_emit(NULL, &text, &err))                                         \
    X("source is NULL", redtune_emit(&(redtune_emission){.problem = sum}, NULL, &err))             \
    X("op", redtune_emit(&(redtune_emission){.problem = no_op}, &text, &err))                      \
    X("'a\?b'", redtune_emit(&(redtune_emission){.problem = sum, .family = "a\nb"}, &text, &err))  \
    X("a\?\?[31mb",                                                                                \
      redtune_emit(&(redtune_emission){.problem = sum, .config = lines.config}, &text, &err))      \
    X(NULL, (redtune_free(NULL), REDTUNE_OK))                                                      \
    X("emission is NULL", redtune_count(NULL, &counters, &err))                                    \
    X("baking is NULL", redtune_bake(NULL, &data, &bytes, &err))                                   \
    X("data is NULL", redtune_bake(&(redtune_baking){.ptx = 1}, NULL, &bytes, &err))               \
    X("no problem", redtune_bake(&(redtune_baking){.ptx = 1}, &data, &bytes, &err))                \
    X("architecture 9:", redtune_bake(&(redtune_baking){.problems = &sum,                          \
                                                        .problem_count = 1,                        \
                                                        .archs = &(int){9},                        \
                                                        .arch_count = 1},                          \
                                      &data, &bytes, &err))                                        \
    X("out is NULL", redtune_count(&(redtune_emission){.problem = sum}, NULL, &err))               \
    X("dtype", redtune_count(&(redtune_emission){.problem = no_dtype}, &counters, &err))           \
    X("rt is NULL", redtune_ladder(NULL, NULL, &err))                                              \
    X("dtype", redtune_ladder(rt, &(redtune_climb){.dtype = NONE}, &err))                          \
    X("block", redtune_ladder(rt, &(redtune_climb){.block = 7}, &err))                             \
    X("name is NULL", redtune_ladder_source(NULL, NULL, &text, &err))                              \
    X("source is NULL", redtune_ladder_source(NULL, "modulo", NULL, &err))                         \
    X("dtype", redtune_ladder_source(&(redtune_climb){.dtype = NONE}, "modulo", &text, &err))      \
    X("text is NULL", redtune_report(NULL, NULL, &err))                                            \
    X("steps is NULL", redtune_report(&(redtune_reporting){.step_count = 1}, &text, &err))         \
    X("differences is NULL",                                                                       \
      redtune_report(&(redtune_reporting){.comparison = &uncounted}, &text, &err))                 \
    X("format 99", redtune_report(&(redtune_reporting){.format = NONE}, &text, &err))              \
    X("op", redtune_report(&(redtune_reporting){.problem = no_op}, &text, &err))                   \
    X("dtype", redtune_report(&(redtune_reporting){.problem = no_dtype}, &text, &err))             \
    X("found is NULL", redtune_diagnose(NULL, NULL, NULL, &count, &err))                           \
    X("path is NULL", redtune_recording_read(NULL, &recorded, &bytes, &err))                       \
    X("problems is NULL", redtune_recording_read("/nowhere", NULL, &bytes, &err))                  \
    X("count is NULL", redtune_recording_read("/nowhere", &recorded, NULL, &err))                  \
    X("count is NULL", redtune_device_count(NULL, &err))                                           \
    X(NULL, redtune_op_name(NONE) || redtune_dtype_name(NONE) || redtune_dtype_bytes(NONE))        \
    X(NULL, strcmp(redtune_status_name(NONE), "unknown"))                                          \
    X(NULL, strcmp(redtune_match_name(NONE), "unknown"))                                           \
    X(NULL, strcmp(redtune_effort_name(NONE), "unknown"))

/* Structs of programs of a later version, or that were not zeroed: their type, and the call. */
#define OF_LATER .reserved = {1}
static redtune_problem later_folded = {.dtype = REDTUNE_F32, OF_LATER};
static redtune_problem later_problem; /* by main */
static const redtune_operands later_operands = {.d_in = {value}, .d_out = {value}, OF_LATER};
static const redtune_input later_input = {.read = read_none, OF_LATER};
static const redtune_climb later_climb = {.step = each_step, OF_LATER};
static const redtune_comparison later_comparison = {OF_LATER};
static const redtune_rows_query later_query = {OF_LATER};
static const redtune_importing later_import = {.files = no_file, .file_count = 1, OF_LATER};
#define LATER_CALLS(X)                                                                             \
    X("redtune_problem", redtune_problem_result(&later_problem, &dtype, &err))                     \
    X("redtune_problem", redtune_problem_fold(&later_folded, shape, NULL, 2, NULL, 0, &err))       \
    X("redtune_problem", redtune_plan_create(rt, &later_problem, &plan, &err))                     \
    X("redtune_problem", redtune_prepare(rt, &sum, 1, &err)                                        \
                             ?: redtune_reduce(rt, &later_problem, value, value, NULL, &err))      \
    X("redtune_problem",                                                                           \
      redtune_report(&(redtune_reporting){.problem = later_problem}, &text, &err))                 \
    X("redtune_operands", redtune_plan_create(rt, &sum, &plan, &err)                               \
                              ?: redtune_plan_run(plan, &later_operands, NULL, &err))              \
    X("redtune_options", redtune_open(&(redtune_options){OF_LATER}, &rt, &err))                    \
    X("redtune_options",                                                                           \
      redtune_diagnose(&(redtune_options){OF_LATER}, each_finding, NULL, &count, &err))            \
    X("redtune_input", redtune_reduce_input(rt, &sum, &later_input, &reading, &err))               \
    X("redtune_input", redtune_reduce_array(rt, &sum, &later_input, value, 4, &reading, &err))     \
    X("redtune_tuning", redtune_tune(rt, &(redtune_tuning){OF_LATER}, &err))                       \
    X("redtune_verifying", redtune_verify(rt, &(redtune_verifying){OF_LATER}, &verified, &err))    \
    X("redtune_rows_query", redtune_rows_each(&later_query, each_row, NULL, &err))                 \
    X("redtune_rows_query",                                                                        \
      redtune_export(&later_query, REDTUNE_EXPORT_JSON, &data, &bytes, &err))                      \
    X("redtune_question",                                                                          \
      redtune_explain(&(redtune_question){.problem = sum, OF_LATER}, &explanation, &err))          \
    X("redtune_importing", redtune_import(&later_import, &report, &err))                           \
    X("redtune_emission",                                                                          \
      redtune_emit(&(redtune_emission){.problem = sum, OF_LATER}, &text, &err))                    \
    X("redtune_baking", redtune_bake(&(redtune_baking){OF_LATER}, &data, &bytes, &err))            \
    X("redtune_emission",                                                                          \
      redtune_count(&(redtune_emission){.problem = sum, OF_LATER}, &counters, &err))               \
    X("redtune_climb", redtune_ladder(rt, &later_climb, &err))                                     \
    X("redtune_climb", redtune_ladder_steps(&later_climb, &err))                                   \
    X("redtune_climb", redtune_ladder_source(&later_climb, "modulo", &text, &err))                 \
    X("redtune_reporting", redtune_report(&(redtune_reporting){OF_LATER}, &text, &err))            \
    X("redtune_comparison",                                                                        \
      redtune_report(&(redtune_reporting){.comparison = &later_comparison}, &text, &err))

static const struct {
    redtune_status status;
    const char *part, *call;
} calls[] = {
#define ENTRY(part, ...) {REDTUNE_INVALID, part, #__VA_ARGS__},
    CALLS(ENTRY)
#undef ENTRY
#define ENTRY(part, ...) {REDTUNE_UNSUPPORTED, part, #__VA_ARGS__},
        LATER_CALLS(ENTRY)
#undef ENTRY
};

static int make(size_t wanted) {
    size_t at = 0;
#define ENTRY(part, ...)                                                                           \
    if (at++ == wanted) return (int)(__VA_ARGS__);
    CALLS(ENTRY)
    LATER_CALLS(ENTRY)
#undef ENTRY
    return -1;
}

/* In a process of its own: 0 if the call ends as it should. */
static int try_call(size_t i) {
    redtune_error opening;
    if (strstr(calls[i].call, "(rt,") &&
        redtune_open(&(redtune_options){.device = "sim"}, &rt, &opening)) {
        fprintf(stderr, "%s\n", opening.message);
        return 77;
    }
    int got = make(i);
    const redtune_status wanted = calls[i].status;
    bool good = calls[i].part ? got == (int)wanted && err.status == wanted &&
                                    strstr(err.message, calls[i].part)
                              : got == REDTUNE_OK;
    if (!good) fprintf(stderr, "%s: %d: %s\n", calls[i].call, got, err.message);
    return !good;
}

FACT(what_makes_no_sense_is_refused) {
    int failed = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int ended = 0;
        fflush(NULL);
        pid_t child = fork();
        if (!child) _exit(try_call(i));
        CHECK(child > 0 && waitpid(child, &ended, 0) == child);
        if (WIFSIGNALED(ended)) fprintf(stderr, "%s: a signal\n", calls[i].call);
        failed += ended != 0;
    }
    CHECK_INT(failed, 0);
}

static char heard[1024];

static void hear(void *user, redtune_log_level level, const char *line) {
    (void)user, (void)level;
    if (strstr(line, "HOME")) snprintf(heard, sizeof heard, "%s", line);
}

/* As a service is started: reductions work, and what would be lost is not begun. */
FACT(without_a_home_there_is_no_database) {
    const redtune_options options = {
        .device = "sim", .log = hear, .log_level = REDTUNE_LOG_WARNING};
    char database[64];
    snprintf(database, sizeof database, "%s", getenv("REDTUNE_DB"));
    unsetenv("HOME");
    unsetenv("XDG_DATA_HOME");
    unsetenv("REDTUNE_DB");
    redtune_status status = redtune_open(&options, &rt, &err);
    setenv("REDTUNE_DB", database, 1);
    CHECK_OK(status, err);
    CHECK_CONTAINS(heard, "working without a database");
    CHECK_TEXT(redtune_database_path(rt), "");
    CHECK(!redtune_is_prepared(rt, &sum));
    CHECK_OK(redtune_prepare(rt, &sum, 1, &err), err);
    CHECK(redtune_is_prepared(rt, &sum));
    CHECK(!redtune_is_prepared(rt, NULL) && !redtune_is_prepared(NULL, &sum));
    CHECK_FAILS(redtune_tune(rt, NULL, &err), REDTUNE_FILE, err, "REDTUNE_DB");
    redtune_close(rt);
}

/* Opens and closes in a context of its own, which may be gone before redtune is closed. */
static bool live_in_context(void *driver, bool dies) {
    int (*create)(void **, unsigned, int) =
        (int (*)(void **, unsigned, int))dlsym(driver, "cuCtxCreate_v2");
    int (*destroy)(void *) = (int (*)(void *))dlsym(driver, "cuCtxDestroy_v2");
    void *context = NULL;
    if (!create || !destroy || create(&context, 0, 0)) return false;
    if (redtune_open(NULL, &rt, &err) || redtune_prepare(rt, &sum, 1, &err)) return false;
    if (dies) destroy(context);
    redtune_close(rt);
    return dies || !destroy(context);
}

FACT(a_context_that_is_gone_leaves_no_host_memory_behind) {
    enum { LIVES = 8 };
    void *driver = dlopen(getenv("REDTUNE_CUDA_DRIVER"), RTLD_NOW);
    CHECK(driver);
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    CHECK(init && !init(0));
    size_t held[3];
    for (int part = 0; part < 3; part++) { /* for the first time; as usual; with a death */
        for (int i = 0; i < LIVES; i++) CHECK(live_in_context(driver, part == 2));
        held[part] = mallinfo2().uordblks;
    }
    CHECK(held[2] < held[1] + LIVES * 256);
}

/* A duration or a room that overflows what it is counted in. */
#define REFUSES(part, ...) CHECK_FAILS(__VA_ARGS__, REDTUNE_INVALID, err, part)

FACT(durations_that_cannot_be_are_refused) {
    static const double never_s[] = {NAN, -1, -0x1p-1074, INFINITY, 2e9};
    redtune_team *team = NULL, *other = NULL;
    redtune *opened = NULL;
    CHECK_OK(redtune_open(&(redtune_options){.device = "sim", .verify_s = 1e9}, &opened, &err),
             err);
    CHECK_OK(redtune_team_create(opened, NULL, &(redtune_team_options){.wait_s = 1e9}, &team, &err),
             err);
    for (size_t i = 0; i < sizeof never_s / sizeof *never_s; i++) {
        const redtune_options options = {.device = "sim", .verify_s = never_s[i]};
        const redtune_tuning late = {.budget_s = never_s[i]}, slow = {.limit_s = never_s[i]};
        const redtune_verifying verifying = {.limit_s = never_s[i]};
        const redtune_team_options waiting = {.wait_s = never_s[i]};
        REFUSES("options.verify_s is", redtune_open(&options, &rt, &err));
        REFUSES("budget_s is", redtune_tune(opened, &late, &err));
        REFUSES("limit_s is", redtune_tune(opened, &slow, &err));
        REFUSES("limit_s is", redtune_verify(opened, &verifying, &verified, &err));
        REFUSES("options.wait_s is", redtune_team_create(opened, NULL, &waiting, &other, &err));
        REFUSES("limit_s is", redtune_team_wait(team, NULL, never_s[i], &err));
    }
    redtune_team_destroy(team);
    redtune_close(opened);
}

FACT(sizes_that_overflow_are_refused) {
    static const uint64_t rooms[] = {UINT64_C(1) << 57, UINT64_C(1) << 58, (UINT64_C(1) << 58) + 1,
                                     UINT64_MAX};
    const redtune_problem results =
        redtune_problem_rows(REDTUNE_SUM_SUMSQ, REDTUNE_I8, UINT64_C(1) << 60, 0);
    redtune_team *team = NULL;
    CHECK_OK(redtune_open(&(redtune_options){.device = "sim"}, &rt, &err), err);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        const redtune_team_options options = {.results = rooms[i]};
        REFUSES("options.results is", redtune_team_create(rt, NULL, &options, &team, &err));
    }
    REFUSES("results", redtune_reduce_array(rt, &results, &input, value, 0, &reading, &err));
    CHECK(!team);
    redtune_close(rt);
}

static void make_problems(void) {
    sum = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 1000);
    no_op = redtune_problem_whole((redtune_op)NONE, REDTUNE_F32, 1000);
    no_dtype = redtune_problem_whole(REDTUNE_SUM, (redtune_dtype)NONE, 1000);
    huge = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, UINT64_MAX);
    no_result = lines = later_problem = sum;
    no_result.result = (redtune_dtype)NONE;
    lines.config = "a\n\x1b[31mb";
    later_problem.reserved[0] = 1;
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/redtune-test-XXXXXX", path[64];
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/tuning.db", folder);
    setenv("REDTUNE_DB", path, 1);
    make_problems();
    int failed = check_run(argc, argv);
    unlink(path);
    rmdir(folder);
    return failed;
}
