/* Launch: how a compiled kernel is started for any count, as plain data. */
#include "model/launch.h"

static uint64_t divide_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

uint32_t rdt_launch_blocks(const rdt_launch *launch, uint64_t count) {
    uint64_t tiles = divide_up(count, launch->tile);
    if (launch->cluster) return launch->cluster;
    if (tiles < 1) return 1;
    return tiles < launch->blocks_max ? (uint32_t)tiles : launch->blocks_max;
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
