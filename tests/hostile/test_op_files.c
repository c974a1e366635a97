/* Facts about op files that were made to do harm: each is refused within two seconds of the
 * processor with a message that names it, or harms its own op alone (docs/own-ops.md). */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "check.h"
#include "codegen/codegen.h"
#include "codegen/user_ops.h"
#include "folder.h"
#include "shaped.h"

#define MAX_NS 2e9

static redtune_error err;

static redtune_status add(const char *name, const char *text) {
    err = (redtune_error){0};
    return rdt_user_ops_add_text(name, text, strlen(text), &err);
}

/* ---- what is refused ------------------------------------------------------------------------- */

#define TEXT_OF(letter, count) "local s = ('" letter "'):rep(" count ")\n"
#define FOR_EVER(body)         "while true do " body " end"
#define OP                                                                                         \
    "return { name = 'h', accumulator = 'f64', identity = '0', combine = 'a + b', result = "       \
    "'f64', "
#define FUNCTIONS(text) OP "map = 'x', functions = '" text "' }"
#define NAMED(name)     "return { name = '" name "', accumulator = 'f64' }"

static const struct {
    const char *text, *says;
} refused[] = {
    /* Without an end. */
    {FOR_EVER(""), "bad.lua:1: it runs too long"},
    {TEXT_OF("a", "20000") FOR_EVER("s:gsub('.', function(c) return c .. c end)"), "runs too long"},
    {TEXT_OF("\\0", "250000") "local t = s .. 'x'\n" FOR_EVER("local c = s < t"), "runs too long"},
    {FOR_EVER("(''):rep(9e7)"), "string.rep takes too long"},
    {"local t = {}\nfor i = 1, 1e6 do t[i] = i end\n" FOR_EVER("table.insert(t, 1, 1)"),
     "runs too"},
    {FOR_EVER("local t, n = {}, 1 << 12\nfor i = 1, n do t[i * (2 * n - 1)] = 1 end\nt.x = 1"),
     "runs too long"},
    {"local t = {}\nfor i = 1, 1e6 do t[i] = i end\n" FOR_EVER("sorted_keys(t)"), "runs too long"},
    /* In one call. */
    {TEXT_OF("a", "9000") "s:find('.-.-b')", "bad.lua:2: matching a pattern takes too long"},
    {TEXT_OF("a", "20000") "s:find('\\0?.-.-b')", "matching a pattern takes too long"},
    {TEXT_OF("(", "200000") "s:find('%b()')", "matching a pattern takes too long"},
    {TEXT_OF("a", "20000") "s:find('(a*)%1b')", "matching a pattern takes too long"},
    {TEXT_OF("a", "20000") "s:find('%f[' .. s .. ']')", "matching a pattern takes too long"},
    {TEXT_OF("a", "250000") "s:find(('a'):rep(100000) .. 'b', 1, true)", "matching a pattern"},
    {TEXT_OF("a", "90000") "local b, t = { s .. 1, s .. 2 }, {}\n"
                           "for i = 1, 4000 do t[i] = b[i % 2 + 1] end\ntable.sort(t)",
     "table.sort takes too long"},
    {"table.move({}, 1, 9e7, 2)", "bad.lua:1: table.move takes too long"},
    {"local t = { table.unpack({}, 1, 500000) }", "table.unpack takes too long"},
    {TEXT_OF("a", "250000") "local t = { s:byte(1, -1) }", "string.byte takes too long"},
    {"('a'):rep(math.maxinteger)", "string.rep takes too long"},
    {"('a'):rep(-1e300)", "bad.lua:1: "},
    /* Too large. */
    {"local t = {}\nfor i = 1, 1e9 do t[i] = {} end", "it takes more than 64 MiB of memory"},
    {TEXT_OF("a", "200000") "s:gsub('a', s)", "it takes more than 64 MiB of memory"},
    {TEXT_OF("a", "300000"), "a text of more than 256 KiB"},
    {"local t, n = {}, 1 << 17\nfor i = 1, n do t[i * (2 * n - 1)] = 1 end",
     "of more than 8192 names"},
    {"local function f() return 1 + f() end\nf()", "calls that are too deep"},
    {"local function f() return (('a'):gsub('a', f)) end\nf()", "C stack overflow"},
    /* Out of the sandbox. */
    {"setmetatable({}, { __gc = error })", "undefined name 'setmetatable'"},
    {"getmetatable('').__index = nil", "undefined name 'getmetatable'"},
    {"local x <close> = {}", "non-closable value"},
    {"coroutine.wrap(error)()", "undefined name 'coroutine'"},
    {"string.dump(error)", "attempt to call a nil value (field 'dump')"},
    {"math.random()", "attempt to call a nil value (field 'random')"},
    {"_G.string = nil", "undefined name '_G'"},
    {"os.exit(0)", "undefined name 'os'"},
    {"error({})", "bad.lua: an error that is no text"},
    {"error('\\27[2J')", "bad.lua:1: ?[2J"},
    {"local t = { 3, 1, 2, 5, 4 }\ntable.sort(t, function() return true end)", "invalid order"},
    /* Fields. */
    {NAMED("h\\\"q"), "bad.lua:1: name must be 1 to 23 letters"},
    {NAMED("h\\n#include"), "name must be 1 to 23 letters"},
    {NAMED("h\\0x"), "name must be 1 to 23 letters"},
    {OP "map = 'x', tolerance = 1e308 }", "tolerance of h must be a number from 0 to 1048576"},
    {OP "map = 'x', elements = { 0/0, 1 } }", "elements must be"},
    {OP "map = 'x', parameters = { { name = 'p;', usual = 1 } } }", "parameters must have a name"},
    /* What reads the machine. */
    {FUNCTIONS("#include </etc/passwd>"), "bad.lua:1: functions has '#include'; leave it out"},
    {FUNCTIONS("\\f # include </etc/passwd>"), "'#include'"},
    {FUNCTIONS("/* */ #include </etc/passwd>"), "'#include'"},
    {FUNCTIONS("x = 1\\'0\\'/*\\';\\n#include </etc/passwd>"), "'#include'"},
    {FUNCTIONS("#inc\\\\\\nlude </etc/passwd>"), "'#include'"},
    {FUNCTIONS("#inc\\\\\\r\\nlude </etc/passwd>"), "'#include'"},
    {FUNCTIONS("%:include </etc/passwd>"), "'#include'"},
    {FUNCTIONS("?\?=include </etc/passwd>"), "'#include'"},
    {FUNCTIONS("#/**/include </etc/passwd>"), "'#'"},
    {FUNCTIONS("#include_next <x>"), "'#include_next'"},
    {FUNCTIONS("#import <x>"), "'#import'"},
    {FUNCTIONS("#embed <x>"), "'#embed'"},
    {FUNCTIONS("#pragma once"), "'#pragma'"},
    {FUNCTIONS("#line 1 \"x\""), "'#line'"},
    {FUNCTIONS("# 1 \"x\""), "'#1'"},
    {FUNCTIONS("_Pragma(\"once\")"), "'_Pragma'"},
    {FUNCTIONS("_Pra\\\\\\ngma(\"once\")"), "'_Pragma'"},
    {FUNCTIONS("#if __has_include(</etc/passwd>)\\n#endif"), "'__has_include'"},
    {FUNCTIONS("#if __has_include_next(<x>)\\n#endif"), "'__has_include'"},
    {FUNCTIONS("#define A\\0"), "functions has '\\0'"},
    {OP "\nmap = 'x;\\n#include <x>' }", "bad.lua:2: map has '#include'"},
    {OP "map = 'x',\nfinish = 'a;\\n#include <x>' }", "bad.lua:2: finish has '#include'"},
};

FACT(harmful_files_are_refused_within_two_seconds) {
    const int before = rdt_user_ops_count();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const int64_t began = rdt_clock_thread_ns();
        CHECK(add("bad.lua", refused[i].text));
        const double took_ns = (double)(rdt_clock_thread_ns() - began);
        if (!strstr(err.message, refused[i].says) || took_ns > MAX_NS)
            fprintf(stderr, "%s\n%.2f s: %s\n", refused[i].text, 1e-9 * took_ns, err.message);
        CHECK_CONTAINS(err.message, "bad.lua");
        CHECK_CONTAINS(err.message, refused[i].says);
        CHECK(took_ns < MAX_NS);
    }
    CHECK_INT(rdt_user_ops_count(), before);
}

FACT(pipes_and_folders_are_no_files) {
    char folder[] = "/tmp/redtune-op-files-XXXXXX", path[64];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    CHECK(!mkfifo(path, 0600));
    CHECK(redtune_ops_read(path, &err) == REDTUNE_FILE);
    CHECK_CONTAINS(err.message, "pipe: it is a named pipe, not a regular file");
    CHECK(redtune_ops_read(folder, &err) == REDTUNE_FILE);
    CHECK_CONTAINS(err.message, "it is a directory, not a regular file");
    folder_remove(folder);
}

/* ---- what harms its own op ------------------------------------------------------------------- */

static redtune_status render(rdt_codegen *codegen, const char *op, char **source) {
    redtune_problem problem = PROBLEM(.dtype = REDTUNE_F32, .count = 1000);
    rdt_point point;
    redtune_status status = redtune_op_find(op, &problem.op, &err);
    if (!status) status = rdt_problem_resolve(&problem, &problem, &err);
    const rdt_case at = {&problem, rdt_facts_typical()};
    if (!status) status = rdt_rules_default(codegen, at, &point, &err);
    return status ? status : rdt_render_source(codegen, at, &point, true, source, &err);
}

/* An entry with a function make of its own, in which map is this. */
static const char *made(const char *name, const char *before, const char *map) {
    static char text[2048];
    snprintf(text, sizeof text,
             "local accumulator = require 'lib/accumulator'\n%s\n"
             "return { name = '%s', formula = 'h', result = 'f64', make = function(t)\n"
             "return { acc = accumulator.f64, identity = '0.0', map = %s,\n"
             "combine = function(a, b) return a .. ' + ' .. b end,\n"
             "finalize = function(a) return a end } end }",
             before, name, map);
    return text;
}

/* All that a file can reach is turned against redtune's own sum, in the state that renders both. */
FACT(other_ops_are_rendered_as_before) {
    static const char *const harms[] = {
        "local ops = require 'ops'\nlocal make = ops.sum.make\nops.sum.make = function(t)\n"
        "local own = make(t)\nlocal map = own.map\n"
        "own.map = function(x) return '2 * ' .. map(x) end\nreturn own end",
        "string.format = function() return '0' end\n('').rep = nil",
        "table.concat = function() return '0' end\nmath.max = nil",
        "require('dtypes').f32.value = 'int'\nrequire('dtypes').f64.value = 'int'",
        "accumulator.f32.c = 'int'\naccumulator.f64.shuffle = function() return '0' end",
        "require('block/family').default = function() return {} end",
    };
    rdt_codegen *codegen = NULL;
    char *before = NULL, name[16];
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_OK(render(codegen, "sum", &before), err);
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        char *own = NULL, *after = NULL;
        snprintf(name, sizeof name, "harm%zu", i);
        /* Some harm the reading of their own file. */
        if (!add(name, made(name, harms[i], "function(x) return x end")))
            render(codegen, name, &own);
        CHECK_OK(render(codegen, "sum", &after), err);
        CHECK_TEXT(after, before);
        free(own);
        free(after);
    }
    free(before);
    rdt_codegen_close(codegen);
}

FACT(functions_that_are_called_later_have_the_same_limits) {
    static const struct {
        const char *name, *map, *says;
    } cases[] = {
        {"burns", "function() while true do end end", "burns.lua:4: it runs too long"},
        {"matches", "function() local s = ('a'):rep(5000)\nwhile true do s:find 'a-b' end end",
         "matching a pattern takes too long"},
        {"grows", "function() return ('a'):rep(300000) end", "grows.lua: it makes a text of more"},
        {"reads", "function(x) return x .. ';\\n#include </etc/passwd>\\n' end",
         "reads.lua: its CUDA text has '#include'"},
    };
    rdt_codegen *codegen = NULL;
    char *source = NULL, file[16];
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(file, sizeof file, "%s.lua", cases[i].name);
        CHECK_OK(add(file, made(cases[i].name, "", cases[i].map)), err);
        const int64_t began = rdt_clock_thread_ns();
        CHECK(render(codegen, cases[i].name, &source) == REDTUNE_TEMPLATE);
        CHECK(rdt_clock_thread_ns() - began < MAX_NS);
        CHECK_CONTAINS(err.message, file);
        CHECK_CONTAINS(err.message, cases[i].says);
    }
    rdt_codegen_close(codegen);
}

/* What chooses and defines is passed on. */
FACT(directives_that_define_and_choose_pass) {
    CHECK_OK(add("good.lua",
                 "return { name = 'good', accumulator = 'f64', identity = '0',\n"
                 "map = 'TWICE(x)', combine = 'a + b', functions = [[\n"
                 "#define TWICE(v) ((v) + (v)) // # of them\n  # define C(a, b) a##b #\n"
                 "#ifdef A\n#elif defined(B)\n#else\n#endif\n#ifndef A\n#undef A\n#\n"
                 "#endif\n#if 0\n#error \"no\"\n#endif\n]] }"),
             err);
}

int main(int argc, char **argv) {
    unsetenv("REDTUNE_OPS");
    return check_run(argc, argv);
}
