/* Inside of the tuning database, for the files that move its rows. */
#pragma once

#include "cache/row.h"
#include "cache/sqlite.h"

extern const rdt_sqlite_kind rdt_tuning_kind;

struct rdt_tuning {
    rdt_sqlite file;
    bool empty; /* opened for reading while it had no bytes: nothing is in it */
};

/* The ids of a row's GPU and origin, which are added if they are not there. In a transaction. */
redtune_status rdt_tuning_put_gpu(rdt_sqlite *file, const rdt_row *row, int64_t *id,
                                  redtune_error *err);
redtune_status rdt_tuning_put_origin(rdt_sqlite *file, const rdt_row *row, int64_t *id,
                                     redtune_error *err);
/* Gives the rows that a statement, whose parameters are bound, selects as RDT_ROW_COLUMNS. One that
 * does not fit the model is counted in *unfit (may be NULL) and left out. */
redtune_status rdt_tuning_give_rows(rdt_tuning *tuning, sqlite3_stmt *statement,
                                    rdt_tuning_each_fn *each, void *user, int64_t *unfit,
                                    redtune_error *err);
