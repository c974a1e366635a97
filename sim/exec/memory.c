/* Memory: the registry of device memory: where allocations lie, and which one holds an address. */
#include "exec/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Beyond what any host pointer can be on the machines that this runs on, so that neither side
 * can use the other's by mistake. */
static const uint64_t FIRST_ADDRESS = 0xA00000000000ull;
enum { ALIGN_BYTES = 512, GAP_BYTES = 1 << 20, HOST_ALIGN_BYTES = 64, MAPPED_BYTES = 1 << 24 };

static uint32_t find_index(const sim_memory *memory, uint64_t address) {
    uint32_t low = 0, high = memory->count;
    while (low < high) { /* the first that starts behind the address */
        uint32_t middle = low + (high - low) / 2;
        if (memory->allocs[middle]->address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

sim_alloc *sim_memory_before(const sim_memory *memory, uint64_t address) {
    uint32_t index = find_index(memory, address);
    return index ? memory->allocs[index - 1] : NULL;
}

sim_alloc *sim_memory_find(const sim_memory *memory, uint64_t address, uint64_t bytes) {
    sim_alloc *alloc = sim_memory_before(memory, address);
    if (!alloc) return NULL;
    uint64_t offset = address - alloc->address;
    bool inside = offset <= alloc->size_bytes && bytes <= alloc->size_bytes - offset;
    return inside ? alloc : NULL;
}

sim_alloc *sim_memory_at(const sim_memory *memory, uint64_t address) {
    sim_alloc *alloc = sim_memory_before(memory, address);
    return alloc && alloc->address == address ? alloc : NULL;
}

bool sim_memory_was_freed(const sim_memory *memory, uint64_t address) {
    uint32_t kept = memory->freed_count < SIM_FREED_KEPT ? memory->freed_count : SIM_FREED_KEPT;
    for (uint32_t i = 0; i < kept; i++) {
        uint64_t offset = address - memory->freed[i].address;
        if (address >= memory->freed[i].address && offset < memory->freed[i].size_bytes) {
            return true;
        }
    }
    return false;
}

static bool make_room(sim_memory *memory) {
    if (memory->count < memory->room) return true;
    uint32_t room = memory->room ? memory->room * 2 : 64;
    sim_alloc **allocs = realloc(memory->allocs, room * sizeof *allocs);
    if (!allocs) return false;
    memory->allocs = allocs;
    memory->room = room;
    return true;
}

/* Buffers for any piece of an array are large, and little of them is written: their pages are the
 * kernel's until something writes them. calloc clears those that were in use before. */
static bool is_mapped(uint64_t bytes, sim_owner owner) {
    return owner != SIM_OWNER_HOST && bytes >= MAPPED_BYTES;
}

static unsigned char *get_host(uint64_t bytes, sim_owner owner) {
    if (is_mapped(bytes, owner)) {
        void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return mapped == MAP_FAILED ? NULL : mapped;
    }
    if (owner != SIM_OWNER_HOST) return calloc(1, bytes + HOST_ALIGN_BYTES);
    uint64_t rounded = (bytes + HOST_ALIGN_BYTES - 1) & ~(uint64_t)(HOST_ALIGN_BYTES - 1);
    return aligned_alloc(HOST_ALIGN_BYTES, rounded);
}

static void destroy(sim_alloc *alloc) {
    for (uint64_t i = 0; alloc->pages && i < alloc->page_count; i++) {
        free(alloc->pages[i].written);
        free(alloc->pages[i].tags);
    }
    free(alloc->pages);
    if (alloc->host && is_mapped(alloc->size_bytes, alloc->owner))
        munmap(alloc->host, alloc->size_bytes);
    else
        free(alloc->host);
    free(alloc);
}

sim_alloc *sim_memory_get(sim_memory *memory, uint64_t bytes, sim_owner owner) {
    sim_alloc *alloc = calloc(1, sizeof *alloc);
    if (!alloc || !make_room(memory)) goto failed;
    alloc->size_bytes = bytes;
    alloc->owner = owner;
    alloc->page_count = (bytes + SIM_PAGE_BYTES - 1) / SIM_PAGE_BYTES;
    alloc->pages = calloc(alloc->page_count + 1, sizeof *alloc->pages);
    alloc->host = get_host(bytes, owner);
    if (!alloc->pages || !alloc->host) goto failed;
    if (owner == SIM_OWNER_HOST) {
        alloc->address = (uint64_t)(uintptr_t)alloc->host;
        for (uint64_t i = 0; i < alloc->page_count; i++) alloc->pages[i].state = SIM_PAGE_WRITTEN;
    } else {
        if (!memory->next_address) memory->next_address = FIRST_ADDRESS;
        alloc->address = memory->next_address;
        uint64_t end = memory->next_address + bytes + GAP_BYTES;
        memory->next_address = (end + ALIGN_BYTES - 1) & ~(uint64_t)(ALIGN_BYTES - 1);
        memory->used_bytes += bytes;
    }
    uint32_t index = find_index(memory, alloc->address);
    memmove(&memory->allocs[index + 1], &memory->allocs[index],
            (memory->count - index) * sizeof *memory->allocs);
    memory->allocs[index] = alloc;
    memory->count++;
    return alloc;
failed:
    if (alloc) destroy(alloc);
    return NULL;
}

void sim_memory_free(sim_memory *memory, sim_alloc *alloc) {
    uint32_t index = find_index(memory, alloc->address) - 1;
    memmove(&memory->allocs[index], &memory->allocs[index + 1],
            (memory->count - index - 1) * sizeof *memory->allocs);
    memory->count--;
    if (alloc->owner != SIM_OWNER_HOST) memory->used_bytes -= alloc->size_bytes;
    memory->freed[memory->freed_count++ % SIM_FREED_KEPT] =
        (sim_range){alloc->address, alloc->size_bytes};
    destroy(alloc);
}

void sim_memory_free_all(sim_memory *memory) {
    for (uint32_t i = 0; i < memory->count; i++) destroy(memory->allocs[i]);
    free(memory->allocs);
    memset(memory, 0, sizeof *memory);
}
