/* Disk: a disk under SQLite that fails, so that a test can fail each of its calls once.
 *
 *     disk_install();   ... once, before anything is opened
 *     disk_job job = {.self = &mine, .name = "putting", .start = copy_file, .run = put_rows,
 *                     .holds = is_old_or_new, .step = 1, .powers = 5};
 *     CHECK(disk_survives_faults(&job));
 *     CHECK(disk_survives_power(&job));
 *
 * It lies over SQLite's own VFS. Nothing is synced in truth, which would only take time. */
#pragma once

#include <stdbool.h>

#define DISK_FAULT_LIST(X)                                                                         \
    X(BROKEN, "a call that writes, syncs, truncates, deletes or makes a file fails")               \
    X(FULL, "there is no space from a write on")                                                   \
    X(SHORT, "a write comes to half of its bytes and fails")                                       \
    X(UNREADABLE, "a read fails")                                                                  \
    X(KILLED, "nothing reaches the disk from a call on")                                           \
    X(POWER, "nothing reaches the disk from a call on, and of what was not synced before only "    \
             "some")

#define DISK_FAULT_NAME(name, text) DISK_##name,
typedef enum disk_fault { DISK_FAULT_LIST(DISK_FAULT_NAME) DISK_FAULTS } disk_fault;
#undef DISK_FAULT_NAME

/* Makes the disk SQLite's default. */
bool disk_install(void);
const char *disk_fault_text(disk_fault fault);
/* How many files were synced by now. */
long disk_syncs(void);

/* Fails the nth of the calls that the fault may hit. false after a round in which none was hit: the
 * calls under test make fewer. seed says what is lost with the power. */
bool disk_begin(disk_fault fault, long n, unsigned seed);
/* Whether a call was hit. All files must be closed. With DISK_POWER, the power goes now if it did
 * not before. */
bool disk_end(void);

/* What is done over and over, each time with the next of its calls failing; the functions get self.
 */
typedef struct disk_job {
    const void *self;
    const char *name;
    bool (*start)(const void *self); /* makes all as it is before */
    void (*run)(const void *self);   /* opens the files, and closes them */
    /* Whether all is as it may be afterwards; says why not. hit: a call has failed. */
    bool (*holds)(const void *self, disk_fault fault, bool hit);
    long step;  /* from a call that fails to the next */
    int powers; /* how often the power goes at each */
    long hits;  /* counts the calls that failed */
} disk_job;

/* With every fault but the power's: fails the calls in turn. false, and a line about it, where
 * something does not hold. */
bool disk_survives_faults(disk_job *job);
bool disk_survives_power(disk_job *job);
