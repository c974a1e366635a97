/* Table: rows of text printed in aligned columns. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "cli/message.h"
#include "cli/screen.h"
#include "cli/shape.h"

enum {
    COLUMNS_MAX = 16,
    CELL_BYTES = 1024,
    LINE_COLUMNS = 100, /* at most */
    LINE_LEAST = 60,
    LAST_LEAST = 40, /* columns that a broken cell needs beside the others */
    BELOW = 4,       /* blanks before one that stands below them */
};

void rdt_table_add(rdt_table *table, const char *format, ...) {
    if (table->failed) return;
    if (table->capacity - table->bytes < CELL_BYTES) {
        size_t capacity = 2 * table->capacity + CELL_BYTES;
        char *cells = realloc(table->cells, capacity);
        table->failed = !cells;
        if (!cells) return;
        table->cells = cells;
        table->capacity = capacity;
    }
    char *cell = table->cells + table->bytes;
    va_list args;
    va_start(args, format);
    vsnprintf(cell, CELL_BYTES, format, args);
    va_end(args);
    rdt_message_make_plain(cell);
    table->bytes += strlen(cell) + 1;
    table->cell_count++;
}

void rdt_table_add_row(rdt_table *table, const char *const cells[]) {
    for (size_t i = 0; i < table->column_count; i++) rdt_table_add(table, "%s", cells[i]);
}

void rdt_table_add_problem(rdt_table *table, const redtune_problem *problem) {
    char shape[RDT_SHAPE_BYTES];
    rdt_shape_print(shape, problem);
    const bool plain = problem->accuracy == REDTUNE_ACCURACY_PLAIN;
    rdt_table_add(table, "%s%s%s%s", redtune_op_name(problem->op),
                  problem->order == REDTUNE_ORDER_FIXED ? ", fixed" : "", plain ? "" : ", ",
                  plain ? "" : rdt_shape_accuracy_name(problem));
    rdt_table_add(table, "%s", redtune_dtype_name(problem->dtype));
    rdt_table_add(table, "%s", shape);
}

static void add_known(rdt_table *table, double number, const char *unit, bool known) {
    if (known)
        rdt_table_add(table, "%.2f%s", number, unit);
    else
        rdt_table_add(table, "-");
}

void rdt_table_add_us(rdt_table *table, double ns) { add_known(table, ns / 1e3, "", ns > 0); }

void rdt_table_add_ratio(rdt_table *table, double above, double below) {
    add_known(table, above / below, "x", above > 0 && below > 0);
}

/* Bytes of the text that fit into the room, up to behind a comma or blank; more where none is
 * there.
 */
static size_t fitting(const char *text, size_t room) {
    size_t end = 0;
    if (strlen(text) <= room) return strlen(text);
    for (size_t i = 0; text[i] && (i < room || !end); i++)
        if (text[i] == ',' || text[i] == ' ') end = i + 1;
    return end ? end : strlen(text);
}

/* From column start on, in as many lines as it takes. */
static void print_broken(const char *text, int start, int columns, FILE *out) {
    while (*text) {
        size_t length = fitting(text, (size_t)(columns - start)), shown = length;
        while (shown && text[shown - 1] == ' ') shown--;
        fprintf(out, "%.*s", (int)shown, text);
        text += length + strspn(text + length, " ");
        if (*text) fprintf(out, "\n%*s", start, "");
    }
}

typedef struct layout {
    int widths[COLUMNS_MAX];
    int columns;
    int start; /* column of the last cell; 0: it is not broken */
    bool below;
} layout;

/* Returns the next row's first cell. */
static const char *print_row(const rdt_table *table, const layout *layout, const char *cell,
                             FILE *out) {
    int blanks = 0;
    for (size_t i = 0; i < table->column_count; i++, cell += strlen(cell) + 1) {
        int fill = layout->widths[i] - (int)strlen(cell);
        bool right = table->right[i] == 'r', last = i + 1 == table->column_count;
        if (right) blanks += fill;
        /* Blanks wait until something follows them. */
        if (*cell && last && layout->start) {
            if (layout->below) fputc('\n', out);
            fprintf(out, "%*s", layout->below ? layout->start : blanks, "");
            print_broken(cell, layout->start, layout->columns, out);
        } else if (*cell) {
            fprintf(out, "%*s%s", blanks, "", cell);
            blanks = 0;
        }
        if (!right) blanks += fill;
        blanks += 2;
    }
    fputc('\n', out);
    return cell;
}

static int line_columns(FILE *out) {
    const size_t columns = rdt_screen_columns(out, LINE_COLUMNS);
    if (columns > LINE_COLUMNS) return LINE_COLUMNS;
    return columns < LINE_LEAST ? LINE_LEAST : (int)columns;
}

static void clear_table(rdt_table *table) {
    free(table->cells);
    table->cells = NULL;
    table->bytes = table->cell_count = table->capacity = 0;
}

void rdt_table_print_csv(rdt_table *table, FILE *out) {
    const char *at = table->cells;
    for (size_t i = 0; i < table->cell_count; i++, at++) {
        const bool last = (i + 1) % table->column_count == 0;
        const bool bare = i < table->column_count || table->right[i % table->column_count] == 'r';
        if (!bare) fputc('"', out);
        for (; *at; at++) fprintf(out, *at == '"' ? "\"\"" : "%c", *at);
        fputs(bare ? "" : "\"", out);
        fputc(last ? '\n' : ',', out);
    }
    clear_table(table);
}

void rdt_table_print(rdt_table *table, FILE *out) {
    layout layout = {.columns = line_columns(out)};
    int before = 0;
    const char *cell = table->cells;
    for (size_t i = 0; i < table->cell_count; i++, cell += strlen(cell) + 1) {
        int *widest = &layout.widths[i % table->column_count];
        if ((int)strlen(cell) > *widest) *widest = (int)strlen(cell);
    }
    for (size_t i = 0; i + 1 < table->column_count; i++) before += layout.widths[i] + 2;
    if (before + layout.widths[table->column_count - 1] > layout.columns) {
        layout.below = layout.columns - before < LAST_LEAST;
        layout.start = layout.below ? BELOW : before;
    }
    cell = table->cells;
    for (size_t rows = table->cell_count / table->column_count; rows; rows--)
        cell = print_row(table, &layout, cell, out);
    clear_table(table);
}

bool rdt_table_is_same_gpu(const redtune_device_info *a, const redtune_device_info *b) {
    return !strcmp(a->name, b->name) && a->major == b->major && a->minor == b->minor &&
           a->sm_count == b->sm_count && a->l2_bytes == b->l2_bytes && a->peak_gbps == b->peak_gbps;
}

void rdt_table_print_gpu(const redtune_device_info *gpu, int driver_version, FILE *out) {
    char name[sizeof gpu->name], bus[32] = "", driver[48] = "", line[sizeof name + 192];
    snprintf(name, sizeof name, "%s", gpu->name);
    rdt_message_make_plain(name);
    if (gpu->peak_gbps > 0) snprintf(bus, sizeof bus, ", bus %.0f GB/s", gpu->peak_gbps);
    if (driver_version)
        snprintf(driver, sizeof driver, ", driver for CUDA %d.%d", driver_version / 1000,
                 driver_version % 1000 / 10);
    snprintf(line, sizeof line, "%s, compute capability %d.%d, %d SMs, L2 %.0f MiB%s%s\n\n", name,
             gpu->major, gpu->minor, gpu->sm_count, (double)gpu->l2_bytes / (1 << 20), bus, driver);
    rdt_screen_print_prose(line, out);
}
