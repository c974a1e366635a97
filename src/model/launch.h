/* Launch: how a compiled kernel is started for any count, as plain data.
 *
 * Every rendered source defines
 *   redtune_reduce(const T *input, uint64 count, R *output, void *scratch)
 * and, where final_threads is not 0,
 *   redtune_finish(const void *scratch, uint32 blocks, R *output).
 * The scratch starts with a header of counters, which kernels find and leave zero; one slot of
 * RDT_SCRATCH_SLOT_BYTES per block follows, which kernels find and leave in any state. */
#ifndef RDT_MODEL_LAUNCH_H
#define RDT_MODEL_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

enum {
    RDT_SCRATCH_HEADER_BYTES = 256,
    RDT_SCRATCH_SLOT_BYTES = 16,
    RDT_BLOCKS_MAX = 65536, /* bounds every scratch buffer to about 1 MiB */
};

typedef struct rdt_launch {
    uint32_t threads;       /* per block */
    uint32_t tile;          /* elements that a block takes at a time, at least 1 */
    uint32_t blocks_max;    /* 1 to RDT_BLOCKS_MAX */
    uint32_t final_threads; /* of the second launch; 0: there is none */
} rdt_launch;

/* Blocks for count elements: one per tile, at least 1, at most blocks_max. */
uint32_t rdt_launch_blocks(const rdt_launch *launch, uint64_t count);
/* Scratch that serves any launch. */
size_t rdt_scratch_bytes(void);

#endif
