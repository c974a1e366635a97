/* Recording an error: one line that fills a redtune_error and returns its status. */
#pragma once

#include "redtune/redtune.h"

/* Fills err (may be NULL) and returns status. Anything but text, such as a newline in a name,
 * becomes '?' in the message. code is the failing library's own code, or 0. */
redtune_status rdt_fail(redtune_error *err, redtune_status status, long code, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));

/* REDTUNE_MEMORY for an allocation of this many bytes. */
redtune_status rdt_fail_memory(redtune_error *err, size_t bytes);

/* REDTUNE_INTERRUPTED for "tuning" or the like, which keeps what it has measured. */
redtune_status rdt_fail_interrupted(redtune_error *err, const char *work);

/* Puts "<context>: " in front of an error already recorded, and returns its status. */
redtune_status rdt_fail_within(redtune_error *err, redtune_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
