/* Reserved: the fields at the end of a public struct that this version has no names for.
 *
 * A later version names the first of them, and zero means what it meant before. So a caller's
 * struct with one that is not zero comes from a program of a later version, or was never zeroed,
 * and doing what is known of it would do another thing than was asked for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "base/fail.h"

/* The first two arguments of what follows. */
#define RDT_RESERVED(object) (object)->reserved, sizeof(object)->reserved

static inline bool rdt_reserved_is_clear(const void *reserved, size_t bytes) {
    const unsigned char *each = reserved;
    uint64_t all = 0, word;
    for (; bytes >= sizeof word; bytes -= sizeof word, each += sizeof word) {
        memcpy(&word, each, sizeof word);
        all |= word;
    }
    while (bytes) all |= each[--bytes];
    return !all;
}

/* REDTUNE_UNSUPPORTED, naming the type, unless they are clear. */
redtune_status rdt_reserved_check(const void *reserved, size_t bytes, const char *type,
                                  redtune_error *err);
