/* Facts about templates of the user's, codegen/codegen.h: what goes before those compiled in,
 * pieces, faults in them, and their version. */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "codegen/codegen.h"
#include "shaped.h"

static redtune_error err;

/* ---- templates of the user's ----------------------------------------------------------------- */

static char folder[64];

static void write_template(const char *name, const char *text) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) return;
    fputs(text, file);
    fclose(file);
}

static void make_folder(void) {
    char path[128];
    snprintf(folder, sizeof folder, "/tmp/redtune-templates-XXXXXX");
    if (!mkdtemp(folder)) return;
    snprintf(path, sizeof path, "%s/mine", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/ladder", folder);
    mkdir(path, 0700);
    write_template("registry.lua", "return { 'mine' }");
    write_template(
        "mine/family.lua",
        "local f = {}\n"
        "f.params = { { name = 'block', values = { 32, 64 } } }\n"
        "function f.allowed() return true end\n"
        "function f.distinct() return true end\n"
        "function f.useful() return true end\n"
        "function f.default() return { block = 64 } end\n"
        "function f.launch(c) return { threads = c.block, tile = 1, blocks_max = 1 } end\n"
        "return f\n");
    setenv("REDTUNE_TEMPLATES", folder, 1);
}

static void remove_folder(void) {
    char command[96];
    unsetenv("REDTUNE_TEMPLATES");
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command)) fprintf(stderr, "cannot remove %s\n", folder);
}

/* The default of sum of f32; freed by the caller. */
static redtune_status render(rdt_codegen *codegen, bool lines, char **source) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 1 << 20);
    rdt_point point;
    redtune_status status = rdt_problem_resolve(&problem, &problem, &err);
    rdt_case at = {&problem, rdt_facts_typical()};
    if (!status) status = rdt_rules_default(codegen, at, &point, &err);
    return status ? status : rdt_render_source(codegen, at, &point, lines, source, &err);
}

/* Renders the user's template with this text; the message or the source, in a static buffer. */
static const char *rendered(const char *text) {
    static char kept[1024];
    rdt_codegen *codegen = NULL;
    char *source = NULL;
    make_folder();
    write_template("mine/kernel.cu", text);
    err = (redtune_error){0};
    redtune_status status = rdt_codegen_open(&codegen, &err);
    if (!status) status = render(codegen, false, &source);
    snprintf(kept, sizeof kept, "%s", status ? err.message : source);
    free(source);
    rdt_codegen_close(codegen);
    remove_folder();
    return kept;
}

/* What tells the kernel of the user's template with this text from others, in a static buffer. */
static const char *kernel_of(const char *text, int major) {
    static char kept[4][RDT_KERNEL_BYTES];
    static unsigned next;
    char *kernel = kept[next++ % 4];
    const redtune_problem problem =
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 20);
    rdt_facts facts = *rdt_facts_typical();
    rdt_codegen *codegen = NULL;
    rdt_point point;
    facts.major = major;
    const rdt_case at = {&problem, &facts};
    make_folder();
    write_template("mine/kernel.cu", text);
    redtune_status status = rdt_codegen_open(&codegen, &err);
    if (!status) status = rdt_rules_default(codegen, at, &point, &err);
    if (!status) status = rdt_kernel_hash_find(codegen, at, &point, kernel, &err);
    rdt_codegen_close(codegen);
    remove_folder();
    return status ? "" : kernel;
}

FACT(comments_and_blanks_are_in_no_kernel) {
    static const char *const same[] = {
        "int a = 1; // so many",  "int a =\t1;",         "  int a = 1;\n\n", "int /* a */ a = 1;",
        "// first\n\nint a = 1;", "int a = 1; /* 'x */", "int a = 1;\n//",
    };
    static const char *const other[] = {
        "int a = 2;",
        "int a = 1; int b;",
        "inta = 1;",
        "char *a = \"//1\";",
        "#pragma once\nint a = 1;",
        "#pragma once int a = 1;",
        "char *a = \"/*1\";",
        "char a = '\\''; // x\nint b;",
        "char a = '\\''; // x int b;",
        "char *a = \"a  b\";",
        "char *a = \"a b\";",
    };
    const size_t others = sizeof other / sizeof *other;
    const char *plain = kernel_of("int a = 1;", 8);
    CHECK_INT(strlen(plain), RDT_KERNEL_BYTES - 1);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        CHECK_TEXT(kernel_of(same[i], 8), kernel_of("int a = 1;", 8));
    for (size_t i = 0; i < others; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(kernel_of(other[i], 8), kernel_of(other[k], 8)));
}

FACT(a_kernel_is_of_a_compute_capability) {
    CHECK(strcmp(kernel_of("int a = @{arch};", 8), kernel_of("int a = @{arch};", 9)));
    CHECK_TEXT(kernel_of("int a = 1;", 8), kernel_of("int a = 1;", 9));
}

FACT(a_kernel_has_its_launch) {
    rdt_codegen *codegen = NULL;
    char few[RDT_KERNEL_BYTES], many[RDT_KERNEL_BYTES], again[RDT_KERNEL_BYTES];
    const redtune_problem problem =
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 20);
    const rdt_case at = {&problem, rdt_facts_typical()};
    rdt_point point;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_OK(rdt_rules_default(codegen, at, &point, &err), err);
    char *const out[] = {few, many, again};
    static const char *const text[] = {"per_sm=1", "per_sm=8", "per_sm=1"};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rdt_point_parse(rdt_codegen_spaces(codegen), text[i], &point, &err), err);
        CHECK_OK(rdt_kernel_hash_find(codegen, at, &point, out[i], &err), err);
    }
    CHECK(strcmp(few, many));
    CHECK_TEXT(again, few);
    rdt_codegen_close(codegen);
}

FACT(a_folder_of_the_users_comes_first) {
    CHECK_TEXT(rendered("//@ for i = 1, 2 do\nx@{i} = @{block} @{op.name} @{dtype.c};\n//@ end\n"),
               "x1 = 64 sum float;\nx2 = 64 sum float;\n");
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Renders, with #line directives, a template of the user's that includes a piece of the user's. */
static const char *rendered_with(const char *text, const char *piece) {
    static char kept[1024];
    rdt_codegen *codegen = NULL;
    char *source = NULL;
    make_folder();
    write_template("mine/kernel.cu", text);
    write_template("mine/piece.cu", piece);
    err = (redtune_error){0};
    redtune_status status = rdt_codegen_open(&codegen, &err);
    if (!status) status = render(codegen, true, &source);
    snprintf(kept, sizeof kept, "%s", status ? err.message : source);
    free(source);
    rdt_codegen_close(codegen);
    remove_folder();
    return kept;
}

/* The line behind the piece's last has the number of that behind the including one. */
FACT(lines_lead_into_a_piece_and_back) {
    CHECK_TEXT(rendered_with("a\n//@ include \"mine/piece.cu\"\nb\nc\n", "//@ -- a comment\nx\n"),
               "#line 1 \"mine/kernel.cu\"\na\n#line 2 \"mine/piece.cu\"\nx\n"
               "#line 3 \"mine/kernel.cu\"\nb\nc\n");
}

FACT(pieces_have_what_they_take) {
    static const struct {
        const char *text, *piece, *wanted;
    } cases[] = {
        {"//@ local a, dtype = 1, 'mine'\n//@ for i = 7, 7 do\n//@include 'mine/piece.cu'\n//@ "
         "end\n",
         "//@ takes a, i, dtype -- three\n//@ takes op, block\n@{a} @{i} @{dtype} @{op.name} "
         "@{block}\n",
         "#line 3 \"mine/piece.cu\"\n1 7 mine sum 64\n"},
        {"//@ local a = 1\n//@ local a = 2\n//@ include 'mine/piece.cu'\n", "//@ takes a\nx@{a}\n",
         "x2\n"},
        {"//@ local a = 1\n//@ include('mine/piece.cu', {a = 2})\n", "//@ takes a\nx@{a}\n",
         "x2\n"},
        {"//@ local a = 1\n//@ include 'mine/piece.cu'\n",
         "//@ takes a?\nx@{tostring(a)} @{math.max(1, 2)}\n", "xnil 2\n"},
        {"//@ include('mine/piece.cu', {a = false})\n", "//@ takes a?\nx@{tostring(a)}\n",
         "xfalse\n"},
        {"//@ local a = 1\n//@ include 'mine/piece.cu'\n", "\n@{a}\n",
         "mine/piece.cu:2: undefined name 'a': this piece does not take it from "
         "mine/kernel.cu:2"},
        {"//@ include 'mine/piece.cu'\n", "\n@{block}\n",
         "mine/piece.cu:2: undefined name 'block': this piece does not take it"},
        {"\n//@ include 'mine/piece.cu'\n//@ local late = 2\n", "//@ takes block, late\n",
         "mine/piece.cu:1: undefined name 'late': this piece takes it, and mine/kernel.cu:2 has "
         "none"},
        {"//@ takes block\n", "", "mine/kernel.cu:1: undefined name 'takes'"},
        {"//@ include 'mine/piece.cu'\n", "\n//@ takes block,\n",
         "cannot read mine/piece.cu:2: takes needs names"},
        {"//@ include 'mine/piece.cu'\n", "//@ takes block op\n",
         "cannot read mine/piece.cu:1: takes needs names"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_CONTAINS(rendered_with(cases[i].text, cases[i].piece), cases[i].wanted);
}

/* A piece within a piece has what that one has, and nothing of the template. */
FACT(pieces_take_from_the_piece_that_includes_them) {
    static const char template[] = "//@ local a, inner = 1, false\n//@ include 'mine/piece.cu'\n";
    CHECK_CONTAINS(rendered_with(template,
                                 "//@ takes a, inner\n//@ if inner then\nx@{a}\n//@ else\n"
                                 "//@ include('mine/piece.cu', {inner = true})\n//@ end\n"),
                   "x1\n");
    CHECK_CONTAINS(
        rendered_with(template,
                      "//@ takes a?, inner\n//@ if inner then\nx@{tostring(a)}\n//@ else\n"
                      "//@ local a\n//@ include('mine/piece.cu', {inner = true})\n//@ end\n"),
        "xnil\n");
    CHECK_CONTAINS(rendered_with(template,
                                 "//@ takes inner, a?\n//@ if not inner then\n"
                                 "//@ include('mine/piece.cu', {inner = true})\n//@ else\n"
                                 "@{block}\n//@ end\n"),
                   "mine/piece.cu:5: undefined name 'block': this piece does not take it from "
                   "mine/piece.cu:3");
}

FACT(templates_see_nothing_of_their_pieces) {
    CHECK_CONTAINS(
        rendered_with("//@ include 'mine/piece.cu'\n@{inner}\n", "//@ local inner = 1\n"),
        "mine/kernel.cu:2: undefined name 'inner'");
    CHECK_CONTAINS(
        rendered_with("//@ local a = 1\n//@ include 'mine/piece.cu'\n", "//@ takes a\n//@ a = 2\n"),
        "mine/piece.cu:2: attempt to assign to const variable 'a'");
    CHECK_CONTAINS(rendered_with("//@ local a = 1\n//@ include 'mine/piece.cu'\n", "\n//@ a = 2\n"),
                   "mine/piece.cu:2: 'a' is assigned but not declared local");
}

FACT(pieces_that_cannot_be_read_are_named) {
    CHECK_CONTAINS(rendered_with("//@ include 'mine/none.cu'\n", ""),
                   "cannot read template mine/none.cu: there is no such file");
    CHECK_CONTAINS(rendered_with("//@ include 'mine/piece.cu'\n", "a\nb @{x\n"),
                   "cannot read mine/piece.cu:2: @{ without its }");
    CHECK_CONTAINS(rendered_with("//@ include 'mine/piece.cu'\n", "//@ include 'mine/piece.cu'\n"),
                   "overflow");
    /* One of redtune's own stands in for one that the folder lacks. */
    CHECK_CONTAINS(
        rendered_with("//@ local acc, op = {declare = false}, {message = false, part = false}\n"
                      "//@ include 'lib/types.cu'\n",
                      ""),
        "\"lib/types.cu\"\ntypedef unsigned int u32;\n");
}

/* ---- faults in templates ----------------------------------------------------------------------
 */

FACT(undefined_name_is_an_error_with_its_line) {
    CHECK_CONTAINS(rendered("a\n@{blok}\n"), "mine/kernel.cu:2:");
    CHECK_CONTAINS(err.message, "undefined name 'blok'");
}

FACT(undeclared_variable_is_an_error_with_its_line) {
    CHECK_CONTAINS(rendered("a\nb\n//@ x = 1\n"), "mine/kernel.cu:3:");
    CHECK_CONTAINS(err.message, "'x' is assigned but not declared local");
}

FACT(syntax_error_names_its_line) {
    CHECK_CONTAINS(rendered("a\n//@ if block then\nb\n"), "mine/kernel.cu:");
    CHECK_INT(err.status, REDTUNE_TEMPLATE);
}

FACT(value_that_is_no_text_is_an_error) {
    CHECK_CONTAINS(rendered("@{1.5}\n"), "gives 1.5");
    CHECK_CONTAINS(rendered("@{nil}\n"), "gives nil");
    CHECK_CONTAINS(rendered("@{{}}\n"), "gives table");
}

FACT(templates_see_nothing_of_the_machine) {
    static const char *const names[] = {
        "os",    "io",    "load",    "dofile",    "loadfile",     "debug",        "next",
        "pairs", "pcall", "package", "coroutine", "getmetatable", "setmetatable", "rawset"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[64];
        snprintf(text, sizeof text, "@{type(%s)}\n", names[i]);
        CHECK_CONTAINS(rendered(text), "undefined name");
    }
    CHECK_CONTAINS(rendered("@{math.random(1, 2)}\n"), "cannot render");
}

FACT(endless_template_is_stopped) {
    CHECK_CONTAINS(rendered("//@ while true do\n//@ end\n"), "runs too long");
}

FACT(greedy_template_is_stopped) {
    CHECK_CONTAINS(rendered("@{('x'):rep(1 << 40)}\n"), "cannot render");
    CHECK_CONTAINS(rendered("//@ local t = {}\n//@ for i = 1, 1 << 40 do t[i] = i end\n"),
                   "memory");
}

FACT(missing_template_folder_is_named) {
    rdt_codegen *codegen = NULL;
    setenv("REDTUNE_TEMPLATES", "/nowhere/templates", 1);
    CHECK_FAILS(rdt_codegen_open(&codegen, &err), REDTUNE_FILE, err, "/nowhere/templates");
    unsetenv("REDTUNE_TEMPLATES");
    CHECK(!codegen);
}

FACT(hash_tells_template_versions_apart) {
    char first[RDT_HASH_TEXT_BYTES] = "";
    for (int i = 0; i < 2; i++) {
        rdt_codegen *codegen = NULL;
        make_folder();
        write_template("mine/kernel.cu", i ? "one\n" : "two\n");
        CHECK_OK(rdt_codegen_open(&codegen, &err), err);
        if (i) CHECK(strcmp(first, rdt_codegen_hash(codegen)) != 0);
        snprintf(first, sizeof first, "%s", rdt_codegen_hash(codegen));
        rdt_codegen_close(codegen);
        remove_folder();
    }
}

FACT(hash_counts_pieces) {
    char first[RDT_HASH_TEXT_BYTES] = "";
    for (int i = 0; i < 2; i++) {
        rdt_codegen *codegen = NULL;
        make_folder();
        write_template("mine/kernel.cu", "//@ include 'mine/piece.cu'\n");
        write_template("mine/piece.cu", i ? "one\n" : "two\n");
        CHECK_OK(rdt_codegen_open(&codegen, &err), err);
        if (i) CHECK(strcmp(first, rdt_codegen_hash(codegen)) != 0);
        snprintf(first, sizeof first, "%s", rdt_codegen_hash(codegen));
        rdt_codegen_close(codegen);
        remove_folder();
    }
}

/* The ladder and the report are read, and no tuned kernel is made from them. */
FACT(hash_is_of_what_is_tuned) {
    char first[RDT_HASH_TEXT_BYTES] = "";
    for (int i = 0; i < 2; i++) {
        rdt_codegen *codegen = NULL;
        make_folder();
        write_template("mine/kernel.cu", "one\n");
        write_template("ladder/steps.lua", i ? "return 1\n" : "return 2\n");
        CHECK_OK(rdt_codegen_open(&codegen, &err), err);
        if (i) CHECK_TEXT(first, rdt_codegen_hash(codegen));
        snprintf(first, sizeof first, "%s", rdt_codegen_hash(codegen));
        rdt_codegen_close(codegen);
        remove_folder();
    }
}

int main(int argc, char **argv) { return check_run(argc, argv); }
