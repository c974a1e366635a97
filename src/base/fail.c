/* Recording an error: one line that fills a redtune_error and returns its status. */
#include "base/fail.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
    [REDTUNE_OK] = "ok",
    [REDTUNE_INVALID] = "invalid",
    [REDTUNE_UNSUPPORTED] = "unsupported",
    [REDTUNE_MEMORY] = "out of memory",
    [REDTUNE_LIBRARY] = "library missing",
    [REDTUNE_DEVICE] = "device error",
    [REDTUNE_COMPILER] = "compiler error",
    [REDTUNE_TEMPLATE] = "template error",
    [REDTUNE_DATABASE] = "database error",
    [REDTUNE_FILE] = "file error",
    [REDTUNE_WRONG] = "wrong result",
    [REDTUNE_INTERRUPTED] = "interrupted",
    [REDTUNE_UNPREPARED] = "not prepared",
    [REDTUNE_TEAM] = "team error",
};

int redtune_version(void) { return REDTUNE_VERSION_NUMBER; }

const char *redtune_status_name(redtune_status status) {
    size_t i = (size_t)status;
    return i < sizeof status_names / sizeof *status_names ? status_names[i] : "unknown";
}

redtune_status rdt_fail(redtune_error *err, redtune_status status, long code, const char *format,
                        ...) {
    if (!err) return status;
    va_list args;
    va_start(args, format);
    err->status = status;
    err->code = code;
    rdt_text_vprint(err->message, sizeof err->message, format, args);
    va_end(args);
    rdt_text_make_plain(err->message);
    return status;
}

redtune_status rdt_fail_within(redtune_error *err, redtune_status status, const char *format, ...) {
    if (!err) return status;
    char context[200], message[sizeof err->message - sizeof context - 2];
    rdt_text_copy(message, sizeof message, err->message);
    va_list args;
    va_start(args, format);
    rdt_text_vprint(context, sizeof context, format, args);
    va_end(args);
    snprintf(err->message, sizeof err->message, "%s: %s", context, message);
    rdt_text_make_plain(err->message);
    return status;
}

redtune_status rdt_fail_memory(redtune_error *err, size_t bytes) {
    return rdt_fail(err, REDTUNE_MEMORY, 0, "cannot allocate %zu bytes of host memory", bytes);
}

redtune_status rdt_fail_interrupted(redtune_error *err, const char *work) {
    return rdt_fail(err, REDTUNE_INTERRUPTED, 0, "%s was interrupted; what was measured is kept",
                    work);
}
