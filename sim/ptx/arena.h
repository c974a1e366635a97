/* Arena: memory that is given back all at once: what a parsed module lives in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct sim_chunk sim_chunk;

/* Valid when zeroed. */
typedef struct sim_arena {
    sim_chunk *chunks;
    size_t used_bytes;
    size_t room_bytes;
} sim_arena;

/* Zeroed memory, aligned for any type; NULL: out of memory. */
void *sim_arena_get(sim_arena *arena, size_t bytes);

void sim_arena_free(sim_arena *arena);

/* A list that grows inside an arena. Valid when zeroed, apart from item_bytes. */
typedef struct sim_list {
    void *items;
    uint32_t count;
    uint32_t room;
    uint32_t item_bytes;
} sim_list;

/* A zeroed new last item; NULL when there is no memory. Earlier items may move. */
void *sim_arena_push(sim_arena *arena, sim_list *list);

/* A slice of the PTX text. */
typedef struct sim_text {
    const char *at;
    uint32_t length;
} sim_text;

/* Here, so that the length of a text that stands in the code is a constant: parsing compares much.
 */
static inline bool sim_arena_text_equal(sim_text text, const char *other) {
    return strlen(other) == text.length && memcmp(text.at, other, text.length) == 0;
}
char *sim_arena_text_copy(sim_arena *arena, sim_text text);
