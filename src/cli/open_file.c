/* Open file: opens what the user names to be read, and waits for nothing that may never come. */
#define _GNU_SOURCE
#include "cli/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "cli/message.h"

enum { PATIENCE_MS = 5000 };

static redtune_status fail_reading(int code, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_FILE, code, "%s", rdt_message_reason(code));
}

/* A pipe without a name, as <(...) makes one, has its writer, who may take any time. */
static bool is_unwritten_pipe(int file) {
    struct stat facts;
    struct statfs system;
    struct pollfd pipe = {.fd = file, .events = POLLIN};
    return !fstat(file, &facts) && S_ISFIFO(facts.st_mode) && !fstatfs(file, &system) &&
           system.f_type != PIPEFS_MAGIC && !poll(&pipe, 1, PATIENCE_MS);
}

static redtune_status check_kind(const char *path, bool stream, bool *absent, redtune_error *err) {
    struct stat facts;
    *absent = false;
    if (stat(path, &facts)) {
        *absent = errno == ENOENT;
        if (*absent && !stream && !lstat(path, &facts)) {
            *absent = false; /* what would be made is the link's, not what the user named */
            return rdt_message_set(err, REDTUNE_FILE, ENOENT,
                                   "it is a link to a file that is not there; name that file, or "
                                   "remove the link");
        }
        return fail_reading(errno, err);
    }
    /* Without this a folder would fail only at its first read, and not on every file system. */
    if (S_ISDIR(facts.st_mode)) return fail_reading(EISDIR, err);
    if (S_ISREG(facts.st_mode) || (stream && !S_ISSOCK(facts.st_mode))) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_FILE, 0, "it is %s, not a regular file; name a file",
                           S_ISFIFO(facts.st_mode)   ? "a named pipe"
                           : S_ISSOCK(facts.st_mode) ? "a socket"
                                                     : "a device");
}

static redtune_status open_checked(const char *path, int *file, redtune_error *err) {
    int opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (opened < 0) return fail_reading(errno, err);
    if (is_unwritten_pipe(opened)) {
        close(opened);
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "it is a named pipe, and nobody has written to it for 5 seconds; "
                               "start what writes it first");
    }
    fcntl(opened, F_SETFL, 0); /* what is read may take its time */
    *file = opened;
    return REDTUNE_OK;
}

redtune_status rdt_open_file_read(const char *path, int *file, redtune_error *err) {
    bool absent;
    redtune_status status = check_kind(path, true, &absent, err);
    return status ? status : open_checked(path, file, err);
}

redtune_status rdt_open_file_regular(const char *path, int *file, redtune_error *err) {
    bool absent;
    redtune_status status = check_kind(path, false, &absent, err);
    *file = -1;
    if (absent) return REDTUNE_OK;
    return status ? status : open_checked(path, file, err);
}
