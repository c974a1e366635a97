/* Order: the search for races: which accesses barriers, syncs and fences put in order.
 *
 * Time is counted in ticks. A byte of global memory remembers its last write: tick, block, thread
 * and strength. Two blocks' accesses are ordered if the writer fenced and then wrote strongly (a
 * release), and the reader read strongly after that and fenced (an acquire). A block's log keeps
 * its releases, the early ones first. A byte of shared memory remembers reads and writes by the
 * clock of the block's cluster, which counts barriers and syncs: accesses of one clock value are
 * unordered. */
#include "exec/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t LOGGED_BLOCKS_MAX = 1u << 22;
static const uint64_t TAGGED_PAGES_MAX = 4096; /* 256 MiB of tags */

/* NULL: the grid is too large to follow, or there is no memory; then nothing is checked. */
static sim_order_log *log_of(sim_grid *grid, uint64_t block, bool makes) {
    if (!grid->orders) {
        if (!makes || grid->total_blocks > LOGGED_BLOCKS_MAX) return NULL;
        grid->orders = calloc(grid->total_blocks, sizeof *grid->orders);
        if (!grid->orders) return NULL;
    }
    if (!grid->orders[block] && makes) {
        grid->orders[block] = calloc(1, sizeof *grid->orders[block]);
    }
    return grid->orders[block];
}

void sim_order_free(sim_grid *grid) {
    for (uint64_t i = 0; grid->orders && i < grid->total_blocks; i++) free(grid->orders[i]);
    free(grid->orders);
    grid->orders = NULL;
}

void sim_order_fence(sim_run *x) {
    sim_order_log *log = log_of(x->grid, x->block->index, true);
    if (!log) return;
    log->fence_tick = x->grid->tick;
    log->acquire_tick = log->read_tick;
}

void sim_order_strong_read(sim_run *x) {
    sim_order_log *log = log_of(x->grid, x->block->index, true);
    if (log) log->read_tick = x->grid->tick;
}

void sim_order_strong_write(sim_run *x) {
    sim_order_log *log = log_of(x->grid, x->block->index, true);
    if (!log || !log->fence_tick) return;
    uint32_t count = log->release_count;
    if (count && log->releases[count - 1].fence_tick >= log->fence_tick) return;
    if (count == SIM_RELEASES) count--; /* the early ones matter more than the late */
    log->releases[count] = (sim_release){log->fence_tick, x->grid->tick};
    log->release_count = count + 1;
}

/* Whether what block from did at tick is published, and block to has seen that it is. A strong
 * access needs no fence of its own behind the read: a warp never runs ahead of a branch. */
static bool is_published(sim_run *x, uint64_t from, uint64_t tick, bool is_strong) {
    const sim_order_log *writer = log_of(x->grid, from, false);
    const sim_order_log *reader = log_of(x->grid, x->block->index, false);
    if (!writer || !reader) return false;
    uint64_t seen = is_strong ? reader->read_tick : reader->acquire_tick;
    for (uint32_t i = 0; i < writer->release_count; i++) {
        if (writer->releases[i].fence_tick >= tick) return writer->releases[i].write_tick < seen;
    }
    return false;
}

/* Whether syncs of the warp behind the given time bring lane from's access before lane to's. */
static bool is_synced(const sim_warp *warp, uint32_t from, uint32_t to, uint64_t time,
                      bool is_tick) {
    uint32_t reached = from;
    uint32_t kept = warp->sync_count < SIM_SYNC_LOG ? warp->sync_count : SIM_SYNC_LOG;
    if (warp->sync_count > SIM_SYNC_LOG) {
        const sim_sync *oldest = &warp->syncs[warp->sync_count % SIM_SYNC_LOG];
        if ((is_tick ? oldest->tick : oldest->clock) > time) return true; /* forgotten: lenient */
    }
    for (uint32_t i = warp->sync_count - kept; i < warp->sync_count; i++) {
        const sim_sync *sync = &warp->syncs[i % SIM_SYNC_LOG];
        bool is_later = is_tick ? sync->tick > time : sync->clock > time;
        if (is_later && (sync->lanes & reached)) reached |= sync->lanes;
    }
    return (reached & to) == to;
}

static bool is_ordered(sim_run *x, const sim_inst *in, uint32_t lane, const sim_global_tag *tag) {
    uint64_t writer = tag->block - 1u;
    bool both_strong = in->order == SIM_STRONG && tag->order == SIM_STRONG;
    if (both_strong) return true;
    uint64_t together = x->grid->program->cluster_blocks;
    if (writer / together == x->block->index / together &&
        tag->tick < x->block->first[writer % together].met_tick) {
        return true;
    }
    if (writer != x->block->index) {
        return is_published(x, writer, tag->tick, in->order == SIM_STRONG);
    }
    uint32_t thread = x->warp->index * SIM_LANES + lane;
    if (tag->thread == thread || tag->tick < x->block->barrier_tick) return true;
    if (tag->thread / SIM_LANES != x->warp->index) return false;
    return is_synced(x->warp, 1u << tag->thread % SIM_LANES, 1u << lane, tag->tick, true);
}

static bool tag_page(sim_memory *memory, sim_page *page) {
    if (sim_order_tagged(memory, page)) return true;
    if (memory->tagged_pages >= TAGGED_PAGES_MAX) return false;
    if (!page->tags) page->tags = malloc(SIM_PAGE_BYTES * sizeof *page->tags);
    if (!page->tags) return false;
    page->tags_launch = memory->launch;
    page->tags_clean = 0;
    memory->tagged_pages++;
    return true;
}

/* The tags of an access's bytes; NULL: this launch wrote nothing there, or is not followed. An
 * access is aligned, and no wider than a piece, so none crosses from one piece into the next. */
static sim_global_tag *tags_at(sim_memory *memory, sim_page *page, uint32_t offset, bool writes) {
    const uint32_t piece = offset / SIM_TAGS_PIECE;
    const bool is_tagged = writes ? tag_page(memory, page) : sim_order_tagged(memory, page);
    if (!is_tagged) return NULL;
    if (!(page->tags_clean >> piece & 1)) {
        if (!writes) return NULL;
        memset(page->tags + piece * SIM_TAGS_PIECE, 0, SIM_TAGS_PIECE * sizeof *page->tags);
        page->tags_clean |= 1ull << piece;
    }
    return page->tags + offset;
}

void sim_order_global(sim_run *x, const sim_inst *in, uint32_t lane, sim_alloc *alloc,
                      uint64_t offset, uint32_t bytes, bool writes) {
    sim_global_tag *tags = tags_at(x->memory, &alloc->pages[offset / SIM_PAGE_BYTES],
                                   (uint32_t)(offset % SIM_PAGE_BYTES), writes);
    if (!tags) return;
    uint32_t thread = x->warp->index * SIM_LANES + lane;
    sim_global_tag before = {.block = 0};
    for (uint32_t i = 0; i < bytes; i++) {
        const bool is_known = !memcmp(&tags[i], &before, sizeof before);
        before = tags[i];
        if (tags[i].block && !is_known && !is_ordered(x, in, lane, &tags[i])) {
            uint32_t writer = tags[i].thread;
            bool other_block = tags[i].block - 1u != x->block->index;
            sim_find(x, in, lane, REDTUNE_SIM_GLOBAL_RACE,
                     "%s %u bytes of global memory at offset %llu that thread %u of %sblock %u "
                     "wrote in this launch, and nothing orders the two",
                     writes ? "writes" : "reads", bytes, (unsigned long long)offset, writer,
                     other_block ? "" : "the same ", tags[i].block - 1u);
            return;
        }
        if (!writes) continue;
        tags[i] = (sim_global_tag){x->grid->tick, (uint32_t)x->block->index + 1, (uint16_t)thread,
                                   in->order};
    }
}

/* A thread's number in its cluster, as tags have it. */
static uint32_t thread_of(const sim_run *x, uint32_t lane) {
    return x->block->rank * SIM_BLOCK_THREADS + x->warp->index * SIM_LANES + lane;
}

static uint32_t warp_of(const sim_run *x) {
    return x->block->rank * SIM_BLOCK_WARPS + x->warp->index;
}

/* Whether a barrier, of the block or of the cluster, stands between what a thread of the block of
 * that rank did at the given clock and what this block does now. Of several blocks all must have
 * met. */
static bool is_behind_barrier(const sim_run *x, uint32_t rank, uint32_t clock, bool is_late) {
    const sim_block *first = x->block->first;
    if (rank == x->block->rank && clock < x->block->barrier_clock) return true;
    uint32_t blocks = x->grid->program->cluster_blocks, least = rank, most = rank + 1;
    if (rank >= blocks) least = 0, most = blocks;
    for (uint32_t b = least; b < most; b++) {
        if (clock >= (is_late ? first[b].before_clock : first[b].met_clock)) return false;
    }
    return true;
}

static void find_shared(sim_run *x, const sim_inst *in, uint32_t lane, sim_place at,
                        sim_touch touch, const char *what, uint32_t other) {
    bool reads = touch == SIM_TOUCH_READ || touch == SIM_TOUCH_STRONG_READ;
    uint32_t rank = other / SIM_BLOCK_THREADS;
    char whose[32] = "";
    if (rank != x->block->rank) snprintf(whose, sizeof whose, " of the block of rank %u", rank);
    sim_find(x, in, lane, REDTUNE_SIM_SHARED_RACE,
             "%s shared memory at offset %u that thread %u%s %s with no barrier between",
             reads ? "reads" : "writes", at.offset, other % SIM_BLOCK_THREADS, whose, what);
}

/* Whether the last write of the byte comes before an access by lane of this warp. */
static bool write_is_ordered(const sim_run *x, const sim_shared_tag *tag, uint32_t lane,
                             sim_touch touch) {
    uint32_t rank = tag->write_thread / SIM_BLOCK_THREADS;
    if (tag->write_thread == thread_of(x, lane)) return true;
    if (is_behind_barrier(x, rank, tag->write_clock, tag->write_late)) return true;
    if (touch >= SIM_TOUCH_ATOMIC && tag->write_strong) return true;
    if (tag->write_thread / SIM_LANES != warp_of(x)) return false;
    return is_synced(x->warp, 1u << tag->write_thread % SIM_LANES, 1u << lane, tag->write_clock,
                     false);
}

static bool reads_are_behind_barrier(const sim_run *x, const sim_shared_tag *tag) {
    uint32_t rank = tag->read_warp / SIM_BLOCK_WARPS;
    if (tag->read_warp >= SIM_MANY_WARPS) rank = tag->read_warp - (uint32_t)SIM_MANY_WARPS;
    return !tag->read_lanes || is_behind_barrier(x, rank, tag->read_clock, false);
}

/* Likewise for the reads since the last barrier; *other is one that does not. */
static bool reads_are_ordered(const sim_run *x, const sim_shared_tag *tag, uint32_t lane,
                              uint32_t *other) {
    if (reads_are_behind_barrier(x, tag)) return true;
    uint32_t others = tag->read_lanes;
    if (tag->read_warp == warp_of(x)) others &= ~(1u << lane);
    *other = tag->read_warp >= SIM_MANY_WARPS
                 ? x->block->rank * SIM_BLOCK_THREADS + (x->warp->index ? 0u : SIM_LANES)
                 : tag->read_warp * SIM_LANES + (others ? (uint32_t)__builtin_ctz(others) : 0);
    if (tag->read_warp != warp_of(x)) return false;
    while (others) {
        uint32_t reader = others & (0u - others);
        if (!is_synced(x->warp, reader, 1u << lane, tag->read_clock, false)) return false;
        others &= others - 1;
    }
    return true;
}

/* The mark of the readers of a byte that this warp and those of the tag have read. */
static uint16_t many_readers(const sim_run *x, const sim_shared_tag *tag) {
    bool same = tag->read_warp < SIM_MANY_WARPS ? tag->read_warp / SIM_BLOCK_WARPS == x->block->rank
                                                : tag->read_warp == SIM_MANY_WARPS + x->block->rank;
    return (uint16_t)(same ? SIM_MANY_WARPS + x->block->rank : (uint32_t)SIM_MANY_BLOCKS);
}

static void put_read(const sim_run *x, sim_shared_tag *tag, uint32_t lane) {
    bool is_fresh = !tag->read_lanes || reads_are_behind_barrier(x, tag) ||
                    (tag->read_warp == warp_of(x) && tag->read_clock < x->warp->full_sync_clock);
    if (is_fresh) {
        tag->read_warp = (uint16_t)warp_of(x);
        tag->read_lanes = 1u << lane;
    } else if (tag->read_warp == warp_of(x)) {
        tag->read_lanes |= 1u << lane;
    } else {
        tag->read_warp = many_readers(x, tag);
    }
    tag->read_clock = x->block->first->cluster_clock;
}

static void put_write(const sim_run *x, sim_shared_tag *tag, uint32_t lane, sim_touch touch) {
    tag->write_clock = x->block->first->cluster_clock;
    tag->write_thread = thread_of(x, lane) & (SIM_BLOCK_THREADS * SIM_CLUSTER_BLOCKS - 1);
    tag->write_strong = touch >= SIM_TOUCH_ATOMIC;
    tag->write_late = x->warp->cluster_arrived >> lane & 1;
    tag->read_lanes = 0;
}

/* The usual cases, which nothing can be wrong with: a barrier of a block that is no cluster's
 * stands before all that anyone did to the byte, or only this thread touched it since. */
static bool is_quiet(const sim_run *x, const sim_shared_tag *tag, uint32_t lane) {
    const uint32_t clock = x->block->barrier_clock;
    if (x->grid->program->cluster_blocks != 1) return false;
    const bool reads_are_old = !tag->read_lanes || tag->read_clock < clock;
    if (tag->write_clock < clock) return reads_are_old;
    return tag->write_thread == thread_of(x, lane) &&
           (reads_are_old || (tag->read_warp == warp_of(x) && tag->read_lanes == 1u << lane));
}

/* One byte's part of an access; false: it is a finding. */
static bool order_byte(sim_run *x, const sim_inst *in, uint32_t lane, sim_place at,
                       sim_touch touch) {
    const bool reads = touch != SIM_TOUCH_WRITE && touch != SIM_TOUCH_STRONG_WRITE;
    const bool writes = touch != SIM_TOUCH_READ && touch != SIM_TOUCH_STRONG_READ;
    sim_shared_tag *tag = &at.block->tags[at.offset];
    const bool races = !is_quiet(x, tag, lane) && sim_find_checks(x->grid, REDTUNE_SIM_SHARED_RACE);
    const bool written = tag->write_clock >= at.block->start_clock;
    uint32_t other = 0;
    if (reads && !written &&
        sim_find(x, in, lane, REDTUNE_SIM_UNINITIALISED,
                 "reads shared memory at offset %u that the block never wrote", at.offset))
        return false;
    if (races && written && !write_is_ordered(x, tag, lane, touch)) {
        find_shared(x, in, lane, at, touch, "wrote", tag->write_thread);
        return false;
    }
    if (races && writes && touch < SIM_TOUCH_ATOMIC && !reads_are_ordered(x, tag, lane, &other)) {
        find_shared(x, in, lane, at, touch, "reads", other);
        return false;
    }
    if (touch == SIM_TOUCH_READ) put_read(x, tag, lane);
    if (writes) put_write(x, tag, lane, touch);
    return true;
}

/* The bytes of an element have one history: what goes for the first goes for those with its tag. */
void sim_order_shared(sim_run *x, const sim_inst *in, uint32_t lane, sim_place at,
                      sim_touch touch) {
    sim_shared_tag *tag = &at.block->tags[at.offset], before = *tag;
    if (!order_byte(x, in, lane, at, touch)) return;
    const sim_shared_tag after = *tag;
    for (const uint32_t end = at.offset + at.bytes; ++at.offset < end;) {
        if (!memcmp(++tag, &before, sizeof before)) {
            *tag = after;
            continue;
        }
        if (!order_byte(x, in, lane, at, touch)) return;
    }
}
