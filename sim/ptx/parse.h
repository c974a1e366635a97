/* What the files of the parser share: its state and the reading of single tokens. */
#ifndef SIM_PTX_PARSE_H
#define SIM_PTX_PARSE_H

#include "ptx/ast.h"
#include "ptx/lex.h"
#include "ptx/symbol.h"

/* A label used before its definition: resolved when the scope that defines it closes. */
struct sim_forward {
    struct sim_text name;
    struct sim_text opcode;
    uint32_t operand; /* index of function.operands to fill in */
    uint32_t line;
    uint32_t depth;
};

struct sim_parser {
    struct sim_lexer lexer;
    struct sim_token token; /* the one to look at */
    struct sim_ast *ast;
    struct sim_function *function;
    struct sim_problem *problem;
    struct sim_symbols *symbols;
    struct sim_list forwards; /* struct sim_forward, of the function being read */
    uint32_t source_file;
    uint32_t source_line;
};

/* All return false after having recorded why. */
bool sim_parse_fail(struct sim_parser *p, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool sim_parse_no_memory(struct sim_parser *p);
bool sim_parse_unexpected(struct sim_parser *p, const char *wanted);

void sim_parse_step(struct sim_parser *p);
bool sim_parse_is_mark(const struct sim_parser *p, char mark);
bool sim_parse_is_name(const struct sim_parser *p, const char *name);
bool sim_parse_take_mark(struct sim_parser *p, char mark); /* false without recording */
bool sim_parse_expect(struct sim_parser *p, char mark);
bool sim_parse_integer(struct sim_parser *p, uint64_t *out);
bool sim_parse_skip_braces(struct sim_parser *p);

/* The type that a name such as ".b32" stands for; SIM_TYPE_NONE when it is not one. */
enum sim_type sim_parse_type(struct sim_text name);

/* .global .align 4 .b8 name[16] = {…}; the token is the state space. */
bool sim_parse_variable(struct sim_parser *p, bool is_extern);

/* .file's and .loc's rest */
bool sim_parse_file(struct sim_parser *p);
bool sim_parse_loc(struct sim_parser *p);

/* The body of p->function, from its { to its }. */
bool sim_parse_body(struct sim_parser *p);

/* One operand into the function's list of operands; *out is its index. */
bool sim_parse_operand(struct sim_parser *p, struct sim_operand *out);
bool sim_parse_operands(struct sim_parser *p, struct sim_statement *statement);

#endif
