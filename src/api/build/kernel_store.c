/* Kernel store: where compiled kernels are found: the system's files, and then the user's kernel
 * cache. */
#define _POSIX_C_SOURCE 200809L
#include "api/build/kernel_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "cache/kernels.h"

struct rdt_kernel_store {
    const rdt_log *log;
    pthread_mutex_t lock;
    char *cache; /* the kernel cache's path; NULL: the user's */
    rdt_kernels *kernels;
    bool tried, told; /* a warning about a kernel that was not stored was logged */
    rdt_system_kernels *system;
    bool system_tried, refusal_told;
};

redtune_status rdt_kernel_store_create(const rdt_log *log, rdt_kernel_store **out,
                                       redtune_error *err) {
    rdt_kernel_store *store = calloc(1, sizeof *store);
    if (!store) return rdt_fail_memory(err, sizeof *store);
    store->log = log;
    pthread_mutex_init(&store->lock, NULL);
    *out = store;
    return REDTUNE_OK;
}

void rdt_kernel_store_destroy(rdt_kernel_store *store) {
    if (!store) return;
    rdt_kernels_close(store->kernels);
    rdt_system_kernels_close(store->system);
    free(store->cache);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

redtune_status rdt_kernel_store_set_cache(rdt_kernel_store *store, const char *path,
                                          redtune_error *err) {
    char *copy = strdup(path);
    if (!copy) return rdt_fail_memory(err, strlen(path) + 1);
    free(store->cache);
    store->cache = copy;
    return REDTUNE_OK;
}

/* ---- opening: the lock is held --------------------------------------------------------------- */

/* Losing the kernel cache costs time only. */
static rdt_kernels *try_kernels(rdt_kernel_store *store) {
    if (store->tried) return store->kernels;
    store->tried = true;
    char *path = NULL;
    redtune_error failure;
    redtune_status status = store->cache ? REDTUNE_OK : rdt_file_kernels_path(&path, &failure);
    if (!status)
        status =
            rdt_kernels_open(path ? path : store->cache, store->log, &store->kernels, &failure);
    if (status)
        rdt_log_write(store->log, REDTUNE_LOG_WARNING, "working without a kernel cache: %s",
                      failure.message);
    free(path);
    return store->kernels;
}

/* The system's kernel files; NULL where they cannot be read. */
static rdt_system_kernels *try_system(rdt_kernel_store *store) {
    redtune_error failure;
    if (!store->system_tried && rdt_system_kernels_open(store->log, &store->system, &failure))
        rdt_log_write(store->log, REDTUNE_LOG_WARNING, "working without kernel files: %s",
                      failure.message);
    store->system_tried = true;
    return store->system && rdt_system_kernels_count(store->system) ? store->system : NULL;
}

/* ---- the interface --------------------------------------------------------------------------- */

redtune_status rdt_kernel_store_find(rdt_kernel_store *store, const char *key, rdt_image *out,
                                     bool *system, redtune_error *err) {
    rdt_image found = {0};
    redtune_status status = REDTUNE_OK;
    pthread_mutex_lock(&store->lock);
    rdt_system_kernels *files = try_system(store);
    if (files) status = rdt_system_kernels_find(files, -1, key, &found, err);
    const bool in_system = !status && found.data;
    rdt_kernels *kernels = status || in_system ? NULL : try_kernels(store);
    if (kernels)
        status = rdt_kernels_find(kernels, key, &found.data, &found.bytes, &found.ptx, err);
    pthread_mutex_unlock(&store->lock);
    if (status || !found.data) return status;
    *out = found;
    *system = in_system;
    return REDTUNE_OK;
}

bool rdt_kernel_store_put(rdt_kernel_store *store, const char *key, const rdt_image *image) {
    redtune_error failure;
    bool kept = false;
    pthread_mutex_lock(&store->lock);
    rdt_kernels *kernels = try_kernels(store);
    if (kernels) {
        kept = !rdt_kernels_put(kernels, key, image->data, image->bytes, image->ptx, &failure);
        if (!kept && !store->told)
            rdt_log_write(store->log, REDTUNE_LOG_WARNING, "%s; it is done without for now",
                          failure.message);
        store->told |= !kept;
    }
    pthread_mutex_unlock(&store->lock);
    return kept;
}

int rdt_kernel_store_files(rdt_kernel_store *store) {
    pthread_mutex_lock(&store->lock);
    rdt_system_kernels *files = try_system(store);
    const int count = files ? rdt_system_kernels_count(files) : 0;
    pthread_mutex_unlock(&store->lock);
    return count;
}

redtune_status rdt_kernel_store_find_in(rdt_kernel_store *store, int file, const char *key,
                                        rdt_image *out, redtune_error *err) {
    pthread_mutex_lock(&store->lock);
    rdt_system_kernels *files = try_system(store);
    redtune_status status =
        files ? rdt_system_kernels_find(files, file, key, out, err) : REDTUNE_OK;
    pthread_mutex_unlock(&store->lock);
    return status;
}

/* The later architecture first, and of one a cubin before PTX. */
static int insert_arch(rdt_kernel_arch *list, int count, rdt_kernel_arch arch) {
    int at = 0;
    while (at < count &&
           (list[at].arch > arch.arch || (list[at].arch == arch.arch && list[at].ptx <= arch.ptx)))
        at++;
    const bool known = at && list[at - 1].arch == arch.arch && list[at - 1].ptx == arch.ptx;
    if (known || count == RDT_SYSTEM_ARCH_MAX) return count;
    memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof *list);
    list[at] = arch;
    return count + 1;
}

int rdt_kernel_store_archs(rdt_kernel_store *store, const rdt_facts *gpu,
                           rdt_kernel_arch out[RDT_SYSTEM_ARCH_MAX]) {
    int count = 0;
    pthread_mutex_lock(&store->lock);
    rdt_system_kernels *files = try_system(store);
    if (files) rdt_system_kernels_note_gpu(files, gpu);
    for (int i = 0; files && i < rdt_system_kernels_count(files); i++) {
        const rdt_system_label *label = rdt_system_kernels_label(files, i);
        for (int k = 0; k < RDT_SYSTEM_ARCH_MAX && label->arch[k]; k++) {
            const rdt_kernel_arch arch = {label->arch[k], label->ptx != 0};
            if (rdt_system_kernels_serves(arch.arch, arch.ptx, gpu))
                count = insert_arch(out, count, arch);
        }
    }
    pthread_mutex_unlock(&store->lock);
    return count;
}

void rdt_kernel_store_note_refusal(rdt_kernel_store *store, const char *why) {
    pthread_mutex_lock(&store->lock);
    if (!store->refusal_told)
        rdt_log_write(store->log, REDTUNE_LOG_WARNING,
                      "the driver does not take a kernel that was baked: %s; it is compiled anew",
                      why);
    store->refusal_told = true;
    pthread_mutex_unlock(&store->lock);
}
