/* Op folder: a folder of templates whose ops are the tree's and those of fixtures/more_ops.lua.
 * What includes this defines RDT_TEST_TEMPLATES and RDT_TEST_MORE_OPS, and _POSIX_C_SOURCE first.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model/op.h"

static char op_folder[64];

/* Makes it and has redtune take it, before anything is asked of an op. */
static inline bool op_folder_make(void) {
    char command[4096];
    const char *from = getenv("REDTUNE_TEST_TEMPLATES");
    if (!from) from = RDT_TEST_TEMPLATES;
    snprintf(op_folder, sizeof op_folder, "/tmp/redtune-ops-XXXXXX");
    if (!mkdtemp(op_folder)) return false;
    snprintf(command, sizeof command,
             "mkdir %s/ops && cp '%s' %s/ops/more.lua && cp '%s/registry.lua' %s && "
             "sed 's|^local groups = {|& \"ops/more\",|' '%s/ops.lua' >%s/ops.lua",
             op_folder, RDT_TEST_MORE_OPS, op_folder, from, op_folder, from, op_folder);
    return !system(command) && !setenv("REDTUNE_TEMPLATES", op_folder, 1);
}

static inline void op_folder_remove(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", op_folder);
    if (system(command)) perror(command);
}

/* The op of that name; aborts where the folder does not have it. */
static inline redtune_op op_folder_find(const char *name) {
    redtune_op op = REDTUNE_SUM;
    redtune_error err;
    if (!redtune_op_find(name, &op, &err)) return op;
    fprintf(stderr, "%s\n", err.message);
    abort();
}
