/* Ast: a PTX module as parsed: names are resolved, instructions are not yet understood. */
#pragma once

#include "ptx/arena.h"
#include "ptx/type.h"

typedef enum sim_space {
    SIM_SPACE_GENERIC,
    SIM_SPACE_GLOBAL,
    SIM_SPACE_SHARED,
    SIM_SPACE_LOCAL,
    SIM_SPACE_CONST,
    SIM_SPACE_PARAM,
    SIM_SPACE_CLUSTER /* shared::cluster: shared memory of any block of the cluster */
} sim_space;

typedef enum sim_operand_kind {
    SIM_OPERAND_REG,     /* index: of function.regs */
    SIM_OPERAND_IMM,     /* bits */
    SIM_OPERAND_VAR,     /* index: of module.variables; bits: byte offset */
    SIM_OPERAND_PARAM,   /* index: of function.params */
    SIM_OPERAND_LABEL,   /* index: of function.labels */
    SIM_OPERAND_SPECIAL, /* index: sim_special */
    SIM_OPERAND_ADDRESS, /* base: kind of what is in brackets (IMM: absolute); bits: byte offset */
    SIM_OPERAND_VECTOR,  /* index: of its first element in function.operands; count */
    SIM_OPERAND_SINK     /* _ */
} sim_operand_kind;

enum { SIM_NONE = UINT32_MAX, SIM_VECTOR_MAX = 8, SIM_OPERANDS_MAX = 8 };

typedef struct sim_operand {
    uint8_t kind;       /* sim_operand_kind */
    uint8_t base;       /* of an ADDRESS: REG, IMM, VAR or PARAM */
    uint8_t number;     /* of an IMM: sim_class: SIM_UNSIGNED, or SIM_FLOAT with float_bits */
    uint8_t float_bits; /* 32 or 64 */
    bool negated;       /* !%p */
    uint32_t index;
    uint32_t count;
    uint32_t pair; /* q of p|q: index of function.regs; SIM_NONE without one */
    uint64_t bits;
} sim_operand;

typedef struct sim_reg {
    uint8_t type; /* sim_type, as declared */
} sim_reg;

typedef struct sim_variable {
    const char *name;
    uint8_t space;
    bool is_extern;
    uint32_t align_bytes;
    uint64_t size_bytes;    /* 0: sized at launch (extern shared) */
    uint64_t local_offset;  /* of one in local memory */
    unsigned char *initial; /* size_bytes of them; NULL: zero (global, const) or undefined */
} sim_variable;

typedef struct sim_param {
    const char *name;
    uint32_t offset_bytes;
    uint32_t size_bytes;
    uint32_t align_bytes;
} sim_param;

typedef struct sim_label {
    uint32_t statement; /* SIM_NONE until it is defined */
    uint32_t targets;   /* of a branch table: its first operand; SIM_NONE otherwise */
    uint32_t target_count;
} sim_label;

typedef struct sim_statement {
    sim_text opcode;
    uint32_t line;        /* of the PTX text, from 1 */
    uint32_t source_file; /* of .loc, 0: none */
    uint32_t source_line;
    uint32_t guard; /* register; SIM_NONE: always */
    bool guard_negated;
    uint8_t operand_count;
    uint32_t operands; /* index of the first in function.operands */
} sim_statement;

typedef struct sim_function {
    const char *name;
    uint32_t line;
    uint32_t max_threads;    /* .maxntid's or .reqntid's product; 0: not given */
    uint32_t cluster_blocks; /* .reqnctapercluster's, which stand along x; 0: not given */
    uint32_t param_bytes;
    sim_list params;     /* sim_param */
    sim_list regs;       /* sim_reg */
    sim_list labels;     /* sim_label */
    sim_list statements; /* sim_statement */
    sim_list operands;   /* sim_operand */
    sim_list variables;  /* uint32_t: indices of module.variables it declares or names */
} sim_function;

typedef struct sim_file {
    uint32_t number;
    const char *name;
} sim_file;

typedef struct sim_ast {
    sim_arena arena;
    uint32_t version;   /* 90 for .version 9.0 */
    uint32_t target;    /* 90 for sm_90, sm_90a */
    sim_list functions; /* sim_function, entries only */
    sim_list variables; /* sim_variable */
    sim_list files;     /* sim_file */
} sim_ast;

typedef struct sim_problem {
    uint32_t line; /* of the PTX text; 0 when no line is at fault */
    char text[232];
} sim_problem;

/* Reads text (a NUL or bytes ends it) into *ast, which sim_parse_free must free in either case.
 * false: *problem says why. */
bool sim_parse(const char *text, size_t bytes, sim_ast *ast, sim_problem *problem);

void sim_parse_free(sim_ast *ast);

/* item(&list, struct type, i) */
#define SIM_ITEM(list, type, i) (&((type *)(list)->items)[i])
