/* Parse: the reading of a PTX module: its header, its files and the entries with their parameters.
 */
#define _POSIX_C_SOURCE 200809L
#include "ptx/parse.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAM_BYTES_MAX = 32764, THREADS_MAX = 1024, CLUSTER_MAX = 8 };

bool sim_parse_fail(sim_parser *p, uint32_t line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->problem->text, sizeof p->problem->text, format, args);
    va_end(args);
    p->problem->line = line;
    return false;
}

bool sim_parse_no_memory(sim_parser *p) {
    return sim_parse_fail(p, p->token.line, "cannot hold the module: no memory");
}

bool sim_parse_unexpected(sim_parser *p, const char *wanted) {
    const sim_token *token = &p->token;
    if (token->kind == SIM_TOKEN_END) {
        return sim_parse_fail(p, token->line, "the text ends where %s should stand", wanted);
    }
    int length = token->text.length > 40 ? 40 : (int)token->text.length;
    return sim_parse_fail(p, token->line, "'%.*s' stands where %s should", length, token->text.at,
                          wanted);
}

void sim_parse_step(sim_parser *p) { p->token = sim_lex_next(&p->lexer); }

bool sim_parse_is_mark(const sim_parser *p, char mark) {
    return p->token.kind == SIM_TOKEN_MARK && p->token.mark == mark;
}

bool sim_parse_is_name(const sim_parser *p, const char *name) {
    return p->token.kind == SIM_TOKEN_NAME && sim_arena_text_equal(p->token.text, name);
}

bool sim_parse_take_mark(sim_parser *p, char mark) {
    if (!sim_parse_is_mark(p, mark)) return false;
    sim_parse_step(p);
    return true;
}

bool sim_parse_expect(sim_parser *p, char mark) {
    char wanted[4] = {'\'', mark, '\'', '\0'};
    return sim_parse_take_mark(p, mark) || sim_parse_unexpected(p, wanted);
}

bool sim_parse_integer(sim_parser *p, uint64_t *out) {
    bool negative = sim_parse_take_mark(p, '-');
    if (p->token.kind != SIM_TOKEN_INTEGER) return sim_parse_unexpected(p, "an integer");
    *out = negative ? 0 - p->token.bits : p->token.bits;
    sim_parse_step(p);
    return true;
}

bool sim_parse_skip_braces(sim_parser *p) {
    if (!sim_parse_expect(p, '{')) return false;
    uint32_t depth = 1;
    while (depth) {
        if (p->token.kind == SIM_TOKEN_END) return sim_parse_unexpected(p, "'}'");
        if (sim_parse_is_mark(p, '{')) depth++;
        if (sim_parse_is_mark(p, '}')) depth--;
        sim_parse_step(p);
    }
    return true;
}

sim_type sim_parse_type(sim_text name) {
    if (name.length < 2 || name.at[0] != '.') return SIM_TYPE_NONE;
    sim_text bare = {name.at + 1, name.length - 1};
    for (int type = SIM_TYPE_NONE + 1; type < SIM_TYPE_COUNT; type++) {
        if (sim_arena_text_equal(bare, sim_type_table[type].name)) return (sim_type)type;
    }
    return SIM_TYPE_NONE;
}

/* .file's rest */
static bool take_file(sim_parser *p) {
    uint64_t number = 0, ignored = 0;
    if (!sim_parse_integer(p, &number)) return false;
    if (p->token.kind != SIM_TOKEN_STRING) return sim_parse_unexpected(p, "a file name");
    sim_file *file = sim_arena_push(&p->ast->arena, &p->ast->files);
    if (!file) return sim_parse_no_memory(p);
    file->number = (uint32_t)number;
    file->name = sim_arena_text_copy(&p->ast->arena, p->token.text);
    if (!file->name) return sim_parse_no_memory(p);
    sim_parse_step(p);
    while (sim_parse_take_mark(p, ',')) {
        if (!sim_parse_integer(p, &ignored)) return false;
    }
    return true;
}

/* .param .u64 [.ptr .global .align 8] name[bytes] */
static bool take_param(sim_parser *p) {
    if (!sim_parse_is_name(p, ".param")) return sim_parse_unexpected(p, "'.param'");
    sim_parse_step(p);
    uint64_t align = 0, count = 1;
    sim_type type = SIM_TYPE_NONE;
    bool is_pointer = false;
    while (p->token.kind == SIM_TOKEN_NAME && p->token.text.at[0] == '.') {
        sim_type named = sim_parse_type(p->token.text);
        bool is_align = sim_parse_is_name(p, ".align");
        if (sim_parse_is_name(p, ".ptr")) is_pointer = true; /* what follows is of the pointee */
        sim_parse_step(p);
        if (named && !is_pointer) type = named;
        uint64_t value = 0;
        if (is_align && !sim_parse_integer(p, &value)) return false;
        if (is_align && !is_pointer) align = value;
    }
    if (p->token.kind != SIM_TOKEN_NAME || !type || sim_type_table[type].bits < 8) {
        return sim_parse_unexpected(p, "a parameter's type and name");
    }
    sim_symbol *symbol =
        sim_symbol_put(p->symbols, &p->ast->arena, p->token.text, SIM_SYMBOL_PARAM);
    sim_param *param = sim_arena_push(&p->ast->arena, &p->function->params);
    if (!symbol || !param) return sim_parse_no_memory(p);
    param->name = sim_arena_text_copy(&p->ast->arena, p->token.text);
    symbol->index = p->function->params.count - 1;
    uint32_t line = p->token.line;
    sim_parse_step(p);
    if (sim_parse_take_mark(p, '[')) {
        if (!sim_parse_integer(p, &count) || !sim_parse_expect(p, ']')) return false;
    }
    uint32_t unit = sim_type_table[type].bits / 8;
    if (!align) align = unit;
    bool sane = align <= 128 && (align & (align - 1)) == 0 && count <= PARAM_BYTES_MAX;
    if (!sane) return sim_parse_fail(p, line, "a parameter's size or alignment is out of range");
    uint32_t mask = (uint32_t)align - 1;
    param->align_bytes = (uint32_t)align;
    param->size_bytes = unit * (uint32_t)count;
    param->offset_bytes = (p->function->param_bytes + mask) & ~mask;
    p->function->param_bytes = param->offset_bytes + param->size_bytes;
    if (p->function->param_bytes > PARAM_BYTES_MAX) {
        return sim_parse_fail(p, line, "parameters of more than %d bytes", PARAM_BYTES_MAX);
    }
    return param->name || sim_parse_no_memory(p);
}

static bool take_params(sim_parser *p) {
    if (!sim_parse_take_mark(p, '(')) return true; /* an entry without parameters */
    if (sim_parse_take_mark(p, ')')) return true;
    do {
        if (!take_param(p)) return false;
    } while (sim_parse_take_mark(p, ','));
    return sim_parse_expect(p, ')');
}

/* .reqnctapercluster 8, 1, 1 */
static bool take_cluster(sim_parser *p) {
    uint32_t line = p->token.line;
    uint64_t sizes[3] = {1, 1, 1};
    uint32_t count = 0;
    sim_parse_step(p);
    do {
        if (count == 3) return sim_parse_unexpected(p, "three dimensions of a cluster at most");
        if (!sim_parse_integer(p, &sizes[count++])) return false;
    } while (sim_parse_take_mark(p, ','));
    if (sizes[0] < 1 || sizes[0] > CLUSTER_MAX || sizes[1] != 1 || sizes[2] != 1) {
        return sim_parse_fail(p, line, "a cluster that is not of 1 to %d blocks along x",
                              CLUSTER_MAX);
    }
    p->function->cluster_blocks = (uint32_t)sizes[0];
    return true;
}

/* .maxntid 256, 1, 1 and its like, between the parameters and the body */
static bool take_limits(sim_parser *p) {
    while (p->token.kind == SIM_TOKEN_NAME && p->token.text.at[0] == '.') {
        if (sim_parse_is_name(p, ".explicitcluster")) {
            sim_parse_step(p);
            continue;
        }
        if (sim_parse_is_name(p, ".reqnctapercluster")) {
            if (!take_cluster(p)) return false;
            continue;
        }
        uint32_t line = p->token.line;
        bool threads = sim_parse_is_name(p, ".maxntid") || sim_parse_is_name(p, ".reqntid");
        bool known = threads || sim_parse_is_name(p, ".minnctapersm") ||
                     sim_parse_is_name(p, ".maxnctapersm") || sim_parse_is_name(p, ".maxnreg");
        if (!known) return sim_parse_unexpected(p, "a known directive or the entry's body");
        sim_parse_step(p);
        uint64_t product = 1, value = 0;
        do {
            if (!sim_parse_integer(p, &value)) return false;
            product = value > THREADS_MAX || product > THREADS_MAX ? UINT64_MAX : product * value;
        } while (sim_parse_take_mark(p, ','));
        if (threads && product > THREADS_MAX) {
            return sim_parse_fail(p, line, "an entry of more than %d threads", THREADS_MAX);
        }
        if (threads) p->function->max_threads = (uint32_t)product;
    }
    return true;
}

static bool take_entry(sim_parser *p) {
    if (p->token.kind != SIM_TOKEN_NAME) return sim_parse_unexpected(p, "an entry's name");
    sim_function *function = sim_arena_push(&p->ast->arena, &p->ast->functions);
    if (!function) return sim_parse_no_memory(p);
    p->function = function;
    function->name = sim_arena_text_copy(&p->ast->arena, p->token.text);
    if (!function->name) return sim_parse_no_memory(p);
    function->line = p->token.line;
    function->params.item_bytes = sizeof(sim_param);
    function->regs.item_bytes = sizeof(sim_reg);
    function->labels.item_bytes = sizeof(sim_label);
    function->statements.item_bytes = sizeof(sim_statement);
    function->operands.item_bytes = sizeof(sim_operand);
    function->variables.item_bytes = sizeof(uint32_t);
    p->source_file = p->source_line = 0;
    sim_parse_step(p);
    sim_symbol_enter(p->symbols);
    bool good = take_params(p) && take_limits(p);
    if (good && !sim_parse_take_mark(p, ';')) good = sim_parse_body(p);
    sim_symbol_leave(p->symbols);
    return good;
}

/* .func's rest, which is known by now. */
static bool skip_function(sim_parser *p) {
    while (!sim_parse_is_mark(p, '{')) {
        if (p->token.kind == SIM_TOKEN_END) return sim_parse_unexpected(p, "a function's body");
        if (sim_parse_take_mark(p, ';')) return true;
        sim_parse_step(p);
    }
    return sim_parse_skip_braces(p);
}

static bool take_version(sim_parser *p) {
    double value = 0;
    if (p->token.kind == SIM_TOKEN_F64) {
        memcpy(&value, &p->token.bits, sizeof value);
    } else if (p->token.kind == SIM_TOKEN_INTEGER) {
        value = (double)p->token.bits;
    } else {
        return sim_parse_unexpected(p, "a version");
    }
    if (!(value >= 1 && value < 100)) return sim_parse_unexpected(p, "a PTX version");
    p->ast->version = (uint32_t)(value * 10 + 0.5);
    sim_parse_step(p);
    return true;
}

static bool take_target(sim_parser *p) {
    do {
        if (p->token.kind != SIM_TOKEN_NAME) return sim_parse_unexpected(p, "a target");
        sim_text name = p->token.text;
        if (name.length > 3 && memcmp(name.at, "sm_", 3) == 0) {
            uint32_t target = 0;
            for (uint32_t i = 3; i < name.length && i < 7; i++) {
                if (name.at[i] < '0' || name.at[i] > '9') break; /* sm_90a */
                target = target * 10 + (uint32_t)(name.at[i] - '0');
            }
            p->ast->target = target;
        }
        sim_parse_step(p);
    } while (sim_parse_take_mark(p, ','));
    return true;
}

static bool take_address_size(sim_parser *p) {
    uint64_t bits = 0;
    uint32_t line = p->token.line;
    if (!sim_parse_integer(p, &bits)) return false;
    return bits == 64 || sim_parse_fail(p, line, "only 64-bit addresses are simulated");
}

static bool take_section(sim_parser *p) {
    sim_parse_step(p);
    return sim_parse_skip_braces(p);
}

/* Directives of the module's own level, after their name has been stepped over. */
static const struct {
    const char *name;
    bool (*take)(sim_parser *p);
} module_directives[] = {
    {".version", take_version}, {".target", take_target}, {".address_size", take_address_size},
    {".file", take_file},       {".entry", take_entry},   {".func", skip_function},
    {".section", take_section}, {".loc", sim_parse_loc},
};

static bool take_directive(sim_parser *p) {
    bool is_extern = false;
    while (sim_parse_is_name(p, ".visible") || sim_parse_is_name(p, ".extern") ||
           sim_parse_is_name(p, ".weak") || sim_parse_is_name(p, ".common")) {
        if (sim_parse_is_name(p, ".extern")) is_extern = true;
        sim_parse_step(p);
    }
    for (size_t i = 0; i < sizeof module_directives / sizeof *module_directives; i++) {
        if (!sim_parse_is_name(p, module_directives[i].name)) continue;
        sim_parse_step(p);
        return module_directives[i].take(p);
    }
    if (sim_parse_is_name(p, ".global") || sim_parse_is_name(p, ".const") ||
        sim_parse_is_name(p, ".shared")) {
        return sim_parse_variable(p, is_extern);
    }
    return sim_parse_unexpected(p, "a known directive");
}

/* Takes down all functions first: a call may stand before the body. Broken text is the second
 * reading's. Most texts have none, and are read once. */
static void find_routines(sim_parser *p) {
    static const char word[] = ".func";
    const size_t bytes = (size_t)(p->lexer.end - p->lexer.at);
    if (!memmem(p->lexer.at, bytes, word, sizeof word - 1)) return;
    bool good = true;
    sim_parse_step(p);
    while (good && p->token.kind != SIM_TOKEN_END) {
        const bool is_function = sim_parse_is_name(p, ".func");
        if (sim_parse_is_mark(p, '{')) {
            good = sim_parse_skip_braces(p);
        } else {
            sim_parse_step(p);
            if (is_function) good = sim_parse_routine(p);
        }
    }
    memset(p->problem, 0, sizeof *p->problem);
}

static bool parse(const char *text, size_t bytes, sim_ast *ast, sim_problem *problem) {
    memset(ast, 0, sizeof *ast);
    memset(problem, 0, sizeof *problem);
    ast->functions.item_bytes = sizeof(sim_function);
    ast->variables.item_bytes = sizeof(sim_variable);
    ast->files.item_bytes = sizeof(sim_file);
    sim_parser p = {.ast = ast, .problem = problem};
    p.forwards.item_bytes = sizeof(sim_forward);
    p.routines.item_bytes = sizeof(sim_routine);
    p.symbols = calloc(1, sizeof *p.symbols);
    if (!p.symbols) return sim_parse_no_memory(&p);
    sim_lex_start(&p.lexer, text, bytes);
    find_routines(&p);
    sim_lex_start(&p.lexer, text, bytes);
    sim_parse_step(&p);
    bool good = true;
    while (good && p.token.kind != SIM_TOKEN_END) good = take_directive(&p);
    if (good && (!ast->version || !ast->target)) {
        good = sim_parse_fail(&p, 0, "this is not PTX: it names no .version and .target");
    }
    free(p.symbols);
    return good;
}

/* PTX has decimal points in every locale. */
bool sim_parse(const char *text, size_t bytes, sim_ast *ast, sim_problem *problem) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(c);
    bool good = parse(text, bytes, ast, problem);
    uselocale(before);
    if (c) freelocale(c);
    return good;
}

void sim_parse_free(sim_ast *ast) { sim_arena_free(&ast->arena); }
