/* Row files: new databases of 40 rows, what they hold, and the journal of a write cut short. */
#pragma once

#include "trials.h"

static void close_tuning(void) {
    rdt_tuning_close(tuning);
    tuning = NULL;
}

/* A new database of 40 rows at this path. */
static bool make(const char *path) {
    unlink(path);
    rdt_trial trials[40];
    for (int i = 0; i < 40; i++) trials[i] = trials_make(1024u << i % 8, "block=256", 1000 + i, 9);
    redtune_status status = rdt_tuning_open(path, &tuning, &err);
    if (!status) status = rdt_tuning_put(tuning, &trials_gpu, &trials_origin, trials, 40, &err);
    close_tuning();
    return !status;
}

static bool make_with(const char *path, const char *sql) {
    return make(path) && run_sql(path, sql);
}

static int64_t rows_in(rdt_tuning *handle) {
    int64_t rows = -1, gpus = -1;
    return rdt_tuning_census(handle, &rows, &gpus, &err) ? -1 : rows;
}

/* A journal's header, https://www.sqlite.org/fileformat2.html#the_rollback_journal: it would cut
 * the file to no pages, which are of 4096 bytes, of sectors of 512. */
static const unsigned char journal_header[512] = {0xd9, 0xd5, 0x05, 0xf9,     0x20,
                                                  0xa1, 0x63, 0xd7, [22] = 2, [26] = 0x10};
