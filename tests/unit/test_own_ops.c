/* Facts about codegen/user_ops.h: ops in files of the user's. */
#define _XOPEN_SOURCE 700
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "codegen/codegen.h"
#include "codegen/user_ops.h"
#include "faults.h"
#include "folder.h"
#include "shaped.h"

static redtune_error err;

/* The geometric mean, with these lines before it and this in the place of its name. */
static const char *geomean(const char *before, const char *name) {
    static char text[1024];
    snprintf(text, sizeof text,
             "%sreturn {\n"
             "    name = \"%s\", formula = \"exp(sum(log x[i]) / n)\",\n"
             "    dtypes = { \"f32\", \"f64\" },\n"
             "    accumulator = \"f64\",\n"
             "    identity = \"0\",\n"
             "    map = \"log((double)x)\",\n"
             "    combine = \"a + b\",\n"
             "    finish = \"exp(a / count)\",\n"
             "    examples = { { x = { 1, 2, 4 }, result = 2 } },\n"
             "}\n",
             before, name);
    return text;
}

static redtune_status add(const char *name, const char *text) {
    err = (redtune_error){0};
    return rdt_user_ops_add_text(name, text, strlen(text), &err);
}

/* What is said of the file; "" where it can be used. */
static const char *said(const char *text) { return add("bad.lua", text) ? err.message : ""; }

/* ---- what is known --------------------------------------------------------------------------- */

FACT(op_is_found_by_its_name) {
    redtune_op op, again;
    redtune_op_info info;
    CHECK_OK(add("found.lua", geomean("", "found")), err);
    CHECK_OK(redtune_op_find("found", &op, &err), err);
    CHECK(op >= (redtune_op)rdt_op_compiled_in.count);
    CHECK_TEXT(redtune_op_name(op), "found");
    CHECK_OK(redtune_op_get(op, &info, &err), err);
    CHECK_TEXT(info.formula, "exp(sum(log x[i]) / n)");
    CHECK_INT(info.inputs, 1);
    CHECK_OK(add("another.lua", geomean("", "other")), err);
    CHECK_OK(redtune_op_find("found", &again, &err), err);
    CHECK_INT(again, op);
}

FACT(result_is_of_the_named_dtype) {
    redtune_op op;
    redtune_dtype result;
    CHECK_OK(add("result.lua", geomean("", "result")), err);
    CHECK_OK(redtune_op_find("result", &op, &err), err);
    redtune_problem problem = redtune_problem_whole(op, REDTUNE_F32, 10);
    CHECK_OK(redtune_problem_result(&problem, &result, &err), err);
    CHECK_INT(result, REDTUNE_F64);
    problem.dtype = REDTUNE_I32;
    CHECK(redtune_problem_result(&problem, &result, &err) == REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "it is for f32, f64 only");
}

FACT(same_file_twice_is_one_op) {
    const int before = rdt_user_ops_count();
    CHECK_OK(add("twice.lua", geomean("", "twice")), err);
    CHECK_OK(add("copy.lua", geomean("", "twice")), err);
    CHECK_INT(rdt_user_ops_count(), before + 1);
    CHECK(add("changed.lua", geomean("-- Another.\n", "twice")) == REDTUNE_TEMPLATE);
    CHECK_CONTAINS(err.message, "changed.lua:3: the name 'twice' is taken by the op of twice.lua");
}

FACT(files_are_read_in_their_order) {
    char folder[] = "/tmp/redtune-own-XXXXXX", path[64], list[160];
    const char *const names[] = {"second", "first"};
    redtune_op op[2];
    CHECK(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s.lua", folder, names[i]);
        FILE *file = fopen(path, "w");
        CHECK(file);
        fputs(geomean("", names[i]), file);
        CHECK(!fclose(file));
    }
    snprintf(list, sizeof list, "%s/second.lua::%s/first.lua:%s/none.lua", folder, folder, folder);
    CHECK(redtune_ops_read(list, &err) == REDTUNE_FILE);
    CHECK_CONTAINS(err.message, "none.lua");
    for (int i = 0; i < 2; i++) CHECK_OK(redtune_op_find(names[i], &op[i], &err), err);
    CHECK(op[0] < op[1]);
    folder_remove(folder);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static redtune_status render(rdt_codegen *codegen, const char *name, bool lines, char **source,
                             char kernel[RDT_KERNEL_BYTES]) {
    redtune_problem problem = PROBLEM(.dtype = REDTUNE_F32, .count = 1000);
    rdt_point point;
    redtune_status status = redtune_op_find(name, &problem.op, &err);
    if (!status) status = rdt_problem_resolve(&problem, &problem, &err);
    const rdt_case at = {&problem, rdt_facts_typical()};
    if (!status) status = rdt_rules_default(codegen, at, &point, &err);
    if (!status) status = rdt_kernel_hash_find(codegen, at, &point, kernel, &err);
    return status ? status : rdt_render_source(codegen, at, &point, lines, source, &err);
}

FACT(lines_lead_to_the_file) {
    rdt_codegen *codegen = NULL;
    char *source = NULL, kernel[RDT_KERNEL_BYTES];
    CHECK_OK(add("dir/lines.lua", geomean("-- Three\n-- lines\n-- more.\n", "lines")), err);
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_OK(render(codegen, "lines", true, &source, kernel), err);
    CHECK_CONTAINS(source, "#line 9 \"dir/lines.lua\"\n    return log((double)x);");
    CHECK_CONTAINS(source, "#line 10 \"dir/lines.lua\"\n    return a + b;");
    free(source);
    CHECK_OK(render(codegen, "lines", false, &source, kernel), err);
    CHECK(!strstr(source, "#line"));
    free(source);
    rdt_codegen_close(codegen);
}

/* The name is in a comment. So the two differ in where their lines are, and nothing else. */
FACT(kernel_is_the_same_wherever_its_lines_are) {
    rdt_codegen *codegen = NULL;
    char *source = NULL, first[RDT_KERNEL_BYTES], second[RDT_KERNEL_BYTES];
    CHECK_OK(add("here.lua", geomean("", "here")), err);
    CHECK_OK(add("there.lua", geomean("\n\n-- Further down.\n", "there")), err);
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_OK(render(codegen, "here", true, &source, first), err);
    free(source);
    CHECK_OK(render(codegen, "there", true, &source, second), err);
    free(source);
    CHECK_TEXT(second, first);
    rdt_codegen_close(codegen);
}

/* ---- files that cannot be used --------------------------------------------------------------- */

FACT(errors_name_the_line_and_the_remedy) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"return {\n  name = = 3\n}", "bad.lua:2: unexpected symbol near '='; correct it there"},
        {"return {\n  name = nam\n}", "bad.lua:2: undefined name 'nam'; correct it there"},
        {"x = 1", "bad.lua:1: 'x' is assigned but not declared local"},
        {"-- Nothing.", "it returns no table; end it with return { name = ..., ... }"},
        {"return 5", "bad.lua:1: it returns no table"},
        {"\nreturn { naem = 'a' }", "bad.lua:2: unknown field 'naem'"},
        {"return { name = 'A b' }", "bad.lua:1: name must be 1 to 23 letters"},
        {"return {\n name = 'sum',\n accumulator = 'f64', identity = '0', map = 'x',\n"
         " combine = 'a + b' }",
         "bad.lua:2: the name 'sum' is taken by the op of redtune itself; choose another"},
        {"return { name = 'a', dtypes = {\n'f31' } }", "bad.lua:1: unknown dtype 'f31'; use bf16,"},
        {"return { name = 'a',\naccumulator = 'f16' }", "bad.lua:2: accumulator: 'f16' is no type"},
        {"return { name = 'a',\naccumulator = {} }", "bad.lua:2: accumulator must be a type"},
        {"return {\nname = 'a', accumulator = 'f64', combine = 'a' }",
         "bad.lua:1: identity is missing; add identity = \"...\""},
        {"return { name = 'a', accumulator = 'f64',\nidentity = 0 }",
         "bad.lua:2: identity must be a text"},
        {"return { name = 'a', accumulator = { s = 'f64' },\nidentity = {} , result = 'f64',\n"
         "finish = 'a.s' }",
         "bad.lua:2: identity has no text for the accumulator's field s"},
        {"return { name = 'a',\naccumulator = { a = 'f64', b = 'f64', c = 'f64', d = 'f64',\n"
         "e = 'i32' } }",
         "bad.lua:2: accumulator has 40 bytes, and at most 32 are possible"},
        {"return { name = 'a',\ncommutative = false }", "bad.lua:2: commutative must be true"},
        {"return { name = 'a',\nelements = { 4, 1 } }", "bad.lua:2: elements must be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_CONTAINS(said(cases[i].text), cases[i].says);
}

FACT(examples_are_looked_at) {
    char text[512];
    static const char *const examples[][2] = {
        {"5", "bad.lua:2: examples must be a list of 1 to 64"},
        {"{ 5 }", "bad.lua:2: example 1: it must be a table"},
        {"{ { x = { 1 }, result = 1 }, { x = 3, result = 1 } }", "example 2: x must be a list"},
        {"{ { x = { 'a' }, result = 1 } }", "example 1: each element must be a number"},
        {"{ { x = { 1 } } }", "example 1: result must be a number"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        snprintf(text, sizeof text,
                 "return { name = 'a', accumulator = 'f64', identity = '0', map = 'x',\n"
                 "combine = 'a + b', examples = %s }",
                 examples[i][0]);
        CHECK_CONTAINS(said(text), examples[i][1]);
    }
}

/* Each would run, or fill memory, for ever. */
FACT(files_that_do_not_end_are_refused) {
    static const char *const texts[][2] = {
        {"local a = 1\nwhile true do a = a + 1 end", "bad.lua:2: it runs too long"},
        {"string.rep('', 1e15)", "bad.lua:1: string.rep takes too long"},
        {"local s = ('a'):rep(10000)\ns:find('.-.-.-.-b')", "bad.lua:2: matching a pattern takes"},
        {"table.move({}, 1, 1e15, 2)", "table.move takes too long"},
        {"local t = {}\nfor i = 1, 1e9 do t[i] = i end", "it takes more than 64 MiB of memory"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_CONTAINS(said(texts[i][0]), texts[i][1]);
}

FACT(files_see_nothing_of_the_machine) {
    static const char *const names[] = {"io", "os", "load", "dofile", "debug", "package", "pcall"};
    char text[64], says[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(text, sizeof text, "return %s", names[i]);
        snprintf(says, sizeof says, "undefined name '%s'", names[i]);
        CHECK_CONTAINS(said(text), says);
    }
    CHECK_CONTAINS(said("return require '../../etc/passwd'"), "there is no such file");
    CHECK_CONTAINS(said("\033Lua"), "bad.lua");
}

FACT(refused_files_leave_nothing_behind) {
    const int before = rdt_user_ops_count();
    redtune_op op;
    CHECK(add("bad.lua", "return { name = 'nothing' }"));
    CHECK_INT(rdt_user_ops_count(), before);
    CHECK(redtune_op_find("nothing", &op, &err) == REDTUNE_INVALID);
}

FACT(each_failed_allocation_is_told) {
    const char *text = geomean("", "memory");
    CHECK_INT(rdt_user_ops_count() >= 0, 1); /* the table is read */
    for (long n = 1; faults_begin(n); n++) {
        const redtune_status status = add("memory.lua", text);
        /* Lua may collect garbage, and have enough. */
        if (!faults_end() || status != REDTUNE_MEMORY) CHECK_OK(status, err);
    }
}

int main(int argc, char **argv) {
    unsetenv("REDTUNE_OPS");
    return check_run(argc, argv);
}
