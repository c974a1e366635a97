/* Parse: the parser's state, common to its files, and the reading of single tokens. */
#pragma once

#include "ptx/ast.h"
#include "ptx/lex.h"
#include "ptx/symbol.h"

/* A label used before its definition: resolved when the scope that defines it closes. */
typedef struct sim_forward {
    sim_text name;
    sim_text opcode;
    uint32_t operand; /* index of function.operands to fill in */
    uint32_t line;
    uint32_t depth;
} sim_forward;

typedef struct sim_parser {
    sim_lexer lexer;
    sim_token token; /* the one to look at */
    sim_ast *ast;
    sim_function *function;
    sim_problem *problem;
    sim_symbols *symbols;
    sim_list forwards; /* sim_forward, of the function being read */
    uint32_t source_file;
    uint32_t source_line;
} sim_parser;

/* All return false after having recorded why. */
bool sim_parse_fail(sim_parser *p, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool sim_parse_no_memory(sim_parser *p);
bool sim_parse_unexpected(sim_parser *p, const char *wanted);

void sim_parse_step(sim_parser *p);
bool sim_parse_is_mark(const sim_parser *p, char mark);
bool sim_parse_is_name(const sim_parser *p, const char *name);
bool sim_parse_take_mark(sim_parser *p, char mark); /* false without recording */
bool sim_parse_expect(sim_parser *p, char mark);
bool sim_parse_integer(sim_parser *p, uint64_t *out);
bool sim_parse_skip_braces(sim_parser *p);

/* The type that a name such as ".b32" stands for; SIM_TYPE_NONE when it is not one. */
sim_type sim_parse_type(sim_text name);

/* .global .align 4 .b8 name[16] = {…}; the token is the state space. */
bool sim_parse_variable(sim_parser *p, bool is_extern);

/* .file's and .loc's rest */
bool sim_parse_file(sim_parser *p);
bool sim_parse_loc(sim_parser *p);

/* The body of p->function, from its { to its }. */
bool sim_parse_body(sim_parser *p);

/* One operand into the function's list of operands; *out is its index. */
bool sim_parse_operand(sim_parser *p, sim_operand *out);
bool sim_parse_operands(sim_parser *p, sim_statement *statement);
