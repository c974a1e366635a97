/* Facts about every kernel that a run may ask for: NVRTC takes it. All ops and dtypes meet in all
 * families that serve them, in every order and accuracy, whatever the launch leaves: results, by
 * themselves or with what some uses add, an accumulator, or a team's message. A config and an
 * architecture are drawn for each. Without --all, one op of each kind, with one dtype. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "codegen/codegen.h"
#include "compiler/compiler.h"
#include "draw.h"
#include "shaped.h"

static redtune_error err;
static rdt_codegen *codegen;
static rdt_compiler *compiler;
static bool all;                   /* --all */
static size_t part = 1, parts = 1; /* --part */
static size_t kernels, compiled;

static const int architectures[][2] = {{7, 5}, {8, 0}, {9, 0}, {10, 0}};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* Each family serves one of each layout that it has. */
static const shaped forms[] = {
    {.count = 1 << 20},
    {.count = 1000, .outer = 1000},
    {.count = 3, .outer = 100000},
    {.count = 2, .outer = 100000},
    {.count = 1000, .inner = 1001},
    {.count = 4, .inner = 100000},
    {.count = 10, .outer = 10000, .segmented = REDTUNE_SEGMENTED_EACH},
    {.count = 1000, .outer = 100, .segmented = REDTUNE_SEGMENTED_ALL},
};

static const struct {
    redtune_order order;
    redtune_accuracy accuracy;
} orderings[] = {{REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_PLAIN},
                 {REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_PLAIN},
                 {REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_COMPENSATED},
                 {REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_EXACT}};

static const struct {
    const char *name;
    rdt_yield yield;
    uint64_t uses;
} leaves[] = {
    {"results", RDT_YIELD_RESULT, 0},
    {"results of all uses", RDT_YIELD_RESULT, REDTUNE_USE_ACCUMULATE | REDTUNE_USE_DEVICE_COUNT},
    {"accumulators", RDT_YIELD_ACCUMULATOR, 0},
    {"messages", RDT_YIELD_MESSAGE, 0}};

enum {
    FORMS = sizeof forms / sizeof *forms,
    ORDERINGS = sizeof orderings / sizeof *orderings,
    LEAVES = sizeof leaves / sizeof *leaves,
    TRIES = 10000
};

/* ---- a kernel -------------------------------------------------------------------------------- */

/* Any config that the family allows. */
static redtune_status draw_point(rdt_case at, int family, rdt_point *out) {
    const rdt_space *space = &rdt_codegen_spaces(codegen)->space[family];
    redtune_status status = rdt_rules_default_of(codegen, at, family, out, &err);
    for (int i = 0; !status && i < TRIES; i++) {
        rdt_point point = {.family = family};
        for (int k = 0; k < space->param_count; k++) {
            const rdt_param *param = &space->param[k];
            point.value[k] = param->value[draw((uint64_t)param->value_count)];
        }
        if (rdt_rules_check(codegen, at, &point, NULL)) continue;
        *out = point;
        break;
    }
    return status;
}

static void compile(const redtune_problem *problem, int family, size_t leave, size_t number) {
    rdt_facts facts = *rdt_facts_typical();
    const rdt_case at = {problem, &facts};
    char text[RDT_POINT_TEXT_BYTES] = "no config";
    char *source = NULL;
    rdt_image image = {.data = NULL};
    rdt_point point;
    draw_from(number);
    facts.major = architectures[number % ARCHITECTURES][0];
    facts.minor = architectures[number % ARCHITECTURES][1];
    redtune_status status = draw_point(at, family, &point);
    if (!status) rdt_point_format(rdt_codegen_spaces(codegen), &point, text);
    if (!status)
        status = leaves[leave].yield
                     ? rdt_render_part(codegen, at, &point, leaves[leave].yield, &source, &err)
                     : rdt_render_source(codegen, at, &point, true, &source, &err);
    if (!status)
        status = rdt_compiler_compile(compiler, source, "kernel.cu", facts.major, facts.minor, true,
                                      &image, &err);
    check_that(!status, __FILE__, __LINE__, "sm_%d%d, %s of %s into %s, %s, for %s: %s",
               facts.major, facts.minor, redtune_op_name(problem->op),
               redtune_dtype_name(problem->dtype), redtune_dtype_name(problem->result), text,
               leaves[leave].name, status ? err.message : "");
    compiled++;
    free(source);
    free(image.data);
}

/* ---- the set --------------------------------------------------------------------------------- */

/* The problems of one layout and ordering that a family serves: one of each op and dtype. */
typedef struct served {
    size_t count;
    redtune_problem problem[RDT_OPS_MAX * REDTUNE_DTYPE_END];
} served;

/* Of an op whose bits no order changes, or which loses nothing, another ordering is the plain one.
 */
static bool does_serve(int family, redtune_problem *problem, int layout) {
    const redtune_problem asked = *problem;
    rdt_point point;
    if (rdt_problem_resolve(problem, problem, NULL)) return false;
    if (problem->order != asked.order || problem->accuracy != asked.accuracy) return false;
    const rdt_case at = {problem, rdt_facts_typical()};
    return (int)rdt_problem_layout(problem) == layout &&
           !rdt_rules_default_of(codegen, at, family, &point, NULL);
}

static void collect(int family, int layout, size_t ordering, served *out) {
    out->count = 0;
    for (int op = 0; op < rdt_op_compiled_in.count; op++)
        for (int dtype = REDTUNE_I8; dtype < REDTUNE_DTYPE_END; dtype++)
            for (size_t form = 0; form < FORMS; form++) {
                redtune_problem *problem = &out->problem[out->count];
                *problem = shaped_problem(forms[form]);
                problem->op = (redtune_op)op;
                problem->dtype = (redtune_dtype)dtype;
                problem->order = orderings[ordering].order;
                problem->accuracy = orderings[ordering].accuracy;
                if (!does_serve(family, problem, layout)) continue;
                out->count++;
                break;
            }
}

/* Whether templates have the same lines for both ops, but for the ops' own. */
static bool are_alike(redtune_op a, redtune_op b) {
    const rdt_op_traits *x = rdt_op_find(a), *y = rdt_op_find(b);
    return x->inputs == y->inputs && x->outputs == y->outputs && x->indexed == y->indexed &&
           x->result == y->result && !x->parameters == !y->parameters;
}

/* Whether it is the turn of that problem, of those whose ops are alike. */
static bool is_wanted(const served *of, size_t at, size_t turn) {
    size_t alike = 0, before = 0;
    for (size_t i = 0; i < of->count; i++)
        if (are_alike(of->problem[i].op, of->problem[at].op)) {
            alike++;
            before += i < at;
        }
    return all || before == turn % alike;
}

/* As many of the uses as the problem may have. */
static bool add_uses(redtune_problem *problem, uint64_t uses) {
    for (uint64_t left = uses; left; left = (left - 1) & uses) {
        problem->uses = left;
        if (!rdt_problem_resolve(problem, problem, NULL)) return true;
    }
    problem->uses = 0;
    return !uses;
}

/* Pieces of an input, which leave accumulators, are whole arrays. */
static void compile_served(const served *of, int family, size_t leave) {
    static size_t turn;
    turn += 7;
    if (leaves[leave].yield == RDT_YIELD_ACCUMULATOR &&
        (!of->count || rdt_problem_layout(of->problem) != RDT_LAYOUT_WHOLE))
        return;
    for (size_t i = 0; i < of->count; i++) {
        redtune_problem problem = of->problem[i];
        if (!is_wanted(of, i, turn) || !add_uses(&problem, leaves[leave].uses)) continue;
        if (kernels++ % parts == part - 1) compile(&problem, family, leave, kernels);
    }
}

FACT(every_kernel_that_a_run_may_ask_for_compiles) {
    static served of;
    if (rdt_compiler_open(&compiler, &err)) SKIP("%s", err.message);
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    const rdt_spaces *spaces = rdt_codegen_spaces(codegen);
    for (int family = 0; family < spaces->count; family++) {
        const size_t before = compiled;
        for (int layout = 0; layout <= RDT_LAYOUT_LIST; layout++)
            for (size_t ordering = 0; ordering < ORDERINGS; ordering++) {
                collect(family, layout, ordering, &of);
                for (size_t leave = 0; leave < LEAVES; leave++) compile_served(&of, family, leave);
            }
        printf("%s: %zu kernels\n", spaces->space[family].family, compiled - before);
        fflush(stdout);
        CHECK(kernels);
    }
    rdt_codegen_close(codegen);
    rdt_compiler_close(compiler);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        all = all || !strcmp(argv[i], "--all");
        if (!strcmp(argv[i], "--part") && i + 1 < argc)
            if (sscanf(argv[++i], "%zu/%zu", &part, &parts) != 2 || !part || part > parts) return 2;
    }
    return check_run(0, argv);
}
