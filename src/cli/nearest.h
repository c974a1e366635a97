/* Nearest: which name a word that is mistyped or cut short may stand for. */
#pragma once

#include <stddef.h>

/* A guess starts with its word alone. */
typedef struct rdt_nearest {
    const char *word;
    const char *name; /* the nearest of those tried; NULL: none is near */
    size_t edits;
} rdt_nearest;

void rdt_nearest_try(rdt_nearest *guess, const char *name);
