/* Arena: the arena that a parsed module lives in, and the lists inside it. */
#include "ptx/arena.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGN_BYTES = 16 };

typedef struct sim_chunk {
    struct sim_chunk *next;
    size_t padding; /* keeps data aligned to ALIGN_BYTES */
    unsigned char data[];
} sim_chunk;

void *sim_arena_get(sim_arena *arena, size_t bytes) {
    if (bytes > SIZE_MAX / 2) return NULL;
    bytes = (bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    if (!arena->chunks || bytes > arena->room_bytes - arena->used_bytes) {
        size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        sim_chunk *chunk = calloc(1, sizeof *chunk + room);
        if (!chunk) return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used_bytes = 0;
        arena->room_bytes = room;
    }
    void *at = arena->chunks->data + arena->used_bytes;
    arena->used_bytes += bytes;
    return at;
}

void sim_arena_free(sim_arena *arena) {
    while (arena->chunks) {
        sim_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    memset(arena, 0, sizeof *arena);
}

void *sim_arena_push(sim_arena *arena, sim_list *list) {
    if (list->count == list->room) {
        uint32_t room = list->room ? list->room * 2 : 16;
        if (room < list->room) return NULL;
        void *items = sim_arena_get(arena, (size_t)room * list->item_bytes);
        if (!items) return NULL;
        if (list->count) memcpy(items, list->items, (size_t)list->count * list->item_bytes);
        list->items = items;
        list->room = room;
    }
    return (unsigned char *)list->items + (size_t)list->count++ * list->item_bytes;
}

char *sim_arena_text_copy(sim_arena *arena, sim_text text) {
    char *copy = sim_arena_get(arena, (size_t)text.length + 1);
    if (copy) memcpy(copy, text.at, text.length);
    return copy;
}
