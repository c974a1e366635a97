/* Memory that is given back all at once: what a parsed module lives in. */
#ifndef SIM_PTX_ARENA_H
#define SIM_PTX_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_chunk;

/* Valid when zeroed. */
struct sim_arena {
    struct sim_chunk *chunks;
    size_t used_bytes;
    size_t room_bytes;
};

/* Zeroed memory, aligned for any type; NULL when there is none. */
void *sim_arena_get(struct sim_arena *arena, size_t bytes);

void sim_arena_free(struct sim_arena *arena);

/* A list that grows inside an arena. Valid when zeroed, apart from item_bytes. */
struct sim_list {
    void *items;
    uint32_t count;
    uint32_t room;
    uint32_t item_bytes;
};

/* A zeroed new last item; NULL when there is no memory. Earlier items may move. */
void *sim_list_push(struct sim_arena *arena, struct sim_list *list);

/* A slice of the PTX text. */
struct sim_text {
    const char *at;
    uint32_t length;
};

bool sim_text_equal(struct sim_text text, const char *other);
char *sim_text_copy(struct sim_arena *arena, struct sim_text text);

#endif
