/* Supervisor: the worker process of one GPU.
 *
 * It is started without waiting: HELLO goes out and READY is awaited when the worker is first
 * needed, so several GPUs open at the same time. A worker that ends before READY is started again,
 * three times at most. One with other templates than the last is refused, because its kernels
 * would be others. Listening wakes up every 20 ms to ask whether the tune is to stop. */
#include "tuner/workers/supervisor.h"

#include <string.h>
#include "base/clock.h"

enum {
    SLICE_MS = 20,   /* between two looks at stop */
    START_S = 60,    /* for a worker to open its GPU */
    START_TRIES = 3, /* for one that ends before it is ready */
    SEND_MS = 10000,
};

bool rdt_supervisor_stops(const rdt_supervisor *self) {
    const rdt_worker_pool *workers = self->workers;
    return workers->stop && workers->stop(workers->user);
}

/* ---- hearing --------------------------------------------------------------------------------- */

static void pass_log(const rdt_supervisor *self, const rdt_frame *frame) {
    redtune_log_level level;
    rdt_reader reader = rdt_wire_reader_of(frame);
    rdt_wire_reader_take(&reader, &level, sizeof level);
    if (!reader.failed)
        rdt_log_write(self->workers->options->log, level, "%.*s", (int)reader.left, reader.at);
}

/* Messages that have come in count before the clock is looked at: this
 * process may have slept, too. Stop is looked at before either: a busy worker is never silent. */
rdt_event rdt_supervisor_hear(rdt_supervisor *self, double limit_s, rdt_frame *out) {
    double end_s = rdt_clock_s() + limit_s;
    while (!rdt_supervisor_stops(self)) {
        switch (rdt_wire_receive(&self->process.wire, SLICE_MS, out)) {
        case RDT_WIRE_GOT:
            if (out->kind != RDT_FRAME_LOG) return RDT_EVENT_FRAME;
            pass_log(self, out);
            break;
        case RDT_WIRE_EMPTY:
            if (rdt_clock_s() > end_s) return RDT_EVENT_SILENCE;
            break;
        case RDT_WIRE_ENDED:
        case RDT_WIRE_BROKEN: return RDT_EVENT_END;
        }
    }
    return RDT_EVENT_STOP;
}

/* ---- starting -------------------------------------------------------------------------------- */

redtune_status rdt_supervisor_start(rdt_supervisor *self, redtune_error *err) {
    rdt_hello hello = rdt_protocol_hello(RDT_ROLE_GPU);
    self->is_ready = false;
    redtune_status status = rdt_process_start(self->workers->options->command, &self->process, err);
    if (status) return status;
    hello.log_level = self->workers->options->log ? (int)self->workers->options->log->level : 0;
    rdt_text_copy(hello.device, sizeof hello.device, self->device);
    rdt_text_copy(hello.kernel_cache, sizeof hello.kernel_cache,
                  self->workers->options->kernel_cache);
    /* One that does not take it has ended, which is found when it is listened to. */
    rdt_protocol_greet(&self->process.wire, hello, SEND_MS);
    return REDTUNE_OK;
}

/* Reads a greeting's answer. */
static redtune_status take_ready(rdt_supervisor *self, const rdt_frame *frame, redtune_error *err) {
    rdt_ready ready;
    rdt_reader reader = rdt_wire_reader_of(frame);
    rdt_wire_reader_take(&reader, &ready, sizeof ready);
    if (frame->kind != RDT_FRAME_READY || !rdt_wire_reader_done(&reader))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot work with the worker process %.300s: it is no redtune %s, or "
                        "another build; name the command of the same build",
                        self->workers->options->command, REDTUNE_VERSION);
    if (ready.error.status) {
        if (err) *err = ready.error;
        return ready.error.status;
    }
    if (*self->ready.templates && strcmp(ready.templates, self->ready.templates))
        return rdt_fail(err, REDTUNE_TEMPLATE, 0,
                        "cannot go on tuning: the templates have changed meanwhile; run the same "
                        "command again");
    self->ready = ready;
    self->is_ready = true;
    return REDTUNE_OK;
}

redtune_status rdt_supervisor_need(rdt_supervisor *self, redtune_error *err) {
    char how[RDT_PROCESS_END_BYTES] = "";
    for (int tries = 0; tries < START_TRIES; tries++) {
        if (!self->process.pid) {
            redtune_status status = rdt_supervisor_start(self, err);
            if (status) return status;
        }
        if (self->is_ready) return REDTUNE_OK;
        rdt_frame frame;
        rdt_event heard = rdt_supervisor_hear(self, START_S, &frame);
        if (heard == RDT_EVENT_FRAME) {
            redtune_status status = take_ready(self, &frame, err);
            if (status) rdt_process_end(&self->process, NULL);
            return status;
        }
        rdt_process_end(&self->process, heard == RDT_EVENT_END ? how : NULL);
        if (heard == RDT_EVENT_STOP) return rdt_fail_interrupted(err, "tuning");
        if (heard == RDT_EVENT_SILENCE)
            return rdt_fail(err, REDTUNE_DEVICE, 0,
                            "cannot use GPU %s: it did not open within %d s; check nvidia-smi",
                            self->device, START_S);
    }
    return rdt_fail(err, REDTUNE_DEVICE, 0,
                    "cannot use GPU %s: its worker process %.300s does not start: %s", self->device,
                    self->workers->options->command, how);
}
