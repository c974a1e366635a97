/* Cache file: where the processes of a tune find kernels: the user's cache or a temporary one. */
#define _POSIX_C_SOURCE 200809L
#include "api/build/cache_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "cache/kernels.h"

/* $TMPDIR/redtune-XXXXXX/kernels.db, in a folder that is nobody else's. */
static bool make_temporary(rdt_cache_file *out) {
    const char *base = getenv("TMPDIR");
    char folder[sizeof out->path - 16];
    if (!base || base[0] != '/') base = "/tmp";
    int length = snprintf(folder, sizeof folder, "%s/redtune-XXXXXX", base);
    if (length >= (int)sizeof folder || !mkdtemp(folder)) return false;
    snprintf(out->path, sizeof out->path, "%s/kernels.db", folder);
    out->temporary = true;
    return true;
}

static redtune_status check_cache_file(const char *path, const rdt_log *log, redtune_error *err) {
    rdt_kernels *kernels = NULL;
    redtune_status status = rdt_kernels_open(path, log, &kernels, err);
    if (!status) status = rdt_kernels_check_writable(kernels, err);
    rdt_kernels_close(kernels);
    return status;
}

void rdt_cache_file_open(const rdt_log *log, rdt_cache_file *out) {
    char *path = NULL;
    redtune_error why;
    rdt_cache_file file = {0};
    redtune_status status = rdt_file_kernels_path(&path, &why);
    if (!status) status = check_cache_file(path, log, &why);
    if (!status && strlen(path) < sizeof file.path) {
        rdt_text_copy(file.path, sizeof file.path, path);
    } else {
        bool made = make_temporary(&file);
        if (made && check_cache_file(file.path, log, NULL)) {
            rdt_cache_file_close(&file);
            file = (rdt_cache_file){0};
            made = false;
        }
        rdt_log_write(log, REDTUNE_LOG_WARNING, "compiled kernels are kept %s: %s",
                      made ? "for this tune only" : "nowhere", why.message);
    }
    free(path);
    *out = file;
}

void rdt_cache_file_close(rdt_cache_file *file) {
    static const char *const ends[] = {"", "-journal"};
    if (!file->temporary) return;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[sizeof file->path + 16];
        snprintf(name, sizeof name, "%s%s", file->path, ends[i]);
        unlink(name);
    }
    *strrchr(file->path, '/') = '\0';
    rmdir(file->path);
}
