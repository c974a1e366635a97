/* Store: where the processes of a tune meet: the user's kernel cache, or one for the tune only. */
#define _POSIX_C_SOURCE 200809L
#include "api/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "cache/kernels.h"

/* $TMPDIR/redtune-XXXXXX/kernels.db, in a folder that is nobody else's. */
static bool make_temporary(rdt_store *out) {
    const char *base = getenv("TMPDIR");
    char folder[sizeof out->path - 16];
    if (!base || base[0] != '/') base = "/tmp";
    int length = snprintf(folder, sizeof folder, "%s/redtune-XXXXXX", base);
    if (length >= (int)sizeof folder || !mkdtemp(folder)) return false;
    snprintf(out->path, sizeof out->path, "%s/kernels.db", folder);
    out->temporary = true;
    return true;
}

void rdt_store_open(const rdt_log *log, rdt_store *out) {
    char *path = NULL;
    rdt_kernels *kernels = NULL;
    redtune_error why;
    rdt_store store = {0};
    redtune_status status = rdt_file_kernels_path(&path, &why);
    if (!status) status = rdt_kernels_open(path, &kernels, &why);
    if (!status) status = rdt_kernels_check_writable(kernels, &why);
    if (!status && strlen(path) < sizeof store.path) {
        rdt_text_copy(store.path, sizeof store.path, path);
    } else {
        bool made = make_temporary(&store);
        rdt_log_write(log, REDTUNE_LOG_WARNING, "compiled kernels are kept %s: %s",
                      made ? "for this tune only" : "nowhere", why.message);
    }
    rdt_kernels_close(kernels);
    free(path);
    *out = store;
}

void rdt_store_close(rdt_store *store) {
    static const char *const ends[] = {"", "-journal"};
    if (!store->temporary) return;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[sizeof store->path + 16];
        snprintf(name, sizeof name, "%s%s", store->path, ends[i]);
        unlink(name);
    }
    *strrchr(store->path, '/') = '\0';
    rmdir(store->path);
}
