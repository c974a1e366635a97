/* File: whole files in memory, folders, and the places where redtune keeps things. */
#define _GNU_SOURCE
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/locale.h"

static redtune_status cannot_read_file(const char *path, redtune_error *err) {
    int code = errno;
    return rdt_fail(err, REDTUNE_FILE, code, "cannot read %s: %s", path, rdt_locale_reason(code));
}

/* Opens a file that holds its bytes. A pipe may never have any, and a device may act when it is
 * opened; so neither is. */
static redtune_status open_regular(const char *path, FILE **out, redtune_error *err) {
    struct stat info;
    if (stat(path, &info)) return cannot_read_file(path, err);
    if (S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return cannot_read_file(path, err);
    }
    if (!S_ISREG(info.st_mode))
        return rdt_fail(err, REDTUNE_FILE, 0,
                        "cannot read %s: it is a pipe or a device; put its bytes into a file",
                        path);
    /* Should it be a pipe by now, this does not wait for a writer. */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *out = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    if (*out) return REDTUNE_OK;
    redtune_status status = cannot_read_file(path, err);
    if (descriptor >= 0) close(descriptor);
    return status;
}

redtune_status rdt_file_read(const char *path, size_t max_bytes, char **data, size_t *length,
                             redtune_error *err) {
    rdt_text text = {0};
    FILE *file = NULL;
    redtune_status status = open_regular(path, &file, err);
    if (status) return status;
    char chunk[16384];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0 && text.length <= max_bytes)
        rdt_text_add_bytes(&text, chunk, got);
    if (ferror(file)) {
        status = cannot_read_file(path, err);
    } else if (text.length > max_bytes) {
        status = rdt_fail(err, REDTUNE_FILE, 0, "cannot read %s: it is larger than %zu bytes", path,
                          max_bytes);
    }
    fclose(file);
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

redtune_status rdt_file_near_code(const char *const *relative, char **out, redtune_error *err) {
    char *code = rdt_file_find_code();
    redtune_status status = REDTUNE_OK;
    *out = NULL;
    if (!code) return errno == ENOMEM ? rdt_fail_memory(err, 1) : REDTUNE_OK;
    int folder = (int)(strrchr(code, '/') - code);
    for (; !status && !*out && *relative; relative++) {
        rdt_text text = {0};
        rdt_text_addf(&text, "%.*s/%s", folder, code, *relative);
        if (text.failed || rdt_file_exists(text.data)) status = rdt_text_take(&text, out, err);
        rdt_text_free(&text);
    }
    free(code);
    return status;
}
