/* Facts about REDTUNE_TRACE: a line of JSON for each call that launches, whole whoever writes
 * beside it, and a file that cannot be used fails nothing. On the simulated GPU. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "adder.h"
#include "check.h"
#include "folder.h"
#include "gpu/graph.h"
#include "redtune/list.h"
#include "shaped.h"

enum { ELEMENTS = 20000, SEGMENTS = 4, THREADS = 4, CALLS = 50 };

static redtune_error err;
static adder with;
static rdt_buffer offsets;
static redtune *rt;
static char folder[64], file[96], heard[1000], text[200000];
static const uint64_t ends[SEGMENTS + 1] = {0, 0, 10, 5000, ELEMENTS};

static atomic_int writes, parts_of_lines; /* to the file */

ssize_t __real_write(int to, const void *data, size_t bytes);
ssize_t __wrap_write(int to, const void *data, size_t bytes);
ssize_t __wrap_write(int to, const void *data, size_t bytes) {
    char link[64], path[200] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", to);
    if (readlink(link, path, sizeof path - 1) > 0 && !strcmp(path, file)) {
        const char *line = data;
        writes++;
        parts_of_lines += !bytes || *line != '{' || line[bytes - 1] != '\n';
    }
    return __real_write(to, data, bytes);
}

static void hear(void *user, redtune_log_level level, const char *line) {
    (void)user, (void)level;
    snprintf(heard, sizeof heard, "%s", line);
}

static redtune_status open_tracing(const char *path) {
    redtune_close(rt);
    rt = NULL;
    heard[0] = '\0';
    setenv("REDTUNE_TRACE", path, 1);
    redtune_status status = redtune_open(
        &(redtune_options){.database = "/none.db", .log = hear, .log_level = REDTUNE_LOG_WARNING},
        &rt, &err);
    unsetenv("REDTUNE_TRACE");
    return status;
}

static redtune_status begin(void) {
    remove(file);
    return open_tracing(file);
}

/* How many lines the file has, all of which are whole; -1: one is not. */
static int read_lines(void) {
    FILE *in = fopen(file, "r");
    int lines = 0;
    text[0] = '\0';
    if (!in) return -1;
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    for (const char *at = text; *at; lines++) {
        const char *end = strchr(at, '\n');
        if (!end || strncmp(at, "{\"call\":\"", 9) || end[-1] != '}' ||
            memmem(at + 1, (size_t)(end - at), "{\"", 2))
            return -1;
        at = end + 1;
    }
    return lines;
}

static void *in_memory(const rdt_buffer *buffer) { return (void *)(uintptr_t)buffer->address; }

static redtune_operands operands_of(const redtune_problem *problem) {
    redtune_operands operands = redtune_problem_operands(problem);
    operands.d_in[0] = in_memory(&with.input);
    operands.d_out[0] = in_memory(&with.result);
    return operands;
}

static redtune_status read_ones(void *user, void *to, size_t capacity, size_t *bytes,
                                redtune_error *ignored) {
    size_t *left = user;
    (void)ignored;
    *bytes = capacity < *left ? capacity : *left;
    for (size_t i = 0; i < *bytes / sizeof(float); i++) ((float *)to)[i] = 1;
    *left -= *bytes;
    return REDTUNE_OK;
}

/* ---- each kind of call ----------------------------------------------------------------------- */

static redtune_problem rows(void) { return redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 3, 100); }

static redtune_status run_reduce(void) {
    const redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 300);
    return redtune_reduce(rt, &problem, in_memory(&with.input), in_memory(&with.result),
                          with.gpu.stream, &err);
}

static redtune_status run_rows(void) {
    const redtune_problem problem = rows();
    const redtune_operands operands = operands_of(&problem);
    return redtune_run(rt, &problem, &operands, with.gpu.stream, &err);
}

static redtune_status run_plan(void) {
    const redtune_problem made_for = redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 5, 64);
    const redtune_problem problem = rows();
    const redtune_operands operands = operands_of(&problem);
    redtune_plan *plan = NULL;
    redtune_status status = redtune_plan_create(rt, &made_for, &plan, &err);
    if (!status) status = redtune_plan_run(plan, &operands, with.gpu.stream, &err);
    redtune_plan_destroy(plan);
    return status;
}

static redtune_status run_plan_whole(void) {
    const redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 50);
    redtune_plan *plan = NULL;
    redtune_status status = redtune_plan_create(rt, &problem, &plan, &err);
    if (!status) status = adder_run(&with, plan, 300, &err);
    redtune_plan_destroy(plan);
    return status;
}

static redtune_status run_segments(void) {
    const redtune_problem problem =
        redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, SEGMENTS, 5000);
    const redtune_segments segments = {.d_in = in_memory(&with.input),
                                       .d_out = {in_memory(&with.result)},
                                       .d_begin = in_memory(&offsets),
                                       .count = SEGMENTS};
    return redtune_run_segments(rt, &problem, &segments, with.gpu.stream, &err);
}

static redtune_status run_no_segments(void) {
    const redtune_problem problem = redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, 0, 5000);
    const redtune_segments none = {.d_in = in_memory(&with.input),
                                   .d_out = {in_memory(&with.result)},
                                   .d_begin = in_memory(&offsets)};
    return redtune_run_segments(rt, &problem, &none, with.gpu.stream, &err);
}

static redtune_status run_list(void) {
    const void *arrays[] = {in_memory(&with.input), in_memory(&with.input)};
    const uint64_t counts[] = {100, 60};
    redtune_problem problem = redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, 0, 80);
    redtune_segments segments = {.d_out = {in_memory(&with.result)}};
    redtune_list *list = NULL;
    redtune_plan *plan = NULL;
    problem.segmented = REDTUNE_SEGMENTED_ALL;
    redtune_status status = redtune_list_create(rt, REDTUNE_F32, arrays, counts, 2, &list, &err);
    segments.list = list;
    if (!status) status = redtune_plan_create(rt, &problem, &plan, &err);
    if (!status) status = redtune_plan_run_segments(plan, &segments, with.gpu.stream, &err);
    if (!status) rdt_stream_wait(with.gpu.driver, with.gpu.stream, &err);
    redtune_plan_destroy(plan);
    redtune_list_destroy(list);
    return status;
}

static redtune_status run_array(void) {
    const redtune_problem problem = rows();
    size_t left = 300 * sizeof(float);
    const redtune_input input = {.read = read_ones, .user = &left};
    float results[3];
    redtune_reading reading;
    return redtune_reduce_array(rt, &problem, &input, results, sizeof results, &reading, &err);
}

static redtune_status run_input(void) {
    const redtune_problem problem = redtune_problem_whole(REDTUNE_MAX, REDTUNE_F32, 300);
    size_t left = 300 * sizeof(float);
    const redtune_input input = {.read = read_ones, .user = &left};
    redtune_reading reading;
    return redtune_reduce_input(rt, &problem, &input, &reading, &err);
}

static redtune_status run_segments_of_input(void) {
    const redtune_problem problem =
        redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, SEGMENTS, 5000);
    size_t left = ELEMENTS * sizeof(float);
    const redtune_input input = {.read = read_ones, .user = &left};
    float results[SEGMENTS];
    redtune_reading reading;
    return redtune_reduce_segments_input(rt, &problem, &input, ends, results, sizeof results,
                                         &reading, &err);
}

static redtune_status run_any_axes(void) {
    const int64_t shape[] = {3, 4, 5};
    const int axes[] = {0, 2};
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .mask = REDTUNE_MASK_BYTES};
    redtune_operands operands = {.d_in = {in_memory(&with.input)},
                                 .d_out = {in_memory(&with.result)},
                                 .d_mask = in_memory(&with.input)};
    redtune_status status = redtune_problem_fold(&problem, shape, NULL, 3, axes, 2, &err);
    return status ? status : redtune_run(rt, &problem, &operands, with.gpu.stream, &err);
}

static redtune_status run_nothing_valid(void) {
    const redtune_problem problem = rows();
    const redtune_operands operands = {.d_in = {in_memory(&with.input)}};
    redtune_status status = redtune_run(rt, &problem, &operands, with.gpu.stream, &err);
    return status ? REDTUNE_OK : REDTUNE_WRONG;
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(each_call_that_launches_has_a_line) {
    static const struct {
        redtune_status (*run)(void);
        const char *parts[3]; /* of its line; NULL: it has none */
    } calls[] = {
        {run_reduce, {"{\"call\":\"redtune_reduce\",\"op\":\"sum\",\"dtype\":\"f32\",", "300"}},
        {run_rows,
         {"{\"call\":\"redtune_run\",\"op\":\"sum\",", "\"kept\":\"3", "\"reduced\":\"100"}},
        {run_plan, {"{\"call\":\"redtune_plan_run\",", "\"kept\":\"3", "\"reduced\":\"100"}},
        {run_plan_whole, {"{\"call\":\"redtune_plan_reduce\",", "\"reduced\":\"300"}},
        {run_segments,
         {"{\"call\":\"redtune_run_segments\",", "\"reduced\":\"5000", "\"kept\":\"4"}},
        {run_no_segments, {NULL}},
        {run_list, {"{\"call\":\"redtune_plan_run_segments\",", "\"layout\":\"list\"", "80"}},
        {run_array, {"{\"call\":\"redtune_reduce_array\",", "\"kept\":\"3", "\"reduced\":\"100"}},
        {run_input, {"{\"call\":\"redtune_reduce_input\",\"op\":\"max\",", "300"}},
        {run_segments_of_input, {"{\"call\":\"redtune_reduce_segments_input\",", "\"kept\":\"4"}},
        {run_any_axes, {"{\"call\":\"redtune_run\",", "\"mask\":\"bytes\"", "\"reduced\":\"3"}},
        {run_nothing_valid, {NULL}},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        CHECK_OK(begin(), err);
        CHECK_OK(calls[i].run(), err);
        const int lines = read_lines();
        check_that(lines == (calls[i].parts[0] != NULL), __FILE__, __LINE__,
                   "call %zu has %d lines: %s", i, lines, text);
        for (int k = 0; k < 3 && calls[i].parts[k]; k++)
            check_that(strstr(text, calls[i].parts[k]) != NULL, __FILE__, __LINE__,
                       "call %zu lacks %s: %s", i, calls[i].parts[k], text);
        if (!lines) continue;
        const char *us = strstr(text, "\"us\":");
        CHECK(us && atof(us + 5) > 0);
        CHECK(strstr(text, "\"config\":\"") && strstr(text, "\"match\":\"default\""));
    }
}

FACT(a_replay_is_no_call) {
    const redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 300);
    const rdt_driver *driver = with.gpu.driver;
    rdt_graph *graph = NULL;
    CHECK_OK(begin(), err);
    CHECK_OK(redtune_prepare(rt, &problem, 1, &err), err);
    CHECK_OK(rdt_graph_begin(driver, with.gpu.stream, &err), err);
    const redtune_status status = run_reduce();
    CHECK_OK(rdt_graph_end(driver, with.gpu.stream, &graph, &err), err);
    for (int i = 0; i < 3; i++) rdt_graph_replay(graph, with.gpu.stream, &err);
    rdt_stream_wait(driver, with.gpu.stream, &err);
    rdt_graph_destroy(graph);
    CHECK_OK(status, err);
    CHECK_INT(read_lines(), 1);
}

static void *call_often(void *own) {
    redtune *another = NULL;
    redtune_error ignored;
    const redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 300);
    rdt_buffer result = {NULL};
    bool entered = false;
    (void)own;
    if (rdt_context_enter(with.gpu.context, &entered, &ignored)) return NULL;
    redtune_open(&(redtune_options){.database = "/none.db"}, &another, &ignored);
    rdt_buffer_create(with.gpu.driver, sizeof(float), &result, &ignored);
    for (int i = 0; another && i < CALLS; i++)
        redtune_reduce(i % 2 ? another : rt, &problem, in_memory(&with.input), in_memory(&result),
                       NULL, &ignored);
    redtune_close(another);
    rdt_buffer_destroy(&result);
    rdt_context_leave(with.gpu.context, entered);
    return another;
}

FACT(lines_of_threads_stay_whole) {
    pthread_t threads[THREADS];
    CHECK_OK(begin(), err);
    writes = parts_of_lines = 0;
    CHECK_OK(run_reduce(), err);
    setenv("REDTUNE_TRACE", file, 1); /* of the threads' own, which write beside it */
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, call_often, NULL));
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    unsetenv("REDTUNE_TRACE");
    CHECK_INT(read_lines(), THREADS * CALLS + 1);
    CHECK_INT(writes, THREADS * CALLS + 1);
    CHECK_INT(parts_of_lines, 0); /* which could come between others */
}

FACT(what_is_no_regular_file_is_left_alone) {
    char pipe[96], to_pipe[96], nowhere[96];
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    snprintf(to_pipe, sizeof to_pipe, "%s/link", folder);
    snprintf(nowhere, sizeof nowhere, "%s/none/calls", folder);
    CHECK(!mkfifo(pipe, 0600) && !symlink(pipe, to_pipe));
    const struct {
        const char *path, *reason;
    } paths[] = {{pipe, "named pipe"},      {to_pipe, "named pipe"}, {folder, "directory"},
                 {nowhere, "No such file"}, {"/dev/stderr", "not"},  {"", NULL}};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        CHECK_OK(open_tracing(paths[i].path), err);
        CHECK_OK(run_reduce(), err);
        if (!paths[i].reason) CHECK_TEXT(heard, "");
        if (!paths[i].reason) continue;
        CHECK_CONTAINS(heard, "REDTUNE_TRACE is left out: ");
        CHECK_CONTAINS(heard, paths[i].reason);
    }
}

FACT(a_full_disk_ends_the_log_and_no_call) {
    struct rlimit before;
    CHECK_OK(begin(), err);
    CHECK_OK(run_reduce(), err);
    CHECK_INT(read_lines(), 1);
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){strlen(text), before.rlim_max});
    const redtune_status second = run_reduce();
    char said[sizeof heard];
    memcpy(said, heard, sizeof said);
    heard[0] = '\0';
    const redtune_status third = run_reduce();
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_OK(second, err);
    CHECK_OK(third, err);
    CHECK_CONTAINS(said, "no more calls are written to REDTUNE_TRACE: ");
    CHECK_TEXT(heard, "");
    CHECK_INT(read_lines(), 1);
}

int main(int argc, char **argv) {
    strcpy(folder, "/tmp/redtune-calls-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(file, sizeof file, "%s/calls.jsonl", folder);
    if (adder_open(&with, ELEMENTS, &err) ||
        rdt_buffer_create(with.gpu.driver, sizeof ends, &offsets, &err) ||
        rdt_buffer_write(with.gpu.driver, offsets.address, ends, sizeof ends, with.gpu.stream,
                         &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const int rc = check_run(argc, argv);
    redtune_close(rt);
    rdt_buffer_destroy(&offsets);
    adder_close(&with);
    folder_remove(folder);
    return rc;
}
