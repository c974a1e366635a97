/* Op text: which CUDA text of a user's file is passed on to NVRTC. */
#include "codegen/op_text.h"

#include <stdio.h>
#include <string.h>

static const char blanks[] = " \t\v\f";
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

/* A word of the list that text begins with; NULL: none. */
static const char *find_word_at(const char *text, const char *const *list) {
    for (; *list; list++)
        if (!strncmp(text, *list, strlen(*list))) return *list;
    return NULL;
}

static bool is_in(const char *word, size_t length, const char *const *list) {
    for (; *list; list++)
        if (strlen(*list) == length && !memcmp(word, *list, length)) return true;
    return false;
}

/* The text without splices. Every end of a line is a newline. */
static void join_lines(const char *text, size_t bytes, rdt_text *out) {
    for (size_t i = 0; i < bytes; i++) {
        const size_t end = i + 1 + (i + 1 < bytes && text[i + 1] == '\r');
        if (text[i] == '\\' && end < bytes && text[end] == '\n')
            i = end;
        else
            rdt_text_add_bytes(out, text[i] == '\r' ? "\n" : text + i, 1);
    }
    rdt_text_add_bytes(out, "", 1);
}

/* Whether nothing but blanks, or a comment, stands before it in its line. */
static bool begins_line(const char *text, const char *at) {
    while (at > text && strchr(blanks, at[-1])) at--;
    return at == text || at[-1] == '\n' || (at - text > 1 && at[-1] == '/' && at[-2] == '*');
}

/* Behind blanks. A comment there is refused, lest each # of many takes long. */
static const char *behind_blanks(const char *at) { return at + strspn(at, blanks); }

/* Whether the word behind a # is one that the text may have there. */
static bool is_allowed(const char *word, size_t length, bool begins, bool rendered) {
    static const char *const always[] = {"define", "undef", "if",    "ifdef", "ifndef",
                                         "elif",   "else",  "endif", "error", NULL};
    static const char *const elsewhere[] = {"include", "import", "embed", "pragma", NULL};
    if (rendered && is_in(word, length, (const char *const[]){"line", NULL})) return true;
    if (rendered && is_in(word, length, (const char *const[]){"pragma", NULL}) &&
        !strncmp(behind_blanks(word + length), "unroll", 6))
        return true;
    if (!begins) return !find_word_at(word, elsewhere);
    return length ? is_in(word, length, always) : !*word || *word == '\n';
}

redtune_status rdt_op_text_check(const char *text, size_t bytes, bool rendered,
                                 char found[RDT_OP_TEXT_FOUND_BYTES], redtune_error *err) {
    static const char *const hashes[] = {"##", "%:%:", "#", "%:", "\?\?=", NULL};
    static const char *const names[] = {"_Pragma", "__pragma", "__has_include", "__has_embed",
                                        NULL};
    rdt_text joined = {0};
    if (memchr(text, '\0', bytes)) {
        rdt_text_copy(found, RDT_OP_TEXT_FOUND_BYTES, "\\0");
        return REDTUNE_OK;
    }
    join_lines(text, bytes, &joined);
    const bool failed = joined.failed;
    found[0] = '\0';
    for (const char *at = failed ? "" : joined.data; *at && !found[0];) {
        const char *hash = find_word_at(at, hashes), *name = find_word_at(at, names);
        if (name) rdt_text_copy(found, RDT_OP_TEXT_FOUND_BYTES, name);
        const char *word = hash ? behind_blanks(at + strlen(hash)) : "";
        const size_t length = strspn(word, letters);
        if (hash && !is_allowed(word, length, begins_line(joined.data, at), rendered))
            snprintf(found, RDT_OP_TEXT_FOUND_BYTES, "#%.*s", (int)length, word);
        at += hash ? strlen(hash) : 1;
    }
    rdt_text_free(&joined);
    return failed ? rdt_fail_memory(err, bytes) : REDTUNE_OK;
}
