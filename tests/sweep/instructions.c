/* Facts about the rendered sources as NVRTC sees them: the kernels of a covering set compile to
 * machine code for every architecture that redtune promises, and the simulated GPU knows the
 * instructions of their PTX, and of further kernels that cover every op of every dtype. Each is
 * made for one architecture, in turns; with --all for each. Prints which instructions there are. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <dlfcn.h>
#include "check.h"
#include "compiler/compiler.h"
#include "cover.h"
#include "gpu/context.h"
#include "gpu/kernel.h"

enum { NAMES_MAX = 400, NAME_BYTES = 64 };

static redtune_error err;
static char names[NAMES_MAX][NAME_BYTES];
static size_t name_count;
static bool all; /* --all */

static const int architectures[][2] = {{7, 5}, {8, 0}, {9, 0}, {10, 0}};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* Machine code takes NVRTC longer than PTX. Without --all one kernel in so many is made of it. */
enum { CUBINS_ONE_OF = 3 };

static void add_name(const char *name) {
    for (size_t i = 0; i < name_count; i++)
        if (!strcmp(names[i], name)) return;
    if (name_count < NAMES_MAX) snprintf(names[name_count++], NAME_BYTES, "%s", name);
}

/* An instruction stands on a line of its own behind a tab: a predicate perhaps, the name, operands.
 */
static void count_instructions(const char *ptx) {
    for (const char *line = ptx; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        char name[NAME_BYTES];
        const char *at = line + strspn(line, " \t{");
        if (*at == '@') at += strcspn(at, " \t"), at += strspn(at, " \t");
        if (islower((unsigned char)*at) && sscanf(at, "%63[a-z0-9_.:]", name) == 1) add_name(name);
    }
}

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

/* ---- compiling ------------------------------------------------------------------------------- */

/* Gives the PTX of the last cubin. NULL: this NVRTC does not keep it, as fixtures/both_nvrtc.c
 * does. */
static const char *(*last_ptx)(void);

static void find_last_ptx(const rdt_compiler *compiler) {
    void *library = dlopen(rdt_compiler_path(compiler), RTLD_NOW | RTLD_NOLOAD);
    if (library) *(void **)&last_ptx = dlsym(library, "rdt_test_last_ptx");
}

/* A kernel, by all that is made of it. */
typedef struct compiled {
    char *source;
    rdt_image cubin, ptx; /* PTX only where none is kept of a cubin */
} compiled;

static redtune_status compile(rdt_compiler *compiler, int major, int minor, bool to_cubin,
                              compiled *out) {
    const char *name = "block.cu";
    redtune_status status = REDTUNE_OK;
    if (to_cubin)
        status = rdt_compiler_compile(compiler, out->source, name, major, minor, false, &out->cubin,
                                      &err);
    if (status || (to_cubin && last_ptx)) return status;
    return rdt_compiler_compile(compiler, out->source, name, major, minor, true, &out->ptx, &err);
}

static void compiled_free(compiled *self) {
    free(self->source);
    free(self->cubin.data);
    free(self->ptx.data);
}

static redtune_status load(const rdt_context *sim, const compiled *of) {
    const char *ptx = of->ptx.data ? of->ptx.data : last_ptx();
    const rdt_launch launch = {.threads = 1};
    rdt_kernel *kernel = NULL;
    count_instructions(ptx);
    redtune_status status = rdt_kernel_load(sim->driver, ptx, &launch, &kernel, &err);
    rdt_kernel_unload(kernel);
    return status;
}

/* ---- the set --------------------------------------------------------------------------------- */

static void compile_and_load_all(rdt_compiler *compiler, rdt_codegen *codegen,
                                 const rdt_context *sim, size_t turn) {
    const int major = architectures[turn][0], minor = architectures[turn][1];
    rdt_facts facts = *rdt_facts_typical();
    cover_point *points = NULL;
    size_t count = 0, loaded = 0, cubins = 0;
    facts.major = major;
    facts.minor = minor;
    CHECK_OK(
        cover_pairs(codegen, &facts, &(cover_set){.scope = COVER_PROBLEMS}, &points, &count, &err),
        err);
    for (size_t i = 0; i < count; i++) {
        compiled of = {.source = NULL};
        const bool to_cubin =
            points[i].scope == COVER_KERNELS && (all || i / ARCHITECTURES % CUBINS_ONE_OF == 0);
        char text[RDT_POINT_TEXT_BYTES];
        rdt_case at = {&points[i].problem, &facts};
        if (!all && i % ARCHITECTURES != turn) continue;
        rdt_point_format(rdt_codegen_spaces(codegen), &points[i].point, text);
        redtune_status status =
            rdt_render_source(codegen, at, &points[i].point, true, &of.source, &err);
        if (!status) status = compile(compiler, major, minor, to_cubin, &of);
        const bool made = !status && (!to_cubin || (of.cubin.bytes > 0 && !of.cubin.ptx));
        if (made) status = load(sim, &of);
        check_that(made && !status, __FILE__, __LINE__, "sm_%d%d, %s of %s, %s: %s", major, minor,
                   redtune_op_name(points[i].problem.op),
                   redtune_dtype_name(points[i].problem.dtype), text,
                   status ? err.message : "no cubin");
        cubins += to_cubin;
        loaded++;
        compiled_free(&of);
    }
    printf("sm_%d%d: %zu kernels, %zu of them cubins, %zu different instructions so far\n", major,
           minor, loaded, cubins, name_count);
    free(points);
    CHECK(ARCHITECTURES * cubins >= 24); /* the largest pair of parameters alone has that many */
}

FACT(kernels_compile_and_their_instructions_are_known) {
    rdt_codegen *codegen = NULL;
    rdt_compiler *compiler = NULL;
    rdt_context *sim = NULL;
    bool entered;
    if (rdt_compiler_open(&compiler, &err)) SKIP("%s", err.message);
    find_last_ptx(compiler);
    setenv("REDTUNE_SIM_CAPABILITY", "100", 1);
    CHECK_OK(rdt_context_open("sim", &sim, &err), err);
    CHECK_OK(rdt_context_enter(sim, &entered, &err), err);
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    for (size_t i = 0; i < ARCHITECTURES; i++) compile_and_load_all(compiler, codegen, sim, i);
    qsort(names, name_count, sizeof *names, compare_names);
    for (size_t i = 0; i < name_count; i++) printf("%s\n", names[i]);
    CHECK(name_count > 45);
    rdt_codegen_close(codegen);
    rdt_compiler_close(compiler);
    rdt_context_leave(sim, entered);
    rdt_context_close(sim);
}

int main(int argc, char **argv) {
    all = argc > 1 && !strcmp(argv[1], "--all");
    return check_run(argc - all, argv + all);
}
