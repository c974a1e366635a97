/* Nearest: which name a word that is mistyped or cut short may stand for. */
#include "cli/nearest.h"

#include <stdbool.h>
#include <string.h>

enum {
    NEAR_BYTES = 32,
    LONG_LETTERS = 6, /* a name of fewer is guessed from one edit, a longer one from two */
};

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Edits between two short words: letters changed, added, left out, or swapped with the next one
 * (Damerau 1964), none of them edited twice. */
static size_t edit_distance(const char *a, const char *b) {
    size_t rows[3][NEAR_BYTES + 1], length = strlen(b), i = 0;
    for (size_t j = 0; j <= length; j++) rows[0][j] = j;
    while (a[i++]) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), 1 + least(above[j], row[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], 1 + second[j - 2]);
        }
    }
    return rows[(i - 1) % 3][length];
}

void rdt_nearest_try(rdt_nearest *guess, const char *name) {
    const size_t length = strlen(guess->word), letters = strlen(name);
    if (length > NEAR_BYTES || letters > NEAR_BYTES) return;
    const bool begins = length > 1 && !strncmp(guess->word, name, length);
    const size_t edits = begins ? 0 : edit_distance(guess->word, name);
    if (edits > (letters < LONG_LETTERS ? 1 : 2) || edits >= letters ||
        (guess->name && edits >= guess->edits))
        return;
    guess->name = name;
    guess->edits = edits;
}
