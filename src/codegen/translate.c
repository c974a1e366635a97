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

static const char blanks[] = " \t",
                  letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

/* How many of the first letters are in the set. */
static size_t span_in_set(const char *text, size_t length, const char *set) {
    size_t count = 0;
    while (count < length && text[count] && strchr(set, text[count])) count++;
    return count;
}

/* The names that a piece takes, "a, b?" and a comment: the same as Lua that looks them up. */
static redtune_status add_taken(const char *name, size_t number, const char *list, size_t length,
                                rdt_text *out, redtune_error *err) {
    rdt_text values = {0};
    size_t at = span_in_set(list, length, blanks), many = 0;
    rdt_text_add(out, "local ");
    while ((many = span_in_set(list + at, length - at, letters)) > 0) {
        const size_t from = at, may_miss = at + many < length && list[at + many] == '?';
        at += many + may_miss;
        rdt_text_addf(out, "%.*s <const>", (int)many, list + from);
        rdt_text_addf(&values, "\"%.*s\"", (int)(many + may_miss), list + from);
        at += span_in_set(list + at, length - at, blanks);
        if (at == length || list[at] != ',') break;
        rdt_text_add(out, ",");
        rdt_text_add(&values, ",");
        at += 1 + span_in_set(list + at + 1, length - at - 1, blanks);
    }
    const bool is_whole = many > 0 && (at == length || !strncmp(list + at, "--", 2));
    rdt_text_addf(out, " = takes(%s)\n", values.data ? values.data : "");
    out->failed |= values.failed;
    rdt_text_free(&values);
    if (is_whole) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_TEMPLATE, 0,
                    "cannot read %s:%zu: takes needs names, as in: takes op, given, vec?", name,
                    number);
}

/* A line of Lua, which begins behind its mark. */
static redtune_status add_lua_line(const char *name, size_t number, const char *line, size_t length,
                                   rdt_text *out, redtune_error *err) {
    static const char word[] = "takes ";
    const size_t first = span_in_set(line, length, blanks), behind = first + sizeof word - 1;
    if (behind <= length && !memcmp(line + first, word, sizeof word - 1))
        return add_taken(name, number, line + behind, length - behind, out, err);
    rdt_text_add_bytes(out, line, length);
    rdt_text_add(out, "\n");
    return REDTUNE_OK;
}

redtune_status rdt_translate(const char *name, const char *text, size_t length, rdt_text *out,
                             redtune_error *err) {
    const char *end = text + length;
    for (size_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        const char *first = text + span_in_set(text, (size_t)(stop - text), blanks);
        const bool is_lua = stop - first >= 3 && !memcmp(first, "//@", 3);
        redtune_status status =
            is_lua ? add_lua_line(name, number, first + 3, (size_t)(stop - first - 3), out, err)
                   : add_text_line(name, number, text, (size_t)(stop - text), out, err);
        if (status) return status;
        text = newline ? newline + 1 : end;
    }
    return out->failed ? rdt_fail_memory(err, out->length) : REDTUNE_OK;
}
