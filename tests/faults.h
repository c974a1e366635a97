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
