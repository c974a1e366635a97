/* Cell: the value of one column of a row: its kind, its names, and what it may be. */
#pragma once

#include "cache/rows.h"

/* Names, texts, integers, integers that may be unknown, and what is NULL unless the outcome is
 * good. */
typedef enum rdt_cell_kind {
    RDT_CELL_OP,
    RDT_CELL_DTYPE,
    RDT_CELL_LAYOUT,
    RDT_CELL_ORDER,
    RDT_CELL_MASK,
    RDT_CELL_KEYED,
    RDT_CELL_SPREAD_OF,
    RDT_CELL_CACHE,
    RDT_CELL_OUTCOME,
    RDT_CELL_TEXT,
    RDT_CELL_LABEL,
    RDT_CELL_CAUSE,
    RDT_CELL_KERNEL,
    RDT_CELL_INTEGER,
    RDT_CELL_FLAG,
    RDT_CELL_DATE,
    RDT_CELL_COUNT,
    RDT_CELL_AXES,
    RDT_CELL_EXTENT,
    RDT_CELL_PLACE,
    RDT_CELL_CLOCK,
    RDT_CELL_BITS,
    RDT_CELL_CONDITION,
    RDT_CELL_SAMPLES,
    RDT_CELL_TIME,
    RDT_CELL_SPREAD,
} rdt_cell_kind;

typedef struct rdt_cell {
    rdt_cell_kind kind;
    int64_t least, most;
    size_t offset, bytes; /* of the field in rdt_row */
    const char *wrong;
} rdt_cell;

int64_t rdt_cell_integer(const rdt_row *row, const rdt_cell *cell);
void rdt_cell_set_integer(rdt_row *row, const rdt_cell *cell, int64_t value);

bool rdt_cell_is_name(const rdt_cell *cell);
bool rdt_cell_is_text(const rdt_cell *cell);
bool rdt_cell_may_be_unknown(const rdt_cell *cell);
bool rdt_cell_is_of_good(const rdt_cell *cell);
/* What the field of an optional column has where the column is NULL. */
int64_t rdt_cell_missing(const rdt_cell *cell);

/* NULL for a value that has no name. */
const char *rdt_cell_name(rdt_cell_kind kind, int value);
/* -1 for no such name. */
int rdt_cell_find_name(rdt_cell_kind kind, const char *name);

bool rdt_cell_within(int64_t value, const rdt_cell *cell);
/* Whether the row may be stored with its value of this column. */
bool rdt_cell_fits(const rdt_row *row, const rdt_cell *cell);
