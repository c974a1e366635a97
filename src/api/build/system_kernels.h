/* System kernels: the kernel files of the system and of redtune's package, which redtune bake made
 * ahead. They are read only, and lie in front of the user's kernel cache.
 *
 * A file has kernels under the hash of what must match: the source and the architecture. Under the
 * hash of a class of problems it has what was chosen for it (choosing/baked.h), and under
 * RDT_SYSTEM_LABEL which redtune made it. A file of another redtune is not used, nor one that
 * others can write; the log says so once. */
#pragma once

#include "base/hash.h"
#include "base/log.h"
#include "compiler/compiler.h"
#include "model/facts.h"

#define RDT_SYSTEM_LABEL "label"

enum { RDT_SYSTEM_ARCH_MAX = 16 };

/* What a file says about itself. */
typedef struct rdt_system_label {
    char build[128];                   /* of the redtune that made it */
    int32_t arch[RDT_SYSTEM_ARCH_MAX]; /* 90, and 0 behind the last */
    int32_t ptx;                       /* 1: its kernels are PTX */
    int32_t classes, kernels;
    char gpus[256]; /* the models whose winners it has, ", " between */
} rdt_system_label;

typedef struct rdt_system_kernels rdt_system_kernels;

/* The files of $REDTUNE_SYSTEM_KERNELS, a list with ':' between, empty for none; else
 * /usr/share/redtune/kernels.db and redtune's own. Those that do not exist are none. log may be
 * NULL. Like the handles of cache/kernels.h it is one thread's at a time. */
redtune_status rdt_system_kernels_open(const rdt_log *log, rdt_system_kernels **out,
                                       redtune_error *err);
void rdt_system_kernels_close(rdt_system_kernels *self);
int rdt_system_kernels_count(const rdt_system_kernels *self);
const char *rdt_system_kernels_path(const rdt_system_kernels *self, int file);
const rdt_system_label *rdt_system_kernels_label(const rdt_system_kernels *self, int file);

/* Whether a kernel for that architecture runs on the GPU: PTX of none later; a cubin of the same
 * major and no later minor number. A GPU in software takes PTX only. */
bool rdt_system_kernels_serves(int arch, bool ptx, const rdt_facts *gpu);
/* Says once of each file that has nothing for the GPU that it has not. */
void rdt_system_kernels_note_gpu(rdt_system_kernels *self, const rdt_facts *gpu);
/* What the file has under the key; the first that has it, where file is -1. A miss is REDTUNE_OK
 * with *out as it was; data is freed by the caller. */
redtune_status rdt_system_kernels_find(rdt_system_kernels *self, int file, const char *key,
                                       rdt_image *out, redtune_error *err);
/* Takes the #line directives out of a source: they would put this machine's folders into what is
 * compiled. */
void rdt_system_kernels_strip(char *source);
/* The key of a kernel in such a file, by its source with them. */
void rdt_system_kernels_key(const char *source, int arch, bool ptx, char out[RDT_HASH_TEXT_BYTES]);
