/* Exchange: taking rows of other databases in, taking that back, and writing rows out. */
#pragma once

#include "cache/tuning.h"

/* Opens a copy in memory of the database, or an empty one if it does not exist: whatever is done to
 * it leaves the file as it is. */
redtune_status rdt_tuning_open_copy(const char *path, rdt_tuning **out, redtune_error *err);

/* Brackets calls of rdt_exchange_add, which come all into effect or none: end commits if status is
 * REDTUNE_OK, and returns it or why it could not. */
redtune_status rdt_exchange_begin(rdt_tuning *tuning, redtune_error *err);
redtune_status rdt_exchange_end(rdt_tuning *tuning, redtune_status status, redtune_error *err);
/* Adds those rows that are not there yet: what is there stays. Two rows are the
 * same if all of their columns are, except ids and import. source is NULL: they count as measured
 * here (merge), also those that came by an import before, unless they are marked as imported
 * themselves; else all count as imported, by one import of that name, which undo takes back. */
redtune_status rdt_exchange_add(rdt_tuning *tuning, const char *source, const rdt_rows *rows,
                                uint64_t *added, redtune_error *err);

/* Takes the last import back. *removed rows; *source is its name, "" if there was none. */
redtune_status rdt_exchange_undo(rdt_tuning *tuning, char source[256], uint64_t *removed,
                                 redtune_error *err);

/* Both write rows in one order, whatever the order they come in, each once and none marked as
 * imported: equal sets of rows give equal bytes. *data is freed by the caller with free. */
redtune_status rdt_exchange_write_file(const rdt_rows *rows, void **data, size_t *bytes,
                                       redtune_error *err);
redtune_status rdt_exchange_write_json(const rdt_rows *rows, void **data, size_t *bytes,
                                       redtune_error *err);
