/* Runs every instruction of instructions.h on chosen values, and prints a digest of the results or
   compares it with those that hardware gave (hardware.txt). --full prints all results instead. */
#include "instructions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1024, SHOWN = 4, LINE_BYTES = 256 };

static const uint64_t integers[] = {
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    1000,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0x7fffffff,
    0x80000000,
    0xfffffffe,
    0xffffffff,
    0x100000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xfffffffffffffffe,
    0xffffffffffffffff,
    0xffffffff80000000,
    0x00ff00ff00ff00ff,
};

static const uint64_t narrow_floats[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x40000000, 0x3f000000, 0x3fc00000, 0xc0200000,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xffabcdef, 0x00000001, 0x80000001,
    0x007fffff, 0x00800000, 0x00800001, 0x7f7fffff, 0xff7fffff, 0x4b800000, 0x4b800001, 0x3f7fffff,
    0x3f800001, 0x4f000000, 0x5f000000, 0x4effffff, 0x477fe000, 0x477ff000, 0x38800000, 0x33800000,
};

static const uint64_t wide_floats[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x4000000000000000, 0x3fe0000000000000, 0x3ff8000000000000, 0xc004000000000000,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000,
    0x7ff0000000000001, 0xfff123456789abcd, 0x0000000000000001, 0x8000000000000001,
    0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
    0x3fefffffffffffff, 0x3ff0000000000001, 0x41dfffffffc00000, 0x41e0000000000000,
    0x43e0000000000000, 0x43f0000000000000, 0x36a0000000000000, 0x380fffffe0000000,
    0x47efffffe0000000, 0x47effffff0000000, 0x40effc0000000000, 0x40f0000000000000,
};

static const uint64_t halves[] = {
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x4000, 0x3800, 0x3e00, 0xc100, 0x7c00, 0xfc00, 0x7e00,
    0xfe00, 0x7c01, 0xfd55, 0x0001, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x3bff, 0x3c01,
    0x6400, 0x6401, 0x3f80, 0xbf80, 0x7f80, 0x7fc0, 0x7f7f, 0x0080, 0x4b80, 0x5800,
};

enum { SPECIALS = 32 };

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15ull; /* splitmix64 */
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

/* A random float of a moderate size, so that sums and products come out between the extremes. */
static uint64_t moderate(char letter, uint64_t random) {
    uint64_t exponent = random >> 58 & 15;
    if (letter == 'f') return (random & 0x807fffff) | (120 + exponent) << 23;
    if (letter == 'e') return (random & 0x800fffffffffffffull) | (1016 + exponent) << 52;
    uint64_t half = letter == 'g' || letter == 'y' ? (random & 0x83ff) | (8 + exponent) << 10
                                                   : (random & 0x807f) | (120 + exponent) << 7;
    return half;
}

static uint64_t pick(char letter, size_t row, int source, uint64_t *state) {
    uint64_t random = next_random(state);
    size_t special = source == 0   ? row % SPECIALS
                     : source == 1 ? row / SPECIALS
                                   : random % SPECIALS;
    bool chooses_special = row < ROWS / 2 || random >> 62 == 0;
    if (letter == 's') return row < 40 ? row : random % 72;
    if (letter == 'i' || letter == 'l' || letter == 'h') {
        return chooses_special ? integers[special % SPECIALS] : random;
    }
    if (letter == 'f') {
        return chooses_special ? narrow_floats[special % SPECIALS] : moderate(letter, random);
    }
    if (letter == 'e') {
        return chooses_special ? wide_floats[special % SPECIALS] : moderate(letter, random);
    }
    uint64_t low = chooses_special ? halves[special % SPECIALS] : moderate(letter, random);
    uint64_t high = random >> 60 ? moderate(letter, next_random(state)) : random >> 32 & 0xffff;
    return letter == 'y' || letter == 'z' ? high << 16 | low : low;
}

static void fill(const struct snippet *snippet, uint64_t *sources[SNIPPET_SOURCES]) {
    uint64_t state = strlen(snippet->pattern);
    for (size_t row = 0; row < ROWS; row++) {
        for (int i = 0; i < SNIPPET_SOURCES; i++) {
            bool given = (size_t)i + 1 < strlen(snippet->pattern);
            sources[i][row] = given ? pick(snippet->pattern[1 + i], row, i, &state) : 0;
        }
    }
}

static uint64_t digest(const uint64_t *results) {
    uint64_t hash = 14695981039346656037ull; /* FNV-1a */
    for (size_t row = 0; row < ROWS; row++) {
        for (int byte = 0; byte < 8; byte++) {
            hash = (hash ^ (results[row] >> 8 * byte & 0xff)) * 1099511628211ull;
        }
    }
    return hash;
}

static void print_full(const struct snippet *snippet, uint64_t *const sources[SNIPPET_SOURCES],
                       const uint64_t *results) {
    for (size_t row = 0; row < ROWS; row++) {
        printf("%s |", snippet->name);
        for (size_t i = 0; i + 1 < strlen(snippet->pattern); i++) {
            printf(" %" PRIx64, sources[i][row]);
        }
        printf(" = %" PRIx64 "\n", results[row]);
    }
}

static void format_line(const struct snippet *snippet, const uint64_t *results, char *line) {
    int used = snprintf(line, LINE_BYTES, "%s | %016" PRIx64, snippet->name, digest(results));
    for (int i = 0; i < SHOWN; i++) {
        used += snprintf(line + used, LINE_BYTES - (size_t)used, " %" PRIx64, results[i * 37]);
    }
}

/* The line of the data that begins with the instruction's name. */
static bool find_line(FILE *data, const char *name, char *line) {
    size_t length = strlen(name);
    rewind(data);
    while (fgets(line, LINE_BYTES, data)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, name, length) == 0 && strncmp(line + length, " | ", 3) == 0) return true;
    }
    return false;
}

/* 0: the results are those of the data, 1: they are not, 2: there are none. */
static int compare(const struct snippet *snippet, const uint64_t *results, FILE *data) {
    char got[LINE_BYTES], want[LINE_BYTES];
    format_line(snippet, results, got);
    if (!find_line(data, snippet->name, want)) return 2;
    if (strcmp(got, want) == 0) return 0;
    fprintf(stderr, "got  %s\nwant %s\n", got, want);
    return 1;
}

int main(int argc, char **argv) {
    static uint64_t values[SNIPPET_SOURCES][ROWS], results[ROWS];
    uint64_t *sources[] = {values[0], values[1], values[2]};
    const char *why = "";
    struct driver driver;
    bool full = argc > 2 && strcmp(argv[2], "--full") == 0;
    FILE *data = argc > 2 && !full ? fopen(argv[2], "r") : NULL;
    int failed = 0, absent = 0;
    if (argc < 2 || (argc > 2 && !full && !data) || !driver_open(&driver, argv[1], &why)) {
        fprintf(stderr, "vectors DRIVER [--full | DATA]: %s\n", why);
        return 2;
    }
    for (int i = 0; i < INSTRUCTION_COUNT; i++) {
        char line[LINE_BYTES];
        fill(&instructions[i], sources);
        if (!snippet_run(&driver, &instructions[i], ROWS, (const uint64_t *const *)sources, results,
                         &why)) {
            fprintf(stderr, "%s: %s\n", instructions[i].name, why);
            failed++;
        } else if (full) {
            print_full(&instructions[i], sources, results);
        } else if (data) {
            int rc = compare(&instructions[i], results, data);
            failed += rc == 1;
            absent += rc == 2;
        } else {
            format_line(&instructions[i], results, line);
            puts(line);
        }
    }
    if (data) {
        printf("%d of %d instructions as on hardware, %d not recorded\n",
               INSTRUCTION_COUNT - failed - absent, INSTRUCTION_COUNT, absent);
        fclose(data);
    }
    return failed ? 1 : 0;
}
