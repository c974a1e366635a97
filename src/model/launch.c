/* Launch: how a compiled kernel is started for any count, as plain data. */
#include "model/launch.h"

uint32_t rdt_launch_blocks(const rdt_launch *launch, uint64_t count) {
    uint64_t tiles = count / launch->tile + (count % launch->tile != 0);
    if (tiles < 1) return 1;
    return tiles < launch->blocks_max ? (uint32_t)tiles : launch->blocks_max;
}
