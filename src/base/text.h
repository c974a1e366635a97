/* Text: a growing string, and the reading of numbers people write. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include "base/fail.h"

/* Starts zeroed. data is NULL until something is added, NUL-terminated after. A failed allocation
 * is remembered in failed, so that a caller may add many times and check once. */
typedef struct rdt_text {
    char *data;
    size_t length, capacity;
    bool failed;
} rdt_text;

void rdt_text_add(rdt_text *text, const char *string);
void rdt_text_add_bytes(rdt_text *text, const char *bytes, size_t length);
void rdt_text_addf(rdt_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rdt_text_clear(rdt_text *text); /* empties, keeps the memory */
void rdt_text_free(rdt_text *text);
/* Hands the string over to the caller (free), "" if nothing was added. REDTUNE_MEMORY if an
 * addition failed. text is empty afterwards. */
redtune_status rdt_text_take(rdt_text *text, char **out, redtune_error *err);

/* vsnprintf and snprintf, but with a decimal point in every locale. */
int rdt_text_vprint(char *out, size_t bytes, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int rdt_text_print(char *out, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Copies as snprintf does, cutting at bytes - 1. */
void rdt_text_copy(char *out, size_t bytes, const char *string);

/* Bytes of the UTF-8 sequence at text, if its character may be shown; else 0, as for characters
 * that control a terminal or turn the direction of writing. */
size_t rdt_text_character(const char *text);
/* Whether all of string may be shown. */
bool rdt_text_is_plain(const char *string);
/* Copies as rdt_text_copy does, with '?' for what may not be shown. */
void rdt_text_copy_plain(char *out, size_t bytes, const char *string);

/* Puts '?' for every byte that may not be shown. */
void rdt_text_make_plain(char *string);

/* A whole number in decimal, all of string[0..length). false if it is invalid or does not fit. */
bool rdt_text_to_int64(const char *string, size_t length, int64_t *value);
