/* Tuning: the tuning database, one shareable SQLite file of measurements (docs/database.md).
 *
 * Any number of processes may use one file at once, writers one after another: to write, a call
 * waits up to 30 seconds for its turn; to read, up to 5 seconds for a commit to end. Within a
 * process one thread at a time uses a handle, and a child of fork() opens its own. Errors about the
 * file name it, SQLite's reason and a remedy. */
#pragma once

#include "cache/rows.h"

typedef struct rdt_tuning rdt_tuning;

/* Opens for writing, creating the file and its folder if they are not there, with the schema; a
 * file without a byte is a new one. Undoes an interrupted write, and migrates an older
 * version.
 * REDTUNE_DATABASE for a file that is no tuning database, is damaged or of a newer version (it is
 * left untouched), REDTUNE_FILE for a file or folder that cannot be created, read or written. */
redtune_status rdt_tuning_open(const char *path, rdt_tuning **out, redtune_error *err);
/* Opens for reading, and writes nothing whatever happens: neither the file nor its folder need be
 * writable. A file of an older version is copied into memory and taken forward there. A file that
 * does not exist is an error here (REDTUNE_FILE); one that a writer left half done is
 * REDTUNE_DATABASE until rdt_tuning_open has repaired it. */
redtune_status rdt_tuning_open_read(const char *path, rdt_tuning **out, redtune_error *err);
/* The same, but what a writer that is no more left half done is undone first. On a network file
 * system, where a writer on another host cannot be told from one that is no more, nothing is
 * undone, and the call waits up to 5 seconds for the writer to end. */
redtune_status rdt_tuning_open_whole(const char *path, rdt_tuning **out, redtune_error *err);
/* As rdt_tuning_open, for who has something better to do than to wait: up to 5 seconds. */
redtune_status rdt_tuning_open_briefly(const char *path, rdt_tuning **out, redtune_error *err);
/* REDTUNE_DATABASE where the file that is open is not the path's any more. */
redtune_status rdt_tuning_check_place(const rdt_tuning *tuning, redtune_error *err);
/* tuning may be NULL. */
void rdt_tuning_close(rdt_tuning *tuning);

/* Waits up to ten minutes for its turn from now on, and calls waits after 5 seconds of each wait;
 * with NULL, as before. */
void rdt_tuning_open_patience(rdt_tuning *tuning, void (*waits)(void *user), void *user);

/* Whether an error says that the file cannot be reached or that another process is at it, which may
 * be over soon, rather than that it is not what it should be. */
bool rdt_tuning_open_is_unavailable(const redtune_error *why);

/* Whether an error says that the file's content is not what it should be, whoever asks. */
bool rdt_tuning_open_is_damaged(const redtune_error *why);

/* Stores trials, all in one transaction or none, measured now. Where the file has a later date of a
 * problem (a clock was wrong), its rows get the next one: they are the latest. Their problems are
 * resolved. A trial that rdt_tuning_each would not give back (an unknown op, a time that is no
 * time, a text with control characters) is REDTUNE_INVALID. */
redtune_status rdt_tuning_put(rdt_tuning *tuning, const rdt_facts *gpu, const rdt_origin *origin,
                              const rdt_trial *trials, size_t count, redtune_error *err);

/* Calls each with every stored measurement of op, dtype, result and cache state (of all GPUs and
 * counts), by count, gpu and then age; of all, in no order, where problem is NULL. each returns a
 * status; another than OK ends it with that. The row lives during the call. While each runs no
 * writer can commit, and it must not use tuning: it should only take what it needs. Rows that do
 * not fit the model are left out. */
typedef redtune_status rdt_tuning_each_fn(void *user, const rdt_row *row, redtune_error *err);
redtune_status rdt_tuning_each(rdt_tuning *tuning, const redtune_problem *problem,
                               rdt_cache_state cache, rdt_tuning_each_fn *each, void *user,
                               redtune_error *err);

/* Calls each with every class that there are rows of in the problem's layout: with the problem
 * itself, except the class's op, dtype, result, order and accuracy. */
typedef redtune_status rdt_tuning_class_fn(void *user, const redtune_problem *of_class,
                                           redtune_error *err);
redtune_status rdt_tuning_each_class(rdt_tuning *tuning, const redtune_problem *problem,
                                     rdt_tuning_class_fn *each, void *user, redtune_error *err);

/* The same in no order, but only the rows that may have a say in who wins at their count. */
redtune_status rdt_tuning_each_contender(rdt_tuning *tuning, const redtune_problem *problem,
                                         rdt_cache_state cache, rdt_tuning_each_fn *each,
                                         void *user, redtune_error *err);

/* The same of the GPU models of that name, and of counts between those. */
typedef struct rdt_tuning_near {
    const char *gpu;
    uint64_t least, most; /* up to INT64_MAX */
} rdt_tuning_near;
redtune_status rdt_tuning_each_near(rdt_tuning *tuning, const redtune_problem *problem,
                                    rdt_cache_state cache, const rdt_tuning_near *near,
                                    rdt_tuning_each_fn *each, void *user, redtune_error *err);

/* The same of the good rows measured here that are no contenders: they have a say only in whether
 * an imported row counts (cache/contenders.h). */
redtune_status rdt_tuning_each_quick(rdt_tuning *tuning, const redtune_problem *problem,
                                     rdt_cache_state cache, rdt_tuning_each_fn *each, void *user,
                                     redtune_error *err);

/* Calls fill with every row made with that version of the templates whose kernel is unknown, and
 * stores the kernel that it puts into the row, if any; all in one transaction. */
typedef redtune_status rdt_tuning_fill_fn(void *user, rdt_row *row, redtune_error *err);
redtune_status rdt_tuning_fill_kernels(rdt_tuning *tuning, const char *templates,
                                       rdt_tuning_fill_fn *fill, void *user, redtune_error *err);

/* Calls each with every GPU model that there are measurements of, and the date of the latest. */
typedef redtune_status rdt_tuning_gpu_fn(void *user, const rdt_facts *gpu, int64_t latest,
                                         redtune_error *err);
redtune_status rdt_tuning_each_gpu(rdt_tuning *tuning, rdt_tuning_gpu_fn *each, void *user,
                                   redtune_error *err);

/* Looks at all pages, indexes and rows; opened for reading or writing. REDTUNE_DATABASE where the
 * content is damaged. */
redtune_status rdt_tuning_check(rdt_tuning *tuning, redtune_error *err);

/* Counts for people: rows and GPU models. */
redtune_status rdt_tuning_census(rdt_tuning *tuning, int64_t *measurements, int64_t *gpus,
                                 redtune_error *err);
