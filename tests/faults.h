/* Faults: makes one allocation fail, so that a test can fail each of them once.
 *
 *     for (long n = 1; faults_begin(n); n++) {
 *         redtune_status status = rdt_something(&out, &err);
 *         if (faults_end()) { CHECK_INT(status, REDTUNE_MEMORY); continue; }
 *         CHECK_OK(status, err);   ... the last round: nothing failed
 *     }
 *
 * Needs the linker's --wrap for the functions below, which tests/CMakeLists.txt gives every unit
 * test. What happens inside shared libraries is not touched. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes the nth allocation from now on fail, once. false after a round in which none did: the
 * call under test makes fewer. */
bool faults_begin(long n);
/* Stops failing. Whether an allocation did fail. */
bool faults_end(void);

/* For a call of thousands of allocations, which is not to be begun anew for each of them: between
 * faults_fork and faults_end the process forks at each one, and the copy goes on with that one
 * failed, to the end of `run`. Lua repeats an allocation that failed, after a collection: in the
 * copy the repetition fails, too; in the original it succeeds.
 *
 *     static void run(void) {
 *         faults_fork();
 *         redtune_status status = rdt_something(&out, &err);
 *         CHECK_INT(status, faults_end() ? REDTUNE_MEMORY : REDTUNE_OK);
 *         rdt_something_close(out);
 *     }
 *     ... CHECK(faults_in_copies(run, 1, &check_state.failed) > 0);
 *
 * `each`: how many allocations lie from one that fails to the next; 1 fails every one.
 *
 * Returns how many copies there were, or 0 where in one of them, or in the original, run has set
 * *failed or has kept a block that it allocated. The process has one thread. */
long faults_in_copies(void (*run)(void), long each, const bool *failed);
void faults_fork(void);
