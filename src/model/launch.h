/* Launch: how a compiled kernel is started for any count, as plain data.
 *
 * Every rendered source defines
 *   redtune_reduce(const T *input, EXTENTS, R *output, void *scratch, uint32 overlaps, given)
 * where EXTENTS is an rdt_extents, or for whole arrays its first member, uint64 count; `given` is
 * an rdt_given (overlaps: not 0 if the launch may begin while the one before ends, but 0 by key,
 * where each launch waits in any case; a kernel leaves out last parameters that it does not use).
 *
 * A launch that accumulates leaves the op's accumulator in place of the result, so that a whole may
 * be reduced in parts. Its output is a slot: slot_bytes at an address aligned to as many, of which
 * the first are the accumulator as CUDA lays it out (templates/lib/accumulator.lua), the others
 * anything. Its source also defines
 *   redtune_combine(slot *slots, uint32 n, uint64 first, uint64 count, R *output, given)
 * for one block of RDT_COMBINE_THREADS: slots[0] becomes the combination of n slots, in an order
 * that depends on n alone, with `first` added to the index that an op looks for; where output is
 * not NULL, it gets the result over count elements. Parts that are each moved to their first index
 * may thus be combined in any number of steps.
 *
 * For a team (redtune/team.h) a launch leaves a message in its output: the accumulator, how many
 * elements it is of and the index of the first of them, in as many bytes as two slots. Its source
 * also defines
 *   redtune_join(const message *messages, uint32 n, R *output, given)
 * for one block of RDT_COMBINE_THREADS: output gets the result of all parts, combined in an order
 * that depends on n alone, wherever they begin; and
 *   redtune_join_each(const message *messages, uint32 n, uint64 results, R *output, given)
 * for as many threads as there are results, in blocks of RDT_JOIN_THREADS: a part has its messages
 * of all results side by side. Where ranks reach each other's memory,
 *   redtune_join_peers(message *messages, rdt_links, uint32 steps, R *output, given)
 * for one block of RDT_JOIN_THREADS: steps RDT_LINKS_SEND sends this rank's message to the others,
 * RDT_LINKS_RECEIVE waits for theirs and joins them.
 *
 * Scratch has three parts, for RDT_BLOCKS_MAX blocks each: counters and words, which kernels find
 * and leave zero, and slots, which they find and leave in any state.
 *
 * Where blocks make sets of results, and there are fewer sets than blocks_max, several blocks share
 * a set: each takes a split of the elements. A kernel finds how many from its grid, which has as
 * many blocks for each set (templates/lib/splits.cu). What the blocks of a launch leave in scratch
 * fits, for blocks_max is at most what there is room for, and a launch of more blocks has no
 * splits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RDT_BLOCKS_MAX = 16384,
    RDT_SCRATCH_COUNTERS_BYTES = 256,
    RDT_SCRATCH_WORDS_BYTES = 32, /* per block */
    RDT_ACCUMULATOR_BYTES = 16,
    RDT_ACCUMULATOR_BYTES_MAX = 512, /* of exact sums of f64 */
    RDT_COMBINE_THREADS = 32,
    RDT_JOIN_THREADS = 128,
    RDT_SCRATCH_SLOT_BYTES = RDT_ACCUMULATOR_BYTES, /* per block */
    RDT_SCRATCH_WORDS_OFFSET = RDT_SCRATCH_COUNTERS_BYTES,
    RDT_SCRATCH_SLOTS_OFFSET = RDT_SCRATCH_WORDS_OFFSET + RDT_BLOCKS_MAX * RDT_SCRATCH_WORDS_BYTES,
    RDT_GRID_MAX = INT32_MAX, /* of CUDA: blocks of a launch */
    RDT_SCRATCH_BYTES = RDT_SCRATCH_SLOTS_OFFSET + RDT_BLOCKS_MAX * RDT_SCRATCH_SLOT_BYTES,
};

/* The text by which kernels and their launches are told apart: 16 hexadecimal digits and a NUL. */
enum { RDT_KERNEL_BYTES = 17 };

/* What one launch reduces, as in redtune_problem. Kernels get it without zeros. */
typedef struct rdt_extents {
    uint64_t count, outer, inner;
    uint64_t outer_step, step; /* elements */
} rdt_extents;

/* In place of the extents, for a kernel of any axes (strides.h): count and results are the products
 * of the sizes. Axes are listed from the innermost on; there is one of each at least. With indices
 * k and r element (k, r) of x is at origin + k * step + r * step, summed over the axes; those of y,
 * or of a mask, and the results likewise. */
enum { RDT_STRIDES_AXES = 8, RDT_STRIDES_ARRAYS = 3 /* x, y or the mask, the results */ };
typedef struct rdt_strided_axis {
    uint64_t size;
    uint64_t reciprocal; /* 2^64 / size, rounded up: of 32 bits, n / size is the upper half of its
                            product with n; 0 where size has more bits */
    int64_t step[RDT_STRIDES_ARRAYS];
} rdt_strided_axis;

typedef struct rdt_strides {
    uint64_t count, results;
    int64_t origin[RDT_STRIDES_ARRAYS];
    /* All elements of x are among the `reach` from number reach_first on. */
    int64_t reach_first;
    uint64_t reach;
    /* Elements that one load may take along the innermost axis, by sizes and steps: a power of two,
     * 1 where that has another step than 1. */
    uint32_t reduced_vec, kept_vec;
    uint32_t reduced_axes, kept_axes;
    /* What the steps of x along all reduced axes but the innermost one are multiples of: a power of
     * two, at most 16. */
    uint64_t spans_apart;
    rdt_strided_axis reduced[RDT_STRIDES_AXES], kept[RDT_STRIDES_AXES];
    /* Of the mask of two inputs, along the same axes; kernels of others do not have these. */
    int64_t mask_origin, reduced_mask[RDT_STRIDES_AXES], kept_mask[RDT_STRIDES_AXES];
} rdt_strides;

/* An array with gaps, for the kernel that copies its elements side by side (templates/pack.cu): in
 * units of as many bytes, which one load takes. Axes are listed from the innermost on; there is one
 * at least. A warp takes a piece at a time: RDT_PACKED_PIECE units as they are to lie or, where
 * `across` is not 0, a tile of 2^width units along that axis and of as many along the innermost one
 * as make RDT_PACKED_TILE, which is for units that are nearer to each other along `across`. */
enum {
    RDT_PACKED_UNIT_MAX = 16,
    RDT_PACKED_PIECE = 256,
    RDT_PACKED_TILE_BITS = 10,
    RDT_PACKED_TILE = 1 << RDT_PACKED_TILE_BITS,
    RDT_PACKED_WARPS = 4 /* of a block */
};
typedef struct rdt_packed_axis {
    uint64_t size, reciprocal; /* (2^64 - 1) / size, rounded down */
    int64_t step;
} rdt_packed_axis;
typedef struct rdt_packed {
    uint64_t from, to; /* addresses: of the unit whose indices are 0, and of the first one copied */
    uint64_t units;
    uint32_t bytes, axes, across, width;
    rdt_packed_axis along[RDT_STRIDES_AXES];
} rdt_packed;

/* In place of the extents, for a kernel of segments: segment i has the elements from that of number
 * begin[i] up to that of end[i]. Where blocks make sets of results (launch.results), a set is of so
 * many segments. Before another such kernel, where end is not 0, its source's
 *   redtune_prefix(rdt_segments, void *scratch)
 * is launched on any number of blocks of RDT_PREFIX_THREADS, which leaves the work before the
 * segments in the slots. */
enum { RDT_PREFIX_THREADS = 256 };
typedef struct rdt_segments {
    uint64_t begin, end; /* tables on the GPU; end is 0 where segment i ends at begin[i + 1], and
                            begin is 0 where all begin at 0 */
    uint64_t count;
    uint64_t wide;   /* 1: offsets have 64 bits; 0: 32 */
    uint64_t arrays; /* of where each segment's array is; 0: all are in the input */
} rdt_segments;

/* In place of the extents, for a kernel by key: out[k] is made of the elements whose key is k. Its
 * source also defines
 *   redtune_preset_keys(rdt_keyed, void *scratch), which makes the table in scratch one of no
 *     elements, and is launched before it unless each block leaves a table of its own (sliced), and
 *   redtune_finish_keys, with redtune_reduce's parameters, which makes the results of it after,
 * both for any number of blocks of RDT_KEYED_THREADS. Tables are where scratch has slots; they may
 * reach beyond its end. */
enum { RDT_KEYED_THREADS = 256 };
typedef struct rdt_keyed {
    /* Elements, and keys: those that are not below this number are skipped. Where elements come in
     * rows of a key each, count is of rows, and keys has one for each column of each key. */
    uint64_t count, keys;
    uint64_t width;   /* of rows; else 1 */
    uint64_t key;     /* of the keys, on the GPU */
    uint64_t skipped; /* of a uint64 on the GPU, where they are counted; or 0 */
    uint64_t slices;  /* tables: blocks of the launch, or 1 */
} rdt_keyed;

/* A launch that sorts has the numbers of elements in the order of their keys, those of a key in
 * their own order, in memory behind its table. Its source also defines
 *   redtune_count_digits, redtune_scan_digits and redtune_place_digits, launched before it one
 *     after the other for each digit of the keys,
 * and redtune_reduce takes an rdt_reordering behind the rdt_keyed. A launch that reorders leaves
 * the elements themselves in that order, as segments of which each is a cell, in memory behind
 * scratch, those of a second input by redtune_reduce once more. It has redtune_find_keys, launched
 * in between, and redtune_name_indices(rdt_keyed, rdt_reordering, indices), for results that are
 * indices, and no other of redtune_reduce's parameters. With a mask the launches for a digit take
 * its place, too. There are fewer than 2^32 elements and keys. */
enum { RDT_DIGITS = 256, RDT_DIGIT_BITS = 8 };
typedef struct rdt_reordering {
    uint64_t key[2], index[2], counts, totals, first, begin, end,
        values; /* as the kernel has them */
} rdt_reordering;

/* Whether each segment ends where the next one begins, by the addresses of the tables. */
static inline bool rdt_launch_are_neighbours(const rdt_segments *segments) {
    if (!segments->end) return true;
    return segments->begin && !segments->arrays &&
           segments->end == segments->begin + (segments->wide ? 8 : 4);
}

/* With what the zeros stand for in their place. Inline: every call of a plan comes by here. */
static inline rdt_extents rdt_launch_complete(rdt_extents extents) {
    if (!extents.outer) extents.outer = 1;
    if (!extents.inner) extents.inner = 1;
    if (!extents.outer_step) extents.outer_step = extents.count * extents.inner;
    if (!extents.step) extents.step = extents.inner;
    return extents;
}

/* What ops of two inputs or results, with parameters, and some runs give a kernel beside the usual
 * operands. Addresses are the GPU's. */
enum { RDT_GIVEN_SCALARS = 2 };
typedef struct rdt_given {
    uint64_t input;                   /* the second one; its elements lie like the first's */
    uint64_t output;                  /* the second one */
    double scalar[RDT_GIVEN_SCALARS]; /* the op's parameters, in its entry's order */
    uint64_t scalars; /* of as many doubles on the GPU, which then count instead; or 0 */
    uint64_t count;   /* of a uint64 on the GPU: elements of a result, if that is less; or 0 */
    uint64_t resumes; /* 1: results go on from what output holds; 2: from the bits of scalar[0] */
    uint64_t first;   /* of a message: the index of the part's first element */
    uint64_t mask;    /* of two inputs: as input is that of one; their kernels alone have it */
} rdt_given;

/* How a rank reaches the others (templates/lib/peers.cu). Addresses are the GPU's. */
enum { RDT_LINKS_SEND = 1, RDT_LINKS_RECEIVE = 2 };
typedef struct rdt_links {
    uint64_t mailboxes; /* of the addresses of all ranks' mailboxes */
    uint64_t own;       /* this rank's mailbox */
    uint64_t epoch;     /* of a uint32: how many runs there were */
    uint64_t failure;   /* of a uint32: 1 + the rank whose message did not come; 0: all did */
    uint64_t limit_ns;  /* that it waits for one */
    uint32_t ranks, rank;
} rdt_links;

/* What a launch leaves in its output. */
typedef enum rdt_yield {
    RDT_YIELD_RESULT = 0,
    RDT_YIELD_ACCUMULATOR, /* and the kernel has redtune_combine */
    RDT_YIELD_MESSAGE,     /* and the kernel has redtune_join */
} rdt_yield;

typedef struct rdt_launch {
    uint32_t threads;     /* per block */
    uint32_t results;     /* of a set, which a block makes at a time; 0: all blocks make one */
    bool columns;         /* the results of a set are of one outer index; else of one inner */
    uint32_t tile;        /* elements that a block takes at a time, at least 1 */
    uint32_t blocks_max;  /* 1 to RDT_BLOCKS_MAX; of sets of results, of a launch with splits */
    uint32_t cluster;     /* blocks of the grid whatever the count: one cluster; 0: no cluster */
    uint32_t waiting_max; /* blocks that wait for others, one of each set; 0: any number */
    bool
        partials; /* output has an element for each block; what they hold is still to be combined */
    rdt_yield yield;
    /* That an accumulator takes: RDT_ACCUMULATOR_BYTES or RDT_ACCUMULATOR_BYTES_MAX. */
    uint32_t slot_bytes;
    bool segments; /* the kernel takes rdt_segments, and is launched on blocks_max blocks, or on one
                      for each set of results and where segments are neighbours, blocks_max - 1 in
                      front of these, which help with long ones */
    bool packed; /* it is for segments of which each ends where the next one begins, and if each has
                    a result, of one buffer; slow for others */
    bool overlap; /* the kernel itself waits for the one before it, so it may be launched earlier */
    bool keyed;   /* the kernel takes rdt_keyed, between others */
    bool sliced;  /* each block leaves a table, which the last launch combines */
    bool sorts;   /* by key: the numbers of rows come into the order of their keys before */
    bool reorders;          /* by key: it only brings elements into the order of their keys */
    bool pairs, masked;     /* where it reorders: elements of two inputs; some may be absent */
    uint32_t cell_bytes;    /* of a key, in a table; of an element, where it reorders */
    uint32_t dynamic_bytes; /* of shared memory that the kernel is launched with */
} rdt_launch;

/* That a message takes: a power of two, to which it is aligned. */
static inline uint32_t rdt_launch_message_bytes(const rdt_launch *launch) {
    return 2 * launch->slot_bytes;
}

/* Blocks for count elements of one result: those of a cluster, or one per tile, at least 1, at most
 * blocks_max. */
uint32_t rdt_launch_blocks(const rdt_launch *launch, uint64_t count);
/* Blocks that share a set of results, for complete extents: 1 where blocks make no sets. */
uint32_t rdt_launch_splits(const rdt_launch *launch, const rdt_extents *extents);
/* Whether the source has redtune_prefix, which is launched before the kernel where segments have
 * ends. */
static inline bool rdt_launch_has_prefix(const rdt_launch *launch) {
    return launch->segments && !launch->results && !launch->packed;
}

/* Bytes of scratch with the tables of a run by key, of whose sizes keys, count and width count, at
 * most UINT64_MAX. */
uint64_t rdt_launch_keyed_bytes(const rdt_launch *launch, const rdt_keyed *sizes);
/* How many blocks of RDT_DIGITS threads sort `count` elements. */
uint32_t rdt_launch_sort_blocks(const rdt_launch *launch, uint64_t count);
/* What is brought into an order: rows; where some of their elements may be absent, elements, whose
 * keys are those of their results. */
rdt_keyed rdt_launch_sorted(const rdt_launch *launch, const rdt_keyed *sizes);

/* The bytes of a launch that sorts or reorders, and where in scratch its parts are. */
uint64_t rdt_launch_reorder(const rdt_launch *launch, const rdt_keyed *sizes, uint64_t scratch,
                            rdt_reordering *out);
/* Where the second input's elements are then, behind those of the first. */
uint64_t rdt_launch_reordered_second(const rdt_launch *launch, const rdt_keyed *sizes,
                                     const rdt_reordering *places);

/* Blocks for complete extents: those, or where blocks make sets of results, enough for all of them,
 * at least 1, at most RDT_GRID_MAX. */
uint32_t rdt_launch_grid(const rdt_launch *launch, const rdt_extents *extents);

/* The launch of a kernel on a GPU of `here` multiprocessors, made for one of `there`: with fewer of
 * them fewer blocks run at a time, and fewer may wait for others. */
rdt_launch rdt_launch_fit(const rdt_launch *launch, int there, int here);
