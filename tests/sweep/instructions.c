/* Facts about the PTX of the templates: the simulated GPU loads the kernels of the covering set,
 * whose instructions it must therefore know. Each is made for one architecture, in turns; with
 * --all for each. Prints which instructions there are. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
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

static void load_all(rdt_compiler *compiler, rdt_codegen *codegen, const rdt_context *sim,
                     size_t turn) {
    const int major = architectures[turn][0], minor = architectures[turn][1];
    rdt_facts facts = *rdt_facts_typical();
    cover_point *points = NULL;
    size_t count = 0, loaded = 0;
    facts.major = major;
    facts.minor = minor;
    CHECK_OK(
        cover_pairs(codegen, &facts, &(cover_set){.scope = COVER_PROBLEMS}, &points, &count, &err),
        err);
    for (size_t i = 0; i < count; i++) {
        char *source = NULL;
        rdt_image image = {0};
        rdt_kernel *kernel = NULL;
        const rdt_launch launch = {.threads = 1};
        rdt_case at = {&points[i].problem, &facts};
        if (!all && i % ARCHITECTURES != turn) continue;
        CHECK_OK(rdt_render_source(codegen, at, &points[i].point, true, &source, &err), err);
        CHECK_OK(
            rdt_compiler_compile(compiler, source, "block.cu", major, minor, true, &image, &err),
            err);
        count_instructions(image.data);
        redtune_status status = rdt_kernel_load(sim->driver, image.data, &launch, &kernel, &err);
        check_that(!status, __FILE__, __LINE__, "sm_%d%d, %s of %s: %s", major, minor,
                   redtune_op_name(points[i].problem.op),
                   redtune_dtype_name(points[i].problem.dtype), status ? err.message : "");
        loaded++;
        rdt_kernel_unload(kernel);
        free(image.data);
        free(source);
    }
    printf("sm_%d%d: %zu kernels, %zu different instructions so far\n", major, minor, loaded,
           name_count);
    free(points);
}

static void every_instruction_of_the_templates_is_known(void) {
    rdt_codegen *codegen = NULL;
    rdt_compiler *compiler = NULL;
    rdt_context *sim = NULL;
    bool entered;
    if (rdt_compiler_open(&compiler, &err)) SKIP("%s", err.message);
    setenv("REDTUNE_SIM_CAPABILITY", "100", 1);
    CHECK_OK(rdt_context_open("sim", &sim, &err), err);
    CHECK_OK(rdt_context_enter(sim, &entered, &err), err);
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    for (size_t i = 0; i < ARCHITECTURES; i++) load_all(compiler, codegen, sim, i);
    qsort(names, name_count, sizeof *names, compare_names);
    for (size_t i = 0; i < name_count; i++) printf("%s\n", names[i]);
    CHECK(name_count > 45);
    rdt_codegen_close(codegen);
    rdt_compiler_close(compiler);
    rdt_context_leave(sim, entered);
    rdt_context_close(sim);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {FACT(every_instruction_of_the_templates_is_known)};
    all = argc > 1 && !strcmp(argv[1], "--all");
    return check_run(facts, sizeof facts / sizeof *facts, argc - all, argv + all);
}
