/* Table: rows of text printed in aligned columns. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "cli/message.h"

enum { COLUMNS_MAX = 16, CELL_BYTES = 1024 };

void rdt_table_add(rdt_table *table, const char *format, ...) {
    if (table->failed) return;
    if (table->cell_count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 64;
        char **cells = realloc(table->cells, capacity * sizeof *cells);
        if (!cells) {
            table->failed = true;
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    char text[CELL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rdt_message_make_plain(text);
    size_t bytes = strlen(text) + 1;
    char *cell = malloc(bytes);
    if (!cell) {
        table->failed = true;
        return;
    }
    table->cells[table->cell_count++] = memcpy(cell, text, bytes);
}

static void print_row(const rdt_table *table, const int widths[COLUMNS_MAX], size_t first,
                      FILE *out) {
    int blanks = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        const char *cell = table->cells[first + i];
        int fill = widths[i] - (int)strlen(cell);
        bool right = table->right[i] == 'r';
        if (right) blanks += fill;
        /* Blanks wait until something follows them. */
        if (*cell) {
            fprintf(out, "%*s%s", blanks, "", cell);
            blanks = 0;
        }
        if (!right) blanks += fill;
        blanks += 2;
    }
    fputc('\n', out);
}

void rdt_table_print(const rdt_table *table, FILE *out) {
    int widths[COLUMNS_MAX] = {0};
    for (size_t i = 0; i < table->cell_count; i++) {
        int width = (int)strlen(table->cells[i]);
        int *widest = &widths[i % table->column_count];
        if (width > *widest) *widest = width;
    }
    for (size_t i = 0; i + table->column_count <= table->cell_count; i += table->column_count)
        print_row(table, widths, i, out);
}

void rdt_table_free(rdt_table *table) {
    for (size_t i = 0; i < table->cell_count; i++) free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = table->capacity = 0;
}
