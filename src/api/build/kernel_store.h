/* Kernel store: where compiled kernels are found: the system's files, and then the user's kernel
 * cache, which alone is written. Each is opened when it is first needed. Any thread may call. */
#pragma once

#include "api/build/system_kernels.h"

typedef struct rdt_kernel_store rdt_kernel_store;

/* log may be NULL, and must outlive the store. */
redtune_status rdt_kernel_store_create(const rdt_log *log, rdt_kernel_store **out,
                                       redtune_error *err);
void rdt_kernel_store_destroy(rdt_kernel_store *store);
/* Uses this file as the kernel cache in place of the user's. Before anything is found. */
redtune_status rdt_kernel_store_set_cache(rdt_kernel_store *store, const char *path,
                                          redtune_error *err);

/* A miss is REDTUNE_OK with *out as it was; else out->data is freed by the caller. *system: it is
 * of a system's file. */
redtune_status rdt_kernel_store_find(rdt_kernel_store *store, const char *key, rdt_image *out,
                                     bool *system, redtune_error *err);
/* Whether the user's kernel cache has it from now on. */
bool rdt_kernel_store_put(rdt_kernel_store *store, const char *key, const rdt_image *image);

/* How many system's files there are, and what the one of that number has under the key. */
int rdt_kernel_store_files(rdt_kernel_store *store);
redtune_status rdt_kernel_store_find_in(rdt_kernel_store *store, int file, const char *key,
                                        rdt_image *out, redtune_error *err);
/* The architectures that their kernels for the GPU are made for, the nearest first; returns how
 * many. */
typedef struct rdt_kernel_arch {
    int arch;
    bool ptx;
} rdt_kernel_arch;
int rdt_kernel_store_archs(rdt_kernel_store *store, const rdt_facts *gpu,
                           rdt_kernel_arch out[RDT_SYSTEM_ARCH_MAX]);
/* Says, once, that the driver does not take a kernel of theirs. */
void rdt_kernel_store_note_refusal(rdt_kernel_store *store, const char *why);
