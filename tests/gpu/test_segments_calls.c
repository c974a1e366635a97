/* Facts about calls of redtune/list.h beside each other: tables that the call before makes and the
 * call after changes, threads on one stream and on several, graphs side by side; and about wrong
 * calls: each is refused with the status and the reason that it has, and leaves results alone. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <pthread.h>
#include "gpu/graph.h"
#include "gpu/stream.h"
#include "ones.h"
#include "redtune/list.h"
#include "shaped.h"
#include "simulator.h"

enum { SEGMENTS = 200, VERSIONS = 6, THREADS = 4, CALLS = 20, POISON = 0xa5 };

/* Tables for each version of lengths: its beginnings, and its ends. */
enum { TABLE_BYTES = (SEGMENTS + 1) * sizeof(int64_t), VERSION_BYTES = 2 * TABLE_BYTES };

static redtune *rt;
static redtune_plan *plan; /* of segments */
static rdt_buffer tables, sums;

static redtune_problem segments_of(redtune_op op) {
    return PROBLEM(.op = op, .dtype = REDTUNE_F32, .count = 10,
                   .segmented = REDTUNE_SEGMENTED_EACH);
}

/* Tiny, one giant among tiny ones, equal ones, and ones that grow. */
static int64_t length_of(int version, int64_t i) {
    switch (version % 4) {
    case 0: return i % 3;
    case 1: return i == 20 + version ? 6000 : 1;
    case 2: return 40 + version;
    default: return i / 2;
    }
}

static void *pointer(CUdeviceptr address) { return (void *)(uintptr_t)address; }
static void *table(int version) { return pointer(tables.address + version * VERSION_BYTES); }
static void *behind(void *address, size_t bytes) { return (char *)address + bytes; }

static void end(void) {
    redtune_plan_destroy(plan);
    redtune_close(rt);
    rdt_buffer_destroy(&tables);
    rdt_buffer_destroy(&sums);
    rt = NULL;
    plan = NULL;
}

static void begin(void) {
    static int64_t offsets[VERSIONS][2][SEGMENTS + 1];
    const redtune_problem problem = segments_of(REDTUNE_SUM);
    for (int version = 0; version < VERSIONS; version++)
        for (int64_t i = 0, at = 0; i <= SEGMENTS; i++) {
            offsets[version][0][i] = at;
            offsets[version][1][i] = at += length_of(version, i);
        }
    CHECK_OK(open_and_plan(&rt, &problem, &plan), err);
    /* And one more for a copy. */
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof offsets + (size_t)VERSION_BYTES, &tables, &err),
             err);
    CHECK_OK(rdt_buffer_create(gpu.driver, (size_t)THREADS * CALLS * SEGMENTS * sizeof(float),
                               &sums, &err),
             err);
    CHECK_OK(
        rdt_buffer_write(gpu.driver, tables.address, offsets, sizeof offsets, gpu.stream, &err),
        err);
    gpu.driver->memset_d8_async(sums.address, POISON, sums.bytes, gpu.stream);
    CHECK_OK(rdt_stream_wait(gpu.driver, gpu.stream, &err), err);
}

static redtune_segments usual(void *at, bool two_tables, int call) {
    return (redtune_segments){
        .d_in = input(),
        .count = SEGMENTS,
        .d_begin = at,
        .d_end = two_tables ? behind(at, TABLE_BYTES) : NULL,
        .d_out = {pointer(sums.address + (size_t)call * SEGMENTS * sizeof(float))}};
}

/* Call number `call` gave the sums of ones of this version. */
static void check_sums(int call, int version) {
    float got[SEGMENTS];
    CHECK_OK(rdt_buffer_read(gpu.driver, got, sums.address + (size_t)call * sizeof got, sizeof got,
                             gpu.stream, &err),
             err);
    for (int i = 0; i < SEGMENTS && !check_state.failed; i++)
        check_that(got[i] == (float)length_of(version, i), __FILE__, __LINE__,
                   "call %d, version %d, segment %d: %g", call, version, i, (double)got[i]);
}

/* ---- calls in a row -------------------------------------------------------------------------- */

/* Copies a version's tables, by a kernel of redtune: the least of each offset alone. */
static redtune_status copy_tables(int version) {
    const redtune_problem problem =
        redtune_problem_rows(REDTUNE_MIN, REDTUNE_I64, VERSION_BYTES / sizeof(int64_t), 1);
    return redtune_reduce(rt, &problem, table(version), table(VERSIONS), gpu.stream, &err);
}

/* Each copy may begin while the call before it still reads the tables that it writes over. */
static redtune_status run_on_copies(bool two_tables) {
    redtune_status status = REDTUNE_OK;
    for (int call = 0; call < VERSIONS && !status; call++) {
        const redtune_segments segments = usual(table(VERSIONS), two_tables, call);
        status = copy_tables(call);
        if (!status) status = redtune_plan_run_segments(plan, &segments, gpu.stream, &err);
    }
    return status;
}

FACT(a_call_reads_the_tables_that_the_call_before_wrote) {
    begin();
    for (int round = 0; round < 4 && !check_state.failed; round++) {
        rdt_graph *graph = NULL;
        gpu.driver->memset_d8_async(sums.address, POISON, sums.bytes, gpu.stream);
        CHECK_OK(run_on_copies(round % 2), err);
        for (int call = 0; call < VERSIONS; call++) check_sums(call, call);
        CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
        CHECK_OK(run_on_copies(round % 2), err);
        CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
        gpu.driver->memset_d8_async(sums.address, POISON, sums.bytes, gpu.stream);
        for (int replay = 0; replay < 3; replay++)
            CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        for (int call = 0; call < VERSIONS; call++) check_sums(call, call);
        rdt_graph_destroy(graph);
    }
    end();
}

/* ---- calls side by side ---------------------------------------------------------------------- */

typedef struct caller {
    int number;
    bool two_tables;
    CUstream stream;
    pthread_t thread;
    redtune_error error;
    redtune_status status;
} caller;

static void *call_often(void *user) {
    caller *self = user;
    for (int i = 0; i < CALLS && !self->status; i++) {
        const redtune_segments segments =
            usual(table(self->number), self->two_tables, self->number * CALLS + i);
        self->status = redtune_plan_run_segments(plan, &segments, self->stream, &self->error);
    }
    return NULL;
}

/* On streams of their own, or all on one: those of two launches take turns. */
static void check_callers(bool two_tables, bool one_stream) {
    caller callers[THREADS] = {{0}};
    gpu.driver->memset_d8_async(sums.address, POISON, sums.bytes, gpu.stream);
    CHECK_OK(rdt_stream_wait(gpu.driver, gpu.stream, &err), err);
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (caller){.number = i, .two_tables = two_tables, .stream = gpu.stream};
        if (!one_stream) CHECK_OK(rdt_stream_create(gpu.driver, &callers[i].stream, &err), err);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&callers[i].thread, NULL, call_often, &callers[i]));
    for (int i = 0; i < THREADS; i++) pthread_join(callers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(callers[i].status, callers[i].error);
        CHECK_OK(rdt_stream_wait(gpu.driver, callers[i].stream, &err), err);
        if (!one_stream) rdt_stream_destroy(gpu.driver, callers[i].stream);
    }
    for (int i = 0; i < THREADS * CALLS && !check_state.failed; i++) check_sums(i, i / CALLS);
}

FACT(threads_may_call_on_one_stream_and_on_several) {
    begin();
    for (int i = 0; i < 4 && !check_state.failed; i++) check_callers(i % 2, i / 2);
    end();
}

FACT(graphs_captured_apart_run_side_by_side) {
    rdt_graph *graphs[THREADS] = {NULL};
    CUstream streams[THREADS] = {NULL};
    begin();
    const redtune_segments ends = usual(table(0), true, 0);
    CHECK_OK(redtune_plan_run_segments(plan, &ends, gpu.stream, &err), err); /* makes its kernel */
    for (int g = 0; g < THREADS; g++) {
        CHECK_OK(rdt_stream_create(gpu.driver, &streams[g], &err), err);
        CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
        for (int i = 0; i < CALLS; i++) {
            const redtune_segments segments = usual(table(g), i % 2, g * CALLS + i);
            CHECK_OK(redtune_plan_run_segments(plan, &segments, gpu.stream, &err), err);
        }
        CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graphs[g], &err), err);
    }
    for (int replay = 0; replay < 5; replay++)
        for (int g = 0; g < THREADS; g++)
            CHECK_OK(rdt_graph_replay(graphs[g], streams[g], &err), err);
    for (int g = 0; g < THREADS; g++) {
        CHECK_OK(rdt_stream_wait(gpu.driver, streams[g], &err), err);
        rdt_graph_destroy(graphs[g]);
        rdt_stream_destroy(gpu.driver, streams[g]);
    }
    for (int i = 0; i < THREADS * CALLS && !check_state.failed; i++) check_sums(i, i / CALLS);
    end();
}

FACT(first_run_in_a_capture_is_refused_and_the_capture_goes_on) {
    const redtune_problem known = segments_of(REDTUNE_SUM), unknown = segments_of(REDTUNE_MAX);
    rdt_graph *graph = NULL;
    begin();
    const redtune_segments segments = usual(table(1), true, 0);
    CHECK_OK(redtune_prepare(rt, &known, 1, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_FAILS(redtune_run_segments(rt, &unknown, &segments, gpu.stream, &err), REDTUNE_UNPREPARED,
                err, "for the first time within a capture");
    CHECK_OK(redtune_run_segments(rt, &known, &segments, gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
    check_sums(0, 1);
    rdt_graph_destroy(graph);
    end();
}

/* Tables of another form have a kernel of their own, which is made when they first come. */
FACT(first_tables_of_a_form_in_a_capture_are_refused_and_it_goes_on) {
    rdt_graph *graph = NULL;
    begin();
    const redtune_segments offsets = usual(table(1), false, 0), ends = usual(table(2), true, 1);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
        if (round)
            CHECK_OK(redtune_plan_run_segments(plan, &ends, gpu.stream, &err), err);
        else
            CHECK_FAILS(redtune_plan_run_segments(plan, &ends, gpu.stream, &err),
                        REDTUNE_UNPREPARED, err, "run the plan on such tables before the capture");
        CHECK_OK(redtune_plan_run_segments(plan, &offsets, gpu.stream, &err), err);
        CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        check_sums(0, 1);
        if (!round) CHECK_OK(redtune_plan_run_segments(plan, &ends, gpu.stream, &err), err);
        check_sums(1, 2);
        rdt_graph_destroy(graph);
    }
    end();
}

/* Nothing is read there, wherever that is: the last bytes of all addresses, too. */
FACT(empty_segments_may_have_any_offsets) {
    static const int64_t anywhere[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, INT64_MAX / 4};
    static int64_t offsets[2 * (SEGMENTS + 1)];
    begin();
    for (int k = 0; k < 16 && !check_state.failed; k++) {
        redtune_problem problem = segments_of(REDTUNE_SUM);
        if (k & 4) problem.segmented = REDTUNE_SEGMENTED_ALL;
        redtune_segments segments = usual(table(VERSIONS), k & 8, 0);
        float got = 1;
        segments.d_in = NULL;
        for (int i = 0; i < 2 * (SEGMENTS + 1); i++) offsets[i] = anywhere[k % 4];
        CHECK_OK(rdt_buffer_write(gpu.driver, (CUdeviceptr)(uintptr_t)table(VERSIONS), offsets,
                                  sizeof offsets, gpu.stream, &err),
                 err);
        CHECK_OK(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err), err);
        CHECK_OK(rdt_buffer_read(gpu.driver, &got, sums.address, sizeof got, gpu.stream, &err),
                 err);
        CHECK(got == 0);
    }
    end();
}

/* ---- wrong calls ----------------------------------------------------------------------------- */

/* What a call would write to is as it was. */
static void check_untouched(void) {
    static unsigned char got[SEGMENTS * sizeof(float)];
    CHECK_OK(rdt_buffer_read(gpu.driver, got, sums.address, sizeof got, gpu.stream, &err), err);
    for (size_t i = 0; i < sizeof got; i++) CHECK_INT(got[i], POISON);
}

#define REFUSES(the_op, change, status, why)                                                       \
    do {                                                                                           \
        redtune_problem problem = segments_of(the_op);                                             \
        redtune_segments segments = usual(table(0), true, 0);                                      \
        change;                                                                                    \
        CHECK_FAILS(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err), status, err,  \
                    why);                                                                          \
        check_untouched();                                                                         \
    } while (0)
#define INVALID(the_op, change, why) REFUSES(the_op, change, REDTUNE_INVALID, why)

FACT(wrong_tables_are_refused) {
    begin();
    INVALID(REDTUNE_SUM, segments.offset_bytes = 3, "offsets of 3 bytes");
    INVALID(REDTUNE_SUM, segments.offset_bytes = 16, "offsets of 16 bytes");
    INVALID(REDTUNE_SUM, segments.offset_bytes = (UINT64_C(1) << 32) + 4,
            "offsets of 4294967300 bytes");
    INVALID(REDTUNE_SUM, segments.d_begin = behind(table(0), 4), "d_begin must be aligned to 8");
    INVALID(REDTUNE_SUM, segments.offset_bytes = 4;
            segments.d_begin = behind(table(0), 2), "d_begin must be aligned to 4");
    INVALID(REDTUNE_SUM, segments.d_end = behind(table(0), 1), "d_end must be aligned to 8");
    INVALID(REDTUNE_SUM, segments.count = UINT64_MAX,
            "cannot reduce 18446744073709551615 segments");
    INVALID(REDTUNE_SUM, segments.d_end = NULL;
            segments.count = UINT64_C(1) << 61, "cannot reduce 2305843009213693952 segments");
    end();
}

/* The last byte of a table counts as one of it, and so does the last offset of CSR. */
FACT(outputs_within_what_is_read_are_refused) {
    begin();
    void *last = behind(table(0), SEGMENTS * sizeof(int64_t));
    INVALID(REDTUNE_SUM, segments.d_out[0] = behind(last, -4), "d_out lies within d_begin");
    INVALID(REDTUNE_SUM, segments.d_end = NULL;
            segments.d_out[0] = last, "d_out lies within d_begin");
    INVALID(REDTUNE_SUM, segments.d_begin = table(1);
            segments.d_out[0] = behind(table(1), 4 - SEGMENTS * (int)sizeof(float)),
            "d_out lies within d_begin");
    INVALID(REDTUNE_MINMAX, segments.d_out[1] = table(0), "d_out[1] lies within d_begin");
    INVALID(REDTUNE_MINMAX, segments.d_out[1] = behind(segments.d_out[0], 4 * SEGMENTS - 4),
            "d_out[1] lies within the first output");
    INVALID(REDTUNE_MINMAX, (void)segments, "d_out[1] is NULL");
    INVALID(REDTUNE_MIN_AT, segments.d_out[1] = behind(segments.d_out[0], 4 * SEGMENTS + 4),
            "d_out[1] must be aligned to 8 bytes");
    end();
}

FACT(wrong_parameters_are_refused) {
    static const double given[] = {1};
    begin();
    void *device = table(0);
    INVALID(REDTUNE_SUM, segments.parameters = given, "parameters are given, and it has none");
    INVALID(REDTUNE_SUM, segments.d_parameters = device, "parameters are given, and it has none");
    INVALID(REDTUNE_VAR, segments.parameters = given;
            segments.d_parameters = device, "both parameters and d_parameters are given");
    INVALID(REDTUNE_VAR, segments.d_parameters = behind(device, 4), "must be aligned to 8 bytes");
    INVALID(REDTUNE_VAR, segments.d_parameters = segments.d_out[0],
            "d_out lies within d_parameters");
    end();
}

FACT(what_segments_do_not_have_is_refused) {
    begin();
    INVALID(REDTUNE_MSE, (void)segments, "d_second is NULL, and it has two inputs");
    INVALID(REDTUNE_SUM, segments.d_second = input(), "d_second is not NULL, and it has one input");
    INVALID(REDTUNE_MSE, segments.d_second = behind(input(), 2),
            "d_second must be aligned to 4 bytes");
    INVALID(REDTUNE_MSE, segments.d_in = NULL; segments.d_second = input();
            segments.d_arrays = (const void *const *)table(0),
            "arrays of their own have one; give d_in and d_second");
    REFUSES(REDTUNE_MEAN, problem.uses = REDTUNE_USE_ACCUMULATE, REDTUNE_UNSUPPORTED,
            "cannot accumulate the mean");
    INVALID(REDTUNE_AND, (void)segments, "it is for integers only");
    INVALID(REDTUNE_SUM, problem.segmented = REDTUNE_SEGMENTED_NOT,
            "cannot reduce segments by a plan of other arrays");
    REFUSES(REDTUNE_SUM, problem.segmented |= UINT32_C(1) << 31, REDTUNE_UNSUPPORTED,
            "problem.segmented is 2147483649");
    INVALID(
        REDTUNE_SUM, { RESHAPE(&problem, inner, 2); }, "name as many, or 0");
    INVALID(REDTUNE_SUM, problem.config = "ragged:", "create a plan with it");
    for (size_t i = 0; i < sizeof usual(NULL, false, 0).reserved / sizeof(uint64_t); i++)
        REFUSES(REDTUNE_SUM, segments.reserved[i] = 1, REDTUNE_UNSUPPORTED, "redtune_segments");
    const redtune_segments segments = usual(table(0), true, 0);
    CHECK_FAILS(redtune_run_segments(rt, NULL, &segments, gpu.stream, &err), REDTUNE_INVALID, err,
                "problem is NULL");
    CHECK_FAILS(redtune_plan_run_segments(plan, NULL, gpu.stream, &err), REDTUNE_INVALID, err,
                "segments is NULL");
    end();
}

/* A pinned plan's configuration gives plans of segments alone. */
FACT(configurations_of_segments_are_theirs_alone) {
    redtune_plan *other = NULL;
    redtune_problem problem = sum_of(100);
    begin();
    problem.config = redtune_plan_config(plan);
    CHECK_FAILS(redtune_plan_create(rt, &problem, &other, &err), REDTUNE_UNSUPPORTED, err,
                "it does not serve sum of 100 f32");
    problem = segments_of(REDTUNE_SUM);
    problem.config = "block:block=256";
    CHECK_FAILS(redtune_plan_create(rt, &problem, &other, &err), REDTUNE_UNSUPPORTED, err,
                "it does not serve sum of");
    problem.config = redtune_plan_config(plan);
    CHECK_OK(redtune_plan_create(rt, &problem, &other, &err), err);
    CHECK_TEXT(redtune_plan_config(other), redtune_plan_config(plan));
    redtune_plan_destroy(other);
    end();
}

/* With REDTUNE_CHECK each pointer and its length are looked at. */
FACT(pointers_are_checked_before_the_launch) {
    static int64_t host[SEGMENTS];
    setenv("REDTUNE_CHECK", "1", 1);
    begin();
    unsetenv("REDTUNE_CHECK");
    void *all = behind(table(VERSIONS + 1), -(int)(SEGMENTS * sizeof(int64_t)));
    redtune_segments fit = usual(all, true, 0);
    fit.d_end = all; /* all are empty */
    fit.d_out[0] = output(RESULTS - SEGMENTS);
    CHECK_OK(copy_tables(0), err);
    CHECK_OK(redtune_plan_run_segments(plan, &fit, gpu.stream, &err), err);
    CHECK(result(RESULTS - 1) == 0);
    INVALID(REDTUNE_SUM, segments.d_begin = host, "d_begin");
    INVALID(REDTUNE_SUM, segments.d_end = host, "d_end");
    INVALID(REDTUNE_SUM, segments.d_out[0] = host, "d_out");
    INVALID(REDTUNE_VAR, segments.d_parameters = (double *)host, "d_parameters");
    INVALID(REDTUNE_SUM, segments.d_begin = behind(all, 8), "its allocation ends after");
    INVALID(REDTUNE_SUM, segments.d_end = NULL;
            segments.d_begin = all, "its allocation ends after");
    INVALID(REDTUNE_SUM, segments.d_end = behind(all, 8), "its allocation ends after");
    end();
}

/* The simulated GPU finds what the caller has to avoid. The last fact: its context is lost then. */
FACT(offsets_beyond_the_buffer_are_found) {
    simulator sim;
    if (!simulator_find(&sim)) SKIP("a real GPU reads what is there");
    const int64_t beyond = INT64_C(1) << 40;
    begin();
    CHECK_OK(rdt_buffer_write(gpu.driver, tables.address + TABLE_BYTES - sizeof beyond, &beyond,
                              sizeof beyond, gpu.stream, &err),
             err);
    const redtune_segments segments = usual(table(0), false, 0);
    redtune_status status = redtune_plan_run_segments(plan, &segments, gpu.stream, &err);
    if (!status) status = rdt_stream_wait(gpu.driver, gpu.stream, &err);
    CHECK_INT(status, REDTUNE_DEVICE);
    CHECK(sim.findings() > 0);
    sim.clear_findings();
    end();
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
