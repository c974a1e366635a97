/* Decode: the decoder's state, common to its files, and how an opcode and its operands are taken.
 */
#pragma once

#include "exec/op.h"

enum { SIM_MODS_MAX = 12, SIM_OP_BUCKETS = 1024, SIM_CONSTANT_BUCKETS = 256 };

/* An opcode, taken apart at its dots. Each form takes the modifiers it knows, in any order; one
 * that is left makes the instruction unknown. */
typedef struct sim_opcode {
    sim_text root;
    sim_text mods[SIM_MODS_MAX];
    uint32_t count;
    uint32_t taken; /* bit i: mods[i] */
} sim_opcode;

typedef struct sim_op_slot {
    const sim_op *op;
    struct sim_op_slot *next;
} sim_op_slot;

typedef struct sim_constant_slot {
    uint64_t value;
    uint32_t index;
    struct sim_constant_slot *next;
} sim_constant_slot;

typedef struct sim_decoder {
    sim_ast *ast;
    sim_function *function;
    const uint64_t *addresses; /* of the ast's variables */
    sim_program *program;
    sim_problem *problem;
    const sim_statement *statement;
    sim_opcode opcode;
    sim_inst inst;       /* being put together */
    sim_list insts;      /* sim_inst */
    sim_list constants;  /* uint64_t: one value each */
    sim_list specials;   /* sim_special_row */
    sim_list targets;    /* uint32_t: labels until all are known */
    uint32_t *registers; /* row or predicate of each register, SIM_NONE until it is used */
    uint8_t *row_words;  /* per row: 32-bit registers it stands for */
    sim_op_slot *ops[SIM_OP_BUCKETS];
    sim_constant_slot *values[SIM_CONSTANT_BUCKETS];
} sim_decoder;

/* All that return bool have recorded why when false. */
bool sim_decode_fail(sim_decoder *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool sim_decode_no_memory(sim_decoder *d);
bool sim_decode_unknown(sim_decoder *d);

/* Modifiers. take: true once for a modifier that stands there. */
bool sim_decode_take(sim_opcode *opcode, const char *mod);
sim_type sim_decode_take_type(sim_opcode *opcode);
bool sim_decode_take_any(sim_opcode *opcode, const char *const *mods, uint32_t count);
bool sim_decode_done(const sim_opcode *opcode);

/* Operands of the current statement. index counts from 0. */
const sim_operand *sim_decode_operand(sim_decoder *d, uint32_t index);
bool sim_decode_count(sim_decoder *d, uint32_t least, uint32_t most);

/* Puts the operand into d->inst.ref[slot]; letter as in sim_op.pattern. */
bool sim_decode_ref(sim_decoder *d, const sim_operand *operand, char letter, uint32_t slot);
bool sim_decode_constant(sim_decoder *d, uint64_t value, sim_ref *out);
bool sim_decode_register(sim_decoder *d, uint32_t reg, uint32_t *out);
bool sim_decode_pattern(sim_decoder *d, const char *pattern);
uint32_t sim_decode_bits(sim_decoder *d, const sim_operand *operand);

/* Forms with operands of their own, by root. NULL: none; the tables of sim_op decide. */
typedef bool sim_form(sim_decoder *d);
sim_form *sim_decode_form_find(sim_text root);
sim_form *sim_decode_memory_find(sim_text root);
sim_form *sim_decode_warp_find(sim_text root);

/* Renames rows so that values which do not live at once share one; estimates registers. */
bool sim_liveness_pack(sim_decoder *d);
/* Marks the instructions that wait for earlier loads. */
bool sim_liveness_mark_waits(sim_decoder *d);
