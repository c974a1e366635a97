/* Lex: splits PTX text into tokens. */
#pragma once

#include "ptx/arena.h"

typedef enum sim_token_kind {
    SIM_TOKEN_END,
    SIM_TOKEN_NAME,    /* name, %register, $label, .directive, opcode with its modifiers */
    SIM_TOKEN_INTEGER, /* value in bits */
    SIM_TOKEN_F32,     /* 0f3F800000; bits hold the 32 bits */
    SIM_TOKEN_F64,     /* 0d… or a decimal fraction; bits hold the 64 bits */
    SIM_TOKEN_STRING,  /* text is what stands between the quotes */
    SIM_TOKEN_MARK,    /* one character of punctuation, in mark */
    SIM_TOKEN_BAD      /* no token starts here; mark holds the character */
} sim_token_kind;

typedef struct sim_token {
    sim_token_kind kind;
    char mark;
    uint32_t line;
    uint64_t bits;
    sim_text text;
} sim_token;

typedef struct sim_lexer {
    const char *at;
    const char *end;
    uint32_t line;
} sim_lexer;

void sim_lex_start(sim_lexer *lexer, const char *text, size_t bytes);
sim_token sim_lex_next(sim_lexer *lexer);
