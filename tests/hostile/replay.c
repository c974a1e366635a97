/* Runs the fuzz target without a fuzzer: on its seeds, and on a few thousand changes of them. With
 * the name of a folder it writes the seeds there, for the fuzzer to start from. */
#define _GNU_SOURCE
#include "forge.h"

#include "base/random.h"
#include "unit/version_2.h"

enum { CHANGES = 3000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static bool make_older(const char *path) {
    return run_sql(path, version_2) && run_sql(path, "PRAGMA page_size=512; VACUUM");
}
static bool make_small_pages(const char *path) {
    return forge_single(path) && run_sql(path, "PRAGMA page_size=512; VACUUM");
}
static bool make_many(const char *path) { return forge_database(path, 512); }
/* An endless walk, as in test_files.c. */
static bool make_maze(const char *path) {
    static const unsigned char cell[] = {3, 1, 2, 1, 0};
    return forge_database(path, 512) && forge_maze(path, 1, cell, sizeof cell);
}
/* The first line and one row. */
static bool make_line(const char *path) {
    size_t bytes = 0;
    char *whole = forge_lines(path) ? read_bytes(path, &bytes) : NULL;
    if (!whole) return false;
    size_t first = strcspn(whole, "\n") + 1;
    bool good = write_bytes(path, whole, first + strcspn(whole + first, "\n") + 1);
    free(whole);
    return good;
}

static const struct {
    const char *name;
    bool (*make)(const char *path);
} seeds[] = {
    {"older.db", make_older}, {"single.db", make_small_pages}, {"many.db", make_many},
    {"maze.db", make_maze},   {"line.jsonl", make_line},       {"lines.jsonl", forge_lines},
};

enum { SEEDS = sizeof seeds / sizeof *seeds };

static bool write_seeds(const char *folder) {
    for (size_t i = 0; i < SEEDS; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, seeds[i].name);
        if (!seeds[i].make(path)) return false;
    }
    return true;
}

/* Changes some bytes, cuts or lengthens a copy of exactly its length, and runs it. */
static void run_changed(const char *data, size_t bytes, rdt_random *random) {
    size_t length = bytes;
    if (rdt_random_below(random, 8) == 0) length = rdt_random_below(random, bytes + 1);
    unsigned char *copy = malloc(length + 1);
    if (!copy) return;
    memcpy(copy, data, length);
    for (uint64_t n = rdt_random_below(random, 4); length && n; n--)
        copy[rdt_random_below(random, length)] = (unsigned char)rdt_random_below(random, 256);
    /* The end of the block is the end of the input: what reads on is seen. */
    unsigned char *exact = realloc(copy, length ? length : 1);
    LLVMFuzzerTestOneInput(exact ? exact : copy, length);
    free(exact ? exact : copy);
}

FACT(the_seeds_and_changes_of_them_do_no_harm) {
    rdt_random random = {1};
    for (size_t i = 0; i < SEEDS; i++) {
        size_t bytes = 0;
        char path[300];
        rdt_text_copy(path, sizeof path, in_scratch(seeds[i].name));
        CHECK(seeds[i].make(path));
        char *data = read_bytes(path, &bytes);
        CHECK(data);
        LLVMFuzzerTestOneInput((const uint8_t *)data, bytes);
        for (int k = 0; k < CHANGES / SEEDS; k++) run_changed(data, bytes, &random);
        free(data);
    }
}

int main(int argc, char **argv) {
    if (!scratch_begin() || !forge_begin()) return 1;
    int failed = argc == 2 ? !write_seeds(argv[1]) : check_run(argc, argv);
    forge_end();
    scratch_end();
    return failed;
}
