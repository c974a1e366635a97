/* Launch: how a compiled kernel is started for any count, as plain data. */
#include "model/launch.h"

rdt_extents rdt_launch_complete(rdt_extents extents) {
    if (!extents.outer) extents.outer = 1;
    if (!extents.inner) extents.inner = 1;
    if (!extents.outer_step) extents.outer_step = extents.count * extents.inner;
    if (!extents.step) extents.step = extents.inner;
    return extents;
}

uint32_t rdt_launch_blocks(const rdt_launch *launch, uint64_t count) {
    uint64_t tiles = count / launch->tile + (count % launch->tile != 0);
    if (tiles < 1) return 1;
    return tiles < launch->blocks_max ? (uint32_t)tiles : launch->blocks_max;
}

uint32_t rdt_launch_grid(const rdt_launch *launch, const rdt_extents *extents) {
    if (!launch->results) return rdt_launch_blocks(launch, extents->count);
    /* A block's columns are of one outer index. */
    const bool columns = extents->inner > 1;
    const uint64_t results = columns ? extents->inner : extents->outer, each = launch->results;
    const uint64_t blocks =
        (results / each + (results % each != 0)) * (columns ? extents->outer : 1);
    if (blocks < 1) return 1;
    return blocks < RDT_GRID_MAX ? (uint32_t)blocks : RDT_GRID_MAX;
}
