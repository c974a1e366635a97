/* Escape: texts from a database as they may stand in a page, a table or a document. */
#include "codegen/escape.h"

#include <string.h>

/* U+FFFD, which stands for what is no text. */
static const char replacement[] = "\xef\xbf\xbd";

typedef const char *replace_fn(unsigned char c);

static void escape(const char *string, replace_fn *replace, rdt_text *out) {
    for (const char *at = string; *at;) {
        size_t bytes = rdt_text_character(at);
        const char *other = bytes ? replace((unsigned char)*at) : replacement;
        if (other)
            rdt_text_add(out, other);
        else
            rdt_text_add_bytes(out, at, bytes);
        at += bytes ? bytes : 1;
    }
}

static const char *in_html(unsigned char c) {
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

static const char *in_csv(unsigned char c) { return c == '"' ? "\"\"" : NULL; }

static const char *in_json(unsigned char c) {
    return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : NULL;
}

void rdt_escape_html(const char *string, rdt_text *out) { escape(string, in_html, out); }

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
