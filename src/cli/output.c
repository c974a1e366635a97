/* Output: a result that goes to a file, whole or not at all, or to stdout. */
#define _XOPEN_SOURCE 700 /* for realpath */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/message.h"

static redtune_status cannot_write(const char *path, int code, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_FILE, code, "cannot write %.300s: %s", path,
                           strerror(code));
}

static bool write_all(int file, const char *data, size_t left) {
    while (left) {
        ssize_t written = write(file, data, left);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        data += written;
        left -= (size_t)written;
    }
    return true;
}

/* Beside the file and then in its place, so that there is never half a result. */
static bool replace(const char *path, mode_t mode, char *beside, const void *data, size_t bytes) {
    int file = mkstemp(beside);
    if (file < 0) return false;
    bool good = write_all(file, data, bytes) && !fchmod(file, mode) && !fsync(file);
    int code = errno;
    if (close(file) && good) good = false, code = errno;
    if (good && rename(beside, path)) good = false, code = errno;
    if (!good) unlink(beside);
    errno = code;
    return good;
}

/* mkstemp gives a file to its owner alone; a result is for others, too. */
static mode_t usual_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool write_into(const char *path, const void *data, size_t bytes) {
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return false;
    bool good = write_all(file, data, bytes);
    int code = errno;
    if (close(file) && good) good = false, code = errno;
    errno = code;
    return good;
}

redtune_status rdt_output_put(const char *path, const void *data, size_t bytes,
                              redtune_error *err) {
    struct stat info;
    if (!path || !strcmp(path, "-")) {
        fwrite(data, 1, bytes, stdout); /* rdt_message_finish tells what went wrong */
        return REDTUNE_OK;
    }
    bool there = !stat(path, &info);
    if (there && !S_ISREG(info.st_mode)) /* of a folder this says that it is one */
        return write_into(path, data, bytes) ? REDTUNE_OK : cannot_write(path, errno, err);
    if (!there && !lstat(path, &info))
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot write %.300s: it is a link to a file that is not there; "
                               "name that file, or remove the link",
                               path);
    /* A symbolic link stays one, and a file keeps its mode. */
    mode_t mode = there ? info.st_mode & 0777 : usual_mode();
    char *real = there ? realpath(path, NULL) : strdup(path);
    char *beside = real ? malloc(strlen(real) + sizeof ".XXXXXX") : NULL;
    bool good = false;
    errno = ENOMEM;
    if (beside) {
        sprintf(beside, "%s.XXXXXX", real);
        good = replace(real, mode, beside, data, bytes);
    }
    int code = errno;
    free(beside);
    free(real);
    return good ? REDTUNE_OK : cannot_write(path, code, err);
}
