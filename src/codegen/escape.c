/* Escape: texts from a database as they may stand in a page, a table or a document. */
#include "codegen/escape.h"

#include <string.h>

/* U+FFFD, which stands for what is no text. */
static const char replacement[] = "\xef\xbf\xbd";

/* Bytes of the UTF-8 sequence at text, of a character that may be shown; 0 if it is none. What only
 * controls a terminal or turns the direction of writing is none. */
static size_t character(const unsigned char *text) {
    static const struct {
        unsigned char first, last, low, high; /* of the lead byte and of the byte after it */
        size_t bytes;
    } forms[] = {
        {0x20, 0x7e, 0, 0, 1},       {0xc2, 0xc2, 0xa0, 0xbf, 2}, {0xc3, 0xdf, 0x80, 0xbf, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (text[0] < forms[i].first || text[0] > forms[i].last) continue;
        if (forms[i].bytes > 1 && (text[1] < forms[i].low || text[1] > forms[i].high)) continue;
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

typedef const char *replace_fn(unsigned char c);

static void escape(const char *string, replace_fn *replace, rdt_text *out) {
    for (const unsigned char *at = (const unsigned char *)string; *at;) {
        size_t bytes = character(at);
        const char *other = bytes ? replace(*at) : replacement;
        if (other)
            rdt_text_add(out, other);
        else
            rdt_text_add_bytes(out, (const char *)at, bytes);
        at += bytes ? bytes : 1;
    }
}

static const char *in_html(unsigned char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static const char *in_csv(unsigned char c) {
    return c == '"' ? "\"\"" : NULL;
}

static const char *in_json(unsigned char c) {
    return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : NULL;
}

void rdt_escape_html(const char *string, rdt_text *out) {
    escape(string, in_html, out);
}

void rdt_escape_csv(const char *string, rdt_text *out) {
    rdt_text_add(out, *string && strchr("=+-@", *string) ? "\"'" : "\"");
    escape(string, in_csv, out);
    rdt_text_add(out, "\"");
}

void rdt_escape_json(const char *string, rdt_text *out) {
    rdt_text_add(out, "\"");
    escape(string, in_json, out);
    rdt_text_add(out, "\"");
}
