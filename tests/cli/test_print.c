/* Results as they are printed: aligned tables, JSON, and messages. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "check.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/table.h"

FACT(table_aligns_its_columns) {
    rdt_table table = {.column_count = 3, .right = "lrl"};
    static const char *const cells[] = {"op",       "size", "config", "sum", "1K",
                                        "block=32", "x",    "",       ""};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) rdt_table_add(&table, "%s", cells[i]);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CHECK(out);
    rdt_table_print(&table, out);
    fclose(out);
    CHECK_TEXT(text, "op   size  config\n"
                     "sum    1K  block=32\n"
                     "x\n");
    free(text);
}

FACT(json_indents_and_separates) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CHECK(out);
    rdt_json json = {.out = out};
    rdt_json_begin(&json, NULL, '{');
    rdt_json_text(&json, "op", "sum");
    rdt_json_begin(&json, "none", '[');
    rdt_json_end(&json, ']');
    rdt_json_begin(&json, "rows", '[');
    rdt_json_count(&json, NULL, UINT64_MAX);
    rdt_json_truth(&json, NULL, true);
    rdt_json_end(&json, ']');
    rdt_json_real(&json, "ns", 1.5);
    rdt_json_end(&json, '}');
    fclose(out);
    CHECK_TEXT(text, "{\n"
                     "  \"op\": \"sum\",\n"
                     "  \"none\": [],\n"
                     "  \"rows\": [\n"
                     "    18446744073709551615,\n"
                     "    true\n"
                     "  ],\n"
                     "  \"ns\": 1.5\n"
                     "}\n");
    free(text);
}

FACT(json_escapes_what_it_must) {
    static const char *const rows[][2] = {
        {"a\"b\\c\n\x01\x7f", "\"a\\\"b\\\\c\\u000a\\u0001\\u007f\""},
        {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff\xc3", "\"\\ufffd\\ufffd\""},                       /* no lead byte; cut short */
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},                       /* longer than it need be */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* beyond the last character */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        CHECK(out);
        rdt_json json = {.out = out};
        rdt_json_text(&json, NULL, rows[i][0]);
        fclose(out);
        CHECK_TEXT(text, rows[i][1]);
        free(text);
    }
}

FACT(json_has_no_nan) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CHECK(out);
    rdt_json json = {.out = out};
    rdt_json_begin(&json, NULL, '[');
    rdt_json_real(&json, NULL, NAN);
    rdt_json_real(&json, NULL, -INFINITY);
    rdt_json_number(&json, NULL, "-inf");
    rdt_json_number(&json, NULL, "1e+20");
    rdt_json_end(&json, ']');
    fclose(out);
    CHECK_TEXT(text, "[\n  null,\n  null,\n  \"-inf\",\n  1e+20\n]\n");
    free(text);
}

/* A context too long for the message gives way to the reason. */
FACT(message_keeps_the_reason) {
    redtune_error err;
    char path[600];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    CHECK_INT(rdt_message_set(&err, REDTUNE_FILE, 2, "%s", "no such file"), REDTUNE_FILE);
    CHECK_INT(rdt_message_within(&err, "cannot reduce %s", "a.npy"), REDTUNE_FILE);
    CHECK_TEXT(err.message, "cannot reduce a.npy: no such file");
    rdt_message_set(&err, REDTUNE_FILE, 2, "%s and %s", path, "the end");
    CHECK_INT(rdt_message_within(&err, "cannot reduce %s", path), REDTUNE_FILE);
    CHECK_INT(strlen(err.message), sizeof err.message - 1);
    CHECK_CONTAINS(err.message, "cannot reduce ppp");
    CHECK_CONTAINS(err.message, "the end");
}

int main(int argc, char **argv) { return check_run(argc, argv); }
