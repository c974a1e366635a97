/* File: whole files in memory, folders, and the places where redtune keeps things.
 *
 * What a path leads to is looked at before it is opened: to open a device may start something, and
 * to open a named pipe may wait forever. */
#define _GNU_SOURCE
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "base/limit.h"
#include "base/locale.h"

/* The reason for a code of errno's, which stays. */
static const char *reason_for(int code) {
    const char *reason = rdt_locale_reason(code);
    errno = code;
    return reason;
}

const char *rdt_file_unfit(mode_t mode) {
    if (S_ISREG(mode)) return NULL;
    errno = S_ISDIR(mode) ? EISDIR : 0;
    return S_ISDIR(mode)    ? "it is a directory, not a regular file"
           : S_ISFIFO(mode) ? "it is a named pipe, not a regular file"
           : S_ISSOCK(mode) ? "it is a socket, not a regular file"
                            : "it is a device, not a regular file";
}

bool rdt_file_is_null(const char *path) {
    struct stat info, null;
    return !stat(path, &info) && S_ISCHR(info.st_mode) && !stat("/dev/null", &null) &&
           S_ISCHR(null.st_mode) && info.st_rdev == null.st_rdev;
}

/* Such names stand for what the process has open: a file put in their place would not be there. */
static bool names_descriptor(const char *path) {
    static const char *const beginnings[] = {"/dev/fd/", "/dev/std", "/proc/"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (!strncmp(path, beginnings[i], strlen(beginnings[i]))) return true;
    return false;
}

/* A pipe without a name, as <(...) makes one, has or had its writer already. */
static bool is_nameless_pipe(const char *path, mode_t mode) {
    struct statfs system;
    return S_ISFIFO(mode) && !statfs(path, &system) && system.f_type == PIPEFS_MAGIC;
}

const char *rdt_file_open(const char *path, int flags, int *out) {
    const bool reads = (flags & O_ACCMODE) == O_RDONLY;
    struct stat info;
    const char *unfit = NULL;
    if (!stat(path, &info))
        unfit = rdt_file_unfit(info.st_mode);
    else if (errno != ENOENT || !(flags & O_CREAT))
        return reason_for(errno);
    if (!unfit && !reads && names_descriptor(path)) {
        errno = 0;
        unfit = "it stands for what this program has open, not for a file";
    }
    if (unfit) return unfit;
    int file = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (file < 0) return reason_for(errno);
    unfit = fstat(file, &info) ? reason_for(errno) : rdt_file_unfit(info.st_mode);
    if (unfit) {
        int code = errno;
        close(file);
        errno = code;
        return unfit;
    }
    *out = file;
    return NULL;
}

static bool write_bytes(int file, const char *data, size_t bytes) {
    while (bytes) {
        ssize_t written = write(file, data, bytes);
        if (written < 0 && errno != EINTR) return false;
        if (written < 0) continue;
        data += written;
        bytes -= (size_t)written;
    }
    return true;
}

/* beside: a name for mkostemp. */
static const char *replace_by(char *beside, const char *real, const void *data, size_t bytes) {
    struct stat info;
    rdt_limit limit;
    const char *unfit = stat(real, &info) ? reason_for(errno) : rdt_file_unfit(info.st_mode);
    if (unfit) return unfit;
    int file = mkostemp(beside, O_CLOEXEC);
    if (file < 0) return reason_for(errno);
    rdt_limit_enter(&limit);
    bool good = write_bytes(file, data, bytes);
    rdt_limit_leave(&limit);
    good = good && !fchmod(file, info.st_mode & 0777);
    int code = good ? 0 : errno;
    if (close(file) && !code) code = errno;
    if (!code && rename(beside, real)) code = errno;
    if (!code) return NULL;
    unlink(beside);
    return reason_for(code);
}

const char *rdt_file_replace(const char *path, const void *data, size_t bytes) {
    rdt_text beside = {0};
    char *real = realpath(path, NULL);
    if (!real) return reason_for(errno);
    rdt_text_addf(&beside, "%s.XXXXXX", real);
    const char *why =
        beside.failed ? reason_for(ENOMEM) : replace_by(beside.data, real, data, bytes);
    int code = errno;
    rdt_text_free(&beside);
    free(real);
    errno = code;
    return why;
}

/* For reading also what has an end of its own: /dev/null, which is empty, and a nameless pipe. */
static const char *open_to_read(const char *path, int *out) {
    struct stat info;
    const bool streams =
        !stat(path, &info) && (is_nameless_pipe(path, info.st_mode) || rdt_file_is_null(path));
    if (!streams) return rdt_file_open(path, O_RDONLY, out);
    *out = open(path, O_RDONLY | O_CLOEXEC);
    return *out < 0 ? reason_for(errno) : NULL;
}

static redtune_status cannot_read_file(const char *path, const char *reason, redtune_error *err) {
    return rdt_fail(err, REDTUNE_FILE, errno, "cannot read %s: %s", path, reason);
}

redtune_status rdt_file_read(const char *path, size_t max_bytes, char **data, size_t *length,
                             redtune_error *err) {
    rdt_text text = {0};
    int file = -1;
    const char *why = open_to_read(path, &file);
    if (why) return cannot_read_file(path, why, err);
    char chunk[16384];
    ssize_t got = 1;
    while (got && !text.failed && text.length <= max_bytes) {
        got = read(file, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        rdt_text_add_bytes(&text, chunk, (size_t)got);
    }
    redtune_status status = REDTUNE_OK;
    if (got < 0) {
        status = cannot_read_file(path, reason_for(errno), err);
    } else if (text.length > max_bytes) {
        status = rdt_fail(err, REDTUNE_FILE, 0, "cannot read %s: it is larger than %zu bytes", path,
                          max_bytes);
    }
    close(file);
    size_t bytes = text.length;
    if (!status) status = rdt_text_take(&text, data, err);
    if (!status) *length = bytes;
    rdt_text_free(&text);
    return status;
}

bool rdt_file_exists(const char *path) { return access(path, F_OK) == 0; }

bool rdt_file_is_absent(const char *path) {
    struct stat info;
    return stat(path, &info) && errno == ENOENT;
}

redtune_status rdt_file_make_folder_of(const char *path, unsigned mode, redtune_error *err) {
    if (!*path) return REDTUNE_OK;
    char *folder = strdup(path);
    if (!folder) return rdt_fail_memory(err, strlen(path) + 1);
    redtune_status status = REDTUNE_OK;
    for (char *at = folder + 1; *at && !status; at++) {
        if (*at != '/') continue;
        *at = '\0';
        if (mkdir(folder, mode) && errno != EEXIST) {
            int code = errno;
            status = rdt_fail(err, REDTUNE_FILE, code, "cannot create folder %s: %s", folder,
                              rdt_locale_reason(code));
        }
        *at = '/';
    }
    free(folder);
    return status;
}

/* The XDG Base Directory Specification: an unset, empty or relative value means the default. */
static redtune_status user_path(const char *variable, const char *fallback, const char *name,
                                char **out, redtune_error *err) {
    rdt_text text = {0};
    const char *base = getenv(variable);
    const char *home = getenv("HOME");
    if (base && base[0] == '/') {
        rdt_text_addf(&text, "%s/redtune/%s", base, name);
    } else if (home && home[0] == '/') {
        rdt_text_addf(&text, "%s/%s/redtune/%s", home, fallback, name);
    } else {
        return rdt_fail(err, REDTUNE_FILE, 0,
                        "cannot find a place for %s: neither %s nor HOME is an absolute path; "
                        "set one of them",
                        name, variable);
    }
    return rdt_text_take(&text, out, err);
}

redtune_status rdt_file_tuning_path(const char *chosen, char **out, redtune_error *err) {
    const char *variable = getenv("REDTUNE_DB");
    if (!chosen && variable && *variable) chosen = variable;
    if (!chosen) return user_path("XDG_DATA_HOME", ".local/share", "tuning.db", out, err);
    rdt_text text = {0};
    rdt_text_add(&text, chosen);
    return rdt_text_take(&text, out, err);
}

const char *rdt_file_misread_database(const char *list) {
    if (strstr(list, "::memory:") || !strncmp(list, ":memory:", 8))
        return "measurements are kept in files, and a database in memory would be lost; name a "
               "file, or for tries one in a folder of mktemp -d";
    for (const char *at = list; at; at = strchr(at, ':'), at += at != NULL)
        if (!strncmp(at, "file:", 5) || !strncmp(at + strcspn(at, ":/"), "://", 3))
            return "it is a URI; give the path alone, such as /home/me/tuning.db, or ./file for a "
                   "file of that name";
    return NULL;
}

redtune_status rdt_file_kernels_path(char **out, redtune_error *err) {
    return user_path("XDG_CACHE_HOME", ".cache", "kernels.db", out, err);
}

/* A program that was found through PATH is known by its bare name; the kernel knows its file. */
char *rdt_file_find_code(void) {
    static const char anchor;
    Dl_info info;
    bool placed = dladdr(&anchor, &info) && info.dli_fname && strchr(info.dli_fname, '/');
    return realpath(placed ? info.dli_fname : "/proc/self/exe", NULL);
}

/* Seen from the folder of that file. */
static const char *const own_folders[] = {"", REDTUNE_DATA_FROM_PROGRAMS "/",
                                          REDTUNE_DATA_FROM_LIBRARIES "/"};

redtune_status rdt_file_find_own(const char *name, char **out, redtune_error *err) {
    char *code = rdt_file_find_code();
    if (!code && errno == ENOMEM) return rdt_fail_memory(err, 1);
    const int folder = code ? (int)(strrchr(code, '/') - code) : 0;
    rdt_text text = {0};
    bool found = false;
    for (size_t i = 0; code && !found && i < sizeof own_folders / sizeof *own_folders; i++) {
        rdt_text_free(&text);
        rdt_text_addf(&text, "%.*s/%s%s", folder, code, own_folders[i], name);
        found = text.failed || rdt_file_exists(text.data);
    }
    if (!found) {
        rdt_text_free(&text);
        rdt_text_addf(&text, "%s/%s", REDTUNE_DATA_DIR, name);
    }
    free(code);
    const redtune_status status = rdt_text_take(&text, out, err);
    rdt_text_free(&text);
    return status;
}
