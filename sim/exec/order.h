/* Whether accesses to memory are ordered: races between a block's threads and between blocks. */
#ifndef SIM_EXEC_ORDER_H
#define SIM_EXEC_ORDER_H

#include "exec/run.h"

/* Who wrote a byte of global memory last. */
struct sim_global_tag {
    uint64_t tick;
    uint32_t block; /* 1 + its index in the grid; 0: nobody */
    uint16_t thread;
    uint16_t order; /* enum sim_order */
};

/* Who touched a byte of shared memory last; clocks are the block's. */
struct sim_shared_tag {
    uint32_t write_clock;
    uint32_t read_clock;
    uint32_t read_lanes; /* of warp read_warp, since a barrier or a sync of the whole warp */
    uint16_t write_thread;
    uint8_t read_warp; /* SIM_MANY_WARPS: of several */
    uint8_t write_atomic;
};

enum { SIM_MANY_WARPS = 255 };

/* A fence and the strong write behind it: what a block did before the fence is published to
   whoever reads behind the write. */
struct sim_release {
    uint64_t fence_tick;
    uint64_t write_tick;
};

enum { SIM_RELEASES = 32 };

/* What one block of the grid did to order its accesses. */
struct sim_order_log {
    uint64_t fence_tick;   /* of its last fence; 0: none */
    uint64_t read_tick;    /* of its last strong read */
    uint64_t acquire_tick; /* of the last strong read that a fence followed */
    uint32_t release_count;
    struct sim_release releases[SIM_RELEASES];
};

void sim_order_fence(struct sim_run *x);
void sim_order_strong_read(struct sim_run *x);
void sim_order_strong_write(struct sim_run *x);

/* Checks an access of one lane to global memory, and remembers a write. */
void sim_order_global(struct sim_run *x, const struct sim_inst *in, uint32_t lane,
                      struct sim_alloc *alloc, uint64_t offset, uint32_t bytes, bool writes);

/* Whether any byte of the page was written by the launch that runs. */
static inline bool sim_order_tagged(const struct sim_memory *memory, const struct sim_page *page) {
    return page->tags && page->tags_launch == memory->launch;
}

enum sim_touch { SIM_TOUCH_READ, SIM_TOUCH_WRITE, SIM_TOUCH_ATOMIC };

/* Checks an access of one lane to shared memory, and remembers it. */
void sim_order_shared(struct sim_run *x, const struct sim_inst *in, uint32_t lane, uint32_t offset,
                      uint32_t bytes, enum sim_touch touch);

void sim_order_free(struct sim_grid *grid);

#endif
