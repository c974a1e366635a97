/* Facts about more than one of something: two devices in one process, a parent with a child of
 * fork(), each with a redtune of its own, and a program beside a writer of its database. On the
 * simulated GPUs: REDTUNE_SIM_DEVICES=2. */
#define _GNU_SOURCE
#include "../unit/database.h"
#include "cache/tuning.h"
#include "gpu/buffer.h"
#include "gpu/context.h"
#include "gpu/stream.h"
#include "shaped.h"

enum { COUNT = 1000 };

static redtune_error err;
static const char *database = "/nowhere/at/all.db";

/* A device with ones on it, as a program has it that uses several. */
typedef struct side {
    rdt_context *context;
    const rdt_driver *driver;
    CUstream stream;
    rdt_buffer ones, result;
    redtune *rt;
    redtune_plan *plan;
} side;

static redtune_status open_side(const char *device, side *out) {
    const redtune_options options = {.device = device, .database = database};
    const redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, COUNT);
    float host[COUNT];
    bool entered = false;
    for (int i = 0; i < COUNT; i++) host[i] = 1;
    redtune_status status = rdt_context_open(device, &out->context, &err);
    if (status) return status;
    out->driver = out->context->driver;
    status = rdt_context_enter(out->context, &entered, &err);
    if (!status) status = rdt_stream_create(out->driver, &out->stream, &err);
    if (!status) status = rdt_buffer_create(out->driver, sizeof host, &out->ones, &err);
    if (!status) status = rdt_buffer_create(out->driver, 256, &out->result, &err);
    if (!status)
        status =
            rdt_buffer_write(out->driver, out->ones.address, host, sizeof host, out->stream, &err);
    rdt_context_leave(out->context, entered);
    if (!status) status = redtune_open(&options, &out->rt, &err);
    if (!status) status = redtune_plan_create(out->rt, &problem, &out->plan, &err);
    return status;
}

static float sum(const side *self, uint64_t count) {
    float value = -1;
    bool entered = false;
    if (redtune_plan_reduce(self->plan, (void *)(uintptr_t)self->ones.address, count,
                            (void *)(uintptr_t)self->result.address, self->stream, &err))
        return -2;
    rdt_context_enter(self->context, &entered, &err);
    rdt_buffer_read(self->driver, &value, self->result.address, sizeof value, self->stream, &err);
    rdt_context_leave(self->context, entered);
    return value;
}

static void close_side(side *self) {
    bool entered = false;
    redtune_plan_destroy(self->plan);
    redtune_close(self->rt);
    rdt_context_enter(self->context, &entered, &err);
    rdt_buffer_destroy(&self->ones);
    rdt_buffer_destroy(&self->result);
    rdt_stream_destroy(self->driver, self->stream);
    rdt_context_leave(self->context, entered);
    rdt_context_close(self->context);
}

static int be_child(void) {
    side own = {NULL};
    if (open_side("0", &own) || sum(&own, 500) != 500) {
        fprintf(stderr, "the child: %s\n", err.message);
        return EXIT_FAILURE;
    }
    close_side(&own);
    return EXIT_SUCCESS;
}

/* The first, before CUDA is started. Both have a redtune open at the same time, on one kernel
 * cache. */
FACT(child_of_a_fork_opens_its_own) {
    side own = {NULL};
    int rc = 0;
    fflush(NULL);
    pid_t child = fork();
    if (!child) _exit(be_child());
    CHECK(child > 0);
    CHECK_OK(open_side("0", &own), err);
    CHECK(sum(&own, 700) == 700);
    CHECK(waitpid(child, &rc, 0) == child);
    CHECK(WIFEXITED(rc) && !WEXITSTATUS(rc));
    CHECK(sum(&own, 701) == 701);
    close_side(&own);
}

/* The calls alternate, and no context is current between them. */
FACT(two_devices_work_in_one_process) {
    side sides[2] = {{NULL}};
    CUcontext current = NULL;
    CHECK_OK(open_side("0", &sides[0]), err);
    CHECK_OK(open_side("1", &sides[1]), err);
    CHECK(sides[0].context->handle != sides[1].context->handle);
    for (uint64_t i = 0; i < 20; i++) CHECK(sum(&sides[i % 2], COUNT - i) == (float)(COUNT - i));
    sides[0].driver->ctx_get_current(&current);
    CHECK(!current);
    /* One ends, the other goes on. */
    close_side(&sides[0]);
    CHECK(sum(&sides[1], 17) == 17);
    close_side(&sides[1]);
}

/* ---- a writer -------------------------------------------------------------------------------- */

static bool make_database(void) {
    const rdt_facts gpu = {.name = "Another GPU", .major = 9, .sm_count = 4};
    const rdt_origin origin = {.templates = "00112233445566778899aabbccddeeff"};
    const rdt_trial trial = {.problem =
                                 PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = COUNT),
                             .family = "block",
                             .outcome = RDT_OUTCOME_GOOD,
                             .median_ns = 1000,
                             .samples = 31};
    rdt_tuning *tuning = NULL;
    redtune_status status = rdt_tuning_open(database, &tuning, &err);
    if (!status) status = rdt_tuning_put(tuning, &gpu, &origin, &trial, 1, &err);
    rdt_tuning_close(tuning);
    return !status;
}

static bool has_open(const char *path) {
    char link[64], target[512];
    for (int file = 0; file < 1024; file++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, target, sizeof target - 1);
        if (length > 0 && (target[length] = '\0', !strncmp(target, path, strlen(path))))
            return true;
    }
    return false;
}

/* Waits for nobody's lock, holds the file while the program runs, and commits. */
static int be_writer(int told, int tell) {
    sqlite3 *db = NULL;
    char word = 'x';
    int rc = sqlite3_open(database, &db);
    if (!rc) rc = sqlite3_exec(db, "BEGIN EXCLUSIVE; UPDATE origin SET machine = 'a'", 0, 0, 0);
    if (write(tell, rc ? "n" : "y", 1) != 1 || read(told, &word, 1) != 1) return 2;
    if (!rc) rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
    return rc != 0;
}

FACT(a_program_holds_no_lock_of_its_database) {
    int to[2], from[2], rc = 0;
    char word = 'n';
    side own = {0};
    database = in_scratch("tuning.db");
    CHECK(make_database());
    CHECK_OK(open_side("0", &own), err);
    CHECK(!has_open(database));
    CHECK(!pipe(to) && !pipe(from));
    fflush(NULL);
    pid_t child = fork();
    if (!child) _exit(be_writer(to[0], from[1]));
    CHECK(child > 0);
    CHECK(read(from[0], &word, 1) == 1);
    CHECK(word == 'y');
    CHECK(sum(&own, 700) == 700); /* while it is locked for all others */
    CHECK(write(to[1], "x", 1) == 1);
    CHECK(waitpid(child, &rc, 0) == child);
    CHECK(WIFEXITED(rc) && !WEXITSTATUS(rc));
    CHECK(sum(&own, 701) == 701);
    CHECK_INT(ask_sql(database, "SELECT count(*) FROM origin WHERE machine = 'a'"), 1);
    close_side(&own);
    for (int i = 0; i < 2; i++) close(to[i]), close(from[i]);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    scratch_end();
    return failed;
}
