/* User ops: ops that are in files of the user's, one in each (docs/own-ops.md).
 *
 * A file is read once. Its text stays as it was then for as long as the process lives, whatever
 * becomes of the file: every Lua state that renders a kernel of the op runs that text. */
#pragma once

#include "model/op.h"

enum {
    RDT_OWN_EXAMPLES_MAX = 64,
    RDT_OWN_EXAMPLE_COUNT_MAX = 4096, /* elements of one */
};

/* What the op gives for some elements, as its file says. */
typedef struct rdt_own_example {
    uint64_t count;
    double *elements[RDT_OP_INPUTS_MAX]; /* the second NULL for ops of one input */
    double result[RDT_OP_OUTPUTS_MAX];
    double parameter[RDT_OP_PARAMETERS_MAX];
} rdt_own_example;

/* A file, read. */
typedef struct rdt_own_op {
    char *name; /* of the file, as it was given */
    char *text;
    size_t bytes;
    struct {
        int name, functions, map, identity, combine, examples; /* functions: or make */
    } line;                                                    /* where these stand */
    bool rounds;                                               /* an accumulator has floats */
    size_t example_count;
    rdt_own_example *examples;
} rdt_own_op;

/* As redtune_ops_read, for a text that another process has read. A file that was read before, and
 * another with the same text, is the op there is. */
redtune_status rdt_user_ops_add_text(const char *name, const char *text, size_t bytes,
                                     redtune_error *err);
/* In a process that is given its ops by another: those of REDTUNE_OPS are not read. Before any op
 * is asked for. */
void rdt_user_ops_leave_environment(void);

/* How many there are now, and each of them by its place. */
int rdt_user_ops_count(void);
const rdt_own_op *rdt_user_ops_get(int index);
/* That of an op; NULL for one that is of no file. */
const rdt_own_op *rdt_user_ops_find(redtune_op op);
/* Whether this process has found the op right for those dtypes, and that it has. */
bool rdt_user_ops_is_checked(redtune_op op, redtune_dtype dtype, redtune_dtype result);
void rdt_user_ops_set_checked(redtune_op op, redtune_dtype dtype, redtune_dtype result);
