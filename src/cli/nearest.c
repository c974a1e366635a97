/* Nearest: which name a mistyped word may stand for. */
#include "cli/nearest.h"

#include <string.h>

enum { NEAR_BYTES = 32 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Edits between two short words: letters changed, added or left out (Levenshtein 1966). */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[NEAR_BYTES + 1], length = strlen(b);
    for (size_t j = 0; j <= length; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(changed, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[length];
}

const char *rdt_nearest_find(const char *word, const char *const names[]) {
    const char *nearest = NULL;
    size_t best = 3; /* at three edits and more the guess is no help */
    if (strlen(word) > NEAR_BYTES) return NULL;
    for (; *names; names++) {
        size_t edits = edit_distance(word, *names);
        if (edits < best && edits < strlen(*names)) {
            best = edits;
            nearest = *names;
        }
    }
    return nearest;
}
