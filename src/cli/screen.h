/* Screen: how wide the terminal is that lines go to, and prose that fills its lines. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* How many columns out's terminal has. Where out is no terminal, or one that does not say:
 * `otherwise`. */
size_t rdt_screen_columns(FILE *out, size_t otherwise);
/* Paragraphs of lines below 100 columns, filled anew where the terminal is narrower. A line that
 * begins with a blank stays as it is. */
void rdt_screen_print_prose(const char *text, FILE *out);
/* A line, broken between words where out's terminal is narrower. */
void rdt_screen_print_line(const char *line, FILE *out);
