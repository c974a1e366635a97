/* Facts about a kernel cache on a disk that fails: finding gives the right kernel or none and is
 * never an error, and once the disk is well again the cache is used on. */
#define _GNU_SOURCE
#include "database.h"
#include "cache/kernels.h"
#include "disk.h"

#include <time.h>

static redtune_error err;
static char path[256];

/* A second goes by between any two kernels that are stored: the order in which they were used is
 * then theirs by the index, too, and not by the table alone. */
time_t __wrap_time(time_t *out);
time_t __wrap_time(time_t *out) {
    static time_t now = 1700000000;
    if (out) *out = now;
    return now++;
}

/* ---- kernels --------------------------------------------------------------------------------- */

enum { KERNELS = 4, LIMIT_BYTES = 40000 };

/* The content of a kernel in one of two versions; they differ in length, too. */
static size_t content(int key, int version, char out[20000]) {
    size_t bytes = (size_t)(3000 + 2000 * key + 500 * version);
    for (size_t i = 0; i < bytes; i++)
        out[i] = (char)(i * 7 + i / 256 + (unsigned)key * 31 + (unsigned)version);
    return bytes;
}

static redtune_status put(rdt_kernels *kernels, int key, int version) {
    static char data[20000];
    char name[16];
    snprintf(name, sizeof name, "key %d", key);
    size_t bytes = content(key, version, data);
    return rdt_kernels_put(kernels, name, data, bytes, version, &err);
}

/* -1: none; -2: neither version, or an error. */
static int find(rdt_kernels *kernels, int key) {
    static char data[20000];
    char name[16];
    void *found = NULL;
    size_t bytes = 0;
    bool ptx = false;
    int version = -1;
    snprintf(name, sizeof name, "key %d", key);
    if (rdt_kernels_find(kernels, name, &found, &bytes, &ptx, &err)) return -2;
    if (found) version = ptx;
    if (found && (content(key, ptx, data) != bytes || memcmp(data, found, bytes))) version = -2;
    free(found);
    return version;
}

/* ---- what is done to the cache --------------------------------------------------------------- */

static rdt_kernels *open_limited(void) {
    rdt_kernels *kernels = NULL;
    if (rdt_kernels_open(path, NULL, &kernels, &err)) return NULL;
    rdt_kernels_limit(kernels, LIMIT_BYTES);
    return kernels;
}

static bool put_and_close(int key) {
    rdt_kernels *kernels = open_limited();
    bool good = kernels && !put(kernels, key, 1);
    rdt_kernels_close(kernels);
    return good;
}

/* Also replaces, where there is one. */
static bool put_first(void) { return put_and_close(0); }

/* Does not fit beside all others. */
static bool put_last(void) { return put_and_close(KERNELS - 1); }

static bool use_all(void) {
    rdt_kernels *kernels = open_limited();
    bool good = true;
    for (int key = 0; key < KERNELS && kernels && good; key++) good = find(kernels, key) > -2;
    rdt_kernels_close(kernels);
    return good;
}

typedef struct job {
    const char *name, *start;
    bool (*run)(void);
    bool must_hold; /* it is no error, whatever the disk does */
} job;

static const job jobs[] = {
    {"the first put", NULL, put_first, false},
    {"replacing", "full.db", put_first, false},
    {"dropping", "full.db", put_last, false},
    {"finding", "full.db", use_all, true},
    {"finding in a file that is none", "none.db", use_all, true},
    {"putting into a file that is none", "none.db", put_first, false},
    {"putting into a damaged one", "damaged.db", put_first, false},
};

enum { JOBS = sizeof jobs / sizeof *jobs };

static bool make_files(void) {
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", in_scratch("full.db"));
    rdt_kernels *kernels = open_limited();
    bool good = kernels != NULL;
    for (int key = 0; key < KERNELS - 1 && good; key++) good = !put(kernels, key, 0);
    rdt_kernels_close(kernels);
    /* Old, so that to find them is to write. */
    good = good && run_sql(path, "UPDATE kernel SET used = 1000 + rowid");
    char *data = good ? read_bytes(path, &bytes) : NULL;
    good = data && write_bytes(in_scratch("damaged.db"), data, bytes / 2) &&
           write_bytes(in_scratch("none.db"), "This is no database.\n", 21);
    free(data);
    snprintf(path, sizeof path, "%s", in_scratch("kernels.db"));
    return good;
}

static bool start(const job *of) {
    char journal[300];
    snprintf(journal, sizeof journal, "%s-journal", path);
    unlink(path), unlink(journal);
    return !of->start || copy_file(in_scratch(of->start), path);
}

/* Each kernel is found right or not at all, and one that is put is there. Where the power went, the
 * damage may first be seen in what was put. */
static bool is_usable(bool is_sound) {
    rdt_kernels *kernels = open_limited();
    bool good = kernels != NULL;
    for (int key = 0; key < KERNELS && good; key++) good = find(kernels, key) > -2;
    good = good && !put(kernels, 1, 1);
    if (good && !is_sound && find(kernels, 1) == -1) good = !put(kernels, 1, 1);
    good = good && find(kernels, 1) == 1;
    rdt_kernels_close(kernels);
    static const char check[] = "SELECT integrity_check = 'ok' FROM pragma_integrity_check";
    return good && (!is_sound || ask_sql(path, check) == 1);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static bool has_held;

static bool start_job(const void *self) { return start(self); }

static void run_job(const void *self) {
    err = (redtune_error){0};
    has_held = ((const job *)self)->run();
}

static bool job_holds(const void *self, disk_fault fault, bool hit) {
    const job *of = self;
    bool good = has_held || (hit && !of->must_hold && err.status);
    /* The fault's own error says nothing about what follows. */
    if (good) err = (redtune_error){0};
    good = good && is_usable(fault != DISK_POWER);
    if (!good) fprintf(stderr, "%s\n", err.message);
    return good;
}

/* Fails every job's calls in turn; how many failed. */
static long fail_each(bool (*survives)(disk_job *job)) {
    long hits = 0;
    for (int i = 0; i < JOBS; i++) {
        disk_job job = {.self = &jobs[i],
                        .name = jobs[i].name,
                        .start = start_job,
                        .run = run_job,
                        .holds = job_holds,
                        .step = 1,
                        .powers = 8};
        if (!survives(&job)) return 0;
        hits += job.hits;
    }
    return hits;
}

FACT(any_call_of_the_disk_may_fail) {
    long hits = fail_each(disk_survives_faults);
    printf("%ld calls failed\n", hits);
    CHECK(hits > 20 * JOBS);
}

/* The cache is not synced, so that its file may come out as anything. */
FACT(the_power_may_fail) {
    long hits = fail_each(disk_survives_power);
    printf("%ld times\n", hits);
    CHECK(hits > 20 * JOBS);
}

static int64_t ask(const char *sql) { return ask_sql(path, sql); }

/* A full cache whose index of uses has never heard of what the changes did to the table. */
static bool start_out_of_step(const char *changes) {
    static const char text[] = "CREATE INDEX kernel_by_used ON kernel(used)";
    char sql[300];
    if (!start(&(job){.start = "full.db"})) return false;
    int64_t root = ask("SELECT rootpage FROM sqlite_schema WHERE name = 'kernel_by_used'");
    snprintf(sql, sizeof sql,
             "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema"
             " VALUES('index', 'kernel_by_used', 'kernel', %d, '%s')",
             (int)root, text);
    return root > 1 &&
           run_sql(path, "PRAGMA writable_schema=ON;"
                         "DELETE FROM sqlite_schema WHERE name = 'kernel_by_used'") &&
           run_sql(path, changes) && run_sql(path, sql) &&
           ask("SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 0;
}

/* Where the index lacks rows or has some that are gone, what is put is found, and the size stays
 * bounded. */
FACT(the_index_of_uses_may_be_out_of_step) {
    static const char *const changes[] = {
        "UPDATE kernel SET rowid = rowid + 100",
        "DELETE FROM kernel WHERE rowid = 1",
        "UPDATE kernel SET used = used + 5000",
        "DELETE FROM kernel; INSERT INTO kernel VALUES('a', 5000, 0, 'h', 5, zeroblob(5000)),"
        " ('b', 9000, 0, 'h', 6, zeroblob(9000))",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct stat info;
        CHECK(start_out_of_step(changes[i]));
        for (int round = 0; round < 3 * KERNELS; round++) {
            int key = round % KERNELS;
            CHECK(put_and_close(key));
            rdt_kernels *kernels = open_limited();
            int found = find(kernels, key);
            rdt_kernels_close(kernels);
            CHECK_INT(found, 1);
            CHECK(!stat(path, &info));
            CHECK(info.st_size <= 2 * LIMIT_BYTES);
        }
        CHECK_INT(ask("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    }
}

FACT(a_kernel_that_fills_the_cache_is_kept) {
    CHECK(start(&(job){.start = "full.db"}));
    char data[LIMIT_BYTES - 10];
    memset(data, 7, sizeof data);
    for (int round = 0; round < 2; round++) {
        void *found = NULL;
        size_t bytes = 0;
        bool ptx;
        rdt_kernels *kernels = open_limited();
        redtune_status status = rdt_kernels_put(kernels, "large", data, sizeof data, false, &err);
        if (!status) status = rdt_kernels_find(kernels, "large", &found, &bytes, &ptx, &err);
        rdt_kernels_close(kernels);
        bool good = found && bytes == sizeof data;
        free(found);
        CHECK_OK(status, err);
        CHECK(good);
    }
}

/* Its header says that the file had 2^32 pages, near enough, before. */
FACT(a_journal_that_cannot_be_rolled_back_is_no_obstacle) {
    unsigned char header[512] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    char journal[300];
    memset(header + 16, 0xff, 3);
    header[22] = 2;    /* sectors of 512 bytes */
    header[26] = 0x10; /* pages of 4096 bytes */
    snprintf(journal, sizeof journal, "%s-journal", path);
    for (int looking = 0; looking < 2; looking++) {
        CHECK(start(&(job){.start = "full.db"}));
        CHECK(write_bytes(journal, header, sizeof header));
        if (looking) CHECK(use_all());
        CHECK(put_and_close(0));
        rdt_kernels *kernels = open_limited();
        int found = find(kernels, 0);
        rdt_kernels_close(kernels);
        CHECK_INT(found, 1);
        CHECK(!rdt_file_exists(journal));
        CHECK_INT(ask("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    }
}

/* A process that has the file open goes on with the one in its place. */
FACT(a_cache_that_was_replaced_is_used_on) {
    CHECK(start(&(job){.start = "full.db"}));
    rdt_kernels *kernels = open_limited();
    int before = find(kernels, 1);
    redtune_status status = REDTUNE_OK;
    if (unlink(path) || !copy_file(in_scratch("full.db"), path)) status = REDTUNE_FILE;
    if (!status) status = put(kernels, 1, 1);
    int after = find(kernels, 1);
    rdt_kernels_close(kernels);
    CHECK_INT(before, 0);
    CHECK_OK(status, err);
    CHECK_INT(after, 1);
    CHECK_INT(ask("SELECT count(*) FROM kernel WHERE key = 'key 1' AND ptx"), 1);
}

FACT(counting_a_use_does_not_sync) {
    CHECK(start(&(job){.start = "full.db"}));
    CHECK_INT(ask("SELECT min(used) < 2000 FROM kernel"), 1);
    long before = disk_syncs();
    CHECK(use_all());
    CHECK_INT(disk_syncs() - before, 0);
    CHECK_INT(ask("SELECT min(used) > 2000 FROM kernel"), 1);
}

int main(int argc, char **argv) {
    bool good = disk_install() && scratch_begin() && make_files();
    int failed = good ? check_run(argc, argv) : 1;
    scratch_end();
    return failed;
}
