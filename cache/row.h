/* Row: a measurement between C and SQL, by the lists of columns, and what a row may hold. */
#pragma once

#include <sqlite3.h>
#include "cache/columns.h"
#include "cache/rows.h"

#define RDT_ROW_OF_M(kind, column, least, most, field, note, before) ", m." #column
#define RDT_ROW_OF_G(kind, column, least, most, field, note, before) ", g." #column
#define RDT_ROW_OF_O(kind, column, least, most, field, note, before) ", o." #column

/* What rdt_row_read reads, from the tables measurement m, gpu g and origin o. */
#define RDT_ROW_COLUMNS                                                                            \
    "m.gpu, m.import" RDT_MEASUREMENT_LIST(RDT_ROW_OF_M) RDT_GPU_LIST(RDT_ROW_OF_G)                \
        RDT_ORIGIN_LIST(RDT_ROW_OF_O)

/* What tells measurements apart; what rdt_row_bind_measurement binds, and a parameter for each. */
#define RDT_ROW_CONTENT     "gpu, origin" RDT_MEASUREMENT_LIST(RDT_COLUMN_NAME)
#define RDT_ROW_MEASUREMENT RDT_ROW_CONTENT ", import"
#define RDT_ROW_VALUES      "?, ?" RDT_MEASUREMENT_LIST(RDT_COLUMN_VALUE) ", ?"

/* NULL if the row is one that may be stored, else what is wrong: "its count is not valid". */
const char *rdt_row_check(const rdt_row *row);

/* false, and *row and *gpu (the id of its GPU) undefined, where a column is not of its type, or its
 * value is invalid in the model. */
bool rdt_row_read(sqlite3_stmt *statement, rdt_row *row, int64_t *gpu);

/* NULL, or what is wrong: "its samples is not valid". */
const char *rdt_row_read_or_why(sqlite3_stmt *statement, rdt_row *row, int64_t *gpu);
/* The column of RDT_ROW_COLUMNS that this is about; -1: several, or none. */
int rdt_row_column_of(const char *wrong);

/* The same of a row of RDT_ROW_CLASS but cache_state; what *problem has beside these stays. */
bool rdt_row_read_class(sqlite3_stmt *statement, redtune_problem *problem);

/* The same of a row that has the columns of gpu except its id. */
bool rdt_row_read_gpu(sqlite3_stmt *statement, rdt_facts *gpu);

/* Each returns SQLite's code. The row must outlive the step. */
int rdt_row_bind_gpu(sqlite3_stmt *statement, const rdt_row *row);
int rdt_row_bind_origin(sqlite3_stmt *statement, const rdt_row *row);
int rdt_row_bind_measurement(sqlite3_stmt *statement, const rdt_row *row, int64_t gpu,
                             int64_t origin);
/* What measurements of one class in one cache state have in common, and those of one subject beside
 * it and the GPU; each is bound in this order. */
#define RDT_ROW_CLASS  "op, dtype, result, layout, ordering, mask, key_dtype, spread, cache_state"
#define RDT_ROW_EXTENT "count, kept, reduced, greatest, median, keys"
int rdt_row_bind_class(sqlite3_stmt *statement, const rdt_trial *trial);
int rdt_row_bind_subject(sqlite3_stmt *statement, const rdt_trial *trial, int64_t gpu);
