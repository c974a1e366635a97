/* Table: rows of text printed in aligned columns. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "redtune/redtune.h"

/* Starts with column_count and right set, the rest zero. */
typedef struct rdt_table {
    size_t column_count;
    const char *right; /* per column: 'r' aligns it to the right */
    char *cells;       /* row by row, each with its NUL */
    size_t cell_count, bytes, capacity;
    bool failed; /* memory ran out: a row is missing */
} rdt_table;

/* Copies one cell; column_count of them make a row. */
void rdt_table_add(rdt_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A row of column_count cells. */
void rdt_table_add_row(rdt_table *table, const char *const cells[]);
/* Cells: the problem's op, dtype and size; a time in us; above / below. What is not known, or 0, is
 * a dash. */
void rdt_table_add_problem(rdt_table *table, const redtune_problem *problem);
void rdt_table_add_us(rdt_table *table, double ns);
void rdt_table_add_ratio(rdt_table *table, double above, double below);
/* Two blanks between columns, none at the end of a line. In a table that would be wider than out's
 * terminal, or than 100 columns, the last cell of a row is broken behind commas and blanks, or
 * where little room is left for it, stands on lines of its own below the row. A word that is too
 * long stays whole. The table is empty afterwards. */
void rdt_table_print(rdt_table *table, FILE *out);

/* The same as CSV, with all cells but the numbers in quotes. */
void rdt_table_print_csv(rdt_table *table, FILE *out);

/* Whether two GPUs are of one model. */
bool rdt_table_is_same_gpu(const redtune_device_info *a, const redtune_device_info *b);
/* The heading of a GPU model's table, with the CUDA version of its driver unless that is 0. */
void rdt_table_print_gpu(const redtune_device_info *gpu, int driver_version, FILE *out);
