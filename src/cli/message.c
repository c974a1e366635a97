/* Message: what the command says on stderr, and the exit code it ends with. */
#include "cli/message.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "cli/json.h"
#include "cli/screen.h"

/* Whether the three bytes turn the direction of writing, or are a mark that nobody sees. */
static bool turns(const unsigned char *at) {
    unsigned code = (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    return (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

void rdt_message_make_plain(char *text) {
    unsigned char *at = (unsigned char *)text;
    for (size_t bytes; *at; at += bytes) {
        bytes = rdt_json_utf8_bytes(at);
        bool control = !bytes || *at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0) ||
                       (bytes == 3 && turns(at));
        if (!bytes) bytes = 1;
        if (control) memset(at, '?', bytes);
    }
}

void rdt_message_print(const char *format, ...) {
    char line[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    rdt_message_make_plain(line);
    fprintf(stderr, "redtune: %s\n", line);
}

/* Broken between words where the terminal is narrower. */
static void print_prose(const char *kind, const char *text) {
    char line[2048];
    snprintf(line, sizeof line, "redtune: %s%s", kind, text);
    rdt_message_make_plain(line);
    rdt_screen_print_line(line, stderr);
}

void rdt_message_print_prose(const char *format, ...) {
    char line[2000];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    print_prose("", line);
}

int rdt_message_fail(const redtune_error *err) {
    print_prose("", err->message);
    if (err->status == REDTUNE_INVALID) return RDT_EXIT_MISUSED;
    if (err->status == REDTUNE_INTERRUPTED) return RDT_EXIT_INTERRUPTED;
    return RDT_EXIT_FAILED;
}

const char *rdt_message_reason(int code) {
    if (code == EMFILE) return "too many open files in this process; raise ulimit -n";
    return code == EFBIG ? "the file would be too large; raise ulimit -f" : strerror(code);
}

redtune_status rdt_message_set(redtune_error *err, redtune_status status, long code,
                               const char *format, ...) {
    va_list args;
    va_start(args, format);
    err->status = status;
    err->code = code;
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

redtune_status rdt_message_within(redtune_error *err, const char *format, ...) {
    char context[512];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    /* The reason matters more than a long name: the context gets the room that is left. */
    size_t reason_bytes = strlen(err->message) + 1, context_bytes = strlen(context);
    size_t room = sizeof err->message - reason_bytes;
    if (room < 2) return err->status;
    if (context_bytes > room - 2) context_bytes = room - 2;
    memmove(err->message + context_bytes + 2, err->message, reason_bytes);
    memcpy(err->message, context, context_bytes);
    memcpy(err->message + context_bytes, ": ", 2);
    return err->status;
}

redtune_log_level rdt_message_log_level(int quiet, int verbose) {
    if (quiet) return REDTUNE_LOG_NONE;
    if (verbose > 1) return REDTUNE_LOG_DEBUG;
    return verbose ? REDTUNE_LOG_INFO : REDTUNE_LOG_WARNING;
}

void rdt_message_log(void *user, redtune_log_level level, const char *line) {
    (void)user;
    print_prose(level == REDTUNE_LOG_WARNING ? "warning: " : "", line);
}

int rdt_message_finish(int code) {
    int reason = fflush(stdout) ? errno : 0;
    if (!reason && !ferror(stdout)) return code;
    /* The reason why an earlier write failed is lost by now; one more fails for the same. */
    if (!reason && (putchar('\n') == EOF || fflush(stdout))) reason = errno;
    /* Who closed the pipe has read enough: the signal, were it not ignored, would end this so. */
    if (reason == EPIPE) return code == RDT_EXIT_DONE ? 128 + SIGPIPE : code;
    rdt_message_print("cannot write the result: %s",
                      reason ? rdt_message_reason(reason)
                             : "a part of it is missing; run this again");
    return code == RDT_EXIT_DONE ? RDT_EXIT_FAILED : code;
}
