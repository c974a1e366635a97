/* Nearest: which name a word that is mistyped or cut short may stand for. */
#include "cli/nearest.h"

#include <stdbool.h>
#include <string.h>

enum {
    NEAR_BYTES = 32,
    EDITS_MAX = 2, /* with more of them a guess is no help */
};

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

void rdt_nearest_try(rdt_nearest *guess, const char *name) {
    const size_t length = strlen(guess->word);
    if (length > NEAR_BYTES) return;
    const bool begins = length > 1 && !strncmp(guess->word, name, length);
    size_t edits = begins ? 0 : edit_distance(guess->word, name);
    if (edits > EDITS_MAX || edits >= strlen(name) || (guess->name && edits >= guess->edits))
        return;
    guess->name = name;
    guess->edits = edits;
}
