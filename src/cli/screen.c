/* Screen: how wide the terminal is that lines go to, and prose that fills its lines. */
#define _DEFAULT_SOURCE /* TIOCGWINSZ */
#include "cli/screen.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

enum { PROSE_COLUMNS = 100 };

size_t rdt_screen_columns(FILE *out, size_t otherwise) {
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col) return otherwise;
    return size.ws_col;
}

/* Returns the column behind the line's words; from column on, with a blank between. */
static size_t fill_line(const char *line, size_t length, size_t column, size_t columns, FILE *out) {
    for (size_t at = 0; at < length;) {
        size_t word = strcspn(line + at, " \n");
        if (column && column + 1 + word > columns)
            fputc('\n', out), column = 0;
        else if (column)
            fputc(' ', out), column++;
        fprintf(out, "%.*s", (int)word, line + at);
        column += word;
        at += word + strspn(line + at + word, " ");
    }
    return column;
}

void rdt_screen_print_prose(const char *text, FILE *out) {
    size_t columns = rdt_screen_columns(out, PROSE_COLUMNS), column = 0;
    if (columns >= PROSE_COLUMNS) {
        fputs(text, out);
        return;
    }
    while (*text) {
        size_t length = strcspn(text, "\n");
        bool is_prose = length && *text != ' ';
        if (is_prose) column = fill_line(text, length, column, columns, out);
        if (column && (!is_prose || !text[length])) fputc('\n', out), column = 0;
        if (!is_prose) fprintf(out, "%.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
    if (column) fputc('\n', out);
}

void rdt_screen_print_line(const char *line, FILE *out) {
    const size_t length = strlen(line), columns = rdt_screen_columns(out, length);
    if (length <= columns)
        fputs(line, out);
    else
        fill_line(line, length, 0, columns, out);
    fputc('\n', out);
}
