/* Access: from a lane's address to its bytes, with every check on the way.
 *
 * The lanes of one instruction are resolved together: space, bounds, alignment, initialisation,
 * order. Neighbouring lanes in one allocation look it up once. Transactions and bank passes
 * are counted here from the same addresses. */
#include "exec/access.h"

#include "exec/op.h"
#include "exec/order.h"

#include <stdio.h>
#include <string.h>

enum { BANKS = 32, BANK_BYTES = 4, WAVE_BYTES = BANKS * BANK_BYTES };

static const char *verb(const sim_access *access) {
    return access->is_atomic ? "updates" : access->writes ? "writes" : "reads";
}

/* An access has a power of two of bytes. */
static bool is_multiple(uint64_t address, const sim_access *access) {
    return !(address & (access->bytes - 1));
}

static bool is_aligned(sim_run *x, const sim_inst *in, uint32_t lane, const sim_access *access,
                       const char *space) {
    if (is_multiple(access->address[lane], access)) return true;
    sim_find(x, in, lane, REDTUNE_SIM_MISALIGNED,
             "%s %u bytes of %s memory at 0x%llx, which is no multiple of them", verb(access),
             access->bytes, space, (unsigned long long)access->address[lane]);
    return false;
}

static void find_outside(sim_run *x, const sim_inst *in, uint32_t lane, const sim_access *access) {
    uint64_t address = access->address[lane];
    const sim_alloc *near = sim_memory_before(x->memory, address);
    uint64_t offset = near ? address - near->address : 0;
    char where[128] = "which no allocation holds";
    if (sim_memory_was_freed(x->memory, address)) {
        snprintf(where, sizeof where, "which was freed");
    } else if (near && offset < near->size_bytes + (1u << 20)) {
        snprintf(where, sizeof where, "offset %llu of an allocation of %llu bytes",
                 (unsigned long long)offset, (unsigned long long)near->size_bytes);
    }
    sim_find(x, in, lane, REDTUNE_SIM_OUT_OF_BOUNDS, "%s %u bytes of global memory at 0x%llx, %s",
             verb(access), access->bytes, (unsigned long long)address, where);
}

/* One lane's bytes of global memory. */
static bool check_global(sim_run *x, const sim_inst *in, uint32_t lane, const sim_access *access,
                         sim_alloc *alloc) {
    uint64_t offset = access->address[lane] - alloc->address;
    bool reads = !access->writes || access->is_atomic;
    const sim_page *page = &alloc->pages[offset / SIM_PAGE_BYTES]; /* aligned: it holds all bytes */
    if (reads && page->state != SIM_PAGE_WRITTEN &&
        !sim_shadow_written(alloc, offset, access->bytes) &&
        sim_find(x, in, lane, REDTUNE_SIM_UNINITIALISED,
                 "%s %u bytes at offset %llu of an allocation of %llu bytes, and not all of them "
                 "were ever written",
                 verb(access), access->bytes, (unsigned long long)offset,
                 (unsigned long long)alloc->size_bytes)) {
        return false;
    }
    if ((access->writes || sim_order_tagged(x->memory, page)) &&
        sim_find_checks(x->grid, REDTUNE_SIM_GLOBAL_RACE)) {
        sim_order_global(x, in, lane, alloc, offset, access->bytes, access->writes);
    }
    if (access->writes) sim_shadow_put(alloc, offset, access->bytes);
    return !x->stops;
}

static void count_missed(sim_run *x, sim_alloc *alloc, uint64_t offset, uint64_t bytes) {
    uint64_t cache_bytes = x->grid->settings->machine.cache_bytes;
    uint64_t missed = sim_shadow_touch_range(x->memory, cache_bytes, alloc, offset, bytes);
    x->counters->memory_transactions += missed;
    x->warp->load_missed |= missed != 0;
}

/* All lanes in a row: the usual case, and the one that must be fast. */
static bool reach_row(sim_run *x, const sim_inst *in, sim_access *access) {
    uint64_t first = access->address[0], bytes = (uint64_t)access->bytes * SIM_LANES;
    uint64_t apart = 0;
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        apart |= access->address[i] ^ (first + (uint64_t)i * access->bytes);
    }
    if (apart || !is_multiple(first, access) || access->writes) return false;
    sim_alloc *alloc = sim_memory_find(x->memory, first, bytes);
    if (!alloc) return false;
    uint64_t offset = first - alloc->address;
    for (uint64_t p = offset / SIM_PAGE_BYTES; p <= (offset + bytes - 1) / SIM_PAGE_BYTES; p++) {
        if (sim_order_tagged(x->memory, &alloc->pages[p])) return false;
    }
    if (!sim_shadow_written(alloc, offset, bytes)) return false;
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        access->at[i] = alloc->host + offset + (uint64_t)i * access->bytes;
    }
    (void)in;
    x->counters->global_transactions +=
        (offset + bytes - 1) / SIM_SECTOR_BYTES - offset / SIM_SECTOR_BYTES + 1;
    count_missed(x, alloc, offset, bytes);
    return true;
}

/* The sectors that a request touches, each counted once. */
typedef struct sectors {
    uint64_t found[SIM_LANES * 2];
    uint32_t count;
} sectors;

static void add_sector(sim_run *x, sectors *sectors, sim_alloc *alloc, uint64_t address) {
    uint64_t sector = address / SIM_SECTOR_BYTES;
    for (uint32_t i = sectors->count; i-- > 0;) {
        if (sectors->found[i] == sector) return;
    }
    sectors->found[sectors->count++] = sector;
    uint64_t offset = sector * SIM_SECTOR_BYTES;
    offset = offset > alloc->address ? offset - alloc->address : 0;
    count_missed(x, alloc, offset, 1);
}

static bool reach_global(sim_run *x, const sim_inst *in, uint32_t lanes, sim_access *access,
                         sectors *sectors) {
    sim_alloc *alloc = NULL;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        uint64_t address = access->address[i];
        if (!is_aligned(x, in, i, access, "global")) return false;
        uint64_t offset = alloc ? address - alloc->address : 0;
        bool same =
            alloc && offset <= alloc->size_bytes && access->bytes <= alloc->size_bytes - offset;
        if (!same) alloc = sim_memory_find(x->memory, address, access->bytes);
        if (!alloc) {
            find_outside(x, in, i, access);
            return false;
        }
        if (!check_global(x, in, i, access, alloc)) return false;
        access->at[i] = alloc->host + (address - alloc->address);
        add_sector(x, sectors, alloc, address);
    }
    return true;
}

/* Words that a pass over the banks takes, each once. Most banks have one. */
typedef struct bank_words {
    uint32_t first[BANKS], others[SIM_LANES], other_count;
    uint8_t load[BANKS]; /* words of each bank */
} bank_words;

static bool has_word(const bank_words *words, uint32_t word) {
    if (!words->load[word % BANKS]) return false;
    if (words->first[word % BANKS] == word) return true;
    for (uint32_t i = 0; i < words->other_count; i++) {
        if (words->others[i] == word) return true;
    }
    return false;
}

static void add_word(bank_words *words, uint32_t word) {
    if (words->load[word % BANKS]++)
        words->others[words->other_count++] = word;
    else
        words->first[word % BANKS] = word;
}

/* Whether all lanes are there, each behind the one before it. */
static bool is_row(uint32_t lanes, const sim_access *access, const uint32_t *offsets) {
    uint32_t apart = ~lanes;
    for (uint32_t i = 0; i < SIM_LANES; i++) apart |= offsets[i] ^ (offsets[0] + i * access->bytes);
    return !apart;
}

/* Passes over the banks: lanes that want different words of one bank take turns. Accesses of 8
 * and 16 bytes go in halves and quarters of a warp, as hardware does. */
static uint32_t count_wavefronts(uint32_t lanes, const sim_access *access,
                                 const uint32_t *offsets) {
    uint32_t per_wave = access->bytes <= BANK_BYTES ? SIM_LANES : WAVE_BYTES / access->bytes;
    if (is_row(lanes, access, offsets)) return SIM_LANES / per_wave;
    uint32_t words_each = access->bytes <= BANK_BYTES ? 1 : access->bytes / BANK_BYTES;
    uint32_t total = 0;
    for (uint32_t first = 0; first < SIM_LANES; first += per_wave) {
        bank_words words;
        uint32_t most = 0;
        words.other_count = 0;
        memset(words.load, 0, sizeof words.load);
        for (uint32_t i = first; i < first + per_wave; i++) {
            if (!(lanes >> i & 1)) continue;
            for (uint32_t w = 0; w < words_each; w++) {
                uint32_t word = offsets[i] / BANK_BYTES + w;
                if (has_word(&words, word)) continue;
                add_word(&words, word);
                if (words.load[word % BANKS] > most) most = words.load[word % BANKS];
            }
        }
        total += most;
    }
    return total;
}

static sim_touch touch_of(const sim_inst *in, const sim_access *access) {
    if (access->is_atomic) return SIM_TOUCH_ATOMIC;
    bool is_strong = in->mode & SIM_SCOPED;
    if (access->writes) return is_strong ? SIM_TOUCH_STRONG_WRITE : SIM_TOUCH_WRITE;
    return is_strong ? SIM_TOUCH_STRONG_READ : SIM_TOUCH_READ;
}

/* The block whose shared memory the lane's address is of; the address becomes an offset there. An
 * address that mapa made means one only where those of the cluster may stand. */
static sim_block *block_at(sim_run *x, const sim_inst *in, uint32_t lane, const sim_access *access,
                           uint64_t *offset) {
    uint64_t rank = *offset >> SIM_RANK_SHIFT;
    if (in->space == SIM_SPACE_SHARED || rank < 1 || rank > 255) return x->block;
    rank--;
    *offset &= ~SIM_RANK_MASK;
    if (rank == x->block->rank) return x->block;
    const char *problem = NULL;
    sim_block *block = x->block->first + rank;
    if (rank >= x->grid->program->cluster_blocks)
        problem = "which its cluster has not";
    else if (!x->block->has_met)
        problem = "which may not have started: no barrier of the cluster stands before";
    else if (!block->live_warps)
        problem = "which has ended";
    if (!problem) return block;
    sim_find(x, in, lane, REDTUNE_SIM_OUT_OF_BOUNDS,
             "%s %u bytes of shared memory of the block of rank %u, %s", verb(access),
             access->bytes, (uint32_t)rank, problem);
    return NULL;
}

static bool reach_shared(sim_run *x, const sim_inst *in, uint32_t lanes, sim_access *access) {
    const sim_program *program = x->grid->program;
    const sim_touch touch = touch_of(in, access);
    uint32_t offsets[SIM_LANES] = {0};
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        uint64_t offset = access->address[i] & ~SIM_WINDOW_MASK;
        sim_block *block = block_at(x, in, i, access, &offset);
        if (!block) return false;
        uint64_t end = offset + access->bytes;
        bool inside = offset < end && end <= x->grid->shared_total;
        for (uint64_t b = offset; inside && b < end && b < program->shared_bytes; b++) {
            inside = program->shared_valid[b];
        }
        if (!inside) {
            sim_find(x, in, i, REDTUNE_SIM_OUT_OF_BOUNDS,
                     "%s %u bytes of shared memory at offset %llu, outside of every variable",
                     verb(access), access->bytes, (unsigned long long)offset);
            return false;
        }
        if (!is_aligned(x, in, i, access, "shared")) return false;
        offsets[i] = (uint32_t)offset;
        access->at[i] = block->shared + offset;
        sim_order_shared(x, in, i, (sim_place){block, offsets[i], access->bytes}, touch);
        if (x->stops) return false;
    }
    x->counters->shared_requests++;
    x->counters->shared_wavefronts += count_wavefronts(lanes, access, offsets);
    return true;
}

static unsigned char *local_at(const sim_run *x, uint32_t lane, uint64_t offset) {
    const size_t line =
        x->warp->index * sim_local_lines(x->grid->program) + offset / SIM_LINE_BYTES;
    return x->block->local + (line * SIM_LANES + lane) * SIM_LINE_BYTES + offset % SIM_LINE_BYTES;
}

static bool check_local(sim_run *x, const sim_inst *in, uint32_t lane, const sim_access *access) {
    const uint32_t room = x->grid->program->local_bytes;
    const uint64_t offset = access->address[lane] & ~SIM_WINDOW_MASK;
    if (offset >= room || access->bytes > room - offset) {
        sim_find(x, in, lane, REDTUNE_SIM_OUT_OF_BOUNDS,
                 "%s %u bytes of local memory at offset %llu of %u", verb(access), access->bytes,
                 (unsigned long long)offset, room);
        return false;
    }
    return is_aligned(x, in, lane, access, "local");
}

/* Whether all lanes of the warp are there, and touch the same offset. */
static bool is_one_offset(uint32_t lanes, const sim_access *access) {
    uint64_t apart = ~lanes;
    for (uint32_t i = 0; i < SIM_LANES; i++) apart |= access->address[i] ^ access->address[0];
    return !apart;
}

static bool reach_local(sim_run *x, const sim_inst *in, uint32_t lanes, sim_access *access) {
    if (is_one_offset(lanes, access)) {
        if (!check_local(x, in, 0, access)) return false;
        unsigned char *first = local_at(x, 0, access->address[0] & ~SIM_WINDOW_MASK);
        for (uint32_t i = 0; i < SIM_LANES; i++) access->at[i] = first + i * SIM_LINE_BYTES;
        return true;
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        if (!check_local(x, in, i, access)) return false;
        access->at[i] = local_at(x, i, access->address[i] & ~SIM_WINDOW_MASK);
    }
    return true;
}

static bool check_param(sim_run *x, const sim_inst *in, uint32_t lane, const sim_access *access) {
    const uint32_t room = x->grid->program->param_bytes;
    const uint64_t offset = access->address[lane] & ~SIM_WINDOW_MASK;
    if (access->writes || offset >= room || access->bytes > room - offset) {
        sim_find(x, in, lane, REDTUNE_SIM_OUT_OF_BOUNDS,
                 "%s %u bytes of parameters at offset %llu of %u", verb(access), access->bytes,
                 (unsigned long long)offset, room);
        return false;
    }
    return is_aligned(x, in, lane, access, "parameter");
}

static bool reach_params(sim_run *x, const sim_inst *in, uint32_t lanes, sim_access *access) {
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        if (!check_param(x, in, i, access)) return false;
        access->at[i] = (unsigned char *)(uintptr_t)(x->grid->launch->params +
                                                     (access->address[i] & ~SIM_WINDOW_MASK));
    }
    return true;
}

/* Lanes of a generic access may each mean another space. */
static uint32_t lanes_in_window(uint32_t lanes, const sim_access *access, uint64_t window) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        found |= (uint32_t)((access->address[i] & SIM_WINDOW_MASK) == window) << i;
    }
    return found & lanes;
}

/* Whether all lanes, also those that do not take part, have addresses in one window: the first's.
 */
static bool is_one_window(const sim_access *access) {
    uint64_t apart = 0;
    for (uint32_t i = 0; i < SIM_LANES; i++) apart |= access->address[i] ^ access->address[0];
    return !(apart & SIM_WINDOW_MASK);
}

bool sim_access_reach(sim_run *x, const sim_inst *in, uint32_t lanes, sim_access *access) {
    uint32_t shared = 0, local = 0, params = 0;
    if (in->space == SIM_SPACE_GENERIC && is_one_window(access)) {
        const uint64_t window = access->address[0] & SIM_WINDOW_MASK;
        shared = window == SIM_WINDOW_SHARED ? lanes : 0;
        local = window == SIM_WINDOW_LOCAL ? lanes : 0;
        params = window == SIM_WINDOW_PARAM ? lanes : 0;
    } else if (in->space == SIM_SPACE_GENERIC) {
        shared = lanes_in_window(lanes, access, SIM_WINDOW_SHARED);
        local = lanes_in_window(lanes, access, SIM_WINDOW_LOCAL);
        params = lanes_in_window(lanes, access, SIM_WINDOW_PARAM);
    } else if (in->space == SIM_SPACE_SHARED || in->space == SIM_SPACE_CLUSTER) {
        shared = lanes;
    } else if (in->space == SIM_SPACE_LOCAL) {
        local = lanes;
    } else if (in->space == SIM_SPACE_PARAM) {
        params = lanes;
    }
    uint32_t global = lanes & ~(shared | local | params);
    if (params && !reach_params(x, in, params, access)) return false;
    if (shared && !reach_shared(x, in, shared, access)) return false;
    if (local && !reach_local(x, in, local, access)) return false;
    if (!global) return true;
    if (access->writes)
        x->counters->global_stores++;
    else
        x->counters->global_loads++;
    x->counters->global_bytes += (uint64_t)__builtin_popcount(global) * access->bytes;
    x->warp->load_pending |= !access->writes || access->is_atomic;
    if (global == UINT32_MAX && reach_row(x, in, access)) return true;
    sectors sectors = {.count = 0};
    if (!reach_global(x, in, global, access, &sectors)) return false;
    x->counters->global_transactions += sectors.count;
    return true;
}
