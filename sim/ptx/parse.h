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

/* A device function with a body: where the text behind its .func begins. */
typedef struct sim_routine {
    sim_text name;
    sim_lexer lexer;
    sim_token token;
} sim_routine;

typedef struct sim_parser {
    sim_lexer lexer;
    sim_token token; /* the one to look at */
    sim_ast *ast;
    sim_function *function;
    sim_problem *problem;
    sim_symbols *symbols;
    sim_list forwards; /* sim_forward, of the function being read */
    sim_list routines; /* sim_routine */
    uint64_t
        local_end;  /* of the local variables in scope: those of one that has closed make room */
    uint32_t calls; /* how many of their bodies are being read, one within the other */
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

/* .loc's rest */
bool sim_parse_loc(sim_parser *p);

/* The body of p->function, from its { to its }. */
bool sim_parse_body(sim_parser *p);

/* A body's scope, from its { to its }, with those in it. Labels that none of them defines stay
 * open. */
bool sim_parse_scope(sim_parser *p, bool is_outermost);

/* Fills in the labels that this scope defines, and leaves it; those left over, from first_forward
 * on, belong to the scope around it. */
bool sim_parse_close(sim_parser *p, uint32_t first_forward, bool is_outermost);

bool sim_parse_label(sim_parser *p, sim_text name, sim_label **out);

/* The rest of a .func, and of a call, whose place the function's body takes. */
bool sim_parse_routine(sim_parser *p);
bool sim_parse_call(sim_parser *p, const sim_statement *statement);

/* A ret of a function that is read in place of a call: a branch behind its body. */
bool sim_parse_return(sim_parser *p, sim_statement *statement);

/* One operand into the function's list of operands; *out is its index. */
bool sim_parse_operand(sim_parser *p, sim_operand *out);
bool sim_parse_operands(sim_parser *p, sim_statement *statement);
