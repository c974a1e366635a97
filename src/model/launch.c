/* Launch: how a compiled kernel is started for any count, as plain data. */
#include "model/launch.h"

static uint64_t divide_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

uint32_t rdt_launch_blocks(const rdt_launch *launch, uint64_t count) {
    uint64_t tiles = divide_up(count, launch->tile);
    if (launch->cluster) return launch->cluster;
    if (tiles < 1) return 1;
    return tiles < launch->blocks_max ? (uint32_t)tiles : launch->blocks_max;
}

/* Room of count times `each` bytes behind *end, which moves on; it stays UINT64_MAX. */
static uint64_t add_room(uint64_t *end, uint64_t count, uint64_t each) {
    const uint64_t at = *end;
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, each, &bytes) || bytes > UINT64_MAX - 64 ||
        __builtin_add_overflow(at, (bytes + 63) / 64 * 64, end))
        *end = UINT64_MAX;
    return at;
}

uint32_t rdt_launch_sort_blocks(const rdt_launch *launch, uint64_t count) {
    const uint64_t blocks = divide_up(count, 16 * RDT_DIGITS);
    return blocks < 1 ? 1 : blocks < launch->blocks_max ? (uint32_t)blocks : launch->blocks_max;
}

/* The end of tables of cells, one or one of each block. */
static uint64_t tables_end(const rdt_launch *launch, uint64_t keys) {
    uint64_t end = RDT_SCRATCH_SLOTS_OFFSET;
    const uint64_t tables = launch->sliced ? launch->blocks_max : 1;
    add_room(&end, keys, tables * launch->cell_bytes);
    return end;
}

rdt_keyed rdt_launch_sorted(const rdt_launch *launch, const rdt_keyed *sizes) {
    rdt_keyed sorted = *sizes;
    if (!launch->reorders || !launch->masked) return sorted;
    if (__builtin_mul_overflow(sorted.count, sorted.width, &sorted.count))
        sorted.count = UINT64_MAX;
    sorted.width = 1;
    return sorted;
}

uint64_t rdt_launch_reorder(const rdt_launch *launch, const rdt_keyed *sizes, uint64_t scratch,
                            rdt_reordering *out) {
    const rdt_keyed sorted = rdt_launch_sorted(launch, sizes);
    const uint64_t n = sorted.count, cells = sorted.width > 1 ? sorted.keys : 0;
    const uint64_t warps = (uint64_t)rdt_launch_sort_blocks(launch, n) * (RDT_DIGITS / 32);
    uint64_t end = launch->reorders ? RDT_SCRATCH_BYTES : tables_end(launch, sizes->keys);
    uint64_t elements = 0;
    for (int i = 0; i < 2; i++) {
        out->key[i] = scratch + add_room(&end, n, sizeof(uint32_t));
        out->index[i] = scratch + add_room(&end, n, sizeof(uint32_t));
    }
    out->counts = scratch + add_room(&end, RDT_DIGITS * warps, sizeof(uint32_t));
    out->totals = scratch + add_room(&end, RDT_DIGITS, sizeof(uint32_t));
    if (!launch->reorders) return end;
    if (__builtin_mul_overflow(n, sorted.width, &elements)) elements = UINT64_MAX;
    out->first = scratch + add_room(&end, sorted.keys / sorted.width + 1, sizeof(uint64_t));
    out->begin = scratch + add_room(&end, cells, sizeof(uint64_t));
    out->end = scratch + add_room(&end, cells, sizeof(uint64_t));
    out->values = scratch + add_room(&end, elements, launch->cell_bytes);
    return end;
}

uint64_t rdt_launch_reordered_second(const rdt_launch *launch, const rdt_keyed *sizes,
                                     const rdt_reordering *places) {
    return places->values + sizes->count * sizes->width * (launch->cell_bytes / 2);
}

uint64_t rdt_launch_keyed_bytes(const rdt_launch *launch, const rdt_keyed *sizes) {
    rdt_reordering places;
    const uint64_t end = launch->reorders || launch->sorts
                             ? rdt_launch_reorder(launch, sizes, 0, &places)
                             : tables_end(launch, sizes->keys);
    return end < RDT_SCRATCH_BYTES ? RDT_SCRATCH_BYTES : end;
}

/* The sets of results. */
static uint64_t sets_of(const rdt_launch *launch, const rdt_extents *extents) {
    return launch->columns ? divide_up(extents->inner, launch->results) * extents->outer
                           : divide_up(extents->outer, launch->results);
}

uint32_t rdt_launch_splits(const rdt_launch *launch, const rdt_extents *extents) {
    const uint64_t sets = launch->results ? sets_of(launch, extents) : 0;
    if (!sets || (launch->waiting_max && sets > launch->waiting_max)) return 1;
    const uint64_t most = launch->blocks_max / sets;
    const uint64_t tiles = divide_up(extents->count, launch->tile);
    if (most < 2 || tiles < 2) return 1;
    /* As few as go through the tiles in two rounds; more rounds end nearly together anyway. */
    const uint64_t rounds = divide_up(tiles, most);
    return (uint32_t)(rounds > 2 ? most : divide_up(tiles, rounds));
}

uint32_t rdt_launch_grid(const rdt_launch *launch, const rdt_extents *extents) {
    if (!launch->results) return rdt_launch_blocks(launch, extents->count);
    const uint64_t blocks = sets_of(launch, extents) * rdt_launch_splits(launch, extents);
    if (blocks < 1) return 1;
    return blocks < RDT_GRID_MAX ? (uint32_t)blocks : RDT_GRID_MAX;
}

/* At least 1; 0 stays what it means. */
static uint32_t lessen(uint32_t blocks, int there, int here) {
    const uint64_t less = (uint64_t)blocks * (uint64_t)here / (uint64_t)there;
    return !blocks || less ? (uint32_t)less : 1;
}

rdt_launch rdt_launch_fit(const rdt_launch *launch, int there, int here) {
    rdt_launch fit = *launch;
    if (there <= here || here < 1) return fit;
    if (!fit.cluster) fit.blocks_max = lessen(fit.blocks_max, there, here);
    fit.waiting_max = lessen(fit.waiting_max, there, here);
    return fit;
}
