/* Disk: a disk under SQLite that fails, so that a test can fail each of its calls once.
 *
 *     disk_install();   ... once, before anything is opened
 *     for (long n = 1; disk_begin(DISK_FULL, n); n++) {
 *         redtune_status status = rdt_something(path, &err);   ... opens and closes the file
 *         bool hit = disk_end();
 *         ... the file is as it was before or as it is to be, and after the last round the latter
 *     }
 *
 * It lies over SQLite's own VFS. Nothing is synced in truth, which would only take time. */
#ifndef RDT_TESTS_DISK_H
#define RDT_TESTS_DISK_H

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

/* Fails the nth of the calls that the fault may hit. false after a round in which none was hit: the
 * calls under test make fewer. seed says what is lost with the power. */
bool disk_begin(disk_fault fault, long n, unsigned seed);
/* Whether a call was hit. All files must be closed. With DISK_POWER, the power goes now if it did
 * not before. */
bool disk_end(void);

#endif
