/* Parse operand: the reading of operands and the resolving of the names in them. */
#include "ptx/parse.h"
#include "ptx/special.h"

#include <stdlib.h>
#include <string.h>

static const char *const special_names[SIM_SPECIAL_COUNT] = {
#define X(id, name) [SIM_SPECIAL_##id] = name,
    SIM_SPECIAL_LIST(X)
#undef X
};

enum { WARP_LANES = 32 };

/* %r12 of .reg .b32 %r<168>; NULL: no range holds it. */
static sim_symbol *find_range(sim_parser *p, sim_text name, uint32_t *index) {
    uint64_t value = 0, scale = 1;
    for (uint32_t split = name.length; split-- > 1 && scale < 10000000;) {
        char digit = name.at[split];
        if (digit < '0' || digit > '9') return NULL;
        value += scale * (uint64_t)(digit - '0');
        scale *= 10;
        if (digit == '0' && split + 1 < name.length) continue; /* no leading zeros */
        sim_text prefix = {name.at, split};
        sim_symbol *symbol = sim_symbol_find(p->symbols, prefix);
        if (symbol && symbol->kind == SIM_SYMBOL_RANGE && value < symbol->count) {
            *index = (uint32_t)value;
            return symbol;
        }
    }
    return NULL;
}

static bool use_range(sim_parser *p, sim_symbol *range, uint32_t index, sim_operand *out) {
    if (!range->slots[index]) {
        sim_reg *reg = sim_arena_push(&p->ast->arena, &p->function->regs);
        if (!reg) return sim_parse_no_memory(p);
        reg->type = range->type;
        range->slots[index] = p->function->regs.count;
    }
    out->kind = SIM_OPERAND_REG;
    out->index = range->slots[index] - 1;
    return true;
}

static bool use_symbol(sim_parser *p, const sim_symbol *symbol, sim_operand *out) {
    static const uint8_t kinds[] = {
        [SIM_SYMBOL_REG] = SIM_OPERAND_REG,
        [SIM_SYMBOL_VAR] = SIM_OPERAND_VAR,
        [SIM_SYMBOL_PARAM] = SIM_OPERAND_PARAM,
        [SIM_SYMBOL_LABEL] = SIM_OPERAND_LABEL,
    };
    if (symbol->kind == SIM_SYMBOL_RANGE) return sim_parse_unexpected(p, "a register");
    out->kind = kinds[symbol->kind];
    out->index = symbol->index;
    if (symbol->kind != SIM_SYMBOL_VAR) return true;
    uint32_t *used = sim_arena_push(&p->ast->arena, &p->function->variables);
    if (!used) return sim_parse_no_memory(p);
    *used = symbol->index;
    return true;
}

static bool use_special(sim_text name, sim_operand *out) {
    for (uint32_t i = 0; i < SIM_SPECIAL_COUNT; i++) {
        if (!sim_arena_text_equal(name, special_names[i])) continue;
        out->kind = SIM_OPERAND_SPECIAL;
        out->index = i;
        return true;
    }
    return false;
}

/* The name at the token: a register, variable, special register, or a label still to come. */
static bool take_operand_name(sim_parser *p, sim_operand *out) {
    sim_text name = p->token.text;
    uint32_t line = p->token.line, index = 0;
    if (sim_arena_text_equal(name, "_")) {
        out->kind = SIM_OPERAND_SINK;
    } else if (sim_arena_text_equal(name, "WARP_SZ")) {
        out->kind = SIM_OPERAND_IMM;
        out->number = SIM_UNSIGNED;
        out->bits = WARP_LANES;
    } else {
        sim_symbol *symbol = sim_symbol_find(p->symbols, name);
        sim_symbol *range = symbol ? NULL : find_range(p, name, &index);
        if (symbol) {
            if (!use_symbol(p, symbol, out)) return false;
        } else if (range) {
            if (!use_range(p, range, index, out)) return false;
        } else if (name.at[0] == '%' && !use_special(name, out)) {
            int length = name.length > 80 ? 80 : (int)name.length;
            return sim_parse_fail(p, line, "unknown register '%.*s'", length, name.at);
        } else if (name.at[0] != '%') {
            out->kind = SIM_OPERAND_LABEL;
            out->index = SIM_NONE;
        }
    }
    sim_parse_step(p);
    return true;
}

static bool take_literal(sim_parser *p, sim_operand *out) {
    bool negative = sim_parse_take_mark(p, '-');
    bool inverted = !negative && sim_parse_take_mark(p, '~');
    const sim_token *token = &p->token;
    out->kind = SIM_OPERAND_IMM;
    out->bits = token->bits;
    out->number = SIM_UNSIGNED;
    if (token->kind == SIM_TOKEN_F32 || token->kind == SIM_TOKEN_F64) {
        out->number = SIM_FLOAT;
        out->float_bits = token->kind == SIM_TOKEN_F32 ? 32 : 64;
        if (negative) out->bits ^= 1ull << (out->float_bits - 1);
    } else if (token->kind == SIM_TOKEN_INTEGER) {
        if (negative) out->bits = 0 - out->bits;
        if (inverted) out->bits = ~out->bits;
    } else {
        return sim_parse_unexpected(p, "an operand");
    }
    sim_parse_step(p);
    return true;
}

/* + 4, +-4 or - 4 behind a name; *bits stays as it is when none stands there. */
static bool take_offset(sim_parser *p, uint64_t *bits) {
    if (sim_parse_is_mark(p, '-')) return sim_parse_integer(p, bits);
    if (!sim_parse_take_mark(p, '+')) return true;
    return sim_parse_integer(p, bits);
}

static bool take_address(sim_parser *p, sim_operand *out) {
    sim_operand inner = {.pair = SIM_NONE};
    sim_parse_step(p);
    uint32_t line = p->token.line;
    bool is_name = p->token.kind == SIM_TOKEN_NAME;
    if (!(is_name ? take_operand_name(p, &inner) : take_literal(p, &inner))) return false;
    bool fits = inner.kind == SIM_OPERAND_REG || inner.kind == SIM_OPERAND_VAR ||
                inner.kind == SIM_OPERAND_PARAM || inner.kind == SIM_OPERAND_IMM;
    if (!fits) return sim_parse_fail(p, line, "an address that is no register or variable");
    *out = inner;
    out->kind = SIM_OPERAND_ADDRESS;
    out->base = inner.kind;
    if (inner.kind != SIM_OPERAND_IMM && !take_offset(p, &out->bits)) return false;
    return sim_parse_expect(p, ']');
}

static bool take_vector(sim_parser *p, sim_operand *out) {
    sim_operand parts[SIM_VECTOR_MAX];
    uint32_t count = 0;
    uint32_t line = p->token.line;
    sim_parse_step(p);
    do {
        if (count == SIM_VECTOR_MAX) return sim_parse_unexpected(p, "'}'");
        sim_operand *part = &parts[count++];
        memset(part, 0, sizeof *part);
        part->pair = SIM_NONE;
        bool is_name = p->token.kind == SIM_TOKEN_NAME;
        if (!(is_name ? take_operand_name(p, part) : take_literal(p, part))) return false;
        if (part->kind != SIM_OPERAND_REG && part->kind != SIM_OPERAND_IMM &&
            part->kind != SIM_OPERAND_SINK) {
            return sim_parse_fail(p, line, "a vector of other things than registers");
        }
    } while (sim_parse_take_mark(p, ','));
    out->kind = SIM_OPERAND_VECTOR;
    out->index = p->function->operands.count;
    out->count = count;
    for (uint32_t i = 0; i < count; i++) {
        sim_operand *slot = sim_arena_push(&p->ast->arena, &p->function->operands);
        if (!slot) return sim_parse_no_memory(p);
        *slot = parts[i];
    }
    return sim_parse_expect(p, '}');
}

/* q of p|q */
static bool take_pair(sim_parser *p, sim_operand *out) {
    sim_operand second = {.pair = SIM_NONE};
    uint32_t line = p->token.line;
    if (p->token.kind != SIM_TOKEN_NAME) return sim_parse_unexpected(p, "a predicate");
    if (!take_operand_name(p, &second)) return false;
    if (second.kind != SIM_OPERAND_REG) {
        return sim_parse_fail(p, line, "a second destination that is no register");
    }
    out->pair = second.index;
    return true;
}

bool sim_parse_operand(sim_parser *p, sim_operand *out) {
    memset(out, 0, sizeof *out);
    out->pair = SIM_NONE;
    if (sim_parse_is_mark(p, '[')) return take_address(p, out);
    if (sim_parse_is_mark(p, '{')) return take_vector(p, out);
    bool negated = sim_parse_take_mark(p, '!');
    if (p->token.kind != SIM_TOKEN_NAME) {
        return negated ? sim_parse_unexpected(p, "a predicate") : take_literal(p, out);
    }
    if (!take_operand_name(p, out)) return false;
    out->negated = negated;
    if (sim_parse_take_mark(p, '|')) return take_pair(p, out);
    return out->kind != SIM_OPERAND_VAR || take_offset(p, &out->bits);
}

bool sim_parse_operands(sim_parser *p, sim_statement *statement) {
    sim_operand found[SIM_OPERANDS_MAX];
    sim_text labels[SIM_OPERANDS_MAX];
    uint32_t count = 0;
    while (!sim_parse_is_mark(p, ';')) {
        if (count == SIM_OPERANDS_MAX) return sim_parse_unexpected(p, "';'");
        if (count && !sim_parse_expect(p, ',')) return false;
        labels[count] = p->token.text;
        if (!sim_parse_operand(p, &found[count])) return false;
        count++;
    }
    statement->operands = p->function->operands.count;
    statement->operand_count = (uint8_t)count;
    for (uint32_t i = 0; i < count; i++) {
        sim_operand *slot = sim_arena_push(&p->ast->arena, &p->function->operands);
        if (!slot) return sim_parse_no_memory(p);
        *slot = found[i];
        if (found[i].kind != SIM_OPERAND_LABEL) continue;
        sim_forward *forward = sim_arena_push(&p->ast->arena, &p->forwards);
        if (!forward) return sim_parse_no_memory(p);
        *forward = (sim_forward){labels[i], statement->opcode, statement->operands + i,
                                 statement->line, p->symbols->depth};
    }
    return sim_parse_expect(p, ';');
}
