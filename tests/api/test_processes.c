/* Facts about more than one of something: two devices in one process, and a parent with a child of
 * fork(), each with a redtune of its own. On the simulated GPUs: REDTUNE_SIM_DEVICES=2. */
#define _XOPEN_SOURCE 700
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "gpu/buffer.h"
#include "gpu/context.h"

enum { COUNT = 1000 };

static redtune_error err;

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
    const redtune_options options = {.device = device, .database = "/nowhere/at/all.db"};
    const redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = COUNT};
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
    if (redtune_plan_run(self->plan, (void *)(uintptr_t)self->ones.address, count,
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

/* The calls alternate, and no context is current between them. */
static void two_devices_work_in_one_process(void) {
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

static int be_child(void) {
    side own = {NULL};
    if (open_side("0", &own) || sum(&own, 500) != 500) {
        fprintf(stderr, "the child: %s\n", err.message);
        return EXIT_FAILURE;
    }
    close_side(&own);
    return EXIT_SUCCESS;
}

/* Both have a redtune open at the same time, on one kernel cache. */
static void child_of_a_fork_opens_its_own(void) {
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

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(child_of_a_fork_opens_its_own), /* first: before CUDA is started */
        FACT(two_devices_work_in_one_process),
    };
    return check_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
