/* Screen: how wide the terminal is that lines go to, and prose that fills its lines. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal that out is; otherwise, where it is none, or does not say. */
size_t rdt_screen_columns(FILE *out, size_t otherwise);
/* Paragraphs of lines below 100 columns, filled anew where the terminal is narrower. A line that
 * begins with a blank stays as it is. */
void rdt_screen_print_prose(const char *text, FILE *out);
