/* The front end: what it refuses, what it says then, and that no broken text breaks it. */
#include "fact.h"

#include "exec/program.h"

static const char head[] = ".version 8.3\n.target sm_90\n.address_size 64\n";

/* Parses and decodes every entry. */
static bool compile(const char *text, size_t bytes, sim_problem *problem) {
    sim_ast ast;
    bool good = sim_parse(text, bytes, &ast, problem);
    uint64_t *addresses = calloc(ast.variables.count + 1u, sizeof *addresses);
    for (uint32_t i = 0; good && addresses && i < ast.functions.count; i++) {
        sim_program program;
        good = sim_decode(&ast, i, addresses, &program, problem);
    }
    free(addresses);
    sim_parse_free(&ast);
    return good;
}

static bool compile_body(const char *body, sim_problem *problem) {
    char text[4096];
    snprintf(text, sizeof text,
             "%s.visible .entry k(.param .u64 p)\n{\n.reg .b32 %%r<4>; .reg .pred %%p<2>;"
             ".reg .b64 %%d<3>; .reg .f32 %%f<3>; .reg .b16 %%h<2>;\n%s\nret;\n}\n",
             head, body);
    return compile(text, strlen(text), problem);
}

static void refuse(const char *body, uint32_t line, const char *why) {
    sim_problem problem;
    CHECK(!compile_body(body, &problem));
    CHECK_EQUAL(problem.line, line);
    CHECK_CONTAINS(problem.text, why);
}

FACT(unknown_instruction_is_named_with_its_line) {
    refuse("mov.u32 %r0, 1;\nwgmma.fence.sync.aligned;", 8, "'wgmma.fence.sync.aligned'");
    refuse("add.u33 %r0, %r1, %r2;", 7, "'add.u33'");
    refuse("ld.global.strange.u32 %r0, [%d0];", 7, "'ld.global.strange.u32'");
    refuse("call.uni foo;", 7, "'call.uni'");
    refuse("call.uni (%r0), foo, (%r1);", 7, "'call.uni'");
    refuse("add.ftz.u32 %r0, %r1, %r2;", 7, "'add.ftz.u32'");
}

FACT(operands_have_to_fit) {
    refuse("add.u32 %r0, %r1;", 7, "operands");
    refuse("add.u32 %r0, %d1, %r2;", 7, "64 bits");
    refuse("add.u32 %p0, %r1, %r2;", 7, "add.u32");
    refuse("add.u32 7, %r1, %r2;", 7, "destination");
    refuse("add.f32 %f0, %f1, 3;", 7, "integer");
    refuse("ld.global.v4.u32 {%r0,%r1}, [%d0];", 7, "elements");
    refuse("ld.global.u64 %r0, [%d0];", 7, "bits");
    refuse("ld.param.u64 %d0, [p+4];", 7, "past the end");
    refuse("setp.lt.s32 %r0, %r1, %r2;", 7, "predicate");
    refuse("@%r0 mov.u32 %r0, 1;", 7, "guard");
    refuse("bra nowhere;", 7, "'nowhere'");
    refuse("mov.u32 %r9, 1;", 7, "%r9");
    refuse("mov.u32 %r0, %nonsense;", 7, "%nonsense");
    refuse("L: L: ret;", 7, "twice");
}

FACT(scopes_keep_their_names) {
    sim_problem problem;
    CHECK(compile_body("{ .reg .b32 q; mov.u32 q, 1; } { .reg .b64 q; mov.u64 q, 1; }"
                       "{ L: bra L; } { L: bra L; bra M; } M:",
                       &problem));
    refuse("{ .reg .b32 q; mov.u32 q, 1; }\nmov.u32 q, 1;", 8, "'mov.u32'");
}

FACT(module_has_to_say_what_it_is) {
    sim_problem problem;
    CHECK(!compile("", 0, &problem));
    CHECK_CONTAINS(problem.text, ".version");
    const char *narrow = ".version 8.3 .target sm_90 .address_size 32";
    CHECK(!compile(narrow, strlen(narrow), &problem));
    CHECK_CONTAINS(problem.text, "64-bit");
    const char *words = "hello world";
    CHECK(!compile(words, strlen(words), &problem));
    CHECK_CONTAINS(problem.text, "hello");
}

FACT(hostile_sizes_are_refused) {
    sim_problem problem;
    refuse(".reg .b32 %x<4000000000>;", 7, "registers");
    refuse(".shared .b8 s[99999999999];", 7, "too large");
    char text[256];
    snprintf(text, sizeof text, "%s.entry k(.param .b8 p[40000]) { ret; }", head);
    CHECK(!compile(text, strlen(text), &problem));
}

/* ptxas refuses more, whatever the GPU has. */
FACT(variables_in_shared_memory_have_48_KiB) {
    sim_problem problem;
    CHECK(compile_body(".shared .b8 s[49152];", &problem));
    CHECK(!compile_body(".shared .b8 s[49152]; .shared .b8 last;", &problem));
    CHECK_CONTAINS(problem.text, "too much shared data (0xc001 bytes, 0xc000 max)");
}

static char *read_file(const char *name, size_t *bytes) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SIM_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    *bytes = file && text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    CHECK(*bytes > 0);
    if (file) fclose(file);
    return text;
}

FACT(whole_files_are_understood) {
    static const char *const names[] = {"kernels-nvrtc13-sm_90.ptx", "kernels-nvrtc13-sm_100.ptx",
                                        "kernels-nvrtc12-sm_75.ptx"};
    sim_problem problem;
    for (int i = 0; i < 3; i++) {
        size_t bytes = 0;
        char *text = read_file(names[i], &bytes);
        CHECK(compile(text, bytes, &problem));
        free(text);
    }
}

/* Text that ends anywhere is refused or taken, and never read past its end. */
FACT(cut_text_is_survived) {
    size_t bytes = 0;
    sim_problem problem;
    char *text = read_file("kernels-nvrtc12-sm_75.ptx", &bytes);
    for (size_t end = 0; end < bytes; end += end < 4000 ? 7 : 1999) {
        char *copy = malloc(end + 1);
        if (!copy) break;
        memcpy(copy, text, end);
        compile(copy, end, &problem);
        free(copy);
    }
    free(text);
}

/* Likewise text in which some bytes are others. */
FACT(changed_text_is_survived) {
    size_t bytes = 0;
    sim_problem problem;
    char *text = read_file("kernels-nvrtc12-sm_75.ptx", &bytes);
    uint64_t state = 1;
    bytes = bytes > 16000 ? 16000 : bytes;
    for (int round = 0; round < 300; round++) {
        char *copy = malloc(bytes);
        if (!copy) break;
        memcpy(copy, text, bytes);
        for (int i = 0; i < 5; i++) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            copy[(state >> 33) % bytes] = (char)(state >> 20);
        }
        compile(copy, bytes, &problem);
        free(copy);
    }
    free(text);
}

int main(int argc, char **argv) { return fact_run(argc, argv); }
