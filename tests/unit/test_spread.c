/* Facts about the rendered sources as NVRTC sees them: a set of kernels that covers every pair of
 * parameter values compiles for every architecture that redtune promises. Each kernel is compiled
 * for one of them, in turns; with --all for each. Needs no GPU. */
#include "check.h"
#include "compiler/compiler.h"
#include "cover.h"

static redtune_error err;
static bool all; /* --all */

/* The architectures, of which the kernels take turns. */
enum { ARCHITECTURES = 4 };

static void compile_cover(int major, int minor, size_t turn) {
    rdt_codegen *codegen = NULL;
    rdt_compiler *compiler = NULL;
    cover_point *points = NULL;
    size_t count = 0, compiled = 0, failed = 0;
    if (rdt_compiler_open(&compiler, &err)) SKIP("%s", err.message);
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    rdt_facts facts = *rdt_facts_typical();
    facts.major = major;
    facts.minor = minor;
    CHECK_OK(
        cover_pairs(codegen, &facts, &(cover_set){.scope = COVER_KERNELS}, &points, &count, &err),
        err);
    for (size_t i = 0; i < count; i++) {
        char *source = NULL, text[RDT_POINT_TEXT_BYTES];
        if (!all && i % ARCHITECTURES != turn) continue;
        rdt_image image = {0};
        rdt_case at = {&points[i].problem, &facts};
        rdt_point_format(rdt_codegen_spaces(codegen), &points[i].point, text);
        redtune_status status =
            rdt_render_source(codegen, at, &points[i].point, true, &source, &err);
        if (!status)
            status = rdt_compiler_compile(compiler, source, "block.cu", major, minor, false, &image,
                                          &err);
        if (!check_that(!status && image.bytes > 0 && !image.ptx, __FILE__, __LINE__,
                        "%s %s for sm_%d%d: %s", redtune_dtype_name(points[i].problem.dtype), text,
                        major, minor, status ? err.message : "no cubin"))
            failed++;
        compiled++;
        free(image.data);
        free(source);
    }
    printf("sm_%d%d: %zu kernels compiled, %zu failed\n", major, minor, compiled, failed);
    CHECK(count >= 24); /* the largest pair of parameters alone has so many */
    free(points);
    rdt_codegen_close(codegen);
    rdt_compiler_close(compiler);
}

static void cover_compiles_for_sm_75(void) { compile_cover(7, 5, 0); }

static void cover_compiles_for_sm_80(void) { compile_cover(8, 0, 1); }

static void cover_compiles_for_sm_90(void) { compile_cover(9, 0, 2); }

static void cover_compiles_for_sm_100(void) { compile_cover(10, 0, 3); }

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(cover_compiles_for_sm_75),
        FACT(cover_compiles_for_sm_80),
        FACT(cover_compiles_for_sm_90),
        FACT(cover_compiles_for_sm_100),
    };
    all = argc > 1 && !strcmp(argv[1], "--all");
    return check_run(facts, sizeof facts / sizeof *facts, argc - all, argv + all);
}
