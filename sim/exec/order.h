/* Order: whether accesses to memory are ordered: races between a block's threads and between
 * blocks. */
#pragma once

#include "exec/run.h"

/* Who wrote a byte of global memory last. */
typedef struct sim_global_tag {
    uint64_t tick;
    uint32_t block; /* 1 + its index in the grid; 0: nobody */
    uint16_t thread;
    uint16_t order; /* sim_order */
} sim_global_tag;

/* Who touched a byte of shared memory last; clocks are the cluster's, threads and warps those of
 * the cluster: SIM_BLOCK_THREADS and SIM_BLOCK_WARPS for each rank. */
typedef struct sim_shared_tag {
    uint32_t write_clock;
    uint32_t read_clock;
    uint32_t read_lanes;        /* of warp read_warp, since a barrier or a sync of the whole warp */
    uint16_t write_thread : 14; /* a bit more than it takes: none is over */
    uint16_t write_strong : 1;
    uint16_t write_late : 1; /* by a thread on its way from arriving at its cluster's barrier */
    uint16_t read_warp;      /* SIM_MANY_WARPS + rank: of several of a block */
} sim_shared_tag;

enum {
    SIM_BLOCK_THREADS = 1024,
    SIM_BLOCK_WARPS = SIM_BLOCK_THREADS / SIM_LANES,
    SIM_MANY_WARPS = 0x8000,
    SIM_MANY_BLOCKS = 0xffff /* of several blocks */
};

/* A fence and the strong write behind it: what a block did before the fence is published to
 * whoever reads behind the write. */
typedef struct sim_release {
    uint64_t fence_tick;
    uint64_t write_tick;
} sim_release;

enum { SIM_RELEASES = 32 };

/* A block's steps that order its accesses. */
typedef struct sim_order_log {
    uint64_t fence_tick;   /* of its last fence; 0: none */
    uint64_t read_tick;    /* of its last strong read */
    uint64_t acquire_tick; /* of the last strong read that a fence followed */
    uint32_t release_count;
    sim_release releases[SIM_RELEASES];
} sim_order_log;

void sim_order_fence(sim_run *x);
void sim_order_strong_read(sim_run *x);
void sim_order_strong_write(sim_run *x);

/* Checks an access of one lane to global memory, and remembers a write. */
void sim_order_global(sim_run *x, const sim_inst *in, uint32_t lane, sim_alloc *alloc,
                      uint64_t offset, uint32_t bytes, bool writes);

/* A page's tags are cleared piece by piece, each when the launch first writes there. */
enum { SIM_TAGS_PIECE = SIM_PAGE_BYTES / 64 };

/* Whether any byte of the page was written by the launch that runs. */
static inline bool sim_order_tagged(const sim_memory *memory, const sim_page *page) {
    return page->tags && page->tags_launch == memory->launch;
}

/* From ATOMIC on, strong ones, which do not race with each other. */
typedef enum sim_touch {
    SIM_TOUCH_READ,
    SIM_TOUCH_WRITE,
    SIM_TOUCH_ATOMIC,
    SIM_TOUCH_STRONG_READ,
    SIM_TOUCH_STRONG_WRITE
} sim_touch;

/* Bytes of the shared memory of a block: the accessing one, or another of its cluster. */
typedef struct sim_place {
    sim_block *block;
    uint32_t offset;
    uint32_t bytes;
} sim_place;

/* Checks an access of one lane to shared memory, and remembers it. */
void sim_order_shared(sim_run *x, const sim_inst *in, uint32_t lane, sim_place at, sim_touch touch);

void sim_order_free(sim_grid *grid);
