/* Device memory: allocations in an address space of their own, with a shadow of what is known
   about their bytes. */
#ifndef SIM_EXEC_MEMORY_H
#define SIM_EXEC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_PAGE_BYTES = 4096, SIM_SECTOR_BYTES = 32, SIM_FREED_KEPT = 64 };

enum sim_page_state { SIM_PAGE_RAW, SIM_PAGE_MIXED, SIM_PAGE_WRITTEN };

struct sim_global_tag;

struct sim_page {
    uint64_t *written;           /* of a mixed page: a bit per byte */
    struct sim_global_tag *tags; /* per byte: who wrote it in launch tags_launch; NULL: nobody */
    uint64_t tags_launch;
    uint64_t cache_stamp; /* memory.traffic when the cache last saw the page */
    uint64_t cached[2];   /* a bit per sector */
    uint8_t state;        /* enum sim_page_state */
};

enum sim_owner { SIM_OWNER_DEVICE, SIM_OWNER_HOST, SIM_OWNER_MODULE };

struct sim_alloc {
    uint64_t address;
    uint64_t size_bytes;
    unsigned char *host;
    struct sim_page *pages;
    uint64_t page_count;
    enum sim_owner owner;
    const void *context; /* whom to tell when it leaks */
};

struct sim_range {
    uint64_t address;
    uint64_t size_bytes;
};

/* Valid when zeroed. */
struct sim_memory {
    struct sim_alloc **allocs; /* by address */
    uint32_t count;
    uint32_t room;
    uint64_t next_address;
    uint64_t used_bytes;   /* by SIM_OWNER_DEVICE and SIM_OWNER_MODULE */
    uint64_t traffic;      /* bytes that came from memory to the cache, ever */
    uint64_t launch;       /* number of the launch that runs; tags of others are stale */
    uint64_t tagged_pages; /* of this launch */
    struct sim_range freed[SIM_FREED_KEPT];
    uint32_t freed_count;
};

/* NULL: no memory on this machine. Host memory keeps its own address and is never unwritten. */
struct sim_alloc *sim_memory_get(struct sim_memory *memory, uint64_t bytes, enum sim_owner owner);
void sim_memory_free(struct sim_memory *memory, struct sim_alloc *alloc);
void sim_memory_free_all(struct sim_memory *memory);

/* The allocation that holds all of the bytes; NULL: none does. */
struct sim_alloc *sim_memory_find(const struct sim_memory *memory, uint64_t address,
                                  uint64_t bytes);
/* The one that starts there; NULL: none. */
struct sim_alloc *sim_memory_at(const struct sim_memory *memory, uint64_t address);
/* The nearest one that starts at or before the address; NULL: none. */
struct sim_alloc *sim_memory_before(const struct sim_memory *memory, uint64_t address);
bool sim_memory_was_freed(const struct sim_memory *memory, uint64_t address);

/* Which bytes were ever written. put: false when there is no memory to remember it. */
bool sim_shadow_put(struct sim_alloc *alloc, uint64_t offset, uint64_t bytes);
bool sim_shadow_written(const struct sim_alloc *alloc, uint64_t offset, uint64_t bytes);
bool sim_shadow_copy(struct sim_alloc *to, uint64_t to_offset, const struct sim_alloc *from,
                     uint64_t from_offset, uint64_t bytes);

/* Has the cache see sectors first to last of one page; gives how many came from memory. */
uint32_t sim_cache_touch(struct sim_memory *memory, uint64_t cache_bytes, struct sim_page *page,
                         uint32_t first, uint32_t last);
/* A copy or memset goes through the cache as well. */
uint64_t sim_cache_touch_range(struct sim_memory *memory, uint64_t cache_bytes,
                               struct sim_alloc *alloc, uint64_t offset, uint64_t bytes);

#endif
