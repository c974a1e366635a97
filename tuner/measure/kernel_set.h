/* Kernel set: the kernels of one problem class (op, dtype, result), compiled, loaded and checked at
 * their edges once, and shared by all counts and grids. The points may be of any families. */
#pragma once

#include "model/trial.h"
#include "tuner/measure/test_buffers.h"

typedef struct rdt_kernel_set rdt_kernel_set;

enum { RDT_KERNEL_SET_COPIES = 4 }; /* of one kernel, the first included */

/* A kernel, or why it could not be made. */
typedef struct rdt_kernel_set_entry {
    rdt_point point;                           /* launch parameters do not count */
    rdt_kernel *copies[RDT_KERNEL_SET_COPIES]; /* the second on NULL until they are asked for */
    rdt_outcome outcome;
    redtune_error error; /* unless good */
    struct rdt_kernel_set_entry *next;
} rdt_kernel_set_entry;

/* A kernel set for problems like this one, of any count. The test buffers' context must be current.
 */
redtune_status rdt_kernel_set_create(const rdt_test_buffers *buffers, const rdt_maker *maker,
                                     const redtune_problem *problem, rdt_kernel_set **out,
                                     redtune_error *err);
/* The test buffers' context must be current. kernel set may be NULL. */
void rdt_kernel_set_destroy(rdt_kernel_set *kernels);

/* Finds the point's kernel; makes it the first time. A kernel that does not compile, load, run or
 * give the right results is an entry too, with its outcome. Fails only where nothing more can be
 * done: no memory, or the GPU no longer answers. */
redtune_status rdt_kernel_set_get(rdt_kernel_set *kernels, const redtune_problem *problem,
                                  const rdt_point *point, const rdt_launch *launch,
                                  rdt_kernel_set_entry **out, redtune_error *err);

/* Loads all copies of a good entry's kernel: where its code lies makes a kernel up to 4 % faster or
 * slower. Returns how many there are: fewer than RDT_KERNEL_SET_COPIES where another cannot be
 * loaded. */
int rdt_kernel_set_copy(rdt_kernel_set *kernels, const redtune_problem *problem,
                        const rdt_launch *launch, rdt_kernel_set_entry *entry);

/* Reads the test buffers' flush buffer with a kernel made for that, so that nothing else is left in
 * L2. Asynchronous. */
redtune_status rdt_kernel_set_flush(const rdt_kernel_set *kernels, redtune_error *err);
