/* Parse body: the reading of an entry's body: scopes, registers, labels and statements. */
#include "ptx/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTERS_MAX = 1 << 18, SCOPES_MAX = 32 };

/* .reg .b32 %r<168>; or .reg .b32 a, b; */
static bool take_registers(sim_parser *p) {
    sim_parse_step(p);
    sim_type type = p->token.kind == SIM_TOKEN_NAME ? sim_parse_type(p->token.text) : SIM_TYPE_NONE;
    if (!type) return sim_parse_unexpected(p, "a register's type");
    sim_parse_step(p);
    do {
        if (p->token.kind != SIM_TOKEN_NAME) return sim_parse_unexpected(p, "a register's name");
        sim_text name = p->token.text;
        sim_parse_step(p);
        bool is_range = sim_parse_take_mark(p, '<');
        sim_symbol *symbol = sim_symbol_put(p->symbols, &p->ast->arena, name,
                                            is_range ? SIM_SYMBOL_RANGE : SIM_SYMBOL_REG);
        if (!symbol) return sim_parse_no_memory(p);
        symbol->type = (uint8_t)type;
        if (is_range) {
            uint64_t count = 0;
            if (!sim_parse_integer(p, &count) || !sim_parse_expect(p, '>')) return false;
            if (count > REGISTERS_MAX) {
                return sim_parse_fail(p, p->token.line, "more than %d registers", REGISTERS_MAX);
            }
            symbol->count = (uint32_t)count;
            symbol->slots = sim_arena_get(&p->ast->arena, (size_t)count * sizeof *symbol->slots);
            if (!symbol->slots) return sim_parse_no_memory(p);
        } else {
            sim_reg *reg = sim_arena_push(&p->ast->arena, &p->function->regs);
            if (!reg) return sim_parse_no_memory(p);
            reg->type = (uint8_t)type;
            symbol->index = p->function->regs.count - 1;
        }
    } while (sim_parse_take_mark(p, ','));
    return sim_parse_expect(p, ';');
}

bool sim_parse_label(sim_parser *p, sim_text name, sim_label **out) {
    sim_symbol *symbol = sim_symbol_find(p->symbols, name);
    if (symbol && symbol->depth == p->symbols->depth) {
        return sim_parse_fail(p, p->token.line, "'%.*s' is defined twice",
                              name.length > 80 ? 80 : (int)name.length, name.at);
    }
    symbol = sim_symbol_put(p->symbols, &p->ast->arena, name, SIM_SYMBOL_LABEL);
    sim_label *label = sim_arena_push(&p->ast->arena, &p->function->labels);
    if (!symbol || !label) return sim_parse_no_memory(p);
    symbol->index = p->function->labels.count - 1;
    label->statement = p->function->statements.count;
    label->targets = SIM_NONE;
    *out = label;
    return true;
}

/* label: .branchtargets L1, L2; */
static bool take_branch_targets(sim_parser *p, sim_label *label) {
    sim_parse_step(p);
    uint32_t at = (uint32_t)(label - SIM_ITEM(&p->function->labels, sim_label, 0));
    uint32_t first = p->function->operands.count, count = 0;
    do {
        sim_operand *operand = sim_arena_push(&p->ast->arena, &p->function->operands);
        if (!operand) return sim_parse_no_memory(p);
        uint32_t index = p->function->operands.count - 1;
        sim_operand value = {.kind = SIM_OPERAND_LABEL, .pair = SIM_NONE};
        if (p->token.kind != SIM_TOKEN_NAME) return sim_parse_unexpected(p, "a label");
        sim_forward *forward = sim_arena_push(&p->ast->arena, &p->forwards);
        if (!forward) return sim_parse_no_memory(p);
        *forward = (sim_forward){
            p->token.text, {".branchtargets", 14}, index, p->token.line, p->symbols->depth};
        *SIM_ITEM(&p->function->operands, sim_operand, index) = value;
        sim_parse_step(p);
        count++;
    } while (sim_parse_take_mark(p, ','));
    label = SIM_ITEM(&p->function->labels, sim_label, at);
    label->targets = first;
    label->target_count = count;
    return sim_parse_expect(p, ';');
}

static bool take_guard(sim_parser *p, sim_statement *statement) {
    statement->guard = SIM_NONE;
    if (!sim_parse_take_mark(p, '@')) return true;
    statement->guard_negated = sim_parse_take_mark(p, '!');
    sim_operand operand;
    uint32_t line = p->token.line;
    if (!sim_parse_operand(p, &operand)) return false;
    bool is_predicate = operand.kind == SIM_OPERAND_REG && operand.pair == SIM_NONE &&
                        SIM_ITEM(&p->function->regs, sim_reg, operand.index)->type == SIM_PRED;
    if (!is_predicate) return sim_parse_fail(p, line, "a guard that is no predicate");
    statement->guard = operand.index;
    return true;
}

/* The fault among the operands, with its instruction. */
static bool name_opcode(sim_parser *p, sim_text opcode) {
    char why[160];
    int length = opcode.length > 64 ? 64 : (int)opcode.length;
    snprintf(why, sizeof why, "%.150s", p->problem->text);
    return sim_parse_fail(p, p->problem->line, "instruction '%.*s': %s", length, opcode.at, why);
}

/* call or call.uni */
static bool is_named(sim_text opcode, const char *name) {
    const size_t length = strlen(name);
    return opcode.length >= length && memcmp(opcode.at, name, length) == 0 &&
           (opcode.length == length || opcode.at[length] == '.');
}

static bool take_statement(sim_parser *p) {
    sim_statement statement = {.line = p->token.line};
    if (!take_guard(p, &statement)) return false;
    bool is_opcode =
        p->token.kind == SIM_TOKEN_NAME && p->token.text.at[0] >= 'a' && p->token.text.at[0] <= 'z';
    if (!is_opcode) return sim_parse_unexpected(p, "an instruction");
    statement.opcode = p->token.text;
    statement.line = p->token.line;
    statement.source_file = p->source_file;
    statement.source_line = p->source_line;
    sim_parse_step(p);
    if (is_named(statement.opcode, "call")) {
        if (sim_parse_call(p, &statement)) return true;
        /* Within a body that is called, its own fault is named. */
        return !p->calls && name_opcode(p, statement.opcode);
    }
    const bool returns = p->calls && is_named(statement.opcode, "ret");
    if (!(returns ? sim_parse_return : sim_parse_operands)(p, &statement))
        return name_opcode(p, statement.opcode);
    sim_statement *slot = sim_arena_push(&p->ast->arena, &p->function->statements);
    if (!slot) return sim_parse_no_memory(p);
    *slot = statement;
    return true;
}

bool sim_parse_close(sim_parser *p, uint32_t first_forward, bool is_outermost) {
    uint32_t kept = first_forward;
    for (uint32_t i = first_forward; i < p->forwards.count; i++) {
        sim_forward forward = *SIM_ITEM(&p->forwards, sim_forward, i);
        sim_symbol *symbol = sim_symbol_find(p->symbols, forward.name);
        bool here = symbol && symbol->depth == p->symbols->depth;
        if (here && symbol->kind == SIM_SYMBOL_LABEL) {
            SIM_ITEM(&p->function->operands, sim_operand, forward.operand)->index = symbol->index;
        } else if (is_outermost) {
            int length = forward.name.length > 80 ? 80 : (int)forward.name.length;
            int opcode = forward.opcode.length > 64 ? 64 : (int)forward.opcode.length;
            return sim_parse_fail(p, forward.line, "instruction '%.*s': '%.*s' is not defined",
                                  opcode, forward.opcode.at, length, forward.name.at);
        } else {
            *SIM_ITEM(&p->forwards, sim_forward, kept++) = forward;
        }
    }
    p->forwards.count = kept;
    sim_symbol_leave(p->symbols);
    return true;
}

static bool skip_pragma(sim_parser *p) {
    while (!sim_parse_is_mark(p, ';')) {
        if (p->token.kind == SIM_TOKEN_END) return sim_parse_unexpected(p, "';'");
        sim_parse_step(p);
    }
    sim_parse_step(p);
    return true;
}

static bool take_body_directive(sim_parser *p) {
    if (sim_parse_is_name(p, ".reg")) return take_registers(p);
    if (sim_parse_is_name(p, ".pragma")) return skip_pragma(p);
    if (sim_parse_is_name(p, ".shared") || sim_parse_is_name(p, ".local") ||
        sim_parse_is_name(p, ".param")) {
        return sim_parse_variable(p, false);
    }
    if (sim_parse_is_name(p, ".loc")) {
        sim_parse_step(p);
        return sim_parse_loc(p);
    }
    return sim_parse_unexpected(p, "a known directive or an instruction");
}

/* A label, a directive or an instruction: not a brace. */
static bool take_line(sim_parser *p) {
    bool is_name = p->token.kind == SIM_TOKEN_NAME;
    sim_lexer ahead = p->lexer;
    sim_token next = is_name ? sim_lex_next(&ahead) : p->token;
    if (is_name && next.kind == SIM_TOKEN_MARK && next.mark == ':') {
        sim_text name = p->token.text;
        sim_label *label = NULL;
        sim_parse_step(p);
        sim_parse_step(p);
        if (!sim_parse_label(p, name, &label)) return false;
        return !sim_parse_is_name(p, ".branchtargets") || take_branch_targets(p, label);
    }
    if (is_name && p->token.text.at[0] == '.') return take_body_directive(p);
    if (sim_parse_take_mark(p, ';')) return true; /* an empty instruction, as inline asm leaves */
    return take_statement(p);
}

bool sim_parse_scope(sim_parser *p, bool is_outermost) {
    uint32_t first_forward[SCOPES_MAX];
    uint64_t local_end[SCOPES_MAX];
    uint32_t depth = 0;
    if (!sim_parse_is_mark(p, '{')) return sim_parse_unexpected(p, "'{'");
    do {
        if (sim_parse_is_mark(p, '{')) {
            if (depth == SCOPES_MAX) return sim_parse_unexpected(p, "a scope less deep");
            sim_symbol_enter(p->symbols);
            local_end[depth] = p->local_end;
            first_forward[depth++] = p->forwards.count;
            sim_parse_step(p);
        } else if (sim_parse_is_mark(p, '}')) {
            depth--;
            p->local_end = local_end[depth];
            if (!sim_parse_close(p, first_forward[depth], is_outermost && depth == 0)) return false;
            sim_parse_step(p);
        } else if (!take_line(p)) {
            return false;
        }
    } while (depth);
    return true;
}

bool sim_parse_body(sim_parser *p) {
    p->forwards.count = 0;
    return sim_parse_scope(p, true);
}
