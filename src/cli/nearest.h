/* Nearest: which name a mistyped word may stand for. */
#pragma once

/* The name nearest to the word, NULL if none is near. names ends with NULL. */
const char *rdt_nearest_find(const char *word, const char *const names[]);
