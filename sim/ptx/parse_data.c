/* Parse data: the reading of variables, with their initial values, and of source positions. */
#include "ptx/parse.h"

#include <string.h>

static const uint64_t SIZE_MAX_BYTES = 1u << 28;

static const struct {
    const char *name;
    sim_space space;
} spaces[] = {
    {".global", SIM_SPACE_GLOBAL}, {".const", SIM_SPACE_CONST}, {".shared", SIM_SPACE_SHARED},
    {".local", SIM_SPACE_LOCAL},   {".param", SIM_SPACE_LOCAL}, /* of a call */
};

/* .loc 1 40 2[, function_name $L__info_string0[+4], inlined_at 1 73 1] */
bool sim_parse_loc(sim_parser *p) {
    uint64_t file = 0, line = 0, ignored = 0;
    if (!sim_parse_integer(p, &file) || !sim_parse_integer(p, &line)) return false;
    if (!sim_parse_integer(p, &ignored)) return false;
    p->source_file = (uint32_t)file;
    if (line) p->source_line = (uint32_t)line; /* line 0: the compiler knows none; keep the last */
    while (sim_parse_take_mark(p, ',')) {
        if (sim_parse_is_name(p, "function_name")) {
            sim_parse_step(p);
            if (p->token.kind != SIM_TOKEN_NAME) return sim_parse_unexpected(p, "a label");
            sim_parse_step(p);
            if (sim_parse_take_mark(p, '+') && !sim_parse_integer(p, &ignored)) return false;
        } else if (sim_parse_is_name(p, "inlined_at")) {
            sim_parse_step(p);
            for (int i = 0; i < 3; i++) {
                if (!sim_parse_integer(p, &ignored)) return false;
            }
        } else {
            return sim_parse_unexpected(p, "'function_name' or 'inlined_at'");
        }
    }
    return true;
}

/* A float literal's bits as the variable's own type holds them. */
static uint64_t convert_literal(const sim_token *token, sim_type type) {
    double wide = 0;
    float narrow = 0;
    uint32_t bits = 0;
    if (token->kind == SIM_TOKEN_F64 && type == SIM_F32) {
        memcpy(&wide, &token->bits, sizeof wide);
        narrow = (float)wide;
        memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    return token->bits;
}

static bool take_value(sim_parser *p, sim_variable *variable, sim_type type, uint64_t *filled) {
    bool negative = sim_parse_take_mark(p, '-');
    bool is_literal = p->token.kind == SIM_TOKEN_INTEGER || p->token.kind == SIM_TOKEN_F32 ||
                      p->token.kind == SIM_TOKEN_F64;
    if (!is_literal) return sim_parse_unexpected(p, "a number");
    uint64_t bits = convert_literal(&p->token, type);
    if (negative) bits = 0 - bits;
    uint32_t unit = sim_type_table[type].bits / 8u;
    if (unit > 8 || *filled + unit > variable->size_bytes) {
        return sim_parse_unexpected(p, "the end of the initial values");
    }
    memcpy(variable->initial + *filled, &bits, unit); /* PTX and its hosts are little-endian */
    *filled += unit;
    sim_parse_step(p);
    return true;
}

/* = 5 or = {1, 2, {3, 4}}: inner braces of whole rows change nothing. */
static bool take_initial(sim_parser *p, sim_variable *variable, sim_type type) {
    variable->initial = sim_arena_get(&p->ast->arena, variable->size_bytes);
    if (!variable->initial) return sim_parse_no_memory(p);
    uint64_t filled = 0;
    uint32_t depth = 0;
    do {
        while (sim_parse_take_mark(p, '{')) depth++;
        if (!take_value(p, variable, type, &filled)) return false;
        while (depth && sim_parse_take_mark(p, '}')) depth--;
    } while (depth && sim_parse_take_mark(p, ','));
    return depth == 0 || sim_parse_unexpected(p, "'}'");
}

/* name[2][4]; sets the size from the type's */
static bool take_extent(sim_parser *p, sim_variable *variable, sim_type type) {
    uint64_t size = sim_type_table[type].bits / 8u;
    while (sim_parse_take_mark(p, '[')) {
        uint64_t count = 0;
        if (!sim_parse_is_mark(p, ']') && !sim_parse_integer(p, &count)) return false;
        if (count > SIZE_MAX_BYTES || size * count > SIZE_MAX_BYTES) {
            return sim_parse_fail(p, p->token.line, "'%s' is too large", variable->name);
        }
        size *= count;
        if (!sim_parse_expect(p, ']')) return false;
    }
    variable->size_bytes = size;
    if (size == 0 && !(variable->is_extern && variable->space == SIM_SPACE_SHARED)) {
        return sim_parse_fail(p, p->token.line, "'%s' has no size", variable->name);
    }
    return true;
}

static bool put_variable(sim_parser *p, sim_variable **out) {
    sim_symbol *symbol = sim_symbol_put(p->symbols, &p->ast->arena, p->token.text, SIM_SYMBOL_VAR);
    sim_variable *variable = sim_arena_push(&p->ast->arena, &p->ast->variables);
    if (!symbol || !variable) return sim_parse_no_memory(p);
    symbol->index = p->ast->variables.count - 1;
    variable->name = sim_arena_text_copy(&p->ast->arena, p->token.text);
    if (!variable->name) return sim_parse_no_memory(p);
    if (p->function) {
        uint32_t *used = sim_arena_push(&p->ast->arena, &p->function->variables);
        if (!used) return sim_parse_no_memory(p);
        *used = symbol->index;
    }
    *out = variable;
    return true;
}

static void place_local(sim_parser *p, sim_variable *variable) {
    const uint64_t align = variable->align_bytes;
    variable->local_offset = (p->local_end + align - 1) & ~(align - 1);
    p->local_end = variable->local_offset + variable->size_bytes;
}

bool sim_parse_variable(sim_parser *p, bool is_extern) {
    sim_space space = SIM_SPACE_GENERIC;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (sim_parse_is_name(p, spaces[i].name)) space = spaces[i].space;
    }
    sim_parse_step(p);
    uint64_t align = 0;
    if (sim_parse_is_name(p, ".align")) {
        sim_parse_step(p);
        if (!sim_parse_integer(p, &align)) return false;
    }
    sim_type type = p->token.kind == SIM_TOKEN_NAME ? sim_parse_type(p->token.text) : SIM_TYPE_NONE;
    if (!type || sim_type_table[type].bits < 8) return sim_parse_unexpected(p, "a variable's type");
    uint32_t unit = sim_type_table[type].bits / 8u;
    if (!align) align = unit;
    if (align > 1024 || (align & (align - 1))) {
        return sim_parse_fail(p, p->token.line, "an alignment that is no power of two up to 1024");
    }
    sim_parse_step(p);
    if (p->token.kind != SIM_TOKEN_NAME) return sim_parse_unexpected(p, "a variable's name");
    sim_variable *variable = NULL;
    if (!put_variable(p, &variable)) return false;
    variable->space = (uint8_t)space;
    variable->is_extern = is_extern;
    variable->align_bytes = (uint32_t)align;
    sim_parse_step(p);
    if (!take_extent(p, variable, type)) return false;
    if (space == SIM_SPACE_LOCAL) place_local(p, variable);
    if (sim_parse_take_mark(p, '=') && !take_initial(p, variable, type)) return false;
    return sim_parse_expect(p, ';');
}
