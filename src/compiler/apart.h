/* Apart: compiling in a process of its own, for a text that is not redtune's.
 *
 * NVRTC cannot be stopped: its callback (nvrtcSetFlowCallback) is not asked while macros are
 * expanded, and a text can make it fault. So this process forks, and the copy compiles, with 30 s
 * of the processor, and hands the image over through a pipe. It can open no file, so that neither
 * #include nor __has_include, however a macro makes it, tells anything of the machine. The copy
 * has one thread and calls nothing but the function: no other thread may hold a lock of what that
 * calls at the fork. */
#pragma once

#include <sys/types.h>
#include "compiler/compiler.h"

/* What the copy does. */
typedef redtune_status rdt_apart_fn(const void *user, rdt_image *out, redtune_error *err);

typedef struct rdt_apart {
    pid_t pid;
    int from; /* the pipe's end */
} rdt_apart;

/* Forks. */
redtune_status rdt_apart_start(rdt_apart_fn *function, const void *user, rdt_apart *out,
                               redtune_error *err);
/* What the function returned; REDTUNE_COMPILER where it did not come to that, and
 * REDTUNE_INTERRUPTED where the user ended it. name is what messages call the source. */
redtune_status rdt_apart_finish(rdt_apart *apart, const char *name, rdt_image *out,
                                redtune_error *err);
