/* Shadow: a page's knowledge of its bytes: written or not, in the L2 cache or not.
 *
 * A page is raw, written, or mixed with a bit per byte. The cache is modelled by stamps: a page
 * notes the traffic from memory when it was last touched, and its sectors count as cached until as
 * many bytes as the cache holds have come after that. */
#include "exec/memory.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = SIM_PAGE_BYTES / 64, SECTORS = SIM_PAGE_BYTES / SIM_SECTOR_BYTES };

/* Bytes of the page that belong to the allocation: the last page may be short. */
static uint64_t page_bytes(const sim_alloc *alloc, uint64_t page) {
    uint64_t rest = alloc->size_bytes - page * SIM_PAGE_BYTES;
    return rest < SIM_PAGE_BYTES ? rest : SIM_PAGE_BYTES;
}

static uint64_t word_mask(uint32_t word, uint32_t first, uint32_t end) {
    uint32_t low = word * 64, high = low + 64;
    uint32_t from = first > low ? first - low : 0;
    uint32_t to = end < high ? end - low : 64;
    uint64_t below = to == 64 ? UINT64_MAX : (1ull << to) - 1;
    return below & ~((1ull << from) - 1);
}

static bool put_in_page(sim_alloc *alloc, uint64_t index, uint32_t first, uint32_t end) {
    sim_page *page = &alloc->pages[index];
    if (page->state == SIM_PAGE_WRITTEN) return true;
    if (first == 0 && end >= page_bytes(alloc, index)) {
        page->state = SIM_PAGE_WRITTEN;
        free(page->written);
        page->written = NULL;
        return true;
    }
    if (!page->written) page->written = calloc(WORDS, sizeof *page->written);
    if (!page->written) return false;
    page->state = SIM_PAGE_MIXED;
    for (uint32_t word = first / 64; word * 64 < end; word++) {
        page->written[word] |= word_mask(word, first, end);
    }
    return true;
}

static bool written_in_page(const sim_alloc *alloc, uint64_t index, uint32_t first, uint32_t end) {
    const sim_page *page = &alloc->pages[index];
    if (page->state != SIM_PAGE_MIXED) return page->state == SIM_PAGE_WRITTEN;
    for (uint32_t word = first / 64; word * 64 < end; word++) {
        uint64_t mask = word_mask(word, first, end);
        if ((page->written[word] & mask) != mask) return false;
    }
    return true;
}

bool sim_shadow_put(sim_alloc *alloc, uint64_t offset, uint64_t bytes) {
    while (bytes) {
        uint64_t index = offset / SIM_PAGE_BYTES;
        uint32_t first = (uint32_t)(offset % SIM_PAGE_BYTES);
        uint64_t room = SIM_PAGE_BYTES - first;
        uint64_t now = bytes < room ? bytes : room;
        if (!put_in_page(alloc, index, first, first + (uint32_t)now)) return false;
        offset += now;
        bytes -= now;
    }
    return true;
}

bool sim_shadow_written(const sim_alloc *alloc, uint64_t offset, uint64_t bytes) {
    while (bytes) {
        uint64_t index = offset / SIM_PAGE_BYTES;
        uint32_t first = (uint32_t)(offset % SIM_PAGE_BYTES);
        uint64_t room = SIM_PAGE_BYTES - first;
        uint64_t now = bytes < room ? bytes : room;
        if (!written_in_page(alloc, index, first, first + (uint32_t)now)) return false;
        offset += now;
        bytes -= now;
    }
    return true;
}

/* Byte by byte only where a page is mixed: copies between devices' buffers are rare. */
bool sim_shadow_copy(sim_alloc *to, uint64_t to_offset, const sim_alloc *from, uint64_t from_offset,
                     uint64_t bytes) {
    if (sim_shadow_written(from, from_offset, bytes)) return sim_shadow_put(to, to_offset, bytes);
    for (uint64_t i = 0; i < bytes; i++) {
        if (!sim_shadow_written(from, from_offset + i, 1)) continue;
        if (!sim_shadow_put(to, to_offset + i, 1)) return false;
    }
    return true;
}

/* A page stays cached while no more than the cache's size has come in since it was last used:
 * an approximation of least-recently-used that needs no list. */
uint32_t sim_shadow_touch(sim_memory *memory, uint64_t cache_bytes, sim_page *page, uint32_t first,
                          uint32_t last) {
    if (memory->traffic - page->cache_stamp > cache_bytes) {
        page->cached[0] = page->cached[1] = 0;
    }
    uint32_t missed = 0;
    for (uint32_t half = first / 64; half <= last / 64; half++) {
        uint64_t missing = word_mask(half, first, last + 1) & ~page->cached[half];
        if (!missing) continue;
        missed += (uint32_t)__builtin_popcountll(missing);
        page->cached[half] |= missing;
    }
    memory->traffic += missed * SIM_SECTOR_BYTES;
    page->cache_stamp = memory->traffic;
    return missed;
}

uint64_t sim_shadow_touch_range(sim_memory *memory, uint64_t cache_bytes, sim_alloc *alloc,
                                uint64_t offset, uint64_t bytes) {
    uint64_t missed = 0;
    if (!bytes) return 0;
    uint64_t first = offset / SIM_SECTOR_BYTES, last = (offset + bytes - 1) / SIM_SECTOR_BYTES;
    while (first <= last) {
        uint64_t page = first / SECTORS;
        uint64_t end = (page + 1) * SECTORS - 1;
        uint64_t to = last < end ? last : end;
        missed += sim_shadow_touch(memory, cache_bytes, &alloc->pages[page],
                                   (uint32_t)(first % SECTORS), (uint32_t)(to % SECTORS));
        first = to + 1;
    }
    return missed;
}
