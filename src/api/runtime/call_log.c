/* Call log: a line of JSON for each call that launches. */
#define _POSIX_C_SOURCE 200809L
#include "api/runtime/call_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "api/records/recording_line.h"
#include "base/file.h"
#include "base/limit.h"
#include "base/locale.h"

struct rdt_call_log {
    int file;
    const rdt_log *log;
    atomic_bool ended;
};

redtune_status rdt_call_log_open(const char *path, const rdt_log *log, rdt_call_log **out,
                                 redtune_error *err) {
    int file = -1;
    if (!*path || rdt_file_is_null(path)) {
        *out = NULL;
        return REDTUNE_OK;
    }
    const char *reason = rdt_file_open(path, O_WRONLY | O_CREAT | O_APPEND, &file);
    if (reason)
        return rdt_fail(err, REDTUNE_FILE, errno, "cannot write calls to %.300s: %s", path, reason);
    rdt_call_log *self = calloc(1, sizeof *self);
    if (!self) {
        close(file);
        return rdt_fail_memory(err, sizeof *self);
    }
    self->file = file;
    self->log = log;
    *out = self;
    return REDTUNE_OK;
}

void rdt_call_log_close(rdt_call_log *self) {
    if (!self) return;
    close(self->file);
    free(self);
}

/* A part of a line is not gone on with: another's may have come between. */
static void put_line(rdt_call_log *self, const rdt_text *line) {
    rdt_limit limit;
    rdt_limit_enter(&limit);
    const ssize_t written = write(self->file, line->data, line->length);
    const int code = errno;
    rdt_limit_leave(&limit);
    if (written == (ssize_t)line->length || atomic_exchange(&self->ended, true)) return;
    rdt_log_write(self->log, REDTUNE_LOG_WARNING, "no more calls are written to REDTUNE_TRACE: %s",
                  written < 0 ? rdt_locale_reason(code) : "there is no room for a line");
}

void rdt_call_log_write(rdt_call_log *self, const char *call, const redtune_problem *problem,
                        const redtune_info *info, double ns) {
    rdt_text line = {0};
    if (atomic_load_explicit(&self->ended, memory_order_relaxed)) return;
    rdt_text_addf(&line, "{\"call\":\"%s\",", call);
    rdt_recording_line_write_problem(&line, problem);
    rdt_text_addf(&line, "\"config\":\"%s:%s\",\"match\":\"%s\",\"us\":%.2f,\"pid\":%ld}\n",
                  info->family, info->config, redtune_match_name(info->match), ns / 1e3,
                  (long)getpid());
    if (!line.failed) put_line(self, &line);
    rdt_text_free(&line);
}
