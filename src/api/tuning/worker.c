/* Worker: a process that compiles kernels, or tries them on a GPU, for the tune that started it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "api/build/builder.h"
#include "tuner/measure/local.h"
#include "tuner/workers/serve.h"
#include "redtune/tune.h"

typedef struct worker {
    rdt_wire wire;
    rdt_hello hello;
    rdt_log log;
    rdt_builder *builder;
    rdt_context *context; /* NULL in a worker that only compiles */
    rdt_codegen *codegen;
    rdt_nvml *nvml;
    rdt_local *locals[RDT_JOBS_MAX]; /* evaluators, by job; NULL: none yet */
    bool entered;
} worker;

enum { HELLO_MS = 60000 };

/* The tune decides when a worker ends: it is told by its wire, or by the system if it dies. */
static void follow_parent(int parent) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (!parent) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it died before the line above */
}

static void send_log(void *user, redtune_log_level level, const char *line) {
    rdt_wire *wire = user;
    rdt_wire_put(wire, &level, sizeof level);
    rdt_wire_put(wire, line, strlen(line));
    rdt_wire_send(wire, RDT_FRAME_LOG, -1);
}

/* ---- the shop -------------------------------------------------------------------------------- */

static redtune_status make_own_kernel(void *user, const redtune_problem *problem,
                                      const rdt_point *point, const rdt_launch *launch,
                                      rdt_kernel **out, redtune_error *err) {
    const worker *self = user;
    return rdt_builder_make(self->builder, self->context, problem, point, launch, out, err);
}

static redtune_status make_image(void *user, const rdt_compile_job *job, redtune_error *err) {
    const worker *self = user;
    return rdt_builder_store(self->builder, (rdt_case){&job->problem, &job->facts}, &job->point,
                             job->ptx, err);
}

static redtune_status open_evaluator(void *user, unsigned job, const rdt_domain *domain,
                                     void (*at)(void *at_user, size_t i), void *at_user,
                                     rdt_evaluator *out, redtune_error *err) {
    worker *self = user;
    const rdt_local_parts parts = {
        .context = self->context,
        .maker = {self->codegen, make_own_kernel, self},
        .nvml = self->nvml,
        .at = at,
        .at_user = at_user,
    };
    return rdt_local_replace(&self->locals[job], &parts, domain, out, err);
}

/* ---- from the greeting to the end ------------------------------------------------------------ */

static redtune_status open_gpu(worker *self, rdt_ready *ready, redtune_error *err) {
    redtune_status status = rdt_context_open(self->hello.device, &self->context, err);
    if (!status) status = rdt_context_enter(self->context, &self->entered, err);
    if (!status) status = rdt_builder_probe(self->builder, self->context, &ready->ptx, err);
    if (!status) status = rdt_context_free_bytes(self->context, &ready->free_bytes, err);
    if (!status) ready->facts = self->context->facts;
    return status;
}

static redtune_status set_up_worker(worker *self, rdt_ready *ready, redtune_error *err) {
    redtune_status status = rdt_protocol_take_ops(&self->wire, &self->hello, HELLO_MS, err);
    if (!status) status = rdt_builder_create(&self->log, &self->builder, err);
    if (!status && *self->hello.kernel_cache)
        status = rdt_builder_set_cache(self->builder, self->hello.kernel_cache, err);
    if (!status) status = rdt_builder_borrow(self->builder, &self->codegen, err);
    if (status) return status;
    rdt_builder_give_back(self->builder); /* there is but one thread */
    rdt_text_copy(ready->templates, sizeof ready->templates, rdt_codegen_hash(self->codegen));
    status = rdt_builder_nvrtc(self->builder, &ready->nvrtc_version, err);
    if (!status && self->hello.role == RDT_ROLE_GPU) status = open_gpu(self, ready, err);
    return status;
}

static void close_worker(worker *self) {
    for (int i = 0; i < RDT_JOBS_MAX; i++) rdt_local_destroy(self->locals[i]);
    rdt_nvml_close(self->nvml);
    if (self->context) {
        rdt_context_leave(self->context, self->entered);
        rdt_context_close(self->context);
    }
    rdt_builder_destroy(self->builder);
    rdt_wire_free(&self->wire);
}

static redtune_status work(worker *self, redtune_error *err) {
    rdt_ready ready;
    memset(&ready, 0, sizeof ready);
    redtune_status status = set_up_worker(self, &ready, &ready.error);
    rdt_wire_put(&self->wire, &ready, sizeof ready);
    rdt_wire_send(&self->wire, RDT_FRAME_READY, -1);
    if (status) return REDTUNE_OK; /* it is told */
    if (self->context) self->nvml = rdt_nvml_open(self->context);
    const rdt_serving serving = {&self->wire, self, open_evaluator, make_image};
    return rdt_serve(&serving, err);
}

redtune_status redtune_worker_run(int input_fd, int output_fd, redtune_error *err) {
    worker self = {.wire = {.in = input_fd, .out = output_fd}};
    rdt_frame frame;
    if (input_fd < 0 || output_fd < 0)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot work: file descriptors %d and %d are none",
                        input_fd, output_fd);
    if (rdt_wire_receive(&self.wire, HELLO_MS, &frame) != RDT_WIRE_GOT) {
        rdt_wire_free(&self.wire);
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot work: nobody gives work here; redtune starts its workers itself");
    }
    redtune_status status = rdt_protocol_check_hello(&frame, &self.hello, err);
    if (!status) {
        follow_parent(self.hello.parent);
        self.log = (rdt_log){send_log, &self.wire, (redtune_log_level)self.hello.log_level};
        status = work(&self, err);
    }
    /* Closing a context that a candidate has spoilt may take forever. */
    if (status == REDTUNE_DEVICE) _exit(1);
    close_worker(&self);
    return status;
}
