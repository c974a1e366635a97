/* Inside of the tuning database, for the files that move its rows. */
#pragma once

#include "cache/row.h"
#include "cache/sqlite.h"
#include "cache/tuning.h"

extern const rdt_sqlite_kind rdt_tuning_kind;

struct rdt_tuning {
    rdt_sqlite file;
    bool empty; /* opened for reading while it had no bytes: nothing is in it */
};

/* The ids of a row's GPU and origin, which are added if they are not there. Those of `last`, unless
 * it is NULL, are in *gpu and *origin already. In a transaction. */
redtune_status rdt_tuning_put_keys(rdt_sqlite *file, const rdt_row *row, const rdt_row *last,
                                   int64_t *gpu, int64_t *origin, redtune_error *err);
/* Gives the rows that a statement, whose parameters are bound, selects as RDT_ROW_COLUMNS. One that
 * does not fit the model is left out. */
redtune_status rdt_tuning_give_rows(rdt_tuning *tuning, sqlite3_stmt *statement,
                                    rdt_tuning_each_fn *each, void *user, redtune_error *err);
