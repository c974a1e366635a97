/* Facts about src/codegen/escape.c: no text comes through as anything but text. */
#include "check.h"
#include "codegen/escape.h"

static const char *escaped(void (*escape)(const char *, rdt_text *), const char *string) {
    static rdt_text out;
    rdt_text_clear(&out);
    rdt_text_add(&out, "");
    escape(string, &out);
    return out.data;
}

FACT(html_has_no_markup_left) {
    CHECK_TEXT(escaped(rdt_escape_html, "<b a='1' c=\"2\">&amp;"),
               "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;");
    CHECK_TEXT(escaped(rdt_escape_html, "plain, \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
               "plain, \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
}

#define BAD "\xef\xbf\xbd"

FACT(what_is_no_text_is_replaced) {
    CHECK_TEXT(escaped(rdt_escape_html, "a\x1b[31mb\a\x7f"), "a" BAD "[31mb" BAD BAD);
    CHECK_TEXT(escaped(rdt_escape_html, "\xff\xc0\xaf"), BAD BAD BAD); /* no UTF-8 */
    CHECK_TEXT(escaped(rdt_escape_html, "\xed\xa0\x80"), BAD BAD BAD); /* a surrogate */
    CHECK_TEXT(escaped(rdt_escape_html, "\xe2\x82"), BAD BAD);         /* cut short */
    CHECK_TEXT(escaped(rdt_escape_html, "\xc2\x9b"
                                        "31m"),
               BAD BAD "31m"); /* C1's CSI */
    CHECK_TEXT(escaped(rdt_escape_html, "a\xe2\x80\xae"
                                        "b"),
               "a" BAD BAD BAD "b"); /* turns */
}

FACT(a_cell_is_one_cell) {
    CHECK_TEXT(escaped(rdt_escape_csv, "a,b\"c\"\nd"), "\"a,b\"\"c\"\"" BAD "d\"");
    CHECK_TEXT(escaped(rdt_escape_csv, "=1+2"), "\"'=1+2\"");
    CHECK_TEXT(escaped(rdt_escape_csv, "@x"), "\"'@x\"");
    CHECK_TEXT(escaped(rdt_escape_csv, ""), "\"\"");
}

FACT(a_string_is_one_string) {
    CHECK_TEXT(escaped(rdt_escape_json, "a\"b\\c</script>\x1f"), "\"a\\\"b\\\\c</script>" BAD "\"");
}

/* Every byte, before and after which stands another. */
FACT(no_byte_comes_through_that_should_not) {
    for (int i = 1; i < 256; i++) {
        const char string[] = {'x', (char)i, 'y', 0};
        const char *html = escaped(rdt_escape_html, string);
        for (const char *at = html; *at; at++)
            CHECK(!strchr("<>\"'", *at) && (unsigned char)*at >= ' ' && *at != 0x7f);
    }
}

int main(int argc, char **argv) { return check_run(argc, argv); }
