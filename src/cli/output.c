/* Output: a result that goes to a file, whole or not at all, or to stdout. */
#define _XOPEN_SOURCE 700 /* for realpath and nanosleep */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cli/message.h"

enum { PATIENCE_MS = 5000, PAUSE_MS = 20 };

static redtune_status cannot_write(const char *path, int code, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_FILE, code, "cannot write %.300s: %s", path,
                           rdt_message_reason(code));
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

/* A pipe that nobody reads is waited for as long as one that nobody writes. */
static int open_stream(const char *path) {
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
    for (int passed_ms = 0;; passed_ms += PAUSE_MS) {
        int file = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (file >= 0) fcntl(file, F_SETFL, 0);
        if (file >= 0 || errno != ENXIO || passed_ms >= PATIENCE_MS) return file;
        nanosleep(&pause, NULL);
    }
}

/* Of a folder this says that it is one. */
static redtune_status write_into(const char *path, mode_t mode, const void *data, size_t bytes,
                                 redtune_error *err) {
    if (S_ISSOCK(mode) || S_ISBLK(mode))
        return rdt_message_set(err, REDTUNE_FILE, 0, "cannot write %.300s: it is a %s; name a file",
                               path, S_ISBLK(mode) ? "disk" : "socket");
    int file = open_stream(path);
    if (file < 0 && errno == ENXIO && S_ISFIFO(mode))
        return rdt_message_set(err, REDTUNE_FILE, ENXIO,
                               "cannot write %.300s: it is a named pipe, and nobody has read it "
                               "for 5 seconds; start what reads it first",
                               path);
    if (file < 0) return cannot_write(path, errno, err);
    bool good = write_all(file, data, bytes);
    int code = errno;
    if (close(file) && good) good = false, code = errno;
    return good ? REDTUNE_OK : cannot_write(path, code, err);
}

/* Such a name is no file of its own: >(...) makes one. false: path is none. */
static bool find_number(const char *path, int *file) {
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *number = path + strlen(folders[i]);
        if (strncmp(path, folders[i], strlen(folders[i])) || !*number) continue;
        *file = atoi(number);
        return !number[strspn(number, "0123456789")];
    }
    return false;
}

/* What the process was given open, such as /dev/stdout. To open that anew would lose its place, and
 * to replace it all that went there. -1: the path is none of these. */
static int find_given(const char *path, const struct stat *named) {
    struct stat given;
    int file;
    /* What redtune has opened itself is not given on. */
    if (find_number(path, &file)) return fcntl(file, F_GETFD) & FD_CLOEXEC ? INT_MAX : file;
    for (file = STDOUT_FILENO; file <= STDERR_FILENO; file++)
        if (!fstat(file, &given) && given.st_ino == named->st_ino && given.st_dev == named->st_dev)
            return file;
    return -1;
}

redtune_status rdt_output_put(const char *path, const void *data, size_t bytes,
                              redtune_error *err) {
    struct stat info;
    const bool to_stdout = !path || !strcmp(path, "-");
    const bool there = !to_stdout && !stat(path, &info);
    const int given = there ? find_given(path, &info) : to_stdout ? STDOUT_FILENO : -1;
    if (given == STDOUT_FILENO) {
        fwrite(data, 1, bytes, stdout); /* rdt_message_finish tells what went wrong */
        return REDTUNE_OK;
    }
    if (given >= 0)
        return write_all(given, data, bytes) ? REDTUNE_OK : cannot_write(path, errno, err);
    if (there && !S_ISREG(info.st_mode)) return write_into(path, info.st_mode, data, bytes, err);
    if (!there && errno != ENOENT) return cannot_write(path, errno, err);
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
