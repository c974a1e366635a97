/* Untrusted: reading rows from bytes that anybody may have made. */
#pragma once

#include "cache/lines.h"

/* The most that such bytes may hold. */
enum { RDT_UNTRUSTED_BYTES_MAX = 256 << 20 };

/* Reads the file at path, or standard input for "-". Refuses what is no regular file, is too
 * large, or has a journal of SQLite beside it, which would be a part of it. *data is freed by the
 * caller. */
redtune_status rdt_untrusted_read(const char *path, void **data, size_t *bytes, redtune_error *err);

/* Gives the rows in the bytes, which are a tuning database (of this version or an older one) or
 * JSON as rdt_lines_each reads it. name is what messages call them. Nothing in the bytes is run or
 * played back, and what reading them takes is bounded. A row that does not fit the model goes to
 * refuse; anything else that is not as it must be refuses them all, with REDTUNE_DATABASE and the
 * reason. */
redtune_status rdt_untrusted_each(const char *name, const void *data, size_t bytes,
                                  rdt_tuning_each_fn *each, rdt_refuse_fn *refuse, void *user,
                                  redtune_error *err);
