/* Facts about redtune.h on a GPU: opening, plans, streams, inputs from the host, tuning, and
 * what is refused. Captured graphs are in test_graphs.c. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <unistd.h>
#include "ones.h"
#include "redtune/tune.h"
#include "gpu/stream.h"
#include "shaped.h"

static char database[64]; /* of this run; does not exist at first */

static redtune_status open_own(redtune **rt) {
    const redtune_options options = {.database = database};
    return redtune_open(&options, rt, &err);
}

/* ---- opening and plans ----------------------------------------------------------------------- */

FACT(open_takes_the_current_context_and_leaves_it) {
    redtune *rt = NULL;
    CUcontext before = NULL, after = NULL;
    redtune_device_info info;
    gpu.driver->ctx_get_current(&before);
    CHECK_OK(open_own(&rt), err);
    redtune_device_get(rt, &info);
    CHECK_TEXT(info.name, gpu.context->facts.name);
    CHECK_TEXT(redtune_database_path(rt), database);
    redtune_close(rt);
    gpu.driver->ctx_get_current(&after);
    CHECK(before == after);
}

FACT(open_needs_a_context_or_a_device) {
    redtune *rt = NULL;
    CUcontext current = NULL;
    CHECK(!gpu.driver->ctx_pop(&current));
    CHECK_FAILS(open_own(&rt), REDTUNE_INVALID, err, "no CUDA context is current");
    const redtune_options options = {.device = "0", .database = database};
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    CUcontext after = NULL;
    gpu.driver->ctx_get_current(&after);
    CHECK(!after);
    redtune_close(rt);
    CHECK(!gpu.driver->ctx_push(current));
}

FACT(open_names_a_device_that_does_not_exist) {
    redtune *rt = NULL;
    static const char *const names[] = {"99", "-1", "zero", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const redtune_options options = {.device = names[i], .database = database};
        CHECK_FAILS(redtune_open(&options, &rt, &err), REDTUNE_INVALID, err, names[i]);
        CHECK_CONTAINS(err.message, "use 0");
    }
    CHECK(!rt);
}

FACT(plan_serves_any_count) {
    static const uint64_t counts[] = {0, 1, 2, 31, 1000, 4097, 65537, 300000};
    redtune *rt = NULL;
    CHECK_OK(open_own(&rt), err);
    for (uint64_t planned = 1; planned < UINT64_C(1) << 34; planned *= 64) {
        redtune_plan *plan = NULL;
        redtune_problem problem = sum_of(planned);
        CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            CHECK_OK(redtune_plan_reduce(plan, input(), counts[i], output(0), gpu.stream, &err),
                     err);
            CHECK(result(0) == (float)counts[i]);
            char *second = (char *)input() + sizeof(float);
            CHECK_OK(redtune_plan_reduce(plan, second, counts[i], output(0), gpu.stream, &err),
                     err);
            CHECK(result(0) == (float)counts[i]);
        }
        CHECK_OK(redtune_plan_reduce(plan, NULL, 0, output(0), gpu.stream, &err), err);
        CHECK(result(0) == 0);
        redtune_plan_destroy(plan);
    }
    redtune_close(rt);
}

FACT(run_refuses_what_it_cannot_reduce) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_problem problem = sum_of(100);
    CHECK_OK(open_own(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    char *odd = (char *)input() + 1;
    CHECK_FAILS(redtune_plan_reduce(plan, odd, 9, output(0), NULL, &err), REDTUNE_INVALID, err,
                "d_in");
    CHECK_FAILS(redtune_plan_reduce(plan, NULL, 9, output(0), NULL, &err), REDTUNE_INVALID, err,
                "d_in");
    CHECK_FAILS(redtune_plan_reduce(plan, input(), 9, NULL, NULL, &err), REDTUNE_INVALID, err,
                "d_out");
    CHECK_FAILS(redtune_plan_reduce(plan, input(), UINT64_MAX, output(0), NULL, &err),
                REDTUNE_INVALID, err, "at most");
    CHECK_FAILS(redtune_plan_reduce(NULL, input(), 9, output(0), NULL, &err), REDTUNE_INVALID, err,
                "plan");
    CHECK_FAILS(redtune_plan_reduce(plan, output(0), 9, output(8), NULL, &err), REDTUNE_INVALID,
                err, "within the input");
    CHECK_FAILS(redtune_plan_reduce(plan, output(0), 9, output(0), NULL, &err), REDTUNE_INVALID,
                err, "within the input");
    problem.dtype = (redtune_dtype)99;
    CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), REDTUNE_INVALID, err, "99");
    CHECK_OK(redtune_plan_reduce(plan, input(), 9, output(0), gpu.stream, &err), err);
    CHECK(result(0) == 9);
    CHECK(!gpu.driver->memset_d8_async(results.address, 0, 64 * sizeof(float), gpu.stream));
    CHECK_OK(redtune_plan_reduce(plan, output(0), 9, output(9), gpu.stream, &err), err);
    CHECK_OK(redtune_plan_reduce(plan, output(1), 9, output(0), gpu.stream, &err), err);
    CHECK_OK(redtune_plan_reduce(plan, output(0), 0, output(0), gpu.stream, &err), err);
    CHECK(result(0) == 0);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

FACT(untuned_plan_says_that_it_is_the_default) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_info info;
    redtune_problem problem = sum_of(12345);
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    redtune_plan_info(plan, &info);
    CHECK_INT(info.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(info.problem.result, REDTUNE_F32);
    CHECK_CONTAINS(info.config, "block=");
    CHECK(info.tuned_ns == 0 && info.tuned_count == 0 && !info.gpu[0]);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

FACT(reduce_keeps_its_plans) {
    redtune *rt = NULL;
    CHECK_OK(open_own(&rt), err);
    for (int round = 0; round < 2; round++)
        for (uint64_t count = 0; count <= COUNT; count = count * 7 + 1) {
            redtune_problem problem = sum_of(count);
            CHECK_OK(redtune_reduce(rt, &problem, input(), output(1), gpu.stream, &err), err);
            CHECK(result(1) == (float)count);
        }
    redtune_close(rt);
}

/* ---- streams and threads --------------------------------------------------------------------- */

enum { THREADS = 4, CALLS = 200 };

typedef struct worker {
    redtune_plan *plan;
    size_t slot;
    int wrong;
} worker;

/* Calls on a stream of its own, each result compared. */
static void *run_worker(void *user) {
    worker *self = user;
    CUstream stream = NULL;
    redtune_error failure;
    CUdeviceptr place = results.address + self->slot * sizeof(float);
    gpu.driver->ctx_push(gpu.context->handle);
    self->wrong += rdt_stream_create(gpu.driver, &stream, &failure) != 0;
    for (int i = 0; i < CALLS && !self->wrong; i++) {
        uint64_t count = COUNT - (uint64_t)i * 7 - self->slot;
        float value = -1;
        self->wrong += redtune_plan_reduce(self->plan, input(), count, output(self->slot), stream,
                                           &failure) != 0;
        self->wrong +=
            rdt_buffer_read(gpu.driver, &value, place, sizeof value, stream, &failure) != 0;
        self->wrong += value != (float)count;
    }
    rdt_stream_destroy(gpu.driver, stream);
    gpu.driver->ctx_pop(&(CUcontext){NULL});
    return NULL;
}

FACT(one_plan_runs_on_many_threads_and_streams) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    pthread_t threads[THREADS];
    worker workers[THREADS] = {{0}};
    redtune_problem problem = sum_of(COUNT);
    CHECK_OK(open_own(&rt), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.plan = plan, .slot = i};
        CHECK(!pthread_create(&threads[i], NULL, run_worker, &workers[i]));
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++) CHECK_INT(workers[i].wrong, 0);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

FACT(run_needs_no_current_context) {
    redtune *rt = NULL;
    redtune_problem problem = sum_of(COUNT);
    CUcontext current = NULL, after = NULL;
    CHECK_OK(open_own(&rt), err);
    CHECK(!gpu.driver->ctx_pop(&current));
    redtune_status status = redtune_reduce(rt, &problem, input(), output(0), gpu.stream, &err);
    gpu.driver->ctx_get_current(&after);
    CHECK(!gpu.driver->ctx_push(current));
    CHECK_OK(status, err);
    CHECK(!after);
    CHECK(result(0) == COUNT);
    redtune_close(rt);
}

/* ---- inputs from the host -------------------------------------------------------------------- */

typedef struct supply {
    uint64_t left, served;
    size_t most; /* elements a call */
    redtune_status fail_at_end;
} supply;

/* 1, 2, 3, 1, 2, 3, ... */
static redtune_status serve(void *user, void *buffer, size_t capacity, size_t *bytes,
                            redtune_error *failure) {
    supply *self = user;
    uint64_t count = capacity / sizeof(int32_t);
    if (count > self->left) count = self->left;
    if (self->most && count > self->most) count = self->most;
    if (!count && self->fail_at_end) {
        snprintf(failure->message, sizeof failure->message, "the supply broke");
        return failure->status = self->fail_at_end;
    }
    for (uint64_t i = 0; i < count; i++)
        ((int32_t *)buffer)[i] = (int32_t)((self->served + i) % 3 + 1);
    self->served += count;
    self->left -= count;
    *bytes = count * sizeof(int32_t);
    return REDTUNE_OK;
}

FACT(inputs_of_any_length_are_reduced_in_pieces) {
    static const uint64_t lengths[] = {0, 1, 1000, 3000000};
    redtune *rt = NULL;
    CHECK_OK(open_own(&rt), err);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int known = 0; known < 2; known++) {
            supply from = {.left = lengths[i], .most = 700001};
            redtune_input input = {serve, &from};
            redtune_reading reading;
            redtune_problem problem =
                redtune_problem_whole(REDTUNE_SUM, REDTUNE_I32, known ? lengths[i] : 0);
            CHECK_OK(redtune_reduce_input(rt, &problem, &input, &reading, &err), err);
            CHECK_INT(reading.count, lengths[i]);
            CHECK_INT(reading.dtype, REDTUNE_I64);
            CHECK_INT(reading.value.i64, lengths[i] / 3 * 6 + (lengths[i] % 3 == 1));
            CHECK(lengths[i] < 1000000 || reading.pieces >= 5);
        }
    redtune_close(rt);
}

FACT(input_that_fails_gives_its_own_error) {
    redtune *rt = NULL;
    supply from = {.left = 5000, .fail_at_end = REDTUNE_FILE};
    redtune_input input = {serve, &from};
    redtune_reading reading = {.count = 77};
    redtune_problem problem = {REDTUNE_SUM, REDTUNE_I32};
    CHECK_OK(open_own(&rt), err);
    CHECK_FAILS(redtune_reduce_input(rt, &problem, &input, &reading, &err), REDTUNE_FILE, err,
                "the supply broke");
    CHECK_INT(reading.count, 77);
    redtune_close(rt);
}

/* ---- tuning ---------------------------------------------------------------------------------- */

typedef struct witness {
    redtune_tuned tuned[8];
    size_t count;
    int stop;
} witness;

static void see(void *user, const redtune_tuned *tuned) {
    witness *self = user;
    for (size_t i = 0; tuned->again && i < self->count; i++)
        if (shaped_of(&self->tuned[i].problem).count == shaped_of(&tuned->problem).count)
            self->tuned[i] = *tuned;
    if (!tuned->again && self->count < 8) self->tuned[self->count++] = *tuned;
}

static int watch(void *user, const redtune_progress *progress) {
    const witness *self = user;
    return self->stop && !strcmp(progress->stage, "cold");
}

static redtune_status tune(redtune *rt, witness *seen) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32};
    static const uint64_t counts[] = {16384, 1024};
    const redtune_tuning tuning = {.dtypes = dtypes,
                                   .dtype_count = 1,
                                   .counts = counts,
                                   .count_count = 2,
                                   .progress = watch,
                                   .tuned = see,
                                   .user = seen};
    return redtune_tune(rt, &tuning, &err);
}

FACT(stopped_tune_is_interrupted) {
    redtune *rt = NULL;
    witness seen = {.stop = 1};
    CHECK_OK(open_own(&rt), err);
    CHECK_FAILS(tune(rt, &seen), REDTUNE_INTERRUPTED, err, "interrupted");
    CHECK_INT(seen.count, 0);
    redtune_close(rt);
}

/* What a tune stores is what later processes run. */
FACT(tuned_winner_is_used_from_then_on) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_info info;
    witness first = {.count = 0}, second = {.count = 0};
    CHECK_OK(open_own(&rt), err);
    CHECK_OK(tune(rt, &first), err);
    CHECK_INT(first.count, 2);
    CHECK_INT(shaped_of(&first.tuned[0].problem).count, 1024);
    CHECK(first.tuned[1].median_ns > 0 && first.tuned[1].default_ns >= first.tuned[1].median_ns);
    CHECK(first.tuned[1].measured > 10);
    CHECK_INT(first.tuned[1].failed, 0);
    CHECK_OK(tune(rt, &second), err);
    CHECK_INT(second.tuned[1].measured, 0);
    CHECK_TEXT(second.tuned[1].config, first.tuned[1].config);
    redtune_close(rt);

    CHECK_OK(open_own(&rt), err);
    redtune_problem problem = sum_of(16384);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    redtune_plan_info(plan, &info);
    CHECK_INT(info.match, REDTUNE_MATCH_EXACT);
    CHECK_TEXT(info.config, first.tuned[1].config);
    CHECK(info.tuned_ns == first.tuned[1].median_ns);
    CHECK_TEXT(info.gpu, gpu.context->facts.name);
    redtune_plan_destroy(plan);
    RESHAPE(&problem, count, 9000);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    redtune_plan_info(plan, &info);
    CHECK_INT(info.match, REDTUNE_MATCH_SIZE);
    CHECK_INT(info.tuned_count, 16384);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

/* ---- the run --------------------------------------------------------------------------------- */

int main(int argc, char **argv) {
    snprintf(database, sizeof database, "/tmp/redtune-test-%ld.db", (long)getpid());
    ones_open();
    int rc = check_run(argc, argv);
    ones_close();
    unlink(database);
    return rc;
}
