/* Salvage: the rows of a tuning database that SQLite does not open, from its pages alone. */
#pragma once

#include "cache/tuning.h"

typedef struct rdt_salvage rdt_salvage;

redtune_status rdt_salvage_open(rdt_salvage **out, redtune_error *err);
/* salvage may be NULL. */
void rdt_salvage_close(rdt_salvage *salvage);

/* Takes what it finds in the bytes of a file: a database, whatever is left of it, or the log that
 * WAL mode keeps beside one, whose pages are the newer ones. Pages that were deleted and not yet
 * used again give their rows, too. Bytes of anything else give none. */
redtune_status rdt_salvage_add(rdt_salvage *salvage, const void *data, size_t bytes,
                               redtune_error *err);

/* Calls each with every row that was found and fits the model, as rdt_tuning_each does. *told: how
 * many measurements the bytes tell of, be it by an index alone. */
redtune_status rdt_salvage_each(rdt_salvage *salvage, rdt_tuning_each_fn *each, void *user,
                                int64_t *told, redtune_error *err);
/* The name of the file that an import was of; "" where it was not found. */
redtune_status rdt_salvage_source(rdt_salvage *salvage, int64_t import, char out[256],
                                  redtune_error *err);

/* Whether the bytes begin as an SQLite file does which is not one of redtune's, and as one that a
 * newer redtune wrote. */
bool rdt_salvage_is_foreign(const void *data, size_t bytes);
bool rdt_salvage_is_newer(const void *data, size_t bytes);
