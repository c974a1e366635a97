/* Parse call: device functions that the compiler did not inline.
 *
 * The body of a function is read anew at each of its calls, in the call's place and in a scope of
 * its own. Its parameters are names for the caller's variables: PTX passes each in one of the space
 * .param, which is local memory here. A ret becomes a branch behind the body. So nothing that runs
 * knows of calls, and a fault in a body has the line where it stands. */
#include "ptx/parse.h"

#include <string.h>

enum { PASSED_MAX = 64, CALLS_MAX = 16 };

static const sim_text end_name = {"%end", 4};

/* The rest of .func (.param .b32 result) name (.param .b64 a) { ... }, or of one without a body. */
bool sim_parse_routine(sim_parser *p) {
    sim_routine own = {.lexer = p->lexer, .token = p->token};
    uint32_t depth = 0;
    for (; !sim_parse_is_mark(p, '{'); sim_parse_step(p)) {
        if (p->token.kind == SIM_TOKEN_END) return sim_parse_unexpected(p, "a function's body");
        if (sim_parse_take_mark(p, ';')) return true;
        if (sim_parse_is_mark(p, '(')) depth++;
        if (sim_parse_is_mark(p, ')')) depth--;
        if (p->token.kind == SIM_TOKEN_NAME && p->token.text.at[0] != '.' && !depth)
            own.name = p->token.text;
    }
    sim_routine *routine = sim_arena_push(&p->ast->arena, &p->routines);
    if (!routine) return sim_parse_no_memory(p);
    *routine = own;
    return sim_parse_skip_braces(p);
}

/* What a call passes: variables, by their indices in the module. */
typedef struct passed {
    uint32_t count;
    uint32_t variable[PASSED_MAX];
} passed;

/* (retval0), or nothing */
static bool take_passed(sim_parser *p, passed *out) {
    if (!sim_parse_take_mark(p, '(') || sim_parse_take_mark(p, ')')) return true;
    do {
        sim_operand operand;
        const uint32_t line = p->token.line;
        if (!sim_parse_operand(p, &operand)) return false;
        if (operand.kind != SIM_OPERAND_VAR || out->count == PASSED_MAX)
            return sim_parse_fail(p, line, "a parameter that is no variable, or one too many");
        out->variable[out->count++] = operand.index;
    } while (sim_parse_take_mark(p, ','));
    return sim_parse_expect(p, ')');
}

/* (.param .align 8 .b8 name[32], ...), as names for what is passed from *next on */
static bool bind_params(sim_parser *p, const passed *given, uint32_t *next) {
    uint64_t ignored = 0;
    if (!sim_parse_take_mark(p, '(') || sim_parse_take_mark(p, ')')) return true;
    do {
        while (p->token.kind == SIM_TOKEN_INTEGER ||
               (p->token.kind == SIM_TOKEN_NAME && p->token.text.at[0] == '.'))
            sim_parse_step(p);
        if (p->token.kind != SIM_TOKEN_NAME) return sim_parse_unexpected(p, "a parameter's name");
        if (*next == given->count) return sim_parse_unexpected(p, "as many as the call passes");
        sim_symbol *symbol =
            sim_symbol_put(p->symbols, &p->ast->arena, p->token.text, SIM_SYMBOL_VAR);
        if (!symbol) return sim_parse_no_memory(p);
        symbol->index = given->variable[(*next)++];
        sim_parse_step(p);
        if (sim_parse_take_mark(p, '[') &&
            (!sim_parse_integer(p, &ignored) || !sim_parse_expect(p, ']')))
            return false;
    } while (sim_parse_take_mark(p, ','));
    return sim_parse_expect(p, ')');
}

/* Reads the function from behind its .func on. */
static bool take_routine(sim_parser *p, const passed *given) {
    const uint32_t first_forward = p->forwards.count;
    uint32_t next = 0;
    sim_label *end = NULL;
    sim_symbol_enter(p->symbols);
    if (!bind_params(p, given, &next)) return false;
    sim_parse_step(p); /* its name */
    if (!bind_params(p, given, &next)) return false;
    if (next < given->count) return sim_parse_unexpected(p, "as many as the call passes");
    while (p->token.kind == SIM_TOKEN_NAME) sim_parse_step(p); /* .noreturn */
    return sim_parse_scope(p, false) && sim_parse_label(p, end_name, &end) &&
           sim_parse_close(p, first_forward, false);
}

static const sim_routine *find_routine(const sim_parser *p, sim_text name) {
    for (uint32_t i = 0; i < p->routines.count; i++) {
        const sim_routine *each = SIM_ITEM(&p->routines, sim_routine, i);
        if (each->name.length == name.length && memcmp(each->name.at, name.at, name.length) == 0)
            return each;
    }
    return NULL;
}

/* call.uni (retval0), name, (param0, param1); */
bool sim_parse_call(sim_parser *p, const sim_statement *statement) {
    passed given = {0};
    if (sim_parse_is_mark(p, '(') && (!take_passed(p, &given) || !sim_parse_expect(p, ',')))
        return false;
    if (p->token.kind != SIM_TOKEN_NAME) return sim_parse_unexpected(p, "a function's name");
    const sim_routine *routine = find_routine(p, p->token.text);
    if (!routine) return sim_parse_unexpected(p, "a function with a body");
    if (statement->guard != SIM_NONE || p->calls == CALLS_MAX)
        return sim_parse_fail(p, statement->line, "a call with a guard, or of functions too deep");
    sim_parse_step(p);
    if (sim_parse_take_mark(p, ',') && !take_passed(p, &given)) return false;
    if (!sim_parse_is_mark(p, ';')) return sim_parse_unexpected(p, "';'");
    const sim_parser before = *p;
    p->lexer = routine->lexer;
    p->token = routine->token;
    p->calls++;
    if (!take_routine(p, &given)) return false;
    p->calls--;
    p->lexer = before.lexer;
    p->token = before.token;
    p->source_file = before.source_file;
    p->source_line = before.source_line;
    sim_parse_step(p);
    return true;
}

bool sim_parse_return(sim_parser *p, sim_statement *statement) {
    sim_operand *slot = sim_arena_push(&p->ast->arena, &p->function->operands);
    sim_forward *forward = sim_arena_push(&p->ast->arena, &p->forwards);
    if (!slot || !forward) return sim_parse_no_memory(p);
    statement->opcode = (sim_text){"bra", 3};
    statement->operands = p->function->operands.count - 1;
    statement->operand_count = 1;
    *slot = (sim_operand){.kind = SIM_OPERAND_LABEL, .pair = SIM_NONE, .index = SIM_NONE};
    *forward = (sim_forward){end_name, statement->opcode, statement->operands, statement->line,
                             p->symbols->depth};
    return sim_parse_expect(p, ';');
}
