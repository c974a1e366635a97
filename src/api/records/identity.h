/* Identity: whether databases are still the ones that they were, without reading them. */
#pragma once

#include "base/hash.h"

typedef char rdt_identity[RDT_HASH_TEXT_BYTES];

/* Fills a text that is another one whenever one of the files is: by place, inode, size and times.
 * "" where that cannot be told: a file that was written a moment ago may be written again within
 * the same tick of the clock, and one with a journal beside it is not what its bytes say. */
void rdt_identity_of(char *const paths[], int count, rdt_identity out);
