/* Text: a growing string, and the reading of numbers people write. */
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/locale.h"

static bool reserve(rdt_text *text, size_t more) {
    if (text->failed) return false;
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity) return true;
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity < needed) capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void rdt_text_add_bytes(rdt_text *text, const char *bytes, size_t length) {
    if (!reserve(text, length)) return;
    if (length) memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void rdt_text_add(rdt_text *text, const char *string) {
    rdt_text_add_bytes(text, string, strlen(string));
}

void rdt_text_addf(rdt_text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = rdt_text_vprint(NULL, 0, format, args);
    va_end(args);
    if (length >= 0 && reserve(text, (size_t)length)) {
        rdt_text_vprint(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void rdt_text_clear(rdt_text *text) {
    text->length = 0;
    if (text->data) text->data[0] = '\0';
}

void rdt_text_free(rdt_text *text) {
    free(text->data);
    *text = (rdt_text){0};
}

redtune_status rdt_text_take(rdt_text *text, char **out, redtune_error *err) {
    rdt_text_add(text, "");
    if (text->failed) {
        size_t bytes = text->capacity * 2;
        rdt_text_free(text);
        return rdt_fail_memory(err, bytes);
    }
    *out = text->data;
    *text = (rdt_text){0};
    return REDTUNE_OK;
}

int rdt_text_vprint(char *out, size_t bytes, const char *format, va_list args) {
    void *before = rdt_locale_enter();
    int length = vsnprintf(out, bytes, format, args);
    rdt_locale_leave(before);
    return length;
}

int rdt_text_print(char *out, size_t bytes, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = rdt_text_vprint(out, bytes, format, args);
    va_end(args);
    return length;
}

void rdt_text_copy(char *out, size_t bytes, const char *string) {
    snprintf(out, bytes, "%s", string);
}

size_t rdt_text_character(const char *string) {
    const unsigned char *text = (const unsigned char *)string;
    static const struct {
        unsigned char first, last, low, high; /* of the lead byte and of the byte after it */
        size_t bytes;
    } forms[] = {
        {0xc2, 0xc2, 0xa0, 0xbf, 2}, {0xc3, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    if (text[0] < 0x80) return text[0] >= 0x20 && text[0] <= 0x7e;
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (text[0] < forms[i].first || text[0] > forms[i].last) continue;
        if (text[1] < forms[i].low || text[1] > forms[i].high) continue;
        bytes = forms[i].bytes;
    }
    for (size_t k = 2; k < bytes; k++)
        if ((text[k] & 0xc0) != 0x80) return 0;
    if (bytes != 3) return bytes;
    unsigned code = (text[0] & 0xfu) << 12 | (text[1] & 0x3fu) << 6 | (text[2] & 0x3fu);
    bool turns = (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                 (code >= 0x2066 && code <= 0x2069) || code == 0xfeff || code >= 0xfffe;
    return turns ? 0 : 3;
}

bool rdt_text_is_plain(const char *string) {
    size_t bytes;
    for (; *string; string += bytes)
        if (!(bytes = rdt_text_character(string))) return false;
    return true;
}

void rdt_text_copy_plain(char *out, size_t bytes, const char *string) {
    size_t used = 0;
    while (*string) {
        size_t length = rdt_text_character(string), more = length ? length : 1;
        if (used + more >= bytes) break;
        memcpy(out + used, length ? string : "?", more);
        string += more;
        used += more;
    }
    out[used] = '\0';
}

void rdt_text_make_plain(char *string) {
    for (size_t bytes; *string; string += bytes) {
        bytes = rdt_text_character(string);
        if (bytes) continue;
        *string = '?';
        bytes = 1;
    }
}

bool rdt_text_to_int64(const char *string, size_t length, int64_t *value) {
    char digits[24];
    if (!length || length >= sizeof digits) return false;
    for (size_t i = 0; i < length; i++) {
        bool digit = string[i] >= '0' && string[i] <= '9';
        if (!digit && !(i == 0 && string[i] == '-' && length > 1)) return false;
    }
    memcpy(digits, string, length);
    digits[length] = '\0';
    errno = 0;
    long long parsed = strtoll(digits, NULL, 10);
    if (errno) return false;
    *value = parsed;
    return true;
}
