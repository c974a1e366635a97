/* Facts about crowds: many processes on one tuning database and on one kernel cache lose nothing,
 * wait for each other without a word, and see whole transactions. */
#define _GNU_SOURCE
#include "trials.h"
#include "cache/exchange.h"
#include "cache/kernels.h"

#include <math.h>
#include <time.h>

enum { TUNERS = 32, TRANSACTIONS = 40, ROWS = 3, KERNEL_LIMIT_BYTES = 1 << 20 };

static char path[256], kernels_path[256];

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool told(redtune_status status, const char *who, int index) {
    if (status) fprintf(stderr, "%s %d: %s\n", who, index, err.message);
    return !status;
}

/* ---- those that write ------------------------------------------------------------------------ */

/* Puts transactions of some rows; config names the process and transaction. */
static bool put_transactions(int index, int transactions, int rows) {
    rdt_tuning *own = NULL;
    redtune_status status = rdt_tuning_open(path, &own, &err);
    for (int i = 0; i < transactions && !status; i++) {
        rdt_trial trials[ROWS];
        char config[64];
        snprintf(config, sizeof config, "process=%d,transaction=%d", index, i);
        for (int k = 0; k < rows; k++) trials[k] = trials_make(1024, config, 100 + i, 9);
        status = rdt_tuning_put(own, &trials_gpu, &trials_origin, trials, (size_t)rows, &err);
    }
    rdt_tuning_close(own);
    return told(status, "tuner", index);
}

static bool put_singly(int index) { return put_transactions(index, TRANSACTIONS, 1); }

/* How long all transactions take, by one process or by many; 0 where one of them failed. */
static double seconds_of(bool crowd) {
    unlink(path);
    double start = now_s();
    bool good =
        crowd ? run_processes(TUNERS, put_singly) : put_transactions(0, TUNERS * TRANSACTIONS, 1);
    return good ? now_s() - start : 0;
}

/* Many that wait for each other take less than twice as long as one that waits for nobody. What
 * else the machine does slows one or the other, not the better of three. */
static bool wait_briefly(double crowd) {
    double alone = 0;
    for (int i = 0; i < 3; i++) {
        if (i) crowd = fmin(crowd, seconds_of(true));
        alone = fmax(alone, seconds_of(false));
        if (crowd < 2 * alone) return true;
    }
    return false;
}

/* The file is there and empty when they come, as for the first tune of a machine with many GPUs. */
FACT(thirty_two_tuners_lose_no_row) {
    double seconds = seconds_of(true);
    CHECK(seconds > 0);
    printf("%d transactions in %.2f s\n", TUNERS * TRANSACTIONS, seconds);
    CHECK_INT(ask("SELECT count(*) FROM measurement"), TUNERS * TRANSACTIONS);
    CHECK_INT(ask("SELECT count(DISTINCT config) FROM measurement"), TUNERS * TRANSACTIONS);
    CHECK_INT(ask("SELECT count(*) FROM gpu"), 1);
    CHECK_INT(ask("SELECT count(*) FROM origin"), 1);
    CHECK_INT(ask("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    CHECK(!has_beside(path, "-journal"));
    CHECK(seconds < 10 || wait_briefly(seconds));
}

/* ---- with those that read -------------------------------------------------------------------- */

typedef struct sighting {
    int rows;
    bool odd; /* the rows of a transaction are not all there */
    char config[RDT_CONFIG_TEXT_BYTES];
    int of_config;
} sighting;

static redtune_status see(void *user, const rdt_row *row, redtune_error *error) {
    (void)error;
    sighting *seen = user;
    seen->rows++;
    if (strcmp(seen->config, row->trial.config)) {
        seen->odd |= seen->of_config % ROWS != 0;
        seen->of_config = 0;
        memcpy(seen->config, row->trial.config, sizeof seen->config);
    }
    seen->of_config++;
    return REDTUNE_OK;
}

/* What an application does at its start, again and again. Rows never become fewer. */
static bool read_often(int index) {
    int before = 0;
    for (int i = 0; i < TRANSACTIONS; i++) {
        rdt_tuning *own = NULL;
        sighting seen = {.rows = 0};
        redtune_status status = rdt_tuning_open_read(path, &own, &err);
        if (!status) status = rdt_tuning_each(own, &sum_f32, RDT_CACHE_COLD, see, &seen, &err);
        if (!status) status = rank_all(own, take_standing, NULL);
        rdt_tuning_close(own);
        if (!told(status, "reader", index)) return false;
        if (seen.odd || seen.of_config % ROWS || seen.rows % ROWS || seen.rows < before) {
            fprintf(stderr, "reader %d saw %d rows after %d\n", index, seen.rows, before);
            return false;
        }
        before = seen.rows;
    }
    return true;
}

static bool write_or_read(int index) {
    return index % 2 ? put_transactions(index, TRANSACTIONS, ROWS) : read_often(index);
}

FACT(tuners_and_applications_use_it_at_once) {
    CHECK(begin());
    double start = now_s();
    CHECK(run_processes(16, write_or_read));
    printf("%.2f s\n", now_s() - start);
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 8 * TRANSACTIONS * ROWS);
}

/* ---- with those that import ------------------------------------------------------------------ */

enum { IMPORTS = 10, IMPORT_ROWS = 30 };

static redtune_status import_and_undo(rdt_tuning *to, const rdt_rows *rows) {
    char source[256];
    uint64_t count = 0;
    redtune_status status = rdt_exchange_begin(to, &err);
    if (status) return status;
    status = rdt_exchange_add(to, "elsewhere.db", rows, &count, &err);
    status = rdt_exchange_end(to, status, &err);
    return status ? status : rdt_exchange_undo(to, source, &count, &err);
}

/* Each undo takes back the last import, whosever it is: in the end none is left. */
static bool import_often(int index) {
    rdt_rows rows = {0};
    rdt_tuning *own = NULL;
    redtune_status status = rdt_tuning_open(path, &own, &err);
    for (int i = 0; i < IMPORT_ROWS && !status; i++) {
        rdt_row row = {.gpu = trials_gpu, .origin = trials_origin, .date = 1700000000 + i};
        row.trial = trials_make(2048, "imported", 100 + i, 9);
        row.gpu.sm_count = 1 + index % 4; /* of which others import the same */
        status = rdt_rows_add(&rows, &row, &err);
    }
    for (int i = 0; i < IMPORTS && !status; i++) status = import_and_undo(own, &rows);
    rdt_tuning_close(own);
    rdt_rows_free(&rows);
    return told(status, "importer", index);
}

static bool write_or_import(int index) {
    return index % 2 ? put_transactions(index, TRANSACTIONS, 1) : import_often(index);
}

FACT(imports_and_undos_lose_no_row_of_the_tuners) {
    CHECK(begin());
    double start = now_s();
    CHECK(run_processes(8, write_or_import));
    printf("%.2f s\n", now_s() - start);
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 4 * TRANSACTIONS);
    CHECK_INT(ask("SELECT count(DISTINCT config) FROM measurement"), 4 * TRANSACTIONS);
    CHECK_INT(ask("SELECT count(*) FROM import"), 0);
    CHECK_INT(ask("SELECT count(*) FROM gpu"), 1);
    CHECK_INT(ask("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
}

/* ---- the kernel cache ------------------------------------------------------------------------ */

static size_t kernel_content(int key, char out[30000]) {
    size_t bytes = 5000 + (size_t)key % 7 * 3000;
    for (size_t i = 0; i < bytes; i++) out[i] = (char)(i * 13 + (unsigned)key);
    return bytes;
}

/* Whether what is found of the key, if anything, is right. */
static bool find_kernel(rdt_kernels *kernels, int key, bool *there) {
    char name[32], content[30000];
    void *found = NULL;
    size_t bytes = 0;
    bool ptx;
    snprintf(name, sizeof name, "kernel %d", key);
    if (rdt_kernels_find(kernels, name, &found, &bytes, &ptx, &err)) return false;
    *there = found != NULL;
    bool good = !found || (bytes == kernel_content(key, content) && !memcmp(found, content, bytes));
    free(found);
    return good;
}

/* Each uses the kernels in another order, and all do not fit. */
static bool use_kernels(int index) {
    rdt_kernels *kernels = NULL;
    bool good = !rdt_kernels_open(kernels_path, NULL, &kernels, &err);
    if (good) rdt_kernels_limit(kernels, KERNEL_LIMIT_BYTES);
    for (int i = 0; i < TRANSACTIONS && good; i++) {
        char name[32], content[30000];
        bool there = false;
        int key = (i * 7 + index * 11) % 200;
        snprintf(name, sizeof name, "kernel %d", key);
        good = find_kernel(kernels, key, &there);
        if (!good || there) continue;
        size_t bytes = kernel_content(key, content);
        good = !rdt_kernels_put(kernels, name, content, bytes, false, &err) &&
               find_kernel(kernels, key, &there);
    }
    rdt_kernels_close(kernels);
    if (!good) fprintf(stderr, "process %d: %s\n", index, err.message);
    return good;
}

FACT(thirty_two_processes_share_a_cache_that_is_too_small) {
    struct stat info;
    double start = now_s();
    unlink(kernels_path);
    CHECK(run_processes(TUNERS, use_kernels));
    printf("%.2f s\n", now_s() - start);
    CHECK(!stat(kernels_path, &info));
    CHECK(info.st_size <= KERNEL_LIMIT_BYTES + 100000);
    CHECK(ask_sql(kernels_path, "SELECT count(*) FROM kernel") > 40);
    CHECK_INT(ask_sql(kernels_path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
              1);
}

/* Within the 5 seconds that the cache waits. */
FACT(a_lock_that_is_not_given_back_is_told) {
    sqlite3 *writer = NULL;
    rdt_kernels *kernels = NULL;
    unlink(kernels_path);
    CHECK_OK(rdt_kernels_open(kernels_path, NULL, &kernels, &err), err);
    CHECK_OK(rdt_kernels_put(kernels, "first", "x", 1, false, &err), err);
    CHECK(!sqlite3_open(kernels_path, &writer));
    CHECK(!sqlite3_exec(writer, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    double start = now_s();
    CHECK_FAILS(rdt_kernels_put(kernels, "second", "y", 1, false, &err), REDTUNE_DATABASE, err,
                "another process is writing it");
    CHECK(now_s() - start > 4.9 && now_s() - start < 8);
    sqlite3_close(writer);
    CHECK_OK(rdt_kernels_put(kernels, "second", "y", 1, false, &err), err);
    rdt_kernels_close(kernels);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    snprintf(path, sizeof path, "%s", in_scratch("tuning.db"));
    snprintf(kernels_path, sizeof kernels_path, "%s", in_scratch("kernels.db"));
    int failed = check_run(argc, argv);
    rdt_tuning_close(tuning);
    scratch_end();
    return failed;
}
