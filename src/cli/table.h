/* Table: rows of text printed in aligned columns. */
#ifndef RDT_CLI_TABLE_H
#define RDT_CLI_TABLE_H

#include <stdbool.h>
#include <stdio.h>

/* Starts with column_count and right set, the rest zero. */
typedef struct rdt_table {
    size_t column_count;
    const char *right; /* per column: 'r' aligns it to the right */
    char **cells;      /* row by row */
    size_t cell_count, capacity;
    bool failed; /* memory ran out: a row is missing */
} rdt_table;

/* Copies one cell; column_count of them make a row. */
void rdt_table_add(rdt_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Two blanks between columns, none at the end of a line. */
void rdt_table_print(const rdt_table *table, FILE *out);
void rdt_table_free(rdt_table *table);

#endif
