/* Kernel: a compiled reduction loaded into the current context, and its launch. */
#pragma once

#include "gpu/driver.h"
#include "model/launch.h"

typedef struct rdt_kernel {
    const rdt_driver *driver;
    CUmodule module;
    CUfunction reduce;
    /* Each only where the launch has it. */
    CUfunction combine, join, join_each, join_peers, prefix, preset, finish;
    CUfunction pack, pack_one;
    CUfunction count_digits, scan_digits, place_digits, find_keys, name_indices;
    bool no_overlap; /* made for an architecture on which no launch overlaps another */
    char key[40];    /* of its image in the kernel cache, "" if it is not there */
} rdt_kernel;

/* image is a cubin, or PTX with its NUL, made for such a launch; NULL: of templates/pack.cu. */
redtune_status rdt_kernel_load(const rdt_driver *driver, const void *image,
                               const rdt_launch *launch, rdt_kernel **out, redtune_error *err);
/* That a kernel made for another launch may have the shared memory that this one takes: by key it
 * grows with the keys, and the kernel does not change. */
redtune_status rdt_kernel_allow(const rdt_kernel *kernel, const rdt_launch *launch,
                                redtune_error *err);
/* No launch may still run. kernel may be NULL. */
void rdt_kernel_unload(rdt_kernel *kernel);
/* Frees what the host holds of it, where its context is gone, and the module with it. */
void rdt_kernel_forget(rdt_kernel *kernel);

/* A launch's operands. scratch is as model/launch.h describes. */
typedef struct rdt_operands {
    CUdeviceptr input;
    rdt_extents extents;
    rdt_segments segments;      /* in place of the extents, where the launch is of segments */
    const rdt_strides *strides; /* likewise, of any axes; NULL: the extents say it */
    rdt_keyed keyed;            /* likewise, where the launch is by key; slices are set then */
    CUdeviceptr output, scratch;
    uint64_t scratch_bytes; /* of the caller's */
    rdt_given given;
    /* The launch before on the stream is a reduction, too. Where the kernel can, it is launched
     * while that one ends; after another kernel the same would cost time instead. */
    bool chained;
} rdt_operands;

/* Asynchronous. The one place where reductions are launched. A kernel that does not take `given`
 * leaves it as it is, in any state. */
redtune_status rdt_kernel_start(const rdt_kernel *kernel, const rdt_launch *launch,
                                const rdt_operands *operands, CUstream stream, redtune_error *err);

/* Asynchronous, after a launch that reorders: results that are indices within a key's elements
 * become those of all. */
redtune_status rdt_kernel_name_indices(const rdt_kernel *kernel, const rdt_launch *launch,
                                       const rdt_operands *operands, CUdeviceptr indices,
                                       CUstream stream, redtune_error *err);

/* Arrays to copy, side by side in a table on the GPU: how many pieces there are before each and,
 * last, in all, and behind that the arrays; or one array. */
typedef struct rdt_packing_table {
    CUdeviceptr address; /* 0: there is one array alone */
    uint64_t count, pieces;
    rdt_packed one;
} rdt_packing_table;

/* Asynchronous. */
redtune_status rdt_kernel_pack(const rdt_kernel *kernel, const rdt_packing_table *table,
                               CUstream stream, redtune_error *err);

/* Accumulators side by side, and what becomes of them: redtune_combine of model/launch.h. */
typedef struct rdt_combination {
    CUdeviceptr slots;
    uint32_t slot_count;
    uint64_t first;     /* the index of their first element */
    uint64_t count;     /* of all their elements, for the result */
    CUdeviceptr output; /* 0: none */
    rdt_given given;
} rdt_combination;

/* Asynchronous. The kernel yields accumulators. */
redtune_status rdt_kernel_combine(const rdt_kernel *kernel, rdt_combination what, CUstream stream,
                                  redtune_error *err);

/* Messages side by side, and where the results of all their parts go: redtune_join of
 * model/launch.h, or redtune_join_each where there are more results than one. */
typedef struct rdt_joining {
    CUdeviceptr messages;
    uint32_t part_count;
    uint64_t results;
    CUdeviceptr output;
    rdt_given given;
} rdt_joining;

/* Asynchronous. The kernel yields messages. */
redtune_status rdt_kernel_join(const rdt_kernel *kernel, rdt_joining what, CUstream stream,
                               redtune_error *err);
/* Likewise, of one result, through the memory of the ranks: messages has this rank's, and room for
 * the others'. */
redtune_status rdt_kernel_join_peers(const rdt_kernel *kernel, rdt_joining what, rdt_links links,
                                     uint32_t steps, CUstream stream, redtune_error *err);
