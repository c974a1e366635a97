/* Facts about cache/kernels.h: what is stored is found, damage is a miss, the size is bounded.
 *
 * usage: test_kernels [--all] [FACT...]; --all: flips every byte of a file, else some of them. */
#define _GNU_SOURCE
#include "database.h"
#include "cache/kernels.h"
#include "faults.h"

#include <time.h>

#define KEY "0123456789abcdef0123456789abcdef"

static bool thorough; /* --all */
static redtune_error err;
static rdt_kernels *kernels;

/* What the last find gave; data is NULL after a miss. */
static struct {
    void *data;
    size_t bytes;
    bool ptx;
} found;

/* ---- help ------------------------------------------------------------------------------------ */

static const char *path(void) { return in_scratch("redtune/kernels.db"); }

static bool reopen(void) {
    rdt_kernels_close(kernels);
    kernels = NULL;
    return !rdt_kernels_open(path(), NULL, &kernels, &err);
}

/* An open cache without a file's content. */
static bool begin(void) {
    rdt_kernels_close(kernels);
    kernels = NULL;
    unlink(path());
    return reopen();
}

/* A kernel's bytes: zeros among them, and different for each seed. */
static void *content(size_t bytes, int seed) {
    unsigned char *data = malloc(bytes);
    for (size_t i = 0; data && i < bytes; i++) data[i] = (unsigned char)(i * 7 + i / 256 + seed);
    return data;
}

static bool put(const char *key, size_t bytes, int seed) {
    void *data = content(bytes, seed);
    redtune_status status = rdt_kernels_put(kernels, key, data, bytes, seed & 1, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    free(data);
    return !status;
}

static bool find(const char *key) {
    free(found.data);
    memset(&found, 0, sizeof found);
    redtune_status status =
        rdt_kernels_find(kernels, key, &found.data, &found.bytes, &found.ptx, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    return !status;
}

/* The key is found, and what it gives is the content of this size and seed. */
static bool gives(const char *key, size_t bytes, int seed) {
    void *data = content(bytes, seed);
    bool good = find(key) && found.data && found.bytes == bytes && found.ptx == (seed & 1) &&
                !memcmp(found.data, data, bytes) && !((char *)found.data)[bytes];
    free(data);
    return good;
}

static bool misses(const char *key) { return find(key) && !found.data && !found.bytes; }

static bool sql(const char *text) { return run_sql(path(), text); }

static int64_t ask(const char *text) { return ask_sql(path(), text); }

/* ---- storing and finding --------------------------------------------------------------------- */

FACT(find_gives_what_was_put) {
    CHECK(begin());
    CHECK(put("cubin", 50000, 2) && put("ptx", 777, 3) && put("tiny", 1, 0));
    CHECK(gives("cubin", 50000, 2) && gives("ptx", 777, 3) && gives("tiny", 1, 0));
    CHECK(reopen());
    CHECK(gives("cubin", 50000, 2) && gives("ptx", 777, 3) && gives("tiny", 1, 0));
    CHECK_INT(ask("PRAGMA application_id"), 0x7264744b);
    CHECK(!has_beside(path(), "-journal"));
}

FACT(find_misses_what_is_not_there) {
    CHECK(begin());
    CHECK(misses(KEY));
    CHECK(put("other", 100, 1));
    CHECK(misses(KEY) && misses("") && misses("othe") && misses("OTHER"));
}

FACT(open_writes_nothing) {
    CHECK(begin());
    CHECK(misses(KEY));
    CHECK(holds_bytes(path(), "", 0));
}

FACT(put_replaces) {
    CHECK(begin());
    CHECK(put(KEY, 5000, 2) && put(KEY, 6000, 5));
    CHECK(gives(KEY, 6000, 5));
    CHECK_INT(ask("SELECT count(*) FROM kernel"), 1);
}

FACT(put_refuses_an_empty_kernel) {
    CHECK(begin());
    CHECK_FAILS(rdt_kernels_put(kernels, KEY, "", 0, false, &err), REDTUNE_INVALID, err, "empty");
}

FACT(census_counts) {
    int64_t count = -1, bytes = -1;
    CHECK(begin());
    CHECK_OK(rdt_kernels_census(kernels, &count, &bytes, &err), err);
    CHECK(count == 0 && bytes == 0);
    CHECK(put("a", 3000, 1) && put("b", 400, 1));
    CHECK_OK(rdt_kernels_census(kernels, &count, &bytes, &err), err);
    CHECK_INT(count, 2);
    CHECK_INT(bytes, 3400);
}

FACT(open_fails_where_no_file_can_be) {
    rdt_kernels *none = NULL;
    CHECK(!mkdir(in_scratch("redtune/folder"), 0777));
    CHECK_FAILS(rdt_kernels_open(in_scratch("redtune/folder"), NULL, &none, &err), REDTUNE_FILE,
                err, "cannot open kernel cache ");
    CHECK(write_bytes(in_scratch("plain"), "x", 1));
    CHECK_FAILS(rdt_kernels_open(in_scratch("plain/kernels.db"), NULL, &none, &err), REDTUNE_FILE,
                err, "Not a directory");
    CHECK(!none);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* On a file as it is now: a miss, then good again after a put. */
static bool is_recreated(void) {
    int64_t count = -1, bytes = -1;
    return reopen() && !rdt_kernels_census(kernels, &count, &bytes, &err) && count == 0 &&
           misses(KEY) && put(KEY, 5000, 2) && gives(KEY, 5000, 2) && reopen() &&
           gives(KEY, 5000, 2) && ask("SELECT count(*) FROM pragma_integrity_check") == 1;
}

/* The same by a process that puts without having looked. */
static bool is_recreated_unseen(void) {
    return reopen() && put(KEY, 5000, 2) && gives(KEY, 5000, 2);
}

FACT(a_file_of_something_else_is_recreated) {
    static const char text[] = "This is text, no database, of more than the hundred bytes that the "
                               "header of an SQLite file has.\n";
    for (int unseen = 0; unseen < 2; unseen++) {
        CHECK(begin());
        CHECK(write_bytes(path(), text, sizeof text));
        CHECK(unseen ? is_recreated_unseen() : is_recreated());
        CHECK(write_bytes(path(), "x", 1));
        CHECK(unseen ? is_recreated_unseen() : is_recreated());
    }
}

FACT(a_cache_of_another_shape_is_recreated) {
    static const char *const changes[] = {
        "PRAGMA application_id=1",
        "PRAGMA user_version=2",
        "PRAGMA journal_mode=WAL",
        "DROP TABLE kernel",
        "DROP INDEX kernel_by_used",
        "CREATE TABLE more(x)",
        "DROP TABLE kernel; CREATE VIEW kernel AS SELECT 1 AS key",
        "DROP TABLE kernel; CREATE TABLE kernel(key)",
        "CREATE TRIGGER more AFTER INSERT ON kernel BEGIN DELETE FROM kernel; END",
    };
    for (size_t i = 0; i < 2 * sizeof changes / sizeof *changes; i++) {
        CHECK(begin());
        CHECK(put("old", 300, 1));
        rdt_kernels_close(kernels);
        kernels = NULL;
        CHECK(sql(changes[i / 2]));
        bool good = i % 2 ? is_recreated_unseen() : is_recreated();
        if (!good) fprintf(stderr, "after %s\n", changes[i / 2]);
        CHECK(good);
        CHECK(misses("old"));
    }
}

FACT(a_truncated_cache_is_recreated) {
    size_t bytes = 0;
    CHECK(begin());
    CHECK(put(KEY, 20000, 2));
    char *whole = read_bytes(path(), &bytes);
    for (size_t length = 1; length < bytes; length += length < 5000 ? 333 : 1777) {
        CHECK(write_bytes(path(), whole, length));
        CHECK(reopen());
        CHECK(misses(KEY));
        CHECK(is_recreated());
    }
    free(whole);
}

FACT(a_changed_content_is_a_miss) {
    static const char *const changes[] = {
        "content = CAST(replace(content, x'07', x'08') AS BLOB)",
        "content = zeroblob(bytes)",
        "ptx = 1 - ptx",
        "hash = upper(hash)",
        "key = 'moved'",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char text[200];
        CHECK(begin());
        CHECK(put(KEY, 300, 2));
        snprintf(text, sizeof text, "UPDATE kernel SET %s", changes[i]);
        CHECK(sql(text));
        CHECK(misses(KEY));
        CHECK(misses("moved"));
        CHECK(put(KEY, 300, 2) && gives(KEY, 300, 2));
    }
}

/* Never an error, never other content, and a put makes it good. */
FACT(every_flipped_byte_is_a_miss_or_does_not_matter) {
    size_t bytes = 0;
    CHECK(begin());
    CHECK(put("before", 600, 4) && put(KEY, 600, 2));
    char *whole = read_bytes(path(), &bytes), *at = NULL;
    char *data = content(600, 2);
    if (whole) at = memmem(whole, bytes, data, 600);
    CHECK(at);
    size_t first = (size_t)(at - whole);
    for (size_t i = 0; i < bytes;) {
        whole[i] ^= 0x41;
        CHECK(write_bytes(path(), whole, bytes));
        whole[i] ^= 0x41;
        CHECK(reopen());
        bool inside = i >= first && i < first + 600;
        CHECK(inside ? misses(KEY) : misses(KEY) || gives(KEY, 600, 2));
        CHECK(put(KEY, 600, 2) && gives(KEY, 600, 2));
        /* Each byte of the kernel, of the headers of the file and its pages; others in part. */
        i += thorough || inside || i % 4096 < 110 ? 1 : 29;
    }
    free(data);
    free(whole);
}

FACT(a_cache_emptied_by_another_is_used_on) {
    CHECK(begin());
    CHECK(put(KEY, 300, 2) && gives(KEY, 300, 2));
    CHECK(sql("DROP TABLE kernel"));
    CHECK(misses(KEY));
    CHECK(put(KEY, 300, 2) && gives(KEY, 300, 2));
}

static bool use_read_only(int index) {
    (void)index;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return false;
    return reopen() && gives(KEY, 300, 2) &&
           rdt_kernels_put(kernels, "new", "x", 1, false, &err) == REDTUNE_DATABASE &&
           strstr(err.message, "cannot write kernel cache ") && gives(KEY, 300, 2);
}

FACT(a_read_only_cache_is_read) {
    CHECK(begin());
    CHECK(put(KEY, 300, 2));
    CHECK(sql("UPDATE kernel SET used = 0"));
    CHECK(!chmod(path(), 0444));
    rdt_kernels_close(kernels);
    kernels = NULL;
    if (geteuid() == 0)
        CHECK(!chown(path(), 65534, 65534) && !chown(in_scratch("redtune"), 65534, 65534));
    CHECK(run_processes(1, use_read_only));
    if (geteuid() == 0) CHECK(!chown(path(), 0, 0) && !chown(in_scratch("redtune"), 0, 0));
    CHECK_INT(ask("SELECT used FROM kernel"), 0);
}

/* ---- size and use ---------------------------------------------------------------------------- */

FACT(the_least_recently_used_is_dropped) {
    CHECK(begin());
    rdt_kernels_limit(kernels, 200000);
    CHECK(put("a", 50000, 2) && put("b", 50000, 3) && put("c", 50000, 4));
    CHECK(sql("UPDATE kernel SET used = used - 7200"));
    CHECK(gives("a", 50000, 2));
    CHECK(put("d", 50000, 5));
    CHECK(misses("b"));
    CHECK(gives("a", 50000, 2) && gives("d", 50000, 5));
    CHECK(put("e", 50000, 6));
    CHECK(misses("c"));
    CHECK(gives("a", 50000, 2) && gives("d", 50000, 5) && gives("e", 50000, 6));
}

FACT(the_file_is_bounded) {
    struct stat info;
    CHECK(begin());
    rdt_kernels_limit(kernels, 200000);
    for (int i = 0; i < 100; i++) {
        char key[32];
        snprintf(key, sizeof key, "kernel %d", i);
        CHECK(put(key, 1000 + (size_t)i * 300, i));
        CHECK(gives(key, 1000 + (size_t)i * 300, i));
    }
    CHECK(!stat(path(), &info));
    CHECK(info.st_size <= 200000 + 40000);
    CHECK(put("too large", 200001, 1));
    CHECK(misses("too large"));
    CHECK(gives("kernel 99", 1000 + 99 * 300, 99));
}

FACT(find_writes_at_most_once_an_hour) {
    CHECK(begin());
    CHECK(put(KEY, 300, 2));
    CHECK(sql("UPDATE kernel SET used = used - 3000"));
    size_t bytes = 0;
    char *before = read_bytes(path(), &bytes);
    CHECK(gives(KEY, 300, 2));
    CHECK(holds_bytes(path(), before, bytes));
    free(before);
    CHECK(sql("UPDATE kernel SET used = used - 3000"));
    CHECK(gives(KEY, 300, 2));
    CHECK_INT(ask("SELECT abs(used - strftime('%s', 'now')) < 60 FROM kernel"), 1);
}

FACT(find_does_not_wait_to_count_a_use) {
    sqlite3 *writer = NULL;
    CHECK(begin());
    CHECK(put(KEY, 300, 2));
    CHECK(sql("UPDATE kernel SET used = 5"));
    CHECK(!sqlite3_open(path(), &writer));
    CHECK(!sqlite3_exec(writer, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    time_t start = time(NULL);
    CHECK(gives(KEY, 300, 2));
    CHECK(time(NULL) - start < 4);
    sqlite3_close(writer);
    CHECK_INT(ask("SELECT used FROM kernel"), 5);
}

/* ---- many at once, and memory that runs out ----------------------------------------------------
 */

static bool put_and_find(int index) {
    bool good = reopen();
    for (int i = 0; i < 40 && good; i++) {
        char own[32], shared[32];
        snprintf(own, sizeof own, "own %d %d", index, i);
        snprintf(shared, sizeof shared, "shared %d", i);
        good = put(own, 3000, i) && put(shared, 9000, i) && gives(own, 3000, i) &&
               gives(shared, 9000, i);
    }
    rdt_kernels_close(kernels);
    return good;
}

FACT(eight_processes_use_it_at_once) {
    CHECK(begin());
    CHECK(run_processes(8, put_and_find));
    CHECK_INT(ask("SELECT count(*) FROM kernel"), 8 * 40 + 40);
}

static bool put_and_find_on_damage(int index) {
    bool good = reopen();
    for (int i = 0; i < 10 && good; i++) {
        char own[32];
        snprintf(own, sizeof own, "own %d %d", index, i);
        good = put(own, 3000, i) && find(own);
    }
    rdt_kernels_close(kernels);
    return good;
}

FACT(eight_processes_recreate_a_damaged_one) {
    for (int round = 0; round < 5; round++) {
        CHECK(begin());
        CHECK(write_bytes(path(), "no database", 11));
        CHECK(run_processes(8, put_and_find_on_damage));
        CHECK(reopen());
        CHECK(put(KEY, 5000, 2) && gives(KEY, 5000, 2));
        CHECK(ask("SELECT count(*) FROM kernel") > 1);
    }
}

FACT(every_allocation_may_fail) {
    void *data = NULL;
    size_t bytes = 0;
    bool ptx;
    long n = 1;
    rdt_kernels_close(kernels);
    kernels = NULL;
    for (; faults_begin(n); n++) {
        rdt_kernels *own = NULL;
        int64_t count, total;
        unlink(path());
        redtune_status status = rdt_kernels_open(path(), NULL, &own, &err);
        if (!status) status = rdt_kernels_put(own, KEY, "kernel", 6, true, &err);
        if (!status) status = rdt_kernels_find(own, KEY, &data, &bytes, &ptx, &err);
        if (!status) status = rdt_kernels_census(own, &count, &total, &err);
        rdt_kernels_close(own);
        bool failed = faults_end();
        if (status && status != REDTUNE_MEMORY)
            fprintf(stderr, "allocation %ld: %s\n", n, err.message);
        CHECK(status == REDTUNE_OK || (failed && status == REDTUNE_MEMORY));
        CHECK(status || failed || (data && bytes == 6 && ptx));
        free(data);
        data = NULL;
    }
    CHECK(n > 4);
}

int main(int argc, char **argv) {
    thorough = argc > 1 && !strcmp(argv[1], "--all");
    if (thorough) argc--, argv++;
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    rdt_kernels_close(kernels);
    free(found.data);
    scratch_end();
    return failed;
}
