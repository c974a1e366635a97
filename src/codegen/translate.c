/* Translate: template text with marked Lua into the Lua function that puts it out. */
#include "codegen/translate.h"

#include <string.h>

static void add_literal(const char *text, size_t length, rdt_text *out) {
    rdt_text_add(out, ",\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\' || c < 32 || c == 127)
            rdt_text_addf(out, "\\%03d", c);
        else
            rdt_text_add_bytes(out, text + i, 1);
    }
    rdt_text_add(out, "\"");
}

/* The length of the expression that starts at text, up to the brace that closes it; -1 if none
 * does. Braces inside quotes do not count. */
static ptrdiff_t expression_length(const char *text, size_t length) {
    int depth = 1;
    char quote = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (quote) {
            if (c == '\\')
                i++;
            else if (c == quote)
                quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '{') {
            depth++;
        } else if (c == '}' && --depth == 0) {
            return (ptrdiff_t)i;
        }
    }
    return -1;
}

static redtune_status add_text_line(const char *name, size_t number, const char *line,
                                    size_t length, rdt_text *out, redtune_error *err) {
    rdt_text_addf(out, "put(%zu", number);
    size_t start = 0;
    for (size_t i = 0; i + 1 < length; i++) {
        if (line[i] != '@' || line[i + 1] != '{') continue;
        if (i > start) add_literal(line + start, i - start, out);
        ptrdiff_t expression = expression_length(line + i + 2, length - i - 2);
        if (expression < 0)
            return rdt_fail(err, REDTUNE_TEMPLATE, 0, "cannot read %s:%zu: @{ without its }", name,
                            number);
        rdt_text_add(out, ",(");
        rdt_text_add_bytes(out, line + i + 2, (size_t)expression);
        rdt_text_add(out, ")");
        i += 2 + (size_t)expression;
        start = i + 1;
    }
    if (length > start) add_literal(line + start, length - start, out);
    rdt_text_add(out, ")\n");
    return REDTUNE_OK;
}

redtune_status rdt_translate(const char *name, const char *text, size_t length, rdt_text *out,
                             redtune_error *err) {
    const char *end = text + length;
    for (size_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        const char *first = text;
        while (first < stop && (*first == ' ' || *first == '\t')) first++;
        if (stop - first >= 3 && !memcmp(first, "//@", 3)) {
            rdt_text_add_bytes(out, first + 3, (size_t)(stop - first - 3));
            rdt_text_add(out, "\n");
        } else {
            redtune_status status =
                add_text_line(name, number, text, (size_t)(stop - text), out, err);
            if (status) return status;
        }
        text = newline ? newline + 1 : end;
    }
    return out->failed ? rdt_fail_memory(err, out->length) : REDTUNE_OK;
}
