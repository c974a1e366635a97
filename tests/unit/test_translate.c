/* Facts about codegen/translate.h: template text with marked Lua becomes Lua. */
#include "check.h"
#include "codegen/translate.h"

static redtune_error err;

/* The Lua of a template, in a static buffer. */
static const char *translated(const char *template) {
    static char kept[1024];
    rdt_text out = {0};
    err = (redtune_error){0};
    redtune_status status = rdt_translate("t.cu", template, strlen(template), &out, &err);
    snprintf(kept, sizeof kept, "%s", status ? err.message : out.data ? out.data : "");
    rdt_text_free(&out);
    return kept;
}

FACT(text_passes_through) {
    CHECK_TEXT(translated("int a;\n\nint b;"), "put(1,\"int a;\")\nput(2)\nput(3,\"int b;\")\n");
}

FACT(marked_lines_are_lua) {
    CHECK_TEXT(translated("//@ local x = 1\n  //@ if x then\nyes\n//@ end\n"),
               " local x = 1\n if x then\nput(3,\"yes\")\n end\n");
}

FACT(takes_declares_names) {
    CHECK_TEXT(translated("//@ takes a, b_1?  -- of x\n//@ takes c\n//@ takesa()\n"),
               "local a <const>,b_1 <const> = takes(\"a\",\"b_1?\")\n"
               "local c <const> = takes(\"c\")\n takesa()\n");
    CHECK_CONTAINS(translated("\n//@ takes a,\n"), "t.cu:2: takes needs names");
    CHECK_CONTAINS(translated("//@ takes \n"), "t.cu:1: takes needs names");
}

FACT(values_stand_between_pieces) {
    CHECK_TEXT(translated("a @{x + 1} b@{y}"), "put(1,\"a \",(x + 1),\" b\",(y))\n");
    CHECK_TEXT(translated("@{x}"), "put(1,(x))\n");
}

FACT(braces_and_quotes_nest_in_values) {
    CHECK_TEXT(translated("@{f({1, 2})}!"), "put(1,(f({1, 2})),\"!\")\n");
    CHECK_TEXT(translated("@{f(\"}\")}!"), "put(1,(f(\"}\")),\"!\")\n");
}

FACT(quotes_and_backslashes_are_kept) {
    CHECK_TEXT(translated("\"\\n\""), "put(1,\"\\034\\092n\\034\")\n");
}

FACT(open_value_names_its_line) { CHECK_CONTAINS(translated("a\nb @{x\n"), "t.cu:2"); }

int main(int argc, char **argv) { return check_run(argc, argv); }
