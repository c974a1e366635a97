/* Memory: device memory: allocations in an address space of their own, with a shadow of each
 * byte's history. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_PAGE_BYTES = 4096, SIM_SECTOR_BYTES = 32, SIM_FREED_KEPT = 64 };

typedef enum sim_page_state { SIM_PAGE_RAW, SIM_PAGE_MIXED, SIM_PAGE_WRITTEN } sim_page_state;

typedef struct sim_global_tag sim_global_tag;

typedef struct sim_page {
    uint64_t *written;    /* of a mixed page: a bit per byte */
    sim_global_tag *tags; /* per byte: who wrote it in launch tags_launch; NULL: nobody */
    uint64_t tags_launch;
    uint64_t tags_clean;  /* a bit per piece of the page: its tags are of launch tags_launch */
    uint64_t cache_stamp; /* memory.traffic when the cache last saw the page */
    uint64_t cached[2];   /* a bit per sector */
    uint8_t state;        /* sim_page_state */
} sim_page;

typedef enum sim_owner { SIM_OWNER_DEVICE, SIM_OWNER_HOST, SIM_OWNER_MODULE } sim_owner;

typedef struct sim_alloc {
    uint64_t address;
    uint64_t size_bytes;
    unsigned char *host;
    sim_page *pages;
    uint64_t page_count;
    sim_owner owner;
    const void *context; /* whom to tell when it leaks */
} sim_alloc;

typedef struct sim_range {
    uint64_t address;
    uint64_t size_bytes;
} sim_range;

/* Valid when zeroed. */
typedef struct sim_memory {
    sim_alloc **allocs; /* by address */
    uint32_t count;
    uint32_t room;
    uint64_t next_address;
    uint64_t used_bytes;   /* by SIM_OWNER_DEVICE and SIM_OWNER_MODULE */
    uint64_t traffic;      /* bytes that came from memory to the cache, ever */
    uint64_t launch;       /* number of the launch that runs; tags of others are stale */
    uint64_t tagged_pages; /* of this launch */
    sim_range freed[SIM_FREED_KEPT];
    uint32_t freed_count;
} sim_memory;

/* NULL: no memory on this machine. Host memory keeps its own address and is never unwritten. */
sim_alloc *sim_memory_get(sim_memory *memory, uint64_t bytes, sim_owner owner);
void sim_memory_free(sim_memory *memory, sim_alloc *alloc);
void sim_memory_free_all(sim_memory *memory);

/* The allocation that holds all of the bytes; NULL: none does. */
sim_alloc *sim_memory_find(const sim_memory *memory, uint64_t address, uint64_t bytes);
/* The one that starts there; NULL: none. */
sim_alloc *sim_memory_at(const sim_memory *memory, uint64_t address);
/* The nearest one that starts at or before the address; NULL: none. */
sim_alloc *sim_memory_before(const sim_memory *memory, uint64_t address);
bool sim_memory_was_freed(const sim_memory *memory, uint64_t address);

/* Which bytes were ever written. put: false when there is no memory to remember it. */
bool sim_shadow_put(sim_alloc *alloc, uint64_t offset, uint64_t bytes);
bool sim_shadow_written(const sim_alloc *alloc, uint64_t offset, uint64_t bytes);
bool sim_shadow_copy(sim_alloc *to, uint64_t to_offset, const sim_alloc *from, uint64_t from_offset,
                     uint64_t bytes);

/* Has the cache see sectors first to last of one page; gives how many came from memory. */
uint32_t sim_shadow_touch(sim_memory *memory, uint64_t cache_bytes, sim_page *page, uint32_t first,
                          uint32_t last);
/* A copy or memset goes through the cache as well. */
uint64_t sim_shadow_touch_range(sim_memory *memory, uint64_t cache_bytes, sim_alloc *alloc,
                                uint64_t offset, uint64_t bytes);
